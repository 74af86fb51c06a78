"""The customer's key: it encrypts the secrets in the cluster's database and the disks of the nodes.

https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption,
https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
"""

from __future__ import annotations

from typing import Any

import pulumi

from components.clouds.aks import roles
from components.clouds.aks.identity import ClusterIdentities, Identity
from components.clouds.aks.keys import Key
from components.clouds.base import ClusterSpec
from components.resources import CustomResource


class Encryption:
    """``kms`` and ``disks`` are the cluster's inputs; ``ready`` are the rights without which its creation fails."""

    def __init__(
        self,
        name: str,
        spec: ClusterSpec,
        key: Key,
        group: pulumi.Input[str],
        identities: ClusterIdentities,
        parent: pulumi.Resource,
    ) -> None:
        self.kms: dict[str, Any] = {"enabled": True, "keyId": key.url, "keyVaultNetworkAccess": "Public"}
        child = pulumi.ResourceOptions(parent=parent)

        def grant(suffix: str, role: str, scope: pulumi.Input[str], principal: pulumi.Input[str]) -> CustomResource:
            return roles.assignment(
                f"{name}-{suffix}",
                subscription=spec.project,
                key=f"{spec.name}/{suffix}",
                role=role,
                scope=scope,
                principal=principal,
                opts=child,
            )

        control_plane = identities.control_plane.principal
        secrets = grant("secrets-key", roles.KEY_VAULT_CRYPTO_USER, key.id, control_plane)
        # An identity of its own, made before the set: one that Azure made with the set would have no right to the key.
        owner = Identity(name, spec, group, "disks", parent)
        usable = grant("disks-key", roles.KEY_VAULT_CRYPTO_SERVICE_ENCRYPTION_USER, key.id, owner.principal)
        encryption_set = CustomResource(
            "azure-native:compute:DiskEncryptionSet",
            f"{name}-disks",
            {
                "resourceGroupName": group,
                "location": spec.region,
                "diskEncryptionSetName": f"{spec.name}-disks",
                "encryptionType": "EncryptionAtRestWithCustomerKey",
                "identity": {"type": "UserAssigned", "userAssignedIdentities": [owner.id]},
                "activeKey": {"keyUrl": key.url, "sourceVault": {"id": key.vault_id}},
                "tags": dict(spec.labels),
            },
            pulumi.ResourceOptions(parent=parent, depends_on=[usable]),
        )
        readable = grant("disks-set", roles.READER, encryption_set.id, control_plane)
        self.disks: pulumi.Output[str] = encryption_set.id
        self.ready: list[pulumi.Resource] = [secrets, readable]
