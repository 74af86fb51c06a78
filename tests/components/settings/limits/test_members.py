"""A team and a namespace of ``access`` that are spelled differently, and quotas of slices that no node offers, are
noted, and nothing else is."""

from __future__ import annotations

from typing import Any

import pytest

from components.settings import load
from components.settings.limits.common import warnings
from facts import catalog
from tests.components.settings.test_clouds import account

WHO = {
    "gke": "group:vision@example.org",
    "eks": "arn:aws:iam::123456789012:role/vision",
    "aks": "11111111-2222-3333-4444-555555555555",
}
TYPO = "the namespace 'visoin' is no team, so its pods have no GPU quota, and the team 'vision' has no developer"


def developers(cloud: str, *namespaces: str) -> dict[str, Any]:
    return {"name": "people", "who": WHO[cloud], "role": "developer", "namespaces": [*namespaces]}


@pytest.mark.parametrize(
    ("teams", "namespaces", "note"),
    [
        (["vision"], ["visoin"], TYPO),
        (["vision", "audio"], ["audio", "visoin"], TYPO),
        (["vision"], ["vision"], ""),
        (["vision"], ["vision", "visoin"], ""),
        (["vision"], ["default"], ""),
        (["vision"], ["audio"], ""),
        (["vision", "vision2"], ["vision2"], ""),
        ([], ["visoin"], ""),
    ],
)
@pytest.mark.parametrize("cloud", catalog.clouds())
def test_a_namespace_spelled_almost_as_an_empty_team_is_noted(
    cloud: str, teams: list[str], namespaces: list[str], note: str
) -> None:
    people = [developers(cloud, *namespaces)]
    notes = noted(cloud, "access", teams=[{"name": name, "gpus": 1} for name in teams], access=people)
    assert notes == ([f"access: {note}. Did you mean 'vision'?"] if note else [])


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_a_namespace_whose_services_have_names_of_the_internet_is_noted(cloud: str) -> None:
    """`pypi.org` of every pod would be the Service `pypi` of the team `org`."""
    teams = [{"name": name, "gpus": 1} for name in ("research", "org")]
    assert len(noted(cloud, "teams[1].name: 'org' is also a domain", teams=teams)) == 1
    assert noted(cloud, "teams[0]", teams=teams) == []
    access = [developers(cloud, "vision", "ai", "internal")]
    assert len(noted(cloud, "access: 'ai' is also a domain", access=access)) == 1
    assert len(noted(cloud, "access: 'internal' is also a domain", access=access)) == 1, "metadata.google.internal"


@pytest.mark.parametrize("drivers", ["managed", "none"])
@pytest.mark.parametrize("cloud", catalog.clouds())
def test_a_quota_of_slices_needs_a_pool_whose_device_plugin_is_its_user_s(cloud: str, drivers: str) -> None:
    """MIG by the cloud or by this program offers each slice as a GPU."""
    pool = {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "drivers": drivers}
    teams = [{"name": "vision", "gpus": 1, "migSlices": {"1g.5gb": 3}}]
    notes = noted(cloud, "teams[0].migSlices", gpuPools=[pool], teams=teams)
    assert ["Limit them by gpus" in note for note in notes] == ([True] if drivers == "managed" else [])


def noted(cloud: str, key: str, **keys: Any) -> list[str]:
    """The warnings at ``key`` of a small stack with these ``keys``."""
    known = catalog.of(cloud)
    region = known.reference_region
    written = {
        "cloud": cloud,
        "region": region,
        "network": {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}]},
        "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2}],
        **keys,
    }
    project = region if known.account.key.endswith(":region") else account(cloud)
    return [text for text in warnings(load(written, stack="dev", project=project)) if text.startswith(key)]
