"""On a rehearsed cluster, a job for each state in which it may wait: ``gpu why`` and ``gpu list`` say why, alike.

What no simulated kubelet and no simulated cloud does, ``play`` does in its place. The states are ``waiting_jobs.yaml``.

``python -m packages.rehearsal.tests.rehearsals.waiting_jobs CLOUD FILE`` plays them in the shell of a rehearsal of own
machines, and writes what is wrong to FILE.
"""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from packages.rehearsal.tests.rehearsals import REPORTS
from packages.rehearsal.tests.retained_cluster import RetainedCluster, variables_of
from packages.rehearsal.tests.simulated_cluster import eventually

TABLE: Final[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("waiting_jobs.yaml").read_text())
STACKS: Final[dict[str, str]] = TABLE["stacks"]
"""Cloud → the example that is rehearsed."""

_PATIENCE: Final = 120.0
"""Seconds after which an answer counts as wrong."""
_NOT_PLACED: Final = "the scheduler has not placed"


def states_of(cloud: str) -> list[dict[str, Any]]:
    """The states that can happen on ``cloud``, with what is different there."""
    return [
        merged(state, state.get("clouds", {}).get(cloud, {}))
        for state in TABLE["states"]
        if not isinstance(state.get("clouds", {}).get(cloud), str)
    ]


def merged(into: Any, changes: Any) -> Any:
    """As a JSON merge patch: ``null`` leaves out."""
    if not isinstance(into, dict) or not isinstance(changes, Mapping):
        return changes
    both = {key: merged(into.get(key), value) for key, value in changes.items() if value is not None}
    return {**{key: value for key, value in into.items() if changes.get(key, "") is not None}, **both}


class Jobs:
    """A developer's jobs on the cluster, and what its administrator does."""

    def __init__(self, administrator: RetainedCluster, developer: RetainedCluster) -> None:
        self._cluster = administrator
        self._developer = developer
        self._limits: dict[str, Any] = {}

    def submit(self, state: Mapping[str, Any]) -> None:
        name = state["id"]
        for manifest in state.get("objects", ()):
            self._apply(self._cluster, manifest)
        command = f"gpu submit --name {name} --image {state.get('image', 'busybox')} --dry-run -- sleep 900"
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
        if "reason" in status:  # a kubelet says it in an event as well, which stays when the pod goes with its node
            self.note(pod, status["reason"], status["message"], "kubelet")
        self._cluster.output(
            f"kubectl patch pod {name} --subresource=status --type=merge -p {shlex.quote(json.dumps(patch))}"
        )

    def note(self, pod: Mapping[str, Any], reason: str, message: str, component: str = "") -> None:
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
                "source": {"component": component},
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

    def cordon(self, cordoned: bool) -> None:
        """Whether the GPU nodes take no pod."""
        command = "cordon" if cordoned else "uncordon"
        self._cluster.output(f"kubectl {command} -l nvidia.com/gpu.present=true")

    def why(self, name: str) -> list[Any]:
        """Kind, who can mend it, whether waiting helps, and the summary."""
        answer = json.loads(self._developer.output(f"gpu why {name} --json || [ $? = 1 ]"))
        return [answer[key] for key in ("kind", "mendedBy", "waitingHelps", "summary")]

    def listed(self) -> dict[str, list[Any]]:
        """The same of all jobs, as ``gpu list`` says it."""
        rows = json.loads(self._developer.output("gpu list --json"))
        return {row["name"]: [row[key] for key in ("kind", "mendedBy", "waitingHelps", "summary")] for row in rows}

    def elsewhere(self, name: str, answer: list[Any]) -> str:
        """What ``gpu list`` and the exit code say instead; empty if it is the same."""
        listed = self.listed()[name]
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
    if state.get("cordoned"):
        jobs.cordon(True)
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
    early = set[str]()

    def is_said() -> bool:
        last[:] = jobs.why(name)
        if _NOT_PLACED in last[3] and state.get("machines"):
            early.add(last[3])
        return last[:3] == expected

    try:
        eventually(f"{name} is explained", is_said, _PATIENCE)
        wrong = jobs.elsewhere(name, last) or ", ".join(early)
    except AssertionError:
        wrong = f"{last}, not {expected}"
    finally:
        jobs.stop(state)
        if state.get("closed"):
            jobs.close(False)
        if state.get("cordoned"):
            jobs.cordon(False)
    return f"{name}: {wrong}" if wrong else ""


def play_together(jobs: Jobs, states: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong with the answers on jobs that wait at the same time; none of them gets a node."""
    for state in states:
        jobs.submit(state)
    expected = {state["id"]: state["answer"] for state in states}
    last: dict[str, list[Any]] = {}

    def is_said() -> bool:
        last.update(jobs.listed())
        return all(last.get(name, [])[:3] == answer for name, answer in expected.items())

    deadline = time.monotonic() + _PATIENCE
    while not is_said() and time.monotonic() < deadline:  # what is not is reported below
        time.sleep(1)
    problems = []
    for state in states:
        name, answer = state["id"], jobs.why(state["id"])
        if answer[:3] != expected[name]:
            problems.append(f"{name}: {answer}, not {expected[name]}")
        elif last.get(name, [])[:3] != answer[:3]:
            problems.append(f"{name}: gpu list says {last.get(name)}")
        jobs.stop(state)
    return problems


def play_all(jobs: Jobs, states: Sequence[Mapping[str, Any]]) -> list[str]:
    """What is wrong, of all states."""
    problems = play_together(jobs, [state for state in states if state.get("together")])
    sys.stderr.write(f"together: {problems or 'ok'}\n")
    for state in states:
        if state.get("together"):
            continue
        try:
            problem = play(jobs, state)
        except AssertionError as error:  # the others are played all the same
            problem = f"{state['id']}: {error}"
        sys.stderr.write(f"{state['id']}: {problem or 'ok'}\n")
        problems += [problem] if problem else []
    return problems


def _in_the_shell(cloud: str, file: Path) -> None:
    """The user of own machines is the developer; the engine's state has the administrator's kubeconfig."""
    stack = Path(STACKS[cloud]).stem
    runs = (REPORTS / stack).glob("runs/*/environment.sh")
    developer = RetainedCluster("", variables_of(max(runs, key=lambda file: file.stat().st_mtime)))
    exported = json.loads(developer.output(f"pulumi stack export --show-secrets -s {stack}"))
    (admin,) = (
        each["outputs"]["adminKubeconfig"]["plaintext"]
        for each in exported["deployment"]["resources"]
        if each["type"] == "gpucluster-machines:index:ControlPlane"
    )
    kubeconfig = developer.kubeconfig.with_name("admin.kubeconfig")
    kubeconfig.touch(0o600)
    kubeconfig.write_text(json.loads(admin))
    administrator = replace(developer, variables={**developer.variables, "KUBECONFIG": str(kubeconfig)})
    file.write_text(json.dumps(play_all(Jobs(administrator, developer), states_of(cloud))))


if __name__ == "__main__":
    _in_the_shell(sys.argv[1], Path(sys.argv[2]))
