"""Reads Google's machines outside of node pools, which no cluster autoscaler removes: instances, TPUs, reservations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.declared import Minimum, NodeGroup, NotEvaluated, Reservation, UnknownReason
from facts.concepts.parts import Gpus, Nodes
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, coalesce, either, flag, items, negation, text, whole
from policies.readers.gke.clusters import gpus_of, pools_named, region_of, unknown_reasons_of, zones_of
from policies.readers.gke.facts import CLOUD, whole_machine_gpus
from policies.readers.node_registration import decoded
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import parsed
from policies.readers.unknown_reasons import until_update
from policies.readers.unread import unread

_TEMPLATES: Final = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate",
)
GROUPS: Final = (
    "gcp:compute/instanceGroupManager:InstanceGroupManager",
    "gcp:compute/regionInstanceGroupManager:RegionInstanceGroupManager",
)
# https://cloud.google.com/compute/docs/instance-groups/about-resize-requests-mig
_REQUESTS: Final = (
    "gcp:compute/resizeRequest:ResizeRequest",
    "gcp:compute/regionResizeRequest:RegionResizeRequest",
)
# Each is a machine that the provider adds to the group (createInstances):
# https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/products/compute/PerInstanceConfig.yaml
_ONE_BY_ONE: Final = (
    "gcp:compute/perInstanceConfig:PerInstanceConfig",
    "gcp:compute/regionPerInstanceConfig:RegionPerInstanceConfig",
)
_COPY: Final = "gcp:compute/instanceFromTemplate:InstanceFromTemplate"
_INSTANCE: Final = "gcp:compute/instance:Instance"
_SINGLE: Final = (_COPY, _INSTANCE)
OBJECT: Final = "the object"
"""The key of a resource's metadata where it is an object of a controller; no property of a cloud's is called so."""
_NODE_TEMPLATE: Final = "gcp:compute/nodeTemplate:NodeTemplate"
_AUTOSCALERS: Final = (
    "gcp:compute/autoscaler:Autoscaler",
    "gcp:compute/regionAutoscaler:RegionAutoscaler",
)
# What resizes a group → its property that names the group.
_KEYS: Final[Mapping[str, str]] = {
    **dict.fromkeys(_AUTOSCALERS, "target"),
    **dict.fromkeys((*_REQUESTS, *_ONE_BY_ONE), "instanceGroupManager"),
    _ONE_BY_ONE[1]: "regionInstanceGroupManager",
}


def read_instance(declared: Declared) -> Iterable[Item]:
    """``gcp:compute/instance:Instance`` and its like: a machine that no cluster autoscaler removes."""
    inputs = declared.properties
    gpus = gpus_of(inputs)
    if gpus != 0:
        stopped = inputs.get("desiredStatus") in ("TERMINATED", "SUSPENDED")
        zone = inputs.get("zone")
        yield NodeGroup(
            name=declared.name,
            cloud=CLOUD,
            kind="machine",
            gpus=Gpus(per_node=gpus),
            initial_nodes=0 if stopped else 1,
            region=region_of(zone),
            nodes=Nodes(
                machine_types=(text(inputs.get("machineType")),),
                zones=(str(zone),) if isinstance(zone, str) else (),
                labels={},
            ),
            private=negation(either(_public(entry) for entry in items(inputs.get("networkInterfaces")))),
            unknown_reasons=unknown_reasons_of(inputs),
            resource=declared.urn,
        )


def _public(interface: Any) -> Maybe[bool]:
    """Whether an interface has a public address: https://docs.cloud.google.com/compute/docs/ip-addresses."""
    listed = [at(interface, key) for key in ("accessConfigs", "ipv6AccessConfigs")]
    return UNKNOWN if UNKNOWN in listed else any(isinstance(each, (list, tuple)) and each for each in listed)


_NOT_USED: Final = UnknownReason(
    "it has GPUs, and nothing in this program starts machines of it",
    "Declare what starts them in this program, or exempt it by name, with a reason.",
)


