"""Reads Kubernetes objects that make pods, and the credentials that Kubernetes providers hold.

Covers the typed resources of every API version, their Patch variants, and manifests in YAML (whose objects are
resources of the same types).
"""

from __future__ import annotations

import json
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from facts.concepts.credentials import ends_soon
from facts.concepts.declared import Credential, GpuClaim, GpuSharing, Minimum, UnknownReason, Workload
from facts.concepts.kubernetes import (
    DO_NOT_DISRUPT,
    GPU_RESOURCE,
    POD_PATHS,
    REPLICATED,
    RESOURCES,
    Effect,
    Toleration,
)
from facts.concepts.pool import CLASS_LABEL, DEFAULT_CLASS_LABELS
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    amount,
    at,
    coalesce,
    either,
    flag,
    holds_unknown,
    items,
    known_text,
    known_texts,
    mapping,
    mappings_in,
    text,
    texts,
    whole,
)
from policies.readers.idle import idle_of_daemon_set, longest_window
from policies.readers.kubernetes import parts
from policies.readers.kubernetes.autoscalers import autoscaler_of, idle_of, minimums_of, scales_nodes
from policies.readers.kubernetes.network_policies import plugin_of_auto_mode, plugin_of_pod
from policies.readers.kubernetes.parts import replicated
from policies.readers.resource import AddedPlacement, Declared, Item, Program, Reader, Referrer, is_patch

_API_VERSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("core/v1",),
    "ReplicationController": ("core/v1",),
    "Job": ("batch/v1",),
    "CronJob": ("batch/v1", "batch/v1beta1", "batch/v2alpha1"),
    "Deployment": ("apps/v1", "apps/v1beta1", "apps/v1beta2", "extensions/v1beta1"),
    "StatefulSet": ("apps/v1", "apps/v1beta1", "apps/v1beta2"),
    "DaemonSet": ("apps/v1", "apps/v1beta2", "extensions/v1beta1"),
    "ReplicaSet": ("apps/v1", "apps/v1beta2", "extensions/v1beta1"),
}
# Images of device plugins: https://github.com/ROCm/k8s-device-plugin, https://github.com/aws-neuron/neuron-helm-charts
_PLUGINS: Final = {"rocm/k8s-device-plugin": "amd", "neuron-device-plugin": "aws"}
# Shares of a GPU by time (under any name) and by hardware (https://github.com/NVIDIA/k8s-device-plugin), and whole GPUs
# for virtual machines, by their model (https://github.com/NVIDIA/kubevirt-gpu-device-plugin); parts that another device
# plugin offers: https://github.com/volcano-sh/volcano/blob/master/docs/user-guide/how_to_use_volcano_vgpu.md,
# https://github.com/koordinator-sh/koordinator, https://github.com/AliyunContainerService/gpushare-scheduler-extender,
# https://github.com/tkestack/gpu-manager
_GPU_PARTS: Final = (
    *("nvidia.com/", "aws.amazon.com/neuron", "amd.com/"),
    *("volcano.sh/vgpu", "volcano.sh/gpu", "koordinator.sh/gpu", "aliyun.com/gpu", "tencent.com/vcuda"),
)
# A slice of a GPU, its share by time under the plugin's name for it, or a core of Neuron.
_GPU_PART: Final = re.compile(r"nvidia\.com/(?:mig-|gpu\.)|aws\.amazon\.com/neuroncore")
_GPU_CLASS: Final = re.compile(r"gpu|^mig\.|neuron")
_GPU_DRIVER: Final = re.compile(r"\bgpu\b|neuron|nvidia|amd\.com", re.IGNORECASE)
_CLAIM_VERSIONS: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
_CLAIMS: Final = {"ResourceClaim": "resourceClaimName", "ResourceClaimTemplate": "resourceClaimTemplateName"}
# https://kubernetes.io/docs/reference/labels-annotations-taints/#cluster-autoscaler-kubernetes-io-scale-down-disabled
_OWN: Final = "gpucluster-machines:index"
_KEEPS_NODE: Final = ("cluster-autoscaler.kubernetes.io/scale-down-disabled", DO_NOT_DISRUPT)
_TOLERATIONS: Final = "scheduler.alpha.kubernetes.io/defaultTolerations"
_TOKEN: Final = "kubernetes.io/service-account-token"
# https://kubernetes.io/docs/reference/access-authn-authz/bootstrap-tokens/#bootstrap-token-secret-format
_BOOTSTRAP: Final = "bootstrap.kubernetes.io/token"
_KEY_OF_KUBECONFIG: Final = re.compile(r"\b(client-key-data|client-key|token|password)\"?\s*:\s*[\"']?([^\s\"',}]+)")


