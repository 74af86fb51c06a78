"""What no update changes by the providers' documentation, which is in the installed SDKs, is replaced or refused.

Pulumi takes Terraform's own mark, "(Forces new resource)", out of it: an input without a sentence may be replaced, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.driver import Account
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke.account import Google
from rehearsal.providers.resource import SimulatedResource
from schemas import Schema, schema
from schemas.sources import sdk

CLOUDS: Final[tuple[type[Account], ...]] = (Google, Amazon, Microsoft)
FIXED: Final = re.compile(
    r"\bforces? (a |resource )?(new|replace|recreat)|\brecreates the (node|cluster|resource)|\b[Ii]mmutable\b"
    r"|\b([Cc]an|[Mm]ay) ?(not|'t) be (changed|updated|modified)|\b[Cc]an only be (set|specified) (at|on|during) "
)
AZURE_SUBNET: Final = (
    "no longer said of API 2025-05-01: learn.microsoft.com/rest/api/virtualnetwork/subnets/create-or-update"
)
UPDATED: Final = {
    ("aws:ec2/subnet:Subnet", "ipv6CidrBlock"): "if assignIpv6AddressOnCreation is set, which is not simulated",
    ("azure-native:containerservice:ManagedCluster", "agentPoolProfiles.osDiskType"): "fixed in each pool of it",
    ("azure-native:network:Subnet", "defaultOutboundAccess"): AZURE_SUBNET,
    ("azure-native:network:VirtualNetwork", "subnets.defaultOutboundAccess"): AZURE_SUBNET,
    ("azure-native:storage:StorageAccount", "accessTier"): "said of accounts for page and block blobs",
    ("azure-native:storage:StorageAccount", "immutableStorageWithVersioning"): "true of `enabled`, not of its policy",
    (
        "azure-native:storage:StorageAccount",
        "immutableStorageWithVersioning.immutabilityPolicy.allowProtectedAppendWrites",
    ): "said of blobs",
    ("gcp:compute/firewall:Firewall", "params.resourceManagerTags"): "not by the provider's own schema",
    ("gcp:compute/subnetwork:Subnetwork", "ipCollection"): "may be set once",
    ("gcp:compute/subnetwork:Subnetwork", "ipv6AccessType"): "may be set once",
    **{
        ("gcp:container/cluster:Cluster", f"{block}.advancedMachineFeatures.performanceMonitoringUnit"): "no diff"
        for block in ("nodeConfig", "nodePools.nodeConfig")
    },
}
"""Inputs of which it says so, and that are updated all the same; why."""


def documented(cls: type, above: str = "", inside: tuple[type, ...] = ()) -> Iterator[tuple[str, str]]:
    """The inputs of a class with dotted paths, those in blocks included, and what is written about each."""
    getters = {key: each for key, each in vars(cls).items() if isinstance(each, property)}
    texts = {getattr(each.fget, "_pulumi_name", key): each.__doc__ or "" for key, each in getters.items()}
    for each in sdk.arguments(cls):
        yield above + each.name, " ".join(texts[each.name].split())
        block: Any = each.type
        while (inner := sdk.elements(block) or sdk.values(block)) is not None:
            block = inner
        if (nested := sdk.block(block)) is not None and nested not in inside:
            yield from documented(nested, f"{above}{each.name}.", (*inside, nested))


def changes_in_place(row: SimulatedResource[Any], types: Schema, path: str) -> bool:
    fixed = {*row.replaces, *row.replaces_if, *row.immutable, *row.address}
    steps = path.split(".")
    above = {".".join(steps[: end + 1]) for end in range(len(steps))} | {f"{path}[]"}
    declared = types.find(row.token, path)
    return not above & fixed and (declared is None or not declared.refused)


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.provider_type.cloud_name)
def test_what_no_update_changes_is_replaced_or_refused(cloud: type[Account]) -> None:
    provider = cloud.provider_type
    types = schema(provider.cloud_name)
    said = {
        (token, path)
        for token in provider.rows
        for path, text in documented(sdk.inputs_of(token))
        if FIXED.search(text)
    }
    assert said, "there is no documentation in this SDK"
    updated = {(token, path) for token, path in said if changes_in_place(provider.rows[token], types, path)}
    assert updated == {each for each in UPDATED if each[0] in provider.rows}


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.provider_type.cloud_name)
def test_what_some_changes_replace_has_its_condition(cloud: type[Account]) -> None:
    provider = cloud.provider_type
    types = schema(provider.cloud_name)
    for token, row in provider.rows.items():
        paths = {path for path, each in types.every(token) if each.replaces == "some"}
        assert {*row.replaces_if} == {path for path in paths if (token, path) not in UPDATED}
