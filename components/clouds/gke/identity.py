"""Who the nodes are, and who may use the key that encrypts secrets. No key file exists anywhere."""

from __future__ import annotations

from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.clouds.names import shortened
from components.resources import CustomResource

NODE_ROLES: Final = ("roles/container.defaultNodeServiceAccount", "roles/artifactregistry.reader")
"""What a node needs: logs, metrics and its own metadata, and images of the project's registries.
https://cloud.google.com/kubernetes-engine/docs/how-to/service-accounts"""

_ACCOUNT_ID_LIMIT: Final = 30
_ACCOUNT_SUFFIX: Final = "-nodes"


class NodeIdentity:
    """A service account for the nodes alone, with ``NODE_ROLES``; ``email`` names it, ``ready`` are its grants."""

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        account = CustomResource(
            "gcp:serviceaccount/account:Account",
            f"{name}-node-account",
            {
                "project": spec.project,
                "accountId": account_id(spec.name),
                "displayName": f"Nodes of cluster {spec.name}",
            },
            pulumi.ResourceOptions(parent=parent),
            outputs=["email", "member"],
        )
        self.email: pulumi.Output[Any] = account.output("email")
        self.ready: list[pulumi.Resource] = [
            CustomResource(
                "gcp:projects/iAMMember:IAMMember",
                f"{name}-node-{role.rpartition('.')[2].lower()}",
                {"project": spec.project, "role": role, "member": account.output("member")},
                pulumi.ResourceOptions(parent=parent),
            )
            for role in NODE_ROLES
        ]


def grant_kms_key(name: str, spec: ClusterSpec, kms_key: str, parent: pulumi.Resource) -> pulumi.Resource:
    """Let GKE's own service agent use ``kms_key``; without it the cluster's creation fails.

    https://cloud.google.com/kubernetes-engine/docs/how-to/encrypting-secrets
    """
    project = pulumi.runtime.invoke_output(
        "gcp:organizations/getProject:getProject",
        {"projectId": spec.project},
        pulumi.InvokeOutputOptions(parent=parent),
    )
    agent = project.apply(
        lambda found: f"serviceAccount:service-{found['number']}@container-engine-robot.iam.gserviceaccount.com"
    )
    return CustomResource(
        "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember",
        f"{name}-secrets-key",
        {"cryptoKeyId": kms_key, "role": "roles/cloudkms.cryptoKeyEncrypterDecrypter", "member": agent},
        pulumi.ResourceOptions(parent=parent),
    )


def account_id(cluster_name: str) -> str:
    """The account's id, at most 30 characters; a name cut short keeps a digest so that two clusters never share one."""
    return shortened(cluster_name, _ACCOUNT_ID_LIMIT, suffix=_ACCOUNT_SUFFIX, digits=4)
