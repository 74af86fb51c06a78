"""Reads Cluster API: MachinePools, MachineDeployments and MachineSets with the machines and boot data they refer to.

The autoscaler's bounds are annotations:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/clusterapi/README.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from facts.concepts.declared import NodeGroup, UnknownReason
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    Texts,
    at,
    coalesce,
    either,
    flag,
    holds_unknown,
    items,
    negation,
    text,
    texts,
    whole,
)
from policies.readers.aks.facts import CLOUD as AZURE
from policies.readers.aks.facts import gpus_of_size
from policies.readers.eks.template import (
    Choice,
    TemplateMachines,
    choices_of,
    machines,
    pods_reach,
    typed,
    with_registered,
)
from policies.readers.gke.facts import CLOUD as GOOGLE
from policies.readers.gke.facts import whole_machine_gpus
from policies.readers.kubernetes.objects import apart
from policies.readers.node_registration import parsed_labels, parsed_taints
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import Spelling, respelled
from policies.readers.taints import CONSTANTS, EFFECTS, taints_of
from policies.readers.unknown_reasons import reason_for

CLOUD: Final = "cluster-api"
_SCALER: Final = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-"
_GPU_COUNT: Final = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
_SETS: Final = ("MachineDeployment", "MachineSet", "MachinePool")
_VERSIONS: Final = ("v1alpha4", "v1beta1", "v1beta2")
# Infrastructure that has no GPUs at all: containers, and machines that are only simulated.
# How each cloud's machines say that they have a public address.
_PUBLIC: Final = ("allocatePublicIP", "enableNodePublicIP", "publicIP")
_WITHOUT_GPUS: Final = ("Docker", "Dev", "InMemory")


def read_machines(declared: Declared) -> Iterable[Item]:
    """A set of machines that share one template; one for each template and boot data that its references may mean."""
    machine = at(declared.properties, "spec", "template", "spec")
    for infrastructure in _referenced(declared, at(machine, "infrastructureRef")):
        for bootstrap in _referenced(declared, at(machine, "bootstrap", "configRef")):
            yield _group_of(declared, infrastructure, bootstrap)


def _group_of(declared: Declared, infrastructure: Declared | None, bootstrap: Declared | None) -> NodeGroup:
    properties = declared.properties
    spec, metadata = properties.get("spec"), properties.get("metadata")
    machine = at(spec, "template", "spec")
    annotations = at(metadata, "annotations")
    least, most = _bound(annotations, "min-size"), _bound(annotations, "max-size")
    scaled: Maybe[bool] = UNKNOWN if annotations is UNKNOWN else least is not None and most is not None
    scaling = _own_scaling(infrastructure)
    if scaled is False and scaling is not None:
        least, most, scaled = *scaling, True
    replicas = whole(at(spec, "replicas"))
    kinds = _machines(annotations, at(machine, "infrastructureRef"), infrastructure)
    return NodeGroup(
        name=declared.object_name,
        cloud=CLOUD,
        gpus=Gpus(per_node=kinds.gpus),
        other_gpus_per_node=kinds.other_gpus,
        scaling=Scaling(
            autoscaled=UNKNOWN if scaled is UNKNOWN else scaled and (least is UNKNOWN or least != most),
            min_nodes=0 if least is None else least,
            max_nodes=most,
        ),
        # Cluster API sets one replica where nothing is said, and the autoscaler's minimum where there is one.
        initial_nodes=(0 if scaled is not False else 1) if replicas is None else replicas,
        nodes=Nodes(
            machine_types=(None,),
            zones=(),
            labels=_labels(spec, bootstrap, infrastructure),
            taints=_taints(at(machine, "taints"), at(machine, "bootstrap", "configRef"), bootstrap, infrastructure),
        ),
        private=negation(_has(infrastructure, _PUBLIC)),
        pods_as_nodes=_pods_reach(infrastructure),
        cluster=text(at(spec, "clusterName")),
        cloud_label_domains=("kubernetes.io", "k8s.io"),
        unknown_reasons=_unknown_reasons(kinds, at(machine, "bootstrap", "configRef"), bootstrap),
        resource=declared.urn,
    )


def in_resource_set(declared: Declared) -> Iterable[Declared]:
    """``ClusterResourceSet``, which applies what ConfigMaps and Secrets hold.

    https://cluster-api.sigs.k8s.io/tasks/cluster-resource-set
    """
    keys = ("data", "binaryData", "stringData")
    held = [reference.properties.get(key) for reference in declared.references for key in keys]
    return apart(declared, held, declared.properties)


_RESOURCE_SET: Final = "kubernetes:addons.cluster.x-k8s.io/*:ClusterResourceSet"
READERS: Final[Mapping[str, Reader]] = {
    **{f"kubernetes:cluster.x-k8s.io/{version}:{kind}": read_machines for version in _VERSIONS for kind in _SETS},
}


def _one_machine(declared: Declared) -> Iterable[Declared]:
    """``Machine``: as a set of one, which no autoscaler resizes."""
    spec = declared.properties.get("spec")
    if isinstance(spec, Mapping):
        same = {"clusterName": spec.get("clusterName"), "replicas": 1, "template": {"spec": spec}}
        set_type = declared.type.replace(":Machine", ":MachineSet")
        yield respelled(declared, set_type, {**declared.properties, "spec": same})


def _control_plane(type_token: str, properties: Callable[[Any], Mapping[str, Any]]) -> Spelling:
    """A cloud's managed control plane as that cloud's own cluster."""

    def spelled(declared: Declared) -> Iterable[Declared]:
        spec = declared.properties.get("spec")
        yield respelled(declared, type_token, {"name": declared.object_name, **properties(spec)})

    return spelled


def _amazons_cluster(spec: Any) -> Mapping[str, Any]:
    """https://cluster-api-aws.sigs.k8s.io/crd, public where it says nothing."""
    access, encryption = at(spec, "endpointAccess"), at(spec, "encryptionConfig")
    return {
        "name": coalesce(at(spec, "eksClusterName"), UNKNOWN),
        "region": at(spec, "region"),
        "vpcConfig": {"endpointPublicAccess": at(access, "public"), "publicAccessCidrs": at(access, "publicCIDRs")},
        "encryptionConfig": {"provider": {"keyArn": at(encryption, "provider")}},
    }


