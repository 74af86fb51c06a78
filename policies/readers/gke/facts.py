"""What no resource of Google's carries, from the catalogue: the GPUs of a machine type, and prices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from facts import catalog
from facts.catalog.gpu_machines import most_gpus
from facts.catalog.model import Price
from facts.concepts.parts import Gpus
from facts.concepts.unknown import UNKNOWN, Maybe, at, coalesce, items, text, whole

CLOUD: Final = "gke"
# https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/NodeConfig: diskSizeGb
_DEFAULT_DISK_GB: Final = 100

# Machine families whose machines bring their GPUs: https://cloud.google.com/compute/docs/gpus
_GPU_FAMILY: Final = re.compile(r"^(a[2-9]x?|g[2-9])-")
# All other families, TPUs among them: https://cloud.google.com/compute/docs/machine-resource
_OTHER_FAMILY: Final = re.compile(r"^(?:(?:[cehmntxz]\d+[a-z]?|f1|g1|ct\w+|tpu\w+|custom)-|custom$)")
_GPUS_IN_NAME: Final = re.compile(r"gpu-(\d+)g")


def whole_machine_gpus(machine_type: Maybe[str | None]) -> Maybe[int]:
    """GPUs that are part of the machine type; 0 for types without.

    An unlisted type is never treated as a CPU machine: a type of a GPU family has the number of GPUs in its name, else
    as many as the largest of its family or, of a new one, of all families; one of an unknown family is ``UNKNOWN``.
    """
    if machine_type is UNKNOWN:
        return UNKNOWN
    if not machine_type:
        return 0
    machine_type = machine_type.rpartition("/")[2]  # the API takes a link, too
    if known := catalog.of(CLOUD).machines.get(machine_type):
        return known.gpus
    if not _GPU_FAMILY.match(machine_type):
        return 0 if _OTHER_FAMILY.match(machine_type) else UNKNOWN
    named = _GPUS_IN_NAME.search(machine_type)
    family = machine_type.partition("-")[0]
    return int(named.group(1)) if named else most_gpus(CLOUD, lambda name: name.partition("-")[0] == family)


_WITH_MORE_MEMORY: Final = 4


def partitions(accelerator: Maybe[str | None], size: Maybe[str | None]) -> int:
    """How many partitions of this ``size`` one GPU has; 1 for a GPU without, or where either is not known.

    Partitions with one compute slice and twice the memory (``1g.20gb`` of 80) are as many as the memory suffices for:
    https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-mig-profiles.html
    """
    for gpu, known in catalog.of(CLOUD).machines.accelerators.items():
        if known.name == accelerator and isinstance(size, str):
            compute = size.partition(".")[0]
            if known.partitions.get(compute) == size:
                return Gpus(type=gpu, mig=compute).shares
            return _WITH_MORE_MEMORY if re.fullmatch(r"1g\.\d+gb", size) else 1
    return 1


def chip_of(machine_type: Maybe[str | None]) -> str | None:
    """The catalogue's name of the machine type's TPUs; ``None`` for a machine that it lists without any."""
    name = machine_type.rpartition("/")[2] if isinstance(machine_type, str) else ""
    return known.gpu if (known := catalog.of(CLOUD).machines.get(name)) and _topologies(name) else None


def chip_labels(machine_type: Any, chip: str, declared: Maybe[str | None]) -> Mapping[str, Maybe[str]]:
    """GKE's labels of nodes with the chip, and the pool's topology: the declared one, or that of a node by itself."""
    topology = next(iter(_topologies(machine_type.rpartition("/")[2]))) if declared is None else declared
    return catalog.of(CLOUD).labels.of_chips(catalog.of(CLOUD).machines.accelerators[chip].name, topology)


def _topologies(machine_type: str) -> Mapping[str, int]:
    return catalog.of(CLOUD).machines.topologies(machine_type)


def node_price(config: Any, region: Maybe[str | None], spot: Maybe[bool]) -> Price | None:
    """The list price of one node (machine, GPUs, boot disk), or its upper limit; ``None`` where neither is known."""
    machine = text(at(config, "machineType"))
    if not isinstance(machine, str):
        return None
    cloud = catalog.of(CLOUD)
    accelerators = items(at(config, "guestAccelerators"))
    if len(accelerators) > 1:
        return None  # no machine takes two kinds
    accelerator = next(iter(accelerators), None)
    kind, count = text(at(accelerator, "type")), whole(at(accelerator, "count"), default=0)
    gpu = next((known.gpu for known in cloud.machines.accelerators.values() if known.name == kind), None)
    if kind is UNKNOWN or not isinstance(count, int) or (kind is not None and gpu is None):
        return None
    known = cloud.machines.with_gpus(machine, gpu, count) if gpu else cloud.machines.sized(machine)
    size = whole(coalesce(at(config, "bootDisk", "sizeGb"), at(config, "diskSizeGb")), default=_DEFAULT_DISK_GB)
    return (
        None
        if known is None or not isinstance(size, int)
        else cloud.prices.node(region if isinstance(region, str) else None, known, size, spot=spot is True)
    )
