"""What a valid stack file means: names, places, pools and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.settings.network import Network
from components.settings.stack_file import Kubernetes, Security


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A stack's settings, resolved and valid.

    ``project`` is the cloud account. ``zones`` are in the order of the file; a zonal control plane is in the first.
    ``network.pod_cidr`` is what the file says or the cloud's default, and ``None`` where pods have addresses of the
    nodes' range. ``autoscaler`` is one that the catalogue lists; ``expander`` and ``unneeded_minutes`` are ``None``
    unless the file says. ``nat_per_zone`` has its default from the availability.
    Costs are list prices in US dollars an hour, without traffic and taxes: ``cost_idle_hourly`` with every autoscaled
    pool at its minimum, ``cost_max_hourly`` at its maximum (twin pools both). ``None`` if a price is not known;
    ``unpriced`` names the pools without one.
    """

    stack: str
    project: str
    cloud: str
    region: str
    zones: tuple[str, ...]
    regional: bool
    cluster_name: str
    kubernetes: Kubernetes
    network: Network
    security: Security
    nat_per_zone: bool
    autoscaling_profile: str
    autoscaler: str
    expander: str | None
    unneeded_minutes: int | None
    addons: tuple[str, ...]
    labels: Mapping[str, str]
    admin_pool_spec: AdminPoolSpec
    gpu_pool_specs: tuple[GpuPoolSpec, ...]
    cpu_pool_specs: tuple[CpuPoolSpec, ...]
    budget_hourly_usd: float | None
    cost_idle_hourly: float | None
    cost_max_hourly: float | None
    unpriced: tuple[str, ...]

    @property
    def max_nodes(self) -> int:
        """Nodes with every pool at its maximum."""
        gpu_nodes = sum(pool.max_nodes for pool in self.gpu_pool_specs)
        cpu_nodes = sum(pool.max_nodes for pool in self.cpu_pool_specs)
        admin = self.admin_pool_spec
        return (admin.max_nodes or admin.total_nodes) + gpu_nodes + cpu_nodes
