"""Reads Karpenter's NodePools: which GPU machines their requirements admit, up to which limits.

A NodePool has no minimum: nodes start for pods and are removed when empty, unless it is configured otherwise.
https://karpenter.sh/docs/concepts/nodepools/ and https://karpenter.sh/docs/concepts/disruption/
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

from facts import catalog
from facts.catalog.gpu_machines import gpu_machines, lists, most_gpus, most_within, resource_of_machines
from facts.catalog.gpu_names import only_gpu_nodes
from facts.catalog.model import Machine
from facts.concepts.declared import NodeGroup, NotEvaluated, UnknownReason, capacity_type
from facts.concepts.kubernetes import COUNTED_APART, GPU_RESOURCE, RESOURCES, quantity
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    at,
    both,
    coalesce,
    flag,
    holds_unknown,
    items,
    mapping,
    negation,
    text,
    texts,
    whole,
)
from policies.readers.aks.facts import CLOUD as AZURE
from policies.readers.aks.facts import gpus_of_size
from policies.readers.eks.facts import CLOUD as AMAZON
from policies.readers.eks.facts import is_gpu_family, is_other_family, most_of
from policies.readers.eks.subnets import private_machines, subnets_selected
from policies.readers.eks.template import pods_reach
from policies.readers.idle import idle_of_karpenter
from policies.readers.kubernetes.machine_labels import (
    CHIP_MAKER,
    FAMILY,
    GPU_MAKER,
    NVIDIA,
    TYPE,
    Candidate,
    admits,
    amazon_family,
    amazon_machines,
    short_label,
)
from policies.readers.node_registration import shared_by_boot_data
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.taints import taints_of
from policies.readers.unknown_reasons import unlisted

_NODE_CLASSES: Final = ("EC2NodeClass", "NodeClass", "AKSNodeClass")
_LABEL_DOMAINS: Final = ("kubernetes.io", "k8s.io", "karpenter.sh", "k8s.aws", "amazonaws.com", "azure.com")
_AMAZON_GROUP: Final = "karpenter.k8s.aws"
_AZURE_GROUP: Final = "karpenter.azure.com"
# The fewest vCPUs that clouds sell with one whole NVIDIA GPU (g4dn.xlarge, NC4as_T4_v3): a vCPU limit limits GPUs too.
_MIN_VCPUS_PER_GPU: Final = 4
# The same for memory (g5g.xlarge), of which Karpenter counts 7.5 % less: https://karpenter.sh/docs/reference/settings
_MIN_BYTES_PER_GPU: Final = 7 * 2**30
# What Karpenter counts of Amazon's chips beside them, and the fewest that one has (trn1, inf2):
# https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/instancetype/types.go (awsNeuronCores)
_CORES: Final = COUNTED_APART[RESOURCES[CHIP_MAKER]][0]
_MIN_CORES_PER_CHIP: Final = 2
_MOST_PER_NODE: Final = 8
_NAMING: Final = (TYPE, FAMILY, "instance-category")
_CAPACITY: Final = "karpenter.sh/capacity-type"


def read_node_pool(declared: Declared) -> Iterable[Item]:
    """``karpenter.sh`` ``NodePool``, and ``Provisioner`` as it was called before v1beta1."""
    spec = declared.properties.get("spec")
    template = at(spec, "template", "spec") if declared.kind == "NodePool" else spec
    metadata = at(spec, "template", "metadata") if template is not spec else spec
    limits = at(spec, "limits") if template is not spec else at(spec, "limits", "resources")
    requirements = [*items(at(template, "requirements")), *_as_requirements(at(metadata, "labels"))]
    resource, sizes = _offered(template, requirements)
    types, beside = _machine_types(template, requirements), _beside(template, requirements, resource)
    types = tuple(each for each in types if all(each not in others for _, others, _ in beside))
    allowed = _gpu_limit(limits, resource, _known(_seller(template), types))
    gpus, most, limited = _bounds(sizes, limits, allowed)
    if sizes == ():
        types = types or _named_types(template, requirements)
        most = _most_without_gpus(limits, _seller(template), types)
    fixed = whole(at(spec, "replicas"))
    classes = declared.references
    labels = texts(at(metadata, "labels"))
    final = UNKNOWN if labels is UNKNOWN else {str(key): value for key, value in _labels(labels, template)}
    pool = NodeGroup(
        name=declared.object_name,
        cloud="karpenter",
        gpus=Gpus(per_node=gpus, resource=resource),
        scaling=Scaling(
            autoscaled=fixed is None,
            min_nodes=0 if fixed is None else fixed,
            max_nodes=most if fixed is None else fixed,
            capacity_type=capacity_type(_spot(final)),
        ),
        initial_nodes=0 if fixed is None else fixed,
        nodes=Nodes(
            machine_types=types or (None,),
            zones=(),
            labels=final,
            taints=taints_of(at(template, "taints")),
        ),
        private=_of_all(classes, _private),
        disk_encrypted=_of_all(classes, _disks_encrypted),
        pods_as_nodes=negation(_of_all(classes, lambda each: negation(_pods_reach(each)))),
        encrypted_at_host=_of_all(classes, _encrypted_at_host),
        idle=idle_of_karpenter(spec, metadata),
        sold_by=_seller(template) if types else None,
        without_gpus=_without_gpus(template, requirements),
        limited_gpus=limited if fixed is None else None,
        limited_vcpus=_all_vcpus(limits, types) if sizes == () else None,
        limited_memory=_all_memory(limits) if sizes == () else None,
        cloud_label_domains=_LABEL_DOMAINS,
        unknown_reasons=_unknown_reasons(requirements, at(template, "nodeClassRef"), gpus)
        | _limit_unknown_reasons(limits, resource),
        resource=declared.urn,
    )
    yield pool
    for other, names, counts in beside if fixed is None else ():
        # Limits of one resource do not limit machines with the other.
        allowed = _gpu_limit(limits, other, _known(_seller(template), names))
        gpus, most, limited = _bounds(counts, limits, allowed)
        yield replace(
            pool,
            name=f"{pool.name} (machines with {other})",
            gpus=Gpus(per_node=gpus, resource=other),
            scaling=replace(pool.scaling, max_nodes=most),
            nodes=replace(pool.nodes, machine_types=names),
            sold_by=_seller(template),
            limited_gpus=limited,
            unknown_reasons=_limit_unknown_reasons(limits, other),
        )
    if sizes != () and fixed is None and (others := _other_machines(template, requirements)):
        # Limits of GPUs do not limit them.
        most = _most_without_gpus(limits, _seller(template), others)
        yield replace(
            pool,
            name=f"{pool.name} (machines without GPUs)",
            gpus=Gpus(per_node=0),
            scaling=replace(pool.scaling, max_nodes=most),
            nodes=replace(pool.nodes, machine_types=others),
            sold_by=_seller(template),
            limited_gpus=None,
            part_of=pool.name,
            limited_vcpus=_all_vcpus(limits, others),
            limited_memory=_all_memory(limits),
            unknown_reasons={},
        )
    yield from shared_by_boot_data(declared)


def read_node_claim(declared: Declared) -> Iterable[Item]:
    """A ``NodeClaim`` that the program declares itself: one machine, which no pool removes when it is empty."""
    spec = declared.properties.get("spec")
    requirements = items(at(spec, "requirements"))
    _, sizes = _offered(spec, requirements)
    if sizes != ():
        gpus = UNKNOWN if sizes is UNKNOWN else sizes[-1]
        yield NodeGroup(
            name=declared.object_name,
            cloud="karpenter",
            kind="machine",
            gpus=Gpus(per_node=gpus),
            initial_nodes=1,
            nodes=Nodes(machine_types=(types := _machine_types(spec, requirements)) or (None,), zones=(), labels={}),
            sold_by=_seller(spec) if types else None,
            unknown_reasons=_unknown_reasons(requirements, at(spec, "nodeClassRef"), gpus),
            resource=declared.urn,
        )


def read_node_overlay(declared: Declared) -> Iterable[Item]:
    """A ``NodeOverlay``: other prices, or more resources, than the machines have by which Karpenter chooses.

    Not evaluated where it may be about machines with GPUs; other resources than GPUs change nothing for the rules.
    https://github.com/kubernetes-sigs/karpenter/blob/main/designs/node-overlay.md
    """
    spec = declared.properties.get("spec")
    prices = [key for key in ("price", "priceAdjustment") if at(spec, key) is not None]
    requirements = items(at(spec, "requirements"))
    keys = " ".join(str(at(each, "key")) for each in requirements)
    groups = [group for group in (_AMAZON_GROUP, _AZURE_GROUP) if f"{group}/" in keys] or [_AMAZON_GROUP, _AZURE_GROUP]
    of_gpus = any(_offered({"nodeClassRef": {"group": group}}, requirements)[1] != () for group in groups)
    added = mapping(at(spec, "capacity"))
    capacity = () if added is UNKNOWN else [each for each in added if str(each).startswith(_GPU_MAKERS)]
    changed = [*(prices if of_gpus else ()), *(f"capacity: {each}" for each in capacity)]
    changed += ["capacity"] if added is UNKNOWN else []
    if changed:
        why = f"its '{', '.join(changed)}' changes which machines with GPUs Karpenter starts"
        yield NotEvaluated(f"{declared.kind} '{declared.name}'", UnknownReason(why, _NO_OVERLAY), declared.urn)


_GPU_MAKERS: Final = tuple(resource.partition("/")[0] for resource in RESOURCES.values())
_NO_OVERLAY: Final = (
    "Leave machines with GPUs out of the overlay's requirements and name them in a NodePool's, or exempt it by name, "
    "with a reason."
)
_POOL_READERS: Final[Mapping[str, Reader]] = {
    f"kubernetes:karpenter.sh/{version}:{kind}": read_node_pool
    for version, kind in (("v1", "NodePool"), ("v1beta1", "NodePool"), ("v1alpha5", "Provisioner"))
}
READERS: Final[Mapping[str, Reader]] = {
    **_POOL_READERS,
    "kubernetes:karpenter.sh/*:NodeOverlay": read_node_overlay,
    "kubernetes:karpenter.sh/v1:NodeClaim": read_node_claim,
    "kubernetes:karpenter.sh/v1beta1:NodeClaim": read_node_claim,
}


def _node_class(declared: Declared, everything: Program) -> Iterable[Declared]:
    reference = at(declared.properties, "spec", "template", "spec", "nodeClassRef")
    for each in everything.meant(reference, declared, cluster_scoped=True):
        yield replace(each, references=tuple(subnets_selected(each, everything)))


# A NodePool is checked alone: its node class (disks, addresses) does not affect idle GPUs.
REFERRERS: Final[Mapping[str, Referrer]] = {
    type_token: Referrer(refers=lambda _: False, finds=_node_class) for type_token in _POOL_READERS
}


def _offered(template: Any, requirements: Sequence[Any]) -> tuple[str, Maybe[tuple[int, ...]]]:
    """What pods request of the machines that the requirements admit, and how many each has. NVIDIA's come first.

    Amazon's chips count where they are named: Karpenter starts no machine with chips for a pod that requests none.
    https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/instance/filter/filter.go
    """
    sizes = _gpu_sizes(template, requirements)
    if _seller(template) == AZURE:
        return resource_of_machines(AZURE, _azure_names(requirements)), sizes
    chips = _sizes(requirements, amazon_machines(CHIP_MAKER)) if sizes == () and _names_chips(requirements) else ()
    return (GPU_RESOURCE, sizes) if chips == () else (RESOURCES[CHIP_MAKER], chips)


def _names_chips(requirements: Sequence[Any]) -> bool:
    return any(
        (at(each, "operator") == "In" and label in _NAMING) or label.startswith("instance-accelerator")
        for each in requirements
        if (label := short_label(at(each, "key")))
    )


def _beside(
    template: Any, requirements: Sequence[Any], resource: str
) -> list[tuple[str, tuple[str, ...], tuple[int, ...]]]:
    """What else pods may request of the pool's machines: the resource, the machines that have it, and how many each."""
    if _seller(template) == AZURE:
        named = {name: (resource_of_machines(AZURE, [name]), gpus_of_size(name)) for name in _azure_names(requirements)}
    elif _seller(template) == AMAZON and resource == GPU_RESOURCE and _names_chips(requirements):
        chips = amazon_machines(CHIP_MAKER)
        admitted = [(each[TYPE], count) for each, count in chips if admits(requirements, each) is True]
        named = {name: (RESOURCES[CHIP_MAKER], count) for name, count in admitted}
    else:
        named = {}
    others: dict[str, dict[str, int]] = {}
    for name, (other, count) in named.items():
        if other != resource and isinstance(count, int) and count:
            others.setdefault(other, {})[name] = count
    return [(other, tuple(each), tuple(sorted({*each.values()}))) for other, each in others.items()]


