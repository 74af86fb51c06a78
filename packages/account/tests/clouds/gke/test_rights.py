"""The deployer's rights against judges from outside: permissions of the methods that the provider calls, and roles."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from account.clouds.gke import rights
from components.settings.quotas import used
from facts.catalog.gke.rights import needed
from packages.account.tests.clouds.gke.google import DOCUMENTS, document, methods_of
from tests import one_stack
from tests.stacks import POOLS_ALONE, ROOT, STACK_FILES, run_program, settings_of

HERE = Path(__file__).parent
OWN = [file for file in (*STACK_FILES, *one_stack.files()) if "gpucluster:cloud: gke" in file.read_text()]
STACKS = [*OWN, POOLS_ALONE]
OBJECTS = "objects in the cluster"
RESOURCES = ROOT / "packages/rehearsal/rehearsal/providers/gke/resources.yaml"


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in (HERE / name).read_text().splitlines() if not line.startswith("#")))


METHODS = {row["method"]: frozenset(row["permissions"].split()) for row in table("methods.csv")}
CALLS = {row["type"]: row["methods"].split() for row in table("calls.csv")}
ROLES = {row["role"]: frozenset(row["permissions"].split()) for row in table("roles.csv")}
DECLARED = sorted({row.type for row in rights.TABLE.rows} - {OBJECTS})
ASKED = {
    type: row["permission"]
    for type, row in yaml.safe_load(RESOURCES.read_text()).items()
    if row.get("permission") is not None
}


def granted(type: str) -> set[str]:
    return {right for row in rights.TABLE.rows if row.type == type for right in row.rights}


def judged(type: str) -> set[str]:
    return {right for method in CALLS[type] for right in METHODS[method]}


def left_out(type: str) -> set[str]:
    return {row["right"] for row in table("left_out.csv") if row["type"] == type and row["reason"]}


def beyond(type: str) -> set[str]:
    return {right for right, reason in rights.TABLE.reasons.get(type, {}).items() if reason}


@pytest.mark.parametrize("type", DECLARED)
def test_a_deployer_has_what_google_requires_for_the_providers_calls_and_a_reason_for_all_else(type: str) -> None:
    assert granted(type) == judged(type) - left_out(type) | beyond(type)
    assert left_out(type) <= judged(type)
    assert not beyond(type) & judged(type)


def test_the_methods_are_in_googles_discovery_documents() -> None:
    apis = {method.partition(".")[0] for method in METHODS}
    files = [path.stem for api in apis for path in DOCUMENTS.glob(f"{api}.v[123].json")]
    known = {method["id"] for api in files for method in methods_of(document(api))}
    assert {*METHODS} - known == set()
    assert {method for methods in CALLS.values() for method in methods} == {*METHODS}


@pytest.mark.parametrize("type", sorted({*DECLARED} & {*ASKED}))
def test_a_rehearsal_asks_for_rights_that_the_deployer_gets(type: str) -> None:
    """So that what ``account`` finds missing is missing there, too."""
    assert {ASKED[type].format(action=each) for each in ("create", "update", "delete")} <= granted(type)


@pytest.mark.parametrize("file", OWN, ids=lambda file: file.stem)
def test_the_types_are_those_that_the_program_declares(file: Path) -> None:
    declared = {each.type for each in run_program(file).resources if each.type.startswith("gcp:")}
    types = {row.type for row in rights.TABLE.declared(settings_of(file))}
    assert declared - types == set()
    # Lookups are no resources.
    assert {each for each in types - declared if ":get" not in each} <= {OBJECTS}


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_the_roles_of_make_quota_have_every_right(file: Path) -> None:
    """Two ways to the same rights: those roles, and the custom role of ``account``."""
    settings = settings_of(file)
    lines = [line.split(" on ") for line in needed(settings.project, used(settings)) if " on " in line]
    on_project = {
        right for role, on in lines if on in ("the project", "the nodes' service account") for right in ROLES[role]
    }
    assert {*rights.TABLE.needed(settings)} - on_project == set()
    for target in rights.targets(settings):
        assert {*target.permissions} <= ROLES[target.role]


@pytest.mark.parametrize("file", STACKS, ids=lambda file: file.stem)
def test_the_custom_role_and_that_of_the_cluster_are_the_rights_on_the_project(file: Path) -> None:
    role = rights.custom_role(settings_of(file))["includedPermissions"]
    assert {*role} | (ROLES[rights.CLUSTER_ROLE] & {*rights.TABLE.needed(settings_of(file))}) == {
        *rights.TABLE.needed(settings_of(file))
    }
    assert all(re.fullmatch(r"[a-z]+(\.[A-Za-z]+){2}", each) for each in role)


def test_objects_in_the_cluster_are_the_kinds_that_every_stack_declares() -> None:
    """As far as IAM has permissions on them: https://cloud.google.com/iam/docs/roles-permissions/container"""
    kinds: Mapping[Path, set[str]] = {
        file: {each.type.rpartition(":")[2] for each in run_program(file).resources if "kubernetes:" in each.type}
        for file in OWN
    }
    always = set.intersection(*kinds.values())
    verbs = ("create", "delete", "get", "update")
    permissions = {f"container.{kind[0].lower()}{kind[1:]}s.{verb}" for kind in always for verb in verbs}
    own = {
        "container.clusters.connect",
        *(f"container.{r}.{v}" for r in ("roles", "clusterRoles") for v in ("bind", "escalate")),
    }
    assert granted(OBJECTS) - own == permissions & granted(OBJECTS)
    assert granted(OBJECTS) <= ROLES[rights.CLUSTER_ROLE]
    unknown = {each.split(".")[1] for each in permissions - granted(OBJECTS)}
    assert unknown == {
        "validatingAdmissionPolicys", "validatingAdmissionPolicyBindings", "namespacePatchs", "kubernetess",
    } & unknown  # fmt: skip
