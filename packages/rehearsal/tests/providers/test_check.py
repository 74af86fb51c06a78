"""Inputs that need no server to be refused, in every form that a schema (``some.json``) can forbid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import schemas
from packages.rehearsal.tests.providers.eks.tables import table
from rehearsal.providers import check

TABLE = table("../test_check")
WORDS = check.InputMessages("{api} knows none in {object}", "{version} of the provider lacks it", "is the server's")


@pytest.fixture(scope="module")
def some() -> schemas.Schema:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schemas, "FOLDER", Path(__file__).parent)
        return schemas.schema("some")


def failures(some: schemas.Schema, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each.property, each.reason) for each in check.failures(some, "some:a:B", inputs, WORDS)]


@pytest.mark.parametrize("row", TABLE["refused"], ids=str)
def test_one_error_is_reported_at_its_path(some: schemas.Schema, row: dict[str, Any]) -> None:
    assert failures(some, {"name": "a", **row["inputs"]}) == [(row["path"], row["reason"])]


@pytest.mark.parametrize("inputs", TABLE["allowed"], ids=str)
def test_what_the_schema_allows_passes(some: schemas.Schema, inputs: dict[str, Any]) -> None:
    assert failures(some, {"name": "a", **inputs}) == []


def test_all_errors_are_reported_at_once(some: schemas.Schema) -> None:
    assert len(failures(some, {"mode": "x", "size": "y", "block": {}})) == 4
