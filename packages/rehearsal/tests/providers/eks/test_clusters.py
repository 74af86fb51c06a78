"""What EKS makes of clusters and their add-ons, who may use them, and whose rights their pods have."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from facts.catalog import of
from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import Created, Properties, ProviderError
from rehearsal.providers.eks import AwsProvider
from rehearsal.providers.eks.cluster import upgrade
from rehearsal.providers.eks.functions import FUNCTIONS
from rehearsal.providers.eks.rules import back_in_support, support_lasts, version_step
from rehearsal.providers.eks.system import ADDONS, workloads
from rehearsal.providers.fixtures import create_fixtures
from tests.stacks import GROUPS_ALONE_ON_EKS, POOLS_ALONE_ON_EKS


def test_without_nodes_an_addon_with_a_deployment_stays_degraded(amazon: eks.Amazon) -> None:
    amazon.cluster()
    dns = {"clusterName": "gpu-dev", "addonName": "coredns"}
    with pytest.raises(ProviderError, match=r"last state: 'DEGRADED'.*InsufficientNumberOfReplicas") as caught:
        amazon.create(eks.ADDON, dns)
    assert caught.value.partial is not None
    amazon.create(eks.ADDON, {"clusterName": "gpu-dev", "addonName": "vpc-cni"})
    amazon.admin_group()
    # The engine kept the add-on, and the next update resumes it.
    state = amazon.update(eks.ADDON, Created(caught.value.partial.id, {}, amazon.check(eks.ADDON, dns)), dns)
    assert state["addonVersion"].startswith("v1.")


def test_an_addons_pods_go_where_its_configuration_says(amazon: eks.Amazon) -> None:
    amazon.cluster()
    amazon.admin_group()
    values = '{"nodeSelector": {"gpucluster.dev/role": "admin"}}'
    amazon.create(eks.ADDON, {"clusterName": "gpu-dev", "addonName": "coredns", "configurationValues": values})
    deployment = next(each for each in amazon.fleet.applied if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["nodeSelector"] == {"gpucluster.dev/role": "admin"}


@pytest.mark.parametrize("pods", [*of("eks").nodes.system_pods, *of("eks").nodes.addon_pods], ids=lambda pod: pod.name)
def test_system_pods_request_what_settings_reserve(pods: Any) -> None:
    every = [each for name in ADDONS for each in workloads(name)]
    objects = [each for each in every if each["metadata"]["name"] == pods.name and "spec" in each]
    if pods.name in ("autoscaler", "node-reaper"):  # the program's own
        assert objects == []
        return
    spec = objects[0]["spec"]
    requests = [container["resources"]["requests"] for container in spec["template"]["spec"]["containers"]]
    replicas = spec.get("replicas", 1)
    assert replicas * sum(int(each.get("cpu", "0m")[:-1]) for each in requests) == pods.request.milli_cpu
    assert replicas * sum(int(each.get("memory", "0Mi")[:-2]) for each in requests) == pods.request.memory_mib


def test_an_addon_suits_the_clusters_version(amazon: eks.Amazon) -> None:
    amazon.cluster(version="1.34")
    proxy = {"clusterName": "gpu-dev", "addonName": "kube-proxy"}
    with pytest.raises(ProviderError, match=r"not supported: coredns v1\.34\.0-eksbuild\.4 on Kubernetes 1\.34"):
        amazon.create(eks.ADDON, {**proxy, "addonName": "coredns", "addonVersion": "v1.34.0-eksbuild.4"})
    for version in ("v1.35.0-eksbuild.4", "v1.30.0-eksbuild.4", "1.34"):
        with pytest.raises(ProviderError, match=rf"InvalidParameterException.*kube-proxy {version}"):
            amazon.create(eks.ADDON, {**proxy, "addonVersion": version})
    asked = {"addonName": "kube-proxy", "kubernetesVersion": "1.34"}
    default = FUNCTIONS["aws:eks/getAddonVersion:getAddonVersion"](amazon.account, asked)["version"]
    assert default.startswith("v1.34.")
    assert amazon.create(eks.ADDON, {**proxy, "addonVersion": default}).state["addonVersion"] == default


def test_an_addon_keeps_its_version_when_the_cluster_is_upgraded(amazon: eks.Amazon) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/updating-an-add-on.html: EKS updates none by itself."""
    old = amazon.cluster(version="1.34")
    proxy = {"clusterName": "gpu-dev", "addonName": "kube-proxy"}
    made = amazon.create(eks.ADDON, proxy)
    amazon.update(eks.CLUSTER, old, {**(old.inputs or {}), "version": "1.35"})
    assert amazon.update(eks.ADDON, made, {**proxy, "tags": {"a": "b"}})["addonVersion"] == made.state["addonVersion"]


