"""Keeps the fleet's groups as the deployed cluster-autoscaler would have them: looks, decides, and tells the fleet."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Set
from functools import partial
from typing import Any, Final, TypeVar

from typing_extensions import override

from rehearsal.cluster.threads import PollingThread
from rehearsal.providers.eks.authorization import identity
from rehearsal.providers.eks.authorization.identity import Facts, Role, ServiceAccountRef, annotated_role, role_of
from rehearsal.providers.eks.autoscaling import cluster_autoscaler, discovery
from rehearsal.providers.eks.autoscaling.discovery import Installation
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.resources import scaling_group
from rehearsal.providers.eks.resources.groups import DeclaredGroup, declared_groups, is_leaving
from rehearsal.simulation import Fleet, SimulatedNodeGroup

Objects = list[dict[str, Any]]

DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
_NODES: Final = "/api/v1/nodes"
_NODE_GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
_T = TypeVar("_T")
_log = logging.getLogger("rehearsal.aws.autoscaling")


class Observer:
    """Reads for one thread. What it read of the account it remembers until ``forget``; the cluster is read anew."""

    def __init__(self, account: Account, fleet: Fleet) -> None:
        self._account = account
        self._fleet = fleet
        self._known: dict[tuple[Any, ...], Any] = {}
        self._warned = ""

    def forget(self) -> None:
        """Read the account again when asked next."""
        self._known.clear()

    def cluster_autoscaler(self, cluster: str, deployments: Objects) -> cluster_autoscaler.ClusterSnapshot:
        """The cluster-autoscaler among ``deployments``, with all that decides about every group."""
        installation = discovery.cluster_autoscaler(deployments)
        if installation is None:
            return cluster_autoscaler.ClusterSnapshot(None, "", "")
        self._warn_of_version(installation, cluster)
        config_maps = self._fleet.list_objects(f"/api/v1/namespaces/{installation.namespace}/configmaps")
        return cluster_autoscaler.ClusterSnapshot(
            installation,
            self._role(cluster, installation),
            cluster_autoscaler.priorities(config_maps, installation.namespace),
            {"aws:RequestedRegion": self._account.region, "aws:PrincipalTag/eks-cluster-name": cluster},
        )

    def nodes_by_group(self) -> Counter[str]:
        """How many nodes each managed node group has, by its name."""
        labels = (node["metadata"].get("labels") or {} for node in self._fleet.list_objects(_NODES))
        return Counter(node_labels[_NODE_GROUP_LABEL] for node_labels in labels if _NODE_GROUP_LABEL in node_labels)

    def _role(self, cluster: str, installation: Installation) -> Role | str:
        """The role of an installation's pods, or why it has none."""
        place = ServiceAccountRef(cluster, installation.namespace, installation.service_account)
        accounts = self._fleet.list_objects(f"/api/v1/namespaces/{place.namespace}/serviceaccounts")
        associated = self._account.pod_identity(place.cluster, place.namespace, place.service_account)
        annotated = annotated_role(accounts, place)
        node_role = None if associated or annotated else self._node_role(cluster, installation)
        described = self._cluster(cluster)
        issuer = ((described.get("identity") or {}).get("oidc") or {}).get("issuer") or ""
        facts = Facts(
            place=place,
            cluster_arn=str(described.get("arn") or ""),
            account=self._account.id,
            associated=associated,
            agent=identity.agent_runs(self._fleet.list_objects("/apis/apps/v1/daemonsets")),
            annotated=annotated,
            oidc_provider=annotated is not None and identity.has_oidc_provider(self._account, issuer),
            node_role=node_role,
        )
        arns = {arn for arn in (associated, annotated, node_role) if arn}
        candidates = {arn: role for arn in arns if (role := self._role_called(arn)) is not None}
        return role_of(facts, candidates)

    def _node_role(self, cluster: str, installation: Installation) -> str | None:
        """The instance role of a node that one of the installation's pods runs on, if the pod can get at it."""
        selector = installation.selector.items()
        for pod in self._fleet.list_objects(f"/api/v1/namespaces/{installation.namespace}/pods"):
            node = pod["spec"].get("nodeName")
            if node and selector <= (pod["metadata"].get("labels") or {}).items():
                host = bool(pod["spec"].get("hostNetwork"))
                group = self._node_group_of(node)
                if group:
                    return identity.reachable_node_role(self._account, cluster, group, host_network=host)
        return None

    def _node_group_of(self, node: str) -> str | None:
        for each in self._fleet.list_objects(_NODES):
            if each["metadata"]["name"] == node:
                return (each["metadata"].get("labels") or {}).get(_NODE_GROUP_LABEL)
        return None

    def _cluster(self, name: str) -> Mapping[str, Any]:
        read = partial(self._account.look_up, "eks", "DescribeCluster", "cluster", name=name)
        return self._once(("cluster", name), read) or {}

    def _role_called(self, arn: str) -> Role | None:
        return self._once(("role", arn), lambda: identity.role(self._account, arn))

    def _once(self, key: tuple[Any, ...], read: Callable[[], _T]) -> _T:
        if key not in self._known:
            self._known[key] = read()
        value: _T = self._known[key]
        return value

    def _warn_of_version(self, installation: Installation, cluster: str) -> None:
        warning = discovery.strays(installation.minor, str(self._cluster(cluster).get("version") or ""))
        if warning and warning != self._warned:
            _log.warning("%s", warning)
        self._warned = warning


