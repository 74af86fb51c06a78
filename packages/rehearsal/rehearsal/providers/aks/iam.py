"""Managed identities, role assignments, and disk encryption with a customer-managed key."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.aks import cloud as azure
from rehearsal.providers.base import Properties, ProviderError, at
from rehearsal.providers.cloud import Record, last_part
from rehearsal.providers.resource import Pending, SimulatedResource

IDENTITY: Final = "azure-native:managedidentity:UserAssignedIdentity"
ROLE_ASSIGNMENT: Final = "azure-native:authorization:RoleAssignment"
_MOST_CREDENTIALS: Final = 20
FEDERATED: Final = "azure-native:managedidentity:FederatedIdentityCredential"
ENCRYPTION_SET: Final = "azure-native:compute:DiskEncryptionSet"

# https://learn.microsoft.com/azure/role-based-access-control/built-in-roles
CONTRIBUTORS: Final = ("b24988ac-6180-42a0-ab88-20f7382dd24c", "8e3af657-a8ff-443c-a75c-2fe8c4bcb635")
"""Contributor and Owner: roles with every permission to change resources in their scope."""
OPERATORS: Final = ("f1a07417-d97a-45cb-824c-7a7467783830", *CONTRIBUTORS)
"""Roles that may give a user-assigned identity to machines: Managed Identity Operator first."""
ZONE_KEEPERS: Final = ("b12aa53e-6015-4669-85d0-8515ebb3ae7f", *CONTRIBUTORS)
"""Roles that may write a private DNS zone."""
NETWORKERS: Final = ("4d97b98b-1d4f-4787-a291-c67834d212e7", *CONTRIBUTORS)
"""Roles with permission to change networks: Network Contributor first."""
ENCRYPTERS: Final = ("12338af0-0e69-4776-bea7-57ae8d297424", "14b46e9e-c2b7-41b4-b07b-48a6ebf60603")
"""Key Vault Crypto User and Key Vault Crypto Officer."""
READERS: Final = ("acdd72a7-3385-48ef-bd42-f606fba81ae7", *CONTRIBUTORS)
"""Roles with permission to read every resource: Reader first."""
SIMULATED: Final = (
    "microsoft.compute/",
    "microsoft.containerregistry/",
    "microsoft.containerservice/",
    "microsoft.managedidentity/",
    "microsoft.network/",
    "microsoft.storage/",
)

PRIVATE_ZONES: Final = "microsoft.network/privatednszones/"
_DEFINITIONS: Final = "/providers/Microsoft.Authorization/roleDefinitions/"


def _grantable(pending: Pending[azure.Subscription]) -> None:
    cloud, inputs = pending.cloud, pending.inputs
    for other in cloud.store.all(ROLE_ASSIGNMENT):
        alike = all(azure.same(other.inputs[key], inputs[key]) for key in ("scope", "principalId"))
        same_role = azure.same(last_part(other.inputs["roleDefinitionId"]), last_part(inputs["roleDefinitionId"]))
        if pending.before is None and alike and same_role:
            raise azure.api_error(HTTPStatus.CONFLICT, "RoleAssignmentExists", "The role assignment already exists.")
    require_scope(cloud, inputs["scope"])
    principal = inputs["principalId"]
    # Managed identities are known here; users and groups of the directory are not.
    if inputs.get("principalType") == "ServicePrincipal" and principal not in set(principals(cloud)):
        message = f"Principal {principal.replace('-', '')} does not exist in the directory {cloud.tenant}."
        raise azure.bad_request(message, "PrincipalNotFound")
    identities = {*principals(cloud)} - {azure.identifier("caller", cloud.subscription)}
    if inputs.get("principalType") not in (None, "ServicePrincipal") and principal in identities:
        # The words: https://github.com/Azure/modern-web-app-pattern-dotnet/pull/129
        message = f"The PrincipalId '{principal}' has type 'ServicePrincipal', which is different from specified "
        raise azure.bad_request(f"{message}PrincipalType '{inputs['principalType']}'.", "UnmatchedPrincipalType")
    names = [last_part(other.id) for other in cloud.store.all(ROLE_ASSIGNMENT)] if pending.before is None else []
    if any(azure.same(name, last_part(pending.id)) for name in names):
        # Unique in the directory, whatever the scopes:
        # https://learn.microsoft.com/azure/azure-resource-manager/bicep/scenarios-rbac#name
        message = "Tenant ID, application ID, principal ID, and scope are not allowed to be updated."
        raise azure.bad_request(message, "RoleAssignmentUpdateNotPermitted")


def as_answered(grant: Record) -> Record:
    """An assignment as Azure answers it: with the role's id in the subscription of its scope.

    https://github.com/Azure/azure-rest-api-specs/issues/10939
    """
    parts = grant.inputs["scope"].strip("/").split("/")
    if parts[0].lower() != "subscriptions":
        return grant
    role = last_part(grant.inputs["roleDefinitionId"])
    inputs = {**grant.inputs, "roleDefinitionId": f"/{'/'.join(parts[:2])}{_DEFINITIONS}{role}"}
    return replace(grant, inputs=inputs)


def _one_subject(pending: Pending[azure.Subscription]) -> None:
    """One issuer and subject are one credential, of at most 20; an issuer of this subscription's clusters exists.

    https://learn.microsoft.com/entra/workload-id/workload-identity-federation-considerations
    """
    cloud, inputs = pending.cloud, pending.inputs
    identity = pending.id.partition("/federatedIdentityCredentials/")[0]
    mine = [each for each in cloud.store.all(FEDERATED) if each.id.startswith(f"{identity}/") and each.id != pending.id]
    if len(mine) >= _MOST_CREDENTIALS:
        raise azure.bad_request(
            "Too many federated identity credentials: at most 20 for one identity.", "TooManyCredentials"
        )
    if any(all(each.inputs[key] == inputs[key] for key in ("issuer", "subject")) for each in mine):
        message = "Issuer and subject combination already exists for this Managed Identity."
        raise azure.api_error(HTTPStatus.CONFLICT, "Conflict", message)
    known = {at(each.outputs, "oidcIssuerProfile.issuerURL") for each in cloud.store.all(azure.CLUSTER)}
    if f"/{cloud.tenant}/" in inputs["issuer"] and inputs["issuer"] not in known:
        # Azure accepts it and refuses the first token (AADSTS700211), which no check here would show.
        raise azure.bad_request(f"No matching cluster issues tokens as {inputs['issuer']}.", "IssuerUnknown")


def _caller(pending: Pending[azure.Subscription]) -> str:
    return azure.identifier("caller", pending.cloud.subscription)


def identity_outputs(pending: Pending[azure.Subscription]) -> Properties | None:
    """A resource's own ``identity`` as Azure answers, with the ids of every identity in it."""
    declared: Properties | None = pending.inputs.get("identity")
    if not declared:
        return None
    answer = {key: value for key, value in declared.items() if key != "userAssignedIdentities"}
    if "SystemAssigned" in str(declared.get("type")):
        answer |= {"principalId": azure.identifier("principal", pending.id), "tenantId": pending.cloud.tenant}
    users = {}
    for each in declared.get("userAssignedIdentities") or []:
        state = azure.require(pending.cloud, each, IDENTITY).outputs
        users[each] = {"clientId": state["clientId"], "principalId": state["principalId"]}
    return {**answer, "userAssignedIdentities": users} if users else answer


