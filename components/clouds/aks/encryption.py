"""The customer's keys: for Secrets in etcd, and for disks of nodes and claims.

The customer's own disk encryption set is used unchanged; without one, the key for Secrets is used for both.

https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption,
https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.aks import roles
from components.clouds.aks.identity import ClusterIdentities, ManagedIdentity
from components.clouds.data_lookup import look_up, refuse
from components.clouds.declare import aks as declare
from components.clouds.deployed import Deployed
from components.resources import CustomResource
from components.settings import Settings
from components.settings.fields.problems import Problem
from facts.catalog.aks.resource_ids import Key, parse_key

if TYPE_CHECKING:
    from schemas import aks


_PATH: Final = "security.kmsKey"
_OTHERWISE: Final = "write security.diskKey, so that this key encrypts Secrets only"
_CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
_RSA_BITS: Final = (2048, 3072, 4096)


def refuse_other_keys(name: str, settings: Settings, running_secrets_key: str | None, deployed: Deployed) -> None:
    """End the program if the stack file asks for other keys than those of the running cluster.

    ``running_secrets_key`` is the URL of the key version that encrypts its Secrets. They stay under it until they are
    written again, and Azure uses two keys at most; only the principal that rotates the key knows whether they were:
    https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption#rotate-existing-keys-in-a-public-key-vault.
    Azure replaces a cluster for another disk encryption set, and deletes its volumes:
    https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys

    Raises:
        pulumi.RunError: it does.
    """
    disks = list(_other_disks_key(settings, deployed.outputs(_CLUSTER, f"{name}-control-plane")))
    refuse(disks or _other_secrets_key(settings, running_secrets_key), settings)


def _other_disks_key(settings: Settings, cluster: Mapping[str, Any]) -> Iterator[Problem]:
    security, own = settings.security, _own_set(settings)
    running = cluster.get("diskEncryptionSetID") or ""
    if security.disk_key is not None and _same(security.disk_key, own):
        yield Problem(
            "security.diskKey",
            "this is the set that the stack makes of kmsKey: with diskKey the stack would no longer make it",
            "Take diskKey out",
        )
        return
    declared = security.disk_key or ("" if security.kms_key is None else own)
    if not cluster or _same(declared, running):
        return
    with_own = _same(running, own)
    key = "kmsKey" if security.disk_key is None and (with_own or declared == own) else "diskKey"
    again = f"Write diskKey: {running}" if running else f"Take {key} out"
    yield Problem(
        f"security.{key}",
        f"the running cluster encrypts its disks with {running or 'a key of Azure'}; for another key Azure would "
        "replace it and delete its volumes",
        f"{'Write kmsKey without diskKey again' if with_own else again}; for another key create a new cluster, in a "
        "stack of its own",
    )


def _other_secrets_key(settings: Settings, running: str | None) -> Iterator[Problem]:
    key = parse_key(settings.security.kms_key or "")
    if running is None or (key is not None and _same(key.url, running)):
        return
    cluster = f"--name {settings.cluster_name} --resource-group {settings.cluster_name}"
    if key is not None:
        rotate = (
            f"az aks update {cluster} --enable-azure-keyvault-kms "
            f"--azure-keyvault-kms-key-vault-network-access Public --azure-keyvault-kms-key-id {key.url}"
        )
    else:
        rotate = f"az aks update {cluster} --disable-azure-keyvault-kms"
    yield Problem(
        _PATH,
        f"the running cluster encrypts its Secrets with {running}, and needs that key until all are written again",
        f"Write that key again. Or run `{rotate}`, write all Secrets again, and then run `pulumi up`: "
        "docs/operations.md#change-kmskey-on-aks",
    )


def _same(one: str, other: str) -> bool:
    """Whether both are one resource: Azure's ids have no case."""
    return one.lower() == other.lower()


def _own_set(settings: Settings) -> str:
    """The id of the stack's own disk encryption set."""
    group = f"/subscriptions/{settings.project}/resourceGroups/{settings.cluster_name}"
    return f"{group}/providers/Microsoft.Compute/diskEncryptionSets/{_set_name(settings)}"


def _set_name(settings: Settings) -> str:
    return f"{settings.cluster_name}-disks"


def require_usable_key(settings: Settings, parent: pulumi.Resource) -> None:
    """Look up the vault and the key of ``kmsKey``, before any resource is created.

    The provider looks up nothing in other subscriptions, so a vault in one is not checked.

    Raises:
        pulumi.RunError: there is none, or AKS or its disks cannot use it; lists all problems.
    """
    key = parse_key(settings.security.kms_key or "")
    if key is None or not _in_own_subscription(key, settings):
        return
    place = {"resourceGroupName": key.group, "vaultName": key.vault}
    vault = look_up("azure-native:keyvault:getVault", place, parent, f"{_PATH}: {key.vault_id}")
    problems = list(_vault_problems(vault.get("properties") or {}))
    if settings.security.disk_key is None:
        problems += _disk_vault_problems(settings.region, vault)
        if not problems:  # a vault with a problem may not answer about its keys
            arguments = {**place, "keyName": key.name}
            version = look_up("azure-native:keyvault:getKey", arguments, parent, f"{_PATH}: {key.id}")
            problems += _disk_key_problems(version)
    refuse(problems, settings)


def _in_own_subscription(key: Key, settings: Settings) -> bool:
    return key.subscription == settings.project.lower()


