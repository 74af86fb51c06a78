"""A declared training job: what ``gpu submit`` would make, and no change of the cluster ends it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pulumi
import pytest

from components.cluster import Cluster, ClusterArgs
from components.published_offer import offer
from components.settings import Settings, from_stack_file
from components.workloads.training_job import TrainingJob, TrainingJobArgs
from facts.jobs.job import AskError, JobRequest, manifests
from facts.jobs.plan import NothingFits, place, training_job
from facts.jobs.sweep import Sweep
from tests import recorder
from tests.components.workloads.stacks import CLOUDS
from tests.stacks import ROOT

URL = "s3://bucket"
JOB = "kubernetes:batch/v1:Job"
SERVICE = "kubernetes:core/v1:Service"
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)


def settings_of(cloud: str) -> Settings:
    return from_stack_file(ROOT / "examples" / f"{cloud}-research.yaml")


def declared(settings: Settings, name: str = "train", **args: Any) -> recorder.Recording:
    """A cluster with one training job whose image only the registry knows."""

    def program() -> None:
        cluster = Cluster("cluster", ClusterArgs(settings=settings))
        image = pulumi.Output.from_input("registry.example/train:1")
        usual: dict[str, Any] = {"image": image, "command": ("python", "train.py")}
        TrainingJob(name, TrainingJobArgs(cluster=cluster, **{**usual, **args}))

    return recorder.run(program, stack="research")


def only_job(recording: recorder.Recording) -> dict[str, Any]:
    made = recording.only(JOB).inputs
    return {key: made[key] for key in ("metadata", "spec")}


@every_cloud
@pytest.mark.parametrize(
    "shape",
    [{}, {"workers": 2, "spot": True}, {"sweep": Sweep({"lr": ("1", "2")}), "at_once": 1}],
    ids=["one", "workers", "sweep"],
)
def test_it_is_what_gpu_submit_would_make_of_the_same_wish(cloud: str, shape: dict[str, Any]) -> None:
    settings = settings_of(cloud)
    asked = JobRequest(name="train", namespace="default", command=("python", "train.py"), **shape)
    there = offer(settings, settings.gpu_pools, (), {"checkpoints": URL})
    by_hand, *services = manifests(training_job(asked, place(there, asked), "registry.example/train:1", there))
    recording = declared(settings, checkpoints=pulumi.Output.from_input(URL), **shape)
    job = only_job(recording)
    assert job["spec"] == {key: each for key, each in by_hand["spec"].items() if key != "ttlSecondsAfterFinished"}
    assert [each.inputs["spec"] for each in recording.of_type(SERVICE)] == [each["spec"] for each in services]


@every_cloud
def test_it_has_its_clouds_notice_and_identity(cloud: str) -> None:
    pod = only_job(declared(settings_of(cloud), checkpoints=URL, spot=True))["spec"]["template"]
    notice = {"gke": 15, "eks": 30, "aks": 25}[cloud]
    assert pod["spec"]["terminationGracePeriodSeconds"] == notice
    assert pod["spec"]["serviceAccountName"] == "trainer"
    assert pod["spec"]["containers"][0]["env"] == [{"name": "CHECKPOINTS", "value": f"{URL}/train"}]
    assert pod["metadata"]["labels"].get("azure.workload.identity/use") == ("true" if cloud == "aks" else None)


@every_cloud
def test_pulumi_neither_waits_for_its_end_nor_ends_it_for_other_pools(cloud: str) -> None:
    made = declared(settings_of(cloud)).only(JOB)
    assert made.inputs["metadata"]["annotations"]["pulumi.com/skipAwait"] == "true"
    # A Job that is gone by itself would be made again, and train again.
    assert "ttlSecondsAfterFinished" not in made.inputs["spec"]
    settings = settings_of(cloud)
    fewer = replace(settings, gpu_pools=settings.gpu_pools[1:])
    other = declared(fewer).only(JOB)
    changed = [
        f"spec.template.spec.{key}"
        for key in made.inputs["spec"]["template"]["spec"]
        if made.inputs["spec"]["template"]["spec"][key] != other.inputs["spec"]["template"]["spec"][key]
    ]
    assert changed
    assert set(changed) <= {*made.ignore_changes}


@pytest.mark.parametrize(
    ("stack", "spot"),
    # Where spot machines come first, the on-demand ones of the same ladder are for its jobs, too.
    [("eks-karpenter", True), ("eks-karpenter", None), ("eks-karpenter", False), ("gke-research", None)],
)
def test_it_holds_its_node_unless_the_cloud_may_take_that(stack: str, spot: bool | None) -> None:
    made = declared(from_stack_file(ROOT / "examples" / f"{stack}.yaml"), spot=spot).only(JOB)
    template = made.inputs["spec"]["template"]["metadata"]
    assert ("gpucluster.dev/uninterrupted" in template["labels"]) is (spot is False)
    annotations = template["annotations"]
    assert ("karpenter.sh/do-not-disrupt" in annotations) is (spot is False)
    # Pools that come, or are removed, make no other job of it.
    assert "spec.template.metadata.annotations" in made.ignore_changes


def test_without_the_stacks_checkpoints_it_has_none() -> None:
    pod = only_job(declared(settings_of("gke")))["spec"]["template"]["spec"]
    assert "env" not in pod["containers"][0]


def test_what_no_pool_takes_is_refused_before_anything_is_made() -> None:
    with pytest.raises(NothingFits, match="the nearest is"):
        declared(settings_of("gke"), gpus=16)
    with pytest.raises(AskError, match="--name"):
        declared(settings_of("gke"), name="Train_1")
