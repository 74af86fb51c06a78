"""Managed node groups: EKS's resource, the Auto Scaling group behind it, and its machines."""

from __future__ import annotations

import base64
from dataclasses import replace
from email import message_from_bytes
from typing import Final

from rehearsal.providers.base import Properties, ProviderError, at
from rehearsal.providers.cloud import Record
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.eks.access import installed
from rehearsal.providers.eks.cloud import Account
from rehearsal.providers.eks.cluster import require_cluster, running_version
from rehearsal.providers.eks.iam import TO_START, WORKER_POLICIES, is_workers, may_use, require_role
from rehearsal.providers.eks.machines.instance_types import offered_in
from rehearsal.providers.eks.network import subnets
from rehearsal.providers.eks.nodes import DELETING, NODE_GROUP, asg_name, declared_group, zones_in
from rehearsal.providers.eks.request import parameters
from rehearsal.providers.eks.row import TABLE, refused
from rehearsal.providers.eks.rules import DEFAULT_AMI_TYPE, image_problem
from rehearsal.providers.eks.scaling_group import types_of
from rehearsal.providers.resource import Lifecycle, Pending

# An account that has not asked for more: https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html, as
# https://awslabs.github.io/cdk-eks-blueprints/api/classes/GenericClusterPropsV2Constraints.html reads it.
GROUPS_PER_CLUSTER: Final = 30
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/key-policy-requirements-EBS-encryption.html
_AUTO_SCALING: Final = "aws-service-role/autoscaling.amazonaws.com/AWSServiceRoleForAutoScaling"
_LAST_OF_AL2: Final = 32
_ROLLS: Final = "rolls"
# https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
_NO_BLOCK: Final = "A group of capacity type CAPACITY_BLOCK needs a launch template with that market and the block's id"
# What a template of a managed node group must not have:
# https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
_NOT_IN_TEMPLATE: Final = ("IamInstanceProfile", "HibernationOptions", "InstanceInitiatedShutdownBehavior")


def _requires(pending: Pending[Account]) -> None:
    account, inputs = pending.cloud, pending.inputs
    cluster = require_cluster(account, inputs["clusterName"])
    if pending.before is None:
        _check_role(account, inputs)
        _check_subnets(account, inputs, cluster)
        _check_quota(account, inputs["clusterName"])
    _check_template(account, inputs)
    _check_version(inputs, running_version(account, cluster.id), new=pending.before is None)


def _make(pending: Pending[Account]) -> str:
    account, inputs = pending.cloud, pending.inputs
    params = {**parameters(NODE_GROUP, inputs), "tags": inputs.get("tags")}
    params.setdefault("version", running_version(account, inputs["clusterName"]))
    # moto knows no update strategy, repair or warm pool; the request as a whole was checked before.
    for key in ("nodeRepairConfig", "warmPoolConfig"):
        params.pop(key, None)
    params["updateConfig"] = {"maxUnavailable": 1, **params.get("updateConfig", {})}
    params["updateConfig"].pop("updateStrategy", None)
    if "maxUnavailablePercentage" in params["updateConfig"]:
        params["updateConfig"].pop("maxUnavailable")
    account.call("eks", "CreateNodegroup", **params)
    scaling_group.make(account, inputs)
    return pending.id


def _change(account: Account, id: str, old: Properties, new: Properties) -> None:
    live = scaling_group.live(account, new["clusterName"], new["nodeGroupName"])
    live.labels, live.taints = dict(new.get("labels") or {}), list(new.get("taints") or ())
    # moto answers the request that sets tags for clusters only.
    live.tags = dict(new.get("tags") or {})
    scaling_group.set_versions(account, new)
    # As the provider does, which has waited for the version: the autoscaler may have set another size meanwhile.
    if new["scalingConfig"] != old["scalingConfig"]:
        sizes = {key: int(value) for key, value in new["scalingConfig"].items()}
        account.call("eks", "UpdateNodegroupConfig", **_names(new), scalingConfig=sizes)
        scaling_group.resize(account, scaling_group.name_of(account, new["clusterName"], new["nodeGroupName"]), sizes)
    # The provider sends what differs from its state. If the group has it already, EKS takes the newest image of it:
    # https://docs.aws.amazon.com/eks/latest/APIReference/API_UpdateNodegroupVersion.html
    vars(live)[_ROLLS] = any(at(old, path) != at(new, path) for path in TABLE.recreates(NODE_GROUP))


def _remove(account: Account, id: str, inputs: Properties) -> None:
    names = _names(inputs)
    scaling_group.remove(account, scaling_group.name_of(account, *names.values()))
    account.call("eks", "DeleteNodegroup", **names)


def _names(inputs: Properties) -> dict[str, str]:
    return {"clusterName": inputs["clusterName"], "nodegroupName": inputs["nodeGroupName"]}


