"""The released version deployed by the engine, then updated by today's while a job runs: each cloud and autoscaler.

That of GKE is dev, in rehearsals/test_rehearse.py; it is the one that `make test` runs.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from packages.rehearsal.tests.lab import REAL
from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, passes, rehearse
from packages.rehearsal.tests.upgrade.released import commit, released

pytestmark = pytest.mark.rehearsal


@pytest.mark.parametrize(
    "example", ["eks-karpenter", "eks-t4", "aks-train-infer", "aks-node-auto-provisioning", "gke-research"]
)
def test_a_job_survives_the_update_from_the_released_version(example: str, tmp_path: Path) -> None:
    # Other tests rehearse the example at the same time, and reports are by name.
    stack = Path(shutil.copy(released() / "examples" / f"{example}.yaml", tmp_path / f"upgrade-{example}.yaml"))
    report = passes(str(stack), "--base", commit())
    assert {"base", "upgrade-nothing-lost", "upgrade-job", "upgrade-again"} <= {each["id"] for each in report["checks"]}


@REAL
@pytest.mark.parametrize("example", ["kubeadm", "existing"])
def test_a_job_on_own_machines_survives_the_update(example: str) -> None:
    output, _ = (process := rehearse("rehearse", f"examples/{example}.yaml", "--base", commit())).communicate(
        timeout=LONGEST
    )
    assert process.returncode == 0, output
    report = json.loads((REPORTS / example / "report.json").read_text())
    assert {"base", "upgrade-job", "upgrade-job-ends"} <= {check["id"] for check in report["checks"]}
