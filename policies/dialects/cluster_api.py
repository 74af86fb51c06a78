"""Reads Cluster API: MachinePools, MachineDeployments and MachineSets with the machines and boot data they refer to.

The autoscaler's bounds are annotations:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/clusterapi/README.md
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Cluster, NodeGroup, NotEvaluated, UnknownReason
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    Texts,
    at,
    both,
    coalesce,
    either,
    flag,
    holds_unknown,
    items,
    mappings_in,
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
from policies.readers.idle import idle_of_tags
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
# How each cloud's machines say that they have a public address.
_PUBLIC: Final = ("allocatePublicIP", "enableNodePublicIP", "publicIP")
# https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/exp/api/v1beta2/awsmanagedmachinepool_types.go
_PUBLIC_SUBNETS: Final = ("all", "public")
# Infrastructure that has no GPUs at all: containers, and machines that are only simulated.
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
        private=_private(infrastructure),
        idle=idle_of_tags(annotations, "annotation") if isinstance(annotations, Mapping) else None,
        pods_as_nodes=_pods_reach(infrastructure),
        cluster=text(at(spec, "clusterName")),
        cloud_label_domains=("kubernetes.io", "k8s.io"),
        unknown_reasons=_unknown_reasons(kinds, at(machine, "bootstrap", "configRef"), bootstrap),
        resource=declared.urn,
    )


def read_unused(declared: Declared) -> Iterable[Item]:
    """A pool or a template of machines with GPUs of which no object of the program makes any: another's may."""
    kinds = _by_type(declared)
    if declared.references or kinds is None or kinds.gpus is UNKNOWN or kinds.gpus == 0:
        return
    reason = UnknownReason(
        "it has GPUs, and what makes machines of it is not declared in this program",
        "Declare the MachinePool or MachineDeployment in this program, or exempt it by name.",
    )
    yield NotEvaluated(f"{declared.type} '{declared.name}'", reason, declared.urn)


def in_resource_set(declared: Declared) -> Iterable[Declared]:
    """``ClusterResourceSet``, which applies what ConfigMaps and Secrets hold.

    https://cluster-api.sigs.k8s.io/tasks/cluster-resource-set
    """
    keys = ("data", "binaryData", "stringData")
    held = [reference.properties.get(key) for reference in declared.references for key in keys]
    return apart(declared, held, declared.properties)


_RESOURCE_SET: Final = "kubernetes:addons.cluster.x-k8s.io/*:ClusterResourceSet"


def read_own_control_plane(declared: Declared) -> Iterable[Item]:
    """A cluster whose control plane is machines of its own, behind a load balancer of the cloud, if that is open."""
    kind = declared.kind.removesuffix("Template")
    spec = declared.properties.get("spec")
    spec = spec if kind == declared.kind else at(spec, "template", "spec")
    if (open_api := _BALANCERS[kind](spec)) is False:
        return
    nodes = NodeGroup(name="control plane", cloud=CLOUD, scaling=Scaling(min_nodes=1, max_nodes=None), initial_nodes=1)
    yield Cluster(
        name=declared.object_name,
        cloud=CLOUD,
        region=coalesce(text(at(spec, "region")), text(at(spec, "location"))),
        managed_autoscaler=False,
        open_api=open_api,
        secrets_key=UNKNOWN,  # its KubeadmControlPlane may say
        other_groups=(nodes,),
        resource=declared.urn,
    )


def _amazons_balancer(spec: Any) -> Maybe[bool]:
    """https://cluster-api-aws.sigs.k8s.io/crd: internet-facing, and open to everybody, where it says nothing."""
    answers = []
    for key in ("controlPlaneLoadBalancer", "secondaryControlPlaneLoadBalancer"):
        balancer = at(spec, key)
        if balancer is None and key.startswith("secondary"):
            continue
        scheme, kind = text(at(balancer, "scheme")), text(at(balancer, "loadBalancerType"))
        shut = UNKNOWN if UNKNOWN in (scheme, kind) else scheme == "internal" or kind == "disabled"
        ranges = [block for rule in items(at(balancer, "ingressRules")) for block in items(at(rule, "cidrBlocks"))]
        answers.append(both((negation(shut), open_to_internet(ranges) if ranges else True)))
    return either(answers)


def _azures_balancer(spec: Any) -> Maybe[bool]:
    """https://capz.sigs.k8s.io/self-managed/api-server-endpoint; rules of the subnet may admit some addresses only."""
    kind = text(at(spec, "networkSpec", "apiServerLB", "type"))
    subnets = items(at(spec, "networkSpec", "subnets"))
    ruled = any(items(at(each, "securityGroup", "securityRules")) for each in subnets)
    return UNKNOWN if kind is UNKNOWN or (ruled and kind != "Internal") else kind != "Internal"


