"""What AKS refuses in a cluster, one rule per reason."""

from __future__ import annotations

import ipaddress
from typing import Any, Final

from rehearsal.providers.aks.cloud import TABLE, Subscription
from rehearsal.providers.aks.versions import OFFERED, long_term_only, resolve
from rehearsal.providers.base import Properties

# "This range must be smaller than /12": https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning
WIDEST_SERVICES: Final = 13


def inline_pools(cluster: Properties) -> list[Properties]:
    """The pools declared inside a cluster."""
    pools: Any = cluster.get("agentPoolProfiles")
    return [pool for pool in pools if isinstance(pool, dict)] if isinstance(pools, list) else []


@TABLE.check("cluster", "version-offered")
def _version(cluster: Properties, cloud: Subscription) -> str | None:
    version = cluster.get("kubernetesVersion")
    if long_term_only(version) and cluster.get("supportPlan") != "AKSLongTermSupport":
        return f"Managed cluster is on version {version}, which is only available for Long-Term Support (LTS)."
    if version is None or resolve(version):
        return None
    return f"Managed cluster is on version {version}, which is not supported: this rehearsal offers {OFFERED}."


@TABLE.check("cluster", "network-ranges")
def _ranges(cluster: Properties, cloud: Subscription) -> str | None:
    profile = cluster.get("networkProfile") or {}
    for key in ("podCidr", "serviceCidr"):
        problem = _bad_range(f"networkProfile.{key}", [profile[key]] if profile.get(key) else [])
        if problem:
            return problem
    services = ipaddress.ip_network(profile["serviceCidr"]) if profile.get("serviceCidr") else None
    if services is not None and services.prefixlen < WIDEST_SERVICES:
        return f"networkProfile.serviceCidr {services} is too wide: it must be smaller than a /{WIDEST_SERVICES - 1}."
    if services is not None and profile.get("podCidr"):
        pods = ipaddress.ip_network(profile["podCidr"])
        if services.overlaps(pods):
            return f"networkProfile.serviceCidr {services} overlaps podCidr {pods}."
    address = profile.get("dnsServiceIP")
    if address and services is not None:
        nested = ipaddress.ip_address(address)
        if nested not in services or nested == services[1] or nested == services[0]:
            return f"networkProfile.dnsServiceIP {address} must be in serviceCidr {services} and not its first address."
    return None


def _bad_range(path: str, ranges: list[str]) -> str | None:
    for text in ranges:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            return f"{path}: {error}."
    return None
