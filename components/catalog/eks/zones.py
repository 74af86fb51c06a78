"""Regions, their zones, and the zones that have each GPU.

Regions and zones: https://github.com/getmoto/moto/blob/5.2.5/moto/ec2/models/availability_zones_and_regions.py, without
the partitions of China and of the US government, which are other clouds to an account. A control plane takes no subnet
in the zones use1-az3, usw1-az2 and cac1-az3 (https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html); of
these us-east-1e is listed there, and left out here.

GPU zones: Amazon's ``DescribeInstanceTypeOfferings`` per zone as kept in
https://github.com/getmoto/moto/tree/5.2.5/moto/ec2/resources/instance_type_offerings; a GPU is in a zone if any machine
with it is. In older regions each account has its own order of zone letters
(https://docs.aws.amazon.com/ram/latest/userguide/working-with-az-ids.html), so another account may find a GPU
under another letter: settings let a pool name its own zones. Not known: the regions that the listing lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

GPU_ZONES_DATED: Final = "2026"

_LETTERS: Final[Mapping[str, str]] = {
    "ap-northeast-1": "acd",
    "ap-northeast-2": "abcd",
    "ca-central-1": "abd",
    "us-east-1": "abcdf",
    "us-west-1": "ab",
    "us-west-2": "abcd",
}

_REGIONS: Final = """
af-south-1
ap-east-1 ap-east-2 ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2
ap-southeast-1 ap-southeast-2 ap-southeast-3 ap-southeast-4 ap-southeast-5 ap-southeast-6 ap-southeast-7
ca-central-1 ca-west-1
eu-central-1 eu-central-2 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-2 eu-west-3
il-central-1 me-central-1 me-south-1 mx-central-1
sa-east-1
us-east-1 us-east-2 us-west-1 us-west-2
"""

REGIONS: Final[Mapping[str, tuple[str, ...]]] = {
    region: tuple(f"{region}{letter}" for letter in _LETTERS.get(region, "abc")) for region in _REGIONS.split()
}

# GPU → "region:zone letters".
_GPU_ZONES: Final[Mapping[str, str]] = {
    "nvidia-t4": """af-south-1:bc ap-east-1:abc ap-northeast-1:acd ap-northeast-2:abc ap-northeast-3:bc ap-south-1:abc
        ap-southeast-1:abc ap-southeast-2:abc ca-central-1:ab eu-central-1:abc eu-north-1:abc eu-south-1:bc
        eu-west-1:abc eu-west-2:abc eu-west-3:abc me-south-1:bc sa-east-1:abc us-east-1:abcdf us-east-2:abc
        us-west-1:ab us-west-2:abc""",
    "nvidia-a10g": """ap-east-1:ab ap-northeast-1:ac ap-northeast-2:acd ap-south-1:ab ap-southeast-2:bc
        ap-southeast-3:ac ca-central-1:ab eu-central-1:abc eu-north-1:bc eu-south-2:abc eu-west-1:abc eu-west-2:ab
        eu-west-3:abc il-central-1:abc me-central-1:ab sa-east-1:ab us-east-1:abcdf us-east-2:abc us-west-2:abc""",
    "nvidia-l4": """ap-northeast-1:ac ap-northeast-2:acd ap-south-1:ab ap-south-2:ab ap-southeast-2:abc
        ap-southeast-5:ab ca-central-1:abd eu-central-1:abc eu-central-2:bc eu-north-1:ab eu-south-2:abc eu-west-2:abc
        eu-west-3:bc me-central-1:ab sa-east-1:ab us-east-1:abcdf us-east-2:abc us-west-2:abcd""",
    "nvidia-l40s": """ap-northeast-1:ac ap-northeast-2:ab ap-northeast-3:bc ap-south-1:ab ap-south-2:ab
        eu-central-1:abc eu-north-1:ab eu-south-2:bc me-central-1:ab us-east-1:abcd us-east-2:abc us-west-2:abcd""",
    "nvidia-rtx-pro-4500": "eu-central-1:ac eu-north-1:ab eu-south-2:ab us-east-1:abcd us-east-2:abc us-west-2:abcd",
    "nvidia-rtx-pro-6000": """ap-northeast-1:ac ap-northeast-2:ab ap-south-1:ab ap-southeast-3:b eu-central-1:ab
        eu-north-1:ac eu-south-2:ab eu-west-2:ac us-east-1:ac us-east-2:abc us-west-2:abcd""",
    "nvidia-v100-32gb": "ap-northeast-1:a eu-west-1:bc us-east-1:cd us-west-2:bc",
    "nvidia-a100-40gb": """ap-northeast-1:ac ap-northeast-2:bd ap-south-1:abc ap-southeast-2:bc ca-central-1:ab
        eu-central-1:abc eu-north-1:c eu-west-1:c eu-west-2:ab sa-east-1:ac us-east-1:abcd us-east-2:abc
        us-west-2:abcd""",
    "nvidia-a100-80gb": """ap-northeast-1:ac ap-southeast-1:bc eu-central-1:ac il-central-1:abc us-east-1:bc
        us-west-2:abc""",
    "nvidia-h100-80gb": """ap-northeast-1:ac ap-northeast-2:a ap-south-1:abc ap-southeast-2:abc ap-southeast-3:a
        ca-central-1:d eu-north-1:abc eu-west-2:abc sa-east-1:c us-east-1:abcdf us-east-2:abc us-west-1:ab
        us-west-2:abcd""",
    "nvidia-h200-141gb": """ap-northeast-1:a ap-northeast-2:a ap-south-1:ab ap-southeast-2:a ap-southeast-3:abc
        eu-north-1:ac eu-south-2:ab eu-west-2:a me-central-1:ac sa-east-1:bc us-east-1:ac us-east-2:abc us-west-1:b
        us-west-2:acd""",
    "nvidia-b200": """ap-south-1:c ap-south-2:b eu-north-1:b eu-west-3:a us-east-1:c us-east-2:abc us-west-2:abd""",
    "nvidia-b300": """ap-northeast-2:c ap-south-2:ac ap-southeast-3:abc sa-east-1:bc us-east-1:ac us-west-2:ab""",
}


def gpu_zones(gpu: str) -> tuple[str, ...] | None:
    """Zones known to have the GPU, sorted; ``None`` where no list is known."""
    if gpu not in _GPU_ZONES:
        return None
    entries = (entry.split(":") for entry in _GPU_ZONES[gpu].split())
    return tuple(sorted(f"{region}{letter}" for region, letters in entries for letter in letters))
