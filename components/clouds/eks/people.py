"""How people and pipelines come into the cluster: an access entry puts a role or a user into a group of Kubernetes.

AWS's own access policies have no role that sees nodes without seeing secrets, so Kubernetes' roles are bound to the
groups: https://docs.aws.amazon.com/eks/latest/userguide/create-k8s-group-access-entry.html
"""

from __future__ import annotations

import pulumi

from components.clouds.base import Subject
from components.clouds.eks.declare import declare
from components.resources import CustomResource
from components.settings import Settings
from components.settings.access import Access


def subject(entry: Access) -> Subject:
    """The group of the entry, which nobody else is in."""
    return Subject(kind="Group", name=f"gpucluster:{entry.name}")


def let_in(
    name: str, settings: Settings, cluster_name: pulumi.Input[str], parent: pulumi.Resource
) -> list[CustomResource]:
    """An access entry for everybody who has a role in the cluster."""
    return [
        declare(
            "aws:eks/accessEntry:AccessEntry",
            f"{name}-{entry.name}-access",
            {
                "clusterName": cluster_name,
                "principalArn": entry.who,
                "kubernetesGroups": [subject(entry).name],
                "tags": dict(settings.labels),
            },
            pulumi.ResourceOptions(parent=parent),
        )
        for entry in settings.access
    ]


def refuse_the_maker(settings: Settings, caller: str) -> None:
    """EKS makes an entry for whoever makes a cluster, and refuses a second one for the same role or user.

    ``caller`` is the ARN of whoever is about to make the cluster.

    Raises:
        pulumi.RunError: the caller's role or user is in ``access``.
    """
    for index, entry in enumerate(settings.access):
        if principal(caller) == principal(entry.who):
            raise pulumi.RunError(
                f"access[{index}].who: you are {caller}, and whoever makes a cluster is its admin already: EKS takes "
                "no second entry of the same role. Leave the entry out."
            )


def principal(arn: str) -> str:
    """The account and the name of a role or user; of a session that of its role, which has no path there."""
    account, kind_and_name = arn.split(":")[4], arn.split(":", 5)[5]
    kind, *path = kind_and_name.split("/")
    if kind == "assumed-role":
        return f"{account}/role/{path[0]}"
    return f"{account}/{kind}/{path[-1] if path else ''}"
