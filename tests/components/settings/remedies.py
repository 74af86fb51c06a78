"""Remedies applied to the file that they are for: each instruction of a remedy becomes a changed stack file.

It reads the sentences that users read: "Write KEY: VALUE", "Write VALUE", "Did you mean 'WORD'?", "Leave it out",
"Leave out KEY", "Move it to KEY", "Add KEY: VALUE", "Write each once". What is not such an instruction needs the
author: ``by_hand`` says why.
"""

from __future__ import annotations

import copy
import ipaddress
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Final

import yaml

from components.settings import Problem
from components.settings.fields.problems import keys_of
from components.settings.fields.types import Section
from components.settings.sections.existing_cluster import ExistingStackFile
from components.settings.sections.own_machines import OwnStackFile
from components.settings.sections.stack_file import StackFile
from tests.stacks import ROOT

Config = dict[str, Any]
Steps = tuple[str | int, ...]


class ByHand(Enum):
    """Why nobody but the author of a file can follow a remedy."""

    CHOICE = "a free name, address, amount or text, which only the author can choose"
    ACCOUNT = "the name or ID of something in the author's account or on their machines"
    OUTSIDE = "something to do outside of the stack file"


_CHOICE: Final = (
    r"Choose ",
    r"Write another ",
    r"Write an earlier day",
    r"Write the first day first",
    r"Write fewer ",
    r"Write text\b",
    r"Write a (list|mapping)\b",
    r"Write types of ",
    r"Write \w+ alone, or three ",
    r"Give each ",
    r"Shorten ",
    r"Leave out the other characters",
    r"Lower maxNodes",
    r"Remove (some|past|\d+)",
    r"Merge adjacent ranges",
    r"Leave one of the two out",
    r"String should ",
    r"Write \w+ \(",
    r"Write it below config",
)
_ACCOUNT: Final = (
    r"[^;]*<",
    r"Use (a|another|one) ",
    r"Write (what|the|an address|a free|a group) ",
    r"Write each machine once",
    r"Write each key below it ",
)
_OUTSIDE: Final = (r"Run: ", r"Compare with ", r"Check the path", r"Write a stack file for each", r"Images have no ")
BY_HAND: Final = {
    re.compile(form): reason
    for forms, reason in ((_CHOICE, ByHand.CHOICE), (_OUTSIDE, ByHand.OUTSIDE), (_ACCOUNT, ByHand.ACCOUNT))
    for form in forms
}


def by_hand(remedy: str) -> ByHand | None:
    """Why no program can follow it."""
    return next((reason for form, reason in BY_HAND.items() if form.match(remedy)), None)


@dataclass(frozen=True)
class Followed:
    """One instruction, and the file after it."""

    instruction: str
    config: Config


def followed(problem: Problem, config: Config) -> list[Followed]:
    """The files that the instructions of a remedy lead to."""
    names_a_key = re.search(r"no key|no add-on|no field|no input", problem.message) is not None
    remedy = Remedy(config, steps_of(problem.path, config), names_a_key)
    results = remedy.files(problem.remedy.split(" By hand: ")[0])
    by_config = {repr(each.config): each for each in results if each.config != config}
    return list(by_config.values())


def steps_of(path: str, config: Config) -> Steps:
    """``gpuPools[0].labels.example.com/x`` → the steps to it; a key with dots is one step."""
    here: Any = config
    steps: list[str | int] = []
    rest = path
    while rest:
        if index := re.match(r"\[(\d+)\]\.?", rest):
            step: str | int = int(index[1])
            rest = rest[index.end() :]
        elif (isinstance(here, Mapping) and rest in here) or (steps and steps[-1] in ("labels", "tags")):
            step, rest = rest, ""
        else:
            step, _, rest = (
                re.sub(r"\[", ".[", rest, count=1).partition(".") if "[" in rest.split(".")[0] else rest.partition(".")
            )
        steps.append(step)
        here = inside(here, step)
    return tuple(steps)


def inside(here: Any, step: str | int) -> Any:
    """A key of a mapping or an entry of a list; ``None`` if there is none."""
    try:
        return here[step]
    except (KeyError, IndexError, TypeError):
        return None


def at(config: Any, steps: Steps) -> Any:
    """What is there."""
    for step in steps:
        config = inside(config, step)
    return config


