"""An update from another version: what cannot be one is refused before anything starts."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rehearsal.engine.engine import CommandResult
from rehearsal.engine.events import Outcome
from rehearsal.engine.stack import StackError, resolve
from rehearsal.run.options import Options
from rehearsal.run.rehearsal import Rehearsal
from rehearsal.run.upgrade import DeployedVersion

SAME = "config:\n  gpucluster:cloud: gke\n"
SECRET = "  other:token:\n    secure: v1:abc\nencryptionsalt: v1:x\n"


def rehearse(folder: Path, content: str | None, passphrase: str | None = None) -> None:
    """Make the rehearsal of ``dev``, from a version that has this stack file; none if it had no such stack."""
    if content is not None:
        (folder / "Pulumi.dev.yaml").write_text(content)
    options = Options(tools=folder, gate=None, build=folder, base=DeployedVersion("v0.1.0", folder))
    Rehearsal(replace(resolve("dev"), passphrase=passphrase), options, Console(file=io.StringIO()))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (SAME.replace("gke", "eks"), "has `gpucluster:cloud: eks`, today's has gke"),
        ("config: {}\n", "has `gpucluster:cloud: None`, today's has gke"),
        (SAME + SECRET, "holds encrypted values: set PULUMI_CONFIG_PASSPHRASE"),
    ],
)
def test_a_version_from_which_no_update_leads_is_refused_in_a_sentence(
    tmp_path: Path, content: str, words: str
) -> None:
    with pytest.raises(StackError) as raised:
        rehearse(tmp_path, content)
    assert str(raised.value).startswith(f"Pulumi.dev.yaml of v0.1.0 {words}")
    assert not list((tmp_path / "dev").glob("runs/*")), "nothing was started"


@pytest.mark.parametrize(("content", "passphrase"), [(SAME, None), (None, None), (SAME + SECRET, "open sesame")])
def test_another_version_of_the_same_stack_is_accepted(
    tmp_path: Path, content: str | None, passphrase: str | None
) -> None:
    rehearse(tmp_path, content, passphrase)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            "get stack secrets manager: incorrect passphrase",
            "encrypted with another passphrase than PULUMI_CONFIG_PASS",
        ),
        ("no such zone", "pulumi up of v0.1.0 failed: no such zone"),
    ],
)
def test_another_passphrase_is_named_and_any_other_failure_is_pulumis(tmp_path: Path, error: str, words: str) -> None:
    failed = CommandResult("up", 1, 1.0, Outcome(errors=(error,)), tmp_path / "up.log")
    assert words in DeployedVersion("v0.1.0", tmp_path).failure(failed)
