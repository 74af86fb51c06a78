"""Requests to Google's APIs, which only read, as the user of this shell.

https://cloud.google.com/docs/authentication/application-default-credentials and, for errors,
https://cloud.google.com/apis/design/errors
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final

from account.asking import AccountError
from facts.concepts.unknown import at

_SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
_TIMEOUT_SECONDS: Final = 60
COMPUTE: Final = "https://compute.googleapis.com/compute/v1"


class GoogleRefusal(Exception):
    """An answer other than 2xx: its ``status``, the API that is ``off`` if that is why, and Google's words."""

    def __init__(self, status: int, content: Any) -> None:
        error = content.get("error") if isinstance(content, Mapping) else None
        details = [each for each in at(error, "details") or () if isinstance(each, Mapping)]
        off = (at(each, "metadata", "service") for each in details if each.get("reason") == "SERVICE_DISABLED")
        self.status, self.off = status, next((str(each) for each in off if each), None)
        super().__init__(f"Google answers {status}: {at(error, 'message') or 'no message'}")


def session(project: str) -> Any:
    """A session with the user's application default credentials, whose requests count against ``project``.

    Raises AccountError: google-auth is not installed, or nobody is logged in.
    """
    try:
        import google.auth
        from google.auth.exceptions import DefaultCredentialsError
        from google.auth.transport.requests import AuthorizedSession
    except ImportError as error:
        raise AccountError("google-auth is not installed: run `make setup-account`") from error
    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except DefaultCredentialsError as error:
        raise AccountError("Google does not know who you are: run `gcloud auth application-default login`") from error
    if hasattr(credentials, "with_quota_project") and not credentials.quota_project_id:
        credentials = credentials.with_quota_project(project)
    return AuthorizedSession(credentials)


def caller(session: Any) -> str:
    """Who the session is: a service account's or a user's address, where the credentials have it."""
    credentials = session.credentials
    address = getattr(credentials, "service_account_email", "") or getattr(credentials, "account", "")
    return str(address or "the user of the application default credentials")


def ask(session: Any, url: str, query: Sequence[tuple[str, str]] = (), body: Mapping[str, Any] | None = None) -> Any:
    """The content of an answer; with a body it is a POST. Raises GoogleRefusal and the errors of ``requests``."""
    method = "GET" if body is None else "POST"
    response = session.request(method, url, params=[*query], json=body, timeout=_TIMEOUT_SECONDS)
    try:
        content = response.json()
    except ValueError:
        content = None
    if response.status_code != HTTPStatus.OK:
        raise GoogleRefusal(response.status_code, content)
    return content


def pages(session: Any, url: str, query: Sequence[tuple[str, str]] = ()) -> Iterator[Any]:
    """The contents of all pages of a list."""
    token = ""
    while True:
        page = ask(session, url, [*query, *([("pageToken", token)] if token else [])])
        yield page
        token = str(page.get("nextPageToken") or "")
        if not token:
            return
