"""The program again without an engine: what depends on a mutated resource gets its new outputs."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.engine.stack import resolve
from rehearsal.mutants.mutation import Registered
from rehearsal.mutants.replay import Replay, Variant, changed, followed
from rehearsal.scenario.check import pools_of

POOL = Registered("cloud:Pool", "p", "urn:p", {}, dependencies={"cluster": ("urn:c",), "account": ("urn:a",)})
NETWORK, SUBNET = "gcp:compute/network:Network", "gcp:compute/subnetwork:Subnetwork"


def test_only_texts_that_differ_are_new_outputs() -> None:
    before = {"id": "projects/old", "size": 3, "same": "as before", "keys": [{"name": "first"}], "short": "abc"}
    after = {"id": "projects/new", "size": 4, "same": "as before", "keys": [{"name": "other"}], "short": "abd"}
    assert changed(before, after) == {"projects/old": "projects/new", "first": "other"}


def test_inputs_follow_the_resources_that_they_depend_on_and_no_others() -> None:
    changes = {"urn:c": {"old-name": "new-name"}, "urn:x": {"old-name": "another"}}
    inputs: dict[str, Any] = {"cluster": {"id": ["clusters/old-name"]}, "account": "old-name", "name": "old-name"}
    assert followed(POOL, inputs, changes) == {**inputs, "cluster": {"id": ["clusters/new-name"]}}


def test_a_mutant_that_names_another_resource_gets_its_new_name() -> None:
    changes = {"urn:c": {"old-name": "new-name"}, "urn:x": {"subnet-old": "subnet-new"}}
    inputs = {"cluster": ["subnet-old"], "text": "subnet-old-b", "name": "old-name"}
    assert followed(POOL, inputs, changes, "subnet-old") == {**inputs, "cluster": ["subnet-new"]}
    assert followed(POOL, inputs, changes) == inputs


def test_variants_are_judged_one_by_one_each_in_the_place_of_its_resource() -> None:
    stack = resolve("dev")
    replay = Replay("gcp", {"project": "p"}, pools_of(stack.settings), stack.settings.maintenance.window)
    network = {"project": "p", "autoCreateSubnetworks": False, "name": "net"}
    inputs = {"name": "sub", "region": "us-central1", "project": "p", "ipCidrRange": "10.0.0.0/20", "network": "net"}
    program = [
        (Registered(NETWORK, "n", "urn:n", {}), network),
        (Registered(SUBNET, "s", "urn:s", {}, dependencies={"network": ("urn:n",)}, after=("urn:n",)), inputs),
    ]
    variants = [
        Variant("urn:n", {**network, "name": "other"}),
        Variant("urn:s", {**inputs, "network": "another"}),
        Variant("urn:s", inputs, hasty=True),
        Variant("urn:s", {**inputs, "name": "sub2"}),
    ]
    refused = [error for error, _ in replay.refusals(program, variants)]
    assert ["networks/" in error and "was not found" in error for error in refused] == [True, True, False, False]


@pytest.mark.parametrize(
    ("network", "subnetwork", "refused", "wrong"),
    [
        ({"name": "net"}, {"network": "net"}, "", "groups-as-declared: admin has no node group"),
        ({"name": "net"}, {"network": "other"}, "networks/other' was not found", ""),
    ],
)
def test_the_cloud_and_the_first_check_judge(
    network: dict[str, Any], subnetwork: dict[str, Any], refused: str, wrong: str
) -> None:
    stack = resolve("dev")
    replay = Replay("gcp", {"project": "p"}, pools_of(stack.settings), stack.settings.maintenance.window)
    inputs = {"name": "sub", "region": "us-central1", "project": "p", "ipCidrRange": "10.0.0.0/20", **subnetwork}
    program = [
        (Registered(NETWORK, "n", "urn:n", {}), {"project": "p", "autoCreateSubnetworks": False, **network}),
        (Registered(SUBNET, "s", "urn:s", {}), inputs),
    ]
    error, problem = replay.refusal(program)
    assert refused in error
    assert problem.startswith(wrong)
    assert bool(error) is bool(refused)
