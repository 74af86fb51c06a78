"""Values of Go source: what a literal says, through the names and functions that it is put together of.

Enough of the language for the schemas of Terraform's providers, which are literals of ``map[string]*schema.Schema``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

_TOKEN: Final = re.compile(
    r"""(?:\s+|//[^\n]*|/\*.*?\*/)*
    (?P<text>"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\]|\\.)*'|\d[\w.]*|[A-Za-z_]\w*|[^\w\s])""",
    re.VERBOSE | re.DOTALL,
)
_OPEN: Final = {"(": ")", "[": "]", "{": "}"}
_NAMED: Final[Mapping[str, Any]] = {"true": True, "false": False, "nil": None}


@dataclass(frozen=True)
class Name:
    """What is named elsewhere, such as ``schema.TypeString``."""

    text: str


@dataclass(frozen=True)
class FunctionCall:
    """A call of a function that is not resolved."""

    name: str
    arguments: list[Any]


@dataclass(frozen=True)
class Sources:
    """Packages of Go: name of the folder → its source, all files joined; ``calls``: function → what it returns."""

    packages: Mapping[str, str]
    calls: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def value(self, name: str, package: str, arguments: Sequence[Any] = ()) -> Any:
        """The value of a variable or constant, or what a function returns at its first ``return``.

        Raises:
            KeyError: the package has no such name.
        """
        text = self.packages[package]
        function = re.search(rf"^func {name}\((?P<names>[^)]*)\)[^\n]*\{{$", text, re.MULTILINE)
        variable = re.search(rf"^(?:var |const |\t)?{name}(?: +[\w.*\[\]]+)? += ", text, re.MULTILINE)
        if function is None and variable is None:
            raise KeyError(f"{package}.{name}")
        found = function or variable
        assert found is not None
        start = text.index("\treturn ", found.end()) + len("\treturn ") if function else found.end()
        names = re.findall(r"(\w+)(?: [^,]+)?(?:,|$)", function["names"]) if function else ()
        return _Reader(self, package, text, start, dict(zip(names, arguments, strict=False))).value()

    def resolved(self, value: Any, package: str) -> Any:
        """``value``, or what a name or a call in this package stands for."""
        if isinstance(value, Name) and "." not in value.text:
            return self.resolved(self.value(value.text, package), package)
        if isinstance(value, Name):
            other, _, name = value.text.partition(".")
            return self.resolved(self.value(name, other), other) if other in self.packages else value
        if isinstance(value, FunctionCall):
            other, _, name = value.name.rpartition(".")
            if value.name in self.calls:
                return self.calls[value.name](*(self.resolved(each, package) for each in value.arguments))
            if not other or other in self.packages:
                return self.resolved(self.value(name, other or package, value.arguments), other or package)
        return value


@dataclass
class _Reader:
    sources: Sources
    package: str
    text: str
    position: int
    arguments: Mapping[str, Any]

    @cached_property
    def _end(self) -> int:
        return len(self.text)

    def _peek(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        return match["text"] if match else ""

    def _next(self) -> str:
        match = _TOKEN.match(self.text, self.position)
        assert match is not None, f"{self.package}: the source ends in a value"
        self.position = match.end()
        return match["text"]

    def value(self) -> Any:
        """The value here; of what is put together by operators, only that it is (``None``)."""
        token = self._next()
        if token in "&*-!":
            inner = self.value()
            return -inner if token == "-" and isinstance(inner, (int, float)) else inner
        if token[0] in "\"'`":
            return self._after(token[1:-1])
        if token[0].isdigit():
            return self._after(float(token) if "." in token else int(token, 0))
        if token == "func":
            self._skip_function()
            return None
        if token == "map" or token == "[":
            self._skip_type(token)
            return self._composite()
        if token == "{":
            self.position -= 1
            return self._composite()
        while self._peek() == ".":
            self._next()
            token += f".{self._next()}"
        if self._peek() == "[" and not re.match(r"\s*\[\w*\]", self.text[self.position :]):
            return Name(token)
        if self._peek() == "{" and token[-1].isalnum():
            return self._composite()
        if self._peek() == "(":
            return self._after(FunctionCall(token, self._sequence("(")))
        return self._after(_NAMED[token] if token in _NAMED else self.arguments.get(token, Name(token)))

    def _after(self, value: Any) -> Any:
        """``value``, unless an operator or a method follows."""
        if self._peek() in ("+", "*", ".", "/", "-", "|"):
            if self._peek() == "." and self._next() and self._next():
                if self._peek() == "(":
                    self._sequence("(")
                return self._after(None)
            operator = self._next()
            other = self.value()
            both = isinstance(value, str) and isinstance(other, str)
            return value + other if operator == "+" and both else None
        return value

    def _skip_type(self, token: str) -> None:
        """Past ``map[string]*schema.Schema`` or ``[]string``."""
        if token == "map":
            self._next()
        while self._next() != "]":
            pass
        while self._peek() == "*" or self._peek() == "[" or self._peek() == "]":
            self._next()
        if self._peek() == "interface":
            for _ in "interface", "{", "}":
                self._next()
            return
        if self._peek() == "map":
            self._skip_type(self._next())
            return
        if self._peek() != "{":
            self._next()
        while self._peek() == ".":
            self._next()
            self._next()

    def _skip_function(self) -> None:
        self._skip("(")
        while self._peek() != "{":
            if self._peek() == "(":
                self._skip("(")
            else:
                self._next()
        self._skip("{")

    def _skip(self, opening: str) -> None:
        depth = 0
        while True:
            token = self._next()
            depth += (token == opening) - (token == _OPEN[opening])
            if not depth:
                return

    def _sequence(self, opening: str) -> list[Any]:
        self._next()
        values: list[Any] = []
        while self._peek() != _OPEN[opening]:
            values.append(self.value())
            while self._peek() in (",", "."):
                self._next()
        self._next()
        return values

    def _composite(self) -> Any:
        """A literal in braces: by key, or a list."""
        self._next()
        keyed: dict[str, Any] = {}
        listed: list[Any] = []
        while self._peek() != "}":
            value = self.value()
            if self._peek() == ":":
                self._next()
                keyed[value.text if isinstance(value, Name) else value] = self.value()
            else:
                listed.append(value)
            if self._peek() == ",":
                self._next()
        self._next()
        return listed if listed and not keyed else keyed
