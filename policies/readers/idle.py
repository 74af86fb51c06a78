"""How long an autoscaler leaves idle nodes: by its flags, by clouds' profiles of them, by Karpenter's pools.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/FAQ.md#what-are-the-parameters-to-ca
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any, Final

from facts.concepts.autoscaler import IdleTime
from facts.concepts.durations import seconds
from facts.concepts.kubernetes import DO_NOT_DISRUPT
from facts.concepts.unknown import UNKNOWN, Maybe, at, flag, is_false, items, mapping, text, whole

_ENABLED: Final = "scale-down-enabled"
# An idle node goes when it has been unneeded for the first and the others have passed; one of them alone delays it.
_DELAYS: Final = (
    "scale-down-unneeded-time",
    "scale-down-delay-after-add",
    "scale-down-delay-after-delete",
    "scale-down-delay-after-failure",
    "scan-interval",
    "unremovable-node-recheck-timeout",
    "node-delete-delay-after-taint",
    "node-deletion-batcher-interval",
)
# A node is removable if its utilization is below these: with 0 none is. GPU nodes have one of their own; whether a
# cloud's profile sets both is not documented, so each counts.
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/core/scaledown/eligibility/eligibility.go
_THRESHOLDS: Final = ("scale-down-gpu-utilization-threshold", "scale-down-utilization-threshold")
# Nodes that it may delete at a time: with 0 it deletes none.
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/core/scaledown/budgets/budgets.go
_AT_A_TIME: Final = ("max-empty-bulk-delete", "max-scale-down-parallelism")
# What all nodes together keep, below which it deletes none: MIN:MAX, and of GPUs TYPE:MIN:MAX, once for each type.
# https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/config/flags/flags.go
_TOTALS: Final = ("gpu-total", "cores-total", "memory-total")
# The options of one group, by its own tags or annotations: the READMEs of aws, azure and clusterapi below
# https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider
_OPTIONS: Final = re.compile(
    r"(?:k8s\.io[/_]cluster-autoscaler[/_]node-template[/_]autoscaling-options[/_]|cluster\.x-k8s\.io/autoscaling-options-)(.+)"
)
_BY_OPTION: Final = {name.replace("-", ""): name for name in ("scale-down-unneeded-time", *_THRESHOLDS)}
_OTHER_NAMES: Final[Mapping[str, str]] = {
    "scale-down-unneeded": "scale-down-unneeded-time",  # azurerm's
}


def idle_of_profile(profile: Any, where: str) -> IdleTime | None:
    """By a cloud's profile, whose keys are the flags in camelCase or as they are; ``where`` is its property."""
    settings = mapping(profile)
    if settings is UNKNOWN:
        return IdleTime(UNKNOWN, where)
    named = {key: _flag(str(key)) for key in settings}
    times = idle_of_flags({named[key]: value for key, value in settings.items()}, "")
    if times is None:
        return None
    key = next((key for key, flag in named.items() if flag == times.where), "")
    return IdleTime(times.minutes, f"{where}.{key}")


def idle_of_flags(flags: Mapping[str, Any], prefix: str = "--") -> IdleTime | None:
    """By flags without dashes → values; ``None`` where the autoscaler's defaults hold."""
    if is_false(flags.get(_ENABLED)) is True:
        return IdleTime(math.inf, prefix + _ENABLED)
    for name in (*_THRESHOLDS, *_AT_A_TIME):
        if _is_none(flags.get(name)):
            return IdleTime(math.inf, prefix + name)
    for name in _TOTALS:
        said = "" if flags.get(name) is UNKNOWN else str(flags.get(name))
        if any(least.strip("0") for least in re.findall(r"(?<![^\s:])(\d+):\d", said)):
            return IdleTime(math.inf, prefix + name)
    delays = [(name, minutes_of(flags.get(name))) for name in _DELAYS]
    known = [(minutes, name) for name, minutes in delays if minutes is not UNKNOWN and minutes is not None]
    unknown = [name for name in (_ENABLED, *_THRESHOLDS, *_AT_A_TIME, *_TOTALS) if flags.get(name) is UNKNOWN]
    unknown += [name for name, minutes in delays if minutes is UNKNOWN]
    if unknown:
        return IdleTime(UNKNOWN, prefix + unknown[0])
    if not known:
        return None
    minutes, name = max(known)
    return IdleTime(minutes, prefix + name)


def idle_of_tags(tags: Mapping[str, Any], word: str = "tag") -> IdleTime | None:
    """By the tags of one group, or in another ``word`` its annotations, which hold in place of the autoscaler's flags;
    ``None`` where it has none of these."""
    matches = ((key, _OPTIONS.fullmatch(str(key))) for key in tags)
    named = {_BY_OPTION.get(match[1].lower(), ""): key for key, match in matches if match}
    times = idle_of_flags({flag: tags[key] for flag, key in named.items()}, "")
    return None if times is None else IdleTime(times.minutes, f"{word} {named[times.where]}")


