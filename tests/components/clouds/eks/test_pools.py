"""EKS node groups, one setting at a time: what nodes are, and what the autoscaler knows of an empty one."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pytest

from components.clouds.eks.node_template import divided_gpus
from facts import catalog
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Gpus, SharedGpu
from facts.concepts.pool import Pool
from rehearsal.providers.eks.machines.gpu_parts import parts
from tests import recorder
from tests.components import eks_specs

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
TAG = "aws:autoscaling/tag:Tag"
# https://docs.aws.amazon.com/eks/latest/APIReference/API_Taint.html
EFFECTS = {"NoSchedule": "NO_SCHEDULE", "PreferNoSchedule": "PREFER_NO_SCHEDULE", "NoExecute": "NO_EXECUTE"}
NODE_TEMPLATE = "k8s.io/cluster-autoscaler/node-template"

GPU_POOLS: dict[str, Pool] = {
    "usual": eks_specs.gpu_pool(),
    "size": eks_specs.gpu_pool(size=4, machine_types=("g4dn.12xlarge",)),
    "labels": eks_specs.gpu_pool(extra_labels={"nvidia.com/gpu": "true", "example.com/rack": "7"}),
    "taints": eks_specs.gpu_pool(
        extra_taints=(
            Taint("example.com/team", "ml", "NoExecute"),
            Taint("example.com/quiet", None, "PreferNoSchedule"),
        )
    ),
    "shared": eks_specs.gpu_pool(time_sharing=SharedGpu(clients_per_gpu=4)),
    "on-demand": eks_specs.gpu_pool(capacity_type="on-demand", preference=1, zones=eks_specs.THREE_ZONES),
}
gpu_pools = pytest.mark.parametrize("spec", GPU_POOLS.values(), ids=GPU_POOLS)


def group(spec: Pool, **cluster: Any) -> recorder.Registration:
    """The node group that the spec becomes."""
    return recording(spec, **cluster).named(f"{spec.name}-pool")


def template(spec: Pool) -> dict[str, Any]:
    """The launch template that the spec's node group uses."""
    declared = recording(spec)
    (of_pool,) = [one for one in declared.of_type(TEMPLATE) if one.name == f"{spec.name}-pool-template"]
    assert declared.named(f"{spec.name}-pool").inputs["launchTemplate"]["id"] == f"{of_pool.name}-id"
    return of_pool.inputs


def recording(spec: Pool, **cluster: Any) -> recorder.Recording:
    cluster = {"zones": eks_specs.THREE_ZONES, **cluster}
    if spec.role == "admin":
        return eks_specs.recorded(admin=spec, cluster=cluster)
    return eks_specs.recorded(spec, cluster=cluster)


def tags(spec: Pool, **cluster: Any) -> dict[str, str]:
    """Tags on the Auto Scaling group of the spec's node group."""
    declared = recording(spec, **cluster)
    return {key: value for (key, on_machines), value in all_tags(declared, spec).items() if not on_machines}


def all_tags(declared: recorder.Recording, spec: Pool) -> dict[tuple[str, bool], str]:
    """Key, and whether machines get it too → value."""
    of_pool = [one.inputs for one in declared.of_type(TAG) if f"eks-{spec.name}-" in one.inputs["autoscalingGroupName"]]
    return {(one["tag"]["key"], one["tag"]["propagateAtLaunch"]): one["tag"]["value"] for one in of_pool}


def nodes_of(node_group: recorder.Registration) -> tuple[Mapping[str, str], set[tuple[str, str, str]]]:
    """Labels and taints of a group's nodes."""
    taints = {(taint["key"], taint.get("value", ""), taint["effect"]) for taint in node_group.inputs["taints"]}
    return node_group.inputs["labels"], taints


@gpu_pools
def test_an_empty_group_and_its_nodes_tell_the_autoscaler_the_same(spec: Pool) -> None:
    labels, taints = nodes_of(group(spec))
    assert labels == spec.nodes.labels
    assert taints == {(taint.key, taint.value or "", EFFECTS[taint.effect]) for taint in spec.nodes.taints}
    advertised = tags(spec)
    assert {k.removeprefix(f"{NODE_TEMPLATE}/label/"): v for k, v in advertised.items() if "/label/" in k} == labels
    assert {
        k.removeprefix(f"{NODE_TEMPLATE}/taint/"): v
        for k, v in advertised.items()
        if k.startswith(f"{NODE_TEMPLATE}/taint/")
    } == {taint.key: f"{taint.value or ''}:{taint.effect}" for taint in spec.nodes.taints}
    assert advertised[f"{NODE_TEMPLATE}/resources/nvidia.com/gpu"] == str(spec.gpus.allocatable)


