"""The customer's key of disks, and who may use it.

Whoever starts a machine or makes a volume has to be allowed to: the roles of Auto Scaling and of spot machines, to
which policies cannot be attached, by grants on the key; controllers by their own roles, which the key's policy has to
let count, as KMS's default one does (https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.eks import policy
from components.clouds.eks.declare import declare
from components.clouds.eks.identity import CallerIdentity
from components.settings import Settings

# https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html,
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
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
_ROLES: Final = "role/aws-service-role"
_AUTO_SCALING: Final = f"{_ROLES}/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_SPOT: Final = f"{_ROLES}/spot.amazonaws.com/AWSServiceRoleForEC2Spot"


def grants(name: str, settings: Settings, account: CallerIdentity, parent: pulumi.Resource) -> list[pulumi.Resource]:
    """Let the account's own roles start machines with such disks; nothing without a key.

    Auto Scaling's starts those of node groups. That of spot machines needs the key for every spot machine; whether also
    for those of Karpenter's instant fleets, AWS does not say, and the grant does no harm there. Both roles are there
    before (docs/install-eks.md).
    """
    key, pools = settings.security.disk_key, (settings.admin_pool, *settings.pools)
    if key is None:
        return []
    grantees = {f"{name}-disk-key": _AUTO_SCALING}
    if any(pool.spot for pool in pools):
        grantees[f"{name}-disk-key-of-spot"] = _SPOT
    return [
        declare(
            "aws:kms/grant:Grant",
            each,
            {
                "keyId": key,
                "granteePrincipal": pulumi.Output.format("arn:{0}:iam::{1}:{2}", account.partition, account.id, role),
                "operations": list(_OPERATIONS),
            },
            pulumi.ResourceOptions(parent=parent),
        )
        for each, role in grantees.items()
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
