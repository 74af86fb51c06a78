"""Faults of a complete cluster and of the engine's files: programs killed, machines lost, a state that is damaged."""

from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.kubernetes import GPU_RESOURCE
from proof.faults.calls import REVERSIBLE, edit
from proof.faults.session import FaultSession
from rehearsal.cluster.api import ApiError, Object, UnreachableError, condition, pod_path
from rehearsal.engine.engine import STATE, CommandResult, EngineError
from rehearsal.engine.events import Step
from rehearsal.fleet.broken_gpus import wait_for_autoscaler
from rehearsal.fleet.nodes import ADVERTISED_BY, DRIVER
from rehearsal.fleet.reclaim import lose_pods
from rehearsal.sandbox.client import SandboxError
from rehearsal.scenario.plan import HELD, SECONDS

_PATIENCE_SECONDS: Final = 240.0
_JOB: Final = "/apis/batch/v1/namespaces/default/jobs/fault"
_NODES: Final = "/api/v1/nodes"
_WEBHOOKS: Final = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_UNREADABLE: Final = ("panic:", "Traceback", "goroutine ")

Situation = Callable[[FaultSession], None]
"""Raises ``EngineError`` and others if the stack does not get over it, ``Absent`` if nothing of it is in the stack."""


class Absent(Exception):
    """This stack has nothing that could fail so."""


def play(session: FaultSession) -> None:
    """Inject each fault into the complete cluster, one after another; afterwards an update must change nothing."""
    machines = _nodes(session)
    for title, situation in SITUATIONS.items():
        session.say(title)
        converged, left = False, []
        try:
            situation(session)
            left = _left(session, machines)
            _require(session.engine.up(None, name=session.log_name("again"), expect_no_changes=True))
            converged = True
        except Absent:
            session.say("  nothing of it in this stack")
            continue
        except (ApiError, EngineError, OSError, SandboxError, UnreachableError) as error:
            session.say(f"  {error}")
        row = session.row(title)
        row.planned += 1
        row.orphans += left
        session.settle("Create", [(title, "")], converged=converged)


def _api_server_killed(session: FaultSession) -> None:
    """While an update works; what it could not write, the next one writes."""
    killed: list[Step] = []

    def kill(step: Step) -> None:
        if not killed:
            killed.append(step)
            session.sandbox.restart("kube-apiserver")

    with _changed(session), _engine(session, on_step=kill):
        session.up("api-server-killed")
        _until("it is killed and ready again", lambda: bool(killed) and session.admin.ready())


def _webhook_killed(session: FaultSession) -> None:
    """A chart's webhook that must be asked and does not answer: the update fails, the one after it does not."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["configmaps"]}
    webhook = {
        "name": "fault.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    with _changed(session):
        session.admin.create(_WEBHOOKS, {"metadata": {"name": "fault"}, "webhooks": [webhook]})
        result = session.up("webhook-killed")
        session.admin.delete(f"{_WEBHOOKS}/fault")
        require_refused(result, "failed calling webhook")


def _autoscaler_killed(session: FaultSession) -> None:
    """While it has a job to scale up for."""
    with _job(session, seconds="3"):
        _until("a pod waits", lambda: bool(_pods(session)))
        if not session.sandbox.restart("karpenter"):
            raise Absent
        _until("the job is complete", lambda: condition(session.admin.get(_JOB), "Complete"))


def _agents_killed(session: FaultSession) -> None:
    """Driver installer, device plugin and the other DaemonSets' pods of a node under a job, which goes on."""
    with _job(session):
        node, before = _node(session), _pods(session)
        agents = {_owner(pod): pod for pod in _on(session, node) if _owner(pod).startswith("DaemonSet ")}
        if not agents:
            raise Absent
        if session.admin.get(f"{_NODES}/{node}")["metadata"]["annotations"].get(ADVERTISED_BY, "cloud") != "cloud":
            _lose_gpus(session, node, driver="missing")
        killed = {pod["metadata"]["uid"] for pod in agents.values()}
        for pod in agents.values():
            session.admin.delete(pod_path(pod), gracePeriodSeconds=0)

        def are_back() -> bool:
            new = [pod for pod in _on(session, node) if pod["metadata"]["uid"] not in killed]
            ready = {_owner(pod) for pod in new if condition(pod, "Ready")}
            gpus = session.admin.get(f"{_NODES}/{node}")["status"]["allocatable"][GPU_RESOURCE]
            return agents.keys() <= ready and gpus != "0"

        _until("all are back and the node offers GPUs", are_back)
        if [pod["metadata"]["uid"] for pod in _pods(session)] != [pod["metadata"]["uid"] for pod in before]:
            raise EngineError("the job's pod was ended, too")


