"""EKS managed node groups. Sizes are totals over the group's zones.

There is no Auto Scaling group of our own: EKS drains the nodes of a managed one before it ends them, whatever the
reason (https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html), and spot GPU pools have one zone, so
that there is nothing to rebalance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.eks import node_tags
from components.clouds.eks.node_template import GPU_IMAGE_TYPES, IMAGE_TYPE, eks_taint, launch_template
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.resources import CustomResource

if TYPE_CHECKING:
    from components.clouds.eks.cluster import EksCluster

# Replacing a node by a surplus one first would need quota for one more GPU machine, which few accounts have.
# https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
_UPGRADE_IN_PLACE: Final = {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}
_UPGRADE_BY_SURPLUS: Final = {"maxUnavailable": 1, "updateStrategy": "DEFAULT"}


def admin_pool(cluster: EksCluster, name: str, spec: AdminPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """A pool that never goes away: of fixed size, or growing up to ``max_nodes``."""
    autoscaled = spec.max_nodes is not None
    inputs = {
        "amiType": IMAGE_TYPE,
        "scalingConfig": {"minSize": spec.total_nodes, "maxSize": spec.most_nodes, "desiredSize": spec.total_nodes},
        "updateConfig": _UPGRADE_BY_SURPLUS,
    }
    return _node_group(cluster, name, spec, inputs, opts, autoscaled=autoscaled)


def cpu_node_pool(cluster: EksCluster, name: str, spec: CpuPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """An autoscaled pool without GPUs."""
    inputs = {**_autoscaled(spec), "amiType": IMAGE_TYPE, "updateConfig": _UPGRADE_BY_SURPLUS}
    return _node_group(cluster, name, spec, inputs, opts, autoscaled=True)


def gpu_node_pool(cluster: EksCluster, name: str, spec: GpuPoolSpec, opts: pulumi.ResourceOptions) -> CustomResource:
    """An autoscaled pool of GPU nodes that starts empty."""
    inputs = {**_autoscaled(spec), "amiType": GPU_IMAGE_TYPES[spec.image], "updateConfig": _UPGRADE_IN_PLACE}
    return _node_group(cluster, name, spec, inputs, opts, autoscaled=True)


def instance_types(spec: AdminPoolSpec | CpuPoolSpec | GpuPoolSpec) -> list[str]:
    """All types of the pool, the one that the autoscaler plans with first."""
    return list(spec.machine_types or (spec.machine_type,))


def _autoscaled(spec: GpuPoolSpec | CpuPoolSpec) -> dict[str, Any]:
    return {
        "scalingConfig": {"minSize": spec.min_nodes, "maxSize": spec.max_nodes, "desiredSize": spec.min_nodes},
        "taints": [eks_taint(taint) for taint in spec.taints],
    }


def _node_group(
    cluster: EksCluster,
    name: str,
    spec: AdminPoolSpec | CpuPoolSpec | GpuPoolSpec,
    inputs: dict[str, Any],
    opts: pulumi.ResourceOptions,
    *,
    autoscaled: bool,
) -> CustomResource:
    template = launch_template(cluster, name, spec, opts)
    common = {
        "clusterName": cluster.cluster.output("name"),
        "nodeGroupName": spec.name,
        # Follows the control plane, so that an upgrade of the cluster upgrades its nodes.
        "version": cluster.cluster.output("version"),
        "nodeRoleArn": cluster.node_role.arn,
        "subnetIds": [cluster.network.private_subnets[zone] for zone in spec.zones],
        "capacityType": "SPOT" if spec.spot else "ON_DEMAND",
        "instanceTypes": instance_types(spec),
        "labels": dict(spec.labels),
        "launchTemplate": {
            "id": template.id,
            "version": template.output("latestVersion").apply(lambda version: str(int(version))),
        },
        "tags": dict(cluster.spec.labels),
    }
    behaviour = pulumi.ResourceOptions(
        depends_on=[*cluster.node_role.ready, *cluster.node_addons],
        # After creation the autoscaler owns the size; a fixed one is ours to change.
        ignore_changes=["scalingConfig.desiredSize"] if autoscaled else [],
        # Two groups of one name cannot exist side by side.
        delete_before_replace=True,
        custom_timeouts=pulumi.CustomTimeouts(create="30m", update="120m", delete="60m"),
    )
    group = CustomResource(
        "aws:eks/nodeGroup:NodeGroup",
        name,
        {**common, **inputs},
        pulumi.ResourceOptions.merge(opts, behaviour),
        outputs=["resources"],
    )
    if autoscaled and cluster.spec.autoscaler == "cluster-autoscaler":
        _tag(name, group, spec, opts)
    return group


def _tag(
    name: str,
    group: CustomResource,
    spec: AdminPoolSpec | CpuPoolSpec | GpuPoolSpec,
    opts: pulumi.ResourceOptions,
) -> None:
    """Put the autoscaler's tags on the Auto Scaling group behind ``group``."""
    scaling_group = group.output("resources").apply(lambda found: found[0]["autoscalingGroups"][0]["name"])
    # A group takes its tags with it; removing dozens of them one by one first would only take time.
    with_group = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(deleted_with=group))
    for key, value in node_tags.node_template(spec).items():
        CustomResource(
            "aws:autoscaling/tag:Tag",
            f"{name}-tag-{key.removeprefix(node_tags.NODE_TEMPLATE + '/')}",
            {
                "autoscalingGroupName": scaling_group,
                # Nodes have their labels and taints from EKS; as tags of machines these would say nothing.
                "tag": {"key": key, "value": value, "propagateAtLaunch": False},
            },
            with_group,
        )
