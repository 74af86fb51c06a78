"""What a run says: a machine without room, a preview, a second update, and a cluster that it keeps."""

from __future__ import annotations

import errno
import io
import json
import socket
import subprocess
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from rich.console import Console

from packages.rehearsal.tests.objects import Clock, Cluster
from packages.rehearsal.tests.tables import cases
from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import Outcome, read_events
from rehearsal.engine.stack import resolve
from rehearsal.own_machines.lab_rehearsal import LabRehearsal
from rehearsal.report.changes import stack_change
from rehearsal.run import options
from rehearsal.run.options import NEEDED_MIB, DiskFull, LoopbackDown, Options
from rehearsal.run.preview import show_stack, to_json
from rehearsal.run.recorder import RetainedCluster
from rehearsal.run.rehearsal import Rehearsal, deleted


class Usage(NamedTuple):
    free: int


@pytest.mark.parametrize(("free_mib", "enough"), [(NEEDED_MIB - 1, False), (NEEDED_MIB, True)])
def test_too_little_room_is_refused_with_the_place_and_the_need(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_mib: int, enough: bool
) -> None:
    monkeypatch.setattr(options.shutil, "disk_usage", lambda path: Usage(free_mib * 1024 * 1024))
    if enough:
        options.require_room(tmp_path)
        return
    words = f"{tmp_path} has {free_mib} MiB of free disk space, a rehearsal needs {NEEDED_MIB}"
    with pytest.raises(DiskFull, match=words):
        options.require_room(tmp_path)


@pytest.mark.parametrize(
    ("number", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False), (None, False)]
)
def test_only_a_full_disk_is_called_one(number: int | None, full: bool) -> None:
    error = OSError("no answer") if number is None else OSError(number, "no space left on device")
    assert ("the disk is full" in options.words(error)) is full


def test_a_loopback_that_is_down_is_told_with_the_command_to_run(monkeypatch: pytest.MonkeyPatch) -> None:
    options.require_loopback()
    monkeypatch.setattr(socket.socket, "connect", _unreachable)
    with pytest.raises(LoopbackDown, match="ip link set lo up"):
        options.require_loopback()


def _unreachable(*arguments: Any) -> None:
    raise OSError(errno.ENETUNREACH, "Network is unreachable")


def test_the_commands_that_are_printed_can_be_pasted(tmp_path: Path) -> None:
    environment = tmp_path / "environment.sh"
    job, stack_file = tmp_path / "jobs" / "t4-1.yaml", tmp_path / "stack" / "Pulumi.dev.yaml"
    cluster = RetainedCluster(environment, tmp_path / "kubeconfig", (job,), "dev", stack_file)
    lines = list(cluster.next_steps())
    commands = [line.strip() for line in lines if line.startswith("  ")]
    assert commands[0] == f". {environment}", "the others need what it sets"
    assert {"gpu pools", f"gpucluster prove {stack_file} --part stack"} <= {*commands}
    assert [command for command in commands if "#" in command] == [], "an interactive zsh knows no comments"
    subprocess.run(["sh", "-n"], input="\n".join(commands), text=True, check=True)
    assert any(str(cluster.kubeconfig) in line for line in lines)
    watched = [command.split()[2] for command in commands if command.endswith(" --watch")]
    assert watched == ["pods", "nodes"], "kubectl watches one kind at a time"


class _WithShell(LabRehearsal):
    """Needs no machine: what ``_play`` does between an update and the end."""

    specs_of = staticmethod(lambda settings: [])

    def _play(self, held: ExitStack) -> None:
        engine: Any = SimpleNamespace(
            outputs=lambda: {"gpuJobs": {"t4-2": "kind: Job"}},
            environment=lambda: {"PULUMI_CONFIG_PASSPHRASE": "secret", "GPUCLUSTER_WITHOUT_ACCOUNT": "1", "HOME": "/x"},
            path=(),
            stack="kubeadm",
            stack_file=Path("/run/Pulumi.kubeadm.yaml"),
        )
        with self._stage("shell"):
            self._shell(engine, "the kubeconfig")
        with self._stage("pulumi destroy"):
            self._check("destroy", "the rehearsal goes on", True, "")