def read_workload(declared: Declared) -> Iterable[Item]:
    """A pod or anything with a pod template."""
    kind = declared.kind
    pod = at(declared.properties, *POD_PATHS[kind])
    template = at(declared.properties, *POD_PATHS[kind][:-1], "metadata")
    elsewhere = is_patch(declared) and kind == "DaemonSet" and at(pod, "tolerations") is None
    labels, always = known_texts(at(template, "labels")), _always(declared, kind, pod)
    gpus = UNKNOWN if _patches_only_a_number(declared, pod) else gpus_of_kind(kind, pod, declared.references)
    tolerations = _tolerations_without_gpus(pod) if gpus == 0 else tolerations_of(at(pod, "tolerations"))
    if isinstance(node := at(pod, "nodeName"), str) and kind in REPLICATED:
        # The scheduler, and with it every taint, is left out.
        yield Minimum(f"{kind} '{declared.name}'", 1, where="spec.nodeName", node=node, resource=declared.urn)
    yield Workload(
        name=declared.object_name,
        namespace=declared.namespace,
        kind=kind,
        gpus=gpus,
        gpu_resource=gpu_resource_of(pod),
        tolerations=UNKNOWN if elsewhere else tolerations,
        node_selector=texts(at(pod, "nodeSelector")),
        affinity=affinity_of(at(pod, "affinity")),
        resource=declared.urn,
        always=always,
        keeps_room=keeps_room(pod),
        apart=parts.each_on_a_node(pod, {} if labels is UNKNOWN else labels),
        priority_class=known_text(at(pod, "priorityClassName")),
        pod_labels=labels,
        safe_to_evict=parts.safe_to_evict(template),
        device_plugin=parts.device_plugin(pod),
        scales_nodes=False if kind in REPLICATED and always == 0 else scales_nodes(pod),
        autoscaler=autoscaler_of(pod),
        idle=idle_of_daemon_set(at(template, "annotations")) if kind == "DaemonSet" else idle_of(pod),
        config_maps=parts.config_maps(pod),
        runtime_class=known_text(at(pod, "runtimeClassName")),
        unknown_reason=_TOLERATES_ELSEWHERE if elsewhere else None,
        pods_reason=PARTS_OF_GPUS if gpus is UNKNOWN and not _is_open(pod, declared.references) else None,
    )
    yield from minimums_of(pod, f"{kind} '{declared.name}'", declared.urn)
    if kind == "DaemonSet":
        yield from plugin_of_pod(pod)


def _is_open(pod: Any, claims: Sequence[Declared]) -> bool:
    return holds_unknown(pod) or any(holds_unknown(claim.properties) for claim in claims)


def _patches_only_a_number(declared: Declared, pod: Any) -> bool:
    """Whether it sets the number of pods of an object of another program, whose containers nobody here knows."""
    return (
        is_patch(declared)
        and declared.kind in REPLICATED
        and at(declared.properties, "spec", "replicas") not in (None, 0)
        and not items(at(pod, "containers"))
    )


_TOLERATES_ELSEWHERE: Final = UnknownReason(
    "it changes a DaemonSet of another program, which may tolerate any taint",
    "Write it where the DaemonSet is declared, or exempt it by name, with a reason.",
)
PARTS_OF_GPUS: Final = UnknownReason(
    "it asks for parts of GPUs, or for GPUs in an object that the program does not declare",
    "Request whole GPUs, declare that object in this program, or check its pods by hand and exempt it by name.",
)
"""Why the number of GPUs is unknown, although all values are known."""
_SUSPENDED: Final = ("CronJob", "Job")
"""Kinds of Kubernetes itself that have ``suspend``."""