def _azures_cluster(spec: Any) -> Mapping[str, Any]:
    """https://capz.sigs.k8s.io/reference/v1beta1-api"""
    shared = {key: at(spec, key) for key in ("apiServerAccessProfile", "disableLocalAccounts", "location")}
    return {**shared, "networkProfile": {"networkPolicy": at(spec, "networkPolicy")}}


def _googles_cluster(spec: Any) -> Mapping[str, Any]:
    """https://cluster-api-gcp.sigs.k8s.io/managed/"""
    networks = at(spec, "master_authorized_networks_config")
    blocks = [{"cidrBlock": at(block, "cidr_block")} for block in items(at(networks, "cidr_blocks"))]
    public = at(networks, "gcp_public_cidrs_access_enabled")
    return {
        "name": coalesce(at(spec, "clusterName"), UNKNOWN),
        "location": at(spec, "location"),
        "enableAutopilot": at(spec, "enableAutopilot"),
        "privateClusterConfig": at(spec, "clusterNetwork", "privateCluster"),
        "masterAuthorizedNetworksConfig": None
        if networks is None
        else {"cidrBlocks": blocks, "gcpPublicCidrsAccessEnabled": public},
        # Its pools are declared by themselves.
        "removeDefaultNodePool": True,
        "nodeConfig": {"serviceAccount": UNKNOWN},
    }


SPELLINGS: Final[Mapping[str, Spelling]] = {
    **{f"kubernetes:cluster.x-k8s.io/{version}:Machine": _one_machine for version in _VERSIONS},
    _RESOURCE_SET: in_resource_set,
    "kubernetes:*cluster.x-k8s.io/*:AWSManagedControlPlane": _control_plane(
        "aws:eks/cluster:Cluster", _amazons_cluster
    ),
    "kubernetes:*cluster.x-k8s.io/*:AzureManagedControlPlane": _control_plane(
        "azure-native:containerservice:ManagedCluster", _azures_cluster
    ),
    "kubernetes:*cluster.x-k8s.io/*:GCPManagedControlPlane": _control_plane(
        "gcp:container/cluster:Cluster", _googles_cluster
    ),
}


def _parts(declared: Declared, everything: Program) -> Iterable[Declared]:
    machine = at(declared.properties, "spec", "template", "spec")
    for reference in (at(machine, "infrastructureRef"), at(machine, "bootstrap", "configRef")):
        yield from everything.meant(reference, declared)


def _applied(declared: Declared, everything: Program) -> Iterable[Declared]:
    listed = items(at(declared.properties, "spec", "resources"))
    return [other for each in listed for other in everything.meant({**each, "apiVersion": "v1"}, declared)]


