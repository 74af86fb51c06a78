"""What no reader takes and what looks like GPUs all the same, or may do anything: it is named (``unread.yaml``)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from tests.policies.corpus.case import Case, draft

_CASES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


def _case(row: dict[str, Any]) -> Case:
    resources = [(one["type"], f"gpu{number}", one["inputs"]) for number, one in enumerate(row["resources"])]
    return draft(row["id"], row["story"], unjudged=row.get("unjudged", "")).of(*resources)


UNJUDGED = [_case(row) for row in _CASES["UNJUDGED"]]
ALLOWED = [_case(row) for row in _CASES["ALLOWED"]]
