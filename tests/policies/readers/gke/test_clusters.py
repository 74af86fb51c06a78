"""Every way to declare GPU nodes with Google's provider is read, with its bounds over all zones."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import Cluster, Credential, NodeGroup
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers import read, read_stack
from policies.readers.gke.facts import whole_machine_gpus
from policies.readers.resource import Declared
from policies.rules.node_groups import gpu_taint, starts_empty, zero_minimum

T4 = {"type": "nvidia-tesla-t4", "count": 2}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}
POOL: dict[str, Any] = {
    "name": "t4-2",
    "cluster": "projects/p/locations/us-central1/clusters/c",
    "location": "us-central1",
    "nodeLocations": ["us-central1-a", "us-central1-b"],
    "initialNodeCount": 0,
    "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 8},
    "nodeConfig": {
        "machineType": "n1-standard-4",
        "guestAccelerators": [{**T4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}}],
        "spot": True,
        "taints": [TAINT],
        "labels": {"team": "ml"},
    },
}


def declared(type_token: str, properties: dict[str, Any], name: str = "x") -> Declared:
    return Declared(type_token, name, f"urn:{name}", properties)


def pool(changes: dict[str, Any] | None = None, config: dict[str, Any] | None = None) -> NodeGroup:
    properties = {**POOL, **(changes or {}), "nodeConfig": {**POOL["nodeConfig"], **(config or {})}}
    (item,) = read(declared("gcp:container/nodePool:NodePool", properties))
    assert isinstance(item, NodeGroup)
    return item


def cluster_groups(properties: dict[str, Any]) -> list[NodeGroup]:
    items = read(declared("gcp:container/cluster:Cluster", {"name": "c", "location": "us-central1", **properties}))
    assert isinstance(items[0], Cluster)
    return [item for item in items if isinstance(item, NodeGroup)]


def test_a_node_pool() -> None:
    group = pool()
    assert (group.name, group.cluster, group.region) == ("t4-2", "c", "us-central1")
    assert (group.gpus_per_node, group.autoscaled, group.min_nodes, group.max_nodes) == (2, True, 0, 8)
    assert (group.taints, group.spot, group.initial_nodes) == ((GPU_TAINT,), True, 0)
    assert isinstance(group.labels, dict)
    assert group.labels["team"] == "ml"
    assert group.labels["cloud.google.com/gke-accelerator"] == "nvidia-tesla-t4"
    assert group.labels["cloud.google.com/gke-gpu-driver-version"] == "default"
    assert group.labels["cloud.google.com/gke-spot"] == "true"
    assert isinstance(group.hourly_usd, float)


@pytest.mark.parametrize(
    ("scaling", "zones", "least", "most"),
    [
        ({"minNodeCount": 1, "maxNodeCount": 3}, ["us-central1-a", "us-central1-b"], 2, 6),
        ({"minNodeCount": 1, "maxNodeCount": 3}, [], 3, 9),
        ({"minNodeCount": 0, "maxNodeCount": 3, "totalMaxNodeCount": 0}, ["us-central1-a"], 0, 3),
        ({"maxNodeCount": 3.0}, ["us-central1-a"], 0, 3),
        ({}, ["us-central1-a"], 0, None),
        ({"totalMinNodeCount": UNKNOWN, "totalMaxNodeCount": 4}, ["us-central1-a"], UNKNOWN, 4),
        ({"maxNodeCount": "three"}, ["us-central1-a"], 0, UNKNOWN),
        (UNKNOWN, ["us-central1-a"], UNKNOWN, UNKNOWN),
    ],
)
def test_bounds_count_over_all_zones(scaling: Any, zones: list[str], least: Any, most: Any) -> None:
    group = pool({"autoscaling": scaling, "nodeLocations": zones})
    assert (group.min_nodes, group.max_nodes) == (least, most)


def test_without_autoscaling_the_size_is_fixed() -> None:
    group = pool({"autoscaling": None, "nodeCount": 1})
    assert group.autoscaled is False
    assert group.initial_nodes == 2, "one in each of two zones"
    assert len(starts_empty(group)) == 1


@pytest.mark.parametrize(
    ("machine", "gpus"),
    [
        ("a2-highgpu-4g", 4),
        ("a2-megagpu-16g", 16),
        ("a3-highgpu-8g", 8),
        ("a4x-highgpu-4g", 4),
        ("g2-standard-8", 1),
        ("g2-standard-48", 4),
        ("g4-standard-384", 8),
        ("g9-unheard-of", 1),
        ("n1-standard-4", 0),
        ("e2-custom-2-4096", 0),
        ("c4a-standard-1", 0),
        ("ct5lp-hightpu-4t", 0),
        (None, 0),
    ],
)
def test_machines_that_bring_their_gpus(machine: str | None, gpus: int) -> None:
    assert whole_machine_gpus(machine) == gpus
    assert pool(config={"machineType": machine, "guestAccelerators": []}).gpus_per_node == gpus


@pytest.mark.parametrize(
    "config",
    [
        {"guestAccelerators": UNKNOWN},
        {"guestAccelerators": [UNKNOWN]},
        {"guestAccelerators": [{"type": "t", "count": UNKNOWN}]},
        {"guestAccelerators": [], "machineType": UNKNOWN},
    ],
)
def test_a_pool_that_may_have_gpus_is_not_taken_for_a_cpu_pool(config: dict[str, Any]) -> None:
    group = pool({"autoscaling": {"totalMinNodeCount": 1, "totalMaxNodeCount": 2}}, config)
    assert group.gpus_per_node is UNKNOWN
    assert zero_minimum(group)[0].not_evaluated


@pytest.mark.parametrize("taints", [UNKNOWN, [UNKNOWN], [{**TAINT, "effect": UNKNOWN}]])
def test_unknown_taints(taints: Any) -> None:
    group = pool(config={"taints": taints})
    assert group.taints is UNKNOWN
    assert gpu_taint(group)[0].not_evaluated


def test_an_unknown_node_config_is_unknown_throughout() -> None:
    (group,) = read(declared("gcp:container/nodePool:NodePool", {**POOL, "nodeConfig": UNKNOWN}))
    assert isinstance(group, NodeGroup)
    assert group.gpus_per_node is group.taints is group.labels is UNKNOWN


def test_disabled_driver_installation_is_a_label_that_is_certainly_absent() -> None:
    off = [{**T4, "gpuDriverInstallationConfig": {"gpuDriverVersion": "INSTALLATION_DISABLED"}}]
    labels = pool(config={"guestAccelerators": off}).labels
    assert isinstance(labels, dict)
    assert labels["cloud.google.com/gke-gpu-driver-version"] is None


def test_the_default_pool_of_a_cluster() -> None:
    (group,) = cluster_groups(
        {"initialNodeCount": 1, "nodeConfig": {"machineType": "n1-standard-4", "guestAccelerators": [T4]}}
    )
    assert (group.name, group.gpus_per_node, group.autoscaled, group.initial_nodes) == ("default-pool", 2, False, 3)


def test_a_removed_default_pool_is_no_pool() -> None:
    assert cluster_groups({"removeDefaultNodePool": True, "initialNodeCount": 1, "nodeConfig": {}}) == []


def test_inline_pools() -> None:
    inline = {**POOL, "autoscaling": {"minNodeCount": 1, "maxNodeCount": 1}}
    named, unnamed = cluster_groups({"nodePools": [inline, {"nodeConfig": {"machineType": "a2-highgpu-1g"}}]})
    assert (named.name, named.gpus_per_node, named.min_nodes, named.cluster) == ("t4-2", 2, 2, "c")
    assert (unnamed.name, unnamed.gpus_per_node, unnamed.autoscaled) == ("x nodePools[1]", 1, False)


def test_unknown_inline_pools_may_have_gpus() -> None:
    (group,) = cluster_groups({"nodePools": UNKNOWN})
    assert zero_minimum(group)[0].not_evaluated


def test_auto_provisioning_limits() -> None:
    limits = [
        {"resourceType": "cpu", "minimum": 4, "maximum": 100},
        {"resourceType": "nvidia-tesla-t4", "minimum": 1, "maximum": 8},
    ]
    (_, group) = cluster_groups({"clusterAutoscaling": {"enabled": True, "resourceLimits": limits}})
    assert (group.kind, group.min_nodes, group.max_nodes) == ("auto-provisioned", 1, 8)
    assert len(zero_minimum(group)) == 1
    assert len(cluster_groups({"clusterAutoscaling": {"enabled": False, "resourceLimits": limits}})) == 1


def test_autopilot_has_no_pools_to_judge() -> None:
    assert cluster_groups({"enableAutopilot": True, "initialNodeCount": 3}) == []


@pytest.mark.parametrize(
    ("properties", "private"),
    [
        ({"privateClusterConfig": {"enablePrivateNodes": True}}, True),
        ({"privateClusterConfig": {"enablePrivateNodes": False}}, False),
        ({"privateClusterConfig": UNKNOWN}, UNKNOWN),
        ({}, False),
    ],
)
def test_private_nodes(properties: dict[str, Any], private: Any) -> None:
    item = read(declared("gcp:container/cluster:Cluster", {"location": "us-central1-a", **properties}))[0]
    assert isinstance(item, Cluster)
    assert item.private_nodes is private
    assert item.region == "us-central1"
    assert item.carbon is not None


@pytest.mark.parametrize(
    "type_token", ["gcp:compute/instance:Instance", "gcp:compute/instanceFromTemplate:InstanceFromTemplate"]
)
def test_a_machine_with_gpus_runs_all_the_time(type_token: str) -> None:
    (group,) = read(declared(type_token, {"zone": "us-central1-a", "guestAccelerators": [T4]}))
    assert isinstance(group, NodeGroup)
    assert (group.kind, group.autoscaled, group.initial_nodes) == ("machine", False, 1)
    assert read(declared(type_token, {"zone": "us-central1-a", "machineType": "e2-medium"})) == ()


def test_pools_that_the_cluster_lists_as_well_count_once() -> None:
    stack = read_stack(
        [
            declared(
                "gcp:container/cluster:Cluster", {"name": "c", "location": "us-central1", "nodePools": [POOL]}, "c"
            ),
            declared("gcp:container/nodePool:NodePool", {**POOL, "cluster": "c"}, "p"),
        ]
    )
    assert [group.name for group in stack.groups] == ["t4-2"]


@pytest.mark.parametrize(
    ("credentials", "static"),
    [
        ('{"type": "service_account", "private_key": "x"}', True),
        ("key.json", True),
        ('{"type": "external_account"}', False),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_provider_credentials(credentials: Any, static: Any) -> None:
    (item,) = read(declared("pulumi:providers:gcp", {"credentials": credentials}))
    assert isinstance(item, Credential)
    assert item.static is static


def test_a_service_account_key_is_a_static_key() -> None:
    (item,) = read(declared("gcp:serviceaccount/key:Key", {}))
    assert isinstance(item, Credential)
    assert item.static is True


def test_taints_in_kubernetes_words() -> None:
    taints = [TAINT, {"key": "a", "value": "", "effect": "PREFER_NO_SCHEDULE"}]
    assert pool(config={"taints": taints}).taints == (GPU_TAINT, Taint("a", "", "PreferNoSchedule"))


@pytest.mark.parametrize("type_token", ["gcp:storage/bucket:Bucket", "pulumi:pulumi:Stack", "random:index:Pet"])
def test_other_resources_are_none_of_ours(type_token: str) -> None:
    assert read(declared(type_token, {"anything": [UNKNOWN]})) == ()


@pytest.mark.parametrize(
    ("cluster", "open_api"),
    [
        ({}, True),
        ({"masterAuthorizedNetworksConfig": {"cidrBlocks": []}}, False),
        ({"privateClusterConfig": {"enablePrivateEndpoint": True}}, False),
        ({"masterAuthorizedNetworksConfig": UNKNOWN}, UNKNOWN),
    ],
)
def test_who_reaches_the_control_plane(cluster: dict[str, Any], open_api: Any) -> None:
    item = read(declared("gcp:container/cluster:Cluster", cluster))[0]
    assert isinstance(item, Cluster)
    assert item.open_api is open_api


def test_a_template_of_machines_with_gpus() -> None:
    properties = {"machineType": "n1-standard-4", "guestAccelerators": [T4]}
    (group,) = read(declared("gcp:compute/instanceTemplate:InstanceTemplate", properties, "worker"))
    assert isinstance(group, NodeGroup)
    assert (group.name, group.kind, group.gpus_per_node) == ("worker (template)", "machine", 2)


@pytest.mark.parametrize(
    ("spec", "gpus"),
    [
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"gpu": {"type": "nvidia-l4", "count": 2}}]}, [2]),
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"machineType": "a3-highgpu-8g"}, {}]}, [8]),
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"gpu": UNKNOWN}]}, [UNKNOWN]),
        ({"nodePoolAutoCreation": {"enabled": True}, "priorities": [{"machineFamily": "n4"}]}, []),
        ({"priorities": [{"gpu": {"type": "nvidia-l4", "count": 2}}]}, []),
    ],
)
def test_a_compute_class_makes_pools_for_its_pods(spec: dict[str, Any], gpus: list[Any]) -> None:
    properties = {"metadata": {"name": "fast"}, "spec": spec}
    groups = read(Declared("kubernetes:cloud.google.com/v1:ComputeClass", "x", "urn:x", properties))
    assert [group.gpus_per_node for group in groups if isinstance(group, NodeGroup)] == gpus
    for group in groups:
        assert isinstance(group, NodeGroup)
        assert (group.kind, group.min_nodes, group.max_nodes) == ("auto-provisioned", 0, UNKNOWN)
        assert group.taints == (GPU_TAINT,)
