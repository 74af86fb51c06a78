"""Templates of Amazon's machines: instance types, launch templates and launch configurations.

A group names its template by ID or name, which is often unknown before the update. The engine reports which resource
such a value comes from, which identifies the template.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from math import ceil
from typing import Any, Final

from facts import catalog
from facts.catalog.gpu_machines import GpuMachine, gpu_machines, most_gpus
from facts.concepts.declared import NodeGroup, UnknownReason
from facts.concepts.kubernetes import RESOURCES, Taint
from facts.concepts.parts import Gpus, Nodes
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    amount,
    at,
    both,
    coalesce,
    either,
    flag,
    holds_unknown,
    is_false,
    items,
    text,
    whole,
)
from policies.readers.eks.facts import CLOUD, LABEL_DOMAINS, gpus_of, is_gpu_family, is_other_family, model_of
from policies.readers.eks.subnets import is_selected, private_machines
from policies.readers.node_registration import NOTHING, UNREADABLE, Registration, registration
from policies.readers.resource import Declared, Program
from policies.readers.unknown_reasons import reason_for

TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
CONFIGURATION: Final = "aws:ec2/launchConfiguration:LaunchConfiguration"
_IDENTIFIERS: Final = ("id", "name", "launchTemplateId", "launchTemplateName")


@dataclass(frozen=True)
class Choice:
    """One kind of machine that a group may launch: its instance type, if it names one, and its GPUs."""

    gpus: Maybe[int]
    type: Maybe[str | None] = None
    unknown_reason: UnknownReason | None = None
    """Why the number of its GPUs cannot be read."""
    model: str | None = None
    """The GPU model of a machine without a type, where that is known."""


@dataclass(frozen=True)
class LaunchTemplate:
    """What a launch template, a launch configuration or an instance says about its machines."""

    choices: tuple[Choice, ...] = ()
    registration: Registration = NOTHING
    disk_encrypted: Maybe[bool] = True
    disk_key: Maybe[str | None] = None
    doors: tuple[Maybe[bool | None], ...] = (None,)
    """Whether its machines get public addresses, of each template that may be meant; ``None`` where their subnet
    decides."""
    pods_as_nodes: Maybe[bool] = False
    tags: Maybe[Mapping[str, Any]] = UNKNOWN
    gpu_image: bool = False
    """Whether its machine image brings NVIDIA's driver, as the image's name says."""


# Without a template, EKS takes the image's own settings, which let the token travel to pods:
# https://docs.aws.amazon.com/eks/latest/best-practices/identity-and-access-management.html
NO_TEMPLATE: Final = LaunchTemplate(tags={}, pods_as_nodes=True)
_NOT_DECLARED: Final = UnknownReason(
    "its launch template is not declared in this program",
    "Declare the launch template in this program. To set the GPUs only, name instance types on the group.",
)
_ANY_MACHINE: Final = UnknownReason(
    "its instance requirements let EC2 choose machines with and without GPUs",
    "Set acceleratorCount: {max: 0} for machines without GPUs, or acceleratorManufacturers and a minimum for GPUs.",
)
ELSEWHERE: Final = LaunchTemplate(
    choices=(Choice(UNKNOWN, UNKNOWN, _NOT_DECLARED),), registration=replace(UNREADABLE, unknown_reason=_NOT_DECLARED)
)
"""A template that the program does not declare."""
_GPU_IMAGE: Final = re.compile(r"nvidia|[-_/]gpu\b", re.IGNORECASE)


@dataclass(frozen=True)
class TemplateMachines:
    """The machines of one group: most GPUs, what other types have instead, the first type's name, GPU models."""

    gpus: Maybe[int]
    other_gpus: tuple[int, ...]
    first: Maybe[str | None]
    models: tuple[str, ...] = ()
    unknown_reason: UnknownReason | None = None
    types: tuple[Maybe[str | None], ...] = ()


