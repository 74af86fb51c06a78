"""The component package: its schema is that of a stack file, and it declares what the program declares."""

from __future__ import annotations

import contextvars
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pulumi
import pytest
from pulumi.errors import InputPropertiesError
from pulumi.runtime import settings as runtime

from components.gpu_cluster import GpuCluster, GpuClusterArgs
from components.gpu_pools import GpuPools, GpuPoolsArgs
from components.package.provider import PackageProvider, settings_of
from components.package.schema import package_schema
from components.settings import SettingsError
from tests import one_stack, recorder, research_lab
from tests.api_server import ApiServer
from tests.other_user import UID, OtherUser
from tests.provider_calls import refusals
from tests.recorder import Recording
from tests.stacks import ROOT, run_program, run_with

SCHEMA = package_schema()
GPU_CLUSTER = SCHEMA["resources"]["gpucluster:index:GpuCluster"]
GPU_POOLS = SCHEMA["resources"]["gpucluster:index:GpuPools"]
GKE_ACCOUNT = {"gcp:project": "my-project"}


def keys(cloud: str, **changes: Any) -> dict[str, Any]:
    """The keys of the one stack, as the engine sends them: every number is a floating-point number."""
    config = one_stack.config(cloud, **changes)
    own = {key.removeprefix("gpucluster:"): value for key, value in config.items() if key.startswith("gpucluster:")}
    return json.loads(json.dumps(own), parse_int=float)


def run_component(cloud: str, **changes: Any) -> Recording:
    """What the component registers in a stack whose configuration has the account alone."""
    account = {key: value for key, value in one_stack.config(cloud).items() if not key.startswith("gpucluster:")}

    def program() -> None:
        GpuCluster("gpus", GpuClusterArgs(settings=settings_of(keys(cloud, **changes))))

    return recorder.run(program, stack="one", config=account)


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_the_component_declares_what_the_program_declares_with_itself_as_the_parent(cloud: str) -> None:
    program, component = run_with(one_stack.config(cloud), "one"), run_component(cloud)
    (top, *others) = component.resources
    assert (top.type, top.name) == ("gpucluster:index:GpuCluster", "gpus")
    inputs = {(each.type, each.name): each.inputs for each in program.resources}
    assert {(each.type, each.name): each.inputs for each in others} == inputs
    outermost = {each.name for each in program.resources if "::pulumi:pulumi:Stack::" in each.parent}
    assert {each.name for each in others if each.parent == top.urn} >= {"cluster", "admin", "autoscaler"}
    assert {each.name for each in others if each.parent == top.urn} == outermost
    assert component.outputs[top.urn].keys() == program.stack_outputs.keys()


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_deletion_protection_protects_the_component(cloud: str) -> None:
    security = {"deletionProtection": True}
    assert run_component(cloud, security=security).resources[0].protect
    assert not run_component(cloud, security={"deletionProtection": False}).resources[0].protect