def read_instance_template(declared: Declared) -> Iterable[Item]:
    """``gcp:compute/instanceTemplate:InstanceTemplate``: machines that an instance group or a user creates from it.

    The group names its template by a link that is unknown at preview, so GPUs are read from the template. One that a
    group may mean counts as one machine; by itself a template is none, and costs nothing.
    """
    meant = [each for each in declared.references if each.certain]
    for item in read_instance(declared):
        if not isinstance(item, NodeGroup):
            yield item
        elif not declared.references:
            yield NotEvaluated(f"Instance template '{declared.name}'", _NOT_USED, declared.urn)
        else:
            named = replace(item, name=f"{declared.name} (template)")
            yield from _of_regions(named, meant) if meant else (named,)


def _of_regions(group: NodeGroup, resources: Iterable[Declared]) -> Iterable[NodeGroup]:
    """The machines of a template for each region with instance groups of it; what resizes a group comes after it."""
    parts: dict[Maybe[str | None], list[Declared]] = {}
    here: Maybe[str | None] = group.region
    for each in resources:
        if each.type in (*GROUPS, *_SINGLE):
            place = coalesce(*(each.properties.get(key) for key in ("zone", "region", "location")))
            here = group.region if place is None else region_of(place)
        parts.setdefault(here, []).append(each)
    return (replace(_sized(group, part), region=region) for region, part in parts.items())


def _sized(group: NodeGroup, resources: Iterable[Declared]) -> NodeGroup:
    """The machines of instance groups, and of what resizes them; those of a request with a duration end by themselves.

    Without a target a group is empty: https://www.pulumi.com/registry/packages/gcp/api-docs/compute/instancegroupmanager/
    """
    least: list[Maybe[int]] = []
    most: list[Maybe[int | None]] = []
    autoscaled = False
    for each in resources:
        if each.type in (*_ONE_BY_ONE, *_SINGLE):
            least.append(1)
            most.append(1)
        elif each.type in _REQUESTS:
            ends = each.properties.get("requestedRunDuration") is not None
            most.append(amount(each.properties.get("resizeBy")))
            least.append(0 if ends else amount(each.properties.get("resizeBy")))
            autoscaled = autoscaled or ends
        elif each.type in _AUTOSCALERS:
            policy = at(each.properties, "autoscalingPolicy")
            # https://docs.cloud.google.com/compute/docs/autoscaler/scaling-schedules
            schedules = items(at(policy, "scalingSchedules"))
            least += [amount(at(policy, "minReplicas")), *(amount(at(one, "minRequiredReplicas")) for one in schedules)]
            most.append(whole(at(policy, "maxReplicas")))
            autoscaled = True
        else:
            least.append(amount(each.properties.get("targetSize")))
            most.append(amount(each.properties.get("targetSize")))
    nodes, limit = _sum(least), None if None in most else _sum(size for size in most if size is not None)
    scaling = replace(group.scaling, autoscaled=autoscaled, min_nodes=nodes if autoscaled else 0, max_nodes=limit)
    return replace(group, initial_nodes=nodes, scaling=scaling)


def _sum(sizes: Iterable[Maybe[int]]) -> Maybe[int]:
    total = 0
    for size in sizes:
        if size is UNKNOWN:
            return UNKNOWN
        total += size
    return total


def read_flexible_group(declared: Declared) -> Iterable[Item]:
    """``gcp:compute/regionInstanceGroupManager``: the machine types that it takes instead of its template's.

    https://cloud.google.com/compute/docs/instance-groups/about-instance-flexibility
    """
    selections = at(declared.properties, "instanceFlexibilityPolicy", "instanceSelections")
    types = [kind for entry in items(selections) for kind in items(at(entry, "machineTypes")) if isinstance(kind, str)]
    gpus = {kind: count for kind in types if (count := whole_machine_gpus(kind)) is not UNKNOWN and count > 0}
    if gpus:
        largest = max(gpus, key=lambda kind: gpus[kind])
        machine = replace(declared, properties={**declared.properties, "machineType": largest})
        group = next(item for item in read_instance(machine) if isinstance(item, NodeGroup))
        yield from _of_regions(group, (declared, *declared.references))


