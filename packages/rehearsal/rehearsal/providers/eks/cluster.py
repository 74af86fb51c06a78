"""EKS clusters: the control plane, its security group, and the add-ons that a cluster comes with."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any, Final

from rehearsal.providers.base import Properties, ProviderError, at
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.providers.eks.iam import require_role
from rehearsal.providers.eks.network import CLUSTER, subnets
from rehearsal.providers.eks.request import parameters
from rehearsal.providers.eks.row import TABLE, refused
from rehearsal.providers.eks.rules import (
    DEFAULT_VERSION,
    back_in_support,
    nodes_apart,
    support_lasts,
    version_step,
)
from rehearsal.providers.eks.system import BOOTSTRAPPED, cluster_storage, workloads
from rehearsal.providers.resource import Lifecycle, Pending, ends
from rehearsal.providers.rules import minors_up
from rehearsal.simulation import Balancing

ACCESS_ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
OWNER_TAG: Final = "kubernetes.io/cluster/"
# The second where the first is in the VPC's range:
# https://docs.aws.amazon.com/eks/latest/APIReference/API_KubernetesNetworkConfigRequest.html
_DEFAULT_SERVICES: Final = ("10.100.0.0/16", "172.20.0.0/16")
_HTTPS: Final = 443
_UPGRADED: Final = "upgraded"
_SENT: Final = (
    "name",
    "version",
    "roleArn",
    "resourcesVpcConfig",
    "kubernetesNetworkConfig",
    "logging",
    "encryptionConfig",
    "tags",
)


def _requires(pending: Pending[Account]) -> None:
    account, inputs = pending.cloud, pending.inputs
    if pending.before is not None:
        _check_version(account, pending)
        _check_support(account, pending.before.inputs, inputs)
        _check_zones(_check_network(account, inputs), _check_network(account, pending.before.inputs))
        _check_vpc(account, inputs, pending.before.inputs)
        _check_endpoint(account, pending)
        return
    _check_access(inputs)
    require_role(account, inputs["roleArn"], "eks.amazonaws.com")
    _check_network(account, inputs)
    key = at(inputs, "encryptionConfig.provider.keyArn")
    if key:
        _check_key(account, key)
    if account.store.get(CLUSTER, inputs["name"]):
        raise refused(CLUSTER, "ResourceInUseException", f"Cluster already exists with name: {inputs['name']}")


def _make(pending: Pending[Account]) -> str:
    account, name = pending.cloud, str(pending.inputs["name"])
    params = {"version": DEFAULT_VERSION, **_parameters(pending.inputs), "tags": pending.inputs.get("tags")}
    vpc = str(subnets(account, pending.inputs["vpcConfig"]["subnetIds"])[0]["VpcId"])
    block = account.call("ec2", "DescribeVpcs", VpcIds=[vpc])["Vpcs"][0]["CidrBlock"]
    params["kubernetesNetworkConfig"] = {
        "serviceIpv4Cidr": _DEFAULT_SERVICES[str(block).startswith("10.")],
        **params.get("kubernetesNetworkConfig", {}),
    }
    # What moto does not know of a request it would not store either.
    account.call("eks", "CreateCluster", **{key: params.get(key) for key in _SENT})
    if pending.inputs.get("enabledClusterLogTypes"):
        _make_log_group(account, name)
    group = _security_group(account, name, vpc)
    _live(account, name).resources_vpc_config.update(clusterSecurityGroupId=group, vpcId=vpc)
    return name


def _parameters(inputs: Properties) -> dict[str, Any]:
    types = inputs.get("enabledClusterLogTypes")
    logging = {"clusterLogging": [{"types": types, "enabled": True}]} if types else None
    return {**parameters(CLUSTER, inputs), "logging": logging}


def _change(account: Account, id: str, old: Properties, new: Properties) -> None:
    live = _live(account, id)
    if new.get("version") and new["version"] != old.get("version"):
        upgrade(account, id, new["version"])
    params = _parameters(new)
    live.resources_vpc_config.update(params["resourcesVpcConfig"])
    if new.get("enabledClusterLogTypes"):
        _make_log_group(account, id)
    account.call("eks", "UpdateClusterConfig", name=id, logging=params["logging"])
    # AssociateEncryptionConfig, which moto lacks. For a cluster that has a key the provider sends nothing:
    # https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/cluster.go
    if not live.encryption_config and params.get("encryptionConfig"):
        _check_key(account, at(new, "encryptionConfig.provider.keyArn"))
        live.encryption_config = params["encryptionConfig"]


def upgrade(account: Account, name: str, version: str) -> None:
    """Make the control plane run another version, at the request of a program, a user or EKS itself."""
    live = _live(account, name)
    # A rollback is no upgrade, after which another one could follow.
    vars(live)[_UPGRADED] = datetime.now(timezone.utc) if minors_up(live.version, version) > 0 else None
    live.version = version


def _remove(account: Account, id: str, inputs: Properties) -> None:
    group = _live(account, id).resources_vpc_config["clusterSecurityGroupId"]
    account.call("eks", "DeleteCluster", name=id)
    account.call("ec2", "DeleteSecurityGroup", GroupId=group)


def _may_go(account: Account, record: Record) -> None:
    if record.inputs.get("deletionProtection"):
        reason = "Cluster has deletion protection enabled: set deletionProtection to false first"
        raise refused(CLUSTER, "InvalidRequestException", reason, "DeleteCluster")
    if account.call("eks", "ListNodegroups", clusterName=record.id)["nodegroups"]:
        raise refused(CLUSTER, "ResourceInUseException", "Cluster has nodegroups attached", "DeleteCluster")


def _start(account: Account, record: Record, before: Record | None) -> Record:
    if record.outputs.get("endpoint"):
        return record
    placed = subnets(account, record.inputs["vpcConfig"]["subnetIds"])
    bootstrapped = BOOTSTRAPPED if record.inputs.get("bootstrapSelfManagedAddons", True) else ()
    endpoint = account.machines().create_cluster(
        record.id,
        version=record.outputs["version"],
        region=account.region,
        zones=tuple(sorted({subnet["AvailabilityZone"] for subnet in placed})),
        system_objects=[*cluster_storage(), *(each for name in bootstrapped for each in workloads(name))],
        # https://docs.aws.amazon.com/eks/latest/userguide/network-load-balancing.html; Ingresses need AWS's controller.
        balancing=Balancing(f"{{name}}.elb.{account.region}.amazonaws.com"),
    )
    authority = {"data": endpoint.ca_pem_base64}
    # With private access alone the endpoint's name leads to addresses in the VPC:
    # https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html
    public = at(record.inputs, "vpcConfig.endpointPublicAccess") is not False
    private = endpoint.private if _require_other_groups(account, record.inputs) else endpoint.nowhere
    host = endpoint.host if public else private
    reached = {"endpoint": f"https://{host}", "certificateAuthority": authority}
    # DescribeCluster answers it to a controller in the cluster.
    with account.store.held():
        live = _live(account, record.id)
        live.endpoint, live.certificate_authority = reached["endpoint"], authority
    return replace(record, outputs={**record.outputs, **reached})


def _require_other_groups(account: Account, inputs: Properties) -> bool:
    """Whether the private endpoint takes HTTPS from others than the cluster's own nodes, whose security group admits
    itself alone: https://docs.aws.amazon.com/eks/latest/userguide/cluster-endpoint.html (private access only)."""
    groups = at(inputs, "vpcConfig.securityGroupIds")
    described = account.call("ec2", "DescribeSecurityGroups", GroupIds=groups)["SecurityGroups"] if groups else []
    rules = [rule for group in described for rule in group["IpPermissions"] if rule.get("IpRanges")]
    return any(rule["IpProtocol"] == "-1" or rule["FromPort"] <= _HTTPS <= rule["ToPort"] for rule in rules)


