"""An instance of Filestore in the cluster's network: encrypted, as all are, and reached from that network alone.

https://cloud.google.com/filestore/docs/overview, https://cloud.google.com/filestore/docs/cmek (encryption at rest)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from components.clouds.base import Share
from components.clouds.declare import gke as declare
from components.clouds.deployed import Deployed
from components.clouds.gke.context import Context
from components.clouds.retained import retained
from components.settings.sections.workloads import SharedVolume
from facts.catalog.gke.cloud import CATALOG

_INSTANCE: Final = "gcp:filestore/instance:Instance"
DRIVER: Final = "filestore.csi.storage.gke.io"
_SHARE: Final = "shared"
# The cheapest by far; a zonal one, near the pools of the first zone: https://cloud.google.com/filestore/docs/service-tiers
_TIER: Final = "BASIC_HDD"


def running_shares(deployed: Deployed) -> list[Mapping[str, Any]]:
    """The instances of the stack's shared volume, and none that a program has beside the cluster."""
    names = deployed.names(_INSTANCE, "gpucluster:index:SharedVolume")
    return [deployed.outputs(_INSTANCE, name) for name in sorted(names)]


def size_of(setting: SharedVolume) -> int:
    """GiB of the instance; by default the least that Google sells."""
    assert CATALOG.choices.volume_gib is not None
    return setting.size_gib or CATALOG.choices.volume_gib[0]


def share(context: Context, name: str, setting: SharedVolume, parent: pulumi.Resource) -> Share:
    """The instance, in the first zone; one that is there stays in its zone, as another would be empty.

    How GKE's driver names one that is there: https://github.com/kubernetes-sigs/gcp-filestore-csi-driver/blob/master/docs/kubernetes/pre-provisioned-pv.md
    """
    settings = context.settings
    there = str(context.deployed.outputs(_INSTANCE, name).get("location", ""))
    zone = there if there.rpartition("-")[0] == settings.region else settings.zones[0]
    instance_name, size = f"{settings.cluster_name}-{_SHARE}", size_of(setting)
    instance = declare(
        _INSTANCE,
        name,
        {
            "project": settings.project,
            "name": instance_name,
            "location": zone,
            "tier": _TIER,
            "fileShares": {"name": _SHARE, "capacityGb": size},
            "networks": [
                {"network": settings.cluster_name, "modes": ["MODE_IPV4"], "connectMode": "DIRECT_PEERING"},
            ],
            "labels": dict(settings.labels),
        },
        # The control plane comes after the network, which the instance only names.
        retained(
            setting,
            f"projects/{settings.project}/locations/{zone}/instances/{instance_name}",
            parent,
            *context.made,
        ),
    )
    address = instance.outputs["networks"].apply(lambda networks: networks[0]["ipAddresses"][0])
    return Share(
        driver=DRIVER,
        handle=pulumi.Output.concat("modeInstance/", zone, "/", instance.outputs["name"], "/", _SHARE),
        attributes={"ip": address, "volume": _SHARE},
        size_gib=size,
        ready=[instance],
    )
