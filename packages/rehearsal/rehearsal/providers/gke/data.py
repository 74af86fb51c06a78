"""Buckets, whose names are globally unique, repositories of images and Filestore instances. What is in them, and mounts
of it, are not simulated.

Replacement: https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/storage/resource_storage_bucket.go,
and artifactregistry/Repository.yaml and filestore/Instance.yaml in
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/products
"""

from __future__ import annotations

import zlib
from http import HTTPStatus
from typing import Any, Final

from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE, api_error, bad_request, in_region, project_number
from rehearsal.providers.gke.iam import require_customer_key
from rehearsal.providers.resource import Pending, ends

TAKEN: Final = ("checkpoints", "data", "datasets", "models", "training")
"""Names that other accounts own: https://cloud.google.com/storage/docs/buckets#naming (one global namespace)."""


@TABLE.check("bucket", "bucket-location")
def _bucket_location(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    location = inputs["location"]
    if location.lower() in cloud.catalog.regions or location.upper() in ("ASIA", "EU", "US"):
        return None
    return f"The specified location constraint is not valid: {location}"


def _available(pending: Pending[SimulatedCloud]) -> None:
    if pending.before is None and pending.id in TAKEN:
        message = (
            "The requested bucket name is not available. The bucket namespace is shared by all users of the system. "
            "Please select a different name and try again."
        )
        raise api_error(HTTPStatus.CONFLICT, message, reason="conflict")
    key = at(pending.inputs, "encryption.defaultKmsKeyName")
    # https://cloud.google.com/storage/docs/encryption/using-customer-managed-keys
    require_customer_key(pending.cloud, pending.id, pending.inputs["project"], key, "gs-project-accounts")


def _repository_key(pending: Pending[SimulatedCloud]) -> None:
    """https://cloud.google.com/artifact-registry/docs/cmek"""
    key = pending.inputs.get("kmsKeyName")
    require_customer_key(pending.cloud, pending.id, pending.inputs["project"], key, "gcp-sa-artifactregistry")


_SMALL, _LARGE = range(1024, 9984 + 1, 256), range(10240, 102400 + 1, 2560)
_SIZES: Final = {"ZONAL": (_SMALL, _LARGE), "REGIONAL": (_SMALL, _LARGE), "ENTERPRISE": (range(1024, 10240 + 1, 256),)}
"""Tier → the sizes in GiB that it may have; from one range to another an instance cannot go."""


def _sizes(inputs: Properties) -> range | None:
    """Those of which an instance's is one; ``None`` if it is of none."""
    return next((each for each in _SIZES[inputs["tier"]] if inputs["fileShares"]["capacityGb"] in each), None)


@TABLE.check("instance", "filestore-steps")
def _steps(inputs: Properties, _: SimulatedCloud) -> str | None:
    if inputs["tier"] not in _SIZES or _sizes(inputs) is not None:
        return None
    sizes = " or ".join(f"{each[0]} to {each[-1]} in steps of {each.step}" for each in _SIZES[inputs["tier"]])
    return f"capacity of tier {inputs['tier']} cannot be {inputs['fileShares']['capacityGb']} GiB: {sizes}"


def _grows_with_its_key(pending: Pending[SimulatedCloud]) -> None:
    """https://cloud.google.com/filestore/docs/editing-instances: a basic one only grows, another stays in its range
    (https://cloud.google.com/filestore/docs/service-tiers-zonal)."""
    project, key = pending.inputs["project"], pending.inputs.get("kmsKeyName")
    require_customer_key(pending.cloud, pending.id, project, key, "cloud-filer")
    if pending.before is None:
        return
    if pending.inputs["tier"] in _SIZES and _sizes(pending.inputs) != _sizes(pending.before.inputs):
        raise bad_request("the capacity cannot be changed to one of the tier's other range")
    if not str(pending.inputs["tier"]).startswith("BASIC"):
        return
    if pending.inputs["fileShares"]["capacityGb"] < pending.before.inputs["fileShares"]["capacityGb"]:
        raise bad_request("reducing the capacity is not supported by instances of a basic tier")


def _networks(pending: Pending[SimulatedCloud]) -> list[Any]:
    # A range of its own that Google chooses, and peers: https://cloud.google.com/filestore/docs/creating-instances
    third = zlib.crc32(pending.id.encode()) % 256
    address = {"ipAddresses": [f"10.255.{third}.2"], "reservedIpRange": f"10.255.{third}.0/29"}
    return [{**address, **network} for network in pending.inputs["networks"]]


ROWS: Final = (
    TABLE.row(
        "gcp:storage/bucket:Bucket",
        outputs={"projectNumber": lambda pending: project_number(pending.inputs["project"])},
        requires=_available,
        # Only the provider knows it: https://github.com/hashicorp/terraform-provider-google/pull/1223
        imported=lambda inputs: {**inputs, "forceDestroy": False},
        replaces_if={"retentionPolicy.isLocked": ends("retentionPolicy.isLocked")},
    ),
    TABLE.row("gcp:artifactregistry/repository:Repository", derive_inputs=in_region, requires=_repository_key),
    TABLE.row("gcp:filestore/instance:Instance", outputs={"networks": _networks}, requires=_grows_with_its_key),
)
