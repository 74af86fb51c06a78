"""Problems of a stack file, each with a remedy; also made from pydantic's errors."""

from __future__ import annotations

import difflib
import re
import shlex
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

import yaml
from pydantic import BaseModel, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from components.settings.fields.answers import Words
from facts.concepts.counts import counted
from facts.concepts.foreign_text import without_controls
from facts.concepts.stack_config import NAMESPACE

Location = tuple[int | str, ...]

# Placeholder in a message for the key path of the entry being validated, which only ``invalid`` knows.
HERE: Final = "<here>"

# difflib's ratio above which a word is probably another one misspelt. Pairs such as dnsEndpoint and privateEndpoint
# (0.62) must stay below it: the wrong one would lock users out.
LIKELY: Final = 0.66
_LONGEST_WORD: Final = 100
_MOST_PLACES: Final = 4
"""Places that a remedy names for a key."""
_LONGEST: Final = 2_000
"""Characters of one sentence; the longest list of choices has half of them."""

# Error type → what was expected, and an example of it.
_EXPECTED: Final[Mapping[str, tuple[str, str]]] = {
    "string_type": ("text", "Write text; in quotes if it looks like a number"),
    "int_type": ("a whole number", "Write a whole number, such as 8, without quotes and units"),
    "float_type": ("a number", "Write a number, such as 2.5, without quotes and units"),
    "finite_number": ("an amount", "Write a number, such as 2.5, or leave the key out"),
    "bool_type": ("true or false", "Write true or false without quotes"),
    "tuple_type": ("a list", "Write a list: [ … ], or one '- …' a line"),
    "dict_type": ("a mapping", "Write a mapping: key: value"),
    "model_type": ("a mapping", "Write a mapping: key: value"),
}


_ITEM: Final = re.compile(r"\[\d+\]$")
_AMOUNT: Final = re.compile(r"[$€]?\s*(?P<number>\d+(\.\d+)?)\s*(?P<unit>[A-Za-z]*)")
_GIB: Final = {**dict.fromkeys(("g", "gb", "gi", "gib"), 1), **dict.fromkeys(("t", "tb", "ti", "tib"), 1024)}
# End of a key → units that people write → how many of the key's own unit they are.
_UNITS: Final[Mapping[str, Mapping[str, int]]] = {
    "gb": _GIB,
    "gib": _GIB,
    "minutes": {"m": 1, "min": 1, "h": 60, "d": 1440},
    "hours": {"h": 1, "d": 24},
    "days": {"d": 1, "w": 7},
    "usd": {"usd": 1},
}


@dataclass(frozen=True)
class Problem:
    """One problem: the key's ``path`` (``gpuPools[1].gpusPerNode``), what is wrong, what to write instead."""

    path: str
    message: str
    remedy: str
    manifest: str = ""
    """What the remedy says to apply: of the program's own words, and never cut."""

    def __str__(self) -> str:
        manifest = f"\n{self.manifest}" if self.manifest else ""
        return f"{self.path}: {_sentence(self.message)} {_sentence(self.remedy)}{manifest}"


def _sentence(text: str) -> str:
    """A sentence as a terminal may show it; what a file has in it of any length is cut."""
    shown = without_controls(text, "?")
    shown = shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"
    return shown if shown.endswith((".", "?")) else f"{shown}."


class SettingsError(Exception):
    """A stack file with problems: all of them, one a line; ``more`` if some checks need what is not valid yet."""

    def __init__(self, problems: Sequence[Problem], *, stack: str = "", more: bool = False) -> None:
        self.problems = tuple(problems)
        self.stack = stack
        self.more = more
        where = f" of stack '{stack}'" if stack else ""
        head = f"{counted(len(problems), 'problem')} in the settings{where}:"
        last = ["More may follow once these are corrected."] if more else []
        super().__init__("\n".join([head, *(f"  {problem}" for problem in problems), *last]))


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant, compared without regard to case; ``None`` if nothing is near."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    # Its time grows with the square of the length.
    match = difflib.get_close_matches(word[:_LONGEST_WORD].lower(), by_lower, n=1, cutoff=LIKELY)
    return by_lower[match[0]] if match else None


