"""Levels, limits and exemptions per stack: ``policies/config/<stack>.json``, else ``default.json``.

The format is that of ``pulumi preview --policy-pack-config``: rule → level, or rule → {enforcementLevel, limits …,
exemptions}; ``pools`` (:mod:`policies.pools`) and ``prices`` (:mod:`policies.prices`). The engine checks values against
the rules' schemas, but ignores unknown names, so they are checked here: ``python -m policies.config FILE…`` prints all
problems and fails if there are any.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Final

from facts.concepts.declared import NodeGroup
from policies import exemptions, levels, pools, prices
from policies.exemptions import Exemption, today_utc
from policies.rules.rule import LEVELS, Rule
from policies.rules.table import BY_ID, RULES

DIRECTORY: Final = Path(__file__).parent / "config"
_DEFAULT: Final = "default"
_LEVEL: Final = "enforcementLevel"
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "string": (str,),
    "array": (list,),
    "null": (type(None),),
}


class ConfigError(ValueError):
    """The configuration cannot be used; the message lists every problem with its key."""

    def __init__(self, problems: Iterable[str]) -> None:
        super().__init__("\n".join(problems))


def file_for(stack: str, directory: Path = DIRECTORY) -> Path:
    """The stack's own file, or the default one; ``stack`` may be ``organization/project/stack``, as Pulumi takes it.

    Raises:
        ConfigError: only a stack whose name differs in upper and lower case has a file.
    """
    name = stack.rpartition("/")[2]
    others = {file.stem.lower(): file.stem for file in directory.glob("*.json")}
    other = others.get(name.lower(), _DEFAULT)
    if other not in (name, _DEFAULT):
        raise ConfigError(
            [f"there is {other}.json in {directory}, but the stack is '{name}': write {other}, or add {name}.json"]
        )
    return directory / f"{other}.json"


def note_on(stack: str, file: Path) -> str:
    """A line for a stack that gets the default configuration; empty for one that has a file of its own."""
    own = f"{stack.rpartition('/')[2]}.json"
    return "" if file.name == own else f"{file.name}: the gate's configuration of stack '{stack}', as it has no {own}"


def load(path: Path) -> dict[str, Any]:
    """The file's content.

    Raises:
        ConfigError: the file cannot be read, is not a JSON object, names an unknown rule, level or limit, or has a
            value of the wrong type or out of range.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError([f"{path}: cannot be read ({error.strerror})"]) from error
    except json.JSONDecodeError as error:
        raise ConfigError([f"{path}:{error.lineno}: not JSON ({error.msg})"]) from error
    if not isinstance(content, dict):
        raise ConfigError([f'{path}: must be an object of rules, for example {{"gpu-taint": "mandatory"}}'])
    errors = [f"{path.name}: {problem}" for problem in problems(content)]
    if errors:
        raise ConfigError(errors)
    return content


def problems(config: Mapping[str, Any]) -> list[str]:
    """All problems of a configuration, one sentence each."""
    errors = []
    for name, entry in config.items():
        if name == levels.ALL:
            errors += _all_problems(entry)
        elif name == pools.KEY:
            errors += pools.problems(entry)
        elif name == prices.KEY:
            errors += prices.problems(entry)
        elif name not in BY_ID:
            errors.append(f"{name}: no such rule{_nearest(name, (*BY_ID, pools.KEY, prices.KEY))}")
        elif isinstance(entry, dict):
            if _LEVEL in entry:
                errors += _level_problems(f"{name}.{_LEVEL}", entry[_LEVEL], BY_ID[name].levels)
            errors += limit_problems(BY_ID[name], limits_in(entry))
            errors += exemptions.problems(f"{name}.{exemptions.KEY}", entry.get(exemptions.KEY, []), today_utc())
        else:
            errors += _level_problems(name, entry, BY_ID[name].levels)
    return errors + ([] if errors else levels.problems(configured(config), today_utc()))


