"""Manifests as other projects publish them, applied to a rehearsed cluster: they run, wait for the cloud's reason, or
name the controller that they need."""

from __future__ import annotations

import json
import re
from typing import Any, Final

import pytest

from packages.rehearsal.tests.rehearsals import LONGEST, REPORTS, rehearse
from packages.rehearsal.tests.rehearsals.test_rehearse import MANIFESTS
from rehearsal.scenario.manifests import read

PUBLIC: Final = MANIFESTS / "public"
RUN: Final = {"homes": "admin", "with-data": "t4-1", "workers": "admin", "vectoradd": "t4-1", "model": "t4-1"}
"""Workload → the pool of all its pods."""
REFUSED_OR_WAITING: Final = {
    "nvidia-device-plugin-daemonset": r"insufficient quota to match these scopes: \[\{PriorityClass In \[",
    "zone-trap": r"didn't match PersistentVolume's node affinity|incompatible volume requirements",
    "other-gpu": r"didn't match Pod's node affinity/selector|gke-accelerator",
}
CONTROLLERS: Final = {
    "ray": "RayCluster needs the controller of ray.io",
    "ddp": "PyTorchJob needs the controller of kubeflow.org",
    "llama": "InferenceService needs the controller of serving.kserve.io",
    "steps": "Workflow needs the controller of argoproj.io",
}


def test_there_are_eight_of_core_kinds_and_four_of_others() -> None:
    with_pods = {"StatefulSet", "Job", "Pod", "Deployment", "DaemonSet"}
    manifests = read(PUBLIC)
    assert {each["metadata"]["name"] for each in manifests if each["kind"] in with_pods} == {*RUN, *REFUSED_OR_WAITING}
    assert len(RUN) + len(REFUSED_OR_WAITING) == 8
    others = {each["metadata"]["name"] for each in manifests if each["apiVersion"].count(".")}
    assert others - {"homes"} == {*CONTROLLERS}
    for file in ("core.yaml", "others.yaml"):
        assert (PUBLIC / file).read_text().count("# https://") + (PUBLIC / file).read_text().count(": https://") >= 4


@pytest.mark.rehearsal
@pytest.mark.usefixtures("tools")
def test_each_runs_or_says_why_not() -> None:
    process = rehearse("rehearse", "dev", "--apply", str(PUBLIC), "--day-two", "none")
    output, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == 1, output
    report: dict[str, Any] = json.loads((REPORTS / "dev" / "report.json").read_text())
    pools = {one["name"]: {pod["pool"] for pod in one["pods"]} for one in report["applied"] if one["pods"]}
    assert {name: {RUN[name]} for name in RUN} == {name: pools.get(name) for name in RUN}
    details = {check["id"].rpartition("/")[2]: check["detail"] for check in report["checks"] if not check["passed"]}
    assert details.keys() == {*REFUSED_OR_WAITING, *CONTROLLERS}, "nothing else fails"
    for name, words in {**REFUSED_OR_WAITING, **CONTROLLERS}.items():
        assert re.search(words, details[name]), details[name]
