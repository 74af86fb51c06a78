"""Rows of ``machine_prices.csv`` from a stored price listing: ``python -m facts.catalog.eks.price_list FILE``.

The file is one assignment of a JSON array in JavaScript, as https://github.com/tsaol/aws-gpu keeps
https://instances.vantage.sh (``data/all_gpu_instances.js``): Linux, on demand, shared tenancy. Nothing is fetched.
A type's rows count only where the listing agrees with the table on its price in the reference region, so that an old
listing adds no price that has changed since.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from facts import catalog
from facts.catalog.tables import by_key, number

_CLOUD: Final = "eks"
_ROUNDING: Final = 1e-4


def additions(listing: str) -> Iterator[str]:
    """The rows that the table lacks, sorted: prices of the catalogue's machines in the catalogue's regions."""
    known = catalog.of(_CLOUD)
    table = by_key(_CLOUD, "machine_prices", "region", "type")
    machines = json.loads(listing[listing.index("[") : listing.rindex("]") + 1])
    prices = {
        (region, machine["name"]): each["onDemand"]
        for machine in machines
        for region, each in machine["pricing"].items()
        if "onDemand" in each
    }
    for (region, type), usd in sorted(prices.items()):
        ours, theirs = (
            number(table.get((known.reference_region, type)), "on_demand"),
            prices.get((known.reference_region, type)),
        )
        agrees = ours is not None and theirs is not None and abs(ours - theirs) <= _ROUNDING * ours
        if agrees and region in known.regions and (region, type) not in table:
            yield f"{region},{type},{usd:g},"


if __name__ == "__main__":
    sys.stdout.writelines(f"{row}\n" for row in additions(Path(sys.argv[1]).read_text(encoding="utf-8")))
