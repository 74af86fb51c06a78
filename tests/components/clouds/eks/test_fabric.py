"""Pools with a fabric: EFA interfaces, a placement group, the plugin that offers them, and who may use the group."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.clouds.base import load_cloud
from components.clouds.eks.fabric import device_plugin
from components.driver_daemon_set import daemon_set
from facts import catalog
from facts.concepts.offer import from_config_map
from facts.concepts.parts import Fabric
from facts.concepts.pool import Pool
from facts.jobs.job import JobRequest, manifests
from facts.jobs.plan import place, training_job
from policies.readers.resource import Declared
from policies.readers.unread import unread
from tests import recorder
from tests.components import eks_specs
from tests.components.specs import changed
from tests.stacks import ROOT, run_program

EFA = "vpc.amazonaws.com/efa"
GROUP = "aws:ec2/placementGroup:PlacementGroup"
P5 = changed(
    eks_specs.gpu_pool("h100-8", size=8, machine_types=("p5.48xlarge",), capacity_type="on-demand"),
    fabric=Fabric(devices=32, resource=EFA),
)
RESERVED = changed(P5, capacity_type="reserved", reservation="cr-0123456789abcdef0")
B300 = changed(P5, machine_types=("p6-b300.48xlarge",), fabric=Fabric(devices=16, resource=EFA))


def declared(pool: Pool, autoscaler: str = "cluster-autoscaler") -> recorder.Recording:
    return eks_specs.recorded(pool, cluster={"autoscaler": autoscaler})


def interfaces(pool: Pool, autoscaler: str) -> list[tuple[int, int, str]]:
    recording = declared(pool, autoscaler)
    if autoscaler == "karpenter":
        listed = recording.only("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass").inputs["spec"]["networkInterfaces"]
    else:
        listed = recording.named(f"{pool.name}-pool-template").inputs["networkInterfaces"]
        assert {one["deleteOnTermination"] for one in listed} == {"true"}
        (groups,) = {tuple(one["securityGroups"]) for one in listed}
        assert groups == ("sg-of-the-cluster",)
    return [(one["networkCardIndex"], one["deviceIndex"], one["interfaceType"]) for one in listed]


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_a_node_has_one_interface_for_pods_and_efa_on_every_card(autoscaler: str) -> None:
    first, *others = interfaces(P5, autoscaler)
    assert first == (0, 0, "interface")
    assert others == [(0, 1, "efa-only"), *((card, 0, "efa-only") for card in range(1, 32))]
    # Its first card has no EFA.
    assert interfaces(B300, autoscaler) == [(0, 0, "interface"), *((card, 0, "efa-only") for card in range(1, 17))]


@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_its_nodes_are_close_to_each_other_unless_the_capacity_has_a_place(autoscaler: str) -> None:
    recording = declared(P5, autoscaler)
    (group,) = recording.of_type(GROUP)
    assert (group.inputs["name"], group.inputs["strategy"]) == ("gpu-test-h100-8", "cluster")
    if autoscaler == "karpenter":
        spec = recording.only("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass").inputs["spec"]
        assert spec["placementGroupSelector"] == {"name": "gpu-test-h100-8"}
    else:
        template = recording.named("h100-8-pool-template").inputs
        assert template["placement"] == {"groupName": "gpu-test-h100-8"}
    # The gate has nothing to say about the group, and reads the pool as any other.
    assert not list(unread(Declared(type=GROUP, name=group.name, urn="", properties=group.inputs)))
    reserved = declared(RESERVED, autoscaler)
    assert not reserved.of_type(GROUP)
    assert len(interfaces(RESERVED, autoscaler)) == 33


@pytest.mark.parametrize("pool", [changed(P5, fabric=None), RESERVED])
@pytest.mark.parametrize("autoscaler", ["cluster-autoscaler", "karpenter"])
def test_a_group_stays_as_long_as_its_pool_whose_nodes_may_be_in_it(autoscaler: str, pool: Pool) -> None:
    """EC2 deletes no group in which nodes are: https://github.com/scylladb/scylla-cluster-tests/issues/6742."""
    cluster = {"autoscaler": autoscaler}
    before = declared(P5, autoscaler)
    after = eks_specs.run(pool, cluster=cluster, deployed=before)
    assert [one.urn for one in after.of_type(GROUP)] == [one.urn for one in before.of_type(GROUP)]
    pools = "kubernetes:karpenter.sh/v1:NodePool" if autoscaler == "karpenter" else "aws:eks/nodeGroup:NodeGroup"
    starts = [one for one in after.of_type(pools) if "h100-8" in one.name]
    assert [after.only(GROUP).urn in after.before(one) for one in starts] == [True], "it goes after them"
    if autoscaler == "karpenter":
        assert "placementGroupSelector" not in after.only("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass").inputs["spec"]
    else:
        assert "placement" not in after.named("h100-8-pool-template").inputs
    other = eks_specs.run(eks_specs.gpu_pool("t4-1"), cluster=cluster, deployed=before)
    assert other.of_type(GROUP) == []


