"""The live view: what is up, who uses it and what it costs per hour; once without a terminal, until Ctrl-C with one."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from gpu.ledger import hourly_usd
from packages.gpu.tests.api_server import inventory, kubeconfig, serving
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import Run, gpu

__all__ = ["gpu"]

OFFER = offer(pool("t4-1", hourly_usd=0.5), pool("t4-4", size=4, hourly_usd=2.0, spot=True))
JOBS, PODS = "/apis/batch/v1{}/jobs", "/api/v1{}/pods"


def node(name: str, of: str, gpus: int, ready: str = "True", **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"gpucluster.dev/pool": of}, "creationTimestamp": "2026-01-01T00:00:00Z"}
    offered = {"nvidia.com/gpu": str(gpus)}
    status = {"conditions": [{"type": "Ready", "status": ready}], "capacity": offered, "allocatable": offered}
    return {"metadata": metadata, "spec": spec, "status": status}


def containers(gpus: int) -> list[dict[str, Any]]:
    return [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]


def job(name: str, gpus: int, **status: Any) -> dict[str, Any]:
    spec = {"completions": 1, "template": {"spec": {"containers": containers(gpus)}}}
    return {"metadata": {"name": name, "namespace": "ml", "uid": name}, "spec": spec, "status": status}


def pod(of: str, gpus: int, phase: str, on: str | None) -> dict[str, Any]:
    labels = {"batch.kubernetes.io/controller-uid": of}
    metadata = {"name": f"{of}-x", "namespace": "ml", "uid": f"{of}-x", "labels": labels}
    metadata["creationTimestamp"] = "2026-01-01T00:00:00Z"
    spec = {"containers": containers(gpus), **({"nodeName": on} if on else {})}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def cluster() -> dict[str, Any]:
    """One job runs on two of four GPUs, one waits, one has ended."""
    done = job("done", 1, conditions=[{"type": "Complete", "status": "True"}])
    jobs = [job("train", 2), job("late", 4), done, {**job("cpu", 0)}]
    pods = [pod("train", 2, "Running", "n1"), pod("late", 4, "Pending", None), pod("done", 1, "Succeeded", "n1")]
    nodes = [
        node("n1", "t4-4", 4),
        node("n2", "t4-4", 4),
        node("n3", "t4-1", 0),
        node("n4", "t4-1", 1, ready="Unknown"),
        node("n5", "t4-1", 1, unschedulable=True),
        node("admin-1", "admin", 0),
    ]
    return {**inventory(OFFER), "/api/v1/nodes": nodes, JOBS.format(""): jobs, PODS.format(""): pods}


@pytest.fixture
def with_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[dict[str, Any]], Path]]:
    """Makes a cluster with these objects the current one; returns the kubeconfig."""
    with ExitStack() as stack:

        def start(objects: dict[str, Any]) -> Path:
            file = kubeconfig(tmp_path / "config", {"here": stack.enter_context(serving(objects))})
            monkeypatch.setenv("KUBECONFIG", str(file))
            return file

        yield start


def rows(printed: str) -> dict[str, list[str]]:
    """First word of a line → its other columns."""
    columns = [re.split(r" {2,}", line.strip()) for line in printed.splitlines() if line.strip()]
    return {first: others for first, *others in columns}


def test_pools_nodes_and_jobs_with_what_they_cost(gpu: Run, with_cluster: Callable[[dict[str, Any]], Path]) -> None:
    with_cluster(cluster())
    code, out, err = gpu("top")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert out.splitlines()[0].endswith("GPU nodes cost $5.50/h")
    shown = rows(out)
    assert shown["t4-4"] == ["4 t4 spot", "2/3", "2/8", "$4.00"]
    expected = {"n1": "in use", "n2": "idle", "n3": "waits for its GPU driver", "n4": "not ready", "n5": "cordoned"}
    assert {name: shown[name][1] for name in ("n1", "n2", "n3", "n4", "n5")} == expected
    assert shown["train"] == ["ml", "2", "$1.00", "1 pod running"]
    assert shown["late"] == ["ml", "0", "$0.00", "no node fits; waiting for the autoscaler"]
    assert not {"done", "cpu", "admin-1"} & shown.keys()


def test_a_node_with_a_broken_gpu_says_so(gpu: Run, with_cluster: Callable[[dict[str, Any]], Path]) -> None:
    taints = [{"key": "gpucluster.dev/broken", "effect": "NoExecute"}]
    nodes = [node("lost", "t4-4", 3), node("out", "t4-4", 0, unschedulable=True, taints=taints), node("n1", "t4-4", 4)]
    for each in nodes:
        each["status"]["capacity"] = {"nvidia.com/gpu": "4"}
    train, pods = job("train", 4), [pod("train", 4, "Running", "lost")]
    with_cluster(
        {
            **inventory(OFFER),
            "/api/v1/nodes": nodes,
            JOBS.format(""): [train],
            PODS.format(""): pods,
            PODS.format("/namespaces/ml"): pods,
            f"{JOBS.format('/namespaces/ml')}/train": train,
        }
    )
    shown = rows(gpu("top")[1])
    assert (shown["lost"][1], shown["out"][1], shown["n1"][1]) == (
        "3 of 4 nvidia.com/gpu usable",
        "out of service",
        "idle",
    )
    why = gpu("why", "train", "--team", "ml")[1]
    assert "its node lost is broken (3 of 4 nvidia.com/gpu usable)" in why
    assert json.loads(gpu("why", "train", "--team", "ml", "--json")[1])["brokenNodes"] == {
        "lost": "3 of 4 nvidia.com/gpu usable"
    }


def test_who_may_see_a_namespace_sees_it_and_is_told(gpu: Run, with_cluster: Callable[[dict[str, Any]], Path]) -> None:
    whole = cluster()
    own = {JOBS.format("/namespaces/default"): [job("train", 2)], PODS.format("/namespaces/default"): []}
    with_cluster({**whole, "/api/v1/nodes": 403, JOBS.format(""): 403, **own})
    code, out, _ = gpu("top", "--once")
    assert code == 0
    assert "you may not list nodes" in out
    assert "jobs and used GPUs of namespace default only" in out
    assert rows(out)["t4-4"] == ["4 t4 spot", "?/3", "?"]
    assert rows(out)["train"] == ["0", "$0.00", "no pods created yet"]


ALL = [{"operator": "Exists"}]
DAEMON = {"ownerReferences": [{"kind": "DaemonSet", "name": "agent"}]}


def without_gpu(name: str, on: str, tolerations: list[dict[str, Any]] | None = None, **metadata: Any) -> dict[str, Any]:
    made = pod(name, 0, "Running", on)
    made["metadata"] |= {"name": name, **metadata}
    made["spec"] |= {"containers": [{"name": "main"}], "tolerations": tolerations or []}
    return made


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (without_gpu("shell", "n2", ALL), "tolerates all taints"),
        (without_gpu("shell", "n2", [{"key": "nvidia.com/gpu", "operator": "Exists"}]), "tolerates nvidia.com/gpu"),
        (without_gpu("shell", "n2", [{**ALL[0], "key": "node.kubernetes.io/not-ready"}]), "names its node"),
        (without_gpu("shell", "n1", ALL), None),
        (without_gpu("shell", "n5", ALL), None),
        (without_gpu("shell", "admin-1"), None),
        (without_gpu("shell", "n2", ALL, **DAEMON), None),
        (without_gpu("shell", "n2", ALL, creationTimestamp="2999-01-01T00:00:00Z"), None),
        ({**without_gpu("shell", "n2", ALL), "status": {"phase": "Succeeded"}}, None),
    ],
    ids=["blanket", "the GPU taint", "nodeName", "in use", "cordoned", "no GPU node", "daemon", "not yet", "ended"],
)
def test_pods_that_keep_an_idle_node_are_named(
    gpu: Run, with_cluster: Callable[[dict[str, Any]], Path], held: dict[str, Any], why: str | None
) -> None:
    objects = cluster()
    objects[PODS.format("")].append(held)
    with_cluster(objects)
    code, out, _ = gpu("top")
    assert code == 0
    words = "n2 is idle, and ml/shell keeps it: it requests no GPU, and"
    assert ([" ".join(out.split()).count(f"{words} {why}")] == [1]) if why else "keeps it" not in out


def test_an_idle_cluster_is_one_table(gpu: Run, with_cluster: Callable[[dict[str, Any]], Path]) -> None:
    with_cluster({**inventory(OFFER), JOBS.format(""): [], PODS.format(""): []})
    _, out, _ = gpu("top")
    assert "GPU nodes cost $0.00/h" in out
    assert "no GPU job runs or waits" in out


def test_a_price_that_is_unknown_is_not_nothing() -> None:
    unpriced = offer(pool("t4-4", size=4, hourly_usd=None))
    assert hourly_usd([pod("a", 1, "Running", "n1")], [node("n1", "t4-4", 4)], unpriced) is None
    assert hourly_usd([pod("a", 1, "Running", "n1")], [node("n1", "t4-4", 4)], OFFER) == 0.5
    assert hourly_usd([pod("a", 1, "Pending", None), pod("b", 4, "Failed", "n1")], [], OFFER) == 0


def test_at_a_terminal_it_goes_on_until_ctrl_c(with_cluster: Callable[[dict[str, Any]], Path]) -> None:
    file = with_cluster(cluster())
    master, slave = pty.openpty()
    environment = {**os.environ, "KUBECONFIG": str(file), "TERM": "xterm", "COLUMNS": "80", "LINES": "40"}
    command = [sys.executable, "-m", "gpu", "top", "--interval", "1"]
    program = subprocess.Popen(command, stdout=slave, stderr=subprocess.PIPE, stdin=slave, env=environment)
    os.close(slave)
    printed = b""
    while printed.count(b"GPU nodes cost") < 2:
        printed += os.read(master, 4096)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=60)
    os.close(master)
    assert (program.returncode, err) == (0, b"")
