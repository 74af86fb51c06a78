"""Versions of control planes on the three clouds: one minor version up at a time, and what becomes of a lower one."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Any, Final

import pytest

from packages.rehearsal.tests.providers.aks.account import CLUSTER as AKS
from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.gke.account import CLUSTER as GKE
from packages.rehearsal.tests.providers.gke.account import POOL, Google, gpu_pool
from rehearsal.providers.aks import rules
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.eks.rules import version_step

LONG_TERM: Final = {"supportPlan": "AKSLongTermSupport", "sku": {"name": "Base", "tier": "Premium"}}

Update = Callable[[Properties], Properties]


def begun(account: Google | Microsoft, type: str, **inputs: Any) -> Update:
    """A cluster; the function updates some of its inputs, others as they were."""
    created = account.cluster(**inputs)

    def update(changes: Properties) -> Properties:
        return account.update(type, created, {**(created.inputs or {}), **changes})

    return update


def test_no_cloud_upgrades_past_a_minor_version(
    google: Google, azure: Microsoft, monkeypatch: pytest.MonkeyPatch
) -> None:
    # From the next day on Azure lets 1.34 go past one: it is out of community support then.
    monkeypatch.setattr(rules, "datetime", SimpleNamespace(now=lambda _: datetime(2026, 11, 30)))
    assert version_step("1.34", "1.36", None) == "Unsupported Kubernetes minor version update from 1.34 to 1.36"
    words = {
        "minMasterVersion": (begun(google, GKE, minMasterVersion="1.34"), "more than a minor version at a time"),
        "kubernetesVersion": (begun(azure, AKS, kubernetesVersion="1.34"), r"Upgrading Kubernetes version .* to 1\.36"),
    }
    for key, (update, refused) in words.items():
        with pytest.raises(ProviderError, match=refused):
            update({key: "1.36"})
        update({key: "1.35"})
        assert update({key: "1.36"})[key] == "1.36"


def test_azure_upgrades_past_several_from_a_version_out_of_support_and_with_long_term_support(
    azure: Microsoft,
) -> None:
    update = begun(azure, AKS, kubernetesVersion="1.32", **LONG_TERM)
    assert update({"kubernetesVersion": "1.34"})["currentKubernetesVersion"] == "1.34.4"
    assert update({"kubernetesVersion": "1.36"})["currentKubernetesVersion"] == "1.36.0"


def test_long_term_support_is_left_with_a_version_in_community_support(azure: Microsoft) -> None:
    without = {"supportPlan": "KubernetesOfficial", "sku": {"name": "Base", "tier": "Standard"}}
    update = begun(azure, AKS, kubernetesVersion="1.33", **LONG_TERM)
    for version in (None, "1.33"):
        with pytest.raises(ProviderError, match="only available for Long-Term Support"):
            update({"kubernetesVersion": version, **without})
    update({"kubernetesVersion": "1.34"})
    assert update({"kubernetesVersion": None, **without})["currentKubernetesVersion"] == "1.34.4"


@pytest.mark.parametrize("lower", ["1.34", None])
def test_google_keeps_a_control_plane_above_its_minimum(google: Google, lower: str | None) -> None:
    update = begun(google, GKE, minMasterVersion="1.34")
    update({"minMasterVersion": "1.35"})
    state = update({"minMasterVersion": lower})
    assert (state["masterVersion"], state["nodeVersion"]) == ("1.35.0-gke.1000000", "1.35.0-gke.1000000")
    google.create(POOL, gpu_pool(version="1.35"))
