"""Agent pools: their own resource, the pools that come with a cluster, and the order in which AKS's autoscaler tries
them: its profile's expander, and the ConfigMap of the priority expander
(https://learn.microsoft.com/azure/aks/cluster-autoscaler).

One operation at a time: AKS refuses what comes while another changes the same cluster or one of its pools.
The refusal as users quote it: https://github.com/cilium/cilium/issues/25944. Azure waits for some of what comes
together and not for the rest (https://github.com/Azure/AKS/issues/2720, https://github.com/Azure/AKS/issues/4522), so
the Terraform provider takes a lock on the subnet
(https://github.com/hashicorp/terraform-provider-azurerm/issues/32682). Here it refuses all.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from typing_extensions import override

from facts.catalog.aks.naming import zone_numbers
from rehearsal.providers.aks.cloud import CLUSTER, POOL, TABLE, Subscription, api_error, bad_request, require, same
from rehearsal.providers.aks.iam import CONTRIBUTORS, NETWORKERS, has_role, principals_of
from rehearsal.providers.aks.network import NETWORK, SUBNET
from rehearsal.providers.aks.nodes import (
    POOL_LABEL,
    effective_labels,
    effective_taints,
    max_pods,
    node_group,
    require_one_autoscaler,
    scale_set,
)
from rehearsal.providers.aks.rules import count_at_creation, inline_pools, is_system, pool_name, run_by
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import Record, last_part
from rehearsal.providers.pool_order import PoolOrder, priorities, rank
from rehearsal.providers.resource import Lifecycle, Pending, SimulatedResource
from rehearsal.providers.rules import minors_up

_VERSION: Final = "currentOrchestratorVersion"


def _require(pending: Pending[Subscription]) -> None:
    problem = count_at_creation(pending.inputs) if pending.before is None else None
    if problem:
        raise bad_request(problem)
    if pending.before is not None:
        require_its_size(pending.cloud, pending.before, pending.inputs)
    cluster = require(pending.cloud, cluster_of(pending.id), CLUSTER)
    require_one_autoscaler(cluster.inputs, [pending.inputs])
    _require_version(pending, cluster)
    _require_same_network(pending.inputs, cluster.inputs)
    require_subnets(pending.cloud, pending.inputs, cluster.inputs)
    require_zones(pending.cloud, pending.inputs, cluster.inputs["location"])
    _require_reservation(pending.cloud, pending.inputs, cluster)
    others = [pool.inputs for pool in pools_of(pending.cloud, cluster.id) if not same(pool.id, pending.id)]
    coming = [pool for pool in inline_pools(cluster.inputs) if pool["name"] != last_part(pending.id)]
    if not any(map(is_system, [*others, *coming, pending.inputs])):
        raise bad_request("Must define at least one system pool.")


def _runs(pending: Pending[Subscription]) -> str:
    """The nodes' version: the control plane's at creation, later the one of the request."""
    cluster = require(pending.cloud, cluster_of(pending.id), CLUSTER)
    now = cluster.outputs["currentKubernetesVersion"] if pending.before is None else pending.before.outputs[_VERSION]
    return run_by(pending.inputs.get("orchestratorVersion"), now)


def _require_version(pending: Pending[Subscription], cluster: Record) -> None:
    """400 for nodes newer than their control plane: https://kubernetes.io/releases/version-skew-policy/."""
    version, master = pending.inputs.get("orchestratorVersion"), cluster.outputs["currentKubernetesVersion"]
    if version and minors_up(master, version) > 0:
        raise bad_request(
            f"Node pool version {version} and control plane version {master} are incompatible. Minor version of node "
            "pool version is bigger than control plane version.",
            "NodePoolMcVersionIncompatible",
        )


def _not_the_last(cloud: Subscription, pool: Record) -> None:
    others = [each for each in pools_of(cloud, cluster_of(pool.id)) if each.id != pool.id]
    if is_system(pool.inputs) and not any(is_system(each.inputs) for each in others):
        raise bad_request(
            f"There has to be at least one system agent pool: '{last_part(pool.id)}' is the last one. Add another, or "
            "delete the cluster.",
            "OperationNotAllowed",
        )


