"""What a stack declares, as Checkov reads it; a finding is answered for its check and resource, until a day."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from policies.readers.resource import Declared
from proof.second_opinion.findings import (
    Answer,
    ScannerFailed,
    ScannerFinding,
    answers,
    documents,
    opinion,
    scan,
    terraform_type,
    unanswered,
)


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


TODAY = date(2026, 11, 25)
FINDING = ScannerFinding("CKV_GCP_26", "google_compute_subnetwork.cluster-subnetwork", "flow logs")


def answer(check: str = "CKV_GCP_26", resources: str = "google_compute_subnetwork.*", ends: date = TODAY) -> Answer:
    return Answer(check, resources, "they cost money", ends)


@pytest.mark.parametrize(
    ("known", "left"),
    [
        ([answer()], []),
        ([], [FINDING]),
        ([answer(check="CKV_GCP_27")], [FINDING]),
        ([answer(resources="google_compute_network.*")], [FINDING]),
        ([answer(ends=date(2026, 11, 24))], [FINDING]),
    ],
)
def test_a_finding_is_open_unless_its_own_answer_still_holds(known: list[Answer], left: list[ScannerFinding]) -> None:
    assert unanswered([FINDING], known, TODAY) == left


def test_every_committed_answer_has_a_reason_and_ends_within_two_years() -> None:
    known = answers()
    assert len(known) == len({(each.check, each.resources) for each in known}) > 50
    assert [each for each in known if len(each.why) < 15 or each.ends > date(2028, 11, 25)] == []


def test_reports_are_read_together() -> None:
    failed = [{"check_id": FINDING.check, "resource": FINDING.resource, "check_name": FINDING.title}]
    report = {"summary": {"passed": 3}, "results": {"failed_checks": failed}}
    read = opinion(json.dumps([report, {"summary": {"passed": 4}, "results": {"failed_checks": []}}]))
    assert (read.passed, read.findings) == (7, (FINDING,))
    assert opinion(json.dumps(report)).passed == 3


def test_a_scanner_without_a_result_is_no_pass(tmp_path: Path) -> None:
    scanner = tmp_path / "checkov"
    scanner.write_text("#!/bin/sh\necho 'no such option' >&2\nexit 2\n")
    scanner.chmod(0o755)
    with pytest.raises(ScannerFailed, match="no such option"):
        scan(scanner, {"plan.json": "{}"})
