"""The rows of a cloud (``limits/<cloud>/refused.py``), applied to a stack file."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

from pydantic.alias_generators import to_snake

from components.settings.fields.answers import KNOWN_LATER, Form, Refused, asks_nothing
from components.settings.fields.problems import Problem
from components.settings.fields.types import NotValidYet, Section
from components.settings.pools.settings import Settings

# Four patterns each; the same few hundred keys are asked for again and again.
_snake = functools.cache(to_snake)


def refused(settings: Settings, rows: Sequence[Refused]) -> Iterator[Problem]:
    """What the rows refuse.

    Raises:
        NotValidYet: behind all other rows, if one needs a key that is not valid yet.
    """
    left_out = False
    for row, key in [(each, key) for each in rows for key in each.keys]:
        try:
            if row.autoscaler is None or row.autoscaler == settings.autoscaler:
                yield from _refused(settings, row, key)
        except NotValidYet:
            left_out = True
    if left_out:
        raise NotValidYet


def _refused(settings: Settings, row: Refused, key: str) -> Iterator[Problem]:
    first, _, rest = key.partition(".")
    lists = {"gpuPools": ("gpuPools",), "cpuPools": ("cpuPools",), "pools": ("gpuPools", "cpuPools")}.get(first, ())
    holders = [
        (f"{name}[{index}].{rest}", entry, rest)
        for name in lists
        for index, entry in enumerate(_read(settings.file, name))
    ]
    for path, holder, inner in holders if lists else [(key, settings.file, key)]:
        applies = all(_value(holder, other, settings) == value for other, value in row.together.items())
        if applies and not any(asks_nothing(_value(holder, other, settings)) for other in row.present):
            answer = row.refuses(_value(holder, inner, settings))
            yield from [] if answer is None else [Problem(path, *answer)]


def _value(holder: Section, key: str, settings: Settings) -> Any:
    """The value of a key of an entry, or else of the file; ``None`` if a section on the way is left out."""
    first = _snake(key.partition(".")[0])
    value = _read(holder if first in type(holder).model_fields else settings.file, key)
    if key == "image" and holder is not settings.file:
        return (value or settings.known.nodes.images[0]).partition("@")[0]
    return value


def _read(section: Any, key: str) -> Any:
    for step in key.split("."):
        section = None if section is None else getattr(section, _snake(step))
    return section


def other_forms(settings: Settings, forms: Sequence[Form]) -> Iterator[Problem]:
    """Texts of another form; a key that is left out is of any."""
    for form in forms:
        for key in form.keys:
            for path, text in _texts(settings.file, key):
                if text != KNOWN_LATER:
                    yield from _other_form(settings, form, path, text)


def _other_form(settings: Settings, form: Form, path: str, text: str) -> Iterator[Problem]:
    match = form.written.fullmatch(text)
    if match is None:
        remedy = form.remedy.replace("{region}", settings.region)
        yield Problem(path, f"'{text}' is not {form.is_not}", remedy)
    elif (region := match.groupdict().get("region")) not in (None, settings.region):
        needs = f"{settings.cloud.upper()} needs one in the cluster's region, {settings.region}"
        elsewhere = form.elsewhere.replace("{region}", settings.region)
        yield Problem(path, f"'{text}' is in {region}, but {needs}", elsewhere)


def _texts(section: Any, key: str, before: str = "") -> Iterator[tuple[str, str]]:
    """The texts at a key with their paths, such as ``access[0].who``. That of a list of texts is the list's own."""
    step, _, rest = key.partition(".")
    name = step.removesuffix("[]")
    try:
        value, path = getattr(section, _snake(name)), f"{before}{name}"
    except NotValidYet:
        return
    listed = enumerate(value) if step.endswith("[]") else ((None, value),)
    for number, entry in listed:
        where = path if number is None else f"{path}[{number}]"
        if rest and entry is not None:
            yield from _texts(entry, rest, f"{where}.")
        elif not rest:
            yield from ((where, text) for text in ([entry] if isinstance(entry, str) else entry or ()))
