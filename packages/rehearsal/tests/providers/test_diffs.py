"""Which changes replace a resource, which update it in place, and which are none: ``diffs.yaml`` of each cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.aks import account as azure
from packages.rehearsal.tests.providers.driver import Account, Examples, changed
from packages.rehearsal.tests.providers.gke import account as google
from rehearsal.providers.base import Properties

ROWS = [
    pytest.param(cloud, examples, row, id=f"{row['type'].rpartition(':')[2]}-{number}")
    for cloud, examples in ((google.Google, google.EXAMPLES), (azure.Microsoft, azure.EXAMPLES))
    for number, row in enumerate(
        yaml.safe_load((Path(__file__).parent / cloud.provider_type.cloud_name / "diffs.yaml").read_text())
    )
]


@pytest.mark.parametrize(("cloud", "examples", "row"), ROWS)
def test_what_a_change_does(cloud: type[Account], examples: Examples, row: dict[str, Any], tmp_path: Path) -> None:
    inputs: Properties = row["of"] if isinstance(row["of"], dict) else examples.inputs(row["of"])()
    before = changed(inputs, row.get("before", {}))
    after = {path: UNKNOWN if value == "UNKNOWN" else value for path, value in row["after"].items()}
    difference = cloud(tmp_path).diff(row["type"], before, changed(before, after))
    assert (list(difference.changes), list(difference.replaces)) == (row["changes"], row.get("replaces", []))
