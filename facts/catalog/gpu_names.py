"""How the field spells GPUs where no table of ours lists them: machine types, accelerators, labels of nodes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from facts.catalog.tables import rows

MACHINE: Final = re.compile(
    rf"(?<![\w.-])(?:{'|'.join(row['pattern'] for row in rows('', 'machine_names'))})(?![\w.])", re.IGNORECASE
)
"""A machine type with NVIDIA GPUs, anywhere in a text."""
ACCELERATOR: Final = re.compile(r"(?<![\w/.-])nvidia-(?:tesla-)?[a-z]{0,3}\d{1,4}[\w-]*", re.IGNORECASE)
"""A type of attached accelerator: https://cloud.google.com/compute/docs/gpus."""
MODEL: Final = re.compile(
    r"(?<![a-z0-9])(?:\d+x)?(?:gpu)?(?:g?[abh][1-3]00|l4|l40s?|a10g?|a16|a[34]0|t4|v100|p100|rtx[\w-]*)(?:ib)?(?![a-z0-9])",
    re.IGNORECASE,
)
"""A GPU model in the size of a machine, as clouds spell it that no table of ours lists: ``vcg-a100-1c-6g-4vram``,
``gpua30.medium``, ``l40s-90``, ``gd-8xh100ib-i128``, ``H100-1-80G``. Elsewhere in a text such a word may mean
anything."""

# Labels of clouds, of Karpenter and of NVIDIA's detectors, and values by which they say that there are none.
_LABEL: Final = re.compile(
    r"(?:.*/)?(?:(?:gke-)?accelerator|gke-gpu|(?:instance|sku)-gpu-[\w-]+|gpu|pci-10de\.present)|nvidia\.com/.+"
)
_NO_GPUS: Final = re.compile(r"false|0|no|none|cpu|amd|habana|inferentia|trainium|tpu.*", re.IGNORECASE)
# Labels that say which machine it is, and the rest of a machine's name behind their values.
_MACHINE_LABELS: Final = {
    "instance-type": "",
    "sku-name": "",
    "instance-family": ".xlarge",
    "instance-category": "5.xlarge",
    "machine-family": "-standard-4",
}


def only_gpu_nodes(label: str, values: Sequence[str]) -> bool:
    """Whether every node with the ``label``, of one of the ``values`` (none: of any), has NVIDIA GPUs."""
    suffix = _MACHINE_LABELS.get(label.rpartition("/")[2])
    if suffix is not None:
        return bool(values) and all(MACHINE.fullmatch(value + suffix) for value in values)
    return _LABEL.fullmatch(label) is not None and not any(_NO_GPUS.fullmatch(value) for value in values)
