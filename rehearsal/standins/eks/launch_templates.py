"""Launch templates: what node groups start their instances from."""

from __future__ import annotations

from typing import Any, Final

from typing_extensions import override

from rehearsal.standins.base import Properties
from rehearsal.standins.eks.account import Account
from rehearsal.standins.eks.kind import Kind
from rehearsal.standins.eks.shape import Shape
from rehearsal.standins.eks.translate import To

_NOT_DATA: Final = ("name", "description", "defaultVersion", "updateDefaultVersion")


def _pairs(tags: Any) -> Any:
    return [{"Key": key, "Value": value} for key, value in tags.items()] if isinstance(tags, dict) else tags


class LaunchTemplateKind(Kind):
    """``aws:ec2/launchTemplate:LaunchTemplate``: every change but one of tags is a new version."""

    token = "aws:ec2/launchTemplate:LaunchTemplate"
    shape = Shape(
        service="ec2",
        operation="CreateLaunchTemplate",
        body="RequestLaunchTemplateData",
        table={
            "RequestLaunchTemplateData": {
                "securityGroupNames": To("SecurityGroups"),
                "vpcSecurityGroupIds": To("SecurityGroupIds"),
            },
            "LaunchTemplateTagSpecificationRequest": {"tags": To("Tags", _pairs)},
            "LaunchTemplateInstanceNetworkInterfaceSpecificationRequest": {"securityGroups": To("Groups")},
        },
        local=_NOT_DATA,
        replaces=("name",),
        unordered=("vpcSecurityGroupIds", "securityGroupNames"),
        tags="specifications",
        tagged="launch-template",
        name="name",
        name_limit=128,
    )
    computed = ("arn", "defaultVersion", "latestVersion")

    @override
    def make(self, account: Account, inputs: Properties, params: dict[str, Any]) -> str:
        tags = params.pop("TagSpecifications", None) if inputs.get("tags") else None
        answer = account.call(
            "ec2",
            "CreateLaunchTemplate",
            LaunchTemplateName=inputs["name"],
            VersionDescription=inputs.get("description"),
            LaunchTemplateData=_data(inputs, self.shape),
            TagSpecifications=tags,
        )
        return str(answer["LaunchTemplate"]["LaunchTemplateId"])

    @override
    def look(self, account: Account, id: str, inputs: Properties) -> Properties | None:
        found = account.call("ec2", "DescribeLaunchTemplates", LaunchTemplateIds=[id])["LaunchTemplates"][0]
        return {
            "arn": account.arn("ec2", f"launch-template/{id}"),
            "defaultVersion": found["DefaultVersionNumber"],
            "latestVersion": found["LatestVersionNumber"],
        }

    @override
    def renewed(self, old: Properties, new: Properties) -> tuple[str, ...]:
        return ("latestVersion", "defaultVersion") if _versioned(old, self) != _versioned(new, self) else ()

    @override
    def change(self, account: Account, id: str, old: Properties, new: Properties) -> None:
        if self.renewed(old, new):
            answer = account.call(
                "ec2",
                "CreateLaunchTemplateVersion",
                LaunchTemplateId=id,
                VersionDescription=new.get("description"),
                LaunchTemplateData=_data(new, self.shape),
            )
            if new.get("updateDefaultVersion"):
                latest = str(answer["LaunchTemplateVersion"]["VersionNumber"])
                account.call("ec2", "ModifyLaunchTemplate", LaunchTemplateId=id, DefaultVersion=latest)
        wanted = new.get("defaultVersion")
        if wanted and wanted != old.get("defaultVersion"):
            account.call("ec2", "ModifyLaunchTemplate", LaunchTemplateId=id, DefaultVersion=str(int(wanted)))

    @override
    def remove(self, account: Account, id: str, inputs: Properties) -> None:
        account.call("ec2", "DeleteLaunchTemplate", LaunchTemplateId=id)


def _data(inputs: Properties, shape: Shape) -> dict[str, Any]:
    # A template's own tags and the tags of what it starts are both called TagSpecifications.
    return shape.translate({key: value for key, value in inputs.items() if key != "tags"}).params


def _versioned(inputs: Properties, kind: Kind) -> Any:
    own = ("tags", "name", "namePrefix", "region", "defaultVersion", "updateDefaultVersion")
    return {key: value for key, value in inputs.items() if key not in own}
