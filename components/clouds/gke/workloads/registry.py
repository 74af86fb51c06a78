"""A repository of Artifact Registry. Nodes may pull from every one of the project (``NODE_ROLES``).

https://cloud.google.com/artifact-registry/docs/overview
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.declare import gke as declare
from components.clouds.gke.context import Context
from components.clouds.gke.identity import grant_data_key
from components.clouds.retained import retained
from components.settings.workloads import Registry

if TYPE_CHECKING:
    from schemas import gke

_UNTAGGED_DAYS: Final = 30


def registry(context: Context, name: str, setting: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The repository, named after the cluster; its address."""
    settings = context.settings
    days = setting.untagged_days or _UNTAGGED_DAYS
    # https://cloud.google.com/artifact-registry/docs/repositories/cleanup-policy
    untagged: gke.CleanupPolicy = {
        "id": "untagged",
        "action": "DELETE",
        "condition": {"tagState": "UNTAGGED", "olderThan": f"{days * 24 * 3600}s"},
    }
    inputs: gke.Repository = {
        "project": settings.project,
        "location": settings.region,
        "repositoryId": settings.cluster_name,
        "description": f"Images of cluster {settings.cluster_name}",
        "format": "DOCKER",
        "dockerConfig": {"immutableTags": not setting.mutable_tags},
        "cleanupPolicies": [untagged],
        "labels": dict(settings.labels),
    }
    if settings.security.data_key is not None:
        inputs["kmsKeyName"] = settings.security.data_key
    repository = declare(
        "gcp:artifactregistry/repository:Repository",
        name,
        inputs,
        retained(
            setting,
            f"projects/{settings.project}/locations/{settings.region}/repositories/{settings.cluster_name}",
            parent,
            *grant_data_key(name, "gcp-sa-artifactregistry", settings, parent),
        ),
        outputs=["registryUri"],
    )
    return repository.output("registryUri")


def grant_pull(context: Context, name: str, repository: str, parent: pulumi.Resource) -> None:
    """Grant the nodes read access to a repository of another project; the deployer needs the permission to grant it.

    https://cloud.google.com/artifact-registry/docs/integrate-gke
    """
    project, location, repository_id = repository.split("/")[1::2]
    declare(
        "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
        name,
        {
            "project": project,
            "location": location,
            "repository": repository_id,
            "role": "roles/artifactregistry.reader",
            "member": context.node_account.apply(lambda email: f"serviceAccount:{email}"),
        },
        pulumi.ResourceOptions(parent=parent),
    )
