"""The engine drives an in-memory provider through its launcher: the protocol as it really is used."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from packages.rehearsal.tests.memory_provider import MemoryProvider
from rehearsal.providers.server import serve, write_launchers

pytestmark = REAL_ENGINE

THING = "memory:index:Thing"
PROGRAM = """
import json, pulumi

class Thing(pulumi.CustomResource):
    def __init__(self, name, props, opts=None):
        super().__init__("memory:index:Thing", name, {"token": None, "nested": None, "kind": None, **props}, opts)

for name, props in json.load(open("values.json")).items():
    secret = {"hidden": pulumi.Output.secret(props.pop("hidden"))} if "hidden" in props else {}
    options = pulumi.ResourceOptions(ignore_changes=props.pop("ignore", []))
    thing = Thing(name, {**props, **secret}, options)
    pulumi.export(name, thing.nested)
"""


@dataclass(frozen=True)
class Things:
    """A project and the provider that its things live in."""

    project: Project
    provider: MemoryProvider


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Things]:
    provider = MemoryProvider()
    server = serve(provider, log_file=tmp_path / "provider.log")
    yield Things(Project.create(tmp_path, PROGRAM, {provider: server.port}), provider)
    server.stop()


def test_create_update_replace_delete(made: Things) -> None:
    made.project.write(one={"size": 1}, two={"size": 2})
    first = made.project.up()
    assert "warning" not in first
    assert sorted(made.provider.things) == ["one", "two"]

    made.project.write(one={"size": 3})
    changed = made.project.up()
    assert "~ 1 updated" in changed
    assert "- 1 deleted" in changed
    assert list(made.provider.things) == ["one"]
    assert made.provider.things["one"]["size"] == 3

    made.project.write(one={"size": 3, "kind": "square"})
    assert "+-1 replaced" in made.project.up()
    made.project.write(one={"size": 4, "kind": "square", "ignore": ["size"]})
    assert "2 unchanged" in made.project.preview()
    made.project.destroy()
    assert made.provider.things == {}


def test_secrets_stay_secret_in_the_state(made: Things) -> None:
    made.project.write(one={"hidden": "from the user", "open": "word"})
    made.project.up()
    outputs = made.project.resources(THING)[0]["outputs"]
    assert made.provider.things["one"]["hidden"] == "from the user"
    assert "ciphertext" in outputs["hidden"]
    assert "ciphertext" in outputs["token"]
    assert "ciphertext" in outputs["nested"]["password"]
    assert outputs["nested"]["user"] == "u"
    assert outputs["open"] == "word"


def test_an_error_is_printed_and_leaves_nothing_pending(made: Things) -> None:
    made.project.write(one={"fail": "always"})
    failed = made.project.up(refused=True)
    assert "one: fail is 'always'; leave it out" in failed
    assert made.project.resources(THING) == []
    assert "pending_operations" not in made.project.run("stack", "export", "--stack=test")


def test_a_half_made_resource_stays_in_the_state_with_its_error(made: Things) -> None:
    made.project.write(one={"fail": "half"})
    failed = made.project.up(refused=True)
    assert "made, but not ready" in failed
    (resource,) = made.project.resources(THING)
    assert resource["id"] == "one"
    assert resource["initErrors"] == ["made, but not ready"]


def test_a_defect_names_the_provider_the_call_and_the_log(made: Things) -> None:
    made.project.write(one={"fail": "defect"})
    failed = made.project.up(refused=True)
    assert "the simulated memory provider has a defect: create of urn:" in failed
    assert "KeyError: 'lost'" in failed
    assert str(made.project.directory / "provider.log") in failed
    made.project.write(one={})
    made.project.up()  # the server must outlive a defect


def test_a_refused_input_fails_the_preview(made: Things) -> None:
    made.project.write(one={"kind": "refused"})
    failed = made.project.preview(refused=True)
    assert "refused is not a kind; write round" in failed


def test_refresh_drops_what_no_longer_exists(made: Things) -> None:
    made.project.write(one={}, two={})
    made.project.up()
    del made.provider.things["two"]
    made.project.run("refresh", "--stack=test", "--yes", "--skip-preview")
    assert [resource["id"] for resource in made.project.resources(THING)] == ["one"]


def test_a_launcher_whose_rehearsal_ended_says_so(made: Things) -> None:
    process = subprocess.Popen(["true"])
    process.wait()
    write_launchers(made.project.directory / "home" / "plugins", {made.provider: 1}, pid=process.pid)
    made.project.write(one={})
    failed = made.project.up(refused=True)
    assert f"the rehearsal (process {process.pid}) that serves memory is gone" in failed
