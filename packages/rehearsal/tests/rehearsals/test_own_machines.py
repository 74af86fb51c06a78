"""Own machines: the unchanged program on machines that are real."""

from __future__ import annotations

import json
import os

import pytest

from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse

pytestmark = [pytest.mark.rehearsal, pytest.mark.exhaustive]


@pytest.mark.skipif(os.geteuid() != 0, reason="real machines need root")
def test_three_machines_become_a_cluster_and_are_given_back() -> None:
    output, _ = (process := rehearse("rehearse", "examples/kubeadm.yaml")).communicate(timeout=LONGEST)
    assert process.returncode == 0, output
    report = json.loads((REPORTS / "kubeadm" / "report.json").read_text())
    assert report["verdict"] == "pass"
    assert sorted(report["real"]) == ["cp1", "gpu1", "gpu2"]
    checks = {check["id"] for check in report["checks"]}
    assert {"gpu-job", "gpu-alone", "drift", "power-on", "second-up-silent", "no-secrets", "destroy"} <= checks
    assert {"killed", "killed-recovered", "worker-added", "no-tokens-after-kill"} <= checks


@pytest.mark.skipif(os.geteuid() != 0, reason="real machines need root")
def test_one_of_three_control_planes_is_lost() -> None:
    output, _ = (process := rehearse("rehearse", "examples/kubeadm-ha.yaml")).communicate(timeout=LONGEST)
    assert process.returncode == 0, output
    report = json.loads((REPORTS / "kubeadm-ha" / "report.json").read_text())
    assert report["verdict"] == "pass"
    checks = {check["id"] for check in report["checks"]}
    assert {"plane-lost", "holder-moved", "plane-lost-quorum", "plane-lost-job", "upgrade-one-at-a-time"} <= checks
    assert {"planes-removed-members", "members-again", "no-tokens-again", "no-secrets", "destroy"} <= checks


@pytest.mark.skipif(os.geteuid() != 0, reason="real machines need root")
def test_a_cluster_of_somebody_else_is_used_and_given_back() -> None:
    output, _ = (process := rehearse("rehearse", "examples/existing.yaml")).communicate(timeout=LONGEST)
    assert process.returncode == 0, output
    report = json.loads((REPORTS / "existing" / "report.json").read_text())
    assert report["verdict"] == "pass"
    checks = {check["id"] for check in report["checks"]}
    assert {"rights", "labelled", "gpu-job", "second-up", "cordon-stays", "given-back", "plugin-untouched"} <= checks
