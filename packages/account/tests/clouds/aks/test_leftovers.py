"""What is left in a subscription of Azure, by Azure's SDK and against its models: each resource group, by reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from account.clouds.aks.leftovers import AzureLeftovers
from account.left import rows_left
from account.rows import ShownRow
from packages.account.tests.clouds.aks.azure import DENIED, MISSING, AzureAnswer, AzureRequest, FakeAzure, Login
from tests.stacks import ROOT, run_program, settings_of

TRAIN = ROOT / "examples" / "aks-train-infer.yaml"
RESEARCH = ROOT / "examples" / "aks-research.yaml"
ME = Login(oid="11111111-aaaa-4bbb-8ccc-000000000001", upn="me@example.com")
NAME = "gpu-aks-train-infer"
CLUSTER = "Microsoft.ContainerService/managedClusters"


def subscription(groups: Mapping[str, list[tuple[str, str]]]) -> dict[str, AzureAnswer]:
    """Resource groups with what is in them (type, name)."""

    def exists(request: AzureRequest) -> Any:
        return 204 if request.path.rpartition("/")[2] in groups else MISSING

    def resources(request: AzureRequest) -> Any:
        group, only = request.path.split("/")[-2], request.query.get("$filter")
        return MISSING if group not in groups else [
            {"id": f"/subscriptions/s/{name}", "name": name, "type": type} for type, name in groups[group]
            if only is None or only == [f"resourceType eq '{type}'"]
        ]  # fmt: skip

    return {"group": exists, "resources": resources}


def rows_of(file: Path, answers: Mapping[str, AzureAnswer]) -> tuple[dict[str, ShownRow], FakeAzure]:
    azure = FakeAzure(answers)
    rows = rows_left(AzureLeftovers(settings_of(file), ME, transport=azure.transport, retry_total=0))
    return {row.id.rpartition(" ")[2]: row for row in rows}, azure


@pytest.mark.parametrize(("file", "kept"), [(TRAIN, set[str]()), (RESEARCH, {"registry", "checkpoints", "shared"})])
def test_every_group_of_a_stack_is_found(file: Path, kept: set[str]) -> None:
    declared = [each for each in run_program(file).resources if each.type.startswith("azure-native:")]
    groups = {each.inputs["resourceGroupName"] for each in declared if "resourceGroupName" in each.inputs}
    groups |= {each.inputs["nodeResourceGroup"] for each in declared if "nodeResourceGroup" in each.inputs}
    outside = {each.type for each in declared if "resourceGroupName" not in each.inputs}
    assert outside == {"azure-native:authorization:RoleAssignment"}
    rows, _ = rows_of(file, subscription({group: [] for group in groups}))
    name = settings_of(file).cluster_name
    assert {group for group, row in rows.items() if row.result in ("failed", "warning")} == groups
    assert {group.removeprefix(f"{name}-") for group, row in rows.items() if row.result == "warning"} == kept


def test_what_is_in_a_group_is_named_and_every_request_reads() -> None:
    disks = [("Microsoft.Compute/disks", f"pvc-{number}") for number in range(5)]
    rows, azure = rows_of(TRAIN, subscription({f"{NAME}-nodes": disks, f"{NAME}-eu": disks}))
    assert {group: row.detail for group, row in rows.items() if row.result == "failed"} == {
        f"{NAME}-nodes": f"{NAME}-nodes (with disks pvc-0, disks pvc-1, disks pvc-2 and 2 other resources)"
    }
    assert "az group delete" in rows[f"{NAME}-nodes"].remedy
    assert {sent.method for sent in azure.sent} == {"group", "resources"}


def test_a_cluster_that_is_there_is_the_only_row() -> None:
    rows, _ = rows_of(TRAIN, subscription({NAME: [(CLUSTER, NAME), ("Microsoft.Network/virtualNetworks", NAME)]}))
    (row,) = rows.values()
    assert (row.result, row.detail) == ("failed", f"/subscriptions/s/{NAME} is there")


def test_a_refusal_ends_no_other_question() -> None:
    answers = subscription({})

    def refused(request: AzureRequest) -> Any:
        return DENIED if request.path.endswith("-nodes") else MISSING

    rows, _ = rows_of(TRAIN, {**answers, "group": refused})
    assert {group for group, row in rows.items() if row.result == "not shown"} == {f"{NAME}-nodes"}
