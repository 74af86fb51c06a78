"""Filestore instances. Their contents and mounts are not simulated.

Replacement: https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/products/filestore/Instance.yaml
"""

from __future__ import annotations

import re
import zlib
from typing import Any, Final

from rehearsal.providers.base import Properties
from rehearsal.providers.cloud import SimulatedCloud
from rehearsal.providers.gke.cloud import TABLE, is_zone
from rehearsal.providers.gke.errors import bad_request
from rehearsal.providers.gke.iam import require_customer_key
from rehearsal.providers.resource import Pending, SimulatedResource

INSTANCE: Final = "gcp:filestore/instance:Instance"
INSTANCE_RULES: Final = TABLE.rules("instance")

_TIERS: Final = "https://cloud.google.com/filestore/docs/service-tiers"
_NAMES: Final = "https://cloud.google.com/filestore/docs/reference/rest/v1/projects.locations.instances/create"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
# Kilobytes of 1,024 to the gibibyte; of the tiers that are in one zone.
_SIZES: Final = {"BASIC_HDD": (1024, 65433), "BASIC_SSD": (2560, 65433), "ZONAL": (1024, 102400)}


@INSTANCE_RULES.add("filestore-size")
def _size(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    least, most = _SIZES.get(inputs["tier"], (0, 1 << 30))
    size = inputs["fileShares"]["capacityGb"]
    if least <= size <= most:
        return None
    return f"capacity of tier {inputs['tier']} must be from {least} GiB to {most} GiB, not {size:g} GiB"


@INSTANCE_RULES.add("filestore-place")
def _place(inputs: Properties, cloud: SimulatedCloud) -> str | None:
    location = inputs.get("location") or ""
    if is_zone(location) == (inputs["tier"] in _SIZES):
        return None
    return f"location {location} is not one of instances of tier {inputs['tier']}"


def _requires(pending: Pending[SimulatedCloud]) -> None:
    """https://cloud.google.com/filestore/docs/editing-instances: a basic one only grows."""
    require_customer_key(pending.cloud, pending.inputs["project"], pending.inputs.get("kmsKeyName"), "cloud-filer")
    if pending.before is None or not str(pending.inputs["tier"]).startswith("BASIC"):
        return
    if pending.inputs["fileShares"]["capacityGb"] < pending.before.inputs["fileShares"]["capacityGb"]:
        raise bad_request("reducing the capacity is not supported by instances of a basic tier")


def _networks(pending: Pending[SimulatedCloud]) -> list[Any]:
    # A range of its own that Google chooses, and peers: https://cloud.google.com/filestore/docs/creating-instances
    third = zlib.crc32(pending.id.encode()) % 256
    address = {"ipAddresses": [f"10.255.{third}.2"], "reservedIpRange": f"10.255.{third}.0/29"}
    return [{**address, **network} for network in pending.inputs["networks"]]


ROWS: Final[tuple[SimulatedResource[Any], ...]] = (
    TABLE.row(INSTANCE, outputs={"networks": _networks}, rules=INSTANCE_RULES.rules, requires=_requires),
)