def changed(config: Config, steps: Steps, value: Any) -> Config:
    """The file with another value there; sections on the way are made."""
    result = copy.deepcopy(config)
    here: Any = result
    for step, following in itertools.pairwise(steps):
        if isinstance(step, int) and step == len(here):
            here.append(None)
        if not isinstance(inside(here, step), dict | list):
            here[step] = [] if isinstance(following, int) else {}
        here = here[step]
    here[steps[-1]] = value
    return result


def without(config: Config, steps: Steps) -> Config:
    """The file without what is there."""
    result = copy.deepcopy(config)
    section = at(result, steps[:-1])
    if isinstance(section, dict):
        section.pop(steps[-1], None)
    elif isinstance(section, list) and isinstance(steps[-1], int):
        del section[steps[-1]]
    return result


_FILES: Final[Mapping[str, type[Section]]] = {"kubeadm": OwnStackFile, "existing": ExistingStackFile}
_EVERY_KEY: Final[Mapping[str, Any]] = yaml.safe_load((ROOT / "tests" / "program" / "every_key.yaml").read_text())
_MORE: Final[Mapping[str, Any]] = yaml.safe_load((Path(__file__).parent / "remedies.yaml").read_text())

_PAIR: Final = re.compile(r"(?P<key>[a-zA-Z][a-zA-Z0-9.:-]*(?:/[a-zA-Z0-9._-]+)?): (?!`)")
_VERB: Final = re.compile(r"\b(?:[Ww]rite|[Aa]dd|such as|as in)\b (?:for example |your own, such as |the line ')?")
_OR: Final = re.compile(r"\bor (?=[a-zA-Z.]+: )")
_NO_VALUE: Final = {
    *("a", "an", "the", "one", "ones", "its", "it", "your", "several", "each", "some", "more", "less", "longer"),
    *("shorter", "newer", "write", "leave", "remove", "add", "use", "raise", "lower", "none", "not", "either"),
    *("another", "with", "where", "of", "to", "what", "in", "if", "by", "both"),
}  # fmt: skip
_END: Final = re.compile(
    r"$|[,;.:)?]|'| (?:or|and|for|if|in|to|where|\(|with|as|instead|unless|elsewhere|yourself)\b| \("
)