def _gpu_sizes(template: Any, requirements: Sequence[Any]) -> Maybe[tuple[int, ...]]:
    """GPU counts of the machines that the requirements admit; empty if none has GPUs."""
    reference = at(template, "nodeClassRef")
    if UNKNOWN in requirements or reference is UNKNOWN:
        return UNKNOWN
    names = [text(at(reference, part)) for part in ("kind", "group", "apiVersion")]
    if UNKNOWN in names:
        return UNKNOWN
    provider = " ".join(str(name) for name in names if name is not None)
    if "AKSNodeClass" in provider or "azure" in provider:
        return _azure_sizes(requirements)
    if "EC2NodeClass" in provider or "aws" in provider or reference is None:
        sizes = _sizes(requirements, _with_gpus(requirements))
        if sizes == ():
            sizes = _sizes(requirements, _unlisted_machines(requirements))
        return UNKNOWN if sizes == () and any(_of_no_family(requirements)) else sizes
    return UNKNOWN


def _with_gpus(requirements: Sequence[Any]) -> Sequence[tuple[Candidate, int]]:
    """Amazon's machines with NVIDIA GPUs. Those that Amazon no longer lists are in it if the requirements name them or
    admit no others."""
    machines, withdrawn = amazon_machines(GPU_MAKER), catalog.of(AMAZON).machines.withdrawn_gpus
    named = {*_named(requirements)}
    sold = [
        each
        for each in machines
        if gpu_machines(AMAZON)[each[0][TYPE]].gpu not in withdrawn or named & {each[0][TYPE], each[0][FAMILY]}
    ]
    return sold if any(admits(requirements, machine) is not False for machine, _ in sold) else machines