def _is_none(value: Any) -> bool:
    try:
        return value is not UNKNOWN and value is not None and float(value) <= 0
    except (TypeError, ValueError):
        return False


def _flag(key: str) -> str:
    """``scaleDownUnneededTime`` → ``scale-down-unneeded-time``."""
    flag = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)
    return _OTHER_NAMES.get(flag, flag)


def idle_of_karpenter(spec: Any, metadata: Any) -> IdleTime | None:
    """How long an empty node of a NodePool or Provisioner stays; ``None`` where it says nothing.

    ``metadata`` is that of its nodes. A budget of no nodes keeps those that were empty for ``consolidateAfter`` while
    its window is open, without a schedule for ever, unless its reasons leave empty ones out:
    https://karpenter.sh/docs/concepts/disruption/#nodepool-disruption-budgets
    """
    if text(at(metadata, "annotations", DO_NOT_DISRUPT)) == "true":
        return IdleTime(math.inf, f"annotation {DO_NOT_DISRUPT} of its nodes")
    if at(spec, "template") is None and at(spec, "disruption") is None:  # a Provisioner
        empty = whole(at(spec, "ttlSecondsAfterEmpty"))
        if empty is None and flag(at(spec, "consolidation", "enabled")) is True:
            return None
        minutes = math.inf if empty is None else UNKNOWN if empty is UNKNOWN else empty / 60
        return IdleTime(minutes, "spec.ttlSecondsAfterEmpty")
    after, where = at(spec, "disruption", "consolidateAfter"), "spec.disruption.consolidateAfter"
    minutes = math.inf if after == "Never" else minutes_of(after)
    times = [] if minutes is None else [IdleTime(minutes, where)]
    windows: list[tuple[Any, Any]] = []
    # A window may open when the node has been empty for that long.
    both = f"{where} and " if minutes not in (None, 0) else ""
    for number, budget in enumerate(items(at(spec, "disruption", "budgets"))):
        if holds_empty_nodes(budget):
            schedule, duration = at(budget, "schedule"), at(budget, "duration")
            window = math.inf if schedule is None else _sum(minutes, longest_window((schedule, duration)))
            times.append(IdleTime(window, f"{'' if window == math.inf else both}spec.disruption.budgets[{number}]"))
            windows += [] if schedule is None else [(schedule, duration)]
    if len(windows) > 1:
        times.append(IdleTime(_sum(minutes, longest_window(*windows)), f"{both}spec.disruption.budgets"))
    known = [(idle.minutes, idle) for idle in times if idle.minutes is not UNKNOWN]
    if not known or (len(known) < len(times) and max(minutes for minutes, _ in known) != math.inf):
        return next((idle for idle in times if idle.minutes is UNKNOWN), None)
    return max(known, key=lambda pair: pair[0])[1]


def _sum(first: Maybe[float | None], then: Maybe[float]) -> Maybe[float]:
    if then == math.inf:
        return then
    if first is UNKNOWN or then is UNKNOWN:
        return UNKNOWN
    return (first or 0.0) + then


def idle_of_daemon_set(annotations: Any) -> IdleTime | None:
    """How long pods of a DaemonSet with these annotations keep an empty node of Karpenter, which others do not.

    https://github.com/kubernetes-sigs/karpenter/blob/main/pkg/controllers/state/statenode.go (ValidatePodsDisruptable)
    """
    said, where = at(annotations, DO_NOT_DISRUPT), f"annotation {DO_NOT_DISRUPT} of its pods"
    if said is UNKNOWN:
        return IdleTime(UNKNOWN, where)
    minutes = math.inf if str(said).lower() == "true" else None if said is None else minutes_of(said)
    return None if minutes is None or minutes is UNKNOWN else IdleTime(minutes, where)


def holds_empty_nodes(budget: Any) -> bool:
    """Whether a disruption budget, while it is in force, keeps nodes without pods."""
    reasons = items(at(budget, "reasons"))
    nodes = str(at(budget, "nodes")).removesuffix("%")
    return nodes != "" and not nodes.strip("0") and (not reasons or "Empty" in reasons)


# https://github.com/robfig/cron/blob/v3/doc.go: the parser of Kubernetes and Karpenter
_NAMED: Final[Mapping[str, str]] = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


def minutes_of(value: Any) -> Maybe[float | None]:
    """A Go duration (``1h30m``, ``720h``) in minutes; ``None`` where nothing is given, ``UNKNOWN`` for other text."""
    if value is None:
        return None
    if not isinstance(value, str):
        return 0.0 if value == 0 else UNKNOWN
    match = seconds(value.strip())
    return UNKNOWN if match is None else match / 60


