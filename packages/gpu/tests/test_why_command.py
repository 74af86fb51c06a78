"""``gpu why`` and ``gpu list`` print the same, with who can mend it; what a user may not read is no error."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import Run, gpu

__all__ = ["gpu"]

NAMESPACE: Final = "/api/v1/namespaces/default"
JOBS: Final = "/apis/batch/v1/namespaces/default/jobs"
CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
CONTAINER: Final = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 1}}}


def cluster() -> dict[str, Any]:
    """A job whose machine does not start, because the autoscaler lacks a permission."""
    metadata = {"name": "train", "namespace": "default", "uid": "job-1"}
    job = {"metadata": metadata, "spec": {"template": {"spec": {"containers": [CONTAINER]}}}}
    pod = {
        "metadata": {
            "name": "train-x7k2p",
            "namespace": "default",
            "uid": "pod-1",
            "labels": {"batch.kubernetes.io/controller-uid": "job-1"},
            "creationTimestamp": "2026-11-22T08:00:00Z",
        },
        "spec": {"containers": [CONTAINER]},
        "status": {"phase": "Pending"},
    }
    nominated = {
        "reason": "Nominated",
        "message": "Pod should schedule on: nodeclaim/t4-1-abcde",
        "involvedObject": {"kind": "Pod", "name": "train-x7k2p", "uid": "pod-1"},
    }
    launched = {"type": "Launched", "status": "Unknown", "reason": "Unauthorized", "message": "User is not authorized"}
    claim = {"metadata": {"name": "t4-1-abcde"}, "status": {"conditions": [launched]}}
    return {
        **inventory(offer(pool())),
        JOBS: [job],
        f"{JOBS}/train": job,
        f"{NAMESPACE}/pods": [pod],
        f"{NAMESPACE}/events": [nominated],
        CLAIMS: [claim],
    }


@pytest.fixture
def with_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Any]], None]]:
    with ExitStack() as stack:

        def start(objects: dict[str, Any]) -> None:
            file = kubeconfig(tmp_path / "config", {"here": stack.enter_context(serving(objects))})
            monkeypatch.setenv("KUBECONFIG", str(file))

        yield start


def test_why_says_who_can_mend_it(gpu: Run, with_cluster: Callable[[dict[str, Any]], None]) -> None:
    with_cluster(cluster())
    code, out, _ = gpu("why", "train")
    assert code == 0
    summary, _, who, source, *_ = out.splitlines()
    assert summary == "train: the autoscaler or the nodes lack a permission in the cloud"
    assert who == "  an administrator can mend it; waiting does not help"
    assert source.startswith("  condition Launched of NodeClaim t4-1-abcde: Unauthorized")
    answer = json.loads(gpu("why", "train", "--json")[1])
    assert (answer["kind"], answer["mendedBy"], answer["waitingHelps"]) == ("configuration", "administrator", False)
    (row,) = json.loads(gpu("list", "--json")[1])
    assert {key: row[key] for key in ("kind", "mendedBy", "waitingHelps", "summary")} == {
        key: answer[key] for key in ("kind", "mendedBy", "waitingHelps", "summary")
    }


@pytest.mark.parametrize("status", [403, 404])
def test_what_a_user_may_not_read_is_no_error(
    gpu: Run, with_cluster: Callable[[dict[str, Any]], None], status: int
) -> None:
    unread = dict.fromkeys((CLAIMS, "/api/v1/nodes", f"{NAMESPACE}/persistentvolumeclaims"), status)
    with_cluster({**cluster(), **unread, next(iter(inventory(offer()))): status})
    code, out, _ = gpu("why", "train", "--json")
    answer = json.loads(out)
    assert (code, answer["kind"], answer["mendedBy"], answer["waitingHelps"]) == (0, "scaling", None, True)


@pytest.mark.parametrize(("ready", "broken"), [("True", {}), ("Unknown", {"n1": "not ready"})])
def test_a_running_job_says_that_its_node_is_down(
    gpu: Run, with_cluster: Callable[[dict[str, Any]], None], ready: str, broken: dict[str, str]
) -> None:
    objects = cluster()
    (pod,) = objects[f"{NAMESPACE}/pods"]
    runs = {**pod, "spec": {**pod["spec"], "nodeName": "n1"}, "status": {"phase": "Running"}}
    labels = {"gpucluster.dev/pool": "t4-1"}
    status = {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"nvidia.com/gpu": "1"}}
    node = {"metadata": {"name": "n1", "labels": labels}, "status": {**status, "capacity": {"nvidia.com/gpu": "1"}}}
    with_cluster({**objects, f"{NAMESPACE}/pods": [runs], "/api/v1/nodes": [node]})
    answer = json.loads(gpu("why", "train", "--json")[1])
    assert (answer["kind"], answer["brokenNodes"]) == ("running", broken)


KUEUE: Final = "/apis/kueue.x-k8s.io"


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_the_workload_of_a_suspended_job_is_read(
    gpu: Run, with_cluster: Callable[[dict[str, Any]], None], version: str
) -> None:
    """By the version that the cluster prefers: one of others may have an older Kueue."""
    objects = cluster()
    (job,) = objects[JOBS]
    held = {**job, "spec": {**job["spec"], "suspend": True}}
    condition = {"type": "QuotaReserved", "status": "False", "reason": "Inadmissible"}
    workload = {
        "metadata": {"name": "job-train-1a2b3", "ownerReferences": [{"uid": "job-1"}]},
        "status": {"conditions": [{**condition, "message": "LocalQueue gpu doesn't exist"}]},
    }
    path = f"{KUEUE}/{version}/namespaces/default/workloads"
    group = {"preferredVersion": {"groupVersion": f"kueue.x-k8s.io/{version}", "version": version}}
    queued = {**objects, JOBS: [held], f"{JOBS}/train": held, f"{NAMESPACE}/pods": [], KUEUE: group, path: [workload]}
    with_cluster(queued)
    answer, (row,) = (json.loads(gpu(*command, "--json")[1]) for command in (("why", "train"), ("list",)))
    assert (answer["kind"], answer["mendedBy"], answer["waitingHelps"]) == ("queued", "user", False)
    assert answer["source"] == "condition QuotaReserved of Workload job-train-1a2b3"
    assert row["summary"] == answer["summary"]


def test_who_may_not_read_workloads_sees_their_events(gpu: Run, with_cluster: Callable[[dict[str, Any]], None]) -> None:
    objects = cluster()
    (job,) = objects[JOBS]
    held = {**job, "spec": {**job["spec"], "suspend": True}}
    refused = {
        "reason": "Pending",
        "message": "insufficient quota for nvidia.com/gpu in flavor t4-1, request (9) > maximum capacity (8)",
        "involvedObject": {"kind": "Workload", "name": "job-train-1a2b3"},
    }
    group, path = {"preferredVersion": {"version": "v1beta2"}}, f"{KUEUE}/v1beta2/namespaces/default/workloads"
    own = {JOBS: [held], f"{JOBS}/train": held, f"{NAMESPACE}/pods": [], f"{NAMESPACE}/events": [refused]}
    with_cluster({**objects, **own, KUEUE: group, path: 403})
    assert "maximum capacity" in json.loads(gpu("why", "train", "--json")[1])["summary"]
