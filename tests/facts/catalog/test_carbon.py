"""Carbon data of regions: known where the cloud publishes it, and nowhere guessed."""

from __future__ import annotations

from facts import catalog
from facts.catalog.carbon import carbon


def test_most_of_googles_regions_are_known_with_year_and_source() -> None:
    figures = [carbon("gke", region) for region in catalog.of("gke").regions]
    known = [one for one in figures if one is not None]
    assert len(known) > len(figures) / 2
    assert all(0 <= one.free_percent <= 100 and one.grid_grams_per_kwh >= 0 for one in known)
    assert {(one.year, one.source.partition("/Google")[0]) for one in known} == {(2025, "https://github.com")}


def test_what_is_not_published_is_none() -> None:
    assert carbon("gke", "mars-west1") is None
    assert carbon("eks", "us-east-1") is None
