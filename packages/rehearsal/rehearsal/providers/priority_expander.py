"""The ConfigMap by which cluster-autoscaler's ``priority`` expander orders groups of machines.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import yaml

NAME: Final = "cluster-autoscaler-priority-expander"
_KEY: Final = "priorities"

Priorities = Mapping[int, Sequence[re.Pattern[str]]]


def priorities(config_maps: Iterable[Mapping[str, Any]], namespace: str) -> Priorities | str:
    """The priorities in the autoscaler's namespace, or why there are none: one invalid part spoils all."""
    where = f"ConfigMap {namespace}/{NAME}"
    places = ((each["metadata"], each) for each in config_maps)
    mine = (each for place, each in places if (place.get("namespace", ""), place["name"]) == (namespace, NAME))
    config_map = next(mine, None)
    if config_map is None:
        return f"{where} does not exist: the priority expander scales nothing; create it, or choose another --expander"
    text = (config_map.get("data") or {}).get(_KEY)
    try:
        raw = yaml.safe_load(text or "")
        return {int(number): [re.compile(str(regex)) for regex in regexes] for number, regexes in raw.items()}
    except (yaml.YAMLError, re.error, AttributeError, TypeError, ValueError) as error:
        return f"{where}, key {_KEY}: not a map from numbers to lists of regular expressions ({error}); mend it"


def rank(group: str, known: Priorities) -> float | None:
    """The place of a group in the fleet's order, smaller first: its highest priority, negated; ``None`` without one."""
    numbers = [number for number, regexes in known.items() if any(regex.search(group) for regex in regexes)]
    return -float(max(numbers)) if numbers else None