def is_suspended(declared: Declared) -> bool:
    """Whether it has no pods until somebody resumes it; a Job with a queue waits for Kueue, which does.

    https://kueue.sigs.k8s.io/docs/tasks/run/jobs/
    """
    queue = at(declared.properties, "metadata", "labels", "kueue.x-k8s.io/queue-name")
    spec = declared.properties.get("spec")
    suspended = (at(spec, "suspend"), at(spec, "runPolicy", "suspend"))  # Kubeflow's jobs have the second
    return any(flag(each) is True for each in suspended) and queue is None


def _always(declared: Declared, kind: str, pod: Any) -> Maybe[int]:
    spec = declared.properties.get("spec")
    if kind in _SUSPENDED and is_suspended(declared):
        return 0
    if kind in REPLICATED:
        return amount(at(spec, "replicas"), 1)
    job = at(declared.properties, *(POD_PATHS[kind][:-2] or ("spec",)))
    stays, pods = parts.never_ends(pod) or parts.serves(pod), amount(at(job, "parallelism"), 1)
    if stays and (parts.only_pauses(pod) is True or not parts.ends_in_time(job)):
        return pods
    if kind == "Pod":
        return 1 if at(spec, "restartPolicy") in (None, "Always") else 0
    # A pod every few minutes keeps its node up like one that stays: autoscalers wait about ten minutes by default.
    seconds = whole(at(job, "activeDeadlineSeconds"), default=0) if stays else 0
    lasts = UNKNOWN if seconds is UNKNOWN else f"{(seconds or 0) // 60 + 10}m"
    often = kind == "CronJob" and longest_window((at(spec, "schedule"), lasts)) == math.inf
    return pods if often else 0


def keeps_room(pod: Any, *, for_others: bool = False) -> Maybe[bool]:
    """Whether the pod does nothing but keep room: it makes way for others, has the image ``pause``, or only waits;
    ``for_others``: unless it may wait for the pods that its job runs beside it."""
    ends = for_others or parts.ends_in_time(pod)
    return either((parts.only_pauses(pod), not ends and parts.only_waits(pod), makes_way(at(pod, "priority"))))


def makes_way(priority: Any) -> Maybe[bool]:
    """Whether every pod of default priority preempts a pod of this priority."""
    value = amount(priority)
    return UNKNOWN if value is UNKNOWN else value < 0


def read_runtime_class(declared: Declared) -> Iterable[Item]:
    """A RuntimeClass: https://kubernetes.io/docs/concepts/containers/runtime-class/#scheduling."""
    scheduling = declared.properties.get("scheduling")
    tolerations, selector = tolerations_of(at(scheduling, "tolerations")), known_texts(at(scheduling, "nodeSelector"))
    yield AddedPlacement("RuntimeClass", declared.object_name, tolerations, selector)


def read_namespace(declared: Declared) -> Iterable[Item]:
    """A namespace whose pods get tolerations, where the admission plugin PodTolerationRestriction is enabled, or the
    selector of a class of nodes.

    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#podtolerationrestriction
    """
    name, default = (at(declared.properties, "metadata", *path) for path in (("name",), ("annotations", _TOLERATIONS)))
    label = coalesce(*(text(at(declared.properties, "metadata", "labels", key)) for key in DEFAULT_CLASS_LABELS))
    selector: Maybe[Mapping[str, str]] = {} if label is None else UNKNOWN if label is UNKNOWN else {CLASS_LABEL: label}
    if isinstance(name, str) and (default is not None or label is not None):
        tolerations = UNKNOWN if default is UNKNOWN else () if default is None else _parsed_tolerations(str(default))
        yield AddedPlacement("Namespace", name, tolerations, selector)


def _parsed_tolerations(annotation: str) -> Maybe[tuple[Toleration, ...]]:
    """Tolerations in JSON; none where it is empty or no JSON, with which the API server admits no pod."""
    try:
        return tolerations_of(json.loads(annotation))
    except ValueError:
        return ()


