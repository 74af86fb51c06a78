"""Evaluates the expressions of Azure's templates, as far as they are made of literals, parameters and variables.

https://learn.microsoft.com/azure/azure-resource-manager/templates/template-expressions and
https://learn.microsoft.com/azure/azure-resource-manager/templates/template-functions
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, holds_unknown

_TOKEN: Final = re.compile(r"\s*(?:'((?:[^']|'')*)'|(-?\d+(?:\.\d+)?)|([A-Za-z_]\w*)|([().,\[\]]))")


def evaluated(expression: str, lookup: Callable[[str, str], Any]) -> Any:
    """The value of an expression without its outer brackets; ``UNKNOWN`` for what only Azure can tell.

    ``lookup``: the value of a parameter or a variable, by ``parameters`` or ``variables`` and its name.
    """
    parser = _Parser(expression, lookup)
    value = parser.value()
    return value if parser.at_end() else UNKNOWN


class _Parser:
    """Reads an expression once, from left to right; what it cannot read makes all of it unknown."""

    def __init__(self, text: str, lookup: Callable[[str, str], Any]) -> None:
        self._tokens: list[tuple[str, Any]] = []
        self._place = 0
        self._lookup = lookup
        self._readable = True
        end = 0
        while text[end:].strip():
            match = _TOKEN.match(text, end)
            if match is None:
                self._readable = False
                break
            literal, number, word, sign = match.groups()
            if literal is not None:
                self._tokens.append(("value", literal.replace("''", "'")))
            elif number is not None:
                self._tokens.append(("value", float(number) if "." in number else int(number)))
            else:
                self._tokens.append(("word", word) if word is not None else (sign, None))
            end = match.end()

    def at_end(self) -> bool:
        """Whether everything was read."""
        return self._readable and self._place == len(self._tokens)

    def value(self) -> Any:
        """The value of the expression at this place."""
        kind, content = self._next()
        if kind == "value":
            return content
        if kind != "word" or not self._took("("):
            self._readable = False
            return UNKNOWN
        arguments: list[Any] = []
        while not self._took(")"):
            if arguments and not self._took(","):
                self._readable = False
            if not self._readable or self._place >= len(self._tokens):
                self._readable = False
                return UNKNOWN
            arguments.append(self.value())
        return self._part_of(self._called(content.lower(), arguments))

    def _part_of(self, value: Any) -> Any:
        while True:
            if self._took("."):
                kind, name = self._next()
                value = _element(value, name) if kind == "word" else UNKNOWN
            elif self._took("["):
                index = self.value()
                self._readable = self._took("]") and self._readable
                value = _element(value, index)
            else:
                return value

    def _called(self, function: str, arguments: Sequence[Any]) -> Any:
        if function in ("parameters", "variables") and len(arguments) == 1 and isinstance(arguments[0], str):
            return self._lookup(function, arguments[0])
        if function == "if" and len(arguments) == 3:
            held = arguments[0]
            return arguments[1 if held else 2] if isinstance(held, bool) else UNKNOWN
        if function == "coalesce":
            return coalesce(*arguments)
        known = _FUNCTIONS.get(function)
        if known is None or holds_unknown(arguments):
            return UNKNOWN
        try:
            return known(*arguments)
        except (TypeError, ValueError, LookupError, ArithmeticError):
            return UNKNOWN

    def _next(self) -> tuple[str, Any]:
        if self._place >= len(self._tokens):
            self._readable = False
            return "", None
        self._place += 1
        return self._tokens[self._place - 1]

    def _took(self, sign: str) -> bool:
        taken = self._place < len(self._tokens) and self._tokens[self._place][0] == sign
        self._place += taken
        return taken


def _element(value: Any, key: Any) -> Any:
    if isinstance(value, Mapping) and isinstance(key, str):
        return coalesce(at(value, key), UNKNOWN)
    listed = isinstance(value, (list, tuple)) and isinstance(key, int) and 0 <= key < len(value)
    return value[key] if listed else UNKNOWN


def _equal(one: Any, other: Any) -> Any:
    # Azure compares values of one type.
    return one == other if isinstance(other, type(one)) and isinstance(one, type(other)) else UNKNOWN


def _switch(value: Any) -> Any:
    texts = {"true": True, "false": False, "1": True, "0": False}
    return value if isinstance(value, bool) else texts.get(str(value).lower(), UNKNOWN)


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value)
    return str(value) if isinstance(value, (str, int)) else UNKNOWN


def _joined(*parts: Any) -> Any:
    if parts and all(isinstance(part, list) for part in parts):
        return [each for part in parts for each in part]
    texts = [_text(part) for part in parts]
    return UNKNOWN if UNKNOWN in texts else "".join(texts)


def _formatted(text: str, *values: Any) -> Any:
    texts = [_text(value) for value in values]
    plain = re.fullmatch(r"(?:[^{}]|\{\d+\})*", text) is not None
    return text.format(*texts) if plain and UNKNOWN not in texts else UNKNOWN


def _all(*values: Any) -> Any:
    return all(values) if all(isinstance(each, bool) for each in values) else UNKNOWN


def _any(*values: Any) -> Any:
    return any(values) if all(isinstance(each, bool) for each in values) else UNKNOWN


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else UNKNOWN


def _listed(values: Sequence[Any]) -> list[int]:
    numbers = values[0] if len(values) == 1 and isinstance(values[0], list) else list(values)
    return [each if isinstance(each, int) else int(str(each)) for each in numbers]


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "add": lambda one, other: _whole(one) + _whole(other),
    "and": _all,
    "array": lambda value: value if isinstance(value, list) else [value],
    "bool": _switch,
    "concat": _joined,
    "contains": lambda container, item: item in container if isinstance(container, (list, str)) else UNKNOWN,
    "createarray": lambda *values: [*values],
    "div": lambda one, other: math.trunc(_whole(one) / _whole(other)),
    "empty": lambda value: len(value) == 0,
    "equals": _equal,
    "false": lambda: False,
    "format": _formatted,
    "greater": lambda one, other: _whole(one) > _whole(other),
    "greaterorequals": lambda one, other: _whole(one) >= _whole(other),
    "int": _whole,
    "json": lambda text: {"true": True, "false": False}.get(text, UNKNOWN),
    "length": len,
    "less": lambda one, other: _whole(one) < _whole(other),
    "lessorequals": lambda one, other: _whole(one) <= _whole(other),
    "max": lambda *values: max(_listed(values)),
    "min": lambda *values: min(_listed(values)),
    "mul": lambda one, other: _whole(one) * _whole(other),
    "not": lambda value: not value if isinstance(value, bool) else UNKNOWN,
    "or": _any,
    "string": _text,
    "sub": lambda one, other: _whole(one) - _whole(other),
    "tolower": lambda text: text.lower(),
    "toupper": lambda text: text.upper(),
    "true": lambda: True,
}
"""By their names in lower case: Azure ignores the case."""