def machines(choices: Sequence[Choice]) -> TemplateMachines:
    """Sums up what a group may launch. A type that certainly has GPUs decides, even if others are unknown."""
    known = {choice.gpus for choice in choices if choice.gpus is not UNKNOWN}
    most = max(known, default=0)
    gpus: Maybe[int] = UNKNOWN if most == 0 and any(choice.gpus is UNKNOWN for choice in choices) else most
    first = choices[0].type if choices else None
    models = dict.fromkeys(model for choice in choices if (model := choice.model or model_of(choice.type)))
    unknown_reason = next((choice.unknown_reason for choice in choices if choice.unknown_reason is not None), None)
    types = tuple(dict.fromkeys(choice.type for choice in choices))
    return TemplateMachines(
        gpus, tuple(sorted(known - {most})) if most else (), first, tuple(models), unknown_reason, types
    )


def with_image(kinds: TemplateMachines, gpu_image: bool) -> TemplateMachines:
    """The same; machines of unknown type have GPUs, any number, where the image contains NVIDIA's driver."""
    return replace(kinds, gpus=most_gpus(CLOUD)) if gpu_image and kinds.gpus is UNKNOWN else kinds


def unknown_reasons_for(kinds: TemplateMachines, registered: Registration) -> dict[str, UnknownReason]:
    """Fields of a group of these machines that cannot be read, with the reasons."""
    boot = registered.unknown_reason
    reasons = {"gpus_per_node": kinds.unknown_reason, "taints": boot, "labels": boot}
    return {field: reason for field, reason in reasons.items() if reason is not None}


def group_of(declared: Declared, choices: Sequence[Choice], template: LaunchTemplate) -> NodeGroup:
    """What a group has by its machines, ``choices``, and by their template."""
    kinds = with_image(machines(choices), template.gpu_image)
    return NodeGroup(
        name=declared.name,
        cloud=CLOUD,
        gpus=Gpus(per_node=kinds.gpus),
        other_gpus_per_node=kinds.other_gpus,
        nodes=Nodes(
            machine_types=kinds.types or (None,),
            zones=(),
            labels={"kubernetes.io/os": "linux", **template.registration.labels},
            taints=template.registration.taints,
        ),
        region=text(declared.properties.get("region")),
        disk_encrypted=template.disk_encrypted,
        disk_key=template.disk_key,
        private=private_machines(template.doors, declared.references),
        pods_as_nodes=template.pods_as_nodes,
        cloud_label_domains=LABEL_DOMAINS,
        gpu_models=kinds.models,
        unknown_reasons=unknown_reasons_for(kinds, template.registration),
        resource=declared.urn,
    )


def typed(kind: Maybe[str | None]) -> Choice:
    """The machine of an instance type."""
    gpus = gpus_of(kind)
    return Choice(gpus, kind, reason_for(CLOUD, gpus, kind))


def in_machines(units: Maybe[int | None], entries: Iterable[Any], unit: Any = None) -> Maybe[int | None]:
    """At most how many machines have this capacity, which counts each by the weight of its entry, or as one; in vCPUs
    or memory (``unit``) by what the entry requires of it.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-mixed-instances-groups-instance-weighting.html,
    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_CreateAutoScalingGroup.html (``DesiredCapacityType``)
    """
    required = _REQUIRED.get(str(unit))
    weights = [
        _weight(at(entry, "weightedCapacity")) if required is None else _size(entry, required) for entry in entries
    ]
    return ceil(units / min(weights, default=Fraction(1))) if isinstance(units, int) else units


_REQUIRED: Final = {"vcpu": "vcpuCount", "memory-mib": "memoryMib"}


def _size(entry: Any, required: str) -> Fraction:
    """The fewest vCPUs, or the least memory in MiB, of the machines that an entry lets EC2 choose."""
    requirements = at(entry, "instanceRequirements")
    least = _weight(at(requirements, required, "min"))
    listed = [catalog.of(CLOUD).machines.get(name) for name, _, _ in _admitted(requirements)]
    sizes = [each.vcpus if required == "vcpuCount" else int(each.memory_gib * 1024) for each in listed if each]
    return max(least, Fraction(min(sizes))) if sizes and None not in listed else least


