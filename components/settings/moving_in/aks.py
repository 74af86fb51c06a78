"""``az aks show --resource-group GROUP --name NAME``: the API's ``ManagedCluster`` with the properties at its top.

https://learn.microsoft.com/rest/api/aks/managed-clusters/get
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from components.settings.moving_in.answer import Answer, Notes, OldCluster, OldPool, control_plane_access

COMMANDS: Final = "az aks show --resource-group GROUP --name NAME > cluster.json"

_TAINT: Final = re.compile(r"(?P<key>[^=:]+)(?:=(?P<value>[^:]*))?:(?P<effect>.+)")
_CHANNELS: Final = ("rapid", "stable")
_OWN_DOMAIN: Final = "kubernetes.azure.com/"


def clusters(answers: Sequence[Answer]) -> list[Answer]:
    """The answers that are clusters of AKS."""
    return [each for each in answers if "agentPoolProfiles" in each.content]


def read(cluster: Answer, _: Sequence[Answer]) -> OldCluster:
    """The cluster of an answer."""
    notes = Notes(list)
    region, profiles = cluster.get("location"), cluster.each("agentPoolProfiles")
    numbers = sorted({zone for each in profiles for zone in each.get("availabilityZones", ())})
    zones = [f"{region}-{number}" for number in numbers]
    channel = cluster.get("autoUpgradeProfile.upgradeChannel")
    if channel not in (None, "none", *_CHANNELS):
        notes["kubernetes"] = [f"the upgrade channel {channel} of the old cluster became regular"]
    version = ".".join(str(cluster.get("kubernetesVersion")).split(".")[:2])
    pools = [_pool(each, region, numbers, notes) for each in profiles]
    keys: dict[str, Any] = {
        "region": region,
        "zones": zones or "none",
        "availability": "regional" if len(zones) > 1 else "zonal",
        "kubernetes": {"version": version, "channel": channel if channel in _CHANNELS else None},
        "network": _network(cluster, profiles, notes),
        "tags": cluster.get("tags"),
    }
    account = str(cluster.get("id")).split("/")[2]
    return OldCluster(cloud="aks", account=account, keys=keys, pools=pools, notes=notes, answers=[cluster])


def _network(cluster: Answer, profiles: Sequence[Answer], notes: Notes) -> dict[str, Any]:
    """The network of the first pool, unless AKS made it: that one ends with the old cluster."""
    subnets = list(dict.fromkeys(each.get("vnetSubnetId") for each in profiles if each.get("vnetSubnetId")))
    about = notes["network"]
    if not subnets:
        about.append("AKS created the old cluster's network and deletes it with the cluster; this stack makes its own")
    if len(subnets) > 1:
        about.append(f"existing.subnets: all pools use one subnet here; left out: {', '.join(subnets[1:])}")
    network, _, subnet = subnets[0].partition("/subnets/") if subnets else ("", "", "")
    private = bool(cluster.get("apiServerAccessProfile.enablePrivateCluster"))
    zone = cluster.get("apiServerAccessProfile.privateDnsZone")
    dns_zone = zone if private and zone != "system" else None
    ranges_of_api = cluster.get("apiServerAccessProfile.authorizedIpRanges", ())
    allowed = {each: each if "/" in each else f"{each}/32" for each in ranges_of_api}
    overlay = cluster.get("networkProfile.networkPluginMode") == "overlay"
    if (plugin := cluster.get("networkProfile.networkPlugin")) and not overlay:
        about.append(f"the old cluster's network plugin is {plugin} without overlay; here pods have an overlay network")
    dataplane = cluster.get("networkProfile.networkDataplane")
    return {
        "existing": {"network": network, "subnets": [subnet], "privateDnsZone": dns_zone} if subnets else None,
        **control_plane_access(allowed, private=private, notes=notes),
        "podCidr": cluster.get("networkProfile.podCidr") if overlay else None,
        "serviceCidr": cluster.get("networkProfile.serviceCidr"),
        "dataplane": dataplane if dataplane == "cilium" else None,
    }


def _pool(pool: Answer, region: str, numbers: Sequence[str], notes: Notes) -> OldPool:
    name, own = pool.get("name"), pool.get("availabilityZones", [])
    scaled = pool.get("enableAutoScaling")
    size, least, most = pool.get("count", 0), pool.get("minCount", 0), pool.get("maxCount", 0)
    mig = str(pool.get("gpuInstanceProfile", "")).lower().removeprefix("mig")
    labels: dict[str, str] = pool.get("nodeLabels", {})
    if pool.get("osType", "Linux") != "Linux":
        notes["cpuPools"].append(f"{name}: Linux here, because the program has no Windows pools")
    return OldPool(
        name=name,
        machines=[pool.get("vmSize")],
        spot=pool.get("scaleSetPriority") == "Spot",
        min_nodes=least if scaled else size,
        max_nodes=most if scaled else size,
        zones=[f"{region}-{number}" for number in own] if sorted(own) != [*numbers] else (),
        labels={key: value for key, value in labels.items() if not key.startswith(_OWN_DOMAIN)},
        taints=[match.groupdict("") for each in pool.get("nodeTaints", ()) if (match := _TAINT.fullmatch(each))],
        disk_gb=pool.get("osDiskSizeGb"),
        keys={"mig": mig},
    )