def instead(word: str, known: Sequence[str], *, shown: int = 32) -> str:
    """A remedy for an unknown word: the nearest known one, or a list of them."""
    near = nearest(word, known)
    if near is not None:
        return f"Did you mean '{near}'?"
    listed = f"one of {', '.join(known[:shown])}" if len(known) > 1 else "".join(known)
    return f"Write {listed}" + (f" … ({len(known)} in all)" if len(known) > shown else "")


def invalid(error: ValidationError, model: type[BaseModel], raw: object, words: Words) -> list[Problem]:
    """All of the error's problems, in the order of the file's keys; one per key."""
    problems: dict[str, Problem] = {}
    meant: set[str] = set()
    for detail in error.errors(include_url=False):
        location = _written(detail["loc"], raw, model)
        problem = _problem(detail, location, model, words)
        problems.setdefault(problem.path, problem)
        if detail["type"] == "extra_forbidden":
            near = nearest(str(location[-1]), keys_of(model, location[:-1]))
            if near is not None and near not in _mapping_at(raw, location[:-1]):
                meant.add(path((*location[:-1], near)))
    cloud = raw.get("cloud") if isinstance(raw, Mapping) else None
    if (answer := words.for_value("cloud", cloud)) is not None:
        # Further problems would be about a cloud that the author did not choose.
        return [Problem("cloud", *answer)]
    # A misspelt key is one problem: the key that it stands for is not reported as missing.
    return [problem for problem in problems.values() if problem.path not in meant]


def _mapping_at(raw: object, location: Location) -> Mapping[object, object]:
    """The mapping at a location of the file; an empty one where there is none."""
    for step in location:
        found = raw.get(step) if isinstance(raw, Mapping) else None
        raw = raw[step] if isinstance(raw, list) and isinstance(step, int) and step < len(raw) else found
    return raw if isinstance(raw, Mapping) else {}


def empty(model: type[BaseModel], here: object, location: Location = ()) -> Iterator[Problem]:
    """The keys of a file's sections after which nothing is written, as of a section whose keys are all comments: they
    would be as those that are left out."""
    if isinstance(here, list):
        for index, each in enumerate(here):
            yield from empty(model, each, (*location, index))
    if not isinstance(here, Mapping):
        return
    for key in (each for each in keys_of(model, location) if each in here):
        there = (*location, key)
        if here[key] is not None:
            yield from empty(model, here[key], there)
            continue
        section = _section(model, there)
        required = section is None or any(field.is_required() for field in section.model_fields.values())
        remedy = _meaning(model, there) if required else f"Write {key}: {{}} for its defaults"
        yield Problem(path(there), "nothing is written after the key", f"{remedy}, or leave it out")


def in_quotes(
    error: ValidationError, model: type[BaseModel], raw: Mapping[str, Any]
) -> tuple[Mapping[str, Any], dict[str, str]]:
    """The file with a text in place of each value that YAML reads as something else, and these texts by their paths."""
    texts: dict[str, str] = {}
    for detail in error.errors(include_url=False):
        location, value = _written(detail["loc"], raw, model), detail["input"]
        lists = detail["type"] == "tuple_type"
        if (detail["type"] == "string_type" or lists) and isinstance(value, int | float | date):
            text = str(value).lower() if isinstance(value, bool) else str(value)
            texts[path(location)] = text
            raw = _with(raw, location, value, [text] if lists else text)
    return raw, texts


def _with(here: Any, location: Location, before: object, value: object) -> Any:
    """With another ``value`` than ``before``, which may be a key in place of a value."""
    if not location:
        return value if here is before else here
    step, rest = location[0], location[1:]
    if isinstance(here, Mapping):
        return {key: _with(each, rest, before, value) if key == step else each for key, each in here.items()}
    return [_with(each, rest, before, value) if index == step else each for index, each in enumerate(here)]


