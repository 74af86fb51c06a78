"""Launch templates: what node groups start their instances from."""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.request import parameters
from rehearsal.providers.eks.base.row import Row, asks, from_answer, sends
from rehearsal.providers.eks.resources.network import EC2_ARN

TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_NOT_VERSIONED: Final = ("tags", "name", "namePrefix", "region", "defaultVersion", "updateDefaultVersion")


def _wrap(inputs: Properties, data: dict[str, Any]) -> dict[str, Any]:
    named = {"LaunchTemplateName": inputs["name"], "VersionDescription": inputs.get("description")}
    return {**named, "LaunchTemplateData": data}


def _renewed(old: Properties, new: Properties) -> tuple[str, ...]:
    """Every change but one of tags is a new version."""
    before, after = ({key: each[key] for key in each if key not in _NOT_VERSIONED} for each in (old, new))
    return ("latestVersion", "defaultVersion") if before != after else ()


def _change(account: Account, id: str, old: Properties, new: Properties) -> None:
    if _renewed(old, new):
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


ROWS: Final = (
    Row(
        token=TEMPLATE,
        answer="LaunchTemplate.LaunchTemplateId",
        wrap=_wrap,
        describe=asks("ec2:DescribeLaunchTemplates", "LaunchTemplates", LaunchTemplateIds=["{id}"]),
        change=_change,
        remove=sends("ec2:DeleteLaunchTemplate", LaunchTemplateId="{id}"),
        outputs={
            "arn": EC2_ARN + "launch-template/{id}",
            "defaultVersion": from_answer("DefaultVersionNumber"),
            "latestVersion": from_answer("LatestVersionNumber"),
        },
        unknown=("defaultVersion",),
        recomputed=_renewed,
        replaces=("name",),
        unordered=("vpcSecurityGroupIds", "securityGroupNames"),
        tagged="launch-template",
        name="name",
        name_limit=128,
    ),
)
