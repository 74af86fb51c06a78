"""Kubernetes versions that the simulated AKS offers. Its control plane really runs one of them, ``KUBERNETES``."""

from __future__ import annotations

import re
from typing import Final

KUBERNETES: Final = "1.34.4"
"""The version in ``rehearsal/tools/kubernetes/go.mod``."""


# Azure offers three minors, and more with long-term support. Which ones changes every few months, so it is those around
# the control plane's own.
MINORS: Final = range(32, 38)
LONG_TERM_MINORS: Final = range(32, 34)
"""Those that are out of community support in November 2026."""
OFFERED: Final = f"1.{MINORS[0]} to 1.{MINORS[-1]}"
_VERSION: Final = re.compile(r"1\.(\d+)(\.\d+)?")


def newer_minor(version: str, than: str) -> bool:
    """Whether ``version`` is of a later minor."""
    return int(version.split(".")[1]) > int(than.split(".")[1])


def run_by(requested: str | None, now: str | None) -> str:
    """What runs after a request for ``requested``, which is offered, where ``now`` does (``None``: nothing yet).

    Azure may have upgraded it further. A request without a version, or with the running minor, changes nothing.
    """
    if now is not None and (requested is None or now == requested or now.startswith(f"{requested}.")):
        return now
    return resolve(requested) or KUBERNETES


def long_term_only(requested: str | None) -> bool:
    """Whether the version is in long-term support alone: https://learn.microsoft.com/azure/aks/long-term-support."""
    match = _VERSION.fullmatch(requested or "")
    return match is not None and int(match[1]) in LONG_TERM_MINORS


def resolve(requested: str | None) -> str | None:
    """The version that ``requested`` (``1.34`` or all of it) means; ``None`` if it is not offered.

    Another version than the control plane's is accepted and reported by cluster and pools, but not run.

    https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
    """
    match = _VERSION.fullmatch(requested or KUBERNETES)
    if match is None or int(match[1]) not in MINORS:
        return None
    if match[2]:
        return match[0]
    return KUBERNETES if KUBERNETES.startswith(f"{match[0]}.") else f"{match[0]}.0"
