"""What Amazon runs in a cluster and may do there, load balancers too; what a company asks of roles."""

from __future__ import annotations

import functools
import json
from typing import Any

import pytest

from components.clouds.eks import addons
from components.settings.sections.cluster import ExistingNetwork
from facts import catalog
from facts.concepts.iam import AuthorizationRequest, allows, parsed, resource_tags
from rehearsal.providers.eks.system import workloads
from tests import eks_answers, recorder
from tests.components import eks_specs

ADDON = "aws:eks/addon:Addon"
ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
STORAGE_CLASS = "kubernetes:storage.k8s.io/v1:StorageClass"


def addons_of(recording: recorder.Recording) -> dict[str, recorder.Registration]:
    return {one.inputs["addonName"]: one for one in recording.of_type(ADDON)}


@pytest.mark.parametrize(
    ("chosen", "declared"),
    [
        ([], []),
        (["ebs"], []),
        (["efs"], ["aws-efs-csi-driver"]),
        (["fsx", "cloudwatch"], ["aws-fsx-csi-driver", "amazon-cloudwatch-observability"]),
        (["load-balancer"], []),
    ],
)
def test_opt_ins_are_there_only_when_asked_for(chosen: list[str], declared: list[str]) -> None:
    always = {"eks-pod-identity-agent", "vpc-cni", "kube-proxy", "coredns", "aws-ebs-csi-driver"}
    assert set(addons_of(eks_specs.recorded(cluster={"addons": tuple(chosen)}))) == always.union(declared)


def test_rights_of_an_add_on_are_its_service_accounts_alone() -> None:
    addons = eks_specs.everything().of_type(ADDON)
    associated = [each for one in addons for each in one.inputs.get("podIdentityAssociations", [])]
    drivers = [f"aws-{each}-csi-driver" for each in ("ebs", "efs", "fsx")]
    names = ("vpc-cni", *drivers, "amazon-cloudwatch-observability")
    assert {one["roleArn"].rpartition("/")[2] for one in associated} == {f"gpu-test-{name}" for name in names}


def test_what_add_ons_are_configured_with() -> None:
    addons = addons_of(eks_specs.everything())
    # The 110 pods of every kubelet rest on the first: without prefixes a g4dn.xlarge has 29 addresses for pods.
    assert configuration("vpc-cni") == {
        "enableNetworkPolicy": "true",
        "env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"},
    }
    # Its schema has ``nodeSelector`` at the top, and additionalProperties: false.
    assert configuration("coredns") == {"nodeSelector": {"gpucluster.dev/role": "admin"}}
    for driver in ("aws-ebs-csi-driver", "aws-efs-csi-driver", "aws-fsx-csi-driver"):
        assert configuration(driver)["controller"]["nodeSelector"] == {"gpucluster.dev/role": "admin"}
    assert "configurationValues" not in addons["kube-proxy"].inputs
    assert "configurationValues" not in addons["eks-pod-identity-agent"].inputs


def test_which_policies_of_amazon_each_role_has() -> None:
    attached: dict[str, set[str]] = {}
    for one in eks_specs.everything().of_type(ATTACHMENT):
        role = one.inputs["role"].removeprefix("gpu-test-")
        attached.setdefault(role, set()).add(one.inputs["policyArn"].removeprefix("arn:aws:iam::aws:policy/"))
    own = {one.inputs["role"] for one in eks_specs.everything().of_type("aws:iam/rolePolicy:RolePolicy")}
    assert "gpu-test-nodes" not in own
    assert attached == {
        "control-plane": {"AmazonEKSClusterPolicy"},
        # https://docs.aws.amazon.com/eks/latest/userguide/create-node-role.html. AmazonSSMManagedInstanceCore
        # reads every parameter of the account, so nodes lack it.
        "nodes": {"AmazonEKSWorkerNodePolicy", "AmazonEC2ContainerRegistryPullOnly"},
        # https://docs.aws.amazon.com/eks/latest/userguide/cni-iam-role.html
        "vpc-cni": {"AmazonEKS_CNI_Policy"},
        "aws-ebs-csi-driver": {"AmazonEBSCSIDriverPolicyV2"},
        "aws-efs-csi-driver": {"service-role/AmazonEFSCSIDriverPolicy"},
        "aws-fsx-csi-driver": {"AmazonFSxFullAccess"},
        "amazon-cloudwatch-observability": {"CloudWatchAgentServerPolicy", "AWSXrayWriteOnlyAccess"},
    }


