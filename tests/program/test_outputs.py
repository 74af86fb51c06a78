"""What the program tells about each stack."""

from __future__ import annotations

from pathlib import Path

import yaml

from components.clouds.base import load_cloud
from tests.program import each_stack, not_tolerated
from tests.stacks import run_program, settings_of


@each_stack
def test_the_outputs_describe_every_pool(file: Path) -> None:
    outputs, settings = run_program(file).stack_outputs, settings_of(file)
    expected = {
        "clusterName",
        "kubeconfig",
        "network",
        "pools",
        "gpuJobs",
        "cost",
        "quotas",
        "gpuInstall",
        "autoscaling",
    }
    asked = settings.workloads.model_dump(by_alias=True, exclude={"pull_from"})
    assert outputs.keys() == expected | {"autoscaling"} | {
        key for key, section in asked.items() if section not in (None, ())
    } | ({"fabricTest"} if any(pool.fabric for pool in settings.gpu_pools) else set())
    assert all(outputs["network"].values())
    names = {spec.name for spec in settings.gpu_pools}
    assert outputs["pools"].keys() == outputs["gpuJobs"].keys() == names
    assert outputs["autoscaling"].keys() == names | {spec.name for spec in settings.cpu_pools}
    assert outputs["clusterName"] == settings.cluster_name
    assert "pipx install ./packages/gpu\n" in outputs["gpuInstall"]
    assert f"pulumi stack output -s {settings.stack} kubeconfig" in outputs["gpuInstall"]
    limited = {pool for quota in outputs["quotas"] for pool in quota["pools"]}
    assert limited in (set(), {"admin", *outputs["autoscaling"]})
    cloud = load_cloud(settings.cloud)
    for pool in (*settings.gpu_pools, *settings.cpu_pools):
        expected = outputs["autoscaling"][pool.name]
        assert (expected["min"], expected["max"]) == (pool.min_nodes, pool.max_nodes)
        assert expected["reachesZero"].startswith("no") == (pool.min_nodes > 0)
        assert all(cloud.governance(pool, settings).as_output(pool).values()) or pool.min_nodes == 0


@each_stack
def test_each_gpu_job_reaches_its_pool_and_uses_one_whole_node(file: Path) -> None:
    outputs = run_program(file).stack_outputs
    for spec in settings_of(file).gpu_pools:
        job = yaml.safe_load(outputs["gpuJobs"][spec.name])
        pod = job["spec"]["template"]["spec"]
        assert pod["nodeSelector"].items() <= spec.labels.items()
        assert not not_tolerated(pod["tolerations"], spec.taints)
        gpus = pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
        assert gpus * job["spec"]["parallelism"] == spec.allocatable_gpus


@each_stack
def test_idle_costs_less_than_the_maximum_and_prices_are_dated(file: Path) -> None:
    cost = run_program(file).stack_outputs["cost"]
    assert cost["asOf"] >= "2026-01-01"
    if "maxHourlyUsd" in cost:
        assert 0 < cost["idleHourlyUsd"] < cost["maxHourlyUsd"]
