"""Which group cluster-autoscaler prefers when several fit, as far as its configuration says.

Only the priority expander has a predictable order. ``least-waste``, ``most-pods``, ``least-nodes``
and ``random`` decide by the pods at hand or by chance: there the fleet's own order, the cheapest first, stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import yaml

CONFIG_MAP: Final = "cluster-autoscaler-priority-expander"
_KEY: Final = "priorities"
_ORDERED: Final = "priority"

Priorities = Mapping[int, Sequence[re.Pattern[str]]]


def priorities(config_maps: Iterable[Mapping[str, Any]], namespace: str) -> Priorities | str:
    """The priorities in the autoscaler's namespace, or why there are none.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/expander/priority/readme.md
    """
    where = f"ConfigMap {namespace}/{CONFIG_MAP}"
    config_map = next((each for each in config_maps if _place(each) == (namespace, CONFIG_MAP)), None)
    if config_map is None:
        return f"{where} does not exist: the priority expander scales nothing; create it, or choose another --expander"
    text = (config_map.get("data") or {}).get(_KEY)
    try:
        raw = yaml.safe_load(text or "")
        return {int(number): [re.compile(str(regex)) for regex in regexes] for number, regexes in raw.items()}
    except (yaml.YAMLError, re.error, AttributeError, TypeError, ValueError) as error:
        return f"{where}, key {_KEY}: not a map from numbers to lists of regular expressions ({error}); mend it"


def ordered(expanders: Sequence[str]) -> bool:
    """Whether the first of the ``--expander``s is the priority expander."""
    return expanders[0] == _ORDERED


def rank(asg: str, group_priorities: Priorities) -> float:
    """The place of a group in the fleet's order, smaller first: its highest priority, negated.

    A group that no expression matches is used only if no other fits.
    """
    numbers = [number for number, regexes in group_priorities.items() if any(regex.search(asg) for regex in regexes)]
    return -float(max(numbers)) if numbers else 1.0


def _place(config_map: Mapping[str, Any]) -> tuple[str, str]:
    return config_map["metadata"].get("namespace", ""), config_map["metadata"]["name"]