def principals(cloud: azure.Subscription) -> Iterator[str]:
    """Every managed identity's principal in the subscription, and the caller's own."""
    yield azure.identifier("caller", cloud.subscription)
    for record in cloud.store.everything():
        if record.type == IDENTITY:
            yield record.outputs["principalId"]
        principal = at(record.outputs, "identity.principalId")
        if principal:
            yield principal
        kubelet = at(record.outputs, "identityProfile.kubeletidentity.objectId")
        if kubelet:
            yield kubelet


RBAC_CLUSTER_ADMIN: Final = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"
"""All of Kubernetes' rights: https://learn.microsoft.com/azure/role-based-access-control/built-in-roles/containers"""


def principals_of(cloud: azure.Subscription, cluster: Properties) -> list[str]:
    """The principals of a cluster's user-assigned identities; 404 if one does not exist."""
    users = at(cluster, "identity.userAssignedIdentities") or []
    return [azure.require(cloud, each, IDENTITY).outputs["principalId"] for each in users]


def has_role(cloud: azure.Subscription, principal: str, resource: str, roles: Collection[str]) -> bool:
    """Whether a principal has one of the roles (GUIDs) on a resource (an id), or on what the resource is in."""
    for grant in cloud.store.all(ROLE_ASSIGNMENT):
        scope = f"/{grant.inputs['scope'].strip('/')}".lower()
        covers = azure.same(scope, resource) or resource.lower().startswith(f"{scope}/")
        role = last_part(grant.inputs["roleDefinitionId"]).lower()
        if covers and azure.same(grant.inputs["principalId"], principal) and role in roles:
            return True
    return False


