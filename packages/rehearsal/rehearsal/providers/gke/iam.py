"""Service accounts, role grants, and enabled services."""

from __future__ import annotations

import re
import zlib
from typing import Any, Final

from rehearsal.providers.base import at
from rehearsal.providers.cloud import SimulatedCloud, last_part
from rehearsal.providers.encrypted import record_key
from rehearsal.providers.gke.cloud import TABLE, bad_request, in_region, not_found, project_number
from rehearsal.providers.resource import Pending, SimulatedResource

CLUSTER: Final = "gcp:container/cluster:Cluster"
ACCOUNT: Final = "gcp:serviceaccount/account:Account"

# https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity#principal-id-examples
POD_PRINCIPAL: Final = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/projects/(\d+)/locations/global/workloadIdentityPools/([^/]+)\.svc\.id\.goog/"
)


def require_account(cloud: SimulatedCloud, member: str) -> None:
    """400 if ``member`` is a service account of this project that was not made; others' accounts cannot be known."""
    email = member.removeprefix("serviceAccount:")
    match = re.fullmatch(r"[^@]+@([^.@]+)\.iam\.gserviceaccount\.com", email)
    if not match or match.group(1) != cloud.default("project"):
        return
    if cloud.store.get(ACCOUNT, f"projects/{match.group(1)}/serviceAccounts/{email}") is None:
        raise bad_request(f"Service account {email} does not exist.")


def require_pool(cloud: SimulatedCloud, member: str) -> None:
    """400 if ``member`` is a service account of a cluster's pods and no cluster has made the project's pool yet.

    The first cluster with Workload Identity creates the pool, which remains:
    https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/916
    """
    match = POD_PRINCIPAL.match(member)
    if match is None:
        return
    number, project = match.groups()
    pools = {at(each.inputs, "workloadIdentityConfig.workloadPool") for each in cloud.store.all(CLUSTER)}
    if f"{project}.svc.id.goog" not in pools or number != project_number(project):
        raise bad_request(
            f"Identity Pool does not exist ({project}.svc.id.goog). Please check that you specified a valid resource "
            "name as returned in the `name` attribute in the configuration API."
        )


def _known_member(pending: Pending[SimulatedCloud]) -> None:
    require_account(pending.cloud, pending.inputs["member"])
    require_pool(pending.cloud, pending.inputs["member"])


def _grant(token: str, **code: Any) -> SimulatedResource[SimulatedCloud]:
    return TABLE.row(token, **{"requires": _known_member, "idempotent": lambda _: True, **code})


def _known_key(pending: Pending[SimulatedCloud]) -> None:
    """404 where the account has no such key: https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys/setIamPolicy"""
    key = str(pending.inputs["cryptoKeyId"])
    if not pending.cloud.account_limits.has_key(key):
        raise not_found(f"CryptoKey {key} not found.")
    _known_member(pending)


KEY_GRANT: Final = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"


def require_granted(cloud: SimulatedCloud, holder: str, project: str, key: str, service: str) -> None:
    """400 for a key that the project's agent of ``service`` may not use; else the agent encrypts the data of ``holder``
    (an id) with it. Grants that others made are not simulated."""
    agent = service_agent(project, service)
    if not may_use(cloud, key, agent):
        raise bad_request(
            f"Cloud KMS error when using key {key}: Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied for "
            f"{agent}."
        )
    record_key(cloud, holder, key, agent)


def service_agent(project: str, service: str) -> str:
    """The member that is a project's agent of a Google service."""
    return f"serviceAccount:service-{project_number(project)}@{service}.iam.gserviceaccount.com"


def may_use(cloud: SimulatedCloud, key: str, member: str) -> bool:
    """Whether a grant lets ``member`` encrypt and decrypt with a key."""
    grants = cloud.store.all(KEY_GRANT)
    return any((grant.inputs["cryptoKeyId"], grant.inputs["member"]) == (key, member) for grant in grants)


def require_customer_key(cloud: SimulatedCloud, holder: str, project: str, key: str | None, service: str) -> None:
    """400 for stored data whose key the project's agent of ``service`` may not use, or that a policy wants a key for.

    https://cloud.google.com/kms/docs/cmek-org-policy
    """
    if key is not None:
        require_granted(cloud, holder, project, key, service)
    elif "non-cmek-services" in cloud.account_limits.policies:
        constraint = "constraints/gcp.restrictNonCmekServices"
        raise bad_request(f"Constraint {constraint} violated for projects/{project}: a CMEK key is required.")


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        ACCOUNT,
        outputs={"uniqueId": lambda pending: str(10**20 + zlib.crc32(last_part(pending.id).encode()))},
        idempotent=lambda inputs: bool(inputs.get("createIgnoreAlreadyExists")),
    ),
    _grant("gcp:projects/iAMMember:IAMMember"),
    _grant(KEY_GRANT, requires=_known_key),
    _grant("gcp:artifactregistry/repositoryIamMember:RepositoryIamMember", derive_inputs=in_region),
    _grant("gcp:storage/bucketIAMMember:BucketIAMMember"),
    _grant("gcp:secretmanager/secretIamMember:SecretIamMember"),
    # Enabling an enabled service succeeds.
    TABLE.row("gcp:projects/service:Service", idempotent=lambda _: True),
)
