"""Tags reach every resource that can carry them, in the cloud's own grammar; what is none of it is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import schemas
from facts import catalog
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, problems
from tests.recorder import Recording, Registration, remembered
from tests.stacks import run_with

TAGS = {"CostCenter": "4711", "Owner": "ml"}
TAGGED = ("eks", "aks")
STACKS = ("one-eks-karpenter", "one-eks-options", "one-aks-options")


@remembered
def program(variant: str) -> Recording:
    changes = {"workloads": {"registry": {}, "checkpoints": {}}, "tags": TAGS, **one_stack.VARIANTS[variant]}
    return run_with(one_stack.config(**changes), variant)


def carriers(recording: Recording, cloud: str) -> Iterator[tuple[Registration, Mapping[str, str]]]:
    """Every resource of the cloud that takes tags, and those that it has."""
    known = schemas.schema(cloud)
    for resource in recording.resources:
        if resource.type in known.resources and "tags" in known.inputs(resource.type).properties:
            yield resource, resource.inputs.get("tags") or {}


@pytest.mark.parametrize("variant", STACKS)
def test_whatever_can_carry_tags_has_the_stacks(variant: str) -> None:
    cloud = one_stack.VARIANTS[variant]["cloud"]
    tagged = list(carriers(program(variant), cloud))
    assert len(tagged) > 5
    assert [one.name for one, tags in tagged if not {**TAGS, "team": "ml"}.items() <= dict(tags).items()] == []


def test_machines_and_their_disks_have_them() -> None:
    templates = program("one-eks-options").of_type("aws:ec2/launchTemplate:LaunchTemplate")
    for template in templates:
        tagged = {each["resourceType"]: each["tags"] for each in template.inputs["tagSpecifications"]}
        assert tagged.keys() == {"instance", "volume", "network-interface"}
        assert all(TAGS.items() <= tags.items() for tags in tagged.values())
    classes = program("one-eks-karpenter").of_type("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    assert classes
    assert all(TAGS.items() <= one.inputs["spec"]["tags"].items() for one in classes)
    cluster = program("one-aks-options").only("azure-native:containerservice:ManagedCluster")
    [profile] = cluster.inputs["agentPoolProfiles"]
    assert TAGS.items() <= profile["tags"].items()


@pytest.mark.parametrize("tags", [{}, TAGS])
def test_volumes_of_claims_have_them_where_the_driver_puts_them_there(tags: dict[str, str]) -> None:
    recording = run_with(one_stack.config("eks", tags=tags), "one-eks")
    driver = recording.called("aws:eks/addon:Addon", "aws-ebs-csi-driver").inputs
    controller = json.loads(driver["configurationValues"])["controller"]
    assert controller.get("extraVolumeTags", {}) == ({**tags, "team": "ml"} if tags else {})


@pytest.mark.parametrize("cloud", TAGGED)
@pytest.mark.parametrize(
    ("tags", "phrase"),
    [
        ({"a?b": "x"}, "is not a tag's key"),
        ({"": "x"}, "is not a tag's key"),
        ({"k" * 129: "x"}, "is not a tag's key"),
        ({"Team": "x"}, "is written twice"),
        ({"A": "x", "a": "y"}, "is written twice"),
        ({"long": "v" * 257}, "is not a valid value of"),
        ({f"k{index}": "" for index in range(40)}, "a resource may have 40"),
    ],
)
def test_what_the_cloud_would_not_take_is_refused(cloud: str, tags: dict[str, str], phrase: str) -> None:
    refused = problems(cloud, tags=tags)
    assert refused.keys() == {"tags"}
    assert phrase in refused["tags"]


@pytest.mark.parametrize(
    ("cloud", "key"), [("eks", "aws:x"), ("eks", "Name"), ("eks", "kubernetes.io/cluster"), ("aks", "azure-x")]
)
def test_what_is_the_clouds_or_the_programs_own_is_refused(cloud: str, key: str) -> None:
    assert f"'{key}' " in problems(cloud, tags={key: "x"})["tags"]
    assert load_stack(cloud, tags={f"x-{key.replace('/', '-')}": "x"}).labels["team"] == "ml"


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_the_edge_is_what_the_catalogue_says(cloud: str) -> None:
    grammar = catalog.of(cloud).labels.tags
    tags = {f"Key {index}": "" for index in range(39)}  # and the stack's label
    if grammar is None:
        assert "write labels: {key-0: …" in problems(cloud, tags=tags)["tags"]
    else:
        assert len(load_stack(cloud, tags=tags).labels) == grammar.most


def test_a_number_is_no_text() -> None:
    refused: Mapping[str, Any] = problems("aks", tags={"CostCenter": 4711})
    assert refused.keys() == {"tags.CostCenter"}
