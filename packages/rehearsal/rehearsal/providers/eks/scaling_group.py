"""Launch templates, which node groups start their instances from, placement groups, and the Auto Scaling groups behind
node groups."""

from __future__ import annotations

import uuid
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.cloud import Account, AwsError
from rehearsal.providers.eks.request import pairs, parameters
from rehearsal.providers.eks.row import TABLE
from rehearsal.providers.eks.rules import DEFAULT_AMI_TYPE, DEFAULT_TYPE
from rehearsal.providers.resource import Pending

TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_NOT_VERSIONED: Final = ("tags", "name", "namePrefix", "region", "defaultVersion", "updateDefaultVersion")


def _wrap(inputs: Properties, data: dict[str, Any]) -> dict[str, Any]:
    named = {"LaunchTemplateName": inputs["name"], "VersionDescription": inputs.get("description")}
    return {**named, "LaunchTemplateData": data}


def _planned(old: Properties, new: Properties) -> tuple[str, ...]:
    """The outputs that a preview does not know: not what makes a version, which tags do not, and a description does
    (``CustomizeDiff`` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/ec2/ec2_launch_template.go)."""
    changed = _changed(old, new) - {"name", "namePrefix", "description"}
    latest = ("latestVersion",) if changed - {"defaultVersion", "updateDefaultVersion"} else ()
    return (*latest, "defaultVersion") if changed and new.get("updateDefaultVersion") else latest


def _changed(old: Properties, new: Properties) -> set[str]:
    return {key for key in {*old, *new} if old.get(key) != new.get(key)}


def _change_template(account: Account, id: str, old: Properties, new: Properties) -> None:
    if _changed(old, new) - {*_NOT_VERSIONED}:
        answer = account.call(
            "ec2",
            "CreateLaunchTemplateVersion",
            LaunchTemplateId=id,
            VersionDescription=new.get("description"),
            LaunchTemplateData=parameters(TEMPLATE, new),
        )
        if new.get("updateDefaultVersion"):
            latest = str(answer["LaunchTemplateVersion"]["VersionNumber"])
            account.call("ec2", "ModifyLaunchTemplate", LaunchTemplateId=id, DefaultVersion=latest)
    default_version = new.get("defaultVersion")
    if default_version and default_version != old.get("defaultVersion"):
        account.call("ec2", "ModifyLaunchTemplate", LaunchTemplateId=id, DefaultVersion=str(int(default_version)))


_PAGE: Final = 100
_OWN_TAG: Final = "eks:nodegroup-name"
"""On every group that EKS makes, and no other resource type here makes one."""


def types_of(inputs: Mapping[str, Any], template: Mapping[str, Any]) -> Sequence[str]:
    """A group's instance types, the first first; ``template`` is the version of its launch template, empty without one.

    https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
    """
    of_template = (template.get("LaunchTemplateData") or {}).get("InstanceType")
    return inputs.get("instanceTypes") or [of_template or DEFAULT_TYPE]


def group_types(account: Account, inputs: Properties) -> Sequence[str]:
    """``types_of`` with the template that the group names."""
    return inputs.get("instanceTypes") or types_of(inputs, template_of(account, inputs))


def make(account: Account, inputs: Properties) -> None:
    """Make the group of a node group that EKS has just made, with EKS's tags and none of the node group's.

    https://github.com/aws/containers-roadmap/issues/608
    """
    cluster, name = inputs["clusterName"], inputs["nodeGroupName"]
    group = f"eks-{name}-{uuid.uuid4()}"
    own_template = f"eks-{uuid.uuid4()}"
    data = {"ImageId": image_id(inputs), "InstanceType": group_types(account, inputs)[0]}
    account.call("ec2", "CreateLaunchTemplate", LaunchTemplateName=own_template, LaunchTemplateData=data)
    sizes = inputs["scalingConfig"]
    tags = {
        "eks:cluster-name": cluster,
        _OWN_TAG: name,
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        f"kubernetes.io/cluster/{cluster}": "owned",
    }
    account.call(
        "autoscaling",
        "CreateAutoScalingGroup",
        AutoScalingGroupName=group,
        MinSize=int(sizes["minSize"]),
        MaxSize=int(sizes["maxSize"]),
        DesiredCapacity=int(sizes["desiredSize"]),
        VPCZoneIdentifier=",".join(dict.fromkeys(inputs["subnetIds"])),
        # Nothing reads of it which other types and how many spot machines EKS would have it start.
        LaunchTemplate={"LaunchTemplateName": own_template},
        Tags=[_tag(group, key, value) for key, value in tags.items()],
    )
    live(account, cluster, name).resources = {"autoScalingGroups": [{"name": group}]}


def name_of(account: Account, cluster: str, node_group: str) -> str:
    """The name of a node group's Auto Scaling group."""
    answer = account.call("eks", "DescribeNodegroup", clusterName=cluster, nodegroupName=node_group)
    return str(answer["nodegroup"]["resources"]["autoScalingGroups"][0]["name"])


def describe(account: Account, name: str) -> dict[str, Any]:
    """An Auto Scaling group as AWS describes it; AWS's error if it does not exist."""
    groups = describe_all(account, [name])
    if name not in groups:
        raise _not_found(name)
    return groups[name]


