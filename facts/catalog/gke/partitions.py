"""How GKE calls the partitions of a GPU (MIG): by compute slice and memory.

https://cloud.google.com/kubernetes-engine/docs/how-to/gpus-multi lists them; of two sizes with one slice this is the
smaller, of which a GPU has the more.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

PARTITIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "nvidia-a100-40gb": {"1g": "1g.5gb", "2g": "2g.10gb", "3g": "3g.20gb", "7g": "7g.40gb"},
    "nvidia-a100-80gb": {"1g": "1g.10gb", "2g": "2g.20gb", "3g": "3g.40gb", "7g": "7g.80gb"},
    "nvidia-h100-80gb": {"1g": "1g.10gb", "2g": "2g.20gb", "3g": "3g.40gb", "7g": "7g.80gb"},
    "nvidia-h100-mega-80gb": {"1g": "1g.10gb", "2g": "2g.20gb", "3g": "3g.40gb", "7g": "7g.80gb"},
    "nvidia-h200-141gb": {"1g": "1g.18gb", "2g": "2g.35gb", "3g": "3g.71gb", "7g": "7g.141gb"},
    "nvidia-b200": {"1g": "1g.23gb", "2g": "2g.45gb", "3g": "3g.90gb", "7g": "7g.180gb"},
}
"""GPU → compute slice → the partition's size."""
