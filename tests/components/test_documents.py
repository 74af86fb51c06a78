"""Manifests and policies in YAML files, with values of the stack in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.resources import documents

TEXT = """
name: "${cluster}"
path: a/${cluster}/b
"tag/${cluster}": owned
flags: ${flags}
list: [x, "${flags}"]
---
Null: "$5, not a name"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "objects.yaml"
    path.write_text(TEXT)
    return path


def test_names_stand_for_values_in_texts_and_keys_and_alone_for_values_of_any_type(file: Path) -> None:
    first, _ = documents(file, cluster="ml", flags=["--v=2", 5])
    assert first == {
        "name": "ml",
        "path": "a/ml/b",
        "tag/ml": "owned",
        "flags": ["--v=2", 5],
        "list": ["x", ["--v=2", 5]],
    }


def test_a_name_without_a_value_stops_the_program(file: Path) -> None:
    with pytest.raises(KeyError, match="flags"):
        documents(file, cluster="ml")


def test_a_value_is_not_yaml(file: Path) -> None:
    first, _ = documents(file, cluster="${flags}: [", flags="a: b")
    assert (first["name"], first["flags"]) == ("${flags}: [", "a: b")
