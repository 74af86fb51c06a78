"""Errors in the words of Google's APIs, so that what a rehearsal prints is what a search engine knows."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from rehearsal.standins.base import ProviderError

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
    """409: ``what`` (a resource path) is there already."""
    return api_error(HTTPStatus.CONFLICT, f"Already exists: {what}")


def in_use(what: str, by: str) -> ProviderError:
    """400: ``what`` cannot be deleted while ``by`` uses it."""
    message = f"The resource '{what}' is already being used by '{by}'"
    return api_error(HTTPStatus.BAD_REQUEST, message, reason="resourceInUseByAnotherResource")
