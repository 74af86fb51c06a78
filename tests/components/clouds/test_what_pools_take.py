"""What the clouds' modules take of a cluster is given, read or refused where somebody else made it: each use of
``settings`` and ``context`` has an answer in docs/pools-on-your-cluster-assumptions.md."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from facts import catalog
from tests.stacks import ROOT

PAGE: Final = ROOT / "docs" / "pools-on-your-cluster-assumptions.md"
ANSWERS: Final = ("given", "read", "refused")
NOT_USED: Final = "—"
SECTIONS: Final = ("network", "security", "kubernetes", "workloads")
"""Sections of a stack file with an answer for each key; elsewhere one for the whole."""
_NAMES: Final = ("settings", "context")


def _path(node: ast.expr) -> list[str]:
    """``a.b.c`` as a list, without the underscores of private names; empty for another expression."""
    if isinstance(node, ast.Name):
        return [node.id]
    if isinstance(node, ast.Attribute) and (start := _path(node.value)):
        return [*start, node.attr.lstrip("_")]
    return []


def uses(source: str) -> Iterator[str]:
    """What a module reads of ``settings`` and ``context``: ``settings.network.existing``, ``context.subnet``."""
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    inner = {id(node.value) for node in nodes}
    for node in nodes:
        path = [] if id(node) in inner else _path(node)
        starts = [number for number, name in enumerate(path) if name in _NAMES]
        if starts and len(path) > starts[-1] + 1:
            name, key, *rest = path[starts[-1] :]
            yield ".".join([name, key, *(rest[:1] if key in SECTIONS and name == "settings" else [])])


def table(text: str) -> Mapping[str, Mapping[str, str]]:
    """Cloud → use → answer, of the page's first table."""
    rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in text.splitlines() if line.startswith("| `")]
    clouds = re.search(r"^\| what is used \|(.+)\|$", text, re.MULTILINE)
    assert clouds is not None
    names = [each.strip().lower() for each in clouds[1].split("|")]
    return {
        cloud: {row[0].strip().strip("`"): row[number].strip() for row in rows}
        for number, cloud in enumerate(names, start=1)
    }


@pytest.mark.parametrize("cloud", catalog.clouds())
def test_every_use_has_an_answer_and_every_answer_a_use(cloud: str) -> None:
    modules = (ROOT / "components" / "clouds" / cloud).rglob("*.py")
    used = {use for module in modules for use in uses(module.read_text(encoding="utf-8"))}
    answers = table(PAGE.read_text(encoding="utf-8"))[cloud]
    assert sorted(use for use, answer in answers.items() if answer != NOT_USED) == sorted(used)
    assert {answer.partition(":")[0] for answer in answers.values()} <= {*ANSWERS, NOT_USED}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("settings.labels", {"settings.labels"}),
        ("settings.network.existing.subnets", {"settings.network.existing"}),
        ("self._settings.labels", {"settings.labels"}),
        ("self._context.settings.admin_pool.nodes", {"settings.admin_pool"}),
        ("f(settings.network)", {"settings.network"}),
        ("context.node_role.arn", {"context.node_role"}),
        ("f(settings)", set()),
    ],
)
def test_a_use_is_seen(source: str, expected: set[str]) -> None:
    assert {*uses(source)} == expected