def require_its_size(cloud: Subscription, before: Record, inputs: Properties) -> None:
    """400 if an update gives an autoscaled pool another size than the autoscaler did.

    The words: https://github.com/hashicorp/terraform-provider-azurerm/pull/4543 (2019), and
    https://github.com/Azure/AKS/issues/1627 ("its value has to be the current node count"). That the API refuses it
    today is not certain. If it does not, the size that is sent undoes what the autoscaler did, so refusing tells of
    both: https://github.com/kubernetes-sigs/cluster-api-provider-azure/pull/1991
    """
    count, now = inputs.get("count"), live(cloud, before).inputs.get("count")
    autoscaled = before.inputs.get("enableAutoScaling") and inputs.get("enableAutoScaling")
    if autoscaled and count is not None and int(count) != now:
        raise bad_request(
            f"Cannot manually scale AgentPool '{last_part(before.id)}' of an AKS cluster with cluster autoscaler "
            f"enabled. (count is {int(count)}; the pool has {now} nodes)"
        )


def live(cloud: Subscription, pool: Record) -> Record:
    """A pool as Azure answers it: of an autoscaled one, ``count`` is how many machines there are at this moment.

    https://github.com/kubernetes-sigs/cluster-api-provider-azure/pull/2444 relies on it.
    """
    if cloud.fleet is None or not pool.inputs.get("enableAutoScaling"):
        return pool
    nodes = (node["metadata"].get("labels", {}) for node in cloud.fleet.list_objects("/api/v1/nodes"))
    its_own = sum(labels.get(POOL_LABEL) == last_part(pool.id) for labels in nodes)
    # A pool whose machines failed to start still gets its minimum.
    count = {"count": max(its_own, int(pool.inputs.get("minCount") or 0))}
    return replace(pool, inputs={**pool.inputs, **count}, outputs={**pool.outputs, **count})


def require_subnets(cloud: Subscription, pool: Properties, cluster: Properties) -> None:
    """404 if a pool's subnet does not exist, 400 if it is in another region than the cluster, 403 if the cluster's
    identity may not join the subnet or change its route table:
    https://learn.microsoft.com/azure/aks/aks-service-permissions."""
    for key in ("vnetSubnetID", "podSubnetID"):
        if pool.get(key):
            subnet = require(cloud, pool[key], SUBNET)
            network = cloud.store.get(NETWORK, subnet.id.rpartition("/subnets/")[0])
            if network is not None and network.inputs["location"] != cluster["location"]:
                raise bad_request(
                    f"{key}: subnet {subnet.id} is in {network.inputs['location']}, the cluster in "
                    f"{cluster['location']}."
                )
            # One that Azure makes with the cluster has no role yet.
            if at(cluster, "identity.userAssignedIdentities"):
                join = "Microsoft.Network/virtualNetworks/subnets/join/action"
                require_role(cloud, cluster, subnet.id, NETWORKERS, join, subnet.id)
            table = at(subnet.inputs, "routeTable.id")
            require_role(cloud, cluster, table, NETWORKERS, "Microsoft.Network/routeTables/routes/write", table)


def _require_same_network(pool: Properties, cluster: Properties) -> None:
    """400 for a pool in no subnet while others have one, or in another virtual network.

    https://learn.microsoft.com/azure/aks/node-pool-unique-subnet#limitations
    """
    network = str(pool.get("vnetSubnetID") or "").lower().rpartition("/subnets/")[0]
    for other in inline_pools(cluster):
        if network != str(other.get("vnetSubnetID") or "").lower().rpartition("/subnets/")[0]:
            raise bad_request("All or none of the agent pools should set vnetSubnetID, all in one virtual network.")


def require_role(
    cloud: Subscription,
    cluster: Properties,
    resource: str | None,
    roles: Collection[str],
    action: str,
    scope: str | None,
) -> None:
    """403 if the cluster's user-assigned identity has none of the roles on the scope of the resource, if there is one.

    Azure's words for it are not quoted anywhere.
    """
    known = principals_of(cloud, cluster)
    if resource and scope and not any(has_role(cloud, principal, scope, roles) for principal in known):
        message = f"The cluster's identity does not have authorization to perform action '{action}' over '{resource}'."
        raise api_error(HTTPStatus.FORBIDDEN, "AuthorizationFailed", message)


