"""Karpenter's messages about pools that get no node: conditions, events, and denied calls to the cloud.

https://karpenter.sh/docs/concepts/nodepools/#statusconditions and the same of nodeclasses and nodeclaims.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from facts.concepts.pool import POOL_LABEL
from facts.concepts.rest import resource_path
from rehearsal.cluster.api import Api, NoSuchKindError, Object, condition
from rehearsal.scenario.timeline import AUTOSCALER, Timeline

FILES: Final = "*-calls.jsonl"
"""In the folder of the run's logs: one JSON object a line with at least ``service``, ``operation`` and ``verdict``."""


@dataclass(frozen=True)
class Calls:
    """``made``: number of calls; ``denied``: a sentence for each operation that a program has no permission for."""

    made: int = 0
    denied: tuple[str, ...] = ()


def read(logs: Path) -> Calls:
    """The calls in the folder's files. A call that was denied at first and allowed later does not count as denied."""
    last: dict[tuple[Any, ...], dict[str, Any]] = {}
    made = 0
    for path in sorted(logs.glob(FILES)):
        for line in path.read_text(encoding="utf-8").splitlines():
            call = json.loads(line)
            last[(call["service"], call["operation"], *call.get("resources", ()))] = call
            made += 1
    denied = [call for call in last.values() if call["verdict"] == "denied"]
    words = [f"{each['service']}:{each['operation']} was denied: {each.get('missing', '')}" for each in denied]
    return Calls(made, tuple(dict.fromkeys(words)))


_POOLS: Final = "/apis/karpenter.sh/v1/nodepools"
_CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
_POOL: Final = "karpenter.sh/nodepool"
_KINDS: Final = ("NodePool", "NodeClaim")
# Summaries of the other conditions.
_SUMS: Final = ("Ready", "NodeClassReady")
_HEALTH: Final = "NodeRegistrationHealthy"
"""Unknown for every pool that has not had a node since Karpenter started."""
_LONGEST: Final = 400


def pools_ready(api: Api) -> bool:
    """Whether each NodePool is ready, as none is without Karpenter: one that is not takes no part in an order."""
    pools = (api.find(_POOLS) or {}).get("items") or []
    return all(condition(pool, "Ready") for pool in pools)


def of_pools(api: Api, timeline: Timeline, calls: Calls) -> dict[str, str]:
    """Pool → Karpenter's messages about problems; empty without Karpenter.

    ``calls``: its calls to the cloud; a denied one affects every pool.
    """
    pools = (api.find(_POOLS) or {}).get("items") or []
    if not pools:
        return {}
    claims = api.list(_CLAIMS)
    messages = {}
    for pool in pools:
        name = pool["metadata"]["name"]
        own = [each for each in claims if (each["metadata"].get("labels") or {}).get(_POOL) == name]
        words = [*calls.denied, *_troubles([_class(api, pool), pool, *own]), *_events(timeline, name)]
        labels = pool["spec"]["template"].get("metadata", {}).get("labels") or {}
        if words:
            messages[labels.get(POOL_LABEL, name)] = "; ".join(dict.fromkeys(word[:_LONGEST] for word in words))
    return messages


def _class(api: Api, pool: Object) -> Object | None:
    """The pool's node class; ``None`` if there is none."""
    reference: Mapping[str, str] = pool["spec"]["template"]["spec"]["nodeClassRef"]
    group = api.find(resource_path(reference["group"] + "/", "").rstrip("/")) or {}
    version = (group.get("preferredVersion") or {}).get("groupVersion")
    if version is None:
        return None
    try:
        return api.find(api.resource(version, reference["kind"]).path(reference["name"]))
    except NoSuchKindError:
        return None


def _troubles(objects: Iterable[Object | None]) -> Iterator[str]:
    """Messages of their false conditions; if there are none, of the unknown ones."""
    for each in filter(None, objects):
        listed: list[Mapping[str, Any]] = (each.get("status") or {}).get("conditions") or []
        listed = [one for one in listed if one["type"] not in (*_SUMS, _HEALTH) and one.get("message")]
        wrong = [one for one in listed if one["status"] == "False"] or [
            one for one in listed if one["status"] != "True"
        ]
        yield from (f"{each['kind']} {each['metadata']['name']}: {one['message']}" for one in wrong)


def _events(timeline: Timeline, pool: str) -> Iterator[str]:
    """Warnings about the pool and its claims, whose names begin with the pool's."""
    for event in timeline.events:
        mine = event.name == pool if event.kind == "NodePool" else event.name.rpartition("-")[0] == pool
        if mine and event.kind in _KINDS and event.type == "Warning" and event.source == AUTOSCALER:
            yield f"{event.kind}: {event.message}"
