"""The customer's key of disks, and who may use it.

Whoever starts a machine or makes a volume has to be allowed to: the role of Auto Scaling, to which policies cannot be
attached, by a grant on the key; controllers by their own roles, which the key's policy has to let count, as KMS's
default one does (https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.eks import policy
from components.clouds.eks.declare import declare
from components.clouds.eks.identity import Account
from components.settings import Settings

# https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
_OPERATIONS: Final = (
    "CreateGrant",
    "Decrypt",
    "DescribeKey",
    "Encrypt",
    "GenerateDataKey",
    "GenerateDataKeyWithoutPlaintext",
    "ReEncryptFrom",
    "ReEncryptTo",
)
_AUTO_SCALING: Final = "role/aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"


def grant_auto_scaling(
    name: str, settings: Settings, account: Account, parent: pulumi.Resource
) -> list[pulumi.Resource]:
    """Let the Auto Scaling groups behind node groups start machines with such disks; nothing without a key.

    An account has that role from its first Auto Scaling group on (README, "once per account").
    """
    if settings.security.disk_key is None:
        return []
    return [
        declare(
            "aws:kms/grant:Grant",
            f"{name}-disk-key",
            {
                "keyId": settings.security.disk_key,
                "granteePrincipal": pulumi.Output.format(
                    "arn:{0}:iam::{1}:{2}", account.partition, account.id, _AUTO_SCALING
                ),
                "operations": list(_OPERATIONS),
            },
            pulumi.ResourceOptions(parent=parent),
        )
    ]


def uses(key: str | None) -> Sequence[policy.Statement]:
    """What a controller needs that makes encrypted disks: https://docs.aws.amazon.com/eks/latest/userguide/ebs-csi.html,
    https://karpenter.sh/v1.14/troubleshooting/#node-terminates-before-ready-on-failed-encrypted-ebs-volume."""
    if key is None:
        return ()
    use = ("kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*")
    for_disks = {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    return (
        policy.allow("EncryptDisks", use, key),
        policy.allow("LetDisksUseTheKey", ("kms:CreateGrant", "kms:ListGrants", "kms:RevokeGrant"), key, for_disks),
    )