def _vault_problems(vault: Mapping[str, Any]) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption#limitations"""
    firewall = (vault.get("networkAcls") or {}).get("defaultAction") == "Deny"
    if firewall or str(vault.get("publicNetworkAccess")).lower() == "disabled":
        yield Problem(
            _PATH,
            "the vault has a firewall or no public access, through which AKS cannot reach the key",
            "Allow public access from all networks on it, or use another vault",
        )
    if not vault.get("enableRbacAuthorization"):
        yield Problem(
            _PATH,
            "the vault has access policies and ignores the roles that the program grants",
            "Enable Azure RBAC: az keyvault update --enable-rbac-authorization true --name <vault>",
        )


def _disk_vault_problems(region: str, vault: Mapping[str, Any]) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/virtual-machines/disk-encryption#customer-managed-key-restrictions"""
    if (there := str(vault["location"]).replace(" ", "").lower()) != region:
        yield Problem(
            _PATH,
            f"the vault is in {there}, but disks need a key in their own region, {region}",
            f"Use a vault in {region}, or {_OTHERWISE}",
        )
    if not (vault.get("properties") or {}).get("enablePurgeProtection"):
        yield Problem(
            _PATH,
            "disks need a vault with purge protection",
            f"Enable it: az keyvault update --enable-purge-protection true --name <vault>; or {_OTHERWISE}",
        )


def _disk_key_problems(key: Mapping[str, Any]) -> Iterator[Problem]:
    """https://learn.microsoft.com/azure/virtual-machines/disk-encryption#customer-managed-key-restrictions"""
    # A size that Azure does not tell is left to it.
    if key.get("kty") not in ("RSA", "RSA-HSM") or key.get("keySize") not in (None, *_RSA_BITS):
        yield Problem(
            _PATH,
            f"disks need an RSA key of {', '.join(map(str, _RSA_BITS[:-1]))} or {_RSA_BITS[-1]} bits, not "
            f"{key.get('kty')} {key.get('keySize') or ''}".rstrip(),
            f"Use such a key, or {_OTHERWISE}",
        )


class Encryption:
    """``kms`` and ``disks`` are the cluster's inputs, ``None`` for what Azure's own key encrypts; ``ready`` are the
    rights without which its creation fails."""

    kms: aks.AzureKeyVaultKms | None = None
    disks: pulumi.Input[str] | None = None

    def __init__(
        self,
        name: str,
        settings: Settings,
        group: pulumi.Input[str],
        identities: ClusterIdentities,
        deployed: Deployed,
        parent: pulumi.Resource,
    ) -> None:
        child = pulumi.ResourceOptions(parent=parent)
        security, control_plane = settings.security, identities.control_plane.principal

        def grant(
            suffix: str, role: str, scope: pulumi.Input[str], principal: pulumi.Input[str], opts: pulumi.ResourceOptions
        ) -> CustomResource:
            return roles.assignment(
                f"{name}-{suffix}", settings, key=suffix, role=role, scope=scope, principal=principal, opts=opts
            )

        def grant_key(suffix: str, role: str, key: Key | None, principal: pulumi.Input[str]) -> list[CustomResource]:
            """The role on the key, and on former ones."""
            rights = deployed.key_rights(roles.ASSIGNMENT, f"{name}-{suffix}", "scope", key and key.id)
            return [
                grant(
                    f"{suffix}{right.suffix}",
                    role,
                    right.key,
                    principal,
                    pulumi.ResourceOptions.merge(child, right.options),
                )
                for right in rights
            ]

        key = parse_key(security.kms_key or "")
        if key is None and security.kms_key is not None:
            raise ValueError(f"'{security.kms_key}' is not the resource id of a key of Key Vault")
        # An identity of the user's own has the user's roles: here it may have none but on what the stack creates.
        has_own_roles = security.control_plane_identity is not None
        self.ready: list[CustomResource] = grant_key(
            "secrets-key", roles.KEY_VAULT_CRYPTO_USER, None if has_own_roles else key, control_plane
        )
        if key is not None:
            self.kms = {"enabled": True, "keyId": key.url, "keyVaultNetworkAccess": "Public"}
            if security.disk_key is None:
                # An identity of its own, made before the set: one that Azure made with the set would have no right to
                # the key.
                owner = ManagedIdentity(name, settings, group, "disks", parent)
                usable = grant_key("disks-key", roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, key, owner.principal)
                active: aks.KeyForDiskEncryptionSet = {"keyUrl": key.url}
                # Not of another subscription:
                # https://learn.microsoft.com/python/api/azure-mgmt-compute/azure.mgmt.compute.models.keyfordiskencryptionset
                if _in_own_subscription(key, settings):
                    active["sourceVault"] = {"id": key.vault_id}
                owners = [roles.holding(owner.id, usable)]
                self.disks = declare(
                    "azure-native:compute:DiskEncryptionSet",
                    f"{name}-disks",
                    {
                        "resourceGroupName": group,
                        "location": settings.region,
                        "diskEncryptionSetName": _set_name(settings),
                        "encryptionType": "EncryptionAtRestWithCustomerKey",
                        "identity": {"type": "UserAssigned", "userAssignedIdentities": owners},
                        "activeKey": active,
                        "tags": dict(settings.labels),
                    },
                    pulumi.ResourceOptions(parent=parent, depends_on=usable),
                ).id
        if security.disk_key is not None:
            self.disks = security.disk_key
        if self.disks is not None and not (has_own_roles and security.disk_key is not None):
            self.ready.append(grant("disks-set", roles.READER, self.disks, control_plane, child))
