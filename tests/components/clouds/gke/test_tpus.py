"""TPUs on GKE: nodes by themselves, and slices whose nodes start together and are one job's."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
import yaml

from components.clouds.base import load_cloud
from components.gpu_admission import manifests
from components.settings import SettingsError, load
from facts import catalog
from facts.concepts.kubernetes import gpu_limit
from facts.concepts.offer import Offer, from_config_map
from facts.concepts.pool import Pool
from facts.jobs.fit import PodRequest, fits
from facts.jobs.job import JobRequest
from facts.jobs.job import manifests as job_manifests
from facts.jobs.plan import NothingFits, place, training_job
from tests import recorder
from tests.stacks import ROOT, run_with

SLICE = {"name": "slice", "gpu": "google-tpu-v6e", "gpusPerNode": 4, "topology": "4x4", "maxNodes": 4}
CONFIG = {
    **yaml.safe_load((ROOT / "examples" / "gke-tpu.yaml").read_text())["config"],
    "gcp:project": "acme-gpu",
    "gpucluster:region": "us-east5",
    "gpucluster:zones": ["us-east5-a"],
    "gpucluster:gpuPools": [
        {"name": "v6e", "gpu": "google-tpu-v6e", "gpusPerNode": [1, 4, 8], "capacity": "spot", "maxNodes": 2},
        {**SLICE, "capacity": "spot"},
        {**SLICE, "name": "other"},
        {"name": "h100", "gpu": "nvidia-h100-80gb", "capacity": "spot", "maxNodes": 1},
    ],
    "gpucluster:adminPool": {"maxNodes": 4},
}
CHIP7 = {**SLICE, "gpu": "google-tpu7x", "maxNodes": 2, "hourlyUsd": 30.5, "zones": ["us-east5-a"]}
TPU7X = {**CHIP7, "topology": "2x2x2"}
CHIPS = ("v6e-1", "v6e-4", "v6e-8", "slice-4", "other-4")
LABEL = "cloud.google.com/gke-tpu-{}"
SELECTED = {LABEL.format("accelerator"): "tpu-v6e-slice", LABEL.format("topology"): "4x4"}


@cache
def declared() -> recorder.Recording:
    return run_with(CONFIG, "gke-tpu")


@cache
def published() -> Offer:
    return from_config_map(declared().named("offer-pools").inputs)


def pools(**changes: Any) -> tuple[Pool, ...]:
    """The GPU pools; ``changes`` are of the slice, or of the cluster."""
    keys = {key.removeprefix("gpucluster:"): value for key, value in CONFIG.items() if key != "gcp:project"}
    if changes:
        left_out = [key for key in changes if changes[key] is None]
        keys |= {
            "kubernetes": changes.pop("kubernetes", {}),
            "gpuPools": [without({**SLICE, **changes}, *left_out)],
        }
    return load(keys, stack="gke-tpu", project="acme-gpu").gpu_pools


def without(pool: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in pool.items() if key not in keys}


def pool_inputs(name: str) -> dict[str, Any]:
    return dict(declared().named(f"{name}-pool").inputs)


def test_a_pool_has_what_google_s_api_needs_and_no_label_that_gke_sets_itself() -> None:
    for name in CHIPS:
        inputs, config = pool_inputs(name), pool_inputs(name)["nodeConfig"]
        assert (config["diskType"], config["imageType"]) == ("hyperdisk-balanced", "COS_CONTAINERD")
        assert not config.get("guestAccelerators")
        assert {"key": "google.com/tpu", "value": "present", "effect": "NO_SCHEDULE"} in config["taints"]
        assert not [key for key in config["labels"] if key.startswith(("cloud.google.com/", "nvidia.com/"))]
        one = {"type": "COMPACT", "tpuTopology": "4x4"} if name in ("slice-4", "other-4") else None
        assert inputs.get("placementPolicy") == one
    # With totals GKE refuses a slice: https://github.com/vllm-project/ci-infra/pull/545
    assert pool_inputs("slice-4")["autoscaling"] == {"minNodeCount": 0, "maxNodeCount": 4, "locationPolicy": "ANY"}


def test_a_slice_of_tpu7x_is_placed_by_a_policy_of_its_own_which_outlives_it() -> None:
    two = {"gpucluster:gpuPools": [{**without(CHIP7, "topology"), "name": "alone"}, TPU7X]}
    declared = run_with({**CONFIG, **two, "gpucluster:budget": {"maxHourlyUsd": 124}}, "gke-tpu")
    (policy,) = [each for each in declared.resources if each.type == "gcp:compute/resourcePolicy:ResourcePolicy"]
    name = "gpu-gke-tpu-slice-4-2x2x2"
    workload = {"type": "HIGH_THROUGHPUT", "acceleratorTopology": "2x2x2"}
    placed = {"project": "acme-gpu", "region": "us-east5", "name": name, "workloadPolicy": workload}
    assert dict(policy.inputs) == placed
    pool, other = declared.named("slice-4-pool"), declared.named("alone-4-pool")
    assert pool.inputs["placementPolicy"] == {"type": "", "policyName": name, "tpuTopology": "2x2x2"}
    assert (policy.parent, pool.deleted_with) == (pool.parent, "")
    assert ("placementPolicy" in other.inputs, bool(other.deleted_with)) == (False, True)
    shown = declared.stack_outputs["pools"].values()
    assert [(each["labels"][LABEL.format("topology")], each["hourlyUsd"]) for each in shown] == [
        ("2x2x1", 30.5),
        ("2x2x2", 30.5),
    ]
    # Four nodes and what the rest of the stack costs.
    assert 122 < declared.stack_outputs["cost"]["maxHourlyUsd"] < 124
    fit = place(from_config_map(declared.named("offer-pools").inputs), PodRequest(gpu="tpu7x", gpus=4, workers=2))
    assert [each.name for each in fit.pools] == ["alone-4"]


def test_sizes_are_kept_apart_and_topologies_selected() -> None:
    sizes = {pool.name: [taint.value for taint in pool.nodes.taints if "per-node" in taint.key] for pool in pools()}
    assert sizes == {"v6e-1": [], "v6e-4": ["4"], "v6e-8": ["8"], "slice-4": ["4"], "other-4": ["4"], "h100-1": []}
    topologies = [pool.nodes.labels.get("cloud.google.com/gke-tpu-topology") for pool in pools()]
    assert topologies == ["1x1", "2x2", "2x4", "4x4", "4x4", None]


def test_a_job_fills_one_slice_and_selects_it_as_gke_requires() -> None:
    asked = JobRequest(name="j", namespace="default", gpu="tpu-v6e", gpus=4, workers=4)
    fit = place(published(), asked)
    assert [pool.name for pool in fit.pools] == ["slice-4"]
    job, service = job_manifests(training_job(asked, fit, "image", published()))
    spec = job["spec"]["template"]["spec"]
    assert gpu_limit(spec) == 4
    assert spec["nodeSelector"] == SELECTED
    assert (spec["subdomain"], service["spec"]["clusterIP"]) == ("j", "None")
    # A job that names no chip gets NVIDIA's GPUs.
    assert [[pool.name for pool in fit.pools] for fit in fits(published(), PodRequest())] == [["h100-1"]]


@pytest.mark.parametrize(
    ("gpus", "workers", "message"),
    [
        (2, 1, "a pod has all 1 chips of a node, not 2"),
        (4, 3, "room for 2 such pods at once, not 3"),
        (16, 1, "a pod has all"),
    ],
)
def test_a_job_that_does_not_fill_nodes_is_told_what_would(gpus: int, workers: int, message: str) -> None:
    with pytest.raises(NothingFits) as refused:
        place(published(), PodRequest(gpu="tpu", gpus=gpus, workers=workers))
    lacks = {miss.pool.name: "; ".join(miss.lacks) for miss in refused.value.misses}
    assert message in "\n".join(lacks.values())
    assert "a slice is 4 nodes that start together and need a worker each" in lacks["slice-4"]


def test_the_check_of_a_slice_runs_on_all_of_its_nodes() -> None:
    checks = declared().stack_outputs["gpuJobs"]
    service, job = yaml.safe_load_all(checks["slice-4"])
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    assert (spec["completionMode"], spec["parallelism"], spec["completions"]) == ("Indexed", 4, 4)
    assert pod["subdomain"] == service["metadata"]["name"] == job["metadata"]["name"]
    assert SELECTED.items() <= pod["nodeSelector"].items()
    assert pod["containers"][0]["command"] == ["python3", "-c", "import jax; print(jax.devices())"]


def test_quotas_and_prices_are_of_chips() -> None:
    quotas = {each["quota"]: each["needed"] for each in declared().stack_outputs["quotas"] if each["unit"] == "GPUs"}
    assert quotas["PREEMPTIBLE_TPU_V6E"] == 2 + 8 + 16 + 16
    assert quotas["TPUS_PER_TPU_FAMILY (CT6E)"] == 16
    reserved = catalog.of("gke").account.quotas("us-east5", pools(capacity="reserved", reservation="r"), 1)
    assert {each.unit for each in reserved} == {"GB", "machines", "addresses"}
    assert [round(pool.nodes.hourly_usd or 0, 1) for pool in pools() if pool.name == "other-4"] == [10.8]


def test_gke_brings_driver_and_plugin_and_admission_has_policies_of_its_own() -> None:
    cloud = load_cloud("gke")
    assert not cloud.gpu_daemons(pools())
    assert [pool.name for each in cloud.gpu_exporters(pools()) for pool in each.pools] == ["h100-1"]
    every = {one.suffix: one.policy for one in manifests(pools(), adds_gpu_toleration=True, ends_running_pods=True)}
    assert list(every) == ["tpu-placement", "tpu-isolation", "placement", "isolation"]
    assert "gke-tpu-topology: 4x4" in json.dumps(every["tpu-placement"])
    warned = {name: "does not select the topology of its chips" in json.dumps(one) for name, one in every.items()}
    assert warned == {"tpu-placement": True, "tpu-isolation": False, "placement": False, "isolation": False}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"maxNodes": 5}, "a slice 4x4 is 4 nodes, which start and end together, not 5. Write maxNodes: 4"),
        ({"topology": "4x5"}, "ct6e-standard-4t (4 chips) is in no slice 4x5. Write one of 2x2, 2x4, 4x4"),
        ({"gpusPerNode": 8}, "ct6e-standard-8t (8 chips) is in no slice 4x4"),
        ({"gpu": "nvidia-h100-80gb", "gpusPerNode": 8}, "has no TPUs, whose chips alone have a topology"),
        ({"zones": ["us-east5-a", "us-east5-b"]}, "a slice is in one zone"),
        ({"capacity": "flex-start"}, "flex-start with TPUs is not supported yet"),
        ({"image": "ubuntu"}, "nodes with TPUs run Container-Optimized OS"),
        ({"drivers": "daemonset"}, "GKE's node image has the driver and the device plugin of TPUs"),
        ({"timeSharing": {"clientsPerGpu": 2}}, "a pod has all TPU chips of a node"),
        ({"placement": "compact"}, "GKE places the nodes of a slice by its topology"),
        ({"labels": {"cloud.google.com/gke-tpu-topology": "2x2"}}, "GKE sets this label itself"),
        ({**TPU7X, "hourlyUsd": None}, "no list price of tpu7x-standard-4t is known. Write hourlyUsd"),
        ({**TPU7X, "kubernetes": {"version": "1.33"}}, "GKE 1.33 does not offer the devices by itself"),
        ({**TPU7X, "maxNodes": 4}, "a slice 2x2x2 is 2 nodes, which start and end together, not 4"),
        ({**TPU7X, "topology": "4x4"}, "tpu7x-standard-4t (4 chips) is in no slice 4x4. Write one of 2x2x1, 2x2x2"),
    ],
)
def test_what_a_slice_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        pools(**change)
    assert message in str(refused.value)
