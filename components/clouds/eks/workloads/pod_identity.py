"""AWS identities of pods: a role per service account, by EKS Pod Identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pulumi

from components.clouds.base import Reach
from components.clouds.eks import policy
from components.clouds.eks.context import Context
from components.clouds.eks.identity import ServiceRole, associate
from components.clouds.names import shortened

# Of the 64 characters of a role's name: the cluster's name needs room, too.
_PURPOSE_LIMIT: Final = 40


def pod_identity(
    context: Context, name: str, account: tuple[str, str], reach: Reach, parent: pulumi.Resource
) -> Mapping[str, pulumi.Input[str]]:
    """The role and its association; the account needs no annotation."""
    settings = context.settings
    own = [bucket.name for bucket in reach.own.values()]
    document = pulumi.Output.all(context.account.partition, context.account.id, *own).apply(
        lambda values: _document(values[0], values[1], settings.region, reach, values[2:])
    )
    purpose = shortened(f"pods-{account[0]}_{account[1]}", _PURPOSE_LIMIT)
    role = ServiceRole(f"{name}-role", purpose, settings, context.account, parent, document=document)
    associate(name, role, context.name, account, settings, pulumi.ResourceOptions(parent=parent))
    return {}


def _document(partition: str, account: str, region: str, reach: Reach, own: Sequence[str]) -> str:
    def arns(buckets: Sequence[str], end: str = "") -> list[str]:
        return [f"arn:{partition}:s3:::{bucket}{end}" for bucket in buckets]

    write = [*reach.write, *own]
    statements = policy.statements(
        "pods",
        region=region,
        keys=f"arn:{partition}:kms:{region}:{account}:key/*",
        buckets=arns([*reach.read, *write]),
        objects_read=arns(reach.read, "/*"),
        all_read=[*arns(reach.read), *arns(reach.read, "/*")],
        objects_written=arns(write, "/*"),
        all_written=[*arns(write), *arns(write, "/*")],
        # AWS ends a secret's ARN with six characters of its own:
        # https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_iam-policies.html
        secrets=[f"arn:{partition}:secretsmanager:{region}:{account}:secret:{each}-??????" for each in reach.secrets],
    )
    return policy.document(*(each for each in statements if [] not in _reached(each)))


def _reached(statement: policy.Statement) -> list[object]:
    return [statement["Resource"], *statement.get("Condition", {}).get("StringLike", {}).values()]
