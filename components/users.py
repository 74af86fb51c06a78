"""Namespaces in which people run pods, and the rights of the user of the output ``kubeconfig`` in them.

A principal that creates pods can act as every service account of the namespace, and through a privileged pod as the
node. So these namespaces hold no system pods, and admit no privileged ones:
https://kubernetes.io/docs/concepts/security/rbac-good-practices/#workload-creation
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import pulumi

from components.clouds.base import load_cloud
from components.cluster import Cluster
from components.settings import Settings
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, RBAC, manifest, role_binding
from facts.concepts.parts import FABRIC_CLAIM

# Warnings reach the author of a Job or Deployment; what is refused is only its pods.
# https://kubernetes.io/docs/concepts/security/pod-security-admission/#pod-security-admission-labels-for-namespaces
POD_SECURITY: Final[Mapping[str, str]] = {
    f"pod-security.kubernetes.io/{mode}": "baseline" for mode in ("enforce", "warn")
}
"""Labels of a namespace that admits no privileged pod. Pods get GPUs from a device plugin, without a privilege."""
MPS_POD_SECURITY: Final[Mapping[str, str]] = {"gpucluster.dev/pod-security": "mps"}
"""The same where pods use MPS, which needs ``hostIPC``: a policy of ours admits the rest (``mps-pods.yaml``)."""

# https://kubernetes.io/docs/concepts/policy/resource-quotas/#quota-for-storage, #quota-on-object-count. Node ports are
# few in a cluster (30000-32767), and a load balancer has one for each of its ports. On GKE an Ingress is one, too:
# https://docs.cloud.google.com/kubernetes-engine/docs/concepts/ingress-xlb. What a DaemonSet requests autoscalers leave
# free on each node that they would start, whether its pods start or not:
# https://github.com/kubernetes/autoscaler/issues/2085, https://github.com/kubernetes/autoscaler/issues/2927.
NAMESPACE_LIMITS: Final[Mapping[str, str]] = {
    "count/daemonsets.apps": "0",
    "count/ingresses.networking.k8s.io": "5",
    "persistentvolumeclaims": "100",
    "requests.storage": "10Ti",
    "services.loadbalancers": "5",
    "services.nodeports": "50",
    # Up to 1 MiB each, in etcd, which refuses all writes of the cluster when it is full, on own machines at 2 GiB:
    # https://etcd.io/docs/v3.6/op-guide/maintenance/#space-quota. A job of `gpu submit` keeps its folder in some.
    "count/configmaps": "1000",
    "count/secrets": "500",
    # The same is true of all that people make; of pods those count that have not ended, and a Deployment keeps ten
    # ReplicaSets. A suspended Job costs nothing else.
    **dict.fromkeys(
        ("pods", "count/jobs.batch", "count/replicasets.apps", "count/resourceclaims.resource.k8s.io"), "2000"
    ),
    # With those that have ended, or are deleted and stay for a finalizer. kube-controller-manager leaves 12500 that
    # have ended: https://kubernetes.io/docs/reference/command-line-tools-reference/kube-controller-manager/
    "count/pods": "20000",
    **dict.fromkeys(
        (
            *("services", "count/serviceaccounts", "count/replicationcontrollers", "count/cronjobs.batch"),
            *("count/deployments.apps", "count/statefulsets.apps", "count/leases.coordination.k8s.io"),
            *("count/horizontalpodautoscalers.autoscaling", "count/poddisruptionbudgets.policy"),
            "count/resourceclaimtemplates.resource.k8s.io",
            *("count/networkpolicies.networking.k8s.io", f"count/roles.{RBAC}", f"count/rolebindings.{RBAC}"),
        ),
        "500",
    ),
}
"""What a namespace may have of what no quota of GPUs counts, and others pay or lack."""


def pod_security(settings: Settings) -> Mapping[str, str]:
    """The labels of a namespace of people."""
    return MPS_POD_SECURITY if any(pool.gpus.mps for pool in settings.gpu_pools) else POD_SECURITY


def people_namespace(
    cluster: Cluster, namespace: str, parent: pulumi.Resource, *, name: str | None = None, retained: bool = False
) -> pulumi.Resource:
    """A namespace for people's pods, and what it may have at most of other things, which an administrator may change.
    ``default`` is there already. What is declared in the namespace waits for the resource.

    A ``retained`` one of a cluster that somebody else made keeps the labels and limits that its owner chose.
    """
    theirs = cluster.handle.outlives_stack and retained
    resource = cluster.objects.namespace(
        namespace,
        parent,
        name=name,
        retained=retained,
        labels={} if theirs else pod_security(cluster.settings),
        existing=namespace == DEFAULT_NAMESPACE,
    )
    if namespace not in cluster.settings.former_namespaces:
        bind_user(cluster, {"kind": "ClusterRole", "name": "edit"}, parent, resource, namespace=namespace)
    claimed = [
        pool.nodes.fabric
        for pool in cluster.settings.gpu_pools
        if pool.nodes.fabric is not None and pool.nodes.fabric.claimed
    ]
    if claimed:
        # https://docs.cloud.google.com/kubernetes-engine/docs/how-to/allocate-network-resources-dra
        request = {"name": "fabric", "exactly": {"deviceClassName": claimed[0].resource, "allocationMode": "All"}}
        spec = {"spec": {"devices": {"requests": [request]}}}
        template = manifest("resource.k8s.io/v1", "ResourceClaimTemplate", FABRIC_CLAIM, namespace, spec=spec)
        cluster.objects.declare(f"{FABRIC_CLAIM}-in-{namespace}", template, parent, resource)
    if theirs:
        return resource
    # The API server refuses claims until it has counted those that there are, which the provider waits for.
    classes = load_cloud(cluster.settings.cloud).classes_with_one_key
    hard = {
        **NAMESPACE_LIMITS,
        **{f"{name}.storageclass.storage.k8s.io/persistentvolumeclaims": "0" for name in classes},
    }
    most = manifest("v1", "ResourceQuota", "namespace-limits", namespace, spec={"hard": hard})
    return cluster.objects.declare(f"namespace-limits-in-{namespace}", most, parent, resource, as_made=("spec",))


def open_tool(
    cluster: Cluster, namespace: str, parent: pulumi.Resource, space: pulumi.Resource, secrets: Sequence[str] = ()
) -> None:
    """Let the user forward ports of a tool's pods and read the passwords in ``secrets``, but create no pod there.

    A port is forwarded over a WebSocket, which ``get`` opens, or by ``create``:
    https://www.kubernetes.dev/resources/keps/4006/
    """
    if cluster.handle.user is None:
        return
    look = ["get", "list", "watch"]
    rules: list[dict[str, Any]] = [
        {"apiGroups": [""], "resources": ["services", "pods"], "verbs": look},
        {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["get", "create"]},
    ]
    if secrets:
        rules.append({"apiGroups": [""], "resources": ["secrets"], "resourceNames": [*secrets], "verbs": ["get"]})
    name = "gpucluster:users"
    role = manifest(f"{RBAC}/v1", "Role", name, namespace, rules=rules)
    declared = cluster.objects.declare(f"users-role-in-{namespace}", role, parent, space)
    bind_user(cluster, {"kind": "Role", "name": name}, parent, declared, namespace=namespace)


def bind_user(
    cluster: Cluster,
    role: Mapping[str, str],
    parent: pulumi.Resource,
    *after: pulumi.Resource,
    namespace: str | None = None,
) -> None:
    """Bind ``role`` (kind, name) to the user of the output ``kubeconfig``, if the program decides about its rights.

    Without a ``namespace`` the role holds in the whole cluster.
    """
    user = cluster.handle.user
    if user is None:
        return
    short = role["name"].rpartition(":")[2]
    # No entry of ``access`` has a binding of such a name: those have three parts.
    binding = role_binding(f"gpucluster:users-{short}", role, [asdict(user)], namespace)
    suffix = short if namespace is None else f"{short}-in-{namespace}"
    cluster.objects.declare(f"users-{suffix}", binding, parent, *after)