def _stop(account: Account, record: Record) -> None:
    try:
        account.machines().delete_cluster(record.id)
    except Exception as error:
        raise ProviderError(f"waiting for EKS Cluster ({record.id}) delete: {error}") from error


def _check_access(inputs: Properties) -> None:
    """AWS's words: https://github.com/upbound/configuration-aws-eks/pull/130."""
    access = TABLE.sent(CLUSTER, inputs).get("accessConfig", {_MAKER_IS_ADMIN: True})
    if access.get("authenticationMode", "CONFIG_MAP") == "CONFIG_MAP" and not access.get(_MAKER_IS_ADMIN):
        reason = f"{_MAKER_IS_ADMIN} must be true if cluster authentication mode is set to CONFIG_MAP"
        raise refused(CLUSTER, "InvalidParameterException", reason)


def _check_version(account: Account, pending: Pending[Account]) -> None:
    id, inputs = pending.id, pending.inputs
    live, version = _live(account, id), inputs.get("version")
    upgraded = vars(live).get(_UPGRADED)
    since = None if upgraded is None else datetime.now(timezone.utc) - upgraded
    if not version or version == pending.deployed.get("version"):
        return
    problem = version_step(live.version, version, since)
    for group in account.call("eks", "ListNodegroups", clusterName=id)["nodegroups"]:
        nodes = account.call("eks", "DescribeNodegroup", clusterName=id, nodegroupName=group)["nodegroup"]["version"]
        problem = problem or nodes_apart(group, nodes, version)
    # The provider sends the version before the policy (`resourceClusterUpdate`):
    # https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/cluster.go
    policy = at(pending.before and pending.before.inputs, "upgradePolicy.supportType") or "EXTENDED"
    support = account.catalog.choices.supported.get(version)
    if minors_up(live.version, version) < 0:
        problem = problem or back_in_support(support, version, policy, datetime.now(timezone.utc).date())
    if problem:
        raise refused(CLUSTER, "InvalidParameterException", problem, "UpdateClusterVersion")


