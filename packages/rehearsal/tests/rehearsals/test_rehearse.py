"""The rehearsal itself, on the real engine, control plane and autoscaler: stacks that must pass, and rude endings."""

from __future__ import annotations

import functools
import io
import json
import operator
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from rich.console import Console
from typing_extensions import override

from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, passes, rehearse
from packages.rehearsal.tests.simulated_cluster import PATIENCE, eventually
from packages.rehearsal.tests.tables import cases
from packages.rehearsal.tests.upgrade.released import commit
from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import ROOT, resolve
from rehearsal.providers.cloud import Record, Store
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.sandbox import client
from rehearsal.tools import folder

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

MANIFESTS = Path(__file__).parent / "manifests"
NODE_POOL = "gcp:container/nodePool:NodePool"
NETWORK = "gcp:compute/network:Network"


@pytest.mark.parametrize(
    "stack",
    [pytest.param("dev", marks=pytest.mark.merge), "examples/gke-tips.yaml", "examples/gke-per-gpu-type.yaml"],
)
def test_a_stack_passes_and_its_report_has_the_observations(stack: str) -> None:
    arguments = ("--day-two", "brief", "--base", commit()) if stack == "dev" else ()
    report = passes(stack, *arguments)
    plain = next(workload for workload in report["workloads"] if workload["id"] == "gpu-pod")
    assert plain["pods"][0]["pool"]


@pytest.mark.parametrize("place", ["outside", "inside"])
def test_a_private_control_plane_is_built_from_a_laptop_outside_and_from_a_runner_inside(place: str) -> None:
    passes("prod", "--from", place)


@pytest.mark.parametrize("stage", ["start the sandbox", "scenario"])
def test_ctrl_c_ends_everything_and_leaves_a_report(stage: str) -> None:
    process = rehearse("rehearse", "examples/gke-tips.yaml")
    assert process.stdout is not None
    assert any(line.endswith(f"── {stage}\n") for line in process.stdout), "it ended before"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130, output
    report = json.loads((REPORTS / "gke-tips" / "report.json").read_text())
    assert report["verdict"] == "fail"
    assert report["reasons"][0] == f"interrupted during {stage}"
    assert f"Interrupted during {stage}; everything was stopped." in output
    assert "List price" not in output, "one line, not a page about what did not happen"
    assert client.processes(REPORTS / "gke-tips") == {}


def test_ctrl_c_ends_a_preview_in_one_line() -> None:
    process, previews = rehearse("preview", "examples/gke-tips.yaml"), ROOT / "build" / "preview"
    (folder,) = eventually(
        "Pulumi runs",
        lambda: [
            run
            for run in previews.glob("gke-tips-*")
            if any("pulumi preview" in each for each in client.processes(run).values())
        ],
    )
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, output) == (130, "Interrupted.\n")
    assert client.processes(folder) == {}
    assert not folder.exists()


def test_a_killed_rehearsal_takes_its_sandbox_along() -> None:
    process = rehearse("rehearse", "examples/gke-tips.yaml")
    _wait_for_sandbox(process.pid)
    process.kill()
    process.communicate(timeout=PATIENCE)
    eventually("every process has ended", lambda: not client.processes(REPORTS / "gke-tips"))


def test_a_sandbox_that_dies_is_the_reason() -> None:
    process = rehearse("rehearse", "examples/gke-tips.yaml")
    os.kill(_wait_for_sandbox(process.pid), signal.SIGKILL)
    output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 1, output
    report = json.loads((REPORTS / "gke-tips" / "report.json").read_text())
    assert report["verdict"] == "fail"
    assert client.processes(REPORTS / "gke-tips") == {}


def test_a_users_own_installer_makes_a_stack_without_drivers_pass() -> None:
    stack = MANIFESTS.parent / "own-drivers.yaml"
    process = rehearse("rehearse", str(stack), "--apply", str(MANIFESTS / "driver-installer"), "--day-two", "none")
    output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 0, output
    report = json.loads((REPORTS / "own-drivers" / "report.json").read_text())
    (installer,) = report["applied"]
    assert installer["accepted"]
    assert {pod["pool"] for pod in installer["pods"]} == {"gpu-1"}


def test_a_users_workloads_are_reported_with_their_node_or_reason() -> None:
    process = rehearse(
        "rehearse", "examples/gke-tips.yaml", "--apply", str(MANIFESTS / "workloads"), "--day-two", "none"
    )
    output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 1, output
    report = json.loads((REPORTS / "gke-tips" / "report.json").read_text())
    applied = {one["name"]: one for one in report["applied"]}
    ran = {name: {pod["pool"] for pod in one["pods"]} for name, one in applied.items()}
    assert ran == {"notebook": {"admin"}, "train": {"gpu-1"}, "too-much-memory": {None}, "no-such-gpu": {None}}
    for name in ("too-much-memory", "no-such-gpu"):
        assert applied[name]["pods"][0]["reason"]
    failed = {check["id"] for check in report["checks"] if not check["passed"]}
    assert failed == {"applied:Pod/too-much-memory", "applied:Pod/no-such-gpu"}