REFERRERS: Final[Mapping[str, Referrer]] = {
    **{type_token: Referrer(refers=lambda _: True, finds=_parts) for type_token in READERS},
    _RESOURCE_SET: Referrer(refers=lambda _: True, finds=_applied, holds_theirs=True),
}


def _referenced(declared: Declared, reference: Any) -> Sequence[Declared | None]:
    """What the reference may mean; of several, those that are certainly in the same cluster."""
    found = Program(declared.references).meant(reference, declared)
    return [each for each in found if each.certain] or found or [None]


def _bound(annotations: Any, which: str) -> Maybe[int | None]:
    return whole(at(annotations, _SCALER + which))


def _own_scaling(infrastructure: Declared | None) -> tuple[Maybe[int | None], Maybe[int | None]] | None:
    """Bounds that a managed pool of the cloud scales within by itself."""
    spec = infrastructure.properties.get("spec") if infrastructure else None
    scaling = coalesce(at(spec, "scaling"), spec)  # a pool of Amazon's own groups has them in its spec
    for low, high in (("minSize", "maxSize"), ("minCount", "maxCount")):
        if at(scaling, high) is not None:
            return whole(at(scaling, low), default=0), whole(at(scaling, high))
    return None


def _spec_of(infrastructure: Declared | None) -> Any:
    spec = infrastructure.properties.get("spec") if infrastructure else None
    return at(spec, "template", "spec") if infrastructure and infrastructure.kind.endswith("Template") else spec


def _has(infrastructure: Declared | None, switches: Iterable[str]) -> Maybe[bool]:
    return either(flag(at(_spec_of(infrastructure), switch)) for switch in switches)


def _pods_reach(infrastructure: Declared | None) -> Maybe[bool]:
    """Whether machines of Amazon say that they give their credentials to pods."""
    options = at(_spec_of(infrastructure), "instanceMetadataOptions")
    return options is not None and pods_reach(options)


def _unknown_reasons(kinds: TemplateMachines, reference: Any, bootstrap: Declared | None) -> dict[str, UnknownReason]:
    reasons = {} if kinds.unknown_reason is None else {"gpus_per_node": kinds.unknown_reason}
    if reference is not None and not holds_unknown(reference) and bootstrap is None:
        reasons["taints"] = _not_declared(reference)
    return reasons


def _not_declared(reference: Any) -> UnknownReason:
    what = f"{at(reference, 'kind')} '{at(reference, 'name')}'"
    return UnknownReason(f"its {what} is not declared in this program", f"Declare the {what} in this program.")


def _machines(annotations: Any, reference: Any, infrastructure: Declared | None) -> TemplateMachines:
    """GPUs per machine: the annotation for the autoscaler, or what the machine type has."""
    annotated_gpus = whole(at(annotations, _GPU_COUNT))
    if annotated_gpus is not None and annotated_gpus is not UNKNOWN and annotated_gpus > 0:
        return TemplateMachines(annotated_gpus, (), None)
    if infrastructure is None:
        kind = text(at(reference, "kind"))
        if isinstance(kind, str) and kind.startswith(_WITHOUT_GPUS):
            return TemplateMachines(0, (), None)
        known = reference is not None and not holds_unknown(reference)
        return TemplateMachines(UNKNOWN, (), None, unknown_reason=_not_declared(reference) if known else None)
    annotated = whole(at(infrastructure.properties, "metadata", "annotations", _GPU_COUNT))
    kind = infrastructure.type.rpartition(":")[2]
    spec = infrastructure.properties.get("spec")
    machine = at(spec, "template", "spec") if kind.endswith("Template") else spec
    for prefix, count in _BY_PROVIDER.items():
        if kind.startswith(prefix):
            return machines(tuple(count(machine)))
    if annotated_gpus is UNKNOWN or annotated is UNKNOWN:
        return TemplateMachines(UNKNOWN, (), None)
    claims = [count for count in (annotated_gpus, annotated) if count is not None]
    unknown_reason = UnknownReason(
        f"it is unknown which {kind} has GPUs", f"Annotate the {kind} with {_GPU_COUNT}, 0 for none."
    )
    return TemplateMachines(max(claims, default=UNKNOWN), (), None, unknown_reason=None if claims else unknown_reason)


