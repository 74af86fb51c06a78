"""The rights of who runs ``pulumi up`` on a stack in a project: a custom role, and roles on what is in other projects.

``rights.csv`` has the permissions of each type of resource, and when a stack declares the type. Those on objects in the
cluster come with the role Kubernetes Engine Admin, because IAM has no permissions on some kinds that a stack declares,
such as admission policies: https://cloud.google.com/iam/docs/roles-permissions/container
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from account.declared_rights import RightsTable
from components.settings import Settings
from components.settings.quotas import used
from facts.catalog.gke.networks import EXISTING_NETWORK
from facts.catalog.gke.rights import OF_SETTINGS

CLUSTER_ROLE: Final = "roles/container.admin"
_OF_CLUSTER: Final = "container."
_TPU7X: Final = "gpuPools[].topology of google-tpu7x"


def buckets(settings: Settings) -> tuple[str, ...]:
    """The buckets of others, on which the stack grants access."""
    return tuple(dict.fromkeys(name for each in settings.identities for name in (*each.read, *each.write)))


def keys(settings: Settings) -> tuple[str, ...]:
    """The encryption keys, on which the stack grants the use."""
    security = settings.security
    return tuple(dict.fromkeys(filter(None, (security.kms_key, security.disk_key, security.data_key))))


def secrets(settings: Settings) -> tuple[str, ...]:
    """The secrets of the project, to which the stack grants access."""
    return tuple(dict.fromkeys(name for each in settings.identities for name in each.secrets))


def subnets(settings: Settings) -> tuple[str, ...]:
    """The subnet of an existing network, by its path."""
    existing = settings.network.existing
    parts = EXISTING_NETWORK.fullmatch(existing.network) if existing is not None else None
    if existing is None or parts is None:
        return ()
    project = parts["project"] or settings.project
    return (f"projects/{project}/regions/{settings.region}/subnetworks/{existing.subnets[0]}",)


def node_accounts(settings: Settings) -> tuple[str, ...]:
    """The service account that the stack file names for the nodes, which may be of another project."""
    existing = settings.existing_cluster
    named = (settings.security.node_identity, None if existing is None else existing.node_identity)
    return tuple(filter(None, named))


def streaming_projects(settings: Settings) -> tuple[str, ...]:
    """Other projects, from whose registries nodes stream images."""
    if not any(pool.nodes.image_streaming for pool in settings.gpu_pools):
        return ()
    owners = (registry.split("/")[1] for registry in settings.workloads.pull_from)
    return tuple(dict.fromkeys(owner for owner in owners if owner != settings.project))


_WHEN: Final[Mapping[str, Callable[[Settings], object]]] = {
    "always": lambda settings: True,
    "cluster": lambda settings: settings.existing_cluster is None,
    "node-account": lambda settings: settings.existing_cluster is None and settings.security.node_identity is None,
    "named-account": node_accounts,
    "other-accounts": lambda settings: not node_accounts(settings),
    "network": lambda settings: settings.existing_cluster is None and settings.network.existing is None,
    "existing-network": subnets,
    "workload-policy": lambda settings: _TPU7X in used(settings),
    "shared-volume": lambda settings: settings.workloads.shared_volume,
    "registry": lambda settings: settings.workloads.registry,
    "checkpoints": lambda settings: settings.workloads.checkpoints,
    "pull-from": lambda settings: settings.workloads.pull_from,
    "streams-from": streaming_projects,
    "buckets": buckets,
    "keys": keys,
    "secrets": secrets,
}
TABLE: Final = RightsTable(Path(__file__).with_name("rights.csv"), _WHEN)


class GrantTarget(NamedTuple):
    """Something on which a deployer needs rights: what it is (``rights.csv``), its name, its permissions; and the
    command that gives a ``{role}`` on it to a ``{member}``, with the role that has them."""

    on: str
    name: str
    permissions: tuple[str, ...]
    grant: str
    role: str


def targets(settings: Settings) -> Iterator[GrantTarget]:
    """All but the project itself. Where gcloud knows conditions, it asks for one if another binding has one."""
    project_binding = "gcloud projects add-iam-policy-binding {project} --condition None"
    places = {
        "streaming project": (streaming_projects, project_binding, "project"),
        "subnet": (subnets, project_binding, "network.existing"),
        "key": (keys, "gcloud kms keys add-iam-policy-binding {name}", "security.kmsKey"),
        "service account": (
            node_accounts,
            "gcloud iam service-accounts add-iam-policy-binding {name} --condition None",
            "security.nodeIdentity",
        ),
        "registry": (
            lambda settings: settings.workloads.pull_from,
            "gcloud artifacts repositories add-iam-policy-binding {name}",
            "workloads.pullFrom",
        ),
        "bucket": (
            buckets,
            "gcloud storage buckets add-iam-policy-binding gs://{name} --condition None",
            "identities[].read",
        ),
        "secret": (
            secrets,
            f"gcloud secrets add-iam-policy-binding {{name}} --project {settings.project} --condition None",
            "identities[].secrets",
        ),
    }
    for on, (names, command, setting) in places.items():
        role = OF_SETTINGS[setting][0].role if setting in OF_SETTINGS else "roles/resourcemanager.projectIamAdmin"
        for name in names(settings):
            project = name.split("/")[1] if name.startswith("projects/") else name
            grant = command.format(name=name, project=project) + " --member {member} --role {role}"
            yield GrantTarget(on, name, tuple(TABLE.needed(settings, on)), grant, role)


def custom_role(settings: Settings) -> dict[str, Any]:
    """The custom role of the project, as ``gcloud iam roles create --file`` takes it.

    https://cloud.google.com/iam/docs/creating-custom-roles#creating
    """
    return {
        "title": f"Deployer of stack {settings.stack}",
        "description": "Generated by `gpucluster account` from what the stack declares",
        "stage": "GA",
        "includedPermissions": [each for each in TABLE.needed(settings) if not each.startswith(_OF_CLUSTER)],
    }