def _live(account: Account, record: Record) -> Properties:
    desired = scaling_group.describe(account, asg_name(record))["DesiredCapacity"]
    return {**record.inputs, "scalingConfig": {**record.inputs["scalingConfig"], "desiredSize": desired}}


def _start(account: Account, record: Record, before: Record | None) -> Record:
    # The autoscaler simulation applies a change of the size right after this.
    if before is None:
        group = declared_group(account, record, scaling_group.describe(account, asg_name(record)))
        if group.desired:
            _wait_for_network(account, group.base.cluster)
        account.machines().apply_group(group.base)
    elif vars(scaling_group.live(account, *_names(record.inputs).values())).pop(_ROLLS, False):
        account.machines().recreate_nodes(record.inputs["clusterName"], record.inputs["nodeGroupName"])
    return record


def _stop(account: Account, record: Record) -> None:
    # From here on the autoscaler simulation ignores the group, or it would recreate what is being deleted.
    account.store.put(replace(record, outputs={**record.outputs, "status": DELETING}))
    try:
        account.machines().delete_group(record.inputs["clusterName"], record.inputs["nodeGroupName"])
    except Exception as error:
        raise ProviderError(f"waiting for EKS Node Group ({record.id}) delete: {error}") from error


def _check_role(account: Account, inputs: Properties) -> None:
    role = require_role(account, inputs["nodeRoleArn"], "ec2.amazonaws.com")
    if not is_workers(account, role):
        # EKS itself notices only when the nodes cannot join, after many minutes.
        reason = f"Instances failed to join the kubernetes cluster: role {role} has no {WORKER_POLICIES[0]}"
        raise refused(NODE_GROUP, "NodeCreationFailure", reason)


def _check_subnets(account: Account, inputs: Properties, cluster: Record) -> None:
    described = subnets(account, inputs["subnetIds"])
    for subnet in described:
        if subnet["VpcId"] != at(cluster.outputs, "vpcConfig.vpcId"):
            reason = f"The subnet {subnet['SubnetId']} is not in the VPC of cluster {cluster.id}"
            raise refused(NODE_GROUP, "InvalidParameterException", reason)
    zones = zones_in(described)
    for name in scaling_group.group_types(account, inputs):
        if not any(offered_in(account, name, zone) for zone in zones):
            reason = f"Your requested instance type ({name}) is not supported in {', '.join(zones)}"
            raise refused(NODE_GROUP, "InvalidParameterException", reason)


def _check_quota(account: Account, cluster: str) -> None:
    present = [each for each in account.store.all(NODE_GROUP) if each.inputs["clusterName"] == cluster]
    if len(present) >= GROUPS_PER_CLUSTER:
        reason = f"Cluster {cluster} has reached its limit of {GROUPS_PER_CLUSTER} managed node groups"
        raise refused(NODE_GROUP, "ResourceLimitExceededException", reason)


def _types(pending: Pending[Account]) -> list[str]:
    """Those that EKS says; none where they are in the template:
    https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html."""
    if pending.inputs.get("instanceTypes"):
        return list(pending.inputs["instanceTypes"])
    template = scaling_group.template_of(pending.cloud, pending.inputs)
    return [] if at(template, "LaunchTemplateData.InstanceType") else list(types_of({}, template))


def _ami_type(pending: Pending[Account]) -> str:
    if pending.inputs.get("amiType"):
        return str(pending.answer["amiType"])
    if pending.inputs.get("launchTemplate"):
        template = scaling_group.template_of(pending.cloud, pending.inputs)["LaunchTemplateData"]
        if template.get("ImageId"):
            return "CUSTOM"
    return DEFAULT_AMI_TYPE


def _template(pending: Pending[Account]) -> Properties | None:
    """The template with both its id and its name."""
    if not pending.inputs.get("launchTemplate"):
        return None
    version = scaling_group.template_of(pending.cloud, pending.inputs)
    known = {"id": version["LaunchTemplateId"], "name": version["LaunchTemplateName"]}
    return {**pending.inputs["launchTemplate"], **known}


