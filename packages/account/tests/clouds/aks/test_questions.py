"""What a subscription of Azure is asked, by Azure's SDK and against its models: all problems at once, by reading."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml

from account.asking import AccountError, answers
from account.clouds.aks import rights
from account.clouds.aks.questions import AzureSubscription
from account.command import account_of, ask
from account.rows import ShownRow
from components.settings import Settings, from_stack_file
from components.settings.quotas import quotas
from facts.catalog.aks.resource_ids import EXISTING_NETWORK
from packages.account.tests.clouds.aks.azure import (
    DENIED,
    METHODS,
    MISSING,
    AzureAnswer,
    AzureRequest,
    FakeAzure,
    Login,
)
from packages.account.tests.clouds.aks.test_rights import OWN_SET
from rehearsal.providers import account_limits
from tests.stacks import ROOT, settings_of, stack_file

TRAIN = ROOT / "examples" / "aks-train-infer.yaml"
COMPANY = ROOT / "examples" / "aks-company.yaml"
FILES = (TRAIN, COMPANY, OWN_SET)
ME = Login(oid="11111111-aaaa-4bbb-8ccc-000000000001", upn="me@example.com")
SUBSCRIPTION = "/subscriptions/00000000-0000-0000-0000-000000000000"
ROLE = f"{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/r1"


def settings_with(**changes: Any) -> Settings:
    config = yaml.safe_load(TRAIN.read_text())["config"]
    return from_stack_file(
        stack_file("asked", {**config, **{f"gpucluster:{key}": each for key, each in changes.items()}})
    )


def skus(zones: tuple[str, ...] = ("1", "2", "3"), **more: Any) -> AzureAnswer:
    """All machine types of the stacks in these zones of the region that is asked for."""

    def answer(request: AzureRequest) -> list[Mapping[str, Any]]:
        region = request.query["$filter"][0].split("'")[1]
        types = {type for file in FILES for pool in _pools(file) for type in pool.nodes.machine_types}
        info = [{"location": region, "zones": [*zones]}]
        named = (
            {"name": type, "resourceType": "virtualMachines", "locationInfo": info, **more} for type in sorted(types)
        )
        return [{"name": "Premium_LRS", "resourceType": "disks", "locationInfo": info}, *named]

    return answer


def _pools(file: Path) -> tuple[Any, ...]:
    settings = settings_of(file)
    return (settings.admin_pool, *settings.pools)


def usages(limit: int, used: int = 0) -> list[Mapping[str, Any]]:
    names = {quota.name for file in FILES for quota in quotas(settings_of(file))}
    values = {name.rpartition("(")[2].rstrip(")") for name in names}
    return [{"name": {"value": name}, "limit": limit, "currentValue": used, "unit": "Count"} for name in sorted(values)]


def subnets(request: AzureRequest) -> Mapping[str, Any]:
    """What the stacks say of the network."""
    for file in FILES:
        existing = settings_of(file).network.existing
        parts = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
        if existing and parts and request.path.endswith(f"/{parts['name']}"):
            named = [{"name": each} for each in existing.subnets]
            return {"name": parts["name"], "location": settings_of(file).region, "properties": {"subnets": named}}
    raise AssertionError(request)


def disk_set(request: AzureRequest) -> Mapping[str, Any]:
    return {"location": settings_of(COMPANY).region, "properties": {"provisioningState": "Succeeded"}}


def role(*actions: str, out: tuple[str, ...] = ()) -> Mapping[str, Any]:
    return {"properties": {"permissions": [{"actions": [*actions], "notActions": [*out]}]}}


ASSIGNMENT = {"properties": {"roleDefinitionId": ROLE}}
ROOMY: Mapping[str, AzureAnswer] = {
    "provider": {"registrationState": "Registered"},
    "skus": skus(),
    "usages": usages(1_000_000),
    "addresses": usages(1_000_000),
    "group": 404,
    "networks": [],
    "network": subnets,
    "key": {"properties": {"attributes": {"enabled": True}}},
    "disk-key": disk_set,
    "assignments": [ASSIGNMENT],
    "role": role("*"),
}


def rows_with(settings: Settings, changes: Mapping[str, AzureAnswer] | None = None) -> dict[str, ShownRow]:
    account = AzureSubscription(
        settings, ME, transport=FakeAzure({**ROOMY, **(changes or {})}).transport, retry_total=0
    )
    return {row.id: row for row in answers(account.questions(), account.unanswered)}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_roomy_subscription_has_no_problem_and_is_only_read(file: Path) -> None:
    fake = FakeAzure(ROOMY)
    account = AzureSubscription(settings_of(file), ME, transport=fake.transport)
    rows = [*answers(account.questions(), account.unanswered)]
    assert {row.result for row in rows} == {"shown"}, [row for row in rows if row.result != "shown"]
    assert {METHODS[sent.method].verb for sent in fake.sent} == {"GET", "HEAD"}
    (assigned,) = (sent for sent in fake.sent if sent.method == "assignments")
    assert assigned.query["$filter"] == [f"atScope() and assignedTo('{ME.claims['oid']}')"]
    asked = {sent.path.rpartition("/")[2] for sent in fake.sent if sent.method == "provider"}
    assert asked == {*rights.namespaces(settings_of(file))}


def network_in(group: str) -> Mapping[str, Any]:
    id = f"{SUBSCRIPTION}/resourceGroups/{group}/providers/Microsoft.Network/virtualNetworks/n"
    return {"name": "n", "id": id, "properties": {"addressSpace": {"addressPrefixes": ["10.0.0.0/8"]}}}


SHUT = {"type": "Location", "reasonCode": "NotAvailableForSubscription", "restrictionInfo": {}}
SHUT_ZONE = {"type": "Zone", "reasonCode": "NotAvailableForSubscription", "restrictionInfo": {"zones": ["1"]}}


@pytest.mark.parametrize(
    ("changes", "row", "result", "words", "remedy"),
    [
        (
            {"provider": {"registrationState": "NotRegistered"}},
            "providers", "failed", "Microsoft.Compute is NotRegistered",
            "az provider register --namespace Microsoft.Compute --wait",
        ),
        (
            {"skus": skus(("9",))},
            "machine:admin", "failed", "is not offered in southcentralus-1, but in southcentralus-9",
            "write other zones in ",
        ),
        (
            {"skus": skus(restrictions=[SHUT])},
            "machine:admin", "failed", "(NotAvailableForSubscription) is not offered in southcentralus-1, but in no",
            "write other zones in ",
        ),
        (
            {"skus": skus(restrictions=[SHUT_ZONE])},
            "machine:admin", "failed", "(NotAvailableForSubscription) is not offered in southcentralus-1",
            "write other zones in ",
        ),
        ({"usages": usages(1)}, "quota:Total Regional vCPUs (cores)", "failed", "limit 1 vCPUs, needed ", "request "),
        (
            {"usages": usages(1_000, 999)},
            "quota:Total Regional vCPUs (cores)", "warning", "999 in use now", "unless this stack is what uses it",
        ),
        (
            {"usages": []}, "quota:Total Regional vCPUs (cores)", "not shown",
            "Azure lists no quota cores in southcentralus", "",
        ),
        (
            {"addresses": []}, "quota:Public IPv4 Addresses - Standard (StandardSkuPublicIpAddresses)", "not shown",
            "Azure lists no quota StandardSkuPublicIpAddresses", "",
        ),
        ({"group": 204}, "names", "warning", "exist: gpu-", "az group delete"),
        ({"networks": [network_in("other")]}, "network", "warning", "overlaps with n (10.0.0.0/8)", "write another "),
        ({"networks": [network_in("GPU-AKS-TRAIN-INFER")]}, "network", "shown", "compared with the subscription's", ""),
        (
            {"role": role("*", out=("Microsoft.Authorization/*/Write",))},
            "rights", "failed", "1 are missing: Microsoft.Authorization/roleAssignments/write (RoleAssignment)",
            "run the commands below",
        ),
        (
            {"assignments": [{"properties": {"roleDefinitionId": ROLE, "condition": "@Resource[x] StringEquals 'y'"}}]},
            "rights", "failed", "are missing: */read", "",
        ),
        ({"assignments": []}, "rights", "failed", "are missing: */read", ""),
    ],
)  # fmt: skip
def test_what_the_subscription_lacks_is_said_with_the_command_that_mends_it(
    changes: dict[str, AzureAnswer], row: str, result: str, words: str, remedy: str
) -> None:
    answered = rows_with(settings_of(TRAIN), changes)[row]
    assert (answered.result, words in answered.detail, remedy in answered.remedy) == (result, True, True), answered


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
@pytest.mark.parametrize("method", sorted(ROOMY))
def test_no_right_to_ask_is_said_in_its_row_and_the_rest_goes_on(method: str, file: Path) -> None:
    rows = rows_with(settings_of(file), {method: DENIED})
    unanswered = [row for row in rows.values() if row.result == "not shown"]
    assert {row.detail for row in unanswered} <= {"you may not ask"}
    assert all(row.remedy for row in unanswered)
    assert {row.result for row in rows.values()} <= {"shown", "not shown"}
    assert unanswered or method in ("key", "disk-key", "network", "networks")


def test_a_service_that_does_not_answer_is_a_row_and_a_defect_is_raised() -> None:
    rows = rows_with(settings_of(TRAIN), {"skus": requests.ConnectionError("no route")})
    assert (rows["machines"].result, rows["machines"].detail) == ("not shown", "no route")
    with pytest.raises(ZeroDivisionError):
        rows_with(settings_of(TRAIN), {"skus": ZeroDivisionError()})


def test_nobody_logged_in_is_said_before_anything_else() -> None:
    with pytest.raises(AccountError, match=r"failed to retrieve a token\. Log in: `az login`"):
        AzureSubscription(settings_of(TRAIN), Login())


def test_a_token_without_an_object_id_does_not_say_whose_rights_are_meant() -> None:
    account = AzureSubscription(settings_of(TRAIN), Login(appid="x"), transport=FakeAzure(ROOMY).transport)
    rows = {row.id: row for row in answers(account.questions(), account.unanswered)}
    assert (account.caller.endswith("as x"), rows["rights"].result) == (True, "not shown")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (MISSING, "it is not there"),
        ({"name": "n", "location": "westus", "properties": {"subnets": []}}, "it has no subnet "),
        ({"name": "n", "location": "westus", "properties": {"subnets": []}}, "it is in westus"),
    ],
)
def test_an_existing_network_has_to_be_there_with_its_subnets(answer: AzureAnswer, words: str) -> None:
    row = rows_with(settings_of(COMPANY), {"network": answer})["network"]
    assert (row.result, words in row.detail) == ("failed", True)


@pytest.mark.parametrize(("enabled", "result"), [(True, "shown"), (False, "failed")])
def test_a_key_has_to_be_enabled(enabled: bool, result: str) -> None:
    rows = rows_with(settings_of(OWN_SET), {"key": {"properties": {"attributes": {"enabled": enabled}}}})
    assert rows["key"].result == result


def test_a_disk_encryption_set_has_to_be_in_the_region() -> None:
    row = rows_with(settings_of(COMPANY), {"disk-key": {"location": "westus"}})["disk-key"]
    assert (row.result, row.detail) == ("failed", "it is in westus")


RESERVED = f"{SUBSCRIPTION}/resourceGroups/h100/providers/Microsoft.Compute/capacityReservationGroups/june"


def reserved(machine: str, capacity: int, zone: str) -> Mapping[str, Any]:
    return {"location": "southcentralus", "sku": {"name": machine, "capacity": capacity}, "zones": [zone]}


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ([reserved("Standard_NC4as_T4_v3", 2, "1")], ""),
        ([], "it has nothing, pool t4"),
        ([reserved("Standard_NC8as_T4_v3", 2, "1")], "it has Standard_NC8as_T4_v3, pool t4"),
        ([reserved("Standard_NC4as_T4_v3", 2, "2")], "it is in southcentralus-2, pool t4"),
        ([reserved("Standard_NC4as_T4_v3", 1, "1")], "it has 1 such machines, the stack says 2"),
    ],
)
def test_a_reservation_has_to_be_the_pools(found: list[Any], words: str) -> None:
    pools = [
        {
            "name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "zones": ["southcentralus-1"], "capacity": "reserved",
            "reservation": {"name": RESERVED, "nodes": 2},
        }
    ]  # fmt: skip
    row = rows_with(settings_with(gpuPools=pools), {"reservations": found})[f"reservation:{RESERVED}"]
    assert (row.result, words in row.detail) == ("failed" if words else "shown", True), row


def test_the_command_writes_a_file_that_rehearsals_read_and_the_role(tmp_path: Path) -> None:
    settings, lines = settings_of(TRAIN), list[str]()
    small = {**ROOMY, "usages": usages(1), "role": role("*", out=("Microsoft.ContainerService/*/write",))}
    code = ask(settings, tmp_path, lines.append, AzureSubscription(settings, ME, transport=FakeAzure(small).transport))
    assert code == 1
    limits = account_limits.read(tmp_path / "account.yaml", [each.name for each in quotas(settings)])
    assert limits.quotas["Total Regional vCPUs (cores)"] == 1
    assert not limits.may("Microsoft.ContainerService/managedClusters/write")
    assert yaml.safe_load((tmp_path / "deployer-1.json").read_text()) == rights.role(settings)
    assert f"    az role definition create --role-definition @{tmp_path / 'deployer-1.json'}" in lines


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (TRAIN, "azure-native:subscriptionId: '00000000-0000-0000-0000-000000000000' is the placeholder"),
        (ROOT / "Pulumi.dev.yaml", "gcp:project: 'my-gcp-project' is the placeholder"),
    ],
    ids=["aks", "gke"],
)
def test_an_examples_placeholder_is_no_account(file: Path, words: str) -> None:
    with pytest.raises(AccountError, match=words):
        account_of(settings_of(file))
