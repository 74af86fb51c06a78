"""What docs/workloads.md tells people to type is understood, and makes a job."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu import cli
from gpu.cluster import ClusterClient
from gpu.commands import submission
from packages.gpu.tests.offers import offer, pool
from tests.stacks import ROOT

TEXT = (ROOT / "docs" / "workloads.md").read_text()
COMMANDS = re.findall(r"^\s*(gpu submit .*? -- .*)$", TEXT, re.MULTILINE)


class Documented(ClusterClient):
    """Has the pools that the page speaks of."""

    others = 0

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        self.context, self.namespace = "here", namespace or "default"

    def offer(self) -> Any:
        return offer(pool("t4-1", spot=True, notice_seconds=15), pool("h100-8", gpu="nvidia-h100", size=8, max_nodes=4))


def test_the_page_shows_each_way_to_submit() -> None:
    assert any("--sweep" in command for command in COMMANDS)
    assert any("--workers" in command for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_makes_a_job(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program, verb, *arguments = shlex.split(command)
    monkeypatch.setattr(submission, "ClusterClient", Documented)
    monkeypatch.setattr("sys.argv", [program, verb, "--dry-run", "--image", "example.com/x:1", *arguments])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    job = next(yaml.safe_load_all(out))
    container = job["spec"]["template"]["spec"]["containers"][0]
    asked = arguments[arguments.index("--") + 1]
    assert asked in " ".join(container["command"])


def test_the_pages_file_of_options_is_a_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = re.findall(r"^### Options in a file.*?^```yaml\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    file = tmp_path / "job.yaml"
    file.write_text(block)
    monkeypatch.setattr(submission, "ClusterClient", Documented)
    monkeypatch.setattr(
        "sys.argv", ["gpu", "submit", "-f", str(file), "--gpu", "h100", "--memory", "64Gi", "--image", "x", "--dry-run"]
    )
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    assert not ended.value.code, err
    assert next(yaml.safe_load_all(out))["spec"]["completions"] == 20