def _without_gpus(template: Any, requirements: Sequence[Any]) -> str:
    """How to exclude GPU machines where the requirements admit them without asking for them."""
    for requirement in requirements:
        values = [str(value) for value in items(at(requirement, "values"))]
        counted = at(requirement, "operator") not in ("In", "Exists")
        key = at(requirement, "key")
        if key is UNKNOWN or only_gpu_nodes(str(key), () if counted else values):
            return ""
    domains = {"NodeClass": "eks.amazonaws.com/instance", "AKSNodeClass": "karpenter.azure.com/sku"}
    domain = domains.get(str(at(template, "nodeClassRef", "kind")), "karpenter.k8s.aws/instance")
    return f"Exclude GPUs with the requirement {{key: {domain}-gpu-count, operator: DoesNotExist}}."


def _sizes(requirements: Sequence[Any], machines: Iterable[tuple[Candidate, int]]) -> Maybe[tuple[int, ...]]:
    admitted = [(admits(requirements, machine), count) for machine, count in machines]
    sizes = sorted({count for answer, count in admitted if answer is True})
    return UNKNOWN if not sizes and any(answer is UNKNOWN for answer, _ in admitted) else tuple(sizes)


def _unlisted_machines(requirements: Sequence[Any]) -> Iterator[tuple[Candidate, int]]:
    """Machines that the requirements name, that the catalogue does not list, and whose name says GPUs: any number."""
    named = _named(requirements)
    for name in named:
        if is_gpu_family(name):
            family, _, size = name.partition(".")
            digits = re.search(r"\d+", family)
            generation = {"instance-generation": digits.group()} if digits else {}
            own_type = {TYPE: name} if size else {}
            machine = {FAMILY: family, "instance-category": name[:1], **own_type, **generation, **NVIDIA}
            yield from ((machine, count) for count in range(1, most_of(name) + 1))
    if not named:
        for category in _selected(requirements, "instance-category"):
            if category in ("g", "p"):
                machine = {"instance-category": category, **NVIDIA}
                yield from ((machine, count) for count in range(1, most_gpus(AMAZON) + 1))


