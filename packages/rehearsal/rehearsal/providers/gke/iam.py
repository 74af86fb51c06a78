"""Service accounts, role grants, and enabled services.

Replacement: the provider's sources under
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/third_party/terraform/services/resourcemanager and
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/third_party/terraform/tpgiamresource
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import ABSENT, Rules, chosen
from rehearsal.providers.gke.errors import bad_request, not_found
from rehearsal.providers.gke.functions import project_number
from rehearsal.providers.resource import Pending, SimulatedResource
from rehearsal.providers.values import at

CLUSTER: Final = "gcp:container/cluster:Cluster"
ACCOUNT: Final = "gcp:serviceaccount/account:Account"
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
# https://cloud.google.com/kubernetes-engine/docs/concepts/workload-identity#principal-id-examples
POD_PRINCIPAL: Final = re.compile(
    r"principal(?:Set)?://iam\.googleapis\.com/projects/(\d+)/locations/global/workloadIdentityPools/([^/]+)\.svc\.id\.goog/"
)
# https://cloud.google.com/iam/docs/roles-overview
ROLE: Final = re.compile(r"roles/[\w.]+|(projects|organizations)/[^/\s]+/roles/[\w.]+")
SERVICE_NAME: Final = re.compile(r"[a-z][-a-z0-9]*(\.[a-z][-a-z0-9]*)+")


@ACCOUNT_RULES.add(
    "account-id",
    "https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts/create#request-body",
    "accountId",
)
def _account_id(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    if ACCOUNT_ID.fullmatch(inputs["accountId"]):
        return None
    return f"The account ID '{inputs['accountId']}' does not match 6 to 30 of [a-z]([-a-z0-9]*[a-z0-9])."


@MEMBER_RULES.add("member-form", "https://cloud.google.com/iam/docs/principal-identifiers", "member")
def _member(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    if MEMBER.fullmatch(inputs["member"]):
        return None
    example = "serviceAccount:NAME@PROJECT.iam.gserviceaccount.com"
    return f"The member '{inputs['member']}' is of an unknown type. Use e.g. '{example}'."


@MEMBER_RULES.add("role-form", "https://cloud.google.com/iam/docs/roles-overview", "role")
def _role(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    if ROLE.fullmatch(inputs["role"]):
        return None
    return f"Invalid role '{inputs['role']}': use 'roles/NAME' or 'projects/PROJECT/roles/NAME'."


@SERVICE_RULES.add("service-name", "https://cloud.google.com/service-usage/docs/reference/rest/v1/services", "service")
def _service(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    if SERVICE_NAME.fullmatch(inputs["service"]):
        return None
    return f"Invalid service name '{inputs['service']}': use e.g. 'container.googleapis.com'."


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


def _in_region(cloud: SimulatedCloud, inputs: Properties) -> Properties:
    return {**inputs, "location": chosen(inputs.get("location"), cloud.default("region"))}


def _account_number(pending: Pending[SimulatedCloud]) -> str:
    return str(10**20 + zlib.crc32(pending.id.rpartition("/")[2].encode()))


def _always(inputs: Properties) -> bool:
    return True


def _grant(
    token: str,
    on: str,
    links: tuple[str, ...] = (),
    derive_inputs: Callable[[SimulatedCloud, Properties], Properties] = lambda _, inputs: inputs,
    requires: Callable[[Pending[SimulatedCloud]], None] | None = None,
) -> SimulatedResource[SimulatedCloud]:
    """One member's role on a resource. A second grant changes nothing, as in IAM policies."""
    return SimulatedResource(
        token=token,
        id=on + "/{role}/{member}",
        outputs={"etag": "BwXhqDVSYdQ="},
        derive_inputs=derive_inputs,
        rules=MEMBER_RULES.rules,
        requires=requires or _known_member,
        idempotent=_always,
        replaces=("condition",),
        links=links,
        absent=ABSENT,
    )