def as_texts(problems: Iterable[Problem], texts: Mapping[str, str], others: Sequence[Problem]) -> list[Problem]:
    """``problems``; of what is one of ``texts`` in quotes, as ``others`` have it, which has them so."""
    results: dict[str, Problem] = {}
    for problem in problems:
        places = (problem.path, _ITEM.sub("", problem.path)) if problem.path in texts else ()
        answer = next((each for each in others if each.path in places), problem)
        if answer is problem and places and problem.remedy == _EXPECTED["string_type"][1]:
            answer = replace(problem, remedy=f"Write '{texts[problem.path]}', in quotes")
        results.setdefault(answer.path, answer)
    return [*results.values()]


def path(location: Location) -> str:
    """``("gpuPools", 1, "gpu")`` → ``gpuPools[1].gpu``."""
    text = ""
    for step in location:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text or "config"


def _written(location: Location, raw: object, model: type[BaseModel]) -> Location:
    """The part of a location that exists in the file: pydantic adds steps for unions and for keys of mappings, and a
    section adds one where it makes a list of the one mapping that the file has (``reservation``)."""
    steps: list[int | str] = []
    for index, step in enumerate(location):
        last = index == len(location) - 1
        if isinstance(raw, Mapping):
            # Defaults are located by the field's name, not by its key.
            key = to_camel(step) if isinstance(step, str) and step not in raw else step
            if isinstance(step, int) and key not in raw:
                continue
            if (key not in raw and not (last and keys_of(model, tuple(steps)))) or step == "[key]":
                break
            steps.append(key)
            raw = raw.get(key)
        elif isinstance(raw, Sequence) and not isinstance(raw, str) and isinstance(step, int):
            steps.append(step)
            raw = raw[step] if step < len(raw) else None
        else:
            break
    return tuple(steps)


def _problem(detail: ErrorDetails, location: Location, model: type[BaseModel], words: Words) -> Problem:
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    where = path(location)
    if kind in ("problem", "literal_error") and (answer := words.for_value(str(location[-1]), value)) is not None:
        return Problem(where, *answer)
    if kind == "problem":
        message = str(context["message"]).replace(HERE, path(location[:-1]))
        return Problem(where, message, str(context["remedy"]))
    if kind == "extra_forbidden":
        key, known = str(location[-1]), keys_of(model, location[:-1])
        in_pool = len(location) == 3 and location[0] in ("gpuPools", "cpuPools")
        steps = location[:-1]
        around = [] if any(isinstance(step, int) for step in steps) else [str(step) for step in steps]
        answer = words.for_path(location) or words.for_key(key, known, around, value=value, in_pool=in_pool)
        near = nearest(key, known)
        places = _places(model, key, steps, elsewhere=near is None)
        answer = answer or (None if places else words.for_input(key, in_pool=in_pool))
        others = f"the keys here are {', '.join(known)}" if known else "there are no keys here"
        remedy = f"Did you mean '{near}'?" if near else f"Leave it out; {others}"
        if steps and steps[-1] == key:
            remedy = f"Write what is in it one level higher, in {path(steps)}"
        elif places:
            remedy = (
                f"Did you mean '{near}', or {' or '.join(places)}?" if near else f"Move it to {' or '.join(places)}"
            )
        return Problem(where, *(answer or (f"there is no key '{key}'", remedy)))
    if kind == "invalid_key":
        known = ", ".join(keys_of(model, location[:-1]))
        return Problem(
            path(location[:-1]), f"the key {_shown(value)} is no text", f"Leave it out; the keys here are {known}"
        )
    if kind == "missing":
        return Problem(where, "missing, and there is no default", _meaning(model, location))
    if kind == "literal_error":
        choices = str(context["expected"]).replace(" or ", ", ").split(",")
        allowed, short = tuple(word.strip().strip("'") for word in choices), str(value).partition(".")[0]
        remedy = f"Write {short}" if short in allowed else instead(str(value), allowed)
        return Problem(where, f"{_shown(value)} is not one of {', '.join(allowed)}", remedy)
    if kind in ("greater_than_equal", "greater_than", "less_than_equal"):
        bound = context.get("ge", context.get("gt", context.get("le")))
        word = {"greater_than_equal": "or more", "greater_than": "at least more than", "less_than_equal": "or less"}[
            kind
        ]
        remedy = f"Write more than {bound:g}" if kind == "greater_than" else f"Write {bound:g} {word}"
        return Problem(where, f"{_shown(value)} is too {'large' if kind == 'less_than_equal' else 'small'}", remedy)
    if kind == "string_pattern_mismatch":
        pattern, text = str(context["pattern"]), str(value)
        meant = next((each for each in (f"/{text}", text.lower()) if re.search(pattern, each)), None)
        remedy = f"Write {meant}" if meant else _meaning(model, location)
        return Problem(where, f"{_shown(value)} does not match {pattern}", remedy)
    if kind == "string_too_short":
        return Problem(where, "is empty", _meaning(model, location))
    if kind == "string_too_long":
        return Problem(where, f"{_shown(value)} has {len(str(value))} characters", detail["msg"])
    expected, remedy = _EXPECTED.get(kind, (detail["msg"].lower(), _meaning(model, location)))
    meant = _as_meant(kind, location, value, model)
    if kind == "tuple_type" and meant == f"Write {value}, without quotes":
        expected = "a number"
    return Problem(where, f"{_shown(value)} is not {expected}", meant or remedy)


