"""Elastic Container Registry: a repository for each image's name. What is pushed into them moto keeps."""

from __future__ import annotations

import json
from typing import Final

from rehearsal.providers.base import Properties
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.base.request import parameters
from rehearsal.providers.eks.base.row import Row, asks, from_answer, resends
from rehearsal.providers.rules import RuleBook

REPOSITORY: Final = "aws:ecr/repository:Repository"
LIFECYCLE: Final = "aws:ecr/lifecyclePolicy:LifecyclePolicy"
LIFECYCLE_RULES: Final = RuleBook[Account]()

_PARAMETERS: Final = "https://docs.aws.amazon.com/AmazonECR/latest/userguide/lifecycle_policy_parameters.html"


@LIFECYCLE_RULES.add("lifecycle-rules", _PARAMETERS, "policy")
def _rules(inputs: Properties, account: Account) -> str | None:
    problem = _problem(inputs["policy"])
    return f"InvalidParameterException: Invalid parameter at 'LifecyclePolicyText': {problem}" if problem else None


def _problem(text: str) -> str | None:
    try:
        rules = json.loads(text)["rules"]
        selections = [(rule["rulePriority"], rule["selection"], rule["action"]["type"]) for rule in rules]
        selected = [(each["tagStatus"], each["countType"], each["countNumber"]) for _, each, _ in selections]
    except (KeyError, TypeError, ValueError) as error:
        return f"a rule lacks what it needs: {error}"
    if len({priority for priority, _, _ in selections}) < len(selections):
        return "rulePriority must be unique"
    for (status, kind, count), (_, selection, action) in zip(selected, selections, strict=True):
        if status not in ("any", "tagged", "untagged") or kind not in ("imageCountMoreThan", "sinceImagePushed"):
            return f"tagStatus {status}, countType {kind}"
        if (kind == "sinceImagePushed") != (selection.get("countUnit") == "days") or count < 1:
            return f"countType {kind} with countUnit {selection.get('countUnit')}, countNumber {count}"
        if action != "expire":
            return f"action {action}"
    return None


def _change(account: Account, id: str, old: Properties, new: Properties) -> None:
    before, after = parameters(REPOSITORY, old), parameters(REPOSITORY, new)
    for key, operation in (
        ("imageTagMutability", "PutImageTagMutability"),
        ("imageScanningConfiguration", "PutImageScanningConfiguration"),
    ):
        if before.get(key) != after.get(key) and after.get(key) is not None:
            account.call("ecr", operation, repositoryName=id, **{key: after[key]})


def _remove(account: Account, id: str, inputs: Properties) -> None:
    """Deleting a repository with images fails with AWS's error from moto, unless forced."""
    account.call("ecr", "DeleteRepository", repositoryName=id, force=bool(inputs.get("forceDelete")))


def _encrypted(inputs: Properties, params: dict[str, object]) -> dict[str, object]:
    chosen = (inputs.get("encryptionConfigurations") or [None])[0]
    if chosen is None:
        return params
    key = {"kmsKey": chosen["kmsKey"]} if chosen.get("kmsKey") else {}
    return {**params, "encryptionConfiguration": {"encryptionType": chosen.get("encryptionType", "AES256"), **key}}


def _drop(account: Account, id: str, inputs: Properties) -> None:
    account.call("ecr", "DeleteLifecyclePolicy", repositoryName=id)


ROWS: Final = (
    Row(
        token=REPOSITORY,
        id="{name}",
        wrap=_encrypted,
        describe=asks("ecr:DescribeRepositories", "repositories", repositoryNames=["{id}"]),
        change=_change,
        remove=_remove,
        outputs={
            "arn": from_answer("repositoryArn"),
            "registryId": from_answer("registryId"),
            "repositoryUrl": from_answer("repositoryUri"),
        },
        defaults={"imageTagMutability": "MUTABLE"},
        # Like forceDestroy of a bucket: https://github.com/hashicorp/terraform-provider-aws/issues/28044
        imported=lambda inputs: {**inputs, "forceDelete": None},
        replaces=("encryptionConfigurations",),
        name="name",
        name_limit=256,
    ),
    Row(
        token=LIFECYCLE,
        id="{repository}",
        describe=asks("ecr:GetLifecyclePolicy", "", repositoryName="{id}"),
        change=resends(LIFECYCLE),
        remove=_drop,
        outputs={"registryId": from_answer("registryId")},
        rules=LIFECYCLE_RULES.rules,
    ),
)