def _of_no_family(requirements: Sequence[Any]) -> Iterator[str]:
    """The required machine types for which it is unknown whether they have GPUs."""
    for name in _named(requirements):
        if not is_gpu_family(name) and not is_other_family(name):
            yield name


def _named(requirements: Sequence[Any]) -> list[str]:
    """Amazon's machines that they name: families, then types."""
    return [*_selected(requirements, FAMILY), *_selected(requirements, TYPE)]


def _selected(requirements: Sequence[Any], short_key: str) -> Iterator[str]:
    """The values that a machine's label may have, as far as they are listed."""
    for requirement in requirements:
        if short_label(at(requirement, "key")) == short_key and at(requirement, "operator") == "In":
            yield from (str(value) for value in items(at(requirement, "values")) if value is not UNKNOWN)


def _unknown_reasons(requirements: Sequence[Any], reference: Any, gpus: Maybe[int]) -> dict[str, UnknownReason]:
    """Why it is unknown which GPUs machines have: another cloud's node class, or an unlisted family or type."""
    if holds_unknown(reference) or holds_unknown(requirements):
        return {}
    if gpus is not UNKNOWN:
        named = [
            name for name in _azure_names(requirements) if is_gpu_family(name) or gpus_of_size(name) not in (0, UNKNOWN)
        ]
        reason = next((unlisted(name) for name in named if not (lists(AMAZON, name) or lists(AZURE, name))), None)
        return {} if reason is None else {"gpus_per_node": reason}
    for machine in _of_no_family(requirements):
        if (unknown_reason := unlisted(machine)) is not None:
            return {"gpus_per_node": unknown_reason}
    kind = at(reference, "kind")
    return {
        "gpus_per_node": UnknownReason(
            f"the gate does not know which machines node class {kind} '{at(reference, 'name')}' starts",
            f"Name machine types in the requirements that a node class of kind {', '.join(_NODE_CLASSES)} offers.",
        )
    }


