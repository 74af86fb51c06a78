"""How old the tables of facts are, and what they are taken from, by files with the columns of ``sources.csv``; and how
many prices are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Final

from facts.catalog.cloud import CloudCatalog, clouds, of
from facts.catalog.tables import Row, parsed, rows
from facts.concepts.counts import counted

OLD: Final = timedelta(days=365)
"""Facts that are older are to be read again."""


def dated_rows(files: Iterable[Path]) -> Iterator[Row]:
    """The rows of the files, then those of every cloud's fees, which have a source each."""
    for file in files:
        yield from parsed(file.read_text(encoding="utf-8"))
    for cloud in clouds():
        yield from ({**row, "table": f"{cloud}/fees: {row['fee']}"} for row in rows(cloud, "fees"))


def report(facts: Sequence[Row], today: date) -> list[str]:
    """Lines about what is older than a year or has no source, oldest first, and how many there are of all."""
    old = [row for row in facts if date.fromisoformat(row["dated"]) + OLD < today]
    unproven = [row for row in facts if not row["source"]]
    lines = [
        f"{row['dated']}  {row['table']}: older than a year; read {row['source'] or 'a source'} again"
        for row in sorted(old, key=lambda row: row["dated"])
    ]
    lines += [f"{row['dated']}  {row['table']}: without a source, general knowledge" for row in unproven]
    oldest = min(row["dated"] for row in facts)
    return [*lines, f"{counted(len(facts), 'source')} of facts, the oldest of {oldest}; {len(old)} older than a year."]


def priced() -> list[str]:
    """A line for each cloud that has GPU machines: of how many a price is known, in each region where they are sold."""
    return [priced_of(each) for each in map(of, clouds()) if each.machines.accelerators and each.regions]


def priced_of(known: CloudCatalog) -> str:
    """The line of one cloud."""
    machines = [
        machine
        for gpu in known.machines.accelerators
        for count in known.machines.gpu_counts(gpu)
        for machine in known.machines.having(gpu, count)
    ]
    sold = [
        (region, machine)
        for region, zones in known.regions.items()
        for machine in machines
        if set(zones) & set(known.machine_zones(machine) or ())
    ]
    regions = dict.fromkeys(region for region, _ in sold)
    exact = [pair for pair in sold if known.prices.machine(*pair, spot=False)]
    spot = [pair for pair in sold if known.prices.machine(*pair, spot=True)]
    limited = [pair for pair in sold if known.prices.at_most(*pair, spot=False)]
    without = [region for region in regions if region not in dict(exact)]
    return (
        f"{known.name}: {len(sold)} GPU machines in {counted(len(regions), 'region')}: {len(exact)} have a price on "
        f"demand, {len(spot)} one of spot, {len(limited)} at least an upper limit; regions without a price: "
        f"{', '.join(without) or 'none'}"
    )