_PERIOD_SECONDS: Final = 0.5
_QUIET_SECONDS: Final = 0.5
"""A pause in the changes: a program declares dozens of tags at once."""

_ACCOUNT_SECONDS: Final = 5.0
"""Changes of node groups, tags and identities are reported; the rest of the account is polled."""


class AutoscalerSimulation(PollingThread):
    """Decides about every group each half second.

    The fleet hears of a group when the decision differs from the one before, and whenever someone else may have told
    it something (``wake``). A look that fails (a request that is in the middle of a change, an API server that stops)
    is logged and tried again.
    """

    def __init__(self, account: Account) -> None:
        super().__init__("autoscaler-simulation", _PERIOD_SECONDS)
        self._account = account
        self._fleet: Fleet = account.machines()
        self._observer = Observer(account, self._fleet)
        self._woken: float | None = None
        self._turn = threading.Lock()
        self._reported: dict[tuple[str, str], SimulatedNodeGroup | None] = {}
        self._account_read = -_ACCOUNT_SECONDS
        self._declared: list[DeclaredGroup] = []

    def wake(self) -> None:
        """``refresh`` after a pause in the changes."""
        self._woken = time.monotonic()

    @override
    def look(self) -> None:
        woken = self._woken
        self._decide(anew=woken is not None and time.monotonic() - woken >= _QUIET_SECONDS)

    @override
    def failed(self, error: Exception) -> None:
        # The next look decides; nothing depends on this one.
        _log.debug("autoscaler simulation: %s", error, exc_info=True)

    def refresh(self) -> None:
        """Look now, in this thread, at the account too, and tell the fleet again. Raises what the look raises."""
        self._decide(anew=True)

    def _decide(self, *, anew: bool) -> None:
        with self._turn:
            if anew:
                self._woken = None
                # The change of a group may already have updated the fleet: report everything again.
                self._reported = dict.fromkeys(self._reported)
                self._account_read = -_ACCOUNT_SECONDS
            if time.monotonic() - self._account_read >= _ACCOUNT_SECONDS:
                self._declared = declared_groups(self._account)
                self._observer.forget()
                self._account_read = time.monotonic()
            decided = list(self._decisions())
            names = {(group.cluster, group.base.name) for group in self._declared}
            for group in decided:
                key = group.cluster, group.name
                # A deletion may have begun since the decision.
                if key not in names or not is_leaving(self._account, *key):
                    self._tell(group)
            self._resize({(group.cluster, group.name) for group in decided if group.autoscaled})
            self._withdraw(names | {(group.cluster, group.name) for group in decided})

    def _decisions(self) -> Iterator[SimulatedNodeGroup]:
        deployments = self._fleet.list_objects(DEPLOYMENTS)
        clusters = dict.fromkeys(group.cluster for group in self._declared)
        snapshots = {cluster: self._observer.cluster_autoscaler(cluster, deployments) for cluster in clusters}
        for group in self._declared:
            if not group.leaving:
                had_nodes = partial(self._fleet.had_nodes, group.cluster, group.base.name)
                yield cluster_autoscaler.evaluate(snapshots[group.cluster], group, had_nodes)

    def _tell(self, group: SimulatedNodeGroup) -> None:
        key = group.cluster, group.name
        if self._reported.get(key) != group:
            self._fleet.apply_group(group)
            self._reported[key] = group
            if group.not_scaled_because:
                _log.info("node group %s does not scale: %s", group.name, group.not_scaled_because)

    def _resize(self, autoscaled: Set[tuple[str, str]]) -> None:
        """Give each autoscaled group's Auto Scaling group the size that the group has: by it the autoscaler changes the
        number of nodes (SetDesiredCapacity), and in it everybody else reads how many there are.

        https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
        """
        nodes = self._observer.nodes_by_group()
        for group in self._declared:
            size = min(max(nodes[group.name], group.min_size), group.max_size)
            if (group.cluster, group.name) in autoscaled and not group.leaving and size != group.desired:
                scaling_group.set_size(self._account, group.asg_name, size)
                self._account_read = -_ACCOUNT_SECONDS

    def _withdraw(self, existing: set[tuple[str, str]]) -> None:
        """Remove what this thread told the fleet of groups that were deleted, perhaps while it was telling."""
        for key in [key for key in self._reported if key not in existing]:
            self._fleet.delete_group(*key)
            del self._reported[key]
