"""Faults in resources of the program: their inputs are changed while they are declared."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import pulumi
import yaml

from rehearsal.faults.case import NODE_POOL, Injection, Program, is_gpu_pool

NODE_CLASS: Final = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"

Change = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Inputs of a resource → those to declare in their place; ``None`` leaves them alone."""


def change(type: str, how: Change) -> Callable[[Program], None]:
    """A fault that passes the inputs of every resource of ``type`` through ``how``."""

    def transform(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        changed = how(dict(args.props)) if args.type_ == type else None
        return None if changed is None else pulumi.ResourceTransformationResult(changed, args.opts)

    def inject(program: Program) -> None:
        pulumi.runtime.register_stack_transformation(transform)
        program()

    return inject


def without_right(action: str) -> Callable[[Program], None]:
    """A fault that removes ``action`` from every role policy on AWS."""

    def without(policy: str) -> str:
        if action not in policy:
            return policy
        document = json.loads(policy)
        for statement in document["Statement"]:
            if isinstance(statement["Action"], list):
                statement["Action"] = [each for each in statement["Action"] if each != action]
        return json.dumps(document)

    # A policy that names the account is known only when the account is.
    return change(
        "aws:iam/rolePolicy:RolePolicy",
        lambda inputs: {**inputs, "policy": pulumi.Output.from_input(inputs["policy"]).apply(without)},
    )


def without_toleration(inputs: dict[str, Any], key: str) -> dict[str, Any]:
    """The inputs of a DaemonSet whose pods no longer tolerate the taint ``key``."""
    template = inputs["spec"]["template"]
    others = [toleration for toleration in template["spec"]["tolerations"] if toleration.get("key") != key]
    pod = {**template["spec"], "tolerations": others}
    return {**inputs, "spec": {**inputs["spec"], "template": {**template, "spec": pod}}}


def with_spec(inputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The inputs of an object in the cluster with other ``fields`` in its spec."""
    return {**inputs, "spec": {**inputs["spec"], **fields}}


def _keep_one(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "initialNodeCount": 1, "autoscaling": {**inputs["autoscaling"], "totalMinNodeCount": 1}}


def _with_gpu(inputs: dict[str, Any]) -> dict[str, Any]:
    # As the program's own GPU pools: with secure boot the driver would not load.
    machine = {"vmSize": "Standard_NC4as_T4_v3", "securityProfile": {"enableVTPM": True, "enableSecureBoot": False}}
    profiles = [{**profile, **machine} for profile in inputs["agentPoolProfiles"]]
    return {**inputs, "agentPoolProfiles": profiles}


def _on_demand(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "nodeConfig": {**inputs["nodeConfig"], "spot": False}}


def _larger(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if not is_gpu_pool(NODE_POOL, inputs):
        return None
    return {**inputs, "nodeConfig": {**inputs["nodeConfig"], "machineType": "n1-standard-32"}}


_SPOT = "kubernetes.azure.com/scalesetpriority"


def _busybox(inputs: dict[str, Any]) -> dict[str, Any]:
    template = inputs["spec"]["template"]
    installers = [{**each, "image": "busybox:1.37"} for each in template["spec"]["initContainers"]]
    pod = {**template["spec"], "initContainers": installers}
    return with_spec(inputs, template={**template, "spec": pod})


def _mixed(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["instanceTypes"] != ["g4dn.12xlarge"]:
        return None
    return {**inputs, "instanceTypes": ["g4dn.12xlarge", "g4dn.xlarge"]}


def _elsewhere(inputs: dict[str, Any]) -> dict[str, Any]:
    tag = inputs["tag"]
    return {**inputs, "tag": {**tag, "key": tag["key"].replace("k8s.io/cluster-autoscaler/", "example.com/")}}


_ACTION: Final = "autoscaling:SetDesiredCapacity"


def _without(inputs: dict[str, Any]) -> dict[str, Any]:
    return {**inputs, "rules": [rule for rule in inputs["rules"] if "volumeattachments" not in rule["resources"]]}


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


def _reversed(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if "priorities" not in inputs.get("data", {}):
        return None
    order = yaml.safe_load(inputs["data"]["priorities"])
    # The last entry matches all other groups: in first place it would leave the order to prices.
    *own, rest = order.values()
    turned = dict(zip(order, [*reversed(own), rest], strict=True))
    return {**inputs, "data": {**inputs["data"], "priorities": yaml.safe_dump(turned)}}


_ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"
_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
_READER: Final = "acdd72a7-3385-48ef-bd42-f606fba81ae7"


def _reader(inputs: dict[str, Any]) -> dict[str, Any] | None:
    role = inputs["roleDefinitionId"]
    return {**inputs, "roleDefinitionId": role.replace(_CLUSTER_ADMIN, _READER)} if _CLUSTER_ADMIN in role else None


def _another_queue(inputs: dict[str, Any]) -> dict[str, Any] | None:
    if inputs["name"] != "karpenter":
        return None
    values = inputs["values"]
    return {**inputs, "values": {**values, "settings": {**values["settings"], "interruptionQueue": "another-queue"}}}


def _untainted(program: Program) -> None:
    """As in the GKE tips post: GKE adds the taint by itself where a pool without GPUs exists, so these come first."""
    gpu_pools: list[pulumi.Resource] = []

    async def every_gpu_pool() -> list[pulumi.Resource]:
        # Awaited when the program has run to its end, so the list is complete.
        return gpu_pools

    def strip(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        properties: dict[str, Any] = dict(args.props)
        if args.type_ != NODE_POOL:
            return None
        if not is_gpu_pool(args.type_, properties):
            args.opts.depends_on = pulumi.Output.from_input(every_gpu_pool())
            return pulumi.ResourceTransformationResult(properties, args.opts)
        gpu_pools.append(args.resource)
        args.opts.depends_on = []
        properties["nodeConfig"] = {**properties["nodeConfig"], "taints": []}
        return pulumi.ResourceTransformationResult(properties, args.opts)

    pulumi.runtime.register_stack_transformation(strip)
    program()


INJECTIONS: Final[Mapping[str, Injection]] = {
    "minimum-one": change(NODE_POOL, _keep_one),
    "gpu-in-system-pool": change("azure-native:containerservice:ManagedCluster", _with_gpu),
    "spot-forgotten": change(NODE_POOL, _on_demand),
    "other-machine": change(NODE_POOL, _larger),
    "driver-without-spot-toleration": change(
        "kubernetes:apps/v1:DaemonSet", lambda inputs: without_toleration(inputs, "cloud.google.com/gke-spot")
    ),
    # https://github.com/Azure/AKS/issues/4418
    "plugin-without-spot-toleration": change(
        "kubernetes:apps/v1:DaemonSet", lambda inputs: without_toleration(inputs, _SPOT)
    ),
    "installer-by-name": change("kubernetes:apps/v1:DaemonSet", _busybox),
    # A group that mixes machines with 4 GPUs and 1 GPU: the autoscaler plans with 4 and gets 1.
    "mixed-gpu-counts": change("aws:eks/nodeGroup:NodeGroup", _mixed),
    # Tags of a managed node group do not reach its Auto Scaling group, and the autoscaler asks EKS about a group only
    # until it has had a node: https://github.com/aws/containers-roadmap/issues/608
    "asg-tags-missing": change("aws:autoscaling/tag:Tag", _elsewhere),
    "autoscaler-without-rights": without_right(_ACTION),
    # The cluster-autoscaler may not list volume attachments: it is Ready and does nothing.
    # https://github.com/kubernetes/autoscaler/issues/8678
    "autoscaler-blind": change("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", _without),
    "discovery-mismatch": change("kubernetes:apps/v1:Deployment", _another_cluster),
    "fallback-order-reversed": change("kubernetes:core/v1:ConfigMap", _reversed),
    "deployer-without-role": change(_ASSIGNMENT, _reader),
    "karpenter-without-rights": without_right("ec2:CreateFleet"),
    "karpenter-subnets-mistyped": change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, subnetSelectorTerms=[{"tags": {"karpenter.sh/discovery": "another-cluster"}}]),
    ),
    "karpenter-image-missing": change(
        NODE_CLASS,
        lambda inputs: with_spec(inputs, amiSelectorTerms=[{"id": "ami-00000000000000000"}], amiFamily="AL2023"),
    ),
    # Karpenter reads an interruption queue that does not exist: it runs, but misses every spot interruption.
    "karpenter-queue-missing": change("kubernetes:helm.sh/v3:Release", _another_queue),
    "taint-removed": _untainted,
}
