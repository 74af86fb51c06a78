"""How a cloud writes names, IDs and principals in a stack file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic.alias_generators import to_snake

from components.settings.problems import Problem
from components.settings.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Form:
    """The form of the texts at ``keys``, paths in a stack file; ``[]`` stands for each entry of a list.

    ``written`` matches a whole text; ``is_not`` says what another text is not. If its group ``region`` is there, it
    must be the cluster's. ``remedy``, and ``elsewhere`` for a text of another region, may contain ``{region}``.
    """

    keys: tuple[str, ...]
    written: re.Pattern[str]
    is_not: str
    remedy: str
    elsewhere: str = ""


def problems(settings: Settings, forms: Sequence[Form]) -> Iterator[Problem]:
    """Texts of another form; a key that is left out is of any."""
    region = settings.region
    for form in forms:
        for path, text in (each for key in form.keys for each in _texts(settings, key)):
            match = form.written.fullmatch(text)
            if match is None:
                yield Problem(path, f"'{text}' is not {form.is_not}", form.remedy.replace("{region}", region))
            elif (its := match.groupdict().get("region", region)) != region:
                needs = f"{settings.cloud.upper()} needs one in the cluster's region, {region}"
                yield Problem(path, f"the key is in {its}, but {needs}", form.elsewhere.replace("{region}", region))


def _texts(of: Any, key: str, before: str = "") -> Iterator[tuple[str, str]]:
    """The texts at a key with their paths, such as ``access[0].who``. That of a list of texts is the list's own."""
    step, _, rest = key.partition(".")
    name = step.removesuffix("[]")
    value, path = getattr(of, to_snake(name)), f"{before}{name}"
    entries = enumerate(value) if step.endswith("[]") else ((None, value),)
    for number, entry in entries:
        where = path if number is None else f"{path}[{number}]"
        if rest and entry is not None:
            yield from _texts(entry, rest, f"{where}.")
        elif not rest:
            yield from ((where, text) for text in ([entry] if isinstance(entry, str) else entry or ()))
