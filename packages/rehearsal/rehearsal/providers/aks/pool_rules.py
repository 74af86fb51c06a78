"""What AKS refuses in an agent pool, one rule per reason. They hold for pools inside a cluster too."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from facts.catalog.aks.cloud import DRIVER_ON_UBUNTU_ONLY
from rehearsal.providers.aks.cloud import TABLE, Subscription
from rehearsal.providers.aks.nodes import PREFIX, SPOT_KEY, can_mig, taint
from rehearsal.providers.aks.versions import OFFERED, resolve
from rehearsal.providers.base import Properties
from rehearsal.providers.rules import bad_labels, bad_taints
from rehearsal.providers.values import at

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
    if machine is not None and machine.gpu in DRIVER_ON_UBUNTU_ONLY and driven and pool.get("osSKU") == "AzureLinux":
        return f"VM size {machine.type} is not supported with osSKU AzureLinux: its driver is on Ubuntu only."
    return None


@TABLE.check("pool", "labels-valid")
def _labels(pool: Properties, cloud: Subscription) -> str | None:
    labels = pool.get("nodeLabels") or {}
    return bad_labels(labels) or _reserved("Label", labels.items())


@TABLE.check("pool", "taints-valid")
def _taints(pool: Properties, cloud: Subscription) -> str | None:
    taints = pool.get("nodeTaints") or []
    unread = next((text for text in taints if not TAINT.fullmatch(text)), None)
    if unread is not None:
        return f"Taint '{unread}' is invalid: write key=value:NoSchedule, PreferNoSchedule or NoExecute."
    parsed = [taint(text) for text in taints]
    return bad_taints(parsed) or _reserved("Taint", [(each["key"], each.get("value")) for each in parsed])


def _reserved(what: str, pairs: Iterable[tuple[str, Any]]) -> str | None:
    key = next((key for key, value in pairs if key.startswith(PREFIX) and (key, value) != (SPOT_KEY, "spot")), None)
    return key and f"{what} key '{key}' is reserved: AKS sets {what.lower()}s with the prefix {PREFIX} itself."


@TABLE.check("pool", "pool-version-offered")
def _version(pool: Properties, cloud: Subscription) -> str | None:
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
