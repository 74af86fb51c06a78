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

LIST: Final = ("s3:ListBucket", "s3:GetBucketLocation")
READ: Final = ("s3:GetObject",)
WRITE: Final = (
    *READ,
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
)
"""Not ``DeleteObjectVersion``: deleted objects can be restored.
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazons3.html"""
DECRYPT: Final = ("kms:Decrypt",)
ENCRYPT: Final = ("kms:GenerateDataKey",)
SECRET: Final = ("secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret")


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

    def by_key(sid: str, actions: Sequence[str], service: str, context: str, encrypted: Sequence[str]) -> None:
        """Any key of the account, for what is ``encrypted`` alone, and through the service that stores it."""
        condition = {
            "StringEquals": {"kms:ViaService": f"{service}.{region}.amazonaws.com"},
            "StringLike": {f"kms:EncryptionContext:{context}": encrypted},
        }
        statements.append(policy.allow(sid, actions, f"arn:{partition}:kms:{region}:{account}:key/*", condition))

    def by_bucket_key(sid: str, actions: Sequence[str], buckets: Sequence[str]) -> None:
        # The context of S3 is the object, or the bucket if it has a bucket key:
        # https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html
        by_key(sid, actions, "s3", "aws:s3:arn", [*arns(buckets), *arns(buckets, "/*")])

    write = [*reach.write, *own]
    statements: list[policy.Statement] = []
    if reach.read or write:
        statements.append(policy.allow("AllowListingBuckets", LIST, arns([*reach.read, *write])))
    if reach.read:
        by_bucket_key("AllowDecryptingObjects", DECRYPT, reach.read)
        statements.append(policy.allow("AllowReadingObjects", READ, arns(reach.read, "/*")))
    if write:
        statements.append(policy.allow("AllowWritingObjects", WRITE, arns(write, "/*")))
        by_bucket_key("AllowEncryptingObjects", (*DECRYPT, *ENCRYPT), write)
    if reach.secrets:
        # AWS ends a secret's ARN with six characters of its own:
        # https://docs.aws.amazon.com/secretsmanager/latest/userguide/auth-and-access_iam-policies.html
        secrets = [f"arn:{partition}:secretsmanager:{region}:{account}:secret:{each}-??????" for each in reach.secrets]
        statements.append(policy.allow("AllowReadingSecrets", SECRET, secrets))
        # https://docs.aws.amazon.com/secretsmanager/latest/userguide/security-encryption.html
        by_key("AllowDecryptingSecrets", DECRYPT, "secretsmanager", "SecretARN", secrets)
    return policy.document(*statements)
