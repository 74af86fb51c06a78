"""A subscription of Azure for a test: the SDK's own clients send the requests, and its models judge the answers."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import requests
import urllib3
from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError
from azure.core.pipeline.transport import RequestsTransport
from azure.mgmt.authorization.v2022_04_01.models import RoleAssignment, RoleDefinition
from azure.mgmt.compute.models import CapacityReservation, DiskEncryptionSet, ResourceSku
from azure.mgmt.compute.models import Usage as ComputeUsage
from azure.mgmt.network.models import Usage as NetworkUsage
from azure.mgmt.network.models import VirtualNetwork
from azure.mgmt.resource.resources.models import GenericResource, GenericResourceExpanded, Provider
from requests.adapters import BaseAdapter, HTTPAdapter

GROUP = r"/subscriptions/[^/]+/resourceGroups/[^/]+"


class AzureMethod(NamedTuple):
    """``model``: of the answer, or of each element of ``value``; ``None`` where it has no content."""

    verb: str
    path: str
    model: type | None
    listed: bool = False


METHODS: Mapping[str, AzureMethod] = {
    "provider": AzureMethod("GET", r"/subscriptions/[^/]+/providers/Microsoft\.\w+", Provider),
    "skus": AzureMethod("GET", r"/subscriptions/[^/]+/providers/Microsoft\.Compute/skus", ResourceSku, True),
    "usages": AzureMethod(
        "GET", r"/subscriptions/[^/]+/providers/Microsoft\.Compute/locations/\w+/usages", ComputeUsage, True
    ),
    "addresses": AzureMethod(
        "GET", r"/subscriptions/[^/]+/providers/Microsoft\.Network/locations/\w+/usages", NetworkUsage, True
    ),
    "group": AzureMethod("HEAD", r"/subscriptions/[^/]+/resourcegroups/[^/]+", None),
    "resources": AzureMethod("GET", rf"{GROUP}/resources", GenericResourceExpanded, True),
    "reservations": AzureMethod(
        "GET",
        rf"{GROUP}/providers/Microsoft\.Compute/capacityReservationGroups/[^/]+/capacityReservations",
        CapacityReservation,
        True,
    ),
    "networks": AzureMethod(
        "GET", r"/subscriptions/[^/]+/providers/Microsoft\.Network/virtualNetworks", VirtualNetwork, True
    ),
    "network": AzureMethod("GET", rf"{GROUP}/providers/Microsoft\.Network/virtualNetworks/[^/]+", VirtualNetwork),
    "key": AzureMethod("GET", rf"{GROUP}/providers/Microsoft\.KeyVault/vaults/.+", GenericResource),
    "disk-key": AzureMethod(
        "GET", rf"{GROUP}/providers/Microsoft\.Compute/diskEncryptionSets/[^/]+", DiskEncryptionSet
    ),
    "assignments": AzureMethod(
        "GET", r"/subscriptions/[^/]+/providers/Microsoft\.Authorization/roleAssignments", RoleAssignment, True
    ),
    "role": AzureMethod(
        "GET", r"/subscriptions/[^/]+/providers/Microsoft\.Authorization/roleDefinitions/[^/]+", RoleDefinition
    ),
}


class AzureRefusal(NamedTuple):
    status: int
    code: str = ""


class AzureRequest(NamedTuple):
    method: str
    path: str
    query: Mapping[str, list[str]]


DENIED = AzureRefusal(403, "AuthorizationFailed")
MISSING = AzureRefusal(404, "ResourceNotFound")
AzureAnswer = Any
"""Content, a refusal, an error, or what makes one of a request."""


class Login:
    """What stands for azure-identity's credential; ``claims`` are those of its token."""

    def __init__(self, **claims: str) -> None:
        self.claims = claims

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        if not self.claims:
            raise ClientAuthenticationError("DefaultAzureCredential failed to retrieve a token\nand so on")
        payload = base64.urlsafe_b64encode(json.dumps(self.claims).encode()).decode().rstrip("=")
        return AccessToken(f"e30.{payload}.", int(datetime(2099, 1, 1, tzinfo=timezone.utc).timestamp()))


class FakeAzure(BaseAdapter):
    """``answers``: method → content (of a list its elements). ``sent``: all requests, in their order."""

    def __init__(self, answers: Mapping[str, AzureAnswer]) -> None:
        super().__init__()
        self.answers, self.sent = answers, list[AzureRequest]()

    @property
    def transport(self) -> RequestsTransport:
        """What the SDK's clients send by."""
        session = requests.Session()
        session.mount("https://management.azure.com", self)
        return RequestsTransport(session=session, session_owner=False)

    def close(self) -> None: ...

    def send(self, request: requests.PreparedRequest, *others: Any, **options: Any) -> requests.Response:
        url = urlsplit(str(request.url))
        found = [
            name
            for name, each in METHODS.items()
            if each.verb == request.method and re.fullmatch(each.path, url.path, re.IGNORECASE)
        ]
        assert len(found) == 1, f"{request.method} {request.url}: {found}"
        method = METHODS[found[0]]
        sent = AzureRequest(found[0], url.path, parse_qs(url.query))
        self.sent.append(sent)
        given: Any = self.answers[found[0]]
        answer: Any = given(sent) if callable(given) else given
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, AzureRefusal):
            return _response(request, answer.status, {"error": {"code": answer.code, "message": "no"}})
        if method.model is None:
            return _response(request, int(answer), None)
        elements: list[Any] = [*answer] if method.listed else [answer]
        for each in elements:
            judge(method.model, each, found[0])
        return _response(request, 200, {"value": answer} if method.listed else answer)


def _response(request: requests.PreparedRequest, status: int, content: Any) -> requests.Response:
    body = b"" if content is None or request.method == "HEAD" else json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    raw = urllib3.HTTPResponse(body=BytesIO(body), status=status, headers=headers, preload_content=False)
    return HTTPAdapter().build_response(request, raw)


def judge(model: type, value: Any, where: str) -> None:
    """Refuse a key that the SDK's model does not have."""
    older = getattr(model, "_attribute_map", None)
    if older is not None:
        known = {each["key"] for each in older.values()}
        for key in _paths(value, known):
            assert key in known, f"{where} has no {key}"
        return
    made: Any = model(value)
    fields = {field._rest_name: name for name, field in made._attr_to_rest_field.items()}
    for key in value:
        assert key in fields, f"{where} has no {key}"
        below = getattr(made, fields[key])
        for part, raw in _parts(below, value[key]):
            judge(type(part), raw, f"{where}.{key}")


def _parts(below: Any, raw: Any) -> Iterator[tuple[Any, Any]]:
    pairs = zip(below, raw, strict=True) if isinstance(below, list) else [(below, raw)]
    yield from (pair for pair in pairs if hasattr(pair[0], "_attr_to_rest_field"))


def _paths(value: Mapping[str, Any], known: set[str], start: str = "") -> Iterator[str]:
    """The keys as the older models write them: what is below ``properties`` with a dot, where they do."""
    for key, below in value.items():
        path = f"{start}{key}"
        if path not in known and isinstance(below, dict):
            yield from _paths(below, known, f"{path}.")
        else:
            yield path
