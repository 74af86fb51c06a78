"""Reads Azure's resources: all ways to declare nodes of an AKS cluster, machines and scale sets with GPUs.

Field meanings: https://learn.microsoft.com/rest/api/aks/agent-pools/create-or-update and
https://learn.microsoft.com/rest/api/compute/virtual-machine-scale-sets/create-or-update
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any, Final

from facts.catalog.gpu_machines import most_gpus, resource_of_machines
from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import (
    Cluster,
    Exposure,
    Minimum,
    NodeGroup,
    NotEvaluated,
    Reservation,
    UnknownReason,
    capacity_type,
)
from facts.concepts.kubernetes import GPU_RESOURCE, Taint
from facts.concepts.parts import MIG_SLICES, Gpus, Nodes, Scaling
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    Texts,
    amount,
    at,
    both,
    coalesce,
    either,
    flag,
    is_false,
    items,
    mapping,
    negation,
    text,
    texts,
    whole,
)
from policies.readers.aks.facts import CLOUD, gpus_of_size, without_trusted_launch
from policies.readers.idle import idle_of_profile, idle_of_tags
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import parsed
from policies.readers.taints import Additions, parse_taint
from policies.readers.unknown_reasons import reasons_for

LABEL_DOMAINS: Final = ("kubernetes.io", "k8s.io", "kubernetes.azure.com")
# The API's default: https://learn.microsoft.com/rest/api/aks/agent-pools/create-or-update#agentpool
_DEFAULT_COUNT: Final = 1
# AKS sets both on Spot pools: https://learn.microsoft.com/azure/aks/spot-node-pool
_SPOT: Final = Taint("kubernetes.azure.com/scalesetpriority", "spot", "NoSchedule")
_VIRTUAL: Final = Taint("virtual-kubelet.io/provider", "azure", "NoSchedule")
# Of a machine, a scale set, and both in the classic provider.
_AT_HOST: Final = (
    ("securityProfile", "encryptionAtHost"),
    ("virtualMachineProfile", "securityProfile", "encryptionAtHost"),
    ("encryptionAtHostEnabled",),
)
_TARGETS: Final = ("targetResourceUri", "targetResourceId")
_NAMES: Final = ("vmScaleSetName", "name")
_TAINT_TAG: Final = "k8s.io_cluster-autoscaler_node-template_taint_"


def read_cluster(declared: Declared) -> Iterable[Item]:
    """``azure-native:containerservice:ManagedCluster`` with its inline pools."""
    inputs = _updated(declared.properties, declared.references)
    name: Maybe[str] = coalesce(lower(text(inputs.get("resourceName"))), declared.name.lower())
    region = region_of(inputs.get("location"))
    kms = at(inputs, "securityProfile", "azureKeyVaultKms")
    key = text(at(kms, "keyId"))
    yield Cluster(
        name=name,
        cloud=CLOUD,
        region=region,
        # AKS Automatic runs system pods on nodes of its own: https://learn.microsoft.com/azure/aks/intro-aks-automatic
        managed_nodes=_is(at(inputs, "sku", "name"), "Automatic"),
        secrets_key=None if flag(at(kms, "enabled")) is False else key,
        open_api=_open_api(inputs),
        local_accounts=negation(flag(inputs.get("disableLocalAccounts"))),
        network_policies=_network_policies(inputs),
        idle=idle_of_profile(inputs.get("autoScalerProfile"), "autoScalerProfile"),
        resource=declared.urn,
    )
    yield from _ingresses(inputs, declared)
    common = NodeGroup(
        "", CLOUD, region=region, disk_key=text(inputs.get("diskEncryptionSetID")), cluster=name, resource=declared.urn
    )
    provisioning = inputs.get("nodeProvisioningProfile")
    makes_nodes = both(
        (_is(at(provisioning, "mode"), "Auto"), negation(_is(at(provisioning, "defaultNodePools"), "None")))
    )
    if makes_nodes is not False:
        # It has no limits: https://learn.microsoft.com/azure/aks/node-auto-provisioning-node-pools
        yield replace(
            common,
            name="default (node auto-provisioning)",
            scaling=replace(common.scaling, autoscaled=True, max_nodes=_unlimited(makes_nodes)),
            nodes=replace(common.nodes, labels=UNKNOWN),
        )
    virtual = _has_addon(inputs, "aciConnectorLinux")
    if virtual is not False:
        # It makes a container instance for each pod: https://learn.microsoft.com/azure/aks/virtual-nodes
        yield replace(
            common,
            name="virtual nodes",
            kind="auto-provisioned",
            scaling=replace(common.scaling, autoscaled=True, max_nodes=_unlimited(virtual)),
            nodes=replace(common.nodes, taints=(_VIRTUAL,)),
        )
    for number, profile in enumerate(items(inputs.get("agentPoolProfiles"))):
        pool = mapping(profile)
        own_name = at(pool, "name")
        label = own_name if isinstance(own_name, str) else f"{declared.name} agentPoolProfiles[{number}]"
        if pool is UNKNOWN:
            yield unknown_group(label, declared.urn)
        else:
            yield from pool_groups(_updated(pool, declared.references, label), label, common)


def _ingresses(cluster: Mapping[str, Any], declared: Declared) -> Iterable[Exposure]:
    """The load balancers of ingresses that AKS runs by itself. Of its own nginx the default controller is public unless
    it is internal by its type, or there is none.

    https://learn.microsoft.com/azure/aks/app-routing-nginx-configuration#control-the-default-nginx-ingress-controller-configuration-preview,
    https://learn.microsoft.com/azure/aks/http-application-routing,
    https://learn.microsoft.com/azure/aks/istio-deploy-ingress
    """
    routing = at(cluster, "ingressProfile", "webAppRouting")
    type = at(routing, "nginx", "defaultIngressControllerType")
    public = negation(either((_is(type, "Internal"), _is(type, "None"))))
    gateways = items(at(cluster, "serviceMeshProfile", "istio", "components", "ingressGateways"))
    outside = (both((flag(at(each, "enabled")), _is(at(each, "mode"), "External"))) for each in gateways)
    answers = {
        "ingressProfile.webAppRouting": both((flag(at(routing, "enabled")), public)),
        "addonProfiles.httpApplicationRouting": _has_addon(cluster, "httpApplicationRouting"),
        "addonProfiles.ingressApplicationGateway": _has_addon(cluster, _GATEWAY, unless="applicationGatewayId"),
        "serviceMeshProfile": either(outside),
    }
    for where, open in answers.items():
        if open is not False:
            yield Exposure("network", f"Cluster '{declared.name}' ({where})", open, declared.urn)


def _unlimited(there: Maybe[bool]) -> Maybe[None]:
    """The maximum of nodes without a limit; what may not be there has none that is known."""
    return None if there is True else UNKNOWN


# The gateway that it makes has a public address; one of another's is that one's.
# https://learn.microsoft.com/azure/application-gateway/tutorial-ingress-controller-add-on-new
_GATEWAY: Final = "ingressApplicationGateway"


def _has_addon(cluster: Mapping[str, Any], called: str, *, unless: str = "") -> Maybe[bool]:
    """Whether the add-on is on, and does not say ``unless``; Azure takes its name in any case."""
    addons = cluster.get("addonProfiles")
    if addons is UNKNOWN:
        return UNKNOWN
    named = [name for name in addons if str(name).lower() == called.lower()] if isinstance(addons, Mapping) else []
    others = at(addons, named[0], "config", unless) if named and unless else None
    return False if others not in (None, "") else either(flag(at(addons, name, "enabled")) for name in named)


def read_agent_pool(declared: Declared) -> Iterable[Item]:
    """``azure-native:containerservice:AgentPool``. Its disks' key is its cluster's, hence not known here."""
    pool = _updated(declared.properties, declared.references, _named_in(declared)[1])
    common = NodeGroup(
        "", CLOUD, disk_key=UNKNOWN, cluster=lower(text(pool.get("resourceName"))), resource=declared.urn
    )
    yield from pool_groups(pool, declared.named("agentPoolName"), common)


def read_virtual_machine(declared: Declared) -> Iterable[Item]:
    """``azure-native:compute:VirtualMachine``: a machine that no cluster autoscaler removes."""
    inputs = declared.properties
    size = text(at(inputs, "hardwareProfile", "vmSize"))
    yield from _machines(declared, size, 1, at(inputs, "priority"))


def read_scale_set(declared: Declared) -> Iterable[Item]:
    """``azure-native:compute:VirtualMachineScaleSet``: a node group if the autoscaler's tags say so, else machines.

    Tags: https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/azure/README.md
    """
    inputs = declared.properties
    sizes = [
        text(at(inputs, "sku", "name")),
        *(text(at(mix, "name")) for mix in items(at(inputs, "skuProfile", "vmSizes"))),
    ]
    size = max(sizes, key=_by_gpus)
    capacity = amount(at(inputs, "sku", "capacity"))
    priority = at(inputs, "virtualMachineProfile", "priority")
    tags = inputs.get("tags")
    if not isinstance(tags, Mapping) or "min" not in tags or "max" not in tags:
        for group in _machines(declared, size, amount(at(inputs, "sku", "capacity"), 1), priority):
            yield _autoscaled(group, declared.references) if declared.references else group
        return
    group = NodeGroup(
        name=_name_of(declared),
        cloud=CLOUD,
        gpus=Gpus(per_node=gpus_of_size(size)),
        scaling=Scaling(
            min_nodes=amount(tags["min"]),
            max_nodes=whole(tags["max"]),
            capacity_type=capacity_type(_is(priority, "Spot")),
        ),
        initial_nodes=capacity,
        private=negation(_public_address(at(inputs, "virtualMachineProfile", "networkProfile"))),
        # What the kubelet registers with is in the machine's start-up script.
        nodes=Nodes(machine_types=(size,), zones=(), labels=UNKNOWN, taints=_tagged_taints(tags)),
        region=region_of(inputs.get("location")),
        idle=idle_of_tags(tags),
        unknown_reasons=reasons_for(CLOUD, gpus_of_size(size), size),
        resource=declared.urn,
    )
    resized = _autoscaled(group, declared.references).scaling.max_nodes
    most = group.scaling.max_nodes
    larger = UNKNOWN if resized is UNKNOWN or most is UNKNOWN else most if most is None else max(most, resized or 0)
    yield replace(group, scaling=replace(group.scaling, max_nodes=larger))


def _public_address(network: Any) -> Maybe[bool]:
    """Whether an interface of a scale set's machines has a public address; the API nests its parts in ``properties``.

    https://learn.microsoft.com/azure/virtual-machine-scale-sets/virtual-machine-scale-sets-networking
    """
    interfaces = items(at(network, "networkInterfaceConfigurations"))
    addresses = [each for interface in interfaces for each in items(_part(interface, "ipConfigurations"))]
    given = (_part(address, "publicIPAddressConfiguration") for address in addresses)
    return either(UNKNOWN if each is UNKNOWN else each is not None for each in given)


def _part(whole: Any, name: str) -> Any:
    return coalesce(at(whole, name), at(whole, "properties", name))


def read_capacity_reservation(declared: Declared) -> Iterable[Item]:
    """``azure-native:compute:CapacityReservation``, billed like its machines, used or not.

    https://learn.microsoft.com/azure/virtual-machines/capacity-reservation-overview#pricing-and-billing
    """
    sku = declared.properties.get("sku")
    size, held = text(at(sku, "name")), amount(at(sku, "capacity"))
    what, region = f"capacity reservation '{declared.name}'", region_of(declared.properties.get("location"))
    yield Reservation(what, held, gpus_of_size(size), size, declared.urn, cloud=CLOUD, region=region)


def read_dedicated_host(declared: Declared) -> Iterable[Item]:
    """``azure-native:compute:DedicatedHost``, a whole host of a series (``NDamsrA100v4-Type1``), billed as such.

    https://learn.microsoft.com/azure/virtual-machines/dedicated-hosts#pricing
    """
    inputs = declared.properties
    kind = text(coalesce(inputs.get("skuName"), at(inputs, "sku", "name")))
    series = str(kind).lower()
    gpus = most_gpus(CLOUD) if series.startswith(("nc", "nd", "nv")) and not series.startswith("nvasv4") else 0
    what, region = f"dedicated host '{declared.name}'", region_of(inputs.get("location"))
    yield Reservation(what, 1, UNKNOWN if kind is UNKNOWN else gpus, kind, declared.urn, cloud=CLOUD, region=region)


def read_setting(declared: Declared) -> Iterable[Item]:
    """``azure-native:monitor:AutoscaleSetting`` and ``azure:monitoring/autoscaleSetting:AutoscaleSetting``.

    It keeps machines of a scale set against the cluster's autoscaler:
    https://learn.microsoft.com/azure/azure-monitor/autoscale/autoscale-understanding-settings
    """
    inputs = declared.properties
    if is_false(inputs.get("enabled")) is True:
        return
    target = text(coalesce(*(inputs.get(name) for name in _TARGETS)))
    for number, profile in enumerate(items(inputs.get("profiles"))):
        yield Minimum(
            what=f"autoscale setting '{declared.name}'",
            nodes=amount(at(profile, "capacity", "minimum")),
            group=last_of(target),
            declared_at=tuple(urn for name in _TARGETS for urn in declared.dependencies.get(name, ())),
            where=f"profiles[{number}].capacity.minimum",
            # That of a known scale set is read with it.
            most=amount(at(profile, "capacity", "maximum")) if target is UNKNOWN else 0,
            resource=declared.urn,
        )


def _autoscaled(machines: NodeGroup, settings: Iterable[Declared]) -> NodeGroup:
    """The machines of a scale set that autoscale settings resize; their minimum is read with the setting."""
    profiles = [profile for setting in settings for profile in items(setting.properties.get("profiles"))]
    sizes = [amount(at(profile, "capacity", "maximum")) for profile in profiles]
    known = [size for size in sizes if size is not UNKNOWN]
    most = max(known, default=0) if len(known) == len(sizes) else UNKNOWN
    return replace(machines, scaling=replace(machines.scaling, autoscaled=True, max_nodes=most))


def _settings(scale_set: Declared, everything: Program) -> Iterable[Declared]:
    for setting in everything.of_kinds("AutoscaleSetting"):
        if is_false(setting.properties.get("enabled")) is True:
            continue
        for key in _TARGETS:
            target = last_of(text(setting.properties.get(key)))
            by_name = isinstance(target, str) and target == _name_of(scale_set)
            if by_name or scale_set.urn in setting.dependencies.get(key, ()):
                yield setting


RESIZED: Final = Referrer(refers=lambda _: True, finds=_settings)


def read_generic(declared: Declared) -> Iterable[Item]:
    """``azure-native:resources:Resource``: any resource, with the API's own type and properties."""
    inputs = declared.properties
    namespace, kind = inputs.get("resourceProviderNamespace"), inputs.get("resourceType")
    reader = _GENERIC.get(f"{namespace}/{kind}".lower())
    body = inputs.get("properties")
    if reader is None or not isinstance(body, Mapping):
        return
    names = {"resourceName": inputs.get("resourceName")}
    if reader is read_agent_pool:
        parent = text(inputs.get("parentResourcePath"))
        cluster = last_of(parent)
        names = {"resourceName": cluster, "agentPoolName": inputs.get("resourceName")}
    outer = {key: inputs[key] for key in ("location", "sku", "tags") if key in inputs}
    yield from reader(replace(declared, properties={**body, **outer, **names}))


