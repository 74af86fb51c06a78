"""Cluster API's machine sets are read with their templates, wherever the provider puts types, bounds and taints."""

from __future__ import annotations

from typing import Any

import pytest

from facts.concepts.declared import NodeGroup
from facts.concepts.pool import GPU_TAINT
from facts.concepts.unknown import UNKNOWN
from policies.readers import linked, read
from policies.readers.resource import Declared

SCALER = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
GPU_COUNT = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
BOUNDS = {f"{SCALER}-min-size": "0", f"{SCALER}-max-size": "4"}


def machines(
    infrastructure: tuple[str, dict[str, Any]] | None = None,
    *,
    kind: str = "MachineDeployment",
    annotations: Any = None,
    boot: dict[str, Any] | None = None,
    **spec: Any,
) -> NodeGroup:
    template_kind, machine = infrastructure or ("AWSMachineTemplate", {"instanceType": "g5.xlarge"})
    reference = {"kind": template_kind, "name": "gpu"}
    config = {"kind": "KubeadmConfigTemplate", "name": "gpu"}
    body = {"template": {"spec": {"infrastructureRef": reference, "bootstrap": {"configRef": config}}}, **spec}
    metadata = {"name": "gpu", "annotations": BOUNDS if annotations is None else annotations}
    owner = Declared(f"kubernetes:cluster.x-k8s.io/v1beta1:{kind}", "m", "urn:m", {"metadata": metadata, "spec": body})
    names = {"metadata": {"name": "gpu"}}
    parts = [
        Declared(
            f"kubernetes:infrastructure.cluster.x-k8s.io/v1beta2:{template_kind}",
            "i",
            "urn:i",
            {**names, "spec": {"template": {"spec": machine}} if template_kind.endswith("Template") else machine},
        ),
        Declared(
            "kubernetes:bootstrap.cluster.x-k8s.io/v1beta1:KubeadmConfigTemplate",
            "b",
            "urn:b",
            {**names, "spec": {"template": {"spec": {"joinConfiguration": {"nodeRegistration": boot or {}}}}}},
        ),
    ]
    groups = [item for resource in linked([owner, *parts]) for item in read(resource)]
    (group,) = groups
    assert isinstance(group, NodeGroup)
    return group


@pytest.mark.parametrize("kind", ["MachineDeployment", "MachineSet", "MachinePool"])
def test_each_kind_of_machine_set(kind: str) -> None:
    group = machines(kind=kind, clusterName="ml", boot={"taints": [{"key": "a", "effect": "NoSchedule"}]})
    assert (group.name, group.cluster, group.gpus_per_node) == ("gpu", "ml", 1)
    assert (group.autoscaled, group.min_nodes, group.max_nodes, group.initial_nodes) == (True, 0, 4, 0)
    assert [str(taint) for taint in group.taints] == ["a=:NoSchedule"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("infrastructure", "gpus"),
    [
        (("AWSMachineTemplate", {"instanceType": "p4d.24xlarge"}), 8),
        (("AWSMachineTemplate", {"instanceType": UNKNOWN}), UNKNOWN),
        (("AWSMachineTemplate", {"instanceType": "c7g.large"}), 0),
        (("AWSMachinePool", {"awsLaunchTemplate": {"instanceType": "g5.12xlarge"}}), 4),
        (("AWSManagedMachinePool", {"instanceType": "g5.48xlarge"}), 8),
        (("AzureMachineTemplate", {"vmSize": "Standard_NC4as_T4_v3"}), 1),
        (("AzureMachinePool", {"template": {"vmSize": "Standard_NC64as_T4_v3"}}), 4),
        (("AzureManagedMachinePool", {"sku": "Standard_D4s_v5"}), 0),
        (("GCPMachineTemplate", {"instanceType": "a2-highgpu-4g"}), 4),
        (("GCPMachineTemplate", {"instanceType": "n1-standard-4", "guestAccelerators": [{"count": 2}]}), 2),
        (("GCPManagedMachinePool", {"machineType": "e2-standard-4"}), 0),
        (("DockerMachineTemplate", {}), 0),
        (("OpenStackMachineTemplate", {"flavor": "g1.large"}), UNKNOWN),
    ],
)
def test_machine_types_of_each_provider(infrastructure: tuple[str, dict[str, Any]], gpus: Any) -> None:
    assert machines(infrastructure).gpus_per_node == gpus


@pytest.mark.parametrize(("annotated", "gpus"), [("8", 8), ("0", 0), (None, UNKNOWN), (UNKNOWN, UNKNOWN)])
def test_the_capacity_annotation_gives_the_gpus_that_no_template_has(annotated: Any, gpus: Any) -> None:
    node_group = machines(("OpenStackMachineTemplate", {}), annotations={**BOUNDS, GPU_COUNT: annotated})
    assert node_group.gpus_per_node == gpus


def test_a_count_of_zero_does_not_hide_the_gpus_of_a_known_type() -> None:
    assert machines(annotations={**BOUNDS, GPU_COUNT: "0"}).gpus_per_node == 1


@pytest.mark.parametrize(
    ("annotations", "replicas", "expected"),
    [
        ({}, None, (False, 0, 1)),
        ({}, 3, (False, 0, 3)),
        ({f"{SCALER}-min-size": "2", f"{SCALER}-max-size": "4"}, None, (True, 2, 0)),
        ({f"{SCALER}-min-size": "2", f"{SCALER}-max-size": "2"}, 2, (False, 2, 2)),
        ({f"{SCALER}-max-size": "2"}, 0, (False, 0, 0)),
        (UNKNOWN, 0, (UNKNOWN, UNKNOWN, 0)),
    ],
)
def test_bounds(annotations: Any, replicas: Any, expected: tuple[Any, ...]) -> None:
    group = machines(annotations=annotations, **({} if replicas is None else {"replicas": replicas}))
    assert (group.autoscaled, group.min_nodes, group.initial_nodes) == expected


def test_a_managed_pool_scales_by_itself() -> None:
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "no-schedule"}]
    pool = {"instanceType": "g5.xlarge", "scaling": {"minSize": 1, "maxSize": 3}, "taints": taints}
    group = machines(("AWSManagedMachinePool", pool), kind="MachinePool", annotations={}, replicas=1)
    assert (group.autoscaled, group.min_nodes, group.max_nodes, group.taints) == (True, 1, 3, (GPU_TAINT,))


@pytest.mark.parametrize(
    "boot",
    [
        {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        {"kubeletExtraArgs": {"register-with-taints": "nvidia.com/gpu=present:NoSchedule"}},
        {"kubeletExtraArgs": [{"name": "register-with-taints", "value": "nvidia.com/gpu=present:NoSchedule"}]},
    ],
)
def test_taints_of_the_boot_data(boot: dict[str, Any]) -> None:
    assert machines(boot=boot).taints == (GPU_TAINT,)


@pytest.mark.parametrize("boot", [{"taints": UNKNOWN}, {"kubeletExtraArgs": UNKNOWN}])
def test_unknown_boot_data(boot: dict[str, Any]) -> None:
    assert machines(boot=boot).taints is UNKNOWN
