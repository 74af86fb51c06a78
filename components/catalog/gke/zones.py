"""Regions, their zones, and the zones that have each GPU.

Regions: the Compute Engine API's listing of 2026-08-17 (``tools/machinetyperegion.csv`` of
https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator). Their zones: its listing of 2023; those of the six
regions added since are a, b and c, as others quote https://cloud.google.com/compute/docs/regions-zones (europe-west10:
general knowledge).

GPU zones: the API's listing of September 2025 (https://github.com/skypilot-org/skypilot-catalog, ``gcp/vms.csv``), made
to agree with the regions of August 2026. Not known: the zone of the H100 in australia-southeast2 and of the B200 in
europe-west1, and all of the RTX PRO 6000. Zones gain GPUs over time, so settings let a pool name its own zones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GPU_ZONES_DATED: Final = "2025-09"

_LETTERS: Final[Mapping[str, str]] = {"europe-west1": "bcd", "us-east1": "bcd", "us-central1": "abcf"}

_REGIONS: Final = """
africa-south1
asia-east1 asia-east2 asia-northeast1 asia-northeast2 asia-northeast3 asia-south1 asia-south2
asia-southeast1 asia-southeast2 asia-southeast3
australia-southeast1 australia-southeast2
europe-central2 europe-north1 europe-north2 europe-southwest1 europe-west1 europe-west2 europe-west3 europe-west4
europe-west6 europe-west8 europe-west9 europe-west10 europe-west12
me-central1 me-central2 me-west1
northamerica-northeast1 northamerica-northeast2 northamerica-south1
southamerica-east1 southamerica-west1
us-central1 us-east1 us-east4 us-east5 us-south1 us-west1 us-west2 us-west3 us-west4
"""

REGIONS: Final[Mapping[str, tuple[str, ...]]] = {
    region: tuple(f"{region}-{letter}" for letter in _LETTERS.get(region, "abc")) for region in _REGIONS.split()
}

# GPU → "region:zone letters".
_GPU_ZONES: Final[Mapping[str, str]] = {
    "nvidia-t4": """asia-east1:ac asia-east2:ac asia-northeast1:ac asia-northeast3:bc asia-south1:ab asia-southeast1:abc
        asia-southeast2:ab australia-southeast1:ac europe-central2:bc europe-west1:bcd europe-west2:ab europe-west3:b
        europe-west4:abc me-west1:bc northamerica-northeast1:c southamerica-east1:ac us-central1:abcf us-east1:cd
        us-east4:abc us-west1:ab us-west2:bc us-west3:b us-west4:ab""",
    "nvidia-p4": """asia-southeast1:bc australia-southeast1:ab europe-west4:bc northamerica-northeast1:abc
        us-central1:ac us-east4:abc us-west2:bc""",
    "nvidia-p100": """asia-east1:ac australia-southeast1:b europe-west1:bd europe-west4:a us-central1:cf us-east1:bc
        us-west1:ab""",
    "nvidia-v100": "asia-east1:c europe-west4:abc us-central1:abcf us-east1:c us-west1:ab",
    "nvidia-l4": """asia-east1:abc asia-northeast1:abc asia-northeast3:ab asia-south1:abc asia-southeast1:abc
        europe-west1:bc europe-west2:ab europe-west3:ab europe-west4:abc europe-west6:bc me-central2:ac
        northamerica-northeast1:b northamerica-northeast2:ab us-central1:abc us-east1:bcd us-east4:ac us-west1:abc
        us-west4:ac""",
    "nvidia-a100-40gb": """asia-northeast1:ac asia-northeast3:ab asia-southeast1:bc europe-west4:ab me-west1:ac
        us-central1:abcf us-east1:b us-west1:b us-west3:b us-west4:b""",
    "nvidia-a100-80gb": "asia-southeast1:c europe-west4:a us-central1:ac us-east4:c us-east5:ab",
    "nvidia-h100-80gb": """asia-east1:c asia-northeast1:b asia-northeast3:ac asia-south1:c asia-south2:b
        asia-southeast1:bc australia-southeast1:c europe-north1:c europe-west1:bc europe-west2:b europe-west3:ac
        europe-west4:bc europe-west9:c northamerica-northeast2:c us-central1:abc us-east4:abc us-east5:a us-west1:ab
        us-west4:a""",
    "nvidia-h100-mega-80gb": """asia-east1:c asia-northeast1:b asia-southeast1:bc australia-southeast1:c europe-north1:c
        europe-west1:bc europe-west3:c europe-west4:bc us-central1:abc us-east4:abc us-east5:a us-west1:ab
        us-west4:a""",
    "nvidia-h200-141gb": """asia-south1:b asia-south2:c europe-west1:b europe-west4:a us-central1:b us-east4:b
        us-east5:a us-south1:b us-west1:c""",
    "nvidia-b200": """asia-northeast1:b asia-southeast1:b europe-north1:b europe-west4:b us-central1:b us-east1:b
        us-east4:b us-south1:b us-west2:c us-west3:bc""",
}


def gpu_zones(gpu: str) -> tuple[str, ...] | None:
    """Zones known to have the GPU, sorted; ``None`` where no list was published yet."""
    if gpu not in _GPU_ZONES:
        return None
    entries = (entry.split(":") for entry in _GPU_ZONES[gpu].split())
    return tuple(sorted(f"{region}-{letter}" for region, letters in entries for letter in letters))
