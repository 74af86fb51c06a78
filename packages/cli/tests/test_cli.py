from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from gpucluster import app, shared
from gpucluster.commands import account, rehearsal
from gpucluster.commands.account import as_markdown, costs_of
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.engine.stack import ROOT, Stack, StackError, available, locate, resolve, without_protection
from rehearsal.run.options import Options
from rehearsal.tools.own_autoscaler import AutoscalerProgram

GOOD = (ROOT / "Pulumi.dev.yaml").read_text()


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    returncode: object
    stdout: str
    stderr: str


def run(*arguments: str, **environment: str) -> Ended:
    """One command in this process, where everything is imported already."""
    output, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, signals_restored():
        patch.setattr(sys, "argv", ["gpucluster", *arguments])
        with (
            mock.patch.dict(os.environ, {"PATH": "/bin:/usr/bin", **environment}, clear=True),
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(errors),
            pytest.raises(SystemExit) as ended,
        ):
            app.main()
    return Ended(ended.value.code, output.getvalue(), errors.getvalue())


@contextlib.contextmanager
def signals_restored() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


_INTERRUPT = """
import os, runpy, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "gpucluster.app":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
runpy.run_module("gpucluster", run_name="__main__")
"""


def test_ctrl_c_before_anything_runs_prints_no_traceback() -> None:
    command = [sys.executable, "-c", _INTERRUPT]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


@pytest.mark.parametrize("command", [("preview", "dev"), ("rehearse", "dev")])
def test_ctrl_c_ends_in_one_line(command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(stack: str) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr("rehearsal.engine.stack.resolve", interrupted)
    ended = run(*command)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "Interrupted.\n")


def test_quota_of_a_stack() -> None:
    shown = run("quota", "dev")
    assert shown.returncode == 0
    assert "Quota that stack 'dev' needs on gke" in shown.stdout


