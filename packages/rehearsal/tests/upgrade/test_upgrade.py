"""What runs was declared by the released version: today's program loses nothing of it, and does what CHANGELOG.md says.

Both programs are real, the clouds are simulated, and there is no engine; with one: rehearsals/test_upgrade.py.
"""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from facts import catalog
from facts.concepts.offer import CONFIG_MAP, KEY
from packages.rehearsal.tests.upgrade.deployment import Change, Deployment
from packages.rehearsal.tests.upgrade.program import Program
from packages.rehearsal.tests.upgrade.released import (
    EVERYWHERE,
    Row,
    program,
    released,
    rows,
    tables,
    unexplained,
    unused,
)
from policies.offline import OfflineGate
from policies.readers.resource import Declared
from rehearsal.engine.changed_stacks import changed_project
from rehearsal.engine.engine import gate_for
from rehearsal.engine.stack import ROOT, stack_name
from rehearsal.run.upgrade import holds
from tests.one_stack import WORDS
from tests.program import test_every_key as every_key

pytestmark = pytest.mark.slow

COLUMNS: Final = every_key.COLUMNS

FILES: Final = (*released().glob("Pulumi.*.yaml"), *released().glob("examples/*.yaml"))
STACKS: Final = sorted(str(file.relative_to(released())) for file in FILES)


def cloud_of(file: Path) -> str:
    return str(yaml.safe_load(file.read_text())["config"]["gpucluster:cloud"])


def deployed(stack: str, folder: Path) -> Deployment:
    """A stack as the released version creates it."""
    file = released() / stack
    secret = catalog.OWN_SECRETS.get(cloud_of(file))
    deployment = Deployment(file, folder, {f"gpucluster:{secret}": "theirs"} if secret else {})
    created = deployment.update(program(released()))
    assert {each.op for each in created} == {"create"}, created
    return deployment


def lost(changes: list[Change]) -> list[Change]:
    """What must not happen, whatever the table says: the end of what holds data, rights or jobs."""
    return [each for each in changes if each.op in ("replace", "delete", "retain") and holds(each.type)]


def refused_by_the_gate(deployment: Deployment, stack: str, cloud: str) -> set[str]:
    """Rules that refuse what runs and that no row names, with today's configuration or the released one."""
    declared = [
        Declared(one.type, one.name, one.urn, each.inputs, dependencies=one.property_dependencies)
        for each in deployment.resources.values()
        for one in [each.registration]
    ]
    gates = [OfflineGate.of_file(gate_for(project, stack).config) for project in (released(), ROOT)]
    refused = {rule for gate in gates for rule, _, ends in gate.violations(declared) if ends}
    return refused - {rule for row in rows() if row.of(cloud) for rule in row.codes}


@dataclass(frozen=True)
class Seen:
    """What a deployment has, before or after an update."""

    problems: list[str]
    outputs: frozenset[str]
    secret_outputs: frozenset[str]
    offer: Any
    """The document that the cluster has for its users."""


def seen(deployment: Deployment) -> Seen:
    objects = [each.inputs for each in deployment.resources.values() if each.registration.type.endswith(":ConfigMap")]
    (config_map,) = [each for each in objects if each["metadata"]["name"] == CONFIG_MAP]
    offer = json.loads(config_map["data"][KEY])
    return Seen(deployment.problems(), frozenset(deployment.outputs), frozenset(deployment.secret_outputs), offer)


@dataclass(frozen=True)
class Updated:
    """A stack of the released version, updated to today's."""

    refused: set[str]
    """What the gate would refuse of what runs."""
    before: Seen
    changes: list[Change]
    missing: list[str]
    after: Seen
    again: list[Change]
    """What a second update changes."""


@functools.cache
def updated(stack: str) -> Updated:
    """Done once for all tests that look at it: it takes seconds."""
    deployment = deployed(stack, Path(tempfile.mkdtemp(dir=_folder().name)))
    refused = refused_by_the_gate(deployment, stack_name(Path(stack)), cloud_of(released() / stack))
    before, changes = seen(deployment), [*deployment.update(program(ROOT))]
    missing, after = deployment.missing(), seen(deployment)
    return Updated(refused, before, changes, missing, after, [*deployment.update(program(ROOT))])


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="upgrade-")


@pytest.mark.parametrize("stack", STACKS)
def test_an_update_loses_nothing_and_does_what_the_changelog_says(stack: str) -> None:
    update, cloud = updated(stack), cloud_of(released() / stack)
    assert update.refused == set()
    assert [each for each in update.changes if each.op == "refuse"] == []
    assert lost(update.changes) == []
    assert unexplained(update.changes, cloud) == [], "write a row of `Upgrading from` in CHANGELOG.md"
    assert update.missing == []
    assert update.after.problems == update.before.problems
    assert update.before.outputs <= update.after.outputs, "people read the outputs"
    assert update.before.secret_outputs <= update.after.secret_outputs
    assert update.again == [], "a second update changes nothing"