def test_the_problems_of_a_stack_file_are_reported_in_the_same_words() -> None:
    wrong = {"region": "nowhere", "gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "minNodes": 1, "maxNode": 4}]}
    with pytest.raises(Exception, match="3 problems") as program:
        run_with(one_stack.config("gke", **wrong), "one")
    with pytest.raises(SettingsError) as component:
        run_component("gke", **wrong)
    assert str(component.value) in str(program.value)
    assert "gpuPools[0].minNodes" in str(component.value)


def test_a_value_that_a_preview_does_not_know_is_refused_with_its_path() -> None:
    def program() -> None:
        inputs = keys("gke")
        inputs["gpuPools"][0]["maxNodes"] = pulumi.Output.from_input(4)
        settings_of(inputs)

    with pytest.raises(SettingsError, match=r"gpuPools\[0\]\.maxNodes: is an output"):
        recorder.run(program, stack="one", config={"gcp:project": "my-gcp-project"})


def test_a_second_cluster_of_a_stack_is_refused_by_name() -> None:
    def program() -> None:
        provider = PackageProvider()
        provider.construct("one", "gpucluster:index:GpuCluster", keys("gke"))
        provider.construct("two", "gpucluster:index:GpuCluster", keys("gke"))

    with pytest.raises(InputPropertiesError) as refused:
        recorder.run(program, stack="one", config={"gcp:project": "my-gcp-project"})
    assert refused.value.message == "A stack has one GpuCluster, this one has one, two. Write a stack for each."


def pools_keys(**changes: Any) -> dict[str, Any]:
    """The keys of pools on a GKE cluster of others."""
    t4 = {"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}
    place = {"cloud": "gke", "region": "us-central1", "zones": ["us-central1-a"]}
    return {**place, "existingCluster": {"name": "research"}, "gpuPools": [t4], **changes}


def with_outputs(keys: dict[str, Any]) -> dict[str, Any]:
    """What may be an output of another resource is one."""
    existing = {key: pulumi.Output.from_input(value) for key, value in keys["existingCluster"].items()}
    return {**keys, "existingCluster": existing}


def construct(provider: PackageProvider, name: str, keys: dict[str, Any]) -> None:
    """As the engine calls the package: every number is a floating-point number, and for each component it has a
    connection of its own."""
    plain = {key: value for key, value in keys.items() if key != "existingCluster"}
    sent = {**keys, **json.loads(json.dumps(plain), parse_int=float)}

    def call() -> None:
        setattr(runtime.SETTINGS, "monitor", Connection(runtime.get_monitor()))  # noqa: B010 - typed as a decorator
        provider.construct(name, "gpucluster:index:GpuPools", sent)

    contextvars.copy_context().run(call)


class Connection:
    """Another connection to the same engine."""

    def __init__(self, monitor: Any) -> None:
        self.monitor = monitor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.monitor, name)


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """The API server of the cluster of others."""
    api = ApiServer()
    with mock.patch("components.cluster_reader.ClusterReader", api.reader):
        yield api


def test_pools_on_a_cluster_whose_name_is_an_output_are_those_of_a_program_in_python(server: ApiServer) -> None:
    def package() -> None:
        construct(PackageProvider(), "gpu", with_outputs(pools_keys()))

    def program() -> None:
        GpuPools("gpu", GpuPoolsArgs.of(pools_keys()))

    ours, theirs = (run_with(GKE_ACCOUNT, "ml", each) for each in (package, program))
    assert ours.only("gcp:container/nodePool:NodePool").inputs["autoscaling"]["totalMaxNodeCount"] == 2
    assert [(each.type, each.name, each.parent, each.inputs) for each in ours.resources] == [
        (each.type, each.name, each.parent, each.inputs) for each in theirs.resources
    ]
    (made,) = ours.of_type("gpucluster:index:GpuPools")
    assert ours.outputs[made.urn].keys() == set(GPU_POOLS["properties"]) == set(GPU_POOLS["required"])


def test_two_of_a_program_on_one_cluster_are_refused_by_name(server: ApiServer) -> None:
    def program() -> None:
        provider = PackageProvider()
        construct(provider, "one", pools_keys())
        construct(provider, "two", pools_keys())

    with pytest.raises(pulumi.RunError, match=r"'research' has the pools of GpuPools '(one|two)' of this program"):
        run_with(GKE_ACCOUNT, "ml", program)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"existingCluster": None}, "existingCluster: missing"),
        ({"access": [{"who": "group:a@example.com", "role": "viewer"}]}, "access: belongs to the cluster"),
        ({"cloud": "kubeadm"}, "existingCluster"),
        ({"gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "minNodes": 1}]}, "gpuPools[0].maxNodes: missing"),
    ],
)
def test_problems_of_pools_are_those_of_a_stack_file(server: ApiServer, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputPropertiesError) as refused:
        recorder.run(lambda: construct(PackageProvider(), "gpu", pools_keys(**changes)), stack="ml", config=GKE_ACCOUNT)
    assert says in refused.value.message


