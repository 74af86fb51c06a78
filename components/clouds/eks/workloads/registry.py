"""Repositories of Elastic Container Registry, one for each image. Nodes may pull from all (``NODE_POLICIES``).

https://docs.aws.amazon.com/AmazonECR/latest/userguide/Repositories.html
"""

from __future__ import annotations

import json
from typing import Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks.context import Context
from components.clouds.retained import retained
from components.settings.workloads import Registry

_UNTAGGED_DAYS: Final = 30


def registry(context: Context, name: str, setting: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The repositories ``<cluster>/<image>``; the address before ``/<image>``.

    Scanned when pushed, which is free of charge: https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-scanning.html
    """
    settings = context.settings
    addresses: list[pulumi.Output[str]] = []
    for image in setting.images:
        repository_name = f"{settings.cluster_name}/{image}"
        repository = declare(
            "aws:ecr/repository:Repository",
            f"{name}-{image}",
            {
                "name": repository_name,
                "imageTagMutability": "MUTABLE" if setting.mutable_tags else "IMMUTABLE",
                "imageScanningConfiguration": {"scanOnPush": True},
                "forceDelete": setting.on_destroy == "delete",
                "tags": dict(settings.labels),
            },
            retained(setting, repository_name, parent),
            outputs=["repositoryUrl"],
        )
        declare(
            "aws:ecr/lifecyclePolicy:LifecyclePolicy",
            f"{name}-{image}-untagged",
            {"repository": repository.output("name"), "policy": _expiring(setting.untagged_days or _UNTAGGED_DAYS)},
            pulumi.ResourceOptions(parent=parent, retain_on_delete=setting.on_destroy == "keep"),
        )
        addresses.append(
            repository.output("repositoryUrl").apply(lambda url, end=f"/{image}": str(url).removesuffix(end))
        )
    return addresses[0]


def _expiring(days: int) -> str:
    """https://docs.aws.amazon.com/AmazonECR/latest/userguide/LifecyclePolicies.html"""
    rule = {
        "rulePriority": 1,
        "description": f"Images without a tag, {days} days after they were pushed",
        "selection": {
            "tagStatus": "untagged",
            "countType": "sinceImagePushed",
            "countUnit": "days",
            "countNumber": days,
        },
        "action": {"type": "expire"},
    }
    return json.dumps({"rules": [rule]})
