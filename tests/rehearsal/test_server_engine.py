"""The engine drives an in-memory provider through its launcher: the protocol as it really is used."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from rehearsal.providers.launcher import write_launchers
from rehearsal.providers.server import serve
from tests.rehearsal.memory_provider import MemoryProvider

pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.skipif(shutil.which("pulumi") is None, reason="pulumi is not on PATH (make tools builds it)"),
]

PROGRAM = """
import json, pulumi

class Thing(pulumi.CustomResource):
    def __init__(self, name, props, opts=None):
        super().__init__("memory:index:Thing", name, {"token": None, "nested": None, "kind": None, **props}, opts)

for name, props in json.load(open("things.json")).items():
    secret = {"hidden": pulumi.Output.secret(props.pop("hidden"))} if "hidden" in props else {}
    thing = Thing(name, {**props, **secret})
    pulumi.export(name, thing.nested)
"""


@dataclass(frozen=True)
class Project:
    """A Pulumi project whose things are in ``things.json``."""

    directory: Path
    provider: MemoryProvider

    def write(self, **things: dict[str, Any]) -> None:
        (self.directory / "things.json").write_text(json.dumps(things))

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        home = self.directory / "home"
        environment = {
            **os.environ,
            "PULUMI_HOME": str(home),
            "PULUMI_BACKEND_URL": self.directory.as_uri(),
            "PULUMI_CONFIG_PASSPHRASE": "x",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        command = ["pulumi", "--non-interactive", "--color=never", *arguments]
        return subprocess.run(
            command, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )

    def up(self) -> subprocess.CompletedProcess[str]:
        return self.pulumi("up", "--stack=test", "--yes", "--skip-preview", "--suppress-progress")

    def resources(self) -> list[dict[str, Any]]:
        exported = json.loads(self.pulumi("stack", "export", "--stack=test").stdout)
        found = exported["deployment"].get("resources", [])
        return [resource for resource in found if resource["type"] == "memory:index:Thing"]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    provider = MemoryProvider()
    server = serve(provider, log_file=tmp_path / "provider.log")
    write_launchers(tmp_path / "home" / "plugins", {provider: server.port})
    (tmp_path / "Pulumi.yaml").write_text("name: things\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(PROGRAM)
    project = Project(tmp_path, provider)
    created = project.pulumi("stack", "init", "test")
    assert created.returncode == 0, created.stderr
    yield project
    server.stop()


def test_create_update_replace_delete(project: Project) -> None:
    project.write(one={"size": 1}, two={"size": 2})
    first = project.up()
    assert first.returncode == 0, first.stdout + first.stderr
    assert "warning" not in first.stdout + first.stderr
    assert sorted(project.provider.things) == ["one", "two"]

    project.write(one={"size": 3})
    changed = project.up()
    assert "~ 1 updated" in changed.stdout, changed.stdout
    assert "- 1 deleted" in changed.stdout, changed.stdout
    assert project.provider.things["one"]["size"] == 3
    assert "two" not in project.provider.things

    project.write(one={"size": 3, "kind": "square"})
    replaced = project.up()
    assert "+-1 replaced" in replaced.stdout, replaced.stdout

    assert "2 unchanged" in project.pulumi("preview", "--stack=test").stdout
    assert project.pulumi("destroy", "--stack=test", "--yes").returncode == 0
    assert project.provider.things == {}


def test_secrets_stay_secret_in_the_state(project: Project) -> None:
    project.write(one={"hidden": "from the user", "open": "word"})
    assert project.up().returncode == 0
    outputs = project.resources()[0]["outputs"]
    assert project.provider.things["one"]["hidden"] == "from the user"
    assert "ciphertext" in outputs["hidden"]
    assert "ciphertext" in outputs["token"]
    assert "ciphertext" in outputs["nested"]["password"]
    assert outputs["nested"]["user"] == "u"
    assert outputs["open"] == "word"


def test_an_error_is_printed_and_leaves_nothing_pending(project: Project) -> None:
    project.write(one={"fail": "always"})
    failed = project.up()
    assert failed.returncode != 0
    assert "one: fail is 'always'; leave it out" in failed.stdout + failed.stderr
    assert project.resources() == []
    assert "pending" not in project.pulumi("stack", "export", "--stack=test").stdout.lower()


def test_a_half_made_resource_stays_in_the_state_with_its_error(project: Project) -> None:
    project.write(one={"fail": "half"})
    failed = project.up()
    assert failed.returncode != 0
    assert "made, but not ready" in failed.stdout + failed.stderr
    (resource,) = project.resources()
    assert resource["id"] == "one"
    assert resource["initErrors"] == ["made, but not ready"]


def test_a_defect_names_the_provider_the_call_and_the_log(project: Project) -> None:
    project.write(one={"fail": "defect"})
    failed = project.up()
    text = failed.stdout + failed.stderr
    assert failed.returncode != 0
    assert "the memory stand-in has a defect: create of urn:" in text
    assert "KeyError: 'lost'" in text
    assert str(project.directory / "provider.log") in text
    project.write(one={})
    assert project.up().returncode == 0, "the server must outlive a defect"


def test_a_refused_input_fails_the_preview(project: Project) -> None:
    project.write(one={"kind": "refused"})
    failed = project.pulumi("preview", "--stack=test")
    assert failed.returncode != 0
    assert "refused is not a kind; write round" in failed.stdout + failed.stderr


def test_refresh_drops_what_is_gone(project: Project) -> None:
    project.write(one={}, two={})
    assert project.up().returncode == 0
    del project.provider.things["two"]
    assert project.pulumi("refresh", "--stack=test", "--yes", "--skip-preview").returncode == 0
    assert [resource["id"] for resource in project.resources()] == ["one"]


def test_a_launcher_without_its_world_says_so(project: Project) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    write_launchers(project.directory / "home" / "plugins", {project.provider: 1}, pid=gone.pid)
    project.write(one={})
    failed = project.up()
    assert failed.returncode != 0
    assert f"the rehearsal (process {gone.pid}) that serves memory is gone" in failed.stdout + failed.stderr