def test_help_explains_itself_to_a_newcomer() -> None:
    command = [sys.executable, "-m", "gpucluster", "--help"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert shown.returncode == 0
    for word in ("no cloud account", "rehearse", "preview", "quota", "stop", "fault", "bench", "--install-completion"):
        assert word in shown.stdout


@pytest.mark.parametrize(
    ("command", "default"),
    [
        ("rehearse", "[default: (brief; none with --keep)]"),
        ("rehearse", "[default: (inside a network only if it has to)]"),
        ("faults", "How many, drawn. [env var: N] [default: (all)]"),
        ("mutants", "How many, drawn. [env var: N] [default: (all)]"),
        ("fault", "[default: (list all cases)]"),
        ("stop", "[default: (all stacks)]"),
        ("pr-report", "[default: (those that differ from BASE)]"),
    ],
)
def test_help_shows_what_happens_without_an_option(command: str, default: str) -> None:
    assert default in " ".join(run(command, "--help", TERMINAL_WIDTH="300").stdout.split())


def test_a_stack_without_a_report_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(rehearsal, "_REPORTS", tmp_path)
    refused = run("compare", "dev,prod", TERMINAL_WIDTH="300")
    assert refused.returncode == 2
    assert f"no report of dev in {tmp_path / 'dev'}: run `make rehearse STACK=dev` first" in refused.stderr


@pytest.mark.parametrize(("damaged", "code"), [(False, 0), (True, 2)])
def test_a_comparison_is_called_as_its_stacks_whatever_their_reports_hold(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damaged: bool, code: int
) -> None:
    folder = tmp_path / "build" / "rehearsal"
    for stack in ("dev", "prod", "compare-x"):
        (folder / stack).mkdir(parents=True)
        (folder / stack / "report.json").write_text(json.dumps({"stack": f"x/../../../{stack}"}))
    monkeypatch.setattr(rehearsal, "ROOT", tmp_path)
    monkeypatch.setattr(rehearsal, "_REPORTS", folder)
    if not damaged:
        monkeypatch.setattr("rehearsal.report.page.render_comparison", lambda reports: f"{len(reports)} reports")
    shown = run("compare", "dev,prod", TERMINAL_WIDTH="300")
    assert shown.returncode == code
    assert ("a report is damaged" in shown.stderr) == damaged
    page = folder / "compare-dev-prod.html"
    assert list(tmp_path.rglob("*.html")) == ([] if damaged else [page])
    assert damaged or page.read_text() == "2 reports"


def test_a_program_of_the_cluster_is_refused_for_a_stack_that_makes_its_own() -> None:
    refused = run("rehearse", "dev", "--cluster", "examples/other-programs/gke-company", TERMINAL_WIDTH="300")
    assert refused.returncode == 2
    assert "Pulumi.dev.yaml has no existingCluster, so the stack makes its own cluster" in refused.stderr


def test_a_real_autoscaler_and_charts_are_those_of_every_changed_stack(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[str, dict[str, str]]] = []

    def record(command: list[str], *, env: dict[str, str], **_: object) -> subprocess.CompletedProcess[str]:
        started.append((command[-1], env))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr("rehearsal.engine.changed_stacks.changed_since", lambda base: ["examples/gke-tips.yaml"])
    monkeypatch.setattr(rehearsal.subprocess, "run", record)
    variables = {
        "BASE": "main",
        "KEEP": "1",
        "CLUSTER_AUTOSCALER": "/x",
        "CHARTS": "/charts",
        "MAKEFLAGS": " -- BASE=main",
    }
    assert run("rehearse-changed", **variables).returncode == 0
    ((stack, environment),) = started
    assert stack == "examples/gke-tips.yaml"
    assert (environment["CLUSTER_AUTOSCALER"], environment["GPUCLUSTER_CHARTS"]) == ("/x", "/charts")
    assert not {"BASE", "KEEP", "MAKEFLAGS"} & {*environment}, "they are about one stack"


@pytest.mark.parametrize(
    ("stack", "used"),
    [
        ("dev", True),
        ("examples/aks-train-infer.yaml", True),
        ("examples/eks-t4.yaml", True),
        ("examples/eks-karpenter.yaml", False),
        ("examples/aks-node-auto-provisioning.yaml", False),
    ],
)
def test_a_stack_that_no_cluster_autoscaler_scales_says_that_the_program_does_not_run(
    monkeypatch: pytest.MonkeyPatch, stack: str, used: bool
) -> None:
    program, rehearsed = AutoscalerProgram(Path("/x"), "1.36.1", (1, 36)), list[AutoscalerProgram | None]()

    def rehearse(stack: Stack, options: Options, terminal: object) -> None:
        rehearsed.append(options.autoscaler)
        raise StackError("rehearsed")

    monkeypatch.setattr("rehearsal.tools.own_autoscaler.own_autoscaler", lambda: program)
    monkeypatch.setattr("rehearsal.run.rehearsal.Rehearsal", rehearse)
    monkeypatch.setattr(rehearsal, "tools", lambda modules: Path("/tools"))
    output = run("rehearse", stack).stdout
    assert rehearsed == [program if used else None]
    assert ("No cluster-autoscaler scales" in output) is not used


@pytest.mark.parametrize(("variables", "seed"), [({}, 1), ({"SEED": "0"}, 0), ({"SEED": "7"}, 7)])
def test_a_seed_of_zero_is_used(monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], seed: int) -> None:
    seeds: list[int] = []
    monkeypatch.setattr("proof.bench.traces.run_trace_bench", lambda *arguments: seeds.append(arguments[-1]))
    assert run("bench-trace", **variables).returncode == 0
    assert seeds == [seed]


