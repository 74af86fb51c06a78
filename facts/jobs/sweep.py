"""A sweep: every combination of some parameters' values, one run for each."""

from __future__ import annotations

import difflib
import itertools
import math
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

MOST: Final = 10_000
"""Runs of a sweep: an indexed Job with a retry limit per index may run so many at once.

https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.34/#jobspec-v1-batch (``backoffLimitPerIndex``)
"""

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BRACES: Final = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_WITH_DOLLAR: Final = re.compile(rf"(\$?){_BRACES.pattern}")
_NOT_EXPANDED: Final = r"(?<!\$)"
_SHELLS: Final = frozenset(("ash", "bash", "dash", "ksh", "sh", "zsh"))
_SCRIPT_FOLLOWS: Final = re.compile(r"-[A-Za-z]*c[A-Za-z]*")
_OPTION_FOLLOWS: Final = re.compile(r"[-+][A-Za-z]*[oO]|--rcfile|--init-file")
_RANGE: Final = re.compile(r"(-?\d+)\.\.(-?\d+)")
_NUMBERS: Final = re.compile(r"(?=.*\d)[-+.\deE]*\.\.[-+.\deE]*")
"""Two dots with nothing but numbers around them."""
_DASH: Final = re.compile(r"(\d+)-(\d+)")


_OWN = "gpu_sweep_"
"""What the names in the script of ``wrap`` begin with, so that a parameter may have any other."""


class SweepError(ValueError):
    """The sweep is invalid; the message says what to write instead."""


@dataclass(frozen=True)
class Sweep:
    """Parameter → its values, in the order written. The last parameter changes fastest."""

    axes: Mapping[str, tuple[str, ...]]

    @property
    def runs(self) -> int:
        """How many combinations there are."""
        return math.prod(len(values) for values in self.axes.values())

    def values(self, index: int) -> dict[str, str]:
        """The parameters of run ``index``."""
        return dict(
            zip(self.axes, next(itertools.islice(itertools.product(*self.axes.values()), index, None)), strict=True)
        )

    def wrap(self, command: Sequence[str], index_variable: str) -> tuple[str, ...]:
        """The command of all runs: each learns its parameters as variables, and ``{parameter}`` in an argument is
        replaced by its value; so is ``${parameter}``, except in the script of a shell. ``index_variable`` names the
        variable that holds the run's index. It needs ``sh``; the program takes its place, so that signals reach it.
        """
        script = _script(command)
        lines = [f"{_OWN}i=${index_variable}", f'{_OWN}pick() {{ shift $(($1 + 1)); printf %s "$1"; }}']
        for name, values in reversed(list(self.axes.items())):
            listed = " ".join(shlex.quote(value) for value in values)
            picked = f"$({_OWN}pick $(({_OWN}i % {len(values)})) {listed})"
            lines.append(f"{name}={picked}; {_OWN}i=$(({_OWN}i / {len(values)})); export {name}")
        arguments = (self._argument(argument, index == script) for index, argument in enumerate(command))
        lines.append("exec " + " ".join(arguments))
        return ("sh", "-c", "\n".join(lines))

    def _argument(self, argument: str, is_script: bool) -> str:
        before = _NOT_EXPANDED if is_script else r"\$?"
        parts = re.split(before + r"\{(" + "|".join(map(re.escape, self.axes)) + r")\}", argument)
        return (
            "".join(f'"${part}"' if odd % 2 else shlex.quote(part) if part else "" for odd, part in enumerate(parts))
            or "''"
        )


def unnamed(command: Sequence[str], sweep: Sweep | None) -> tuple[str, ...]:
    """Names in braces that no parameter of the sweep has. Without a sweep, only arguments that are nothing but such a
    name (``{lr}``, ``--lr={lr}``) count: others may well be meant, as in a program after ``python -c``. After a dollar
    only what is nearly a parameter counts: programs may know other such names themselves, as those of Hydra
    (https://hydra.cc/docs/advanced/override_grammar/basic/).
    """
    names: dict[str, None] = {}
    script = _script(command)
    for index, argument in enumerate(command):
        inside = argument if sweep is not None else argument.partition("=")[2] or argument
        if sweep is None and not _BRACES.fullmatch(inside):
            continue
        for dollar, name in _WITH_DOLLAR.findall(inside):
            axes = () if sweep is None else sweep.axes
            of_others = dollar and (index == script or not difflib.get_close_matches(name, axes))
            if name not in axes and not of_others:
                names[name] = None
    return tuple(names)


def _script(command: Sequence[str]) -> int | None:
    """The place of the argument that a shell reads as a script."""
    shell = next((index for index, word in enumerate(command) if word.rpartition("/")[2] in _SHELLS), len(command))
    for index in range(shell + 1, len(command) - 1):
        if _SCRIPT_FOLLOWS.fullmatch(command[index]):
            further = itertools.takewhile(lambda word: word[:1] in ("-", "+"), command[index + 1 :])
            return index + 1 + len([*further])
        if command[index][:1] not in "-+" and not _OPTION_FOLLOWS.fullmatch(command[index - 1]):
            return None
    return None


def parse(written: Iterable[str]) -> Sweep | None:
    """``lr=1e-3,1e-4`` and ``seed=0..9,20``, one parameter each; ``None`` for none.

    Raises:
        SweepError: what is wrong, and an example.
    """
    axes: dict[str, tuple[str, ...]] = {}
    for one in written:
        name, equals, listed = one.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise SweepError(f"--sweep {one}: write name=value,value or name=0..9; the name has letters, digits and _")
        if name in axes:
            raise SweepError(f"--sweep {one}: {name} is already used; write all its values after one name")
        if name == "PATH" or name.startswith(_OWN):
            raise SweepError(f"--sweep {one}: the shell that starts the program needs {name}; write another name")
        axes[name] = _values(one, listed)
    if not axes:
        return None
    sweep = Sweep(axes)
    if sweep.runs > MOST:
        raise SweepError(f"--sweep: {sweep.runs} runs exceed the maximum of one Job, {MOST}; remove some values")
    return sweep


def _values(one: str, listed: str) -> tuple[str, ...]:
    written = [value.strip() for value in listed.split(",")]
    if not all(written):
        raise SweepError(f"--sweep {one}: an empty value; write name=value,value")
    values = tuple(value for each in written for value in _range(one, each))
    if len(values) == 1 and (dash := _DASH.fullmatch(values[0])):
        raise SweepError(f"--sweep {one}: one value with a dash; write {dash[1]}..{dash[2]} for all numbers between")
    if len(set(values)) < len(values):
        raise SweepError(f"--sweep {one}: duplicate value; write each once")
    return values


def _range(one: str, value: str) -> Iterable[str]:
    """The numbers of a range, or the value itself. A path may begin with ``..``, a number may not."""
    match = _RANGE.fullmatch(value)
    if match is None:
        if _NUMBERS.fullmatch(value):
            message = "a range has two whole numbers, as in 0..9; write other values one by one: 0.1,0.2"
            raise SweepError(f"--sweep {one}: {value}: {message}")
        return (value,)
    first, last = int(match[1]), int(match[2])
    if last < first:
        raise SweepError(f"--sweep {one}: empty range; write the smaller number first ({last}..{first})")
    if last - first >= MOST:
        raise SweepError(f"--sweep {one}: more than {MOST} values, the maximum of one Job")
    return map(str, range(first, last + 1))
