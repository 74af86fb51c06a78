"""Managed identities, grants of roles, and disk encryption with a key of one's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from typing_extensions import override

from rehearsal.providers.azure_native.cloud import Cloud, identifier, last_part, same
from rehearsal.providers.azure_native.errors import api_error, bad_request, not_found
from rehearsal.providers.azure_native.kind import GROUP, Kind, require
from rehearsal.providers.azure_native.models import Entries, Model, Property, Scalar
from rehearsal.providers.azure_native.rules import Rules
from rehearsal.providers.azure_native.shape import Shape
from rehearsal.providers.base import UNKNOWN, Created, Properties
from rehearsal.providers.store import Record
from rehearsal.providers.values import at

IDENTITY: Final = "azure-native:managedidentity:UserAssignedIdentity"
ROLE_ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"
ENCRYPTION_SET: Final = "azure-native:compute:DiskEncryptionSet"
CLUSTER: Final = "azure-native:containerservice:ManagedCluster"

ROLES: Final = "https://learn.microsoft.com/azure/role-based-access-control/role-assignments-rest"
ENCRYPTION: Final = "https://learn.microsoft.com/azure/virtual-machines/disk-encryption"
# https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
OPERATOR_ROLES: Final = {
    "f1a07417-d97a-45cb-824c-7a7467783830": "Managed Identity Operator",
    "b24988ac-6180-42a0-ab88-20f7382dd24c": "Contributor",
    "8e3af657-a8ff-443c-a75c-2fe8c4bcb635": "Owner",
}
GUID: Final = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
ROLE: Final = re.compile(
    r"(/subscriptions/[^/]+)?/providers/Microsoft\.Authorization/roleDefinitions/" + GUID.pattern, re.IGNORECASE
)
KEY_URL: Final = re.compile(r"https://[-a-zA-Z0-9]{3,24}\.vault\.azure\.net/keys/[-a-zA-Z0-9]{1,127}/[0-9a-fA-F]{32}")

SIMULATED: Final = (
    "microsoft.compute/",
    "microsoft.containerservice/",
    "microsoft.managedidentity/",
    "microsoft.network/",
)

ROLE_RULES: Final = Rules()
ENCRYPTION_RULES: Final = Rules()


class IdentityKind(Kind):
    """``azure-native:managedidentity:UserAssignedIdentity``."""

    token = IDENTITY
    shape = Shape(
        package="msi.v2024_11_30",
        model="Identity",
        api_version="2023-01-31",
        namespace="Microsoft.ManagedIdentity",
        segments=(("userAssignedIdentities", "resourceName"),),
        located=True,
    )
    computed = ("clientId", "principalId", "tenantId")

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        id = self.id(cloud, inputs)
        principal, client = identifier("principal", id), identifier("client", id)
        return {"clientId": client, "principalId": principal, "tenantId": cloud.tenant}


class RoleAssignmentKind(Kind):
    """``azure-native:authorization:RoleAssignment``."""

    token = ROLE_ASSIGNMENT
    shape = Shape(
        package="authorization.v2022_04_01",
        model="RoleAssignmentCreateParameters",
        api_version="2022-04-01",
        namespace="Microsoft.Authorization",
        segments=(("roleAssignments", "roleAssignmentName"),),
        address=("scope",),
        enums={
            "principalType": ("User", "Group", "ServicePrincipal", "ForeignGroup", "Device"),
        },
        own_replaces=("principalId",),
        fixed={"roleDefinitionId": None},
        name_is_uuid=True,
    )
    rules = ROLE_RULES.rules
    computed = ("createdOn", "createdBy", "updatedOn", "updatedBy")

    @override
    def id(self, cloud: Cloud, inputs: Properties) -> str:
        scope = str(inputs["scope"]).strip("/")
        name = inputs["roleAssignmentName"]
        return f"/{scope}/providers/Microsoft.Authorization/roleAssignments/{name}"

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        require_scope(cloud, inputs["scope"])
        principal = inputs["principalId"]
        # People and groups of the directory cannot be known here; managed identities can.
        if inputs.get("principalType") == "ServicePrincipal" and principal not in set(principals(cloud)):
            message = f"Principal {principal.replace('-', '')} does not exist in the directory {cloud.tenant}."
            raise bad_request(message, "PrincipalNotFound")

    @override
    def create(self, cloud: Cloud, inputs: Properties) -> Created:
        for other in cloud.store.all(self.token):
            alike = all(same(other.inputs[key], inputs[key]) for key in ("scope", "principalId"))
            if alike and same(last_part(other.inputs["roleDefinitionId"]), last_part(inputs["roleDefinitionId"])):
                raise api_error(HTTPStatus.CONFLICT, "RoleAssignmentExists", "The role assignment already exists.")
        return super().create(cloud, inputs)

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        who, when = identifier("caller", cloud.subscription), "2026-11-01T00:00:00Z"
        return {"createdBy": who, "createdOn": when, "updatedBy": who, "updatedOn": when}


def _key() -> dict[str, Property]:
    vault = Model("SourceVault", lambda: {"id": Property(Scalar("string"))})
    return {"keyUrl": Property(Scalar("string"), required=True), "sourceVault": Property(vault)}


def _set_identity() -> dict[str, Property]:
    kinds = ("SystemAssigned", "UserAssigned", "SystemAssigned, UserAssigned", "None")
    return {
        "type": Property(Scalar("string", kinds)),
        "userAssignedIdentities": Property(Entries(Scalar("any"))),
    }


def _encryption_set() -> dict[str, Property]:
    kinds = (
        "EncryptionAtRestWithCustomerKey",
        "EncryptionAtRestWithPlatformAndCustomerKeys",
        "ConfidentialVmEncryptedWithCustomerKey",
    )
    return {
        "activeKey": Property(Model("KeyForDiskEncryptionSet", _key)),
        "encryptionType": Property(Scalar("string", kinds)),
        "federatedClientId": Property(Scalar("string")),
        "identity": Property(Model("EncryptionSetIdentity", _set_identity)),
        "location": Property(Scalar("string"), required=True),
        "rotationToLatestKeyVersionEnabled": Property(Scalar("boolean")),
        "tags": Property(Entries(Scalar("string"))),
    }


class EncryptionSetKind(Kind):
    """``azure-native:compute:DiskEncryptionSet``; the key itself is taken to exist.

    The model is written by hand, because ``azure-mgmt-compute`` is no dependency:
    https://learn.microsoft.com/azure/templates/microsoft.compute/2024-03-02/diskencryptionsets
    """

    token = ENCRYPTION_SET
    shape = Shape(
        model="DiskEncryptionSet",
        body=Model("DiskEncryptionSet", _encryption_set),
        api_version="2024-03-02",
        namespace="Microsoft.Compute",
        segments=(("diskEncryptionSets", "diskEncryptionSetName"),),
        located=True,
        fixed={"encryptionType": "EncryptionAtRestWithCustomerKey"},
    )
    rules = ENCRYPTION_RULES.rules
    computed = ("lastKeyRotationTimestamp", "previousKeys")

    @override
    def references(self, cloud: Cloud, inputs: Properties) -> None:
        super().references(cloud, inputs)
        for id in at(inputs, "identity.userAssignedIdentities") or []:
            require(cloud, id, IDENTITY)

    @override
    def preview(self, cloud: Cloud, inputs: Properties, old: Properties | None = None) -> Properties:
        return {**super().preview(cloud, inputs, old), "identity": UNKNOWN}

    @override
    def outputs(self, cloud: Cloud, inputs: Properties) -> Properties:
        identity = identity_outputs(cloud, inputs.get("identity"), self.id(cloud, inputs))
        return {"identity": identity, "lastKeyRotationTimestamp": "2026-11-01T00:00:00Z", "previousKeys": []}

    @override
    def user(self, cloud: Cloud, record: Record) -> str | None:
        clusters = cloud.store.all(CLUSTER)
        return next((c.id for c in clusters if same(c.inputs.get("diskEncryptionSetID") or "", record.id)), None)


def identity_outputs(cloud: Cloud, declared: Properties | None, id: str) -> Properties | None:
    """A resource's own ``identity`` as Azure answers, with the ids of every identity in it."""
    if not declared:
        return None
    answer = {key: value for key, value in declared.items() if key != "userAssignedIdentities"}
    if "SystemAssigned" in str(declared.get("type")):
        answer |= {"principalId": identifier("principal", id), "tenantId": cloud.tenant}
    users = {}
    for each in declared.get("userAssignedIdentities") or []:
        state = require(cloud, each, IDENTITY).outputs
        users[each] = {"clientId": state["clientId"], "principalId": state["principalId"]}
    return {**answer, "userAssignedIdentities": users} if users else answer


