"""Azure identities of pods: a managed identity per service account, which trusts the cluster's tokens.

https://learn.microsoft.com/azure/aks/workload-identity-overview: the pods need the label
``azure.workload.identity/use: "true"``, by which Azure's webhook gives them the token.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from components.clouds.aks import roles
from components.clouds.aks.context import Context
from components.clouds.aks.identity import ManagedIdentity
from components.clouds.base import Reach
from components.clouds.declare import aks as declare
from components.clouds.names import shortened

CLIENT_ID: Final = "azure.workload.identity/client-id"
_AUDIENCE: Final = "api://AzureADTokenExchange"
# An identity's name has 128 characters, with the cluster's in front.
_ROLE_LIMIT: Final = 60


def pod_identity(
    context: Context, name: str, account: tuple[str, str], reach: Reach, parent: pulumi.Resource
) -> Mapping[str, pulumi.Input[str]]:
    """The identity with its roles; the annotation for Azure's webhook with its client id."""
    settings = context.settings
    namespace, service_account = account
    role = shortened(f"pods-{namespace}_{service_account}", _ROLE_LIMIT)
    identity = ManagedIdentity(name, settings, context.group, role, parent)
    profile: pulumi.Output[Any] = context.control_plane.outputs["oidcIssuerProfile"]
    issuer = profile.apply(lambda known: known.get("issuerURL"))
    declare(
        "azure-native:managedidentity:FederatedIdentityCredential",
        f"{name}-trust",
        {
            "resourceGroupName": context.group,
            "resourceName": f"{settings.cluster_name}-{role}",
            "federatedIdentityCredentialResourceName": "cluster",
            "issuer": issuer,
            "subject": f"system:serviceaccount:{namespace}:{service_account}",
            "audiences": [_AUDIENCE],
        },
        pulumi.ResourceOptions(parent=parent, depends_on=[identity.resource]),
    )
    grants: dict[str, tuple[pulumi.Input[str], str]] = {
        **{bucket: (bucket, roles.BLOB_DATA_READER) for bucket in reach.read},
        **{bucket: (bucket, roles.BLOB_DATA_CONTRIBUTOR) for bucket in reach.write},
        **{secret: (secret, roles.KEY_VAULT_SECRETS_USER) for secret in reach.secrets},
        **{f"own-{key}": (bucket.name, roles.BLOB_DATA_CONTRIBUTOR) for key, bucket in reach.own.items()},
    }
    for key, (scope, granted) in grants.items():
        roles.assignment(
            f"{name}-{key}",
            settings,
            key=f"{role}/{key}",
            role=granted,
            scope=scope,
            principal=identity.principal,
            opts=pulumi.ResourceOptions(parent=parent),
        )
    return {CLIENT_ID: identity.client}
