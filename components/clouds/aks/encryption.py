"""The customer's key: it encrypts the secrets in the cluster's database and the disks of the nodes.

https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption,
https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pulumi

from catalog.aks.keys import Key
from components.clouds.aks import roles
from components.clouds.aks.declare import declare
from components.clouds.aks.identity import ClusterIdentities, Identity
from components.resources import CustomResource
from components.settings import Settings

if TYPE_CHECKING:
    from schemas import aks


class Encryption:
    """``kms`` and ``disks`` are the cluster's inputs; ``ready`` are the rights without which its creation fails."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        key: Key,
        group: pulumi.Input[str],
        identities: ClusterIdentities,
        parent: pulumi.Resource,
    ) -> None:
        self.kms: aks.AzureKeyVaultKms = {
            "enabled": True,
            "keyId": key.url,
            "keyVaultNetworkAccess": "Public",
        }
        child = pulumi.ResourceOptions(parent=parent)

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

        control_plane = identities.control_plane.principal
        secrets = grant("secrets-key", roles.KEY_VAULT_CRYPTO_USER, key.id, control_plane)
        # An identity of its own, made before the set: one that Azure made with the set would have no right to the key.
        owner = Identity(name, settings, group, "disks", parent)
        usable = grant("disks-key", roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, key.id, owner.principal)
        encryption_set = declare(
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
        readable = grant("disks-set", roles.READER, encryption_set.id, control_plane)
        self.disks: pulumi.Output[str] = encryption_set.id
        self.ready: list[CustomResource] = [secrets, readable]
