"""The APIs that a stack needs in its project, and the roles of the principal that runs Pulumi.

Roles: https://cloud.google.com/iam/docs/roles-permissions. The role Owner has all of them but those on resources of
other projects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple


class Need(NamedTuple):
    """An API, and a role on ``on``; either may be empty."""

    api: str
    role: str = ""
    on: str = "the project"


EVERY_STACK: Final = (
    Need("compute.googleapis.com", "roles/compute.networkAdmin"),
    Need("container.googleapis.com", "roles/container.admin"),
    Need("iam.googleapis.com", "roles/iam.serviceAccountAdmin"),
    Need("iam.googleapis.com", "roles/iam.serviceAccountUser"),
    Need("cloudresourcemanager.googleapis.com", "roles/resourcemanager.projectIamAdmin"),
    Need("logging.googleapis.com"),
    Need("monitoring.googleapis.com"),
)

OF_SETTINGS: Final[Mapping[str, Need]] = {
    "security.kmsKey": Need("cloudkms.googleapis.com", "roles/cloudkms.admin", "the key"),
    "security.diskKey": Need("cloudkms.googleapis.com", "roles/cloudkms.admin", "the key"),
    "gpuPools[].imageStreaming": Need("containerfilesystem.googleapis.com"),
    "workloads.registry": Need("artifactregistry.googleapis.com", "roles/artifactregistry.admin"),
    "workloads.pullFrom": Need("artifactregistry.googleapis.com", "roles/artifactregistry.admin", "each registry"),
    "workloads.checkpoints": Need("storage.googleapis.com", "roles/storage.admin"),
    "workloads.sharedVolume": Need("file.googleapis.com", "roles/file.editor"),
    "identities[].read": Need("storage.googleapis.com", "roles/storage.admin", "each bucket"),
    "identities[].write": Need("storage.googleapis.com", "roles/storage.admin", "each bucket"),
    "identities[].secrets": Need("secretmanager.googleapis.com", "roles/secretmanager.admin", "each secret"),
}
"""Setting → what it needs beside ``EVERY_STACK``."""


def needed(project: str, used: Collection[str]) -> Iterator[str]:
    """Lines for a terminal: how to enable the APIs, and the roles, for a stack that uses these settings."""
    rights = [*EVERY_STACK, *(right for setting, right in OF_SETTINGS.items() if setting in used)]
    yield f"APIs and roles that it needs in project {project} (the role Owner replaces those on the project):"
    yield ""
    yield f"gcloud services enable --project {project} {' '.join(dict.fromkeys(right.api for right in rights))}"
    roles = dict.fromkeys((right.role, right.on) for right in rights if right.role)
    yield from (f"{role} on {on}" for role, on in roles)