def may_encrypt(cloud: azure.Subscription, principal: str, url: str) -> bool:
    """Whether a principal may encrypt and decrypt with the key at ``url``. The URL does not tell where the vault is."""
    host, _, name, *_ = url.removeprefix("https://").split("/")
    vault = f"/vaults/{host.partition('.')[0]}"
    return any(
        azure.same(grant.inputs["principalId"], principal)
        and last_part(grant.inputs["roleDefinitionId"]) in ENCRYPTERS
        and f"/{grant.inputs['scope'].strip('/')}".lower().endswith((vault.lower(), f"{vault}/keys/{name}".lower()))
        for grant in cloud.store.all(ROLE_ASSIGNMENT)
    )


def require_scope(cloud: azure.Subscription, scope: str) -> None:
    """404 if ``scope`` is a resource group, or a resource of a simulated type, that does not exist.

    Others' subscriptions and types that are not simulated (key vaults) cannot be known.
    """
    path = f"/{scope.strip('/')}"
    start = f"/subscriptions/{cloud.subscription}/resourceGroups/"
    if not path.lower().startswith(start.lower()):
        return
    group, _, type_ = path[len(start) :].partition("/providers/")
    if type_ and (not type_.lower().startswith(SIMULATED) or type_.lower().startswith(PRIVATE_ZONES)):
        return
    azure.require(cloud, start + group, azure.GROUP)
    if type_ and not any(azure.same(record.id, path) for record in cloud.store.everything()):
        raise azure.not_found(path)


def get_user_assigned_identity(cloud: azure.Subscription, args: Properties) -> Properties:
    """``managedidentity:getUserAssignedIdentity``: an identity; 404 if it does not exist."""
    identity = azure.require(cloud, azure.id_of(cloud, IDENTITY, args), IDENTITY)
    return {**identity.state, "id": identity.id, "name": args["resourceName"]}


def get_vault(cloud: azure.Subscription, args: Properties) -> Properties:
    """``keyvault:getVault``: a vault that AKS can use, where its resource group is; 404 if the group does not exist."""
    group = azure.require(cloud, azure.id_of(cloud, azure.GROUP, args), azure.GROUP)
    properties = {"enablePurgeProtection": True, "enableRbacAuthorization": True, "publicNetworkAccess": "Enabled"}
    return {"name": args["vaultName"], "location": group.inputs["location"], "properties": properties}


def get_key(cloud: azure.Subscription, args: Properties) -> Properties:
    """``keyvault:getKey``: an RSA key; 404 where the account has none of that name."""
    url, known = f"https://{args['vaultName']}.vault.azure.net/keys/{args['keyName']}", cloud.account_limits.keys
    if known is not None and not any(f"{each}/".startswith(f"{url}/") for each in known):
        raise _no_key(url)
    return {"name": args["keyName"], "kty": "RSA", "keySize": 2048}


def _no_key(url: str) -> ProviderError:
    message = f"A key with (name/id) {url} was not found in this key vault."
    return azure.api_error(HTTPStatus.NOT_FOUND, "KeyNotFound", message)


def _key_there(pending: Pending[azure.Subscription]) -> None:
    """404 where the account has no such key: https://learn.microsoft.com/rest/api/keyvault/keys/get-key/get-key"""
    url = at(pending.inputs, "activeKey.keyUrl")
    if url is not None and not pending.cloud.account_limits.has_key(url):
        raise _no_key(url)
    # Disks and their key are in one region, of which the vault's group tells here; Azure's words are not quoted.
    vault = at(pending.inputs, "activeKey.sourceVault.id")
    group = pending.cloud.find(str(vault).partition("/providers/")[0], azure.GROUP)
    if group is not None and group.inputs["location"] != pending.inputs["location"]:
        raise azure.bad_request(f"The key vault {vault} and the disk encryption set must be in the same region.")


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    azure.TABLE.row(
        IDENTITY,
        outputs={
            "clientId": lambda pending: azure.identifier("client", pending.id),
            "principalId": lambda pending: azure.identifier("principal", pending.id),
            "tenantId": lambda pending: pending.cloud.tenant,
        },
    ),
    azure.TABLE.row(ROLE_ASSIGNMENT, outputs={"createdBy": _caller, "updatedBy": _caller}, requires=_grantable),
    azure.TABLE.row(FEDERATED, requires=_one_subject),
    azure.TABLE.row(
        ENCRYPTION_SET,
        outputs={"identity": identity_outputs},
        requires=_key_there,
    ),
)