def test_without_a_case_the_cases_are_listed() -> None:
    shown = run("fault")
    assert shown.returncode == 0
    assert "minimum-one" in shown.stdout
    assert "taint-removed" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rehearse", "dve"], ["no stack 'dve'", "did you mean dev?"]),
        (["preview", "examples/nothing.yaml"], ["examples/nothing.yaml", "gke-tips"]),
        (["fault", "minimum"], ["no such case", "Did you mean 'minimum-one'"]),
        (["rehearse", "--plugins", "/nowhere"], ["/nowhere", "no such directory"]),
        (["quota", "prdo"], ["no stack 'prdo'", "did you mean prod?"]),
        (["quota", "tests/components/settings/bad_stacks/cloud-misspelt.yaml"], ["Did you mean 'gke'?"]),
        (["reherse", "dev"], ["No such command 'reherse'", "Did you mean 'rehearse'"]),
        (["rehearse", "--kep"], ["No such option: --kep", "--keep"]),
        (["compare", "dev"], ["at least two stacks"]),
        (["bench-trace", "--trace", "/none.csv"], ["/none.csv", "No such file"]),
        (["bench-trace", "examples/kubeadm.yaml"], ["rents no machines"]),
        (["faults", "examples/kubeadm.yaml"], ["has its own machines"]),
        (["release"], ["VERSION"]),
        (["clients", "chekov"], ["no client chekov", "checkov"]),
        (["plan"], ["no pulumi on PATH", "make engine"]),
        (["prove", "--part", "stack"], ["no pulumi on PATH", "make engine"]),
        (["prove", "dve", "--part", "stack"], ["no stack 'dve'", "Pulumi.dve.yaml does not exist"]),
        (["drift"], ["no pulumi on PATH", "make engine"]),
        (["rehearse", "--account", "/nope"], ["/nope: No such file or directory; write a file as"]),
        (["rehearse", "--apply", "/nope"], ["/nope: no such folder; write the one that has your manifests"]),
        (["rehearse", "--from", "home"], ["'home'", "'outside'", "'inside'"]),
    ],
)
def test_bad_input_is_one_message_that_names_the_remedy(arguments: list[str], words: list[str]) -> None:
    refused = run(*arguments)
    assert refused.returncode == 2
    for word in words:
        assert word in refused.stderr
    assert "Traceback" not in refused.stderr


_PREVIEW = """#!/bin/sh
[ "$1" = version ] && { echo v3.200.0; exit; }
echo "$@"
while [ "$1" != --event-log ]; do shift; done
echo '{"summaryEvent": {}}' > "$2"
"""


def test_a_second_update_is_previewed_with_the_stack_file_that_is_written(tmp_path: Path) -> None:
    """By its stack's name alone, Pulumi would make a new file beside the program, with another key."""
    engine, file = tmp_path / "pulumi", tmp_path / "next-Pulumi.proved-alone.yaml"
    engine.write_text(_PREVIEW)
    engine.chmod(0o755)
    file.write_text(GOOD)
    ended = run("prove", str(file), "--part", "stack", PATH=f"{tmp_path}:/bin:/usr/bin")
    assert (ended.returncode, ended.stderr) == (0, "")
    report = json.loads((ROOT / "build/prove/proved-alone/stack.json").read_text())
    assert (report["verdict"], report["versions"]) == ("pass", {"pulumi": "v3.200.0"})


@pytest.mark.parametrize("command", ["preview", "rehearse"])
def test_a_cluster_of_others_is_described_for_stacks_that_take_one(command: str) -> None:
    refused = run(command, "dev", "--cluster", "examples/other-programs/gke-company")
    assert refused.returncode == 2
    assert "Pulumi.dev.yaml has no existingCluster" in refused.stderr


