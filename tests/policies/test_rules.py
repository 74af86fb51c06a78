"""Rules on programs that differ from a good one in one place.

A program is a list of what it declares: ``but(TRAINING, train=replace(TRAIN, gpus=8))`` is a good one with another
part, ``but(TRAINING, admin=None)`` one that lacks a part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from facts.concepts.autoscaler import Autoscaler, ScalingGroup
from facts.concepts.carbon import Carbon
from facts.concepts.declared import (
    Cluster,
    DisruptionBudget,
    GpuClaim,
    GpuQuota,
    GpuSharing,
    Item,
    NodeGroup,
    PodScaler,
    Stack,
    Violation,
    Workload,
)
from facts.concepts.kubernetes import Taint, Toleration
from facts.concepts.parts import Gpus, Nodes, Scaling, SharedGpu
from facts.concepts.unknown import UNKNOWN
from policies.rules.table import BY_ID

Program = Mapping[str, Item]


@dataclass(frozen=True)
class Case:
    """``answer`` is ``allowed``, ``not evaluated`` or words of the message; ``remedy`` has words of the remedy.

    ``resources`` are those of the violations, of which there is one otherwise; ``elsewhere`` are groups of another
    program.
    """

    rule: str
    program: Sequence[Item]
    answer: str
    remedy: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    elsewhere: Sequence[NodeGroup] = ()
    resources: Sequence[str] | None = None


def but(program: Program, **changes: Item | None) -> list[Item]:
    """The program's parts, with these in their places, or without those that are ``None``."""
    assert changes.keys() <= program.keys()
    return [part for part in {**program, **changes}.values() if part is not None]


CLAIM = GpuClaim("ResourceClaimTemplate 'gpu'", "gpu.nvidia.com")
GPU_TAINT = Taint("nvidia.com/gpu", "present", "NoSchedule")
SPOT_TAINT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
SIZE_TAINT = Taint("gpucluster.dev/gpus-per-node", "4", "NoSchedule")
TOLERATES_GPU = Toleration("nvidia.com/gpu", "Exists")
TOLERATES_SPOT = Toleration("cloud.google.com/gke-spot", "Exists")
TOLERATES_ALL = Toleration(None, "Exists")
HAS_GPUS = {"key": "cloud.google.com/gke-accelerator", "operator": "Exists"}
ON_GPU_NODES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [HAS_GPUS]}]}
    }
}
PLANNED_GPUS = {"k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu": "4"}

