"""The key that encrypts the cluster's secrets: the stack file's, or one of the cluster's own.

https://docs.aws.amazon.com/eks/latest/userguide/envelope-encryption.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pulumi

from components.clouds.data_lookup import refuse
from components.clouds.declare import eks as declare
from components.clouds.deployed import Deployed
from components.clouds.eks import policy
from components.clouds.eks.identity import ServiceRole
from components.settings import Settings
from components.settings.fields.problems import Problem

_CLUSTER: Final = "aws:eks/cluster:Cluster"
_KEY: Final = "aws:kms/key:Key"
_DELETION_WINDOW_DAYS: Final = 30


def refuse_other_key(name: str, settings: Settings, deployed: Deployed) -> None:
    """End the program if the stack file asks for another key than that of the running cluster.

    AWS cannot change it or take it away (https://docs.aws.amazon.com/eks/latest/userguide/enable-kms.html,
    https://docs.aws.amazon.com/eks/latest/APIReference/API_AssociateEncryptionConfig.html). The provider plans such a
    change as an update and sends nothing (``resourceClusterUpdate`` in
    https://github.com/hashicorp/terraform-provider-aws/blob/main/internal/service/eks/cluster.go), so the new key would
    get the rights and the old one, with which all Secrets are encrypted, would be deleted.

    Raises:
        pulumi.RunError: it does.
    """
    refuse(_other_key(name, settings, deployed), settings)


def _other_key(name: str, settings: Settings, deployed: Deployed) -> Iterator[Problem]:
    # What AWS answered, also if an earlier update asked for another key.
    running = _running_key(name, deployed)
    own, key = _own_key(name, deployed), settings.security.kms_key
    if running in (None, key or own):
        return
    again = "Take kmsKey out" if running == own else f"Write kmsKey: {running}"
    yield Problem(
        "security.kmsKey",
        f"the running cluster encrypts its Secrets with {running}, and AWS cannot change the key of a cluster",
        f"{again}; for another key create a new cluster, in a stack of its own",
    )


def _running_key(name: str, deployed: Deployed) -> str | None:
    configuration = deployed.outputs(_CLUSTER, f"{name}-control-plane").get("encryptionConfig") or {}
    return (configuration.get("provider") or {}).get("keyArn")


def _own_key(name: str, deployed: Deployed) -> str | None:
    return deployed.outputs(_KEY, f"{name}-secrets-key").get("arn")


def secrets_key(
    name: str, settings: Settings, role: ServiceRole, deployed: Deployed, parent: pulumi.Resource
) -> tuple[pulumi.Input[str], pulumi.Resource]:
    """The key's ARN, and the right of the control plane's ``role`` to use it.

    The stack's own key stays declared if the stack file names it: otherwise it would be deleted.
    """
    options = pulumi.ResourceOptions(parent=parent)
    if settings.security.kms_key in (None, _own_key(name, deployed)):
        key = declare(
            "aws:kms/key:Key",
            f"{name}-secrets-key",
            {
                "description": f"Kubernetes secrets of cluster {settings.cluster_name}",
                "enableKeyRotation": True,
                "deletionWindowInDays": _DELETION_WINDOW_DAYS,
                "tags": dict(settings.labels),
            },
            options,
            outputs=["arn", "keyId"],
        )
        declare(
            "aws:kms/alias:Alias",
            f"{name}-secrets-key-alias",
            {"name": f"alias/eks/{settings.cluster_name}", "targetKeyId": key.outputs["keyId"]},
            options,
        )
        arn: pulumi.Output[str] = key.outputs["arn"]
    else:
        arn = pulumi.Output.from_input(settings.security.kms_key)
    grant = declare(
        "aws:iam/rolePolicy:RolePolicy",
        f"{name}-secrets-key-use",
        {
            "role": role.role_name,
            "name": "secrets-key",
            "policy": arn.apply(lambda key: policy.of("secrets-key", key=key)),
        },
        options,
    )
    return arn, grant
