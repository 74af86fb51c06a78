"""Every table of facts has a day and a source, and `make facts` lists what is old or without one."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from facts.catalog.ages import dated_rows, report
from facts.catalog.tables import parsed

ROOT = Path(__file__).parents[3]
TABLES = ROOT / "facts/catalog"
RULES = ROOT / "packages/rehearsal/rehearsal/providers"
SOURCES = (TABLES / "data/sources.csv", RULES / "sources.csv")


def row(dated: str, source: str = "https://cloud.example/page") -> dict[str, str]:
    return {"table": "gke/zones", "dated": dated, "source": source}


def test_each_table_of_the_catalogue_has_one_row() -> None:
    tables = {
        "/".join((*path.relative_to(TABLES).parts[:-2], path.stem))
        for path in TABLES.rglob("data/*.csv")
        if path.stem not in ("sources", "fees")
    }
    assert sorted(row["table"] for row in parsed(SOURCES[0].read_text())) == sorted(tables)


def test_each_file_of_rules_has_one_row() -> None:
    files = [str(path.relative_to(RULES)) for path in RULES.rglob("rules.yaml")]
    assert sorted(row["table"] for row in parsed(SOURCES[1].read_text())) == sorted(files)
    assert len(files) == 3


def test_every_day_is_over_and_every_source_a_link() -> None:
    rows = [*dated_rows(SOURCES)]
    assert [row for row in rows if not "2024-01-01" < row["dated"] <= date.today().isoformat()] == []
    assert [row["table"] for row in rows if not row["source"].startswith("https://")] == ["aks/system_pods"]


def test_a_fact_is_old_after_a_year() -> None:
    today = date(2026, 11, 25)
    assert report([row("2025-11-25")], today) == ["1 source of facts, the oldest of 2025-11-25; 0 older than a year."]
    assert report([row("2025-11-24")], today)[0] == (
        "2025-11-24  gke/zones: older than a year; read https://cloud.example/page again"
    )


def test_general_knowledge_is_listed() -> None:
    assert report([row("2026-11-01", source="")], date(2026, 11, 25))[0] == (
        "2026-11-01  gke/zones: without a source, general knowledge"
    )
