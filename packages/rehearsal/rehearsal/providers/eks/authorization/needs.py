"""What each request needs, by service, and whether a caller's policies allow it, in AWS's words.

EC2: https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html. Making and tagging are two
actions, the second with ``ec2:CreateAction``:
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/supported-iam-actions-tagging.html.

The other services that Karpenter calls (https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/aws/sdk.go) have
pages below https://docs.aws.amazon.com/service-authorization/latest/reference/, each with ``.html``:
list_awsidentityandaccessmanagementiam, list_amazonelastickubernetesservice, list_awspricelist, list_awssystemsmanager,
list_amazonsqs, list_awssecuritytokenservice, list_amazonapplicationrecoverycontroller-zonalshift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts import iam
from rehearsal.providers.eks import scaling_group
from rehearsal.providers.eks.authorization.identity import Caller, Needs, Operation, Right, Role, Table, only
from rehearsal.providers.eks.cloud import Account, AwsError

_TABLE: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))

_PUBLIC: Final = ("image", "snapshot")
"""Types whose ARNs name no account."""


def create_launch_template(operation: Operation) -> Iterator[Right]:
    """``CreateLaunchTemplate``."""
    yield from _made(operation, "CreateLaunchTemplate", "launch-template", operation.params.get("TagSpecifications"))


def delete_launch_template(operation: Operation) -> Iterator[Right]:
    """``DeleteLaunchTemplate``."""
    template = launch_template(operation.account, operation.params)
    yield _on_template(operation, "ec2:DeleteLaunchTemplate", template.get("LaunchTemplateId", "*"))


def create_tags(operation: Operation) -> Iterator[Right]:
    """``CreateTags``: the tags of the request on each of the resources."""
    tags = _as_mapping(operation.params.get("Tags"))
    for id in operation.params.get("Resources") or ():
        kind = _TABLE["types"].get(str(id).partition("-")[0], "*")
        tagged = {"Tags": _tags_of(operation.account, str(id))}
        yield _on(operation, "ec2:CreateTags", kind, str(id), tagged, iam.request_tags(tags))


def terminate_instances(operation: Operation) -> Iterator[Right]:
    """``TerminateInstances``: each of the instances."""
    ids = list(operation.params.get("InstanceIds") or ())
    named = [{"Name": "instance-id", "Values": ids}]
    known = {each["InstanceId"]: each for each in operation.account.instances(Filters=named)}
    for id in ids:
        instance = known.get(id, {})
        yield _on(operation, "ec2:TerminateInstances", "instance", id, instance, _of_instance(instance))


def create_fleet(operation: Operation) -> Iterator[Right]:
    """``CreateFleet``: the fleet, and what the request names of its own for its instances.

    What starting those needs is looked at when they start (:func:`launch`), and becomes errors of the fleet.
    """
    yield from _made(operation, "CreateFleet", "fleet", operation.params.get("TagSpecifications"))
    for config in operation.params.get("LaunchTemplateConfigs") or ():
        template = launch_template(operation.account, config.get("LaunchTemplateSpecification") or {})
        if template:
            yield _on_template(operation, "ec2:CreateFleet", template["LaunchTemplateId"])
        overrides = config.get("Overrides") or ()
        for kind, key in (("image", "ImageId"), ("subnet", "SubnetId")):
            for id in dict.fromkeys(str(each[key]) for each in overrides if each.get(key)):
                yield _on(operation, "ec2:CreateFleet", kind, id, {"Tags": _tags_of(operation.account, id)})


def run_instances(operation: Operation) -> Iterator[Right]:
    """``RunInstances``, with or without a launch template."""
    specification = operation.params.get("LaunchTemplate") or {}
    template = launch_template(operation.account, specification)
    data = template.get("LaunchTemplateData") or {}
    merged = {**data, **{key: value for key, value in operation.params.items() if value}}
    tags = [*(data.get("TagSpecifications") or ()), *(operation.params.get("TagSpecifications") or ())]
    market = (merged.get("InstanceMarketOptions") or {}).get("MarketType")
    yield from launch(operation, template, {**merged, "TagSpecifications": tags}, spot=market == "spot")


def launch(
    operation: Operation, template: Mapping[str, Any], data: Mapping[str, Any], *, spot: bool
) -> Iterator[Right]:
    """What it needs to start one instance from ``data``, a launch template's with everything that replaces parts."""
    used = [("image", data.get("ImageId"))]
    interfaces = data.get("NetworkInterfaces") or ()
    used += [("subnet", data.get("SubnetId")), *(("subnet", each.get("SubnetId")) for each in interfaces)]
    groups = [*(data.get("SecurityGroupIds") or ()), *(id for each in interfaces for id in each.get("Groups") or ())]
    used += [("security-group", id) for id in groups]
    disks = [each.get("Ebs") or {} for each in data.get("BlockDeviceMappings") or ()]
    used += [("snapshot", disk.get("SnapshotId")) for disk in disks]
    reserved = (data.get("CapacityReservationSpecification") or {}).get("CapacityReservationTarget") or {}
    used += [("capacity-reservation", reserved.get("CapacityReservationId"))]
    placement = data.get("Placement") or {}
    used += [("placement-group", placement.get("GroupName") or placement.get("GroupId"))]
    for kind, id in dict.fromkeys((kind, str(id)) for kind, id in used if id):
        yield _on(operation, "ec2:RunInstances", kind, id, {"Tags": _tags_of(operation.account, id)})
    if template:
        yield _on_template(operation, "ec2:RunInstances", template["LaunchTemplateId"])
    tags = data.get("TagSpecifications")
    machine = _of_instance({"InstanceType": data.get("InstanceType")})
    yield from _made(operation, "RunInstances", "instance", tags, machine)
    yield from _made(operation, "RunInstances", "volume", tags)
    yield from _made(operation, "RunInstances", "network-interface", tags)
    if spot:
        yield from _made(operation, "RunInstances", "spot-instances-request", tags)
    yield from _passed_role(operation, data.get("IamInstanceProfile") or {})
    # EC2 asks for them as its caller: https://docs.aws.amazon.com/ebs/latest/userguide/ebs-encryption-requirements.html
    for key in disk_keys(data):
        for action in ("Decrypt", "DescribeKey", "GenerateDataKeyWithoutPlaintext", "ReEncryptFrom", "ReEncryptTo"):
            yield Right(f"kms:{action}", key)
        yield Right("kms:CreateGrant", key, {"kms:GrantIsForAWSResource": "true"})


