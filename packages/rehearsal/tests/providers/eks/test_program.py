"""The program's EKS side against the simulated provider: what the components declare, AWS's models and rules accept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.providers.eks.account import NODE_GROUP, Amazon
from packages.rehearsal.tests.providers.eks.answers import answers
from tests.components import eks_specs

CASES: dict[str, dict[str, Any]] = {
    "usual": {},
    "wide": {"zones": eks_specs.THREE_ZONES, "nat_per_zone": True, "addons": eks_specs.EVERY_ADDON},
    "karpenter": {"autoscaler": "karpenter", "zones": eks_specs.THREE_ZONES},
}


@pytest.fixture
def amazon(tmp_path: Path) -> Iterator[Amazon]:
    """A simulated provider that answers the program in the recorder's place."""
    amazon = Amazon(tmp_path)
    with answers(amazon):
        yield amazon
    amazon.stop()


@pytest.mark.parametrize("case", CASES)
def test_what_the_program_declares_is_made_and_removed(amazon: Amazon, case: str) -> None:
    changes = CASES[case]
    zones = changes.get("zones", (eks_specs.ZONE,))
    pools = (
        eks_specs.gpu_pool(zones=zones, capacity_type="spot", machine_types=("g4dn.xlarge", "g4dn.2xlarge")),
        eks_specs.gpu_pool("t4-4", size=4, machine_types=("g4dn.12xlarge",), zones=zones, image="bottlerocket"),
        eks_specs.cpu_pool(zones=zones),
    )
    recording = eks_specs.run(*pools, cluster=changes)
    declared = [resource for resource in recording.resources if resource.type.startswith("aws:")]
    assert len(declared) == len(amazon.made) > 30
    made = {created.state["nodeGroupName"] for type_, created in amazon.made if type_ == NODE_GROUP}
    assert {each.name for each in amazon.fleet.groups.values()} == made
    applied = {each["metadata"]["name"] for each in amazon.fleet.applied}
    assert {"aws-node", "kube-proxy", "coredns", "ebs-csi-controller"} <= applied
    evaluated = amazon.provider.problems()
    assert evaluated is not None
    assert list(evaluated) == []

    for type_, resource in reversed(amazon.made):
        assert amazon.read(type_, resource.id, resource.inputs).inputs == resource.inputs
        amazon.delete(type_, resource)
    assert amazon.fleet.clusters == {}
    assert amazon.provider.problems() is None
