"""The customer's key for disks, and the permissions to use it.

Every principal that launches instances or creates volumes needs it: the service-linked roles of Auto Scaling and spot,
to which no policy can be attached, by grants on the key; controllers by their own roles, which the key policy must
allow, as KMS's default does (https://docs.aws.amazon.com/kms/latest/developerguide/key-policy-default.html).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.deployed import Deployed
from components.clouds.eks import policy
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
_GRANT: Final = "aws:kms/grant:Grant"
_ROLES: Final = "role/aws-service-role"
_AUTO_SCALING: Final = f"{_ROLES}/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_SPOT: Final = f"{_ROLES}/spot.amazonaws.com/AWSServiceRoleForEC2Spot"


def grants(
    name: str, settings: Settings, account: CallerIdentity, deployed: Deployed, parent: pulumi.Resource
) -> list[pulumi.Resource]:
    """Grants for the account's service-linked roles to launch instances with such disks; none without a key.

    Auto Scaling's role launches those of node groups. The role for spot needs the key for every spot instance; AWS does
    not document whether also for Karpenter's instant fleets, where the grant is harmless. Both roles must exist before
    (docs/install-eks.md).
    """
    pools = (settings.admin_pool, *settings.pools)
    grantees = {f"{name}-disk-key": _AUTO_SCALING}
    of_spot = f"{name}-disk-key-of-spot"
    # Also while the last spot instances still run: a right that is deployed stays.
    if any(pool.scaling.spot for pool in pools) or deployed.ends(_GRANT, of_spot, "keyId"):
        grantees[of_spot] = _SPOT
    return [
        declare(
            "aws:kms/grant:Grant",
            f"{each}{right.suffix}",
            {
                "keyId": right.key,
                "granteePrincipal": pulumi.Output.format("arn:{0}:iam::{1}:{2}", account.partition, account.id, role),
                "operations": list(_OPERATIONS),
            },
            pulumi.ResourceOptions.merge(pulumi.ResourceOptions(parent=parent), right.options),
        )
        for each, role in grantees.items()
        for right in deployed.key_rights(_GRANT, each, "keyId", settings.security.disk_key)
    ]


def keys(name: str, settings: Settings, deployed: Deployed) -> tuple[str, ...]:
    """The key of new disks and those of earlier ones, which must be attached again; sorted."""
    rights = deployed.key_rights(_GRANT, f"{name}-disk-key", "keyId", settings.security.disk_key)
    return tuple(sorted(right.key for right in rights))


def uses(keys: Sequence[str]) -> Sequence[policy.Statement]:
    """Statements for a controller that creates and attaches disks with these keys; none without a key."""
    return policy.statements("disk-key", key=list(keys) if len(keys) > 1 else keys[0]) if keys else ()
