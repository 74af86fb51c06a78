"""What a cluster says is text: no event, name or message is a command to the reader's terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.live import Live
from rich.markup import escape

from gpu.commands import common
from gpu.commands.common import PlainConsole, table_of

HOSTILE = (
    "\x1b]0;title\x07",
    "\x1b[2J\x1b[H",
    "\x9b2J",
    "\x1b]8;;https://evil.example\x1b\\here\x1b]8;;\x1b\\",
    "\x9d0;title\x9c",
    "line\rover",
    "back\x08\x08",
    "[\x1bred]no markup",
    "read \u202eesrever\u202c",
    "\x90q\x9c",
)
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_it_reaches_the_terminal(text: str) -> None:
    shown = io.StringIO()
    console = PlainConsole(file=shown, force_terminal=True, width=200)
    table = table_of("job")
    table.add_row(escape(text))
    console.print(escape(text))
    console.print(f"[yellow]{escape(text)}[/]")
    console.print(text, markup=False)
    console.print(table)
    plain = _STYLE.sub("", shown.getvalue())
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", plain)
    printable = re.sub(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e]", "\ufffd", text)
    assert plain.count(printable) == 4, "all the rest is"


def test_the_live_view_shows_it_as_text_too() -> None:
    shown = io.StringIO()
    console = PlainConsole(file=shown, force_terminal=True, width=200)
    table = table_of("job")
    table.add_row(escape(HOSTILE[0]))
    with Live(table, console=console, auto_refresh=False):
        pass
    assert "\x1b]" not in shown.getvalue()
    assert "]0;title" in shown.getvalue()


@pytest.mark.parametrize("make", [common.out, common.err])
def test_the_commands_have_such_consoles(make: object) -> None:
    assert callable(make)
    assert isinstance(make(), PlainConsole)
