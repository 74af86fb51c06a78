"""Which mutants nobody notices, a table per stack with counts, and which do no harm: data in ``packages/rehearsal``."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from rich.table import Table

from proof.mutants.judges import Verdict
from proof.mutants.mutation import Key, Mutant, general
from rehearsal.engine.stack import ROOT
from rehearsal.providers.differences import parse_path

FOLDER: Final = ROOT / "packages" / "proof" / "mutants"
COUNTS: Final = "counts.csv"
NOTICED: Final = ("types", "gate", "up", "scenario")
"""Judges that stop a deployment or fail a rehearsal."""
COLUMNS: Final = ("type", "resource", "path", "mutation", "value", "noticed_by", "detail", "harm", "why")
"""``noticed_by`` is a judge; ``harm`` is harmful, harmless, or named: a rehearsal says that it does not cover it."""
_LONGEST: Final = 110
_OF_ONE_RUN: Final = re.compile(r"127\.0\.0\.1:\d+|\d+(\.\d+)? s\b|/\S*/(build|tmp)/\S*")

Row = Mapping[str, str]


def judgements(stack: str, folder: Path = FOLDER) -> list[Row]:
    """What is known about harm in a ``stack``: patterns (``fnmatch``, several with ``|`` between them)
    of a resource's type and name, of a path without indices and of a mutation → ``harm``, with reason and source."""
    return [row for row in _read(folder / "judgements.csv") if fnmatchcase(stack, row["stack"])]


def row_of(mutant: Mutant, verdict: Verdict, known: Iterable[Row] = ()) -> Row:
    """The row of a result, judged by what is ``known``."""
    detail = " ".join(_OF_ONE_RUN.sub("…", verdict.detail).split())
    values = (*mutant.key, mutant.value[:_LONGEST], verdict.judge, detail[:_LONGEST])
    return judged(dict(zip(COLUMNS, values, strict=False)), known)


def judged(row: Row, known: Iterable[Row]) -> Row:
    """``row`` with its harm. The first judgement that covers the mutant counts; an equal value does no harm."""
    if row["noticed_by"] == "same":
        return {**row, "harm": "harmless", "why": "the provider fills in the same value"}
    resource, path = f"{row['type']} {row['resource']}", general(parse_path(row["path"]))
    texts = {"resource": resource, "path": path, "mutation": row["mutation"]}
    for one in known:
        if all(any(fnmatchcase(text, each) for each in one[name].split("|")) for name, text in texts.items()):
            return {**row, "harm": one["harm"], "why": one["why"]}
    return {**row, "harm": "harmful", "why": ""}


def key_of(row: Row) -> Key:
    """As ``Mutant.key``."""
    return row["type"], row["resource"], row["path"], row["mutation"]


def read(stack: str, folder: Path = FOLDER) -> dict[Key, Row] | None:
    """The mutants of a stack that may do harm and that nobody noticed, as committed; ``None`` if there is no table."""
    file = folder / f"{stack}.csv"
    return {key_of(row): row for row in _read(file)} if file.exists() else None


def counts(folder: Path = FOLDER) -> dict[str, tuple[int, int]]:
    """Stack → its harmful mutants, and how many of them were noticed when its table was written."""
    file = folder / COUNTS
    rows = _read(file) if file.exists() else []
    return {row["stack"]: (int(row["harmful"]), int(row["noticed"])) for row in rows}


def write(stack: str, rows: Collection[Row], folder: Path = FOLDER) -> Path:
    """Write the rows of a stack's mutants that are not noticed, sorted, and the counts of all."""
    file, harmful = folder / f"{stack}.csv", [row for row in rows if row["harm"] == "harmful"]
    _write(file, COLUMNS, sorted(unnoticed(rows), key=key_of))
    known = {**counts(folder), stack: (len(harmful), sum(row["noticed_by"] in NOTICED for row in harmful))}
    lines = [{"stack": name, "harmful": str(known[name][0]), "noticed": str(known[name][1])} for name in sorted(known)]
    _write(folder / COUNTS, ("stack", "harmful", "noticed"), lines)
    return file


def unnoticed(rows: Iterable[Row]) -> list[Row]:
    """The rows of mutants that may do harm and that nobody notices; a report is no notice."""
    return [row for row in rows if row["noticed_by"] not in NOTICED and row["harm"] != "harmless"]


def lost(rows: Iterable[Row], committed: Mapping[Key, Row] | None) -> list[Row]:
    """The rows that are not noticed, and not in the committed table; none without a table."""
    return [] if committed is None else [row for row in unnoticed(rows) if key_of(row) not in committed]


def summary(rows: Iterable[Row]) -> Table:
    """Harmful mutants by resource type and judge, and how many of them are noticed."""
    harmful = [row for row in rows if row["harm"] == "harmful"]
    judges = (*NOTICED, "advisory", "nobody")
    table = Table("harmful mutants of", *judges, "noticed", box=None)
    for kind in [*sorted({row["type"] for row in harmful}), ""]:
        counts = Counter(row["noticed_by"] for row in harmful if kind in ("", row["type"]))
        noticed, total = sum(counts[judge] for judge in NOTICED), sum(counts.values())
        share = f"{noticed} of {total} ({noticed / (total or 1):.0%})"
        table.add_row(kind or "all", *(str(counts[judge] or "") for judge in judges), share)
    return table


def _write(file: Path, columns: Sequence[str], rows: Iterable[Row]) -> None:
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer: csv.DictWriter[str] = csv.DictWriter(lines, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