def read_config_map(declared: Declared) -> Iterable[Item]:
    """A ConfigMap, which may hold a device plugin's configuration."""
    yield from plugin_of_auto_mode(declared)
    if (replicas := replicated(declared.properties.get("data"))) is not None:
        name = known_text(at(declared.properties, "metadata", "name"))
        yield GpuSharing(f"ConfigMap '{declared.name}'", replicas, declared.urn, name)


def read_claim(declared: Declared) -> Iterable[Item]:
    """A ResourceClaim or a template of claims, if it is for GPUs."""
    requests = _requests(declared)
    asked = [each for request in requests for each in _asked(request)]
    for name in dict.fromkeys(text(at(each, "deviceClassName")) for each in asked):
        if name is UNKNOWN or (name is not None and _is_for_gpus(name, declared.references)):
            selectors = [at(each, "selectors") for each in asked]
            selective = UNKNOWN in selectors or any(selectors)
            yield GpuClaim(f"{declared.kind} '{declared.name}'", name, selective, declared.urn)


def _is_for_gpus(device_class: str, references: Sequence[Declared]) -> bool:
    """Whether a class of devices is one of GPUs: by its name, or as the program declares it.

    https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass
    """
    own = (each for each in references if each.kind == "DeviceClass" and each.object_name == device_class)
    selectors = (at(each.properties, "spec", "selectors") for each in own)
    return _GPU_CLASS.search(device_class) is not None or any(_GPU_DRIVER.search(str(each)) for each in selectors)


def read_secret(declared: Declared) -> Iterable[Item]:
    """A Secret that Kubernetes fills with a service account's token, which does not expire.

    https://kubernetes.io/docs/concepts/configuration/secret/#serviceaccount-token-secrets
    """
    properties = declared.properties
    ends = coalesce(*(at(properties, key, "expiration") for key in ("stringData", "data")))
    if properties.get("type") == _BOOTSTRAP and ends is None:
        yield Credential(
            f"a token by which nodes join, without an expiration, in Secret '{declared.name}'", True, declared.urn
        )
    if properties.get("type") == _TOKEN:
        yield Credential(f"a service account's token in Secret '{declared.name}'", True, declared.urn)


def read_node_patch(declared: Declared) -> Iterable[Item]:
    """A node that an annotation keeps from being removed."""
    metadata = declared.properties.get("metadata")
    for annotation in _KEEPS_NODE:
        if str(at(metadata, "annotations", annotation)).lower() == "true":
            node = str(at(metadata, "name"))
            yield Minimum(f"patch of node '{node}'", 1, where=annotation, node=node, resource=declared.urn)


def read_provider(declared: Declared) -> Iterable[Item]:
    """``pulumi:providers:kubernetes``: its kubeconfig has an exec plugin or a token that ends within a year.

    That of the program's own machines, and of a cluster that the program logs in to with a secret of its stack file, is
    excepted: where no cloud knows the user there may be only a certificate.
    """
    kubeconfig = declared.properties.get("kubeconfig")
    if kubeconfig is None:
        return
    static: Maybe[bool] = UNKNOWN if kubeconfig is UNKNOWN else _has_key(declared) and not declared.references
    yield Credential(f"the kubeconfig of provider '{declared.name}'", static, declared.urn)


def _has_key(declared: Declared) -> bool:
    kubeconfig = declared.properties.get("kubeconfig")
    found = () if kubeconfig is UNKNOWN else _KEY_OF_KUBECONFIG.findall(str(kubeconfig))
    return any(name != "token" or not ends_soon(value) for name, value in found)


def _find_machines(declared: Declared, everything: Program) -> Iterable[Declared]:
    """The control planes of own machines, or the existing cluster, whose output the provider's kubeconfig is."""
    sources = declared.dependencies.get("kubeconfig", ())
    clusters = [each for kind in ("ControlPlane", "ExistingCluster") for each in everything.of(f"{_OWN}:{kind}")]
    return [cluster for cluster in clusters if cluster.urn in sources]