def _machine_types(template: Any, requirements: Sequence[Any]) -> tuple[str, ...]:
    """Amazon's GPU machines that the requirements certainly admit, and Azure's that they name; of no other cloud."""
    seller = _seller(template)
    if seller == AZURE:
        return tuple(name for name in _azure_names(requirements) if gpus_of_size(name) != 0)
    if seller is None:
        return ()
    machines = (*_with_gpus(requirements), *amazon_machines(CHIP_MAKER))
    listed = [machine[TYPE] for machine, _ in machines if admits(requirements, machine) is True]
    families = {name.partition(".")[0] for name in gpu_machines(AMAZON)}
    # Nobody knows their price; they count beside those that have one.
    new = [name for name in _selected(requirements, FAMILY) if is_gpu_family(name) and name not in families]
    new += [name for name in _selected(requirements, TYPE) if is_gpu_family(name) and not lists(AMAZON, name)]
    return tuple(dict.fromkeys((*listed, *new)))


def _other_machines(template: Any, requirements: Sequence[Any]) -> tuple[str | None, ...]:
    """The machines without GPUs that a pool of GPUs also admits, by type where it names them; empty: it has none."""
    if _seller(template) == AZURE:
        names = [name for name in _azure_names(requirements) if gpus_of_size(name) == 0]
        if names or _azure_names(requirements):
            return tuple(dict.fromkeys(names))
        families = [*_selected(requirements, "sku-family")] or ["D"]
        sizes = [{"sku-family": each, "kubernetes.io/os": "linux"} for each in families if each.upper() != "N"]
        return (None,) if any(admits(requirements, each) is not False for each in sizes) else ()
    if _seller(template) is None:
        return ()
    named = _named(requirements)
    with_chips = {name.partition(".")[0] for name in gpu_machines(AMAZON)}
    others = (each for each in named if is_other_family(each) and not lists(AMAZON, each) and each not in with_chips)
    machines = [_named_machine(each) for each in others]
    if not named:
        categories = [*_selected(requirements, "instance-category")] or ["c", "m", "r"]
        machines = [{"instance-category": each} for each in categories if each in _WITHOUT_GPUS]
    admitted = [each for each in machines if admits(requirements, {**each, "kubernetes.io/os": "linux"}) is not False]
    return tuple(dict.fromkeys(each.get(TYPE) for each in admitted))


