"""A stack on a cluster of others: it scales from zero and back, changes and goes, and leaves all as it was."""

from __future__ import annotations

import json

import pytest

from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse
from rehearsal.sandbox import client

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

CLOUDS = ("gke",)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_stack_on_a_cluster_of_others_leaves_it_as_it_was(cloud: str) -> None:
    name = f"{cloud}-existing-cluster"
    process = rehearse("rehearse", f"examples/{name}.yaml")
    output, _ = process.communicate(timeout=LONGEST)
    report = json.loads((REPORTS / name / "report.json").read_text())
    assert (process.returncode, report["verdict"], report["reasons"]) == (0, "pass", []), output
    assert client.processes(REPORTS / name) == {}
    checks = {check["id"]: check["detail"] for check in report["checks"]}
    assert checks.keys() >= {
        "up",
        "groups-as-declared",
        "second-up-no-changes",
        "no-drift",
        "their-answers-now",
        "their-drift-now",
        "returned-to-zero",
        "day-two:maximum-raised",
        "day-two:pool-removed",
        "destroy",
        "their-objects",
        "their-answers",
        "nothing-left",
        "their-resources",
        "their-drift",
    }
    for pool in report["pools"]:
        sizes = report["overTime"]["nodes"][pool["name"]]
        assert (sizes[0], sizes[-1]) == (0, 0)
        assert pool["peak"] >= 1
    assert {pool["name"] for pool in report["pools"]} == {"t4-1", "t4-4"}