def _googles_balancer(spec: Any) -> Maybe[bool]:
    """https://github.com/kubernetes-sigs/cluster-api-provider-gcp/blob/main/api/v1beta1/types.go (``LoadBalancer``)"""
    kind = text(at(spec, "loadBalancer", "loadBalancerType"))
    return UNKNOWN if kind is UNKNOWN else kind != "Internal"


_BALANCERS: Final[Mapping[str, Callable[[Any], Maybe[bool]]]] = {
    "AWSCluster": _amazons_balancer,
    "AzureCluster": _azures_balancer,
    "GCPCluster": _googles_balancer,
}
_UNUSED: Final = [f"kubernetes:infrastructure.cluster.x-k8s.io/*:*Machine{of}" for of in ("Pool", "Template")]
READERS: Final[Mapping[str, Reader]] = {
    **dict.fromkeys(_UNUSED, read_unused),
    **{
        f"kubernetes:infrastructure.cluster.x-k8s.io/*:{kind}{of}": read_own_control_plane
        for kind in _BALANCERS
        for of in ("", "Template")
    },
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
    profiles = {"autoScalerProfile": at(spec, "autoscalerProfile")}
    return {**shared, **profiles, "networkProfile": {"networkPolicy": at(spec, "networkPolicy")}}


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


def _of_template(properties: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same of a template of a ClusterClass."""
    return lambda spec: properties(at(spec, "template", "spec"))


_MANAGED: Final[Mapping[str, tuple[str, Callable[[Any], Mapping[str, Any]]]]] = {
    "AWSManagedControlPlane": ("aws:eks/cluster:Cluster", _amazons_cluster),
    "AzureManagedControlPlane": ("azure-native:containerservice:ManagedCluster", _azures_cluster),
    "GCPManagedControlPlane": ("gcp:container/cluster:Cluster", _googles_cluster),
}
SPELLINGS: Final[Mapping[str, Spelling]] = {
    **{f"kubernetes:cluster.x-k8s.io/{version}:Machine": _one_machine for version in _VERSIONS},
    _RESOURCE_SET: in_resource_set,
    **{
        f"kubernetes:*cluster.x-k8s.io/*:{kind}": _control_plane(token, properties)
        for kind, (token, properties) in _MANAGED.items()
    },
    **{
        f"kubernetes:*cluster.x-k8s.io/*:{kind}Template": _control_plane(token, _of_template(properties))
        for kind, (token, properties) in _MANAGED.items()
    },
}


def _parts(declared: Declared, everything: Program) -> Iterable[Declared]:
    machine = at(declared.properties, "spec", "template", "spec")
    for reference in (at(machine, "infrastructureRef"), at(machine, "bootstrap", "configRef")):
        yield from everything.meant(reference, declared)


def _applied(declared: Declared, everything: Program) -> Iterable[Declared]:
    for reference in items(at(declared.properties, "spec", "resources")):
        if isinstance(reference, Mapping):
            yield from everything.meant({**reference, "apiVersion": "v1"}, declared)


def _users(declared: Declared, everything: Program) -> Iterable[Declared]:
    """What may make machines of it: sets of machines, control planes, and classes of clusters."""
    for other in everything.of_kinds(*_SETS, "KubeadmControlPlane", "ClusterClass"):
        spec = other.properties.get("spec")
        named = ((at(each, "kind"), at(each, "name")) for each in mappings_in(spec))
        if spec is UNKNOWN or any(
            kind == declared.kind and name in (declared.object_name, UNKNOWN) for kind, name in named
        ):
            yield other


REFERRERS: Final[Mapping[str, Referrer]] = {
    **dict.fromkeys(_UNUSED, Referrer(refers=lambda _: True, finds=_users)),
    **{
        type_token: Referrer(refers=lambda _: True, finds=_parts)
        for type_token, reader in READERS.items()
        if reader is read_machines
    },
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
    scaling = coalesce(at(spec, "scaling"), at(spec, "autoscaling"), spec)  # AWSMachinePool has them in its spec
    if at(scaling, "enableAutoscaling") is False:
        return None  # Google's
    # https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/exp/api/v1beta2/awsmachinepool_types.go
    default = 1 if infrastructure is not None and infrastructure.kind == "AWSMachinePool" else None
    for low, high in (("minSize", "maxSize"), ("minCount", "maxCount"), ("minReplicas", "maxReplicas")):
        if at(scaling, high) is not None or (default and low == "minSize"):
            return whole(at(scaling, low), default=default or 0), whole(at(scaling, high), default=default)
    return None


def _spec_of(infrastructure: Declared | None) -> Any:
    spec = infrastructure.properties.get("spec") if infrastructure else None
    return at(spec, "template", "spec") if infrastructure and infrastructure.kind.endswith("Template") else spec


def _has(infrastructure: Declared | None, switches: Iterable[str]) -> Maybe[bool]:
    return either(flag(at(_spec_of(infrastructure), switch)) for switch in switches)


def _private(infrastructure: Declared | None) -> Maybe[bool | None]:
    """Whether its machines have no public address; ``None`` for those of GKE, which have what their cluster has."""
    public = either((_has(infrastructure, _PUBLIC), _in_public_subnets(infrastructure)))
    of_cluster = infrastructure is not None and infrastructure.kind.startswith("GCPManaged")
    return None if of_cluster and public is False else negation(public)


def _in_public_subnets(infrastructure: Declared | None) -> Maybe[bool]:
    subnets = text(at(_spec_of(infrastructure), "availabilityZoneSubnetType"))
    return UNKNOWN if subnets is UNKNOWN else subnets in _PUBLIC_SUBNETS


def _pods_reach(infrastructure: Declared | None) -> Maybe[bool]:
    """Whether machines of Amazon give their credentials to pods, as they do where nothing is said.

    https://github.com/kubernetes-sigs/cluster-api-provider-aws/blob/main/api/v1beta2/types.go (``SetDefaults``)
    """
    if infrastructure is None or not infrastructure.kind.startswith("AWS"):
        return False
    spec = _spec_of(infrastructure)
    template = at(spec, "awsLaunchTemplate") if "Pool" in infrastructure.kind else spec
    return pods_reach(at(template, "instanceMetadataOptions"), hops=1)


def _unknown_reasons(kinds: TemplateMachines, reference: Any, bootstrap: Declared | None) -> dict[str, UnknownReason]:
    reasons = {} if kinds.unknown_reason is None else {"gpus_per_node": kinds.unknown_reason}
    if reference is not None and not holds_unknown(reference) and bootstrap is None:
        reasons["taints"] = _not_declared(reference)
    return reasons


def _not_declared(reference: Any) -> UnknownReason:
    what = f"{at(reference, 'kind')} '{at(reference, 'name')}'"
    return UnknownReason(f"its {what} is not declared in this program", f"Declare the {what} in this program.")


def _machines(annotations: Any, reference: Any, infrastructure: Declared | None) -> TemplateMachines:
    """GPUs per machine: what the machine type has, or else the annotation for the autoscaler."""
    annotated_gpus = whole(at(annotations, _GPU_COUNT))
    by_type = _by_type(infrastructure)
    if by_type is not None and by_type.gpus is not UNKNOWN:
        return by_type
    if annotated_gpus is not None and annotated_gpus is not UNKNOWN and annotated_gpus > 0:
        return TemplateMachines(annotated_gpus, (), None)
    if by_type is not None:
        return by_type
    if infrastructure is None:
        kind = text(at(reference, "kind"))
        if isinstance(kind, str) and kind.startswith(_WITHOUT_GPUS):
            return TemplateMachines(0, (), None)
        known = reference is not None and not holds_unknown(reference)
        return TemplateMachines(UNKNOWN, (), None, unknown_reason=_not_declared(reference) if known else None)
    annotated = whole(at(infrastructure.properties, "metadata", "annotations", _GPU_COUNT))
    kind = infrastructure.kind
    if annotated_gpus is UNKNOWN or annotated is UNKNOWN:
        return TemplateMachines(UNKNOWN, (), None)
    claims = [count for count in (annotated_gpus, annotated) if count is not None]
    unknown_reason = UnknownReason(
        f"it is unknown which {kind} has GPUs", f"Annotate the {kind} with {_GPU_COUNT}, 0 for none."
    )
    return TemplateMachines(max(claims, default=UNKNOWN), (), None, unknown_reason=None if claims else unknown_reason)


def _by_type(infrastructure: Declared | None) -> TemplateMachines | None:
    """What a known cloud's machine types have."""
    kind = "" if infrastructure is None else infrastructure.kind
    count = next((count for prefix, count in _BY_PROVIDER.items() if kind.startswith(prefix)), None)
    return None if count is None else machines(tuple(count(_spec_of(infrastructure))))


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
    "ROSA": _amazon,
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
