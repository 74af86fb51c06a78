"""Options of ``gpu submit`` from files: ``--file job.yaml`` and ``--env-file``."""

from __future__ import annotations

import difflib
import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import yaml
from typer.core import TyperCommand

from facts.jobs.job import AskError
from gpu.commands.common import problem_of
from gpu.yaml_text import text_of

COMMAND: Final = "command"
_OF_SHELLS: Final = frozenset(("&&", "||", "|", ";", "&", ">", ">>", "<", "2>&1"))
_QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_EXAMPLE: Final = "pip install x && python train.py"
_NOT_IN_A_FILE: Final = frozenset({"file", "help"})
_OF_WHO_SUBMITS: Final = frozenset({"yes", "context", "cluster", "team", "registry"})
"""Options that say who gets the job and the folder, unasked: whoever wrote the file is not who submits it."""


def _read(ctx: typer.Context, path: Path | None) -> Path | None:
    """Make the file's values the defaults of this command's options, so that the command line wins. Raises AskError."""
    if path is None:
        return None
    try:
        content = text_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise AskError(f"--file {path}: {problem_of(error)}") from error
    if not isinstance(content, Mapping):
        raise AskError(f"--file {path}: write one option per line, as in `gpus: 4`")
    known = _names(ctx.command.params)
    hidden = {each.name for each in ctx.command.params if getattr(each, "hidden", False)}
    hidden |= _OF_WHO_SUBMITS
    options = sorted(name.replace("_", "-") for name, (own, _) in known.items() if own not in hidden)
    defaults: dict[str, Any] = {}
    for key, value in content.items():
        name, where = str(key).replace("-", "_"), f"--file {path}: {key}"
        if name not in known:
            close = difflib.get_close_matches(str(key), options, 1, 0.7)
            hint = f"did you mean {close[0]}?" if close else f"write one of {', '.join(options)}"
            raise AskError(f"--file {path}: there is no option {key}; {hint}")
        own, opposite = known[name]
        if own in _OF_WHO_SUBMITS:
            raise AskError(f"{where}: a file does not say this; write --{own} on the command line")
        # A file from elsewhere says nothing about the working folder, which is somebody else's.
        folder = Path() if _below(Path(), path) else path.resolve().parent
        if own in defaults:
            raise AskError(f"{where}: the file has this option twice")
        if own == "env_file" and value is not None:
            if not _below(folder, folder / str(value)):
                whose = "this folder" if folder == Path() else str(folder)
                raise AskError(f"{where}: {value} is outside of {whose}; write --env-file on the command line")
            value = str(folder / str(value))
        defaults[own] = _opposite(where, value) if opposite else _value(where, own, value)
    ctx.default_map = defaults
    return path


def _below(folder: Path, file: Path) -> bool:
    """Whether a file is in the folder, wherever links lead: its values go to all members of a namespace."""
    return file.resolve().is_relative_to(folder.resolve())


def _names(parameters: Sequence[Any]) -> dict[str, tuple[str, bool]]:
    """Name of an option in a file → the parameter, and whether it is its opposite: ``no_spot``, ``build``."""
    own = [each for each in parameters if each.name not in _NOT_IN_A_FILE]
    opposites = {word[2:].replace("-", "_"): each.name for each in own for word in each.secondary_opts}
    return {each.name: (each.name, False) for each in own} | {name: (of, True) for name, of in opposites.items()}


def _opposite(where: str, value: Any) -> bool | None:
    """The parameter's value, if its opposite is ``value``; ``None`` is the default. Raises AskError."""
    if str(value).lower() not in ("true", "false"):
        raise AskError(f"{where}: write true or false")
    return False if str(value).lower() == "true" else None


def _value(where: str, name: str, value: Any) -> Any:
    """``command`` and options that may be repeated as lists; of ``env`` and ``sweep`` also a mapping."""
    if name == COMMAND:
        return None if value is None else _words(where, value)
    if isinstance(value, Mapping):
        if name not in ("env", "sweep"):
            raise AskError(f"{where}: write one value, not a mapping")
        lists = {key: each if isinstance(each, list) else [each] for key, each in value.items()}
        if any(isinstance(each, (Mapping, list)) for values in lists.values() for each in values):
            raise AskError(f"{where}: write one value for each name, or a list of values")
        return [f"{key}={','.join(map(_text, each))}" for key, each in lists.items()]
    return [value] if name in ("env", "sweep", "secret") and not isinstance(value, list) else value


