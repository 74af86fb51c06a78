"""The APIs that a stack needs in its project, and the roles of whoever runs Pulumi.

Roles: https://cloud.google.com/iam/docs/roles-permissions. The role Owner has all of them but those on resources of
other projects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple


class Right(NamedTuple):
    """An API, and a role on ``on``; either may be empty."""

    api: str
    role: str = ""
    on: str = "the project"


EVERY_STACK: Final = (
    Right("compute.googleapis.com", "roles/compute.networkAdmin"),
    Right("container.googleapis.com", "roles/container.admin"),
    Right("iam.googleapis.com", "roles/iam.serviceAccountAdmin"),
    Right("iam.googleapis.com", "roles/iam.serviceAccountUser"),
    Right("cloudresourcemanager.googleapis.com", "roles/resourcemanager.projectIamAdmin"),
    Right("logging.googleapis.com"),
    Right("monitoring.googleapis.com"),
)

OF_SETTINGS: Final[Mapping[str, Right]] = {
    "security.kmsKey": Right("cloudkms.googleapis.com", "roles/cloudkms.admin", "the key"),
    "security.diskKey": Right("cloudkms.googleapis.com", "roles/cloudkms.admin", "the key"),
    "gpuPools[].imageStreaming": Right("containerfilesystem.googleapis.com"),
    "workloads.registry": Right("artifactregistry.googleapis.com", "roles/artifactregistry.admin"),
    "workloads.pullFrom": Right("artifactregistry.googleapis.com", "roles/artifactregistry.admin", "each registry"),
    "workloads.checkpoints": Right("storage.googleapis.com", "roles/storage.admin"),
    "workloads.sharedVolume": Right("file.googleapis.com", "roles/file.editor"),
    "identities[].read": Right("storage.googleapis.com", "roles/storage.admin", "each bucket"),
    "identities[].write": Right("storage.googleapis.com", "roles/storage.admin", "each bucket"),
    "identities[].secrets": Right("secretmanager.googleapis.com", "roles/secretmanager.admin", "each secret"),
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
