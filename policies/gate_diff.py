"""What a change loosens in the gate: lower levels, wider limits, new exemptions, removed rules, programs that pass.

``make gate-diff BASE=`` compares a commit with the working tree: the rules, ``policies/config``, the stack files'
budgets, the commands that run with the gate, and what both gates refuse of the commit's own test programs. So a change
in a rule, a reader or a fact counts by what it does. ``CODEOWNERS`` names who reviews all that the gate is of.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any, Final

import yaml

from facts.catalog.provider_keys import risk
from facts.concepts.stack_config import defaults, own_config, own_name
from facts.concepts.unknown import at
from policies import exemptions, levels, pools, prices
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
_JUDGE_PROGRAMS: Final = """\
import json
from tests.policies.corpus.case import findings
from tests.policies.corpus.programs import read_cases, read_trios
cases = {case.id: case for case in read_cases()} | {f"trio {t.rule}": t.case(t.refused) for t in read_trios()[0]}
print(json.dumps({name: sorted({each.rule for each in findings(case)}) for name, case in cases.items()}))
"""
_PROGRAMS: Final = Path("tests", "policies", "corpus")
_FLAG: Final = "--policy-pack"
_GATED: Final = re.compile(rf"{_FLAG}(?![\w-])")
_OF_SECRETS: Final = ("secretsprovider", "encryptedkey")
_COMMANDS: Final = ("Makefile", ".ci", ".github", "examples/ci", "packages/cli")
"""Where commands run Pulumi."""


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


_Effective = tuple[str, date | None, dict[str, Any], dict[tuple[str, str | None], Exemption]]
"""A rule's level, the last day of a level below its own (``None``: it has no end), its limits, and its exemptions by
resource and tag."""


@dataclass(frozen=True)
class GateState:
    """The gate at one commit, as plain JSON values."""

    rules: Mapping[str, Mapping[str, Any]]
    """Rule → ``level`` and ``limits`` (limit → default)."""
    configs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Stack, or ``default`` → its configuration of the gate."""
    budgets: Mapping[str, float | None] = field(default_factory=dict)
    """Stack → ``budget.maxHourlyUsd`` of its stack file, in US dollars; ``None`` without one."""
    own_prices: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """(stack, pool) → ``hourlyUsd`` of its stack file, in US dollars."""
    environments: Mapping[str, Any] = field(default_factory=dict)
    """Stack → ``environment`` of its stack file, where it has one: settings that are in no file."""
    providers_keys: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    """(stack, key) → the value of a provider's own key; it may name the server that gets a login."""
    secrets_keys: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Stack → what its stack file says about the key that encrypts secrets in its state, where it names one."""
    gated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """File → what runs Pulumi with a policy pack in it: functions of Python, lines of anything else."""
    refused: Mapping[str, Sequence[str]] | None = field(default_factory=dict)
    """Program of the tests → the rules that it breaks; ``None`` where they cannot be judged."""

    def config(self, stack: str) -> Mapping[str, Any]:
        """The configuration of a stack."""
        return self.configs.get(stack, self.configs.get(_DEFAULT, {}))

    def effective(self, rule: str, stack: str) -> _Effective:
        """A rule as a stack's configuration has it."""
        entries = configured(self.config(stack))
        level, properties = entries.get(rule, ("", {}))
        level_of_all, _ = entries.get(levels.ALL, ("", {}))
        own = self.rules[rule]
        until = levels.level_of(entries, rule)[1].get("expires")
        listed = sorted(exemptions.parse(properties.get(exemptions.KEY)), key=lambda exemption: exemption.expires)
        exempt = {(exemption.resource, exemption.tag): exemption for exemption in listed}
        return (
            level or level_of_all or own["level"],
            None if until is None else date.fromisoformat(until),
            {**own["limits"], **limits_in(properties)},
            exempt,
        )


