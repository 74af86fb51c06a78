"""Kubernetes' REST API: paths of objects, admission warnings and error answers. Both of our clients use these.

https://kubernetes.io/docs/reference/using-api/api-concepts/
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

# https://datatracker.ietf.org/doc/html/rfc7234#section-5.5; Kubernetes always uses code 299.
_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_PREAMBLE: Final = re.compile(r"^.*ValidatingAdmissionPolicy '[^']*' with binding '[^']*'(?: denied request)?: ")


def resource_path(version: str, plural: str, name: str | None = None, namespace: str | None = None) -> str:
    """``("apps/v1", "daemonsets", "x", "y")`` → ``/apis/apps/v1/namespaces/y/daemonsets/x``."""
    parts = ["/apis" if "/" in version else "/api", version]
    if namespace:
        parts += ["namespaces", quote(namespace, safe="")]
    return "/".join(part for part in (*parts, plural, name and quote(name, safe=":")) if part)


def admission_warnings(headers: Iterable[str]) -> tuple[str, ...]:
    """The texts in the values of an answer's ``Warning`` headers, as ``kubectl`` prints them."""
    texts = [text for header in headers for text in _WARNING.findall(header)]
    return tuple(text.replace('\\"', '"') for text in texts)


def short_message(message: str) -> str:
    """An admission policy's message without the API server's preamble, which names the policy."""
    return _PREAMBLE.sub("", message)


def failure(body: bytes | str | None) -> tuple[str, str] | None:
    """(message, reason) of an error answer; ``None`` where it is no Kubernetes ``Status``, as a proxy's is not."""
    try:
        status = json.loads(body or "")
        return str(status["message"]), str(status.get("reason", ""))
    except (ValueError, KeyError, TypeError):
        return None