_GENERIC: Final[Mapping[str, Reader]] = {
    "microsoft.containerservice/managedclusters": read_cluster,
    "microsoft.containerservice/managedclusters/agentpools": read_agent_pool,
    "microsoft.containerservice/agentpools": read_agent_pool,
    "microsoft.compute/capacityreservationgroups/capacityreservations": read_capacity_reservation,
    "microsoft.compute/hostgroups/hosts": read_dedicated_host,
    "microsoft.compute/virtualmachines": read_virtual_machine,
    "microsoft.compute/virtualmachinescalesets": read_scale_set,
    "microsoft.insights/autoscalesettings": read_setting,
}


def read_update(declared: Declared) -> Iterable[Item]:
    """``azapi:index/updateResource:UpdateResource`` of a cluster or agent pool: the numbers of nodes that it sets. All
    that it sets is read with the cluster or pool that it changes; of one that the program has not, it is not evaluated.

    https://registry.terraform.io/providers/Azure/azapi/latest/docs/resources/update_resource
    """
    inputs, body = declared.properties, at(parsed(declared.properties.get("body")), "properties")
    of_pool = _kind(inputs.get("type")) == _POOL
    for key in ("minCount", "count") if of_pool else ():
        number = at(body, key)
        if number is not None:
            sources = tuple(urn for key in ("name", "resourceId") for urn in declared.dependencies.get(key, ()))
            what, where = f"update '{declared.name}'", f"body.properties.{key}"
            update = Minimum(what, amount(number), _target(inputs)[1], where=where, resource=declared.urn)
            yield replace(update, declared_at=sources)
    judged = [key for key in (OF_POOLS if of_pool else OF_CLUSTERS) if at(body, *key.split(".")) is not None]
    if judged and not declared.references and _kind(inputs.get("type")) in (_POOL, _CLUSTER):
        what = "an agent pool" if of_pool else "a cluster"
        why = f"it changes {', '.join(judged)} of {what} that is not known to be in this program"
        yield NotEvaluated(f"UpdateResource '{declared.name}'", UnknownReason(why, _NAME_IT), declared.urn)


