"""Reads the pack's own tables (CSV); lines that begin with ``#`` are comments."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from importlib.resources import files


def rows(folder: str, table: str) -> tuple[Mapping[str, str], ...]:
    """The rows of a table in a folder of the pack, such as ``readers``."""
    text = (files("policies") / folder / f"{table}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