def test_the_catalogue_counts_every_pod_that_an_addon_runs() -> None:
    """What jobs are offered of a node is less by these: one that is not counted makes a job wait for ever."""
    counted = {pod.name for pod in (*of("eks").nodes.system_pods, *of("eks").nodes.addon_pods)}
    for name in ADDONS:
        for each in workloads(name):
            if each["kind"] in ("DaemonSet", "Deployment"):
                containers = each["spec"]["template"]["spec"]["containers"]
                assert each["metadata"]["name"] in counted or not any(one["resources"] for one in containers)


def test_a_cluster_without_network_plugin_gets_no_node(amazon: eks.Amazon) -> None:
    amazon.cluster(bootstrapSelfManagedAddons=False)
    assert {each["kind"] for each in amazon.fleet.clusters["gpu-dev"]["system_objects"]} == {"StorageClass"}
    amazon.node_group()  # empty: nothing that could fail
    with pytest.raises(ProviderError, match=r"NodeCreationFailure.*cni plugin not initialized"):
        amazon.admin_group()


def test_a_cluster_has_its_own_addons_unless_it_declines_them(amazon: eks.Amazon) -> None:
    amazon.cluster()
    names = {each["metadata"]["name"] for each in amazon.fleet.clusters["gpu-dev"]["system_objects"]}
    assert {"aws-node", "kube-proxy", "coredns"} <= names


@cases
def test_a_private_control_plane_answers_inside_only_and_whom_a_security_group_admits(
    amazon: eks.Amazon, public: bool, inside: bool, admitted: list[list[int]], endpoint: str
) -> None:
    amazon.fleet.inside = inside
    subnets, role = amazon.network(), amazon.role("control-plane", "eks.amazonaws.com", "AmazonEKSClusterPolicy")
    access: dict[str, Any] = {"endpointPublicAccess": public, "endpointPrivateAccess": True}
    if admitted:
        rules = [
            {"protocol": "tcp", "fromPort": first, "toPort": last, "cidrBlocks": ["10.0.0.0/16"]}
            for first, last in admitted
        ]
        group = {"vpcId": subnets[0].state["vpcId"], "ingress": rules, "egress": []}
        access["securityGroupIds"] = [amazon.create(eks.SECURITY_GROUP, group).id]
    inputs = eks.cluster(role, subnets, vpcConfig={"subnetIds": [each.id for each in subnets], **access})
    assert amazon.create(eks.CLUSTER, inputs).state["endpoint"] == endpoint


def test_a_protected_cluster_stays(amazon: eks.Amazon) -> None:
    created = amazon.cluster(deletionProtection=True)
    with pytest.raises(ProviderError, match="deletion protection"):
        amazon.delete(eks.CLUSTER, created)
    inputs = {**(created.inputs or {}), "deletionProtection": False}
    amazon.update(eks.CLUSTER, created, inputs)
    amazon.delete(eks.CLUSTER, created)
    assert amazon.fleet.clusters == {}


