"""Which Kubernetes a cluster that exists already is to run: never less than it runs."""

from __future__ import annotations

from typing import Any

import pulumi
import pytest

from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS, kubernetes_minor
from tests import eks_answers, recorder
from tests.components import eks_specs

CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
OURS = kubernetes_minor(None, "regular")
NUMBER = int(OURS.partition(".")[2])
LATER = f"1.{NUMBER + 1}"


def run(running: str, monkeypatch: pytest.MonkeyPatch, **cluster: Any) -> recorder.Recording:
    answers = {
        "getClusters": {"names": ["gpu-test"]},
        "getCluster": {"version": running},
        "getNodeGroups": {"names": []},
    }
    for function, answer in answers.items():
        monkeypatch.setitem(eks_answers.CALLS, f"aws:eks/{function}:{function}", answer)
    return eks_specs.run(eks_specs.gpu_pool(), cluster=cluster)


@pytest.mark.parametrize(
    ("running", "declared"), [(f"1.{NUMBER - 1}", OURS), (OURS, OURS), (LATER, LATER), ("1.99", "1.99")]
)
def test_a_control_plane_that_somebody_upgraded_is_not_sent_back(
    running: str, declared: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = run(running, monkeypatch).only(CLUSTER).inputs
    assert cluster["version"] == declared
    # It stays EKS's to upgrade: nobody wrote a version.
    assert cluster["upgradePolicy"] == {"supportType": "STANDARD"}


@pytest.mark.parametrize(("running", "minor"), [(OURS, OURS), (LATER, LATER), ("1.99", list(CLUSTER_AUTOSCALERS)[-1])])
def test_the_autoscaler_goes_with_what_runs(running: str, minor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    deployment = run(running, monkeypatch).named("autoscaler-deployment")
    (container,) = deployment.inputs["spec"]["template"]["spec"]["containers"]
    assert container["image"].endswith(f":{CLUSTER_AUTOSCALERS[minor]}")
    chart = run(running, monkeypatch, autoscaler="karpenter").named("autoscaler-release")
    assert chart.inputs["version"] == KARPENTERS[minor]


@pytest.mark.parametrize("running", [LATER, "1.99"])
def test_a_written_version_below_it_is_refused(running: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        pulumi.RunError, match=rf"kubernetes\.version: .* runs {running}, and {OURS} .*Write '{running}'"
    ):
        run(running, monkeypatch, version=OURS)
    assert run(running, monkeypatch, version=running).only(CLUSTER).inputs["version"] == running


def test_a_new_cluster_is_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(eks_answers.CALLS, "aws:eks/getClusters:getClusters", {"names": ["another"]})
    recording = eks_specs.run(cluster={})
    assert "aws:eks/getCluster:getCluster" not in recording.calls
    assert recording.only(CLUSTER).inputs["version"] == OURS


def addon_versions(recording: recorder.Recording) -> dict[str, str]:
    addons = recording.of_type("aws:eks/addon:Addon")
    return {each.inputs["addonName"]: each.inputs["addonVersion"] for each in addons if "addonVersion" in each.inputs}


@pytest.mark.parametrize("running", ["1.34", OURS, LATER])
def test_kube_proxy_and_coredns_go_with_what_runs(running: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = OURS if running == "1.34" else running
    versions = {"kube-proxy": f"v{declared}.7-eksbuild.1", "coredns": "v1.13.2-eksbuild.4"}
    assert addon_versions(run(running, monkeypatch)) == versions


def test_a_written_version_of_an_addon_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    pins = {"kube-proxy": "v1.35.1-eksbuild.2", "vpc-cni": "v1.21.0-eksbuild.4"}
    versions = {"coredns": "v1.13.2-eksbuild.4", **pins}
    assert addon_versions(run(OURS, monkeypatch, addon_versions=pins)) == versions
