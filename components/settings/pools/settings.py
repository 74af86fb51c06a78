"""A stack: its file, and everything that follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any

from components.settings.fields.types import NotValidYet
from components.settings.pools import costs, expand
from components.settings.sections.access import Access
from components.settings.sections.cluster import ExistingCluster, Kubernetes, Network, Security
from components.settings.sections.maintenance import Maintenance
from components.settings.sections.stack_file import StackFile
from components.settings.sections.teams import Team
from components.settings.sections.workloads import Identity, Workloads
from facts import catalog
from facts.catalog import CloudCatalog
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.concepts.pool import Pool

if TYPE_CHECKING:  # a cloud's stack does not load the keys of others
    from components.settings.pools.own import ExistingNodes, OwnMachines


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A stack file and what it means on ``day``. What is not said here is a key of the file.

    ``project`` is the cloud account. ``own``: the pools of a stack that rents no machines; its file has what all stack
    files have in common, and no region or zones.
    ``former_namespaces``: of people, that only an earlier file named. ``reserved_namespaces``: of the cluster itself,
    that version 0.1.0 admitted in ``identities`` and ``workloads``. ``workload_namespaces``: people's that were first
    named there; with another resource a namespace would be made again, and then deleted with what runs in it.
    Of a file that is still being checked, the attributes that depend on an invalid key raise ``NotValidYet``, and
    ``gpu_pools`` and ``cpu_pools`` are those of the entries without problems.
    """

    file: StackFile
    stack: str
    day: date
    project: str = ""
    own: OwnMachines | ExistingNodes | None = None
    former_namespaces: tuple[str, ...] = ()
    reserved_namespaces: tuple[str, ...] = ()
    workload_namespaces: tuple[str, ...] = ()

    @property
    def known(self) -> CloudCatalog:
        """The cloud's catalogue."""
        return catalog.of(self.cloud)

    @property
    def cloud(self) -> str:
        """The cloud."""
        return self.file.cloud

    @property
    def region(self) -> str:
        """The region; empty on own machines."""
        return self.file.region

    @cached_property
    def zones(self) -> tuple[str, ...]:
        """The zones in the order of the file; a zonal control plane is in the first."""
        return self.file.zones or self.known.regions.get(self.region, ())

    @property
    def regional(self) -> bool:
        """Whether the control plane is in several zones."""
        return self.file.availability == "regional"

    @cached_property
    def cluster_name(self) -> str:
        """The file's, or ``gpu-<stack>`` in the alphabet and length of a cluster's name."""
        if self.existing_cluster is not None:
            return self.existing_cluster.name
        default = "gpu-" + re.sub(r"[^a-z0-9]+", "-", self.stack.lower()).strip("-")
        return self.file.cluster_name or default[: self.known.choices.max_name_length].strip("-")

    @property
    def existing_cluster(self) -> ExistingCluster | None:
        """The cluster that somebody else made; ``None`` where the stack makes one."""
        return self.file.existing_cluster

    @property
    def kubernetes(self) -> Kubernetes:
        """Version of Kubernetes."""
        return self.file.kubernetes

    @property
    def network(self) -> Network:
        """Its ranges are the file's or the cloud's defaults; ``pod_cidr`` is ``None`` where pods share the nodes'."""
        return self.file.network

    @property
    def security(self) -> Security:
        """Keys, limits of roles, deletion protection."""
        return self.file.security

    @property
    def maintenance(self) -> Maintenance:
        """The maintenance window."""
        return self.file.maintenance

    @property
    def workloads(self) -> Workloads:
        """What jobs need besides GPUs."""
        return self.file.workloads

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Service accounts with an identity in the cloud."""
        return self.file.identities

    @property
    def access(self) -> tuple[Access, ...]:
        """Roles of principals in the cluster."""
        return self.file.access

    @property
    def teams(self) -> tuple[Team, ...]:
        """Namespaces with a quota."""
        return self.file.teams

    @cached_property
    def user_namespaces(self) -> tuple[str, ...]:
        """The namespaces in which people run pods: ``default``, those that the file names, former ones. In a cluster
        that exists the owner decides about ``default``.

        They admit no privileged pods (``components/users.py``) and have the policies of
        ``components/user_admission.py``.
        """
        volume = self.workloads.shared_volume
        checkpoints = self.workloads.checkpoints
        accounts = [*(each.service_account for each in self.identities)]
        accounts += [checkpoints.service_account] if checkpoints is not None else []
        named = [
            *([DEFAULT_NAMESPACE] if self.own is None or self.own.creates_cluster else []),
            *(namespace for entry in self.access for namespace in entry.namespaces),
            *(team.name for team in self.teams),
            *(account.partition("/")[0] for account in accounts),
            *(service.namespace for service in self.workloads.services),
            *([volume.namespace] if volume is not None else []),
            *self.former_namespaces,
        ]
        return tuple(dict.fromkeys(named))

    @property
    def addons(self) -> tuple[str, ...]:
        """The cloud's add-ons."""
        return self.file.addons

    @property
    def addon_versions(self) -> Mapping[str, str]:
        """Pinned versions of add-ons."""
        return self.file.addon_versions

    @property
    def tags(self) -> Mapping[str, str]:
        """Tags in the cloud's own grammar."""
        return self.file.tags

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """All labels of the resources, including the tags."""
        return {**self.file.labels, **self.file.tags}

    @property
    def raw(self) -> Mapping[str, Any]:
        """Inputs of the provider for the cluster."""
        return self.file.raw

    @property
    def gpu_metrics(self) -> bool:
        """Whether the cloud collects GPU metrics.

        By default unless the tools of ``workloads`` do, which bring an exporter of their own: Google bills the samples.
        """
        written = self.file.monitoring.gpu_metrics
        return self.known.choices.gpu_metrics and self.workloads.monitoring is None if written is None else written

    @property
    def control_plane_logs(self) -> tuple[str, ...]:
        """The logs of the control plane that the cloud retains for ``control_plane_log_days``."""
        written = self.file.monitoring.control_plane_logs
        return self.known.choices.control_plane_logs if written is None else written

    @property
    def control_plane_log_days(self) -> int:
        """How long."""
        return self.file.monitoring.control_plane_log_days or 30

    @property
    def nat_per_zone(self) -> bool:
        """Whether each zone has a NAT gateway of its own; by default in a regional cluster."""
        return (self.network.nat or ("per-zone" if self.regional else "single")) == "per-zone"

    @property
    def autoscaling_profile(self) -> str:
        """The autoscaler's profile; empty without an autoscaler, and where it is the one of somebody else's cluster."""
        owners = self.existing_cluster is not None and self.autoscaler not in KARPENTERS
        return "" if self.own or owners else self.file.autoscaling.profile

    @property
    def autoscaler(self) -> str:
        """One that the catalogue lists."""
        return self.file.autoscaling.autoscaler or self.known.choices.autoscalers[0]

    @property
    def unneeded_minutes(self) -> int | None:
        """Minutes after which an idle node is removed; ``None`` unless the file sets it."""
        return self.file.autoscaling.unneeded_minutes

    @property
    def budget_hourly_usd(self) -> float | None:
        """The most that the stack may cost."""
        return self.file.budget.max_hourly_usd

    @cached_property
    def _place(self) -> expand.Place:
        return expand.Place(catalog=self.known, region=self.region, zones=self.zones, autoscaler=self.autoscaler)

    @property
    def _place_for_names(self) -> expand.Place:
        """Also without a valid region or autoscaler, so that no other problem hides that two names are equal."""
        try:
            return self._place
        except NotValidYet:
            return expand.Place(catalog=self.known, region="", zones=(), autoscaler=self.known.choices.autoscalers[0])

    @cached_property
    def admin_pool(self) -> Pool:
        """The pool that always has nodes, where the stack makes the cluster. A zonal control plane fails with its zone,
        so the nodes are there too."""
        zones = self.zones if self.regional else self.zones[:1]
        return self.own.admin_pool if self.own else expand.admin_pool(self.file.admin_pool, self._place, zones)

    @cached_property
    def gpu_pools(self) -> tuple[Pool, ...]:
        """The pools of ``gpuPools``."""
        return self.own.gpu_pools if self.own else expand.gpu_pools(self.file.gpu_pools, self._place, self.labels)

    @cached_property
    def cpu_pools(self) -> tuple[Pool, ...]:
        """The pools of ``cpuPools``."""
        return self.own.cpu_pools if self.own else expand.cpu_pools(self.file.cpu_pools, self._place)

    @property
    def pools(self) -> tuple[Pool, ...]:
        """GPU pools, then CPU pools; not the admin pool."""
        return (*self.gpu_pools, *self.cpu_pools)

    @property
    def node_zones(self) -> tuple[str, ...]:
        """The stack's zones, then the others of its pools."""
        return tuple(dict.fromkeys((*self.zones, *(zone for pool in self.pools for zone in pool.nodes.zones))))

    @property
    def pool_names(self) -> list[tuple[str, list[str]]]:
        """Path of each entry of ``gpuPools`` and ``cpuPools``, with the names of its pools."""
        named = []
        for key, entries in (("gpuPools", self.file.gpu_pools), ("cpuPools", self.file.cpu_pools)):
            for index, entry in enumerate(entries):
                try:
                    named.append((f"{key}[{index}]", expand.pool_names(entry, self._place_for_names)))
                except NotValidYet:
                    continue
        return named

    @cached_property
    def _cost_hourly(self) -> tuple[float | None, float | None]:
        if self.own is not None:
            return costs.of_own_machines(self.pools)
        known = self.known
        if self.existing_cluster is not None:
            return costs.of_pools(self.pools)
        gateways = 0 if self.network.existing is not None else len(self.zones) if self.nat_per_zone else 1
        disks = [tool.disk_gb for tool in self.workloads.tools.values()]
        fees = costs.fees(known, self.region, self.kubernetes, self.workloads, self.network)
        return costs.costs(
            known.prices,
            self.admin_pool,
            self.pools,
            fee=costs.fee(known, self.kubernetes.version, self.day),
            gateways=gateways,
            standing=costs.volumes_price(known.prices, self.region, disks) + sum(fees.values()),
        )

    @property
    def cost_idle_hourly(self) -> float | None:
        """List price in US dollars an hour with every autoscaled pool at its minimum, without traffic and taxes.

        ``None`` if a price is not known.
        """
        return self._cost_hourly[0]

    @property
    def cost_max_hourly(self) -> float | None:
        """The same with every pool at its maximum."""
        return self._cost_hourly[1]

    @property
    def idle_at_most(self) -> bool:
        """Whether ``cost_idle_hourly`` is an upper limit, because it has a price that is one."""
        return any(pool.scaling.min_nodes for pool in self.priced_at_most)

    @property
    def max_at_most(self) -> bool:
        """The same of ``cost_max_hourly``."""
        return any(pool.scaling.max_nodes for pool in self.priced_at_most)

    @property
    def priced_at_most(self) -> tuple[Pool, ...]:
        """The pools with an upper limit in place of a price, because that is not known."""
        return tuple(pool for pool in self._paid_pools if pool.nodes.price_at_most)

    @property
    def unpriced(self) -> tuple[Pool, ...]:
        """The pools without a price, and without an upper limit for it."""
        return tuple(pool for pool in self._paid_pools if pool.nodes.hourly_usd is None)

    @property
    def _paid_pools(self) -> tuple[Pool, ...]:
        return self.pools if self.own or self.existing_cluster else (self.admin_pool, *self.pools)

    @property
    def idle_minutes(self) -> int:
        """Minutes after which an idle node is removed, unless its pool sets others.

        Raises:
            KeyError: the cloud does not publish it (``Choices.unneeded_minutes``).
        """
        return self.unneeded_minutes or self.known.choices.unneeded_minutes[self.autoscaling_profile]

    def idle_minutes_of(self, pool: Pool) -> int | None:
        """Minutes after which an idle node of ``pool`` is removed; ``None`` where the cloud does not publish it."""
        try:
            return pool.scaling.unneeded_minutes or self.idle_minutes
        except KeyError:
            return None

    @property
    def max_nodes(self) -> int:
        """Nodes with every pool at its maximum."""
        pools = self.pools if self.existing_cluster else (self.admin_pool, *self.pools)
        return sum(pool.scaling.max_nodes for pool in pools)
