"""How many of the pods that a declaration describes always run, whether or not there is work.

The law:

- A kind with a row in ``pod_kinds.csv`` is read by its own field at its own place, and nothing else there counts.
- Of any other custom resource, and of a chart's values, the numbers and switches count that stand at the part with the
  pods or above it. A part's own number goes before one further up. In a custom resource numbers with a ``template``
  between them multiply: sets of sets.
- Of charts in ``pods_for_work.csv`` the pods that start for work do not count, whatever numbers stand at their part.
- One convention is exact, because nearly all charts have it (``helm create``): ``replicaCount``, or
  ``autoscaling.minReplicas`` of 1 or more where ``autoscaling.enabled`` is true (it makes an HPA, which has no 0).
- Words that may be something else (``workers``) count where none of replicas stands at the part or above.
- Where nothing says a number, a part of a chart is one pod, as an upper bound, because most charts start one, and none
  if it is switched off. Of a part whose name may say that its pods start on demand (runners, templates), and of a
  custom resource, it is unknown. So it is where the switch is a text ("false", which Helm's ``if`` takes for true) or
  stands beside all parts, where Helm asks for none.
- Of several numbers in other words the largest counts, as an upper bound: a decoy of an author who wants fewer hides
  nothing, and an honest author takes the number out that nobody uses.
- A switch that is off, a scaler in other words that is on, and a 0 below a larger number make it unknown, which is a
  note: parts that are off are everyday (Helm's ``condition``), and only the chart knows whether it asks for that word.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from facts.concepts.declared import UnknownReason
from facts.concepts.unknown import UNKNOWN, Maybe, amount, whole
from policies.readers.resource import matches
from policies.readers.tables import rows

_ROWS: Final = {row["kind"]: row for row in rows("readers/kubernetes", "pod_kinds")}


def known(group: str, kind: str) -> str:
    """The kind, if it has a row; else nothing: another group's of that name is any custom resource."""
    return kind if kind in _ROWS and matches(group, _ROWS[kind]["group"]) else ""


DEFAULTS: Final[Mapping[str, int]] = {kind: int(row["default"]) for kind, row in _ROWS.items()}
"""Kinds whose pods run without work, and how many without a number."""

# Words that are numbers of pods: replicas, replicaCount, numReplicas, minReplicas, minReplicaCount (KEDA).
_NUMBER: Final = re.compile(
    r"(?:num(?:ber_?of)?|min(?:imum)?|desired)?_?replicas?(?:_?(?:count|number))?", re.IGNORECASE
)
# Words that mostly are, and may be threads of a server: workers, minRunners, warmPoolSize, deploymentReplicas, count.
_UNITS: Final = r"(?:replicas?|runners?|workers?|agents?|executors?|instances?|servers?|pods?|pool|nodes?)"
_PERHAPS: Final = re.compile(
    rf"(?!max)\w*replicas?|count|(?:(?:num(?:ber_?of)?|min(?:imum)?|idle|(?:pre)?warm(?:ed)?|standby|spare|hot)_?)*{_UNITS}"
    r"_?(?:count|number|size)?|(?:min|idle|warm|standby|spare)_?(?:count|size)",
    re.IGNORECASE,
)
_LEAST: Final = re.compile(r"min(?:imum)?")
_SCALER: Final = re.compile(r"\w*autoscal\w*|hpa|keda\w*|scal(?:e|er|ing)|scaled_?object", re.IGNORECASE)
# Words that switch a part on, and off.
_ON: Final = ("enabled", "enable", "create", "active", "deploy", "deployed", "install", "installed")
_OFF: Final = ("disabled", "suspend", "suspended", "stopped")


Starts: TypeAlias = Literal["", "for work", "perhaps on demand"]
"""When pods of a chart's part start, by its name: with the release, or later."""
_BY_DEFAULT: Final = UnknownReason(
    "its values do not say how many of these pods run, and most charts start one",
    "Write the chart's number of these pods, replicaCount: 0 if it starts none.",
)
_ON_DEMAND: Final = UnknownReason(
    "the name of this part may say that its pods start on demand, and its values do not say how many run",
    "Write the number of these pods, or exempt it by name.",
)
_NO_NUMBER: Final = UnknownReason(
    "the gate does not know how many pods of this kind run without work",
    "Write the number of these pods, if the kind has one, or exempt it by name.",
)


