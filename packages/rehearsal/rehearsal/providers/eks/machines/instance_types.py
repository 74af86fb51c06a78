"""What EC2 says about an instance type: the project's catalogue first, else moto's copy of EC2's own list."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from facts.catalog.model import Machine
from rehearsal.providers.eks.cloud import Account

# Graviton's letter is behind the generation: m7g, c7gn, im4gn, x2gd, g5g, p6e-gb200. Older: a1.
_ARM: Final = re.compile(r"(a1|[a-z]+\d+(?=[a-z0-9-]*g)[a-z0-9-]*g[a-z0-9-]*)\.")


def instance_type(account: Account, name: str) -> Machine | None:
    """The machine behind a type, ``None`` if EC2 has no such type."""
    machine = account.catalog.machines.get(name)
    if machine is not None:
        return machine
    facts = _facts().get(name)
    if facts is None:
        return None
    gpus, nvidia = facts.get("GpuInfo", {}).get("Gpus", []), nvidia_gpus(facts)
    return Machine(
        type=name,
        family=name.partition(".")[0],
        vcpus=int(facts["VCpuInfo"]["DefaultVCpus"]),
        memory_gib=float(facts["MemoryInfo"]["SizeInMiB"]) / 1024,
        gpu=gpus[0]["Name"].lower() if nvidia else None,
        gpus=nvidia,
    )


def nvidia_gpus(facts: Mapping[str, Any]) -> int:
    """The NVIDIA GPUs of a type, as EC2 describes it."""
    gpus = (facts.get("GpuInfo") or {}).get("Gpus") or ()
    return sum(int(each["Count"]) for each in gpus if str(each["Manufacturer"]).upper() == "NVIDIA")


def neuron_devices(facts: Mapping[str, Any]) -> int:
    """The chips of AWS that a type has, as EC2 describes it."""
    return sum(int(each["Count"]) for each in (facts.get("NeuronInfo") or {}).get("NeuronDevices") or ())


def gpu_resource(name: str) -> str:
    """What pods request to get the GPUs or chips of a type."""
    return "aws.amazon.com/neuron" if neuron_devices(_facts().get(name) or {}) else "nvidia.com/gpu"


def architecture(account: Account, name: str) -> str:
    """``x86_64`` or ``arm64``."""
    facts = _facts().get(name)
    if facts is not None:
        supported = facts.get("ProcessorInfo", {}).get("SupportedArchitectures") or ["x86_64"]
        return "arm64" if "arm64" in supported else "x86_64"
    return "arm64" if _ARM.match(name) else "x86_64"


def offered_in(account: Account, name: str, zone: str) -> bool:
    """Whether a zone has the type. A type that moto's list of the region lacks is taken to be everywhere."""
    zones = _offerings(account.region).get(name)
    return zones is None or zone in zones


def _facts() -> dict[str, Any]:
    from moto.ec2.models.instance_types import INSTANCE_TYPES

    return INSTANCE_TYPES


@lru_cache(maxsize=8)
def _offerings(region: str) -> dict[str, frozenset[str]]:
    from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS

    zones_by_type: dict[str, set[str]] = {}
    for offer in INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, []):
        zones_by_type.setdefault(offer["InstanceType"], set()).add(offer["Location"])
    return {name: frozenset(zones) for name, zones in zones_by_type.items()}
