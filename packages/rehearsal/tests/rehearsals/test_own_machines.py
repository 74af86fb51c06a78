"""Own machines: the unchanged program on machines that are real."""

from __future__ import annotations

import json

import pytest

from packages.rehearsal.tests.lab import REAL
from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse

pytestmark = [pytest.mark.rehearsal]


@REAL
@pytest.mark.parametrize(
    ("stack", "checks"),
    [
        # Three machines become a cluster and are given back; one of three control planes is lost; a cluster of somebody
        # else is used and given back.
        (
            "kubeadm",
            "gpu-job gpu-alone drift power-on second-up-silent no-secrets destroy killed killed-recovered worker-added "
            "pool-renamed no-tokens-after-kill",
        ),
        (
            "kubeadm-ha",
            "plane-lost holder-moved plane-lost-quorum plane-lost-job upgrade-one-at-a-time planes-removed-members "
            "members-again no-tokens-again no-secrets destroy",
        ),
        ("existing", "rights labelled gpu-job second-up cordon-stays given-back plugin-untouched"),
    ],
)
def test_each_stack_on_real_machines_passes_its_checks(stack: str, checks: str) -> None:
    output, _ = (process := rehearse("rehearse", f"examples/{stack}.yaml")).communicate(timeout=LONGEST)
    assert process.returncode == 0, output
    report = json.loads((REPORTS / stack / "report.json").read_text())
    assert report["verdict"] == "pass"
    assert {*checks.split()} <= {check["id"] for check in report["checks"]}
    assert stack != "kubeadm" or sorted(report["real"]) == ["cp1", "gpu1", "gpu2"]
