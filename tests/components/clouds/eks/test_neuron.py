"""AWS's own chips: pools whose nodes have another image, taint and resource. What follows from the name of any maker:
``tests/components/test_other_makers.py``."""

from __future__ import annotations

from functools import cache

import yaml

from tests import recorder
from tests.stacks import ROOT, run_with

CONFIG = {
    **yaml.safe_load((ROOT / "examples" / "eks-neuron.yaml").read_text())["config"],
    "gpucluster:gpuPools": [
        {"name": "inf2", "gpu": "aws-inferentia2", "gpusPerNode": [1, 6], "capacity": "spot", "maxNodes": 2},
        {"name": "trn1", "gpu": "aws-trainium1", "maxNodes": 2},
        {"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2},
    ],
}
RESOURCE = "aws.amazon.com/neuron"
TAINT = {"key": RESOURCE, "value": "present", "effect": "NoSchedule"}
CHIPS = ("inf2-1", "inf2-6", "trn1-1")


@cache
def declared(autoscaler: str = "karpenter") -> recorder.Recording:
    return run_with({**CONFIG, "gpucluster:autoscaling": {"autoscaler": autoscaler}}, "eks-neuron")


def test_the_plugin_has_the_rights_of_its_chart() -> None:
    """https://github.com/aws-neuron/neuron-helm-charts/blob/main/charts/neuron-helm-chart/templates/device-plugin-rbac.yaml"""
    roles = declared().of_type("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole")
    (role,) = [one.inputs for one in roles if "neuron" in one.inputs["metadata"]["name"]]
    assert {rule["resources"][0]: {*rule["verbs"]} for rule in role["rules"]} == {
        "nodes": {"get", "list", "watch"},
        "events": {"create", "patch"},
        "pods": {"update", "patch", "get", "list", "watch"},
        "nodes/status": {"patch", "update"},
        "nodes/proxy": {"get", "list"},
    }


def test_a_node_group_has_its_image_repels_others_and_tells_the_autoscaler_of_the_devices() -> None:
    recording = declared("cluster-autoscaler")
    groups = [one.inputs for one in recording.of_type("aws:eks/nodeGroup:NodeGroup") if one.inputs.get("taints")]
    chips = [inputs for inputs in groups if not inputs["nodeGroupName"].startswith("t4")]
    assert {inputs["amiType"] for inputs in chips} == {"AL2023_x86_64_NEURON"}
    assert all({**TAINT, "effect": "NO_SCHEDULE"} in inputs["taints"] for inputs in chips)
    assert not [key for inputs in chips for key in inputs["labels"] if key.startswith(("nvidia", "k8s.amazonaws"))]
    tags = [one.inputs["tag"] for one in recording.of_type("aws:autoscaling/tag:Tag")]
    assert sorted(tag["value"] for tag in tags if tag["key"].endswith(f"/resources/{RESOURCE}")) == [*"111166"]
    # Without them the autoscaler measures these nodes by CPU and memory, and drains those that are half used.
    for option, value in (("scaledownutilizationthreshold", "0.00001"), ("ignoredaemonsetsutilization", "true")):
        assert [tag["value"] for tag in tags if tag["key"].endswith(f"/autoscaling-options/{option}")] == [value] * 6


def test_karpenter_has_the_limit_in_devices() -> None:
    for name, limit in zip(CHIPS, ("2", "12", "2"), strict=True):
        spec = declared().named(f"{name}-pool").inputs["spec"]
        assert spec["limits"] == {"nodes": "2", RESOURCE: limit}
        assert TAINT in spec["template"]["spec"]["taints"]


def test_aws_s_plugin_has_an_account_of_its_own() -> None:
    pod = declared().named("drivers-neuron-device-plugin-whole").inputs["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"].startswith("public.ecr.aws/neuron/neuron-device-plugin:2.")
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("neuron-device-plugin", True)
    binding = declared().named("drivers-neuron-device-plugin-whole-clusterrolebinding").inputs
    assert binding["subjects"][0]["name"] == binding["roleRef"]["name"] == "neuron-device-plugin"
