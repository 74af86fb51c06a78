"""Who reaches a control plane: by its address, which may be private, and by its name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.gke.account import CLUSTER, Google, cluster
from rehearsal.providers.base import Properties

ADDRESS, NAME, NOWHERE = "127.0.0.1:6443", "localhost:6443", "127.0.0.1:1"


@pytest.fixture
def google(tmp_path: Path) -> Google:
    google = Google(tmp_path)
    google.network()
    return google


def reached(*, private: bool = False, by_name: bool | None = None) -> Properties:
    more: dict[str, Any] = {}
    if by_name is not None:
        more["controlPlaneEndpointsConfig"] = {"dnsEndpointConfig": {"allowExternalTraffic": by_name}}
    return cluster(privateClusterConfig={"enablePrivateNodes": True, "enablePrivateEndpoint": private}, **more)


def name_of(state: Properties) -> Any:
    return state["controlPlaneEndpointsConfig"]["dnsEndpointConfig"]["endpoint"]


@pytest.mark.parametrize(
    ("private", "inside", "address"),
    [(False, False, ADDRESS), (False, True, ADDRESS), (True, True, ADDRESS), (True, False, NOWHERE)],
)
def test_a_private_address_answers_inside_only(google: Google, private: bool, inside: bool, address: str) -> None:
    google.fleet.inside = inside
    assert google.create(CLUSTER, reached(private=private)).state["endpoint"] == address


@pytest.mark.parametrize(("by_name", "name"), [(True, NAME), (False, NOWHERE), (None, NOWHERE)])
@pytest.mark.parametrize("inside", [True, False])
def test_the_name_answers_everywhere_if_it_may(google: Google, by_name: bool | None, name: str, inside: bool) -> None:
    google.fleet.inside = inside
    state = google.create(CLUSTER, reached(private=True, by_name=by_name)).state
    assert name_of(state) == name
    assert (
        google.read(CLUSTER, f"projects/{state['project']}/locations/{state['location']}/clusters/gpu-dev").state
        == state
    )


def test_the_ways_in_change_in_place(google: Google) -> None:
    created = google.create(CLUSTER, reached())
    assert (created.state["endpoint"], name_of(created.state)) == (ADDRESS, NOWHERE)
    closed = reached(private=True, by_name=True)
    assert google.diff(CLUSTER, reached(), closed).replaces == ()
    foreseen = google.update(CLUSTER, created, closed, preview=True)
    assert foreseen["endpoint"] is UNKNOWN
    assert foreseen["controlPlaneEndpointsConfig"]["dnsEndpointConfig"] is UNKNOWN
    state = google.update(CLUSTER, created, closed)
    assert (state["endpoint"], name_of(state)) == (NOWHERE, NAME)


def test_without_addresses_the_name_is_the_only_way_in(google: Google) -> None:
    """The recorded answer has the name as ``endpoint``, too."""
    ways = {"dnsEndpointConfig": {"allowExternalTraffic": True}, "ipEndpointsConfig": {"enabled": False}}
    closed = {**reached(by_name=True), "controlPlaneEndpointsConfig": ways}
    created = google.create(CLUSTER, reached(by_name=True))
    assert created.state["endpoint"] == ADDRESS
    assert google.diff(CLUSTER, reached(by_name=True), closed).replaces == ()
    assert google.update(CLUSTER, created, closed, preview=True)["endpoint"] is UNKNOWN
    state = google.update(CLUSTER, created, closed)
    assert (state["endpoint"], name_of(state)) == (NAME, NAME)
    assert not state["privateClusterConfig"].get("publicEndpoint")
    assert google.create(CLUSTER, {**closed, "name": "other"}).state["endpoint"] == NAME


def test_another_change_keeps_them(google: Google) -> None:
    created = google.create(CLUSTER, reached(by_name=True))
    labelled = {**reached(by_name=True), "resourceLabels": {"team": "vision"}}
    assert google.update(CLUSTER, created, labelled, preview=True)["endpoint"] == ADDRESS
    state = google.update(CLUSTER, created, labelled)
    assert (state["endpoint"], name_of(state)) == (ADDRESS, NAME)


def test_what_the_program_leaves_out_stays_as_it_was(google: Google) -> None:
    """https://github.com/pulumi/pulumi-gcp/issues/1072"""
    created = google.create(CLUSTER, reached(by_name=True))
    assert google.diff(CLUSTER, reached(by_name=True), reached()).changes == ()
    assert name_of(google.update(CLUSTER, created, reached())) == NAME
    assert name_of(google.update(CLUSTER, created, reached(by_name=False))) == NOWHERE
