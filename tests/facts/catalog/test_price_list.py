"""Rows of AWS's price table from a stored listing."""

from __future__ import annotations

import json

import pytest

from facts.catalog.eks.price_list import additions


def listing(type: str, **usd: float) -> str:
    """A listing of one type, with its price by region (``us_east_1``)."""
    pricing = {region.replace("_", "-"): {"onDemand": each, "reserved": each / 2} for region, each in usd.items()}
    machines = [{"name": type, "vcpu": 4, "pricing": {**pricing, "us-iso-east-1": {"reserved": 1.0}}}]
    return f"// Last updated: 2025-11-30\n\nconst allGPUInstances = {json.dumps(machines, indent=2)};\n"


@pytest.mark.parametrize(
    ("machines", "rows"),
    [
        (listing("g4dn.xlarge", us_east_1=0.526, mx_central_1=0.6312), ["mx-central-1,g4dn.xlarge,0.6312,"]),
        # The table has it, or the catalogue does not know the region or the type.
        (listing("g4dn.xlarge", us_east_1=0.526, us_west_2=0.6), []),
        (listing("g4dn.xlarge", us_east_1=0.526, eu_west_3_wl1_cmn1=0.7), []),
        (listing("g2.2xlarge", us_east_1=0.65, mx_central_1=0.7), []),
        # Prices have changed since, or nothing says whether they have.
        (listing("g4dn.xlarge", us_east_1=0.6, mx_central_1=0.6312), []),
        (listing("g4dn.xlarge", mx_central_1=0.6312), []),
    ],
    ids=["added", "there", "region", "type", "changed", "unproven"],
)
def test_prices_of_known_machines_that_are_still_as_listed_are_added(machines: str, rows: list[str]) -> None:
    assert list(additions(machines)) == rows