def require_zones(cloud: Subscription, pool: Properties, region: str) -> None:
    """400 if a pool names zones in a region that has none, or that are not known to have its GPUs.

    The code as users quote it: https://github.com/MicrosoftDocs/azure-aks-docs/pull/416.
    """
    zones = [f"{region}-{number}" for number in pool.get("availabilityZones") or []]
    if set(zones) - set(cloud.catalog.regions[region]):
        requested = ", ".join(pool["availabilityZones"])
        supported = ", ".join(zone_numbers(cloud.catalog.regions[region]))
        raise bad_request(
            f"The zone(s) '{requested}' for the agent pool is not supported in location '{region}'. "
            f"The supported zones are '{supported}'.",
            "AvailabilityZoneNotSupported",
        )
    machine = cloud.catalog.machines.get(pool.get("vmSize") or "")
    having = (machine and cloud.catalog.machine_zones(machine)) or ()
    if having and (lacking := tuple(sorted(set(zones) - set(having)))):
        # https://github.com/Azure/AKS/issues/1444
        raise bad_request(
            f"The requested size for resource '{pool_name(pool)}' is currently not available in location '{region}' "
            f"zones '{','.join(zone_numbers(lacking))}' for subscription '{cloud.subscription}'. Please try another "
            "size or deploy to a different location or zones. See https://aka.ms/azureskunotavailable for details.",
            "InvalidTemplateDeployment",
        )


def _require_reservation(cloud: Subscription, pool: Properties, cluster: Record) -> None:
    """403 if the cluster's identity may not deploy into the reservation. It must be a user-assigned identity and
    Contributor of the resource group that the reservation is in.

    https://learn.microsoft.com/azure/aks/use-capacity-reservation-groups
    """
    reservation = pool.get("capacityReservationGroupID")
    group = (reservation or "").lower().partition("/providers/")[0]
    action = "Microsoft.Compute/capacityReservationGroups/deploy/action"
    require_role(cloud, cluster.inputs, reservation, CONTRIBUTORS, action, group)


def cluster_of(pool: str) -> str:
    """The id of the cluster of the pool with that id."""
    return pool.rpartition("/agentPools/")[0]


def pools_of(cloud: Subscription, cluster: str) -> list[Record]:
    """A cluster's pools, however they were declared."""
    start = f"{cluster.lower()}/agentpools/"
    return [record for record in cloud.store.all(POOL) if record.id.lower().startswith(start)]


def start_nodes(cloud: Subscription, pool: Record) -> None:
    """Start the pool's machines, or change them to the pool's current inputs."""
    cluster = require(cloud, cluster_of(pool.id), CLUSTER)
    name = last_part(pool.id)
    rank = rank_of(cloud, cluster, name)
    made_in = cluster.outputs["nodeResourceGroup"]
    inputs = {**pool.inputs, "nodeLabels": pool.outputs.get("nodeLabels"), "vmSize": pool.outputs["vmSize"]}
    cloud.machines().apply_group(node_group(cloud, cluster.inputs, name, inputs, made_in, rank))


def image(pool: Properties) -> str:
    """The image of the pool's nodes."""
    return f"AKS{pool.get('osSKU') or 'Ubuntu'}-rehearsal"


def _start(cloud: Subscription, pool: Record, before: Record | None) -> Record:
    with cloud.changing:
        start_nodes(cloud, pool)
        if before is not None and _reimaged(before, pool):
            cloud.machines().recreate_nodes(last_part(cluster_of(pool.id)), last_part(pool.id))
    return pool


_REIMAGING: Final = ("enableFIPS", "localDNSProfile", "securityProfile.enableSecureBoot", "securityProfile.enableVTPM")


