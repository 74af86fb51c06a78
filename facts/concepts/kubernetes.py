"""Kubernetes' words that all of us use: the GPU resource and label, taints and tolerations, quantities."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

GPU_RESOURCE: Final = "nvidia.com/gpu"
GPU_PRESENT_LABEL: Final = "nvidia.com/gpu.present"
# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html#operands
OPERAND_LABELS: Final = "nvidia.com/gpu.deploy."
"""Begins the labels by which NVIDIA's GPU Operator runs each of its parts on a node, or does not (``false``)."""
ALL_OPERANDS: Final = f"{OPERAND_LABELS}operands"
DEVICE_CLASSES: Final = ("gpu.nvidia.com", "mig.nvidia.com")
"""Those of GPUs in claims (dynamic resource allocation), which quotas of teams count:
https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu"""

RESOURCES: Final[Mapping[str, str]] = {
    "nvidia": GPU_RESOURCE,
    "aws": "aws.amazon.com/neuron",
    "amd": "amd.com/gpu",
    "google": "google.com/tpu",
}
"""Maker, the first word of an accelerator's name in the catalogue → the resource by which pods request its devices.

A taint of that key keeps other pods away: admission adds the toleration for it to pods that request the resource.
https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#extendedresourcetoleration
"""

MIG_RESOURCE: Final = f"{GPU_RESOURCE.partition('/')[0]}/mig-"
"""How a device plugin calls the slices of a MIG profile, which ends the name:
https://github.com/NVIDIA/k8s-device-plugin#configuration-option-details"""
SHARED_RESOURCE: Final = f"{GPU_RESOURCE}.shared"
"""How it may call the shares of GPUs: ``renameByDefault`` in https://github.com/NVIDIA/k8s-device-plugin"""
MOST_GRACE_SECONDS: Final = 600
"""From SIGTERM to SIGKILL of a pod with GPUs where people run pods: to save a checkpoint, or to answer requests."""
COUNTED_APART: Final[Mapping[str, tuple[str, ...]]] = {
    RESOURCES["aws"]: ("aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice"),
}
"""Resource → names under which its plugin offers the same devices once more, and counts them apart. Karpenter starts
machines for cores: ``WellKnownResources`` in https://github.com/aws/karpenter-provider-aws/blob/main/pkg/apis/v1/labels.go
"""

REPLICATED: Final = ("Deployment", "StatefulSet", "ReplicaSet", "ReplicationController")
"""Kubernetes' own kinds that keep a number of pods."""
POD_PATHS: Final[Mapping[str, tuple[str, ...]]] = {
    "Pod": ("spec",),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    **dict.fromkeys((*REPLICATED, "DaemonSet", "Job"), ("spec", "template", "spec")),
}
"""Kubernetes' own kinds with pods, and where the pods' spec is."""

RBAC: Final = "rbac.authorization.k8s.io"

