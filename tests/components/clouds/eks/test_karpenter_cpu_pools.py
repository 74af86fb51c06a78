"""Karpenter's pools without GPUs: what differs from those that have some."""

from __future__ import annotations

from components.clouds.eks import karpenter_objects
from components.settings.maintenance import Maintenance
from tests.components import eks_specs


def test_nodes_without_gpus_get_newer_images_one_after_the_other() -> None:
    for pool, renewed in ((eks_specs.cpu_pool(), "1"), (eks_specs.gpu_pool(), "0")):
        spec = karpenter_objects.node_pool(pool, weight=1, unneeded_minutes=5, maintenance=Maintenance())["spec"]
        always = [one for one in spec["disruption"]["budgets"] if "schedule" not in one]
        budgets = {reason: one["nodes"] for one in always for reason in one["reasons"]}
        assert budgets == {"Empty": "100%", "Drifted": renewed, "Underutilized": "0"}


def test_a_mixed_cpu_pool_may_have_as_many_nodes_of_its_largest_type() -> None:
    mixed = eks_specs.cpu_pool(machine_types=("m6i.xlarge", "m6i.2xlarge"), spot=True, max_nodes=3)
    assert karpenter_objects.limits(mixed) == {"cpu": "24", "nodes": "3"}


def test_a_node_of_few_addresses_takes_few_pods() -> None:
    def most(*types: str) -> int:
        pool = eks_specs.cpu_pool(machine_types=types, spot=True)
        made = karpenter_objects.node_class(pool, instance_profile="p", subnets=[], security_group="g", tags={})
        return int(made["spec"]["kubelet"]["maxPods"])

    assert most("m6i.xlarge", "m6i.2xlarge") == 110
    assert most("t3.micro", "t3.small") == 34
