"""A project of Google Cloud for a test: answers by method, and the discovery documents judge requests and answers.

The documents are Google's own, as ``google-api-python-client`` ships them: https://github.com/googleapis/google-api-python-client
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import googleapiclient

DOCUMENTS = Path(googleapiclient.__file__).parent / "discovery_cache" / "documents"
APIS = (
    "artifactregistry.v1", "cloudbilling.v1", "cloudkms.v1", "cloudresourcemanager.v3", "compute.v1", "container.v1",
    "file.v1", "iam.v1", "secretmanager.v1", "serviceusage.v1", "serviceusage.v1beta1", "storage.v1",
)  # fmt: skip
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str, "boolean": bool, "integer": int, "number": (int, float), "array": list, "object": dict,
    "any": object,
}  # fmt: skip


class Method(NamedTuple):
    id: str
    verb: str
    url: re.Pattern[str]
    query: frozenset[str]
    api: str
    request: str
    response: str


class Sent(NamedTuple):
    """``path``: the values in the address, by their names."""

    method: str
    path: Mapping[str, str]
    query: Sequence[tuple[str, str]]
    body: Any


class Refusal(NamedTuple):
    status: int
    content: Any = None


Answer = Mapping[str, Any] | Refusal | Exception | Callable[[Sent], Mapping[str, Any] | Refusal]


def disabled(service: str) -> Refusal:
    """https://cloud.google.com/apis/design/errors#error_info"""
    info = {
        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
        "reason": "SERVICE_DISABLED",
        "metadata": {"service": service},
    }
    return Refusal(403, {"error": {"code": 403, "message": "has not been used", "details": [info]}})


DENIED = Refusal(403, {"error": {"code": 403, "message": "denied", "status": "PERMISSION_DENIED"}})
MISSING = Refusal(404, {"error": {"code": 404, "message": "not found"}})


@cache
def document(api: str) -> Any:
    return json.loads((DOCUMENTS / f"{api}.json").read_text())


def methods_of(resource: Any) -> Iterator[Any]:
    yield from resource.get("methods", {}).values()
    for below in resource.get("resources", {}).values():
        yield from methods_of(below)


@cache
def methods() -> tuple[Method, ...]:
    found = []
    for api in APIS:
        made = document(api)
        for method in methods_of(made):
            base = re.escape(made["rootUrl"] + made["servicePath"])
            path = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/:]+)", re.escape(method.get("flatPath") or method["path"]))
            query = {key for key, each in method["parameters"].items() if each["location"] == "query"}
            found.append(
                Method(
                    id=method["id"],
                    verb=method["httpMethod"],
                    url=re.compile(base + path),
                    query=frozenset({*query, *made["parameters"]}),
                    api=api,
                    request=method.get("request", {}).get("$ref", ""),
                    response=method.get("response", {}).get("$ref", ""),
                )
            )
    return tuple(found)


def judge(api: str, schema: Any, value: Any, where: str) -> None:
    """Refuse what Google's schema does not have."""
    if "$ref" in schema:
        schema, where = document(api)["schemas"][schema["$ref"]], f"{where}: {schema['$ref']}"
    kind = schema["type"]
    assert isinstance(value, TYPES[kind]), f"{where}: {value!r} is no {kind}"
    assert "enum" not in schema or value in schema["enum"], f"{where}: {value!r} is none of {schema['enum']}"
    if kind == "array":
        for each in value:
            judge(api, schema["items"], each, f"{where}[]")
    if kind == "object":
        for key, each in value.items():
            below = schema.get("properties", {}).get(key) or schema.get("additionalProperties")
            assert below, f"{where} has no {key}"
            judge(api, below, each, f"{where}.{key}")


class FakeGoogle:
    """``answers``: method → what is answered; a method without one is refused as if the API had none.

    It is also the session that stands for google-auth's. ``sent``: all requests, in their order.
    """

    credentials = type("Credentials", (), {"service_account_email": "deployer@my-gcp-project.iam.gserviceaccount.com"})

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers, self.sent = answers, list[Sent]()

    def request(self, verb: str, url: str, *, params: Any, json: Any, timeout: float) -> Any:
        assert timeout
        found = [(each, match) for each in methods() if each.verb == verb and (match := each.url.fullmatch(url))]
        assert len(found) == 1, f"{verb} {url}: {[method.id for method, _ in found]}"
        ((method, match),) = found
        assert {key for key, _ in params} <= method.query, f"{method.id}: {params}"
        if json is not None:
            judge(method.api, {"$ref": method.request}, json, method.id)
        sent = Sent(method.id, match.groupdict(), params, json)
        self.sent.append(sent)
        answer = self.answers[method.id]
        answer = answer(sent) if callable(answer) else answer
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Refusal):
            return _response(answer.status, answer.content)
        judge(method.api, {"$ref": method.response}, answer, method.id)
        return _response(200, answer)


def _response(status: int, content: Any) -> Any:
    return type("Response", (), {"status_code": status, "json": lambda self: content})()
