"""Which simulated types are held to a recording; the verdict of a rehearsal counts them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Final

import pytest

from rehearsal.providers.resource import recorded_types

FOLDER: Final = Path(__file__).parent


def _types(file: Path) -> set[str]:
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8") as lines:
            return {row["type"] for row in csv.DictReader(lines)}
    content = json.loads(file.read_text("utf-8"))
    return {each["type"] for each in (content["resources"] if isinstance(content, dict) else content)}


@pytest.mark.parametrize(("cloud", "count"), [("gke", 18), ("eks", 18), ("aks", 2)])
def test_a_type_counts_as_recorded_if_it_is_compared_with_a_recording(cloud: str, count: int) -> None:
    compared = {token for file in (FOLDER / cloud / "recorded").glob("*") for token in _types(file)}
    known = recorded_types(cloud)
    assert {token for token, recorded in known.items() if recorded} == compared & known.keys()
    assert sum(known.values()) == count
    assert not all(known.values())