def _check_support(account: Account, before: Properties, inputs: Properties) -> None:
    old, new = (at(each, "upgradePolicy.supportType") or "EXTENDED" for each in (before, inputs))
    support = account.catalog.choices.supported.get(inputs.get("version") or DEFAULT_VERSION)
    if problem := support_lasts(support, old, new, datetime.now(timezone.utc).date()):
        raise refused(CLUSTER, "InvalidParameterException", problem, "UpdateClusterConfig")


def _check_zones(zones: set[str], before: set[str]) -> None:
    """https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html; nodes may be in other zones of the VPC."""
    if zones != before:
        reason = (
            f"Provided subnets belong to the AZs '{','.join(sorted(zones))}'. But they should belong to the exact set "
            f"of AZs '{','.join(sorted(before))}' in which subnets were provided during cluster creation."
        )
        raise refused(CLUSTER, "InvalidParameterException", reason, "UpdateClusterConfig")


def _check_vpc(account: Account, inputs: Properties, before: Properties) -> None:
    """ "The subnets must be in the same VPC as the subnets that you originally specified":
    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html. AWS's words are not recorded."""
    vpc, former = (subnets(account, each["vpcConfig"]["subnetIds"])[0]["VpcId"] for each in (inputs, before))
    if vpc != former:
        reason = f"Subnets specified are in {vpc}, but must be in {former}, where those of the cluster's creation are"
        raise refused(CLUSTER, "InvalidParameterException", reason, "UpdateClusterConfig")


def _check_endpoint(account: Account, pending: Pending[Account]) -> None:
    """What differs from the state is sent, with ranges that a private endpoint has no use for, and refused if it is so
    already. AWS's words: https://github.com/terraform-aws-modules/terraform-aws-eks/pull/2320."""
    live = _live(account, pending.id).resources_vpc_config
    before, after, actual = map(_endpoint, (pending.deployed["vpcConfig"], pending.inputs["vpcConfig"], live))
    if before != after == actual:
        reason = (
            "Cluster is already at the desired configuration with endpointPrivateAccess: {} , "
            "endpointPublicAccess: {}, and Public Endpoint Restrictions: [{}]"
        )
        private, public, ranges = after
        words = (str(private).lower(), str(public).lower(), ", ".join(sorted(ranges)))
        raise refused(CLUSTER, "InvalidParameterException", reason.format(*words), "UpdateClusterConfig")


def _endpoint(network: Properties) -> tuple[bool, bool, frozenset[str]]:
    """Whether it is private, whether public, and who reaches the public one."""
    ranges = frozenset(network.get("publicAccessCidrs") or _OPEN["publicAccessCidrs"])
    return bool(network.get("endpointPrivateAccess")), network.get("endpointPublicAccess") is not False, ranges


