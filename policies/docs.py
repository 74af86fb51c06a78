"""Writes ``docs/policies.md`` from the rules: ``python -m policies.docs``, with ``--check`` only compares."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.generated import write_or_check
from policies.config import DIRECTORY, configured, load
from policies.rules.rule import Rule
from policies.rules.table import RULES

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "policies.md"
KNOWN_GAPS: Final[Mapping[str, str]] = yaml.safe_load(
    Path(__file__).with_name("known_gaps.yaml").read_text(encoding="utf-8")
)
"""What the gate does not detect: id → sentence."""
_Files = Mapping[str, Mapping[str, Any]]  # name → its content


def render() -> str:
    """The whole page."""
    files = {path.name: load(path) for path in sorted(DIRECTORY.glob("*.json"))}
    gaps = "".join(f"- {sentence}\n" for sentence in KNOWN_GAPS.values())
    head = Path(__file__).with_name("docs_head.txt").read_text(encoding="utf-8")
    sections = "\n".join(_section(rule, files) for rule in RULES)
    return head.replace("{gaps}", gaps) + _table() + "\n" + sections + _configs(files)


def _table() -> str:
    lines = ["| rule | level | severity | decides |", "|---|---|---|---|"]
    lines += [f"| [{r.id}](#{r.id}) {r.title} | {r.level} | {r.severity} | per {r.scope} |" for r in RULES]
    return "\n".join(lines) + "\n"


def _section(rule: Rule[...], files: _Files) -> str:
    lines = [f"## {rule.id}", "", f"{rule.title}.", "", f"- Why: {rule.why}", f"- Remedy: {rule.remedy}"]
    lines.append(f"- Levels: {', '.join(f'**{one}** (default)' if one == rule.level else one for one in rule.levels)}")
    stricter = [f"`{name}`" for name, file in files.items() if _level(file, rule) == "mandatory" != rule.level]
    if stricter:
        lines.append(f"- **mandatory** in {', '.join(stricter)}")
    for name, option in rule.schema.items():
        types = option["type"] if isinstance(option["type"], list) else [option["type"]]
        default = json.dumps(option["default"])
        lines.append(f"- `{name}` ({' or '.join(types)}, default `{default}`): {option['description']}")
    violation = rule.check(rule.example, rule.example_limits)[0]
    lines.append(f"- Example: {violation.message} *{violation.remedy}*")
    return "\n".join(lines) + "\n"


def _level(file: Mapping[str, Any], rule: Rule[...]) -> str | None:
    return configured(file).get(rule.id, (None, {}))[0]


def _configs(files: _Files) -> str:
    blocks = [f"\n`{name}`:\n\n```json\n{json.dumps(file, indent=2)}\n```\n" for name, file in files.items()]
    return "\n## Levels and limits per stack\n" + "".join(blocks)


def main(arguments: list[str]) -> int:
    """Write the page, or with ``--check`` compare it; the exit code is 1 if it is out of date."""
    return write_or_check({PAGE: render()}, arguments, "policies.docs")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