def configuration(name: str) -> dict[str, Any]:
    values: dict[str, Any] = json.loads(addons_of(eks_specs.everything())[name].inputs["configurationValues"])
    return values


def test_the_operator_of_cloudwatch_which_tolerates_everything_stays_on_the_admin_pool() -> None:
    operator = configuration("amazon-cloudwatch-observability")["manager"]
    assert operator["nodeSelector"] == {"gpucluster.dev/role": "admin"}


def test_a_claim_without_a_class_gets_an_encrypted_volume() -> None:
    values = configuration("aws-ebs-csi-driver")
    made_by_the_add_on = [each for each in workloads("aws-ebs-csi-driver", values) if each["kind"] == "StorageClass"]
    classes = [*(one.inputs for one in eks_specs.everything().of_type(STORAGE_CLASS)), *made_by_the_add_on]
    default = "storageclass.kubernetes.io/is-default-class"
    (default_class,) = [each for each in classes if each["metadata"].get("annotations", {}).get(default) == "true"]
    assert default_class["provisioner"] == "ebs.csi.aws.com"
    assert default_class["parameters"]["encrypted"] == "true"
    # Else a volume may be in a zone that has no GPU for the pod that waits for it.
    assert default_class["volumeBindingMode"] == "WaitForFirstConsumer"


def test_the_driver_touches_only_volumes_that_it_has_made() -> None:
    recording = eks_specs.everything()
    (association,) = addons_of(recording)["aws-ebs-csi-driver"].inputs["podIdentityAssociations"]
    role = association["roleArn"].rpartition("/")[2]
    attached = [one.inputs["policyArn"] for one in recording.of_type(ATTACHMENT) if one.inputs["role"] == role]
    documents = [amazons_policy(arn) for arn in attached]
    volume = f"{EC2}:volume/vol-1"
    for action in ("AttachVolume", "DetachVolume", "ModifyVolume", "DeleteVolume"):
        for tags, allowed in (({}, False), ({"ebs.csi.aws.com/cluster": "true"}, True)):
            context = resource_tags(tags, "ec2")
            request = AuthorizationRequest(f"ec2:{action}", volume, context=context, whole=True)
            assert allows(documents, request) is allowed, action


def test_no_pod_of_every_node_may_delete_anything() -> None:
    recording = eks_specs.everything()
    used = recording.of_type("aws:eks/podIdentityAssociation:PodIdentityAssociation")
    associations = [(one.inputs["serviceAccount"], one.inputs["roleArn"]) for one in used]
    for addon in recording.of_type(ADDON):
        associations += [(a["serviceAccount"], a["roleArn"]) for a in addon.inputs.get("podIdentityAssociations", [])]
    made = [each for name in addons_of(recording) for each in workloads(name) if each["kind"] == "DaemonSet"]
    everywhere = {each["spec"]["template"]["spec"]["serviceAccountName"] for each in made}
    # The network plugin makes and removes its node's own network interfaces.
    for account, arn in associations:
        if account in everywhere - {"aws-node"}:
            role = arn.rpartition("/")[2]
            for one in recording.of_type(ATTACHMENT):
                if one.inputs["role"] == role:
                    document = json.dumps(amazons_policy(one.inputs["policyArn"]))
                    assert ":Delete" not in document, (account, document)


@functools.cache
def amazons_policy(arn: str) -> dict[str, Any]:
    """A policy that Amazon maintains, as moto keeps it."""
    from moto.iam.aws_managed_policies import aws_managed_policies_data

    path = arn.partition(":policy")[2]
    (statement,) = [
        each["Document"] for name, each in json.loads(aws_managed_policies_data).items() if each["Path"] + name == path
    ]
    return dict(statement)


def test_an_add_on_associates_only_accounts_that_every_release_of_it_takes() -> None:
    (own,) = addons_of(eks_specs.everything())["aws-efs-csi-driver"].inputs["podIdentityAssociations"]
    assert own["serviceAccount"] == "efs-csi-controller-sa"


def test_known_opt_ins_are_those_of_the_catalogue() -> None:
    assert {"ebs", "load-balancer", *addons.OPTIONAL} == set(catalog.of("eks").choices.addons)


BOUNDARY = f"arn:aws:iam::{eks_answers.ACCOUNT}:policy/company"
PATH = "/platform/gpu/"
AUTOSCALERS = pytest.mark.parametrize("autoscaler", ["karpenter", "cluster-autoscaler"])


def with_roles(autoscaler: str, **security: Any) -> recorder.Recording:
    cluster = {"autoscaler": autoscaler, "addons": eks_specs.EVERY_ADDON, **security}
    return eks_specs.run(eks_specs.gpu_pool(), cluster=cluster)


