"""Cloud Storage buckets, whose names are globally unique. What is stored in them is not simulated.

Replacement: https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/storage/resource_storage_bucket.go
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE
from rehearsal.providers.gke.errors import api_error
from rehearsal.providers.gke.functions import project_number
from rehearsal.providers.gke.iam import require_customer_key
from rehearsal.providers.resource import Pending, SimulatedResource
from rehearsal.providers.values import at

BUCKET: Final = "gcp:storage/bucket:Bucket"
BUCKET_RULES: Final = TABLE.rules("bucket")

TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Names that other accounts own: https://cloud.google.com/storage/docs/buckets#naming (one global namespace)."""

_NAMES: Final = "https://cloud.google.com/storage/docs/buckets#naming"
_NAME: Final = re.compile(r"[a-z0-9][-_.a-z0-9]{1,61}[a-z0-9]")
_MULTI_REGIONS: Final = ("ASIA", "EU", "US")
_SHORTEST_DELETE: Final = 7 * 24 * 3600
_LONGEST_DELETE: Final = 90 * 24 * 3600


@BUCKET_RULES.add("bucket-location")
def _location(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    location = inputs["location"]
    if location.lower() in cloud.catalog.regions or location.upper() in _MULTI_REGIONS:
        return None
    return f"The specified location constraint is not valid: {location}"


def _available(pending: Pending[SimulatedCloud]) -> None:
    if pending.before is None and (pending.id in TAKEN):
        message = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
            "Please select a different name and try again."
        )
        raise api_error(HTTPStatus.CONFLICT, message, reason="conflict")
    key = at(pending.inputs, "encryption.defaultKmsKeyName")
    # https://cloud.google.com/storage/docs/encryption/using-customer-managed-keys
    require_customer_key(pending.cloud, pending.inputs["project"], key, "gs-project-accounts")


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(
        BUCKET,
        outputs={"projectNumber": lambda pending: project_number(pending.inputs["project"])},
        rules=BUCKET_RULES.rules,
        requires=_available,
        # Only the provider knows it: https://github.com/hashicorp/terraform-provider-google/pull/1223
        imported=lambda inputs: {**inputs, "forceDestroy": False},
    ),
)
