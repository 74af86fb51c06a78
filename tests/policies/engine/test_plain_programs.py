"""Plain pulumi-aws and pulumi-azure-native programs on simulated providers: the gate refuses them, remediates what it
can, and lets corrected programs pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.engine_project import REAL_ENGINE, Project
from rehearsal.providers.aks import AzureNativeProvider
from rehearsal.providers.base import Provider
from rehearsal.providers.eks.provider import AwsProvider
from tests.policies.gated_project import gated, gated_project

pytestmark = REAL_ENGINE

EKS = """
import pulumi_aws as aws

def role(name, service, *policies):
    trust = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    made = aws.iam.Role(name, assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    for policy in policies:
        aws.iam.RolePolicyAttachment(f"{name}-{policy}", role=made.name, policy_arn=f"arn:aws:iam::aws:policy/{policy}")
    return made

vpc = aws.ec2.Vpc("ml", cidr_block="10.0.0.0/16")
subnets = [
    aws.ec2.Subnet(zone, vpc_id=vpc.id, cidr_block=f"10.0.{number}.0/24", availability_zone=zone)
    for number, zone in enumerate(("us-west-2a", "us-west-2b"))
]
ids = [subnet.id for subnet in subnets]
nodes = role("nodes", "ec2.amazonaws.com", "AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryReadOnly")
cluster = aws.eks.Cluster(
    "ml",
    role_arn=role("cluster", "eks.amazonaws.com", "AmazonEKSClusterPolicy").arn,
    vpc_config={"subnet_ids": ids},
)
sizes = {"min_size": 1, "max_size": 3, "desired_size": 1}
common = {"cluster_name": cluster.name, "node_role_arn": nodes.arn, "subnet_ids": ids}
aws.eks.NodeGroup("cpu", **common, instance_types=["m6i.large"], scaling_config=sizes)
aws.eks.NodeGroup(
    "gpus",
    **common,
    instance_types=["g4dn.xlarge"],
    ami_type="AL2023_x86_64_NVIDIA",
    scaling_config={"min_size": values["minimum"], "max_size": 4, "desired_size": 0},
    labels={"team": "ml"},
    taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}] if values["tainted"] else None,
)
"""
AKS = """
from pulumi_azure_native import containerservice, resources

group = resources.ResourceGroup("ml", location="eastus")
cluster = containerservice.ManagedCluster(
    "ml",
    resource_group_name=group.name,
    location="eastus",
    dns_prefix="ml",
    identity={"type": "SystemAssigned"},
    agent_pool_profiles=[{"name": "system", "mode": "System", "count": 1, "vm_size": "Standard_D2s_v5"}],
)
containerservice.AgentPool(
    "gpus",
    resource_group_name=group.name,
    resource_name_=cluster.name,
    agent_pool_name="gpus",
    vm_size="Standard_NC4as_T4_v3",
    mode="User",
    enable_auto_scaling=True,
    count=0,
    min_count=values["minimum"],
    max_count=4,
    node_labels={"team": "ml"},
    node_taints=["nvidia.com/gpu=present:NoSchedule"] if values["tainted"] else [],
)
"""
POOLS = {"aws": "aws:eks/nodeGroup:NodeGroup", "azure-native": "azure-native:containerservice:AgentPool"}
GROUP_TAINTS = {
    "aws": ("taints", [{"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "present"}]),
    "azure-native": ("nodeTaints", ["nvidia.com/gpu=present:NoSchedule"]),
}
LABELS = {"aws": "labels", "azure-native": "nodeLabels"}
REMEDIATE = {"gpu-taint": "remediate", "gpu-present-label": "remediate"}


def _provider(cloud: str, directory: Path) -> Provider:
    return AwsProvider(directory, None) if cloud == "aws" else AzureNativeProvider(directory, None)


@pytest.fixture(scope="module", params=list(POOLS))
def cloud(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def project(cloud: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    program = EKS if cloud == "aws" else AKS
    provider = _provider(cloud, tmp_path_factory.mktemp("state"))
    with gated_project(tmp_path_factory.mktemp("plain"), program, provider) as made:
        key, value = {"aws": ("aws:region", "us-west-2"), "azure-native": ("azure-native:location", "eastus")}[cloud]
        made.run("config", "set", "--stack=test", key, value)
        if cloud == "azure-native":
            subscription = "00000000-0000-0000-0000-000000000000"
            made.run("config", "set", "--stack=test", "azure-native:subscriptionId", subscription)
        yield made


def preview(project: Project, config: dict[str, Any] | None = None, *, refused: bool = False, **values: Any) -> str:
    project.write(**{"minimum": 0, "tainted": True, **values})
    return gated(project, "preview", config=config or {}, refused=refused)


def test_it_is_refused_for_its_pool_until_that_is_right(project: Project, cloud: str) -> None:
    failed = preview(project, minimum=1, tainted=False, refused=True)
    for rule in ("gpu-zero-minimum", "gpu-taint"):
        assert f"[mandatory]  {rule}  ({POOLS[cloud]}: gpus)" in failed, failed
    passed = preview(project)
    assert "[mandatory]" not in passed


def test_the_stand_in_takes_what_the_gate_adds(project: Project, cloud: str) -> None:
    changed = preview(project, REMEDIATE, tainted=False)
    for rule in REMEDIATE:
        assert f"[remediate]  {rule}  (1 resource)" in changed, changed
    assert f"[advisory]  remediated  ({POOLS[cloud]}: gpus)" in changed


def test_what_the_gate_adds_is_in_the_state(cloud: str, tmp_path: Path) -> None:
    with gated_project(tmp_path, EKS if cloud == "aws" else AKS, cloud) as project:
        project.write(minimum=0, tainted=False)
        gated(project, "up", "--yes", "--skip-preview", config=REMEDIATE)
        (pool,) = [pool for pool in project.resources(POOLS[cloud]) if pool["urn"].endswith("::gpus")]
        place, taints = GROUP_TAINTS[cloud]
        assert pool["inputs"][place] == taints
        assert pool["inputs"][LABELS[cloud]] == {"team": "ml", "nvidia.com/gpu.present": "true"}
