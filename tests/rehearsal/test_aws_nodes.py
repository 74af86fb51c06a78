"""What EKS makes of clusters, add-ons and node groups: machines, labels, tags, and what it refuses once they exist."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.catalog import of
from rehearsal.providers.aws.groups import Groups
from rehearsal.providers.base import Created, Properties, ProviderError
from tests.rehearsal.amazon import (
    ADDON,
    ASG_TAG,
    CLUSTER,
    ENTRY,
    INTERNET_GATEWAY,
    KEY,
    LOG_GROUP,
    NAT,
    NODE_GROUP,
    POD_IDENTITY,
    POLICY_ASSOCIATION,
    ROLE,
    SUBNET,
    TEMPLATE,
    VPC,
    Amazon,
    cluster,
    cpu_group,
    subnet,
)


@pytest.fixture
def amazon(tmp_path: Path) -> Iterator[Amazon]:
    amazon = Amazon(tmp_path)
    yield amazon
    amazon.stop()


def asg_of(amazon: Amazon, group: Created) -> dict[str, Any]:
    name = group.state["resources"][0]["autoscalingGroups"][0]["name"]
    answer = amazon.account.call("autoscaling", "DescribeAutoScalingGroups", AutoScalingGroupNames=[name])
    found: dict[str, Any] = answer["AutoScalingGroups"][0]
    return found


def admin_group(amazon: Amazon, **changes: Any) -> Created:
    return amazon.create(
        NODE_GROUP, {**amazon.group_inputs(), **cpu_group([])} | {"subnetIds": subnets(amazon), **changes}
    )


def subnets(amazon: Amazon) -> list[str]:
    return [created.id for type_, created in amazon.made if type_ == SUBNET]


def test_a_node_groups_tags_stay_off_its_auto_scaling_group(amazon: Amazon) -> None:
    amazon.cluster()
    tags = {tag["Key"]: tag["Value"] for tag in asg_of(amazon, amazon.node_group())["Tags"]}
    assert "cost" not in tags
    assert tags["eks:nodegroup-name"] == "t4-1"
    assert tags["k8s.io/cluster-autoscaler/gpu-dev"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/enabled"] == "true"


def test_a_declared_tag_is_on_the_auto_scaling_group(amazon: Amazon) -> None:
    amazon.cluster()
    group = amazon.node_group()
    asg = asg_of(amazon, group)["AutoScalingGroupName"]
    tag = {"key": "k8s.io/cluster-autoscaler/node-template/label/team", "value": "a", "propagateAtLaunch": False}
    created = amazon.create(ASG_TAG, {"autoscalingGroupName": asg, "tag": tag})
    amazon.update(ASG_TAG, created, {"autoscalingGroupName": asg, "tag": {**tag, "value": "b"}})
    assert {each["Key"]: each["Value"] for each in asg_of(amazon, group)["Tags"]}[tag["key"]] == "b"
    with pytest.raises(ProviderError, match="not found"):
        amazon.create(ASG_TAG, {"autoscalingGroupName": "eks-none", "tag": tag})


def test_a_gpu_node_has_what_was_declared_and_eks_labels(amazon: Amazon) -> None:
    amazon.cluster()
    amazon.node_group()
    (group,) = Groups(amazon.account).list()
    machine, catalogued = group.base.machine, of("eks").machine("g4dn.xlarge")
    assert catalogued is not None
    assert (machine.type, machine.gpus, machine.cpu) == ("g4dn.xlarge", 1, catalogued.vcpus)
    left = of("eks").allocatable(catalogued)
    assert machine.reserved_milli_cpu == 1000 * catalogued.vcpus - left.milli_cpu
    assert group.base.taints == ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},)
    assert group.base.labels["eks.amazonaws.com/nodegroup"] == "t4-1"
    assert group.base.labels["eks.amazonaws.com/capacityType"] == "SPOT"
    assert group.base.labels["node.kubernetes.io/instance-type"] == "g4dn.xlarge"
    assert group.base.labels["team"] == "vision"
    assert group.base.zones == ("us-west-2a", "us-west-2b", "us-west-2c")
    assert group.base.spot
    assert not group.base.autoscaled
    assert (group.min_size, group.max_size, group.desired) == (0, 4, 0)
    assert (dict(group.labels), dict(group.nodegroup_tags)) == ({"team": "vision"}, {"cost": "research"})


def test_no_gpu_taint_unless_it_is_declared(amazon: Amazon) -> None:
    amazon.cluster()
    amazon.node_group(taints=[])
    assert Groups(amazon.account).list()[0].base.taints == ()


@pytest.mark.parametrize(
    ("ami", "types", "by"),
    [
        ("AL2023_x86_64_NVIDIA", ["g4dn.xlarge"], "device-plugin"),
        ("BOTTLEROCKET_x86_64_NVIDIA", ["g4dn.xlarge"], "cloud"),
        ("AL2023_x86_64_STANDARD", ["g4dn.xlarge"], "daemonset"),
        ("AL2023_x86_64_STANDARD", ["m6i.large"], "cloud"),
    ],
)
def test_who_advertises_the_gpus_is_the_images_doing(amazon: Amazon, ami: str, types: list[str], by: str) -> None:
    amazon.cluster()
    amazon.node_group(amiType=ami, instanceTypes=types)
    assert Groups(amazon.account).list()[0].base.gpus_advertised_by == by


def test_a_group_with_nodes_gets_them_at_once(amazon: Amazon) -> None:
    amazon.cluster()
    admin_group(amazon)
    assert amazon.fleet.groups["admin"].min_nodes == 2
    assert len(asg_of(amazon, amazon.made[-1][1])["Instances"]) == 2


def test_a_group_changes_in_place(amazon: Amazon) -> None:
    amazon.cluster()
    group = amazon.node_group()
    changed = amazon.group_inputs(
        labels={"team": "speech"},
        taints=[{"key": "nvidia.com/gpu", "value": "yes", "effect": "NO_SCHEDULE"}],
        scalingConfig={"minSize": 1, "maxSize": 6, "desiredSize": 1},
        tags={"cost": "sales"},
    )
    state = amazon.update(NODE_GROUP, group, changed)
    assert state["labels"] == {"team": "speech"}
    found = amazon.account.call("eks", "DescribeNodegroup", clusterName="gpu-dev", nodegroupName="t4-1")["nodegroup"]
    assert (found["labels"], found["tags"]) == ({"team": "speech"}, {"cost": "sales"})
    assert [taint["value"] for taint in found["taints"]] == ["yes"]
    asg = asg_of(amazon, group)
    assert (asg["MinSize"], asg["MaxSize"], asg["DesiredCapacity"]) == (1, 6, 1)
    assert amazon.fleet.groups["t4-1"].labels["team"] == "speech"


def test_a_refresh_sees_the_size_that_the_group_has(amazon: Amazon) -> None:
    amazon.cluster()
    group = amazon.node_group()
    name = asg_of(amazon, group)["AutoScalingGroupName"]
    amazon.account.call("autoscaling", "SetDesiredCapacity", AutoScalingGroupName=name, DesiredCapacity=3)
    found = amazon.read(NODE_GROUP, group.id, group.inputs).inputs
    assert found is not None
    assert found["scalingConfig"]["desiredSize"] == 3


def test_subscribers_hear_of_groups(amazon: Amazon) -> None:
    heard: list[str] = []
    groups = Groups(amazon.account)
    groups.subscribe(lambda: heard.append("changed"))
    groups.changed()
    assert heard == ["changed"]


def test_a_new_version_of_a_launch_template(amazon: Amazon) -> None:
    inputs = {"name": "gpu", "updateDefaultVersion": True, "metadataOptions": {"httpTokens": "optional"}}
    template = amazon.create(TEMPLATE, inputs)
    assert template.state["latestVersion"] == 1
    hardened = {**inputs, "metadataOptions": {"httpTokens": "required"}}
    preview = amazon.update(TEMPLATE, template, hardened, preview=True)
    assert repr(preview["latestVersion"]) == "UNKNOWN"
    assert amazon.update(TEMPLATE, template, {**inputs, "tags": {"a": "b"}}, preview=True)["latestVersion"] == 1
    state = amazon.update(TEMPLATE, template, hardened)
    assert (state["latestVersion"], state["defaultVersion"]) == (2, 2)
    answer = amazon.account.call("ec2", "DescribeLaunchTemplateVersions", LaunchTemplateId=template.id, Versions=["2"])
    data = answer["LaunchTemplateVersions"][0]["LaunchTemplateData"]
    assert data["MetadataOptions"]["HttpTokens"] == "required"


def test_without_nodes_an_addon_with_a_deployment_stays_degraded(amazon: Amazon) -> None:
    amazon.cluster()
    dns = {"clusterName": "gpu-dev", "addonName": "coredns"}
    with pytest.raises(ProviderError, match=r"last state: 'DEGRADED'.*InsufficientNumberOfReplicas") as caught:
        amazon.create(ADDON, dns)
    assert caught.value.partial is not None
    amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "vpc-cni"})
    admin_group(amazon)
    # The engine kept the add-on, and the next update resumes it.
    state = amazon.update(ADDON, Created(caught.value.partial.id, {}, amazon.check(ADDON, dns)), dns)
    assert state["addonVersion"].startswith("v1.")


def test_an_addons_pods_go_where_its_configuration_says(amazon: Amazon) -> None:
    amazon.cluster()
    admin_group(amazon)
    values = '{"nodeSelector": {"gpucluster.dev/role": "admin"}}'
    amazon.create(ADDON, {"clusterName": "gpu-dev", "addonName": "coredns", "configurationValues": values})
    deployment = next(each for each in amazon.fleet.applied if each["kind"] == "Deployment")
    assert deployment["spec"]["template"]["spec"]["nodeSelector"] == {"gpucluster.dev/role": "admin"}


@pytest.mark.parametrize("pods", of("eks").system_pods(), ids=lambda pod: pod.name)
def test_system_pods_request_what_settings_reserve(pods: Any) -> None:
    from rehearsal.providers.aws.system import ADDONS, workloads

    every = [each for name in ADDONS for each in workloads(name)]
    objects = [each for each in every if each["metadata"]["name"] == pods.name and "spec" in each]
    if pods.name == "cluster-autoscaler":  # the program's own
        assert objects == []
        return
    spec = objects[0]["spec"]
    requests = [container["resources"]["requests"] for container in spec["template"]["spec"]["containers"]]
    replicas = spec.get("replicas", 1)
    assert replicas * sum(int(each.get("cpu", "0m")[:-1]) for each in requests) == pods.request.milli_cpu
    assert replicas * sum(int(each.get("memory", "0Mi")[:-2]) for each in requests) == pods.request.memory_mib


def test_a_cluster_without_network_plugin_gets_no_node(amazon: Amazon) -> None:
    amazon.cluster(bootstrapSelfManagedAddons=False)
    assert amazon.fleet.clusters["gpu-dev"]["system_objects"] == []
    amazon.node_group()  # empty: nothing that could fail
    with pytest.raises(ProviderError, match=r"NodeCreationFailure.*cni plugin not initialized"):
        admin_group(amazon)


def test_a_cluster_has_its_own_addons_unless_it_declines_them(amazon: Amazon) -> None:
    amazon.cluster()
    names = {each["metadata"]["name"] for each in amazon.fleet.clusters["gpu-dev"]["system_objects"]}
    assert {"aws-node", "kube-proxy", "coredns"} <= names


def test_machines_that_fail_leave_a_group_to_resume(amazon: Amazon) -> None:
    amazon.cluster()
    amazon.fleet.fail = "apply_group"
    with pytest.raises(ProviderError, match="no machines left") as caught:
        admin_group(amazon)
    assert caught.value.partial is not None
    amazon.fleet.fail = ""
    kept = caught.value.partial
    inputs = amazon.check(NODE_GROUP, {**cpu_group(subnets(amazon))})
    amazon.update(NODE_GROUP, Created(kept.id, kept.state, inputs), inputs)
    assert amazon.fleet.groups["admin"].min_nodes == 2


def test_a_cluster_that_did_not_start_is_resumed(amazon: Amazon) -> None:
    amazon.fleet.fail = "create_cluster"
    with pytest.raises(ProviderError, match="no machines left") as caught:
        amazon.cluster()
    amazon.fleet.fail = ""
    assert caught.value.partial is not None
    inputs = {
        key: value for key, value in caught.value.partial.state.items() if key in ("name", "roleArn", "vpcConfig")
    }
    for key in ("clusterSecurityGroupId", "vpcId"):
        inputs["vpcConfig"].pop(key, None)
    state = amazon.update(CLUSTER, Created("gpu-dev", caught.value.partial.state, inputs), inputs)
    assert state["endpoint"] == "https://127.0.0.1:6443"


def in_use(amazon: Amazon, type_: str) -> Created:
    return next(created for made, created in amazon.made if made == type_)


@pytest.mark.parametrize(
    ("type_", "message"),
    [
        (VPC, "DependencyViolation.*has dependencies"),
        (SUBNET, "DependencyViolation.*has dependencies"),
        (ROLE, "DeleteConflict"),
        (CLUSTER, "ResourceInUseException.*nodegroups"),
    ],
)
def test_what_is_in_use_stays(amazon: Amazon, type_: str, message: str) -> None:
    amazon.cluster()
    amazon.node_group()
    with pytest.raises(ProviderError, match=message):
        amazon.delete(type_, in_use(amazon, type_))


def test_a_protected_cluster_stays(amazon: Amazon) -> None:
    created = amazon.cluster(deletionProtection=True)
    with pytest.raises(ProviderError, match="deletion protection"):
        amazon.delete(CLUSTER, created)
    inputs = {**(created.inputs or {}), "deletionProtection": False}
    amazon.update(CLUSTER, created, inputs)
    amazon.delete(CLUSTER, created)
    assert amazon.fleet.clusters == {}


def test_a_gateway_needs_the_internet_and_keeps_it(amazon: Amazon) -> None:
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    inner = amazon.create(SUBNET, subnet(vpc.id))
    address = amazon.create("aws:ec2/eip:Eip", {})
    inputs = {"subnetId": inner.id, "allocationId": address.id}
    with pytest.raises(ProviderError, match=r"Gateway\.NotAttached"):
        amazon.create(NAT, inputs)
    internet = amazon.create(INTERNET_GATEWAY, {"vpcId": vpc.id})
    gateway = amazon.create(NAT, inputs)
    with pytest.raises(ProviderError, match="mapped public address"):
        amazon.delete(INTERNET_GATEWAY, internet)
    amazon.delete(NAT, gateway)
    amazon.delete(INTERNET_GATEWAY, internet)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodeRoleArn": "arn:aws:iam::123456789012:role/nobody"}, "NoSuchEntity"),
        ({"nodeRoleArn": "arn:aws:iam::123456789012:role/control-plane"}, r"does not trust ec2\.amazonaws\.com"),
        ({"clusterName": "other"}, "No cluster found for name: other"),
        ({"subnetIds": ["subnet-00000000"]}, "InvalidSubnetID"),
        ({"launchTemplate": {"id": "lt-00000000000000000", "version": "1"}}, "InvalidLaunchTemplateId"),
        ({"version": "1.35"}, "newer than the control plane"),
    ],
)
def test_a_group_refers_to_what_exists(amazon: Amazon, changes: Properties, message: str) -> None:
    amazon.cluster()
    with pytest.raises(ProviderError, match=message):
        amazon.node_group(**changes)


@pytest.mark.parametrize(
    ("template", "changes", "message"),
    [
        ({"instanceType": "g4dn.xlarge"}, {}, "in one place"),
        ({"iamInstanceProfile": {"name": "nodes"}}, {}, "IamInstanceProfile"),
        ({"instanceMarketOptions": {"marketType": "spot"}}, {}, "set capacityType"),
        ({"imageId": "ami-12345678"}, {}, "AMI type"),
    ],
)
def test_a_launch_template_leaves_to_eks_what_is_eks(
    amazon: Amazon, template: Properties, changes: Properties, message: str
) -> None:
    amazon.cluster()
    made = amazon.create(TEMPLATE, {"name": "gpu", **template})
    with pytest.raises(ProviderError, match=message):
        amazon.node_group(launchTemplate={"id": made.id, "version": "1"}, **changes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roleArn": "arn:aws:iam::123456789012:role/nodes"}, r"does not trust eks\.amazonaws\.com"),
        ({"kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.0.0.0/20"}}, "overlaps the VPC"),
        (
            {"encryptionConfig": {"provider": {"keyArn": "arn:aws:kms:us-east-1:1:key/k"}, "resources": ["secrets"]}},
            "no KMS",
        ),
    ],
)
def test_a_cluster_refers_to_what_fits(amazon: Amazon, changes: Properties, message: str) -> None:
    with pytest.raises(ProviderError, match=message):
        amazon.cluster(**changes)


def test_subnets_of_a_cluster_are_in_two_zones_of_one_vpc(amazon: Amazon) -> None:
    vpc = amazon.create(VPC, {"cidrBlock": "10.0.0.0/16"})
    alike = [amazon.create(SUBNET, subnet(vpc.id, block=f"10.0.{index}.0/24")) for index in range(2)]
    role = amazon.role("control-plane", "eks.amazonaws.com")
    with pytest.raises(ProviderError, match="at least two different AZs"):
        amazon.create(CLUSTER, cluster(role, alike))
    other = amazon.create(VPC, {"cidrBlock": "10.1.0.0/16"})
    far = amazon.create(SUBNET, subnet(other.id, "us-west-2b", "10.1.0.0/24"))
    with pytest.raises(ProviderError, match="must be in one VPC"):
        amazon.create(CLUSTER, cluster(role, [alike[0], far]))
    near = amazon.create(SUBNET, subnet(vpc.id, "us-west-2b", "10.0.7.0/24"))
    amazon.create(CLUSTER, cluster(role, [alike[0], near]))


def test_a_control_plane_climbs_one_minor_version_at_a_time(amazon: Amazon) -> None:
    created = amazon.cluster(version="1.33")
    inputs = created.inputs or {}
    for version in ("1.35", "1.32"):
        with pytest.raises(ProviderError, match=f"Unsupported Kubernetes minor version update from 1.33 to {version}"):
            amazon.update(CLUSTER, created, {**inputs, "version": version})
    assert amazon.update(CLUSTER, created, {**inputs, "version": "1.34"})["version"] == "1.34"


def test_a_cluster_makes_its_log_group_unless_there_is_one(amazon: Amazon) -> None:
    amazon.cluster(enabledClusterLogTypes=["api"])
    with pytest.raises(ProviderError, match="ResourceAlreadyExists"):
        amazon.create(LOG_GROUP, {"name": "/aws/eks/gpu-dev/cluster"})


def test_access_entries_need_the_mode_and_policies_need_an_entry(amazon: Amazon) -> None:
    amazon.cluster(accessConfig={"authenticationMode": "CONFIG_MAP"})
    entry = {"clusterName": "gpu-dev", "principalArn": "arn:aws:iam::123456789012:role/ops"}
    with pytest.raises(ProviderError, match="authentication mode must be set"):
        amazon.create(ENTRY, entry)
    arn = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"
    with pytest.raises(ProviderError, match="could not be found"):
        amazon.create(POLICY_ASSOCIATION, {**entry, "policyArn": arn, "accessScope": {"type": "cluster"}})


def test_a_service_account_has_one_identity(amazon: Amazon) -> None:
    amazon.cluster()
    role = amazon.role("scaler", "pods.eks.amazonaws.com")
    where = {"clusterName": "gpu-dev", "namespace": "kube-system", "serviceAccount": "cluster-autoscaler"}
    created = amazon.create(POD_IDENTITY, {**where, "roleArn": role.state["arn"]})
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "cluster-autoscaler") == role.state["arn"]
    assert amazon.account.pod_identity("gpu-dev", "default", "cluster-autoscaler") is None
    with pytest.raises(ProviderError, match="Association already exists"):
        amazon.create(POD_IDENTITY, {**where, "roleArn": role.state["arn"]})
    amazon.delete(POD_IDENTITY, created)
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "cluster-autoscaler") is None


def test_an_addon_brings_identities_for_its_own_service_accounts(amazon: Amazon) -> None:
    amazon.cluster()
    role = amazon.role("cni", "pods.eks.amazonaws.com")
    association = {"serviceAccount": "aws-node", "roleArn": role.state["arn"]}
    inputs = {"clusterName": "gpu-dev", "addonName": "vpc-cni", "podIdentityAssociations": [association]}
    amazon.create(ADDON, inputs)
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "aws-node") == role.state["arn"]
    assert amazon.account.pod_identity("gpu-dev", "kube-system", "other") is None


def test_a_deleted_key_is_gone_and_cannot_encrypt_a_cluster(amazon: Amazon) -> None:
    key = amazon.create(KEY, {"deletionWindowInDays": 7})
    amazon.delete(KEY, key)
    assert amazon.read(KEY, key.id, key.inputs).id == ""
    encryption = {"provider": {"keyArn": key.state["arn"]}, "resources": ["secrets"]}
    with pytest.raises(ProviderError, match="disabled"):
        amazon.cluster(encryptionConfig=encryption)
