"""File systems of Elastic File System, the targets by which a zone mounts them, and who may. moto keeps all.

Replacement: https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/efs/file_system.go
"""

from __future__ import annotations

from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.errors import AwsError
from rehearsal.providers.eks.base.policy_documents import document_problem, named_roles
from rehearsal.providers.eks.base.row import Row, asks, from_answer, resends, sends
from rehearsal.providers.eks.resources.network import SECURITY_GROUP, SUBNET
from rehearsal.providers.resource import Reference
from rehearsal.providers.rules import RuleBook

FILE_SYSTEM: Final = "aws:efs/fileSystem:FileSystem"
POLICY: Final = "aws:efs/fileSystemPolicy:FileSystemPolicy"
MOUNT_TARGET: Final = "aws:efs/mountTarget:MountTarget"
POLICY_RULES: Final = RuleBook[Account]()

_ARN: Final = "arn:{partition}:elasticfilesystem:{region}:{account}:file-system/"


@POLICY_RULES.add(
    "file-system-policy", "https://docs.aws.amazon.com/efs/latest/ug/iam-access-control-nfs-efs.html", "policy"
)
def _policy(inputs: Properties, account: Account) -> str | None:
    problem = document_problem(inputs["policy"], principals=True)
    if problem is None:
        missing = [role for role in named_roles(inputs["policy"]) if not _exists(account, role)]
        problem = f"Policy contains invalid Principal block: {missing[0]}" if missing else None
    return f"InvalidPolicyException: {problem}" if problem else None


def _exists(account: Account, role: str) -> bool:
    """Resources of other accounts are unknown."""
    if not role.startswith(account.arn("iam", "role/", everywhere=True)):
        return True
    try:
        account.call("iam", "GetRole", RoleName=role.rpartition("/")[2])
    except AwsError:
        return False
    return True


def _regroup(account: Account, id: str, old: Properties, new: Properties) -> None:
    account.call(
        "efs", "ModifyMountTargetSecurityGroups", MountTargetId=id, SecurityGroups=new.get("securityGroups") or []
    )


def _open(account: Account, id: str, inputs: Properties) -> None:
    """moto has no DeleteFileSystemPolicy, which restores the default: every client that reaches a mount target."""


ROWS: Final = (
    Row(
        token=FILE_SYSTEM,
        answer="FileSystemId",
        describe=asks("efs:DescribeFileSystems", "FileSystems", FileSystemId="{id}"),
        # moto cannot change the throughput mode: the records have it.
        remove=sends("efs:DeleteFileSystem", FileSystemId="{id}"),
        outputs={
            "arn": _ARN + "{id}",
            "dnsName": "{id}.efs.{region}.amazonaws.com",
            "name": lambda pending: (pending.inputs.get("tags") or {}).get("Name", ""),
            "numberOfMountTargets": from_answer("NumberOfMountTargets", 0),
            "ownerId": "{account}",
        },
        defaults={"performanceMode": "generalPurpose", "throughputMode": "bursting"},
        replaces=("creationToken", "encrypted", "kmsKeyId", "performanceMode", "availabilityZoneName"),
        name="creationToken",
        name_limit=64,
    ),
    Row(
        token=POLICY,
        id="{fileSystemId}",
        describe=asks("efs:DescribeFileSystemPolicy", "", FileSystemId="{id}"),
        change=resends(POLICY),
        remove=_open,
        rules=POLICY_RULES.rules,
        references={"fileSystemId": Reference(FILE_SYSTEM, "part")},
    ),
    Row(
        token=MOUNT_TARGET,
        answer="MountTargetId",
        describe=asks("efs:DescribeMountTargets", "MountTargets", MountTargetId="{id}"),
        change=_regroup,
        remove=sends("efs:DeleteMountTarget", MountTargetId="{id}"),
        outputs={
            "availabilityZoneId": from_answer("AvailabilityZoneId", ""),
            "availabilityZoneName": from_answer("AvailabilityZoneName", ""),
            "dnsName": "{fileSystemId}.efs.{region}.amazonaws.com",
            "fileSystemArn": _ARN + "{fileSystemId}",
            "ipAddress": from_answer("IpAddress", ""),
            "mountTargetDnsName": from_answer("AvailabilityZoneName", ""),
            "networkInterfaceId": from_answer("NetworkInterfaceId", ""),
            "ownerId": "{account}",
        },
        unknown=("ipAddress",),
        references={
            "fileSystemId": Reference(FILE_SYSTEM),
            "subnetId": Reference(SUBNET),
            "securityGroups": Reference(SECURITY_GROUP),
        },
        replaces=("fileSystemId", "subnetId", "ipAddress", "ipAddressType"),
        unordered=("securityGroups",),
    ),
)
