"""Commands whose options are the fields of a record, instead of a function with a parameter for each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from inspect import Parameter, Signature
from typing import Any, TypeVar, get_type_hints

from gpu.commands import options

R = TypeVar("R")


def takes(record: type[R]) -> Callable[[Callable[[R], None]], Callable[..., None]]:
    """Make a command of typer from a function of one ``record``, a dataclass.

    Each field is an option or an argument, as its annotation says, with the field's default.
    """
    hints = get_type_hints(record, include_extras=True)
    parameters = [
        Parameter(
            each.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if each.default is MISSING else each.default,
            annotation=hints[each.name],
        )
        for each in fields(record)  # type: ignore[arg-type]
    ]

    def command_of(function: Callable[[R], None]) -> Callable[..., None]:
        @functools.wraps(function)
        def command(**values: Any) -> None:
            function(record(**values))

        vars(command).update(__signature__=Signature(parameters))
        command.__annotations__ = hints
        return command

    return command_of


@dataclass(frozen=True, kw_only=True)
class PodOptions:
    """What a pod requests, as options of a command."""

    gpus: options.Gpus = 1
    gpu: options.Gpu = None
    memory: options.Memory = None
    cpus: options.Cpus = None
    disk: options.Disk = None
    spot: options.Spot = None


@dataclass(frozen=True, kw_only=True)
class WorkerOptions(PodOptions):
    """The same of pods that run together."""

    workers: options.Workers = 1
