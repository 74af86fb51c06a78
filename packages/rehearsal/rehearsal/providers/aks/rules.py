"""What AKS refuses in an agent pool, inside a cluster too, and in a cluster, one rule per reason; and the versions of
Kubernetes that it offers, of which the simulated control plane really runs one, ``KUBERNETES``."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any, Final

from facts.catalog.aks.cloud import CATALOG, DRIVER_ON_UBUNTU_ONLY
from rehearsal.providers.aks.cloud import TABLE, Subscription
from rehearsal.providers.aks.nodes import PREFIX, SPOT_KEY, can_mig, is_amd, taint
from rehearsal.providers.base import Properties, at
from rehearsal.providers.rules import bad_labels, bad_taints, minors_up, tag_rules

RANGE_ERROR: Final = "https://github.com/Azure/AKS/issues/3513"

TAINT: Final = re.compile(r"[^=:]+(=[^:]*)?:(NoSchedule|PreferNoSchedule|NoExecute)")


def pool_name(pool: Properties) -> str:
    """The name of a pool, whether it is a resource or part of a cluster."""
    return str(pool.get("agentPoolName") or pool.get("name"))


def is_system(pool: Properties) -> bool:
    """Whether the pool runs AKS's own pods."""
    return pool.get("mode") == "System"


@TABLE.check("pool", "system-pool-size")
def _system_size(pool: Properties, cloud: Subscription) -> str | None:
    machine = cloud.catalog.machines.get(pool.get("vmSize") or "")
    if not is_system(pool) or machine is None:
        return None
    if pool.get("osType") not in (None, "Linux"):
        return f"Agent pool '{pool_name(pool)}': system pools run Linux."
    if machine.vcpus < 2 or machine.memory_gib < 4:
        return f"Agent pool '{pool_name(pool)}': a system pool needs at least 2 vCPUs and 4 GB: {machine.type} is less."
    return None


@TABLE.check("pool", "mig-capable-size")
def _mig(pool: Properties, cloud: Subscription) -> str | None:
    machine, profile = cloud.catalog.machines.get(pool.get("vmSize") or ""), pool.get("gpuInstanceProfile")
    if profile is None or machine is None or can_mig(machine):
        return None
    return f"GPU instance profile {profile} is not supported on VM size {machine.type}: its GPUs cannot be partitioned."


@TABLE.check("pool", "linux-gpu-image")
def _image(pool: Properties, cloud: Subscription) -> str | None:
    windows = str(pool.get("osSKU") or "").startswith("Windows")
    if windows != (pool.get("osType") == "Windows") and pool.get("osSKU") is not None:
        return f"osSKU {pool['osSKU']} does not go with osType {pool.get('osType') or 'Linux'}."
    # AKS's wording is not known.
    machine, driven = cloud.catalog.machines.get(pool.get("vmSize") or ""), at(pool, "gpuProfile.driver") != "None"
    if machine is None or machine.gpu not in DRIVER_ON_UBUNTU_ONLY:
        return None
    if is_amd(machine) and driven:
        return f"VM size {machine.type} needs gpuProfile.driver None: AKS has no driver for AMD GPUs."
    if (driven or is_amd(machine)) and pool.get("osSKU") == "AzureLinux":
        return f"VM size {machine.type} is not supported with osSKU AzureLinux: its driver is on Ubuntu only."
    return None


@TABLE.check("pool", "labels-valid")
def _labels(pool: Properties, cloud: Subscription) -> str | None:
    labels = pool.get("nodeLabels") or {}
    return bad_labels(labels) or _reserved("Label", labels.items()) or _of_kubernetes(labels)


# https://github.com/Azure/AKS/issues/1937, and node-role since https://github.com/Azure/AKS/issues/4628
_KUBERNETES: Final = re.compile(r"(?:.*\.)?(?:kubernetes|k8s)\.io")
_OPEN: Final = re.compile(r"(?:.*\.)?(?:kubelet|node|node-role)\.kubernetes\.io/.*")
_NAMED: Final = re.compile(
    r"(?:beta\.)?kubernetes\.io/(?:arch|os|instance-type)|kubernetes\.io/hostname"
    r"|failure-domain\.(?:beta\.)?kubernetes\.io/(?:region|zone)"
)


def _of_kubernetes(labels: Iterable[str]) -> str | None:
    for key in labels:
        if _KUBERNETES.fullmatch(key.rpartition("/")[0]) and not (_OPEN.fullmatch(key) or _NAMED.fullmatch(key)):
            return (
                "For Kubernetes version greater than or equal to 1.16, node label keys in the 'kubernetes.io' or "
                "'k8s.io' namespace must begin with an allowed prefix (kubelet.kubernetes.io, node.kubernetes.io): "
                f"{key}"
            )
    return None


