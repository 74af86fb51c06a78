"""The EKS cluster: who reaches it, what encrypts it, who may do what, and in which order things come and go."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pytest

from components.clouds.eks import identity
from components.settings import load
from components.settings.sections.cluster import AuthorizedNetworkSetting
from tests import eks_answers, recorder
from tests.components import eks_specs, specs
from tests.components.settings.test_clouds import own_keys

CLUSTER = "aws:eks/cluster:Cluster"
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
KEY = "arn:aws:kms:us-west-2:123456789012:key/0123"
VPN = AuthorizedNetworkSetting(name="vpn", cidr="10.99.0.0/16")


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws")


@recorder.remembered
def run_cluster(**changes: Any) -> recorder.Recording:
    return recorder.run(specs.declare_cluster(eks_specs.cluster_settings(**changes)))


@pytest.fixture
def existing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The account has the cluster already; no node groups."""
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getClusters:getClusters", {"names": ["gpu-test"]})
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getNodeGroups:getNodeGroups", {"names": []})


def test_a_new_cluster_that_nobody_could_reach_is_refused_with_the_way_there() -> None:
    with pytest.raises(pulumi.RunError, match=r"network\.privateEndpoint: .*first `pulumi up`.*privateEndpoint: true"):
        run_cluster(private_endpoint=True, authorized_networks=(VPN,))


@pytest.mark.usefixtures("existing")
@pytest.mark.parametrize(
    ("written", "cidr", "description"),
    [
        ((VPN,), "10.99.0.0/16", "vpn"),
        # No description takes every character.
        ((AuthorizedNetworkSetting(name="Ann's \u2013 home", cidr="10.99.0.0/16"),), "10.99.0.0/16", "Ann-s - home"),
        ((), "10.0.0.0/16", "the network"),
    ],
)
def test_a_private_endpoint_is_reached_from_the_written_networks_or_else_from_its_own(
    written: tuple[AuthorizedNetworkSetting, ...], cidr: str, description: str
) -> None:
    recording = run_cluster(private_endpoint=True, authorized_networks=written)
    network = recording.only(CLUSTER).inputs["vpcConfig"]
    assert network["endpointPublicAccess"] is False
    assert "publicAccessCidrs" not in network
    groups = {f"{one.name}-id": one.inputs for one in recording.of_type("aws:ec2/securityGroup:SecurityGroup")}
    (group,) = network["securityGroupIds"]
    (rule,) = groups[group]["ingress"]
    assert (rule["cidrBlocks"], rule["fromPort"], rule["toPort"]) == ([cidr], 443, 443)
    assert rule["description"] == description


def test_every_log_of_the_control_plane_is_kept_for_a_while() -> None:
    recording = run_cluster()
    cluster, logs = recording.only(CLUSTER), recording.only(LOG_GROUP)
    every = {"api", "audit", "authenticator", "controllerManager", "scheduler"}
    assert set(cluster.inputs["enabledClusterLogTypes"]) == every
    assert logs.inputs["name"] == f"/aws/eks/{cluster.inputs['name']}/cluster"
    assert logs.inputs["retentionInDays"] == 30
    assert logs.urn in cluster.depends_on


def test_a_company_chooses_logs_and_how_long_they_are_retained() -> None:
    config = own_keys("eks", monitoring={"controlPlaneLogs": ["audit"], "controlPlaneLogDays": 365})
    settings = load(config, stack="one", project="us-west-2")
    chosen = {"control_plane_logs": settings.control_plane_logs, "control_plane_log_days": 365}
    assert settings.control_plane_log_days == 365
    recording = run_cluster(**chosen)
    assert recording.only(CLUSTER).inputs["enabledClusterLogTypes"] == ["audit"]
    assert recording.only("aws:cloudwatch/logGroup:LogGroup").inputs["retentionInDays"] == 365
    assert len(load(own_keys("eks"), stack="one", project="us-west-2").control_plane_logs) == 5


@pytest.mark.parametrize("key", [None, KEY])
def test_secrets_are_in_an_envelope_of_the_written_key_or_one_of_the_clusters_own(key: str | None) -> None:
    recording = run_cluster(kms_key=key)
    cluster, own = recording.only(CLUSTER), recording.of_type("aws:kms/key:Key")
    encryption = cluster.inputs["encryptionConfig"]
    assert encryption["resources"] == ["secrets"]
    assert [one.inputs["enableKeyRotation"] for one in own] == ([] if key else [True])
    arn = encryption["provider"]["keyArn"]
    assert arn == key if key else arn.endswith(own[0].name)
    # The control plane may use it before it exists.
    (use,) = [one for one in recording.of_type(ROLE_POLICY) if one.inputs["name"] == "secrets-key"]
    (statement,) = json.loads(use.inputs["policy"])["Statement"]
    assert statement["Resource"] == arn
    assert use.urn in cluster.depends_on