UPDATE: Final = "azure-native:containerservice:UpdateResource"
"""No type of the provider: an update by azapi of a cluster or an agent pool, as it is written."""
_CLUSTER: Final = "microsoft.containerservice/managedclusters"
_POOL: Final = f"{_CLUSTER}/agentpools"
_TARGET: Final = re.compile(r"/managedclusters/(?P<cluster>[^/]+)(?:/agentpools/(?P<pool>[^/]+))?/?", re.IGNORECASE)
_NAME_IT: Final = "Write it where the cluster or pool is declared, or exempt it by name, with a reason."
# What rules read of them; an update of anything else changes nothing for them.
OF_CLUSTERS: Final = (
    "addonProfiles.aciConnectorLinux",
    "addonProfiles.httpApplicationRouting",
    "addonProfiles.ingressApplicationGateway",
    "agentPoolProfiles",
    "apiServerAccessProfile",
    "autoScalerProfile",
    "disableLocalAccounts",
    "diskEncryptionSetID",
    "ingressProfile.webAppRouting",
    "networkProfile",
    "nodeProvisioningProfile",
    "publicNetworkAccess",
    "securityProfile.azureKeyVaultKms",
    "serviceMeshProfile.istio",
    "sku",
)
OF_POOLS: Final = (
    "enableAutoScaling",
    "enableEncryptionAtHost",
    "enableNodePublicIP",
    "gpuInstanceProfile",
    "maxCount",
    "mode",
    "nodeLabels",
    "nodeTaints",
    "scaleDownMode",
    "scaleSetPriority",
    "securityProfile",
    "virtualMachinesProfile",
    "vmSize",
)