def configured(config: Mapping[str, Any]) -> levels.Configured:
    """A file's content as the engine passes it: rule → its level, and its other keys."""
    passed = {}
    for name, entry in config.items():
        properties = dict(entry) if isinstance(entry, dict) else {_LEVEL: entry}
        passed[name] = (properties.pop(_LEVEL, ""), properties)
    return passed


def _all_problems(entry: object) -> list[str]:
    if not isinstance(entry, dict):
        return _level_problems(levels.ALL, entry, LEVELS)
    errors = [
        f"{levels.ALL}.{key}: no such key; it has {_LEVEL}, {', '.join(levels.KEYS)}"
        for key in entry
        if key not in (_LEVEL, *levels.KEYS)
    ]
    return errors + _level_problems(f"{levels.ALL}.{_LEVEL}", entry.get(_LEVEL), LEVELS)


def limit_problems(rule: Rule[...], limits: Mapping[str, Any]) -> list[str]:
    """Unknown limits of one rule, and values outside their schema."""
    errors = []
    for name, value in limits.items():
        if name not in rule.schema:
            others = (_LEVEL, exemptions.KEY, *levels.KEYS)
            allowed = f"; it has {', '.join(rule.schema) or 'none'}, and the keys {', '.join(others)}"
            near = _nearest(name, (*rule.schema, *others)) or allowed
            errors.append(f"{rule.id}.{name}: the rule has no such limit{near}")
        elif complaint := _complaint(value, rule.schema[name]):
            errors.append(f"{rule.id}.{name}: {complaint}, got {json.dumps(value)}")
    return errors


def limits_of(rule: Rule[...], entry: Mapping[str, Any]) -> dict[str, Any]:
    """The rule's limits as the engine passes them, checked.

    Raises:
        ConfigError: a limit that the rule does not have, or a wrong value.
    """
    limits = limits_in(entry)
    errors = limit_problems(rule, limits)
    if errors:
        raise ConfigError(errors)
    whole = {name: int(value) for name, value in limits.items() if _is_whole(value, rule.schema[name])}
    return rule.limits({**limits, **whole})


def exemptions_of(rule: Rule[...], entry: Mapping[str, Any], today: date) -> tuple[Exemption, ...]:
    """The rule's exemptions as the engine passes them, checked; expired ones included.

    Raises:
        ConfigError: an exemption without a reason, an end, or a resource.
    """
    listed = entry.get(exemptions.KEY, [])
    errors = exemptions.problems(f"{rule.id}.{exemptions.KEY}", listed, today)
    if errors:
        raise ConfigError(errors)
    return exemptions.parse(listed)


def expired(config: Mapping[str, Any], today: date) -> list[str]:
    """The expired exemptions of a valid configuration, one sentence each."""
    return [
        f"{name}.{exemptions.KEY}: expired on {exemption.expires} ({exemption.reason}); remove it, or set a later date"
        for name, entry in config.items()
        if isinstance(entry, dict) and name in BY_ID
        for exemption in exemptions_of(BY_ID[name], entry, today)
        if exemption.expired(today)
    ]


def limits_in(entry: Mapping[str, Any]) -> dict[str, Any]:
    """A rule's properties without its level and exemptions."""
    return {key: value for key, value in entry.items() if key not in (_LEVEL, exemptions.KEY, *levels.KEYS)}


def _level_problems(where: str, level: object, levels: Sequence[str]) -> list[str]:
    if level in levels:
        return []
    hint = _nearest(level, levels) if isinstance(level, str) else ""
    return [f"{where}: must be one of {', '.join(levels)}{hint}, got {json.dumps(level)}"]


def _complaint(value: object, schema: Mapping[str, Any]) -> str:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    types = tuple(kind for name in names for kind in _TYPES[name])
    if not (isinstance(value, types) or _is_whole(value, schema)) or (
        isinstance(value, bool) and "boolean" not in names
    ):
        return f"must be of type {' or '.join(names)}"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if "minimum" in schema and value < schema["minimum"]:
            return f"must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            return f"must be at most {schema['maximum']}"
    if isinstance(value, list) and any(not isinstance(part, _TYPES[schema["items"]["type"]]) for part in value):
        return f"must be a list of {schema['items']['type']}s"
    return ""


