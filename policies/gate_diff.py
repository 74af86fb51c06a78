"""What a change loosens in the gate: lower levels, wider limits, new exemptions, removed rules.

``make gate-diff BASE=`` compares the rules, ``policies/config`` and the stack files' budgets of a commit with those of
the working tree. A change inside a rule's function is not compared: ``.github/CODEOWNERS`` names who reviews it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import yaml

from policies import exemptions, levels, pools
from policies.config import configured, limits_in
from policies.exemptions import Exemption
from policies.rules.rule import Wider
from policies.rules.table import RULES

ROOT: Final = Path(__file__).resolve().parent.parent
_DEFAULT: Final = "default"
"""The configuration of the stacks that have no file of their own."""

# Another commit has another `policies`, so its own interpreter lists its rules.
_LIST_RULES: Final = """\
import json
from policies.rules.table import RULES
print(json.dumps({r.id: {"level": r.level, "limits": {n: o["default"] for n, o in r.schema.items()}} for r in RULES}))
"""


def _higher(before: Any, after: Any) -> bool:
    return after is None or (before is not None and after > before)


def _lower(before: Any, after: Any) -> bool:
    return after is None or (before is not None and after < before)


def _more(before: Any, after: Any) -> bool:
    return bool({*(after or ())} - {*(before or ())})


_ALLOWS_MORE: Final[Mapping[Wider, Callable[[Any, Any], bool]]] = {
    "higher": _higher,
    "lower": _lower,
    "more": _more,
    "more, or none": lambda before, after: bool(before) and (not after or _more(before, after)),
}
_DIRECTIONS: Final[Mapping[str, Wider]] = {
    limit: direction for rule in RULES for limit, direction in rule.wider.items()
}


def wider(limit: str, before: Any, after: Any) -> bool:
    """Whether the value ``after`` of a limit allows more; any change of a limit that no rule of today has does."""
    direction = _DIRECTIONS.get(limit)
    return before != after and (direction is None or _ALLOWS_MORE[direction](before, after))


_Effective = tuple[str, dict[str, Any], dict[tuple[str, str | None], Exemption]]
"""A rule's level, its limits, and its exemptions by resource and tag."""


@dataclass(frozen=True)
class GateState:
    """The gate at one commit, as plain JSON values."""

    rules: Mapping[str, Mapping[str, Any]]
    """Rule → ``level`` and ``limits`` (limit → default)."""
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Stack, or ``default`` → its configuration of the gate."""
    budgets: Mapping[str, float | None] = field(default_factory=dict)
    """Stack → ``budget.maxHourlyUsd`` of its stack file, in US dollars; ``None`` without one."""

    def config(self, stack: str) -> Mapping[str, Any]:
        """The configuration of a stack."""
        return self.configs.get(stack, self.configs.get(_DEFAULT, {}))

    def effective(self, rule: str, stack: str) -> _Effective:
        """A rule as a stack's configuration has it."""
        entries = configured(self.config(stack))
        level, properties = entries.get(rule, ("", {}))
        level_of_all, _ = entries.get(levels.ALL, ("", {}))
        own = self.rules[rule]
        listed = sorted(exemptions.parse(properties.get(exemptions.KEY)), key=lambda exemption: exemption.expires)
        exempt = {(exemption.resource, exemption.tag): exemption for exemption in listed}
        return level or level_of_all or own["level"], {**own["limits"], **limits_in(properties)}, exempt


def loosenings(before: GateState, after: GateState) -> list[str]:
    """Everything that ``after`` allows and ``before`` does not, one sentence each: rule, stack, before → after."""
    lines = [f"{rule}: the rule is removed" for rule in before.rules if rule not in after.rules]
    for stack in sorted({*before.configs, *after.configs}):
        place = "stacks without their own configuration" if stack == _DEFAULT else f"stack {stack}"
        for rule in before.rules:
            if rule in after.rules:
                changes = _of_rule(before.effective(rule, stack), after.effective(rule, stack))
                lines += [f"{rule}, {place}: {change}" for change in changes]
        described = after.config(stack).get(pools.KEY) or {}
        for name, pool in (before.config(stack).get(pools.KEY) or {}).items():
            if described.get(name) != pool:
                lines.append(f"{pools.KEY}, {place}: {name} is {'changed' if name in described else 'removed'}")
    for stack, budget in before.budgets.items():
        raised = after.budgets.get(stack, budget)
        if budget != raised and _higher(budget, raised):
            lines.append(f"budget.maxHourlyUsd, stack {stack}: {_shown(budget)} → {_shown(raised)}")
    return lines


def _of_rule(before: _Effective, after: _Effective) -> Iterator[str]:
    old_level, old_limits, old_exempt = before
    level, limits, exempt = after
    if levels.RANKS[level] < levels.RANKS[old_level]:
        yield f"level {old_level} → {level}"
    for limit, value in old_limits.items():
        if limit not in limits:
            yield f"the limit {limit} ({_shown(value)}) is removed"
        elif wider(limit, value, limits[limit]):
            yield f"{limit} {_shown(value)} → {_shown(limits[limit])}"
    for (resource, tag), exemption in exempt.items():
        earlier = old_exempt.get((resource, tag))
        if earlier is None or exemption.expires > earlier.expires:
            verb = f"extended from {earlier.expires}" if earlier else "added"
            with_tag = f" with tag {tag}" if tag else ""
            yield f"exemption of {resource}{with_tag} {verb} until {exemption.expires}: {exemption.reason}"


def _shown(value: Any) -> str:
    return "no limit" if value is None else json.dumps(value)


def state_of(tree: Path) -> GateState:
    """The gate in a checkout. Raises ``CalledProcessError`` if its rules cannot be loaded."""
    listed = subprocess.run([sys.executable, "-c", _LIST_RULES], cwd=tree, check=True, capture_output=True, text=True)
    configs = {file.stem: json.loads(file.read_text()) for file in (tree / "policies" / "config").glob("*.json")}
    stacks = {
        file.name.removeprefix("Pulumi.").removesuffix(".yaml"): (yaml.safe_load(file.read_text()) or {}).get("config")
        for file in tree.glob("Pulumi.*.yaml")
    }
    budgets = {
        stack: ((config or {}).get("gpucluster:budget") or {}).get("maxHourlyUsd") for stack, config in stacks.items()
    }
    return GateState(json.loads(listed.stdout), configs, budgets)


def main(arguments: list[str]) -> int:
    """Print what is looser than where this branch left BASE; 1 if anything is, 2 if it cannot be compared."""
    base = " ".join(arguments)
    try:
        start = _git("merge-base", base, "HEAD").decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["tar", "-x", "-C", folder], input=_git("archive", start), check=True, capture_output=True)
            lines = loosenings(state_of(Path(folder)), state_of(ROOT))
    except subprocess.CalledProcessError as error:
        reason = error.stderr if isinstance(error.stderr, str) else error.stderr.decode()
        sys.stderr.write(f"cannot compare with the commit '{base}': {reason}")
        return 2
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(bool(lines))


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