# https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
_WITHOUT_GPUS: Final = frozenset({"a", "c", "d", "h", "hpc", "i", "im", "is", "m", "mac", "r", "t", "u", "x", "z"})


def _named_machine(name: str) -> Candidate:
    family, _, size = name.partition(".")
    letters = re.match(r"[a-z]*", family)
    own_type = {TYPE: name} if size else {}
    return {FAMILY: family, "instance-category": letters.group() if letters else "", **own_type}


def _named_types(template: Any, requirements: Sequence[Any]) -> tuple[str, ...]:
    """The machines that the requirements name by type or, Amazon's, by family, of a pool without GPUs; of a family that
    the catalogue lacks its name, which has no price."""
    if _seller(template) == AZURE:
        return tuple(dict.fromkeys(_azure_names(requirements)))
    names = [*_selected(requirements, TYPE)]
    if not names:
        of_families = ((family, amazon_family(family)) for family in _selected(requirements, FAMILY))
        names = [each for family, machines in of_families for each in _admitted(requirements, machines) or [family]]
    return tuple(dict.fromkeys(names)) if _seller(template) else ()


def _admitted(requirements: Sequence[Any], machines: Sequence[Candidate]) -> list[str]:
    return [each[TYPE] for each in machines if admits(requirements, each) is not False]


def _seller(template: Any) -> str | None:
    group = at(template, "nodeClassRef", "group")
    if not isinstance(group, str):
        return None
    return AMAZON if group in (_AMAZON_GROUP, "eks.amazonaws.com") else AZURE if group == _AZURE_GROUP else None


def _azure_sizes(requirements: Sequence[Any]) -> Maybe[tuple[int, ...]]:
    # https://learn.microsoft.com/azure/aks/node-auto-provisioning-node-pools: sizes with GPUs are those of family N.
    size = {"sku-family": "N", "sku-gpu-manufacturer": "nvidia", "kubernetes.io/os": "linux", "sku-name": "Standard_N"}
    named = {gpus_of_size(name) for name in _azure_names(requirements)}
    if UNKNOWN in named:
        return UNKNOWN
    if resource_of_machines(AZURE, _azure_names(requirements)) != GPU_RESOURCE:
        size["sku-gpu-manufacturer"] = "amd"
    sizes = sorted(count for count in named if isinstance(count, int) and count)
    counts = sizes if named else range(1, _MOST_PER_NODE + 1)
    answers = {count: admits(requirements, {**size, "sku-gpu-count": str(count)}) for count in counts}
    return (
        UNKNOWN if UNKNOWN in answers.values() else tuple(count for count, answer in answers.items() if answer is True)
    )


def _azure_names(requirements: Sequence[Any]) -> list[str]:
    return [*_selected(requirements, "sku-name"), *_selected(requirements, TYPE)]


