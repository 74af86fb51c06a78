"""GKE: node pools, inline pools and auto-provisioning, compute classes, and machines outside of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Draft, Program, Resource, draft, resource

CLUSTER: Final = "gcp:container/cluster:Cluster"
POOL: Final = "gcp:container/nodePool:NodePool"

TAINT: Final = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
T4: Final = [{"type": "nvidia-tesla-t4", "count": 1}]
REGION: Final = "us-central1"
ZONE: Final = "us-central1-a"


def cluster(name: str = "ml", location: str = ZONE, **changes: Any) -> Resource:
    """A cluster whose pools are resources of their own."""
    return CLUSTER, name, {"name": name, "location": location, "removeDefaultNodePool": True, **changes}


def admin(name: str = "ml", location: str = ZONE) -> Resource:
    """The pool that is always on."""
    properties = {"name": "admin", "cluster": name, "location": location, "nodeCount": 1}
    return POOL, f"admin-{name}", {**properties, "nodeConfig": {"machineType": "e2-standard-2"}}


def pool(name: str = "t4", config: Mapping[str, Any] | None = None, **changes: Any) -> Resource:
    """A T4 pool as it should be, with changes; a change to ``None`` leaves the property out."""
    node = {"machineType": "n1-standard-4", "guestAccelerators": T4, "taints": [TAINT], **(config or {})}
    properties = {
        "name": name,
        "cluster": "ml",
        "location": ZONE,
        "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 4},
        "initialNodeCount": 0,
        "nodeConfig": {key: value for key, value in node.items() if value is not None},
        **changes,
    }
    return POOL, name, {key: value for key, value in properties.items() if value is not None}


def inline(**changes: Any) -> dict[str, Any]:
    """A T4 pool inside of a cluster."""
    inner = dict(pool(**changes)[2])
    return {key: inner[key] for key in inner if key not in ("cluster", "location")}


def workload(token: str, pod: Mapping[str, Any], **metadata: Any) -> Resource:
    """A pod, or anything with a pod template."""
    spec = pod if token.endswith(":Pod") else {"template": {"spec": pod}}
    return token, "work", {"metadata": {"name": "work", "namespace": "ml", **metadata}, "spec": spec}


def with_cluster(resources: Program) -> Program:
    """The resources with a cluster and an admin pool, unless they bring a cluster."""
    return resources if any(token == CLUSTER for token, _, _ in resources) else (cluster(), admin(), *resources)


def blocked(id: str, rule: str, story: str) -> Draft:
    """A case with a cluster and an admin pool unless it brings a cluster."""
    return draft(f"gke-{id}", story, rule=rule, around=with_cluster)


def allowed(id: str, story: str) -> Draft:
    """Likewise, for what must pass."""
    return draft(f"gke-{id}", story, around=with_cluster)


def _scaling(**bounds: Any) -> dict[str, Any]:
    return {"autoscaling": bounds}


BLOCKED: Final = [
    blocked("minimum-one", "gpu-zero-minimum", "one node kept warm").of(
        pool(**_scaling(minNodeCount=1, maxNodeCount=4))
    ),
    blocked("minimum-as-text", "gpu-zero-minimum", "text from configuration").of(
        pool(**_scaling(minNodeCount="1", maxNodeCount="4"))
    ),
    blocked("total-minimum", "gpu-zero-minimum", "zero per zone, one in all").of(
        pool(**_scaling(minNodeCount=0, maxNodeCount=2, totalMinNodeCount=1, totalMaxNodeCount=4))
    ),
    blocked("initial-count", "gpu-starts-empty", "a first node to try things").of(pool(initialNodeCount=1)),
    blocked("fixed-size", "gpu-autoscaled", "no autoscaling block at all").of(pool(autoscaling=None)),
    blocked("no-taint", "gpu-taint", "GKE adds the taint only in some clusters").of(pool(config={"taints": None})),
    blocked("default-pool", "gpu-autoscaled", "GPUs in the default pool").of(
        cluster(removeDefaultNodePool=False, initialNodeCount=1, nodeConfig={"guestAccelerators": T4})
    ),
    blocked("only-gpus", "gpu-not-only-pool", "a cluster with nothing else").of(cluster(), pool()),
    blocked("second-region", "gpu-zero-minimum", "a copy in another region, by an explicit provider, keeps a node").of(
        cluster(),
        admin(),
        pool(),
        cluster("eu", "europe-west4"),
        admin("eu", "europe-west4"),
        pool("l4", cluster="eu", location="europe-west4", **_scaling(minNodeCount=1, maxNodeCount=2)),
    ),
    blocked("second-cluster-without-home", "system-pods-home", "the admin pool is in the other cluster").of(
        cluster(), admin(), cluster("eu", "europe-west4"), pool("l4", cluster="eu", location="europe-west4")
    ),
    blocked("wrong-accelerator", "gpu-workload-placeable", "an L4 asked of a cluster with T4s").of(
        pool(),
        workload(
            "kubernetes:core/v1:Pod",
            {
                "containers": [{"image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}],
                "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"},
            },
        ),
    ),
    blocked(
        "time-slicing-by-operator",
        "gpu-sharing-visible",
        "the operator's own time slicing, where GKE's would be visible",
    ).of(
        pool(),
        resource(
            "kubernetes:helm.sh/v3:Release",
            "operator",
            chart="gpu-operator",
            values={
                "devicePlugin": {
                    "config": {
                        "create": True,
                        "data": {"any": "sharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 8}]}}"},
                    }
                }
            },
        ),
    ),
]

ALLOWED: Final = [
    allowed("gpu-pool", "a GPU pool as it should be").of(pool()),
    allowed("per-zone-bounds", "zero per zone").of(pool(location=REGION, **_scaling(minNodeCount=0, maxNodeCount=1))),
    allowed("bounds-as-text", "bounds from configuration").of(
        pool(initialNodeCount="0", **_scaling(minNodeCount="0", maxNodeCount="3"))
    ),
    allowed("bounds-unknown", "bounds that another resource computes").of(
        pool(**_scaling(minNodeCount=UNKNOWN, maxNodeCount=3))
    ),
    allowed("evicting-taint", "NoExecute repels as well").of(
        pool(config={"taints": [{**TAINT, "effect": "NO_EXECUTE"}]})
    ),
    allowed("taint-twice", "the taint once with each effect").of(
        pool(config={"taints": [TAINT, {**TAINT, "effect": "NO_EXECUTE"}]})
    ),
    allowed("cpu-pool-called-gpu", "a pool that prepares data for GPUs").of(
        (
            POOL,
            "gpu-prep",
            {
                **pool()[2],
                "name": "gpu-prep",
                "nodeConfig": {"machineType": "n2-standard-8"},
                **_scaling(minNodeCount=1, maxNodeCount=3),
            },
        )
    ),
    allowed("tpu-pool", "a TPU slice of fixed size").of(
        resource(
            POOL,
            "tpu",
            name="tpu",
            cluster="ml",
            location=ZONE,
            nodeCount=4,
            nodeConfig={"machineType": "ct5lp-hightpu-4t"},
        )
    ),
    allowed("windows-pool", "Windows nodes").of(
        resource(
            POOL,
            "win",
            name="win",
            cluster="ml",
            location=ZONE,
            nodeCount=2,
            nodeConfig={"machineType": "n2-standard-4", "imageType": "WINDOWS_LTSC_CONTAINERD"},
        )
    ),
    allowed("auto-provisioning", "GPUs on demand, none kept").of(
        cluster(
            clusterAutoscaling={
                "enabled": True,
                "resourceLimits": [
                    {"resourceType": "cpu", "minimum": 4, "maximum": 64},
                    {"resourceType": "nvidia-l4", "minimum": 0, "maximum": 4},
                ],
            }
        ),
        admin(),
    ),
    allowed("compute-class", "L4 first, T4 else, both made on demand").of(
        resource(
            "kubernetes:cloud.google.com/v1:ComputeClass",
            "inference",
            metadata={"name": "inference"},
            spec={
                "nodePoolAutoCreation": {"enabled": True},
                "priorities": [
                    {"gpu": {"type": "nvidia-l4", "count": 1}, "spot": True},
                    {"gpu": {"type": "nvidia-tesla-t4", "count": 1}},
                ],
            },
        )
    ),
    allowed("compute-class-on-autopilot", "a class for some, while other jobs leave the choice to Autopilot").of(
        cluster(enableAutopilot=True),
        resource(
            "kubernetes:cloud.google.com/v1:ComputeClass",
            "spot",
            metadata={"name": "spot"},
            spec={
                "nodePoolAutoCreation": {"enabled": True},
                "priorities": [{"gpu": {"type": "nvidia-l4", "count": 1}, "spot": True}],
            },
        ),
        workload(
            "kubernetes:batch/v1:Job",
            {
                "containers": [{"image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}}],
                "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-h100-80gb"},
            },
        ),
        workload("kubernetes:core/v1:Pod", {"containers": [{"image": "web"}]}),
    ),
    allowed("time-sharing-on-the-pool", "time sharing declared where the autoscaler sees it").of(
        pool(
            config={
                "guestAccelerators": [
                    {**T4[0], "gpuSharingConfig": {"gpuSharingStrategy": "TIME_SHARING", "maxSharedClientsPerGpu": 4}}
                ]
            }
        )
    ),
    allowed("two-regions", "a cluster in each of two regions").of(
        cluster(),
        admin(),
        pool(),
        cluster("eu", "europe-west4"),
        admin("eu", "europe-west4"),
        pool("l4", cluster="eu", location="europe-west4"),
    ),
    allowed("gpu-job", "a job that fits, by label and by taint").of(
        pool(),
        workload(
            "kubernetes:batch/v1:Job",
            {
                "containers": [{"image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}],
                "nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-tesla-t4"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
            },
        ),
    ),
]