def _weight(value: Any) -> Fraction:
    """The weight of a machine, of which a fleet's may be a fraction; 1 for what is none."""
    try:
        weight = Fraction(float(value)).limit_denominator(1000)
    except (TypeError, ValueError, OverflowError):
        return Fraction(1)
    return weight if weight > 0 else Fraction(1)


def choices_of(entry: Any) -> tuple[Choice, ...]:
    """The machines that an override or a template names by type or by requirements; empty if by neither."""
    if entry is UNKNOWN:
        return (Choice(UNKNOWN, UNKNOWN),)
    kind, requirements = text(at(entry, "instanceType")), at(entry, "instanceRequirements")
    if kind is not None:
        return (typed(kind),)
    if requirements is None:
        return ()
    gpus, known = _required_gpus(requirements), not holds_unknown(requirements)
    # One per number and model of the GPUs: the other attributes may leave fewer.
    offered = sorted({(machine.gpus, model) for _, machine, model in _admitted(requirements)})
    choices = tuple(Choice(number, model=model) for number, model in offered)
    return choices or (Choice(gpus, unknown_reason=_ANY_MACHINE if gpus is UNKNOWN and known else None),)


def template_of(declared: Declared) -> LaunchTemplate:
    """Reads a launch template, a launch configuration, or a machine with the same fields."""
    inputs = declared.properties
    data = coalesce(inputs.get("userData"), inputs.get("userDataBase64"))
    disks = [at(entry, "ebs") for entry in items(inputs.get("blockDeviceMappings"))]
    root = inputs.get("rootBlockDevice")
    disks += [*items(inputs.get("ebsBlockDevices")), *([] if root is None else items(root) or [root])]
    doors = [at(entry, "associatePublicIpAddress") for entry in items(inputs.get("networkInterfaces"))]
    said = [flag(door) for door in (*doors, inputs.get("associatePublicIpAddress")) if door not in (None, "")]
    return LaunchTemplate(
        choices=choices_of(inputs),
        registration=registration(data),
        disk_encrypted=_encrypted([at(disk, "encrypted") for disk in disks]),
        disk_key=next((text(at(disk, "kmsKeyId")) for disk in disks if at(disk, "kmsKeyId") is not None), None),
        doors=(either(said) if said else None,),
        pods_as_nodes=pods_reach(inputs.get("metadataOptions")),
        tags=_instance_tags(inputs),
        gpu_image=is_gpu_image(coalesce(inputs.get("imageId"), inputs.get("ami"))),
    )


def pods_reach(options: Any, tokens: str = "optional", hops: int = 2) -> Maybe[bool]:
    """Whether pods get the machine's credentials: only a token that is required and travels one hop keeps them out.

    ``tokens`` and ``hops`` hold where ``options`` do not say. The default is what an image may set.
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-retrieval.html
    """
    endpoint, required = text(at(options, "httpEndpoint")), coalesce(text(at(options, "httpTokens")), tokens)
    limit = amount(at(options, "httpPutResponseHopLimit"), hops)
    if endpoint == "disabled":
        return False
    if endpoint is UNKNOWN or required is UNKNOWN or limit is UNKNOWN:
        return UNKNOWN
    return required != "required" or limit > 1


def is_gpu_image(name: Any) -> bool:
    """Whether a machine image, an SSM parameter that names one, or an EKS AMI type is made for NVIDIA GPUs.

    https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html (``amiType``) and
    https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
    """
    return isinstance(name, str) and _GPU_IMAGE.search(name) is not None


def referenced(declared: Declared, *properties: str) -> LaunchTemplate:
    """The template that ``properties`` of a group refer to; with several, what all of them have in common."""
    if all(declared.properties.get(name) is None for name in properties):
        return NO_TEMPLATE
    listed = [each for each in declared.references if each.type in (TEMPLATE, CONFIGURATION)]
    templates = [template_of(each) for each in [each for each in listed if each.certain] or listed]
    if not templates:
        return ELSEWHERE
    together = templates[0]
    for other in templates[1:]:
        mine, theirs = together.registration.taints, other.registration.taints
        common = UNKNOWN if mine is UNKNOWN or theirs is UNKNOWN else tuple(t for t in mine if t in theirs)
        together = replace(
            together,
            choices=together.choices + other.choices,
            registration=replace(together.registration, taints=common),
            disk_encrypted=both((together.disk_encrypted, other.disk_encrypted)),
            doors=(*together.doors, *other.doors),
            gpu_image=together.gpu_image or other.gpu_image,
            pods_as_nodes=either((together.pods_as_nodes, other.pods_as_nodes)),
        )
    return together


