"""What the provider refuses without asking Azure: ``inputs.yaml``; and the neighbours that it takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.rehearsal.tests.providers.aks.account import CLUSTER, EXAMPLES, POOL, Microsoft, cluster, gpu_pool
from rehearsal.providers.base import ProviderError

ROWS = yaml.safe_load(Path(__file__).with_name("inputs.yaml").read_text())


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["message"])
def test_inputs_that_no_request_can_have(azure: Microsoft, row: dict[str, Any]) -> None:
    with pytest.raises(ProviderError, match=row["message"]):
        azure.check(row["type"], EXAMPLES.inputs(row["of"])(**row["changes"]))


def test_names_of_exactly_the_longest_kind_pass(azure: Microsoft) -> None:
    assert azure.check(POOL, gpu_pool(agentPoolName="a" * 12))
    assert azure.check(CLUSTER, cluster(resourceName="a" * 63))
    assert azure.check(POOL, gpu_pool(count=3.0))