@cases
def test_what_the_account_has_not_is_the_reason(account: str, reason: str, tmp_path: Path) -> None:
    file = tmp_path / "account.yaml"
    file.write_text(account)
    options = Options(tools=folder(), gate=None, build=tmp_path, account=file, fail_fast=True)
    finished = Rehearsal(resolve("examples/gke-tips.yaml"), options, Console(file=io.StringIO(), width=160)).run()
    assert not finished.passed
    assert reason in finished.report.read_text().replace('\\"', '"'), finished.record.reasons


def test_no_network_is_needed() -> None:
    inside = ["unshare", "--net", "--map-root-user", "--"]
    if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no network namespace of one's own")
    up = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    command = [*inside, *up, sys.executable, "-m", "gpucluster", "rehearse", "examples/gke-tips.yaml"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LONGEST, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class _Meddled(Rehearsal):
    """Somebody else changes a pool and leaves a network behind, both behind the engine's back."""

    @override
    def _idempotence(self, engine: Engine) -> None:
        store = Store(self.run_dir / "cloud", "gcp")
        pool = next(each for each in store.all(NODE_POOL) if "gpu" in json.dumps(each.inputs))
        pool.inputs["nodeConfig"]["labels"]["changed-by"] = "somebody-else"
        store.put(pool)
        super()._idempotence(engine)
        store.put(Record("projects/my-gcp-project/global/networks/litter", NETWORK, {}))


def test_drift_and_leftovers_of_others_fail_the_rehearsal(tmp_path: Path) -> None:
    options = Options(tools=folder(), gate=None, build=tmp_path)
    output = io.StringIO()
    finished = _Meddled(resolve("examples/gke-tips.yaml"), options, Console(file=output, width=160)).run()
    failed = {check.id: check.detail for check in finished.record.checks if not check.passed}
    assert failed.keys() == {"no-drift", "nothing-left"}, failed
    assert "networks/litter" in failed["nothing-left"]


class _Edited(Rehearsal):
    """The stack file is edited while GPU nodes work."""

    def __init__(self, stack: str, edit: Mapping[str, Any], build: Path) -> None:
        options = Options(tools=folder(), gate=None, build=build)
        super().__init__(resolve(f"examples/{stack}.yaml"), options, Console(file=io.StringIO(), width=160))
        self._edit = edit
        # Sizes apart, which are the autoscaler's.
        self.previewed: set[str] = set()
        self.updated: set[str] = set()

    @override
    def _idempotence(self, engine: Engine) -> None:
        super()._idempotence(engine)
        content = yaml.safe_load(engine.stack_file.read_text())
        for key, value in self._edit.items():
            at, _, last = f"config/gpucluster:{key}".rpartition("/")
            functools.reduce(operator.getitem, at.split("/"), content)[last] = value
        engine.stack_file.write_text(yaml.safe_dump(content))
        for results, result in ((self.previewed, engine.preview()), (self.updated, engine.up(name="edited"))):
            self._engine_check(f"edited-{result.command}", f"Edited: {result.command}", result)
            altered = (step for step in result.outcome.steps if step.alters and not step.sizes_only)
            results |= {f"{step.op} {step.name}" for step in altered}


@pytest.mark.parametrize(
    ("stack", "edit", "altered"),
    [
        # The control plane gets a name.
        ("gke-tips", {"network/dnsEndpoint": True}, {"update cluster-control-plane"}),
        # Groups wait for the add-ons; a preview does not know what waits for one that is new.
        (
            "eks-t4",
            {"addons": ["load-balancer"]},
            {
                *(f"create admin-pool-load-balancer{part}" for part in ("", "-role", "-role-policy")),
                *(f"create cluster-public-us-west-2{zone}{part}" for zone in "bc" for part in ("", "-association")),
            },
        ),
        # Nearly everything is tagged, and of what is to be updated Azure's provider knows next to nothing.
        ("aks-research", {"labels": {"day": "two"}}, None),
    ],
)
def test_no_edit_replaces_any(stack: str, edit: Mapping[str, Any], altered: set[str] | None, tmp_path: Path) -> None:
    """``altered``: all that the update alters, where that is little."""
    rehearsal = _Edited(stack, edit, tmp_path)
    finished = rehearsal.run()
    assert finished.passed, finished.record.reasons
    for steps in (rehearsal.previewed, rehearsal.updated):
        assert {step.split()[0] for step in steps} <= {"create", "update"}, steps
    assert rehearsal.updated if altered is None else rehearsal.updated == altered


def _wait_for_sandbox(pid: int) -> int:
    """The pid of the ready sandbox that the command line ``pid`` started."""
    (record,) = eventually("the sandbox is ready", lambda: [*REPORTS.glob(f"gke-tips/runs/*-{pid}/sandbox.json")])
    sandbox: int = json.loads(record.read_text())["pid"]
    return sandbox
