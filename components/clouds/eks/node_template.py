"""What every node of the cluster has in common, as an EC2 launch template per pool.

A managed node group takes instance types, image and role itself and leaves the rest to a template:
https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks import fabric
from components.clouds.eks.context import NodesContext
from components.clouds.names import shortened
from components.resources import CustomResource
from facts import catalog
from facts.catalog.eks.nodes import network_interfaces
from facts.concepts.kubernetes import CLOUD_EFFECTS, Taint
from facts.concepts.parts import Gpus, Image
from facts.concepts.pool import Arch, Pool

if TYPE_CHECKING:
    from schemas import eks

_ARCHITECTURES: Final[Mapping[Arch, str]] = {"amd64": "x86_64", "arm64": "ARM_64"}


def image_type(pool: Pool) -> str:
    """The image of the pool's nodes, with the driver of its GPUs.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html#AmazonEKS-Type-Nodegroup-amiType; for which
    machines: https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html
    """
    variant = "STANDARD" if pool.role != "gpu" else "NVIDIA" if pool.gpus.of_nvidia else "NEURON"
    return f"{pool.nodes.image.upper()}_{_ARCHITECTURES[pool.arch]}_{variant}"


_MIG_MODELS: Final[Mapping[str, str]] = {
    "nvidia-a100-40gb": "a100.40gb",
    "nvidia-a100-80gb": "a100.80gb",
    "nvidia-h100-80gb": "h100.80gb",
    "nvidia-h200-141gb": "h200.141gb",
    "nvidia-b200": "b200.180gb",
}
"""The GPU's name in Bottlerocket's settings:
https://github.com/bottlerocket-os/bottlerocket-core-kit/tree/develop/sources/nvidia-migmanager"""
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-launch-template.html
_TEMPLATE_NAME_LIMIT: Final = 128
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_TAGGED: Final = ("instance", "volume", "network-interface")


def template_name(cluster: str, pool: Pool) -> str:
    """That of a pool's launch template."""
    return shortened(f"{cluster}-{pool.name}", _TEMPLATE_NAME_LIMIT)


def launch_template(context: NodesContext, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> CustomResource:
    """The template of one pool; its output ``latestVersion`` changes whenever the template does."""
    labels = context.settings.labels
    template = context.named(lambda cluster: template_name(cluster, pool))
    inputs: eks.LaunchTemplate = {
        "name": template,
        "description": f"Nodes of pool {pool.name}",
        "updateDefaultVersion": True,
        "blockDeviceMappings": [
            _disk(device, size, context.settings.security.disk_key)
            for device, size in disks(pool.nodes.image, pool.nodes.disk_gb).items()
        ],
        "metadataOptions": METADATA_OPTIONS,
        # What a stack is first made with; ``pools`` puts later labels on machines by way of their group.
        "tagSpecifications": [{"resourceType": kind, "tags": {**labels, "Name": template}} for kind in _TAGGED],
        "tags": dict(labels),
    }
    if (reservation := pool.scaling.reservation) is not None:
        # Their ids look alike, and a group for blocks is another kind:
        # https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
        if pool.scaling.block is not None:
            inputs["instanceMarketOptions"] = {"marketType": "capacity-block"}
        elif (machine := catalog.of("eks").machines.get(pool.nodes.machine_type)) is not None and machine.blocks:
            pulumi.warn(
                f"pool {pool.name}: if {reservation} is a Capacity Block, not an On-Demand Capacity Reservation, "
                "no node starts in it with cluster-autoscaler: write capacity: capacity-block and the block's days."
            )
        inputs["capacityReservationSpecification"] = {
            "capacityReservationTarget": {"capacityReservationId": reservation}
        }
    if pool.nodes.fabric is not None:
        # EKS adds its own security group only where a template names none:
        # https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html#launch-template-security-groups
        inputs["networkInterfaces"] = [
            {
                "networkCardIndex": card,
                "deviceIndex": index,
                "interfaceType": kind,
                "securityGroups": [context.security_group],
                "deleteOnTermination": "true",
            }
            for card, index, kind in network_interfaces(pool.nodes.machine_type, pool.nodes.fabric.devices)
        ]
    if context.interfaces is not None:
        inputs["networkInterfaces"] = context.interfaces
    group = fabric.placement_group(context, name, pool, opts)
    if group is not None and fabric.is_placed(pool):
        inputs["placement"] = {"groupName": group.outputs["name"]}
    if pool.nodes.image == "bottlerocket" and pool.gpus.shares > 1:
        inputs["userData"] = base64.b64encode(divided_gpus(pool.gpus).encode()).decode()
    # A new version replaces every node of a group, which a label for billing does not justify:
    # https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2514
    options = pulumi.ResourceOptions.merge(
        opts,
        pulumi.ResourceOptions(depends_on=[] if group is None else [group], ignore_changes=["tagSpecifications"]),
    )
    return declare(LAUNCH_TEMPLATE, f"{name}-template", inputs, options, outputs=["latestVersion"])


METADATA_OPTIONS: Final[eks.LaunchTemplateMetadataOptions] = {
    "httpEndpoint": "enabled",
    # Version 2 alone, and no further than the node itself: a pod must not become the node.
    # https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
    "httpTokens": "required",
    "httpPutResponseHopLimit": 1,
}


def disks(image: Image, size_gb: int) -> dict[str, int]:
    """The node's volumes, device → GB; Bottlerocket keeps images and pods' files on its second one."""
    if image == "bottlerocket":
        return {"/dev/xvda": _BOTTLEROCKET_SYSTEM_GB, "/dev/xvdb": size_gb}
    return {"/dev/xvda": size_gb}


_BOTTLEROCKET_SYSTEM_GB: Final = 4
VOLUME_TYPE: Final = "gp3"


def _disk(device: str, size_gb: int, key: str | None) -> eks.LaunchTemplateBlockDeviceMapping:
    volume: eks.LaunchTemplateBlockDeviceMappingEbs = {
        "volumeSize": size_gb,
        "volumeType": VOLUME_TYPE,
        "encrypted": "true",
        "deleteOnTermination": "true",
    }
    if key is not None:
        volume["kmsKeyId"] = key
    return {"deviceName": device, "ebs": volume}


def divided_gpus(gpus: Gpus) -> str:
    """Settings of Bottlerocket, whose image has the device plugin, and partitions GPUs when a machine starts.

    https://bottlerocket.dev/en/os/1.54.x/api/settings/kubelet-device-plugins/
    """
    if gpus.mig is not None:
        profile = catalog.of("eks").machines.accelerators[gpus.type].partitions[gpus.mig]
        return (
            "[settings.kubelet-device-plugins.nvidia]\n"
            'device-partitioning-strategy = "mig"\n'
            "[settings.kubelet-device-plugins.nvidia.mig.profile]\n"
            f'"{_MIG_MODELS[gpus.type]}" = "{profile}"\n'
        )
    return (
        "[settings.kubelet-device-plugins.nvidia]\n"
        'device-sharing-strategy = "time-slicing"\n'
        "[settings.kubelet-device-plugins.nvidia.time-slicing]\n"
        f"replicas = {gpus.shares}\n"
        "fail-requests-greater-than-one = true\n"
        # Shares are advertised as GPUs, which pods request and the autoscaler counts.
        "rename-by-default = false\n"
    )


def eks_taint(taint: Taint) -> eks.NodeGroupTaint:
    """A taint in EKS's spelling (``NO_SCHEDULE``)."""
    spelled: eks.NodeGroupTaint = {"key": taint.key, "effect": CLOUD_EFFECTS[taint.effect]}
    if taint.value:
        spelled["value"] = taint.value
    return spelled