def describe_all(account: Account, names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Those Auto Scaling groups of these names that exist, as AWS describes them."""
    groups: dict[str, dict[str, Any]] = {}
    for start in range(0, len(names), _PAGE):
        page = list(names[start : start + _PAGE])
        answer = account.call("autoscaling", "DescribeAutoScalingGroups", AutoScalingGroupNames=page, MaxRecords=_PAGE)
        groups |= {group["AutoScalingGroupName"]: group for group in answer["AutoScalingGroups"]}
    return groups


def resize(account: Account, name: str, sizes: Mapping[str, int]) -> None:
    """Set minimum, maximum and desired size, as EKS does when a node group's change."""
    bounds = {"MinSize": sizes["minSize"], "MaxSize": sizes["maxSize"], "DesiredCapacity": sizes["desiredSize"]}
    account.call("autoscaling", "UpdateAutoScalingGroup", AutoScalingGroupName=name, **bounds)


def set_size(account: Account, name: str, size: int) -> None:
    """Set the desired size alone, as an autoscaler does."""
    account.call("autoscaling", "SetDesiredCapacity", AutoScalingGroupName=name, DesiredCapacity=size)


def remove(account: Account, name: str) -> None:
    """Remove the group with its instances and its launch template."""
    template_name = describe(account, name)["LaunchTemplate"]["LaunchTemplateName"]
    account.call("autoscaling", "DeleteAutoScalingGroup", AutoScalingGroupName=name, ForceDelete=True)
    account.call("ec2", "DeleteLaunchTemplate", LaunchTemplateName=template_name)


def template(account: Account, specification: Mapping[str, Any]) -> dict[str, Any]:
    """The version of a launch template that an ``id`` or ``name`` and a ``version`` name; AWS's error without it."""
    by = {key: specification[key] for key in ("id", "name") if specification.get(key)}
    named = {f"LaunchTemplate{key.title()}": value for key, value in list(by.items())[:1]}
    version = str(specification.get("version") or "$Default")
    answer = account.call("ec2", "DescribeLaunchTemplateVersions", **named, Versions=[version])
    if not answer["LaunchTemplateVersions"]:
        message = f"Could not find launch template version {version}"
        raise AwsError("eks", "CreateNodegroup", "InvalidRequestException", message)
    return answer["LaunchTemplateVersions"][0]


def template_of(account: Account, inputs: Properties) -> dict[str, Any]:
    """The version of a node group's launch template; empty if it has none."""
    specification = inputs.get("launchTemplate")
    return template(account, specification) if specification else {}


def set_versions(account: Account, inputs: Properties) -> None:
    """Have EKS's own group say the versions of Kubernetes and template that ``inputs`` ask for."""
    group = live(account, inputs["clusterName"], inputs["nodeGroupName"])
    if inputs.get("version"):
        group.version = inputs["version"]
    if inputs.get("launchTemplate"):
        version = template_of(account, inputs)
        group.launch_template = {"id": version["LaunchTemplateId"], "version": str(version["VersionNumber"])}


def image_id(inputs: Properties) -> str:
    """A made-up id of the AMI that EKS would choose; alike for groups of one type of image."""
    kind = inputs.get("amiType") or DEFAULT_AMI_TYPE
    return f"ami-{zlib.crc32(kind.encode()):017x}"


def live(account: Account, cluster: str, node_group: str) -> Any:
    """moto's own node group, for what it has no request for."""
    from moto.eks.models import eks_backends

    return eks_backends[account.id][account.region].clusters[cluster].nodegroups[node_group]


def _require(account: Account, name: str) -> None:
    """Raise AWS's error if there is no such group; a whole description takes longer than all else about a tag."""
    filters = [{"Name": "auto-scaling-group", "Values": [name]}, {"Name": "key", "Values": [_OWN_TAG]}]
    if not account.call("autoscaling", "DescribeTags", Filters=filters)["Tags"]:
        raise _not_found(name)


def _not_found(name: str) -> AwsError:
    message = f"AutoScalingGroup name not found - null: {name}"
    return AwsError("autoscaling", "DescribeAutoScalingGroups", "GroupNotFound", message)


def _tag(group: str, key: str, value: str, *, propagate: bool = True) -> dict[str, Any]:
    where = {"ResourceId": group, "ResourceType": "auto-scaling-group"}
    return {**where, "Key": key, "Value": value, "PropagateAtLaunch": propagate}


def _make_tag(pending: Pending[Account]) -> str:
    _set_tag(pending.cloud, "", {}, pending.inputs)
    return f"{pending.inputs['autoscalingGroupName']},{pending.inputs['tag']['key']}"


def _set_tag(account: Account, id: str, old: Properties, new: Properties) -> None:
    tag = new["tag"]
    sent = _tag(new["autoscalingGroupName"], tag["key"], tag["value"], propagate=bool(tag["propagateAtLaunch"]))
    account.call("autoscaling", "CreateOrUpdateTags", Tags=[sent])


def _remove_tag(account: Account, id: str, inputs: Properties) -> None:
    _require(account, inputs["autoscalingGroupName"])
    sent = _tag(inputs["autoscalingGroupName"], inputs["tag"]["key"], inputs["tag"]["value"])
    account.call("autoscaling", "DeleteTags", Tags=[sent])


ROWS: Final = (
    TABLE.row(
        "aws:ec2/placementGroup:PlacementGroup",
        retag=lambda account, id, _, new: account.supply.placement_groups[id].update(Tags=pairs(new)),
    ),
    TABLE.row(TEMPLATE, wrap=_wrap, change=_change_template, recomputed=_planned),
    TABLE.row(
        "aws:autoscaling/tag:Tag",
        make=_make_tag,
        change=_set_tag,
        remove=_remove_tag,
        requires=lambda pending: _require(pending.cloud, pending.inputs["autoscalingGroupName"]),
    ),
)
