"""A repository of Artifact Registry. Nodes may pull from every one of the project (``NODE_ROLES``).

https://cloud.google.com/artifact-registry/docs/overview
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pulumi

from components.clouds.data_lookup import refuse
from components.clouds.declare import gke as declare
from components.clouds.gke.context import Context
from components.clouds.gke.identity import grant_data_key
from components.clouds.retained import retained
from components.settings.fields.problems import Problem
from components.settings.sections.workloads import Registry

if TYPE_CHECKING:
    from schemas import gke

_REPOSITORY: Final = "gcp:artifactregistry/repository:Repository"
_UNTAGGED_DAYS: Final = 30


def registry(context: Context, name: str, setting: Registry, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The repository, named after the cluster; its address."""
    settings = context.settings
    refuse(_key_problems(name, context), settings)
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
        _REPOSITORY,
        name,
        inputs,
        retained(
            setting,
            f"projects/{settings.project}/locations/{settings.region}/repositories/{settings.cluster_name}",
            parent,
            *grant_data_key(name, settings, context.deployed, parent),
        ),
        outputs=["registryUri"],
    )
    return repository.outputs["registryUri"]


def _key_problems(name: str, context: Context) -> Iterator[Problem]:
    """https://cloud.google.com/artifact-registry/docs/cmek: a repository keeps the key of its creation."""
    repository = context.deployed.outputs(_REPOSITORY, name)
    now, key = repository.get("kmsKeyName") or None, context.settings.security.data_key
    if not repository or now == key:
        return
    again = f"Write dataKey: {now}" if now else "Take dataKey out"
    yield Problem(
        "security.dataKey",
        f"the registry is encrypted with {now or 'a key of Google'}, and its key cannot be changed",
        f"{again}. Or take workloads.registry out, run `pulumi up`, delete the repository "
        f"{context.settings.cluster_name} with its images, and write both again",
    )


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
