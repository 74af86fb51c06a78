"""Access for users and pipelines: an access entry maps an IAM role or user to a Kubernetes group.

No AWS access policy can list nodes without reading secrets, so Kubernetes roles are bound to the groups: https://docs.aws.amazon.com/eks/latest/userguide/create-k8s-group-access-entry.html
"""

from __future__ import annotations

import pulumi

from components.clouds.base import Subject, former_name
from components.clouds.declare import eks as declare
from components.resources import CustomResource
from components.settings import Settings
from components.settings.sections.access import Access


def subject(entry: Access) -> Subject:
    """The entry's own group."""
    return Subject(kind="Group", name=f"gpucluster:{entry.name}")


def grant(
    name: str, settings: Settings, cluster_name: pulumi.Input[str], parent: pulumi.Resource
) -> list[CustomResource]:
    """An access entry for each principal of ``access``."""
    return [
        declare(
            "aws:eks/accessEntry:AccessEntry",
            f"{name}-{principal(entry.who)}-access",
            {
                "clusterName": cluster_name,
                "principalArn": entry.who,
                "kubernetesGroups": [subject(entry).name],
                "tags": dict(settings.labels),
            },
            pulumi.ResourceOptions.merge(
                former_name(f"{name}-{entry.name}-access"), pulumi.ResourceOptions(parent=parent)
            ),
        )
        for entry in settings.access
    ]


def refuse_cluster_creator(settings: Settings, caller: str) -> None:
    """EKS creates an access entry for the creator of a cluster, and refuses a second one for the same principal.

    ``caller`` is the ARN of the creator.

    Raises:
        pulumi.RunError: the caller's role or user is in ``access``.
    """
    for index, entry in enumerate(settings.access):
        if principal(caller) == principal(entry.who):
            raise pulumi.RunError(
                f"access[{index}].who: {caller} creates the cluster and is its admin already; EKS allows one access "
                "entry for each principal. Remove this entry."
            )


def principal(arn: str) -> str:
    """The account and name of a role or user; of a session, those of its role (its ARN has no path)."""
    account, kind_and_name = arn.split(":")[4], arn.split(":", 5)[5]
    kind, *path = kind_and_name.split("/")
    if kind == "assumed-role":
        return f"{account}/role/{path[0]}"
    return f"{account}/{kind}/{path[-1] if path else ''}"