CLUSTER = Cluster(name="c", cloud="gke", region="us-central1", secrets_key="k", resource="urn:c")
OFFERS_CLASS = replace(CLUSTER, classes=(("class", "any"),))
OTHER_CLUSTER = Cluster(name="d", cloud="gke", region="us-central1", secrets_key="k", resource="urn:d")
ADMIN = NodeGroup(
    name="admin",
    cloud="gke",
    initial_nodes=1,
    cluster="c",
    nodes=Nodes(machine_types=(None,), zones=(), labels={"role": "admin"}, dearest_hourly_usd=0.1),
)
SMALL = NodeGroup(
    name="t4-1",
    cloud="gke",
    gpus=Gpus(per_node=1),
    scaling=Scaling(max_nodes=4),
    nodes=Nodes(
        machine_types=(None,),
        zones=(),
        labels={"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
        taints=(GPU_TAINT, SPOT_TAINT),
        dearest_hourly_usd=0.5,
    ),
    cluster="c",
)
LARGE = replace(
    SMALL,
    name="t4-4",
    gpus=replace(SMALL.gpus, per_node=4),
    nodes=replace(SMALL.nodes, taints=(GPU_TAINT, SPOT_TAINT, SIZE_TAINT), dearest_hourly_usd=2.0),
)
NAMESAKE = replace(SMALL, cluster="d")
TRAIN = Workload(
    name="train", namespace="ml", kind="Job", gpus=1, tolerations=(TOLERATES_GPU, TOLERATES_SPOT), resource="urn:train"
)
DRIVERS = Workload(
    name="drivers",
    namespace="kube-system",
    kind="DaemonSet",
    tolerations=(TOLERATES_ALL,),
    affinity=ON_GPU_NODES,
    resource="urn:drivers",
)
WEB = Workload(name="web", namespace="app", kind="Deployment", resource="urn:web")
TIME_SLICING = GpuSharing(what="ConfigMap 'plugin'", replicas=4)
RESEARCH_QUOTA = GpuQuota(namespace="research", gpus=2)
VISION_QUOTA = GpuQuota(namespace="vision", gpus=2)

# A group by itself, with all that its rules ask for.
GROUP = NodeGroup(
    name="t4-1",
    cloud="gke",
    gpus=Gpus(per_node=1),
    scaling=Scaling(max_nodes=4),
    nodes=Nodes(machine_types=("n1-standard-4",), zones=("us-central1-a",), labels={}, taints=(GPU_TAINT,)),
    region="us-central1",
    resource="urn:t4-1",
)
CPU_GROUP = NodeGroup(
    name="admin", cloud="gke", scaling=Scaling(autoscaled=False, min_nodes=1, max_nodes=None), initial_nodes=2
)

# A cluster whose autoscaler is a workload.
OWN_CLUSTER = Cluster(name="c", cloud="x", managed_autoscaler=False, resource="urn:c")
OWN_ADMIN = NodeGroup(
    name="admin",
    cloud="x",
    initial_nodes=1,
    cluster="c",
    nodes=Nodes(machine_types=(None,), zones=(), labels={}, dearest_hourly_usd=0.1),
)
SHOP = NodeGroup(
    name="web",
    cloud="x",
    scaling=Scaling(max_nodes=3),
    cluster="c",
    nodes=Nodes(machine_types=(None,), zones=(), labels={}, dearest_hourly_usd=0.3),
    private=None,
)
GPUS = NodeGroup(
    name="l4",
    cloud="x",
    gpus=Gpus(per_node=2),
    scaling=Scaling(max_nodes=4),
    cluster="c",
    nodes=Nodes(machine_types=(None,), zones=(), labels={}, taints=(GPU_TAINT,)),
    private=None,
)
SCALER = Workload(
    name="cluster-autoscaler", namespace="kube-system", kind="Deployment", scales_nodes=True, pod_labels={"app": "ca"}
)
BUDGET = DisruptionBudget(namespace="kube-system", match_labels={"app": "ca"}, allows_eviction=True)
PLUGIN = Workload(name="w", namespace="kube-system", kind="DaemonSet", device_plugin=True, tolerations=(TOLERATES_GPU,))
SPOT_GPUS = replace(GPUS, nodes=replace(GPUS.nodes, taints=(GPU_TAINT, Taint("spot", "true", "NoSchedule"))))

# Pods that hold two GPUs of $1.5 an hour each for ever.
L4 = NodeGroup(
    name="l4",
    cloud="cloud",
    gpus=Gpus(per_node=1),
    scaling=Scaling(max_nodes=4),
    nodes=Nodes(machine_types=(None,), zones=(), labels={}, taints=(GPU_TAINT,), dearest_hourly_usd=1.5),
)
TWO_NODES = replace(L4, gpus=Gpus(per_node=4), scaling=Scaling(min_nodes=2, max_nodes=8))
H100 = replace(L4, name="h100", nodes=replace(L4.nodes, dearest_hourly_usd=10.0))
JOB = Workload(name="train", namespace="research", kind="Job", gpus=1, tolerations=(TOLERATES_GPU,))
SERVICE = replace(JOB, kind="Deployment", name="serve", always=2)
POD_SCALER = PodScaler(kind="Deployment", namespace="research", name="serve", least=0)

STACK: Program = {
    "admin": ADMIN,
    "small": SMALL,
    "large": LARGE,
    "train": TRAIN,
    "drivers": DRIVERS,
    "web": WEB,
    "cluster": CLUSTER,
}
TRAINING: Program = {"admin": ADMIN, "small": SMALL, "large": LARGE, "train": TRAIN, "cluster": CLUSTER}
DAEMONS: Program = {"admin": ADMIN, "small": SMALL, "drivers": DRIVERS, "cluster": CLUSTER}
SERVING: Program = {"admin": ADMIN, "small": SMALL, "large": LARGE, "web": WEB, "cluster": CLUSTER}
OWN: Program = {
    "own_admin": OWN_ADMIN,
    "shop": SHOP,
    "gpus": GPUS,
    "scaler": SCALER,
    "own_cluster": OWN_CLUSTER,
    "budget": BUDGET,
}

CASES = {
    "system pods have a home": [
        Case(
            "gpu-not-only-pool",
            but(STACK, admin=None, large=None),
            "no node group without GPUs",
            remedy="CPU node group",
        ),
        Case(
            "system-pods-home",
            but(STACK, admin=None, large=None),
            "no untainted CPU node group",
            remedy="at least 1 node",
        ),
        Case(
            "system-pods-home",
            but(STACK, large=None, admin=replace(ADMIN, scaling=replace(ADMIN.scaling, autoscaled=True, min_nodes=0))),
            "no untainted CPU node group",
            remedy="at least 1 node",
        ),
        Case(
            "system-pods-home",
            but(
                STACK,
                large=None,
                admin=replace(ADMIN, nodes=replace(ADMIN.nodes, taints=(Taint("dedicated", "x", "NoSchedule"),))),
            ),
            "no untainted CPU node group",
            remedy="no NoSchedule",
        ),
        Case(
            "system-pods-home",
            but(STACK, large=None, admin=replace(ADMIN, nodes=replace(ADMIN.nodes, taints=UNKNOWN))),
            "not evaluated",
        ),
        # The cloud runs the nodes.
        Case("system-pods-home", [SMALL, replace(CLUSTER, managed_nodes=True)], "allowed"),
        # A cluster declared elsewhere is not judged by what this stack cannot see.
        Case("gpu-not-only-pool", [SMALL], "allowed"),
        Case("system-pods-home", [SMALL], "allowed"),
        # Each cluster needs one of its own.
        Case(
            "system-pods-home",
            [ADMIN, SMALL, NAMESAKE, CLUSTER, OTHER_CLUSTER],
            "no untainted CPU node group",
            resources=["urn:d"],
        ),
    ],
    "pods fit a group": [
        Case(
            "gpu-workload-placeable",
            but(TRAINING, train=replace(TRAIN, gpus=8)),
            "'t4-4' has 4 GPUs per node",
            remedy="Request at most the GPUs of one node",
        ),
        Case(
            "gpu-workload-placeable",
            but(TRAINING, train=replace(TRAIN, gpus=4)),
            "'t4-4' repels it with gpucluster.dev/gpus-per-node=4:NoSchedule",
            remedy="{key: gpucluster.dev/gpus-per-node, operator: Equal, value: '4', effect: NoSchedule}",
        ),
        Case(
            "gpu-workload-placeable",
            but(TRAINING, train=replace(TRAIN, tolerations=(TOLERATES_GPU,))),
            "gke-spot=true",
            remedy="gke-spot",
        ),
        Case(
            "gpu-workload-placeable",
            but(TRAINING, train=replace(TRAIN, node_selector={"gpu": "h100"})),
            "lacks the labels",
            remedy="Select labels",
        ),
        Case("gpu-workload-placeable", but(TRAINING, train=replace(TRAIN, tolerations=UNKNOWN)), "not evaluated"),
        Case("gpu-workload-placeable", but(TRAINING, train=replace(TRAIN, node_selector=UNKNOWN)), "not evaluated"),
        Case("gpu-workload-placeable", but(TRAINING, train=replace(TRAIN, affinity=UNKNOWN)), "not evaluated"),
        Case(
            "gpu-workload-placeable",
            but(STACK, admin=None, large=None, small=replace(SMALL, nodes=replace(SMALL.nodes, taints=UNKNOWN))),
            "not evaluated",
        ),
        Case(
            "gpu-workload-tolerates",
            but(TRAINING, train=replace(TRAIN, tolerations=(TOLERATES_SPOT,))),
            "only some clouds add it",
            remedy="nvidia.com/gpu",
        ),
        # A pod without tolerations fits the smallest size but lacks the toleration.
        Case(
            "gpu-workload-placeable",
            but(
                TRAINING,
                small=replace(SMALL, nodes=replace(SMALL.nodes, taints=(GPU_TAINT,))),
                train=replace(TRAIN, kind="Pod", tolerations=()),
            ),
            "allowed",
        ),
        Case(
            "gpu-workload-tolerates",
            but(
                TRAINING,
                small=replace(SMALL, nodes=replace(SMALL.nodes, taints=(GPU_TAINT,))),
                train=replace(TRAIN, kind="Pod", tolerations=()),
            ),
            "only some clouds add it",
        ),
    ],
    "daemon sets run on GPU nodes": [
        Case(
            "gpu-daemonset-tolerates",
            but(DAEMONS, drivers=replace(DRIVERS, tolerations=(TOLERATES_GPU,))),
            "does not tolerate its taint cloud.google.com/gke-spot=true",
            remedy="value: 'true'",
        ),
        Case(
            "gpu-daemonset-tolerates",
            but(DAEMONS, drivers=replace(DRIVERS, tolerations=(TOLERATES_GPU,), affinity=None, gpus=1)),
            "gke-spot",
            remedy="toleration",
        ),
        Case(
            "gpu-daemonset-tolerates",
            but(DAEMONS, drivers=replace(DRIVERS, tolerations=(), affinity=UNKNOWN)),
            "not evaluated",
        ),
        Case(
            "gpu-daemonset-tolerates",
            but(
                DAEMONS,
                cluster=None,
                small=replace(SMALL, nodes=replace(SMALL.nodes, taints=UNKNOWN)),
                drivers=replace(DRIVERS, tolerations=()),
            ),
            "not evaluated",
        ),
        # For all nodes: it may skip those with GPUs.
        Case(
            "gpu-daemonset-tolerates", but(DAEMONS, drivers=replace(DRIVERS, tolerations=(), affinity=None)), "allowed"
        ),
        # A device plugin is for GPU nodes whatever it selects.
        Case(
            "gpu-daemonset-tolerates",
            [OWN_ADMIN, SPOT_GPUS, PLUGIN, OWN_CLUSTER],
            "does not tolerate its taint spot=true:NoSchedule",
            resources=[""],
        ),
        Case(
            "gpu-daemonset-tolerates",
            [
                OWN_ADMIN,
                SPOT_GPUS,
                replace(PLUGIN, device_plugin=False),
                OWN_CLUSTER,
            ],
            "allowed",
        ),
        Case(
            "gpu-daemonset-tolerates",
            [
                OWN_ADMIN,
                SPOT_GPUS,
                replace(PLUGIN, tolerations=(TOLERATES_ALL,)),
                OWN_CLUSTER,
            ],
            "allowed",
        ),
    ],
    "GPU nodes are for GPUs": [
        Case(
            "no-blanket-toleration",
            but(SERVING, web=replace(WEB, tolerations=(TOLERATES_ALL,))),
            "tolerates all taints",
            remedy="Name",
        ),
        Case(
            "gpu-nodes-for-gpus",
            but(SERVING, web=replace(WEB, tolerations=(TOLERATES_GPU, TOLERATES_SPOT))),
            "tolerates all taints of",
            remedy="or request",
        ),
        Case(
            "gpu-nodes-for-gpus",
            but(SERVING, web=replace(WEB, affinity=ON_GPU_NODES)),
            "selects the labels of",
            remedy="node selector",
        ),
        Case("gpu-nodes-for-gpus", but(SERVING, web=replace(WEB, tolerations=UNKNOWN)), "not evaluated"),
        # Without GPU groups it is unknown whether there are GPU nodes.
        Case("gpu-nodes-for-gpus", [ADMIN, replace(WEB, tolerations=(TOLERATES_ALL,)), CLUSTER], "allowed"),
        Case("gpu-workload-placeable", [ADMIN, replace(WEB, tolerations=(TOLERATES_ALL,)), CLUSTER], "allowed"),
        Case("no-blanket-toleration", [ADMIN, replace(WEB, tolerations=(TOLERATES_ALL,)), CLUSTER], "not evaluated"),
    ],
    "nodes have a price": [
        Case("hourly-cost-ceiling", but(STACK), "allowed", limits={"maxHourlyUsd": 10.1}),
        Case(
            "hourly-cost-ceiling",
            but(STACK),
            "$10.10 an hour, over the limit of $10.00",
            remedy="raise maxHourlyUsd",
            limits={"maxHourlyUsd": 10},
        ),
        Case(
            "hourly-cost-ceiling",
            but(STACK, large=None, small=replace(SMALL, nodes=replace(SMALL.nodes, dearest_hourly_usd=UNKNOWN))),
            "not evaluated",
            limits={"maxHourlyUsd": 100},
        ),
        Case(
            "hourly-cost-ceiling",
            but(STACK, large=None, small=replace(SMALL, nodes=replace(SMALL.nodes, dearest_hourly_usd=None))),
            "cannot be checked: there is no price for 't4-1' (t4-1); the rest costs $0.10 an hour",
            remedy='"prices": {"t4-1": …}',
            limits={"maxHourlyUsd": 100},
        ),
        Case(
            "hourly-cost-ceiling",
            but(STACK, small=replace(SMALL, scaling=replace(SMALL.scaling, max_nodes=None))),
            "nothing limits the number of nodes of 't4-1'",
            remedy="Set a maximum",
            limits={"maxHourlyUsd": 100},
        ),
        Case(
            "hourly-cost-ceiling",
            but(STACK, small=replace(SMALL, nodes=replace(SMALL.nodes, price_at_most=True))),
            "costs at most $10.10 an hour",
            limits={"maxHourlyUsd": 10},
        ),
        # Groups of one name each cost their own.
        Case(
            "hourly-cost-ceiling",
            [ADMIN, SMALL, LARGE, NAMESAKE, CLUSTER, OTHER_CLUSTER],
            "$12.10 an hour",
            limits={"maxHourlyUsd": 12},
        ),
        Case(
            "hourly-cost-ceiling",
            [ADMIN, SMALL, LARGE, replace(NAMESAKE, nodes=replace(NAMESAKE.nodes, dearest_hourly_usd=None)), CLUSTER],
            "cannot be checked: there is no price",
            limits={"maxHourlyUsd": 100},
        ),
    ],
    "the number of pods is an output": [
        Case(rule, but(STACK, train=replace(TRAIN, kind="Deployment", always=always)), answer, limits=limits)
        for rule, limits in (("idle-cost-ceiling", {"maxIdleUsd": 50}), ("gpu-held-for-ever", {}))
        for always, answer in ((UNKNOWN, "not evaluated"), (0, "allowed"))
    ],
    "pods may select nodes that a cloud makes for them, which nothing limits": [
        Case("hourly-cost-ceiling", [ADMIN, OFFERS_CLASS, replace(WEB, node_selector=selector)], answer, limits=limits)
        for limits in ({"maxHourlyUsd": 5},)
        for selector, answer in (
            ({"class": "any"}, "nothing limits the number of nodes"),
            ({"class": UNKNOWN}, "not evaluated"),
            (UNKNOWN, "not evaluated"),
            ({"class": "ours", "pool": UNKNOWN}, "allowed"),
        )
    ],
    "a region is clean by its purchases or by its grid": [
        Case("low-carbon-region", [replace(CLUSTER, carbon=None)], "allowed"),
        Case("low-carbon-region", [replace(CLUSTER, carbon=Carbon(88, 432, 2025, "s"))], "allowed"),
        Case("low-carbon-region", [replace(CLUSTER, carbon=Carbon(66, 150, 2025, "s"))], "allowed"),
        Case("low-carbon-region", [replace(CLUSTER, carbon=Carbon(15, 428, 2025, "s"))], "428 gCO2eq"),
    ],
    "an autoscaler that knows a pool's devices knows whole ones, not what selectors ask of them": [
        Case("gpu-claims-scale", [SMALL, CLAIM], "no empty pool grows for that"),
        Case("gpu-claims-scale", [replace(SMALL, plans_claims=True), CLAIM], "allowed"),
        Case("gpu-claims-scale", [replace(SMALL, plans_claims=UNKNOWN), CLAIM], "not evaluated"),
        Case("gpu-claims-scale", [replace(SMALL, plans_claims=True), replace(CLAIM, selective=True)], "not evaluated"),
        Case("gpu-claims-scale", [SMALL, replace(CLAIM, selective=True)], "no empty pool grows for that"),
        Case(
            "gpu-claims-scale",
            [replace(SMALL, plans_claims=True), replace(CLAIM, device_class="mig.nvidia.com")],
            "no empty pool grows for that",
        ),
    ],
    "sharing is judged for each group of one name": [
        Case(
            "gpu-sharing-visible",
            [replace(SMALL, scaling_group=ScalingGroup("t4-1", PLANNED_GPUS)), TIME_SLICING],
            "allowed",
        ),
        Case(
            "gpu-sharing-visible",
            [
                replace(NAMESAKE, scaling_group=ScalingGroup("t4-1")),
                replace(SMALL, scaling_group=ScalingGroup("t4-1", PLANNED_GPUS)),
                TIME_SLICING,
            ],
            "the autoscaler of 't4-1' does not know",
        ),
    ],
    "quotas promise no more than the groups have": [
        # Four nodes with one GPU: the edge is at four promised.
        Case("gpu-quotas-kept", [ADMIN, SMALL, RESEARCH_QUOTA, VISION_QUOTA], "allowed"),
        Case("gpu-quotas-kept", [ADMIN, SMALL, RESEARCH_QUOTA, replace(VISION_QUOTA, gpus=3)], "grant 5 GPUs"),
        Case(
            "gpu-quotas-kept",
            [ADMIN, SMALL, RESEARCH_QUOTA, replace(VISION_QUOTA, gpus=3)],
            "allowed",
            limits={"mostPromised": 1.25},
        ),
        Case(
            "gpu-quotas-kept",
            [ADMIN, SMALL, RESEARCH_QUOTA, replace(VISION_QUOTA, gpus=3)],
            "allowed",
            limits={"mostPromised": None},
        ),
        Case("gpu-quotas-kept", [SMALL, replace(RESEARCH_QUOTA, gpus=UNKNOWN)], "not evaluated"),
        Case(
            "gpu-quotas-kept",
            [replace(SMALL, scaling=replace(SMALL.scaling, max_nodes=UNKNOWN)), replace(VISION_QUOTA, gpus=9)],
            "not evaluated",
        ),
        # Too much already.
        Case(
            "gpu-quotas-kept",
            [SMALL, replace(RESEARCH_QUOTA, gpus=UNKNOWN), replace(VISION_QUOTA, gpus=5)],
            "grant 5 GPUs",
        ),
        # They do not count shares of a GPU, and a program's pools may be elsewhere.
        Case("gpu-quotas-kept", [ADMIN, replace(RESEARCH_QUOTA, gpus=9)], "allowed"),
        Case("gpu-quotas-kept", [SMALL, TIME_SLICING, replace(RESEARCH_QUOTA, gpus=9)], "allowed"),
        Case("gpu-quotas-kept", [ADMIN, replace(RESEARCH_QUOTA, gpus=9)], "grant 9 GPUs", elsewhere=[SMALL]),
    ],
    "one wrong field of a group": [
        Case(
            "gpu-zero-minimum",
            [replace(GROUP, scaling=replace(GROUP.scaling, min_nodes=1))],
            "'t4-1' keeps at least 1 node",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-starts-empty", [replace(GROUP, initial_nodes=3)], "'t4-1' starts with 3 node", resources=["urn:t4-1"]
        ),
        Case(
            "gpu-autoscaled",
            [replace(GROUP, scaling=replace(GROUP.scaling, autoscaled=False))],
            "fixed size",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-autoscaled",
            [replace(GROUP, scaling=replace(GROUP.scaling, autoscaled=False), kind="machine", initial_nodes=1)],
            "in no autoscaled group",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-ceiling",
            [replace(GROUP, scaling=replace(GROUP.scaling, max_nodes=None))],
            "has no maximum",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-ceiling",
            [replace(GROUP, scaling=replace(GROUP.scaling, max_nodes=0))],
            "never have a node",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-ceiling",
            [replace(GROUP, gpus=replace(GROUP.gpus, per_node=2))],
            "may grow to 8 GPUs (4 x 2)",
            limits={"maxGpus": 7},
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-taint",
            [replace(GROUP, nodes=replace(GROUP.nodes, taints=()))],
            "its taints: none",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-taint",
            [replace(GROUP, nodes=replace(GROUP.nodes, taints=(Taint("spot", "true", "NoSchedule"),)))],
            "spot:NoSchedule",
            resources=["urn:t4-1"],
        ),
        Case(
            "gpu-taint",
            [
                replace(
                    GROUP, nodes=replace(GROUP.nodes, taints=(Taint("nvidia.com/gpu", "present", "PreferNoSchedule"),))
                )
            ],
            "lacks the GPU taint",
            resources=["urn:t4-1"],
        ),
        Case("private-nodes", [replace(GROUP, private=False)], "public addresses", resources=["urn:t4-1"]),
        Case(
            "disk-encryption", [replace(GROUP, disk_encrypted=False)], "has unencrypted disks", resources=["urn:t4-1"]
        ),
        Case("disk-encryption", [GROUP], "with the cloud's key", limits={"customerKey": True}, resources=["urn:t4-1"]),
        Case(
            "allowed-regions",
            [GROUP],
            "region 'us-central1'",
            limits={"regions": ["europe-north1"]},
            resources=["urn:t4-1"],
        ),
    ],
    "an unknown field of a group": [
        # For the value that a rule is about, the same is in test_corpus.py.
        Case(
            "gpu-ceiling",
            [replace(GROUP, gpus=replace(GROUP.gpus, per_node=UNKNOWN))],
            "not evaluated",
            limits={"maxGpus": 4},
        ),
        Case("private-nodes", [replace(GROUP, private=UNKNOWN)], "not evaluated"),
        Case("disk-encryption", [replace(GROUP, disk_encrypted=UNKNOWN)], "not evaluated"),
        # While the number of GPUs is unknown, each rule on groups with GPUs waits.
        Case(
            "gpu-zero-minimum",
            [replace(GROUP, gpus=replace(GROUP.gpus, per_node=UNKNOWN), scaling=replace(GROUP.scaling, min_nodes=1))],
            "not evaluated",
        ),
        Case(
            "gpu-starts-empty",
            [replace(GROUP, gpus=replace(GROUP.gpus, per_node=UNKNOWN), initial_nodes=3)],
            "not evaluated",
        ),
        Case(
            "gpu-autoscaled",
            [
                replace(
                    GROUP, gpus=replace(GROUP.gpus, per_node=UNKNOWN), scaling=replace(GROUP.scaling, autoscaled=False)
                )
            ],
            "not evaluated",
        ),
        Case(
            "gpu-ceiling",
            [
                replace(
                    GROUP, gpus=replace(GROUP.gpus, per_node=UNKNOWN), scaling=replace(GROUP.scaling, max_nodes=None)
                )
            ],
            "not evaluated",
        ),
    ],
    "a group without GPUs": [
        Case("gpu-zero-minimum", [CPU_GROUP], "allowed"),
        Case("gpu-starts-empty", [CPU_GROUP], "allowed"),
        Case("gpu-autoscaled", [CPU_GROUP], "allowed"),
        Case("gpu-ceiling", [CPU_GROUP], "allowed"),
        Case("gpu-taint", [CPU_GROUP], "allowed"),
    ],
    "the GPU taint": [
        # Any value and each effect that repels will do.
        Case(
            "gpu-taint",
            [replace(GROUP, nodes=replace(GROUP.nodes, taints=(Taint("nvidia.com/gpu", "true", "NoExecute"),)))],
            "allowed",
        ),
        Case("gpu-taint", [replace(GPUS, kind="auto-provisioned")], "allowed"),
        Case(
            "gpu-taint",
            [replace(GPUS, kind="auto-provisioned", nodes=replace(GPUS.nodes, taints=()))],
            "lacks the GPU taint",
        ),
    ],
    "the stack has a ceiling": [
        Case("gpu-stack-ceiling", but(OWN), "allowed"),
        Case("gpu-stack-ceiling", but(OWN), "allowed", limits={"maxGpus": 8}),
        Case(
            "gpu-stack-ceiling",
            but(OWN, gpus=replace(GPUS, scaling=replace(GPUS.scaling, max_nodes=5))),
            "has 10 GPUs, over the limit of 8; highest: l4 10",
            limits={"maxGpus": 8},
        ),
        Case(
            "gpu-stack-ceiling",
            but(
                OWN,
                gpus=replace(GPUS, kind="machine", scaling=replace(GPUS.scaling, autoscaled=False), initial_nodes=5),
            ),
            "has 10 GPUs",
            limits={"maxGpus": 8},
        ),
        Case(
            "gpu-stack-ceiling",
            [*but(OWN), RESEARCH_QUOTA, replace(OTHER_CLUSTER, managed_nodes=True)],
            "over the limit of 8; highest: l4 8, quota of research 2. The quotas of all clusters count",
            remedy="declare the cluster whose cloud makes the nodes in a program of its own",
            limits={"maxGpus": 8},
        ),
        Case("gpu-stack-ceiling", [*but(OWN), RESEARCH_QUOTA, OTHER_CLUSTER], "allowed", limits={"maxGpus": 8}),
        Case(
            "gpu-stack-ceiling",
            but(OWN, gpus=replace(GPUS, scaling=replace(GPUS.scaling, max_nodes=None))),
            "not evaluated",
            limits={"maxGpus": 8},
        ),
        Case(
            "gpu-stack-ceiling",
            but(OWN, gpus=replace(GPUS, gpus=replace(GPUS.gpus, per_node=UNKNOWN))),
            "not evaluated",
            limits={"maxGpus": 8},
        ),
        Case(
            "gpu-stack-ceiling",
            [replace(CLUSTER, managed_nodes=True), TRAIN],
            "not evaluated",
            "ResourceQuota",
            limits={"maxGpus": 8},
        ),
    ],
    "GPU nodes are private": [
        Case("gpu-nodes-private", but(OWN, gpus=replace(GPUS, private=False)), "'l4' gives its nodes public addresses"),
        Case(
            "gpu-nodes-private",
            but(OWN, own_cluster=replace(OWN_CLUSTER, private_nodes=False)),
            "'l4' gives its nodes public addresses",
        ),
        Case("gpu-nodes-private", but(OWN, gpus=replace(GPUS, private=UNKNOWN)), "not evaluated"),
        Case(
            "gpu-nodes-private",
            but(OWN, gpus=replace(GPUS, private=False, gpus=replace(GPUS.gpus, per_node=UNKNOWN))),
            "not evaluated",
        ),
        Case("gpu-nodes-private", but(OWN, own_admin=replace(OWN_ADMIN, private=False)), "allowed"),
        Case(
            "gpu-nodes-private",
            but(OWN, gpus=replace(GPUS, private=True), own_cluster=replace(OWN_CLUSTER, private_nodes=False)),
            "allowed",
        ),
    ],
    "system pods let their node go": [
        Case("system-pods-evictable", but(OWN, budget=None), "the autoscaler cannot remove its node"),
        Case(
            "system-pods-evictable", but(OWN, budget=replace(BUDGET, allows_eviction=False)), "cannot remove its node"
        ),
        Case("system-pods-evictable", but(OWN, budget=replace(BUDGET, namespace="x")), "cannot remove its node"),
        Case(
            "system-pods-evictable",
            but(OWN, scaler=replace(SCALER, pod_labels={"app": "other"})),
            "cannot remove its node",
        ),
        Case("system-pods-evictable", but(OWN, budget=replace(BUDGET, match_labels=UNKNOWN)), "not evaluated"),
        Case(
            "system-pods-evictable",
            but(OWN, budget=None, scaler=replace(SCALER, safe_to_evict=UNKNOWN)),
            "not evaluated",
        ),
        Case("system-pods-evictable", but(OWN, budget=None, scaler=replace(SCALER, safe_to_evict=True)), "allowed"),
        Case("system-pods-evictable", but(OWN, budget=None, scaler=replace(SCALER, kind="DaemonSet")), "allowed"),
        Case("system-pods-evictable", but(OWN, budget=None, scaler=replace(SCALER, namespace="app")), "allowed"),
        Case("system-pods-evictable", but(OWN, budget=None, shop=None), "allowed"),
    ],
    "there is an autoscaler and it finds each group": [
        Case(
            "autoscaler-present",
            but(OWN, scaler=replace(SCALER, scales_nodes=False)),
            "has GPU node groups and no autoscaler",
        ),
        Case("autoscaler-present", but(OWN, scaler=None), "allowed"),
        Case(
            "autoscaler-present",
            but(
                OWN,
                own_cluster=replace(OWN_CLUSTER, managed_autoscaler=True),
                scaler=replace(SCALER, scales_nodes=False),
            ),
            "allowed",
        ),
        Case(
            "autoscaler-sees-group",
            but(
                OWN,
                gpus=replace(GPUS, scaling_group=ScalingGroup("l4-.*", {"team": "ml"})),
                scaler=replace(SCALER, autoscaler=Autoscaler(service_account="ca", discovery=({"other": ""},))),
            ),
            "'l4' does not match what the autoscaler discovers groups by",
        ),
        Case(
            "autoscaler-sees-group",
            but(
                OWN,
                gpus=replace(GPUS, scaling_group=ScalingGroup("l4-.*", {"team": "ml"})),
                scaler=replace(SCALER, autoscaler=Autoscaler(service_account="ca", discovery=({"team": ""},))),
            ),
            "allowed",
        ),
        Case(
            "autoscaler-sees-group",
            but(
                OWN,
                gpus=replace(GPUS, scaling_group=ScalingGroup("l4-.*", {"team": "ml"}, True)),
                scaler=replace(SCALER, autoscaler=Autoscaler(service_account="ca", discovery=({"other": ""},))),
            ),
            "not evaluated",
        ),
        Case("autoscaler-sees-group", but(OWN, gpus=replace(GPUS, discoverable=UNKNOWN)), "not evaluated"),
        Case("autoscaler-sees-group", but(OWN, gpus=replace(GPUS, discoverable=False)), "not evaluated"),
    ],
    "what is up while nobody uses it": [
        Case("idle-cost-ceiling", but(OWN), "allowed"),
        Case("idle-cost-ceiling", but(OWN), "allowed", limits={"maxIdleUsd": 0.1}),
        Case(
            "idle-cost-ceiling",
            but(OWN, shop=replace(SHOP, scaling=replace(SHOP.scaling, min_nodes=1))),
            "costs $0.40 an hour, over the limit of $0.10; highest: web $0.30, admin $0.10",
            limits={"maxIdleUsd": 0.1},
        ),
        Case(
            "idle-cost-ceiling",
            but(OWN, own_admin=replace(OWN_ADMIN, nodes=replace(OWN_ADMIN.nodes, dearest_hourly_usd=0.2))),
            "costs $0.20 an hour",
            limits={"maxIdleUsd": 0.1},
        ),
        Case(
            "idle-cost-ceiling",
            but(OWN, own_admin=replace(OWN_ADMIN, nodes=replace(OWN_ADMIN.nodes, dearest_hourly_usd=None))),
            "idle cost cannot be checked: there is no price",
            limits={"maxIdleUsd": 0.1},
        ),
        # GPUs that pods hold count at their price.
        Case("idle-cost-ceiling", [L4, SERVICE], "allowed", limits={"maxIdleUsd": 3}),
        Case(
            "idle-cost-ceiling",
            [L4, SERVICE],
            "costs $3.00 an hour, over the limit of $2.99; highest: Deployment research/serve $3.00",
            limits={"maxIdleUsd": 2.99},
        ),
        Case(
            "gpu-held-for-ever",
            [replace(L4, gpus=Gpus(per_node=1, time_sharing=SharedGpu(clients_per_gpu=4))), replace(SERVICE, always=3)],
            "always holds 3 shares of 1 GPU, at least $1.12 an hour",
        ),
        # Pods on different nodes have those that are always up, and the GPUs beside them are others'.
        *(
            Case("idle-cost-ceiling", [TWO_NODES, *pods], answer, limits={"maxIdleUsd": 3})
            for pods, answer in (
                ([replace(SERVICE, apart=True)], "allowed"),
                ([replace(SERVICE, apart=True), replace(SERVICE, name="more", always=6)], "allowed"),
                ([replace(SERVICE, always=3)], "allowed"),
                ([replace(SERVICE, apart=True, always=3)], "costs $4.50 an hour"),
            )
        ),
        # What holds none for certain.
        Case("idle-cost-ceiling", [L4, JOB], "allowed", limits={"maxIdleUsd": 0}),
        Case("idle-cost-ceiling", [L4, replace(SERVICE, gpus=0)], "allowed", limits={"maxIdleUsd": 0}),
        Case("idle-cost-ceiling", [L4, replace(SERVICE, always=0)], "allowed", limits={"maxIdleUsd": 0}),
        Case("idle-cost-ceiling", [L4, replace(SERVICE, kind="DaemonSet")], "allowed", limits={"maxIdleUsd": 0}),
        # The cloud adds the toleration of the resource that the pods request, and no other.
        Case("idle-cost-ceiling", [L4, replace(SERVICE, tolerations=())], "costs $3.00", limits={"maxIdleUsd": 0}),
        Case(
            "idle-cost-ceiling",
            [replace(L4, nodes=replace(L4.nodes, taints=(GPU_TAINT, SPOT_TAINT))), replace(SERVICE, tolerations=())],
            "allowed",
            limits={"maxIdleUsd": 0},
        ),
        Case("idle-cost-ceiling", [L4, replace(SERVICE, gpus=8)], "allowed", limits={"maxIdleUsd": 0}),
        Case("idle-cost-ceiling", [L4, replace(SERVICE, always=UNKNOWN)], "not evaluated", limits={"maxIdleUsd": 0}),
        # A scaler says how many pods stay.
        Case("idle-cost-ceiling", [L4, SERVICE, POD_SCALER], "allowed", limits={"maxIdleUsd": 0}),
        # GPUs of nodes that are always up count once.
        Case(
            "idle-cost-ceiling",
            [replace(L4, scaling=replace(L4.scaling, min_nodes=1)), SERVICE],
            "allowed",
            limits={"maxIdleUsd": 3},
        ),
        Case(
            "idle-cost-ceiling",
            [replace(L4, scaling=replace(L4.scaling, min_nodes=1)), replace(SERVICE, always=3)],
            "costs $4.50 an hour",
            limits={"maxIdleUsd": 3},
        ),
        # A dearer group does not count where a cheaper one takes the pods.
        Case("idle-cost-ceiling", [L4, H100, SERVICE], "allowed", limits={"maxIdleUsd": 3}),
        Case(
            "idle-cost-ceiling",
            [replace(L4, nodes=replace(L4.nodes, dearest_hourly_usd=None)), SERVICE],
            "cannot be checked: there is no price for 'Deployment",
            limits={"maxIdleUsd": 0},
        ),
    ],
}


def violations(case: Case) -> list[Violation]:
    """What the rule reports of the program, or of each part that it is about."""
    rule = BY_ID[case.rule]
    limits = {**rule.limits(), **case.limits}
    stack = replace(Stack.of(case.program), elsewhere=tuple(case.elsewhere))
    subjects = [stack] if rule.scope == "stack" else [part for part in case.program if isinstance(part, rule.subjects)]
    return [violation for subject in subjects for violation in rule.check(subject, limits)]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=f"{sentence.replace(' ', '_')}-{number}")
        for sentence, cases in CASES.items()
        for number, case in enumerate(cases)
    ],
)
def test_it_answers(case: Case) -> None:
    reported = violations(case)
    if case.answer == "allowed":
        assert reported == []
        return
    unknown = case.answer == "not evaluated"
    assert [violation.not_evaluated for violation in reported] == [unknown] * len(case.resources or "1")
    if case.resources is not None:
        assert [violation.resource for violation in reported] == case.resources
    assert unknown or case.answer in reported[0].message
    assert case.remedy in reported[0].remedy != ""