@cases
def test_a_cluster_refers_to_what_fits(amazon: eks.Amazon, changes: Properties, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        amazon.cluster(**changes)


def test_subnets_of_a_cluster_are_in_two_zones_of_one_vpc(amazon: eks.Amazon) -> None:
    vpc = amazon.create(eks.VPC, {"cidrBlock": "10.0.0.0/16"})
    alike = [amazon.create(eks.SUBNET, eks.subnet(vpc.id, block=f"10.0.{index}.0/24")) for index in range(2)]
    role = amazon.role("control-plane", "eks.amazonaws.com")
    amazon.refuses(eks.CLUSTER, eks.cluster(role, alike), "at least two different AZs")
    other = amazon.create(eks.VPC, {"cidrBlock": "10.1.0.0/16"})
    far = amazon.create(eks.SUBNET, eks.subnet(other.id, "us-west-2b", "10.1.0.0/24"))
    amazon.refuses(eks.CLUSTER, eks.cluster(role, [alike[0], far]), "must be in one VPC")
    near = amazon.create(eks.SUBNET, eks.subnet(vpc.id, "us-west-2b", "10.0.7.0/24"))
    amazon.create(eks.CLUSTER, eks.cluster(role, [alike[0], near]))


def test_a_control_plane_stays_in_its_vpc(amazon: eks.Amazon) -> None:
    created = amazon.cluster()
    inputs = created.inputs or {}
    other = amazon.create(eks.VPC, {"cidrBlock": "10.1.0.0/16"}, "other")
    ids = [
        amazon.create(
            eks.SUBNET, eks.subnet(other.id, f"us-west-2{letter}", f"10.1.{number}.0/24"), f"moved {letter}"
        ).id
        for number, letter in enumerate("abc")
    ]
    with pytest.raises(ProviderError, match=f"are in {other.id}, but must be in vpc-"):
        amazon.update(eks.CLUSTER, created, {**inputs, "vpcConfig": {**inputs["vpcConfig"], "subnetIds": ids}})


def test_a_control_plane_stays_in_the_zones_that_it_was_made_in(amazon: eks.Amazon) -> None:
    created = amazon.cluster()
    inputs, a, b = created.inputs or {}, *amazon.subnets()[:2]
    vpc = next(each.id for type, each in amazon.made if type == eks.VPC)
    c, d = (
        amazon.create(eks.SUBNET, eks.subnet(vpc, f"us-west-2{letter}", f"10.0.{number}.0/24"), f"other {letter}").id
        for number, letter in ((8, "c"), (9, "d"))
    )
    for chosen in ([a, b], [a, b, d], [*amazon.subnets()[:3], d]):
        with pytest.raises(ProviderError, match=r"exact set of AZs 'us-west-2a,us-west-2b,us-west-2c'"):
            amazon.update(eks.CLUSTER, created, {**inputs, "vpcConfig": {**inputs["vpcConfig"], "subnetIds": chosen}})
    moved = {**inputs["vpcConfig"], "subnetIds": [a, b, c]}
    assert amazon.update(eks.CLUSTER, created, {**inputs, "vpcConfig": moved})["vpcConfig"]["subnetIds"] == [a, b, c]
    asked = {"name": "gpu-dev"}
    assert FUNCTIONS["aws:eks/getCluster:getCluster"](amazon.account, asked)["vpcConfig"]["subnetIds"] == [a, b, c]


GET_CLUSTER = "aws:eks/getCluster:getCluster"


def test_a_cluster_is_described_with_blocks_as_lists(amazon: eks.Amazon) -> None:
    amazon.cluster()
    answer = amazon.provider.invoke(GET_CLUSTER, {"name": "gpu-dev"})
    assert answer["status"] == "ACTIVE"
    assert answer["arn"].endswith(":cluster/gpu-dev")
    assert answer["endpoint"].startswith("https://")
    assert answer["certificateAuthorities"][0]["data"]
    assert answer["computeConfigs"] == [{"enabled": False}]
    assert answer["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-")


def test_one_that_is_not_there_cannot_be_found(amazon: eks.Amazon) -> None:
    with pytest.raises(ProviderError, match=r"reading EKS Cluster \(research\): couldn't find resource"):
        amazon.provider.invoke(GET_CLUSTER, {"name": "research"})


def test_a_preview_finds_the_node_group_whose_role_and_subnets_pools_take_over(tmp_path: Path) -> None:
    provider = AwsProvider(tmp_path, None)
    create_fixtures(GROUPS_ALONE_ON_EKS, provider)
    there = provider.instance()
    there.configure({"region": "us-west-2"})
    (name,) = there.invoke("aws:eks/getNodeGroups:getNodeGroups", {"clusterName": "research"})["names"]
    asked = {"clusterName": "research", "nodeGroupName": name}
    answer = there.invoke("aws:eks/getNodeGroup:getNodeGroup", asked)
    assert answer["nodeGroupName"] == "system"
    assert answer["nodeRoleArn"].endswith(":role/platform-nodes")
    zones = {there.invoke("aws:ec2/getSubnet:getSubnet", {"id": id})["availabilityZone"] for id in answer["subnetIds"]}
    assert "us-west-2a" in zones


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({"vpcSecurityGroupIds": ["sg-0000000a"]}, (["sg-0000000a"], [])),
        ({"networkInterfaces": [{"deviceIndex": 0, "securityGroups": ["sg-0000000b"]}]}, ([], [["sg-0000000b"]])),
    ],
)
def test_a_launch_template_is_answered_with_its_security_groups(
    amazon: eks.Amazon, inputs: dict[str, Any], expected: tuple[list[str], list[list[str]]]
) -> None:
    made = amazon.create("aws:ec2/launchTemplate:LaunchTemplate", {"name": "nodes", **inputs})
    answer = amazon.provider.invoke("aws:ec2/getLaunchTemplate:getLaunchTemplate", {"id": made.id})
    interfaces = [each["securityGroups"] for each in answer["networkInterfaces"]]
    assert (answer["vpcSecurityGroupIds"], interfaces) == expected


