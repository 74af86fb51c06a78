"""A subnet that is there already: used as it is, refused where it does not fit, and never declared."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from components.settings.cluster import ExistingNetwork
from tests import gke_answers, recorder
from tests.components import specs
from tests.tables import cases

CLUSTER = "gcp:container/cluster:Cluster"
LINK = "https://www.googleapis.com/compute/v1/projects/host"


def run_cluster(**changes: Any) -> recorder.Recording:
    existing = ExistingNetwork.model_construct(
        **{
            "network": "projects/host/global/networks/company",
            "subnets": ("gpu-nodes",),
            "pod_range": "gpu-pods",
            "service_range": "gpu-services",
            **changes.pop("existing", {}),
        }
    )
    settings = specs.cluster_settings(existing=existing, **changes)
    return recorder.run(specs.declare_cluster(settings))


def test_the_cluster_is_in_the_hosts_subnet_and_no_network_is_made() -> None:
    recording = run_cluster()
    inputs = recording.only(CLUSTER).inputs
    assert inputs["network"] == f"{LINK}/global/networks/company"
    assert inputs["subnetwork"] == f"{LINK}/regions/us-central1/subnetworks/gpu-nodes"
    assert inputs["ipAllocationPolicy"] == {
        "clusterSecondaryRangeName": "gpu-pods",
        "servicesSecondaryRangeName": "gpu-services",
    }
    assert inputs["project"] == "my-project"
    assert [one.type for one in recording.resources if one.type.startswith("gcp:compute/")] == []


def test_a_network_by_name_is_in_the_clusters_own_project() -> None:
    inputs = run_cluster(existing={"network": "company"}).only(CLUSTER).inputs
    assert inputs["network"].endswith("/projects/my-project/global/networks/company")


@cases
def test_a_subnet_that_does_not_fit_is_refused_before_anything_is_made(
    written: dict[str, str], subnet: dict[str, Any], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key, value in subnet.items():
        monkeypatch.setitem(gke_answers.SUBNETWORK, key, value)
    with pytest.raises(pulumi.RunError, match=words):
        run_cluster(existing=written, admin_pool=specs.admin_pool(max_nodes=5))


def test_a_subnet_that_just_fits_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gke_answers.SUBNETWORK, "ipCidrRange", "10.20.0.0/29")
    assert run_cluster(admin_pool=specs.admin_pool(max_nodes=4)).only(CLUSTER)


def test_the_control_planes_range_is_apart_from_the_subnets() -> None:
    with pytest.raises(pulumi.RunError, match=r"network\.controlPlaneCidr: 10\.20\.0\.0/28 overlaps"):
        run_cluster(control_plane_cidr="10.20.0.0/28")