def loosenings(before: GateState, after: GateState) -> list[str]:
    """Everything that ``after`` allows and ``before`` does not, one sentence each: rule, stack, before → after."""
    lines = [f"{rule}: the rule is removed" for rule in before.rules if rule not in after.rules]
    for stack in sorted({*before.configs, *after.configs}):
        place = "stacks without their own configuration" if stack == _DEFAULT else f"stack {stack}"
        for rule in before.rules:
            if rule in after.rules:
                own = before.rules[rule]["level"]
                changes = _of_rule(own, before.effective(rule, stack), after.effective(rule, stack))
                lines += [f"{rule}, {place}: {change}" for change in changes]
        described = after.config(stack).get(pools.KEY) or {}
        lines += [
            f"{prices.KEY}, {place}: {change}" for change in _of_prices(before.config(stack), after.config(stack))
        ]
        known = before.config(stack).get(pools.KEY) or {}
        for name in sorted({*known, *described}):
            if described.get(name) != known.get(name):
                verb = "removed" if name not in described else "changed" if name in known else "added"
                lines.append(f"{pools.KEY}, {place}: {name} is {verb}")
    for stack, budget in before.budgets.items():
        raised = after.budgets.get(stack, budget)
        if budget != raised and _higher(budget, raised):
            lines.append(f"budget.maxHourlyUsd, stack {stack}: {_shown(budget)} → {_shown(raised)}")
    for (stack, pool), usd in after.own_prices.items():
        was = before.own_prices.get((stack, pool))
        if was is None or usd < was:
            lines.append(f"hourlyUsd of {pool}, stack {stack}: {_shown(was)} → {_shown(usd)}")
    for stack, environment in after.environments.items():
        if before.environments.get(stack) != environment:
            lines.append(f"environment, stack {stack}: {_shown(environment)} may set hourlyUsd and any other key")
    for stack, keys in after.secrets_keys.items():
        if before.secrets_keys.get(stack) != keys:
            lines.append(f"{' or '.join(_OF_SECRETS)}, stack {stack}: another key decrypts the secrets of the state")
    for (stack, key), value in after.providers_keys.items():
        if before.providers_keys.get((stack, key)) != value:
            lines.append(f"{key}, stack {stack}: a provider's own key may send its login to another server")
    for file, commands in before.gated.items():
        changed = [command for command in commands if command not in after.gated.get(file, ())]
        lines += [f"{file}: what runs with {_FLAG} is changed or removed: {_title(each)}" for each in changed]
    return [*lines, *_that_pass(before, after)]


def _that_pass(before: GateState, after: GateState) -> Iterator[str]:
    if after.refused is None:
        yield f"{_PROGRAMS}: the gate cannot judge these programs any more; compare by hand"
    elif before.refused is not None:
        for program, rules in before.refused.items():
            allowed = [rule for rule in rules if rule in after.rules and rule not in after.refused.get(program, ())]
            if allowed:
                yield f"{', '.join(allowed)}: a program of {_PROGRAMS} passes, {program}"


