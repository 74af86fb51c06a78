"""The machines' own Kubernetes events; their reasons are in ``rehearsal/simulation.py``, for those who read them."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Final

from rehearsal.cluster.api import Object

_SOURCE: Final = "fleet"
_LONGEST_MESSAGE: Final = 1024
"""The API server refuses longer ones (events.k8s.io/v1 limits its note to 1 kB; core/v1 keeps to it)."""


def warning(about: Mapping[str, Any], reason: str, message: str, labels: Mapping[str, str] | None = None) -> Object:
    """A Warning about a Node or a Pod, to be created in that object's namespace (a Node's are in ``default``)."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    metadata = about["metadata"]
    namespace = metadata.get("namespace")
    subject = {"apiVersion": "v1", "kind": "Pod" if namespace else "Node"}
    subject |= {"name": metadata["name"], "uid": metadata["uid"]} | ({"namespace": namespace} if namespace else {})
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "generateName": f"{metadata['name']}.",
            "namespace": namespace or "default",
            "labels": dict(labels or {}),
        },
        "type": "Warning",
        "reason": reason,
        "message": message[:_LONGEST_MESSAGE],
        "involvedObject": subject,
        "source": {"component": _SOURCE},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
