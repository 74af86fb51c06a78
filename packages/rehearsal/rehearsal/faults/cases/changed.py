"""Faults in one resource of the program: its inputs are changed while it is declared."""

from __future__ import annotations

from typing import Any, Final

import yaml

from rehearsal.faults.case import NODE_POOL, Case, is_gpu_pool
from rehearsal.faults.change import change, with_spec, without_right, without_toleration


def _keep_one(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "initialNodeCount": 1, "autoscaling": {**inputs["autoscaling"], "totalMinNodeCount": 1}}


# Every GPU pool keeps one node, and an idle cluster costs money.
_MINIMUM_ONE = Case(
    name="minimum-one",
    title="every GPU pool keeps one node",
    stack="dev",
    rule="gpu-zero-minimum",
    check="starts-at-zero",
    reason="GPU nodes before any pod requested a GPU",
    inject=change(NODE_POOL, _keep_one),
)


def _with_gpu(inputs: dict[str, Any]) -> dict[str, Any]:
    profiles = [{**profile, "vmSize": "Standard_NC4as_T4_v3"} for profile in inputs["agentPoolProfiles"]]
    return {**inputs, "agentPoolProfiles": profiles}


# A GPU machine in the AKS system pool, which never scales to zero.
_GPU_IN_SYSTEM_POOL = Case(
    name="gpu-in-system-pool",
    title="a GPU machine in the system pool of AKS",
    stack="examples/aks-train-infer.yaml",
    rule="gpu-zero-minimum",
    check="starts-at-zero",
    reason="GPU nodes before any pod requested a GPU",
    inject=change("azure-native:containerservice:ManagedCluster", _with_gpu),
)


def _on_demand(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "nodeConfig": {**inputs["nodeConfig"], "spot": False}}


# Pools that the stack file declares as spot run on-demand machines.
_SPOT_FORGOTTEN = Case(
    name="spot-forgotten",
    title="spot pools that run on-demand nodes",
    stack="dev",
    rule=None,
    check="nodes-as-declared",
    reason="is on-demand, declared spot",
    inject=change(NODE_POOL, _on_demand),
)


def _larger(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "nodeConfig": {**inputs["nodeConfig"], "machineType": "n1-standard-32"}}


# GPU nodes use a larger machine type than declared: nothing fails, everything costs more.
_OTHER_MACHINE = Case(
    name="other-machine",
    title="GPU nodes of a larger machine type than declared",
    stack="dev",
    rule=None,
    check="nodes-as-declared",
    reason="is a n1-standard-32, declared",
    inject=change(NODE_POOL, _larger),
)


# A driver installer that does not tolerate its pool's spot taint: nodes start without allocatable GPUs.
_DRIVER_WITHOUT_SPOT = Case(
    name="driver-without-spot-toleration",
    title="a driver DaemonSet that does not tolerate its pool's spot taint",
    stack="examples/gke-ubuntu-driver-daemonset.yaml",
    rule="gpu-daemonset-tolerates",
    check="reached:",
    reason="driver",
    inject=change(
        "kubernetes:apps/v1:DaemonSet", lambda inputs: without_toleration(inputs, "cloud.google.com/gke-spot")
    ),
)


_SPOT = "kubernetes.azure.com/scalesetpriority"

# A device plugin that does not tolerate AKS's spot taint: nodes start without allocatable GPUs.
#
# https://github.com/Azure/AKS/issues/4418
_PLUGIN_WITHOUT_SPOT = Case(
    name="plugin-without-spot-toleration",
    title="a device plugin that does not tolerate the spot taint of AKS",
    stack="examples/aks-train-infer.yaml",
    rule="gpu-daemonset-tolerates",
    check="reached:",
    reason=f"does not tolerate the taint {_SPOT}",
    inject=change("kubernetes:apps/v1:DaemonSet", lambda inputs: without_toleration(inputs, _SPOT)),
)


def _busybox(inputs: dict[str, Any]) -> dict[str, Any]:
    template = inputs["spec"]["template"]
    installers = [{**each, "image": "busybox:1.37"} for each in template["spec"]["initContainers"]]
    pod = {**template["spec"], "initContainers": installers}
    return with_spec(inputs, template={**template, "spec": pod})


# A DaemonSet with the name of Google's driver installer that installs nothing.
_INSTALLER_BY_NAME = Case(
    name="installer-by-name",
    title="a DaemonSet that is a driver installer by name only",
    stack="examples/gke-ubuntu-driver-daemonset.yaml",
    rule=None,
    check="reached:",
    reason="has no image that installs a driver (busybox:1.37",
    inject=change("kubernetes:apps/v1:DaemonSet", _busybox),
)