def _words(where: str, value: Any) -> list[str]:
    """The program and its arguments, of a list or of a line that needs no shell. Raises AskError."""
    remedy = f"write one program, or a shell's: [bash, -c, '{_EXAMPLE}']"
    if isinstance(value, list):
        if any(isinstance(word, (Mapping, list)) for word in value):
            raise AskError(f"{where}: each word is one value; {remedy}")
        return [_text(word) for word in value]
    if not isinstance(value, str):
        raise AskError(f"{where}: {remedy}")
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise AskError(f"{where}: a quotation mark or \\ is not closed; write a list: [python, train.py]") from error
    bare = _QUOTED.sub("''", value).split()
    if "\n" in value.strip() or not _OF_SHELLS.isdisjoint(bare) or any(word.endswith(";") for word in bare):
        raise AskError(f"{where}: no shell reads this; {remedy}")
    return words


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def _or_of_file(ctx: typer.Context, words: list[str] | None) -> list[str] | None:
    """The program after ``--``, else the file's, which click looks up for options only."""
    return words or (ctx.default_map or {}).get(COMMAND)


class ProgramCommand(TyperCommand):
    """A command whose last words are a program: without ``--`` an option behind its first word is refused, because it
    may be the program's or ``gpu``'s.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The parser's own, after that question. Raises AskError."""
        parser = self.make_parser(ctx)
        parser.allow_interspersed_args = False
        words = list(parser.parse_args(list(args))[0].get(COMMAND) or ())
        own = args[: len(args) - len(words)]
        option = next((word for word in itertools.takewhile("--".__ne__, words) if word[:1] == "-" != word), None)
        if option and own[-1:] != ["--"] and not ctx.resilient_parsing:
            line = shlex.join(["gpu", str(ctx.info_name), *own, "--", *words])
            raise AskError(f"{option} behind the program: write options of gpu, then --, then the program: {line}")
        return super().parse_args(ctx, args)


CommandArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="COMMAND", callback=_or_of_file, help="After --: the program and its arguments."),
]
FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        "-f",
        metavar="FILE",
        callback=_read,
        is_eager=True,
        help="Read options from a YAML file: `gpus: 4`, `command: python train.py`. The command line wins.",
    ),
]
EnvFileOption = Annotated[
    Path | None,
    typer.Option("--env-file", metavar="FILE", help="Read environment variables from a file, NAME=value per line."),
]
MountOption = Annotated[str | None, typer.Option("--mount", metavar="URL", hidden=True)]


def refuse_mount(url: str | None) -> None:
    """Buckets would need a driver that the stack does not install, and volumes that only administrators create."""
    if url is not None:
        raise AskError(
            f"--mount {url}: jobs mount no buckets. Let the program read it (fsspec), with a --service-account that "
            "`identities` in the stack file gives access to the bucket; or copy it to /shared once"
        )


def variables(file: Path | None, options: list[str]) -> dict[str, str]:
    """The environment: of the file, then of ``--env`` options, which win. Raises AskError."""
    result: dict[str, str] = {}
    try:
        lines = file.read_text(encoding="utf-8").splitlines() if file is not None else []
    except (OSError, ValueError) as error:
        raise AskError(f"--env-file {file}: {problem_of(error)}") from error
    for number, line in enumerate(lines, 1):
        text = line.strip().removeprefix("export ").strip()
        if text and not text.startswith("#"):
            name, value = _pair(f"--env-file {file}, line {number}", text)
            value = value.strip()
            quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            result[name] = value[1:-1] if quoted else value
    return result | dict(_pair(f"--env {option}", option) for option in options)


def _pair(where: str, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise AskError(f"{where}: write NAME=value")
    return name.strip(), value