def test_a_cluster_of_others_in_gpu_cluster_is_refused_with_the_component_to_write() -> None:
    def program() -> None:
        PackageProvider().construct("one", "gpucluster:index:GpuCluster", pools_keys())

    with pytest.raises(InputPropertiesError, match="Declare GpuPools"):
        recorder.run(program, stack="ml", config=GKE_ACCOUNT)


def test_the_inputs_of_pools_are_the_keys_that_a_file_with_a_cluster_of_others_may_have() -> None:
    assert [*GPU_POOLS["inputProperties"]] == [
        "cloud",
        "region",
        "zones",
        "existingCluster",
        "security",
        "autoscaling",
        "gpuPools",
        "budget",
        "labels",
        "tags",
    ]
    assert GPU_CLUSTER["inputProperties"].keys() >= {*GPU_POOLS["inputProperties"]} - {"existingCluster"}
    assert "existingCluster" not in GPU_CLUSTER["inputProperties"]


@pytest.mark.parametrize("cloud", ["kubeadm", "existing"])
def test_machines_that_you_have_need_the_program_itself(cloud: str) -> None:
    with pytest.raises(SettingsError, match="cloud: only the program itself"):
        settings_of({"cloud": cloud})


def test_every_input_has_a_description_and_is_known_before_the_program_runs() -> None:
    pools = SCHEMA["types"]["gpucluster:index:GpuPool"]["properties"]
    assert {"name", "gpu", "gpusPerNode", "capacity", "minNodes", "maxNodes"} <= pools.keys()
    sections = {name: each["inputProperties"] for name, each in SCHEMA["resources"].items()}
    sections |= {name: each["properties"] for name, each in SCHEMA["types"].items()}
    keys = {(name.rpartition(":")[2], key): each for name, section in sections.items() for key, each in section.items()}
    assert all(each["description"] for each in keys.values())
    assert {path for path, each in keys.items() if not each.get("plain")} == {
        ("GpuPools", "existingCluster"),
        *(("ExistingCluster", key) for key in ("name", "nodeClass", "nodeIdentity", "resourceGroup")),
    }


def test_a_list_may_be_written_as_its_only_item() -> None:
    sizes = SCHEMA["types"]["gpucluster:index:GpuPool"]["properties"]["gpusPerNode"]["oneOf"]
    assert [each["type"] for each in sizes] == ["integer", "array"]


def test_every_type_that_the_schema_refers_to_is_in_it() -> None:
    named = {ref.removeprefix("#/types/") for ref in _references(SCHEMA) if ref.startswith("#")}
    assert "gpucluster:index:GpuPool" in named
    assert named == SCHEMA["types"].keys()


@pytest.mark.parametrize("cloud", research_lab.CLOUDS)
def test_every_output_of_a_stack_with_all_tools_is_an_output_of_the_component(cloud: str) -> None:
    outputs = run_program(research_lab.file(cloud)).stack_outputs
    assert {"notebook", "queue"} <= outputs.keys()
    assert outputs.keys() <= GPU_CLUSTER["properties"].keys()
    assert outputs.keys() >= set(GPU_CLUSTER["required"])
    assert GPU_CLUSTER["properties"]["kubeconfig"]["secret"]


def test_no_call_of_another_user_is_answered() -> None:
    command = [sys.executable, ROOT / "components" / "package", "127.0.0.1:1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as plugin, OtherUser() as user:
        assert plugin.stdout is not None
        answers = refusals(user, int(plugin.stdout.readline()))
        plugin.terminate()
    assert answers == dict.fromkeys(
        answers, f"user {UID} may not call this server: it answers user {os.geteuid()} alone"
    )
    assert {"Construct", "GetSchema", "Call", "Handshake"} <= {*answers}


def test_the_repository_has_no_symbolic_links_which_pulumi_package_add_refuses() -> None:
    listed = subprocess.run(["git", "ls-files", "--stage"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "components/package/PulumiPlugin.yaml" in listed.stdout
    assert [line for line in listed.stdout.splitlines() if line.startswith("120000")] == []


def _references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        yield from (value for key, value in part.items() if key == "$ref")
        for value in part.values():
            yield from _references(value)
    elif isinstance(part, list):
        for value in part:
            yield from _references(value)