def _as_meant(kind: str, location: Location, value: object, model: type[BaseModel]) -> str | None:
    """What to write for a value of the wrong type, where that leaves no doubt."""
    key = str(location[-1])
    if kind == "int_type" and isinstance(value, Mapping):
        return _meaning(model, location)
    if kind == "string_type" and isinstance(value, list) and value:
        others = ", and an entry of its own for each other" if any(isinstance(step, int) for step in location) else ""
        return f"Write {'' if isinstance(location[-1], int) else f'{key}: '}{value[0]}{others}"
    if kind == "tuple_type" and isinstance(value, Mapping):
        return _listed(key, value, keys_of(model, location))
    around = _section(model, location[:-1]) if kind == "tuple_type" and isinstance(value, str | int) else None
    if around is not None:
        if isinstance(value, str) and value.isdigit() and _accepts(around, key, int(value)):
            return f"Write {value}, without quotes"
        items = next((each for each in (_words(value), [value]) if _accepts(around, key, each)), None)
        return f"Write {yaml.safe_dump(items, default_flow_style=True, width=_LONGEST).strip()}" if items else None
    if kind in ("int_type", "float_type") and isinstance(value, str):
        amount = _AMOUNT.fullmatch(value.strip())
        units = next((units for suffix, units in _UNITS.items() if key.lower().endswith(suffix)), {})
        factor = {"": 1, **units}.get(amount["unit"].lower()) if amount else None
        if amount is None or factor is None:
            return None
        number = float(amount["number"]) * factor
        return f"Write {round(number) if kind == 'int_type' else number:g}" + (
            ", without quotes" if value.isdigit() else ""
        )
    section = _section(model, location) if kind == "model_type" else None
    before = f"{key}: " if isinstance(location[-1], str) else ""
    return None if section is None else _mapping_for(value, section, before)


def _listed(key: str, value: Mapping[Any, Any], known: Sequence[str]) -> str | None:
    """The list to write in place of a mapping: of one entry's keys, or of entries by their names."""
    if not value:
        return None
    if value.keys() <= {*known}:
        entries: list[Any] = [value]
    elif "name" in known and all(isinstance(each, Mapping) and "name" not in each for each in value.values()):
        entries = [{"name": name, **each} for name, each in value.items()]
    else:
        return None
    return f"Write {key}: {yaml.safe_dump(entries, default_flow_style=True, sort_keys=False, width=_LONGEST).strip()}"


def _words(value: object) -> list[str]:
    """The words of a text that stands for a list: ``python serve.py``, ``us-central1-a, us-central1-b``."""
    try:
        return [word.removesuffix(",") for word in shlex.split(str(value))]
    except ValueError:  # a quotation mark without its other half
        return str(value).split()