@dataclass(frozen=True)
class PodNumber:
    """The number of pods at a place, as far as what stands there and above says one.

    ``times``: how many sets they are in. ``reason``: why the number is an upper bound, or unknown. ``off``: why pods
    with a number may be off; ``none``: without one they certainly are.
    """

    number: Maybe[int] | None = None
    times: Maybe[int] | None = None
    off: UnknownReason | None = None
    none: bool = False
    reason: UnknownReason | None = None

    def always(self, default: int) -> tuple[Maybe[int], UnknownReason | None]:
        """The number of pods that always run, ``default`` if nothing says one, and why it may be another."""
        own = default if self.number is None else self.number
        number = own if self.times is None else times(self.times, 1 if self.number is None else own)
        if number == 0:
            return 0, None
        return (number, self.reason) if self.off is None else (UNKNOWN, self.off)

    @property
    def says_one(self) -> bool:
        """Whether anything says how many there are."""
        return self.number is not None or self.times is not None

    def unsaid(self, *, in_chart: bool, starts: Starts) -> tuple[Maybe[int], UnknownReason | None]:
        """The same where nothing says a number."""
        if starts == "for work" or self.none:
            return 0, None
        if not in_chart or starts or self.off is not None:
            return UNKNOWN, self.off or (_ON_DEMAND if in_chart else _NO_NUMBER)
        return 1, _BY_DEFAULT

    def without_number(self) -> PodNumber:
        """For a part to which the number further up says nothing."""
        return replace(self, number=None, reason=None)

    def in_set(self) -> PodNumber:
        """For what a template describes: each of the number has it."""
        return (
            self
            if self.number is None
            else replace(self, number=None, times=times(1 if self.times is None else self.times, self.number))
        )


def at_part(values: Mapping[str, Any], above: PodNumber, kind: str, *, in_chart: bool, place: str) -> PodNumber:
    """The number of pods at ``values``, a part of an object of this ``kind`` or of a chart, at this (dotted) place."""
    if (row := _ROWS.get(kind)) is not None:
        there = any(matches(place, pattern) for pattern in row["places"].split())
        number = values.get(row["field"]) if there and above.times is None else None
        return above if not is_number(number) else replace(above, number=amount(number), reason=None)
    if (switch := _switch_off(values)) is not None:
        why = f"the gate does not know whether {f'{place}.{switch}'.lstrip('.')} switches these pods off"
        above = replace(
            above,
            off=UnknownReason(why, "If it does, write the number 0 beside it, or take the part out."),
            none=above.none or (in_chart and place != "" and _switch_off(values, surely=True) is not None),
        )
    own = _own(values, in_chart, place, perhaps=above.number is None)
    if own is None:
        return above
    if own.number == 0 and above.number not in (None, 0):
        reason = _reason(
            "the gate does not know whether {} goes before the number of {}", f"the 0 of {place}", "the whole"
        )
        return replace(above, number=UNKNOWN, reason=reason)
    return replace(above, number=own.number, reason=own.reason)


def _own(values: Mapping[str, Any], in_chart: bool, place: str, *, perhaps: bool) -> PodNumber | None:
    numbers = _numbers(values)
    if not numbers and perhaps:
        bounds = {"min": values.get("min")} if {"min", "max"} <= values.keys() else {}
        numbers = _numbers(values, _PERHAPS) | {key: amount(part) for key, part in bounds.items() if is_number(part)}
    scalers = [*_scalers(values, surely=in_chart)]
    if in_chart and any(each.by_convention and each.least != 0 for each in scalers):
        # Kubernetes lets several scalers have one target: the largest minimum stays.
        return PodNumber(largest([each.least for each in scalers if each.on]))
    if UNKNOWN in (*numbers.values(), *(each.least for each in scalers)):
        worded = (key for key, number in numbers.items() if number is UNKNOWN and values[key] is not UNKNOWN)
        return PodNumber(UNKNOWN, reason=next((_worded(f"{place}.{key}".lstrip(".")) for key in worded), None))
    beside = largest([0, *numbers.values()])
    # A chart's scaler is off unless it says that it is on; then it takes no pods away.
    scalers = [each for each in scalers if each.on or not in_chart or not _fewer(each.least, beside)]
    known = {key: number for key, number in numbers.items() if number is not UNKNOWN}
    known |= {each.key: each.least for each in scalers if each.least is not UNKNOWN}
    if not known:
        return None
    counted = max(known, key=lambda key: known[key])
    fewer = next((key for key, number in known.items() if number < known[counted]), None)
    if fewer is None:
        return PodNumber(known[counted])
    words = [f"{place}.{key}".lstrip(".") for key in (fewer, counted)]
    if any(each.on and _fewer(each.least, known[counted]) for each in scalers):
        return PodNumber(UNKNOWN, reason=_reason("the gate does not know whether {} goes before {}", *words))
    return PodNumber(known[counted], reason=_reason("{1} is the larger number beside {0}", *words))


