"""AWS's own chips: pools whose nodes have another image, taint and resource, and who may get onto them."""

from __future__ import annotations

import json
from functools import cache

import pytest
import yaml

from components.clouds.base import load_cloud
from components.gpu_admission import claims, manifests
from components.settings import load
from components.settings.teams import Team
from components.teams import manifests as team_manifests
from components.workloads.queue import cluster_queue, flavors_of
from facts.concepts.broken_nodes import problem
from facts.concepts.kubernetes import gpu_limit
from facts.concepts.offer import from_config_map
from facts.concepts.pool import Pool
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import JobRequest
from facts.jobs.job import manifests as job_manifests
from facts.jobs.plan import NothingFits, place, training_job
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


def pools() -> tuple[Pool, ...]:
    keys = {key.removeprefix("gpucluster:"): value for key, value in CONFIG.items() if key != "aws:region"}
    return load(keys, stack="eks-neuron", project="us-east-1").gpu_pools


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


def test_aws_s_plugin_runs_on_their_nodes_alone_with_an_account_of_its_own() -> None:
    daemons = {one.app: one for one in load_cloud("eks").gpu_daemons(pools())}
    assert {app: [pool.name for pool in one.pools] for app, one in daemons.items()} == {
        "nvidia-device-plugin": ["t4-1"],
        "neuron-device-plugin": [*CHIPS],
    }
    assert [pool.name for each in load_cloud("eks").gpu_exporters(pools()) for pool in each.pools] == ["t4-1"]
    pod = declared().named("drivers-neuron-device-plugin-whole").inputs["spec"]["template"]["spec"]
    assert pod["containers"][0]["image"].startswith("public.ecr.aws/neuron/neuron-device-plugin:2.")
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("neuron-device-plugin", True)
    binding = declared().named("drivers-neuron-device-plugin-whole-clusterrolebinding").inputs
    assert binding["subjects"][0]["name"] == binding["roleRef"]["name"] == "neuron-device-plugin"


def test_a_check_and_a_submitted_job_request_the_devices_and_tolerate_the_taint() -> None:
    published = from_config_map(declared().named("offer-pools").inputs)
    asked = JobRequest(name="j", namespace="default", gpu="inferentia2", gpus=6)
    submitted, *_ = job_manifests(training_job(asked, place(published, asked), "image", published))
    check = yaml.safe_load(declared().stack_outputs["gpuJobs"]["inf2-6"])
    for spec in (job["spec"]["template"]["spec"] for job in (submitted, check)):
        assert gpu_limit(spec) == spec["containers"][0]["resources"]["limits"][RESOURCE] == 6
        assert {**TAINT, "operator": "Equal"} in spec["tolerations"]
    assert check["spec"]["template"]["spec"]["containers"][0]["command"] == ["/opt/aws/neuron/bin/neuron-ls"]
    # A job that names no chip gets NVIDIA's GPUs.
    assert [[pool.name for pool in fit.pools] for fit in fits(published, PodRequest())] == [["t4-1"]]
    with pytest.raises(NothingFits, match="inf2-6: aws-inferentia2, which runs no program for NVIDIA"):
        place(published, PodRequest(gpus=6))


def test_each_resource_has_admission_policies_of_its_own() -> None:
    every = {one.suffix: one.policy for one in manifests(pools(), adds_gpu_toleration=True, ends_running_pods=False)}
    assert list(every) == ["neuron-placement", "neuron-isolation", "placement", "isolation"]
    for suffix, policy in every.items():
        assert (
            (RESOURCE in json.dumps(policy)) == suffix.startswith("neuron") != ("nvidia.com/gpu" in json.dumps(policy))
        )
    assert "c.contains('neuron')" in json.dumps(claims(RESOURCE))


def test_quotas_the_queue_and_the_reaper_count_each_resource_by_itself() -> None:
    (quota, *_) = team_manifests(Team(name="a", gpus=3), (RESOURCE, "nvidia.com/gpu"))
    assert quota["spec"]["hard"] == {f"requests.{RESOURCE}": "3", "requests.nvidia.com/gpu": "3"}
    groups = cluster_queue(pools())["spec"]["resourceGroups"]
    names = {group["coveredResources"][0]: {flavor["name"] for flavor in group["flavors"]} for group in groups}
    assert names == {RESOURCE: {*CHIPS}, "nvidia.com/gpu": {"t4-1"}}
    tolerated = [flavor["spec"]["tolerations"][0]["key"] for flavor in flavors_of(pools())]
    assert tolerated == [RESOURCE, RESOURCE, RESOURCE, "nvidia.com/gpu"]
    status = {"allocatable": {RESOURCE: "6"}, "conditions": [{"type": "Ready", "status": "True"}]}
    assert not problem({"metadata": {"labels": {"gpucluster.dev/gpus-per-node": "6"}}, "status": status})
