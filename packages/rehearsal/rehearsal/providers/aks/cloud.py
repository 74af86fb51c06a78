"""One simulated Azure subscription, how Azure tells resources apart, and errors in the words of Resource Manager, so
that users can search for what a rehearsal prints."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Final

from typing_extensions import override

from rehearsal.providers.account_limits import Refusals, Shortage
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import Record, SimulatedCloud
from rehearsal.providers.resource import Reference, Table
from rehearsal.providers.vendor import CloudErrors


def api_error(status: HTTPStatus, code: str, message: str) -> ProviderError:
    """An answer of Resource Manager as the provider prints it: ``Status=404 Code="ResourceNotFound" Message="…"``."""
    return ProviderError(f'Status={status.value} Code="{code}" Message="{message}"')


def bad_request(message: str, code: str = "InvalidParameter") -> ProviderError:
    """400: a request the server would not accept."""
    return api_error(HTTPStatus.BAD_REQUEST, code, message)


def not_found(id: str) -> ProviderError:
    """404: the resource, or one that the request refers to, does not exist."""
    return api_error(HTTPStatus.NOT_FOUND, "ResourceNotFound", f"The Resource '{id}' was not found.")


def change_refused(path: str) -> ProviderError:
    """400: a property that is fixed once the resource exists.

    The words are those of https://github.com/pulumi/pulumi-azure-native/issues/959.
    """
    return api_error(
        HTTPStatus.BAD_REQUEST, "PropertyChangeNotAllowed", f"Changing property 'properties.{path}' is not allowed."
    )


def move_refused(name: str, group: str, location: str, other: str) -> ProviderError:
    """409: a resource stays in its location.

    https://github.com/MicrosoftDocs/azure-databases-docs/blob/main/articles/postgresql/network/how-to-networking-servers-deployed-public-access-add-private-endpoint.md
    """
    return api_error(
        HTTPStatus.CONFLICT,
        "InvalidResourceLocation",
        f"The resource '{name}' already exists in location '{location}' in resource group '{group}'. A resource with "
        f"the same name cannot be created in location '{other}'. Please select a new resource name.",
    )


def _forbidden(action: str, scope: str) -> ProviderError:
    """403: the user lacks this permission at this scope.

    https://learn.microsoft.com/azure/role-based-access-control/troubleshooting
    """
    message = (
        "The client 'me@example.com' with object id '00000000-0000-0000-0000-000000000001' does not have authorization "
        f"to perform action '{action}' over scope '{scope}' or the scope is invalid. If access was recently granted, "
        "please refresh your credentials."
    )
    return api_error(HTTPStatus.FORBIDDEN, "AuthorizationFailed", message)


def _quota(short: Shortage) -> str:
    """https://github.com/Azure/AKS/issues/5808"""
    return (
        f"Operation could not be completed as it results in exceeding approved {short.name} quota. Additional details "
        f"- Deployment Model: Resource Manager, Location: {short.region}, Current Limit: {short.limit}, Current Usage: "
        f"{short.used}, Additional Required: {short.needed}, (Minimum) New Limit Required: {short.used + short.needed}."
    )


REFUSALS: Final = Refusals(
    quota=_quota,
    at_once=lambda short: str(api_error(HTTPStatus.BAD_REQUEST, "QuotaExceeded", _quota(short))),
    # https://learn.microsoft.com/azure/aks/use-capacity-reservation-groups
    no_reservation=lambda id: f"The capacity reservation group '{id}' was not found.",
    full_reservation=lambda id: (
        f"The capacity reservation group '{id}' has no machine left (OverconstrainedAllocation)."
    ),
)


# A namespace of this provider's own; any constant UUID would do.
_NAMESPACE: Final = uuid.UUID("5a0f9b54-58b6-4f5c-8a2b-6f0e6f1a7d10")
DEFAULT_SUBSCRIPTION: Final = "00000000-0000-0000-0000-000000000000"


@dataclass(frozen=True)
class Subscription(SimulatedCloud):
    """One simulated Azure subscription."""

    @property
    def subscription(self) -> str:
        """The configured subscription; a previewed stack without one gets a placeholder of zeros."""
        return str(self.config.get("subscriptionId") or DEFAULT_SUBSCRIPTION)

    @property
    def tenant(self) -> str:
        """The configured directory, else one that belongs to the subscription."""
        return str(self.config.get("tenantId") or identifier("tenant", self.subscription))

    @override
    def find(self, id: str, type: str) -> Record | None:
        """The resource of a type at ``id``, whose case does not matter.

        https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
        """
        normalized = id.lower().rstrip("/")
        return super().find(id, type) or next(
            (record for record in self.store.all(type) if record.id.lower() == normalized), None
        )


def identifier(*parts: str) -> str:
    """A stable UUID for something that Azure gives a random one."""
    return str(uuid.uuid5(_NAMESPACE, "/".join(parts).lower()))


def same(one: str, other: str) -> bool:
    """Whether two ids mean the same resource."""
    return one.lower().rstrip("/") == other.lower().rstrip("/")


def require(cloud: Subscription, id: str, type: str) -> Record:
    """The resource of a type at ``id``; 404 if it does not exist."""
    record = cloud.find(id, type)
    if record is None:
        raise not_found(id)
    return record


TABLE: Final[Table[Subscription]] = Table(Path(__file__).parent)
GROUP: Final = "azure-native:resources:ResourceGroup"
CLUSTER: Final = "azure-native:containerservice:ManagedCluster"
POOL: Final = "azure-native:containerservice:AgentPool"


def id_of(cloud: Subscription, type: str, inputs: Properties) -> str:
    """The id of the resource of a type that ``inputs`` name, or a function's arguments."""
    return TABLE.id(type).format_map({**inputs, "subscription": cloud.subscription})


def _missing_reference(cloud: Subscription, references: Reference, value: str, id: str) -> ProviderError:
    if references.token != GROUP:
        return not_found(id)
    return api_error(HTTPStatus.NOT_FOUND, "ResourceGroupNotFound", f"Resource group '{value}' could not be found.")


ERRORS: Final = CloudErrors(
    forbidden=lambda cloud, row, permission, id: _forbidden(permission, id),
    bad_request=lambda cloud, row, message: bad_request(message),
    missing_reference=_missing_reference,
    missing_resource=lambda cloud, row, id: not_found(id),
    in_use=lambda cloud, row, id, by: bad_request(f"{id} is in use by {by} and cannot be deleted.", row.in_use),
    # The provider reads before it creates, because Azure would treat the request as an update:
    # https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/azure/client_azcore.go
    exists=lambda cloud, row, id: ProviderError(f"cannot create already existing resource '{id}'"),
)