def _kind(type: Any) -> str:
    return str(type).partition("@")[0].lower()


def _updated(properties: Mapping[str, Any], updates: Iterable[Declared], pool: Maybe[str | None] = None) -> Any:
    """The properties of a cluster, or of its pool of this name, with what azapi's updates set of them."""
    kind = _CLUSTER if pool is None else _POOL
    bodies = [
        at(parsed(inputs.get("body")), "properties")
        for inputs in (update.properties for update in updates)
        if _kind(inputs.get("type")) == kind and (pool is None or _target(inputs)[1] in (UNKNOWN, pool))
    ]
    anything = {key.partition(".")[0]: UNKNOWN for key in (OF_CLUSTERS if pool is None else OF_POOLS)}
    # Azure refuses one that is no object.
    known = (anything if body is UNKNOWN else body for body in bodies if body is UNKNOWN or isinstance(body, Mapping))
    return merged(properties, reduce(_in_any_order, known, None))


def _in_any_order(one: Any, other: Any) -> Any:
    """What updates leave that run at once: which of two values stays is not known."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return {**one, **{key: _in_any_order(one.get(key), part) for key, part in other.items()}}
    return one if other is None or one == other else other if one is None else UNKNOWN


def merged(under: Any, over: Any) -> Any:
    """A value with what another one sets in it, as azapi merges bodies."""
    if not isinstance(over, Mapping) or not isinstance(under, Mapping):
        return under if over is None else over
    return {**under, **{key: merged(under.get(key), part) for key, part in over.items()}}


def _target(inputs: Mapping[str, Any]) -> tuple[Maybe[str | None], Maybe[str | None]]:
    """The names of the cluster and the pool that azapi's update changes, in lower case, as Azure compares them."""
    whole_id, parent, name = (text(inputs.get(key)) for key in ("resourceId", "parentId", "name"))
    of_pool = _kind(inputs.get("type")) == _POOL
    if whole_id is None:
        below = lower(name), last_of(parent)
        return (below[1], below[0]) if of_pool else (below[0], None)
    named = None if whole_id is UNKNOWN else _TARGET.search(whole_id)
    if named is None:
        return UNKNOWN, UNKNOWN if of_pool else None
    return lower(named["cluster"]), lower(named["pool"])