@pytest.mark.parametrize("column", COLUMNS)
def test_what_the_released_settings_accept_is_accepted(column: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """For each key a small stack, and the same with that key changed."""
    table = yaml.safe_load((released() / "tests/program/every_key.yaml").read_text())
    monkeypatch.setattr(every_key, "CHANGES", table)
    cloud = COLUMNS[column].cloud
    account = WORDS[cloud]["account"].split(": ")[1]
    refused, accepted = [], 0
    for key in table:
        for config in every_key.before_and_after(key, COLUMNS[column]):
            if program(released()).loads(config, "every-key", account):
                accepted += 1
                if not program(ROOT).loads(config, "every-key", account):
                    refused.append(key)
    assert refused == []
    assert accepted > len(table)


def test_every_row_is_about_clouds_that_there_are() -> None:
    assert rows()
    known = {*catalog.PLUGINS, *catalog.OWN_MACHINES, EVERYWHERE}
    assert [row for row in rows() if not row.where <= known] == []


@pytest.mark.parametrize("title", tables())
def test_rows_are_sorted_by_cloud(title: str) -> None:
    """A reader finds theirs together: first what is for all."""
    order = [EVERYWHERE, *catalog.PLUGINS, *catalog.OWN_MACHINES]
    places = [sorted(order.index(cloud) for cloud in row.where) for row in tables()[title]]
    assert places == sorted(places)


def test_every_row_about_resources_explains_a_change() -> None:
    """What a row says happens to no stack is out of date, or its words are misspelt."""

    def updates() -> Iterator[tuple[str, list[Change]]]:
        for stack in STACKS:
            cloud = cloud_of(released() / stack)
            if any(row.previewed and row.of(cloud) for row in rows()):
                yield cloud, updated(stack).changes

    assert unused(rows(), updates()) == []


def test_what_a_row_names_and_does_not_explain_is_named() -> None:
    update = Change("update", "aws:eks/addon:Addon", "vpc-cni", ("configurationValues",))
    used = Row(frozenset({EVERYWHERE}), "`aws:eks/addon:Addon`: `configurationValues`")
    other = replace(used, where=frozenset({"gke"}))
    misspelt = replace(used, what="`aws:eks/addon:Addon`: `configurationValues`, `configurationValue`")
    refusal = Row(frozenset({"eks"}), "`security.kmsKey`", previewed=False)
    named = [*(f"{code}: {other.what}" for code in sorted(other.codes)), f"configurationValue: {misspelt.what}"]
    assert unused([used, other, misspelt, refusal], [("eks", [update]), ("gke", [])]) == named


def test_other_versions_of_pulumis_packages_have_a_row() -> None:
    """Both programs run with today's packages here, so what a new version changes shows in no other test."""
    before, after = ({*(project / "requirements.txt").read_text().split()} for project in (released(), ROOT))
    changed = {line.partition("=")[0] for line in before ^ after if line.startswith("pulumi")}
    assert changed - {code for row in rows() for code in row.codes} == set()


def test_a_change_without_a_row_is_unexplained() -> None:
    """A row explains the types, inputs and clouds that it names, and nothing else."""
    row = Row(frozenset({"eks"}), "`aws:eks/addon:Addon`: `configurationValues`")
    update = Change("update", "aws:eks/addon:Addon", "vpc-cni", ("configurationValues",))
    assert row.explains(update, "eks")
    assert row.explains(replace(update, paths=("configurationValues.env[0]",)), "eks")
    assert not row.explains(replace(update, op="create", paths=()), "eks")
    assert not row.explains(replace(update, op="delete", paths=()), "eks")
    assert not replace(row, previewed=False).explains(update, "eks")
    created = Row(frozenset({EVERYWHERE}), "`aws:eks/addon:Addon`: `create`")
    assert created.explains(replace(update, op="create", paths=()), "eks")
    assert not created.explains(replace(update, op="delete", paths=()), "eks")
    assert not row.explains(update, "gke")
    assert not row.explains(replace(update, paths=("configurationValues", "addonVersion")), "eks")
    assert not row.explains(replace(update, type="aws:eks/cluster:Cluster"), "eks")
    role = Change("create", "kubernetes:rbac.authorization.k8s.io/v1:Role", "viewer")
    assert Row(frozenset({"eks"}), "`Role`: `create`").explains(role, "eks")
    assert not Row(frozenset({"eks"}), "`Role`: `create`").explains(replace(role, type="aws:iam/role:Role"), "eks")


BROKEN: Final = """\
import runpy
from components.resources import CustomResource

made = CustomResource.__init__

def broken(self, token, name, inputs, *rest, **options):
    if token == {token!r}:
        name, inputs = {change}
    made(self, token, name, inputs, *rest, **options)

CustomResource.__init__ = broken
runpy.run_path({program!r}, run_name="__main__")
"""
"""Today's program, in which one resource type is declared in another way."""


@pytest.mark.parametrize(
    ("stack", "token", "change", "noticed"),
    [
        # Another name replaces the pools.
        (
            "Pulumi.dev.yaml",
            "gcp:container/nodePool:NodePool",
            'name, {**inputs, "name": inputs["name"] + "x"}',
            "lost",
        ),
        # The same role policy under another name in the program: written first, then deleted.
        ("examples/eks-t4.yaml", "aws:iam/rolePolicy:RolePolicy", 'name + "-again", inputs', "missing"),
        # One more label.
        (
            "Pulumi.dev.yaml",
            "gcp:container/cluster:Cluster",
            'name, {**inputs, "resourceLabels": {**inputs["resourceLabels"], "new": "label"}}',
            "unexplained",
        ),
    ],
)
def test_a_careless_change_is_noticed(stack: str, token: str, change: str, noticed: str, tmp_path: Path) -> None:
    deployment = deployed(stack, tmp_path / "state")
    text = BROKEN.format(token=token, change=change, program=str(ROOT / "__main__.py"))
    with changed_project(text, tmp_path, ROOT) as project:
        careless = Program(project)
        changes = deployment.update(careless)
        careless.close()
    answers = {
        "lost": bool(lost(changes)),
        "missing": bool(deployment.missing()),
        "unexplained": bool(unexplained(changes, cloud_of(released() / stack))),
    }
    assert answers[noticed], changes
