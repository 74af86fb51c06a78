"""What changes do (``diffs.yaml`` of each cloud), and what each cloud makes of a pool (``machines.yaml``).

A case of ``machines.yaml`` is the pool ``of`` a name in ``account.yaml`` (``gpu_pool`` unless it says so) ``with``
other inputs (paths with dots), in a ``cluster`` with other ones. ``is``: what the fleet is asked for, by its fields
(paths with spaces; taints as ``key=value:effect``). ``lacks``: labels that the nodes do not have.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.kubernetes import Taint
from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.providers.aks import account as azure
from packages.rehearsal.tests.providers.driver import Account, changed
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke import account as gke
from packages.rehearsal.tests.providers.gke import account as google
from rehearsal.providers.base import Properties
from tests.yaml_file import read_yaml

ROWS = [
    pytest.param(cloud, examples, row, id=f"{row['type'].rpartition(':')[2]}-{number}")
    for cloud, examples in ((google.Google, google.EXAMPLES), (azure.Microsoft, azure.EXAMPLES), (Amazon, None))
    for number, row in enumerate(read_yaml(Path(__file__).parent / cloud.provider_type.cloud_name / "diffs.yaml"))
]


@pytest.mark.parametrize(("cloud", "examples", "row"), ROWS)
def test_what_a_change_does(cloud: type[Account], examples: Any, row: dict[str, Any], tmp_path: Path) -> None:
    inputs: Properties = row["of"] if isinstance(row["of"], dict) else examples.inputs(row["of"])()
    before = changed(inputs, row.get("before", {}))
    after = {path: UNKNOWN if value == "UNKNOWN" else value for path, value in row["after"].items()}
    difference = cloud(tmp_path).diff(row["type"], before, changed(before, after), tuple(row.get("ignored", ())))
    assert (list(difference.changes), list(difference.replaces)) == (row["changes"], row.get("replaces", []))
    assert difference.delete_before_replace == row.get("deletes_first", difference.delete_before_replace)


CLOUDS: Mapping[str, tuple[Any, Any]] = {"gke": (gke, gke.Google), "aks": (aks, aks.Microsoft)}
CASES = [
    pytest.param(cloud, case, id=f"{cloud}: {sentence}-{number}")
    for cloud in CLOUDS
    for sentence, cases in read_yaml(Path(__file__).parent / cloud / "machines.yaml").items()
    for number, case in enumerate(cases)
]


def at(value: Any, path: str) -> Any:
    for step in path.split():
        value = value[step] if isinstance(value, Mapping) else getattr(value, step)
    if isinstance(value, tuple):
        return [str(each) if isinstance(each, Taint) else each for each in value]
    return value


@pytest.mark.parametrize(("cloud", "case"), CASES)
def test_a_pool_becomes_these_machines(cloud: str, case: Mapping[str, Any], tmp_path: Path) -> None:
    assert {"is"} <= case.keys() <= {"of", "with", "cluster", "is", "lacks"}
    module, account_type = CLOUDS[cloud]
    account = account_type(tmp_path)
    account.cluster(**case.get("cluster", {}))
    inputs = module.EXAMPLES.inputs(case.get("of", "gpu_pool"))()
    for path, value in case.get("with", {}).items():
        *parents, last = path.split(".")
        block = inputs
        for step in parents:
            block = block[step]
        block[last] = value
    account.create(module.POOL, inputs)
    made = account.fleet.groups[inputs.get("agentPoolName") or inputs["name"]]
    assert {path: at(made, path) for path in case["is"]} == case["is"]
    assert not {*case.get("lacks", ())} & {*made.nodes.labels}
    account.provider.close()