def _check_template(account: Account, inputs: Properties) -> None:
    block = inputs.get("capacityType") == "CAPACITY_BLOCK"
    if not inputs.get("launchTemplate"):
        if block:
            raise refused(NODE_GROUP, "InvalidParameterException", _NO_BLOCK)
        return
    template = scaling_group.template_of(account, inputs)
    data = template["LaunchTemplateData"]
    market = at(data, "InstanceMarketOptions.MarketType")
    target = at(data, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId")
    wrong = {
        f"Launch template of a managed node group must not specify {key}": data.get(key) for key in _NOT_IN_TEMPLATE
    }
    wrong |= {
        "Instance types are in the launch template and in the request: give them in one place": (
            data.get("InstanceType") and inputs.get("instanceTypes")
        ),
        _NO_BLOCK: block and (market != "capacity-block" or not target),
        "A node group of capacity type CAPACITY_BLOCK has one instance type": (
            block and not inputs.get("instanceTypes") and not data.get("InstanceType")
        ),
        "Launch template must not have instance market options: set capacityType": (
            market and not (market == "capacity-block" and block)
        ),
        # https://github.com/aws-ia/terraform-aws-eks-blueprints/issues/843; with an own image EKS merges nothing.
        "User data was not in the MIME multipart format": (
            data.get("UserData") and not data.get("ImageId") and not _is_merged(inputs, data["UserData"])
        ),
        "AMI type must not be given with a launch template that has an image": (
            data.get("ImageId") and inputs.get("amiType") not in (None, "CUSTOM")
        ),
    }
    for reason, applies in wrong.items():
        if applies:
            raise refused(NODE_GROUP, "InvalidParameterException", reason)
    typed = {**inputs, "instanceTypes": types_of(inputs, template)}
    if not data.get("ImageId") and (problem := image_problem(typed, account)) is not None:
        raise refused(NODE_GROUP, *problem.split(": ", 1))
    _check_disk_keys(account, inputs, data)


def _is_merged(inputs: Properties, user_data: str) -> bool:
    """Whether EKS can merge a template's user data into its own: an archive for Amazon Linux; Bottlerocket's TOML and
    Windows' scripts are not judged."""
    if not (inputs.get("amiType") or DEFAULT_AMI_TYPE).startswith("AL2"):
        return True
    return message_from_bytes(base64.b64decode(user_data)).is_multipart()


def _check_disk_keys(account: Account, inputs: Properties, data: Properties) -> None:
    """Machines with a key that Auto Scaling may not use end as soon as they start, and the group fails with them:
    https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html (``NodeCreationFailure``)."""
    if not int(inputs["scalingConfig"].get("desiredSize") or 0):
        return
    for mapping in data.get("BlockDeviceMappings") or ():
        key = (mapping.get("Ebs") or {}).get("KmsKeyId")
        if key and not may_use(account, key, _AUTO_SCALING, TO_START):
            raise ProviderError(
                "unexpected state 'CREATE_FAILED', wanted target 'ACTIVE'. last error: AsgInstanceLaunchFailures: "
                f"Instance became unhealthy while waiting for instance to be in InService state. Termination Reason: "
                f"Client.InvalidKMSKey.InvalidState: {_AUTO_SCALING} is not authorized to use {key}"
            )


def _check_version(inputs: Properties, offered: str, *, new: bool) -> None:
    """A new group has the cluster's: https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html."""
    version = inputs.get("version")
    minor, highest = (int((each or "0.0").split(".")[1]) for each in (version, offered))
    ami = inputs.get("amiType") or ""
    # https://docs.aws.amazon.com/eks/latest/userguide/eks-ami-deprecation-faqs.html
    if new and ami.startswith("AL2_") and highest > _LAST_OF_AL2:
        reason = f"AMI Type {ami} is only supported for kubernetes versions 1.{_LAST_OF_AL2} or earlier"
        raise refused(NODE_GROUP, "InvalidParameterException", reason)
    if minor > highest:
        reason = f"Nodes of version {version} are newer than the control plane's {offered}"
        raise refused(NODE_GROUP, "InvalidParameterException", reason)
    if new and version and minor < highest:
        reason = f"Requested version {version} is not the cluster's, {offered}, which a new node group has"
        raise refused(NODE_GROUP, "InvalidParameterException", reason)


def _wait_for_network(account: Account, cluster: str) -> None:
    """Nodes become ready only with a network plugin: https://docs.aws.amazon.com/eks/latest/userguide/troubleshooting.html."""
    if not account.until(lambda: installed(account, cluster, "vpc-cni")):
        reason = (
            "Unhealthy nodes in the kubernetes cluster: container runtime network not ready: cni plugin not "
            "initialized; the cluster has no vpc-cni add-on, on which the node group has to depend"
        )
        raise refused(NODE_GROUP, "NodeCreationFailure", reason)


ROWS: Final = (
    TABLE.row(
        NODE_GROUP,
        make=_make,
        change=_change,
        retag=lambda *_: None,  # as a part of the change
        remove=_remove,
        live=_live,
        outputs={
            "amiType": _ami_type,
            "diskSize": lambda pending: 0 if pending.inputs.get("launchTemplate") else pending.answer.get("diskSize"),
            "instanceTypes": _types,
            "launchTemplate": _template,
            "releaseVersion": lambda pending: (
                pending.inputs.get("releaseVersion") or f"{pending.answer['version']}.0-20261101"
            ),
            "resources": lambda pending: [
                {
                    "autoscalingGroups": pending.answer["resources"]["autoScalingGroups"],
                    "remoteAccessSecurityGroupId": "",
                }
            ],
            "updateConfig": lambda pending: pending.inputs.get("updateConfig") or {"maxUnavailable": 1},
        },
        requires=_requires,
        lifecycle=Lifecycle("EKS Node Group", _start, _stop),
    ),
)