def _check_network(account: Account, inputs: Properties) -> set[str]:
    """The subnets must be in one VPC, and in two zones, which are the answer."""
    described = subnets(account, inputs["vpcConfig"]["subnetIds"])
    vpcs = {each["VpcId"] for each in described}
    if len(vpcs) != 1:
        reason = f"Subnets specified must be in one VPC, not in {', '.join(sorted(vpcs))}"
        raise refused(CLUSTER, "InvalidParameterException", reason)
    zones = {each["AvailabilityZone"] for each in described}
    if len(zones) < 2:
        reason = "Subnets specified must be in at least two different AZs"
        raise refused(CLUSTER, "InvalidParameterException", reason)
    groups = at(inputs, "vpcConfig.securityGroupIds")
    if groups:
        account.call("ec2", "DescribeSecurityGroups", GroupIds=groups)
    services = at(inputs, "kubernetesNetworkConfig.serviceIpv4Cidr")
    block = account.call("ec2", "DescribeVpcs", VpcIds=[*vpcs])["Vpcs"][0]["CidrBlock"]
    if services and ipaddress.ip_network(services).overlaps(ipaddress.ip_network(block)):
        reason = f"serviceIpv4Cidr {services} overlaps the VPC's {block}"
        raise refused(CLUSTER, "InvalidParameterException", reason)
    return zones


def _check_key(account: Account, arn: str) -> None:
    # A key of another account or region is refused by KMS, one that nobody made here may exist elsewhere.
    if not arn.startswith(f"arn:{account.partition}:kms:{account.region}:"):
        raise refused(CLUSTER, "InvalidParameterException", f"The keyArn {arn} is no KMS key of {account.region}")
    if not account.account_limits.has_key(arn):
        # That EKS passes KMS's words on is general knowledge: https://docs.aws.amazon.com/kms/latest/APIReference/API_DescribeKey.html
        raise refused(CLUSTER, "InvalidParameterException", f"NotFoundException: Key '{arn}' does not exist")
    if not arn.startswith(account.arn("kms", "key/")):
        return
    if not account.call("kms", "DescribeKey", KeyId=arn)["KeyMetadata"]["Enabled"]:
        raise refused(CLUSTER, "InvalidParameterException", f"The KMS key {arn} is disabled")


def require_cluster(account: Account, name: str) -> Record:
    """The record of a cluster; EKS's error if it does not exist."""
    record = account.store.get(CLUSTER, name)
    if record is None:
        raise no_cluster(name)
    return record


def maker_is_admin(cluster: Record) -> bool:
    """Whether EKS has an access entry for the principal that made the cluster."""
    return bool(cluster.outputs["accessConfig"][_MAKER_IS_ADMIN])


def secrets_key(account: Account, name: str) -> str | None:
    """The ARN of the key that encrypts a cluster's Secrets; ``None`` for AWS's own."""
    configuration = _live(account, name).encryption_config
    return configuration[0]["provider"]["keyArn"] if configuration else None


def running_version(account: Account, name: str) -> str:
    """The control plane's, whoever upgraded it."""
    return str(account.call("eks", "DescribeCluster", name=name)["cluster"]["version"])


def no_cluster(name: str) -> AwsError:
    """EKS's error about a cluster that does not exist."""
    return AwsError("eks", "DescribeCluster", "ResourceNotFoundException", f"No cluster found for name: {name}.")


def _live(account: Account, name: str) -> Any:
    """moto's own cluster, for what it has no request for."""
    from moto.eks.models import eks_backends

    return eks_backends[account.id][account.region].clusters[name]


def _make_log_group(account: Account, name: str) -> None:
    """EKS makes the group for the control plane's logs if it is not there, and leaves it behind.

    https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
    """
    log_group = f"/aws/eks/{name}/cluster"
    groups = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=log_group)["logGroups"]
    if not any(group["logGroupName"] == log_group for group in groups):
        account.call("logs", "CreateLogGroup", logGroupName=log_group)


