"""What waits for what: all that has to, and nothing twice.

When it refuses to destroy a protected stack, the engine walks every path through what a resource depends on, and those
of what that depends on (``markAsDependency`` in
https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/graph/dependency_graph.go, the same in 3.200): it does not
remember where it was. A dependency that another one implies doubles the paths of all that come after it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.settings import Settings, from_stack_file
from facts.catalog.aks.naming import pool_name
from tests import aks_answers, eks_answers, one_stack
from tests.program import FILES, each_stack
from tests.recorder import Recording, Registration
from tests.stacks import run_program, run_with, stack_name

# About a microsecond each: some hundredths of a second for each resource. Pools beside each other do not add to each
# other's paths; of those in a row (AKS) each has as many more.
_PATHS_PER_RESOURCE: Final = 50_000

LADDERS: Final = ("one-eks-ladder", "one-aks-ladder")


def paths(resources: Collection[Registration]) -> dict[str, int]:
    """URN → how many resources the engine looks at for it, each as often as there is a path to it."""
    by_urn = {resource.urn: resource for resource in resources}

    @cache
    def of(urn: str) -> int:
        return 1 + sum(of(other) for other in by_urn[urn].dependencies if other in by_urn)

    return {urn: of(urn) for urn in by_urn}


def said_twice(recording: Recording) -> list[tuple[str, str]]:
    """Cloud's resources with what they wait for (``dependsOn``) though something else that they depend on does."""
    before = {resource.urn: recording.before(resource) for resource in recording.resources}
    repeated = []
    for resource in recording.resources:
        for_a_value = {urn for urns in resource.property_dependencies.values() for urn in urns}
        named = set(resource.dependencies)
        for urn in set(resource.depends_on) - for_a_value:
            others = named - {urn}
            if not resource.type.startswith("kubernetes:") and any(urn in before.get(other, ()) for other in others):
                repeated.append((resource.name, urn.rpartition("::")[2]))
    return repeated


@each_stack
def test_refusing_a_destroy_takes_time_in_proportion_to_the_resources(file: Path) -> None:
    resources = run_program(file).resources
    assert sum(paths(resources).values()) <= _PATHS_PER_RESOURCE * len(resources)


def test_paths_that_double_with_each_resource_are_noticed() -> None:
    chain = _chain(20)
    assert paths(chain)[chain[-1].urn] > _PATHS_PER_RESOURCE * len(chain)


# Cloud → what waits → what is there before it and goes after it. Each is a type, and a pattern of its name.
_FIRST: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    "eks": {
        "NatGateway": ("InternetGateway",),
        "Cluster": (
            "Route",
            "RouteTableAssociation",
            "VpcEndpoint",
            "LogGroup",
            "RolePolicyAttachment control-plane-role",
            "RolePolicy secrets-key-use",
        ),
        "Addon -(vpc-cni|kube-proxy)$": ("Addon eks-pod-identity-agent$",),
        "Addon vpc-cni$": ("RolePolicyAttachment vpc-cni-role",),
        "Addon ebs-csi-driver$": ("RolePolicyAttachment ebs-csi-driver-role",),
        "Addon efs-csi-driver$": ("RolePolicyAttachment efs-csi-driver-role",),
        "Addon fsx-csi-driver$": ("RolePolicyAttachment fsx-csi-driver-role",),
        "Addon cloudwatch-observability$": ("RolePolicyAttachment cloudwatch-observability-role",),
        # Their pods need a node.
        "Addon -(coredns|csi-driver|cloudwatch-observability)$": ("NodeGroup ^admin-pool$",),
        "NodeGroup": (
            "RolePolicyAttachment ^cluster-node-role",
            "Addon ^cluster-",
            "PodIdentityAssociation efs-mounts$",
            "Grant",
            "LaunchTemplate ^admin-",
        ),
        "NodeGroup (?<!^admin)-pool$": (
            "NodeGroup ^admin-pool$",
            "Addon",
            "PodIdentityAssociation ^admin-pool-load-balancer$",
        ),
        # A pod that is made before they take effect never gets its rights: EKS sets variables as it admits a pod.
        "Release ^autoscaler-": ("PodIdentityAssociation ^autoscaler-",),
        "Release ^autoscaler-release$": (
            "NodeGroup ^admin-pool$",
            "AccessEntry ^autoscaler-",
            "QueuePolicy",
            "Release ^autoscaler-definitions$",
        ),
        "NodePool": (
            "NodeGroup",
            "Addon",
            "Release ^autoscaler-",
            "PodIdentityAssociation ^autoscaler-",
            "EventTarget",
            "AccessEntry ^autoscaler-",
        ),
        "Deployment ^autoscaler-": (
            "NodeGroup ^admin-",
            "Tag ^admin-",
            "StorageClass ^admin-",
            "PodIdentityAssociation ^autoscaler-",
            "RolePolicy ^autoscaler-",
        ),
        # S3 refuses concurrent changes of a bucket.
        "BucketPolicy": ("BucketPublicAccessBlock",),
        "BucketVersioning": ("BucketPolicy",),
        "BucketLifecycleConfiguration": ("BucketVersioning",),
    },
    "gke": {
        "Cluster": (
            "RouterNat",
            "IAMMember ^cluster-node",
        ),
        "NodePool (?<!^admin)-pool$": (
            "NodePool ^admin-pool$",
            "IAMMember ^cluster-node",
        ),
    },
    "aks": {
        "AgentPool": ("MaintenanceConfiguration",),
        "ManagedCluster": ("RoleAssignment ^cluster-(?!.*log-in$)",),
        "PrivateEndpoint": ("AgentPool",),
    },
}


