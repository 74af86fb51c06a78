"""Which installed Pulumi is used or passed over, with the reason; what is shown of a stage; what the binaries say."""

from __future__ import annotations

import io
import os
import subprocess
from pathlib import Path

import pytest

import rehearsal.tools
from packages.rehearsal.tests.simulated_cluster import PATIENCE, eventually
from packages.rehearsal.tests.tables import cases
from rehearsal.tools.install import FILES, SystemPulumi, find_pulumi, make_plan
from rehearsal.tools.modules import HELM, KUBERNETES, PREVIEW
from rehearsal.tools.progress import Progress, duration


def _install(folder: Path, version: str, without: tuple[str, ...] = ()) -> Path:
    folder.mkdir(parents=True)
    for name in set(FILES) - set(without):
        (folder / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (folder / name).chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["v3.200.0", "v3.245.1", "v4.0.0", "3.201.0-alpha.1"])
def test_a_new_enough_pulumi_is_used(tmp_path: Path, version: str) -> None:
    folder = _install(tmp_path / "bin", version)
    plan = make_plan({"PATH": str(folder), "GPUCLUSTER_CACHE": str(tmp_path / "cache")})
    assert plan.pulumi == SystemPulumi(folder, version)
    assert not any(module in plan.modules for module in PREVIEW)
    assert plan.sources["pulumi"] == folder / "pulumi"
    assert plan.sources["pulumi-language-python"] == folder / "pulumi-language-python"


@cases
def test_an_old_or_odd_pulumi_is_passed_over(tmp_path: Path, version: str, reason: str) -> None:
    folder = _install(tmp_path / "bin", version)
    plan = make_plan({"PATH": str(folder), "GPUCLUSTER_CACHE": str(tmp_path / "cache")})
    assert isinstance(plan.pulumi, str)
    assert reason in plan.pulumi
    assert all(module in plan.modules for module in PREVIEW)


@pytest.mark.parametrize("missing", [file for file in FILES if file != "pulumi"])
def test_a_pulumi_without_its_python_plugins_is_passed_over(tmp_path: Path, missing: str) -> None:
    folder = _install(tmp_path / "bin", "v3.245.1", without=(missing,))
    assert f"comes without {missing}" in str(find_pulumi({"PATH": str(folder)}, tmp_path / "cache"))


def test_plugins_beside_the_target_of_a_link_count(tmp_path: Path) -> None:
    folder = _install(tmp_path / "opt" / "pulumi", "v3.245.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "pulumi").symlink_to(folder / "pulumi")
    assert find_pulumi({"PATH": str(tmp_path / "bin")}, tmp_path / "cache") == SystemPulumi(folder, "v3.245.1")


def test_our_own_pulumi_on_path_is_not_the_users(tmp_path: Path) -> None:
    ours = _install(tmp_path / "cache" / "pulumi-0123", "v3.200.0")
    assert find_pulumi({"PATH": str(ours)}, tmp_path / "cache") == "no pulumi on PATH"
    theirs = _install(tmp_path / "bin", "v3.245.1")
    path = os.pathsep.join([str(ours), str(theirs)])
    assert find_pulumi({"PATH": path}, tmp_path / "cache") == SystemPulumi(theirs, "v3.245.1")


def test_another_version_gives_another_folder(tmp_path: Path) -> None:
    folder = _install(tmp_path / "bin", "v3.245.1")
    environ = {"PATH": str(folder), "GPUCLUSTER_CACHE": str(tmp_path / "cache")}
    before = make_plan(environ).folder
    (folder / "pulumi").write_text("#!/bin/sh\necho v3.246.0\n")
    assert make_plan(environ).folder != before
    assert make_plan({**environ, "PATH": ""}).folder != before


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _run_stage(out: io.StringIO) -> str:
    with Progress(out, interval=0.01).stage("etcd: build", "about 6 s") as stage:
        stage.detail = "7 packages compiled, " * 40
        eventually("its detail is shown", lambda: "7 packages" in out.getvalue())
    return out.getvalue()


def test_a_log_gets_whole_lines() -> None:
    first, *between, last = _run_stage(io.StringIO()).splitlines()
    assert first == "etcd: build (about 6 s) …"
    assert between
    assert all(line.startswith("  etcd: build: 0") for line in between)
    assert last.startswith("etcd: build: done in 0")


def test_a_terminal_gets_one_line_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    shown = _run_stage(_Terminal())
    assert shown.count("\n") == 2
    updates = shown.split("\r\x1b[K")[1:-1]
    assert any("7 packages" in update for update in updates)
    assert all(len(update) < 60 for update in updates)


def test_a_failed_stage_says_so() -> None:
    out = io.StringIO()
    with pytest.raises(ValueError, match="broken"), Progress(out).stage("etcd: build"):
        raise ValueError("broken")
    assert "etcd: build: failed after 0 s" in out.getvalue()


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.12, 12, 187)] == ["0.1 s", "12 s", "3 min 07 s"]


@pytest.mark.rehearsal
@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (["kube-apiserver", "--version"], f"Kubernetes {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["kube-controller-manager", "--version"], f"Kubernetes {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["kube-scheduler", "--version"], f"Kubernetes {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["kubectl", "version", "--client"], f"Client Version: {KUBERNETES.version('k8s.io/kubernetes')}"),
        (["etcd", "--version"], f"etcd Version: {KUBERNETES.version('go.etcd.io/etcd/server/v3').lstrip('v')}"),
        (["kwok", "--version"], "kwok version"),
        (["pulumi", "version"], "v3."),
        (["karpenter", "--help"], "-instance-types-file-path"),
        (["helm", "version"], f'Version:"{HELM.version("helm.sh/helm/v3")}"'),
        (["karpenter-aws", "--help"], "-interruption-queue"),
        (["actionlint", "--version"], "1."),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_runs(command: list[str], answer: str) -> None:
    folder = rehearsal.tools.folder()
    shown = subprocess.run([str(folder / command[0]), *command[1:]], text=True, capture_output=True, timeout=PATIENCE)
    assert answer in shown.stdout + shown.stderr
