"""What docs/ tells people to type is understood, and makes a job."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from typer.main import get_command

from facts.concepts.offer import from_config_map
from gpu.cli import app
from gpu.cluster import Reply
from gpu.commands import dev, fit, submission
from gpu.commands import offer as pools
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.readme import CLOUDS, README, Session, comparable
from packages.gpu.tests.test_cli import FakeCluster, Run, gpu, in_place
from tests.stacks import ROOT, run_program

__all__ = ["gpu"]

TEXT = (ROOT / "docs" / "workloads.md").read_text()
COMMANDS = re.findall(r"^\s*(gpu submit .*? -- .*)$", TEXT, re.MULTILINE)


PAGES = sorted((ROOT / "docs").glob("*.md"))
TYPED = [
    (page.name, line)
    for page in PAGES
    for line in re.findall(r"(?:^ *(?:\$ )?|`)(gpu [a-z][^`\n]*)", page.read_text(), re.MULTILINE)
]


@pytest.mark.parametrize(("page", "line"), TYPED, ids=[" ".join(each) for each in TYPED])
def test_commands_of_all_pages_exist_with_their_options(page: str, line: str) -> None:
    words = shlex.split(re.split(r" -- | [|>] ", line)[0])
    commands: Any = get_command(app)
    command = commands.commands[words[1]]
    options = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert {word for word in words if word.startswith("-")} <= {*options, "--help"}


class Documented(FakeCluster):
    """Has the pools that the page speaks of."""

    def offer(self) -> Any:
        return offer(pool("t4-1", spot=True, notice_seconds=15), pool("h100-8", gpu="nvidia-h100", size=8, max_nodes=4))


@pytest.mark.parametrize("session", [README, *CLOUDS.values()], ids=lambda session: session.stack.stem)
def test_sessions_show_what_their_stack_publishes(
    session: Session, gpu: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The commands that need no node, and of those that submit what they print before the job is there; a rehearsal
    repeats all of them."""
    maps = run_program(session.stack).of_type("kubernetes:core/v1:ConfigMap")
    (published,) = (each.inputs for each in maps if "offer.json" in each.inputs["data"])

    class Empty(FakeCluster):
        def offer(self) -> Any:
            return from_config_map(published)

        def list_if_allowed(self, path: str, **query: str) -> list[Any]:
            return []

        def find(self, path: str) -> None:
            return None

        def create(self, manifest: dict[str, Any]) -> Reply:
            return Reply({**manifest, "metadata": {**manifest["metadata"], "uid": "u"}})

    (tmp_path / "train.py").write_text("print('loss 0.1')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    for module in (pools, fit, submission, dev):
        in_place(monkeypatch, Empty, module)
    for module, names in ((submission, ["follow"]), (dev, ["kubectl", "_wait", "running_pod", "open_shell"])):
        for name in names:
            monkeypatch.setattr(module, name, lambda *_: "")
    asked = [
        (command, shown)
        for command, shown in session.steps
        if command.startswith(("gpu pools", "gpu fit", "gpu submit", "gpu dev")) and "|" not in command
    ]
    assert {"pools", "fit", "submit"} <= {command.split()[1] for command, _ in asked}
    for command, shown in asked:
        code, out, err = gpu(*shlex.split(command)[1:])
        printed, expected = comparable(command, out or err), comparable(command, shown)
        if out:
            assert printed == expected
        else:
            assert (code, expected[: len(printed)]) == (0, printed)
            assert "created in default; " in printed or "VS Code attaches" in printed


@pytest.mark.parametrize("session", [README, *CLOUDS.values()], ids=lambda session: session.stack.stem)
def test_sessions_show_the_words_of_their_clouds_own_autoscaler(session: Session) -> None:
    """Karpenter's are heard on EKS alone: https://karpenter.sh/docs/concepts/nodepools/"""
    cloud = yaml.safe_load(session.stack.read_text())["config"]["gpucluster:cloud"]
    shown = "".join(shown for _, shown in session.steps)
    assert cloud == "eks" or not re.search(r"nodepool|NodePool|NodeClaim", shown)


@pytest.fixture
def first(gpu: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    """The first object that a command would create."""
    own = in_place(monkeypatch, Documented, submission)
    monkeypatch.setattr(submission, "choose", lambda choice, team, request: own(None, team))

    def created(*arguments: str) -> dict[str, Any]:
        code, out, err = gpu("submit", "--dry-run", "--image", "example.com/x:1", *arguments)
        assert code == 0, err
        return next(yaml.safe_load_all(out))

    return created


def test_the_page_shows_each_way_to_submit() -> None:
    assert any("--sweep" in command for command in COMMANDS)
    assert any("--workers" in command for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_makes_a_job(command: str, first: Callable[..., dict[str, Any]]) -> None:
    _, _, *arguments = shlex.split(command)
    (container,) = first(*arguments)["spec"]["template"]["spec"]["containers"]
    assert arguments[arguments.index("--") + 1] in " ".join(container["command"])


def test_the_pages_file_of_options_is_a_sweep(tmp_path: Path, first: Callable[..., dict[str, Any]]) -> None:
    (block,) = re.findall(r"^### Options in a file.*?^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    file = tmp_path / "job.yaml"
    file.write_text(block)
    assert first("-f", str(file), "--gpu", "h100", "--memory", "64Gi")["spec"]["completions"] == 20


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_session_on_each_cloud_has_all_that_a_researcher_does(cloud: str) -> None:
    """That the commands print this is what rehearsals test (test_retained.py, test_gpu_on_each_cloud.py)."""
    session = CLOUDS[cloud]
    config = yaml.safe_load(session.stack.read_text())["config"]
    assert config["gpucluster:cloud"] == cloud
    saves = {"checkpoints", "sharedVolume"} <= config.get("gpucluster:workloads", {}).keys()
    assert saves is (cloud != "gke")
    commands = [command.split()[:2] for command, _ in session.steps]
    assert {program for program, _ in commands} == {"gpu"}
    words = ["--version", "pools", "fit", "submit", "pools", "logs", "why", "cost", "dev", "why", "stop"]
    assert [word for _, word in commands] == words
    assert [command for command, shown in session.steps if not shown.strip()] == []
    (logs,) = [shown for command, shown in session.steps if command.startswith("gpu logs")]
    assert "deleted with its node" in logs
    assert ("first: a rehearsal simulates its machines" in logs) is saves