def test_every_role_is_assumed_by_one_service_and_by_pods_with_the_tags_of_their_session() -> None:
    roles = eks_specs.everything().of_type(ROLE)
    trusted = {one.inputs["name"].removeprefix("gpu-test-"): eks_specs.trusted_by(one) for one in roles}
    assert trusted.pop("control-plane") == ("eks.amazonaws.com", ["sts:AssumeRole"])
    assert trusted.pop("nodes") == ("ec2.amazonaws.com", ["sts:AssumeRole"])
    assert trusted
    assert all(each == ("pods.eks.amazonaws.com", ["sts:AssumeRole", "sts:TagSession"]) for each in trusted.values())


@pytest.mark.parametrize("name", ["gpu-dev", "a" * 49, "a" * 50, "g" + "p" * 62])
@pytest.mark.parametrize("purpose", ["nodes", "karpenter-nodes", "amazon-cloudwatch-observability"])
def test_a_roles_name_is_one_that_iam_accepts(name: str, purpose: str) -> None:
    made = identity.role_name(name, purpose)
    assert len(made) <= 64
    assert made.endswith(f"-{purpose}")


PROFILE = {"aws:profile": "team-a"}
ROLE_OF_CI = "arn:aws:iam::123456789012:role/ci"
ONE_ROLE = {"aws:assumeRoles": json.dumps([{"roleArn": ROLE_OF_CI}])}


@pytest.mark.parametrize(
    ("config", "profile", "role"),
    [
        ({}, None, None),
        (PROFILE, "team-a", None),
        (ONE_ROLE, None, ROLE_OF_CI),
        (PROFILE | ONE_ROLE, "team-a", ROLE_OF_CI),
    ],
)
def test_the_kubeconfig_logs_in_as_providers_do(config: dict[str, str], profile: str | None, role: str | None) -> None:
    recording = recorder.run(specs.declare_cluster(eks_specs.cluster_settings()), config=config)
    (outputs,) = [values for urn, values in recording.outputs.items() if urn.endswith("::cluster")]
    plugin = json.loads(outputs["kubeconfig"])["users"][0]["user"]["exec"]
    assert plugin.get("env") == ([{"name": "AWS_PROFILE", "value": profile}] if profile else None)
    assert ("--role-arn" in plugin["args"]) is (role is not None)
    assert role is None or plugin["args"][-1] == role


def test_a_chain_of_roles_is_refused() -> None:
    chain = {"aws:assumeRoles": json.dumps([{"roleArn": ROLE_OF_CI}, {"roleArn": ROLE_OF_CI}])}
    with pytest.raises(pulumi.RunError, match="aws:assumeRoles: 2 roles"):
        recorder.run(specs.declare_cluster(eks_specs.cluster_settings()), config=chain)


LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
OURS = "/aws/eks/gpu-test/cluster"


@pytest.mark.parametrize(
    ("exist", "cluster", "taken_over"), [(True, False, True), (False, False, False), (True, True, False)]
)
def test_a_group_that_an_earlier_cluster_left_is_taken_over(
    monkeypatch: pytest.MonkeyPatch, exist: bool, cluster: bool, taken_over: bool
) -> None:
    answers = {
        "aws:cloudwatch/getLogGroups:getLogGroups": {"logGroupNames": [OURS] if exist else [f"{OURS}-of-another"]},
        "aws:eks/getClusters:getClusters": {"names": ["gpu-test"] if cluster else []},
        "aws:eks/getNodeGroups:getNodeGroups": {"names": []},
    }
    for token, answer in answers.items():
        monkeypatch.setitem(eks_answers.CALLS, token, answer)
    recording = eks_specs.run()
    group = recording.only(LOG_GROUP)
    assert group.imported == (OURS if taken_over else "")
    # What is taken over has to be as it is declared, or the engine refuses it.
    assert set(group.ignore_changes) == ({"retentionInDays", "tags"} if taken_over else set())
    assert group.urn in recording.only(CLUSTER).depends_on