def _named_in(declared: Declared) -> tuple[Maybe[str | None], Maybe[str | None]]:
    """The same of a declared cluster or pool, in the words of any provider."""
    inputs = declared.properties
    if declared.kind in ("ManagedCluster", "KubernetesCluster"):
        return lower(coalesce(text(inputs.get("resourceName")), text(inputs.get("name")), declared.name)), None
    above = [text(inputs.get(key)) for key in ("parentResourcePath", "kubernetesClusterId", "resourceName")]
    own = [text(inputs.get(key)) for key in ("agentPoolName", "name")]
    if declared.kind == "Resource":
        own, above = [text(inputs.get("resourceName"))], above[:1]
        if str(inputs.get("resourceType")).lower() == "managedclusters":
            return lower(own[0]), None
    return last_of(coalesce(*above)), lower(coalesce(*own, declared.name))


def _updates(resource: Declared, everything: Program) -> Iterable[Declared]:
    return (each for each in everything.of(UPDATE) if _changes(each, resource))


def _changed(update: Declared, everything: Program) -> Iterable[Declared]:
    kinds = ("ManagedCluster", "AgentPool", "KubernetesCluster", "KubernetesClusterNodePool", "Resource")
    return (each for each in everything.of_kinds(*kinds) if _changes(update, each))


