"""Machine types on GKE: beside those with a fixed name (``data/machines.csv``) custom ones, and GPUs attached to N1.

Sources, read 2026-11-20:

- vCPUs and memory: every type with a fixed name agrees with the Compute Engine API's listing of 2026-07-01
  (https://github.com/Cyclenerd/google-cloud-pricing-cost-calculator/blob/master/tools/machinetypes.csv).
  General-purpose families have one ratio of memory to vCPUs; n2-highmem-128 and the c3d-highcpu sizes do not, and
  are left out.
- Bundled local SSD (column ``local_ssds``): ``build/gcp.yml`` of the same project and
  https://cloud.google.com/compute/docs/disks/local-ssd#machine-series-lssd; A3 and A4 with 8 GPUs as
  https://github.com/GoogleCloudPlatform/cluster-toolkit has them. A3 Edge, A3 Ultra and A4 are general knowledge.
- Only spot, only reserved:
  https://cloud.google.com/compute/docs/accelerator-optimized-machines#consumption_option_availability_by_machine_type
  as applied in https://github.com/dstackai/gpuhunt/pull/176 (A3 High below 8 GPUs, A4), and
  https://cloud.google.com/ai-hypercomputer/docs/consumption-models (A3 Ultra, A4: reservation, flex-start or spot).

A machine that Google added since is not known here, never guessed; nor are types with a fraction of a GPU (G4), bare
metal or added local SSD.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final

from facts.catalog.machines import Machines
from facts.catalog.model import Machine
from facts.catalog.tables import rows


@dataclass(frozen=True)
class AttachLimit:
    """The largest N1 machine that takes ``gpus`` GPUs of a type; every smaller one takes them too."""

    gpus: int
    max_vcpus: int
    max_memory_gib: int

    def takes(self, machine: Machine) -> bool:
        """Whether the machine, if it is an N1, takes so many GPUs."""
        return machine.vcpus <= self.max_vcpus and machine.memory_gib <= self.max_memory_gib


N1_LIMITS: Final = {
    gpu: tuple(
        AttachLimit(int(row["gpus"]), int(row["max_vcpus"]), int(row["max_memory_gib"]))
        for row in rows("gke", "attached_gpus")
        if row["gpu"] == gpu
    )
    for gpu in {row["gpu"]: None for row in rows("gke", "attached_gpus")}
}


# Families whose virtual machines take no Persistent Disk:
# https://cloud.google.com/compute/docs/disks/hyperdisks#machine-type-support
_HYPERDISK_ONLY: Final = (
    *("a3-ultragpu-", "a4-", "a4x-", "c4-", "c4a-", "c4d-", "ct6e-", "g4-", "n4-", "n4a-", "n4d-", "tpu7x-"),
)

LOCAL_SSD_GB: Final = 375
"""The size of one local SSD; of A3 Ultra and A4, whose disks are larger, ``local_ssds`` counts as much room."""


def boot_disk(type: str) -> str:
    """The type of boot disk that nodes of the machine type get: balanced, persistent where the machine takes it."""
    return "hyperdisk-balanced" if type.startswith(_HYPERDISK_ONLY) else "pd-balanced"


_CUSTOM: Final = {
    row["family"]: {limit: float(value) for limit, value in row.items() if limit != "family"}
    for row in rows("gke", "custom_types")
}
_CUSTOM_NAME: Final = re.compile(r"(?:(?P<family>e2|n1|n2)-)?custom-(?P<vcpus>\d{1,3})-(?P<mib>\d{3,7})")
_CUSTOM_STEP_MIB: Final = 256


@dataclass(frozen=True, kw_only=True)
class GkeMachines(Machines):
    """Machines with GPUs of their own, N1 machines with GPUs attached, and custom types (``e2-custom-2-10240``)."""

    def get(self, type: str) -> Machine | None:
        """The machine type, custom ones included, or ``None`` if it is not known."""
        return super().get(type) or _custom(type)

    def having(self, gpu: str, count: int) -> tuple[Machine, ...]:
        """Machines with ``count`` GPUs: their own, by size, or N1 with 4 vCPUs a GPU first, then by size."""
        limit = _limit(gpu, count)
        if limit is None:
            return super().having(gpu, count)
        n1 = [m for type in self.types if type.startswith("n1-") and (m := self.get(type)) and limit.takes(m)]
        n1.sort(key=lambda m: (m.type != f"n1-standard-{4 * count}", m.vcpus, m.memory_gib))
        return tuple(replace(m, gpu=gpu, gpus=count) for m in n1)

    def with_gpus(self, type: str, gpu: str, count: int) -> Machine | None:
        """The named machine with ``count`` GPUs, custom N1 machines included; ``None`` if they don't go together."""
        limit, named = _limit(gpu, count), self.get(type)
        if limit is None or named is None or named.gpus:
            return super().with_gpus(type, gpu, count)
        return replace(named, gpu=gpu, gpus=count) if named.family == "n1" and limit.takes(named) else None

    def gpu_counts(self, gpu: str) -> tuple[int, ...]:
        """GPUs per machine that exist, ascending."""
        return tuple(sorted({*super().gpu_counts(gpu), *(limit.gpus for limit in N1_LIMITS.get(gpu, ()))}))


def is_custom(type: str) -> bool:
    """Whether the type is a custom one, which costs more than the same predefined shape."""
    return _CUSTOM_NAME.fullmatch(type) is not None


def _limit(gpu: str, count: int) -> AttachLimit | None:
    return next((limit for limit in N1_LIMITS.get(gpu, ()) if limit.gpus == count), None)


def _custom(type: str) -> Machine | None:
    match = _CUSTOM_NAME.fullmatch(type)
    if match is None:
        return None
    family, vcpus, mib = match["family"] or "n1", int(match["vcpus"]), int(match["mib"])
    rule, gib = _CUSTOM[family], mib / 1024
    step = 2 if vcpus <= rule["even_up_to"] else 4
    countable = vcpus % step == 0 or (vcpus == 1 and rule["one_vcpu"])
    if not 1 <= vcpus <= rule["max_vcpus"] or not countable or mib % _CUSTOM_STEP_MIB:
        return None
    if not vcpus * rule["min_gib"] <= gib <= min(vcpus * rule["max_gib"], rule["max_total_gib"]):
        return None
    return Machine(type=type, family=family, vcpus=vcpus, memory_gib=gib)
