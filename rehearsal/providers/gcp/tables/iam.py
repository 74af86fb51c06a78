"""Inputs of service accounts, enabled services and IAM grants, and what replaces one.

Replacement: the provider's sources under
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/third_party/terraform/services/resourcemanager and
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/third_party/terraform/tpgiamresource
"""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.gcp.shape import Shape
from rehearsal.providers.gcp.translate import Local, Table, To


def _one(member: Any) -> list[Any]:
    return [member]


def _binding(*address: str) -> Table:
    """A grant is sent as a policy's binding with one member; ``address`` are the inputs that say on what."""
    return {"Binding": {"member": To("members", _one), **dict.fromkeys(address, Local())}}


ACCOUNT: Final = Shape(
    api="iam.v1",
    schema="CreateServiceAccountRequest",
    table={
        "CreateServiceAccountRequest": {
            "createIgnoreAlreadyExists": Local(),
            "deletionPolicy": Local(),
            "description": To("serviceAccount.description"),
            "disabled": Local(),
            "displayName": To("serviceAccount.displayName"),
            "project": Local(),
        }
    },
    required=("accountId",),
    defaults={"deletionPolicy": "DELETE"},
    replaces=("project", "accountId"),
    name_limit=0,
)

PROJECT_MEMBER: Final = Shape(
    api="cloudresourcemanager.v1",
    schema="Binding",
    table=_binding("project"),
    required=("project", "role", "member"),
    replaces=("project", "role", "member", "condition"),
    name_limit=0,
)

CRYPTO_KEY_MEMBER: Final = Shape(
    api="cloudkms.v1",
    schema="Binding",
    table=_binding("cryptoKeyId"),
    required=("cryptoKeyId", "role", "member"),
    replaces=("cryptoKeyId", "role", "member", "condition"),
    name_limit=0,
)

REPOSITORY_MEMBER: Final = Shape(
    api="artifactregistry.v1",
    schema="Binding",
    table=_binding("project", "location", "repository"),
    required=("repository", "role", "member"),
    replaces=("project", "location", "repository", "role", "member", "condition"),
    links=("repository",),
    name_limit=0,
)

SERVICE: Final = Shape(
    api="serviceusage.v1",
    schema="EnableServiceRequest",
    table={
        "EnableServiceRequest": dict.fromkeys(
            (
                "checkIfServiceHasUsageOnDestroy",
                "deletionPolicy",
                "disableDependentServices",
                "disableOnDestroy",
                "project",
                "service",
            ),
            Local(),
        )
    },
    required=("service",),
    defaults={"deletionPolicy": "DELETE"},
    replaces=("project", "service"),
    name_limit=0,
)