def principals(cloud: Cloud) -> Iterator[str]:
    """Every managed identity's principal in the subscription, and the caller's own."""
    yield identifier("caller", cloud.subscription)
    for record in cloud.store.everything():
        if record.type == IDENTITY:
            yield record.outputs["principalId"]
        principal = at(record.outputs, "identity.principalId")
        if principal:
            yield principal
        kubelet = at(record.outputs, "identityProfile.kubeletidentity.objectId")
        if kubelet:
            yield kubelet


def may_assign(cloud: Cloud, principal: str, identity: str) -> bool:
    """Whether a principal may give a user-assigned identity to machines."""
    for grant in cloud.store.all(ROLE_ASSIGNMENT):
        scope = f"/{grant.inputs['scope'].strip('/')}".lower()
        covers = same(scope, identity) or identity.lower().startswith(f"{scope}/")
        role = last_part(grant.inputs["roleDefinitionId"]).lower()
        if covers and same(grant.inputs["principalId"], principal) and role in OPERATOR_ROLES:
            return True
    return False


def require_scope(cloud: Cloud, scope: str) -> None:
    """404 if ``scope`` is a resource group, or a resource of a simulated type, that does not exist.

    Others' subscriptions and types that are not simulated (key vaults) cannot be known.
    """
    path = f"/{scope.strip('/')}"
    start = f"/subscriptions/{cloud.subscription}/resourceGroups/"
    if not path.lower().startswith(start.lower()):
        return
    group, _, type_ = path[len(start) :].partition("/providers/")
    if type_ and not type_.lower().startswith(SIMULATED):
        return
    require(cloud, start + group, GROUP)
    if type_ and not any(same(record.id, path) for record in cloud.store.everything()):
        raise not_found(path)