@dataclass(frozen=True)
class Remedy:
    """A remedy for what is at ``steps``; ``names_a_key``: for a key that does not exist."""

    config: Config
    steps: Steps
    names_a_key: bool

    def files(self, text: str) -> Iterator[Followed]:
        """The file after each instruction."""
        yield from self._left_out(text)
        yield from self._renamed_or_corrected(text)
        yield from self._written(re.sub(r"[Ll]eave it out and write [a-zA-Z.]+: |[Nn]ame it .*", "", text))

    def _left_out(self, text: str) -> Iterator[Followed]:
        for match in re.finditer(r"[Ll]eave it out and write (?=[a-zA-Z.]+: )", text):
            left_out = replace(self, config=without(self.config, self.steps))
            yield Followed(match[0], left_out.with_keys(dict(_pairs(text[match.end() :]))))
        for match in re.finditer(r"[Ll]eave (it|them) out(?! and write [a-z.A-Z]+: )|[Rr]emove it\b", text):
            yield Followed(match[0], without(self.config, self.steps))
        keys = r"\b(?:[Ll]eave|[Rr]emove) (?:out )?(?:the )?([a-z][A-Za-z.]+)(?: (?:or|and) (\w+))?"
        for match in re.finditer(keys, text):
            for key in match.groups():
                if key and key not in ("it", "them", "out", "one", "write"):
                    yield Followed(match[0], without(self.config, self._home(key)))
        if taken := re.match(r"Leave (\S+) out of (\w+)(?: and (\w+))?", text):
            config = self.config
            for key in filter(None, taken.groups()[1:]):
                config = _without_word(config, self._home(key), taken[1])
            yield Followed(text, config)
        for word in re.findall(r"'([^']*)'", (re.match(r"Leave out (.*)", text) or ["", ""])[1]):
            left = [one for one in at(self.config, self.steps) if one != word]
            yield Followed(f"leave out {word}", changed(self.config, self.steps, left))
        if re.match(r"Write (it|each|both)?[a-z ]*\bonce\b|Remove one of the two", text):
            yield Followed(text, self._once())

    def _renamed_or_corrected(self, text: str) -> Iterator[Followed]:
        for word in re.findall(r"[Nn]ame it [^']*'([^']*)'", text):
            yield Followed(f"name it {word}", self._renamed(word))
        for word in re.findall(r"'([^']*)'", (re.match(r"Did you mean (.*)\?$", text) or ["", ""])[1]):
            yield Followed(f"Did you mean '{word}'", self._replaced(word))
        for quoted in re.findall(r"Write '([^']*)', in quotes", text):
            yield Followed(text, changed(self.config, self.steps, quoted))
        moved = re.match(r"(?:Move it to|Did you mean '\w+', or) ([^?]*)", text)
        for place in moved[1].split(" or ") if moved else ():
            where = steps_of(place.removeprefix("gpucluster:").replace("[]", "[0]"), self.config)
            yield Followed(f"to {place}", self._moved(where, at(self.config, self.steps)))
        for number in re.findall(r"(?:Set the (?:minimum|maximum) to|Write more than) (\d+)", text):
            yield Followed(text, changed(self.config, self.steps, int(number) + text.startswith("Write more")))
        if prefix := re.match(r"Write a range with prefix /(\d+)", text):
            first = str(at(self.config, self.steps)).partition("/")[0]
            whole = ipaddress.ip_network(f"{first}/{prefix[1]}", strict=False)
            yield Followed(text, changed(self.config, self.steps, str(whole)))

    def _written(self, text: str) -> Iterator[Followed]:
        if listed := re.search(r"[Ww]rite one of ([^;]*)", text):
            words = listed[1].split(" … (")[0].split(", ")
            for word in dict.fromkeys((words[0], words[-1])):
                yield Followed(f"Write {word}", self._replaced(word))
        for verb in _VERB.finditer(text):
            rest = text[verb.end() :]
            if pairs := [*_pairs(rest)]:
                yield Followed(f"write {pairs}", self.with_keys(dict(pairs)))
            elif not rest.startswith("one of "):
                for value in _values(rest):
                    yield Followed(f"write {value!r}", self._replaced(value))
        for word in _OR.finditer(text):
            if pairs := [*_pairs(text[word.end() :])]:
                yield Followed(f"or {pairs}", self.with_keys(dict(pairs)))

    def _keys(self, steps: Steps) -> tuple[str, ...]:
        return keys_of(_FILES.get(str(self.config.get("cloud")), StackFile), steps)

    def _home(self, key: str) -> Steps:
        """Where a key is that a remedy names: in the problem's section, or in the first around it that may have it."""
        if ":" in key:
            return (key,)
        first, steps = key.split(".")[0], self.steps
        if first == steps[-1]:
            return (*steps, *key.split(".")[1:])
        if isinstance(at(self.config, steps), dict) and first in self._keys(steps) and "." not in key:
            return (*steps, key)
        for length in range(len(steps) - 1, -1, -1):
            if not isinstance(inside((*steps, ""), length), int) and first in self._keys(steps[:length]):
                return (*steps[:length], *key.split("."))
        return (*steps[:-1], key)

    def with_keys(self, pairs: Mapping[str, Any]) -> Config:
        """With these keys. They take the place of a key that does not exist."""
        config, last = self.config, self.steps[-1]
        known = self._keys(self.steps[:-1])
        if isinstance(last, str) and known and last not in known:
            config = without(config, self.steps)
        for key, value in pairs.items():
            where = self._home(key)
            if "/" in key and isinstance(at(config, self.steps), dict):
                where = (*self.steps, key)
            before = at(config, where)
            both = isinstance(before, dict) and isinstance(value, dict)
            config = changed(
                config, where, {**before, **self._filled(value, where)} if both else self._filled(value, where)
            )
        return config

    def _filled(self, value: Any, steps: Steps) -> Any:
        """With a value of the key's own where the remedy has a placeholder."""
        if isinstance(value, dict):
            return {key: self._filled(each, (*steps, key)) for key, each in value.items()}
        if isinstance(value, list):
            filled = [self._filled(each, (*steps, index)) for index, each in enumerate(value)]
            return [one for each in filled for one in (each if isinstance(each, list) else [each])]
        return self._example(steps) if value == "…" else value

    def _example(self, steps: Steps) -> Any:
        path, cloud = ".".join(str(step) for step in steps if isinstance(step, str)), str(self.config.get("cloud"))
        for table in (_MORE, {key.replace("[]", ""): value for key, value in _EVERY_KEY.items()}):
            if path in table:
                return table[path].get(cloud, table[path].get("to"))
        return "mine"

    def _replaced(self, word: Any) -> Config:
        """Another key in place of one that does not exist, or another value."""
        last, value = self.steps[-1], at(self.config, self.steps)
        known = self._keys(self.steps[:-1])
        if isinstance(word, str) and isinstance(last, str):
            first = word.split(".")[0]
            if "." in word and first in self._keys(()):
                return self._moved(tuple(word.split(".")), value)
            if self.names_a_key and (word in known or not known):
                return self._renamed(word)
            if "raw" in self.steps and word in self._keys(self.steps[: self.steps.index("raw")]):
                return without(self.config, self.steps)
            if word in known:
                where = (*self.steps[:-1], word)
                config = self.config if last in known else without(self.config, self.steps)
                return changed(config, where, self._example(where))
            word = _scalar(word) if not isinstance(value, str) else word
        if isinstance(value, list) and not isinstance(word, list):
            return changed(self.config, self.steps, [word])
        return changed(self.config, self.steps, word)

    def _moved(self, where: Steps, value: Any) -> Config:
        config = without(self.config, self.steps)
        return changed(config, where, self._example(where) if self.steps[0] == "raw" or value is None else value)

    def _renamed(self, word: str) -> Config:
        value = at(self.config, self.steps)
        return changed(without(self.config, self.steps), (*self.steps[:-1], word), value)

    def _once(self) -> Config:
        steps = self.steps if isinstance(at(self.config, self.steps), list) else self.steps[:-1]
        value, kept = at(self.config, steps), []
        if not isinstance(value, list):
            return without(self.config, self.steps)
        for each in value:
            if not any(_same(each, other) for other in kept):
                kept.append(each)
        return changed(self.config, steps, kept)


