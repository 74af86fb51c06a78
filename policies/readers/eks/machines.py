"""Reads Amazon's machines outside EKS's own groups: Auto Scaling groups, instances, spot requests and fleets.

An Auto Scaling group is a cluster's node group if its tags or its machines' boot data say so. Outside Kubernetes it may
also have GPUs, if it starts empty; single machines and fleets must not have GPUs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from facts.concepts.declared import IdleTime, NodeGroup, UnknownReason, capacity_type
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, coalesce, items, text, whole
from policies.readers.eks.facts import CLOUD
from policies.readers.eks.scaling import TAG, added_tags, scaling_group, tags_among
from policies.readers.eks.subnets import subnets_among
from policies.readers.eks.template import (
    CONFIGURATION,
    TEMPLATE,
    LaunchTemplate,
    TemplateMachines,
    choices_of,
    group_of,
    in_machines,
    machines,
    referenced,
    template_of,
    templates_among,
    unknown_reasons_for,
    with_image,
    with_warm_pool,
)
from policies.readers.idle import idle_of_tags
from policies.readers.node_registration import NOTHING, shared_by_boot_data
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import tag_key

_GROUP_TEMPLATES: Final = ("mixedInstancesPolicy", "launchTemplate", "launchConfiguration")
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/understand-how-suspending-processes-affects-other-processes.html
_SUSPENDED: Final = UnknownReason(
    "its process Terminate is suspended, so that it does not scale in", "Remove Terminate from suspendedProcesses."
)
_CLUSTER_TAG: Final = "kubernetes.io/cluster/"
# How the autoscaler finds its groups, and what it reads about them:
# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
_AUTOSCALER_TAG: Final = "k8s.io/cluster-autoscaler/"
_HINTS: Final = "k8s.io/cluster-autoscaler/node-template/"
_NODE_TAGS: Final = (_CLUSTER_TAG, "k8s.io/", "eks:", "KubernetesCluster", "aws:eks:")


def read_group(declared: Declared) -> Iterable[Item]:
    """``aws:autoscaling/group:Group``, with its template and the tags that other resources put on it.

    The autoscaler's ``node-template/taint`` tags only describe nodes: a taint counts if the boot data registers it.
    """
    inputs = declared.properties
    template = referenced(declared, *_GROUP_TEMPLATES)
    overrides = items(at(inputs, "mixedInstancesPolicy", "launchTemplate", "overrides"))
    chosen = tuple(choice for entry in overrides for choice in choices_of(entry))
    group = group_of(declared, chosen or template.choices, template)
    tags = _tags(declared)
    sizes = whole(inputs.get("minSize"), default=0), whole(inputs.get("maxSize"))
    unit = inputs.get("desiredCapacityType")
    entries = overrides or [each.properties for each in declared.references if each.type == TEMPLATE]
    least, most = (in_machines(size, entries, unit) for size in sizes)
    warm_least, warm_most = with_warm_pool(least, most, inputs.get("warmPool"))
    for_pods = _of_kubernetes(tags, template)
    share = ("mixedInstancesPolicy", "instancesDistribution", "onDemandPercentageAboveBaseCapacity")
    on_demand = whole(at(inputs, *share), default=100)
    read_by_autoscaler = scaling_group(_pattern(declared), tags)
    suspended = {"autoscaled": _SUSPENDED} if "Terminate" in items(inputs.get("suspendedProcesses")) else {}
    yield replace(
        group,
        name=declared.named("name"),
        kind="machine" if for_pods is False else "pool",
        scaling=replace(
            group.scaling,
            autoscaled=UNKNOWN if suspended or UNKNOWN in (least, most) else least != most or warm_least != least,
            min_nodes=warm_least,
            max_nodes=warm_most,
            capacity_type=capacity_type(UNKNOWN if on_demand is UNKNOWN else on_demand == 0),
        ),
        discoverable=_discoverable(tags),
        # https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html: else its minimum
        initial_nodes=amount(
            in_machines(amount(coalesce(inputs.get("desiredCapacity"), inputs.get("minSize"))), entries, unit)
        ),
        nodes=replace(
            group.nodes,
            zones=tuple(str(zone) for zone in items(inputs.get("availabilityZones")) if zone is not UNKNOWN),
        ),
        cluster=_cluster(tags),
        scaling_group=None if for_pods is False else read_by_autoscaler,
        idle=None if for_pods is False else _longest([idle_of_tags(read_by_autoscaler.tags), *_waits(declared)]),
        unknown_reasons={**group.unknown_reasons, **suspended},
    )
    yield from shared_by_boot_data(declared)


def _waits(declared: Declared) -> Iterator[IdleTime]:
    """How long a hook lets a machine wait before it ends, an hour where it does not say.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/lifecycle-hooks.html
    """
    own = ((each, "initialLifecycleHooks") for each in items(declared.properties.get("initialLifecycleHooks")))
    others = ((each.properties, f"hook '{each.name}'") for each in declared.references if each.type == HOOK)
    for hook, where in (*own, *others):
        seconds = amount(at(hook, "heartbeatTimeout"), 3600)
        if at(hook, "lifecycleTransition") == "autoscaling:EC2_INSTANCE_TERMINATING":
            yield IdleTime(UNKNOWN if seconds is UNKNOWN else seconds / 60, f"{where}, heartbeatTimeout")


def _longest(times: Iterable[IdleTime | None]) -> IdleTime | None:
    known = [each for each in times if each is not None]
    return max(known, key=lambda each: math.inf if each.minutes is UNKNOWN else each.minutes, default=None)


def read_instance(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/instance:Instance`` and a spot request for one: a machine that no cluster autoscaler removes."""
    own, launched = template_of(declared), referenced(declared, "launchTemplate")
    kinds = with_image(machines(own.choices or launched.choices), own.gpu_image or launched.gpu_image)
    yield from _fixed(declared, kinds, 1, spot="spotPrice" in declared.properties)