def _node_lost(session: FaultSession) -> None:
    """A machine that breaks under a job: its pods get no notice."""
    with _job(session):
        first = _node(session)
        session.admin.merge(f"{_NODES}/{first}", {"spec": {"unschedulable": True}})
        lose_pods(session.admin, first)
        session.sandbox.reclaim(first)
        _node(session, other_than=first)


def _gpus_lost(session: FaultSession) -> None:
    """The node reports no GPU any more: the next pod of the job gets another node."""
    with _job(session):
        first = _node(session)
        _lose_gpus(session, first, driver="lost")
        for pod in _pods(session):
            session.admin.delete(pod_path(pod), gracePeriodSeconds=0)
        _node(session, other_than=first)


def two_updates(session: FaultSession) -> None:
    """The second is refused."""
    locks = _state(session) / ".pulumi" / "locks"
    with ThreadPoolExecutor(1) as background:
        first = background.submit(session.up, "first-at-once")
        _until("the first locks the stack", lambda: any(locks.rglob("*.json")) or first.done())
        second = session.up("second-at-once")
    require_refused(second, "locked")
    _require(first.result())


def state_truncated(session: FaultSession) -> None:
    """The engine refuses it; docs/operations.md says how to get the one before it back."""
    (state,) = _state(session).rglob(f"stacks/**/{session.engine.stack}.json")
    state.write_bytes(state.read_bytes()[: state.stat().st_size // 2])
    require_refused(session.up("state-truncated"), "checkpoint")
    shutil.copyfile(state.with_name(f"{state.name}.bak"), state)
    _require(session.engine.refresh(session.log_name("refresh")))


def _disk_full(session: FaultSession) -> None:
    """The update changes clouds, and cannot record it."""
    with _changed(session):
        full_disk(session)


def full_disk(session: FaultSession) -> None:
    """The disk of the state is full during an update; afterwards the state is what could still be written."""
    state, copied = _state(session), session.engine.run_dir / "state-of-full-disk"
    folder = session.engine.run_dir / "full-disk"
    folder.mkdir()
    pulumi = shutil.which("pulumi", path=session.engine.environment()["PATH"])
    (folder / "pulumi").write_text(FULL_DISK.format(state=state, copied=copied, pulumi=pulumi))
    (folder / "pulumi").chmod(0o755)
    with _engine(session, path=(folder, *session.engine.path)):
        result = session.up("disk-full")
    shutil.rmtree(folder)
    if copied.exists():
        shutil.rmtree(state)
        copied.rename(state)
    require_refused(result, "no space left on device")


FULL_DISK: Final = """\
#!/bin/sh
exec unshare --map-root-user --mount sh -c '
  cp -r {state} {copied} && mount -t tmpfs -o size=64m tmpfs {state} && cp -r {copied}/. {state} || exit
  head -c 64m /dev/zero > {state}/ballast 2>/dev/null; truncate -s -12K {state}/ballast
  {pulumi} "$@"; code=$?; rm -rf {state}/ballast {copied}; cp -r {state} {copied}; exit $code' sh "$@"
"""


SITUATIONS: Final[Mapping[str, Situation]] = {
    "API server killed": _api_server_killed,
    "webhook killed": _webhook_killed,
    "autoscaler killed": _autoscaler_killed,
    "a node's agents killed": _agents_killed,
    "node lost": _node_lost,
    "GPUs of a node lost": _gpus_lost,
    "two updates at once": two_updates,
    "state truncated": state_truncated,
    "disk full": _disk_full,
}


@contextmanager
def _job(session: FaultSession, seconds: str = HELD) -> Iterator[None]:
    """The sample job of the stack's first pool; by default it runs until the end of the block."""
    sample = next(iter(session.engine.outputs()["gpuJobs"].values()))
    job = copy.deepcopy(next(each for each in yaml.safe_load_all(sample) if each["kind"] == "Job"))
    job["metadata"] = {"name": "fault"}
    job["spec"].pop("backoffLimit", None)  # a check fails with its first pod; users' jobs are repeated
    job["spec"]["template"].setdefault("metadata", {}).setdefault("annotations", {})[SECONDS] = seconds
    session.admin.create(_JOB.removesuffix("/fault"), job)
    try:
        yield
    finally:
        session.admin.delete(_JOB)


def _pods(session: FaultSession) -> list[Object]:
    """The job's."""
    return session.admin.list("/api/v1/namespaces/default/pods", labelSelector="job-name=fault")


def _node(session: FaultSession, other_than: str = "") -> str:
    """A node on which a pod of the job runs, once one does."""
    nodes: list[str] = []

    def runs() -> bool:
        running = [each["spec"]["nodeName"] for each in _pods(session) if each["status"].get("phase") == "Running"]
        nodes[:] = [each for each in running if each != other_than]
        return bool(nodes)

    _until("a pod of the job runs on another node" if other_than else "a pod of the job runs", runs)
    return nodes[0]


def _nodes(session: FaultSession) -> list[str]:
    return [each["metadata"]["name"] for each in session.admin.list(_NODES)]


def _left(session: FaultSession, machines: list[str]) -> list[str]:
    """Nodes beyond those ``machines`` that are not deleted in time."""
    with suppress(EngineError):
        _until("the job's nodes are deleted", lambda: len(_nodes(session)) <= len(machines))
    return sorted(_nodes(session), key=lambda name: name not in machines)[len(machines) :]


def _on(session: FaultSession, node: str) -> list[Object]:
    return session.admin.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node}")


def _owner(pod: Object) -> str:
    return " ".join(f"{each['kind']} {each['name']}" for each in pod["metadata"].get("ownerReferences", ()))


def _lose_gpus(session: FaultSession, node: str, *, driver: str) -> None:
    """``driver``: what their node says of it, ``missing`` until a DaemonSet's pod offers them again."""
    wait_for_autoscaler(session.admin, node)
    none = {GPU_RESOURCE: "0"}
    session.admin.merge(f"{_NODES}/{node}", {"metadata": {"annotations": {DRIVER: driver}}})
    session.admin.merge(f"{_NODES}/{node}/status", {"status": {"capacity": none, "allocatable": none}})


@contextmanager
def _changed(session: FaultSession) -> Iterator[None]:
    """The update inside has something to change; the next one must succeed, and one more changes it back."""
    original = edit(session, REVERSIBLE)
    try:
        yield
        _require(session.up("after"))
    finally:
        session.engine.stack_file.write_text(original)
        session.up("changed-back")


@contextmanager
def _engine(session: FaultSession, **changed: Any) -> Iterator[None]:
    engine = session.engine
    session.engine = replace(engine, **changed)
    try:
        yield
    finally:
        session.engine = engine


def _state(session: FaultSession) -> Path:
    return session.engine.run_dir / STATE


def _require(result: CommandResult) -> None:
    if not result.ok:
        raise EngineError(f"{result.command} fails: {result.reason}")


def require_refused(result: CommandResult, words: str) -> None:
    """Raise ``EngineError`` unless the command failed with these words, and with a sentence."""
    log = result.log.read_text()
    if result.ok or words not in log or any(each in log for each in _UNREADABLE):
        raise EngineError(f"{result.command} does not fail with the words {words!r}: {result.log}")


def _until(what: str, reached: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while not reached():
        if time.monotonic() > deadline:
            raise EngineError(f"not within {_PATIENCE_SECONDS:.0f} s: {what}")
        time.sleep(0.3)