def _bounds(
    sizes: Maybe[tuple[int, ...]], limits: Any, allowed: Maybe[int | None]
) -> tuple[Maybe[int], Maybe[int | None], int | None]:
    """GPUs of the largest node that the limits leave room for, how many such nodes they allow, and the most GPUs of
    nodes of all ``sizes`` where these may be more; ``allowed`` GPUs."""
    if sizes is UNKNOWN:
        return UNKNOWN, UNKNOWN if allowed is UNKNOWN else allowed, None
    if not sizes or allowed == 0:
        return 0, None, None
    nodes = whole(at(limits, "nodes"))
    if allowed is UNKNOWN or allowed is None:
        return sizes[-1], allowed if nodes is None else nodes, None
    fitting = [size for size in sizes if size <= allowed]
    if not fitting:
        return sizes[0], 0, None
    most = allowed // fitting[-1]
    if isinstance(nodes, int) and nodes <= most:
        return fitting[-1], nodes, None
    return fitting[-1], most, int(most_within(allowed, [(size, size) for size in fitting]))


def _known(seller: str | None, types: Sequence[Any]) -> Sequence[Machine]:
    """The machines of a pool; none unless all are known."""
    if seller is None or seller not in catalog.PLUGINS:
        return ()
    machines = catalog.of(seller).machines
    named = [machine for each in types if isinstance(each, str) and (machine := machines.sized(each))]
    return named if len(named) == len(types) else ()