def _same(one: Any, other: Any) -> bool:
    if not isinstance(one, dict):
        return bool(one == other)
    return any(
        one.get(key) == other.get(key) is not None
        for key in ("name", "who", "key", "cidr", "serviceAccount", "registry")
    )


def _without_word(config: Config, steps: Steps, word: str) -> Config:
    value = at(config, steps)
    if isinstance(value, dict):
        return without(config, (*steps, word))
    if not isinstance(value, list):
        return config
    return changed(config, steps, [one for one in value if one != word and inside(one, "key") != word])


def _scalar(text: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def _pairs(text: str) -> Iterator[tuple[str, Any]]:
    """The pairs ``KEY: VALUE`` that the text begins with."""
    while match := _PAIR.match(text):
        value, length = flow(text[match.end() :])
        if length == 0:
            return
        yield match["key"], value
        text = text[match.end() + length :]
        if not (joined := re.match(r", and |, | and ", text)):
            return
        text = text[joined.end() :]


def flow(text: str) -> tuple[Any, int]:
    """A YAML value that the text begins with, and its length; 0 if it begins with none."""
    if text[:1] in ("[", "{"):
        depth, quoted = 0, ""
        for index, char in enumerate(text):
            if char in "'\"":
                quoted = "" if char == quoted else quoted or char
            depth += 0 if quoted else (char in "[{") - (char in "]}")
            if depth == 0:
                return _placeholders(yaml.safe_load(text[: index + 1].replace("…", '"…"'))), index + 1
        return None, 0
    if match := re.match(r"'([^']*)'", text):
        return match[1], match.end()
    match = re.match(r"[^\s,;()']*[^\s,;()'.:?]", text)
    if match is None or match[0].lower() in _NO_VALUE or not _END.match(text[match.end() :]):
        return None, 0
    return _scalar(match[0]), match.end()


def _placeholders(value: Any) -> Any:
    if isinstance(value, dict):
        return {} if "…" in value else {key: _placeholders(each) for key, each in value.items()}
    return value


def _values(text: str) -> Iterator[Any]:
    """The values, with "or" between them, that the text begins with."""
    value, length = flow(text)
    if length:
        yield value
        if following := re.match(r"(?: \([^)]*\))?,? or ", text[length:]):
            yield from _values(text[length + following.end() :])