def test_an_empty_group_tells_the_autoscaler_of_the_devices() -> None:
    written = [one.inputs["tag"] for one in declared(P5).of_type("aws:autoscaling/tag:Tag")]
    tags = {each["key"]: each["value"] for each in written}
    assert tags["k8s.io/cluster-autoscaler/node-template/resources/vpc.amazonaws.com/efa"] == "32"


def test_karpenter_may_use_placement_groups_only_where_there_are_some() -> None:
    def documents(pool: Pool) -> str:
        policies = declared(pool, "karpenter").of_type("aws:iam/rolePolicy:RolePolicy")
        return str([one.inputs.get("policy") for one in policies])

    assert "ec2:DescribePlacementGroups" in documents(P5)
    assert ":placement-group/*" in documents(P5)
    for pool in (RESERVED, changed(P5, fabric=None)):
        assert "lacementGroup" not in documents(pool)


def test_the_plugin_runs_on_these_pools_alone() -> None:
    plain = eks_specs.gpu_pool("t4-1")
    daemons = {one.app: one for one in load_cloud("eks").gpu_daemons([P5, plain])}
    assert daemons["aws-efa-k8s-device-plugin"].pools == (P5,)
    assert daemons["nvidia-device-plugin"].pools == (P5, plain)
    pod: dict[str, Any] = daemon_set(daemons["aws-efa-k8s-device-plugin"])["spec"]["template"]["spec"]
    expected = {"/var/lib/kubelet/device-plugins", "/dev/infiniband"}
    assert {each["hostPath"]["path"] for each in pod["volumes"]} == expected
    assert "aws-efa-k8s-device-plugin" not in {one.app for one in load_cloud("eks").gpu_daemons([plain])}


@pytest.mark.parametrize(
    ("zone", "account"),
    [("us-west-2b", "602401143452"), ("eu-north-1a", "602401143452"), ("ap-southeast-3c", "296578399912")],
)
def test_the_plugin_comes_from_the_registry_of_the_region(zone: str, account: str) -> None:
    # A network without a way to the internet has endpoints for the registry of its own region only.
    (plugin,) = device_plugin([changed(P5, zones=(zone,))])
    expected = f"{account}.dkr.ecr.{zone[:-1]}.amazonaws.com/eks/aws-efa-k8s-device-plugin:v0.5.20"
    assert [each["image"] for each in plugin.pod["containers"]] == [expected]


def test_each_region_of_the_catalogue_has_a_registry() -> None:
    for region, zones in catalog.of("eks").regions.items():
        (plugin,) = device_plugin([changed(P5, zones=zones)])
        assert f".dkr.ecr.{region}.amazonaws.com/" in plugin.pod["containers"][0]["image"]


def test_its_network_test_is_the_job_that_gpu_submit_creates() -> None:
    recording = run_program(ROOT / "examples" / "eks-fabric.yaml")
    job, service = yaml.safe_load_all(recording.stack_outputs["fabricTest"]["h100-8"])
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 8, EFA: 32}}
    *torchrun, code = container["command"]
    assert (torchrun, job["spec"]["parallelism"]) == (["torchrun", "--no-python", "python", "-c"], 2)
    compile(code, "all-reduce", "exec")
    # NCCL fails without the plugin for EFA, instead of falling back to TCP.
    env = {"NCCL_DEBUG": "INFO", "NCCL_NET": "Libfabric"}
    published = from_config_map(recording.named("offer-pools").inputs)
    asked = JobRequest(
        name="fabric-test-h100-8", namespace="default", gpus=8, workers=2, retries=0, command=(*torchrun, code), env=env
    )
    submitted = training_job(asked, place(published, asked), container["image"], published)
    assert manifests(submitted) == [job, service]
    assert "fabricTest" not in run_program(ROOT / "examples" / "eks-t4.yaml").stack_outputs
