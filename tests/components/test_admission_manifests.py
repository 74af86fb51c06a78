"""The gate's rules on pods as admission policies: a real API server refuses, warns or lets pass as the gate would."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.admission_manifests import BLANKET_POLICY, RESERVED_POLICY, main, pod_rules
from components.gpu_admission import ISOLATION_POLICY, PLACEMENT_POLICY
from packages.rehearsal.tests.simulated_cluster import eventually
from tests.components.gpu_workloads import Submit, asking, judging, pod, workload
from tests.tables import cases

EVERYTHING = {"operator": "Exists"}
GPUS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
KINDS = ("Deployment", "Job", "CronJob", "StatefulSet")


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submit]:
    with judging(tmp_path_factory.mktemp("foreign"), pod_rules()) as submit:
        # Each policy comes into force when its binding has been seen: one by one, in any order.
        late = [
            lambda one=one, kind=kind: (
                submit(pod(0, tolerations=[one])).status == 403
                and submit(workload(kind, pod(0, tolerations=[one]))).warnings
            )
            for one in (EVERYTHING, GPUS)
            for kind in KINDS
        ]
        for index, in_force in enumerate(late):
            eventually(f"the policies are in force ({index})", in_force)
        yield submit


@pytest.mark.rehearsal
@cases
def test_passes_in_silence(submit: Submit, asks: dict[str, Any], spec: dict[str, Any]) -> None:
    manifest = asking(asks)
    manifest["spec"].update(spec)
    assert submit(manifest).silent


@pytest.mark.rehearsal
@cases
def test_a_pod_is_refused_and_its_workload_warned(submit: Submit, tolerations: Any, words: str) -> None:
    refusal = submit(pod(0, tolerations=tolerations))
    assert refusal.status == 403
    assert words in refusal.error
    for kind in KINDS:
        answer = submit(workload(kind, pod(0, tolerations=tolerations)))
        assert answer.status == 201
        assert "toleration" in "".join(answer.warnings)


def test_the_command_prints_what_kubectl_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    assert documents == [dict(made) for made in pod_rules()]
    policies = [made["metadata"]["name"] for made in documents if made["kind"] == "ValidatingAdmissionPolicy"]
    assert policies == [BLANKET_POLICY, RESERVED_POLICY]


def test_with_a_stack_the_policies_on_sizes_come_along(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).resolve().parents[2]
    assert main([str(root / "Pulumi.prod.yaml")]) == 0
    names = {made["metadata"]["name"] for made in yaml.safe_load_all(capsys.readouterr().out)}
    assert {PLACEMENT_POLICY, ISOLATION_POLICY} < names


def test_a_stack_that_is_not_valid_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text("config: {gpucluster:cloud: moon}\n")
    assert main([str(path)]) == 1
    assert "moon" in capsys.readouterr().err
