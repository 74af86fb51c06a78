"""Service accounts, grants of roles, and enabled services."""

from __future__ import annotations

import re
import zlib
from typing import Final

from typing_extensions import override

from rehearsal.providers.base import Created, Properties
from rehearsal.providers.gcp.cloud import Cloud, last_part
from rehearsal.providers.gcp.errors import bad_request
from rehearsal.providers.gcp.kind import Kind
from rehearsal.providers.gcp.rules import Rules
from rehearsal.providers.gcp.tables import iam

ACCOUNT_RULES: Final = Rules()
MEMBER_RULES: Final = Rules()
SERVICE_RULES: Final = Rules()

# https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/create#request-body
ACCOUNT_ID: Final = re.compile(r"[a-z]([-a-z0-9]{4,28}[a-z0-9])")
# https://cloud.google.com/iam/docs/principal-identifiers
MEMBER: Final = re.compile(
    r"allUsers|allAuthenticatedUsers"
    r"|(user|serviceAccount|group):[^@\s:]+@[^@\s:]+"
    r"|serviceAccount:[^\s/]+\.svc\.id\.goog\[[^\s/]+/[^\s/]+\]"
    r"|domain:[^\s:]+|(principal|principalSet)://\S+|(projectOwner|projectEditor|projectViewer):\S+"
)
# https://cloud.google.com/iam/docs/roles-overview
ROLE: Final = re.compile(r"roles/[\w.]+|(projects|organizations)/[^/\s]+/roles/[\w.]+")
SERVICE_NAME: Final = re.compile(r"[a-z][-a-z0-9]*(\.[a-z][-a-z0-9]*)+")


@ACCOUNT_RULES.add(
    "account-id",
    "https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/create#request-body",
    "accountId",
)
def _account_id(inputs: Properties, cloud: Cloud) -> str | None:
    if ACCOUNT_ID.fullmatch(inputs["accountId"]):
        return None
    return f"The account ID '{inputs['accountId']}' does not match 6 to 30 of [a-z]([-a-z0-9]*[a-z0-9])."


@MEMBER_RULES.add("member-form", "https://cloud.google.com/iam/docs/principal-identifiers", "member")
def _member(inputs: Properties, cloud: Cloud) -> str | None:
    if MEMBER.fullmatch(inputs["member"]):
        return None
    example = "serviceAccount:NAME@PROJECT.iam.gserviceaccount.com"
    return f"The member '{inputs['member']}' is of an unknown type. Use e.g. '{example}'."


@MEMBER_RULES.add("role-form", "https://cloud.google.com/iam/docs/roles-overview", "role")
def _role(inputs: Properties, cloud: Cloud) -> str | None:
    if ROLE.fullmatch(inputs["role"]):
        return None
    return f"Invalid role '{inputs['role']}': use 'roles/NAME' or 'projects/PROJECT/roles/NAME'."


@SERVICE_RULES.add("service-name", "https://cloud.google.com/service-usage/docs/reference/rest/v1/services", "service")
def _service(inputs: Properties, cloud: Cloud) -> str | None:
    if SERVICE_NAME.fullmatch(inputs["service"]):
        return None
    return f"Invalid service name '{inputs['service']}': use e.g. 'container.googleapis.com'."


class AccountKind(Kind):
    """``gcp:serviceaccount/account:Account``."""

    token = "gcp:serviceaccount/account:Account"
    shape = iam.ACCOUNT
    rules = ACCOUNT_RULES.rules
    computed = ("email", "member", "name", "uniqueId")

    @override
    def path(self, inputs: Properties) -> str:
        return f"projects/{inputs['project']}/serviceAccounts/{account_email(inputs)}"

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        email = account_email(inputs)
        number = str(10**20 + zlib.crc32(email.encode()))
        return {"email": email, "member": f"serviceAccount:{email}", "name": self.path(inputs), "uniqueId": number}

    @override
    def preview(self, cloud: Cloud, inputs: Properties) -> Properties:
        # The provider computes the address at plan time already, so that other resources' previews can use it.
        state = super().preview(cloud, inputs)
        if isinstance(inputs.get("accountId"), str) and isinstance(inputs.get("project"), str):
            state.update(email=account_email(inputs), member=f"serviceAccount:{account_email(inputs)}")
        return state

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        existing = cloud.store.get(self.path(inputs))
        if existing and inputs.get("createIgnoreAlreadyExists"):
            return Created(existing.id, existing.state)
        return super().create(cloud, inputs)


class MemberKind(Kind):
    """One member's role on something; granting it twice is the same as once, as in IAM policies."""

    rules = MEMBER_RULES.rules
    computed = ("etag",)
    on: str
    """The input that says on what the role is granted."""

    @override
    def path(self, inputs: Properties) -> str:
        return f"{inputs[self.on]}/{inputs['role']}/{inputs['member']}"

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        return {"etag": "BwXhqDVSYdQ="}

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        require_account(cloud, inputs["member"])

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        existing = cloud.store.get(self.path(inputs))
        return Created(existing.id, existing.state) if existing else super().create(cloud, inputs)


class ProjectMemberKind(MemberKind):
    """``gcp:projects/iAMMember:IAMMember``."""

    token = "gcp:projects/iAMMember:IAMMember"
    shape = iam.PROJECT_MEMBER
    on = "project"


class CryptoKeyMemberKind(MemberKind):
    """``gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember``; the key itself is taken to exist."""

    token = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
    shape = iam.CRYPTO_KEY_MEMBER
    on = "cryptoKeyId"
    needs_project = False

    @override
    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        return inputs


class RepositoryMemberKind(MemberKind):
    """``gcp:artifactregistry/repositoryIamMember:RepositoryIamMember``; the repository is taken to exist."""

    token = "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember"
    shape = iam.REPOSITORY_MEMBER
    on = "repository"

    @override
    def complete(self, cloud: Cloud, inputs: Properties) -> Properties:
        location = inputs.get("location") or cloud.default("region")
        return {**super().complete(cloud, inputs), "location": location}

    @override
    def path(self, inputs: Properties) -> str:
        repository = last_part(inputs["repository"])
        parent = f"projects/{inputs['project']}/locations/{inputs['location']}/repositories/{repository}"
        return f"{parent}/{inputs['role']}/{inputs['member']}"


class ServiceKind(Kind):
    """``gcp:projects/service:Service``."""

    token = "gcp:projects/service:Service"
    shape = iam.SERVICE
    rules = SERVICE_RULES.rules

    @override
    def path(self, inputs: Properties) -> str:
        return f"{inputs['project']}/{inputs['service']}"

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        # Enabling an enabled service succeeds.
        existing = cloud.store.get(self.path(inputs))
        return Created(existing.id, existing.state) if existing else super().create(cloud, inputs)


def account_email(inputs: Properties) -> str:
    """The address of a service account: ``ID@PROJECT.iam.gserviceaccount.com``."""
    return f"{inputs['accountId']}@{inputs['project']}.iam.gserviceaccount.com"


def require_account(cloud: Cloud, member: str) -> None:
    """400 if ``member`` is a service account of this project that was not made; others' accounts cannot be known."""
    email = member.removeprefix("serviceAccount:")
    match = re.fullmatch(r"[^@]+@([^.@]+)\.iam\.gserviceaccount\.com", email)
    if not match or match.group(1) != cloud.default("project"):
        return
    if cloud.store.get(f"projects/{match.group(1)}/serviceAccounts/{email}") is None:
        raise bad_request(f"Service account {email} does not exist.")