def templates_among(declared: Declared, properties: Iterable[str], everything: Program) -> list[Declared]:
    """The templates that ``properties`` refer to: by the engine's word on where a value comes from, or by name."""
    urns: set[str] = set()
    names: list[str] = []
    selectors: list[Any] = []
    for name in properties:
        urns.update(declared.dependencies.get(name, ()))
        names += _identifiers(declared.properties.get(name))
        selectors += _selectors({key: declared.properties.get(key) for key in (name, f"{name}Selector")})
    found: list[Declared] = []
    for other in everything.of(TEMPLATE, CONFIGURATION):
        selected = is_selected(other, selectors)
        if other.urn in urns or selected is True or any(other.properties.get(key) in names for key in ("id", "name")):
            found.append(other)
        elif selected is UNKNOWN:
            found.append(replace(other, certain=False))
    return found


def _selectors(value: Any) -> Iterator[Any]:
    """What selects a controller's object by its labels, anywhere in a value."""
    for key, part in value.items() if isinstance(value, Mapping) else ():
        if str(key).endswith("Selector"):
            yield part
        yield from _selectors(part)


def with_registered(
    declared: Maybe[tuple[Taint, ...]], registered: Maybe[tuple[Taint, ...]]
) -> Maybe[tuple[Taint, ...]]:
    """Taints of the cloud's API and of the boot data; boot data that cannot be read cannot take a GPU taint away."""
    if declared is UNKNOWN:
        return UNKNOWN
    if registered is UNKNOWN:
        return declared if any(taint.key in RESOURCES.values() for taint in declared) else UNKNOWN
    return tuple(dict.fromkeys(declared + registered))


def with_warm_pool(
    least: Maybe[int | None], most: Maybe[int | None], pool: Any
) -> tuple[Maybe[int], Maybe[int | None]]:
    """The group's minimum and maximum with what its warm ``pool`` keeps running beside the machines in service: its own
    minimum at least. Stopped and hibernated ones cost no GPU time.

    https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-warm-pools.html,
    https://docs.aws.amazon.com/autoscaling/ec2/APIReference/API_PutWarmPool.html
    """
    state = text(at(pool, "poolState"))
    if state is not UNKNOWN and str(state).upper() != "RUNNING":
        return (UNKNOWN if least is UNKNOWN else least or 0), most
    prepared, own = whole(at(pool, "maxGroupPreparedCapacity")), amount(at(pool, "minSize"))
    # Without a limit, or with -1, the pool holds what the group's maximum leaves.
    prepared = most if prepared is None or prepared == -1 else prepared
    if state is UNKNOWN or least is UNKNOWN or most is UNKNOWN or prepared is UNKNOWN or own is UNKNOWN:
        return UNKNOWN, UNKNOWN
    return max((least or 0) + own, prepared or 0), None if most is None else max(most + own, prepared or 0)


