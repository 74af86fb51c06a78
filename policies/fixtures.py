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
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.counts import counted
from facts.concepts.unknown import UNKNOWN
from policies.config import problems
from policies.offline import OfflineGate
from policies.readers.resource import Declared
from policies.rules.table import BY_ID

_KEYS: Final = ("name", "resources", "config", "refused", "noted")


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
    violations = OfflineGate(fixture.get("config") or {}).violations(map(_declared, fixture.get("resources") or ()))
    refused = {rule for rule, _, ends_the_run in violations if ends_the_run}
    noted = {rule for rule, _, ends_the_run in violations if not ends_the_run}
    if refused != (expected := set(fixture["refused"])):
        yield f"refused by {_listed(refused)}, expected {_listed(expected)}"
    if missing := set(fixture.get("noted") or []) - noted:
        yield f"not noted by {_listed(missing)}; noted by {_listed(noted)}"


def _declared(resource: Mapping[str, Any]) -> Declared:
    type_token, name = resource["type"], resource["name"]
    urn = f"urn:pulumi:fixture::fixture::{type_token}::{name}"
    return Declared(type_token, name, urn, resource.get("properties") or {})


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