def _most_without_gpus(limits: Any, seller: str | None, types: Sequence[Any]) -> Maybe[int | None]:
    """How many nodes the limits allow, all of which hold: their own limit, and as many of the smallest type as the
    vCPUs and the memory suffice for."""
    named = _known(seller, types)
    nodes, vcpus, memory = whole(at(limits, "nodes")), _vcpus(limits), _limit(limits, "memory")
    bounds: list[Maybe[int | None]] = [nodes]
    if nodes is None or named:
        smallest = min((machine.vcpus for machine in named), default=1)
        bounds.append(int(vcpus) // smallest if isinstance(vcpus, Decimal) else vcpus)
    if named:
        least = min(map(_memory, named))
        bounds.append(int(memory) // least if isinstance(memory, Decimal) else memory)
    numbers = [each for each in bounds if isinstance(each, int)]
    return min(numbers) if numbers else UNKNOWN if UNKNOWN in bounds else None


def _memory(machine: Machine) -> int:
    """Bytes of a machine's memory that Karpenter counts: https://karpenter.sh/docs/reference/settings."""
    return int(machine.memory_gib * 2**30 * _COUNTED)


_COUNTED: Final = 0.925


def _all_vcpus(limits: Any, types: Sequence[Any]) -> int | None:
    """The limit in vCPUs; ``None`` where one of nodes holds for machines that are not known."""
    named = [each for each in types if isinstance(each, str)]
    vcpus = _vcpus(limits) if whole(at(limits, "nodes")) is None or named else None
    return None if vcpus is None or vcpus is UNKNOWN else int(vcpus)


def _all_memory(limits: Any) -> int | None:
    """The limit in bytes of memory, by the machines' own."""
    memory = _limit(limits, "memory")
    return int(float(memory) / _COUNTED) if isinstance(memory, Decimal) else None


def _gpu_limit(limits: Any, resource: str, machines: Sequence[Machine]) -> Maybe[int | None]:
    """Most GPUs that the limits allow, all of which hold: their own limit, and as many as the vCPUs and the memory
    suffice for, on the pool's ``machines`` or, where these are not known, on any; ``None``: no limit."""
    cores = whole(at(limits, _CORES)) if resource == RESOURCES[CHIP_MAKER] else None
    by_cores = cores // _MIN_CORES_PER_CHIP if isinstance(cores, int) else cores
    own = [each for each in (whole(at(limits, resource)), by_cores) if each is not None]
    if UNKNOWN in own:
        return UNKNOWN
    with_gpus = [machine for machine in machines if machine.gpus]
    sizes = [(machine.gpus, machine.vcpus, _memory(machine)) for machine in with_gpus]
    sizes = sizes if len(sizes) == len(machines) and sizes else [(1, _MIN_VCPUS_PER_GPU, _MIN_BYTES_PER_GPU)]
    bounds = [(_vcpus(limits), 1), (_limit(limits, "memory"), 2)]
    known = [
        _most_gpus(most, [(size[0], size[part]) for size in sizes])
        for most, part in bounds
        if isinstance(most, Decimal)
    ]
    known += [each for each in own if each is not UNKNOWN]
    return min(known) if known else UNKNOWN if UNKNOWN in (most for most, _ in bounds) else None


def _most_gpus(most: Decimal, sizes: Sequence[tuple[int, int]]) -> int:
    """GPUs of machines, each with its GPUs and what it takes of ``most``: whole machines of one type, else of the
    densest as many GPUs as it is enough for."""
    if len(sizes) == 1:
        return int(most // sizes[0][1]) * sizes[0][0]
    return max(int(most * gpus // taken) for gpus, taken in sizes)


def _vcpus(limits: Any) -> Maybe[Decimal | None]:
    return _limit(limits, "cpu")


def _limit(limits: Any, resource: str) -> Maybe[Decimal | None]:
    value = text(at(limits, resource))
    if value is None or value is UNKNOWN:
        return value
    try:
        return quantity(value)
    except (ArithmeticError, ValueError):
        return UNKNOWN


def _limit_unknown_reasons(limits: Any, resource: str) -> dict[str, UnknownReason]:
    if holds_unknown(limits):
        return {}
    return {"max_nodes": UnknownReason("its limits do not include a number of GPUs", f"Set limits: {resource}.")}


def _as_requirements(labels: Any) -> list[Any]:
    label_map = mapping(labels)
    if label_map is UNKNOWN:
        return [UNKNOWN]
    return [{"key": key, "operator": "In", "values": [value]} for key, value in label_map.items()]


def _labels(labels: Mapping[str, Maybe[str | None]], template: Any) -> Iterator[tuple[Any, Maybe[str | None]]]:
    """The template's labels, and those that one requirement leaves one value for."""
    for requirement in items(at(template, "requirements")):
        values = items(at(requirement, "values"))
        if at(requirement, "operator") == "In" and isinstance(at(requirement, "key"), str):
            yield at(requirement, "key"), str(values[0]) if len(values) == 1 and values[0] is not UNKNOWN else UNKNOWN
    yield from labels.items()


def _spot(labels: Maybe[Mapping[str, Maybe[str | None]]]) -> Maybe[bool]:
    """Whether nodes are spot for certain; a pool that may have several kinds of capacity is undecided."""
    if labels is UNKNOWN:
        return UNKNOWN
    capacity = labels.get(_CAPACITY)
    return UNKNOWN if capacity is UNKNOWN else capacity == "spot"


def _of_all(classes: Iterable[Declared], good: Callable[[Declared], Maybe[bool]]) -> Maybe[bool]:
    """Whether all node classes of the pool's reference are good; one that may be another cluster's decides nothing."""
    answers = ((good(each), each.certain) for each in classes)
    return both(UNKNOWN if answer is False and not certain else answer for answer, certain in answers)


def _private(node_class: Declared) -> Maybe[bool]:
    """By its own word, else by that of the subnets that it selects.

    https://karpenter.sh/docs/concepts/nodeclasses/#specassociatepublicipaddress,
    https://docs.aws.amazon.com/eks/latest/userguide/create-node-class.html
    """
    spec = node_class.properties.get("spec")
    door = coalesce(*(at(spec, *path, "associatePublicIPAddress") for path in ((), ("advancedNetworking",))))
    return private_machines((None if door is None else flag(door),), node_class.references)


def _disks_encrypted(node_class: Declared) -> bool:
    disks = items(at(node_class.properties, "spec", "blockDeviceMappings"))
    return not any(at(disk, "ebs", "encrypted") is False for disk in disks)


def _encrypted_at_host(node_class: Declared) -> Maybe[bool]:
    if "AKSNodeClass" not in node_class.type:
        return True
    return flag(at(node_class.properties, "spec", "security", "encryptionAtHost"))


def _pods_reach(node_class: Declared) -> Maybe[bool]:
    """https://karpenter.sh/docs/concepts/nodeclasses/#specmetadataoptions"""
    options = at(node_class.properties, "spec", "metadataOptions")
    return ":EC2NodeClass" in node_class.type and pods_reach(options, tokens="required", hops=1)