def _is_whole(value: object, schema: Mapping[str, Any]) -> bool:
    """Whether a float is an integer: the engine passes every number as a float."""
    return isinstance(value, float) and value.is_integer() and "integer" in schema["type"]


def _nearest(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {close[0]}?" if close else ""


class RunConfig:
    """The configuration that the engine sends at the start of a run; empty until then. ``today``: for expiry."""

    def __init__(self, today: date) -> None:
        self.today = today
        self.pools: tuple[NodeGroup, ...] = ()
        """Pools of the cluster that another program declares."""
        self.prices = prices.NO_PRICES
        self.lowered_notes: tuple[str, ...] = ()
        """One line for each rule whose level is lowered."""
        self._levels: dict[str, str] = {}

    def configure(self, configured: levels.Configured, other_names: tuple[str, ...]) -> None:
        """Stores a run's configuration. ``other_names`` are policies that are not rules.

        Raises:
            ConfigError: a level is lowered without a reason, without an end, or past it, a rule is unknown, or a pool
                or price is not described as :mod:`policies.pools` and :mod:`policies.prices` require.
        """
        names = {*(rule.id for rule in RULES), *other_names, levels.ALL, pools.KEY, prices.KEY}
        problems = [f"{name}: no such rule" for name in configured if name not in names]
        problems += levels.problems(configured, self.today)
        _, configured_pools = configured.get(pools.KEY, ("", {}))
        if configured_pools:
            problems += pools.problems(configured_pools)
        _, configured_prices = configured.get(prices.KEY, ("", {}))
        if configured_prices:
            problems += prices.problems(configured_prices)
        if problems:
            raise ConfigError(problems)
        self.pools = pools.parse(configured_pools)
        self.prices = prices.parse(configured_prices)
        self.lowered_notes = tuple(lowered.note for lowered in levels.lowered_levels(configured))
        self._levels = {name: level for name, (level, _) in configured.items() if level}

    def level(self, rule: Rule[...]) -> str:
        """The rule's level in this run."""
        return self._levels.get(rule.id, rule.level)

    def exemption(
        self, rule: Rule[...], properties: Mapping[str, Any], urn: str, tags: Mapping[str, str]
    ) -> Exemption | None:
        """The rule's exemption that covers the resource, the latest if there are several. It may have expired.

        ``properties`` are the rule's own configuration, ``urn`` is ``""`` for the stack as a whole.
        """
        covering = [
            exemption for exemption in exemptions_of(rule, properties, self.today) if exemption.covers(urn, tags)
        ]
        return max(covering, key=lambda exemption: exemption.expires, default=None)


def main(paths: list[str]) -> int:
    """Check the files (all shipped ones by default); the exit code says whether all can be used.

    ``--stack NAME`` checks that stack's file and prints its path, for ``--policy-pack-config``. Expired exemptions are
    printed, too. They are no errors here: the gate refuses the resources that they covered.
    """
    failed = False
    chosen = None
    if paths[:1] == ["--stack"]:
        if len(paths) != 2:
            sys.stderr.write("--stack takes one name: python -m policies.config --stack dev\n")
            return 2
        try:
            chosen = file_for(paths[1])
        except ConfigError as error:
            sys.stderr.write(f"{error}\n")
            return 1
        if note := note_on(paths[1], chosen):
            sys.stderr.write(f"{note}\n")
        paths = [str(chosen)]
    for path in [Path(name) for name in paths] or sorted(DIRECTORY.glob("*.json")):
        try:
            for note in expired(load(path), today_utc()):
                sys.stderr.write(f"{path.name}: {note}\n")
        except ConfigError as error:
            failed = True
            sys.stderr.write(f"{error}\n")
    if chosen is not None and not failed:
        sys.stdout.write(f"{chosen}\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
