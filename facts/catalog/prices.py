"""A cloud's list prices in US dollars an hour, from its tables. What is not in them is not known (``None``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from facts.catalog.model import Machine, Price
from facts.catalog.tables import by_key, number, rows
from facts.concepts.durations import HOURS_PER_MONTH

_OF_MACHINES: Final = (
    ("machine_prices", "type", ("on_demand",)),
    ("family_prices", "family", ("vcpu_on_demand", "gib_on_demand")),
    ("gpu_prices", "gpu", ("on_demand",)),
)
_MACHINES: Final = ("machines", "other_machines")
_OF_DISKS: Final = (("disk_prices", "gib", ("usd_month",)),)
# In one region the ratios of a family's types differ by less; `test_prices.py` holds the tables to it.
_ROUNDING: Final = 1.02


@dataclass(frozen=True, kw_only=True)
class Prices:
    """The list prices of ``cloud``, from its tables and their rows in ``sources.csv``."""

    cloud: str
    control_plane: Price
    """One cluster's management fee."""
    extended_support: Price | None = None
    """The whole fee of a cluster whose version is in extended support; ``None``: no such thing."""
    nat: Callable[[int, int], Price]
    """Number of nodes and of gateways → the price of the gateways of private nodes, without traffic."""
    reference_region: str = ""
    """The region with most known prices, with which those of the others are compared."""
    fees: Mapping[str, Price] = field(default_factory=dict)
    """By key of a stack file, what else is paid for by the hour, used or not, at most."""
    volume: Price | None = None
    """A GiB of a shared volume in the reference region, at most; ``None`` where what is in it is paid for."""
    disk_sizes: tuple[int, ...] = ()
    """Sizes in GiB that disks are billed in (none: by GiB)."""
    billed_vcpus: Mapping[str, float] = field(default_factory=dict)
    """Type → the vCPUs that the bill counts, where they are not its own."""
    premium: Callable[[str], float] = lambda type: 1.0
    """Type → what multiplies the price by its family."""

    def machine(self, region: str, machine: Machine, *, spot: bool) -> Price | None:
        """The machine with its GPUs and its local SSD, without a boot disk."""
        row = by_key(self.cloud, "machine_prices", "region", "type").get((region, machine.type))
        usd = number(row, _column(spot))
        if usd is not None:
            return self._price(usd, "machine_prices")
        usd = self._by_family(region, machine, spot=spot)
        if usd is None or not machine.gpus:
            return None if usd is None else self._price(usd, "family_prices")
        each = number(by_key(self.cloud, "gpu_prices", "region", "gpu").get((region, machine.gpu or "")), _column(spot))
        return None if each is None else self._price(usd + machine.gpus * each, "family_prices", "gpu_prices")

    def node(self, region: str | None, machine: Machine, disk_gb: int, *, spot: bool) -> Price | None:
        """One running node: machine, GPUs, boot disk; an upper limit where a part of it is one. ``None``: the machine's
        price is known in no region. A ``region`` that is ``None`` may be any. For a pool that mixes types, the price of
        one of them.

        Where no region's price of disks is known the disk is left out: it is a few percent of a GPU node.
        """
        price = self.at_most(region, machine, spot=spot)
        if price is None:
            return None
        disk = self._disk_at_most(region, disk_gb)
        return (
            price if disk is None else replace(price, usd=price.usd + disk.usd, at_most=price.at_most or disk.at_most)
        )

    def at_most(self, region: str | None, machine: Machine, *, spot: bool) -> Price | None:
        """The same as ``machine``, or an upper limit where that is not known; ``None`` where no limit is.

        No cloud's spot machine costs more than the same one on demand. A machine's price in a region without it is that
        of the reference region, times the ratio of its family's other types between the two; without one, times the
        largest ratio that anything has between any region and the reference region. A machine that the reference region
        lacks counts with its dearest price.
        """
        price = None if region is None else self.machine(region, machine, spot=spot)
        if price is not None:
            return price
        on_demand = None if region is None else self.machine(region, machine, spot=False)
        if on_demand is None and (region is None or region in self.regions):
            base = self.machine(self.reference_region, machine, spot=False) or max(
                (each for other in self.regions if (each := self.machine(other, machine, spot=False)) is not None),
                key=lambda each: each.usd,
                default=None,
            )
            of_family = None if region is None else self._family_ratios.get((region, machine.family))
            ratio = of_family or max(self._ratios.values(), default=1.0)
            on_demand = None if base is None else replace(base, usd=base.usd * ratio)
        return None if on_demand is None else replace(on_demand, at_most=True)

    def disk(self, region: str, gib: int) -> Price | None:
        """A node's boot disk of at least ``gib`` GiB for an hour (a 730th of the monthly price)."""
        size = next((size for size in self.disk_sizes if size >= gib), None) if self.disk_sizes else 1
        month = number(by_key(self.cloud, "disk_prices", "region", "gib").get((region, str(size))), "usd_month")
        if month is None:
            return None
        return self._price(month * (1 if self.disk_sizes else gib) / HOURS_PER_MONTH, "disk_prices")

    def most_above(self, region: str) -> float:
        """The largest ratio between the prices that a machine has in the region and in the reference region; where none
        is known in both, the largest of any region."""
        return self._ratios.get(region) or max(self._ratios.values(), default=1.0)

    def _disk_at_most(self, region: str | None, gib: int) -> Price | None:
        disk, reference = None if region is None else self.disk(region, gib), self.disk(self.reference_region, gib)
        if disk is not None or reference is None or (region is not None and region not in self.regions):
            return disk
        ratio = max((ratio for _, _, ratio in self._compared(_OF_DISKS)), default=1.0)
        return replace(reference, usd=reference.usd * ratio, at_most=True)

    @cached_property
    def regions(self) -> frozenset[str]:
        """The cloud's regions."""
        return frozenset(row["region"] for row in rows(self.cloud, "zones"))

    @cached_property
    def _ratios(self) -> Mapping[str, float]:
        """Region → the largest ratio of a part of a machine's price to that in the reference region."""
        largest: dict[str, float] = {}
        for region, _, ratio in self._compared(_OF_MACHINES):
            largest[region] = max(ratio, largest.get(region, ratio))
        return largest

    @cached_property
    def _family_ratios(self) -> Mapping[tuple[str, str], float]:
        """Region and family → the same of the types of a family."""
        families = {row["type"]: row["family"] for table in _MACHINES for row in rows(self.cloud, table)}
        largest: dict[tuple[str, str], float] = {}
        for region, type, ratio in self._compared(_OF_MACHINES[:1]):
            key = (region, families[type])
            largest[key] = max(ratio * _ROUNDING, largest.get(key, 0.0))
        return largest

    def _compared(self, tables: tuple[tuple[str, str, tuple[str, ...]], ...]) -> Iterator[tuple[str, str, float]]:
        """Region, what it is a price of, and the ratio of that to the price in the reference region, where both are."""
        for table, column, prices in tables:
            by_region = by_key(self.cloud, table, "region", column)
            for (region, name), row in by_region.items():
                reference = by_region.get((self.reference_region, name))
                for price in prices:
                    here, there = number(row, price), number(reference, price)
                    if here and there:
                        yield region, name, here / there

    def _price(self, usd: float, *tables: str) -> Price:
        """From tables of this cloud; a sum is only as fresh as its oldest part."""
        sources = [by_key("", "sources", "table")[f"{self.cloud}/{table}",] for table in tables]
        dated = min(source["dated"] for source in sources)
        return Price(usd=usd, dated=dated, source="; ".join(source["source"] for source in sources))

    def _by_family(self, region: str, machine: Machine, *, spot: bool) -> float | None:
        row = by_key(self.cloud, "family_prices", "region", "family").get((region, machine.family))
        vcpu, gib = number(row, f"vcpu_{_column(spot)}"), number(row, f"gib_{_column(spot)}")
        if vcpu is None or gib is None:
            return None
        vcpus = self.billed_vcpus.get(machine.type, machine.vcpus)
        return (vcpus * vcpu + machine.memory_gib * gib) * self.premium(machine.type)


def fees(cloud: str) -> Mapping[str, Price]:
    """The price of an hour of each row of ``fees.csv``, by its name."""
    return {
        row["fee"]: Price(usd=float(row["usd"]) / float(row["hours"]), dated=row["dated"], source=row["source"])
        for row in rows(cloud, "fees")
    }


def _column(spot: bool) -> str:
    return "spot" if spot else "on_demand"
