"""All rules of the gate, in the order in which they are documented: pure functions, one file per subject."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

from policies.rules.rule import Rule

_SUBJECTS: Final = (
    "node_groups",
    "clusters",
    "workloads",
    "autoscaler",
    "idle",
    "sharing",
    "security",
    "ceilings",
    "regions",
    "unjudged",  # last: it tells what the others leave open
)
OWN: Final = Path(__file__).resolve().parents[2] / "own_rules"
"""The folder for a user's own rules, next to the packages of the pack; each module in it is loaded like those here."""


def _own_subjects() -> Iterator[ModuleType]:
    for file in sorted(OWN.glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"own_rules.{file.stem}", file)
        assert spec is not None, "a file of Python has a loader"
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[module.__name__] = module
        spec.loader.exec_module(module)
        yield module


RULES: Final[tuple[Rule[...], ...]] = tuple(
    known
    for subject in (*_own_subjects(), *(import_module(f"policies.rules.{name}") for name in _SUBJECTS))
    for known in vars(subject).values()
    if isinstance(known, Rule)
)

BY_ID: Final[Mapping[str, Rule[...]]] = {rule.id: rule for rule in RULES}
