"""The generated ``TypedDict``s: what a type checker lets pass and what not; it is the checker that runs these tests.

Every ``pyright: ignore`` below is a test: the checks fail for one that is not needed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pulumi
import pytest

from components.resources import CustomResource
from schemas.stubs import stub
from schemas.used import USED

if TYPE_CHECKING:
    from schemas import aks, eks, gke


def node_pool(account: pulumi.Output[str], labels: dict[str, str]) -> gke.NodePool:
    return {
        "cluster": "c",
        "nodeConfig": {
            "machineType": "n1-standard-4",
            "serviceAccount": account,
            "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
            "labels": labels,
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        },
    }


def with_more(common: gke.NodePool) -> gke.NodePool:
    return {**common, "nodeCount": 1}


def agent_pool(subnet: pulumi.Output[str]) -> aks.AgentPool:
    return {"resourceGroupName": "g", "resourceName": "c", "vnetSubnetID": subnet, "availabilityZones": ["1", "2"]}


def node_group(role: pulumi.Output[str]) -> eks.NodeGroup:
    scaling: eks.NodeGroupScalingConfig = {"desiredSize": 0, "minSize": 0, "maxSize": 4}
    return {"clusterName": "c", "nodeRoleArn": role, "subnetIds": ["s"], "scalingConfig": scaling}


def misspelt() -> gke.NodePool:
    return {"cluster": "c", "nodeCounts": 1}  # pyright: ignore[reportReturnType]


def misspelt_within() -> gke.NodePool:
    return {"cluster": "c", "nodeConfig": {"machinType": "e2"}}  # pyright: ignore[reportReturnType]


def of_another_type() -> gke.NodePool:
    return {"cluster": "c", "initialNodeCount": "0"}  # pyright: ignore[reportReturnType]


def one_instead_of_a_list() -> aks.AgentPool:
    return {"resourceGroupName": "g", "resourceName": "c", "nodeTaints": 1}  # pyright: ignore[reportReturnType]


def without_what_is_required() -> eks.NodeGroup:
    return {"clusterName": "c"}  # pyright: ignore[reportReturnType]


def declared(declare: eks.Declare, opts: pulumi.ResourceOptions) -> object:
    return declare("aws:sqs/queue:Queue", "q", {"name": "q"}, opts, outputs=["arn"])


def declared_misspelt(declare: eks.Declare, opts: pulumi.ResourceOptions) -> object:
    return declare("aws:sqs/queue:Queue", "q", {"nam": "q"}, opts)  # pyright: ignore[reportCallIssue, reportArgumentType]


def declared_with_anothers_inputs(declare: eks.Declare, opts: pulumi.ResourceOptions) -> object:
    alias: eks.Alias = {"targetKeyId": "k"}
    return declare("aws:sqs/queue:Queue", "q", alias, opts)  # pyright: ignore[reportCallIssue, reportArgumentType]


def declared_without_a_schema(declare: eks.Declare, opts: pulumi.ResourceOptions) -> object:
    return declare("aws:sqs/queues:Queues", "q", {}, opts)  # pyright: ignore[reportCallIssue, reportArgumentType]


def declared_with_no_such_output(declare: eks.Declare, opts: pulumi.ResourceOptions) -> object:
    return declare("aws:sqs/queue:Queue", "q", {}, opts, outputs=["arm"])  # pyright: ignore[reportCallIssue, reportArgumentType]


def of_a_declared(queue: CustomResource[eks.QueueOutputs]) -> pulumi.Output[str]:
    return queue.outputs["arn"]


def of_a_declared_misspelt(queue: CustomResource[eks.QueueOutputs]) -> object:
    return queue.outputs["arm"]  # pyright: ignore[reportGeneralTypeIssues]


def of_a_declared_of_another_type(queue: CustomResource[eks.QueueOutputs]) -> pulumi.Output[int]:
    return queue.outputs["arn"]  # pyright: ignore[reportReturnType]


def declared_past_its_cloud(resource: type[CustomResource], opts: pulumi.ResourceOptions) -> object:
    return resource("aws:sqs/queue:Queue", "q", {"nam": "q"}, opts)  # pyright: ignore[reportArgumentType]


def test_what_passes_is_what_is_sent() -> None:
    nothing = cast("pulumi.Output[str]", "x")
    sent = with_more(node_pool(nothing, {"team": "vision"}))
    assert sent.get("nodeCount") == 1
    assert agent_pool(nothing).get("vnetSubnetID") is node_group(nothing)["nodeRoleArn"]


@pytest.mark.parametrize(
    "wrong", [misspelt, misspelt_within, of_another_type, one_instead_of_a_list, without_what_is_required]
)
def test_only_the_type_checker_minds(wrong: Callable[[], object]) -> None:
    assert type(wrong()) is dict


@pytest.mark.parametrize(
    "wrong",
    [
        declared,
        declared_misspelt,
        declared_with_anothers_inputs,
        declared_without_a_schema,
        declared_with_no_such_output,
        declared_past_its_cloud,
    ],
)
def test_only_the_type_checker_minds_what_is_declared(wrong: Callable[..., str]) -> None:
    opts = pulumi.ResourceOptions()
    assert wrong(lambda token, *_, **__: token, opts).startswith("aws:sqs/")


@pytest.mark.parametrize("read", [of_a_declared, of_a_declared_misspelt, of_a_declared_of_another_type])
def test_only_the_type_checker_minds_what_is_read(read: Callable[..., object]) -> None:
    assert read(SimpleNamespace(outputs={"arn": "a", "arm": "a"})) == "a"


@pytest.mark.parametrize("cloud", USED)
def test_there_is_nothing_of_them_at_run_time(cloud: str) -> None:
    assert find_spec(f"schemas.{cloud}") is None


def test_a_block_of_a_resources_name_gets_another() -> None:
    objects = {
        "Subnet": {"properties": {"id": {"type": "string"}}},
        "SubnetInit": {"properties": {"parts": {"type": "list", "items": {"type": "object", "object": "Subnet"}}}},
        "Rule.allowed": {"properties": {}},
    }
    subnet = {"object": "SubnetInit", "outputs": {"id": "string", "tags": "map"}}
    text = stub("aks", {"resources": {"a:b:Subnet": subnet}, "objects": objects})
    assert "class Subnet(TypedDict, total=False):\n    parts: Input[Sequence[Input[InlineSubnet]]]\n" in text
    assert "class InlineSubnet(TypedDict, total=False):\n    id: Input[str]\n" in text
    assert 'token: Literal["a:b:Subnet"],\n        name: str,\n        inputs: Subnet,\n' in text
    assert 'outputs: Sequence[Literal["id", "tags"]] = ...,\n    ) -> CustomResource[SubnetOutputs]: ...' in text
    kinds = ("id: Output[str]", "parts: Output[Sequence[Any]]", "tags: Output[Mapping[str, Any]]")
    assert "class SubnetOutputs(TypedDict):\n" + "".join(f"    {each}\n" for each in kinds) in text
    assert "class RuleAllowed(TypedDict, total=False):\n    pass\n" in text


def test_an_object_of_the_protocols_name_stops_the_generator() -> None:
    with pytest.raises(ValueError, match="Declare"):
        stub("eks", {"resources": {}, "objects": {"Declare": {"properties": {}}}})


@pytest.mark.parametrize("key", ["from-here", "1st"])
def test_a_key_that_is_no_name_stops_the_generator(key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} cannot be the name"):
        stub("eks", {"resources": {}, "objects": {"A": {"properties": {key: {"type": "string"}}}}})


def test_a_key_that_is_a_word_of_python_s_is_written_as_text() -> None:
    text = stub("eks", {"resources": {}, "objects": {"A": {"properties": {"from": {"type": "string"}}}}})
    assert 'A = TypedDict("A", {"from": Input[str]}, total=False)' in text
    compile(text, "stub", "exec")