def read_tpu(declared: Declared) -> Iterable[Item]:
    """``gcp:tpu/v2Vm:V2Vm``, ``gcp:tpu/node:Node`` before it, and the nodes of a ``v2QueuedResource``.

    These come once there is capacity, and stay.

    https://cloud.google.com/tpu/docs/managing-tpus-tpu-vm, https://cloud.google.com/tpu/docs/queued-resources
    """
    region = region_of(declared.properties.get("zone"))
    for _ in items(at(declared.properties, "tpu", "nodeSpecs")) if "tpu" in declared.properties else (declared,):
        yield NodeGroup(
            declared.name,
            CLOUD,
            kind="machine",
            initial_nodes=1,
            region=region,
            accelerators="TPUs",
            resource=declared.urn,
        )


def read_reservation(declared: Declared) -> Iterable[Item]:
    """``gcp:compute/reservation:Reservation`` and ``futureReservation``, billed like their machines, used or not; an
    aggregate one is of accelerators.

    https://cloud.google.com/compute/docs/instances/reservations-overview#how-billing-works,
    https://docs.cloud.google.com/compute/docs/instances/future-reservations-overview
    """
    inputs = declared.properties
    specific = coalesce(inputs.get("specificReservation"), inputs.get("specificSkuProperties"))
    machine, aggregate = at(specific, "instanceProperties"), inputs.get("aggregateReservation")
    kind = text(coalesce(at(machine, "machineType"), at(aggregate, "vmFamily")))
    held = amount(coalesce(at(specific, "count"), at(specific, "totalCount")))
    for each in items(at(aggregate, "reservedResources")):
        more = amount(at(each, "accelerator", "acceleratorCount"))
        held = UNKNOWN if held is UNKNOWN or more is UNKNOWN else held + more
    attached = [whole(at(entry, "acceleratorCount"), default=0) for entry in items(at(machine, "guestAccelerators"))]
    known = sum(gpus for gpus in attached if gpus is not UNKNOWN and gpus is not None)
    gpus: Maybe[int] = known or (UNKNOWN if UNKNOWN in attached else whole_machine_gpus(kind))
    what, region = f"reservation '{declared.name}'", region_of(inputs.get("zone"))
    yield Reservation(what, held, gpus, kind, declared.urn, cloud=CLOUD, region=region)


def read_sole_tenants(declared: Declared) -> Iterable[Item]:
    """``gcp:compute/nodeGroup:NodeGroup``: whole hosts of its template's type, billed whether machines run or not.

    https://docs.cloud.google.com/compute/docs/nodes/sole-tenant-nodes
    """
    inputs = declared.properties
    first, least = amount(inputs.get("initialSize")), amount(at(inputs, "autoscalingPolicy", "minNodes"))
    count = UNKNOWN if first is UNKNOWN or least is UNKNOWN else max(first, least)
    named = (each.properties for each in declared.references if each.type == _NODE_TEMPLATE)
    template: Mapping[str, Any] = next(named, {"nodeType": UNKNOWN})
    kind, attached = text(template.get("nodeType")), items(template.get("accelerators"))
    counts = [amount(at(each, "acceleratorCount")) for each in attached]
    gpus = (
        UNKNOWN if UNKNOWN in counts else sum(one for one in counts if one is not UNKNOWN) or whole_machine_gpus(kind)
    )
    what, region = f"sole-tenant node group '{declared.name}'", region_of(inputs.get("zone"))
    yield Reservation(what, count, gpus, kind, declared.urn, cloud=CLOUD, region=region)


# The name of a pool, or of a group of machines, in the address of a call that changes its size:
# https://docs.cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools/setSize,
# https://docs.cloud.google.com/compute/docs/reference/rest/v1/instanceGroupManagers/resize
_RESIZED: Final = re.compile(r"/(?:nodePools|instanceGroupManagers)/([^/:?]+)(?:[:/]|$)(?:[^?]*\?(?:.*&)?size=(\d+))?")
# Whether a maximum is of each zone: of a pool that nothing declares, a region's cluster uses three by default.
_MAXIMUMS: Final = {("autoscaling", "maxNodeCount"): True, ("autoscaling", "totalMaxNodeCount"): False}
_ZONES_OF_A_REGION: Final = 3
_SIZES: Final = (("nodeCount",), ("autoscaling", "minNodeCount"), ("autoscaling", "totalMinNodeCount"))


