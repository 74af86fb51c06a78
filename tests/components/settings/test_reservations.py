"""Which pools may use one reservation: those of one machine type, GPU and zone, however its name is written."""

from __future__ import annotations

from typing import Any

import pytest

from components.settings import SettingsError
from tests.components.settings.test_clouds import load_stack

OWN = "projects/my-gcp-project/reservations/june"
EKS = "cr-0123456789abcdef0"
AKS = (
    "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/ours/providers/Microsoft.Compute/"
    "capacityReservationGroups/june"
)


def pool(name: str, reservation: str, size: int, zone: str, gpu: str = "nvidia-t4", **more: Any) -> dict[str, Any]:
    reserved = {"capacity": "reserved", "reservation": {"name": reservation, "zone": zone}}
    return {"name": name, "gpu": gpu, "gpusPerNode": size, "maxNodes": 1, **reserved, **more}


def problems(cloud: str, pools: list[dict[str, Any]]) -> list[str]:
    try:
        load_stack(cloud, gpuPools=pools)
    except SettingsError as refused:
        return [f"{each.path}: {each.message}" for each in refused.problems]
    return []


A, B = "us-central1-a", "us-central1-b"
Case = tuple[str, list[dict[str, Any]]]
SHARED: dict[str, Case] = {
    "two entries": ("gke", [pool("a", "june", 1, A), pool("b", "june", 1, A)]),
    "one time-shared": ("gke", [pool("a", "june", 1, A), pool("b", "june", 1, A, timeSharing={"clientsPerGpu": 2})]),
    "two spellings": ("gke", [pool("a", "june", 1, A), pool("b", OWN, 1, A)]),
    "a name in two zones is two reservations": ("gke", [pool("a", "june", 1, A), pool("b", "june", 2, B)]),
    "of two projects": ("gke", [pool("a", "june", 1, A), pool("b", "projects/other/reservations/june", 2, A)]),
    "eks": ("eks", [pool("a", EKS, 1, "us-west-2a"), pool("b", EKS, 1, "us-west-2a")]),
    # A group has a reservation for each size:
    # https://learn.microsoft.com/azure/virtual-machines/capacity-reservation-overview
    "a group on aks": ("aks", [pool("a", AKS, 1, "eastus-1"), pool("b", AKS, 4, "eastus-1")]),
}
REFUSED: dict[str, Case] = {
    "two sizes": ("gke", [pool("a", "june", 1, A), pool("b", "june", 2, A)]),
    "two sizes in two spellings": ("gke", [pool("a", "june", 1, A), pool("b", OWN, 2, A)]),
    "a block of it": ("gke", [pool("a", "june", 1, A), pool("b", f"{OWN}/reservationBlocks/one", 2, A)]),
    "two GPUs of one machine type": ("gke", [pool("a", "june", 1, A), pool("b", "june", 1, A, "nvidia-v100")]),
    "two sizes on eks": ("eks", [pool("a", EKS, 1, "us-west-2a"), pool("b", EKS, 4, "us-west-2a")]),
    "two zones on eks": ("eks", [pool("a", EKS, 1, "us-west-2a"), pool("b", EKS, 1, "us-west-2b")]),
}


@pytest.mark.parametrize("case", SHARED)
def test_pools_of_one_machine_share_a_reservation(case: str) -> None:
    cloud, pools = SHARED[case]
    assert problems(cloud, pools) == []


@pytest.mark.parametrize("case", REFUSED)
def test_a_reservation_holds_machines_of_one_type_in_one_zone(case: str) -> None:
    cloud, pools = REFUSED[case]
    (problem,) = problems(cloud, pools)
    assert problem.startswith("gpuPools[1].reservation: 'a-1' and 'b-")
