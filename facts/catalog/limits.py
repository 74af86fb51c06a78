"""What pools at their maximum need of an account's limits, summed over whatever counts against each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from facts.catalog.model import Quota
from facts.concepts.pool import Pool

EVERYWHERE: Final = "global"
_ORDER: Final = ("GPUs", "vCPUs", "GB", "machines", "addresses")


class Limit(NamedTuple):
    """A limit of an account, as ``Quota`` describes it."""

    name: str
    place: str
    unit: str
    instead: str = ""
    at_least: bool = False


PerNode = Callable[[Pool], Iterator[tuple[Limit, int]]]
"""A pool → what one node of it counts for."""


def at_maximum(
    pools: Sequence[Pool],
    per_node: PerNode,
    *once: tuple[Limit, int],
    beyond: Callable[[Pool], int] = lambda pool: 0,
) -> tuple[Quota, ...]:
    """All limits, GPUs first; ``once`` is what the cluster needs, ``beyond`` are a pool's nodes above its maximum.

    A limit that several pools share is one, also if other limits count for each where the account does not have it.
    """
    needed: dict[Limit, dict[str, int]] = defaultdict(dict)
    instead: dict[Limit, dict[str, None]] = defaultdict(dict)
    for pool in pools:
        for limit, each in per_node(pool):
            shared = limit._replace(instead="")
            needed[shared][pool.name] = each * (pool.scaling.max_nodes + beyond(pool))
            instead[shared][limit.instead] = None
    named = {limit: limit._replace(instead=", ".join(filter(None, instead[limit]))) for limit in needed}
    quotas = [Quota(**named[limit]._asdict(), needed=sum(of.values()), pools=tuple(of)) for limit, of in needed.items()]
    quotas += [Quota(**limit._asdict(), needed=number, pools=()) for limit, number in once if number]
    return tuple(sorted(quotas, key=lambda quota: (_ORDER.index(quota.unit), quota.place != EVERYWHERE, quota.name)))