# A call of an API of Google's: https://docs.cloud.google.com/apis/docs/overview. Older addresses have the service in
# their path, regional ones the region beside it.
_API: Final = re.compile(
    r"https?://(?:www\.googleapis\.com/(\w+)|((?!www\.)[\w-]+)(?:\.[\w-]+)*\.googleapis\.com)(/[^?]*)?", re.IGNORECASE
)
# Calls of which the sizes are read, that take away, or that run what is declared by itself; services without machines.
_HARMLESS: Final = re.compile(
    r".*/(?:nodePools|instanceGroupManagers)/[^/]+[:/](?:setSize|autoscaling|resize)|.*/(?:stop|suspend|delete\w*)"
    r"|(?:[\w-]+-)?run/.*:run"
    r"|(?:[\w-]+-)?(?:bigquery\w*|cloudbilling|cloudfunctions|cloudtasks|firestore|fcm|logging|monitoring|pubsub"
    r"|secretmanager|sheets|sqladmin|storage\w*|workflowexecutions)(?:/.*)?",
    re.IGNORECASE,
)


def _call(target: Any) -> str:
    """The service and path of a call that may add machines; ``""`` for another."""
    match = _API.match(str(at(target, "uri")))
    if match is None or str(at(target, "httpMethod")).upper() in ("GET", "HEAD", "OPTIONS", "DELETE"):
        return ""
    call = f"{match[1] or match[2]}{match[3] or ''}"
    return "" if _HARMLESS.fullmatch(call) else call


def read_job(declared: Declared) -> Iterable[Item]:
    """``gcp:cloudscheduler/job:Job``: it may call any API."""
    target = declared.properties.get("httpTarget")
    yield from until_update(declared, at(target, "uri"), "what it calls")
    yield from unread(declared, filter(None, [_call(target)]))
    match = _RESIZED.search(str(at(target, "uri")))
    if match is None:
        return
    body = at(target, "body")
    values = parsed(decoded(body) if isinstance(body, str) else body)
    numbers = {f"httpTarget.body.{'.'.join(path)}": at(values, *path) for path in _SIZES} | {"httpTarget.uri": match[2]}
    zones = max(map(zones_of, declared.references), default=_ZONES_OF_A_REGION)
    maximums = [(amount(at(values, *path)), zones if each_zone else 1) for path, each_zone in _MAXIMUMS.items()]
    known = [number * times for number, times in maximums if number is not UNKNOWN]
    most = max(known) if len(known) == len(maximums) else UNKNOWN
    for where, number in numbers.items():
        yield Minimum(f"job '{declared.name}'", amount(number), match[1], where=where, most=most, resource=declared.urn)


# Their machines are those of the template, which is read by itself.
PARTS: Final = (*GROUPS, *_REQUESTS, *_AUTOSCALERS, *_ONE_BY_ONE, _NODE_TEMPLATE)

READERS: Final[Mapping[str, Reader]] = {
    _INSTANCE: read_instance,
    **dict.fromkeys(_TEMPLATES, read_instance_template),
    **dict.fromkeys(GROUPS, read_flexible_group),
    _COPY: read_instance,
    "gcp:compute/instanceFromMachineImage:InstanceFromMachineImage": read_instance,
    "gcp:cloudscheduler/job:Job": read_job,
    "gcp:compute/futureReservation:FutureReservation": read_reservation,
    "gcp:compute/nodeGroup:NodeGroup": read_sole_tenants,
    "gcp:compute/reservation:Reservation": read_reservation,
    "gcp:tpu/node:Node": read_tpu,
    "gcp:tpu/v2QueuedResource:V2QueuedResource": read_tpu,
    "gcp:tpu/v2Vm:V2Vm": read_tpu,
}


_LINKS: Final = ("instanceTemplate", "sourceInstanceTemplate")


