"""On a rehearsed cluster, a job for each state in which it may wait: ``gpu why`` and ``gpu list`` say why, alike.

What no simulated kubelet and no simulated cloud does, the test does in its place (``waiting_jobs.yaml``).
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from packages.rehearsal.tests.rehearsals import ROOT
from packages.rehearsal.tests.retained_cluster import RetainedCluster, retained_cluster
from packages.rehearsal.tests.simulated_cluster import eventually

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

STATES: Final[list[dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("waiting_jobs.yaml").read_text())

_PATIENCE: Final = 120.0
"""Seconds after which an answer counts as wrong."""


def merged(into: Any, changes: Any) -> Any:
    """As a JSON merge patch: ``null`` leaves out."""
    if not isinstance(into, dict) or not isinstance(changes, Mapping):
        return changes
    both = {key: merged(into.get(key), value) for key, value in changes.items() if value is not None}
    return {**{key: value for key, value in into.items() if changes.get(key, "") is not None}, **both}


class Jobs:
    """A developer's jobs on the cluster, and what its administrator does."""

    def __init__(self, cluster: RetainedCluster) -> None:
        self._cluster = cluster
        self._developer = cluster.as_developer()
        self._limits: dict[str, Any] = {}

    def submit(self, state: Mapping[str, Any]) -> None:
        name = state["id"]
        for manifest in state.get("objects", ()):
            self._apply(self._cluster, manifest)
        command = f"gpu submit --name {name} --image busybox --dry-run -- sleep 900"
        (job,) = (each for each in yaml.safe_load_all(self._developer.output(command)) if each["kind"] == "Job")
        job["spec"] = merged(job["spec"], state.get("job", {}))
        spec = job["spec"]["template"]["spec"] = merged(job["spec"]["template"]["spec"], state.get("pod", {}))
        if "memory" in state:  # the command itself refuses what no pool has
            memory = {"memory": state["memory"]}
            spec["containers"][0]["resources"] = merged(
                spec["containers"][0]["resources"], {"requests": memory, "limits": memory}
            )
        if "claim" in state:
            volume = {"name": "data", "persistentVolumeClaim": {"claimName": state["claim"]}}
            spec["volumes"] = [*(spec.get("volumes") or ()), volume]
        self._apply(self._developer, job)

    def _apply(self, cluster: RetainedCluster, manifest: Mapping[str, Any]) -> None:
        cluster.output(f"printf %s {shlex.quote(json.dumps(manifest))} | kubectl apply -f -")

    def pods(self, name: str, phase: str) -> list[Any]:
        selected = f"-l batch.kubernetes.io/job-name={name} --field-selector status.phase={phase}"
        return list(json.loads(self._cluster.output(f"kubectl get pods {selected} -o json"))["items"])

    def write(self, pod: Mapping[str, Any], status: Mapping[str, Any]) -> None:
        """As its kubelet."""
        name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]
        statuses = [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                **one,
            }
            for one in status.get("containerStatuses", ())
        ]
        patch = {"status": {**status, **({"containerStatuses": statuses} if statuses else {})}}
        self._cluster.output(
            f"kubectl patch pod {name} --subresource=status --type=merge -p {shlex.quote(json.dumps(patch))}"
        )

    def note(self, pod: Mapping[str, Any], reason: str, message: str) -> None:
        """An event about the pod, later than all others."""
        metadata = pod["metadata"]
        about = {"apiVersion": "v1", "kind": "Pod", **{key: metadata[key] for key in ("name", "namespace", "uid")}}
        self._apply(
            self._cluster,
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": {"name": f"{metadata['name']}-test", "namespace": metadata["namespace"]},
                "involvedObject": about,
                "reason": reason,
                "message": message,
                "type": "Warning",
                "lastTimestamp": "2099-01-01T00:00:00Z",
            },
        )

    def close(self, closed: bool) -> None:
        """Whether no pool may have a further node."""
        for pool in self._cluster.output("kubectl get nodepools -o name").split():
            limits = json.loads(self._cluster.output(f"kubectl get {pool} -o json"))["spec"].get("limits") or {}
            self._limits.setdefault(pool, limits)
            patch = json.dumps({"spec": {"limits": dict.fromkeys(limits, "0") if closed else self._limits[pool]}})
            self._cluster.output(f"kubectl patch {pool} --type=merge -p {shlex.quote(patch)}")

    def why(self, name: str) -> list[Any]:
        """Kind, who can mend it, whether waiting helps, and the summary."""
        answer = json.loads(self._developer.output(f"gpu why {name} --json || true"))
        return [answer[key] for key in ("kind", "mendedBy", "waitingHelps", "summary")]

    def elsewhere(self, name: str, answer: list[Any]) -> str:
        """What ``gpu list`` and the exit code say instead; empty if it is the same."""
        rows = {row["name"]: row for row in json.loads(self._developer.output("gpu list --json"))}
        listed = [rows[name][key] for key in ("kind", "mendedBy", "waitingHelps", "summary")]
        if listed[:3] != answer[:3]:
            return f"gpu list says {listed}"
        self._developer.output(f"gpu why {name}", 1 if answer[0] == "failed" else 0)
        return ""

    def stop(self, state: Mapping[str, Any]) -> None:
        self._developer.output(f"gpu stop {state['id']}")
        for manifest in state.get("objects", ()):
            self._cluster.output(f"kubectl delete {manifest['kind']} {manifest['metadata']['name']} --wait=false")


def play(jobs: Jobs, state: Mapping[str, Any]) -> str:
    """What is wrong with the answers on a job in this state; empty if nothing."""
    if state.get("closed"):
        jobs.close(True)
    jobs.submit(state)
    name, expected, done, last = state["id"], state["answer"], set[str](), list[Any]()
    for _ in range(state.get("times", 1) if "status" in state else 0):
        running = eventually(
            f"{name} runs", lambda: [pod for pod in jobs.pods(name, "Running") if pod["metadata"]["uid"] not in done]
        )
        done.add(running[0]["metadata"]["uid"])
        jobs.write(running[0], state["status"])
    if "event" in state:
        jobs.note(eventually(f"{name} waits", lambda: jobs.pods(name, "Pending"))[0], *state["event"])

    def is_said() -> bool:
        last[:] = jobs.why(name)
        return last[:3] == expected

    try:
        eventually(f"{name} is explained", is_said, _PATIENCE)
        wrong = jobs.elsewhere(name, last)
    except AssertionError:
        wrong = f"{last}, not {expected}"
    finally:
        jobs.stop(state)
        if state.get("closed"):
            jobs.close(False)
    return f"{name}: {wrong}" if wrong else ""


def test_each_state_is_explained(tmp_path: Path) -> None:
    """With the cloud's own Karpenter."""
    # ``stop`` ends all rehearsals of a name.
    file = Path(shutil.copy(ROOT / "examples" / "eks-karpenter.yaml", tmp_path / "waiting-eks.yaml"))
    with retained_cluster(file, "--day-two", "none") as cluster:
        jobs = Jobs(cluster)
        problems = [problem for state in STATES if (problem := play(jobs, state))]
    assert problems == []
