"""Machines with Arm CPUs: pools with another image, and jobs that land there only if they name the GPU."""

from __future__ import annotations

from functools import cache

import pytest
import yaml

from components.gpu_admission import advice
from components.settings import load
from facts.concepts.offer import from_config_map
from facts.concepts.pool import GPU_TAINT
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import JobRequest, manifests
from facts.jobs.plan import NothingFits, place, training_job
from tests import recorder
from tests.stacks import ROOT, run_with

CONFIG = yaml.safe_load((ROOT / "examples" / "eks-arm.yaml").read_text())["config"]
TAINT = {"key": "gpucluster.dev/arch", "value": "arm64", "effect": "NoSchedule"}


@cache
def declared(autoscaler: str, image: str = "al2023") -> recorder.Recording:
    pools = [{**pool, "image": image} for pool in CONFIG["gpucluster:gpuPools"]]
    changes = {"gpucluster:gpuPools": pools, "gpucluster:autoscaling": {"autoscaler": autoscaler}}
    changes["gpucluster:cpuPools"] = [{"name": "work", "machineType": "m7g.xlarge", "maxNodes": 1}]
    return run_with({**CONFIG, **changes}, "eks-arm")


@pytest.mark.parametrize("image", ["al2023", "bottlerocket"])
def test_a_node_group_has_the_image_of_its_architecture_and_repels_pods_that_do_not_name_it(image: str) -> None:
    recording = declared("cluster-autoscaler", image)
    groups = {one.inputs["nodeGroupName"]: one.inputs for one in recording.of_type("aws:eks/nodeGroup:NodeGroup")}
    assert (groups["admin"]["amiType"], groups["admin"].get("taints")) == ("AL2023_ARM_64_STANDARD", None)
    assert groups["work"]["amiType"] == "AL2023_ARM_64_STANDARD"
    for name in groups.keys() - {"admin"}:
        inputs, arm = groups[name], not name.startswith("t4-")
        assert name == "work" or inputs["amiType"] == f"{image.upper()}_{'ARM_64' if arm else 'x86_64'}_NVIDIA"
        assert ({**TAINT, "effect": "NO_SCHEDULE"} in inputs["taints"]) == arm
        assert inputs["labels"].get(TAINT["key"]) == ("arm64" if arm else None)
        assert not [key for key in inputs["labels"] if key.partition("/")[0].endswith("kubernetes.io")]
    tags = {
        one.inputs["tag"]["key"]: one.inputs["tag"]["value"] for one in recording.of_type("aws:autoscaling/tag:Tag")
    }
    assert tags[f"k8s.io/cluster-autoscaler/node-template/taint/{TAINT['key']}"] == "arm64:NoSchedule"


def test_karpenter_starts_machines_of_the_architecture_without_disks_of_their_own() -> None:
    recording = declared("karpenter")
    made = recording.of_type("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    classes = {one.inputs["metadata"]["name"]: one.inputs["spec"] for one in made}
    for name, arch, policy in (
        ("t4g-1-spot", "arm64", None),
        ("t4g-2-ondemand", "arm64", None),
        ("t4-1", "amd64", "RAID0"),
    ):
        spec = recording.named(f"{name}-pool").inputs["spec"]["template"]["spec"]
        assert {"key": "kubernetes.io/arch", "operator": "In", "values": [arch]} in spec["requirements"]
        assert (TAINT in spec["taints"]) == (arch == "arm64")
        assert classes[name].get("instanceStorePolicy") == policy


def test_a_job_that_names_no_gpu_gets_x86_and_one_that_does_selects_and_tolerates() -> None:
    published = from_config_map(declared("karpenter").named("offer-pools").inputs)
    assert [[pool.name for pool in fit.pools] for fit in fits(published, PodRequest())] == [["t4-1"]]
    with pytest.raises(NothingFits, match="t4g-2-spot: nvidia-t4g with Arm CPUs, on which no image for x86 runs"):
        place(published, PodRequest(gpus=2))
    asked = JobRequest(name="j", namespace="default", gpu="t4g", gpus=2)
    fit = place(published, asked)
    assert fit.platform == "linux/arm64"
    submitted, *_ = manifests(training_job(asked, fit, "image", published))
    check = yaml.safe_load(declared("karpenter").stack_outputs["gpuJobs"]["t4g-2-spot"])
    for spec in (job["spec"]["template"]["spec"] for job in (submitted, check)):
        assert {**TAINT, "operator": "Equal"} in spec["tolerations"]
    assert check["spec"]["template"]["spec"]["nodeSelector"][TAINT["key"]] == "arm64"


def test_admission_advises_a_toleration_of_the_architecture() -> None:
    keys = {key.removeprefix("gpucluster:"): value for key, value in CONFIG.items() if key != "aws:region"}
    pool, *_ = load(keys, stack="eks-arm", project="us-east-1").gpu_pools
    assert advice(pool, {GPU_TAINT}) == (
        'tolerations: [{key: gpucluster.dev/arch, operator: Equal, value: "arm64", effect: NoSchedule}] and '
        "nodeSelector: {gpucluster.dev/gpu: nvidia-t4g, gpucluster.dev/arch: arm64}"
    )
