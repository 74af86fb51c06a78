"""Faults in the program: inputs of its resources are changed while they are declared, or there is one object more."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pulumi
import yaml

from components.resources import CustomResource, object_token

Program = Callable[[], None]
Injection = Callable[[Program], None]
Inputs = dict[str, Any]
Change = Callable[[Inputs], "Inputs | None"]
"""Inputs of a resource → those to declare in their place; ``None`` leaves them alone."""

NODE_POOL: Final = "gcp:container/nodePool:NodePool"
NODE_CLASS: Final = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
DAEMON_SET: Final = "kubernetes:apps/v1:DaemonSet"
_PROVIDER: Final = "pulumi:providers:kubernetes"
_POD: Final = "spec.template.spec"
_FLAG: Final = "--node-group-auto-discovery="
_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
_READER: Final = "acdd72a7-3385-48ef-bd42-f606fba81ae7"


def put(inputs: Inputs, path: str, value: Any) -> Inputs:
    """A copy of ``inputs`` with another value at a dotted path."""
    key, _, rest = path.partition(".")
    return {**inputs, key: put(inputs[key], rest, value) if rest else value}


def change(type: str, how: Change) -> Injection:
    """A fault that passes the inputs of every resource of ``type`` through ``how``."""

    def transform(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        changed = how(dict(args.props)) if args.type_ == type else None
        return None if changed is None else pulumi.ResourceTransformationResult(changed, args.opts)

    def inject(program: Program) -> None:
        pulumi.runtime.register_stack_transformation(transform)
        program()

    return inject


def has_gpus(pool: Inputs) -> bool:
    """Whether a node pool has GPUs."""
    return bool((pool.get("nodeConfig") or {}).get("guestAccelerators"))


def _of_gpu_pools(how: Callable[[Inputs], Inputs]) -> Injection:
    return change(NODE_POOL, lambda pool: how(pool) if has_gpus(pool) else None)


def _without_right(action: str) -> Injection:
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
        lambda inputs: put(inputs, "policy", pulumi.Output.from_input(inputs["policy"]).apply(without)),
    )


def _without_toleration(key: str) -> Injection:
    """A fault by which the pods of DaemonSets no longer tolerate the taint ``key``."""

    def how(inputs: Inputs) -> Inputs:
        tolerations = inputs["spec"]["template"]["spec"]["tolerations"]
        return put(inputs, f"{_POD}.tolerations", [each for each in tolerations if each.get("key") != key])

    return change(DAEMON_SET, how)


def _with_gpu(inputs: Inputs) -> Inputs:
    # As the program's own GPU pools: with secure boot the driver would not load.
    machine = {"vmSize": "Standard_NC4as_T4_v3", "securityProfile": {"enableVTPM": True, "enableSecureBoot": False}}
    return put(inputs, "agentPoolProfiles", [{**profile, **machine} for profile in inputs["agentPoolProfiles"]])


def _busybox(inputs: Inputs) -> Inputs:
    installers = inputs["spec"]["template"]["spec"]["initContainers"]
    return put(inputs, f"{_POD}.initContainers", [{**each, "image": "busybox:1.37"} for each in installers])


def _mixed(inputs: Inputs) -> Inputs | None:
    types = [*inputs["instanceTypes"], "g4dn.xlarge"]
    return put(inputs, "instanceTypes", types) if types[:-1] == ["g4dn.12xlarge"] else None


def _elsewhere(inputs: Inputs) -> Inputs:
    return put(inputs, "tag.key", inputs["tag"]["key"].replace("k8s.io/cluster-autoscaler/", "example.com/"))


def _blind(inputs: Inputs) -> Inputs:
    return put(inputs, "rules", [rule for rule in inputs["rules"] if "volumeattachments" not in rule["resources"]])


def _another_cluster(inputs: Inputs) -> Inputs:
    def changed(argument: str) -> str:
        return f"{argument[: argument.rindex('/')]}/another-cluster" if argument.startswith(_FLAG) else argument

    containers = inputs["spec"]["template"]["spec"]["containers"]
    changed_containers = [{**each, "command": [*map(changed, each["command"])]} for each in containers]
    return put(inputs, f"{_POD}.containers", changed_containers)


def _reversed(inputs: Inputs) -> Inputs | None:
    if "priorities" not in inputs.get("data", {}):
        return None
    order = yaml.safe_load(inputs["data"]["priorities"])
    # The last entry matches all other groups: in first place it would leave the order to prices.
    *own, rest = order.values()
    turned = dict(zip(order, [*reversed(own), rest], strict=True))
    return put(inputs, "data.priorities", yaml.safe_dump(turned))


def _reader(inputs: Inputs) -> Inputs | None:
    role = inputs["roleDefinitionId"]
    return put(inputs, "roleDefinitionId", role.replace(_CLUSTER_ADMIN, _READER)) if _CLUSTER_ADMIN in role else None


def _another_queue(inputs: Inputs) -> Inputs | None:
    return put(inputs, "values.settings.interruptionQueue", "another-queue") if inputs["name"] == "karpenter" else None


def _untainted(program: Program) -> None:
    """As in the GKE tips post: GKE adds the taint by itself where a pool without GPUs exists, so these come first."""
    gpu_pools: list[pulumi.Resource] = []

    async def every_gpu_pool() -> list[pulumi.Resource]:
        # Awaited when the program has run to its end, so the list is complete.
        return gpu_pools

    def strip(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        properties: Inputs = dict(args.props)
        if args.type_ != NODE_POOL:
            return None
        if not has_gpus(properties):
            args.opts.depends_on = pulumi.Output.from_input(every_gpu_pool())
            return pulumi.ResourceTransformationResult(properties, args.opts)
        gpu_pools.append(args.resource)
        args.opts.depends_on = []
        return pulumi.ResourceTransformationResult(put(properties, "nodeConfig.taints", []), args.opts)

    pulumi.runtime.register_stack_transformation(strip)
    program()


def _add(name: str) -> Injection:
    """A fault that declares the object in ``<name>.yaml`` after all node pools."""
    manifest: Inputs = yaml.safe_load(Path(__file__).with_name(f"{name}.yaml").read_text())

    def inject(program: Program) -> None:
        providers: list[pulumi.ProviderResource] = []
        pools: list[pulumi.Resource] = []

        def record(args: pulumi.ResourceTransformationArgs) -> None:
            if args.type_ == _PROVIDER and isinstance(args.resource, pulumi.ProviderResource):
                providers.append(args.resource)
            if args.type_ == NODE_POOL:
                pools.append(args.resource)

        pulumi.runtime.register_stack_transformation(record)
        program()
        after_pools = pulumi.ResourceOptions(provider=providers[0], depends_on=pools)
        CustomResource(object_token(manifest), manifest["metadata"]["name"], manifest, after_pools)

    return inject


INJECTIONS: Final[Mapping[str, Injection]] = {
    "minimum-one": _of_gpu_pools(
        lambda pool: put(put(pool, "initialNodeCount", 1), "autoscaling.totalMinNodeCount", 1)
    ),
    "gpu-in-system-pool": change("azure-native:containerservice:ManagedCluster", _with_gpu),
    "spot-forgotten": _of_gpu_pools(lambda pool: put(pool, "nodeConfig.spot", False)),
    "other-machine": _of_gpu_pools(lambda pool: put(pool, "nodeConfig.machineType", "n1-standard-32")),
    "driver-without-spot-toleration": _without_toleration("cloud.google.com/gke-spot"),
    # https://github.com/Azure/AKS/issues/4418
    "plugin-without-spot-toleration": _without_toleration("kubernetes.azure.com/scalesetpriority"),
    "installer-by-name": change(DAEMON_SET, _busybox),
    # A group that mixes machines with 4 GPUs and 1 GPU: the autoscaler plans with 4 and gets 1.
    "mixed-gpu-counts": change("aws:eks/nodeGroup:NodeGroup", _mixed),
    # Tags of a managed node group do not reach its Auto Scaling group, and the autoscaler asks EKS about a group only
    # until it has had a node: https://github.com/aws/containers-roadmap/issues/608
    "asg-tags-missing": change("aws:autoscaling/tag:Tag", _elsewhere),
    "autoscaler-without-rights": _without_right("autoscaling:SetDesiredCapacity"),
    # The cluster-autoscaler may not list volume attachments: it is Ready and does nothing.
    # https://github.com/kubernetes/autoscaler/issues/8678
    "autoscaler-blind": change("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole", _blind),
    "discovery-mismatch": change("kubernetes:apps/v1:Deployment", _another_cluster),
    "fallback-order-reversed": change("kubernetes:core/v1:ConfigMap", _reversed),
    "deployer-without-role": change("azure-native:authorization:RoleAssignment", _reader),
    "karpenter-without-rights": _without_right("ec2:CreateFleet"),
    "karpenter-subnets-mistyped": change(
        NODE_CLASS,
        lambda inputs: put(
            inputs, "spec.subnetSelectorTerms", [{"tags": {"karpenter.sh/discovery": "another-cluster"}}]
        ),
    ),
    "karpenter-image-missing": change(
        NODE_CLASS,
        lambda inputs: put(
            put(inputs, "spec.amiSelectorTerms", [{"id": "ami-00000000000000000"}]), "spec.amiFamily", "AL2023"
        ),
    ),
    # Karpenter reads an interruption queue that does not exist: it runs, but misses every spot interruption.
    "karpenter-queue-missing": change("kubernetes:helm.sh/v3:Release", _another_queue),
    "taint-removed": _untainted,
    "job-without-toleration": _add("training"),
    "pinned-system-pod": _add("gpu-metrics"),
    # A system pod that is too large for every node: everything else works, its own function does not.
    "system-pod-too-large": _add("metrics"),
}