def _amazon(machine: Any) -> Iterable[Choice]:
    overrides = items(at(machine, "mixedInstancesPolicy", "overrides"))
    listed = [choice for entry in overrides for choice in choices_of(entry)]
    kind = text(coalesce(at(machine, "instanceType"), at(machine, "awsLaunchTemplate", "instanceType")))
    return listed or [typed(kind)]


def _google(machine: Any) -> Iterable[Choice]:
    kind = text(coalesce(at(machine, "instanceType"), at(machine, "machineType")))
    counts = [whole(at(entry, "count"), default=0) for entry in items(at(machine, "guestAccelerators"))]
    attached = sum(count if isinstance(count, int) else 1 for count in counts)
    gpus = attached or whole_machine_gpus(kind)
    yield Choice(gpus, kind, None if attached else reason_for(GOOGLE, gpus, kind))


def _microsoft(machine: Any) -> Iterable[Choice]:
    size = text(coalesce(at(machine, "vmSize"), at(machine, "sku"), at(machine, "template", "vmSize")))
    gpus = gpus_of_size(size)
    yield Choice(gpus, size, reason_for(AZURE, gpus, size))


_BY_PROVIDER: Final[Mapping[str, Callable[[Any], Iterable[Choice]]]] = {
    **{prefix: lambda _: (Choice(0),) for prefix in _WITHOUT_GPUS},
    "AWS": _amazon,
    "GCP": _google,
    "Azure": _microsoft,
}


def _taints(
    own: Any, reference: Any, bootstrap: Declared | None, infrastructure: Declared | None
) -> Maybe[tuple[Taint, ...]]:
    """Taints of the machines themselves, of their kubelets' registration, and of a managed pool."""
    pool = at(infrastructure.properties, "spec") if infrastructure else None
    elsewhere = reference is not None and bootstrap is None
    declared = with_registered(taints_of(own), _managed_taints(pool))
    return with_registered(declared, UNKNOWN if elsewhere else _registered(bootstrap))


def _registered(bootstrap: Declared | None) -> Maybe[tuple[Taint, ...]]:
    if bootstrap is None:
        return ()
    listed = taints_of(at(_registration(bootstrap), "taints"))
    flag = _kubelet_argument(bootstrap, "register-with-taints")
    if listed is UNKNOWN or flag is UNKNOWN:
        return UNKNOWN
    return (*listed, *parsed_taints(flag or ""))


def _registration(bootstrap: Declared) -> Any:
    """What the node registers with, of a ``KubeadmConfigTemplate``, a ``KubeadmConfig`` or an ``EKSConfigTemplate``."""
    spec = bootstrap.properties.get("spec")
    config = at(spec, "template", "spec") if bootstrap.type.endswith("Template") else spec
    return coalesce(at(config, "joinConfiguration", "nodeRegistration"), config)


def _kubelet_argument(bootstrap: Declared, name: str) -> Maybe[str | None]:
    arguments = at(_registration(bootstrap), "kubeletExtraArgs")
    if isinstance(arguments, (list, tuple)):  # v1beta2: a list of {name, value}
        return next((text(at(entry, "value")) for entry in arguments if at(entry, "name") == name), None)
    return text(at(arguments, name))


def _managed_taints(pool: Any) -> Maybe[tuple[Taint, ...]]:
    entries = items(at(pool, "taints")) + items(at(pool, "kubernetesTaints"))
    if UNKNOWN in entries:
        return UNKNOWN
    spelled = [{**entry, "effect": _effect(at(entry, "effect"))} for entry in entries if isinstance(entry, Mapping)]
    return taints_of(spelled)


def _effect(value: Any) -> Any:
    """Kubernetes' spelling of an effect that Cluster API's providers write as ``no-schedule`` or ``NO_SCHEDULE``."""
    known = value is UNKNOWN or str(value) in EFFECTS
    return value if known else CONSTANTS.get(str(value).upper().replace("-", "_"))


def _labels(spec: Any, bootstrap: Declared | None, infrastructure: Declared | None) -> Maybe[Texts]:
    pool = infrastructure.properties.get("spec") if infrastructure else None
    labels: Texts = {}
    flag = _kubelet_argument(bootstrap, "node-labels") if bootstrap else None
    if flag is UNKNOWN:
        return UNKNOWN
    labels.update(parsed_labels(flag or ""))
    for source in (at(spec, "template", "metadata", "labels"), at(pool, "labels"), at(pool, "nodeLabels")):
        more = texts(source)
        if more is UNKNOWN:
            return UNKNOWN
        labels.update(more)
    return labels
