"""GPUs by side doors: objects in a chart's values, claims, patches of nodes, components, groups that never scale in.

Each row: an id, the rule, what is refused, and its neighbour that passes.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

from tests.policies.corpus import aws, ec2
from tests.policies.corpus.case import Case, Program, Resource, resource, undecided
from tests.policies.corpus.elsewhere import custom
from tests.policies.corpus.helm import release
from tests.policies.corpus.karpenter import cpu_pool, node_pool
from tests.policies.corpus.kubernetes import (
    BLANKET,
    EVERYTHING,
    PLACEABLE,
    RESERVED,
    TOLERATION,
    allowed,
    blocked,
    on_t4,
    pod,
    template,
)

MIG: Final = "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager"
SCALE_DOWN: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
PINNED: Final = node_pool(limits={"cpu": "100"}, taints=())
CPU_POOL: Final = cpu_pool(name="cpu")


def manifest(declared: Resource) -> dict[str, Any]:
    """A resource of Kubernetes as the object that a chart's values hold."""
    token, _, properties = declared
    version, kind = token.split(":")[1:]
    return {"apiVersion": version.removeprefix("core/"), "kind": kind, **properties}


def extra(declared: Resource) -> Resource:
    return release("bitnami/postgresql", {"extraObjects": [manifest(declared)]})


def text_group(declared: Resource) -> Resource:
    return resource("kubernetes:yaml/v2:ConfigGroup", yaml=json.dumps(manifest(declared)))


def web(**pod_spec: Any) -> Resource:
    return template("apps/v1:Deployment", pod(None, **pod_spec))


def claim(count: Any, kind: str = "batch/v1:Job", device: str = "gpu.nvidia.com") -> Program:
    request = {"name": "gpus", "exactly": {"deviceClassName": device, "count": count}}
    spec = {"spec": {"devices": {"requests": [request]}}}
    claims = resource("kubernetes:resource.k8s.io/v1:ResourceClaimTemplate", "c", metadata={"name": "gpus"}, spec=spec)
    return claims, template(kind, pod(None, resourceClaims=[{"name": "g", "resourceClaimTemplateName": "gpus"}]))


def spark(**executor: Any) -> Resource:
    return custom("kubernetes:sparkoperator.k8s.io/v1beta2:SparkApplication", executor={"instances": 2, **executor})


def notebook(**annotations: str) -> Resource:
    spec = {"template": {"spec": pod(1)}}
    metadata = {"name": "n", "annotations": annotations}
    return resource("kubernetes:kubeflow.org/v1:Notebook", "n", metadata=metadata, spec=spec)


def flexible(*types: str) -> Resource:
    return resource(
        MIG,
        targetSize=2,
        instanceFlexibilityPolicy={"instanceSelections": [{"name": "a", "machineTypes": list(types)}]},
    )


def node(name: str, value: str = "true") -> Resource:
    return resource("kubernetes:core/v1:NodePatch", metadata={"name": name, "annotations": {SCALE_DOWN: value}})


def secret(kind: str) -> Resource:
    metadata = {"name": "ci", "annotations": {"kubernetes.io/service-account.name": "ci"}}
    return resource("kubernetes:core/v1:Secret", metadata=metadata, type=kind)


def pinned(name: str) -> Resource:
    return template("apps/v1:Deployment", {"containers": [{"name": "a", "image": "i"}], "nodeName": name})


def bare(**spec: Any) -> Resource:
    return resource("kubernetes:core/v1:Pod", metadata={"name": "p"}, spec={**pod(1), **spec})


def component(**inputs: Any) -> Resource:
    return resource("eks:index:Cluster", minSize=2, maxSize=3, **inputs)


ROWS: Final[list[tuple[str, str, Program, Program]]] = [
    ("extra-object", BLANKET, (extra(web(tolerations=EVERYTHING)),), (extra(web(tolerations=())),)),
    (
        "raw-chart",
        "gpu-ceiling",
        (release("raw", {"resources": [manifest(node_pool(limits=None))]}),),
        (extra(CPU_POOL),),
    ),
    ("chart-v4", BLANKET, (("kubernetes:helm.sh/v4:Chart", "a", extra(web(tolerations=EVERYTHING))[2]),), ()),
    ("config-group", "gpu-taint", (text_group(PINNED),), (text_group(CPU_POOL),)),
    ("claim", PLACEABLE, claim(8), claim(1)),
    (
        "claim-for-daemon-set",
        "gpu-daemonset-asks",
        claim(1, "apps/v1:DaemonSet"),
        claim(1, "apps/v1:DaemonSet", "dra.net"),
    ),
    ("spark", RESERVED, (spark(tolerations=[TOLERATION]),), (spark(gpu={"name": "nvidia.com/gpu", "quantity": 1}),)),
    (
        "flexible-machines",
        "gpu-autoscaled",
        (flexible("e2-standard-4", "g2-standard-8"),),
        (flexible("e2-standard-4"),),
    ),
    (
        "patched-node",
        "gpu-minimum-elsewhere",
        (node("gke-ml-t4-0a1b2c3d-x1y2"),),
        (node("gke-ml-t4-0a1b2c3d-x1y2", "false"),),
    ),
    ("token", "no-static-keys", (secret("kubernetes.io/service-account-token"),), (secret("Opaque"),)),
    ("component", "gpu-zero-minimum", (component(instanceType="g5.xlarge"),), (component(instanceType="m5.large"),)),
    ("node-by-name", "gpu-minimum-elsewhere", (pinned("gke-ml-t4-0a1b2c3d-x1y2"),), (pinned("gke-ml-admin-0a1b-x1"),)),
    ("bare-pod", "gpu-held-for-ever", (bare(),), (bare(restartPolicy="Never"),)),
    ("notebook", "gpu-held-for-ever", (notebook(),), (notebook(**{"kubeflow-resource-stopped": "true"}),)),
]

BLOCKED: Final = [blocked(f"side-{id}", rule, "").of(*program) for id, rule, program, _ in ROWS]
NEIGHBOURS: Final = [replace(allowed(f"beside-{id}", "").of(*program), rule=rule) for id, rule, _, program in ROWS]
ALLOWED: Final = [
    *NEIGHBOURS,
    allowed("side-admin-node", "a patch of a node that has no GPUs").of(node("gke-ml-admin-0a1b2c3d-x1y2")),
    allowed("side-group-with-children", "objects that are resources of their own are read once").of(
        text_group(PINNED), ("kubernetes:yaml/v2:ConfigGroup$kubernetes:core/v1:Namespace", "child", {})
    ),
]
UNJUDGED: Final[list[Case]] = [
    undecided("side-capacity-block", "its offering does not say", "").of(
        resource("aws:ec2/capacityBlockReservation:CapacityBlockReservation", capacityBlockOfferingId="cb-1")
    ),
    undecided("side-container-group", "'V100'", "").of(
        resource("azure-native:containerinstance:ContainerGroup", sku={"gpu": "V100"})
    ),
    undecided("side-any-node", "the node's name does not say", "a patch", around=on_t4).of(
        node("ip-10-0-1-2.internal")
    ),
    undecided(
        "side-suspended", "its process Terminate is suspended", "a group that does not scale in", links=aws.LINK
    ).of(aws.template(), ec2.group(suspendedProcesses=["Terminate"])),
]
