"""Devices of other makers than NVIDIA: what follows from their name everywhere."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.clouds.base import load_cloud
from components.gpu_admission import claims, manifests
from components.settings.sections.teams import Team
from components.teams import manifests as team_manifests
from components.workloads.queue import cluster_queue, flavors_of
from facts.concepts.broken_nodes import problem
from facts.concepts.kubernetes import gpu_limit
from facts.concepts.offer import from_config_map
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import JobRequest
from facts.jobs.job import manifests as job_manifests
from facts.jobs.plan import NothingFits, place, training_job
from tests.stacks import ROOT, run_program, settings_of, stack_file


@dataclass(frozen=True)
class Maker:
    """A stack with a maker's devices beside NVIDIA's T4, and what follows from the name of the devices."""

    example: str
    pools: list[dict[str, Any]]
    of_maker: list[str]
    """The pools with its devices."""
    resource: str
    word: str
    plugin: str
    job: dict[str, Any]
    pool: str
    """The one that the job gets."""
    check: str


MAKERS = {
    "aws": Maker(
        example="eks-neuron",
        pools=[
            {"name": "inf2", "gpu": "aws-inferentia2", "gpusPerNode": [1, 6], "capacity": "spot", "maxNodes": 2},
            {"name": "trn1", "gpu": "aws-trainium1", "maxNodes": 2},
            {"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2},
        ],
        of_maker=["inf2-1", "inf2-6", "trn1-1"],
        resource="aws.amazon.com/neuron",
        word="neuron",
        plugin="neuron-device-plugin",
        job={"gpu": "inferentia2", "gpus": 6},
        pool="inf2-6",
        check="/opt/aws/neuron/bin/neuron-ls",
    ),
    "amd": Maker(
        example="aks-amd",
        pools=[
            {"name": "mi300x", "gpu": "amd-mi300x", "gpusPerNode": 8, "capacity": "spot-with-fallback", "maxNodes": 2},
            {"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2},
        ],
        of_maker=["mi300x-8-spot", "mi300x-8-ondemand"],
        resource="amd.com/gpu",
        word="amd",
        plugin="amd-device-plugin",
        job={"gpu": "mi300x", "gpus": 6},
        pool="mi300x-8-spot",
        check="rocm-smi",
    ),
}
every_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


def stack(maker: Maker) -> Path:
    example = yaml.safe_load((ROOT / "examples" / f"{maker.example}.yaml").read_text())["config"]
    return stack_file(maker.example, {**example, "gpucluster:gpuPools": maker.pools})


@every_maker
def test_its_plugin_runs_on_its_nodes_alone_and_nvidia_s_software_does_not(maker: Maker) -> None:
    known = settings_of(stack(maker))
    cloud, pools = load_cloud(known.cloud), known.gpu_pools
    daemons = {one.app: [pool.name for pool in one.pools] for one in cloud.gpu_daemons(pools)}
    assert daemons == {"nvidia-device-plugin": ["t4-1"], maker.plugin: maker.of_maker}
    assert [pool.name for each in cloud.gpu_exporters(pools) for pool in each.pools] == ["t4-1"]


@every_maker
def test_a_check_and_a_submitted_job_request_the_devices_and_tolerate_the_taint(maker: Maker) -> None:
    recording, resource = run_program(stack(maker)), maker.resource
    published = from_config_map(recording.named("offer-pools").inputs)
    asked = JobRequest(name="j", namespace="default", **maker.job)
    submitted, *_ = job_manifests(training_job(asked, place(published, asked), "image", published))
    check = yaml.safe_load(recording.stack_outputs["gpuJobs"][maker.pool])
    for spec, gpus in ((submitted, 6), (check, 8 if "8" in maker.pool else 6)):
        pod = spec["spec"]["template"]["spec"]
        assert gpu_limit(pod) == pod["containers"][0]["resources"]["limits"][resource] == gpus
        taint = {"key": resource, "operator": "Equal", "value": "present", "effect": "NoSchedule"}
        assert taint in pod["tolerations"]
    assert check["spec"]["template"]["spec"]["containers"][0]["command"] == [maker.check]
    # A job that names no maker gets NVIDIA's GPUs.
    assert [[pool.name for pool in fit.pools] for fit in fits(published, PodRequest())] == [["t4-1"]]
    with pytest.raises(NothingFits, match="which runs no program for NVIDIA"):
        place(published, PodRequest(gpus=6))


@every_maker
def test_each_resource_has_admission_policies_of_its_own(maker: Maker) -> None:
    pools, resource, word = settings_of(stack(maker)).gpu_pools, maker.resource, maker.word
    every = {one.suffix: one.policy for one in manifests(pools, adds_gpu_toleration=True, ends_running_pods=False)}
    assert {*every} == {f"{word}-placement", f"{word}-isolation", "placement", "isolation"}
    for suffix, policy in every.items():
        assert (resource in json.dumps(policy)) == suffix.startswith(word) != ("nvidia.com/gpu" in json.dumps(policy))
    assert f"c.contains('{word}')" in json.dumps(claims(resource))


@every_maker
def test_quotas_the_queue_and_the_reaper_count_each_resource_by_itself(maker: Maker) -> None:
    pools, resource = settings_of(stack(maker)).gpu_pools, maker.resource
    (quota, *_) = team_manifests(Team(name="a", gpus=3), (resource, "nvidia.com/gpu"))
    hard = {f"requests.{name}": "3" for name in (resource, "nvidia.com/gpu", "nvidia.com/gpu.shared")}
    cores = {"requests.aws.amazon.com/neuroncore": "0", "requests.aws.amazon.com/neurondevice": "0"}
    assert quota["spec"]["hard"] == hard | (cores if resource == "aws.amazon.com/neuron" else {})
    groups = cluster_queue(pools)["spec"]["resourceGroups"]
    names = {group["coveredResources"][0]: {flavor["name"] for flavor in group["flavors"]} for group in groups}
    assert names == {resource: {*maker.of_maker}, "nvidia.com/gpu": {"t4-1"}}
    tolerated = [flavor["spec"]["tolerations"][0]["key"] for flavor in flavors_of(pools)]
    assert sorted(tolerated) == sorted([*[resource] * len(maker.of_maker), "nvidia.com/gpu"])
    status = {"allocatable": {resource: "6"}, "conditions": [{"type": "Ready", "status": "True"}]}
    assert not problem({"status": status}, {resource: 6})
    assert problem({"status": status}, {resource: 8}) == f"6 of 8 {resource} usable"
