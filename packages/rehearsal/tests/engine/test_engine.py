"""The engine driver, against the real engine with programs that need no provider."""

from __future__ import annotations

import os
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.credentials import hidden
from packages.rehearsal.tests.simulated_cluster import eventually
from rehearsal.engine.engine import (
    Engine,
    EngineError,
    PolicyPack,
    gate_for,
    has_secure_values,
    outliving,
    user_passphrase,
)
from rehearsal.engine.events import Step
from rehearsal.engine.stack import ROOT
from rehearsal.report.changes import stack_change
from rehearsal.report.pull_request import StackReport, comment
from rehearsal.sandbox import client

PROJECT = "name: probe\nruntime:\n  name: python\n  options:\n    virtualenv: .venv\nconfig: {}\n"


def engine(tmp_path: Path, tools: Path, program: str, steps: list[Step] | None = None) -> Engine:
    project = tmp_path / "project"
    project.mkdir()
    (project / "Pulumi.yaml").write_text(PROJECT)
    (project / "Pulumi.dev.yaml").write_text("config:\n  probe:colour: green\n")
    (project / "__main__.py").write_text(program)
    (project / ".venv").symlink_to(ROOT / ".venv")
    folders: dict[str, Any] = {"project": project, "run_dir": tmp_path / "run", "path": (tools,)}
    on_step = None if steps is None else steps.append
    return Engine.create(stack="dev", stack_file=project / "Pulumi.dev.yaml", on_step=on_step, **folders)


@pytest.mark.rehearsal
def test_an_update_leaves_the_project_as_it_was(tmp_path: Path, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/secret.json")
    monkeypatch.setenv("PULUMI_ACCESS_TOKEN", "pul-secret")
    program = """
import os, pulumi
pulumi.export("environment", sorted(os.environ))
pulumi.export("secret", pulumi.Output.secret("hidden"))
pulumi.export("colour", pulumi.Config().require("colour"))
"""
    steps: list[Step] = []
    driver = engine(tmp_path, tools, program, steps)
    before = {path: path.read_text() for path in driver.project.iterdir() if path.is_file()}
    result = driver.up()
    assert result.ok, result.reason
    outputs = driver.outputs()
    assert outputs["colour"] == "green"
    assert outputs["secret"] == "hidden"
    assert not {"GOOGLE_APPLICATION_CREDENTIALS", "PULUMI_ACCESS_TOKEN"} & set(outputs["environment"])
    assert {path: path.read_text() for path in driver.project.iterdir() if path.is_file()} == before
    assert "encryptionsalt" in driver.stack_file.read_text()
    assert [step.name for step in steps if step.op == "create" and not step.planned] == ["probe-dev"]
    assert driver.up(expect_no_changes=True).ok
    assert len(driver.resources()) == 1
    assert driver.destroy().ok
    assert driver.resources() == []


@pytest.mark.rehearsal
def test_another_program_has_a_stack_of_its_own_beside_this_one(tmp_path: Path, tools: Path) -> None:
    driver = engine(tmp_path, tools, "")
    other, folder = tmp_path / "other", driver.stack_file.parent / "other"
    for each in (other, folder):
        each.mkdir()
    (other / "Pulumi.yaml").write_text(PROJECT.replace("probe", "other"))
    (other / "__main__.py").write_text("import pulumi\npulumi.export('colour', pulumi.Config().require('colour'))\n")
    (other / ".venv").symlink_to(ROOT / ".venv")
    (tmp_path / "config.yaml").write_text("config:\n  other:colour: red\n")
    beside = driver.another(other, "theirs", tmp_path / "config.yaml", folder)
    assert beside.up(name="their-up").ok
    assert (beside.outputs(), beside.resources()) == (
        {"colour": "red"},
        ["urn:pulumi:theirs::other::pulumi:pulumi:Stack::other-theirs"],
    )
    assert driver.resources() == []
    assert (driver.run_dir / "their-up.log").is_file()


@pytest.mark.rehearsal
def test_a_programs_error_is_the_reason(tmp_path: Path, tools: Path) -> None:
    result = engine(tmp_path, tools, 'raise ValueError("gpuPools[0]: no such GPU")').preview()
    assert not result.ok
    assert "gpuPools[0]: no such GPU" in result.reason


@pytest.mark.rehearsal
def test_the_secrets_of_a_stack_file_are_read_and_an_error_with_one_is_masked(tmp_path: Path, tools: Path) -> None:
    driver = engine(tmp_path, tools, "raise ValueError('cannot log in with open-sesame')")
    assert driver.secrets() == []
    driver.set_secret("other:token", "open-sesame")
    assert driver.secrets() == ["open-sesame"]
    change = stack_change(hidden(driver.preview().events, driver.secrets()))
    text = comment([StackReport(stack="test", source="", change=change)])
    assert "cannot log in with" in text
    assert "sesame" not in text


@pytest.mark.rehearsal
def test_the_next_program_of_a_stack_has_its_own_stack_file_and_the_same_secrets(tmp_path: Path, tools: Path) -> None:
    driver = engine(tmp_path, tools, "")
    assert driver.up(skip_preview=True).ok
    file = tmp_path / "next.yaml"
    file.write_text("config: {}\n")
    following = driver.of(driver.project, file)
    assert following.preview().ok
    assert "encryptionsalt:" not in file.read_text(), "the user's file stays"
    # Without encrypted values another passphrase is no obstacle.
    file.write_text(
        "config: {}\nencryptionsalt: v1:SfyPm7lcsMw=:v1:Sx9K37xdn9CR/+Uq:ek0crU1NyHaHlB2usE9nfN5bhHuGrw==\n"
    )
    assert driver.of(driver.project, file).preview().ok
    file.write_text("config: {}\n")
    following = driver.of(driver.project, file)
    following.set_secret("other:token", "open-sesame")
    assert following.secrets() == ["open-sesame"]


@pytest.mark.rehearsal
def test_an_interrupted_update_leaves_no_process(tmp_path: Path, tools: Path) -> None:
    driver = engine(tmp_path, tools, "import pathlib, time; pathlib.Path('running').touch(); time.sleep(600)")

    def press() -> None:
        eventually("the program runs", (driver.project / "running").exists)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press, daemon=True)
    presser.start()
    with pytest.raises(KeyboardInterrupt):
        driver.preview()
    presser.join()
    assert client.processes(tmp_path) == {}


