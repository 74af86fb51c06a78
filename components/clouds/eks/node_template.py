"""What every node of the cluster has in common, as an EC2 launch template per pool.

A managed node group takes instance types, image and role itself and leaves the rest to a template:
https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.names import shortened
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec, Image, TimeSharing
from components.resources import CustomResource
from policies.rules.model import Effect, Taint

if TYPE_CHECKING:
    from components.clouds.eks.cluster import EksCluster

GPU_IMAGE_TYPES: Final[Mapping[Image, str]] = {
    "al2023": "AL2023_x86_64_NVIDIA",
    "bottlerocket": "BOTTLEROCKET_x86_64_NVIDIA",
}
IMAGE_TYPE: Final = "AL2023_x86_64_STANDARD"
"""Of nodes without GPUs."""

EFFECTS: Final[Mapping[Effect, str]] = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}

# https://docs.aws.amazon.com/autoscaling/ec2/userguide/create-launch-template.html
_TEMPLATE_NAME_LIMIT: Final = 128
_TAGGED: Final = ("instance", "volume", "network-interface")


def launch_template(
    cluster: EksCluster, name: str, spec: AdminPoolSpec | CpuPoolSpec | GpuPoolSpec, opts: pulumi.ResourceOptions
) -> CustomResource:
    """The template of one pool; its output ``latestVersion`` changes whenever the template does."""
    labels = cluster.spec.labels
    pool = shortened(f"{cluster.spec.name}-{spec.name}", _TEMPLATE_NAME_LIMIT)
    inputs: dict[str, Any] = {
        "name": pool,
        "description": f"Nodes of pool {spec.name}",
        "updateDefaultVersion": True,
        "blockDeviceMappings": disks(spec.image if isinstance(spec, GpuPoolSpec) else "al2023", spec.disk_gb),
        "metadataOptions": METADATA_OPTIONS,
        "tagSpecifications": [{"resourceType": kind, "tags": {**labels, "Name": pool}} for kind in _TAGGED],
        "tags": dict(labels),
    }
    if isinstance(spec, GpuPoolSpec):
        if spec.reservation is not None:
            inputs["capacityReservationSpecification"] = {
                "capacityReservationTarget": {"capacityReservationId": spec.reservation}
            }
        if spec.image == "bottlerocket" and spec.time_sharing is not None:
            inputs["userData"] = base64.b64encode(shared_gpus(spec.time_sharing).encode()).decode()
    return CustomResource(
        "aws:ec2/launchTemplate:LaunchTemplate", f"{name}-template", inputs, opts, outputs=["latestVersion"]
    )


METADATA_OPTIONS: Final = {
    "httpEndpoint": "enabled",
    # Version 2 alone, and no further than the node itself: a pod must not become the node.
    # https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
    "httpTokens": "required",
    "httpPutResponseHopLimit": 1,
}


def disks(image: Image, size_gb: int) -> list[dict[str, Any]]:
    """The node's volumes, encrypted; Bottlerocket keeps images and pods' files on its second one."""
    if image == "bottlerocket":
        return [_disk("/dev/xvda", _BOTTLEROCKET_SYSTEM_GB), _disk("/dev/xvdb", size_gb)]
    return [_disk("/dev/xvda", size_gb)]


_BOTTLEROCKET_SYSTEM_GB: Final = 4


def _disk(device: str, size_gb: int) -> dict[str, Any]:
    volume = {"volumeSize": size_gb, "volumeType": "gp3", "encrypted": "true", "deleteOnTermination": "true"}
    return {"deviceName": device, "ebs": volume}


def shared_gpus(sharing: TimeSharing) -> str:
    """Settings of Bottlerocket, whose image has the device plugin.

    https://bottlerocket.dev/en/os/1.53.x/api/settings/kubelet-device-plugins/
    """
    return (
        "[settings.kubelet-device-plugins.nvidia]\n"
        'device-sharing-strategy = "time-slicing"\n'
        "[settings.kubelet-device-plugins.nvidia.time-slicing]\n"
        f"replicas = {sharing.clients_per_gpu}\n"
        "fail-requests-greater-than-one = true\n"
        # Shares go by the name of a GPU, which is what pods ask for and the autoscaler counts.
        "rename-by-default = false\n"
    )


def eks_taint(taint: Taint) -> dict[str, str]:
    """A taint in EKS's spelling (``NO_SCHEDULE``)."""
    spelled = {"key": taint.key, "effect": EFFECTS[taint.effect]}
    return {**spelled, "value": taint.value} if taint.value else spelled
