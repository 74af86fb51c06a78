"""Reads the pack's own tables (CSV); lines that begin with ``#`` are comments."""

from __future__ import annotations

from importlib.resources import files

from facts.catalog.tables import Row, parsed


def rows(folder: str, table: str) -> tuple[Row, ...]:
    """The rows of a table in a folder of the pack, such as ``readers``."""
    text = (files("policies") / folder / f"{table}.csv").read_text(encoding="utf-8")
    return parsed(text)
