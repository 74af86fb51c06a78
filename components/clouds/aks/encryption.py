"""The customer's keys: for Secrets in etcd, and for disks of nodes and claims.

The customer's own disk encryption set is used unchanged; without one, the key for Secrets is used for both.

https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption,
https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from components.clouds.aks import roles
from components.clouds.aks.declare import declare
from components.clouds.aks.identity import ClusterIdentities, ManagedIdentity
from components.resources import CustomResource
from components.settings import Settings
from facts.catalog.aks.keys import Key, parse_key

if TYPE_CHECKING:
    from schemas import aks


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
        parent: pulumi.Resource,
    ) -> None:
        self.ready: list[CustomResource] = []
        child = pulumi.ResourceOptions(parent=parent)
        security, control_plane = settings.security, identities.control_plane.principal

        def grant(suffix: str, role: str, scope: pulumi.Input[str], principal: pulumi.Input[str]) -> CustomResource:
            return roles.assignment(
                f"{name}-{suffix}",
                subscription=settings.project,
                key=f"{settings.cluster_name}/{suffix}",
                role=role,
                scope=scope,
                principal=principal,
                opts=child,
            )

        if security.kms_key is not None:
            key = parse_key(security.kms_key)
            if key is None:
                raise ValueError(f"'{security.kms_key}' is not the resource id of a key of Key Vault")
            self.kms = {"enabled": True, "keyId": key.url, "keyVaultNetworkAccess": "Public"}
            self.ready.append(grant("secrets-key", roles.KEY_VAULT_CRYPTO_USER, key.id, control_plane))
            if security.disk_key is None:
                # An identity of its own, made before the set: one that Azure made with the set would have no right to
                # the key.
                owner = ManagedIdentity(name, settings, group, "disks", parent)
                usable = grant("disks-key", roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, key.id, owner.principal)
                self.disks = _encryption_set(name, settings, key, group, owner, usable, parent).id
        if security.disk_key is not None:
            self.disks = security.disk_key
        if self.disks is not None:
            self.ready.append(grant("disks-set", roles.READER, self.disks, control_plane))


def _encryption_set(
    name: str,
    settings: Settings,
    key: Key,
    group: pulumi.Input[str],
    owner: ManagedIdentity,
    usable: CustomResource,
    parent: pulumi.Resource,
) -> CustomResource:
    return declare(
        "azure-native:compute:DiskEncryptionSet",
        f"{name}-disks",
        {
            "resourceGroupName": group,
            "location": settings.region,
            "diskEncryptionSetName": f"{settings.cluster_name}-disks",
            "encryptionType": "EncryptionAtRestWithCustomerKey",
            "identity": {"type": "UserAssigned", "userAssignedIdentities": [roles.holding(owner.id, [usable])]},
            "activeKey": {"keyUrl": key.url, "sourceVault": {"id": key.vault_id}},
            "tags": dict(settings.labels),
        },
        pulumi.ResourceOptions(parent=parent, depends_on=[usable]),
    )
