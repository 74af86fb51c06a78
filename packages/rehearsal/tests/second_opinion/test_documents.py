"""What a stack declares, in the spelling that Checkov reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from policies.readers.resource import Declared
from rehearsal.second_opinion.documents import documents, terraform_type


def declared(token: str, **properties: Any) -> Declared:
    return Declared(token, "one", f"urn:pulumi:dev::p::{token}::one", properties)


@pytest.mark.parametrize(
    ("token", "type"),
    [
        ("gcp:container/nodePool:NodePool", "google_container_node_pool"),
        ("gcp:compute/routerNat:RouterNat", "google_compute_router_nat"),
        ("gcp:projects/iAMMember:IAMMember", "google_project_iam_member"),
        ("gcp:serviceaccount/account:Account", "google_service_account"),
        ("gcp:storage/bucket:Bucket", "google_storage_bucket"),
        ("aws:eks/nodeGroup:NodeGroup", "aws_eks_node_group"),
        ("aws:ec2/securityGroup:SecurityGroup", "aws_security_group"),
        ("aws:iam/rolePolicy:RolePolicy", "aws_iam_role_policy"),
        ("aws:cloudwatch/logGroup:LogGroup", "aws_cloudwatch_log_group"),
    ],
)
def test_a_type_has_terraforms_name(token: str, type: str) -> None:
    assert terraform_type(token) == type


def test_an_object_is_a_block_and_a_users_keys_stay() -> None:
    pool = declared(
        "gcp:container/nodePool:NodePool",
        nodeConfig={"machineType": "n1-standard-4", "shieldedInstanceConfig": {"enableSecureBoot": True}},
        cluster=UNKNOWN,
        resourceLabels={"costCenter": "7"},
        nodeLocations=["us-central1-a", UNKNOWN],
    )
    (change,) = json.loads(documents([pool])["plan.json"])["resource_changes"]
    assert change["change"]["after"] == {
        "node_config": [{"machine_type": "n1-standard-4", "shielded_instance_config": [{"enable_secure_boot": True}]}],
        "resource_labels": {"costCenter": "7"},
        "node_locations": ["us-central1-a"],
    }


def test_each_kind_of_resource_has_its_file() -> None:
    assert documents([]) == {}
    files = documents(
        [
            declared("azure-native:containerservice:AgentPool", maxPods=110),
            declared("kubernetes:core/v1:ConfigMap", apiVersion="v1", kind="ConfigMap", data={"a": "b"}),
            declared("kubernetes:helm.sh/v3:Release", chart="keda"),
            declared("pulumi:providers:kubernetes", kubeconfig="x"),
        ]
    )
    assert sorted(files) == ["objects.yaml", "template.json"]
    (resource,) = json.loads(files["template.json"])["resources"]
    assert resource["type"] == "Microsoft.ContainerService/managedClusters/agentPools"
    assert resource["properties"] == {"maxPods": 110}
    (object,) = yaml.safe_load_all(files["objects.yaml"])
    assert object["metadata"] == {"name": "one"}
