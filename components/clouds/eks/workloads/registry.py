"""Repositories of Elastic Container Registry, one for each image. Nodes may pull from all (``NODE_POLICIES``).

https://docs.aws.amazon.com/AmazonECR/latest/userguide/Repositories.html
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks.context import Context
from components.clouds.retained import retained
from components.resources import documents
from components.settings.sections.workloads import Registry

_UNTAGGED_DAYS: Final = 30


def registry(context: Context, name: str, setting: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The repositories ``<cluster>/<image>``; the address before ``/<image>``.

    Scanned when pushed, which is free of charge: https://docs.aws.amazon.com/AmazonECR/latest/userguide/image-scanning.html
    """
    settings = context.settings
    days = setting.untagged_days or _UNTAGGED_DAYS
    (expiring,) = documents(Path(__file__).with_name("untagged-images.yaml"), days=days)
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
            {"repository": repository.outputs["name"], "policy": json.dumps(expiring)},
            pulumi.ResourceOptions(parent=parent, retain_on_delete=setting.on_destroy == "keep"),
        )
        addresses.append(
            repository.outputs["repositoryUrl"].apply(lambda url, end=f"/{image}": str(url).removesuffix(end))
        )
    return addresses[0]