def read_spot_fleet(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/spotFleetRequest:SpotFleetRequest``: holds its target capacity until it is cancelled."""
    inputs = declared.properties
    unit = inputs.get("targetCapacityUnitType")
    listed = items(inputs.get("launchSpecifications"))
    yield from _fleet(declared, listed, inputs.get("targetCapacity"), unit, spot=True)


def read_fleet(declared: Declared) -> Iterable[Item]:
    """``aws:ec2/fleet:Fleet``: holds its target capacity until it is deleted."""
    target = declared.properties.get("targetCapacitySpecification")
    spot = at(target, "defaultTargetCapacityType") == "spot"
    unit = at(target, "targetCapacityUnitType")
    yield from _fleet(declared, (), at(target, "totalTargetCapacity"), unit, spot=spot)


READERS: Final[Mapping[str, Reader]] = {
    "aws:autoscaling/group:Group": read_group,
    "aws:ec2/instance:Instance": read_instance,
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": read_instance,
    "aws:ec2/spotFleetRequest:SpotFleetRequest": read_spot_fleet,
    "aws:ec2/fleet:Fleet": read_fleet,
}


HOOK: Final = "aws:autoscaling/lifecycleHook:LifecycleHook"
PARTS: Final = (TEMPLATE, CONFIGURATION, TAG, HOOK)


def _by_templates(name: str) -> Referrer:
    """Completes a machine by the templates that its property ``name`` refers to, where it has it."""
    return Referrer(
        refers=lambda declared: declared.properties.get(name) is not None,
        finds=lambda declared, everything: templates_among(declared, (name,), everything),
    )


def _group_parts(declared: Declared, everything: Program) -> Iterable[Declared]:
    yield from tags_among(declared, _pattern(declared), everything)
    yield from tags_among(declared, _pattern(declared), everything, HOOK)
    yield from templates_among(declared, _GROUP_TEMPLATES, everything)
    yield from subnets_among(declared, "vpcZoneIdentifiers", everything)


REFERRERS: Final[Mapping[str, Referrer]] = {
    "aws:autoscaling/group:Group": Referrer(refers=lambda _: True, finds=_group_parts),
    "aws:ec2/instance:Instance": _by_templates("launchTemplate"),
    "aws:ec2/spotInstanceRequest:SpotInstanceRequest": _by_templates("launchTemplate"),
    "aws:ec2/spotFleetRequest:SpotFleetRequest": _by_templates("launchTemplateConfigs"),
    "aws:ec2/fleet:Fleet": _by_templates("launchTemplateConfigs"),
}


def _fleet(declared: Declared, listed: Sequence[Any], capacity: Any, unit: Any, *, spot: bool) -> Iterable[NodeGroup]:
    configs = items(declared.properties.get("launchTemplateConfigs"))
    entries = [*listed, *(entry for config in configs for entry in items(at(config, "overrides")))]
    choices = tuple(choice for entry in entries for choice in choices_of(entry))
    kinds = machines(choices or referenced(declared, "launchTemplateConfigs").choices)
    yield from _fixed(declared, kinds, amount(in_machines(amount(coalesce(capacity, 1)), entries, unit)), spot=spot)


def _fixed(declared: Declared, kinds: TemplateMachines, count: Maybe[int], *, spot: bool) -> Iterable[NodeGroup]:
    if kinds.gpus != 0:
        yield NodeGroup(
            name=declared.name,
            cloud=CLOUD,
            kind="machine",
            gpus=Gpus(per_node=kinds.gpus),
            initial_nodes=count,
            scaling=Scaling(autoscaled=False, capacity_type=capacity_type(spot), max_nodes=None),
            region=text(declared.properties.get("region")),
            nodes=Nodes(machine_types=kinds.types or (kinds.first,), zones=(), labels={}),
            unknown_reasons=unknown_reasons_for(kinds, NOTHING),
            resource=declared.urn,
        )


def _tags(declared: Declared) -> dict[Any, Any]:
    """The group's tags by key; the key ``UNKNOWN`` stands for tags whose keys are not known yet."""
    entries = items(declared.properties.get("tags"))
    own = {tag_key(at(entry, "key")): at(entry, "value") for entry in entries}
    return {**own, **dict(added_tags(declared))}


def _pattern(declared: Declared) -> Maybe[str]:
    """The group's name as a regular expression."""
    name = text(declared.properties.get("name"))
    return re.escape(name) if isinstance(name, str) else UNKNOWN


def _of_kubernetes(tags: Mapping[Any, Any], template: LaunchTemplate) -> Maybe[bool]:
    machine_tags = {} if template.tags is UNKNOWN else template.tags
    keys = [key for key in (*tags, *machine_tags) if isinstance(key, str)]
    if any(key.startswith(_NODE_TAGS) for key in keys) or template.registration.joins is True:
        return True
    unknown = UNKNOWN in tags or template.registration.joins is UNKNOWN
    return UNKNOWN if unknown else False


def _discoverable(tags: Mapping[Any, Any]) -> Maybe[bool]:
    """Whether the group carries a tag by which the cluster autoscaler finds it."""
    keys = [key for key in tags if isinstance(key, str) and key.startswith(_AUTOSCALER_TAG)]
    if any(not key.startswith(_HINTS) for key in keys):
        return True
    return UNKNOWN if UNKNOWN in tags else False


def _cluster(tags: Mapping[Any, Any]) -> Maybe[str | None]:
    named = [key.removeprefix(_CLUSTER_TAG) for key in tags if isinstance(key, str) and key.startswith(_CLUSTER_TAG)]
    return named[0] if named else (UNKNOWN if UNKNOWN in tags else None)