def _changes(update: Declared, resource: Declared) -> bool:
    """Whether the update is of this resource, or of a pool that this cluster lists."""
    if resource.urn in update.dependencies.get("resourceId", ()):
        return True
    (cluster, pool), (own_cluster, own_pool) = _target(update.properties), _named_in(resource)
    of_cluster = resource.urn in update.dependencies.get("parentId", ()) or (
        cluster is not UNKNOWN and (cluster == own_cluster or own_cluster is UNKNOWN)
    )
    if own_pool is not None:
        return pool is not UNKNOWN and pool == own_pool and (of_cluster or cluster is UNKNOWN)
    listed = (lower(text(at(each, "name"))) for each in items(resource.properties.get("agentPoolProfiles")))
    return of_cluster and (pool is None or pool in listed)


UPDATED: Final = Referrer(refers=lambda _: True, finds=_updates, waits=False)
GENERIC: Final = (read_generic,)
REFERRERS: Final[Mapping[str, Referrer]] = {
    "azure-native*:compute*:VirtualMachineScaleSet": RESIZED,
    "azure-native*:containerservice*:ManagedCluster": UPDATED,
    "azure-native*:containerservice*:AgentPool": UPDATED,
    "azure-native:resources:Resource": UPDATED,
    UPDATE: Referrer(refers=lambda _: True, finds=_changed),
}

# The API version is part of the token (containerservice/v20250901) or of the package (azure-native_containerservice_…).
READERS: Final[Mapping[str, Reader]] = {
    "azure-native*:containerservice*:ManagedCluster": read_cluster,
    "azure-native*:containerservice*:AgentPool": read_agent_pool,
    "azure-native*:compute*:CapacityReservation": read_capacity_reservation,
    "azure-native*:compute*:DedicatedHost": read_dedicated_host,
    "azure-native*:compute*:VirtualMachine": read_virtual_machine,
    "azure-native*:compute*:VirtualMachineScaleSet": read_scale_set,
    "azure-native*:insights*:AutoscaleSetting": read_setting,
    "azure-native*:monitor*:AutoscaleSetting": read_setting,
    "azure-native*:resources*:Resource": read_generic,
    UPDATE: read_update,
}


def pool_groups(pool: Mapping[str, Any], name: str, common: NodeGroup) -> Iterable[NodeGroup]:
    """An agent pool as a node group; one of single machines (``virtualMachinesProfile``) as one group per size.

    ``common`` is what all pools of the cluster have.
    """
    scale = at(pool, "virtualMachinesProfile", "scale")
    entries = [(entry, False) for entry in items(at(scale, "manual"))]
    autoscale = at(scale, "autoscale")
    entries += [(entry, True) for entry in (items(autoscale) or ([autoscale] if autoscale else []))]
    if not entries:
        yield _group(pool, name, common)
    for one, autoscaled in entries:
        entry = mapping(one)
        if entry is UNKNOWN:
            yield unknown_group(name, common.resource)
            continue
        sized = {
            **pool,
            **entry,
            "vmSize": entry.get("size"),
            "enableAutoScaling": autoscaled,
            "count": 0 if autoscaled else entry.get("count"),
        }
        label = name if len(entries) == 1 else f"{name} {entry.get('size')}"
        yield _group(sized, label, common)


def unknown_group(name: str, urn: str) -> NodeGroup:
    """A group with every value unknown until the update."""
    return NodeGroup(
        name,
        CLOUD,
        gpus=Gpus(per_node=UNKNOWN),
        nodes=Nodes(machine_types=(None,), zones=(), labels={}, taints=UNKNOWN),
        scaling=Scaling(autoscaled=False, min_nodes=UNKNOWN, max_nodes=None),
        resource=urn,
    )


