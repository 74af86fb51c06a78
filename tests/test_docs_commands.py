"""Every command of `gpu`, `gpucluster` and `make` on a page is one that they take. Nothing runs.

A block of commands alone has no prompts, so that it runs when it is copied. `$ ` stands where output follows.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final

import pytest
import typer.core
import typer.main
from typer.exceptions import TyperException

import gpu.cli
import gpucluster.app
from facts.jobs.job import AskError
from gpucluster.make import VARIABLES
from tests.stacks import ROOT
from tests.test_docs_pages import PAGES

_FENCE: Final = re.compile(r"^( *)```([^\n`]*)\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_INLINE: Final = re.compile(r"`((?:gpu|make|gpucluster) [^`\n]+)`")
_OF_ITSELF: Final = ("--help", "--version", "--install-completion")
# Words that stand for something in a page's prose: `gpu submit …`, `make TARGET VARIABLE=value`.
_PLACEHOLDER: Final = re.compile(r"…|\.\.\.|\bTARGET\b|\bCOMMAND\b|\[|^make (on|no|their)\b")


def blocks(text: str) -> Iterator[str]:
    """A page's shell blocks."""
    for _, language, block in _FENCE.findall(text):
        if language in ("", "sh", "bash", "console"):
            yield block


def commands(text: str) -> Iterator[str]:
    """Each simple command of a page's shell blocks: continued lines joined, comments and what follows a pipe gone."""
    for block in blocks(text):
        lines = [line.strip() for line in re.sub(r"\\\n\s*", "", block).splitlines()]
        session = any(line.startswith("$ ") for line in lines)
        for line in lines:
            if session and not line.startswith("$ "):
                continue
            for part in re.split(r" (?:&&|\|) ", line.removeprefix("$ ")):
                yield re.sub(r"\s+(#|─►).*$", "", part)


def of_tool(tool: str, in_sentences: bool) -> list[tuple[str, str]]:
    """(page, command) for each command of a tool, in blocks or in sentences."""
    written = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        sentences = [each for each in _INLINE.findall(_FENCE.sub("", text)) if not _PLACEHOLDER.search(each)]
        of_page = (
            [part for each in sentences for part in re.split(r" && | \| ", each)] if in_sentences else commands(text)
        )
        written += [(page, re.sub("<.*?>", "x", each)) for each in of_page if each.split()[:1] == [tool]]
    return written


def prompts_without_output(block: str) -> bool:
    """Whether all lines are commands, continued ones and here-documents joined, and some have a prompt."""
    joined = re.sub(r"<<(\w+)\n.*?^ *\1$", "", re.sub(r"([\\|]|&&)\n", " ", block), flags=re.MULTILINE | re.DOTALL)
    lines = [line.strip() for line in joined.splitlines() if line.strip()]
    return any(line.startswith("$ ") for line in lines) and all(line.startswith("$ ") for line in lines)


def refused(app: typer.core.TyperGroup, command: str) -> str:
    """Why the command line refuses the words; empty if it takes them. Nothing runs."""
    words = shlex.split(command)[1:]
    if any(word in (">", "<") for word in words):
        words = words[: next(at for at, word in enumerate(words) if word in (">", "<"))]
    if words[:1] and words[0] not in app.commands:
        return "" if words[0] in _OF_ITSELF else f"no command {words[0]}"
    try:
        app.commands[words[0]].make_context(words[0], words[1:])
    except (AskError, typer.Exit):
        return ""  # it would read a file, or prints its help
    except TyperException as error:
        return str(error)
    return ""


def _line(app: typer.Typer) -> typer.core.TyperGroup:
    line = typer.main.get_command(app)
    assert isinstance(line, typer.core.TyperGroup)
    return line


@pytest.mark.parametrize(
    ("app", "tool", "in_sentences", "least"),
    [
        (gpu.cli.app, "gpu", False, 40),
        (gpu.cli.app, "gpu", True, 50),
        (gpucluster.app.app, "gpucluster", False, 3),
        (gpucluster.app.app, "gpucluster", True, 2),
    ],
)
def test_pages_write_commands_that_the_command_line_takes(
    app: typer.Typer, tool: str, in_sentences: bool, least: int
) -> None:
    written = of_tool(tool, in_sentences)
    assert len(written) >= least
    line = _line(app)
    refusals = {(page, command): why for page, command in written if (why := refused(line, command))}
    # A sentence may name a command or an option without its value.
    incomplete = ("Missing parameter", "requires an argument") if in_sentences else ()
    assert {each: why for each, why in refusals.items() if not any(word in why for word in incomplete)} == {}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("gpu fit --gpu t4", ""),
        ("gpu fit --no-such-option 1", "No such option"),
        ("gpu no-such-command", "no command no-such-command"),
        ("gpu logs", "Missing parameter"),
    ],
)
def test_a_command_that_the_command_line_refuses_is_noticed(command: str, why: str) -> None:
    refusal = refused(_line(gpu.cli.app), command)
    assert why in refusal
    assert bool(refusal) is bool(why)


def test_a_block_of_commands_alone_has_no_prompts() -> None:
    with_prompts = [
        (page, block.splitlines()[0])
        for page in PAGES
        for block in blocks((ROOT / page).read_text(encoding="utf-8"))
        if prompts_without_output(block)
    ]
    assert with_prompts == []


@pytest.mark.parametrize(
    ("block", "noticed"),
    [
        ("$ gpu pools\n", True),
        ("$ cat >x <<END\na: b\nEND\n$ kubectl get pods |\n    wc -l\n", True),
        ("gpu pools\n", False),
        ("$ gpu pools\npool   GPU\n", False),
    ],
)
def test_prompts_without_output_are_noticed(block: str, noticed: bool) -> None:
    assert prompts_without_output(block) is noticed


def test_a_chart_that_a_page_installs_has_a_version() -> None:
    installed = [command for _, command in of_tool("helm", False) if command.split()[1] in ("install", "upgrade")]
    assert installed
    assert [command for command in installed if not re.search(r" --version \d+\.\d+\.\d+\b", command)] == []


def test_pages_write_targets_and_variables_of_make() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    written = [(page, shlex.split(command)[1:]) for page, command in of_tool("make", False) + of_tool("make", True)]
    assert len(written) > 50
    options = ("-s", "-C", "gpucluster", ">", "|")
    unknown = [
        (page, word)
        for page, words in written
        for word in words
        if word not in options and (word.partition("=")[0] not in VARIABLES if "=" in word else word not in targets)
    ]
    assert unknown == []
