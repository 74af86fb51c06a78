"""EKS managed node groups. Sizes are totals over the group's zones.

There is no Auto Scaling group of our own: EKS drains the nodes of a managed one before it ends them, whatever the
reason (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html), and spot GPU pools have one zone, so
that there is nothing to rebalance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import pulumi

from catalog.eks import node_tags
from components.clouds.eks.context import Context
from components.clouds.eks.declare import declare
from components.clouds.eks.node_template import GPU_IMAGE_TYPES, IMAGE_TYPE, eks_taint, launch_template
from components.resources import CustomResource
from concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import eks

# Replacing a node by a surplus one first would need quota for one more GPU machine, which few accounts have.
# https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
_UPGRADE_IN_PLACE: Final[eks.NodeGroupUpdateConfig] = {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
_UPGRADE_BY_SURPLUS: Final[eks.NodeGroupUpdateConfig] = {"maxUnavailable": 1, "updateStrategy": "DEFAULT"}


def node_pool(
    context: Context, name: str, pool: Pool, needs: Sequence[pulumi.Resource], opts: pulumi.ResourceOptions
) -> CustomResource:
    """One pool, which waits for what its nodes ``need`` to become ready; the admin pool never goes away."""
    template = launch_template(context, name, pool, opts)
    inputs: eks.NodeGroup = {
        "clusterName": context.name,
        "nodeGroupName": pool.name,
        # Follows the control plane, so that an upgrade of the cluster upgrades its nodes.
        "version": context.control_plane.output("version"),
        "nodeRoleArn": context.node_role.arn,
        "subnetIds": [context.network.private_subnets[zone] for zone in pool.zones],
        "capacityType": "SPOT" if pool.spot else "ON_DEMAND",
        "instanceTypes": list(pool.machine_types),
        "amiType": GPU_IMAGE_TYPES[pool.image] if pool.gpu_part else IMAGE_TYPE,
        "labels": dict(pool.labels),
        "scalingConfig": {"minSize": pool.min_nodes, "maxSize": pool.max_nodes, "desiredSize": pool.min_nodes},
        "updateConfig": _UPGRADE_IN_PLACE if pool.gpu_part else _UPGRADE_BY_SURPLUS,
        "launchTemplate": {
            "id": template.id,
            "version": template.output("latestVersion").apply(lambda version: str(int(version))),
        },
        "tags": dict(context.settings.labels),
    }
    if pool.role != "admin":
        inputs["taints"] = [eks_taint(taint) for taint in pool.taints]
    behaviour = pulumi.ResourceOptions(
        depends_on=[*context.node_role.ready, *needs],
        # After creation the autoscaler owns the size; a fixed one is ours to change.
        ignore_changes=["scalingConfig.desiredSize"] if pool.autoscaled else [],
        # Two groups of one name cannot exist side by side.
        delete_before_replace=True,
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="120m", delete="60m"),
    )
    group = declare(
        "aws:eks/nodeGroup:NodeGroup",
        name,
        inputs,
        pulumi.ResourceOptions.merge(opts, behaviour),
        outputs=["resources"],
    )
    if pool.autoscaled and context.settings.autoscaler == "cluster-autoscaler":
        _tag(name, group, pool, opts)
    return group


def _tag(
    name: str,
    group: CustomResource,
    pool: Pool,
    opts: pulumi.ResourceOptions,
) -> None:
    """Put the autoscaler's tags on the Auto Scaling group behind ``group``."""
    scaling_group = group.output("resources").apply(lambda found: found[0]["autoscalingGroups"][0]["name"])
    # A group takes its tags with it; removing dozens of them one by one first would only take time.
    with_group = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(deleted_with=group))
    for key, value in node_tags.node_template(pool).items():
        declare(
            "aws:autoscaling/tag:Tag",
            f"{name}-tag-{key.removeprefix(node_tags.NODE_TEMPLATE + '/')}",
            {
                "autoscalingGroupName": scaling_group,
                # Nodes have their labels and taints from EKS; as tags of machines these would say nothing.
                "tag": {"key": key, "value": value, "propagateAtLaunch": False},
            },
            with_group,
        )
