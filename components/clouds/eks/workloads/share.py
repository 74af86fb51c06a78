"""A file system of Elastic File System: encrypted, and mounted by the cluster's driver alone, by TLS alone.

https://docs.aws.amazon.com/eks/latest/userguide/efs-csi.html
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.base import Share
from components.clouds.data_lookup import look_up
from components.clouds.declare import eks as declare
from components.clouds.eks import policy
from components.clouds.eks.context import Context
from components.clouds.retained import retained
from components.settings.sections.workloads import SharedVolume

_NFS: Final = 2049
_FIND: Final = "aws:efs/getFileSystem:getFileSystem"


def share(context: Context, name: str, setting: SharedVolume, parent: pulumi.Resource) -> Share:
    """The file system, and a mount target in each zone that has nodes. It grows with its content, which is billed."""
    settings = context.settings
    # Unique per account; a later stack finds the file system by it.
    token = f"{settings.cluster_name}-shared"
    tags = {**settings.labels, "Name": token}
    by = {"creationToken": token}
    # https://docs.aws.amazon.com/efs/latest/ug/performance.html#throughput-modes: billed by use, like the storage
    files = declare(
        "aws:efs/fileSystem:FileSystem",
        name,
        {"creationToken": token, "encrypted": True, "throughputMode": "elastic", "tags": tags},
        retained(setting, str(look_up(_FIND, by, parent)["fileSystemId"]) if setting.adopt else None, parent),
        outputs=["arn"],
    )
    mounts = context.file_mounts
    assert mounts is not None
    rights = declare(
        "aws:efs/fileSystemPolicy:FileSystemPolicy",
        f"{name}-tls-only",
        {
            "fileSystemId": files.id,
            "policy": pulumi.Output.all(arn=files.outputs["arn"], mounts=mounts.arn).apply(
                lambda arns: policy.of("share", **arns)
            ),
        },
        # It is part of the file system and shares its lifecycle.
        pulumi.ResourceOptions(parent=parent, retain_on_delete=True),
    )
    group = declare(
        "aws:ec2/securityGroup:SecurityGroup",
        f"{name}-security-group",
        {
            "vpcId": context.network.vpc,
            "description": f"Shared volume of cluster {settings.cluster_name}",
            "ingress": [
                {
                    "description": "NFS from the cluster's nodes",
                    "protocol": "tcp",
                    "fromPort": _NFS,
                    "toPort": _NFS,
                    "securityGroups": [context.security_group],
                }
            ],
            "egress": [],
            "tags": tags,
        },
        pulumi.ResourceOptions(parent=parent),
    )
    # A pod reaches that of its own zone: https://docs.aws.amazon.com/efs/latest/ug/accessing-fs.html
    targets = [
        declare(
            "aws:efs/mountTarget:MountTarget",
            f"{name}-{zone}",
            {"fileSystemId": files.id, "subnetId": context.network.private_subnets[zone], "securityGroups": [group.id]},
            pulumi.ResourceOptions(parent=parent),
        )
        for zone in settings.node_zones
        if zone in context.network.private_subnets
    ]
    # By TLS, which is the driver's default, and as the driver's role.
    # https://github.com/kubernetes-sigs/aws-efs-csi-driver/blob/master/docs/parameters.md
    return Share(driver="efs.csi.aws.com", handle=files.id, size_gib=None, options=("iam",), ready=[rights, *targets])
