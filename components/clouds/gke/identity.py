"""The nodes' service account, and grants on encryption keys. No key file exists."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import pulumi

from components.clouds.declare import gke as declare
from components.clouds.deployed import Deployed
from components.clouds.names import shortened
from components.settings import Settings

NODE_ROLES: Final = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
"""What a node needs: logs, metrics and its own metadata, and images of the project's registries.
https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts"""

STREAMING_ROLE: Final = "roles/serviceusage.serviceUsageConsumer"
"""Needed to stream images, in every project that holds some: without it pods do not start.
https://cloud.google.com/kubernetes-engine/docs/how-to/image-streaming#requirements,
https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/2251"""

STORAGE_AGENTS: Final[Mapping[str, str]] = {"registry": "gcp-sa-artifactregistry", "checkpoints": "gs-project-accounts"}
"""Component that stores data → the project of the service agent that encrypts it.
https://cloud.google.com/storage/docs/encryption/customer-managed-keys, https://cloud.google.com/artifact-registry/docs/cmek"""

_KEY_RIGHT: Final = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
_ACCOUNT_ID_LIMIT: Final = 30
_ACCOUNT_SUFFIX: Final = "-nodes"


class NodeIdentity:
    """A service account for the nodes only, with ``NODE_ROLES``: its ``email``, and its grants (``ready``). One of the
    user's own has the user's roles, and is granted none.

    If a pool streams images it also has ``STREAMING_ROLE``, in the projects of ``pullFrom``, too.
    """

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        self.ready: list[pulumi.Resource] = []
        if settings.security.node_identity is not None:
            self.email: pulumi.Output[str] = pulumi.Output.from_input(settings.security.node_identity)
            return
        account = declare(
            "gcp:serviceaccount/account:Account",
            f"{name}-node-account",
            {
                "project": settings.project,
                "accountId": account_id(settings.cluster_name),
                "displayName": f"Nodes of cluster {settings.cluster_name}",
            },
            pulumi.ResourceOptions(parent=parent),
            outputs=["email", "member"],
        )
        self.email = account.outputs["email"]
        self.ready += [
            declare(
                "gcp:projects/iAMMember:IAMMember",
                f"{name}-node-{suffix}",
                {"project": project, "role": role, "member": account.outputs["member"]},
                pulumi.ResourceOptions(parent=parent),
            )
            for suffix, role, project in _grants(settings)
        ]


def _grants(settings: Settings) -> Iterator[tuple[str, str, str]]:
    """The nodes' grants: name suffix, role and project."""
    streams = any(pool.nodes.image_streaming for pool in settings.gpu_pools)
    for role in (*NODE_ROLES, STREAMING_ROLE) if streams else NODE_ROLES:
        yield role.rpartition(".")[2].lower(), role, settings.project
    if streams:
        # Repositories are called projects/<project>/….
        others = {registry.split("/")[1] for registry in settings.workloads.pull_from}
        for project in sorted(others - {settings.project}):
            yield f"streams-from-{project}", STREAMING_ROLE, project


def grant_cluster_keys(
    name: str, settings: Settings, deployed: Deployed, parent: pulumi.Resource
) -> list[pulumi.Resource]:
    """Grant GKE's service agent the use of ``security.kmsKey``, without which the cluster's creation fails, and Compute
    Engine's that of ``security.diskKey``, without which no node starts and no volume is created.

    https://cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets and
    https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek
    """
    users = {
        "secrets-key": ("container-engine-robot", settings.security.kms_key),
        "disk-key": ("compute-system", settings.security.disk_key),
    }
    return [
        right
        for suffix, (agent, key) in users.items()
        for right in _grant_keys(f"{name}-{suffix}", agent, settings, deployed, key, parent)
    ]


def grant_data_key(name: str, settings: Settings, deployed: Deployed, parent: pulumi.Resource) -> list[pulumi.Resource]:
    """Grant the agent that stores the data of the component ``name`` the use of ``security.dataKey``; none without."""
    agent, key = STORAGE_AGENTS[name], settings.security.data_key
    return _grant_keys(_data_right(name), agent, settings, deployed, key, parent)


def has_data_right(name: str, deployed: Deployed) -> bool:
    """Whether the agent that stores the data of the component ``name`` has a right of this stack to a key."""
    return bool(deployed.key_rights(_KEY_RIGHT, _data_right(name), "cryptoKeyId", None))


def _data_right(name: str) -> str:
    return f"{name}-key"


def _grant_keys(
    name: str,
    agent: str,
    settings: Settings,
    deployed: Deployed,
    key: str | None,
    parent: pulumi.Resource,
) -> list[pulumi.Resource]:
    """The rights of Google's ``agent`` to ``key`` and to former keys; ``agent`` is the project that holds the agents of
    all projects.

    They stay after the stack: an agent is the project's, so another stack with the same key has the same right, and
    data that ``onDestroy`` keeps is read by it
    (https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/google_kms_crypto_key_iam).
    """
    rights = deployed.key_rights(_KEY_RIGHT, name, "cryptoKeyId", key)
    if not rights:
        return []
    options = pulumi.ResourceOptions(parent=parent, retain_on_delete=True)
    number = project_number(settings, parent)
    member = pulumi.Output.format("serviceAccount:service-{0}@{1}.iam.gserviceaccount.com", number, agent)
    return [
        declare(
            "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
            f"{name}{right.suffix}",
            {"cryptoKeyId": right.key, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": member},
            pulumi.ResourceOptions.merge(options, right.options),
        )
        for right in rights
    ]


def project_number(settings: Settings, parent: pulumi.Resource | None) -> pulumi.Output[str]:
    """The number by which Google's own accounts and pools name the stack's project."""
    project = pulumi.runtime.invoke_output(
        "gcp:organizations/getProject:getProject",
        {"projectId": settings.project},
        pulumi.InvokeOutputOptions(parent=parent),
    )
    return project.apply(lambda project: str(project["number"]))


def account_id(cluster_name: str) -> str:
    """The account's id, at most 30 characters; a name cut short keeps a digest so that two clusters never share one."""
    return shortened(cluster_name, _ACCOUNT_ID_LIMIT, suffix=_ACCOUNT_SUFFIX, digits=4)