def _groups(declared: Declared, everything: Program) -> Iterable[Declared]:
    """What makes machines of the template, managed instance groups and single ones, by the engine's word or by its
    name; what may do so is not certain."""
    templates = {each.urn for each in everything.of(*_TEMPLATES)}
    for other in everything.of(*GROUPS, *_SINGLE):
        sources = {urn for key in ("versions", *_LINKS) for urn in other.dependencies.get(key, ())}
        versions = other.properties.get("versions")
        holders = (other.properties, *([versions] if isinstance(versions, Mapping) else items(versions)))
        links = [link for holder in holders for key in _LINKS if (link := _link(holder, key, other)) is not None]
        known = [link for link in links if link is not UNKNOWN]
        if declared.urn in sources or any(_means(link, declared) for link in known):
            yield other
            yield from _resizing(other, everything) if other.type in GROUPS else ()
        elif not known and not sources & templates and (links or other.type != _INSTANCE):
            yield replace(other, certain=False)


def _link(holder: Any, key: str, user: Declared) -> Any:
    """The link to another resource, or what is known of the object that a controller takes it from:
    https://docs.crossplane.io/latest/managed-resources/managed-resources/#referencing-other-resources,
    https://docs.cloud.google.com/config-connector/docs/how-to/creating-resource-references
    """
    reference, selector = at(holder, f"{key}Ref"), at(holder, f"{key}Selector")
    direct, name = coalesce(at(holder, key), at(reference, "external")), at(reference, "name")
    if direct is not None or selector is name is None:
        return direct
    if name is UNKNOWN:
        return UNKNOWN
    if name is not None:
        space = coalesce(at(reference, "namespace"), at(user.properties, OBJECT, "namespace"))
        return {"name": name, "namespace": space}
    labels, by_controller = at(selector, "matchLabels"), flag(at(selector, "matchControllerRef")) is True
    if by_controller and user.holder:  # what holds both is what makes both
        return {"labels": coalesce(labels, {}), "holder": user.urn}
    return UNKNOWN if labels is None else {"labels": labels}


def _means(link: Any, declared: Declared) -> bool:
    if isinstance(link, Mapping):
        return _has({**declared.properties.get(OBJECT, {}), "holder": declared.urn}, link)
    return isinstance(link, str) and link.rpartition("/")[2].partition("?")[0] == declared.named("name")


def _has(value: Any, part: Any) -> bool:
    """Whether an object has all of ``part``, as far as both are known."""
    if isinstance(part, Mapping):
        return all(_has(at(value, key), each) for key, each in part.items())
    return UNKNOWN in (value, part) or value == part


def _resized_pools(job: Declared, everything: Program) -> Iterable[Declared]:
    match = _RESIZED.search(str(at(job.properties, "httpTarget", "uri")))
    return pools_named(match[1], everything) if match else ()


def _node_templates(group: Declared, everything: Program) -> Iterable[Declared]:
    """The templates of a group of sole tenants, by the engine's word or by the name."""
    link, sources = _link(group.properties, "nodeTemplate", group), group.dependencies.get("nodeTemplate", ())
    for each in everything.of(_NODE_TEMPLATE):
        if each.urn in sources or _means(link, each):
            yield each


def _resizing(group: Declared, everything: Program) -> Iterable[Declared]:
    """Requests, autoscalers and single machines that change the size of a group."""
    for each in everything.of(*_KEYS):
        key = _KEYS[each.type]
        if _means(_link(each.properties, key, each), group) or group.urn in each.dependencies.get(key, ()):
            yield each


REFERRERS: Final[Mapping[str, Referrer]] = {
    **dict.fromkeys(_TEMPLATES, Referrer(refers=lambda _: True, finds=_groups)),
    **dict.fromkeys(GROUPS, Referrer(refers=lambda _: True, finds=_resizing)),
    # Only how many zones the pool has that it resizes depends on others.
    "gcp:cloudscheduler/job:Job": Referrer(refers=lambda _: False, finds=_resized_pools),
    "gcp:compute/nodeGroup:NodeGroup": Referrer(refers=lambda _: True, finds=_node_templates),
}
