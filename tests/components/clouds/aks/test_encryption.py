"""A key that AKS or its disks cannot use is refused before anything is created."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from tests import aks_answers, recorder
from tests.components import specs
from tests.components.clouds.aks.test_cluster import KEY, SUBSCRIPTION, settings

DISK_KEY = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/s"
FIREWALL = {"networkAcls": {"defaultAction": "Deny", "bypass": "AzureServices"}}


def run(**changes: Any) -> recorder.Recording:
    return recorder.run(specs.declare(settings(kms_key=KEY, **changes)))


def refusal(**changes: Any) -> str:
    with pytest.raises(pulumi.RunError) as refused:
        run(**changes)
    return str(refused.value)


@pytest.mark.parametrize(
    ("vault", "words"),
    [
        (FIREWALL, "the vault has a firewall"),
        ({"publicNetworkAccess": "Disabled"}, "Allow public access from all networks"),
        ({"enableRbacAuthorization": False}, "--enable-rbac-authorization true"),
    ],
)
@pytest.mark.parametrize("disk_key", [None, DISK_KEY])
def test_aks_must_reach_the_vault(
    vault: dict[str, Any], words: str, disk_key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(aks_answers.VAULT, "properties", {**aks_answers.VAULT["properties"], **vault})
    message = refusal(disk_key=disk_key)
    assert "security.kmsKey: " in message
    assert words in message


OTHER_REGION = (aks_answers.VAULT, "location", "West US 2")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (OTHER_REGION, "the vault is in westus2, but disks need a key in their own region, eastus"),
        ((aks_answers.VAULT, "properties", {"enableRbacAuthorization": True}), "purge protection"),
        ((aks_answers.KEY, "kty", "EC"), "an RSA key of 2048, 3072 or 4096 bits, not EC"),
        ((aks_answers.KEY, "keySize", 1024), "not RSA 1024"),
    ],
)
def test_disks_need_more_of_the_key_than_secrets(wrong: Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(*wrong)
    assert words in refusal()
    assert run(disk_key=DISK_KEY).resources, "the disks have another key"


@pytest.mark.parametrize("usable", [{}, {"kty": "RSA-HSM", "keySize": 4096}, {"keySize": None}])
def test_a_usable_key_is_taken(usable: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    for key, value in usable.items():
        monkeypatch.setitem(aks_answers.KEY, key, value)
    assert run().resources


def test_all_problems_are_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(*OTHER_REGION)
    monkeypatch.setitem(aks_answers.VAULT, "properties", FIREWALL)
    assert refusal().count("security.kmsKey: ") == 4


def test_the_key_is_not_looked_up_through_a_firewall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(aks_answers.VAULT, "properties", {**aks_answers.VAULT["properties"], **FIREWALL})
    monkeypatch.delitem(aks_answers.CALLS, "azure-native:keyvault:getKey")
    assert refusal().count("security.kmsKey: ") == 1


def test_a_vault_of_another_subscription_is_neither_looked_up_nor_named() -> None:
    recording = recorder.run(specs.declare(settings(kms_key=KEY.replace(SUBSCRIPTION, "another"))))
    assert not [token for token in recording.calls if ":keyvault:" in token]
    assert "sourceVault" not in recording.only("azure-native:compute:DiskEncryptionSet").inputs["activeKey"]