def _required_gpus(requirements: Any) -> Maybe[int]:
    """GPUs by attributes: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceRequirementsRequest.html."""
    least, most = whole(at(requirements, "acceleratorCount", "min")), whole(at(requirements, "acceleratorCount", "max"))
    if most == 0:
        return 0
    allowed = items(at(requirements, "allowedInstanceTypes"))
    if allowed and UNKNOWN not in allowed and all(is_other_family(str(pattern)) for pattern in allowed):
        return 0
    types, makers = items(at(requirements, "acceleratorTypes")), items(at(requirements, "acceleratorManufacturers"))
    other_kind = types and UNKNOWN not in types and "gpu" not in types
    other_maker = makers and UNKNOWN not in makers and "nvidia" not in makers
    if other_kind or other_maker:
        return 0
    by_type = allowed and UNKNOWN not in allowed and all(is_gpu_family(str(pattern)) for pattern in allowed)
    named = by_type or any(_names(requirements, model) for model in _models())
    at_least_one = least is not None and least is not UNKNOWN and least > 0
    requires_gpus = named or "gpu" in types or "nvidia" in makers or at_least_one
    if not requires_gpus:
        return UNKNOWN  # EC2 may choose a GPU machine where nothing excludes it
    count = most if most is not None else least
    return UNKNOWN if count is UNKNOWN else max(count or 1, 1)


def _admitted(requirements: Any) -> Iterator[tuple[str, GpuMachine, str]]:
    """The listed machines with GPUs, with their models, that requirements of GPUs let EC2 choose, by numbers, names and
    types; none where they are not known."""
    gpus = UNKNOWN if holds_unknown(requirements) else _required_gpus(requirements)
    if gpus is UNKNOWN or gpus <= 0:
        return
    allowed, excluded = (items(at(requirements, f"{key}InstanceTypes")) for key in ("allowed", "excluded"))
    for name, machine in gpu_machines(CLOUD).items():
        if (
            (model := model_of(name))
            and is_gpu_family(name)
            and not machine.part
            and (_names(requirements, model) or not items(at(requirements, "acceleratorNames")))
            and (not allowed or any(fnmatchcase(name, str(pattern)) for pattern in allowed))
            and not any(fnmatchcase(name, str(pattern)) for pattern in excluded)
            and _within(at(requirements, "acceleratorCount"), machine.gpus)
            and _fits(requirements, name)
        ):
            yield name, machine, model


def _names(requirements: Any, model: str) -> bool:
    """Whether the requirements name the model, as EC2 does: ``a100`` for those with 40 GB and with 80 GB."""
    names = [str(name).lower() for name in items(at(requirements, "acceleratorNames"))]
    return model.partition(" ")[0].lower() in names


def _models() -> Iterable[str]:
    return dict.fromkeys(model for name in gpu_machines(CLOUD) if is_gpu_family(name) and (model := model_of(name)))


def _fits(requirements: Any, name: str) -> bool:
    """Whether the machine has the vCPUs and the memory that are required; one whose size is not listed has none."""
    sizes = [at(requirements, key) for key in ("vcpuCount", "memoryMib")]
    machine = catalog.of(CLOUD).machines.get(name)
    if machine is None:
        return not any(sizes)
    return _within(sizes[0], machine.vcpus) and _within(sizes[1], int(machine.memory_gib * 1024))


def _within(bounds: Any, number: int) -> bool:
    least, most = amount(at(bounds, "min")), whole(at(bounds, "max"))
    return least is not UNKNOWN and most is not UNKNOWN and least <= number and (most is None or number <= most)


def _identifiers(value: Any) -> set[str]:
    """Every id and name in a reference, which may be a text, a block, or blocks in blocks."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, (list, tuple)):
        return {name for part in value for name in _identifiers(part)}
    if not isinstance(value, Mapping):
        return set()
    own = {part for key, part in value.items() if key in _IDENTIFIERS and isinstance(part, str)}
    blocks = [part for part in value.values() if isinstance(part, (Mapping, list))]
    return own | {name for block in blocks for name in _identifiers(block)}


def _instance_tags(inputs: Mapping[str, Any]) -> Maybe[Mapping[str, Any]]:
    sources = [inputs.get("tags"), *(at(entry, "tags") for entry in items(inputs.get("tagSpecifications")))]
    if UNKNOWN in sources:
        return UNKNOWN
    return {key: value for source in sources for key, value in (source or {}).items()}


def _encrypted(values: Sequence[Any]) -> Maybe[bool]:
    # Without a word on encryption the account's default holds, which is not visible here: only a plain "no" is a no.
    if any(is_false(value) is True for value in values):
        return False
    return UNKNOWN if UNKNOWN in values else True
