"""``make quota``: the quotas that a stack needs with every pool at its maximum, APIs and roles. No account asked."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from components.settings.pools.settings import Settings
from facts import catalog
from facts.catalog.model import Quota
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.parts import Upgrade

UNLIMITED: Final = 100_000
"""A width at which nothing is wrapped."""


def quotas(settings: Settings) -> tuple[Quota, ...]:
    """Quotas with every pool at its maximum, counting the pools of all capacity types.

    Karpenter keeps a pool within its maximum also when it replaces nodes.
    """
    pools = settings.pools
    if settings.autoscaler in KARPENTERS:
        pools = tuple(replace(pool, nodes=replace(pool.nodes, upgrade=Upgrade(max_surge=0))) for pool in pools)
    if settings.existing_cluster is not None:
        # What no pool needs is the cluster's own, and there: addresses of its way out.
        needed = catalog.of(settings.cloud).account.quotas(settings.region, pools, 0)
        return tuple(each for each in needed if each.pools)
    own = 0 if settings.network.existing is not None else 1
    gateways = own * (len(settings.zones) if settings.nat_per_zone else 1)
    return catalog.of(settings.cloud).account.quotas(settings.region, [settings.admin_pool, *pools], gateways)


def used(settings: Settings) -> dict[str, tuple[str, ...]]:
    """The settings in use that need more of the account than a cluster does, by their paths, with the full names of
    resources that may be in other accounts. ``network`` and ``nodes`` are a network and a node identity that the stack
    creates."""
    security, workloads, identities = settings.security, settings.workloads, settings.identities
    existing = settings.network.existing
    values = {
        "existingCluster": settings.existing_cluster,
        "nodes": security.node_identity is None and settings.existing_cluster is None,
        "security.nodeIdentity": security.node_identity,
        "network": existing is None and settings.existing_cluster is None,
        "network.existing": existing and (existing.network,),
        "security.kmsKey": security.kms_key and (security.kms_key,),
        "security.diskKey": security.disk_key and (security.disk_key,),
        "security.dataKey": security.data_key and (security.data_key,),
        "gpuPools[].imageStreaming": any(pool.nodes.image_streaming for pool in settings.gpu_pools),
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


def listed(settings: Settings, width: int | None = None) -> str:
    """The quotas as a table, with the page where to request them.

    ``width`` is by default that of the user's terminal; for a file or a pipe nothing is wrapped. A command is continued
    by a backslash, an address stays whole.
    """
    width = width or (shutil.get_terminal_size().columns if sys.stdout.isatty() else UNLIMITED)
    known = catalog.of(settings.cloud)
    head = f"Quota that stack '{settings.stack}' needs on {settings.cloud} with every pool at maxNodes, besides "
    head += "the account's other usage:"
    page = f"View and request quota: {known.account.quota_page.format(region=settings.region)}"
    rights = [line for each in known.account.rights(settings.project, used(settings)) for line in _wrapped(each, width)]
    table = _table(_rows(settings), width)
    return "\n".join([*_wrapped(head, width), "", *table, "", page, *(["", *rights] if rights else [])])


def _rows(settings: Settings) -> Iterator[tuple[str, str, str, str, str]]:
    """How many, of what unit, the quota, where, and for which pools."""
    for quota in quotas(settings):
        name = f"{quota.name} (or {quota.instead} if the account has none)" if quota.instead else quota.name
        users = ", ".join(quota.pools) or f"the cluster{', at least: more under load' if quota.at_least else ''}"
        yield str(quota.needed), quota.unit, name, quota.place, users


def _table(rows: Iterable[tuple[str, str, str, str, str]], width: int) -> list[str]:
    """A line for each quota, or where that is too wide a paragraph."""
    lines = [("needed", "", "quota", "in", "for"), *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    amounts = [f"{needed:>{widths[0]}} {unit:<{widths[1]}}" for needed, unit, *_ in lines]
    texts = [f"{quota:<{widths[2]}}  {place:<{widths[3]}}  {users}" for _, _, quota, place, users in lines]
    whole = [f"{amount}  {text}" for amount, text in zip(amounts, texts, strict=True)]
    if max(map(len, whole)) <= width:
        return whole
    result = []
    for amount, (_, _, quota, place, users) in list(zip(amounts, lines, strict=True))[1:]:
        indented = " " * (len(amount) + 2)
        for start, text in ((f"{amount}  ", f"{quota} in {place}"), (indented, f"for {users}")):
            result += textwrap.wrap(
                text,
                width,
                initial_indent=start,
                subsequent_indent=indented,
                break_long_words=False,
                break_on_hyphens=False,
            )
    return result


def _wrapped(line: str, width: int) -> list[str]:
    """A sentence on as many lines as it takes; a command goes on after a backslash."""
    is_command = line.startswith("gcloud ")
    parts = textwrap.wrap(
        line,
        width - 2 if is_command else width,
        subsequent_indent="  " if is_command else "",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"{part} \\" for part in parts[:-1]] + parts[-1:] if is_command else parts or [""]