def disk_keys(data: Mapping[str, Any]) -> list[str]:
    """The customer's keys on the disks of a launch template's data, each once."""
    named = [(each.get("Ebs") or {}).get("KmsKeyId") for each in data.get("BlockDeviceMappings") or ()]
    return list(dict.fromkeys(key for key in named if key))


def launch_template(account: Account, specification: Mapping[str, Any]) -> Mapping[str, Any]:
    """The version of a launch template that a request names, ``{}`` if it does not exist."""
    keys = {"LaunchTemplateId": "id", "LaunchTemplateName": "name", "Version": "version"}
    named = {keys[key]: value for key, value in specification.items() if key in keys}
    try:
        return scaling_group.template(account, named) if named else {}
    except AwsError:
        return {}


def _on_template(operation: Operation, action: str, id: str) -> Right:
    return _on(operation, action, "launch-template", id, {"Tags": _tags_of(operation.account, id)})


def _made(
    operation: Operation, action: str, kind: str, specifications: Any, further: Mapping[str, iam.Value] | None = None
) -> Iterator[Right]:
    """The right to make a resource, and to tag it if the request does."""
    tags = {
        key: value
        for each in specifications or ()
        if each.get("ResourceType") == kind
        for key, value in _as_mapping(each.get("Tags")).items()
    }
    context = {**(iam.request_tags(tags) if tags else {}), **(further or {})}
    yield _on(operation, f"ec2:{action}", kind, "*", {}, context)
    if tags:
        yield _on(operation, "ec2:CreateTags", kind, "*", {}, {**context, "ec2:CreateAction": action})


