"""The deployer's rights against Azure's list of operations, and what Azure's words for roles mean."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from account.clouds.aks import rights
from rehearsal.providers.aks.provider import AzureNativeProvider
from tests import one_stack
from tests.stacks import STACK_FILES, run_program, settings_of, stack_file

HERE = Path(__file__).parent
KEYS = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/k/providers/Microsoft.KeyVault/vaults/v1/keys"
)
STACKS = [file for file in (*STACK_FILES, *one_stack.files()) if "gpucluster:cloud: aks" in file.read_text()]
READING = "all resources"


def with_key() -> Path:
    config = one_stack.config("aks")
    security = {"kmsKey": f"{KEYS}/secrets/versions/{'0' * 32}"}
    return stack_file("with-key", {**config, "gpucluster:security": security})


OWN_SET = with_key()


def table(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(line for line in (HERE / name).read_text().splitlines() if not line.startswith("#")))


LISTED = {row["type"]: row["actions"].split() for row in table("operations.csv")}
DECLARED = sorted({row.type for row in rights.TABLE.rows} - {READING})


@pytest.mark.parametrize("type", DECLARED)
def test_a_deployer_may_change_and_delete_what_the_stack_declares_and_has_a_reason_for_all_else(type: str) -> None:
    (row,) = (each for each in rights.TABLE.rows if each.type == type)
    changing = {each for each in LISTED[type] if not each.endswith("/read")}
    reasons = {right for right, reason in rights.TABLE.reasons.get(type, {}).items() if reason}
    assert {*row.rights} == changing | reasons
    assert not changing & reasons


def test_reading_is_one_right() -> None:
    assert [row.rights for row in rights.TABLE.rows if row.type == READING] == [("*/read",)]
    assert not [action for row in rights.TABLE.rows for action in row.rights if "*" in action and action != "*/read"]


@pytest.mark.parametrize("file", [*STACKS, OWN_SET], ids=lambda file: file.stem)
def test_the_types_are_those_that_the_program_declares(file: Path) -> None:
    declared = {each.type for each in run_program(file).resources if each.type.startswith("azure-native:")}
    types = {row.type for row in rights.TABLE.declared(settings_of(file))}
    assert types == declared | {READING}


@pytest.mark.parametrize("type", DECLARED)
def test_a_rehearsal_asks_for_rights_that_the_deployer_gets(type: str) -> None:
    """So that what ``account`` finds missing is missing there, too."""
    provider = AzureNativeProvider.__new__(AzureNativeProvider)
    asked = {provider.permission(AzureNativeProvider.rows[type], action) for action in ("create", "delete")}
    (row,) = (each for each in rights.TABLE.rows if each.type == type)
    unknown = {each.lower() for each in asked} - {each.lower() for each in row.rights}
    # Azure deletes no properties of a service.
    assert unknown <= {"microsoft.storage/storageaccounts/blobservices/delete"}


OWNER = (("*",), ())
CONTRIBUTOR = (("*",), ("Microsoft.Authorization/*/Delete", "Microsoft.Authorization/*/Write"))
READER = (("*/read",), ())
ACCESS = (("*/read", "Microsoft.Authorization/*"), ())


@pytest.mark.parametrize(
    ("roles", "lacking"),
    [
        ([OWNER], 0),
        ([CONTRIBUTOR, ACCESS], 0),
        ([CONTRIBUTOR], 2),
        ([READER], -1),
        ([], None),
        ([(("microsoft.authorization/roleassignments/*",), ()), CONTRIBUTOR], 0),
    ],
)
def test_roles_are_read_as_azure_does(
    roles: list[tuple[tuple[str, ...], tuple[str, ...]]], lacking: int | None
) -> None:
    """https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/privileged"""
    needed = [*rights.TABLE.needed(settings_of(OWN_SET))]
    missing = [*rights.missing(needed, roles)]
    assert len(missing) == {None: len(needed), -1: len(needed) - 1}.get(lacking, lacking)
    if lacking == 2:
        assert missing == [
            "Microsoft.Authorization/roleAssignments/delete",
            "Microsoft.Authorization/roleAssignments/write",
        ]


@pytest.mark.parametrize("file", [*STACKS, OWN_SET], ids=lambda file: file.stem)
def test_the_role_is_the_rights_in_the_subscription(file: Path) -> None:
    settings = settings_of(file)
    role = rights.role(settings)
    assert role["Actions"] == [*rights.TABLE.needed(settings)]
    assert role["AssignableScopes"] == [f"/subscriptions/{settings.project}"]
    assert [*rights.missing(role["Actions"], [(role["Actions"], role["NotActions"])])] == []
    assert {action.partition("/")[0] for action in role["Actions"]} - {
        "*",
        "Microsoft.Authorization",
        "Microsoft.Resources",
    } <= {*rights.namespaces(settings)}
