"""Names, labels, taints and address ranges as Kubernetes and clouds spell them. A check returns its value or raises.

Sources: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and …/labels/ (read 2026-11-20).
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final

from pydantic_core import PydanticCustomError

from policies.rules.model import GPU_RESOURCE

_RFC1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_LABEL_NAME: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_RESOURCE_LABEL: Final = re.compile(r"[a-z][-_a-z0-9]{0,62}")
_RESOURCE_LABEL_VALUE: Final = re.compile(r"[-_a-z0-9]{0,63}")

# Kubernetes', NVIDIA's and this project's own keys: what they say about a node must be true.
RESERVED_DOMAINS: Final = ("kubernetes.io", "k8s.io", GPU_RESOURCE.split("/")[0], "gpucluster.dev")

# Stands in a message for the key path of the entry being validated, which only the translation of errors knows.
HERE: Final = "<here>"


def wrong(message: str, remedy: str) -> PydanticCustomError:
    """An error that becomes a ``Problem`` at the key being validated."""
    # The template is fixed: a message may hold braces of its own.
    return PydanticCustomError("problem", "{message}", {"message": message, "remedy": remedy})


def rfc1035(name: str) -> str:
    """A DNS label (RFC 1035): what clusters and pools may be called."""
    if len(name) > 63 or not _RFC1035.fullmatch(name):
        near = re.sub(r"[^a-z0-9-]+", "-", name.lower()).strip("-").lstrip("0123456789-")[:63].rstrip("-")
        example = near or "gpu"
        raise wrong(
            f"'{name}' is not a valid name: lower-case letters, digits and '-', a letter first",
            f"Write for example '{example}'",
        )
    return name


def reserved_domain(key: str) -> str | None:
    """The reserved domain that a label or taint key is in."""
    domain = key.split("/")[0] if "/" in key else ""
    return next((d for d in RESERVED_DOMAINS if domain == d or domain.endswith("." + d)), None)


def label_key(key: str) -> str:
    """A key of a node label or a taint, outside the reserved domains."""
    domain, _, name = key.rpartition("/")
    if not _LABEL_NAME.fullmatch(name) or (domain and not _DOMAIN.fullmatch(domain)):
        raise wrong(f"'{key}' is not a valid key", "Write a key such as 'team' or 'example.com/team'")
    if reserved := reserved_domain(key):
        raise wrong(
            f"'{key}' is in the reserved domain {reserved}, which says what the cluster itself knows about a node",
            f"Use a domain of your own, such as 'example.com/{name}'",
        )
    return key


def gpu_label_key(key: str) -> str:
    """A key of a GPU node's label: also ``nvidia.com/gpu``, by which many workloads select their nodes."""
    return key if key == GPU_RESOURCE else label_key(key)


def label_value(value: str) -> str:
    """A value of a node label or a taint; may be empty."""
    if value and not _LABEL_NAME.fullmatch(value):
        raise wrong(
            f"'{value}' is not a valid value: at most 63 letters, digits, '-', '_' and '.', ends alphanumeric",
            "Shorten it or leave out the other characters",
        )
    return value


def resource_label_key(key: str) -> str:
    """A key of a label on cloud resources, in the alphabet that every cloud accepts."""
    if not _RESOURCE_LABEL.fullmatch(key):
        raise wrong(
            f"'{key}' is not a valid label: lower-case letters, digits, '-' and '_', a letter first, at most 63",
            f"Write for example '{re.sub(r'[^a-z0-9_-]+', '-', key.lower()).lstrip('0123456789-_')[:63] or 'team'}'",
        )
    return key


def resource_label_value(value: str) -> str:
    """A value of a label on cloud resources."""
    if not _RESOURCE_LABEL_VALUE.fullmatch(value):
        raise wrong(
            f"'{value}' is not a valid label value: lower-case letters, digits, '-' and '_', at most 63",
            f"Write for example '{re.sub(r'[^a-z0-9_-]+', '-', value.lower())[:63]}'",
        )
    return value


def cidr(text: str) -> str:
    """An IPv4 range, written with its first address and its prefix length."""
    try:
        given = ipaddress.IPv4Network(text, strict=False)
    except ValueError:
        raise wrong(f"'{text}' is not an IPv4 range", "Write address/prefix, for example 203.0.113.0/24") from None
    if "/" not in text:
        raise wrong(f"'{text}' has no prefix length", f"Write {given} for this one address")
    if str(given.network_address) != text.split("/")[0]:
        raise wrong(f"'{text}' is an address inside a range", f"Write the range itself: {given}")
    return str(given)


def network(text: str) -> ipaddress.IPv4Network:
    """The range that a checked text stands for."""
    return ipaddress.IPv4Network(text)