@pytest.mark.parametrize("code", [0, 130])
def test_own_machines_are_kept_by_a_shell_of_the_user_and_go_at_its_end(
    code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell, seen = tmp_path / "shell", tmp_path / "seen"
    shell.write_text(f"#!/bin/sh\n. {tmp_path}/kubeadm/runs/*/environment.sh\ncat $KUBECONFIG > {seen}\n"
                     f"echo $GPUCLUSTER_WITHOUT_ACCOUNT >> {seen}\nexit {code}\n")  # fmt: skip
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    output, stack = io.StringIO(), resolve("examples/kubeadm.yaml")
    software: Any = None
    rehearsal = _WithShell(
        stack, Options(tools=tmp_path, gate=None, build=tmp_path), tmp_path, software, Console(file=output, width=300)
    )
    assert rehearsal.run().passed
    assert seen.read_text() == "the kubeconfig1\n"
    assert "gpucluster prove /run/Pulumi.kubeadm.yaml --part stack" in output.getvalue()
    assert "rehearse-stop" not in output.getvalue()


RECORDED = Path(__file__).parents[1] / "report" / "pull_requests"


@cases
def test_80_columns_show_pools_prices_quotas_and_changes(case: str, expected: list[str]) -> None:
    change = stack_change(read_events(RECORDED / f"{case}.jsonl"))
    longest = replace(change.after.pools[0], name="z" * 60, gpu="nvidia-a100-40gb", capacity="capacity-block")
    output = io.StringIO()
    console = Console(file=output, width=80, force_terminal=True, color_system=None)
    show_stack(console, change)
    text = " ".join(output.getvalue().split())
    assert [words for words in expected if words not in text] == []
    show_stack(console, replace(change, after=replace(change.after, pools=(longest,))))
    assert max(map(len, output.getvalue().splitlines())) <= 80
    assert output.getvalue().count("z") >= 60, "a long name is shown whole"


def test_the_same_as_json() -> None:
    content = json.loads(json.dumps(to_json("dev", stack_change(read_events(RECORDED / "dearer-gpu.jsonl")))))
    pools = {pool["name"]: pool for pool in content["pools"]}
    assert (pools["t4-1"]["gpu"], pools["t4-1"]["gpusPerNode"], pools["t4-1"]["minNodes"]) == ("nvidia-l4", 1, 0)
    assert (pools["admin"]["minNodes"], pools["admin"]["maxNodes"]) == (None, None), "always on"
    expected = (pytest.approx(10.90, abs=0.01), pytest.approx(4.45, abs=0.01))
    assert (content["cost"]["maxHourlyUsd"], content["costBefore"]["maxHourlyUsd"]) == expected
    expected = [("t4-1", "replaced", True), ("t4-4", "replaced", True)]
    assert [(one["pool"], one["kind"], one["endsJobs"]) for one in content["changes"]] == expected
    assert "GPUS_ALL_REGIONS" in [quota["name"] for quota in content["quotas"]]
    assert content["simulated"] is True
    first = to_json("dev", stack_change(read_events(RECORDED / "first-stack.jsonl")))
    assert (first["changes"], first["costBefore"]) == (None, None)


class _Engine:
    """Fails ``failures`` updates, and loses a node during the first if ``shrinks``."""

    def __init__(self, cluster: Cluster, failures: int, *, shrinks: bool) -> None:
        self._cluster, self._failures, self._shrinks = cluster, failures, shrinks
        self.updates = 0

    def up(self, *arguments: Any, **named: Any) -> CommandResult:
        self.updates += 1
        if self._shrinks and self.updates == 1:
            self._cluster.deleted("gpu-0", "t4-1", size=1)
        failed = self.updates <= self._failures
        return CommandResult("up", int(failed), 1.0, Outcome(errors=("refused",) if failed else ()), Path("up.log"))

    def drift(self) -> CommandResult:
        return CommandResult("refresh", 0, 1.0, Outcome(), Path("refresh.log"))


@pytest.mark.parametrize(
    ("failures", "shrinks", "updates", "passed"),
    [(0, True, 1, True), (1, True, 2, True), (2, True, 2, False), (1, False, 1, False)],
)
def test_it_is_tried_again_only_if_pools_changed_meanwhile(
    failures: int, shrinks: bool, updates: int, passed: bool, tmp_path: Path
) -> None:
    options = Options(tools=tmp_path, gate=None, build=tmp_path)
    rehearsal: Any = Rehearsal(resolve("dev"), options, Console(file=io.StringIO()))
    cluster = Cluster(rehearsal._timeline, Clock())
    cluster.node("gpu-0", "t4-1", size=1)
    engine = _Engine(cluster, failures, shrinks=shrinks)
    rehearsal._idempotence(engine)
    (check, _drift) = rehearsal._record.checks
    assert (check.passed, engine.updates) == (passed, updates)
    assert "With 1 GPU node running" in check.title


def test_the_engine_s_own_default_providers_are_no_loss() -> None:
    """A refused destroy drops that of ``pulumi``, with which the program reads its state: nothing depends on it."""
    stack = "urn:pulumi:dev::gpucluster::"
    cluster, pool = (f"{stack}gpucluster:index:Cluster$gcp:container/{each}::{each}" for each in ("cluster", "pool"))
    provider = f"{stack}pulumi:providers:pulumi::default"
    assert deleted([cluster, pool, provider], [cluster, pool]) == []
    assert deleted([cluster, pool, provider], [cluster]) == ["pool"]
