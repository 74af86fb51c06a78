"""Instant fleets and dry runs: moto starts the first override whatever happens, and takes half of the template along.

https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html,
https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-fleet-allocation-strategy.html
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.providers.eks.authorization import ec2
from rehearsal.providers.eks.aws_api.gaps import launch
from rehearsal.providers.eks.aws_api.gaps.gap import GapError, GapRequest
from rehearsal.providers.eks.aws_api.gaps.launch import LaunchPlan
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.supply import Market

_DRY_RUN: Final = GapError("DryRunOperation", "Request would have succeeded, but DryRun flag is set.")
_REPLACES: Final = ("ImageId", "InstanceType", "SubnetId")


@dataclass(frozen=True)
class _Candidate:
    plan: LaunchPlan
    specification: Mapping[str, Any]
    override: Mapping[str, Any]

    def described(self) -> dict[str, Any]:
        return {"LaunchTemplateSpecification": self.specification, "Overrides": self.override}


def create_fleet(request: GapRequest) -> Mapping[str, Any] | None:
    """``ec2:CreateFleet`` of type ``instant``: the cheapest that there is room for, and what was in others' way."""
    params = request.params
    if params.get("Type") != "instant":
        return None
    target = params.get("TargetCapacitySpecification") or {}
    market: Market = "spot" if target.get("DefaultTargetCapacityType") == "spot" else "on-demand"
    candidates = _in_order(request.account, list(_candidates(request, market)))
    if params.get("DryRun"):
        raise _DRY_RUN
    fleet = f"fleet-{uuid.uuid4()}"
    started: dict[int, list[str]] = {}
    errors: dict[int, GapError] = {}
    for _ in range(int(target.get("TotalTargetCapacity") or 0)):
        for place, candidate in enumerate(candidates):
            if place in errors:
                continue
            try:
                started.setdefault(place, []).append(_start(request, candidate.plan, fleet))
                break
            except GapError as error:
                errors[place] = error
    return {
        "FleetId": fleet,
        "Instances": [
            {
                "LaunchTemplateAndOverrides": candidates[place].described(),
                "Lifecycle": market,
                "InstanceIds": ids,
                "InstanceType": candidates[place].plan.data["InstanceType"],
            }
            for place, ids in started.items()
            if ids
        ],
        "Errors": [
            {
                "LaunchTemplateAndOverrides": candidates[place].described(),
                "Lifecycle": market,
                "ErrorCode": error.code,
                "ErrorMessage": error.message,
            }
            for place, error in errors.items()
        ],
    }


def run_instances(request: GapRequest) -> Mapping[str, Any] | None:
    """``ec2:RunInstances`` as a dry run: what it names must exist."""
    if not request.params.get("DryRun"):
        return None
    account, specification = request.account, request.params.get("LaunchTemplate") or {}
    template, version, data = _template(account, specification)
    own = {key: value for key, value in request.params.items() if value}
    launch.check_references(account, LaunchPlan(template, version, {**data, **own}, "on-demand"))
    raise _DRY_RUN


def _candidates(request: GapRequest, market: Market) -> Iterator[_Candidate]:
    tags = [each for each in request.params.get("TagSpecifications") or () if each.get("ResourceType") != "fleet"]
    for config in request.params.get("LaunchTemplateConfigs") or ():
        template_reference = config.get("LaunchTemplateSpecification") or {}
        template, version, data = _template(request.account, template_reference)
        specification = {
            "LaunchTemplateId": template["LaunchTemplateId"],
            "LaunchTemplateName": template["LaunchTemplateName"],
            "Version": version,
        }
        merged = {**data, "TagSpecifications": _joined([*(data.get("TagSpecifications") or ()), *tags])}
        for override in config.get("Overrides") or ({},):
            replaced = {key: override[key] for key in _REPLACES if override.get(key)}
            yield _Candidate(LaunchPlan(template, version, {**merged, **replaced}, market), specification, override)


def _template(account: Account, specification: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, Mapping[str, Any]]:
    if not specification:
        return {}, "", {}
    template = ec2.launch_template(account, specification)
    if not template:
        by_name = bool(specification.get("LaunchTemplateName"))
        code = f"InvalidLaunchTemplate{'Name.NotFoundException' if by_name else 'Id.NotFound'}"
        raise GapError(code, "At least one of the launch templates specified in the request does not exist.")
    numbers = {"$Latest": "LatestVersionNumber", "$Default": "DefaultVersionNumber"}
    version = str(specification.get("Version") or "$Default")
    number = str(template[numbers[version]]) if version in numbers else version
    return template, number, ec2.launch_template_data(account, template, number)


def _start(request: GapRequest, plan: LaunchPlan, fleet: str) -> str:
    refused = request.refusal(ec2.launch(request.asked, plan.template, plan.data, spot=plan.market == "spot"))
    if refused:
        raise GapError("UnauthorizedOperation", refused)
    launch.check_references(request.account, plan)
    launch.check_capacity(request, plan)
    return launch.start(request.account, plan, fleet)


def _in_order(account: Account, candidates: list[_Candidate]) -> list[_Candidate]:
    """Cheapest first: by the catalogue's price, else by what the request says that it reckons with."""

    def price(candidate: _Candidate) -> float:
        machine = account.catalog.machines.get(str(candidate.plan.data.get("InstanceType")))
        for spot in (candidate.plan.market == "spot", False):
            rate = machine and account.catalog.prices.machine(account.region, machine, spot=spot)
            if rate:
                return rate.usd
        return float(candidate.override.get("Priority") or "inf")

    return sorted(candidates, key=price)


def _joined(specifications: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One specification for each type of resource; where two set a tag, the later one does."""
    merged: dict[str, dict[str, str]] = {}
    for each in specifications:
        tags = {tag["Key"]: tag.get("Value") or "" for tag in each.get("Tags") or ()}
        merged.setdefault(str(each["ResourceType"]), {}).update(tags)
    return [
        {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
        for kind, tags in merged.items()
    ]
