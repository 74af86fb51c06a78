"""What Google cannot change of a running cluster is refused with what to write; what replaces the cluster is not, and a
volume stays where it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from unittest import mock

import pulumi
import pytest

from components.settings import Settings
from tests import gke_answers, recorder
from tests.components import specs
from tests.components.settings.test_clouds import load_stack

CLUSTER = "gcp:container/cluster:Cluster"
ZONAL = {"availability": "zonal"}
REGIONAL = {"availability": "regional", "zones": ["us-central1-a", "us-central1-b", "us-central1-c"]}


def stack(network: Mapping[str, Any] = {}, **keys: Any) -> Settings:
    people = [{"name": "office", "cidr": "203.0.113.0/24"}]
    return load_stack("gke", network={"authorizedNetworks": people, **network}, **keys)


def refusal(before: Mapping[str, Any], after: Mapping[str, Any], runs: str = "1.34.4-gke.1047000") -> str:
    """Why the update from one stack file to the other is refused, or an empty text. The state says 1.34 while the
    cluster ``runs`` a version."""
    deployed = recorder.run(specs.declare_cluster(stack(**before)))
    deployed.states[deployed.only(CLUSTER).urn]["masterVersion"] = "1.34.4-gke.1047000"
    cluster = {"gcp:container/getCluster:getCluster": {**gke_answers.RESEARCH, "masterVersion": runs}}
    try:
        with mock.patch.dict(gke_answers.CALLS, cluster):
            recorder.run(specs.declare_cluster(stack(**after)), deployed=deployed)
    except pulumi.RunError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (
            {"zones": ["us-central1-a", "us-central1-b"], **ZONAL},
            {"zones": ["us-central1-b"], **ZONAL},
            "Write zones: [us-central1-a, us",
        ),
        (
            ZONAL,
            {"zones": ["us-central1-b", "us-central1-a"], **ZONAL},
            "zones: the running cluster is in us-central1-a, and Goog",
        ),
        (ZONAL, {"zones": ["us-central1-a", "us-central1-b"], **ZONAL}, ""),
        (REGIONAL, {**REGIONAL, "zones": ["us-central1-b", "us-central1-c"]}, ""),
        # These replace the cluster.
        (ZONAL, REGIONAL, ""),
        # The network and the volume stay.
        (ZONAL, {**REGIONAL, "network": {"podCidr": "10.64.0.0/14"}}, "network.podCidr: the running"),
        (ZONAL, {"zones": ["us-central1-b"], "clusterName": "another", **ZONAL}, ""),
        ({}, {"region": "europe-west4", "zones": ["europe-west4-b"], "network": {"podCidr": "10.64.0.0/14"}}, ""),
        ({}, {"network": {"podCidr": "10.64.0.0/14"}}, "network.podCidr: the running cluster has 10.4.0.0/14, and Goo"),
        ({"network": {"serviceCidr": "10.96.0.0/20"}}, {}, "Write serviceCidr: 10.96.0.0/20; for another one create"),
        # nodeCidr grows in place, and another one replaces the network with the cluster.
        ({}, {"network": {"nodeCidr": "10.0.0.0/19", "podCidr": "10.64.0.0/14"}}, "network.podCidr: the running"),
        ({}, {"network": {"nodeCidr": "10.1.0.0/20", "podCidr": "10.64.0.0/14"}}, ""),
    ],
)
def test_what_google_does_not_change_is_refused_with_what_to_write(
    before: dict[str, Any], after: dict[str, Any], words: str
) -> None:
    answer = refusal(before, after)
    assert words in answer if words else answer == ""


@pytest.mark.parametrize(
    ("written", "runs", "words"),
    [
        (
            "1.36",
            "1.34.4-gke.1047000",
            "GKE upgrades by one minor version at a time. Write '1.35', and '1.36' in a later",
        ),
        ("1.36", "1.35.1-gke.1", ""),  # Google upgraded it since the last update
        ("1.37", "1.35.1-gke.1", "runs 1.35.1-gke.1, and GKE upgrades by one minor version at a time. Write '1.36'"),
        ("1.35", "1.34.4-gke.1047000", ""),
    ],
)
def test_an_update_skips_no_minor_version_of_what_google_says_runs(written: str, runs: str, words: str) -> None:
    answer = refusal({}, {"kubernetes": {"version": written}}, runs)
    assert words in answer if words else answer == ""


@pytest.mark.parametrize(
    ("volume", "own", "words"),
    [(None, 4096, ""), (1024, 4096, ""), (2048, None, "the volume has 2048 GiB, and Google m")],
)
def test_a_volume_does_not_become_smaller_and_is_the_stacks_own(
    volume: int | None, own: int | None, words: str
) -> None:
    """The program may have instances of its own beside the cluster."""
    deployed = recorder.run(specs.declare_cluster(stack()))
    start, _, types = deployed.only(CLUSTER).urn.rpartition("::")[0].rpartition("::")
    parents = types.removesuffix(CLUSTER)
    for parent, gib in ((f"{parents}gpucluster:index:SharedVolume$", volume), ("", own)):
        if gib:
            urn = f"{start}::{parent}gcp:filestore/instance:Instance::volume"
            deployed.states[urn] = {"fileShares": {"name": "shared", "capacityGb": gib}}
    program = specs.declare_cluster(stack(workloads={"sharedVolume": {}}))
    said = ""
    try:
        recorder.run(program, deployed=deployed)
    except pulumi.RunError as error:
        said = str(error)
    assert words in said if words else said == ""
