"""Every type of the pinned SDKs that takes a command, a script, a template, a definition or an address to call is read,
is named by ``policies/readers/opaque.csv``, or stands in ``harmless_callers.csv`` with the reason."""

from __future__ import annotations

import csv
import importlib.util
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

from policies.readers.registry import is_taken, spelling_of
from policies.readers.tables import rows

SDKS = ("pulumi_aws", "pulumi_azure_native", "pulumi_gcp")
INPUT = re.compile(
    r"(?:\w+_)?(?:commands?|scripts?|script_(?:content|uri|path|id)|playbook\w*|build_?spec\w*|dockerfile\w*|runbook\w*"
    r"|steps|webhook\w*|template_(?:body|url|content|uri|link|json)|definition_(?:body|string|uri)"
    r"|http_(?:target|endpoint|request)|invocation_\w*endpoint|integration_uri|source_contents|document_name|workflows"
    r"|pipeline_definition|configuration_definition|git_repository|sync_repo)|definition|tasks|manifest"
)
"""A property of a resource, or of a part of it, that may hold what is run or called."""
_TOKEN = re.compile(r"super\(\w+, __self__\)\.__init__\(\s*'([^']+:[^']+)'")
_CLASS = re.compile(r"^class (\w+)Args:\n    def __init__\(__self__,(.*?)\):$", re.DOTALL | re.MULTILINE)
_PARAMETER = re.compile(r"\n\s+(\w+): |\*, (\w+): ")
_PART = re.compile(r"'(\w+)Args'")


def _inputs(parameters: str) -> list[str]:
    named = (first or second for first, second in _PARAMETER.findall(parameters))
    return [name for name in named if INPUT.fullmatch(name)]


def _of(module: Path) -> Iterator[tuple[str, list[str]]]:
    """The types of one module of an SDK, each with such inputs."""
    parts = module / "_inputs.py"
    found = _CLASS.findall(parts.read_text()) if parts.exists() else []
    uses = {name: {*_PART.findall(parameters)} for name, parameters in found}
    own = {name: _inputs(parameters) for name, parameters in found}
    for file in module.glob("*.py"):
        if file.name.startswith("_") or (token := _TOKEN.search(text := file.read_text())) is None:
            continue
        (_, parameters), *_ = [*_CLASS.findall(text), ("", "")]
        names, queue, seen = _inputs(parameters), [*_PART.findall(parameters)], set[str]()
        while queue:
            part = queue.pop()
            if part not in seen:
                seen.add(part)
                names += [f"{part}.{name}" for name in own.get(part, ())]
                queue += uses.get(part, ())
        if names:
            yield token[1], names


@cache
def callers() -> dict[str, list[str]]:
    """Type → its inputs that may hold what is run or called."""
    found: dict[str, list[str]] = {}
    for name in SDKS:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        root = Path(spec.origin).parent
        for module in sorted({root, *(path.parent for path in root.rglob("__init__.py"))}):
            found |= dict(_of(module))
    return found


def harmless() -> dict[str, str]:
    with (Path(__file__).parent / "harmless_callers.csv").open() as file:
        return {row["type"]: row["why"] for row in csv.DictReader(line for line in file if not line.startswith("#"))}


def _named(token: str) -> bool:
    return any(fnmatchcase(token, row["type"]) for row in rows("readers", "opaque"))


@pytest.mark.rehearsal  # it reads all sources of three SDKs: half a minute, which `make test` has not
def test_each_type_that_may_run_or_call_is_read_named_or_harmless_for_a_reason() -> None:
    known = harmless()
    unknown = {
        token: inputs[:3]
        for token, inputs in callers().items()
        if not is_taken(token) and spelling_of(token) is None and not _named(token)
        if not any(fnmatchcase(token, pattern) for pattern in known)
    }
    assert unknown == {}, "read it, add it to policies/readers/opaque.csv, or to harmless_callers.csv with the reason"


@pytest.mark.rehearsal  # as above
def test_each_reason_is_about_a_type_of_the_sdks_that_nothing_names() -> None:
    assert all(harmless().values())
    types = callers()
    matched = {pattern: [token for token in types if fnmatchcase(token, pattern)] for pattern in harmless()}
    assert [pattern for pattern, tokens in matched.items() if not tokens] == []
    assert {pattern: named for pattern, tokens in matched.items() if (named := [*filter(_named, tokens)])} == {}
