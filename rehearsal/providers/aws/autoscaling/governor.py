"""Keeps the fleet's groups as the deployed autoscaler would have them: looks, decides, and tells the fleet."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Set
from functools import partial
from typing import Any, Final

from rehearsal.providers.aws.account import Account
from rehearsal.providers.aws.autoscaling import account_facts, discovery, expander
from rehearsal.providers.aws.autoscaling.cluster_autoscaler import AutoScalingGroup, Seen, judge
from rehearsal.providers.aws.autoscaling.discovery import Installation
from rehearsal.providers.aws.autoscaling.identity import (
    POD_IDENTITY_AGENT,
    Facts,
    Place,
    Role,
    annotated_role,
    role_of,
)
from rehearsal.providers.aws.groups import DeclaredGroup, Groups
from rehearsal.simulation import Fleet, NodeGroup

_PERIOD_SECONDS: Final = 0.5
_ACCOUNT_SECONDS: Final = 5.0
"""Changes of node groups, tags and identities are told; for the rest of the account a look now and then is enough."""

_DEPLOYMENTS: Final = "/apis/apps/v1/deployments"
_DAEMON_SETS: Final = "/apis/apps/v1/daemonsets"
_NODES: Final = "/api/v1/nodes"
_NODE_GROUP_LABEL: Final = "eks.amazonaws.com/nodegroup"
_log = logging.getLogger("rehearsal.aws.autoscaling")


class Governor:
    """A thread that decides about every group when something changed, and every half second.

    The fleet hears of a group when the decision differs from the one before, and whenever someone else may have told
    it something (``wake``). A look that fails (a request that is in the middle of a change, an API server that stops)
    is logged and tried again.
    """

    def __init__(self, account: Account, groups: Groups) -> None:
        self._account = account
        self._groups = groups
        self._look = threading.Event()
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._turn = threading.Lock()
        self._thread: threading.Thread | None = None
        self._told: dict[tuple[str, str], NodeGroup | None] = {}
        self._account_read = -_ACCOUNT_SECONDS
        self._declared: list[DeclaredGroup] = []
        self._asgs: Mapping[str, AutoScalingGroup] = {}
        self._roles: dict[str, Role | None] = {}
        self._clusters: dict[str, Mapping[str, Any]] = {}
        self._warned = ""
        groups.subscribe(self.wake)

    def start(self) -> None:
        """Start the thread; once is enough."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="governor", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """End the thread, and return when it has ended."""
        self._stopped.set()
        self._look.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def wake(self) -> None:
        """Look at once, at the account too; returns before that."""
        self._woken.set()
        self._look.set()

    def refresh(self) -> None:
        """Look and decide now, in this thread. Raises what the look raises."""
        with self._turn:
            self._govern()

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._look.clear()
            try:
                self.refresh()
            except Exception as error:  # the next look decides; nothing depends on this one
                _log.debug("governor: %s", error, exc_info=True)
            self._look.wait(_PERIOD_SECONDS)

    def _govern(self) -> None:
        fleet = self._account.fleet
        if fleet is None:
            return
        if self._woken.is_set():
            self._woken.clear()
            # Whoever changed a group may have told the fleet about it: say it all again.
            self._told = dict.fromkeys(self._told)
            self._account_read = -_ACCOUNT_SECONDS
        if time.monotonic() - self._account_read >= _ACCOUNT_SECONDS:
            self._account_read = time.monotonic()
            self._declared = self._groups.list()
            self._asgs = account_facts.auto_scaling_groups(self._account, {group.asg_name for group in self._declared})
            self._roles.clear()
            self._clusters.clear()
        for cluster in dict.fromkeys(group.cluster for group in self._declared):
            seen = self._seen(fleet, cluster)
            for group in self._declared:
                asg = self._asgs.get(group.asg_name)
                if group.cluster == cluster and asg is not None:
                    had_nodes = partial(fleet.had_nodes, cluster, group.base.name)
                    self._tell(fleet, judge(seen, group, asg, had_nodes))
        self._withdraw(fleet, {(group.cluster, group.base.name) for group in self._declared})

    def _tell(self, fleet: Fleet, group: NodeGroup) -> None:
        key = group.cluster, group.name
        if self._told.get(key) != group:
            fleet.apply_group(group)
            self._told[key] = group
            if group.not_scaled_because:
                _log.info("node group %s does not scale: %s", group.name, group.not_scaled_because)

    def _withdraw(self, fleet: Fleet, existing: Set[tuple[str, str]]) -> None:
        """Remove what this thread told the fleet of groups that were deleted, perhaps while it was telling."""
        for key in [key for key in self._told if key not in existing]:
            fleet.delete_group(*key)
            del self._told[key]

    def _seen(self, fleet: Fleet, cluster: str) -> Seen:
        installation = discovery.cluster_autoscaler(fleet.list_objects(_DEPLOYMENTS))
        if installation is None:
            return Seen(None, "", "")
        self._warn_of_version(installation, cluster)
        return Seen(
            installation,
            self._role(fleet, Place(cluster, installation.namespace, installation.service_account), installation),
            expander.priorities(
                fleet.list_objects(f"/api/v1/namespaces/{installation.namespace}/configmaps"), installation.namespace
            ),
            {"aws:RequestedRegion": self._account.region, "aws:PrincipalTag/eks-cluster-name": cluster},
        )

    def _role(self, fleet: Fleet, place: Place, installation: Installation) -> Role | str:
        """The role of an installation's pods, or why it has none."""
        accounts = fleet.list_objects(f"/api/v1/namespaces/{place.namespace}/serviceaccounts")
        associated = self._account.pod_identity(place.cluster, place.namespace, place.service_account)
        annotated = annotated_role(accounts, place)
        described = self._cluster(place.cluster)
        issuer = ((described.get("identity") or {}).get("oidc") or {}).get("issuer") or ""
        node_role = None if associated or annotated else self._node_role(fleet, place.cluster, installation)
        facts = Facts(
            place=place,
            cluster_arn=str(described.get("arn") or ""),
            account=self._account.id,
            associated=associated,
            agent=any(map(_is_running_agent, fleet.list_objects(_DAEMON_SETS))),
            annotated=annotated,
            oidc_provider=annotated is not None and account_facts.has_oidc_provider(self._account, issuer),
            node_role=node_role,
        )
        arns = {arn for arn in (associated, annotated, node_role) if arn}
        found = {arn: role for arn in arns if (role := self._role_called(arn)) is not None}
        return role_of(facts, found)

    def _cluster(self, name: str) -> Mapping[str, Any]:
        if name not in self._clusters:
            self._clusters[name] = account_facts.cluster(self._account, name) or {}
        return self._clusters[name]

    def _role_called(self, arn: str) -> Role | None:
        if arn not in self._roles:
            self._roles[arn] = account_facts.role(self._account, arn)
        return self._roles[arn]

    def _node_role(self, fleet: Fleet, cluster: str, installation: Installation) -> str | None:
        """The instance role of a node that one of the installation's pods runs on, if the pod can get at it."""
        wanted = installation.selector.items()
        for pod in fleet.list_objects(f"/api/v1/namespaces/{installation.namespace}/pods"):
            name = pod["spec"].get("nodeName")
            if name and wanted <= (pod["metadata"].get("labels") or {}).items():
                nodes = fleet.list_objects(_NODES)
                node = next((each for each in nodes if each["metadata"]["name"] == name), None)
                group = (node or {"metadata": {}})["metadata"].get("labels", {}).get(_NODE_GROUP_LABEL)
                if group:
                    host = bool(pod["spec"].get("hostNetwork"))
                    return account_facts.reachable_node_role(self._account, cluster, group, host_network=host)
        return None

    def _warn_of_version(self, installation: Installation, cluster: str) -> None:
        version = str(self._cluster(cluster).get("version") or "")
        warning = discovery.strays(installation.minor, version)
        if warning and warning != self._warned:
            _log.warning("%s", warning)
        self._warned = warning


def _is_running_agent(daemon_set: Mapping[str, Any]) -> bool:
    ready = int((daemon_set.get("status") or {}).get("numberReady") or 0)
    return daemon_set["metadata"]["name"] == POD_IDENTITY_AGENT and ready > 0
