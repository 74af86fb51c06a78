"""``gpuPools[].teams``: the pool has a label and a taint for them, and is for teams that there are, on every cloud."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from components.outputs import gpu_jobs
from components.settings import Settings, SettingsError
from components.settings.read import NAMESPACE, load
from components.settings.sections.services import InferenceService
from components.settings.sections.tools import Notebook
from components.workloads import notebook
from components.workloads.inference_service import placed
from facts import catalog
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import SIZE_KEY, TEAMS_LABEL
from rehearsal.engine.stack import ROOT
from tests import one_stack
from tests.stacks import run_with

Config = dict[str, Any]
EXAMPLES = {
    "gke": "gke-tips",
    "eks": "eks-t4",
    "eks with Karpenter": "eks-karpenter",
    "aks": "aks-train-infer",
    "kubeadm": "kubeadm",
    "existing": "existing",
}
TAINT = Taint(TEAMS_LABEL, "lab", "NoSchedule")


def stack(example: str, **changes: Any) -> Settings:
    """The settings of an example, of whose GPU pools only the first is left, and these keys."""
    keys = yaml.safe_load((ROOT / "examples" / f"{example}.yaml").read_text())["config"]
    config: Config = {key.partition(":")[2]: value for key, value in keys.items() if key.startswith(NAMESPACE)}
    config.pop("sshPrivateKey", None)
    project = next((str(value) for key, value in keys.items() if not key.startswith(NAMESPACE)), None)
    first = {**config["gpuPools"][0], "name": "lab"}
    pools = [{**first, **pool} for pool in changes.pop("pools", ({},))]
    config |= {"gpuPools": pools, "teams": [{"name": "research", "gpus": 1}], "workloads": {}, "access": [], **changes}
    return load(copy.deepcopy(config), stack="lab", project=project)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
def test_a_pool_for_teams_repels_all_others(example: str) -> None:
    for pool in stack(example, pools=[{"teams": ["research"]}]).gpu_pools:
        assert pool.nodes.teams == ("research",)
        assert TAINT in pool.nodes.taints
        assert pool.nodes.labels[TEAMS_LABEL] == "lab"
    for pool in stack(example).gpu_pools:
        assert (pool.nodes.teams, TEAMS_LABEL in pool.nodes.labels) == ((), False)


@pytest.mark.parametrize("example", EXAMPLES.values(), ids=EXAMPLES)
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pools": [{"teams": ["reserch"]}]}, "gpuPools[0].teams: 'reserch' is no team. Did you mean 'research'?"),
        (
            {"pools": [{"teams": ["research"]}], "teams": []},
            "gpuPools[0].teams: 'research' is no team. Write teams: [{name: research, gpus: 8}] in the stack file",
        ),
        ({"pools": [{"teams": ["research", "research"]}]}, "the team 'research' is listed twice"),
        ({"pools": [{"teams": ["kube-system"]}]}, "'kube-system' is a namespace of the cluster itself"),
    ],
    ids=["misspelled", "no teams", "twice", "the cluster's own"],
)
def test_a_pool_is_for_teams_that_there_are(example: str, changes: Config, words: str) -> None:
    with pytest.raises(SettingsError) as refused:
        stack(example, **changes)
    assert words in " ".join(str(refused.value).split())


def test_in_a_cluster_of_others_a_team_is_a_namespace_of_theirs() -> None:
    keys = yaml.safe_load((ROOT / "examples" / "gke-existing-cluster.yaml").read_text())["config"]
    config: Config = {key.partition(":")[2]: value for key, value in keys.items() if key.startswith(NAMESPACE)}
    config["gpuPools"] = [{**config["gpuPools"][0], "teams": ["theirs"]}]
    project = next(str(value) for key, value in keys.items() if not key.startswith(NAMESPACE))
    assert {pool.nodes.teams for pool in load(config, stack="lab", project=project).gpu_pools} == {("theirs",)}


@pytest.mark.parametrize("cloud", sorted(catalog.clouds()))
def test_a_pod_without_a_team_has_a_pool_of_the_smallest_size_that_is_for_all(cloud: str) -> None:
    example = {"gke": "gke-tips", "eks": "eks-t4", "aks": "aks-train-infer"}[cloud]
    t4 = {"gpu": "nvidia-t4", "machineType": [], "zones": [], "capacity": "on-demand"}
    small, large = {**t4, "gpusPerNode": 1, "teams": ["research"]}, {**t4, "name": "all", "gpusPerNode": 4}
    of_team, of_all = stack(example, pools=[small, large]).gpu_pools
    assert SIZE_KEY not in {taint.key for taint in of_all.nodes.taints}
    assert TAINT in of_team.nodes.taints


def test_what_the_program_runs_is_placed_as_pods_of_its_namespace() -> None:
    pools = [{"teams": ["research"]}, {"name": "all", "gpu": "nvidia-l4"}]
    there = stack("gke-tips", pools=pools, zones=["us-central1-a"], region="us-central1")
    own, of_all = there.gpu_pools
    profiles = notebook.values(Notebook(), there.gpu_pools)["singleuser"]["profileList"]
    assert [profile["slug"] for profile in profiles] == [of_all.name]
    for namespace, expected in (("research", own.name), ("default", of_all.name)):
        service = InferenceService(name="demo", image="registry.example/serve:1", namespace=namespace)
        assert placed(there, service)[1].pools[0].name == expected
    jobs = {name: yaml.safe_load(text)["metadata"]["namespace"] for name, text in gpu_jobs(there.gpu_pools, "").items()}
    assert jobs == {own.name: "research", of_all.name: "default"}


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
@pytest.mark.parametrize("priority", ["low", "normal", "high"])
def test_the_quota_of_a_team_admits_each_pod_that_the_program_has_there(cloud: str, priority: str) -> None:
    service = {"name": "chat", "image": "r/i:1", "gpu": "nvidia-t4", "namespace": "red", "min": 1, "max": 1}
    stack_file = one_stack.config(
        cloud,
        teams=[{"name": "red", "gpus": 1, "priority": priority}],
        gpuPools=[{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "teams": ["red"]}],
        workloads={"services": [service]},
    )
    recording = run_with(stack_file, "one")
    quotas = [each.inputs["spec"] for each in recording.of_type("kubernetes:core/v1:ResourceQuota")]
    (refused,) = (each["scopeSelector"]["matchExpressions"][0] for each in quotas if "scopeSelector" in each)
    jobs = [*yaml.safe_load_all(recording.stack_outputs["gpuJobs"]["t4-1"])]
    deployments = [each.inputs for each in recording.of_type("kubernetes:apps/v1:Deployment")]
    there = [each for each in (*jobs, *deployments) if each["metadata"].get("namespace") == "red"]
    assert {each["kind"] for each in there} == {"Job", "Deployment"}
    for each in there:
        used = each["spec"]["template"]["spec"].get("priorityClassName")
        assert (used in refused["values"]) is (refused["operator"] == "NotIn"), each["metadata"]


def test_notebooks_need_a_pool_that_is_for_all() -> None:
    with pytest.raises(SettingsError, match=r"workloads\.notebook: notebooks run in the namespace notebook"):
        stack("gke-tips", pools=[{"teams": ["research"]}], workloads={"notebook": {}})