@pytest.mark.parametrize("with_cluster", [True, False])
def test_a_preview_finds_the_cluster_that_a_stack_names_where_nobody_answers(
    tmp_path: Path, with_cluster: bool
) -> None:
    provider = AwsProvider(tmp_path, None)
    create_fixtures(POOLS_ALONE_ON_EKS, provider, with_cluster=with_cluster)
    if with_cluster:
        there = provider.instance()
        there.configure({"region": "us-west-2"})
        answer = there.invoke(GET_CLUSTER, {"name": "research"})
        assert (answer["endpoint"], answer["status"]) == ("https://127.0.0.1:9", "ACTIVE")
    else:
        assert provider.inventory() == []


def test_a_control_plane_climbs_one_minor_version_at_a_time(amazon: eks.Amazon) -> None:
    created = amazon.cluster(version="1.33")
    inputs = created.inputs or {}
    for version in ("1.35", "1.32"):
        with pytest.raises(ProviderError, match=f"Unsupported Kubernetes minor version update from 1.33 to {version}"):
            amazon.update(eks.CLUSTER, created, {**inputs, "version": version})
    assert amazon.update(eks.CLUSTER, created, {**inputs, "version": "1.34"})["version"] == "1.34"


def test_extended_support_is_left_with_a_newer_version(amazon: eks.Amazon) -> None:
    created = amazon.cluster(version="1.32", upgradePolicy={"supportType": "EXTENDED"})
    with pytest.raises(ProviderError, match="in extended support since 2026-03-23"):
        amazon.update(eks.CLUSTER, created, {**(created.inputs or {}), "upgradePolicy": {"supportType": "STANDARD"}})
    support = of("eks").choices.supported["1.35"]
    days = {date(2027, 3, 26): False, date(2027, 3, 27): True}
    assert {day: support_lasts(support, "EXTENDED", "STANDARD", day) is not None for day in days} == days
    assert support_lasts(support, "STANDARD", "STANDARD", date(2027, 3, 27)) is None


def test_a_control_plane_leaves_no_nodes_more_than_three_minors_behind(amazon: eks.Amazon) -> None:
    created = amazon.cluster(version="1.32")
    inputs = created.inputs or {}
    amazon.node_group(version="1.32")
    for version in ("1.33", "1.34", "1.35"):
        amazon.update(eks.CLUSTER, created, {**inputs, "version": version})
    with pytest.raises(ProviderError, match=r"Nodegroup t4-1 is of version 1\.32, more than 3 minor versions behind"):
        amazon.update(eks.CLUSTER, created, {**inputs, "version": "1.36"})


def test_a_control_plane_goes_one_minor_back_soon_after_it_was_upgraded_in_place(amazon: eks.Amazon) -> None:
    created = amazon.cluster(version="1.33")
    upgrade(amazon.account, "gpu-dev", "1.34")
    read = amazon.read(eks.CLUSTER, created.id, created.inputs)
    assert (read.state["version"], (read.inputs or {})["version"]) == ("1.34", "1.34")
    assert amazon.update(eks.CLUSTER, read, {**(created.inputs or {}), "version": "1.33"})["version"] == "1.33"


