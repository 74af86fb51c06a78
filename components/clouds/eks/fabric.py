"""What connects the nodes of a pool with a fabric: a placement group, EFA interfaces and the plugin that offers them.

The interfaces are in the cluster's own security group, which permits EFA traffic inside itself:
https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html. Both images have EFA's driver and neither has its
plugin. AWS's driver for claims does not support pools that Karpenter scales:
https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.base import GpuDaemon
from components.clouds.declare import eks as declare
from components.resources import CustomResource, documents
from facts import catalog
from facts.catalog.tables import by_key
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from components.clouds.eks.context import NodesContext
    from schemas import eks

_GROUP: Final = "aws:ec2/placementGroup:PlacementGroup"

APP: Final = "aws-efa-k8s-device-plugin"

# https://github.com/aws/eks-charts/blob/master/stable/aws-efa-k8s-device-plugin/values.yaml (chart 0.5.30); of the
# region, as eksctl has it: https://github.com/eksctl-io/eksctl/blob/main/pkg/addons/device_plugin.go
_IMAGE: Final = "{account}.dkr.ecr.{region}.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20"


def is_placed(pool: Pool) -> bool:
    """Whether the pool has a placement group: with a fabric, unless its capacity is reserved and so has its place.

    https://github.com/terraform-aws-modules/terraform-aws-eks/pull/3730
    """
    return pool.nodes.fabric is not None and pool.scaling.reservation is None


def placement_group(
    context: NodesContext, name: str, pool: Pool, opts: pulumi.ResourceOptions
) -> CustomResource | None:
    """The group that puts the nodes of a placed pool close to each other; what starts the pool's nodes depends on it.

    A deployed one, which costs nothing, stays as long as the pool, and goes after it: EC2 deletes no group in which
    nodes are (https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/delete-placement-group.html), and those of before
    wait.
    """
    settings, resource = context.settings, f"{name}-placement"
    if not is_placed(pool) and resource not in context.deployed.names(_GROUP):
        return None
    group = f"{settings.cluster_name}-{pool.name}"
    inputs: eks.PlacementGroup = {"name": group, "strategy": "cluster", "tags": dict(settings.labels)}
    return declare(_GROUP, resource, inputs, opts)


def device_plugin(pools: Sequence[Pool]) -> list[GpuDaemon]:
    """The DaemonSet on the nodes of pools with a fabric; none without such pools."""
    connected = tuple(pool for pool in pools if pool.nodes.fabric is not None)
    if not connected:
        return []
    image = _regional(connected[0].nodes.zones[0])
    (pod,) = documents(Path(__file__).with_name("efa-plugin.yaml"), app=APP, image=image)
    return [GpuDaemon(app=APP, variant="efa", pod=pod, pools=connected)]


def _regional(zone: str) -> str:
    """The image in the zone's region: a network without a way to the internet has endpoints for that registry alone.

    https://docs.aws.amazon.com/AmazonECR/latest/userguide/vpc-endpoints.html
    """
    region = next(region for region, zones in catalog.of("eks").regions.items() if zone in zones)
    account = by_key("eks", "registries", "region")[(region,)]["account"]
    return _IMAGE.format(account=account, region=region)