@AUTOSCALERS
def test_every_role_has_them_and_none_unless_asked(autoscaler: str) -> None:
    written = with_roles(autoscaler, permissions_boundary=BOUNDARY, role_path=PATH).of_type(ROLE)
    assert len(written) > 5
    assert {(one.inputs["permissionsBoundary"], one.inputs["path"]) for one in written} == {(BOUNDARY, PATH)}
    plain = with_roles(autoscaler).of_type(ROLE)
    assert {one.name for one in plain} == {one.name for one in written}
    assert not [one.name for one in plain if {"permissionsBoundary", "path"} & one.inputs.keys()]


@pytest.mark.parametrize("path", ["/", PATH])
def test_karpenter_gives_nodes_the_role_at_its_path(path: str) -> None:
    recording = with_roles("karpenter", role_path=path)
    policies = [json.loads(one.inputs["policy"]) for one in recording.of_type("aws:iam/rolePolicy:RolePolicy")]
    passed = [each for one in policies for each in one["Statement"] if each["Action"] == ["iam:PassRole"]]
    (profile,) = recording.of_type("aws:iam/instanceProfile:InstanceProfile")
    roles = {one.inputs["name"]: one.inputs["path"] for one in recording.of_type(ROLE)}
    role = profile.inputs["role"]
    assert [each["Resource"] for each in passed] == [f"arn:aws:iam::{eks_answers.ACCOUNT}:role{roles[role]}{role}"]


def test_node_repair_is_on_and_the_agent_reports_no_gpu_as_broken() -> None:
    recording = eks_specs.recorded(eks_specs.gpu_pool(), cluster={"autoscaler": "karpenter"})
    release = recording.called("kubernetes:helm.sh/v3:Release", "karpenter").inputs
    # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/charts/karpenter/values.yaml
    assert release["values"]["settings"]["featureGates"] == {"nodeRepair": True}
    agent = recording.called(ADDON, "eks-node-monitoring-agent").inputs
    # Node repair deletes the node of a reported GPU with its job, and a lost connection to DCGM is reported for ever:
    # https://github.com/aws/eks-node-monitoring-agent/issues/266
    assert json.loads(agent["configurationValues"]) == {"nodeAgent": {"monitors": {"nvidia": {"enabled": False}}}}


ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"


def test_load_balancers_are_rights_of_one_service_account_over_what_is_tagged() -> None:
    recording = eks_specs.recorded(cluster={"addons": ("load-balancer",)})
    statements = eks_specs.rights(recording, "aws-load-balancer-controller")
    # What would let it take over nodes or another cluster's load balancers is tied to the cluster or its network.
    everything = [each for each in statements if each["Resource"] == "*"]
    untied = [each for each in everything if "elbv2.k8s.aws/cluster" not in json.dumps(each.get("Condition", {}))]
    wide = {action for statement in untied for action in statement["Action"]}
    changes = {action for action in wide if not action.startswith(("ec2:Describe", "ec2:Get"))}
    assert not {action for action in changes if action.startswith("ec2:")}
    assert not wide & {"elasticloadbalancing:DeleteLoadBalancer", "elasticloadbalancing:CreateLoadBalancer"}
    assert len(json.dumps(statements, separators=(",", ":"))) < 10240  # all of a role's own policies together


def controller_may(action: str, resource: str, context: dict[str, str], **network: Any) -> bool:
    recording = eks_specs.recorded(cluster={"addons": ("load-balancer",), **network})
    policy = recording.called(ROLE_POLICY, "load-balancer").inputs["policy"]
    return allows([parsed(policy)], AuthorizationRequest(action, resource, context, whole=True)) is True


