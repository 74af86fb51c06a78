"""The inputs of the pinned SDKs' types, nested ones too, from the SDKs' sources: importing these would take minutes."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SDKS = ("pulumi_aws", "pulumi_azure_native", "pulumi_gcp")
_TOKEN = re.compile(r"super\(\w+, __self__\)\.__init__\(\s*'([^']+:[^']+)'")
_CLASS = re.compile(r"^class (\w+)Args:\n(.*?)(?=^(?:@|class |if )|\Z)", re.DOTALL | re.MULTILINE)
_PROPERTY = re.compile(r"@pulumi\.getter(?:\(name=\"(\w+)\"\))?\n    def (\w+)\(self\) -> (.*):\n")
_PART = re.compile(r"'(\w+)Args'")


@dataclass(frozen=True)
class Input:
    """One input of a type, or of a part of it."""

    name: str
    kind: str
    """Its Python type, such as ``Optional[_builtins.int]``."""

    @property
    def part(self) -> str | None:
        """The part that it holds, one or a list."""
        found = _PART.search(self.kind)
        return found and found[1]

    @property
    def listed(self) -> bool:
        return "Sequence[" in self.kind


def _inputs(body: str) -> tuple[Input, ...]:
    return tuple(Input(name or word, kind) for name, word, kind in _PROPERTY.findall(body))


@dataclass(frozen=True)
class Type:
    """A type with its inputs, and those of all parts of its module."""

    token: str
    inputs: tuple[Input, ...]
    parts: Mapping[str, tuple[Input, ...]]

    def leaves(self) -> Iterator[tuple[tuple[str, ...], Input]]:
        """Each input that is no part, with the path to it; a part in itself is not followed."""
        yield from self._below(self.inputs, (), ())

    def _below(
        self, inputs: tuple[Input, ...], path: tuple[str, ...], seen: tuple[str, ...]
    ) -> Iterator[tuple[tuple[str, ...], Input]]:
        for each in inputs:
            here = (*path, each.name)
            if each.part is None or each.part not in self.parts:
                yield here, each
            elif each.part not in seen:
                yield from self._below(self.parts[each.part], here, (*seen, each.part))


@cache
def root(sdk: str) -> Path:
    spec = importlib.util.find_spec(sdk)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def types_in(module: Path) -> Iterator[Type]:
    """The types of one module of an SDK (``pulumi_gcp/container``)."""
    file = module / "_inputs.py"
    parts = {name: _inputs(body) for name, body in _CLASS.findall(file.read_text())} if file.exists() else {}
    for source in sorted(module.glob("*.py")):
        if source.name.startswith("_") or (token := _TOKEN.search(text := source.read_text())) is None:
            continue
        classes = dict(_CLASS.findall(text))
        own = next((body for name, body in classes.items()), "")
        yield Type(token[1], _inputs(own), parts)


def modules() -> Iterator[Path]:
    for sdk in SDKS:
        top = root(sdk)
        yield from sorted({top, *(path.parent for path in top.rglob("__init__.py"))})