READERS: Final[Mapping[str, Reader]] = {
    **{
        f"kubernetes:{version}:{kind}": read_workload
        for kind, versions in _API_VERSIONS.items()
        for version in versions
    },
    "kubernetes:policy/v1:PodDisruptionBudget": parts.read_budget,
    "kubernetes:policy/v1beta1:PodDisruptionBudget": parts.read_budget,
    "kubernetes:core/v1:Node": read_node_patch,
    "kubernetes:core/v1:Secret": read_secret,
    "kubernetes:core/v1:Namespace": read_namespace,
    "kubernetes:node.k8s.io/v1:RuntimeClass": read_runtime_class,
    **{f"kubernetes:resource.k8s.io/{version}:{kind}": read_claim for kind in _CLAIMS for version in _CLAIM_VERSIONS},
    "pulumi:providers:kubernetes": read_provider,
}


def _claims_of(declared: Declared) -> list[Any]:
    return items(at(declared.properties, *POD_PATHS[declared.kind], "resourceClaims"))


def _find_claims(declared: Declared, everything: Program) -> Iterable[Declared]:
    for listed in _claims_of(declared):
        for kind, key in _CLAIMS.items():
            for claim in everything.meant({"kind": kind, "name": at(listed, key)}, declared):
                yield from (claim, *_find_classes(claim, everything))


def _find_classes(claim: Declared, everything: Program) -> Iterable[Declared]:
    names = [at(each, "deviceClassName") for request in _requests(claim) for each in _asked(request)]
    return [each for each in everything.of_kinds("DeviceClass") if each.object_name in names]


REFERRERS: Final[Mapping[str, Referrer]] = {
    "pulumi:providers:kubernetes": Referrer(refers=_has_key, finds=_find_machines),
    **{
        token: Referrer(refers=lambda _: False, finds=_find_classes)
        for token, reader in READERS.items()
        if reader is read_claim
    },
    **{
        type_token: Referrer(refers=lambda declared: bool(_claims_of(declared)), finds=_find_claims)
        for type_token, reader in READERS.items()
        if reader is read_workload
    },
}


def gpus_of(pod: Any, claims: Sequence[Declared] = ()) -> Maybe[int]:
    """GPUs one pod holds: its containers and sidecars together, or its largest other init container if that is more.

    ``claims``: the ResourceClaims and templates for them that the pod refers to, and their DeviceClasses, as far as
    the program declares them.
    https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers
    """
    together, largest = 0, 0
    for section in ("containers", "ephemeralContainers", "initContainers"):
        for container in items(at(pod, section)):
            count = container_gpus(container)
            if count is UNKNOWN:
                return UNKNOWN
            if section != "initContainers" or at(container, "restartPolicy") == "Always":
                together += count
            else:
                largest = max(largest, count)
    listed = items(at(pod, "resourceClaims"))
    found = [each for each in claims if each.kind in _CLAIMS]
    if pod is UNKNOWN or (len(listed) > len(found) and not together):
        return UNKNOWN  # a claim may be for a GPU: what it asks for is in an object of its own
    claimed = [_claimed(request, claims) for claim in found for request in _requests(claim)]
    known = [count for count in claimed if count is not UNKNOWN]
    return UNKNOWN if len(known) < len(claimed) else max(together, largest) + sum(known)


def gpus_of_kind(kind: str, pod: Any, claims: Sequence[Declared] = ()) -> Maybe[int]:
    """``gpus_of``; for a DaemonSet a part of a GPU counts as one, because no job can have the whole GPU then."""
    gpus = gpus_of(pod, claims)
    asked = (
        at(container, "resources", section)
        for containers in ("containers", "initContainers")
        for container in items(at(pod, containers))
        for section in ("limits", "requests")
    )
    parts_asked = (
        whole(count, default=0)
        for resources in asked
        if kind == "DaemonSet" and isinstance(resources, Mapping)
        for name, count in resources.items()
        if _GPU_PART.match(str(name))
    )
    return 1 if gpus is UNKNOWN and any(count is not UNKNOWN and count for count in parts_asked) else gpus


def _requests(claim: Declared) -> list[Any]:
    spec = claim.properties.get("spec")
    return items(at(coalesce(at(spec, "spec"), spec), "devices", "requests"))


