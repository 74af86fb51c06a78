"""``gcloud container clusters describe NAME --location L --format json``: the API's ``Cluster``.

https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from components.settings.moving_in.answer import Answer, Notes, OldCluster, OldPool, control_plane_access, taints
from facts import catalog

COMMANDS: Final = "gcloud container clusters describe NAME --location LOCATION --format json > cluster.json"

_PARTITIONS: Final = {each.name: each.partitions for each in catalog.of("gke").accelerators.values()}
_SHARING: Final = {"TIME_SHARING": "timeSharing", "MPS": "mps"}


def clusters(answers: Sequence[Answer]) -> list[Answer]:
    """The answers that are clusters of GKE."""
    return [each for each in answers if "nodePools" in each.content and "selfLink" in each.content]


def read(cluster: Answer, _: Sequence[Answer]) -> OldCluster:
    """The cluster of an answer."""
    notes = Notes(list)
    location = cluster.get("location")
    after = str(cluster.get("selfLink")).partition("/projects/")[2]
    zonal = location.count("-") == 2
    zones = [location] * zonal + [zone for zone in cluster.get("locations", ()) if zone != location]
    channel = str(cluster.get("releaseChannel.channel", "UNSPECIFIED")).lower()
    if channel == "unspecified":
        notes["kubernetes"] = ["the old cluster is in no release channel; the new one is in regular"]
    if cluster.get("autopilot.enabled"):
        notes["cloud"] = ["the old cluster is an Autopilot cluster; the new one has the pools below"]
    profile = "balanced" if cluster.get("autoscaling.autoscalingProfile") == "BALANCED" else None
    keys: dict[str, Any] = {
        "region": location.rpartition("-")[0] if zonal else location,
        "zones": zones,
        "availability": "zonal" if zonal else "regional",
        "kubernetes": {"channel": None if channel == "unspecified" else channel},
        "network": _network(cluster, notes),
        "security": {"kmsKey": cluster.get("databaseEncryption.keyName")},
        "autoscaling": {"profile": profile},
        "labels": cluster.get("resourceLabels"),
    }
    pools = [_pool(each, zones, notes) for each in cluster.each("nodePools")]
    account = after.split("/")[0]
    return OldCluster(cloud="gke", account=account, keys=keys, pools=pools, notes=notes, answers=[cluster])


def _network(cluster: Answer, notes: Notes) -> dict[str, Any]:
    """The subnet is the old cluster's; ranges that GKE created for that cluster are not for another."""
    ranges = {
        "podRange": cluster.get("ipAllocationPolicy.clusterSecondaryRangeName", "gke-pods"),
        "serviceRange": cluster.get("ipAllocationPolicy.servicesSecondaryRangeName", "gke-services"),
    }
    for key, name in ranges.items():
        if name.startswith("gke-"):  # or in no range of the subnet, but in one that GKE manages
            notes["network"].append(
                f"existing.{key}: the old range belongs to the old cluster; write another secondary range of the subnet"
            )
    if not (
        cluster.get("networkConfig.defaultEnablePrivateNodes") or cluster.get("privateClusterConfig.enablePrivateNodes")
    ):
        notes["network"].append("nodes have no external addresses here: the subnet needs Cloud NAT")
    ip, dns = "controlPlaneEndpointsConfig.ipEndpointsConfig", "controlPlaneEndpointsConfig.dnsEndpointConfig"
    blocks = cluster.get("masterAuthorizedNetworksConfig.cidrBlocks") or cluster.get(
        f"{ip}.authorizedNetworksConfig.cidrBlocks", ()
    )
    allowed = {each.get("displayName") or each["cidrBlock"]: each["cidrBlock"] for each in blocks}
    private = (
        cluster.get("privateClusterConfig.enablePrivateEndpoint") or cluster.get(f"{ip}.enablePublicEndpoint") is False
    )
    legacy = cluster.get("networkConfig.datapathProvider") != "ADVANCED_DATAPATH"
    return {
        "existing": {
            "network": cluster.get("networkConfig.network", cluster.get("network")),
            "subnets": [cluster.get("networkConfig.subnetwork", cluster.get("subnetwork")).rpartition("/")[2]],
            **ranges,
        },
        **control_plane_access(allowed, private=bool(private), notes=notes),
        "dnsEndpoint": cluster.get(f"{dns}.allowExternalTraffic") or None,
        "dataplane": "legacy" if legacy else None,
    }


def _pool(pool: Answer, zones: Sequence[str], notes: Notes) -> OldPool:
    """Limits are per zone unless they are total; a pool without an autoscaler has its initial size."""
    name, own = pool.get("name"), pool.get("locations", zones)
    size, gpu_notes = pool.get("initialNodeCount", 0), notes["gpuPools"]
    least, most = (
        pool.get(f"autoscaling.total{kind}NodeCount") or pool.get(f"autoscaling.{kind.lower()}NodeCount", 0) * len(own)
        for kind in ("Min", "Max")
    )
    if not pool.get("autoscaling.enabled"):
        least = most = size * len(own)
    accelerator, *others = pool.get("config.accelerators", [{}]) or [{}]
    if others:
        gpu_notes.append(f"{name}: a second kind of GPU left out: {others}")
    partition, mig = str(accelerator.get("gpuPartitionSize", "")), None
    if partition:
        mig, sizes = partition.partition(".")[0], _PARTITIONS.get(accelerator["acceleratorType"], {})
        if sizes.get(mig, partition) != partition:
            gpu_notes.append(f"{name}: partitions of {partition} become {sizes[mig]}, with less memory")
    sharing = accelerator.get("gpuSharingConfig", {})
    installed = accelerator.get("gpuDriverInstallationConfig", {})
    driver = installed.get("gpuDriverVersion")
    if driver == "SPECIFIC":
        gpu_notes.append(f"{name}: driver {installed['specificVersion']} becomes the default one")
    if driver == "INSTALLATION_DISABLED":
        gpu_notes.append(f"{name}: drivers: none installs no driver either; see drivers: daemonset")
    keys: dict[str, Any] = {
        "driverVersion": "latest" if driver == "LATEST" else None,
        "drivers": "none" if driver == "INSTALLATION_DISABLED" else None,
        "locationPolicy": str(pool.get("autoscaling.locationPolicy", "")).lower() if accelerator else None,
        "mig": mig,
        "topology": pool.get("placementPolicy.tpuTopology") or None,
    }
    if sharing:
        key = _SHARING.get(sharing.get("gpuSharingStrategy"), "timeSharing")
        keys[key] = {"clientsPerGpu": int(sharing["maxSharedClientsPerGpu"])}
    if pool.get("config.reservationAffinity.consumeReservationType") == "SPECIFIC_RESERVATION":
        gpu_notes.append(f"{name}: add its reservation: {pool.get('config.reservationAffinity.values')}")
    return OldPool(
        name=name,
        machines=[pool.get("config.machineType")],
        spot=bool(pool.get("config.spot") or pool.get("config.preemptible")),
        min_nodes=least,
        max_nodes=most,
        zones=own if [*own] != [*zones] else (),
        labels=pool.get("config.labels", {}),
        taints=taints(pool.get("config.taints", ())),
        disk_gb=pool.get("config.diskSizeGb"),
        gpu=accelerator.get("acceleratorType"),
        gpus=int(accelerator.get("acceleratorCount", 0)),
        keys=keys,
    )
