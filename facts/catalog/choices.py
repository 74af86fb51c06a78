"""What a stack file may choose on a cloud."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property

from facts.catalog import tables
from facts.catalog.model import Support
from facts.catalog.raw import RawInputs
from facts.concepts.parts import CapacityType


@dataclass(frozen=True, kw_only=True)
class Choices:
    """The words, numbers and names that a stack file may write for ``cloud``. Of several words the first is the
    default."""

    cloud: str
    autoscalers: tuple[str, ...]
    """Who can decide the size of pools."""
    channels: tuple[str, ...] = ("rapid", "regular", "stable")
    """Release channels of Kubernetes."""
    kubernetes_versions: Mapping[str, str] = field(default_factory=dict)
    """Release channel → the minor version (``1.34``) that it means; empty where the cloud's own channels decide."""
    unsupported_capacity: Mapping[CapacityType, str] = field(default_factory=dict)
    """Capacity type that the cloud does not have → why, and what it has instead."""
    unneeded_minutes: Mapping[str, int] = field(default_factory=dict)
    """Autoscaling profile → how long a node is idle before it goes; empty where the cloud does not say."""
    location_policies: tuple[str, ...] = ()
    """How nodes are spread over zones, where a GPU pool may choose."""
    addons: tuple[str, ...] = ()
    """Parts of the cloud that a stack file may ask for by name."""
    pinned_addons: Mapping[str, str] = field(default_factory=dict)
    """The cloud's name of each add-on whose version may be written → what asks for it in a stack file, ``""`` if every
    stack has it."""
    dataplanes: tuple[str, ...] = ()
    """What carries the pods' traffic, where a stack file may choose."""
    gpu_metrics: bool = False
    """Whether the cloud collects the metrics of GPUs, if the cluster asks for it."""
    control_plane_logs: tuple[str, ...] = ()
    log_days: tuple[int, ...] = ()
    """Retention times of the control plane's logs, ascending."""
    default_ranges: Mapping[str, str | None]
    """``node_cidr``, ``pod_cidr`` (``None``: pods have addresses of the nodes' range) and ``service_cidr``."""
    reserved_addresses: int
    """Addresses of a subnetwork that the cloud reserves."""
    joins_clusters: tuple[str, ...] = ()
    """Of the autoscalers those with which a stack may add its pools to a cluster that somebody else made."""
    existing_network: str | None = None
    """How a stack file names a network that is there already; ``None`` where it cannot yet."""
    max_name_length: int
    """Characters that the name of a cluster or a pool may have."""
    volume_gib: tuple[int, int] | None = None
    """The least and the most GiB of a shared volume; ``None`` where it has no size and grows."""
    raw: RawInputs
    """What a stack file may hand to the provider as it is."""

    @cached_property
    def supported(self) -> Mapping[str, Support]:
        """Minor version → how long it is supported; any that is not listed is as long as anybody asks."""
        days = (
            (row["version"], *map(date.fromisoformat, (row["extended"], row["until"])))
            for row in tables.rows(self.cloud, "versions")
        )
        return {version: Support(extended=extended, until=until) for version, extended, until in days}

    def support(self, version: str | None) -> Support | None:
        """How long the pinned version is supported; ``None`` without one, or if that is unknown."""
        return None if version is None else self.supported.get(".".join(version.removeprefix("v").split(".")[:2]))

    def ended(self, version: str | None, day: date, *, extended: bool = False) -> bool:
        """Whether the version's standard support is known to be over on that day or, ``extended``, all of it."""
        support = self.support(version)
        return support is not None and support.ended(day, extended=extended)