def _mixed(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["instanceTypes"] != ["g4dn.12xlarge"]:
        return None
    return {**inputs, "instanceTypes": ["g4dn.12xlarge", "g4dn.xlarge"]}


# A group that mixes machines with 4 GPUs and 1 GPU: the autoscaler plans with 4 and gets 1.
_MIXED_GPU_COUNTS = Case(
    name="mixed-gpu-counts",
    title="a node group that mixes machines with 4 GPUs and 1 GPU",
    stack="examples/eks-t4.yaml",
    rule="gpu-uniform-sizes",
    check="job:t4-4",
    reason="never ran",
    inject=change("aws:eks/nodeGroup:NodeGroup", _mixed),
)


def _elsewhere(inputs: dict[str, Any]) -> dict[str, Any]:
    tag = inputs["tag"]
    return {**inputs, "tag": {**tag, "key": tag["key"].replace("k8s.io/cluster-autoscaler/", "example.com/")}}


# Auto Scaling groups without node-template tags: they scale up once, but not again from zero.
#
# Tags of a managed node group do not reach its Auto Scaling group, and the autoscaler asks EKS about a group only until
# it has had a node: https://github.com/aws/containers-roadmap/issues/608
_ASG_TAGS_MISSING = Case(
    name="asg-tags-missing",
    title="Auto Scaling groups without node-template tags",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-knows-template",
    check="burst-fills",
    reason="never ran",
    inject=change("aws:autoscaling/tag:Tag", _elsewhere),
)


_ACTION: Final = "autoscaling:SetDesiredCapacity"

# The cluster-autoscaler's role grants reading groups, but not resizing them.
_AUTOSCALER_WITHOUT_RIGHTS = Case(
    name="autoscaler-without-rights",
    title="a cluster-autoscaler without the permission to resize groups",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-permitted",
    check="reached:",
    reason=_ACTION,
    inject=without_right(_ACTION),
)


def _without(inputs: dict[str, Any]) -> dict[str, Any]:
    return {**inputs, "rules": [rule for rule in inputs["rules"] if "volumeattachments" not in rule["resources"]]}


# The cluster-autoscaler may not list volume attachments: it is Ready and does nothing.
#
# https://github.com/kubernetes/autoscaler/issues/8678
_AUTOSCALER_BLIND = Case(
    name="autoscaler-blind",
    title="a cluster-autoscaler that may not list volume attachments",
    stack="examples/eks-t4.yaml",
    rule=None,
    check="autoscaler-rights",
    reason="volumeattachments",
    inject=change("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", _without),
)


_FLAG: Final = "--node-group-auto-discovery="


def _another_cluster(inputs: dict[str, Any]) -> dict[str, Any] | None:
    template = inputs["spec"]["template"]
    containers = [dict(container) for container in template["spec"]["containers"]]
    for container in containers:
        container["command"] = [_changed(argument) for argument in container["command"]]
    pod = {**template["spec"], "containers": containers}
    return {**inputs, "spec": {**inputs["spec"], "template": {**template, "spec": pod}}}


def _changed(argument: str) -> str:
    if not argument.startswith(_FLAG):
        return argument
    return argument[: argument.rindex("/")] + "/another-cluster"


# A cluster-autoscaler that discovers another cluster's groups.
_DISCOVERY_MISMATCH = Case(
    name="discovery-mismatch",
    title="a cluster-autoscaler that discovers another cluster's groups",
    stack="examples/eks-t4.yaml",
    rule="autoscaler-sees-group",
    check="reached:",
    reason="another-cluster",
    inject=change("kubernetes:apps/v1:Deployment", _another_cluster),
)


def _reversed(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if "priorities" not in inputs.get("data", {}):
        return None
    order = yaml.safe_load(inputs["data"]["priorities"])
    # The last entry matches all other groups: in first place it would leave the order to prices.
    *own, rest = order.values()
    turned = dict(zip(order, [*reversed(own), rest], strict=True))
    return {**inputs, "data": {**inputs["data"], "priorities": yaml.safe_dump(turned)}}


# A reversed fallback order: on-demand machines first, the cheaper spot machines when those are full.
_FALLBACK_REVERSED = Case(
    name="fallback-order-reversed",
    title="on-demand nodes before spot nodes, which cost less",
    stack="examples/aks-train-infer.yaml",
    rule=None,
    check="fallback-order:",
    reason="expected training-1-spot",
    inject=change("kubernetes:core/v1:ConfigMap", _reversed),
)


_ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"
_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
_READER: Final = "acdd72a7-3385-48ef-bd42-f606fba81ae7"


def _reader(inputs: dict[str, Any]) -> dict[str, Any] | None:
    role = inputs["roleDefinitionId"]
    return {**inputs, "roleDefinitionId": role.replace(_CLUSTER_ADMIN, _READER)} if _CLUSTER_ADMIN in role else None


# An AKS cluster whose deployer has no role in the cluster.
_DEPLOYER_WITHOUT_ROLE = Case(
    name="deployer-without-role",
    title="the deployer gets no role in the cluster",
    stack="examples/aks-train-infer.yaml",
    rule=None,
    check="up",
    reason="forbidden",
    inject=change(_ASSIGNMENT, _reader),
)

CASES: Final = (
    _MINIMUM_ONE,
    _GPU_IN_SYSTEM_POOL,
    _SPOT_FORGOTTEN,
    _OTHER_MACHINE,
    _DRIVER_WITHOUT_SPOT,
    _PLUGIN_WITHOUT_SPOT,
    _INSTALLER_BY_NAME,
    _MIXED_GPU_COUNTS,
    _ASG_TAGS_MISSING,
    _AUTOSCALER_WITHOUT_RIGHTS,
    _AUTOSCALER_BLIND,
    _DISCOVERY_MISMATCH,
    _FALLBACK_REVERSED,
    _DEPLOYER_WITHOUT_ROLE,
)
