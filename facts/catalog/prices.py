"""A cloud's list prices in US dollars an hour, from its tables. What is not in them is not known (``None``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from facts.catalog.model import Machine, Price
from facts.catalog.tables import by_key, number, rows
from facts.concepts.durations import HOURS_PER_MONTH


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

    def node(self, region: str, machine: Machine, disk_gb: int, *, spot: bool) -> float | None:
        """One running node: machine, GPUs, boot disk. For a pool that mixes types, the price of one of them.

        A spot price that is not known counts as the on-demand price, which no cloud's spot machine exceeds. Where disk
        prices are not known the disk is left out (the stack's cost output says so): it is a few percent of a GPU node.
        """
        price = self.machine(region, machine, spot=spot) or self.machine(region, machine, spot=False)
        disk = self.disk(region, disk_gb)
        return None if price is None else price.usd + (disk.usd if disk else 0.0)

    def disk(self, region: str, gib: int) -> Price | None:
        """A node's boot disk of at least ``gib`` GiB for an hour (a 730th of the monthly price)."""
        size = next((size for size in self.disk_sizes if size >= gib), None) if self.disk_sizes else 1
        month = number(by_key(self.cloud, "disk_prices", "region", "gib").get((region, str(size))), "usd_month")
        if month is None:
            return None
        return self._price(month * (1 if self.disk_sizes else gib) / HOURS_PER_MONTH, "disk_prices")

    def most_above(self, region: str, reference: str) -> float:
        """The largest ratio between the prices that a type has in the two regions, of all types known in both."""
        rows = by_key(self.cloud, "machine_prices", "region", "type")
        here = {type: number(row, "on_demand") for (place, type), row in rows.items() if place == region}
        there = {type: number(row, "on_demand") for (place, type), row in rows.items() if place == reference}
        ratios = [usd / other for type, usd in here.items() if usd and (other := there.get(type))]
        return max(ratios, default=1.0)

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