def _on(
    operation: Operation,
    action: str,
    kind: str,
    id: str,
    resource: Mapping[str, Any],
    further: Mapping[str, iam.Value] | None = None,
) -> Right:
    account = "" if kind in _PUBLIC else _owner(operation.account, kind, id)
    arn = f"arn:{operation.account.partition}:ec2:{operation.account.region}:{account}:{kind}/{id}"
    tags = iam.resource_tags(_as_mapping(resource.get("Tags")), "ec2")
    return Right(action, arn, {"ec2:Region": operation.account.region, **tags, **(further or {})})


def _owner(account: Account, kind: str, id: str) -> str:
    """The account in the ARN: of a shared subnet its owner's.

    https://github.com/terraform-aws-modules/terraform-aws-iam/issues/227
    """
    if kind != "subnet":
        return account.id
    subnets = account.call("ec2", "DescribeSubnets", Filters=[{"Name": "subnet-id", "Values": [id]}])["Subnets"]
    return str(subnets[0]["OwnerId"]) if subnets else account.id


def _of_instance(instance: Mapping[str, Any]) -> dict[str, iam.Value]:
    facts = {
        "ec2:InstanceType": instance.get("InstanceType"),
        "ec2:AvailabilityZone": (instance.get("Placement") or {}).get("AvailabilityZone"),
        "ec2:InstanceProfile": (instance.get("IamInstanceProfile") or {}).get("Arn"),
    }
    return {key: str(value) for key, value in facts.items() if value}


def _passed_role(operation: Operation, profile: Mapping[str, Any]) -> Iterator[Right]:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/iam-roles-for-amazon-ec2.html#roles-profiles-passrole."""
    name = profile.get("Name") or str(profile.get("Arn") or "").rpartition("/")[2]
    if not name:
        return
    for role in _instance_profile(operation.account, name).get("Roles") or ():
        yield Right("iam:PassRole", role["Arn"], {"iam:PassedToService": "ec2.amazonaws.com"})


def _tags_of(account: Account, id: str) -> list[Mapping[str, str]]:
    filters = [{"Name": "resource-id", "Values": [id]}]
    return account.call("ec2", "DescribeTags", Filters=filters)["Tags"]


def _as_mapping(tags: Iterable[Mapping[str, Any]] | None) -> dict[str, str]:
    return {str(each["Key"]): str(each.get("Value") or "") for each in tags or ()}


def _profile(operation: str) -> Needs:
    """An action on one instance profile; adding a role also passes that role."""

    def needs(request: Operation) -> Iterator[Right]:
        name = str(request.params.get("InstanceProfileName") or "")
        instance_profile = _instance_profile(request.account, name)
        path = str(instance_profile.get("Path") or request.params.get("Path") or "/")
        arn = request.arn("iam", f"instance-profile{path}{name}", everywhere=True)
        tags, requested = _as_mapping(instance_profile.get("Tags")), _as_mapping(request.params.get("Tags"))
        context = {**iam.resource_tags(tags), **(iam.request_tags(requested) if requested else {})}
        yield Right(f"iam:{operation}", arn, context)
        if operation == "AddRoleToInstanceProfile":
            role = _role(request)
            if role:
                yield Right("iam:PassRole", role["Arn"], {"iam:PassedToService": "ec2.amazonaws.com"})

    return needs


def _list_profiles(request: Operation) -> Iterator[Right]:
    prefix = str(request.params.get("PathPrefix") or "/")
    yield Right("iam:ListInstanceProfiles", request.arn("iam", f"instance-profile{prefix}", everywhere=True))


def _get_role(request: Operation) -> Iterator[Right]:
    iam_role = _role(request)
    arn = str(iam_role.get("Arn") or request.arn("iam", f"role/{request.params.get('RoleName')}", everywhere=True))
    yield Right("iam:GetRole", arn, iam.resource_tags(_as_mapping(iam_role.get("Tags"))))


def _describe_cluster(request: Operation) -> Iterator[Right]:
    name = request.params.get("name")
    cluster = request.account.look_up("eks", "DescribeCluster", "cluster", name=name) or {}
    yield Right(
        "eks:DescribeCluster", request.arn("eks", f"cluster/{name}"), iam.resource_tags(cluster.get("tags") or {})
    )


def _get_parameter(request: Operation) -> Iterator[Right]:
    name = str(request.params.get("Name") or "")
    # AWS's own parameters belong to no account.
    owner = "" if name.startswith("/aws/service/") else request.account.id
    yield Right(
        "ssm:GetParameter",
        f"arn:{request.account.partition}:ssm:{request.account.region}:{owner}:parameter/{name.removeprefix('/')}",
    )