def _known_key(pending: Pending[SimulatedCloud]) -> None:
    """404 where the account has no such key: https://cloud.google.com/kms/docs/reference/rest/v1/projects.locations.keyRings.cryptoKeys/setIamPolicy"""
    key = str(pending.inputs["cryptoKeyId"])
    if not pending.cloud.account_limits.has_key(key):
        raise not_found(f"CryptoKey {key} not found.")
    _known_member(pending)


KEY_GRANT: Final = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"


def require_granted(cloud: SimulatedCloud, project: str, key: str, service: str) -> None:
    """400 for a key that the project's agent of ``service`` may not use. Grants that others made are not simulated."""
    agent = f"serviceAccount:service-{project_number(project)}@{service}.iam.gserviceaccount.com"
    grants = cloud.store.all(KEY_GRANT)
    if not any((grant.inputs["cryptoKeyId"], grant.inputs["member"]) == (key, agent) for grant in grants):
        raise bad_request(
            f"Cloud KMS error when using key {key}: Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied for "
            f"{agent}."
        )


EMAIL: Final = "{accountId}@{project}.iam.gserviceaccount.com"

ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    SimulatedResource(
        token=ACCOUNT,
        id=f"projects/{{project}}/serviceAccounts/{EMAIL}",
        outputs={"email": EMAIL, "member": f"serviceAccount:{EMAIL}", "name": "{id}", "uniqueId": _account_number},
        # So that other resources' previews can use them.
        early=("email", "member"),
        required=("accountId",),
        defaults={"deletionPolicy": "DELETE"},
        rules=ACCOUNT_RULES.rules,
        idempotent=lambda inputs: bool(inputs.get("createIgnoreAlreadyExists")),
        absent=ABSENT,
    ),
    _grant("gcp:projects/iAMMember:IAMMember", "{project}"),
    # The repository, the bucket and the secret are assumed to exist.
    _grant(KEY_GRANT, "{cryptoKeyId}", requires=_known_key),
    _grant(
        "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember",
        "projects/{project}/locations/{location}/repositories/{repository}",
        links=("repository",),
        derive_inputs=_in_region,
    ),
    _grant("gcp:storage/bucketIAMMember:BucketIAMMember", "b/{bucket}"),
    _grant("gcp:secretmanager/secretIamMember:SecretIamMember", "projects/{project}/secrets/{secretId}", ("secretId",)),
    SimulatedResource(
        token="gcp:projects/service:Service",
        id="{project}/{service}",
        defaults={"deletionPolicy": "DELETE"},
        rules=SERVICE_RULES.rules,
        # Enabling an enabled service succeeds.
        idempotent=_always,
        absent=ABSENT,
    ),
)


# The permission that Google requires to create, update or delete a resource:
# https://cloud.google.com/iam/docs/permissions-reference. Node pools are part of their cluster, and a grant changes a
# policy: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools/create
RIGHTS: Final[Mapping[str, str]] = {
    "gcp:artifactregistry/repository:Repository": "artifactregistry.repositories.{action}",
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": "artifactregistry.repositories.setIamPolicy",
    "gcp:compute/address:Address": "compute.addresses.{action}",
    "gcp:compute/firewall:Firewall": "compute.firewalls.{action}",
    "gcp:compute/network:Network": "compute.networks.{action}",
    "gcp:compute/router:Router": "compute.routers.{action}",
    "gcp:compute/routerNat:RouterNat": "compute.routers.update",
    "gcp:compute/subnetwork:Subnetwork": "compute.subnetworks.{action}",
    "gcp:container/cluster:Cluster": "container.clusters.{action}",
    "gcp:container/nodePool:NodePool": "container.clusters.update",
    "gcp:filestore/instance:Instance": "file.instances.{action}",
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "cloudkms.cryptoKeys.setIamPolicy",
    "gcp:projects/iAMMember:IAMMember": "resourcemanager.projects.setIamPolicy",
    "gcp:projects/service:Service": "serviceusage.services.enable",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "secretmanager.secrets.setIamPolicy",
    "gcp:serviceaccount/account:Account": "iam.serviceAccounts.{action}",
    "gcp:storage/bucket:Bucket": "storage.buckets.{action}",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "storage.buckets.setIamPolicy",
}
