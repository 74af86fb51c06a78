"""A valid stack file, resolved: names, places, pools and their cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from components.settings.access import Access
from components.settings.cluster import Kubernetes, Network, Security
from components.settings.maintenance import Maintenance
from components.settings.teams import Team
from components.settings.workloads import Identity, Workloads
from facts import catalog
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from components.settings.own.resolved import ExistingNodes, OwnMachines


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A stack's settings, resolved and valid on ``day``.

    ``project`` is the cloud account. ``zones`` are in the order of the file; a zonal control plane is in the first.
    ``network.pod_cidr`` is the file's value or the cloud's default, and ``None`` where pods share the nodes' range.
    ``autoscaler`` is one that the catalogue lists; ``unneeded_minutes`` is ``None`` unless the file sets it.
    ``gpu_metrics``: whether the cloud collects them. ``control_plane_logs``: those that it retains for
    ``control_plane_log_days``. ``nat_per_zone`` depends on the availability by default. ``labels`` are all labels of
    the resources, including the ``tags``.
    Costs are list prices in US dollars an hour, without traffic and taxes: ``cost_idle_hourly`` with every autoscaled
    pool at its minimum, ``cost_max_hourly`` with every pool at its maximum. ``None`` if a price is not known;
    ``unpriced`` names the pools without one.
    ``own``: the machines of a stack that rents none, which has no account, region or zones.
    """

    day: date
    stack: str
    project: str = ""
    cloud: str
    region: str = ""
    zones: tuple[str, ...] = ()
    regional: bool = False
    cluster_name: str
    kubernetes: Kubernetes
    network: Network
    security: Security
    maintenance: Maintenance = field(default_factory=Maintenance)
    gpu_metrics: bool = False
    nat_per_zone: bool = False
    autoscaling_profile: str = ""
    autoscaler: str = "none"
    unneeded_minutes: int | None = None
    addons: tuple[str, ...] = ()
    access: tuple[Access, ...]
    labels: Mapping[str, str] = field(default_factory=dict)
    admin_pool: Pool
    gpu_pools: tuple[Pool, ...]
    cpu_pools: tuple[Pool, ...]
    budget_hourly_usd: float | None
    cost_idle_hourly: float | None
    cost_max_hourly: float | None
    unpriced: tuple[str, ...]
    control_plane_logs: tuple[str, ...] = ()
    control_plane_log_days: int = 30
    workloads: Workloads = field(default_factory=Workloads)
    identities: tuple[Identity, ...] = ()
    teams: tuple[Team, ...] = ()
    addon_versions: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    raw: Mapping[str, Any] = field(default_factory=dict)
    own: OwnMachines | ExistingNodes | None = None

    @property
    def pools(self) -> tuple[Pool, ...]:
        """GPU pools, then CPU pools; not the admin pool."""
        return (*self.gpu_pools, *self.cpu_pools)

    @property
    def idle_minutes(self) -> int:
        """Minutes after which an idle node is removed, unless its pool sets others.

        Raises:
            KeyError: the cloud does not publish it (``Choices.unneeded_minutes``).
        """
        return self.unneeded_minutes or catalog.of(self.cloud).choices.unneeded_minutes[self.autoscaling_profile]

    def idle_minutes_of(self, pool: Pool) -> int | None:
        """Minutes after which an idle node of ``pool`` is removed; ``None`` where the cloud does not publish it."""
        try:
            return pool.scaling.unneeded_minutes or self.idle_minutes
        except KeyError:
            return None

    @property
    def max_nodes(self) -> int:
        """Nodes with every pool at its maximum."""
        return sum(pool.scaling.max_nodes for pool in (self.admin_pool, *self.pools))