def _queue(operation: str) -> Needs:
    def needs(request: Operation) -> Iterator[Right]:
        name = request.params.get("QueueName") or str(request.params.get("QueueUrl") or "").rpartition("/")[2]
        yield Right(f"sqs:{operation}", request.arn("sqs", str(name)))

    return needs


def _instance_profile(account: Account, name: str) -> Mapping[str, Any]:
    return account.look_up("iam", "GetInstanceProfile", "InstanceProfile", InstanceProfileName=name) or {}


def _role(request: Operation) -> Mapping[str, Any]:
    return request.account.look_up("iam", "GetRole", "Role", RoleName=request.params.get("RoleName")) or {}


TABLE: Final[Table] = {
    **{
        (service, name): only(f"{service}:{name}") for service, names in _TABLE["any"].items() for name in names.split()
    },
    ("ec2", "CreateFleet"): create_fleet,
    ("ec2", "CreateLaunchTemplate"): create_launch_template,
    ("ec2", "CreateTags"): create_tags,
    ("ec2", "DeleteLaunchTemplate"): delete_launch_template,
    ("ec2", "RunInstances"): run_instances,
    ("ec2", "TerminateInstances"): terminate_instances,
    **{("iam", name): _profile(name) for name in _TABLE["profile"].split()},
    ("iam", "GetRole"): _get_role,
    ("iam", "ListInstanceProfiles"): _list_profiles,
    ("eks", "DescribeCluster"): _describe_cluster,
    ("ssm", "GetParameter"): _get_parameter,
    **{("sqs", name): _queue(name) for name in _TABLE["queue"].split()},
    # Everybody may.
    ("sts", "GetCallerIdentity"): lambda _: (),
    ("arc-zonal-shift", "GetManagedResource"): lambda request: [
        Right("arc-zonal-shift:GetManagedResource", str(request.params.get("resourceIdentifier") or "*"))
    ],
}


def refusal(caller: Caller, role: Role | None, rights: Iterable[Right]) -> str:
    """The first of the rights that the caller, whose role this is, lacks; ``""`` if it has all."""
    return next((denied for right in rights if (denied := _refusal(caller, role, right))), "")


def _refusal(caller: Caller, role: Role | None, right: Right) -> str:
    what = f"User: {caller.arn} is not authorized to perform: {right.action} on resource: {right.resource}"
    if role is None:
        return f"{what} because the role {caller.role} does not exist any more"
    # Keys of every request: …/IAM/latest/UserGuide/reference_policies_condition-keys.html.
    context = {
        "aws:PrincipalAccount": role.arn.split(":")[4],
        "aws:PrincipalArn": role.arn,
        "aws:PrincipalIsAWSService": "false",
        "aws:PrincipalType": "AssumedRole",
        "aws:SecureTransport": "true",
        "aws:ViaAWSService": "false",
        **{f"aws:PrincipalTag/{key}": value for key, value in caller.tags.items()},
        **right.context,
    }
    call = iam.AuthorizationRequest(right.action, right.resource, context, whole=True)
    documents = [("an", "identity-based policy", tuple(role.policies.values()))]
    if role.boundary is not None:
        documents.append(("a", "permissions boundary", (role.boundary,)))
    for article, kind, document in documents:
        if iam.denies(document, call) is True:
            return f"{what} with an explicit deny in {article} {kind}"
        if iam.allows(document, call) is not True:
            odd = iam.unevaluated_operators(document, call)
            because = f"no {kind} allows the {right.action} action"
            if odd:
                because += f" (the rehearsal cannot evaluate the condition operator {odd[0]})"
            return f"{what} because {because}"
    return ""


def needed(request: Operation, service: str, operation: str) -> list[Right] | None:
    """What a request needs, in its region; ``None`` for one that is not in the table."""
    needs = TABLE.get((service, operation))
    if needs is None:
        return None
    region = {"aws:RequestedRegion": request.account.region}
    return [Right(right.action, right.resource, {**region, **right.context}) for right in needs(request)]
