"""What runs, while nothing else is printed: one line on a terminal, with the seconds so far."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def working(what: str, console: Console | None = None) -> Iterator[Callable[[str], None]]:
    """Say what runs until the end of the block; the block's function changes that.

    The line goes to stderr and is removed at the end. Where stderr is no terminal, nothing is written.
    """
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield lambda now: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=None)
        yield lambda now: progress.update(task, description=now)
