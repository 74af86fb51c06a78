"""Errors in the words of Azure Resource Manager, so that users can search for what a rehearsal prints."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

from rehearsal.providers.account_limits import Refusals, Shortage
from rehearsal.providers.base import ProviderError


def api_error(status: HTTPStatus, code: str, message: str) -> ProviderError:
    """An answer of Resource Manager as the provider prints it: ``Status=404 Code="ResourceNotFound" Message="…"``."""
    return ProviderError(f'Status={status.value} Code="{code}" Message="{message}"')


def bad_request(message: str, code: str = "InvalidParameter") -> ProviderError:
    """400: a request the server would not accept."""
    return api_error(HTTPStatus.BAD_REQUEST, code, message)


def not_found(id: str) -> ProviderError:
    """404: the resource, or one that the request refers to, does not exist."""
    return api_error(HTTPStatus.NOT_FOUND, "ResourceNotFound", f"The Resource '{id}' was not found.")


def no_group(name: str) -> ProviderError:
    """404: the resource group does not exist."""
    message = f"Resource group '{name}' could not be found."
    return api_error(HTTPStatus.NOT_FOUND, "ResourceGroupNotFound", message)


def change_refused(path: str) -> ProviderError:
    """400: a property that is fixed once the resource exists.

    The words are those of https://github.com/pulumi/pulumi-azure-native/issues/959.
    """
    return api_error(
        HTTPStatus.BAD_REQUEST, "PropertyChangeNotAllowed", f"Changing property 'properties.{path}' is not allowed."
    )


def in_use(code: str, what: str, by: str) -> ProviderError:
    """400: ``what`` cannot be deleted while ``by`` uses it."""
    return bad_request(f"{what} is in use by {by} and cannot be deleted.", code)


def already_exists(id: str) -> ProviderError:
    """The provider reads before it creates, because Azure would treat the request as an update.

    https://github.com/pulumi/pulumi-azure-native/blob/master/provider/pkg/azure/client_azcore.go
    """
    return ProviderError(f"cannot create already existing resource '{id}'")


BUSY: Final[Mapping[str, str]] = {
    "azure-native:network:NatGateway": "InUseNatGatewayCannotBeDeleted",
    "azure-native:network:NetworkSecurityGroup": "InUseNetworkSecurityGroupCannotBeDeleted",
    "azure-native:network:PublicIPAddress": "PublicIPAddressCannotBeDeleted",
    "azure-native:network:RouteTable": "InUseRouteTableCannotBeDeleted",
    "azure-native:network:Subnet": "InUseSubnetCannotBeDeleted",
}
"""Azure's error code where a resource cannot be deleted because something uses it, if it is not ``InUse``."""


def forbidden(action: str, scope: str) -> ProviderError:
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