def lower(name: Maybe[str | None]) -> Maybe[str | None]:
    """A name or an ID as Azure compares them, which ignores their case.

    https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
    """
    return name.lower() if isinstance(name, str) else name


def last_of(id: Maybe[str | None]) -> Maybe[str | None]:
    """The name of the resource that an ID ends with, as Azure compares it."""
    return lower(id.rpartition("/")[2]) if isinstance(id, str) else id


def region_of(location: Any) -> Maybe[str | None]:
    """Azure takes ``West Europe`` for ``westeurope``."""
    return UNKNOWN if location is UNKNOWN else (str(location).replace(" ", "").lower() if location else None)


def _group(pool: Mapping[str, Any], name: str, common: NodeGroup) -> NodeGroup:
    size = text(pool.get("vmSize"))
    gpus = gpus_of_size(size)
    if gpus is UNKNOWN and size is not UNKNOWN and at(pool, "gpuInstanceProfile") is not None:
        gpus = most_gpus(CLOUD)  # only GPUs are divided into instances
    spot = _is(pool.get("scaleSetPriority"), "Spot")
    # A pool for system pods cannot be empty: https://learn.microsoft.com/azure/aks/use-system-pools
    system = _is(pool.get("mode"), "System")
    zones = items(pool.get("availabilityZones"))
    return replace(
        common,
        name=name,
        gpus=replace(common.gpus, per_node=gpus, mig=_slice(pool.get("gpuInstanceProfile"))),
        scaling=replace(
            common.scaling,
            autoscaled=flag(pool.get("enableAutoScaling")),
            min_nodes=_least(system, amount(pool.get("minCount"))),
            max_nodes=whole(pool.get("maxCount")),
            capacity_type=capacity_type(spot),
        ),
        for_system_pods=system,
        initial_nodes=amount(pool.get("count"), _DEFAULT_COUNT),
        deletes_nodes=negation(_is(pool.get("scaleDownMode"), "Deallocate")),
        nodes=replace(
            common.nodes,
            taints=_taints(pool.get("nodeTaints"), spot),
            labels=_labels(pool, name, gpus, spot),
            zones=() if UNKNOWN in zones else tuple(str(zone) for zone in zones),
            machine_types=(size,),
        ),
        private=negation(flag(pool.get("enableNodePublicIP"))),
        disk_encrypted=True,  # always: https://learn.microsoft.com/azure/virtual-machines/disk-encryption
        encrypted_at_host=flag(pool.get("enableEncryptionAtHost")),
        verified_boot=_verified_boot(pool, size, gpus),
        cloud_label_domains=LABEL_DOMAINS,
        unknown_reasons=reasons_for(CLOUD, gpus, size),
    )


def _slice(profile: Any) -> str | None:
    """``MIG1g`` to ``MIG7g``: https://learn.microsoft.com/azure/aks/gpu-multi-instance."""
    name = str(profile).lower().removeprefix("mig")
    return name if name in MIG_SLICES else None


def _verified_boot(pool: Mapping[str, Any], size: Maybe[str | None], gpus: Maybe[int]) -> Maybe[bool]:
    """A virtual TPM and secure boot, both off unless declared; AKS's driver for Ubuntu is not signed.

    https://learn.microsoft.com/azure/aks/use-trusted-launch
    """
    boot = mapping(pool.get("securityProfile"))
    unsigned = UNKNOWN if gpus is UNKNOWN else gpus > 0
    secure = either((flag(at(boot, "enableSecureBoot")), unsigned))
    return either((without_trusted_launch(size), both((flag(at(boot, "enableVTPM")), secure))))


def _least(system: Maybe[bool], least: Maybe[int]) -> Maybe[int]:
    """The smallest size: a pool for system pods is never empty, even if its declaration says 0."""
    if system is UNKNOWN or least is UNKNOWN:
        return UNKNOWN
    return max(1, least) if system else least


def _name_of(scale_set: Declared) -> str:
    names = (lower(text(scale_set.properties.get(name))) for name in _NAMES)
    return next((name for name in names if isinstance(name, str)), scale_set.name.lower())


