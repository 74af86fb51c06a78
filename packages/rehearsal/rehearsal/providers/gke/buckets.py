"""Cloud Storage buckets, whose names are globally unique. What is stored in them is not simulated.

Replacement: https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/storage/resource_storage_bucket.go
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import ABSENT, SELF_LINK, Rules
from rehearsal.providers.gke.errors import api_error
from rehearsal.providers.gke.functions import project_number
from rehearsal.providers.gke.network import CREATED
from rehearsal.providers.resource import Pending, SimulatedResource

BUCKET: Final = "gcp:storage/bucket:Bucket"
BUCKET_RULES: Final = Rules()

TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Names that other accounts own: https://cloud.google.com/storage/docs/buckets#naming (one global namespace)."""

_NAMES: Final = "https://cloud.google.com/storage/docs/buckets#naming"
_NAME: Final = re.compile(r"[a-z0-9][-_.a-z0-9]{1,61}[a-z0-9]")
_MULTI_REGIONS: Final = ("ASIA", "EU", "US")
_SHORTEST_DELETE: Final = 7 * 24 * 3600
_LONGEST_DELETE: Final = 90 * 24 * 3600


@BUCKET_RULES.add("bucket-name", _NAMES, "name")
def _name(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    name = inputs["name"]
    reserved = name.startswith("goog") or "google" in name
    if _NAME.fullmatch(name) and not reserved:
        return None
    return f"Invalid bucket name: '{name}'"


@BUCKET_RULES.add("bucket-location", "https://cloud.google.com/storage/docs/locations", "location")
def _location(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    location = inputs["location"]
    if location.lower() in cloud.catalog.regions or location.upper() in _MULTI_REGIONS:
        return None
    return f"The specified location constraint is not valid: {location}"


@BUCKET_RULES.add("soft-delete-days", "https://cloud.google.com/storage/docs/soft-delete", "softDeletePolicy")
def _soft_delete(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    seconds = (inputs.get("softDeletePolicy") or {}).get("retentionDurationSeconds")
    if not seconds or _SHORTEST_DELETE <= seconds <= _LONGEST_DELETE:
        return None
    return f"Soft delete policy retention duration must be 0 or from 7 to 90 days, not {seconds:g} s."


@BUCKET_RULES.add(
    "no-versions-with-namespaces",
    "https://cloud.google.com/storage/docs/hns-overview",
    "hierarchicalNamespace",
    "uniformBucketLevelAccess",
)
def _hierarchical(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    hierarchical = (inputs.get("hierarchicalNamespace") or {}).get("enabled")
    if hierarchical and not inputs.get("uniformBucketLevelAccess"):
        return "Hierarchical namespace can be enabled only with uniform bucket-level access."
    return None


def _available(pending: Pending[SimulatedCloud]) -> None:
    if pending.before is None and (pending.id in TAKEN):
        message = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
            "Please select a different name and try again."
        )
        raise api_error(HTTPStatus.CONFLICT, message, reason="conflict")


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    SimulatedResource(
        token=BUCKET,
        id="{name}",
        outputs={
            "projectNumber": lambda pending: project_number(pending.inputs["project"]),
            "selfLink": SELF_LINK.replace("compute", "storage") + "b/{id}",
            "timeCreated": CREATED,
            "updated": CREATED,
            "url": "gs://{name}",
        },
        early=("url",),
        name="name",
        defaults={"storageClass": "STANDARD", "forceDestroy": False, "deletionPolicy": "DELETE"},
        rules=BUCKET_RULES.rules,
        requires=_available,
        replaces=("project", "location", "customPlacementConfig", "enableObjectRetention", "hierarchicalNamespace"),
        unordered=("lifecycleRules",),
        absent=ABSENT,
        # Only the provider knows it: https://github.com/hashicorp/terraform-provider-google/pull/1223
        imported=lambda inputs: {**inputs, "forceDestroy": False},
    ),
)
