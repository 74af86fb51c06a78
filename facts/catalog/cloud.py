"""What the catalogue knows about one cloud, as data, and the one registry of clouds.

A cloud has one name (``gke``); its plugin has another (``gcp``), which is written here and in resources' type tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from typing import Final

from facts.catalog import tables
from facts.catalog.account import CloudAccount
from facts.catalog.changes import Effects, effects
from facts.catalog.choices import Choices
from facts.catalog.labels import Labels
from facts.catalog.machines import Machines
from facts.catalog.model import Machine
from facts.catalog.nodes import CloudNodes
from facts.catalog.prices import Prices

PLUGINS: Final[Mapping[str, str]] = {"gke": "gcp", "eks": "aws", "aks": "azure-native"}
"""Cloud → its Pulumi plugin, the first part of its resources' type tokens. Every list of clouds derives from this one.

A cloud is a package below ``catalog``, ``components.clouds`` and ``rehearsal.providers``, each imported on first use: a
stack on one cloud loads nothing of another.
"""


OWN_MACHINES: Final[Mapping[str, str]] = {"kubeadm": "gpucluster-machines", "existing": "gpucluster-machines"}
"""Where a cluster of the user's own machines comes from → its Pulumi plugin. Nothing is rented there: no account, no
region, no machine types and no prices. A stack file names it as its ``cloud``.
"""

OWN_SECRETS: Final[Mapping[str, str]] = {"kubeadm": "sshPrivateKey", "existing": "kubeconfig"}
"""The same → the one key of a stack file that is a secret."""


@dataclass(frozen=True, kw_only=True)
class CloudCatalog:
    """One cloud: its regions and zones, and six parts. Who reads one part takes that part."""

    name: str
    account: CloudAccount
    machines: Machines
    prices: Prices
    nodes: CloudNodes
    labels: Labels
    choices: Choices
    separate_regions: tuple[str, ...] = ()
    """How the names of regions begin that accounts of the others cannot use (governments, China)."""
    own_zone_names: frozenset[str] = frozenset()
    """Regions where an account may have other names for the zones than that of the lists of zones; autoscalers that are
    not in ``machines.uniform_groups`` ask the account."""
    outside: str | None = None
    """Behind a region's name, what its place outside of all zones is called, which counts as the only zone of a region
    without zones; ``None`` if every machine is in a zone."""
    log_command: str | None = None
    """Prints the logs of pods that were deleted, for a ``project`` (the account), a ``region``, a ``cluster``, a
    ``namespace`` and a regular expression for the names of ``pods``; ``None`` where the program's clusters cannot save
    logs in the cloud."""
    copy_command: str | None = None
    """Copies a folder of a bucket, at ``url``, here as ``name``; ``None`` where the program makes no buckets."""
    log_addon: str | None = None
    """Which of the add-ons saves the logs; ``None`` where they are always saved."""

    @property
    def plugin(self) -> str:
        """The cloud's Pulumi plugin."""
        return {**PLUGINS, **OWN_MACHINES}[self.name]

    @property
    def reference_region(self) -> str:
        """A region whose prices are representative, for tables."""
        return self.prices.reference_region

    @cached_property
    def changes(self) -> Mapping[str, Effects]:
        """Autoscaler → what becomes of a running job when a setting changes."""
        return effects(self.name)

    @cached_property
    def regions(self) -> Mapping[str, tuple[str, ...]]:
        """Region → its zones."""
        zones_by_region: dict[str, tuple[str, ...]] = {}
        for row in tables.rows(self.name, "zones"):
            zones_by_region[row["region"]] = (*zones_by_region.get(row["region"], ()), row["zone"])
        return zones_by_region

    def gpu_zones(self, gpu: str) -> tuple[str, ...] | None:
        """Zones known to have the GPU, sorted; ``None`` where no list is known."""
        return _gpu_zones(self.name).get(gpu)

    def machine_zones(self, machine: Machine) -> tuple[str, ...] | None:
        """Zones known to have this machine with GPUs, sorted; ``None`` where no list is known."""
        having = None if machine.gpu is None else self.gpu_zones(machine.gpu)
        row = tables.by_key(self.name, "missing_machines", "type").get((machine.type,))
        return having if row is None or having is None else tuple(z for z in having if z not in row["zones"].split())

    def outside_zones(self, region: str) -> str | None:
        """What the region's place outside its zones is called, if machines can be there."""
        return None if self.outside is None else f"{region}{self.outside}"


@cache
def _gpu_zones(cloud: str) -> Mapping[str, tuple[str, ...]]:
    zones: dict[str, tuple[str, ...]] = {}
    for row in sorted(tables.rows(cloud, "zones"), key=lambda row: row["zone"]):
        for gpu in row["gpus"].split():
            zones[gpu] = (*zones.get(gpu, ()), row["zone"])
    return zones


def clouds() -> tuple[str, ...]:
    """The names of all clouds that rent machines."""
    return tuple(PLUGINS)


def of(name: str) -> CloudCatalog:
    """Everything known about one cloud, or about own machines.

    Raises:
        KeyError: there is no such cloud (``clouds``, ``OWN_MACHINES``).
    """
    if name not in PLUGINS and name not in OWN_MACHINES:
        raise KeyError(name)
    catalog: CloudCatalog = import_module(f"facts.catalog.{name}.cloud").CATALOG
    return catalog
