"""Steps with and without faults, on a made-up engine: what counts as converged."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proof.faults import calls, run, situations
from proof.faults.session import OTHER, FaultSession, FaultsFailed
from rehearsal.engine.engine import EngineError
from rehearsal.engine.stack import ROOT
from rehearsal.providers.call_faults import CallFault

STACK = "urn:pulumi:dev::gpucluster::"
COMPONENT = f"{STACK}gpucluster:index:GpuNodePool::t4-1"
PROVIDER = f"{STACK}pulumi:providers:gcp::default"
NETWORK = f"{STACK}gcp:compute/network:Network::net"
POOL = f"{STACK}gpucluster:index:GpuNodePool$gcp:container/nodePool:NodePool::t4-1-pool"


class Made:
    """Engine and simulated clouds in one. ``broken``: commands that fail without a fault; ``lost``: never created."""

    def __init__(self, run_dir: Path) -> None:
        self.run_dir, self.passphrase = run_dir, "not in any file"
        self.stack_file = run_dir / "Pulumi.dev.yaml"
        shutil.copyfile(ROOT / "Pulumi.dev.yaml", self.stack_file)
        (run_dir / "control-plane").mkdir()
        (run_dir / "control-plane" / "tokens.csv").write_text("")
        (run_dir / "failed.log").write_text("")
        self.broken: set[str] = set()
        self.lost: set[str] = set()
        self.nodes = ["admin"]
        self._planned: list[CallFault] = []
        self._injected: list[CallFault] = []
        self._urns: list[str] = []

    # The engine
    def up(self, gate: None, *, name: str, skip_preview: bool = False, expect_no_changes: bool = False) -> Any:
        assert skip_preview or expect_no_changes
        created = [urn for urn in (COMPONENT, PROVIDER, NETWORK, POOL) if urn not in (*self._urns, *self.lost)]
        steps = (
            [] if created else [SimpleNamespace(op="update", type="gcp:container/nodePool:NodePool", name="t4-1-pool")]
        )
        result = self._result(name, steps)
        self._urns += created if result.ok else []
        return result

    def destroy(self, name: str) -> Any:
        result = self._result(name)
        self._urns = [] if result.ok else self._urns
        return result

    def refresh(self, name: str) -> Any:
        return self._result(name)

    def operation(self, name: str, arguments: list[str]) -> Any:
        return self._result(name)

    def _result(self, name: str, steps: Any = ()) -> Any:
        command, disturbed = name.partition("-")[2], bool(self._planned)
        self._injected += self._planned[:1]
        del self._planned[:1]
        failed = disturbed or command in self.broken
        outcome = SimpleNamespace(steps=steps)
        log = self.run_dir / "failed.log"
        return SimpleNamespace(
            command=command, ok=not failed, exit_code=int(failed), reason="503", outcome=outcome, log=log
        )

    def resources(self) -> list[str]:
        return self._urns

    def deployment(self, *flags: str) -> dict[str, Any]:
        places = {NETWORK: f"{STACK}pulumi:pulumi:Stack::dev", POOL: COMPONENT}
        mine = [urn for urn in self._urns if urn in places]
        kind = {NETWORK: "gcp:compute/network:Network", POOL: "gcp:container/nodePool:NodePool"}
        return {
            "resources": [
                {"urn": urn, "type": kind[urn], "id": "1", "parent": places[urn], "provider": f"{PROVIDER}::0a1b"}
                for urn in mine
            ]
        }

    def secrets(self) -> list[str]:
        return []

    # The cluster
    def list(self, path: str) -> list[dict[str, Any]]:
        assert path == "/api/v1/nodes"
        return [{"metadata": {"name": name}} for name in self.nodes]

    # The sandbox
    def inject(self, faults: Any) -> None:
        self._planned, self._injected = list(faults), []

    def calls(self) -> tuple[list[CallFault], dict[str, str]]:
        return list(self._injected), {}

    def inventory(self) -> tuple[str, ...]:
        return tuple(f"{each['type']} {each['id']}" for each in self.deployment()["resources"])


@pytest.fixture
def made(tmp_path: Path) -> Made:
    return Made(tmp_path)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def session(made: Made, lines: list[str]) -> FaultSession:
    engine: Any = made
    session = FaultSession(engine, engine, engine, lines.append)
    assert calls.clean_run(session) == {
        "Create": [NETWORK, POOL],
        "Update": [POOL],
        "Read": [NETWORK, POOL],
        "Delete": [NETWORK, POOL],
    }
    return session


def failed(session: FaultSession) -> list[str]:
    return [row.title for row in session.rows.values() if not row.ok]


def test_a_clean_run_tells_where_resources_belong(session: FaultSession) -> None:
    assert session.places[POOL] == {"parent": COMPONENT, "provider": PROVIDER}


def test_a_stack_that_fails_without_a_fault_cannot_be_disturbed(made: Made) -> None:
    engine: Any = made
    made.broken = {"clean-up"}
    with pytest.raises(FaultsFailed, match=r"without a fault, clean-up fails: 503 \(.*failed\.log\)"):
        calls.clean_run(FaultSession(engine, engine, engine, print))


def test_each_step_is_repeated_until_it_succeeds(session: FaultSession) -> None:
    faults = [CallFault(call, POOL, "refused") for call in ("Create", "Update", "Read", "Delete")]
    calls.disturbed_run(session, faults)
    assert [(row.title, row.injected, row.converged) for row in session.rows.values() if row.planned] == [
        ("create: refused", 1, 1),
        ("update: refused", 1, 1),
        ("read: refused", 1, 1),
        ("delete: refused", 1, 1),
    ]
    assert failed(session) == []


@pytest.mark.parametrize("command", ["up", "refresh", "after-refresh", "destroy"])
def test_a_step_that_never_succeeds_fails_without_a_fault_in_it(
    session: FaultSession, made: Made, command: str
) -> None:
    made.broken = {command}
    calls.disturbed_run(session, [])
    assert failed(session) == [OTHER]


def test_what_a_step_without_a_fault_lacks_is_a_failure(session: FaultSession, made: Made, lines: list[str]) -> None:
    made.lost = {NETWORK}
    session.disturb("Create", [], session.up)
    assert failed(session) == [OTHER]
    assert session.rows[OTHER].failed == 1
    assert lines[0] == "Create: faults planned: 0"
    assert lines[1:] == ["  after Create: not converged", "  after Create: gcp:compute/network:Network 1"]


def test_with_a_fault_in_it_the_fault_has_not_converged(session: FaultSession, made: Made) -> None:
    made.lost = {NETWORK}
    session.disturb("Create", [CallFault("Create", POOL, "refused")], session.up)
    assert failed(session) == ["create: refused"]
    assert session.rows["create: refused"].converged == 0


def play(session: FaultSession, monkeypatch: pytest.MonkeyPatch, **fails: situations.Situation) -> None:
    monkeypatch.setattr(situations, "SITUATIONS", fails)
    monkeypatch.setattr(situations, "_PATIENCE_SECONDS", 0.0)
    calls.disturbed_run(session, [], situations.play)


def test_each_situation_of_the_complete_cluster_is_a_fault(
    session: FaultSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(session: FaultSession) -> None:
        raise EngineError("does not start")

    def absent(session: FaultSession) -> None:
        raise situations.Absent

    play(session, monkeypatch, mended=lambda _: None, broken=broken, absent=absent)
    assert [(row.title, row.injected, row.converged) for row in session.rows.values() if row.planned] == [
        ("mended", 1, 1),
        ("broken", 1, 0),
    ]


def test_a_situation_after_which_an_update_changes_something_has_not_converged(
    session: FaultSession, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    made.broken = {"again"}
    play(session, monkeypatch, mended=lambda _: None)
    assert failed(session) == ["mended"]


def test_a_machine_that_a_situation_leaves_is_an_orphan(
    session: FaultSession, made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    def adds(session: FaultSession) -> None:
        made.nodes = ["a-gpu-node", "admin"]

    play(session, monkeypatch, adds=adds)
    assert session.rows["adds"].orphans == ["a-gpu-node"]
    assert failed(session) == ["adds"]


def test_of_a_run_that_passed_only_the_report_stays(tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    report.write_text("table")
    (tmp_path / "001-up.log").write_text("")
    (tmp_path / "stack").mkdir()
    (tmp_path / "stack" / "state").write_text("")
    run.delete_all_but(report)
    assert [*tmp_path.iterdir()] == [report]
