"""What the autoscaler simulation reads: the cluster as it is now, and the account as it was a moment ago."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from rehearsal.providers.eks.authorization import roles
from rehearsal.providers.eks.authorization.identity import (
    POD_IDENTITY_AGENT,
    Facts,
    Role,
    ServiceAccountRef,
    annotated_role,
    role_of,
)
from rehearsal.providers.eks.autoscaling import cluster_autoscaler, discovery
from rehearsal.providers.eks.autoscaling.discovery import Installation
from rehearsal.providers.eks.base.account import Account
from rehearsal.simulation import Fleet

Objects = list[dict[str, Any]]

DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
DAEMON_SETS: Final = "/apis/apps/v1/daemonsets"
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
            self._context(cluster),
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
            agent=any(map(_is_running_agent, self._fleet.list_objects(DAEMON_SETS))),
            annotated=annotated,
            oidc_provider=annotated is not None and roles.has_oidc_provider(self._account, issuer),
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
                    return roles.reachable_node_role(self._account, cluster, group, host_network=host)
        return None

    def _node_group_of(self, node: str) -> str | None:
        for each in self._fleet.list_objects(_NODES):
            if each["metadata"]["name"] == node:
                return (each["metadata"].get("labels") or {}).get(_NODE_GROUP_LABEL)
        return None

    def _cluster(self, name: str) -> Mapping[str, Any]:
        return self._once(("cluster", name), lambda: roles.cluster(self._account, name) or {})

    def _role_called(self, arn: str) -> Role | None:
        return self._once(("role", arn), lambda: roles.role(self._account, arn))

    def _once(self, key: tuple[Any, ...], read: Callable[[], _T]) -> _T:
        if key not in self._known:
            self._known[key] = read()
        value: _T = self._known[key]
        return value

    def _context(self, cluster: str) -> dict[str, str]:
        return {"aws:RequestedRegion": self._account.region, "aws:PrincipalTag/eks-cluster-name": cluster}

    def _warn_of_version(self, installation: Installation, cluster: str) -> None:
        warning = discovery.strays(installation.minor, str(self._cluster(cluster).get("version") or ""))
        if warning and warning != self._warned:
            _log.warning("%s", warning)
        self._warned = warning


def _is_running_agent(daemon_set: Mapping[str, Any]) -> bool:
    ready = int((daemon_set.get("status") or {}).get("numberReady") or 0)
    return daemon_set["metadata"]["name"] == POD_IDENTITY_AGENT and ready > 0