# Neither ``edit`` nor ``view`` includes cluster-scoped resources, but users need nodes to see why a job waits.
CLUSTER_RESOURCE_RULES: Final[tuple[Mapping[str, Any], ...]] = (
    {"apiGroups": [""], "resources": ["nodes", "namespaces"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["metrics.k8s.io"], "resources": ["nodes"], "verbs": ["get", "list"]},
    {
        "apiGroups": ["scheduling.k8s.io", "storage.k8s.io"],
        "resources": ["priorityclasses", "storageclasses"],
        "verbs": ["get", "list", "watch"],
    },
)
"""Rules of a ClusterRole for users, beside Kubernetes' own roles for them."""
_READABLE: Final[Mapping[str, tuple[str, ...]]] = {
    "": (
        *("configmaps", "limitranges", "namespaces", "persistentvolumeclaims", "persistentvolumes", "resourcequotas"),
        *("serviceaccounts", "services"),
        # What the Kubernetes provider lists to learn whether a Deployment, DaemonSet or Service is ready, also below.
        *("endpoints", "pods"),
    ),
    "admissionregistration.k8s.io": ("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
    "apps": ("daemonsets", "deployments", "replicasets"),
    "batch": ("cronjobs",),
    "cloud.google.com": ("computeclasses",),
    "http.keda.sh": ("interceptorroutes",),
    "karpenter.azure.com": ("aksnodeclasses",),
    "karpenter.k8s.aws": ("ec2nodeclasses",),
    "karpenter.sh": ("nodepools",),
    "keda.sh": ("scaledobjects",),
    "kueue.x-k8s.io": ("clusterqueues", "cohorts", "localqueues", "resourceflavors"),
    "metallb.io": ("ipaddresspools", "l2advertisements"),
    "networking.k8s.io": ("networkpolicies",),
    "policy": ("poddisruptionbudgets",),
    RBAC: ("clusterrolebindings", "clusterroles", "rolebindings", "roles"),
    "resource.k8s.io": ("resourceclaimtemplates",),
    "scheduling.k8s.io": ("priorityclasses",),
    "storage.k8s.io": ("storageclasses",),
}
READER_ROLE: Final = "gpucluster:reader"
READER_RULES: Final[tuple[Mapping[str, Any], ...]] = tuple(
    {"apiGroups": [group], "resources": [*resources], "verbs": ["get", "list", "watch"]}
    for group, resources in _READABLE.items()
)
"""Rules of the ClusterRole ``READER_ROLE`` for pipelines: all kinds of objects that the program declares, but Secrets.

By name, because ``*`` includes subresources, and reading some of them runs commands: ``get`` is enough for
``nodes/proxy`` and, up to Kubernetes 1.34, ``pods/exec`` (over a WebSocket).
https://github.com/kubernetes/kubernetes/issues/78741
https://kubernetes.io/docs/concepts/security/rbac-good-practices/#access-to-proxy-subresource-of-nodes
"""
USER_ROLES: Final[Mapping[str, str]] = {
    "admin": "cluster-admin",
    "developer": "edit",
    "viewer": "view",
    "reader": READER_ROLE,
}
"""Role of a stack file's ``access`` → ClusterRole; all but the last are Kubernetes' own:
https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles"""
DEFAULT_NAMESPACE: Final = "default"
"""The namespace that every cluster has, and everybody uses who names none.

https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces
"""

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
# Every Google account, Gmail's too, is in system:authenticated on GKE:
# https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac#avoid-default-roles
# All pods are in system:serviceaccounts: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-subjects
# Users that log in to OpenShift and Rancher have a group of their own, all of them:
# https://docs.redhat.com/en/documentation/openshift_container_platform/4.20/html/authentication_and_authorization
EVERYBODY: Final = (
    "system:anonymous",
    "system:authenticated",
    "system:authenticated:oauth",
    "system:cattle:authenticated",
    "system:serviceaccounts",
    "system:unauthenticated",
)
"""A pod's annotation: ``"false"`` and no cluster-autoscaler ends the pod to empty its node.

https://kubernetes.io/docs/reference/labels-annotations-taints/#cluster-autoscaler-kubernetes-io-safe-to-evict
"""

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
"""A pod's annotation: ``"true"`` and Karpenter waits until the pod has ended before it takes the node, also one that it
has already decided to end. On a NodePool's template or a node: it does not take the node by its own choice.

https://karpenter.sh/docs/concepts/disruption/#controls
"""

UNINTERRUPTED: Final = "gpucluster.dev/uninterrupted"
"""A pod's label: ``"true"`` and ``uninterrupted_budget`` of its namespace refuses to have it evicted."""

_MORE_THAN_ANY: Final = 2**31 - 1


def manifest(
    api_version: str,
    kind: str,
    name: str,
    namespace: str | None = None,
    *,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, Any] | None = None,
    **body: Any,
) -> dict[str, Any]:
    """An object with the metadata that it has, and the ``body`` beside them (``spec``, ``data``, ``rules``)."""
    metadata = {"namespace": namespace, "labels": labels, "annotations": annotations}
    present = {key: value for key, value in metadata.items() if value is not None}
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name, **present}, **body}


def role_binding(
    name: str, role: Mapping[str, str], subjects: Iterable[Mapping[str, str]], namespace: str | None = None
) -> dict[str, Any]:
    """Binds ``role`` (kind, name) to users and groups (kind, name), in ``namespace`` or in the whole cluster."""
    kind = "ClusterRoleBinding" if namespace is None else "RoleBinding"
    bound = [{"apiGroup": RBAC, **subject} for subject in subjects]
    return manifest(f"{RBAC}/v1", kind, name, namespace, roleRef={"apiGroup": RBAC, **role}, subjects=bound)


def uninterrupted_budget(namespace: str) -> dict[str, Any]:
    """The PodDisruptionBudget of ``namespace`` that lets no running pod with the label ``UNINTERRUPTED`` be evicted.

    ``minAvailable`` is an integer because of Jobs
    (https://kubernetes.io/docs/tasks/run-application/configure-pdb/#arbitrary-controllers-and-selectors), and more than
    the pods that there can be: AKS starts no upgrade while a budget has ``maxUnavailable: 0``, or as many pods as it
    keeps (https://learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes/unsatisfiablepdb-error,
    https://github.com/Azure/AKS/releases/tag/2025-01-30). A pod that is not ready can always be evicted.
    """
    spec = {
        "minAvailable": _MORE_THAN_ANY,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {"matchLabels": {UNINTERRUPTED: "true"}},
    }
    return manifest("policy/v1", "PodDisruptionBudget", "gpucluster-uninterrupted", namespace, spec=spec)


Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]
CLOUD_EFFECTS: Final[Mapping[Effect, str]] = {
    "NoSchedule": "NO_SCHEDULE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
}
"""Effect → the constant that Google's and Amazon's APIs have for it."""


