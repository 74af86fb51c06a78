"""Who the nodes are, and who may use the key that encrypts secrets. No key file exists anywhere."""

from __future__ import annotations

from typing import Any, Final

import pulumi

from components.clouds.gke.declare import declare
from components.clouds.names import shortened
from components.settings import Settings

NODE_ROLES: Final = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
"""What a node needs: logs, metrics and its own metadata, and images of the project's registries.
https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts"""

_ACCOUNT_ID_LIMIT: Final = 30
_ACCOUNT_SUFFIX: Final = "-nodes"


class NodeIdentity:
    """A service account for the nodes alone, with ``NODE_ROLES``; ``email`` names it, ``ready`` are its grants."""

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
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
        self.email: pulumi.Output[Any] = account.output("email")
        self.ready: list[pulumi.Resource] = [
            declare(
                "gcp:projects/iAMMember:IAMMember",
                f"{name}-node-{role.rpartition('.')[2].lower()}",
                {"project": settings.project, "role": role, "member": account.output("member")},
                pulumi.ResourceOptions(parent=parent),
            )
            for role in NODE_ROLES
        ]


def grant_kms_key(name: str, settings: Settings, kms_key: str, parent: pulumi.Resource) -> pulumi.Resource:
    """Let GKE's own service agent use ``kms_key``; without it the cluster's creation fails.

    https://cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets
    """
    agent = pulumi.Output.format(
        "serviceAccount:service-{0}@container-engine-robot.iam.gserviceaccount.com", project_number(settings, parent)
    )
    return declare(
        "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
        f"{name}-secrets-key",
        {"cryptoKeyId": kms_key, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": agent},
        pulumi.ResourceOptions(parent=parent),
    )


def grant_disk_key(name: str, settings: Settings, key: str, parent: pulumi.Resource) -> pulumi.Resource:
    """Let Compute Engine's service agent use ``key``; without it no node starts and no volume is made.

    https://cloud.google.com/kubernetes-engine/docs/how-to/using-cmek
    """
    agent = pulumi.Output.format(
        "serviceAccount:service-{0}@compute-system.iam.gserviceaccount.com", project_number(settings, parent)
    )
    return declare(
        "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
        f"{name}-disk-key",
        {"cryptoKeyId": key, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": agent},
        pulumi.ResourceOptions(parent=parent),
    )


def project_number(settings: Settings, parent: pulumi.Resource) -> pulumi.Output[str]:
    """The number by which Google's own accounts and pools name the stack's project."""
    project = pulumi.runtime.invoke_output(
        "gcp:organizations/getProject:getProject",
        {"projectId": settings.project},
        pulumi.InvokeOutputOptions(parent=parent),
    )
    return project.apply(lambda found: str(found["number"]))


def account_id(cluster_name: str) -> str:
    """The account's id, at most 30 characters; a name cut short keeps a digest so that two clusters never share one."""
    return shortened(cluster_name, _ACCOUNT_ID_LIMIT, suffix=_ACCOUNT_SUFFIX, digits=4)