def _security_group(account: Account, name: str, vpc: str) -> str:
    """The group that EKS makes for control plane and nodes: https://docs.aws.amazon.com/eks/latest/userguide/sec-group-reqs.html."""
    answer = account.call(
        "ec2",
        "CreateSecurityGroup",
        GroupName=f"eks-cluster-sg-{name}",
        Description="EKS created security group applied to ENI that is attached to EKS Control Plane",
        VpcId=vpc,
        TagSpecifications=[
            {"ResourceType": "security-group", "Tags": [{"Key": f"{OWNER_TAG}{name}", "Value": "owned"}]}
        ],
    )
    group = str(answer["GroupId"])
    within = {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group}]}
    account.call("ec2", "AuthorizeSecurityGroupIngress", GroupId=group, IpPermissions=[within])
    return group


def _as_it_runs(account: Account, record: Record) -> Properties:
    """EKS upgrades a cluster whose support ends, and so do people."""
    version = {"version": _live(account, record.id).version} if "version" in record.inputs else {}
    key = secrets_key(account, record.id)
    encrypted = {"encryptionConfig": _encryption(key)} if key and "encryptionConfig" in record.inputs else {}
    return {**record.inputs, **version, **encrypted}


def _encryption(key: str) -> Properties:
    return {"provider": {"keyArn": key}, "resources": ["secrets"]}


def _has_a_role(before: Properties, _: Properties) -> bool:
    """Nodes of Auto Mode keep the first one: ``CustomizeDiff`` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/cluster.go"""
    return at(before, "computeConfig.nodeRoleArn") is not None


def _gives_egress_back(before: Properties, after: Properties) -> bool:
    """https://www.pulumi.com/registry/packages/aws/api-docs/eks/cluster/#clustervpcconfig"""
    path, default = "vpcConfig.controlPlaneEgressMode", "AWS_MANAGED"
    return at(before, path) == "CUSTOMER_ROUTED" and at(after, path) in (None, default)


def _encrypted(pending: Pending[Account]) -> Properties | None:
    key = secrets_key(pending.cloud, pending.id)
    return None if key is None else _encryption(key)


_OPEN: Final = {"publicAccessCidrs": ["0.0.0.0/0"]}
_MAKER_IS_ADMIN: Final = "bootstrapClusterCreatorAdminPermissions"


def _access(pending: Pending[Account]) -> Properties:
    """Who made the cluster is its administrator, unless a declared block says otherwise. It is asked for at creation
    alone."""
    declared = pending.inputs.get("accessConfig", {})
    before = pending.before and pending.before.outputs["accessConfig"]
    admin = bool((before or declared).get(_MAKER_IS_ADMIN, True))
    return {"authenticationMode": "CONFIG_MAP", **declared, _MAKER_IS_ADMIN: admin}


def _network(pending: Pending[Account]) -> Properties:
    network = pending.answer["resourcesVpcConfig"]
    return {
        **_OPEN,
        **pending.inputs["vpcConfig"],
        **{key: network.get(key, "") for key in ("clusterSecurityGroupId", "vpcId")},
    }


def _since_start(key: str) -> Callable[[Pending[Account]], Any]:
    return lambda pending: pending.before and pending.before.outputs.get(key)


ROWS: Final = (
    TABLE.row(
        CLUSTER,
        make=_make,
        change=_change,
        remove=_remove,
        live=_as_it_runs,
        outputs={
            "accessConfig": _access,
            "certificateAuthority": _since_start("certificateAuthority"),
            "encryptionConfig": _encrypted,
            "endpoint": _since_start("endpoint"),
            "identities": lambda pending: [{"oidcs": [{"issuer": pending.answer["identity"]["oidc"]["issuer"]}]}],
            "kubernetesNetworkConfig": lambda pending: {
                "ipFamily": "ipv4",
                **(pending.answer.get("kubernetesNetworkConfig") or {}),
            },
            "vpcConfig": _network,
        },
        requires=_requires,
        require_deletable=_may_go,
        replaces_if={
            # https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html: it cannot be turned off.
            "encryptionConfig": ends("encryptionConfig"),
            "computeConfig.nodeRoleArn": _has_a_role,
            "vpcConfig.controlPlaneEgressMode": _gives_egress_back,
        },
        lifecycle=Lifecycle("EKS Cluster", _start, _stop),
    ),
)
