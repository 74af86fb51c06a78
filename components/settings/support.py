"""Which clouds can do what a key asks for, found by asking them: the smallest stack with that key, on each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from components import catalog
from components.settings.loading import load
from components.settings.problems import SettingsError

Sections = Mapping[str, Mapping[str, Any]]

_GPU: Final = "nvidia-t4"
_GPU_WITH_PARTITIONS: Final = "nvidia-a100-80gb"

_RESERVATION: Final = "`gpuPools[].reservation`"
# A reservation is known by its name or by an id, and may be in one zone only.
_RESERVATIONS: Final = ("my-reservation", "cr-0123456789abcdef0")

# What is asked for, as the reference shows it → the sections that ask for it (``gpuPools`` is the one pool).
WISHES: Final[Mapping[str, Sections]] = {
    "`network.privateEndpoint: true`": {"network": {"privateEndpoint": True}},
    "`network.nat: single`": {"network": {"nat": "single"}},
    "`network.nat: per-zone`": {"network": {"nat": "per-zone"}},
    "`network.podCidr`": {"network": {"podCidr": "10.64.0.0/14"}},
    "`network.controlPlaneCidr`": {"network": {"controlPlaneCidr": "172.31.0.0/28"}},
    "`autoscaling.expander`": {"autoscaling": {"expander": "least-waste"}},
    "`autoscaling.unneededMinutes`": {"autoscaling": {"unneededMinutes": 5}},
    "`adminPool.capacity: spot`": {"adminPool": {"capacity": "spot"}},
    "`adminPool.maxNodes`": {"adminPool": {"maxNodes": 3}},
    "`gpuPools[].unneededMinutes`": {"gpuPools": {"unneededMinutes": 5}},
    "`gpuPools[].drivers: daemonset`": {"gpuPools": {"drivers": "daemonset"}},
    "`gpuPools[].drivers: none`": {"gpuPools": {"drivers": "none"}},
    "`gpuPools[].driverVersion: latest`": {"gpuPools": {"driverVersion": "latest"}},
    "`gpuPools[].timeSharing`": {"gpuPools": {"timeSharing": {"clientsPerGpu": 4}}},
    "`gpuPools[].mig`": {"gpuPools": {"gpu": _GPU_WITH_PARTITIONS, "mig": "1g"}},
}


@dataclass(frozen=True, kw_only=True)
class Place:
    """A cloud with one of its autoscalers."""

    cloud: str
    autoscaler: str


def places() -> Iterator[Place]:
    """Every cloud with each of its autoscalers, its default first."""
    for cloud in catalog.clouds():
        for autoscaler in catalog.of(cloud).autoscalers():
            yield Place(cloud=cloud, autoscaler=autoscaler)


def answers() -> Iterator[tuple[str, list[bool]]]:
    """Each wish, and for each of the places whether it is fulfilled there."""
    for title, wish in WISHES.items():
        yield title, [can(place, wish) for place in places()]
    yield _RESERVATION, [_reserves(place) for place in places()]


def can(place: Place, wish: Sections) -> bool:
    """Whether a stack with that wish, and nothing else that is special, is accepted there."""
    try:
        _load(place, wish)
    except SettingsError:
        return False
    return True


def _reserves(place: Place) -> bool:
    zones = catalog.gpu_zones(place.cloud, catalog.of(place.cloud).reference_region(), _GPU) or ()
    return any(can(place, {"gpuPools": {"reservation": name, "zones": [*zones[:1]]}}) for name in _RESERVATIONS)


def _load(place: Place, wish: Sections) -> None:
    known = catalog.of(place.cloud)
    region = known.reference_region()
    pool: dict[str, Any] = {"name": "gpu", "gpu": _GPU, "maxNodes": 1, **wish.get("gpuPools", {})}
    config: dict[str, object] = {
        "cloud": place.cloud,
        "region": region,
        "network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]},
        "autoscaling": {"autoscaler": place.autoscaler, **wish.get("autoscaling", {})},
        "adminPool": wish.get("adminPool", {}),
        "gpuPools": [{"gpusPerNode": known.gpu_counts(pool["gpu"])[0], **pool}],
    }
    if "network" in wish:
        # Who may reach a private endpoint is no part of what is asked here.
        config["network"] = {"privateEndpoint": True, **wish["network"]}
    example = known.account_example()
    account = region if example in known.regions() else example
    load(config, stack="example", project=account)