@TABLE.check("pool", "taints-valid")
def _taints(pool: Properties, cloud: Subscription) -> str | None:
    taints = pool.get("nodeTaints") or []
    unread = next((text for text in taints if not TAINT.fullmatch(text)), None)
    if unread is not None:
        return f"Taint '{unread}' is invalid: write key=value:NoSchedule, PreferNoSchedule or NoExecute."
    parsed = [taint(text) for text in taints]
    return bad_taints(map(vars, parsed)) or _reserved("Taint", [(each.key, each.value) for each in parsed])


def _reserved(what: str, pairs: Iterable[tuple[str, Any]]) -> str | None:
    key = next((key for key, value in pairs if key.startswith(PREFIX) and (key, value) != (SPOT_KEY, "spot")), None)
    return key and f"{what} key '{key}' is reserved: AKS sets {what.lower()}s with the prefix {PREFIX} itself."


@TABLE.check("pool", "pool-version-offered")
def _pool_version(pool: Properties, cloud: Subscription) -> str | None:
    version = pool.get("orchestratorVersion")
    if version is None or resolve(version):
        return None
    return f"Node pool version {version} is not supported: this rehearsal offers {OFFERED}."


def count_at_creation(pool: Properties) -> str | None:
    """Why a new autoscaled pool's ``count`` is refused; later the autoscaler owns it."""
    count: Any = 1 if pool.get("count") is None else pool["count"]
    if not pool.get("enableAutoScaling") or pool.get("minCount") is None or pool.get("maxCount") is None:
        return None
    if int(pool["minCount"]) <= int(count) <= int(pool["maxCount"]):
        return None
    return (
        f"Agent pool '{pool_name(pool)}': count {count} is not in the range of minCount and maxCount ({RANGE_ERROR})."
    )


KUBERNETES: Final = "1.34.4"
"""The version in ``rehearsal/tools/kubernetes/go.mod``."""


# Azure offers three minors, and more with long-term support. Which ones changes every few months, so it is those around
# the control plane's own.
MINORS: Final = range(32, 38)
LONG_TERM: Final = "AKSLongTermSupport"
OFFERED: Final = f"1.{MINORS[0]} to 1.{MINORS[-1]}"
_VERSION: Final = re.compile(r"1\.(\d+)(\.\d+)?")


def run_by(requested: str | None, now: str | None) -> str:
    """What runs after a request for ``requested``, which is offered, where ``now`` does (``None``: nothing yet).

    Azure may have upgraded it further. A request without a version, or with the running minor, changes nothing.
    """
    if now is not None and (requested is None or now == requested or now.startswith(f"{requested}.")):
        return now
    return resolve(requested) or KUBERNETES


def long_term_only(requested: str | None) -> bool:
    """Whether the version is in long-term support alone (https://learn.microsoft.com/azure/aks/long-term-support). The
    control plane's own never is, whatever the day: without it nothing runs here."""
    match = _VERSION.fullmatch(requested or "")
    own = match is None or minors_up(KUBERNETES, match[0]) == 0
    return not own and community_support_ended(requested)


def community_support_ended(version: str | None) -> bool:
    """Whether it has by today, as the catalogue knows it."""
    return CATALOG.choices.ended(version, datetime.now(timezone.utc).date())


def long_term_refusal(version: str) -> str:
    """What Azure says of such a version in a cluster without long-term support."""
    return f"Managed cluster is on version {version}, which is only available for Long-Term Support (LTS)."


def resolve(requested: str | None) -> str | None:
    """The version that ``requested`` (``1.34`` or all of it) means; ``None`` if it is not offered.

    Another version than the control plane's is accepted and reported by cluster and pools, but not run.

    https://learn.microsoft.com/azure/aks/supported-kubernetes-versions
    """
    match = _VERSION.fullmatch(requested or KUBERNETES)
    if match is None or int(match[1]) not in MINORS:
        return None
    if match[2]:
        return match[0]
    return KUBERNETES if KUBERNETES.startswith(f"{match[0]}.") else f"{match[0]}.0"


# "This range must be smaller than /12": https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning
WIDEST_SERVICES: Final = 13


def inline_pools(cluster: Properties) -> list[Properties]:
    """The pools declared inside a cluster."""
    pools: Any = cluster.get("agentPoolProfiles")
    return [pool for pool in pools if isinstance(pool, dict)] if isinstance(pools, list) else []


@TABLE.check("cluster", "version-offered")
def _version(cluster: Properties, cloud: Subscription) -> str | None:
    version = cluster.get("kubernetesVersion")
    if long_term_only(version) and cluster.get("supportPlan") != LONG_TERM:
        return long_term_refusal(str(version))
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


# Keys have no case. What Azure says of a tag that it refuses:
# https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
TAGS: Final = tag_rules(
    "tags",
    source="https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources#limitations",
    key=r"(?!(?i:microsoft|azure|windows))[^<>%&\\?/]{1,512}",
    value=r".{0,256}",
    most=50,
    distinct=True,
    refusal="InvalidTagNameCharacters: The tag name '{key}' is not valid, is there twice, or is one too many.",
)
