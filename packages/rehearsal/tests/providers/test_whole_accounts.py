"""A whole account of every simulated cloud: in which order it goes, what failed half-way, and its tags."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.driver import Account, Step
from packages.rehearsal.tests.providers.test_contract import CLOUDS, ROWS, before
from packages.rehearsal.tests.tables import beside
from rehearsal.providers.base import Created, Properties, ProviderError
from rehearsal.simulation import SimulatedNodeGroup
from tests.components.specs import changed

TABLE = beside(__file__)
FAILS: dict[str, list[str]] = TABLE["fails"]


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_whole_account_comes_and_goes_and_what_is_in_use_stays(cloud: type[Account], tmp_path: Path) -> None:
    account = cloud(tmp_path)
    for step in account.steps():
        account.create(step.type, step.inputs)
    assert len(account.fleet.clusters) == 1
    assert account.fleet.groups
    for token, message in TABLE["in_use"][cloud.provider_type.cloud_name].items():
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
    offered = import_module(f"rehearsal.providers.{cloud}.rules").KUBERNETES
    assert f"k8s.io/kubernetes v{offered}" in module.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("cloud", "step", "call"),
    [(cloud, step, call) for cloud, step in ROWS for call in FAILS.get(step.type, ())],
    ids=[f"{step.type}-{call}" for _, step in ROWS for call in FAILS.get(step.type, ())],
)
def test_what_fails_half_way_is_resumed(cloud: type[Account], step: Step, call: str, tmp_path: Path) -> None:
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
    return {name: changed(group, labels={}) for name, group in account.fleet.groups.items()}


@pytest.mark.parametrize("cloud", CLOUDS)
def test_tags_are_taken_or_refused_as_the_cloud_writes_them(cloud: type[Account], tmp_path: Path) -> None:
    table = TABLE["tags"][cloud.provider_type.cloud_name]
    type, key, (longest, longest_value) = table["type"], table["key"], table["longest"]
    case = before(cloud, next(step for step in cloud.steps() if step.type == type), tmp_path)
    inputs: Properties = {**case.step.inputs, key: table["good"]}
    too_many = {f"k{index}": "" for index in range(table["most"] + 1)}
    too_long = ({"k" * (longest + 1): ""}, {"k": "v" * (longest_value + 1)})
    try:
        assert case.account.preview(type, inputs)[key] == table["good"]
        for tags in (*table["bad"], *too_long, too_many):
            with pytest.raises(ProviderError):
                case.account.preview(type, {**inputs, key: tags})
    finally:
        case.account.stop()
