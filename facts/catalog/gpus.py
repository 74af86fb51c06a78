"""GPUs by their cloud-independent names: memory, and the name that SkyPilot has for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts.catalog import tables
from facts.catalog.model import Gpu

GPUS: Final[Mapping[str, Gpu]] = {
    row["name"]: Gpu(name=row["name"], memory_gib=int(row["memory_gib"]), skypilot=row["skypilot"])
    for row in tables.rows("", "gpus")
}
