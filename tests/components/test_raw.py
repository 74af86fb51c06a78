"""What has no setting is handed to the provider as it is: typed, beside what the program says, and nothing of that."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pulumi
import pytest

import schemas
from components.clouds.raw import beside
from facts import catalog
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, problems, t4
from tests.recorder import Recording, remembered
from tests.stacks import run_program, run_with

GROUPS = {"autoscaler": "cluster-autoscaler"}
OF_CLUSTER = {
    "gke": {"addonsConfig": {"gcsFuseCsiDriverConfig": {"enabled": True}}},
    "eks": {"zonalShiftConfig": {"enabled": True}},
    "aks": {"storageProfile": {"blobCSIDriver": {"enabled": True}}},
}
OF_POOL = {
    "gke": {"nodeConfig": {"kubeletConfig": {"cpuManagerPolicy": "static"}}},
    "eks": {"nodeRepairConfig": {"enabled": True}},
    "aks": {"kubeletConfig": {"cpuManagerPolicy": "static"}},
}
WRONG = {
    "gke": ({"nodeConfig": {"kubletConfig": {}}}, {"nodeConfig": {"fastSocket": True}}),
    "eks": ({"nodeRepair": {}}, {"nodeRepairConfig": True}),
    "aks": ({"kubletConfig": {}}, {"kubeletConfig": {"cpuManagerPolicy": 1}}),
}
each_cloud = pytest.mark.parametrize("cloud", one_stack.CLOUDS)


def changes(cloud: str, **more: Any) -> dict[str, Any]:
    return {**({"autoscaling": GROUPS} if cloud == "eks" else {}), **more}


def pool(raw: Mapping[str, Any]) -> list[dict[str, Any]]:
    return t4(raw=dict(raw), gpusPerNode=4)


@remembered
def program(cloud: str) -> Recording:
    config = changes(cloud, raw=OF_CLUSTER[cloud], gpuPools=pool(OF_POOL[cloud]), cpuPools=[])
    return run_with(one_stack.config(cloud, **config), f"one-{cloud}")


def leaves(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, each in value.items():
        if isinstance(each, Mapping):
            yield from leaves(each, f"{before}{key}.")
        else:
            yield f"{before}{key}", each


@each_cloud
def test_it_stands_beside_what_the_program_says(cloud: str) -> None:
    known, recording = catalog.of(cloud).choices.raw, program(cloud)
    cluster = dict(leaves(recording.only(known.cluster.token).inputs))
    pools = [dict(leaves(one.inputs)) for one in recording.of_type(known.pool.token) if one.name.startswith("t4")]
    assert dict(leaves(OF_CLUSTER[cloud])).items() <= cluster.items()
    assert pools
    assert all(dict(leaves(OF_POOL[cloud])).items() <= one.items() for one in pools)
    output = recording.stack_outputs["raw"]
    assert output["cluster"] == OF_CLUSTER[cloud]
    assert OF_POOL[cloud] in output["pools"].values()


@each_cloud
def test_without_it_nobody_is_told_of_any(cloud: str) -> None:
    assert "raw" not in run_program(one_stack.file(cloud)).stack_outputs


@each_cloud
def test_every_input_that_is_kept_back_is_one_of_the_provider(cloud: str) -> None:
    known, provider_schema = catalog.of(cloud).choices.raw, schemas.schema(cloud)
    for one in (known.cluster, known.pool):
        assert [path for path in one.owned if provider_schema.find(one.token, path) is None] == []


@each_cloud
def test_nothing_that_the_program_sets_can_be_set_again(cloud: str) -> None:
    """At construction where the catalogue lists it, else when the program runs."""
    known = catalog.of(cloud).choices.raw
    recording = run_program(one_stack.file(cloud))
    for one in (known.cluster, known.pool):
        resource = next((each for each in recording.of_type(one.token)), None)
        for path, value in leaves(resource.inputs if resource else {}):
            nested: Any = value
            for key in reversed(path.split(".")):
                nested = {key: nested}
            if one.owner(path) is None and value is not None:
                assert resource is not None
                with pytest.raises(pulumi.RunError, match="the program sets this input"):
                    beside(resource.inputs, nested, "raw")


@each_cloud
@pytest.mark.parametrize("which", [0, 1])
def test_what_is_no_input_of_the_provider_is_refused_where_it_stands(cloud: str, which: int) -> None:
    refused = problems(cloud, **changes(cloud, gpuPools=pool(WRONG[cloud][which])))
    assert len(refused) == 1
    assert next(iter(refused)).startswith("gpuPools[0].raw.")


@each_cloud
def test_what_decides_size_and_price_is_refused_with_its_setting(cloud: str) -> None:
    known, provider_schema = catalog.of(cloud).choices.raw.pool, schemas.schema(cloud)
    for path, remedy in known.owned.items():
        declared = provider_schema.find(known.token, path)
        assert declared is not None
        assert known.owner(f"{path}.below") == known.owner(path) == remedy
        assert known.owner(f"{path}Else") is None
    examples = {"gke": {"autoscaling": {"totalMinNodeCount": 1}}, "eks": {"scalingConfig": {}}, "aks": {"minCount": 1}}
    refused = problems(cloud, **changes(cloud, gpuPools=pool(examples[cloud])))
    assert any("Write maxNodes and minNodes" in each for each in refused.values())


def test_with_karpenter_a_pool_has_the_fields_of_its_node_class() -> None:
    karpenter = {"autoscaling": {"autoscaler": "karpenter"}, "raw": OF_CLUSTER["eks"]}
    refused = problems("eks", **karpenter, gpuPools=pool(OF_POOL["eks"]))
    assert "EC2NodeClass has no field 'nodeRepairConfig'" in refused["gpuPools[0].raw.nodeRepairConfig"]
    refused = problems("eks", **karpenter, gpuPools=pool({"metadataOptions": {"httpPutResponseHopLimit": 2}}))
    assert "a pod must not get the permissions of its node" in refused["gpuPools[0].raw.metadataOptions"]
    settings = load_stack("eks", **karpenter, gpuPools=pool({"userData": "echo"}))
    assert settings.raw == OF_CLUSTER["eks"]
    assert settings.gpu_pools[0].raw == {"userData": "echo"}
