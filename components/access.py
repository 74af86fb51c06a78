"""Access inside the cluster: Kubernetes' user-facing roles and the ``reader`` of pipelines, and what users may not run.

The roles are bound to the principals that the cloud admits.

https://kubernetes.io/docs/reference/access-authn-authz/rbac/#user-facing-roles
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import pulumi

from components.clouds.base import Subject
from components.cluster import Cluster
from components.settings.sections.access import Access as AccessSetting
from components.user_admission import user_policies
from components.users import bind_user, people_namespace, pod_security
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.kubernetes import (
    CLUSTER_RESOURCE_RULES,
    DEFAULT_NAMESPACE,
    NOTIFIER,
    RBAC,
    READER_ROLE,
    READER_RULES,
    USER_ROLES,
    manifest,
    notifier_account,
    role_binding,
    uninterrupted_budget,
)

_VIEWER: Final = "cluster-resource-viewer"
VIEWER_ROLE: Final = f"gpucluster:{_VIEWER}"
"""The ClusterRole of all users: what is not in a namespace, to look at."""
_FORMER_VIEWER: Final = "surroundings"
CLUSTER_RESOURCE_VIEWER: Final = manifest(f"{RBAC}/v1", "ClusterRole", VIEWER_ROLE, rules=[*CLUSTER_RESOURCE_RULES])
_NODE_CLAIMS: Final = {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["get", "list", "watch"]}
"""Says why a machine does not start, for `gpu why`; Karpenter's chart lets administrators alone read it."""
_VIEWER_ROLE: Final = {"kind": "ClusterRole", "name": VIEWER_ROLE}
READER: Final = manifest(f"{RBAC}/v1", "ClusterRole", READER_ROLE, rules=[*READER_RULES])


@dataclass(frozen=True, kw_only=True)
class AccessArgs:
    """The stack file's ``access`` (``entries``) for ``cluster``."""

    cluster: Cluster
    entries: Sequence[AccessSetting]


class Access(pulumi.ComponentResource):
    """All namespaces of people and role bindings; in each and in ``default`` a disruption budget and an account for GPU
    jobs. Policies on what people run in all their namespaces (``user_admission.py``).

    Clouds renew and upgrade nodes by evictions, which the budget refuses. It is the namespace's and not a job's: there
    before the first pod, and never left over. In other namespaces ``gpu submit`` makes it.

    ``namespaces``: name of a namespace → its resource; ``default`` is among them in a cluster of the stack's own.
    """

    namespaces: dict[str, pulumi.Resource]

    def __init__(self, name: str, args: AccessArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Access", name, None, opts)
        objects, cloud, settings = args.cluster.objects, args.cluster.cloud, args.cluster.settings
        self.namespaces = {
            namespace: (
                people_namespace(args.cluster, namespace, args.cluster)
                if namespace in settings.workload_namespaces
                else people_namespace(
                    args.cluster, namespace, self, name=f"{name}-namespace-{namespace}", retained=True
                )
            )
            for namespace in settings.user_namespaces
            if namespace != DEFAULT_NAMESPACE
        }
        for namespace in settings.reserved_namespaces:
            objects.namespace(namespace, args.cluster, labels=pod_security(settings))
        if not args.cluster.handle.outlives_stack:
            self.namespaces[DEFAULT_NAMESPACE] = people_namespace(
                args.cluster, DEFAULT_NAMESPACE, self, name=f"{name}-namespace-{DEFAULT_NAMESPACE}"
            )
        for namespace in dict.fromkeys((DEFAULT_NAMESPACE, *self.namespaces)):
            after = [each for each in (self.namespaces.get(namespace),) if each is not None]
            objects.declare(f"{name}-budget-{namespace}", uninterrupted_budget(namespace), self, *after)
            for part in notifier_account(namespace):
                kind = part["kind"].lower()
                after.append(objects.declare(f"{name}-{NOTIFIER}-{namespace}-{kind}", part, self, *after))
        self._declare_policies(name, args.cluster)
        if args.entries or args.cluster.handle.user is not None:
            viewer = objects.declare(
                f"{name}-{_VIEWER}",
                cluster_resource_viewer(settings.autoscaler),
                self,
                renamed_from=f"{name}-{_FORMER_VIEWER}",
            )
            bind_user(args.cluster, _VIEWER_ROLE, self, viewer)
            roles = [viewer]
            if any(entry.role == "reader" for entry in args.entries):
                roles.append(objects.declare(f"{name}-reader", READER, self))
            for entry in args.entries:
                for binding in bindings(entry, cloud.subject(entry)):
                    namespace = self.namespaces.get(binding["metadata"].get("namespace", ""))
                    after = roles if namespace is None else [*roles, namespace]
                    suffix = _suffix(binding)
                    former = f"{name}-{entry.name}-{_FORMER_VIEWER}" if suffix == _VIEWER else None
                    objects.declare(f"{name}-{entry.name}-{suffix}", binding, self, *after, renamed_from=former)
        self.register_outputs({"namespaces": list(self.namespaces)})

    def _declare_policies(self, name: str, cluster: Cluster) -> None:
        policies: dict[str, pulumi.Resource] = {}
        for each in user_policies(cluster.settings):
            own = each["metadata"]["name"]
            after = [policies[each["spec"]["policyName"]]] if "policyName" in each["spec"] else []
            policies[own] = cluster.objects.declare(f"{name}-{own.removesuffix('.gpucluster.dev')}", each, self, *after)


def cluster_resource_viewer(autoscaler: str) -> dict[str, Any]:
    """The ClusterRole of all users, for a cluster with the ``autoscaler`` of the stack file's spelling."""
    if autoscaler not in KARPENTERS:
        return CLUSTER_RESOURCE_VIEWER
    return {**CLUSTER_RESOURCE_VIEWER, "rules": [*CLUSTER_RESOURCE_RULES, _NODE_CLAIMS]}


def bindings(entry: AccessSetting, subject: Subject) -> Iterator[dict[str, Any]]:
    """The entry's role bindings. Each name contains the role, because a binding's ``roleRef`` is immutable."""
    role, subjects = USER_ROLES[entry.role], [asdict(subject)]
    for namespace in entry.namespaces or (None,):
        reference = {"kind": "ClusterRole", "name": role}
        yield role_binding(f"gpucluster:{entry.name}:{role.rpartition(':')[2]}", reference, subjects, namespace)
    if entry.role != "admin":
        yield role_binding(f"gpucluster:{entry.name}:{_VIEWER}", _VIEWER_ROLE, subjects)


def _suffix(binding: Mapping[str, Any]) -> str:
    """The end of the name of a binding's Pulumi resource."""
    role, namespace = binding["roleRef"]["name"].rpartition(":")[2], binding["metadata"].get("namespace")
    return role + (f"-in-{namespace}" if namespace else "")
