"""Regions and zones of Google Cloud, the tables of its resource types and rules, and errors in the words of its APIs,
so that users can search for what a rehearsal prints."""

from __future__ import annotations

import zlib
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from rehearsal.providers.account_limits import Refusals, Shortage
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.resource import Reference, Table
from rehearsal.providers.vendor import CloudErrors

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


def not_registered(nodes: int, because: str) -> ProviderError:
    """What GKE says of a pool whose first nodes do not come (https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/305),
    and why."""
    return ProviderError(
        f"Error waiting for creating GKE NodePool: All cluster resources were brought up, but: only 0 nodes out of "
        f"{nodes} have registered; this is likely due to Nodes failing to start correctly: {because}"
    )


def _forbidden(right: str, id: str) -> ProviderError:
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


def _missing_reference(cloud: SimulatedCloud, references: Reference, value: str, id: str) -> ProviderError:
    if references.token.startswith("gcp:container/"):
        return not_found(f"Not found: {id}")
    path = value.removeprefix(SELF_LINK) if "/" in value else id
    return not_found(f"The resource '{path}' was not found")


ERRORS: Final = CloudErrors(
    forbidden=lambda cloud, row, permission, id: _forbidden(permission, id),
    bad_request=lambda cloud, row, message: bad_request(message),
    missing_reference=_missing_reference,
    missing_resource=lambda cloud, row, id: not_found(f"Not found: {id}"),
    in_use=lambda cloud, row, id, by: api_error(
        HTTPStatus.BAD_REQUEST,
        f"The resource '{id}' is already being used by '{by}'",
        reason="resourceInUseByAnotherResource",
    ),
    exists=lambda cloud, row, id: api_error(HTTPStatus.CONFLICT, f"Already exists: {id}"),
)


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


TABLE: Final[Table[SimulatedCloud]] = Table(Path(__file__).parent)

SELF_LINK: Final = "https://www.googleapis.com/compute/v1/"


def chosen(value: Any, default: str | None) -> Any:
    """``value``, known or not; the default where the program gave none, which may also be an empty text."""
    return default if value in (None, "") else value


def project_number(project: str) -> str:
    """A stable 12-digit number for a project id, as Google gives every project one."""
    return str(10**11 + zlib.crc32(project.encode()))


def in_region(cloud: SimulatedCloud, inputs: Properties) -> Properties:
    """``inputs`` with the provider's region as their location, unless they have one."""
    return {**inputs, "location": chosen(inputs.get("location"), cloud.default("region"))}


def region_of(location: str) -> str:
    """``us-central1`` from itself or from one of its zones (``us-central1-a``)."""
    return location.rpartition("-")[0] if is_zone(location) else location


def unknown_region(cloud: SimulatedCloud, region: str | None) -> str | None:
    """What the Compute API answers to a region that it does not have; ``None`` for one that it has."""
    return None if region in cloud.catalog.regions else f"Invalid value for field 'region': '{region}'. Unknown region."


def is_zone(location: str) -> bool:
    """Whether a location is a zone: regions have one hyphen, zones two."""
    return location.count("-") >= 2
