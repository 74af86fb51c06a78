"""``make quota``: the quotas that a stack needs with every pool at its maximum, APIs and roles. No account asked."""

from __future__ import annotations

from dataclasses import replace

from components.settings.settings import Settings
from facts import catalog
from facts.catalog.model import Quota
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.pool import Upgrade


def quotas(settings: Settings) -> tuple[Quota, ...]:
    """Quotas with every pool at its maximum, counting the pools of all capacity types.

    Karpenter keeps a pool within its maximum also when it replaces nodes.
    """
    pools = settings.pools
    if settings.autoscaler in KARPENTERS:
        pools = tuple(replace(pool, upgrade=Upgrade(max_surge=0)) for pool in pools)
    own = 0 if settings.network.existing is not None else 1
    gateways = own * (len(settings.zones) if settings.nat_per_zone else 1)
    return catalog.of(settings.cloud).quotas(settings.region, [settings.admin_pool, *pools], gateways)


def used(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The settings in use that need more of the account than a cluster does, by their paths, with the full names of
    resources that may be in other accounts. ``network`` is a network that the stack creates."""
    security, workloads, identities = settings.security, settings.workloads, settings.identities
    existing = settings.network.existing
    values = {
        "network": existing is None,
        "network.existing": existing and (existing.network,),
        "security.kmsKey": security.kms_key and (security.kms_key,),
        "security.diskKey": security.disk_key and (security.disk_key,),
        "security.dataKey": security.data_key and (security.data_key,),
        "gpuPools[].imageStreaming": any(pool.image_streaming for pool in settings.gpu_pools),
        "workloads.registry": workloads.registry,
        "workloads.pullFrom": workloads.pull_from,
        "workloads.checkpoints": workloads.checkpoints,
        "workloads.sharedVolume": workloads.shared_volume,
        "identities[].read": any(each.read for each in identities),
        "identities[].write": any(each.write for each in identities),
        "identities[].secrets": any(each.secrets for each in identities),
        **{f"gpuPools[].topology of {each.gpus.type}": each.gpus.slice_nodes > 1 for each in settings.gpu_pools},
    }
    return {path: value if isinstance(value, tuple) else () for path, value in values.items() if value}


def listed(settings: Settings) -> str:
    """The quotas as a table, with the page where to request them."""
    rows = [("needed", "", "quota", "in", "for")]
    for quota in quotas(settings):
        name = f"{quota.name} (or {quota.instead} if the account has none)" if quota.instead else quota.name
        users = ", ".join(quota.pools) or f"the cluster{', at least: more under load' if quota.at_least else ''}"
        rows.append((str(quota.needed), quota.unit, name, quota.place, users))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [
        f"{row[0]:>{widths[0]}} {row[1]:<{widths[1]}}  {row[2]:<{widths[2]}}  {row[3]:<{widths[3]}}  {row[4]}"
        for row in rows
    ]
    known = catalog.of(settings.cloud)
    page = known.quota_page.format(region=settings.region)
    rights = [*known.rights(settings.project, used(settings))]
    return "\n".join(
        [
            f"Quota that stack '{settings.stack}' needs on {settings.cloud} with every pool at maxNodes, besides the "
            "account's other usage:",
            "",
            *lines,
            "",
            f"View and request quota: {page}",
            *(["", *rights] if rights else []),
        ]
    )