# The rows below are calls of the controller, release 3.5, for what people create first: an Ingress and a Service of
# type LoadBalancer with targets by address. https://github.com/kubernetes-sigs/aws-load-balancer-controller/tree/main/pkg
EC2 = "arn:aws:ec2:us-west-2:123456789012"
LOAD_BALANCING = "arn:aws:elasticloadbalancing:us-west-2:123456789012"
BALANCER = f"{LOAD_BALANCING}:loadbalancer/app/x/1"
MADE_HERE = {"aws:RequestTag/elbv2.k8s.aws/cluster": "gpu-test"}
OURS = {"aws:ResourceTag/elbv2.k8s.aws/cluster": "gpu-test"}
NETWORK = f"{EC2}:vpc/cluster-vpc-id"
GROUP = f"{EC2}:security-group/sg-1"
CLUSTER_GROUP = f"{EC2}:security-group/sg-of-the-cluster"


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        pytest.param("elasticloadbalancing:CreateLoadBalancer", BALANCER, MADE_HERE, id="a load balancer"),
        pytest.param(
            "iam:CreateServiceLinkedRole",
            "arn:aws:iam::123456789012:role/aws-service-role/elasticloadbalancing.amazonaws.com/AWSServiceRoleForELB",
            {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"},
            id="the first one of the account",
        ),
        pytest.param("elasticloadbalancing:CreateListener", BALANCER, OURS, id="a listener"),
        pytest.param(
            "elasticloadbalancing:SetRulePriorities",
            f"{LOAD_BALANCING}:listener-rule/app/x/1/2/3",
            {},
            id="an order of rules",
        ),
        pytest.param(
            "elasticloadbalancing:AddTags", f"{LOAD_BALANCING}:listener/app/x/1/2", MADE_HERE, id="tags of a listener"
        ),
        pytest.param("elasticloadbalancing:RegisterTargets", f"{LOAD_BALANCING}:targetgroup/x/1", {}, id="targets"),
        pytest.param("ec2:GetSecurityGroupsForVpc", NETWORK, {}, id="groups of the network"),
        pytest.param(
            "ec2:AuthorizeSecurityGroupIngress",
            CLUSTER_GROUP,
            {"ec2:Vpc": NETWORK},
            id="a door to the nodes, whose group EKS made",
        ),
        pytest.param("ec2:CreateSecurityGroup", GROUP, MADE_HERE, id="a group of its own"),
        pytest.param("ec2:CreateSecurityGroup", NETWORK, {}, id="that group's network"),
        pytest.param(
            "ec2:CreateTags", GROUP, {"ec2:CreateAction": "CreateSecurityGroup", **MADE_HERE}, id="that group's tag"
        ),
        pytest.param("wafv2:GetWebACLForResource", BALANCER, {}, id="no firewall"),
    ],
)
def test_the_load_balancer_controller_may_do_what_it_does(action: str, resource: str, context: dict[str, str]) -> None:
    assert controller_may(action, resource, context)


# https://docs.aws.amazon.com/vpc/latest/userguide/vpc-sharing.html: the ARN has the owner's account.
SHARED = "arn:aws:ec2:us-west-2:210987654321:vpc/vpc-0000000a"


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        ("ec2:CreateSecurityGroup", SHARED, {}),
        ("ec2:AuthorizeSecurityGroupIngress", CLUSTER_GROUP, {"ec2:Vpc": SHARED}),
    ],
)
def test_its_network_may_be_another_accounts(action: str, resource: str, context: dict[str, str]) -> None:
    existing = ExistingNetwork.model_construct(network="vpc-0000000a", subnets=tuple(eks_answers.SUBNETS))
    assert controller_may(action, resource, context, existing=existing, node_cidr="")
    assert not controller_may(action, resource, context)


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        ("elasticloadbalancing:DeleteLoadBalancer", BALANCER, {"aws:ResourceTag/elbv2.k8s.aws/cluster": "other"}),
        ("elasticloadbalancing:CreateLoadBalancer", BALANCER, {}),
        ("ec2:AuthorizeSecurityGroupIngress", f"{EC2}:security-group/sg-x", {"ec2:Vpc": f"{EC2}:vpc/another"}),
        ("ec2:CreateTags", f"{EC2}:security-group/sg-x", {**OURS, **MADE_HERE}),
        ("iam:CreateServiceLinkedRole", "arn:aws:iam::123456789012:role/x", {"iam:AWSServiceName": "x.amazonaws.com"}),
    ],
)
def test_it_may_not_touch_what_is_not_the_clusters(action: str, resource: str, context: dict[str, str]) -> None:
    assert not controller_may(action, resource, context)


@pytest.mark.parametrize("zones", [("us-west-2a",), eks_specs.THREE_ZONES])
def test_a_load_balancer_finds_a_public_subnet_in_two_zones_at_least(zones: tuple[str, ...]) -> None:
    def open_zones(*addons: str) -> set[str]:
        recording = eks_specs.recorded(cluster={"addons": addons, "zones": zones})
        subnets = [one.inputs for one in recording.of_type("aws:ec2/subnet:Subnet")]
        return {one["availabilityZone"] for one in subnets if "kubernetes.io/role/elb" in one["tags"]}

    assert open_zones() == {zones[0]}
    assert len(open_zones("load-balancer")) == 3
