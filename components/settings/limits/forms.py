"""How a cloud writes names, IDs and principals in a stack file: the forms of ``forms.yaml``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic.alias_generators import to_snake

from components.settings.limits.table import entries
from components.settings.problems import Problem
from components.settings.settings import Settings


def problems(
    settings: Settings, section: str = "", known: Mapping[str, re.Pattern[str]] | None = None
) -> Iterator[Problem]:
    """Texts of another form, in the whole file or in one section; a key that is left out is of any.

    ``known`` are the patterns that ``forms.yaml`` only names.
    """
    region = settings.region
    for key, form in entries("forms", settings.cloud):
        for path, text in _texts(settings, key) if key.startswith(section) else ():
            match = re.fullmatch(form.get("written") or (known or {})[form["known"]], text)
            if match is None:
                yield Problem(path, f"'{text}' is not {form['is_not']}", form["remedy"].replace("{region}", region))
            elif (its := match.groupdict().get("region", region)) != region:
                needs = f"{settings.cloud.upper()} needs one in the cluster's region, {region}"
                yield Problem(path, f"the key is in {its}, but {needs}", form["elsewhere"].replace("{region}", region))


def _texts(of: Any, key: str, before: str = "") -> Iterator[tuple[str, str]]:
    """The texts at a key with their paths, such as ``access[0].who``. That of a list of texts is the list's own."""
    step, _, rest = key.partition(".")
    name = step.removesuffix("[]")
    value, path = getattr(of, to_snake(name)), f"{before}{name}"
    listed = enumerate(value) if step.endswith("[]") else ((None, value),)
    for number, entry in listed:
        where = path if number is None else f"{path}[{number}]"
        if rest and entry is not None:
            yield from _texts(entry, rest, f"{where}.")
        elif not rest:
            yield from ((where, text) for text in ([entry] if isinstance(entry, str) else entry or ()))