@ROLE_RULES.add("role-definition-form", ROLES, "roleDefinitionId")
def _role(inputs: Properties, cloud: Cloud) -> str | None:
    if ROLE.fullmatch(inputs["roleDefinitionId"]):
        return None
    example = "/subscriptions/ID/providers/Microsoft.Authorization/roleDefinitions/GUID"
    return f"The role definition ID '{inputs['roleDefinitionId']}' is not valid: use {example}."


@ROLE_RULES.add("principal-form", ROLES, "principalId")
def _principal(inputs: Properties, cloud: Cloud) -> str | None:
    if GUID.fullmatch(inputs["principalId"]):
        return None
    return f"The principal ID '{inputs['principalId']}' is not valid. Principal ID must be a GUID."


@ROLE_RULES.add("assignment-name-form", ROLES, "roleAssignmentName")
def _assignment_name(inputs: Properties, cloud: Cloud) -> str | None:
    if GUID.fullmatch(inputs["roleAssignmentName"]):
        return None
    return f"The role assignment ID '{inputs['roleAssignmentName']}' is not valid. It must be a GUID."


@ENCRYPTION_RULES.add("key-url-versioned", ENCRYPTION, "activeKey")
def _key_url(inputs: Properties, cloud: Cloud) -> str | None:
    url = at(inputs, "activeKey.keyUrl")
    if url is None or KEY_URL.fullmatch(url):
        return None
    return f"Key URL '{url}' is not valid: write https://VAULT.vault.azure.net/keys/NAME/VERSION, version included."


@ENCRYPTION_RULES.add("encryption-set-identity", ENCRYPTION, "identity")
def _has_identity(inputs: Properties, cloud: Cloud) -> str | None:
    kind = at(inputs, "identity.type")
    if kind in (None, "None"):
        return "A disk encryption set needs an identity that may use the key: give identity.type."
    if "UserAssigned" in kind and not at(inputs, "identity.userAssignedIdentities"):
        return "identity.type UserAssigned needs identity.userAssignedIdentities."
    return None
