"""A cluster that somebody else made: it is asked first, gets labels and taints on the chosen nodes, and stays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import pulumi

from components.clouds import running_jobs
from components.clouds.base import CloudCluster
from components.clouds.deployed import Deployed
from components.clouds.machines_plugin import MachinesProvider, declare, deployed_outputs
from components.settings import Settings
from components.settings.pools.own import ExistingNodes
from facts.catalog import OWN_SECRETS
from facts.concepts.kubernetes import CLUSTER_RESOURCE_RULES, RBAC, READER_RULES, USER_ROLES, node_taints
from facts.concepts.pool import ADMIN_POOL_NAME, Pool

_NAMESPACE: Final = "gpucluster"
_SECRET: Final = OWN_SECRETS["existing"]
_OF_NODES: Final = ("machines", "selector", "count", "gpus", "labels", "taints")
_OUTPUTS: Final = ("server", "authority", "kubeconfig")
_ADMISSION: Final = "admissionregistration.k8s.io"
_LOOK: Final = ("get", "list", "watch")
_MANAGE: Final = (*_LOOK, "create", "patch", "delete")
_EVERYTHING: Final = {"group": "*", "resource": "*", "verbs": ["*"]}
# Group and kinds of objects that the program makes without any part of ``workloads``.
_OBJECTS: Final = (
    ("", ("configmaps", "serviceaccounts")),
    ("apps", ("daemonsets",)),
    ("policy", ("poddisruptionbudgets",)),
    ("scheduling.k8s.io", ("priorityclasses",)),
    (_ADMISSION, ("validatingadmissionpolicies", "validatingadmissionpolicybindings")),
    (RBAC, ("roles", "rolebindings", "clusterroles", "clusterrolebindings")),
)


class ExistingClusterHandle(CloudCluster):
    """The ``CloudCluster`` that exists, and the ``NodePools`` of its pools; its objects are deleted one by one."""

    outlives_stack = True

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        assert isinstance(settings.own, ExistingNodes), "a stack on an existing cluster names its nodes"
        self._settings, self._own = settings, settings.own
        provider = MachinesProvider(f"{name}-login", _login(settings.own), pulumi.ResourceOptions(parent=parent))
        self._provider = provider
        pools = (settings.admin_pool, *settings.pools)
        inputs = {"rights": rights(settings), "pools": [self._pool(pool) for pool in pools if self._has_nodes(pool)]}
        options = pulumi.ResourceOptions(parent=parent, provider=provider)
        self.resource = declare("ExistingCluster", f"{name}-existing", inputs, options, outputs=_OUTPUTS)
        # Whatever uses it waits until the cluster was asked.
        self.kubeconfig = pulumi.Output.secret(self.resource.outputs["kubeconfig"])
        deployed = Deployed()
        self._nodes = deployed_outputs("Nodes", deployed).values()
        self.running_nodes = running_jobs.running_nodes(self.kubeconfig, deployed, self._former_names)
        self.authority = self.resource.outputs["authority"]

    @property
    def name(self) -> pulumi.Output[str]:
        """The name in the stack file, known once the cluster was asked."""
        return self.resource.outputs["server"].apply(lambda _: self._settings.cluster_name)

    @property
    def network(self) -> Mapping[str, pulumi.Input[Any]]:
        """The API server's address."""
        return {"endpoint": self.resource.outputs["server"]}

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """Labels and taints on the pool's nodes; nothing for nodes that somebody else's autoscaler makes."""
        if pool.scaling.autoscaled or not self._has_nodes(pool):
            return self.resource
        options = pulumi.ResourceOptions(provider=self._provider, depends_on=[self.resource])
        part = self._pool(pool)
        inputs = {"pool": pool.name, **{key: part[key] for key in _OF_NODES}}
        return declare("Nodes", name, inputs, pulumi.ResourceOptions.merge(opts, options))

    def _former_names(self, pool: Pool) -> Collection[str]:
        machines, selector = self._own.machines.get(pool.name, ()), self._own.selectors.get(pool.name)
        its = [
            each
            for each in self._nodes
            if {*machines} & {*(each.get("nodes") or each["machines"])} or (selector and each["selector"] == selector)
        ]
        return [each["pool"] for each in its]

    def _has_nodes(self, pool: Pool) -> bool:
        return pool.scaling.autoscaled or pool.name != ADMIN_POOL_NAME or pool.scaling.max_nodes > 0

    def _pool(self, pool: Pool) -> dict[str, Any]:
        own = self._own
        return {
            "name": pool.name,
            "machines": list(own.machines.get(pool.name, ())),
            "selector": dict(own.selectors.get(pool.name, {})),
            "count": pool.scaling.max_nodes,
            "gpus": pool.gpus.allocatable,
            "devicePlugin": pool.role == "gpu" and pool.gpus.drivers == "managed",
            "scaled": pool.scaling.autoscaled,
            "labels": dict(pool.nodes.labels),
            "taints": node_taints(pool.nodes.taints),
        }


def _login(own: ExistingNodes) -> dict[str, Any]:
    kubeconfig = pulumi.Config(_NAMESPACE).get_secret(_SECRET)
    if kubeconfig is None:
        raise pulumi.RunError(
            f"{_SECRET}: missing: how the program logs in to the cluster. Run: kubectl config view --minify --flatten "
            f"--raw | pulumi config set --secret {_NAMESPACE}:{_SECRET}"
        )
    return {"kubeconfig": kubeconfig, **({"context": own.context} if own.context else {})}


def rights(settings: Settings) -> list[dict[str, Any]]:
    """``{group, resource, name?, verbs}`` in all namespaces.

    Parts of ``workloads`` are charts, whose objects the program does not know: their user may do anything.
    """
    if settings.workloads.tools:
        return [_EVERYTHING]
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for right in (*_looks(), *_objects(settings), *_grants(settings)):
        verbs.setdefault((right["group"], right["resource"], right.get("name", "")), []).extend(right["verbs"])
    return [
        {**_right(group, resource, [*dict.fromkeys(each)]), **({"name": name} if name else {})}
        for (group, resource, name), each in verbs.items()
    ]


def _looks() -> Iterator[dict[str, Any]]:
    yield _right("", "nodes", (*_LOOK, "patch"))
    yield _right("", "namespaces", (*_LOOK, "create", "patch"))
    yield from (_right("", kind, _LOOK) for kind in ("pods", "events"))
    yield _right("batch", "jobs", _LOOK)
    yield _right("apiextensions.k8s.io", "customresourcedefinitions", ("get",))


def _objects(settings: Settings) -> Iterator[dict[str, Any]]:
    for group, kinds in _OBJECTS:
        yield from (_right(group, kind, _MANAGE) for kind in kinds)
    if settings.teams:
        yield _right("", "resourcequotas", _MANAGE)


def _grants(settings: Settings) -> Iterator[dict[str, Any]]:
    """Kubernetes lets a user grant what the user may do, and bind roles with the right to bind them.

    https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
    """
    for role in dict.fromkeys(USER_ROLES[entry.role] for entry in settings.access):
        yield {**_right(RBAC, "clusterroles", ("bind",)), "name": role}
    if settings.access:
        readers = any(entry.role == "reader" for entry in settings.access)
        for rule in (*CLUSTER_RESOURCE_RULES, *(READER_RULES if readers else ())):
            yield from (_right(group, kind, rule["verbs"]) for group in rule["apiGroups"] for kind in rule["resources"])


def _right(group: str, resource: str, verbs: Sequence[str]) -> dict[str, Any]:
    return {"group": group, "resource": resource, "verbs": list(verbs)}