def test_a_version_is_sent_if_the_stacks_state_has_another_and_refused_if_the_control_plane_has_it(
    amazon: eks.Amazon,
) -> None:
    created = amazon.cluster(version="1.33")
    same = created.inputs or {}
    upgrade(amazon.account, "gpu-dev", "1.34")
    assert amazon.update(eks.CLUSTER, created, {**same, "deletionProtection": False})["version"] == "1.34"
    with pytest.raises(ProviderError, match=r"Unsupported Kubernetes minor version update from 1\.34 to 1\.34"):
        amazon.update(eks.CLUSTER, created, {**same, "version": "1.34"})
    refreshed = amazon.read(eks.CLUSTER, created.id, same)
    assert amazon.update(eks.CLUSTER, refreshed, {**same, "version": "1.34"})["version"] == "1.34"


def test_nodes_follow_a_control_plane_that_somebody_else_upgraded(amazon: eks.Amazon) -> None:
    amazon.cluster(version="1.33")
    group = amazon.node_group(version="1.33")
    upgrade(amazon.account, "gpu-dev", "1.34")
    assert amazon.update(eks.NODE_GROUP, group, {**(group.inputs or {}), "version": "1.34"})["version"] == "1.34"
    made = amazon.create(eks.NODE_GROUP, amazon.group_inputs(nodeGroupName="t4-2"))
    assert made.state["version"] == "1.34"
    with pytest.raises(ProviderError, match=r"Nodes of version 1\.35 are newer than the control plane's 1\.34"):
        amazon.update(eks.NODE_GROUP, group, {**(group.inputs or {}), "version": "1.35"})


def test_a_control_plane_goes_back_into_extended_support_by_that_policy_alone(amazon: eks.Amazon) -> None:
    created = amazon.cluster(version="1.32", upgradePolicy={"supportType": "STANDARD"})
    back = {**(created.inputs or {}), "version": "1.32"}
    amazon.update(eks.CLUSTER, created, {**back, "version": "1.33"})
    upgraded = amazon.read(eks.CLUSTER, created.id, back)
    extended = {**back, "upgradePolicy": {"supportType": "EXTENDED"}}
    for each in (back, extended):
        with pytest.raises(
            ProviderError, match=r"Kubernetes 1\.32 is in extended support since 2026-03-23: set the upgrade"
        ):
            amazon.update(eks.CLUSTER, upgraded, each)
    amazon.update(eks.CLUSTER, upgraded, {**extended, "version": "1.33"})
    assert amazon.update(eks.CLUSTER, upgraded, extended)["version"] == "1.32"
    support = of("eks").choices.supported["1.35"]
    days = {support.extended - timedelta(days=1): False, support.extended: True}
    assert {day: back_in_support(support, "1.35", "STANDARD", day) is not None for day in days} == days


def test_a_control_plane_goes_back_once_and_never_under_newer_nodes(amazon: eks.Amazon) -> None:
    created = amazon.cluster(version="1.33")
    back = {**(created.inputs or {}), "version": "1.33"}
    amazon.update(eks.CLUSTER, created, {**back, "version": "1.34"})
    upgraded = amazon.read(eks.CLUSTER, created.id, back)
    group = amazon.node_group(version="1.34")
    with pytest.raises(ProviderError, match=r"Nodegroup t4-1 is of version 1\.34, newer than 1\.33"):
        amazon.update(eks.CLUSTER, upgraded, back)
    amazon.delete(eks.NODE_GROUP, group)
    amazon.update(eks.CLUSTER, upgraded, back)
    with pytest.raises(ProviderError, match=r"update from 1\.33 to 1\.32"):
        amazon.update(eks.CLUSTER, created, {**back, "version": "1.32"})


def test_a_control_plane_becomes_private_and_keeps_the_ranges_that_it_had(amazon: eks.Amazon) -> None:
    created = amazon.cluster()
    inputs = created.inputs or {}
    subnets, ranges = (inputs["vpcConfig"][key] for key in ("subnetIds", "publicAccessCidrs"))
    private = {"subnetIds": subnets, "endpointPrivateAccess": True, "endpointPublicAccess": False}
    changed = {**inputs, "vpcConfig": private}
    assert amazon.update(eks.CLUSTER, created, changed)["vpcConfig"]["publicAccessCidrs"] == ranges
    # The stack's state still has the public one, as if somebody else had closed it.
    words = "already at the desired configuration with endpointPrivateAccess: true , endpointPublicAccess: false, and"
    with pytest.raises(ProviderError, match=words):
        amazon.update(eks.CLUSTER, created, changed)