def longest_window(*windows: tuple[Any, Any]) -> Maybe[float]:
    """Minutes that one of ``windows`` at least is open without a break, each with a cron schedule and a duration;
    infinity if they never close together. Windows that touch are one. Time zones are ignored."""
    known: list[tuple[list[int], int]] = []
    for schedule, duration in windows:
        starts, lasts = _minutes_of_a_year(schedule) if isinstance(schedule, str) else None, minutes_of(duration)
        if starts is not None and lasts is not UNKNOWN and lasts is not None:
            known.append((starts, int(lasts)))
    longest = _longest_run(known)
    return longest if longest == math.inf or len(known) == len(windows) else UNKNOWN


def _longest_run(windows: Iterable[tuple[Sequence[int], int]]) -> float:
    longest, begun, open_until = 0, 0, -1
    for start, end in sorted((start, start + lasts) for starts, lasts in windows for start in starts):
        begun = begun if start <= open_until else start
        open_until = max(open_until, end)
        longest = max(longest, open_until - begun)
    return math.inf if longest >= _HOURS * 60 else float(longest)


def always_within(windows: Iterable[tuple[Any, Any, Maybe[int]]]) -> Maybe[int]:
    """The number that windows hold together in every hour of a year, 0 where an hour is without any: each is open from
    the times of one cron schedule to those of another, and holds a number. Time zones are ignored."""
    known: list[tuple[frozenset[int], int]] = []
    for start, end, number in windows:
        within = _hours_within(start, end) if isinstance(start, str) and isinstance(end, str) else None
        if number is UNKNOWN or within is None:
            return UNKNOWN
        known.append((within, number))
    for number in sorted({number for _, number in known}, reverse=True):
        if len(frozenset().union(*(within for within, most in known if most >= number))) == _HOURS:
            return number
    return 0


_HOURS: Final = 366 * 24


@cache
def _hours_within(start: str, end: str) -> frozenset[int] | None:
    """The hours of a year in which a window is open, for a part at least: it is open whenever it closes before it opens
    again, or both at once. ``None`` where one is no schedule."""
    opens, closes = _minutes_of_a_year(start), _minutes_of_a_year(end)
    if opens is None or closes is None:
        return None
    hours: set[int] = set()
    for opened in opens:
        after = bisect_right(closes, opened)
        closed = closes[after] if after < len(closes) else (closes[0] if closes else opened) + _HOURS * 60
        hours.update(hour % _HOURS for hour in range(opened // 60, -(-closed // 60)))
    return frozenset(hours)


_NAMES: Final = {
    name: str(number)
    for names in ("sun mon tue wed thu fri sat", " jan feb mar apr may jun jul aug sep oct nov dec")
    for number, name in enumerate(names.split(" "))
    if name
}


@cache
def _minutes_of_a_year(schedule: str) -> list[int] | None:
    """The minutes of a leap year at which a cron schedule is due; ``None`` for what is none.

    https://pkg.go.dev/github.com/robfig/cron/v3#hdr-CRON_Expression_Format
    """
    fields = _NAMED.get(schedule.strip(), schedule).lower().split()
    if len(fields) != 5:
        return None
    fields[3:] = [
        re.sub(r"[a-z]{3}", lambda match: _NAMES.get(match.group(), match.group()), each) for each in fields[3:]
    ]
    minutes, hours, days, months, weekdays = (
        _values(field, end) for field, end in zip(fields, (60, 24, 32, 13, 8), strict=True)
    )
    if not all((minutes, hours, days, months, weekdays)):
        return None
    either_day = not {fields[2][0], fields[4][0]} & {"*", "?"}
    weekdays = {each % 7 for each in weekdays}
    due: list[int] = []
    for number in range(366):
        day = date(2024, 1, 1) + timedelta(number)
        in_month, in_week = day.day in days, day.isoweekday() % 7 in weekdays
        if day.month in months and (in_month or in_week if either_day else in_month and in_week):
            due += [(number * 24 + hour) * 60 + minute for hour in sorted(hours) for minute in sorted(minutes)]
    return due


def _values(field: str, end: int) -> set[int]:
    """The minutes or hours in one field of a cron schedule; empty for an invalid field."""
    match: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = ("0", "", str(end - 1)) if span in ("*", "?") else span.partition("-")
        if not low.isdecimal() or not (high or low).isdecimal() or not (step or "1").isdecimal() or step == "0":
            return set()
        last = int(high) if high else (end - 1 if step else int(low))
        match.update(range(int(low), min(last, end - 1) + 1, int(step or 1)))
    return match
