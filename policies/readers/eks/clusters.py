"""Reads Amazon EKS: clusters (with Auto Mode), managed node groups, and Fargate profiles.

Field meanings: https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Cluster, NodeGroup, UnknownReason, capacity_type
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Scaling
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, coalesce, flag, items, text, texts, whole
from policies.readers.eks.facts import CLOUD, LABEL_DOMAINS
from policies.readers.eks.roles import role_of_nodes, roles_among
from policies.readers.eks.scaling import group_name, of_node_group, tags_among
from policies.readers.eks.subnets import subnets_among
from policies.readers.eks.template import (
    Choice,
    group_of,
    is_gpu_image,
    referenced,
    templates_among,
    typed,
    with_registered,
    with_warm_pool,
)
from policies.readers.idle import idle_of_tags
from policies.readers.node_registration import shared_by_boot_data
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.taints import CONSTANTS, Additions, entry_of, taints_of

# EKS uses t3.medium when neither the group nor its launch template names a type.
_DEFAULT_TYPE: Final = "t3.medium"
# Of a group without any, at least one node: https://www.pulumi.com/registry/packages/eks/api-docs/managednodegroup/
_DEFAULT_SIZES: Final = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
_SYSTEM: Final = ("kube-system", "*")
# https://docs.aws.amazon.com/eks/latest/userguide/fargate.html
_FARGATE: Final = Taint("eks.amazonaws.com/compute-type", "fargate", "NoSchedule")


def read_cluster(declared: Declared) -> Iterable[Item]:
    """``aws:eks/cluster:Cluster``."""
    inputs = declared.properties
    yield Cluster(
        name=coalesce(text(inputs.get("name")), declared.name),
        cloud=CLOUD,
        region=text(inputs.get("region")),
        managed_nodes=_auto_mode(inputs.get("computeConfig")),
        managed_autoscaler=flag(at(inputs, "computeConfig", "enabled")),
        secrets_key=text(at(inputs, "encryptionConfig", "provider", "keyArn")),
        open_api=_open_api(inputs.get("vpcConfig")),
        # Its own VPC CNI, and Auto Mode, do so only where something says so:
        # https://docs.aws.amazon.com/eks/latest/userguide/cni-network-policy-configure.html
        network_policies=False,
        resource=declared.urn,
    )


def read_node_group(declared: Declared) -> Iterable[Item]:
    """``aws:eks/nodeGroup:NodeGroup``, with its launch template where it has one."""
    inputs = declared.properties
    template = referenced(declared, "launchTemplate")
    template = replace(template, gpu_image=is_gpu_image(inputs.get("amiType")) or template.gpu_image)
    listed = tuple(typed(text(entry)) for entry in items(inputs.get("instanceTypes")))
    # Nothing tells which type EKS would take for an image with NVIDIA's driver.
    default = Choice(UNKNOWN) if template.gpu_image else Choice(0, _DEFAULT_TYPE)
    group = group_of(declared, listed or template.choices or (default,), template)
    scaling = coalesce(inputs.get("scalingConfig"), _DEFAULT_SIZES)
    least, most = whole(at(scaling, "minSize")), whole(at(scaling, "maxSize"))
    warm_least, warm_most = with_warm_pool(least, most, inputs.get("warmPoolConfig"))
    fixed = least is not UNKNOWN and least == most and warm_least == (least or 0)
    name = declared.named("nodeGroupName")
    spot = inputs.get("capacityType")
    cluster = text(inputs.get("clusterName"))
    read_by_autoscaler = of_node_group(declared, name, cluster)
    if template.registration.taints != () or template.registration.labels:  # EKS tells nobody of these
        read_by_autoscaler = replace(read_by_autoscaler, described_by=None)
    yield replace(
        group,
        name=name,
        scaling=replace(
            group.scaling,
            autoscaled=UNKNOWN if scaling is UNKNOWN or UNKNOWN in (least, most) else not fixed,
            min_nodes=warm_least,
            max_nodes=warm_most,
            capacity_type=capacity_type(UNKNOWN if spot is UNKNOWN else spot == "SPOT"),
        ),
        # Only pulumi-aws wants one: https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html
        initial_nodes=amount(coalesce(at(scaling, "desiredSize"), at(scaling, "minSize"))),
        nodes=replace(
            group.nodes,
            taints=with_registered(taints_of(inputs.get("taints"), CONSTANTS), group.nodes.taints),
            labels=_together(group.nodes.labels, texts(inputs.get("labels"))),
        ),
        cluster=cluster,
        scaling_group=read_by_autoscaler,
        idle=idle_of_tags(read_by_autoscaler.tags),
    )
    yield from shared_by_boot_data(declared)
    yield from role_of_nodes(declared)


def read_fargate_profile(declared: Declared) -> Iterable[Item]:
    """``aws:eks/fargateProfile:FargateProfile``: one CPU machine per pod, made and removed with it; none has GPUs.
    There are as many as the quotas of its namespaces allow.

    https://docs.aws.amazon.com/eks/latest/userguide/fargate.html
    """
    inputs = declared.properties
    spaces = [text(at(entry, "namespace")) for entry in items(inputs.get("selectors"))]
    machines = NodeGroup(
        name=declared.name,
        cloud=CLOUD,
        kind="serverless",
        scaling=Scaling(max_nodes=_most_pods(spaces, declared.references)),
        cluster=text(inputs.get("clusterName")),
        cloud_label_domains=LABEL_DOMAINS,
        unknown_reasons={"max_nodes": _NO_QUOTA},
        resource=declared.urn,
    )
    if UNKNOWN in spaces or any(space in _SYSTEM for space in spaces):
        yield machines
    else:
        # No home for system pods, and as many as people run pods there.
        yield replace(machines, kind="auto-provisioned", nodes=replace(machines.nodes, taints=(_FARGATE,)))


_NO_QUOTA: Final = UnknownReason(
    "a Fargate profile has no maximum",
    "Limit each namespace of a Fargate profile's selectors, named without wildcards, by a ResourceQuota of pods.",
)


def _most_pods(spaces: list[Maybe[str | None]], quotas: Iterable[Declared]) -> Maybe[int | None]:
    """The pods that quotas allow in these namespaces together; ``None`` where one has no quota. Quotas of vCPUs limit
    nothing: a pod that requests less has a quarter of one."""
    most: dict[Maybe[str | None], Maybe[int]] = {}
    for quota in quotas:
        hard, space = at(quota.properties, "spec", "hard"), quota.place_in_cluster
        for pods in (whole(at(hard, name)) for name in ("pods", "count/pods")):
            if pods is not None and space is not UNKNOWN:
                known = most.get(space, pods)
                most[space] = UNKNOWN if known is UNKNOWN or pods is UNKNOWN else min(known, pods)
    total = 0
    for space in dict.fromkeys(spaces):
        pods = None if space is UNKNOWN or space is None else most.get(space)
        if pods is None or pods is UNKNOWN:
            return pods
        total += pods
    return total if spaces else None


READERS: Final[Mapping[str, Reader]] = {
    "aws:eks/cluster:Cluster": read_cluster,
    "aws:eks/nodeGroup:NodeGroup": read_node_group,
    "aws:eks/fargateProfile:FargateProfile": read_fargate_profile,
}


def _group_parts(declared: Declared, everything: Program) -> Iterable[Declared]:
    yield from templates_among(declared, ("launchTemplate",), everything)
    yield from tags_among(declared, group_name(declared.named("nodeGroupName")), everything)
    yield from subnets_among(declared, "subnetIds", everything)
    yield from roles_among(declared, "nodeRoleArn", everything)


def _quotas(declared: Declared, everything: Program) -> Iterable[Declared]:
    """The quotas of all pods of a namespace, where all go to one cluster, and the program has no other one."""
    quotas = everything.of("kubernetes:core/v1:ResourceQuota")
    if len(everything.of("aws:eks/cluster:Cluster")) > 1 or len({each.place for each in quotas}) > 1:
        return ()
    scopes = ("scopes", "scopeSelector")
    return (each for each in quotas if all(at(each.properties, "spec", scope) is None for scope in scopes))


REFERRERS: Final[Mapping[str, Referrer]] = {
    # Tags are for rules on the whole stack; without a template, the group itself is checked before its creation.
    "aws:eks/nodeGroup:NodeGroup": Referrer(
        refers=lambda declared: declared.properties.get("launchTemplate") is not None, finds=_group_parts
    ),
    # A profile is checked alone: quotas are about the whole stack's cost.
    "aws:eks/fargateProfile:FargateProfile": Referrer(refers=lambda _: False, finds=_quotas),
}


def _auto_mode(config: Any) -> Maybe[bool]:
    """Whether EKS Auto Mode runs its own node pools, which hold system pods and never have GPUs."""
    enabled, pools = flag(at(config, "enabled")), items(at(config, "nodePools"))
    if enabled is not True:
        return enabled
    return UNKNOWN if UNKNOWN in pools else bool(pools)


def _open_api(network: Any) -> Maybe[bool]:
    """Whether the API server answers every address, as it does where the cluster says nothing else."""
    public = at(network, "endpointPublicAccess")
    if public is not None and flag(public) is not True:
        return flag(public)
    ranges = items(at(network, "publicAccessCidrs"))
    return open_to_internet(ranges) if ranges else True


def _together(one: Maybe[Mapping[str, Any]], other: Maybe[Mapping[str, Any]]) -> Maybe[dict[str, Any]]:
    return UNKNOWN if one is UNKNOWN or other is UNKNOWN else {**one, **other}


ADDITIONS: Final[Mapping[str, Additions]] = {
    "aws:eks/nodeGroup:NodeGroup": Additions("taints", "labels", spelled=entry_of)
}