def _exact(request: Any) -> Any:
    """What a request asks for, which versions before v1beta2 write without ``exactly``."""
    return coalesce(at(request, "exactly"), request)


def _asked(request: Any) -> list[Any]:
    """What one request asks for, and each alternative."""
    return [_exact(request), *items(at(request, "firstAvailable"))]


def _claimed(request: Any, references: Sequence[Declared]) -> Maybe[int]:
    """GPUs of one request; ``UNKNOWN`` for alternatives, for all that a node has, and for a part of a GPU.

    https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
    """
    exact = _exact(request)
    device, count = known_text(at(exact, "deviceClassName")), whole(at(exact, "count"), default=1)
    if device is not None and not _is_for_gpus(device, references):
        return 0
    known = (
        device is not None
        and (device == "gpu.nvidia.com" or not _GPU_CLASS.search(device))
        and at(exact, "allocationMode") in (None, "ExactCount")
    )
    return count if known and count is not None else UNKNOWN


def gpu_resource_of(pod: Any) -> str:
    """The resource by which one of the pod's containers requests GPUs, or that its device plugin offers."""
    images = " ".join(str(at(each, "image")) for each in _containers(pod))
    offered = (RESOURCES[maker] for word, maker in _PLUGINS.items() if word in images)
    return next(_gpu_resources(pod), next(offered, GPU_RESOURCE))


def _containers(pod: Any) -> list[Any]:
    return [each for section in ("containers", "initContainers") for each in items(at(pod, section))]


def _gpu_resources(pod: Any) -> Iterator[str]:
    """The resources of GPUs that the pod's containers have a number of, be it 0."""
    held = [at(each, "resources", section) for each in _containers(pod) for section in ("limits", "requests")]
    yield from (each for each in RESOURCES.values() if any(at(resources, each) is not None for resources in held))


def _tolerations_without_gpus(pod: Any) -> Maybe[tuple[Toleration, ...]]:
    """The tolerations of a pod without GPUs, with those that the API server adds where it requests 0 of them.

    https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
    """
    own = tolerations_of(at(pod, "tolerations"))
    return own if own is UNKNOWN else (*own, *(Toleration(each, "Exists") for each in _gpu_resources(pod)))


def names_gpus(resource: Any) -> bool:
    """Whether a resource is GPUs, or shares or slices of them."""
    return resource in RESOURCES.values() or str(resource).startswith(_GPU_PARTS)


def container_gpus(container: Any) -> Maybe[int]:
    """GPUs that one container requests; ``UNKNOWN`` for shared GPUs and slices, which are part of a GPU."""
    # Kubernetes takes a request from the limit of an extended resource, and both must be equal.
    for section in ("limits", "requests"):
        resources = at(container, "resources", section)
        counts = (whole(at(resources, resource)) for resource in RESOURCES.values())
        if (count := next((each for each in counts if each is not None), None)) is not None:
            return count
        if isinstance(resources, Mapping) and any(
            names_gpus(name) and whole(count, default=0) != 0 for name, count in resources.items()
        ):
            return UNKNOWN
    return 0


def tolerations_of(value: Any) -> Maybe[tuple[Toleration, ...]]:
    """A pod's ``tolerations``."""
    tolerations = []
    for entry in items(value):
        key, operator, effect = at(entry, "key"), at(entry, "operator"), at(entry, "effect")
        if UNKNOWN in (entry, key, operator, effect, at(entry, "value")):
            return UNKNOWN
        exists = operator == "Exists"
        tolerations.append(
            Toleration(
                key=str(key) if key else None,
                operator="Exists" if exists else "Equal",
                value=None if exists else str(at(entry, "value") or ""),
                effect=cast("Effect | None", effect or None),
            )
        )
    return tuple(tolerations)


def affinity_of(value: Any) -> Maybe[Mapping[str, Any] | None]:
    """A pod's ``affinity``; all of it is looked up, as rules ask for its parts."""
    deque(mappings_in(value), maxlen=0)
    return None if value is None else mapping(value)