def _reimaged(before: Record, pool: Record) -> bool:
    """Whether each node is cordoned, drained and reimaged: for another version
    (https://learn.microsoft.com/azure/aks/upgrade-aks-cluster), image
    (https://learn.microsoft.com/azure/aks/upgrade-os-version) or one of ``_REIMAGING``
    (https://learn.microsoft.com/azure/aks/node-disruption-policy,
    https://learn.microsoft.com/azure/aks/enable-fips-nodes); one that an update leaves out stays as it was."""
    others = ((at(before.inputs, path), at(pool.inputs, path)) for path in _REIMAGING)
    return (
        before.outputs[_VERSION] != pool.outputs[_VERSION]
        or image(before.inputs) != image(pool.inputs)
        or any(after is not None and after != (former or False) for former, after in others)
    )


def _stop(cloud: Subscription, pool: Record) -> None:
    with cloud.changing:
        cloud.machines().delete_group(last_part(cluster_of(pool.id)), last_part(pool.id))
        cloud.store.remove(POOL, pool.id)


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        POOL,
        outputs={
            "count": lambda pending: 1 if pending.inputs.get("count") is None else pending.inputs["count"],
            "currentOrchestratorVersion": _runs,
            "maxPods": lambda pending: max_pods(
                require(pending.cloud, cluster_of(pending.id), CLUSTER).inputs, pending.inputs
            ),
            "nodeImageVersion": lambda pending: image(pending.inputs),
            "nodeLabels": lambda pending: effective_labels(pending.inputs, new=pending.before is None) or None,
            "nodeTaints": lambda pending: effective_taints(pending.inputs) or None,
            "orchestratorVersion": lambda pending: pending.inputs.get("orchestratorVersion") or _runs(pending),
        },
        requires=_require,
        require_deletable=_not_the_last,
        lifecycle=Lifecycle("agent pool", _start, _stop),
    ),
)


class Operations:
    """Running operations by cluster id. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[str, str] = {}

    @contextmanager
    def only(self, cluster: str, what: str) -> Iterator[None]:
        """Run an operation on a cluster; 409 while another one runs."""
        key = cluster.lower()
        with self._lock:
            other = self._running.get(key)
            if other is not None:
                raise api_error(
                    HTTPStatus.CONFLICT,
                    "OperationNotAllowed",
                    f"Operation is not allowed: Another agentpool operation ({other}) is in progress, please wait for "
                    "it to finish before starting a new operation. See https://aka.ms/aks-pending-operation for more "
                    "details",
                )
            self._running[key] = what
        try:
            yield
        finally:
            with self._lock:
                del self._running[key]


_NAMESPACE: Final = "kube-system"
_log = logging.getLogger(__name__)


def uses_priorities(cluster: Record) -> bool:
    """Whether the cluster's autoscaler profile names the priority expander."""
    return at(cluster.inputs, "autoScalerProfile.expander") == "priority"


def rank_of(cloud: Subscription, cluster: Record, pool: str) -> float | None:
    """The pool's place by the cluster's ConfigMap, smaller first; ``None`` if the ConfigMap does not rank it.

    Without a place, the simulated autoscaler takes the cheapest pool: an approximation of AKS's other expanders.
    """
    if not uses_priorities(cluster):
        return None
    known = priorities(cloud.machines().list_objects("/api/v1/configmaps"), _NAMESPACE)
    if isinstance(known, str):
        _log.info("%s", known)
        return None
    return rank(scale_set(cluster.id, pool), known)


_UNSEEN: Final = object()


class Ranking(PoolOrder[Subscription]):
    """Applies the ranks to the pools of the clusters that use the priority expander, while there are any."""

    def __init__(self, cloud: Subscription) -> None:
        super().__init__("autoscaler-priorities", cloud)
        self._known: dict[str, float | None] = {}

    @override
    def look(self) -> None:
        """Apply the new rank to the machines of every pool whose rank changed."""
        for cluster in self.ordered():
            for pool in pools_of(self._cloud, cluster.id):
                rank = rank_of(self._cloud, cluster, last_part(pool.id))
                if self._known.get(pool.id, _UNSEEN) != rank:
                    self.apply(pool, start_nodes)
                self._known[pool.id] = rank

    @override
    def ordered(self) -> list[Record]:
        return [each for each in self._cloud.store.all(CLUSTER) if uses_priorities(each)]