def test_a_stack_gets_its_own_levels_or_the_default_ones() -> None:
    assert gate_for(ROOT, "dev").config.name == "dev.json"
    assert gate_for(ROOT, "gke-tips") == PolicyPack(ROOT / "policies", ROOT / "policies" / "config" / "default.json")


def test_a_configuration_with_a_misspelled_rule_is_refused_before_the_engine_ignores_it(tmp_path: Path) -> None:
    config = tmp_path / "policies" / "config" / "default.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"gpu-tant": "mandatory"}')
    with pytest.raises(EngineError, match=r"default\.json: gpu-tant: no such rule; did you mean gpu-taint\?"):
        gate_for(tmp_path, "dev")


def test_secure_values_are_recognised(tmp_path: Path) -> None:
    file = tmp_path / "Pulumi.x.yaml"
    file.write_text("config:\n  a:b: secure: not this\n")
    assert not has_secure_values(file)
    file.write_text("config:\n  a:b:\n    secure: v1:abc\n")
    assert has_secure_values(file)


def test_the_users_passphrase_is_read_from_both_places(tmp_path: Path) -> None:
    file = tmp_path / "passphrase"
    file.write_text("from a file\n")
    assert user_passphrase({}) is None
    assert user_passphrase({"PULUMI_CONFIG_PASSPHRASE": ""}) is None
    assert user_passphrase({"PULUMI_CONFIG_PASSPHRASE_FILE": str(file)}) == "from a file"
    assert user_passphrase({"PULUMI_CONFIG_PASSPHRASE": "x", "PULUMI_CONFIG_PASSPHRASE_FILE": str(file)}) == "x"


def test_what_goes_with_the_cluster_does_not_outlive_it() -> None:
    cluster = {"urn": "cluster", "id": "c"}
    bucket = {"urn": "bucket", "id": "b", "retainOnDelete": True}
    state = [
        cluster,
        bucket,
        {"urn": "namespace", "id": "research", "retainOnDelete": True, "deletedWith": "cluster"},
        {"urn": "object", "id": "o", "retainOnDelete": True, "deletedWith": "bucket"},
        {"urn": "component", "retainOnDelete": True},
    ]
    assert outliving(state) == {"b", "o"}


def test_a_damaged_tools_folder_is_an_error_with_a_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    damaged = tmp_path / "tools"
    damaged.mkdir()
    (damaged / "pulumi").write_text("garbage")
    (damaged / "pulumi").chmod(0o755)
    with pytest.raises(EngineError, match=rf"{damaged}/pulumi is damaged.*: delete {tmp_path}, run `make tools`"):
        engine(tmp_path, damaged, "")


def test_a_damaged_pulumi_of_the_user_is_named_and_not_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    own = tmp_path / "opt" / "pulumi"
    own.parent.mkdir()
    own.write_text("garbage")
    own.chmod(0o755)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "pulumi").symlink_to(own)
    with pytest.raises(EngineError, match=rf"^{own} is damaged \(Exec format error\): install it anew$"):
        engine(tmp_path, tmp_path / "tools", "")


def test_a_project_folder_that_is_missing_is_not_blamed_on_pulumi(tmp_path: Path) -> None:
    (tmp_path / "pulumi").write_text("#!/bin/sh\n")
    (tmp_path / "pulumi").chmod(0o755)
    driver = replace(engine(tmp_path, tmp_path, ""), project=tmp_path / "nowhere")
    for command in (driver.version, driver.preview):
        with pytest.raises(
            EngineError, match=rf"^`pulumi` cannot start: {tmp_path}/nowhere: No such file or directory$"
        ):
            command()


@pytest.mark.rehearsal
@pytest.mark.parametrize("bytecode", [True, False])
def test_python_writes_into_the_projects_folder_only_where_it_may(tmp_path: Path, tools: Path, bytecode: bool) -> None:
    driver = engine(tmp_path, tools, "import names")
    (driver.project / "names.py").touch()
    assert replace(driver, bytecode=bytecode).preview().ok
    assert (driver.project / "__pycache__").exists() is bytecode
