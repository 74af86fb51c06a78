"""``UNKNOWN``: a value that the engine learns only when it creates something; reading values that may hold it anywhere,
without a crash and without a guess."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from math import ceil
from typing import Any, Final, TypeAlias, TypeVar

from facts.concepts.kubernetes import quantity


class Unknown(Enum):
    """The type of ``UNKNOWN``: a value the engine learns only when it creates something.

    An enumeration of one, so that type checkers narrow ``x is UNKNOWN``.
    """

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        raise TypeError("UNKNOWN has no truth value: compare with `is UNKNOWN` first")


UNKNOWN: Final = Unknown.UNKNOWN

T = TypeVar("T")

Maybe: TypeAlias = T | Unknown
Texts: TypeAlias = dict[str, Maybe[str | None]]
"""A map of texts (labels); ``UNKNOWN`` where some text is set, ``None`` where certainly none is."""


def at(value: Any, *path: str) -> Any:
    """The value at ``path``, ``None`` where a part is missing, ``UNKNOWN`` where a part is unknown."""
    for key in path:
        if value is UNKNOWN:
            return UNKNOWN
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def coalesce(*values: Any) -> Any:
    """The first value that is not ``None``, known or not; ``None`` if there is none."""
    return next((value for value in values if value is not None), None)


def whole(value: Any, default: int | None = None) -> Maybe[int | None]:
    """A whole number, also from text, a float (the engine's numbers) or a quantity of Kubernetes (``1k``, rounded up);
    ``default`` where nothing is given.

    What is no number is ``UNKNOWN``: the cloud will refuse it, and no rule should take it for a zero.
    """
    if value is None:
        return default
    if value is UNKNOWN or isinstance(value, bool):
        return UNKNOWN
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        pass
    try:
        return ceil(quantity(value)) if isinstance(value, str) else UNKNOWN
    except (ArithmeticError, ValueError):
        return UNKNOWN


def amount(value: Any, default: int = 0) -> Maybe[int]:
    """A whole number, read as :func:`whole`."""
    number = whole(value, default)
    return default if number is None else number


def items(value: Any) -> list[Any]:
    """A list's elements; one ``UNKNOWN`` for an unknown list, nothing for a missing one."""
    if value is UNKNOWN:
        return [UNKNOWN]
    return list(value) if isinstance(value, (list, tuple)) else []


def mapping(value: Any) -> Maybe[Mapping[str, Any]]:
    """A map, empty where nothing is given; ``UNKNOWN`` for what is none: the cloud will refuse it."""
    if isinstance(value, Mapping):
        return value
    return {} if value is None else UNKNOWN


def texts(value: Any) -> Maybe[Texts]:
    """A map of texts (labels), read as :func:`mapping`; a value in it may be ``UNKNOWN``."""
    entries = mapping(value)
    if entries is UNKNOWN:
        return UNKNOWN
    return {str(key): UNKNOWN if part is UNKNOWN else str(part) for key, part in entries.items()}


def known_texts(value: Any) -> Maybe[dict[str, str]]:
    """A map of texts all of which are known, else ``UNKNOWN``."""
    entries = mapping(value)
    if entries is UNKNOWN or UNKNOWN in entries.values():
        return UNKNOWN
    return {str(key): str(part) for key, part in entries.items()}


def holds_unknown(value: Any) -> bool:
    """Whether the value, or a part of it at any depth, is ``UNKNOWN``."""
    if isinstance(value, Mapping):
        return any(holds_unknown(part) for part in value.values())
    if isinstance(value, (list, tuple)):
        return any(holds_unknown(part) for part in value)
    return value is UNKNOWN


class Noted(dict[str, Any]):
    """An object that calls ``note`` with each key that is looked up in it, and whether by its name or among all."""

    def __init__(self, values: Mapping[str, Any], note: Callable[[str, bool], None]) -> None:
        super().__init__(values)
        self._note = note

    def __getitem__(self, key: str) -> Any:
        self._note(key, True)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value, as a dict's."""
        self._note(key, True)
        return super().get(key, default)

    def items(self) -> Any:
        """All keys with their values, as a dict's."""
        self._note_all()
        return super().items()

    def values(self) -> Any:
        """All values, as a dict's."""
        self._note_all()
        return super().values()

    def _note_all(self) -> None:
        for key in self:
            self._note(key, False)


def noting_unknowns(value: Any, asked: dict[tuple[str, ...], bool], *path: str) -> Any:
    """The value, which adds to ``asked`` the path of each unknown part that is looked up in it, and whether that is by
    its name. An unknown part of a list is looked up with the list."""
    if isinstance(value, (list, tuple)):
        return [noting_unknowns(part, asked, *path) for part in value]
    if not isinstance(value, Mapping):
        return value
    open = {key for key, part in value.items() if any(each is UNKNOWN for each in items(part) or (part,))}

    def note(key: str, by_name: bool) -> None:
        if key in open:
            asked[(*path, key)] = asked.get((*path, key), False) or by_name

    return Noted({key: noting_unknowns(part, asked, *path, str(key)) for key, part in value.items()}, note)


def text(value: Any) -> Maybe[str | None]:
    """Text, ``None`` where nothing (or an empty text) is given, ``UNKNOWN``."""
    return UNKNOWN if value is UNKNOWN else (str(value) if value not in (None, "") else None)


def known_text(value: Any) -> str | None:
    """Text that is given and known, else ``None``."""
    name = text(value)
    return name if isinstance(name, str) else None


# What Go's programs, and with them providers, take for a boolean as a text: https://pkg.go.dev/strconv#ParseBool
_TRUE: Final = ("1", "t", "T", "TRUE", "true", "True")
_FALSE: Final = ("0", "f", "F", "FALSE", "false", "False")


def flag(value: Any) -> Maybe[bool]:
    """A boolean, also as a text; missing is ``False``."""
    return UNKNOWN if value is UNKNOWN else value is True or (isinstance(value, str) and value in _TRUE)


def is_false(value: Any) -> Maybe[bool]:
    """Whether it is the boolean ``False``, also as a text; missing is not."""
    return UNKNOWN if value is UNKNOWN else value is False or (isinstance(value, str) and value in _FALSE)


def mappings_in(value: Any) -> Iterator[Mapping[str, Any]]:
    """The mappings in ``value`` at any depth; none in what is unknown."""
    if isinstance(value, Mapping):
        yield value
        for part in value.values():
            yield from mappings_in(part)
    elif value is not UNKNOWN:
        for part in items(value):
            yield from mappings_in(part)


def both(answers: Iterable[Maybe[bool]]) -> Maybe[bool]:
    """No if one is no, else unknown if one is unknown, else yes."""
    unknown = False
    for answer in answers:
        if answer is False:
            return False
        unknown = unknown or answer is UNKNOWN
    return UNKNOWN if unknown else True


def either(answers: Iterable[Maybe[bool]]) -> Maybe[bool]:
    """Yes if one is yes, else unknown if one is unknown, else no."""
    return negation(both(map(negation, answers)))


def negation(answer: Maybe[bool]) -> Maybe[bool]:
    """Yes for no, no for yes."""
    return UNKNOWN if answer is UNKNOWN else not answer