def _mapping_for(value: object, section: type[BaseModel], before: str) -> str:
    """The mapping to write in place of one value: the value under the only key that takes it, and required keys."""
    keys = {field.alias or name: field.is_required() for name, field in section.model_fields.items()}
    # An amount of money without its period would be a guess.
    fitting = [key for key in keys if not key.endswith("Usd") and _takes(section, key, value)]
    meant = fitting[0] if len(fitting) == 1 else None
    shown = [key for key, required in keys.items() if required or key == meant or len(keys) == 1]
    written = ", ".join(f"{key}: {value if key == meant else '…'}" for key in shown)
    others = f" for the defaults, or some of {', '.join(keys)}" if keys and not shown else ""
    return f"Write {before}{{{written}}}{others}"


def _takes(section: type[BaseModel], key: str, value: object) -> bool:
    return not isinstance(value, bool | list) and _accepts(section, key, value)


def _accepts(section: type[BaseModel], key: str, value: object) -> bool:
    try:
        section.model_validate({key: value})
    except ValidationError as error:
        return not any(each["loc"][:1] in ((), (key,)) for each in error.errors())
    return True


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def keys_of(model: type[BaseModel], location: Location) -> tuple[str, ...]:
    """The keys of the section at ``location``."""
    section = _section(model, location)
    return tuple(field.alias or name for name, field in section.model_fields.items()) if section else ()


def _places(model: type[BaseModel], key: str, section: Location, *, elsewhere: bool) -> list[str]:
    """Where the file has a key of that name: around the section at ``section`` or in it, else ``elsewhere``, in a
    section that is no entry of a list. Empty if there are many.
    """
    around = [section[:end] for end in range(len(section)) if not isinstance(section[end], int)]
    above = [path((*each, key)) for each in reversed(around) if key in keys_of(model, each)]
    here = _section(model, section)
    before = f"{path(section)}." if section else ""
    below = [f"{before}{each}" for each in _paths(here, key)] if here is not None else []
    others = [each for each in _paths(model, key) if "[]" not in each and each != path((*section, key))]
    places = above[:1] or below or (others if elsewhere else [])
    return [each if "." in each else f"{NAMESPACE}:{each}" for each in places] if len(places) <= _MOST_PLACES else []


def _paths(model: type[BaseModel], key: str) -> Iterator[str]:
    """The paths of all keys of that name in the sections of ``model``; ``[]`` stands for each entry of a list."""
    for name, field in model.model_fields.items():
        own, written = field.alias or name, str(field.annotation)
        for section in models_in(field.annotation):
            before = f"{own}{'[]' if 'tuple' in written else ''}."
            if key in keys_of(section, ()):
                yield f"{before}{key}"
            yield from (f"{before}{each}" for each in _paths(section, key))


def _meaning(model: type[BaseModel], location: Location) -> str:
    section = _section(model, location[:-1])
    for name, field in section.model_fields.items() if section else ():
        if location[-1] in (name, field.alias):
            return f"Write {location[-1]} ({field.description})"
    return "See docs/configuration.md"


def _section(model: type[BaseModel], location: Location) -> type[BaseModel] | None:
    """The model that describes the mapping at ``location``."""
    current: type[BaseModel] | None = model
    for step in location:
        if isinstance(step, int) or current is None:
            continue
        fields = {field.alias or name: field.annotation for name, field in current.model_fields.items()}
        current = next(models_in(fields.get(step)), None)
    return current


def models_in(annotation: Any) -> Iterator[type[BaseModel]]:
    """Models that a type mentions, through unions, lists and annotations."""
    if (
        isinstance(annotation, type)
        and not isinstance(annotation, types.GenericAlias)
        and issubclass(annotation, BaseModel)
    ):
        yield annotation
    for inner in typing.get_args(annotation):
        yield from models_in(inner)


def sections_in(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Models in the fields of a model, and in theirs."""
    for field in model.model_fields.values():
        for nested in models_in(field.annotation):
            yield nested
            yield from sections_in(nested)