@pytest.mark.parametrize(
    ("days", "refused"), [(timedelta(days=7), False), (timedelta(days=7, seconds=1), True), (None, True)]
)
def test_it_does_so_for_seven_days(days: timedelta | None, refused: bool) -> None:
    assert (version_step("1.34", "1.33", days) is not None) is refused
    assert version_step("1.35", "1.33", days) is not None
    assert version_step("1.34", "1.35", days) is None


def test_a_cluster_makes_its_log_group_unless_there_is_one(amazon: eks.Amazon) -> None:
    amazon.cluster(enabledClusterLogTypes=["api"])
    amazon.refuses(eks.LOG_GROUP, {"name": "/aws/eks/gpu-dev/cluster"}, "ResourceAlreadyExists")


def test_access_entries_need_the_mode_and_policies_need_an_entry(amazon: eks.Amazon) -> None:
    amazon.cluster(accessConfig={"authenticationMode": "CONFIG_MAP", "bootstrapClusterCreatorAdminPermissions": True})
    entry = {"clusterName": "gpu-dev", "principalArn": "arn:aws:iam::123456789012:role/ops"}
    amazon.refuses(eks.ENTRY, entry, "authentication mode must be set")
    arn = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
    with pytest.raises(ProviderError, match="could not be found"):
        amazon.create(eks.POLICY_ASSOCIATION, {**entry, "policyArn": arn, "accessScope": {"type": "cluster"}})


def test_a_service_account_has_one_identity(amazon: eks.Amazon) -> None:
    amazon.cluster()
    role = amazon.role("scaler", "pods.eks.amazonaws.com")
    where = {"clusterName": "gpu-dev", "namespace": "kube-system", "serviceAccount": "cluster-autoscaler"}
    created = amazon.create(eks.POD_IDENTITY, {**where, "roleArn": role.state["arn"]})
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "cluster-autoscaler") == role.state["arn"]
    assert amazon.account.pod_identity("gpu-dev", "default", "cluster-autoscaler") is None
    amazon.refuses(eks.POD_IDENTITY, {**where, "roleArn": role.state["arn"]}, "Association already exists")
    amazon.delete(eks.POD_IDENTITY, created)
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "cluster-autoscaler") is None


def test_an_addon_brings_identities_for_its_own_service_accounts(amazon: eks.Amazon) -> None:
    amazon.cluster()
    role = amazon.role("cni", "pods.eks.amazonaws.com")
    association = {"serviceAccount": "aws-node", "roleArn": role.state["arn"]}
    inputs = {"clusterName": "gpu-dev", "addonName": "vpc-cni", "podIdentityAssociations": [association]}
    amazon.create(eks.ADDON, inputs)
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "aws-node") == role.state["arn"]
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "other") is None


def test_an_association_needs_a_role_that_pod_identity_may_assume(amazon: eks.Amazon) -> None:
    amazon.cluster()
    of_nodes = amazon.role("other", "ec2.amazonaws.com").state["arn"]
    where = {"clusterName": "gpu-dev", "namespace": "kube-system", "serviceAccount": "cluster-autoscaler"}
    amazon.refuses(eks.POD_IDENTITY, {**where, "roleArn": of_nodes}, "Trust policy of the role provided is invalid")
    association = {"serviceAccount": "aws-node", "roleArn": of_nodes}
    addon = {"clusterName": "gpu-dev", "addonName": "vpc-cni", "podIdentityAssociations": [association]}
    amazon.refuses(eks.ADDON, addon, "Trust policy of the role provided is invalid")


def test_a_deleted_key_cannot_encrypt_a_cluster(amazon: eks.Amazon) -> None:
    key = amazon.create(eks.KEY, {"deletionWindowInDays": 7})
    amazon.delete(eks.KEY, key)
    assert amazon.read(eks.KEY, key.id, key.inputs).id == ""
    encryption = {"provider": {"keyArn": key.state["arn"]}, "resources": ["secrets"]}
    with pytest.raises(ProviderError, match="disabled"):
        amazon.cluster(encryptionConfig=encryption)
