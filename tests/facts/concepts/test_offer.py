"""What a cluster offers survives its ConfigMap, and a reader says what it cannot read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.offer import KEY, SCHEMA, Offer, OfferError, PoolOffer, from_config_map, to_config_map
from facts.concepts.pool import Fabric

POOL = PoolOffer(
    name="t4-1",
    gpu="nvidia-t4",
    gpus_per_node=1,
    allocatable_gpus=4,
    gpus_per_pod=1,
    machine_types=("n1-standard-4",),
    zones=("us-central1-a", "us-central1-b"),
    max_nodes=3,
    spot=True,
    milli_cpu=3500,
    memory_mib=12000,
    hourly_usd=0.25,
    notice_seconds=15,
    labels={"gpucluster.dev/pool": "t4-1"},
    taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"), Taint("own", None, "NoExecute")),
)
OFFER = Offer(stack="dev", cloud="gke", region="us-central1", cluster="gpu-dev", pools=(POOL,), registry="r.example/x")


def published(**changes: Any) -> dict[str, Any]:
    return {"data": {KEY: json.dumps({**json.loads(to_config_map(OFFER)["data"][KEY]), **changes})}}


def test_what_is_written_is_read() -> None:
    assert from_config_map(to_config_map(OFFER)) == OFFER


def test_a_newer_program_may_add_facts() -> None:
    (pool,) = json.loads(to_config_map(OFFER)["data"][KEY])["pools"]
    assert from_config_map(published(colour="green", pools=[{**pool, "colour": "red"}])) == OFFER


def test_a_fabric_is_read_as_it_was_written() -> None:
    fabric = Fabric(devices=32, resource="vpc.amazonaws.com/efa")
    offer = replace(OFFER, pools=(replace(POOL, fabric=fabric, rdma_devices=32),))
    assert from_config_map(to_config_map(offer)) == offer


@pytest.mark.parametrize(("schema", "older"), [(SCHEMA + 1, "this command"), (SCHEMA - 1, "the cluster's program")])
def test_another_schema_is_refused_and_says_which_side_is_older(schema: int, older: str) -> None:
    with pytest.raises(OfferError, match=f"update {older}"):
        from_config_map(published(schema=schema))


@pytest.mark.parametrize("broken", [{}, {"data": None}, {"data": {}}, {"data": {KEY: "{"}}, {"data": {KEY: "[]"}}])
def test_what_is_no_offer_says_how_to_write_one(broken: dict[str, Any]) -> None:
    with pytest.raises(OfferError, match="pulumi up"):
        from_config_map(broken)
