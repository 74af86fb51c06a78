"""A CronJob on the admin pool that records what GPU nodes and the jobs on them cost, the same on every cloud with an
autoscaler. Its program is ``facts/concepts/ledger.py``; ``gpu cost --month`` reads what it writes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pulumi

from components.clouds.base import AdminObjects
from components.resources import documents
from facts.concepts import ledger
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.kubernetes import RESOURCES


def manifests(autoscaler: str) -> list[Any]:
    """Its objects, the namespace first; ``autoscaler`` as in the settings."""
    karpenter = autoscaler in KARPENTERS
    objects = documents(
        Path(__file__).with_name("ledger.yaml"),
        script=Path(ledger.__file__).read_text(encoding="utf-8"),
        minutes=ledger.EVERY_MINUTES,
        namespace=ledger.NAMESPACE,
        resources=json.dumps([*RESOURCES.values()]),
        karpenter="yes" if karpenter else "no",
    )
    if karpenter:
        (role,) = (each for each in objects if each["kind"] == "ClusterRole")
        role["rules"].append({"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["list"]})
    return objects


def declare(objects: AdminObjects, autoscaler: str, admin_pool: pulumi.Resource) -> None:
    """Its objects; the pod runs on the admin pool."""
    namespace, *others = manifests(autoscaler)
    owner = objects.declare("ledger-namespace", namespace)
    for manifest in others:
        kind, where = manifest["kind"].lower(), manifest["metadata"].get("namespace")
        suffix = f"-{where}" if kind in ("role", "rolebinding") else ""
        objects.declare(f"ledger-{kind}{suffix}", manifest, owner, admin_pool)