def _reason(why: str, fewer: str, counted: str) -> UnknownReason:
    return UnknownReason(why.format(fewer, counted), f"If {fewer} sets the number of pods, take {counted} out.")


def _worded(key: str) -> UnknownReason:
    return UnknownReason(f"its {key} is no number, and only the chart or the operator knows which", "Write the number.")


def _numbers(values: Mapping[str, Any], words: re.Pattern[str] = _NUMBER) -> dict[str, Maybe[int]]:
    """The numbers in such words; a text in a word that only means replicas is one, too (``{{ .Values.n }}``)."""
    named = ((str(key), part) for key, part in values.items())
    return {
        key: amount(part)
        for key, part in named
        if words.fullmatch(key)
        and (is_number(part) or (isinstance(part, str) and part.strip() and _NUMBER.fullmatch(key)))
    }


@dataclass(frozen=True)
class _Scaler:
    """The least number of pods of a scaler that is not off; ``on``: it says that it is on."""

    key: str
    least: Maybe[int]
    on: bool
    by_convention: bool


def _scalers(values: Mapping[str, Any], *, surely: bool, on: bool = False, place: str = "") -> Iterator[_Scaler]:
    """The scalers that are not off; ``surely``: a text does not switch one off."""
    for key, part in values.items():
        if not _SCALER.fullmatch(str(key)) or not isinstance(part, Mapping) or _switch_off(part, surely=surely):
            continue
        own = on or any(str(part.get(word)).lower() == "true" for word in _ON)
        for word, least in {**_numbers(part, _PERHAPS), **_numbers(part, _LEAST)}.items():
            named = f"{place}{key}.{word}"
            yield _Scaler(named, least, own, named == _CONVENTION and str(part.get("enabled")).lower() == "true")
        yield from _scalers(part, surely=surely, on=own, place=f"{place}{key}.")


_CONVENTION: Final = "autoscaling.minReplicas"


def _switch_off(values: Mapping[str, Any], *, surely: bool = False) -> str | None:
    """The word by which a part is off, with its value; ``surely``: no text, which Go's templates take for true.

    https://pkg.go.dev/text/template#hdr-Actions (``if``)
    """
    words = {**dict.fromkeys(_ON, "false"), **dict.fromkeys(_OFF, "true")}
    said = ((key, off, values.get(key)) for key, off in words.items())
    return next(
        (
            f"{key}: {off}"
            for key, off, value in said
            if str(value).lower() == off and not (surely and isinstance(value, str))
        ),
        None,
    )


def _fewer(least: Maybe[int], number: Maybe[int]) -> bool:
    return least is not UNKNOWN and number is not UNKNOWN and least < number


def least_of(spec: Mapping[str, Any]) -> Maybe[int]:
    """The least number of pods that a scaler's own spec sets."""
    return largest([0, *_numbers(spec, _PERHAPS).values()])


def has_number(values: Mapping[str, Any]) -> bool:
    """Whether a number of pods stands at this place."""
    return bool(_numbers(values, _PERHAPS))


def is_number(value: Any) -> bool:
    """Whether the value is a number, a text of one (``+8`` and ``8e0`` are 8 in YAML), or unknown."""
    if value is UNKNOWN:
        return True
    return isinstance(value, (int, float, str)) and not isinstance(value, bool) and whole(value) is not UNKNOWN


def times(*numbers: Maybe[int]) -> Maybe[int]:
    """The product; nothing of an unknown number is nothing."""
    if 0 in numbers:
        return 0
    return UNKNOWN if UNKNOWN in numbers else math.prod(number for number in numbers if isinstance(number, int))


def largest(numbers: list[Maybe[int]]) -> Maybe[int]:
    """The largest; unknown if one is."""
    return UNKNOWN if UNKNOWN in numbers else max(number for number in numbers if number is not UNKNOWN)
