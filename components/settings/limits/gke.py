"""What GKE cannot do although the settings can say it. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from components.settings.limits import common
from components.settings.problems import Problem
from components.settings.settings import Settings
from concepts.pool import Pool

_KMS_KEYS: Final = common.KmsKeys(
    cloud="GKE",
    written=re.compile(r"projects/[^/]+/locations/(?P<region>[^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+"),
    is_not="the full name of a Cloud KMS key",
    remedy="Write projects/<project>/locations/{region}/keyRings/<ring>/cryptoKeys/<key>",
    elsewhere="Use a key of a key ring in {region}",
)

# https://registry.terraform.io/providers/hashicorp/google/latest/docs/resources/container_cluster#master_ipv4_cidr_block
_CONTROL_PLANE_PREFIX: Final = 28

# GKE sets these from what the pool is. The API's description of ``NodeConfig.labels`` (container.v1beta1's discovery
# document) calls a conflict with such a key unpredictable. Other keys with this prefix are for users to set.
_OWN_LABELS: Final = frozenset(
    f"cloud.google.com/{name}"
    for name in (
        "gke-accelerator",
        "gke-accelerator-count",
        "gke-boot-disk",
        "gke-container-runtime",
        "gke-gpu-driver-version",
        "gke-gpu-sharing-strategy",
        "gke-max-shared-clients-per-gpu",
        "gke-nodepool",
        "gke-os-distribution",
        "gke-preemptible",
        "gke-provisioning",
        "gke-spot",
        "machine-family",
    )
)


def refusals(settings: Settings) -> list[Problem]:
    """All of them, each once; none for settings that GKE can fulfil."""
    found = (
        *_drivers(settings),
        *_partitions(settings),
        *_labels(settings),
        *common.kms_key_problems(settings, _KMS_KEYS),
        *_control_plane(settings),
        *_nat(settings),
        *_autoscaling(settings),
    )
    # A pool of several sizes or with a fallback is several specs with the same problem.
    return list(dict.fromkeys(found))


def _drivers(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        if pool.image == "ubuntu" and pool.gpus.driver_version == "latest":
            yield Problem(
                f"{pool.declared_at}.driverVersion",
                "GKE installs the latest driver on Container-Optimized OS only",
                "Write driverVersion: default, or image: cos",
            )


def _partitions(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        if pool.gpus.mig is not None:
            yield Problem(
                f"{pool.declared_at}.mig",
                "GKE names a partition by its memory too, which this program does not derive from the slice",
                "Leave it out, or let several pods share a GPU: timeSharing: {clientsPerGpu: 2}",
            )


def _labels(settings: Settings) -> Iterator[Problem]:
    pools: list[Pool] = [*settings.gpu_pools, *settings.cpu_pools]
    for pool in pools:
        for key in sorted(_OWN_LABELS & pool.labels.keys()):
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                "GKE sets this label itself, from what the pool is",
                f"Leave it out, or use a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
            )


def _control_plane(settings: Settings) -> Iterator[Problem]:
    cidr = settings.network.control_plane_cidr
    if cidr is not None and ip_network(cidr).prefixlen != _CONTROL_PLANE_PREFIX:
        yield Problem(
            "network.controlPlaneCidr",
            f"{cidr} has prefix /{ip_network(cidr).prefixlen}, and GKE wants exactly /{_CONTROL_PLANE_PREFIX}",
            f"Write a range with prefix /{_CONTROL_PLANE_PREFIX}, or leave it out and GKE chooses",
        )


def _nat(settings: Settings) -> Iterator[Problem]:
    # https://cloud.google.com/nat/docs/overview
    if settings.network.nat is not None:
        yield Problem(
            "network.nat",
            "Cloud NAT is one gateway for all zones of a region and no machine in any of them, so there is no choice",
            "Leave it out",
        )


def _autoscaling(settings: Settings) -> Iterator[Problem]:
    """GKE's autoscaler has profiles; how it chooses a pool and how long it waits is Google's.

    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#autoscaling_profiles
    """
    if settings.expander is not None:
        yield Problem("autoscaling.expander", "GKE's autoscaler chooses the least expensive pool", "Leave it out")
    pools: list[Pool] = [*settings.gpu_pools, *settings.cpu_pools]
    waiting = [
        ("autoscaling", settings.unneeded_minutes),
        *((pool.declared_at, pool.unneeded_minutes) for pool in pools),
    ]
    for path, minutes in waiting:
        if minutes is not None:
            yield Problem(
                f"{path}.unneededMinutes",
                "GKE's autoscaler has profiles and no time of its own for them",
                "Leave it out; autoscaling.profile says how eagerly idle nodes go",
            )