def test_shares_are_what_the_autoscaler_counts() -> None:
    shared = eks_specs.gpu_pool(size=4, machine_types=("g4dn.12xlarge",), time_sharing=SharedGpu(clients_per_gpu=8))
    assert tags(shared)[f"{NODE_TEMPLATE}/resources/nvidia.com/gpu"] == "32"


def resources(spec: Pool) -> dict[str, str]:
    prefix = f"{NODE_TEMPLATE}/resources/"
    return {key.removeprefix(prefix): value for key, value in tags(spec).items() if key.startswith(prefix)}


def test_a_cpu_pool_promises_no_gpu() -> None:
    assert set(resources(eks_specs.cpu_pool())) == {"cpu", "memory", "ephemeral-storage"}


@pytest.mark.parametrize("image", ["al2023", "bottlerocket"])
@pytest.mark.parametrize("disk", [20, 100])
def test_the_autoscaler_learns_of_the_disk_that_an_empty_group_will_have(image: Any, disk: int) -> None:
    promised = int(resources(eks_specs.gpu_pool(image=image, disk_gb=disk))["ephemeral-storage"].removesuffix("Mi"))
    # Of 20 GiB, as nodes report it: amazon-eks-ami#1126 and bottlerocket#1563.
    reported = {"al2023": 18242267924, "bottlerocket": 17933882132}[image] / 2**20
    assert promised <= reported + 0.9 * 1024 * (disk - 20)
    assert promised >= 0.85 * 1024 * disk - 1024


@pytest.mark.parametrize(
    ("types", "milli_cpu"),
    [(("g4dn.xlarge",), 3920), (("g4dn.2xlarge",), 7910), (("g4dn.2xlarge", "g4dn.xlarge"), 3920)],
)
def test_the_autoscaler_plans_with_what_is_left_of_the_smallest_type(types: tuple[str, ...], milli_cpu: int) -> None:
    advertised = resources(eks_specs.gpu_pool(machine_types=types))
    assert advertised["cpu"] == f"{milli_cpu}m"
    whole = 1024 * min(machine.memory_gib for name in types if (machine := catalog.of("eks").machines.get(name)))
    assert 0.9 * whole < int(advertised["memory"].removesuffix("Mi")) < whole


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_labels_of_the_stack_are_on_machines_that_start_and_roll_none(autoscaler: str) -> None:
    declared = eks_specs.recorded(cluster={"autoscaler": autoscaler})
    assert all_tags(declared, eks_specs.admin_pool()) == {("team", True): "ml"}
    assert {one.ignore_changes for one in declared.of_type(TEMPLATE)} == {("tagSpecifications",)}


@pytest.mark.parametrize(("minutes", "written"), [(None, None), (1, "1m0s"), (90, "90m0s")])
def test_how_long_nodes_of_one_pool_stay_idle(minutes: int | None, written: str | None) -> None:
    of_pool = tags(eks_specs.gpu_pool(unneeded_minutes=minutes))
    assert of_pool.get(f"{NODE_TEMPLATE}/autoscaling-options/scaledownunneededtime") == written


def test_a_group_takes_its_tags_with_it() -> None:
    declared = recording(eks_specs.gpu_pool())
    of_pool = [tag for tag in declared.of_type(TAG) if tag.inputs["autoscalingGroupName"].startswith("eks-t4-1-a-")]
    assert of_pool
    assert {tag.deleted_with for tag in of_pool} == {declared.named("t4-1-a-pool").urn}


@gpu_pools
def test_a_gpu_group_starts_empty_and_is_the_autoscalers(spec: Pool) -> None:
    node_group = group(spec)
    assert node_group.inputs["scalingConfig"] == {"minSize": 0, "maxSize": spec.scaling.max_nodes, "desiredSize": 0}
    assert node_group.delete_before_replace


