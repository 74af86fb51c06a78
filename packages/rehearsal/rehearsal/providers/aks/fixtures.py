"""What exists before the stack: the network, the cluster, the disk encryption set, the groups of reservations and of
the key vault, the containers of blobs and the registries that its file names, as another program would create them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Generator, Iterable, Iterator

from components.clouds.aks.identity import reservation_groups
from components.settings import Settings
from facts.catalog.aks.cloud import REGISTRY as REGISTRY_ID
from facts.catalog.aks.resource_ids import CONTAINER as CONTAINER_ID
from facts.catalog.aks.resource_ids import ENCRYPTION_SET as KEY_SET
from facts.catalog.aks.resource_ids import EXISTING_NETWORK, NO_DNS_ZONE, parse_key
from facts.catalog.aks.resource_ids import IDENTITY as IDENTITY_ID
from rehearsal.providers.aks.cloud import CLUSTER, GROUP
from rehearsal.providers.aks.data import ACCOUNT, CONTAINER, REGISTRY
from rehearsal.providers.aks.iam import (
    CONTRIBUTORS,
    ENCRYPTERS,
    ENCRYPTION_SET,
    IDENTITY,
    NETWORKERS,
    OPERATORS,
    READERS,
    ROLE_ASSIGNMENT,
    ZONE_KEEPERS,
)
from rehearsal.providers.aks.network import NETWORK, ROUTE_TABLE, SUBNET
from rehearsal.providers.base import Created, Properties


def resources(settings: Settings) -> Generator[tuple[str, Properties], Created | None, None]:
    """Type and inputs of each resource, with their resource groups; empty if the stack names none."""
    if settings.existing_cluster is not None:
        existing_cluster = settings.existing_cluster
        yield from _cluster(settings, existing_cluster.name, str(existing_cluster.resource_group))
    yield from _network(settings)
    existing = settings.network.existing
    network = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
    made = set[str]() if network is None else {network["group"].lower()}
    written = KEY_SET.fullmatch(settings.security.disk_key or "")
    groups = [group.rpartition("/")[2] for group in reservation_groups(settings)]
    key = parse_key(settings.security.kms_key or "")
    vaults = [] if key is None or key.subscription != settings.project.lower() else [key.group]
    for group in [*groups, *vaults, *([] if written is None else [written["group"]])]:
        yield from _group(group, settings, made)
    yield from _data(settings, made)
    if written is not None:
        yield ENCRYPTION_SET, _encryption_set(settings, written)
    yield from _identities(settings, made)


def _cluster(settings: Settings, name: str, group: str) -> Generator[tuple[str, Properties], Created | None, None]:
    """It is in a network of Azure's, and admits an office."""
    yield GROUP, {"resourceGroupName": group, "location": settings.region}
    system = {"name": "system", "mode": "System", "count": 2, "vmSize": "Standard_D4s_v5", "osType": "Linux"}
    provisioned = settings.autoscaler == "node-auto-provisioning"
    yield (
        CLUSTER,
        {
            "resourceGroupName": group,
            "resourceName": name,
            "location": settings.region,
            "dnsPrefix": "company",
            "sku": {"name": "Base", "tier": "Standard"},
            "identity": {"type": "SystemAssigned"},
            "aadProfile": {"managed": True, "adminGroupObjectIDs": [str(uuid.UUID(int=1, version=4))]},
            "disableLocalAccounts": True,
            "apiServerAccessProfile": {"authorizedIPRanges": ["203.0.113.0/24"]},
            "oidcIssuerProfile": {"enabled": True},
            "securityProfile": {"workloadIdentity": {"enabled": True}},
            "agentPoolProfiles": [system],
            **({"nodeProvisioningProfile": {"mode": "Auto", "defaultNodePools": "None"}} if provisioned else {}),
        },
    )


def _encryption_set(settings: Settings, written: re.Match[str]) -> Properties:
    there = {"resourceGroupName": written["group"], "location": settings.region}
    vault = f"/subscriptions/{settings.project}/resourceGroups/keys/providers/Microsoft.KeyVault/vaults/company"
    active = {"keyUrl": f"https://company.vault.azure.net/keys/disks/{'0' * 32}", "sourceVault": {"id": vault}}
    identity = {"type": "SystemAssigned"}
    kind = "EncryptionAtRestWithCustomerKey"
    inputs = {**there, "diskEncryptionSetName": written["name"], "identity": identity, "activeKey": active}
    return {**inputs, "encryptionType": kind}


