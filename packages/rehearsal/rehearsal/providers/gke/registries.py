"""Artifact Registry: repositories of images. What is pushed into them is not simulated.

Replacement: https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/products/artifactregistry/Repository.yaml
"""

from __future__ import annotations

import re
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE, chosen
from rehearsal.providers.gke.iam import require_customer_key
from rehearsal.providers.resource import Pending, SimulatedResource

REPOSITORY: Final = "gcp:artifactregistry/repository:Repository"
REPOSITORY_RULES: Final = TABLE.rules("repository")

_NAMES: Final = "https://cloud.google.com/artifact-registry/docs/repositories/create-repos"
_CLEANUP: Final = "https://cloud.google.com/artifact-registry/docs/repositories/cleanup-policy"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
_MULTI_REGIONS: Final = ("asia", "europe", "us")


@REPOSITORY_RULES.add("repository-location")
def _location(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    location = inputs.get("location")
    if location in cloud.catalog.regions or location in _MULTI_REGIONS:
        return None
    return f"Location {location} is not found or access is unauthorized."


@REPOSITORY_RULES.add("cleanup-condition-or-count")
def _cleanup(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    unique: set[str] = set()
    for policy in inputs.get("cleanupPolicies") or ():
        if policy["id"] in unique:
            return f"Cleanup policy '{policy['id']}' is there twice."
        unique.add(policy["id"])
        if bool(policy.get("condition")) == bool(policy.get("mostRecentVersions")):
            return f"Cleanup policy '{policy['id']}' needs one of condition and mostRecentVersions."
        if policy.get("mostRecentVersions") and policy.get("action") != "KEEP":
            return f"Cleanup policy '{policy['id']}': mostRecentVersions can only KEEP."
    return None


def _key(pending: Pending[SimulatedCloud]) -> None:
    """https://cloud.google.com/artifact-registry/docs/cmek"""
    key = pending.inputs.get("kmsKeyName")
    require_customer_key(pending.cloud, pending.inputs["project"], key, "gcp-sa-artifactregistry")


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        REPOSITORY,
        derive_inputs=lambda cloud, inputs: {
            **inputs,
            "location": chosen(inputs.get("location"), cloud.default("region")),
        },
        rules=REPOSITORY_RULES.rules,
        requires=_key,
    ),
)
