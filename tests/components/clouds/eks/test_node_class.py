"""EC2NodeClasses: pinned images, the machine's own disks, and what ``raw`` of a pool adds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from components.settings import load
from facts import catalog
from facts.concepts.pool import Pool
from tests.components import eks_specs
from tests.components.settings.test_clouds import own_keys, t4
from tests.components.specs import changed

NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
GPU = eks_specs.gpu_pool("t4-1", capacity_type="on-demand")
P5 = changed(GPU, machine_types=("p5.48xlarge",), disk_gb=500)


def spec_of(pool: Pool, **cluster: Any) -> dict[str, Any]:
    recording = eks_specs.recorded(pool, cluster={"autoscaler": "karpenter", **cluster})
    spec: dict[str, Any] = recording.only(NODE_CLASS).inputs["spec"]
    return spec


@pytest.mark.parametrize(
    ("image", "alias", "family"),
    [
        (None, "al2023@latest", "al2023"),
        ("al2023@v20261101", "al2023@v20261101", "al2023"),
        ("bottlerocket@v1.53.0", "bottlerocket@v1.53.0", "bottlerocket"),
    ],
)
def test_an_image_can_be_pinned(image: str | None, alias: str, family: str) -> None:
    changes = {"image": image} if image else {}
    (pool,) = load(own_keys("eks", gpuPools=t4(**changes)), stack="one", project="us-west-2").gpu_pools
    assert pool.nodes.image == family
    pinned = changed(GPU, image=pool.nodes.image, image_version=pool.nodes.image_version)
    assert spec_of(pinned)["amiSelectorTerms"] == [{"alias": alias}]


def test_raw_adds_to_the_node_class_and_replaces_the_image() -> None:
    own = {"amiFamily": "AL2023", "amiSelectorTerms": [{"id": "ami-0123456789abcdef0"}], "detailedMonitoring": True}
    spec = spec_of(replace(GPU, raw={**own, "kubelet": {"imageGCHighThresholdPercent": 90}}))
    assert {key: spec[key] for key in own} == own
    assert spec["kubelet"] == {"maxPods": 110, "imageGCHighThresholdPercent": 90}
    assert spec["metadataOptions"]["httpTokens"] == "required"


@pytest.mark.parametrize(
    ("pool", "cluster", "expected"),
    [
        (GPU, {}, "RAID0"),
        (changed(GPU, disk_gb=116), {}, "RAID0"),
        # More than the smallest machine has: the volume that the stack file asks for.
        (changed(GPU, disk_gb=117), {}, None),
        (P5, {}, "RAID0"),
        (changed(P5, disk_gb=28312), {}, "RAID0"),
        (changed(P5, disk_gb=28313), {}, None),
        # The customer's key encrypts volumes, never a machine's own disks.
        (GPU, {"disk_key": "arn:aws:kms:us-west-2:123456789012:key/0123"}, None),
        (eks_specs.cpu_pool(), {}, None),
        (changed(GPU, machine_types=("inf2.xlarge",)), {}, None),
    ],
)
def test_pods_use_the_machines_own_disks(pool: Pool, cluster: dict[str, Any], expected: str | None) -> None:
    assert spec_of(pool, **cluster).get("instanceStorePolicy") == expected


def test_disks_of_machines_with_gpus_are_fast() -> None:
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    machines = catalog.of("eks").machines
    types = [each for each in machines.types if (machine := machines.get(each)) is not None and machine.gpus]
    storage = [info for each in types if (info := INSTANCE_TYPES[each].get("InstanceStorageInfo"))]
    assert len(storage) > 50
    assert {each["NvmeSupport"] for each in storage} == {"required"}


@pytest.mark.parametrize(
    ("types", "most"),
    [
        (["m6i.xlarge"], 110),
        (["m4.large"], None),
        (["m6i.xlarge", "m4.xlarge"], None),
    ],
)
def test_a_node_takes_no_more_pods_than_it_has_addresses_for(types: list[str], most: int | None) -> None:
    # Left out, Karpenter and the node image count what the machine's interfaces can address one by one.
    pool = eks_specs.cpu_pool(machine_types=tuple(types))
    assert spec_of(pool).get("kubelet") == (None if most is None else {"maxPods": most})
