"""Devices of other makers than NVIDIA: what follows from their name everywhere. A row of the table is a maker."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.clouds.base import load_cloud
from components.gpu_admission import claims, manifests
from components.settings.teams import Team
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

MAKERS: Mapping[str, Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
every_maker = pytest.mark.parametrize("maker", MAKERS.values(), ids=MAKERS)


def stack(maker: Mapping[str, Any]) -> Path:
    example = yaml.safe_load((ROOT / "examples" / f"{maker['example']}.yaml").read_text())["config"]
    return stack_file(maker["example"], {**example, "gpucluster:gpuPools": maker["pools"]})


@every_maker
def test_its_plugin_runs_on_its_nodes_alone_and_nvidia_s_software_does_not(maker: Mapping[str, Any]) -> None:
    known = settings_of(stack(maker))
    cloud, pools = load_cloud(known.cloud), known.gpu_pools
    daemons = {one.app: [pool.name for pool in one.pools] for one in cloud.gpu_daemons(pools)}
    assert daemons == {"nvidia-device-plugin": ["t4-1"], maker["plugin"]: maker["of_maker"]}
    assert [pool.name for each in cloud.gpu_exporters(pools) for pool in each.pools] == ["t4-1"]


@every_maker
def test_a_check_and_a_submitted_job_request_the_devices_and_tolerate_the_taint(maker: Mapping[str, Any]) -> None:
    recording, resource = run_program(stack(maker)), maker["resource"]
    published = from_config_map(recording.named("offer-pools").inputs)
    asked = JobRequest(name="j", namespace="default", **maker["job"])
    submitted, *_ = job_manifests(training_job(asked, place(published, asked), "image", published))
    check = yaml.safe_load(recording.stack_outputs["gpuJobs"][maker["pool"]])
    for spec, gpus in ((submitted, 6), (check, 8 if "8" in maker["pool"] else 6)):
        pod = spec["spec"]["template"]["spec"]
        assert gpu_limit(pod) == pod["containers"][0]["resources"]["limits"][resource] == gpus
        taint = {"key": resource, "operator": "Equal", "value": "present", "effect": "NoSchedule"}
        assert taint in pod["tolerations"]
    assert check["spec"]["template"]["spec"]["containers"][0]["command"] == [maker["check"]]
    # A job that names no maker gets NVIDIA's GPUs.
    assert [[pool.name for pool in fit.pools] for fit in fits(published, PodRequest())] == [["t4-1"]]
    with pytest.raises(NothingFits, match="which runs no program for NVIDIA"):
        place(published, PodRequest(gpus=6))


@every_maker
def test_each_resource_has_admission_policies_of_its_own(maker: Mapping[str, Any]) -> None:
    pools, resource, word = settings_of(stack(maker)).gpu_pools, maker["resource"], maker["word"]
    every = {one.suffix: one.policy for one in manifests(pools, adds_gpu_toleration=True, ends_running_pods=False)}
    assert {*every} == {f"{word}-placement", f"{word}-isolation", "placement", "isolation"}
    for suffix, policy in every.items():
        assert (resource in json.dumps(policy)) == suffix.startswith(word) != ("nvidia.com/gpu" in json.dumps(policy))
    assert f"c.contains('{word}')" in json.dumps(claims(resource))


@every_maker
def test_quotas_the_queue_and_the_reaper_count_each_resource_by_itself(maker: Mapping[str, Any]) -> None:
    pools, resource = settings_of(stack(maker)).gpu_pools, maker["resource"]
    (quota, *_) = team_manifests(Team(name="a", gpus=3), (resource, "nvidia.com/gpu"))
    assert quota["spec"]["hard"] == {f"requests.{resource}": "3", "requests.nvidia.com/gpu": "3"}
    groups = cluster_queue(pools)["spec"]["resourceGroups"]
    names = {group["coveredResources"][0]: {flavor["name"] for flavor in group["flavors"]} for group in groups}
    assert names == {resource: {*maker["of_maker"]}, "nvidia.com/gpu": {"t4-1"}}
    tolerated = [flavor["spec"]["tolerations"][0]["key"] for flavor in flavors_of(pools)]
    assert sorted(tolerated) == sorted([*[resource] * len(maker["of_maker"]), "nvidia.com/gpu"])
    status = {"allocatable": {resource: "6"}, "conditions": [{"type": "Ready", "status": "True"}]}
    assert not problem({"metadata": {"labels": {"gpucluster.dev/gpus-per-node": "6"}}, "status": status})
