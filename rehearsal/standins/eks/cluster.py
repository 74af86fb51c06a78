"""EKS clusters: the control plane, its security group, and the add-ons that a cluster comes with."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from typing import Any, Final

from typing_extensions import override

from concepts.unknown import UNKNOWN
from rehearsal.standins.base import Created, Properties, ProviderError
from rehearsal.standins.eks.account import ADDON, Account
from rehearsal.standins.eks.cluster_rules import CLUSTER_RULES, DEFAULT_VERSION, version_step
from rehearsal.standins.eks.errors import ApiError
from rehearsal.standins.eks.iam import require_role
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.network import CLUSTER, subnets
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.system import BOOTSTRAPPED, workloads
from rehearsal.standins.eks.translate import To
from rehearsal.standins.store import Record
from rehearsal.standins.values import at

ACCESS_ENTRY: Final = "aws:eks/accessEntry:AccessEntry"
OWNER_TAG: Final = "kubernetes.io/cluster/"
_DEFAULT_SERVICES: Final = "10.100.0.0/16"


def _logging(types: Any) -> Any:
    return {"clusterLogging": [{"types": types, "enabled": True}]} if types else None


class ClusterKind(Kind):
    """``aws:eks/cluster:Cluster``."""

    token = CLUSTER
    shape = Shape(
        service="eks",
        operation="CreateCluster",
        table={
            "CreateClusterRequest": {
                "enabledClusterLogTypes": To("logging", _logging),
                "encryptionConfig": To("encryptionConfig", lambda block: [block]),
                "vpcConfig": To("resourcesVpcConfig"),
            }
        },
        local=("forceUpdateVersion",),
        required=("roleArn", "vpcConfig"),
        defaults={
            "bootstrapSelfManagedAddons": True,
            "accessConfig.bootstrapClusterCreatorAdminPermissions": True,
            "vpcConfig.endpointPublicAccess": True,
        },
        replaces=(
            "name",
            "roleArn",
            "encryptionConfig",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "kubernetesNetworkConfig.ipFamily",
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "bootstrapSelfManagedAddons",
            "outpostConfig",
        ),
        unordered=(
            "enabledClusterLogTypes",
            "encryptionConfig.resources",
            "vpcConfig.publicAccessCidrs",
            "vpcConfig.securityGroupIds",
            "vpcConfig.subnetIds",
        ),
        tags="map",
        tagged="cluster",
        name="name",
        name_limit=100,
    )
    rules = CLUSTER_RULES.rules
    computed = (
        "arn",
        "certificateAuthority",
        "createdAt",
        "endpoint",
        "identities",
        "platformVersion",
        "status",
    )

    @override
    def preview(self, account: Account, inputs: Properties) -> Properties:
        state = super().preview(account, inputs)
        if isinstance(inputs.get("vpcConfig"), dict):
            state["vpcConfig"] = {**inputs["vpcConfig"], "clusterSecurityGroupId": UNKNOWN, "vpcId": UNKNOWN}
        return {"version": UNKNOWN, **state}

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        account.machines()
        require_role(account, inputs["roleArn"], "eks.amazonaws.com")
        vpc = self._check_network(account, inputs)
        key = at(inputs, "encryptionConfig.provider.keyArn")
        if key:
            self._check_key(account, key)
        name = inputs["name"]
        _check_names_free(account, name)
        params.setdefault("version", DEFAULT_VERSION)
        # What moto does not know of a request it would not store either.
        known = ("name", "version", "roleArn", "resourcesVpcConfig", "kubernetesNetworkConfig", "logging", "tags")
        network = params.setdefault("kubernetesNetworkConfig", {})
        network.setdefault("serviceIpv4Cidr", _DEFAULT_SERVICES)
        sent = {key: params[key] for key in (*known, "encryptionConfig") if params.get(key) is not None}
        account.call("eks", "CreateCluster", **sent)
        if inputs.get("enabledClusterLogTypes"):
            _make_log_group(account, name)
        group = _security_group(account, name, vpc)
        _live(account, name).resources_vpc_config.update(clusterSecurityGroupId=group, vpcId=vpc)
        return str(name)

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("eks", "DescribeCluster", name=id)["cluster"]
        network = found["resourcesVpcConfig"]
        made = {key: network.get(key, "") for key in ("clusterSecurityGroupId", "vpcId")}
        access = {"bootstrapClusterCreatorAdminPermissions": True, "authenticationMode": "CONFIG_MAP"}
        return {
            "accessConfig": {**access, **(inputs.get("accessConfig") or {})},
            "arn": found["arn"],
            "createdAt": found["createdAt"].isoformat(),
            "identities": [{"oidcs": [{"issuer": found["identity"]["oidc"]["issuer"]}]}],
            "kubernetesNetworkConfig": found["kubernetesNetworkConfig"],
            "platformVersion": "eks.1",
            "status": found["status"],
            "version": found["version"],
            "vpcConfig": {**inputs["vpcConfig"], **made},
        }

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        live = _live(account, id)
        if new.get("version") and new["version"] != live.version:
            problem = version_step(live.version, new["version"])
            if problem:
                raise self.refuse("InvalidParameterException", problem, "UpdateClusterVersion")
            live.version = new["version"]
        self._check_network(account, new)
        params = self.shape.translate(new).params
        live.resources_vpc_config.update(params["resourcesVpcConfig"])
        if new.get("enabledClusterLogTypes"):
            _make_log_group(account, id)
        account.call("eks", "UpdateClusterConfig", name=id, logging=params.get("logging"))

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        group = _live(account, id).resources_vpc_config["clusterSecurityGroupId"]
        account.call("eks", "DeleteCluster", name=id)
        account.call("ec2", "DeleteSecurityGroup", GroupId=group)
        # These are parts of the cluster and go with it.
        for token in (ADDON, ACCESS_ENTRY, "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"):
            for record in account.store.all(token):
                if record.inputs["clusterName"] == id:
                    account.store.remove(token, record.id)

    @override
    def started(self, account: Account, record: Record, *, new: bool) -> Record:
        if record.outputs.get("endpoint"):
            return record
        try:
            placed = subnets(account, record.inputs["vpcConfig"]["subnetIds"])
            zones = {subnet["AvailabilityZone"] for subnet in placed}
            bootstrapped = BOOTSTRAPPED if record.inputs.get("bootstrapSelfManagedAddons", True) else ()
            endpoint = account.machines().create_cluster(
                record.id,
                version=record.outputs["version"],
                region=account.region,
                zones=tuple(sorted(zones)),
                system_objects=[each for name in bootstrapped for each in workloads(name)],
            )
        except Exception as error:
            # AWS made the cluster before its start failed; the provider keeps it in its state too.
            made = Created(record.id, record.state)
            raise ProviderError(f"waiting for EKS Cluster ({record.id}) create: {error}", partial=made) from error
        authority = {"data": endpoint.ca_pem_base64}
        reached = {"endpoint": f"https://{endpoint.host}", "certificateAuthority": authority}
        # DescribeCluster answers it to a controller in the cluster.
        with account.store.held():
            live = _live(account, record.id)
            live.endpoint, live.certificate_authority = reached["endpoint"], authority
        record = replace(record, outputs={**record.outputs, **reached})
        account.store.put(record)
        return record

    @override
    def stop(self, account: Account, record: Record) -> None:
        if record.inputs.get("deletionProtection"):
            reason = "Cluster has deletion protection enabled: set deletionProtection to false first"
            raise self.refuse("InvalidRequestException", reason, "DeleteCluster")
        live = account.call("eks", "ListNodegroups", clusterName=record.id)["nodegroups"]
        if live:
            raise self.refuse("ResourceInUseException", "Cluster has nodegroups attached", "DeleteCluster")
        try:
            account.machines().delete_cluster(record.id)
        except Exception as error:
            raise ProviderError(f"waiting for EKS Cluster ({record.id}) delete: {error}") from error

    def _check_network(self, account: Account, inputs: Properties) -> str:
        """The VPC of the subnets, which must be one, and have room in two zones."""
        found = subnets(account, inputs["vpcConfig"]["subnetIds"])
        vpcs = {each["VpcId"] for each in found}
        if len(vpcs) != 1:
            reason = f"Subnets specified must be in one VPC, not in {', '.join(sorted(vpcs))}"
            raise self.refuse("InvalidParameterException", reason)
        if len({each["AvailabilityZone"] for each in found}) < 2:
            reason = "Subnets specified must be in at least two different AZs"
            raise self.refuse("InvalidParameterException", reason)
        vpc = str(vpcs.pop())
        groups = at(inputs, "vpcConfig.securityGroupIds")
        if groups:
            account.call("ec2", "DescribeSecurityGroups", GroupIds=groups)
        services = at(inputs, "kubernetesNetworkConfig.serviceIpv4Cidr")
        block = account.call("ec2", "DescribeVpcs", VpcIds=[vpc])["Vpcs"][0]["CidrBlock"]
        if services and ipaddress.ip_network(services).overlaps(ipaddress.ip_network(block)):
            reason = f"serviceIpv4Cidr {services} overlaps the VPC's {block}"
            raise self.refuse("InvalidParameterException", reason)
        return vpc

    def _check_key(self, account: Account, arn: str) -> None:
        # A key of another account or region is refused by KMS, one that nobody made here may exist elsewhere.
        if not arn.startswith(f"arn:{account.partition}:kms:{account.region}:"):
            raise self.refuse("InvalidParameterException", f"The keyArn {arn} is no KMS key of {account.region}")
        if not arn.startswith(account.arn("kms", "key/")):
            return
        key = account.call("kms", "DescribeKey", KeyId=arn)["KeyMetadata"]
        if not key["Enabled"]:
            raise self.refuse("InvalidParameterException", f"The KMS key {arn} is disabled")


def require_cluster(account: Account, name: str) -> Record:
    """The record of a cluster; EKS's error if there is none of that name."""
    record = account.store.get(CLUSTER, name)
    if record is None:
        raise ApiError("eks", "DescribeCluster", "ResourceNotFoundException", f"No cluster found for name: {name}.")
    return record


def _live(account: Account, name: str) -> Any:
    """moto's own cluster, for what it has no request for."""
    from moto.eks.models import eks_backends

    return eks_backends[account.id][account.region].clusters[name]


def _check_names_free(account: Account, name: str) -> None:
    if account.store.get(CLUSTER, name):
        message = f"Cluster already exists with name: {name}"
        raise ApiError("eks", "CreateCluster", "ResourceInUseException", message)


def _make_log_group(account: Account, name: str) -> None:
    """EKS makes the group for the control plane's logs if it is not there, and leaves it behind.

    https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
    """
    wanted = f"/aws/eks/{name}/cluster"
    groups = account.call("logs", "DescribeLogGroups", logGroupNamePrefix=wanted)["logGroups"]
    if not any(group["logGroupName"] == wanted for group in groups):
        account.call("logs", "CreateLogGroup", logGroupName=wanted)


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
