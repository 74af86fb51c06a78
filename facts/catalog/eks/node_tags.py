"""Tags of an Auto Scaling group that tell cluster-autoscaler what a node will be while the group has none. No Pulumi.

EKS gives the group the two tags by which the autoscaler finds it, and none of the node group's own tags:
https://github.com/aws/containers-roadmap/issues/608. The autoscaler also asks EKS for labels and taints, but only until
it has seen a node: https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts import catalog
from facts.catalog.eks import nodes
from facts.catalog.model import Machine
from facts.concepts.pool import Pool

ENABLED: Final = "k8s.io/cluster-autoscaler/enabled"
"""One of the two tags for discovery; the other is ``owned(cluster)``."""

NODE_TEMPLATE: Final = "k8s.io/cluster-autoscaler/node-template"
LABEL: Final = f"{NODE_TEMPLATE}/label/"
TAINT: Final = f"{NODE_TEMPLATE}/taint/"
RESOURCE: Final = f"{NODE_TEMPLATE}/resources/"
OPTIONS: Final = f"{NODE_TEMPLATE}/autoscaling-options/"
UNNEEDED: Final = f"{OPTIONS}scaledownunneededtime"

# The autoscaler's threshold for GPUs does not hold for nodes of other makers. Theirs is of CPU and memory: by default
# it drains a node with running pods that request at most half. At 0 some releases would never remove a node.
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/simulator/utilization/info.go
_ONLY_IDLE: Final = {
    f"{OPTIONS}scaledownutilizationthreshold": "0.00001",
    f"{OPTIONS}ignoredaemonsetsutilization": "true",
}

# Where the flag is somebody else's (by default 0.5), so that no pod is ended to pack it elsewhere:
# https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/aws#auto-discovery-setup
_ONLY_IDLE_GPUS: Final = {f"{OPTIONS}scaledowngpuutilizationthreshold": "0.001"}

# https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
_TAGS_PER_GROUP: Final = 50
# Name of cluster and node group, two for discovery, and the cluster's own.
_TAGS_OF_EKS: Final = 5


def owned(cluster_name: str) -> str:
    """The tag (its value is ``owned``) of the groups that this cluster's autoscaler may change."""
    return f"k8s.io/cluster-autoscaler/{cluster_name}"


def node_template(pool: Pool, *, joined: bool = False) -> dict[str, str]:
    """All tags of one pool's group: every label, every taint, what pods may ask for, how long a node stays idle.

    ``joined``: the autoscaler and its flags are somebody else's.
    """
    tags = {f"{LABEL}{key}": value for key, value in pool.nodes.labels.items()}
    if pool.role == "admin":
        return tags
    tags |= {f"{TAINT}{taint.key}": f"{taint.value or ''}:{taint.effect}" for taint in pool.nodes.taints}
    tags |= {f"{RESOURCE}{name}": quantity for name, quantity in _resources(pool).items()}
    if not pool.gpus.of_nvidia:
        tags |= _ONLY_IDLE
    elif joined:
        tags |= _ONLY_IDLE_GPUS
    if pool.scaling.unneeded_minutes is not None:
        tags[UNNEEDED] = f"{pool.scaling.unneeded_minutes}m0s"
    return tags


def room(pool: Pool, stack_labels: Mapping[str, str], *, joined: bool = False) -> int:
    """How many more tags the pool's group can have, beside those of a stack with such labels; below 0: too many."""
    return _TAGS_PER_GROUP - _TAGS_OF_EKS - len(stack_labels) - len(node_template(pool, joined=joined))


def _resources(pool: Pool) -> dict[str, str]:
    """Resource → quantity on a node for pods; without it the autoscaler plans with a whole machine and no disk at all.

    ``buildNodeFromTemplate`` in
    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/aws_manager.go
    """
    quantities = {"ephemeral-storage": f"{nodes.disk_mib(pool.nodes.image, pool.nodes.disk_gb)}Mi"}
    machines = [catalog.of("eks").machines.get(name) for name in pool.nodes.machine_types]
    known = [machine for machine in machines if isinstance(machine, Machine)]
    if known and len(known) == len(machines):
        # Of types that differ, what each of them has.
        quantities["cpu"] = f"{min(nodes.allocatable(machine).milli_cpu for machine in known)}m"
        quantities["memory"] = f"{min(nodes.most_memory_mib(machine) for machine in known)}Mi"
    if pool.role == "gpu":
        quantities[pool.gpus.resource] = str(pool.gpus.allocatable)
    if pool.nodes.fabric is not None:
        quantities[pool.nodes.fabric.resource] = str(pool.nodes.fabric.devices)
    return quantities