def test_a_preview_is_on_the_cluster_that_is_described(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable of make is read, as a rehearsal reads it."""
    from rehearsal.run import preview as previews

    asked: list[dict[str, Any]] = []

    def noted(*_: Any, **how: Any) -> None:
        asked.append(how)
        raise StackError("noted")

    monkeypatch.setattr(previews, "preview", noted)
    monkeypatch.setattr(rehearsal, "tools", lambda modules: tmp_path)
    (tmp_path / "Pulumi.yaml").write_text("name: theirs\nruntime: python\n")
    with pytest.raises(StackError, match="noted"):
        rehearsal.preview("examples/aks-existing-cluster.yaml", cluster=tmp_path)
    assert asked[0]["owners"].program.folder == tmp_path


def test_all_errors_of_a_stack_file_are_reported_before_anything_starts(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(GOOD.replace("us-central1\n", "us-centrall1\n").replace("maxNodes: 4", "maxNodes: 0"))
    refused = run("rehearse", str(file))
    assert refused.returncode == 2
    assert "gpuPools[0].maxNodes" in refused.stderr
    assert "us-central1" in refused.stderr
    assert not (ROOT / "build" / "rehearsal" / "wrong").exists()


def test_encrypted_values_need_the_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret.yaml"
    file.write_text(GOOD + "\n  other:token:\n    secure: v1:abc\n")
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE_FILE", raising=False)
    with pytest.raises(StackError, match="PULUMI_CONFIG_PASSPHRASE"):
        resolve(str(file))


def test_missing_tools_name_the_command_that_builds_them(tmp_path: Path) -> None:
    refused = run("preview", "dev", GPUCLUSTER_TOOLS=str(tmp_path))
    assert refused.returncode == 2
    assert "make tools" in refused.stderr


@pytest.mark.parametrize(("own", "used"), [(0, 0o022), (0o002, 0o022), (0o077, 0o077)])
def test_nobody_else_may_change_what_a_command_writes_and_runs_again(own: int, used: int) -> None:
    """Such as the tools in ~/.cache/gpucluster, which another user would replace."""
    before = os.umask(own)
    try:
        run("--help")
        assert os.umask(own) == used
    finally:
        os.umask(before)


def test_a_stack_is_a_name_or_a_file() -> None:
    assert locate("dev") == ROOT / "Pulumi.dev.yaml"
    assert resolve("dev").name == "dev"
    assert resolve("examples/gke-tips.yaml").name == "gke-tips"
    assert {"dev", "prod", "examples/gke-tips.yaml"} <= set(available())


def test_no_name_of_a_file_is_completed_that_a_shell_would_evaluate(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    for name in ("dev", "\\$(touch x)", "`id`", "a b", "a'b", "a:b", "a\nb"):
        (tmp_path / f"Pulumi.{name}.yaml").touch()
        (tmp_path / "examples" / f"{name}.yaml").touch()
    assert available(tmp_path) == ["dev", "examples/dev.yaml"]


def test_a_file_name_that_is_no_stack_name_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "my stack.yaml"
    file.write_text(GOOD)
    with pytest.raises(StackError, match="not a valid stack name"):
        resolve(str(file))


def test_lifting_protection_changes_one_key(tmp_path: Path) -> None:
    from components.settings import from_stack_file

    file = tmp_path / "Pulumi.prod.yaml"
    # The engine reads `on` as a text.
    file.write_text((ROOT / "Pulumi.prod.yaml").read_text().replace("team: ml", "team: on"))
    before = from_stack_file(file)
    assert before.labels["team"] == "on"
    without_protection(file)
    after = from_stack_file(file)
    assert (before.security.deletion_protection, after.security.deletion_protection) == (True, False)
    assert (before.gpu_pools, before.network, before.labels) == (after.gpu_pools, after.network, after.labels)


@pytest.mark.parametrize(
    ("lines", "costs"),
    [(None, "\n$0.19/h idle, $4.45/h → $10.90/h at most\n\n"), (1, ""), (0, "")],
    ids=["whole", "ended early", "no log"],
)
def test_a_plan_begins_with_the_cost_and_what_it_was(lines: int | None, costs: str, tmp_path: Path) -> None:
    recorded = ROOT / "packages/rehearsal/tests/report/pull_requests/dearer-gpu.jsonl"
    events = tmp_path / "plan.events.jsonl"
    if lines != 0:
        events.write_text("".join(recorded.read_text().splitlines(keepends=True)[:lines]))
    page = as_markdown("dev", "+ pool", costs_of(events)).replace("**", "")
    assert page == f"### Update of stack dev\n{costs}~~~~~~diff\n+ pool\n~~~~~~\n"


@pytest.mark.parametrize("say", [account.say_line, shared.say_error])
def test_what_others_say_is_no_command_to_the_terminal(
    say: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    say("node of \x1b]0;owned\x07\x1b[2J\u202enobody")
    shown = "".join(capsys.readouterr())
    assert "node of ]0;owned[2Jnobody" in shown
    assert "\x1b" not in shown