def _of_prices(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """Prices that are lower than before, or that may be, because there is a list price before or after them."""
    old, new = (prices.flat(config.get(prices.KEY) or {}) for config in (before, after))
    for name, region in sorted({*old, *new}):
        was, usd = old.get((name, region)), new.get((name, region))
        if was is None or usd is None or usd < was:
            shown = " → ".join("list price" if each is None else f"${each:g}" for each in (was, usd))
            yield f"{name}{f' in {region}' if region else ''} {shown}"


def _of_rule(own: str, before: _Effective, after: _Effective) -> Iterator[str]:
    """``own``: the rule's own level."""
    old_level, old_until, old_limits, old_exempt = before
    level, until, limits, exempt = after
    rank, old_rank = levels.RANKS[level], levels.RANKS[old_level]
    if rank < old_rank:
        yield f"level {old_level} → {level}"
    if max(rank, old_rank) < levels.RANKS[own] and old_until is not None and (until is None or until > old_until):
        yield f"level {level} extended from {old_until} until {until or 'for ever'}"
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
    if value is None:
        return "no limit"
    return f"{value:.15g}" if isinstance(value, float) else json.dumps(value)


def state_of(tree: Path, programs: Path | None = None) -> GateState:
    """The gate in a checkout, and its verdict on the programs of another (``programs``), by default on its own.

    Raises ``CalledProcessError`` if its rules cannot be loaded,
    and ``UnreadableFile`` for a file that is no YAML or JSON.
    """
    configs = {file.stem: _read(file, tree, json.loads) for file in (tree / "policies" / "config").glob("*.json")}
    own_prices, budgets = prices_and_budgets(tree)
    rules, refused = _judged(tree, programs or tree)
    return GateState(
        rules,
        configs,
        budgets,
        own_prices,
        environments(tree),
        providers_keys(tree),
        secrets_keys(tree),
        gated_commands(tree),
        refused,
    )


def prices_and_budgets(tree: Path) -> tuple[dict[tuple[str, str], float], dict[str, float | None]]:
    """Of all stack files of a checkout: (stack, pool) → ``hourlyUsd``, and stack → ``budget.maxHourlyUsd``."""
    stacks = _stacks(tree)
    own_prices = {(stack, pool): usd for stack, config in stacks.items() for pool, usd in _prices_of_pools(config)}
    return own_prices, {stack: _number(at(config.get("budget"), "maxHourlyUsd")) for stack, config in stacks.items()}


def environments(tree: Path) -> dict[str, Any]:
    """Stack → ``environment`` of its stack file: https://www.pulumi.com/docs/esc/integrations/infrastructure/pulumi-iac/"""
    read = _stack_files(tree, _project(tree))
    return {stack: each["environment"] for stack, each in read if at(each, "environment")}


def secrets_keys(tree: Path) -> dict[str, tuple[Any, ...]]:
    """Stack → its key of secrets, of a stack file that names one: https://www.pulumi.com/docs/iac/concepts/secrets/"""
    written = {stack: tuple(at(each, key) for key in _OF_SECRETS) for stack, each in _stack_files(tree, _project(tree))}
    return {stack: values for stack, values in written.items() if any(values)}


def providers_keys(tree: Path) -> dict[tuple[str, str], Any]:
    """Of all stack files, and of the project's: (stack, key) → value of providers' keys that are not known as safe."""
    project = _project(tree)
    return {
        (stack, key): value
        for stack, content in (("of any name", project), *_stack_files(tree, project))
        for key, value in _config_of(content).items()
        if ":" in key and not own_name(key) and risk(key) != ""
    }


def _config_of(content: Any) -> dict[str, Any]:
    """The configuration of a file, also of one that the program refuses."""
    config = at(content, "config")
    return {str(key): value for key, value in config.items()} if isinstance(config, Mapping) else {}


def _prices_of_pools(config: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Each pool of a stack file that says what its nodes cost."""
    for key in ("adminPool", "cpuPools", "gpuPools"):
        section = config.get(key)
        for each in section if isinstance(section, list) else [section]:
            usd = at(each, "hourlyUsd")
            if usd is not None:
                yield str(at(each, "name") or key), _number(usd) or 0


def _number(value: Any) -> float | None:
    """A number as the engine's YAML has it, where ``1e-2`` is no text; ``None`` for what is none."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _output(script: str, tree: Path) -> Any:
    command = [sys.executable, "-c", script]
    return json.loads(subprocess.run(command, cwd=tree, check=True, capture_output=True, text=True).stdout)


def _stacks(tree: Path) -> dict[str, dict[str, Any]]:
    """Stack → the project's keys of its stack file and, where that has none, of ``Pulumi.yaml``.

    https://www.pulumi.com/docs/iac/concepts/projects/project-file/
    """
    project = _project(tree)
    return {
        stack: {**defaults(project.get("config")), **own_config(at(each, "config"))}
        for stack, each in _stack_files(tree, project)
    }


def _project(tree: Path) -> Mapping[str, Any]:
    project: Mapping[str, Any] = _read(tree / "Pulumi.yaml", tree, yaml.safe_load)
    return project


def _stack_files(tree: Path, project: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each stack and what its file says."""
    for file in (tree / (project.get("stackConfigDir") or ".")).glob("Pulumi.*.yaml"):
        yield file.name.removeprefix("Pulumi.").removesuffix(".yaml"), _read(file, tree, yaml.safe_load)


class UnreadableFile(Exception):
    """A file that is not what its name says, in a sentence."""


def _read(file: Path, tree: Path, parse: Callable[[str], Any]) -> Any:
    try:
        return parse(file.read_text(encoding="utf-8"))
    except (ValueError, yaml.YAMLError) as error:
        where = getattr(error, "problem_mark", None)
        line = getattr(error, "lineno", 1) if where is None else where.line + 1
        kind = "JSON" if file.suffix == ".json" else "YAML"
        raise UnreadableFile(f"{file.relative_to(tree)}:{line}: not {kind}") from error


def gated_commands(tree: Path) -> dict[str, list[str]]:
    """Files that run Pulumi with a policy pack → the functions that do, with those of the same file that call them, or
    the lines. Whatever changes in these may leave the pack out."""
    places = [tree / name for name in _COMMANDS]
    files = [file for place in places for file in (place.rglob("*") if place.is_dir() else [place])]
    texts = {file: file.read_text(encoding="utf-8", errors="replace") for file in files if file.is_file()}
    gated = {
        file: _functions(text) if file.suffix == ".py" else _lines(text)
        for file, text in texts.items()
        if _GATED.search(text) and ".pyc" not in file.name
    }
    return {str(file.relative_to(tree)): commands for file, commands in gated.items() if commands}


def _lines(text: str) -> list[str]:
    """Lines with the flag, each with those that it continues."""
    return [each.strip() for each in text.replace("\\\n", " ").splitlines() if _GATED.search(each)]


def _functions(text: str) -> list[str]:
    """Functions with the flag, and all that call these, without their comments and docstrings."""
    functions = [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef)]
    code = {
        each.name: "\n".join(ast.unparse(part) for part in each.body if not _is_docstring(part)) for each in functions
    }
    chosen = {name for name, body in code.items() if _GATED.search(body)}
    while callers := {
        name
        for name, body in code.items()
        if name not in chosen and any(re.search(rf"\b{each}\b", body) for each in chosen)
    }:
        chosen |= callers
    return [f"{name}: {code[name]}" for name in sorted(chosen)]


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _title(command: str) -> str:
    """A function's name, or a line."""
    return command.partition(": ")[0] if "\n" in command or command.partition(": ")[0].isidentifier() else command


def _judged(tree: Path, programs: Path) -> tuple[Any, Mapping[str, Sequence[str]] | None]:
    """The rules of one checkout, and what they say to the test programs of another. Only what the gate is of is copied:
    a module at the root would take the place of an installed package. Configurations are compared by themselves."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ignored = shutil.ignore_patterns("__pycache__")
        for source, name in ((tree, "policies"), (tree, "facts"), (programs, "tests")):
            if name != "tests" or (programs / _PROGRAMS).is_dir():
                shutil.copytree(source / name, folder / name, ignore=ignored)
        shutil.rmtree(folder / "policies" / "config", ignore_errors=True)
        content = _digest(folder)
        if content not in _VERDICTS:
            _VERDICTS[content] = _verdicts(folder)
    return _VERDICTS[content]


_VERDICTS: Final[dict[bytes, tuple[Any, Mapping[str, Sequence[str]] | None]]] = {}
"""Of gates and programs by their content: most changes leave both as they are."""


def _digest(folder: Path) -> bytes:
    """The names and contents of all files."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    contents = [(str(file.relative_to(folder)), hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    return hashlib.sha256(json.dumps(contents).encode()).digest()


def _verdicts(folder: Path) -> tuple[Any, Mapping[str, Sequence[str]] | None]:
    rules = _output(_LIST_RULES, folder)
    if not (folder / _PROGRAMS).is_dir():
        return rules, {}
    try:
        judged: Mapping[str, Sequence[str]] = _output(_JUDGE_PROGRAMS, folder)
    except subprocess.CalledProcessError:
        return rules, None
    return rules, judged


def main(arguments: list[str]) -> int:
    """Print what is looser than where this branch left BASE; 1 if anything is, 2 if it cannot be compared."""
    base = " ".join(arguments)
    try:
        start = _git("merge-base", base, "HEAD").decode().strip()
        with tempfile.TemporaryDirectory() as folder:
            check_out(ROOT, start, Path(folder))
            lines = loosenings(state_of(Path(folder)), state_of(ROOT, Path(folder)))
    except subprocess.CalledProcessError as error:
        reason = error.stderr if isinstance(error.stderr, str) else error.stderr.decode()
        sys.stderr.write(f"cannot compare with the commit '{base}': {reason}")
        return 2
    except UnreadableFile as error:
        sys.stderr.write(f"cannot compare with the commit '{base}': {error}\n")
        return 2
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return int(bool(lines))


def check_out(repository: Path, commit: str, folder: Path) -> None:
    """Write all files of a commit into ``folder``: an archive would leave out what .gitattributes says."""
    with tempfile.TemporaryDirectory() as temporary:
        environment = {**os.environ, "GIT_INDEX_FILE": str(Path(temporary) / "index")}
        for command in (("read-tree", commit), ("checkout-index", "--all", f"--prefix={folder}/")):
            subprocess.run(["git", *command], cwd=repository, check=True, capture_output=True, env=environment)


def _git(*arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
