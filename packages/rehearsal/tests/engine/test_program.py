"""Another Pulumi program: what keeps it from a rehearsal is reported in words."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from packages.rehearsal.tests.tables import cases
from rehearsal.engine.program import ForeignProgram, open_program
from rehearsal.engine.stack import StackError
from rehearsal.providers import admission_file


@pytest.fixture(autouse=True)
def _without_passphrase(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE", raising=False)
    monkeypatch.delenv("PULUMI_CONFIG_PASSPHRASE_FILE", raising=False)


def project(folder: Path, content: str = "name: ml\nruntime: python\n", **stacks: str) -> Path:
    (folder / "Pulumi.yaml").write_text(content)
    for stack, text in stacks.items():
        (folder / f"Pulumi.{stack}.yaml").write_text(text)
    return folder


def test_a_program_without_an_environment_runs_in_that_of_the_rehearsal(tmp_path: Path) -> None:
    program = open_program(project(tmp_path, dev="config: {}\n"), "dev")
    assert program.environment == Path(sys.prefix)
    assert program.file == tmp_path / "Pulumi.dev.yaml"
    assert program.name == f"{tmp_path.name}-dev"
    assert program.plugins == ("aws", "azure-native", "gcp")
    assert program.packages["kubernetes"] == "4.34.2"
    assert {"helm", "karpenter-aws"} <= {module.name for module in program.tools}, "it may install Karpenter for AWS"


def test_a_program_with_an_environment_has_the_plugins_that_are_installed_there(tmp_path: Path) -> None:
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "bin" / "python").touch()
    for package, content in {
        "pulumi_gcp": {"resource": True, "name": "gcp", "version": "v8.1.0"},
        "pulumi_policy": {"resource": False},
        "pulumi_random": {"resource": True, "name": "random", "version": "4.16.7"},
    }.items():
        folder = tmp_path / "venv" / "lib" / "python3.12" / "site-packages" / package
        folder.mkdir(parents=True)
        (folder / "pulumi-plugin.json").write_text(json.dumps(content))
    runtime = "{name: python, options: {toolchain: pip, virtualenv: venv}}"
    program = open_program(project(tmp_path, f"name: ml\nruntime: {runtime}\n"), "dev")
    assert program.environment == tmp_path / "venv"
    assert program.packages == {"gcp": "8.1.0", "random": "4.16.7"}
    assert program.plugins == ("gcp",)
    assert "karpenter-aws" not in {module.name for module in program.tools}


@pytest.mark.parametrize(
    ("config", "first", "admission"),
    [
        ("{aws:region: us-west-2}", "aws", False),
        ("{gcp:project: ml, own:size: 3}", "gcp", True),
        ("{azure-native:location: eastus}", "azure-native", False),
    ],
)
def test_the_api_server_is_that_of_the_cloud_that_the_stack_file_configures(
    tmp_path: Path, config: str, first: str, admission: bool
) -> None:
    """GKE's refuses pods of the system's priority classes where no quota admits them, the others' do not."""
    plugins = open_program(project(tmp_path, dev=f"config: {config}\n"), "dev").plugins
    assert (plugins[0], len(plugins)) == (first, 3)
    assert (admission_file(plugins) is not None) == admission


def test_a_program_may_have_no_stack_file_at_all(tmp_path: Path) -> None:
    assert not open_program(project(tmp_path), "dev").file.exists()


def test_stack_files_may_be_in_a_folder_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "Pulumi.dev.yaml").touch()
    program = open_program(project(tmp_path, "name: ml\nruntime: python\nstackConfigDir: stacks\n"), "dev")
    assert program.file == tmp_path / "stacks" / "Pulumi.dev.yaml"


@cases
def test_a_project_that_cannot_be_rehearsed_is_refused_in_words(tmp_path: Path, content: str, words: str) -> None:
    with pytest.raises(StackError, match=words.replace(".", r"\.")):
        open_program(project(tmp_path, content, dev=""), "dev")


def test_a_folder_without_a_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"has no Pulumi\.yaml"):
        open_program(tmp_path, "dev")


def test_a_stack_that_does_not_exist_is_refused_with_those_that_do(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="no stack 'dev': write STACK= and one of live, test"):
        open_program(project(tmp_path, live="", test=""), "dev")


def test_encrypted_values_need_a_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tmp_path, dev="config:\n  ml:token:\n    secure: abc\n")
    with pytest.raises(StackError, match="which only a passphrase decrypts offline"):
        open_program(folder, "dev")
    monkeypatch.setenv("PULUMI_CONFIG_PASSPHRASE", "word")
    assert open_program(folder, "dev").passphrase == "word"


@cases
def test_known_causes_are_explained(message: str, words: str, tmp_path: Path) -> None:
    program = ForeignProgram(tmp_path, "dev", tmp_path / "Pulumi.dev.yaml", tmp_path / "venv", {}, None)
    cause = program.cause(["update failed", f"Traceback …\n{message}"])
    assert words in cause
    assert bool(cause) is bool(words)
