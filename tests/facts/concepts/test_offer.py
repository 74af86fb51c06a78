"""The published pool inventory: what is written is read, also by readers and writers of the schema before and after."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.offer import (
    KEY,
    CheckpointsOffer,
    Offer,
    OfferError,
    PoolOffer,
    TeamOffer,
    from_config_map,
    to_config_map,
)
from facts.concepts.parts import Block, Fabric, Gpus, Nodes, Scaling

POOL = PoolOffer(
    name="a100-8",
    nodes=Nodes(
        machine_types=("machine",),
        zones=("zone-a", "zone-b"),
        labels={"gpucluster.dev/pool": "a100-8"},
        taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),),
        cloud_labels={"cloud.example/slice": "a"},
        fabric=Fabric(devices=4, resource="vpc.amazonaws.com/efa", env={"FI_PROVIDER": "efa"}),
    ),
    scaling=Scaling(
        max_nodes=2,
        capacity_type="flex-start",
        max_run_hours=24,
        block=Block(first="2026-12-01", last="2026-12-08"),
    ),
    gpus=Gpus(type="nvidia-a100-40gb", per_node=8),
    allocatable_gpus=8,
    gpus_per_pod=8,
    rdma_devices=4,
)
OFFER = Offer(
    stack="dev",
    cloud="cloud",
    region="region",
    cluster="gpu-dev",
    pools=(POOL,),
    registry="registry.example/gpu-dev",
    accounts=("ml/writer",),
    account_labels={"cloud.example/identity": "true"},
    checkpoints=CheckpointsOffer(url="s3://checkpoints", service_account="ml/writer"),
    teams=(TeamOffer(name="ml", gpus=8, priority_class="gpucluster-high"),),
    volume_namespace="default",
    queued=("default", "ml"),
)


RECORDED = Path(__file__).with_name("offer.json").read_text().rstrip("\n")
"""What version 0.1.0 (c5140c16) writes for ``OFFER``: installed commands read exactly this."""


def rewritten(change: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
    """The offer's ConfigMap as another version writes it."""
    document = json.loads(to_config_map(OFFER)["data"][KEY])
    change(document)
    return {"data": {KEY: json.dumps(document)}}


def test_what_version_0_1_0_wrote_is_read() -> None:
    assert from_config_map({"data": {KEY: RECORDED}}) == OFFER


def test_each_field_that_version_0_1_0_wrote_is_written() -> None:
    """Others may be added: to the offer, its pools, and what they hold."""
    assert missing(json.loads(RECORDED), json.loads(to_config_map(OFFER)["data"][KEY])) == []


def missing(recorded: Any, written: Any, path: str = "") -> list[str]:
    """Where ``written`` lacks something of ``recorded`` or has another value."""
    if isinstance(recorded, dict) and isinstance(written, dict):
        return [each for key, value in recorded.items() for each in missing(value, written.get(key), f"{path}.{key}")]
    if isinstance(recorded, list) and isinstance(written, list) and len(recorded) == len(written):
        pairs = enumerate(zip(recorded, written, strict=True))
        return [each for index, pair in pairs for each in missing(*pair, f"{path}[{index}]")]
    return [] if recorded == written else [path]


def test_what_is_missing_is_named() -> None:
    document = json.loads(to_config_map(OFFER)["data"][KEY])
    document["pools"][0]["max_nodes"] = "2"
    del document["teams"][0]["gpus"]
    assert missing(json.loads(RECORDED), document) == [".pools[0].max_nodes", ".teams[0].gpus"]


def test_what_is_written_is_read() -> None:
    assert from_config_map(to_config_map(OFFER)) == OFFER


@pytest.mark.parametrize("schema", [1, 2, 3])
def test_the_schemas_before_and_after_are_read_without_the_fields_that_are_not_known(schema: int) -> None:
    def change(document: dict[str, Any]) -> None:
        (pool,) = document["pools"]
        added = [document, pool, pool["fabric"], *pool["taints"], document["checkpoints"], *document["teams"]]
        for each in added:
            each["addedLater"] = {"any": ["value"]}
        document["schema"] = schema

    assert from_config_map(rewritten(change)) == OFFER


def test_schema_1_called_the_capacity_type_rung() -> None:
    def change(document: dict[str, Any]) -> None:
        document["schema"] = 1
        for pool in document["pools"]:
            pool["rung"] = pool.pop("capacity_type")

    assert from_config_map(rewritten(change)) == OFFER


def schema(number: Any) -> Callable[[dict[str, Any]], None]:
    return lambda document: document.update(schema=number)


def without_pools(number: int) -> Callable[[dict[str, Any]], None]:
    def change(document: dict[str, Any]) -> None:
        document["schema"] = number
        del document["pools"]

    return change


def without_a_pools_name(document: dict[str, Any]) -> None:
    document["schema"] = 3
    for pool in document["pools"]:
        pool["title"] = pool.pop("name")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (schema(0), "is of schema 0, this command reads 1 to 3; update the program of the cluster"),
        (schema(4), "is of schema 4, this command reads 1 to 3; update this command"),
        (schema("x"), "has no readable offer.json; run `pulumi up` to write it anew"),
        (lambda document: document.pop("schema"), "has no readable offer.json; run `pulumi up` to write it anew"),
        (without_pools(1), "is of schema 1 and lacks what this command needs; update the program of the cluster"),
        (without_pools(2), "has no readable offer.json; run `pulumi up` to write it anew"),
        (without_a_pools_name, "is of schema 3 and lacks what this command needs; update this command"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_update(
    change: Callable[[dict[str, Any]], None], message: str
) -> None:
    with pytest.raises(OfferError) as raised:
        from_config_map(rewritten(change))
    assert str(raised.value) == f"ConfigMap kube-system/gpucluster-pools {message}"


@pytest.mark.parametrize("broken", [{}, {"data": None}, {"data": {}}, {"data": {KEY: "{"}}, {"data": {KEY: "[]"}}])
def test_what_is_no_offer_says_how_to_write_one(broken: dict[str, Any]) -> None:
    with pytest.raises(OfferError, match="run `pulumi up` to write it anew"):
        from_config_map(broken)
