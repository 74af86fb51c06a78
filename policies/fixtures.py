"""Tests for rules and configurations without an engine: ``python -m policies.fixtures FILE…``.

A file is a YAML list of programs, each with the expected violations:

.. code-block:: yaml

    - name: a pool that is always on
      resources:
        - type: gcp:container/nodePool:NodePool
          name: gpu
          properties: {autoscaling: {minNodeCount: 1, maxNodeCount: 2}, nodeConfig: {machineType: g2-standard-8}}
      config: {gpu-ceiling: {maxGpus: 8}}     # as in a stack's configuration; optional
      refused: [gpu-taint, gpu-zero-minimum]  # exactly these mandatory rules; [] if it must pass
      noted: [gpu-present-label]              # these advisory rules, perhaps among others; optional

``!unknown ''`` is a value that is unknown at preview. Rules in the folder ``own_rules`` of the pack are included.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.counts import counted
from facts.concepts.unknown import UNKNOWN
from policies import pools
from policies.config import limits_of, problems
from policies.readers import linked, read, stack_of
from policies.readers.resource import Declared
from policies.rules.table import BY_ID, RULES

_KEYS: Final = ("name", "resources", "config", "refused", "noted")
_LEVEL: Final = "enforcementLevel"


class FixtureError(ValueError):
    """A file of fixtures that cannot be used; the message says where and why."""


class _Loader(yaml.SafeLoader):
    """YAML with ``!unknown``."""


_Loader.add_constructor("!unknown", lambda *_: UNKNOWN)


def failures(path: Path) -> list[str]:
    """Differences from the expected violations of a file's programs, one sentence each.

    Raises:
        FixtureError: the file is not a list of fixtures.
    """
    return [f"{path.name}: {fixture['name']}: {wrong}" for fixture in _fixtures(path) for wrong in _wrong(fixture)]


def _fixtures(path: Path) -> list[Mapping[str, Any]]:
    try:
        content = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # a SafeLoader
    except (OSError, yaml.YAMLError) as error:
        raise FixtureError(f"{path}: {error}") from error
    if not isinstance(content, list):
        raise FixtureError(f"{path}: must be a list of programs")
    for number, fixture in enumerate(content):
        where = f"{path}[{number}]"
        if not isinstance(fixture, dict) or not isinstance(fixture.get("name"), str):
            raise FixtureError(f"{where}: must be an object with {', '.join(_KEYS)}")
        if unknown := [key for key in fixture if key not in _KEYS]:
            raise FixtureError(f"{where}.{unknown[0]}: no such key; it has {', '.join(_KEYS)}")
        if not isinstance(fixture.get("refused"), list):
            raise FixtureError(f"{where}.refused: missing; list the rules, or [] if it must pass")
        for rule in (*fixture["refused"], *(fixture.get("noted") or [])):
            if rule not in BY_ID:
                raise FixtureError(f"{where}: no such rule: {rule}")
        if errors := problems(fixture.get("config") or {}):
            raise FixtureError(f"{where}.config: {errors[0]}")
        for resource in fixture.get("resources") or []:
            if not isinstance(resource, dict) or not all(
                isinstance(resource.get(key), str) for key in ("type", "name")
            ):
                raise FixtureError(f"{where}.resources: each is an object with type, name and properties")
    return content


def _wrong(fixture: Mapping[str, Any]) -> Iterator[str]:
    levels: dict[str, set[str]] = {"mandatory": set(), "advisory": set()}
    for rule, level in _violations(fixture):
        levels.get("mandatory" if level == "remediate" else level, set()).add(rule)
    refused, expected = levels["mandatory"], set(fixture["refused"])
    if refused != expected:
        yield f"refused by {_listed(refused)}, expected {_listed(expected)}"
    if missing := set(fixture.get("noted") or []) - levels["advisory"]:
        yield f"not noted by {_listed(missing)}; noted by {_listed(levels['advisory'])}"


def _violations(fixture: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Rule and level of every finding, except those that were not evaluated."""
    declared = [
        Declared(
            resource["type"],
            resource["name"],
            f"urn:pulumi:fixture::fixture::{resource['type']}::{resource['name']}",
            resource.get("properties") or {},
        )
        for resource in fixture.get("resources") or []
    ]
    by_resource = [read(resource) for resource in linked(declared)]
    items = list(chain.from_iterable(by_resource))
    config = fixture.get("config") or {}
    stack = replace(stack_of(by_resource), elsewhere=pools.parse(config.get(pools.KEY)))
    for rule in RULES:
        entry = config.get(rule.id, {})
        own = {key: value for key, value in entry.items() if key != _LEVEL} if isinstance(entry, dict) else {}
        level = entry.get(_LEVEL, rule.level) if isinstance(entry, dict) else entry
        limits = limits_of(rule, own)
        subjects = [stack] if rule.scope == "stack" else [item for item in items if isinstance(item, rule.subjects)]
        for subject in subjects:
            yield from ((rule.id, level) for violation in rule.check(subject, limits) if not violation.not_evaluated)


def _listed(rules: set[str]) -> str:
    return ", ".join(sorted(rules)) or "nothing"


def main(paths: list[str]) -> int:
    """Check the files; the exit code is 1 if a result differs, 2 if a file is invalid."""
    wrong = []
    try:
        for path in paths:
            wrong += failures(Path(path))
    except FixtureError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{line}\n" for line in wrong) or f"{counted(len(paths), 'file')}: all as expected\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