def _machines(declared: Declared, size: Maybe[str | None], count: Maybe[int], priority: Any) -> Iterable[NodeGroup]:
    gpus = gpus_of_size(size)
    if gpus != 0:
        yield NodeGroup(
            name=_name_of(declared),
            cloud=CLOUD,
            kind="machine",
            gpus=Gpus(per_node=gpus),
            initial_nodes=count,
            scaling=Scaling(autoscaled=False, capacity_type=capacity_type(_is(priority, "Spot")), max_nodes=None),
            region=region_of(declared.properties.get("location")),
            nodes=Nodes(machine_types=(size,), zones=(), labels={}),
            disk_encrypted=True,
            encrypted_at_host=either(flag(at(declared.properties, *path)) for path in _AT_HOST),
            unknown_reasons=reasons_for(CLOUD, gpus, size),
            resource=declared.urn,
        )


def _by_gpus(size: Maybe[str | None]) -> tuple[bool, int]:
    """Orders sizes: one that surely has GPUs decides, then one that may have some."""
    gpus = gpus_of_size(size)
    return (False, 1) if gpus is UNKNOWN else (gpus > 0, 0 if gpus == 0 else gpus)


def _taints(value: Any, spot: Maybe[bool]) -> Maybe[tuple[Taint, ...]]:
    """``key=value:Effect`` each, and a Spot pool's own. ``nodeInitializationTaints`` do not last: they do not count."""
    taints = []
    for entry in items(value):
        if entry is UNKNOWN:
            return UNKNOWN
        if (taint := parse_taint(str(entry))) is not None:
            taints.append(taint)
    if spot is True and _SPOT not in taints:
        taints.append(_SPOT)
    return tuple(taints)


def _tagged_taints(tags: Mapping[str, Any]) -> Maybe[tuple[Taint, ...]]:
    taints = []
    for tag, value in tags.items():
        if not tag.startswith(_TAINT_TAG):
            continue
        if value is UNKNOWN:
            return UNKNOWN
        key = tag.removeprefix(_TAINT_TAG).replace("_", "/", 1)  # a tag's name takes no slash
        if (taint := parse_taint(f"{key}={value}")) is not None:
            taints.append(taint)
    return tuple(taints)


def _labels(pool: Mapping[str, Any], name: str, gpus: Maybe[int], spot: Maybe[bool]) -> Maybe[Texts]:
    """Declared labels, and those AKS adds: https://learn.microsoft.com/azure/aks/use-labels."""
    declared = texts(pool.get("nodeLabels"))
    if declared is UNKNOWN:
        return UNKNOWN
    system, size = _is(pool.get("osType"), "Windows"), text(pool.get("vmSize"))
    labels: Texts = {"agentpool": name, "kubernetes.azure.com/agentpool": name}
    if system is not UNKNOWN:
        labels["kubernetes.io/os"] = "windows" if system else "linux"
    if gpus is not UNKNOWN:
        maker = "nvidia" if resource_of_machines(CLOUD, [size]) == GPU_RESOURCE else "amd"
        accelerator = maker if gpus else None
        labels["accelerator"] = labels["kubernetes.azure.com/accelerator"] = accelerator
    if spot is not UNKNOWN:
        labels["kubernetes.azure.com/scalesetpriority"] = "spot" if spot else None
    if size is not None:
        labels["node.kubernetes.io/instance-type"] = size
    return {**labels, **declared}


def _open_api(cluster: Mapping[str, Any]) -> Maybe[bool]:
    """Whether the API server answers everyone: neither private nor limited to address ranges."""
    access = cluster.get("apiServerAccessProfile")
    private, ranges = flag(at(access, "enablePrivateCluster")), at(access, "authorizedIPRanges")
    if private is True or UNKNOWN in (private, ranges):
        return False if private is True else UNKNOWN
    return open_to_internet(items(ranges)) if ranges else True


def _network_policies(cluster: Mapping[str, Any]) -> Maybe[bool]:
    """https://learn.microsoft.com/azure/aks/use-network-policies; AKS Automatic has Cilium."""
    engine = text(at(cluster, "networkProfile", "networkPolicy"))
    named = UNKNOWN if engine is UNKNOWN else lower(engine) not in (None, "none")
    return either((named, _is(at(cluster, "sku", "name"), "Automatic")))


def _is(value: Any, expected: str) -> Maybe[bool]:
    """Whether a value of an enumeration is this one, in any case."""
    return UNKNOWN if value is UNKNOWN else isinstance(value, str) and value.lower() == expected.lower()


ADDITIONS: Final[Mapping[str, Additions]] = {
    "azure-native:containerservice:AgentPool": Additions("nodeTaints", "nodeLabels", spelled=str)
}
