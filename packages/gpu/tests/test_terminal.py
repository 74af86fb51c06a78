"""What a cluster says is text: no event, name or message is a command to the reader's terminal."""

from __future__ import annotations

import io
import re

import pytest
from rich.live import Live
from rich.markup import escape

from facts.concepts.foreign_text import output_line
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


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_of_a_job_writes_over_itself_and_nothing_else(text: str) -> None:
    """Progress bars return to the start of their line."""
    shown = output_line(text)
    assert not set(shown) & set("\x07\x08\x1b\x90\x9b\x9c\x9d\n")
    assert "evil" not in shown
    assert output_line("\x1b[31mred\x1b[0m\t50 %\r60 %") == "\x1b[31mred\x1b[0m\t50 %\r60 %"
    assert output_line("\x1b[1A\x1b[2Kabove\x1b]52;c;ZXZpbA==\x07.") == "above."


@pytest.mark.parametrize("terminal", [True, False])
def test_only_a_terminal_is_kept_from_them(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = io.StringIO()
    shown.isatty = lambda: terminal
    monkeypatch.setattr("sys.stdout", shown)
    common.show_line("one\x07")
    assert shown.getvalue() == ("one\n" if terminal else "one\x07\n")