@each_stack
def test_what_others_need_is_there_before_them_and_goes_after_them(file: Path) -> None:
    recording = run_program(file)
    for waiting, needed in _FIRST[from_stack_file(file).cloud].items():
        first = {other.urn for each in needed for other in _those(recording.resources, each)}
        for resource in _those(recording.resources, waiting):
            assert first <= recording.before(resource) | {resource.urn}, resource.urn


def test_every_order_is_of_resources_that_there_are() -> None:
    of_clouds: dict[str, list[Registration]] = {cloud: [] for cloud in _FIRST}
    for file in FILES:
        of_clouds[from_stack_file(file).cloud] += run_program(file).resources
    for cloud, orders in _FIRST.items():
        for each in (*orders, *(one for needed in orders.values() for one in needed)):
            assert _those(of_clouds[cloud], each), (cloud, each)


def test_one_pool_of_azure_is_made_at_a_time() -> None:
    recording = run_program(one_stack.variant("one-aks-ladder"))
    pools = _those(recording.resources, "AgentPool")
    assert len(pools) > 2
    urns = {pool.urn for pool in pools}
    assert sorted(len(recording.before(pool) & urns) for pool in pools) == list(range(len(pools)))


def _those(resources: Collection[Registration], type_and_pattern: str) -> list[Registration]:
    type_name, _, pattern = type_and_pattern.partition(" ")
    of_type = [each for each in resources if each.custom and each.type.rpartition(":")[2] == type_name]
    return [each for each in of_type if re.search(pattern, each.name)]


@each_stack
def test_nothing_of_a_cloud_waits_for_what_it_waits_for_already(file: Path) -> None:
    assert said_twice(run_program(file)) == []


def test_a_dependency_that_another_one_implies_is_noticed() -> None:
    first, second, third = _chain(3)
    assert said_twice(Recording([first, second, third])) == []
    again = replace(third, depends_on=(*third.depends_on, first.urn))
    assert said_twice(Recording([first, second, again])) == [("r2", "r0")]


@pytest.mark.parametrize("stack", LADDERS)
def test_pools_that_are_there_depend_on_no_more_than_new_ones(stack: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second update the program looks up each pool, and after what: that is no more than when to look."""
    file = one_stack.variant(stack)
    new = run_program(file)
    settings = from_stack_file(file)
    existing = _EXISTING[settings.cloud](settings, monkeypatch)
    recording = run_with(yaml.safe_load(file.read_text())["config"], stack_name(file))
    assert existing <= set(recording.calls)
    assert {resource.urn for resource in new.resources} == {resource.urn for resource in recording.resources}
    expected = {resource.urn: resource for resource in new.resources}
    for resource in recording.resources:
        at_first = expected[resource.urn]
        assert recording.before(resource) == new.before(at_first), resource.urn
        for name, urns in resource.property_dependencies.items():
            assert set(urns) <= set(at_first.property_dependencies[name]), f"{resource.urn}: {name}"


def _eks(settings: Settings, answers: pytest.MonkeyPatch) -> set[str]:
    pools = {pool.name: pool for pool in (settings.admin_pool, *settings.pools)}

    def group(asked: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "launchTemplates": [{"version": "1"}],
            "version": "1.35",
            "amiType": "AL2023_x86_64_NVIDIA",
            "instanceTypes": list(pools[asked["nodeGroupName"]].nodes.machine_types),
            "capacityType": "SPOT",
            "subnetIds": ["subnet-1"],
            "nodeRoleArn": "arn:aws:iam::123456789012:role/nodes",
            "resources": [{"autoscalingGroups": [{"name": "one"}]}],
        }

    calls: dict[str, Any] = {
        "aws:eks/getClusters:getClusters": {"names": [settings.cluster_name]},
        "aws:eks/getNodeGroups:getNodeGroups": {"names": list(pools)},
        "aws:eks/getNodeGroup:getNodeGroup": group,
        "aws:autoscaling/getGroup:getGroup": {"desiredCapacity": 1, "availabilityZones": ["us-west-2a"]},
    }
    for token, answer in calls.items():
        answers.setitem(eks_answers.CALLS, token, answer)
    return set(calls)


def _aks(settings: Settings, answers: pytest.MonkeyPatch) -> set[str]:
    there = [{"name": pool_name(pool.name)} for pool in (settings.admin_pool, *settings.pools)]
    calls: dict[str, Any] = {
        "azure-native:containerservice:getManagedCluster": {"agentPoolProfiles": there},
        "azure-native:containerservice:getAgentPool": {"count": 1, "currentOrchestratorVersion": "1.34.1"},
    }
    for token, answer in calls.items():
        answers.setitem(aks_answers.CALLS, token, answer)
    return set(calls)


_EXISTING: Final[Mapping[str, Callable[[Settings, pytest.MonkeyPatch], set[str]]]] = {"eks": _eks, "aks": _aks}


def _chain(length: int) -> list[Registration]:
    """Each made with two values of the one before."""
    some = run_program(one_stack.file("gke")).components[0]
    made: list[Registration] = []
    for index in range(length):
        last = tuple(one.urn for one in made[-1:])
        change = {"depends_on": last, "property_dependencies": {"a": last, "b": last}}
        made.append(replace(some, urn=f"x::r{index}", name=f"r{index}", **change))
    return made