def test_a_group_is_in_the_private_subnets_of_its_zones_alone() -> None:
    for zones in (("us-west-2b",), eks_specs.THREE_ZONES):
        declared = recording(eks_specs.gpu_pool(zones=zones))
        subnets = {one.name: one.inputs for one in declared.of_type("aws:ec2/subnet:Subnet")}
        used = [subnets[subnet.removesuffix("-id")] for subnet in declared.named("t4-1-a-pool").inputs["subnetIds"]]
        assert tuple(subnet["availabilityZone"] for subnet in used) == zones
        assert not any("kubernetes.io/role/elb" in subnet["tags"] for subnet in used)


@pytest.mark.parametrize(
    "spec",
    [
        eks_specs.gpu_pool(),
        eks_specs.gpu_pool(image="bottlerocket"),
        eks_specs.gpu_pool(reservation="cr-0123456789abcdef0"),
        eks_specs.cpu_pool(),
        eks_specs.admin_pool(),
    ],
    ids=["gpu", "bottlerocket", "reserved", "cpu", "admin"],
)
def test_every_node_has_encrypted_disks_and_no_open_door(spec: Pool) -> None:
    launch_template = template(spec)
    disks = [mapping["ebs"] for mapping in launch_template["blockDeviceMappings"]]
    # The device of the image's root: another one would leave the root at its default size, and add an empty disk.
    devices = [mapping["deviceName"] for mapping in launch_template["blockDeviceMappings"]]
    assert devices == (["/dev/xvda", "/dev/xvdb"] if spec.nodes.image == "bottlerocket" else ["/dev/xvda"])
    assert {(disk["encrypted"], disk["deleteOnTermination"]) for disk in disks} == {("true", "true")}
    assert max(disk["volumeSize"] for disk in disks) == spec.nodes.disk_gb
    expected = {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}
    assert launch_template["metadataOptions"] == expected
    assert "networkInterfaces" not in launch_template
    assert "keyName" not in launch_template
    assert "diskSize" not in group(spec).inputs


def test_machines_and_disks_are_on_the_bill_under_the_stacks_labels() -> None:
    tagged = {entry["resourceType"]: entry["tags"] for entry in template(eks_specs.gpu_pool())["tagSpecifications"]}
    assert {"instance", "volume"} <= tagged.keys()
    assert all(tags["team"] == "ml" for tags in tagged.values())


def test_bottlerocket_shares_gpus_by_its_own_settings() -> None:
    sharing = SharedGpu(clients_per_gpu=6)
    shared = eks_specs.gpu_pool(image="bottlerocket", time_sharing=sharing)
    data = base64.b64decode(template(shared)["userData"]).decode()
    assert "replicas = 6" in data.splitlines()
    assert 'device-sharing-strategy = "time-slicing"' in data.splitlines()
    assert "rename-by-default = false" in data.splitlines()
    assert "userData" not in template(eks_specs.gpu_pool(image="bottlerocket"))
    assert "userData" not in template(eks_specs.gpu_pool(image="al2023", time_sharing=sharing))


def test_bottlerocket_partitions_gpus_and_the_autoscaler_knows_the_slices() -> None:
    spec = eks_specs.gpu_pool(image="bottlerocket", gpu="nvidia-a100-40gb", size=8, mig="2g")
    lines = base64.b64decode(template(spec)["userData"]).decode().splitlines()
    assert {'device-partitioning-strategy = "mig"', '"a100.40gb" = "2g.10gb"'} <= set(lines)
    assert tags(spec)["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "24"


@pytest.mark.parametrize(
    ("gpu", "mig"),
    [(gpu, mig) for gpu, each in catalog.of("eks").machines.accelerators.items() for mig in each.partitions],
)
def test_bottlerocket_partitions_each_gpu_by_its_own_name_for_it(gpu: str, mig: str) -> None:
    """Under another name the settings are ignored, and a node has whole GPUs."""
    gpus = Gpus(type=gpu, per_node=1, mig=mig)
    data = base64.b64encode(divided_gpus(gpus).encode()).decode()
    assert parts(gpu, data) == gpus.shares > 0


@pytest.mark.parametrize("maximum", [None, 20])
def test_the_autoscaler_is_told_of_an_admin_pool_that_it_scales(maximum: int | None) -> None:
    spec = eks_specs.admin_pool(max_nodes=maximum, zones=eks_specs.THREE_ZONES)
    assert bool(tags(spec)) is (maximum is not None)