@dataclass(frozen=True)
class Taint:
    """A node taint, in Kubernetes' words (``effect`` is ``NoSchedule``, never a cloud's spelling)."""

    key: str
    value: str | None
    effect: Effect

    def __str__(self) -> str:
        return f"{self.key}={self.value or ''}:{self.effect}"

    @property
    def manifest(self) -> dict[str, str]:
        """In the API's form. Karpenter's schema allows a missing value but not an empty one."""
        written = {"key": self.key, "effect": self.effect}
        return {**written, "value": self.value} if self.value else written


@dataclass(frozen=True)
class Toleration:
    """A pod's toleration; ``key=None`` with ``Exists`` tolerates everything, ``effect=None`` every effect."""

    key: str | None
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str | None = None
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether a node with ``taint`` takes pods that have this toleration."""
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key is not None and self.key != taint.key:
            return False
        return self.operator == "Exists" or (self.key is not None and (self.value or "") == (taint.value or ""))


def tolerations(taints: Iterable[Taint]) -> list[dict[str, str]]:
    """One exact toleration per distinct taint, in order of first appearance, as a pod's manifest has them."""
    return [
        {"key": taint.key, "operator": "Equal", "value": taint.value or "", "effect": taint.effect}
        for taint in dict.fromkeys(taints)
    ]


def node_taints(taints: Iterable[Taint]) -> list[dict[str, str]]:
    """Taints as a node's manifest has them."""
    return [{"key": taint.key, "value": taint.value or "", "effect": taint.effect} for taint in taints]


_SUFFIXES: Final = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}
_QUANTITY: Final = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([A-Za-z]*)")


def quantity(text: str) -> Decimal:
    """A Kubernetes quantity as a number. Raises ``ValueError`` for anything else."""
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _SUFFIXES:
        raise ValueError(f"{text!r} is no quantity")
    return Decimal(match[1]) * _SUFFIXES[match[2]]


def pod_requests(spec: Mapping[str, Any]) -> dict[str, Decimal]:
    """Resource → what a pod of this ``spec`` requests: its containers and sidecars together, or more where an init
    container needs more with the sidecars that were started before it.

    A limit without a request is the request, as in the API server.
    https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/#resource-sharing-within-containers
    """
    most: dict[str, Decimal] = {}
    together: dict[str, Decimal] = {}
    for container in spec.get("initContainers") or ():
        needed = _added(together, container)
        most = {resource: max(most.get(resource, Decimal()), amount) for resource, amount in {**most, **needed}.items()}
        if container.get("restartPolicy") == "Always":
            together = needed
    for container in spec.get("containers") or ():
        together = _added(together, container)
    return {
        resource: max(each.get(resource, Decimal()) for each in (most, together)) for resource in {**most, **together}
    }


def resource_of(gpu: str) -> str:
    """The resource by which pods request an accelerator of this name (``nvidia-t4``, ``aws-inferentia2``)."""
    return RESOURCES.get(gpu.partition("-")[0], GPU_RESOURCE)


def gpu_limit(spec: Mapping[str, Any]) -> int:
    """The GPUs that a pod of this ``spec`` has."""
    return gpu_count(pod_requests(spec))


def gpu_count(amounts: Mapping[str, Any]) -> int:
    """The GPUs among the ``amounts`` of resources, such as limits; the API server writes 1000 as ``1k``."""
    return sum(int(quantity(str(amounts.get(resource) or 0))) for resource in RESOURCES.values())


def _added(total: Mapping[str, Decimal], container: Mapping[str, Any]) -> dict[str, Decimal]:
    """The total with what the container requests."""
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    added = {resource: quantity(str(amount or 0)) for resource, amount in amounts.items()}
    return {
        resource: total.get(resource, Decimal()) + added.get(resource, Decimal()) for resource in {**total, **added}
    }


NOTIFIER: Final = "gpu-notifier"
"""The name of the service account, and of its role and binding."""


def notifier_account(namespace: str) -> list[dict[str, Any]]:
    """The account by which a pod waits for the end of a job of its namespace, as ``gpu submit --notify`` has it.

    With its role and the binding it reads one Job by name and lists pods, as all users may. The program makes it: users
    may create pods and Secrets in their namespace, but no roles.
    """
    rules = [
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]},
    ]
    reference = {"apiGroup": RBAC, "kind": "Role", "name": NOTIFIER}
    subject = {"kind": "ServiceAccount", "name": NOTIFIER, "namespace": namespace}
    return [
        manifest("v1", "ServiceAccount", NOTIFIER, namespace, automountServiceAccountToken=False),
        manifest(f"{RBAC}/v1", "Role", NOTIFIER, namespace, rules=rules),
        manifest(f"{RBAC}/v1", "RoleBinding", NOTIFIER, namespace, roleRef=reference, subjects=[subject]),
    ]