def _identities(settings: Settings, groups: set[str]) -> Generator[tuple[str, Properties], Created | None, None]:
    """The user's own identities, with the roles that docs/operations.md names."""
    security = settings.security
    principal = ""
    for id in filter(None, (security.node_identity, security.control_plane_identity)):
        written = IDENTITY_ID.fullmatch(id)
        assert written is not None  # settings refuse any other
        yield from _group(written["group"], settings, groups)
        there = {"resourceGroupName": written["group"], "location": settings.region}
        created = yield IDENTITY, {**there, "resourceName": written["name"]}
        assert created is not None
        principal = created.state["principalId"]
    for number, (role, scope) in enumerate(_roles(settings) if security.control_plane_identity else ()):
        definition = f"/subscriptions/{scope.split('/')[2]}/providers/Microsoft.Authorization/roleDefinitions/{role}"
        inputs = {"roleDefinitionId": definition, "principalId": principal}
        yield ROLE_ASSIGNMENT, {**inputs, "scope": scope, "roleAssignmentName": str(uuid.UUID(int=number, version=4))}


def _roles(settings: Settings) -> Iterator[tuple[str, str]]:
    """Roles of a control plane's identity on what the stack does not create."""
    existing, security = settings.network.existing, settings.security
    if existing is not None:
        yield NETWORKERS[0], existing.network  # with its subnets
        folder, _, name = existing.network.partition("/virtualNetworks/")
        yield NETWORKERS[0], f"{folder}/routeTables/{name}-routes"
        if existing.private_dns_zone not in (None, NO_DNS_ZONE):
            yield ZONE_KEEPERS[0], str(existing.private_dns_zone)
    if (key := parse_key(security.kms_key or "")) is not None:
        yield ENCRYPTERS[0], key.id
    if security.disk_key is not None:
        yield READERS[0], security.disk_key
    if security.node_identity is not None:
        yield OPERATORS[0], security.node_identity
    for group in reservation_groups(settings):
        yield CONTRIBUTORS[0], group


def _data(settings: Settings, groups: set[str]) -> Generator[tuple[str, Properties], object, None]:
    """What service accounts read and write, and what nodes pull from, in the stack's own subscription; others' are not
    looked into.

    ``groups`` exist already, in lower case.
    """
    named = sorted({each for account in settings.identities for each in (*account.read, *account.write)})
    accounts = set[str]()
    for written in _own(CONTAINER_ID, named, settings):
        yield from _group(written["group"], settings, groups)
        there = {"resourceGroupName": written["group"], "accountName": written["account"]}
        if written["account"].lower() not in accounts:
            accounts.add(written["account"].lower())
            kind = {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "location": settings.region}
            yield ACCOUNT, {**there, **kind}
        yield CONTAINER, {**there, "containerName": written["container"]}
    for written in _own(REGISTRY_ID, settings.workloads.pull_from, settings):
        yield from _group(written["group"], settings, groups)
        there = {"resourceGroupName": written["group"], "registryName": written["registry"]}
        yield REGISTRY, {**there, "sku": {"name": "Basic"}, "location": settings.region}


def _own(form: re.Pattern[str], ids: Iterable[str], settings: Settings) -> list[re.Match[str]]:
    """The ids of the right form that are in the stack's own subscription."""
    matches = filter(None, map(form.fullmatch, ids))
    return [each for each in matches if each["subscription"].lower() == (settings.project or "").lower()]


def _group(name: str, settings: Settings, groups: set[str]) -> Generator[tuple[str, Properties], object, None]:
    if name.lower() not in groups:
        groups.add(name.lower())
        yield GROUP, {"resourceGroupName": name, "location": settings.region}


def _network(settings: Settings) -> Generator[tuple[str, Properties], object, None]:
    """The subnet has room for 1,000 nodes, and its route table leads to a company's firewall; its DNS servers are not
    Azure's."""
    existing = settings.network.existing
    written = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
    if existing is None or written is None:
        return
    group, network = written["group"], written["name"]
    yield GROUP, {"resourceGroupName": group, "location": settings.region}
    there = {"resourceGroupName": group, "location": settings.region}
    default = {"name": "default", "addressPrefix": "0.0.0.0/0"}
    firewall = {"nextHopType": "VirtualAppliance", "nextHopIpAddress": "10.0.0.4"}
    yield ROUTE_TABLE, {**there, "routeTableName": f"{network}-routes", "routes": [{**default, **firewall}]}
    space = {"addressPrefixes": ["10.20.0.0/16"]}
    servers = {"dnsServers": ["10.0.0.4", "10.0.0.5"]}
    yield NETWORK, {**there, "virtualNetworkName": network, "addressSpace": space, "dhcpOptions": servers}
    folder = existing.network.partition("/virtualNetworks/")[0]
    yield (
        SUBNET,
        {
            "resourceGroupName": group,
            "virtualNetworkName": network,
            "subnetName": existing.subnets[0],
            "addressPrefix": "10.20.0.0/22",
            "routeTable": {"id": f"{folder}/routeTables/{network}-routes"},
        },
    )
