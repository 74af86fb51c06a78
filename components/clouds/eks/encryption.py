"""The key that encrypts the cluster's secrets: the stack file's, or one of the cluster's own.

https://docs.aws.amazon.com/eks/latest/userguide/envelope-encryption.html
"""

from __future__ import annotations

from typing import Any

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks import policy
from components.clouds.eks.identity import ServiceRole
from components.settings import Settings

_DELETION_WINDOW_DAYS = 30


def secrets_key(
    name: str, settings: Settings, role: ServiceRole, parent: pulumi.Resource
) -> tuple[pulumi.Input[str], pulumi.Resource]:
    """The key's ARN, and the right of the control plane's ``role`` to use it."""
    options = pulumi.ResourceOptions(parent=parent)
    if settings.security.kms_key is None:
        key = declare(
            "aws:kms/key:Key",
            f"{name}-secrets-key",
            {
                "description": f"Kubernetes secrets of cluster {settings.cluster_name}",
                "enableKeyRotation": True,
                "deletionWindowInDays": _DELETION_WINDOW_DAYS,
                "tags": dict(settings.labels),
            },
            options,
            outputs=["arn", "keyId"],
        )
        declare(
            "aws:kms/alias:Alias",
            f"{name}-secrets-key-alias",
            {"name": f"alias/eks/{settings.cluster_name}", "targetKeyId": key.output("keyId")},
            options,
        )
        arn: pulumi.Output[Any] = key.output("arn")
    else:
        arn = pulumi.Output.from_input(settings.security.kms_key)
    grant = declare(
        "aws:iam/rolePolicy:RolePolicy",
        f"{name}-secrets-key-use",
        {
            "role": role.role_name,
            "name": "secrets-key",
            "policy": arn.apply(lambda key: policy.of("secrets-key", key=key)),
        },
        options,
    )
    return arn, grant
