"""Parts of the rules' examples: a GPU group, a CPU group, a cluster, workloads, each with few violations."""

from __future__ import annotations

from typing import Final

from facts.concepts.autoscaler import Autoscaler, AutoscalerCall
from facts.concepts.declared import Cluster, Item, NodeGroup, Stack, Workload
from facts.concepts.kubernetes import Toleration
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.pool import GPU_TAINT

GPUS: Final = NodeGroup(
    "l4",
    "cloud",
    gpus=Gpus(per_node=1),
    scaling=Scaling(max_nodes=4),
    nodes=Nodes(machine_types=(None,), zones=(), labels={}, taints=(GPU_TAINT,), dearest_hourly_usd=1.5),
)
CPUS: Final = NodeGroup(
    "web",
    "cloud",
    scaling=Scaling(max_nodes=3),
    nodes=Nodes(machine_types=(None,), zones=(), labels={}, dearest_hourly_usd=0.2),
)
CLUSTER: Final = Cluster("ml", "cloud", region="europe-central2")
JOB: Final = Workload("train", "research", "Job", gpus=1, tolerations=(Toleration(GPU_TAINT.key, "Exists"),))
WEB: Final = Workload("shop", "default", "Deployment")
TAGS: Final = {"k8s.io/cluster-autoscaler/ml": "owned"}
"""The tag by which the autoscaler of cluster ``ml`` finds its groups."""


def scaler(cluster: str) -> Workload:
    """An autoscaler that looks for the groups of one cluster."""
    autoscaler = Autoscaler(
        "scaler", (AutoscalerCall("SetSize", on_group=True),), ({f"k8s.io/cluster-autoscaler/{cluster}": ""},)
    )
    return Workload("scaler", "kube-system", "Deployment", scales_nodes=True, autoscaler=autoscaler)


def program(*parts: Item) -> Stack:
    """A program that declares these."""
    return Stack.of(parts)
