"""What GKE cannot do although the settings can say it. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from components.settings import Problem, Settings

_KMS_KEY: Final = re.compile(r"projects/[^/]+/locations/(?P<location>[^/]+)/keyRings/[^/]+/cryptoKeys/[^/]+")

# https://cloud.google.com/kubernetes-engine/docs/how-to/legacy/network-isolation#create_a_private_cluster
_CONTROL_PLANE_PREFIX: Final = 28


def refusals(settings: Settings) -> list[Problem]:
    """All of them; none for settings that GKE can fulfil."""
    return [*_drivers(settings), *_kms_key(settings), *_control_plane(settings)]


def _drivers(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pool_specs:
        if pool.image == "ubuntu" and pool.driver_version == "latest":
            yield Problem(
                f"{pool.declared_at}.driverVersion",
                "GKE installs the latest driver on Container-Optimized OS only",
                "Write driverVersion: default, or image: cos",
            )


def _kms_key(settings: Settings) -> Iterator[Problem]:
    key = settings.security.kms_key
    if key is None:
        return
    match = _KMS_KEY.fullmatch(key)
    if match is None:
        yield Problem(
            "security.kmsKey",
            f"'{key}' is not the full name of a Cloud KMS key",
            f"Write projects/<project>/locations/{settings.region}/keyRings/<ring>/cryptoKeys/<key>",
        )
    elif match["location"] != settings.region:
        yield Problem(
            "security.kmsKey",
            f"the key is in {match['location']}, and GKE wants it where the cluster is, in {settings.region}",
            f"Use a key of a key ring in {settings.region}",
        )


def _control_plane(settings: Settings) -> Iterator[Problem]:
    cidr = settings.network.control_plane_cidr
    if cidr is not None and ip_network(cidr).prefixlen != _CONTROL_PLANE_PREFIX:
        yield Problem(
            "network.controlPlaneCidr",
            f"{cidr} has prefix /{ip_network(cidr).prefixlen}, and GKE wants exactly /{_CONTROL_PLANE_PREFIX}",
            f"Write a range with prefix /{_CONTROL_PLANE_PREFIX}, or leave it out and GKE chooses",
        )
