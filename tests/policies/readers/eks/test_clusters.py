"""Every way to declare GPU machines with Amazon's provider is read, templates and unknown values included."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.declared import Cluster, Credential, NodeGroup
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers import linked, read, waits
from policies.readers.eks.facts import gpus_of, is_gpu_family, model_of
from policies.readers.resource import Declared
from policies.rules.node_groups import uniform_sizes

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
GROUP = "aws:autoscaling/group:Group"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
TAINTS = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
REGISTERED = "--register-with-taints=nvidia.com/gpu=present:NoSchedule"
SCRIPT = f"#!/bin/bash\n/etc/eks/bootstrap.sh ml --kubelet-extra-args '{REGISTERED}'"
USER_DATA = base64.b64encode(SCRIPT.encode()).decode()
MANAGED: dict[str, Any] = {
    "clusterName": "ml",
    "nodeGroupName": "gpu",
    "instanceTypes": ["g5.12xlarge"],
    "capacityType": "SPOT",
    "labels": {"team": "ml"},
    "scalingConfig": {"minSize": 0, "maxSize": 3, "desiredSize": 0},
    "taints": TAINTS,
}
TAGS = [
    {"key": "k8s.io/cluster-autoscaler/enabled", "value": "true", "propagateAtLaunch": False},
    {"key": "kubernetes.io/cluster/ml", "value": "owned", "propagateAtLaunch": True},
]


def declared(type_token: str, properties: dict[str, Any], name: str = "x", **depends: str) -> Declared:
    return Declared(type_token, name, f"urn:{name}", properties, {where: (urn,) for where, urn in depends.items()})


def group_of(first: Declared, *others: Declared) -> NodeGroup:
    resource = next(candidate for candidate in linked((*others, first)) if candidate.urn == first.urn)
    (item,) = read(resource)
    assert isinstance(item, NodeGroup)
    return item


def managed(**changes: Any) -> NodeGroup:
    return group_of(declared(NODE_GROUP, {**MANAGED, **changes}))


def self_managed(changes: dict[str, Any], template: dict[str, Any] | None = None, *others: Declared) -> NodeGroup:
    inputs = {"minSize": 0, "maxSize": 4, "launchTemplate": {"id": UNKNOWN}, "tags": TAGS, **changes}
    source = declared(TEMPLATE, template or {"instanceType": "p3.8xlarge", "userData": USER_DATA}, "template")
    urns = {key: "urn:template" for key in ("launchTemplate", "mixedInstancesPolicy") if inputs.get(key)}
    return group_of(declared(GROUP, inputs, "group", **urns), source, *others)


def test_a_managed_node_group() -> None:
    group = managed()
    assert (group.name, group.cluster, group.gpus_per_node, group.machine_type) == ("gpu", "ml", 4, "g5.12xlarge")
    assert (group.autoscaled, group.min_nodes, group.max_nodes, group.initial_nodes) == (True, 0, 3, 0)
    assert (group.taints, group.spot) == ((GPU_TAINT,), True)
    assert isinstance(group.labels, dict)
    assert group.labels["team"] == "ml"


@pytest.mark.parametrize(
    ("changes", "field", "value"),
    [
        ({"scalingConfig": UNKNOWN}, "min_nodes", UNKNOWN),
        ({"scalingConfig": {"minSize": UNKNOWN, "maxSize": 3}}, "autoscaled", UNKNOWN),
        ({"scalingConfig": {"minSize": 3, "maxSize": 3, "desiredSize": 3}}, "autoscaled", False),
        ({"instanceTypes": UNKNOWN}, "gpus_per_node", UNKNOWN),
        ({"instanceTypes": [UNKNOWN, "g5.xlarge"]}, "gpus_per_node", 1),
        ({"instanceTypes": ["m5.large", UNKNOWN]}, "gpus_per_node", UNKNOWN),
        ({"instanceTypes": None}, "gpus_per_node", 0),
        ({"taints": UNKNOWN}, "taints", UNKNOWN),
        ({"taints": [{"key": UNKNOWN, "effect": "NO_SCHEDULE"}]}, "taints", UNKNOWN),
        ({"labels": UNKNOWN}, "labels", UNKNOWN),
        ({"warmPoolConfig": {"poolState": "RUNNING"}}, "min_nodes", 3),
        ({"warmPoolConfig": {"poolState": "HIBERNATED"}}, "min_nodes", 0),
    ],
)
def test_values_of_a_managed_node_group(changes: dict[str, Any], field: str, value: Any) -> None:
    assert getattr(managed(**changes), field) == value


def test_a_template_in_the_program_completes_its_group() -> None:
    inputs = {**MANAGED, "instanceTypes": None, "taints": None, "launchTemplate": {"id": UNKNOWN}}
    template = {
        "instanceType": "g6.xlarge",
        "userData": USER_DATA,
        "blockDeviceMappings": [{"ebs": {"encrypted": "false"}}],
        "networkInterfaces": [{"associatePublicIpAddress": "true"}],
    }
    group = group_of(declared(NODE_GROUP, inputs, launchTemplate="urn:t"), declared(TEMPLATE, template, "t"))
    assert (group.gpus_per_node, group.taints) == (1, (GPU_TAINT,))
    assert (group.disk_encrypted, group.private) == (False, False)
    by_name = {**inputs, "launchTemplate": {"name": "gpu"}}
    assert group_of(declared(NODE_GROUP, by_name), declared(TEMPLATE, {**template, "name": "gpu"}, "t")) == group


def test_a_template_elsewhere_leaves_open_what_it_decides() -> None:
    group = managed(instanceTypes=None, taints=None, launchTemplate={"id": "lt-0123456789abcdef0"})
    assert group.gpus_per_node is group.taints is UNKNOWN
    assert managed(launchTemplate={"id": "lt-0123456789abcdef0"}).taints == (GPU_TAINT,), "its own taint is certain"


def test_only_groups_with_a_template_wait_for_the_stack() -> None:
    assert not waits(declared(NODE_GROUP, MANAGED))
    assert waits(declared(NODE_GROUP, {**MANAGED, "launchTemplate": {"id": UNKNOWN}}))
    assert waits(declared(GROUP, {}))
    assert not waits(declared("aws:ec2/instance:Instance", {"instanceType": "g5.xlarge"}))


def test_an_auto_scaling_group() -> None:
    group = self_managed({"desiredCapacity": 1, "name": "gpu"})
    assert (group.name, group.cluster, group.kind, group.gpus_per_node) == ("gpu", "ml", "pool", 4)
    assert (group.autoscaled, group.min_nodes, group.max_nodes, group.initial_nodes) == (True, 0, 4, 1)
    assert group.taints == (GPU_TAINT,)


@pytest.mark.parametrize(
    ("changes", "autoscaled", "discoverable"),
    [
        ({"tags": TAGS}, True, True),
        ({"tags": TAGS[1:]}, True, False),
        ({"tags": [{"key": UNKNOWN, "value": "owned"}]}, True, UNKNOWN),
        ({"tags": UNKNOWN}, True, UNKNOWN),
        ({"maxSize": 0}, False, True),
        ({"maxSize": UNKNOWN}, UNKNOWN, True),
    ],
)
def test_what_the_autoscaler_finds(changes: dict[str, Any], autoscaled: Any, discoverable: Any) -> None:
    group = self_managed(changes)
    assert (group.kind, group.autoscaled, group.discoverable) == ("pool", autoscaled, discoverable)


def test_a_group_outside_kubernetes_scales_by_itself() -> None:
    group = self_managed({"tags": []}, {"instanceType": "g5.xlarge"})
    assert (group.kind, group.autoscaled, group.gpus_per_node) == ("machine", True, 1)


def test_tags_that_are_resources_of_their_own() -> None:
    tag = {"autoscalingGroupName": "gpu", "tag": TAGS[0]}
    group = self_managed({"tags": TAGS[1:], "name": "gpu"}, None, declared("aws:autoscaling/tag:Tag", tag, "tag"))
    assert group.discoverable is True


def test_overrides_replace_the_templates_type() -> None:
    policy = {
        "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0},
        "launchTemplate": {"overrides": [{"instanceType": "g4dn.xlarge"}, {"instanceType": "g4dn.metal"}]},
    }
    group = self_managed({"launchTemplate": None, "mixedInstancesPolicy": policy})
    assert (group.gpus_per_node, group.other_gpus_per_node, group.spot) == (8, (1,), True)
    (violation,) = uniform_sizes(group)
    assert "1 or 8 GPUs" in violation.message


@pytest.mark.parametrize(
    ("requirements", "gpus"),
    [
        ({"acceleratorCount": {"max": 0}}, 0),
        ({"acceleratorCount": {"min": 1}, "acceleratorTypes": ["inference"]}, 0),
        ({"acceleratorManufacturers": ["amd"]}, 0),
        ({"acceleratorTypes": ["gpu"], "acceleratorCount": {"min": 4, "max": 4}}, 4),
        ({"acceleratorManufacturers": ["nvidia"]}, 1),
        ({"allowedInstanceTypes": ["m7i.*", "c7i.*"]}, 0),
        ({"allowedInstanceTypes": ["g6.*"]}, UNKNOWN),
        ({"vcpuCount": {"min": 4}}, UNKNOWN),
    ],
)
def test_machines_by_attributes(requirements: dict[str, Any], gpus: Any) -> None:
    assert self_managed({}, {"instanceRequirements": requirements}).gpus_per_node == gpus


@pytest.mark.parametrize(
    ("type_token", "properties", "count"),
    [
        ("aws:ec2/instance:Instance", {"instanceType": "g5.xlarge"}, 1),
        ("aws:ec2/spotInstanceRequest:SpotInstanceRequest", {"instanceType": "g5.xlarge"}, 1),
        (
            "aws:ec2/spotFleetRequest:SpotFleetRequest",
            {"targetCapacity": 3, "launchSpecifications": [{"instanceType": "g5.xlarge"}]},
            3,
        ),
        (
            "aws:ec2/fleet:Fleet",
            {
                "launchTemplateConfigs": [{"overrides": [{"instanceType": "g5.xlarge"}]}],
                "targetCapacitySpecification": {"totalTargetCapacity": 2},
            },
            2,
        ),
    ],
)
def test_machines_and_fleets(type_token: str, properties: dict[str, Any], count: int) -> None:
    group = group_of(declared(type_token, properties))
    assert (group.kind, group.gpus_per_node, group.initial_nodes, group.autoscaled) == ("machine", 1, count, False)


def test_machines_without_gpus_are_none_of_our_business() -> None:
    assert read(declared("aws:ec2/instance:Instance", {"instanceType": "t3.micro"})) == ()


@pytest.mark.parametrize(
    ("config", "managed_nodes", "managed_autoscaler"),
    [
        (None, False, False),
        ({"enabled": False}, False, False),
        ({"enabled": True}, False, True),
        ({"enabled": True, "nodePools": ["general-purpose"]}, True, True),
        ({"enabled": UNKNOWN}, UNKNOWN, UNKNOWN),
        ({"enabled": True, "nodePools": UNKNOWN}, UNKNOWN, True),
    ],
)
def test_clusters(config: Any, managed_nodes: Any, managed_autoscaler: Any) -> None:
    arn = "arn:aws:kms:us-east-1:1:key/k"
    key = {"provider": {"keyArn": arn}, "resources": ["secrets"]}
    (cluster,) = read(
        declared("aws:eks/cluster:Cluster", {"name": "ml", "encryptionConfig": key, "computeConfig": config})
    )
    assert isinstance(cluster, Cluster)
    assert (cluster.name, cluster.managed_nodes) == ("ml", managed_nodes)
    assert cluster.managed_autoscaler == managed_autoscaler
    assert cluster.secrets_key == arn


@pytest.mark.parametrize(
    ("network", "open_api"),
    [
        (None, True),
        ({"endpointPrivateAccess": True}, True),
        ({"endpointPublicAccess": False}, False),
        ({"endpointPublicAccess": UNKNOWN}, UNKNOWN),
        ({"publicAccessCidrs": ["203.0.113.0/24"]}, False),
        ({"publicAccessCidrs": ["203.0.113.0/24", "0.0.0.0/0"]}, True),
        ({"publicAccessCidrs": UNKNOWN}, UNKNOWN),
    ],
)
def test_who_reaches_the_api_server(network: Any, open_api: Any) -> None:
    (cluster,) = read(declared("aws:eks/cluster:Cluster", {"vpcConfig": network}))
    assert isinstance(cluster, Cluster)
    assert cluster.open_api == open_api


@pytest.mark.parametrize(
    ("properties", "static"),
    [({"secretKey": "s"}, True), ({"secretKey": "s", "token": "t"}, False), ({"secretKey": UNKNOWN}, UNKNOWN)],
)
def test_the_providers_keys(properties: dict[str, Any], static: Any) -> None:
    (credential,) = read(declared("pulumi:providers:aws", properties))
    assert isinstance(credential, Credential)
    assert credential.static is static
    assert read(declared("pulumi:providers:aws", {"region": "us-east-1", "profile": "ml"})) == ()


@pytest.mark.parametrize(
    ("instance_type", "gpus"),
    [
        ("p5.48xlarge", 8),
        ("p5.4xlarge", 1),
        ("g4dn.16xlarge", 1),
        ("gr6.8xlarge", 1),
        ("g6.96xlarge", 1),
        ("p9e-xb400.36xlarge", 1),
        ("q1.large", UNKNOWN),
        ("g9.xlarge", 1),
        ("p6-b200.48xlarge", 8),
        ("g4ad.16xlarge", 0),
        ("inf2.xlarge", 0),
        ("m6g.large", 0),
        ("im4gn.large", 0),
        ("c7g.xlarge", 0),
        ("r8gd.xlarge", 0),
        ("hpc7g.16xlarge", 0),
        ("u-6tb1.metal", 0),
        (None, 0),
        (UNKNOWN, UNKNOWN),
    ],
)
def test_gpus_of_instance_types(instance_type: Any, gpus: Any) -> None:
    assert gpus_of(instance_type) == gpus


def test_every_family_of_the_table_counts_as_one_with_gpus() -> None:
    assert all(is_gpu_family(f"{name.partition('.')[0]}.*") for name in gpu_machines("eks"))
    assert not any(is_gpu_family(pattern) for pattern in ("g4ad.*", "m*", "c7g.*", "trn1.*"))


@pytest.mark.parametrize(
    ("instance_type", "model"),
    [
        ("g5.xlarge", "A10G"),
        ("g7e.2xlarge", "RTX PRO 6000"),
        ("p5.48xlarge", "H100"),
        ("p4d.24xlarge", "A100 40GB"),
        ("p4de.24xlarge", "A100 80GB"),
        ("p3.2xlarge", "V100"),
        ("p3dn.24xlarge", "V100 32GB"),
        ("g6f.large", "part of an L4"),
        ("g6.96xlarge", "L4"),
        ("g9.xlarge", None),
        ("m5.large", None),
        (UNKNOWN, None),
    ],
)
def test_a_gpu_is_called_by_its_memory_only_where_that_tells_two_apart(instance_type: Any, model: str | None) -> None:
    assert model_of(instance_type) == model
