"""A whole account of every simulated cloud: in which order it goes, what failed half-way, and its tags."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.driver import Account, Step
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke.account import Google
from packages.rehearsal.tests.providers.test_contract import CLOUDS, ROWS, before
from rehearsal.providers.base import Created, Properties, ProviderError
from rehearsal.simulation import SimulatedNodeGroup

IN_USE: dict[type[Account], dict[str, str]] = {
    Google: {
        "gcp:compute/network:Network": "already being used by '.*/sub', resourceInUseByAnotherResource",
        "gcp:compute/subnetwork:Subnetwork": "already being used by .*clusters/gpu-dev",
    },
    Amazon: {
        "aws:ec2/vpc:Vpc": "DependencyViolation.*has dependencies",
        "aws:ec2/subnet:Subnet": "DependencyViolation.*has dependencies",
        "aws:iam/role:Role": "DeleteConflict",
        "aws:eks/cluster:Cluster": "ResourceInUseException.*nodegroups",
    },
    Microsoft: {
        f"azure-native:{name}": r"Status=400 Code=.* is in use by "
        for name in (
            *("network:VirtualNetwork", "network:Subnet", "network:NatGateway", "network:PublicIPAddress"),
            *("network:NetworkSecurityGroup", "network:RouteTable", "compute:DiskEncryptionSet"),
        )
    },
}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_whole_account_comes_and_goes_and_what_is_in_use_stays(cloud: type[Account], tmp_path: Path) -> None:
    account = cloud(tmp_path)
    for step in account.steps():
        account.create(step.type, step.inputs)
    assert len(account.fleet.clusters) == 1
    assert account.fleet.groups
    for token, message in IN_USE[cloud].items():
        resource = next(resource for type_, resource in account.made if type_ == token)
        with pytest.raises(ProviderError, match=message):
            account.delete(token, resource)
    for token, resource in account.made:
        read = account.read(token, resource.id, resource.inputs)
        assert (read.id, read.inputs) == (resource.id, resource.inputs), token
    for token, resource in reversed(account.made):
        account.delete(token, resource)
    assert account.fleet.groups == account.fleet.clusters == {}
    # The log group that EKS makes outlives its cluster.
    assert [each for each in account.provider.inventory() if not each.startswith("log group /aws/eks/")] == []


@pytest.mark.parametrize("cloud", ["gke", "aks"])
def test_the_offered_version_is_the_one_that_is_built(cloud: str) -> None:
    module = Path(__file__).parents[2] / "rehearsal" / "tools" / "kubernetes" / "go.mod"
    offered = import_module(f"rehearsal.providers.{cloud}.versions").KUBERNETES
    assert f"k8s.io/kubernetes v{offered}" in module.read_text(encoding="utf-8")


# Type → what of its creation may fail.
FAILS: dict[str, tuple[str, ...]] = {
    "gcp:container/cluster:Cluster": ("create_cluster",),
    "gcp:container/nodePool:NodePool": ("apply_group",),
    "aws:eks/cluster:Cluster": ("create_cluster",),
    "aws:eks/nodeGroup:NodeGroup": ("apply_group",),
    "azure-native:containerservice:ManagedCluster": ("create_cluster", "apply_group"),
    "azure-native:containerservice:AgentPool": ("apply_group",),
}


@pytest.mark.parametrize(
    ("cloud", "step", "call"),
    [(cloud, step, call) for cloud, step in ROWS for call in FAILS.get(step.type, ())],
    ids=[f"{step.type}-{call}" for _, step in ROWS for call in FAILS.get(step.type, ())],
)
def test_what_fails_half_way_is_recorded_and_resumed(
    cloud: type[Account], step: Step, call: str, tmp_path: Path
) -> None:
    account = before(cloud, step, tmp_path / "half").account
    account.fleet.fail = call
    with pytest.raises(ProviderError, match="no machines left") as failed:
        account.create(step.type, step.inputs)
    account.fleet.fail = ""
    half = failed.value.partial
    assert half is not None
    assert account.read(step.type, half.id).id == half.id
    inputs = account.check(step.type, step.inputs)
    state = account.update(step.type, Created(half.id, half.state, inputs), inputs)
    # Simulated AWS has one account per process: the second account replaces the first.
    clusters, groups = {*account.fleet.clusters}, _without_labels(account)
    whole = before(cloud, step, tmp_path / "whole")
    assert state.keys() == whole.make().state.keys()
    assert clusters == {*whole.account.fleet.clusters}
    assert groups == _without_labels(whole.account)


def _without_labels(account: Account) -> dict[str, SimulatedNodeGroup]:
    """The machines; an update that does not name a label of Azure's own takes that away."""
    return {name: replace(group, labels={}) for name, group in account.fleet.groups.items()}


# Of each cloud a resource that carries them, by which input, a tag that is one and some that are none.
KINDS: tuple[tuple[type[Account], str, str, dict[str, str], tuple[dict[str, str], ...]], ...] = (
    (
        Google,
        "gcp:container/cluster:Cluster",
        "resourceLabels",
        {"cost-center": "a_1"},
        ({"CostCenter": "a"}, {"cost-center": "A"}, {f"k{index}": "" for index in range(65)}),
    ),
    (
        Amazon,
        "aws:ec2/vpc:Vpc",
        "tags",
        {"CostCenter": "a/b c"},
        ({"aws:x": "a"}, {"x?": "a"}, {"k" * 129: ""}, {"k": "v" * 257}, {f"k{index}": "" for index in range(51)}),
    ),
    (
        Microsoft,
        "azure-native:resources:ResourceGroup",
        "tags",
        {"Cost Center": "a/b?"},
        ({"cost/center": "a"}, {"Azure-x": "a"}, {"Team": "a", "team": "b"}, {f"k{index}": "" for index in range(51)}),
    ),
)
each_cloud = pytest.mark.parametrize(
    ("cloud", "type", "key", "good", "bad"), KINDS, ids=[cloud.__name__ for cloud, *_ in KINDS]
)


@each_cloud
def test_tags_are_taken_or_refused_as_the_cloud_writes_them(
    cloud: type[Account], type: str, key: str, good: dict[str, str], bad: tuple[dict[str, str], ...], tmp_path: Path
) -> None:
    step = next(step for step in cloud.steps() if step.type == type)
    case = before(cloud, step, tmp_path)
    inputs: Properties = {**step.inputs, key: good}
    try:
        assert case.account.preview(type, inputs)[key] == good
        for tags in bad:
            with pytest.raises(ProviderError):
                case.account.preview(type, {**inputs, key: tags})
    finally:
        case.account.stop()
