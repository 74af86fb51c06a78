"""Errors in the words of Google's APIs, so that users can search for what a rehearsal prints."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from rehearsal.providers.account_limits import Refusals, Shortage
from rehearsal.providers.base import ProviderError

REASONS: Final = {
    HTTPStatus.BAD_REQUEST: "badRequest",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "notFound",
    HTTPStatus.CONFLICT: "alreadyExists",
}


def api_error(status: HTTPStatus, message: str, *, reason: str | None = None) -> ProviderError:
    """An answer of a Google API as the client library prints it: ``googleapi: Error 404: …, notFound``."""
    return ProviderError(f"googleapi: Error {status.value}: {message}, {reason or REASONS[status]}")


def bad_request(message: str) -> ProviderError:
    """400: a request the server would not accept."""
    return api_error(HTTPStatus.BAD_REQUEST, message)


def not_found(message: str) -> ProviderError:
    """404: the resource, or one that the request refers to, does not exist."""
    return api_error(HTTPStatus.NOT_FOUND, message)


def already_exists(what: str) -> ProviderError:
    """409: ``what`` (a resource path) exists already."""
    return api_error(HTTPStatus.CONFLICT, f"Already exists: {what}")


def not_registered(nodes: int, because: str) -> ProviderError:
    """What GKE says of a pool whose first nodes do not come (https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/305),
    and why."""
    return ProviderError(
        f"Error waiting for creating GKE NodePool: All cluster resources were brought up, but: only 0 nodes out of "
        f"{nodes} have registered; this is likely due to Nodes failing to start correctly: {because}"
    )


def in_use(what: str, by: str) -> ProviderError:
    """400: ``what`` cannot be deleted while ``by`` uses it."""
    message = f"The resource '{what}' is already being used by '{by}'"
    return api_error(HTTPStatus.BAD_REQUEST, message, reason="resourceInUseByAnotherResource")


def forbidden(right: str, id: str) -> ProviderError:
    """403: the user lacks a permission, in the words of the service that requires it.

    https://github.com/pulumi/examples/issues/150 (GKE), https://github.com/hashicorp/terraform-provider-google/issues/8262
    (Compute Engine), https://github.com/2i2c-org/infrastructure/issues/488 (the others).
    """
    service = right.partition(".")[0]
    if service == "container":
        message = f'Required "{right}" permission(s) for "{id.partition("/locations/")[0]}".'
    elif service == "compute":
        message = f"Required '{right}' permission for '{id}'"
    else:
        message = f"Permission '{right}' denied on resource '//{service}.googleapis.com/{id}' (or it may not exist)."
    return api_error(HTTPStatus.FORBIDDEN, message)


def _quota(short: Shortage) -> str:
    """The message of an instance group. GKE's autoscaler calls it ``scale.up.error.quota.exceeded``:
    https://cloud.google.com/kubernetes-engine/docs/how-to/cluster-autoscaler-visibility."""
    return f"Quota '{short.name}' exceeded. Limit: {short.limit}.0 in region {short.region}."


def _at_once(short: Shortage) -> str:
    """https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/1795"""
    available = max(0, short.limit - short.used)
    message = (
        f'Insufficient regional quota to satisfy request: resource "{short.name}": request requires '
        f"'{short.needed}.0' and is short '{short.needed - available}.0'. project has a quota of '{short.limit}.0' "
        f"with '{available}.0' available."
    )
    return str(api_error(HTTPStatus.FORBIDDEN, message))


REFUSALS: Final = Refusals(
    quota=_quota,
    at_once=_at_once,
    # https://cloud.google.com/kubernetes-engine/docs/how-to/consuming-reservations; the words are Compute Engine's.
    no_reservation=lambda name: f"The reservation '{name}' was not found.",
    full_reservation=lambda name: f"Specified reservation '{name}' does not have available resources for the request.",
)
