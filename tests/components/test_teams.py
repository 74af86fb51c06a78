"""A team has its quota in its namespace, and its pods are as urgent as it may be; without teams nothing is declared."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from components.settings.sections.teams import Priority, Team
from components.teams import manifests
from components.user_admission import grows_for_claims
from facts.concepts.offer import CONFIG_MAP, KEY
from tests import one_stack
from tests.components.settings.test_clouds import load_stack, problems
from tests.recorder import Recording, remembered, warnings
from tests.stacks import OWN_MACHINES, run_program, run_with
from tests.yaml_file import read_yaml

each_cloud = pytest.mark.parametrize("cloud", one_stack.CLOUDS)
GPUS = "requests.nvidia.com/gpu"
SHARES = "requests.nvidia.com/gpu.shared"
# A claim of these puts the key of an account into its namespace in which the volumes of all namespaces are.
FILES = ("azurefile", "azurefile-csi", "azurefile-csi-premium", "azurefile-premium")
KEYS_OF_ALL = {"aks": (*FILES, "azureblob-fuse-premium")}


def team(**changes: Any) -> dict[str, Any]:
    return {"name": "research", "gpus": 2, **changes}


@remembered
def program(cloud: str, **changes: Any) -> Recording:
    return run_with(one_stack.config(cloud, **changes), f"one-{cloud}")


def quotas(recording: Recording) -> list[dict[str, Any]]:
    return [one.inputs for one in recording.of_type("kubernetes:core/v1:ResourceQuota")]


@each_cloud
def test_each_team_has_its_quota_in_a_namespace_of_its_own(cloud: str) -> None:
    recording = program(cloud, teams=[team(), team(name="vision", gpus=0, cpus=32, memory="1Ti")])
    hard = {
        one["metadata"]["namespace"]: one["spec"]["hard"] for one in quotas(recording) if GPUS in one["spec"]["hard"]
    }
    assert hard == {
        "research": {GPUS: "2", SHARES: "2"},
        "vision": {GPUS: "0", SHARES: "0", "requests.cpu": "32", "requests.memory": "1Ti"},
    }
    made = {
        one.inputs["metadata"]["name"]: one.retain_on_delete
        for one in recording.of_type("kubernetes:core/v1:Namespace")
    }
    costs = {"gpucluster-ledger": False}
    assert made == {"research": True, "vision": True, **costs}, "a team that is no longer named keeps what runs"


@each_cloud
def test_people_get_no_more_of_what_no_quota_of_gpus_counts_than_an_administrator_allows(cloud: str) -> None:
    """No ceiling does: 64 TiB in one claim, any number of load balancers, a DaemonSet for which autoscalers leave
    room on each node."""
    recording = program(cloud, teams=[team()], workloads={"sharedVolume": {"namespace": "data"}})
    made = [
        one
        for one in recording.of_type("kubernetes:core/v1:ResourceQuota")
        if one.inputs["metadata"]["name"] == "namespace-limits"
    ]
    assert {one.inputs["metadata"]["namespace"] for one in made} == {"default", "research", "data"}
    limited = {
        "count/daemonsets.apps",
        "count/ingresses.networking.k8s.io",
        "requests.storage",
        "persistentvolumeclaims",
        "services.loadbalancers",
        "services.nodeports",
    }
    # What may have a megabyte in etcd, which ends all writes of the cluster when it is full.
    limited |= {"count/configmaps", "count/secrets", "count/jobs.batch", "pods", "count/pods"}
    limited |= {f"{name}.storageclass.storage.k8s.io/persistentvolumeclaims" for name in KEYS_OF_ALL.get(cloud, ())}
    assert all(limited < one.inputs["spec"]["hard"].keys() for one in made)
    assert {one.ignore_changes for one in made} == {("spec",)}, "what an administrator allows stays"


@each_cloud
def test_what_the_command_submits_by_is_published(cloud: str) -> None:
    recording = program(cloud, teams=[team(priority="high")])
    text = recording.called("kubernetes:core/v1:ConfigMap", CONFIG_MAP).inputs["data"]["offer.json"]
    [published] = json.loads(text)["teams"]
    classes = recording.of_type("kubernetes:scheduling.k8s.io/v1:PriorityClass")
    assert published["gpus"] == 2
    assert published["priority_class"] in {one.inputs["metadata"]["name"] for one in classes}
    assert {one.inputs["preemptionPolicy"] for one in classes} == {"Never"}, "no job is ended for another"


@each_cloud
def test_without_teams_nothing_is_declared(cloud: str) -> None:
    recording = run_program(one_stack.file(cloud))
    kinds = ("core/v1:LimitRange", "scheduling.k8s.io/v1:PriorityClass")
    assert [one for kind in kinds for one in recording.of_type(f"kubernetes:{kind}")] == []
    assert {one["metadata"]["name"] for one in quotas(recording)} == {"namespace-limits"}
    config_maps = [one.inputs for one in recording.of_type("kubernetes:core/v1:ConfigMap")]
    (offer,) = (json.loads(each["data"][KEY]) for each in config_maps if each["metadata"]["name"] == CONFIG_MAP)
    assert not offer.get("teams")
    assert [pool["name"] for pool in offer["pools"] if pool["teams"]] == []
    assert [each for each in config_maps if each["metadata"]["name"] != CONFIG_MAP and "teams" in str(each)] == []


@pytest.mark.parametrize(
    ("changes", "defaults"),
    [
        ({}, None),
        ({"cpus": 8}, {"cpu": "100m"}),
        ({"memory": "64Gi"}, {"memory": "256Mi"}),
        ({"cpus": 8, "memory": "64Gi"}, {"cpu": "100m", "memory": "256Mi"}),
    ],
)
def test_a_pod_without_cpus_passes_a_quota_of_cpus(changes: dict[str, Any], defaults: dict[str, str] | None) -> None:
    ranges = [one for one in manifests(Team(**team(**changes))) if one["kind"] == "LimitRange"]
    limits = [[{"type": "Container", "defaultRequest": defaults}]]
    assert [one["spec"]["limits"] for one in ranges] == ([] if defaults is None else limits)


def test_slices_of_ones_own_device_plugin_are_counted_by_their_names() -> None:
    written = load_stack("gke", teams=[team(migSlices={"1g.10gb": 7, "1g.10gb.me": 1})]).teams[0]
    [hard] = [one["spec"]["hard"] for one in manifests(written) if one["metadata"]["name"] == "team"]
    slices = {"requests.nvidia.com/mig-1g.10gb": "7", "requests.nvidia.com/mig-1g.10gb.me": "1"}
    assert hard == {GPUS: "2", SHARES: "2", **slices}


def test_a_team_gets_no_device_by_a_name_that_counts_it_once_more() -> None:
    """Karpenter starts machines for cores, beside the quota of devices."""
    [hard] = [
        one["spec"]["hard"]
        for one in manifests(Team(**team(gpus=0)), ("nvidia.com/gpu", "aws.amazon.com/neuron"))
        if one["metadata"]["name"] == "team"
    ]
    devices = ("aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice")
    assert hard == {GPUS: "0", SHARES: "0", **{f"requests.{name}": "0" for name in devices}}


def test_devices_that_pods_claim_count_where_pools_grow_for_claims() -> None:
    driver = {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"}
    pools = [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2, "drivers": "none", "labels": driver}]
    for changes, expected in (({"gpuPools": pools}, "2"), ({}, None)):
        settings = load_stack("gke", teams=[team()], **changes)
        claims = grows_for_claims(settings)
        [hard] = [
            one["spec"]["hard"]
            for one in manifests(settings.teams[0], claims=claims)
            if one["metadata"]["name"] == "team"
        ]
        assert hard.get("gpu.nvidia.com.deviceclass.resource.k8s.io/devices") == expected


@each_cloud
def test_no_pod_of_people_ends_another_for_its_class(cloud: str) -> None:
    classes = {
        one.inputs["metadata"]["name"]: one
        for one in program(cloud, teams=[team()]).of_type("kubernetes:scheduling.k8s.io/v1:PriorityClass")
    }
    # What Kubernetes gives a pod without a class: https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/
    pods = [("a pod without a class", 0, "PreemptLowerPriority")] + [
        (name, one.inputs["value"], one.inputs["preemptionPolicy"]) for name, one in classes.items()
    ]
    ended = {(one, other) for one, high, policy in pods for other, low, _ in pods if policy != "Never" and high > low}
    assert ended == set()
    theirs = cloud == "existing"  # somebody else's cluster may have a default class, and a second one is refused
    default = {name for name, one in classes.items() if one.inputs.get("globalDefault")}
    assert default == (set() if theirs else {"gpucluster-normal"})
    order = [one.inputs["value"] for name in ("low", "normal", "high") if (one := classes.get(f"gpucluster-{name}"))]
    assert order == sorted(set(order))
    assert len(order) == (2 if theirs else 3)
    assert {one.ignore_changes for one in classes.values()} == {("value",)}, "the API server refuses another value"


@pytest.mark.parametrize(
    ("priority", "allowed", "forbidden"),
    [
        ("low", ["gpucluster-low"], [None, "gpucluster-normal", "gpucluster-high", "system-cluster-critical"]),
        ("normal", [None, "gpucluster-normal", "gpucluster-low"], ["gpucluster-high", "system-node-critical"]),
        ("high", [None, "gpucluster-normal", "gpucluster-low", "gpucluster-high"], ["system-cluster-critical"]),
    ],
)
def test_no_pod_outranks_its_team(priority: Priority, allowed: list[str | None], forbidden: list[str | None]) -> None:
    made = list(manifests(Team(**team(priority=priority))))
    [quota] = [one for one in made if one["kind"] == "ResourceQuota" and "scopeSelector" in one["spec"]]
    assert quota["spec"]["hard"] == {"pods": "0"}
    [expression] = quota["spec"]["scopeSelector"]["matchExpressions"]

    def refused(name: str | None) -> bool:
        return (name in expression["values"]) is (expression["operator"] == "In")

    assert not any(map(refused, allowed))
    assert all(map(refused, forbidden))


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        ({"name": "default"}, "teams[0].name"),
        ({"name": "kube-system"}, "teams[0].name"),
        ({"name": "metallb-system"}, "teams[0].name"),
        ({"name": "amazon-cloudwatch"}, "teams[0].name"),
        ({"name": "calico-system"}, "teams[0].name"),
        ({"name": "svc"}, "teams[0].name"),
        ({"name": "Research"}, "teams[0].name"),
        ({"gpus": -1}, "teams[0].gpus"),
        ({"memory": "much"}, "teams[0].memory"),
        ({"memory": "0"}, "teams[0].memory"),
        ({"cpus": 0}, "teams[0].cpus"),
        ({"priority": "urgent"}, "teams[0].priority"),
        ({"migSlices": {"a100": 1}}, "teams[0].migSlices.a100"),
    ],
)
def test_what_means_nothing_is_refused_where_it_is_written(changes: dict[str, Any], path: str) -> None:
    assert problems("gke", teams=[team(**changes)]).keys() == {path}


@each_cloud
def test_no_team_is_promised_more_than_all_pools_have(cloud: str) -> None:
    """The one stack has fallback pools of 3 nodes each with 1 and 4 GPUs, and one node with 8."""
    most = 2 * 3 * (1 + 4) + 8
    assert load_stack(cloud, teams=[team(gpus=most)]).teams[0].gpus == most
    assert problems(cloud, teams=[team(gpus=most + 1)]).keys() == {"teams[0].gpus"}


def test_a_team_is_there_once() -> None:
    assert "twice" in problems("gke", teams=[team(), team(gpus=1)])["teams"]


FORMER = [
    team(cpus=32, memory="1Ti", priority="low"),
    {"name": "speech", "gpus": 0},
    {"name": "vision", "gpus": 5, "priority": "high"},
]
DEVELOPERS = {
    "gke": "group:developers@example.com",
    "eks": "arn:aws:iam::123456789012:role/developers",
    "aks": "11111111-aaaa-4bbb-8ccc-000000000002",
}
SERVICE = {"name": "llm", "namespace": "data", "image": "example.com/llm:1", "port": 8000}
QUEUE: dict[str, Any] = {"workloads": {"queue": {}}}


def developers_of(cloud: str, *namespaces: str) -> list[dict[str, Any]]:
    return [{"name": "developers", "who": DEVELOPERS[cloud], "role": "developer", "namespaces": [*namespaces]}]


def objects(recording: Recording) -> dict[str, Any]:
    """What is declared in the cluster by its name, but for rights of ``access``; policies as their words, which name
    namespaces in any order."""
    of_access = ("access-developers-", "access-cluster-resource-viewer", "offer-readers")
    return {
        one.name: sorted(re.findall(r"[^\s,\[\]]+", json.dumps(one.inputs)))
        if "admissionregistration" in one.type
        else one.inputs
        for one in recording.resources
        if one.type.startswith("kubernetes:") and not one.name.startswith(of_access)
    }


def after(deployed: Recording, cloud: str, **changes: Any) -> tuple[Recording, str]:
    """The next update, and what it warns of."""
    updates: list[Recording] = []

    def update() -> Recording:
        config = one_stack.config(cloud, **{**QUEUE, **changes})
        updates.append(run_with(config, f"one-{cloud}", deployed=deployed))
        return updates[0]

    text = warnings(update)
    return updates[0], text


@each_cloud
def test_what_guards_a_namespace_of_people_stays_as_long_as_the_namespace(cloud: str) -> None:
    """Without its quota all waiting pods would start; and Kueue keeps the queue of a running job, for which the update
    would wait."""
    before = program(cloud, teams=FORMER, access=developers_of(cloud, "research", "data"), **QUEUE)
    without, text = after(before, cloud)
    assert objects(without) == objects(before)
    assert not [one for one in without.resources if one.name.startswith("access-developers-")]
    for name in ("data", "research", "speech", "vision"):
        assert f"the stack file no longer names '{name}'" in text
        assert f"kubectl delete namespace {name}, " in text
    again, text = after(without, cloud, access=developers_of(cloud, "vision", "data"), teams=FORMER[:2])
    assert objects(again) == objects(before)
    assert "teams of the stack file no longer name 'vision'" in text
    assert "data" not in text
    assert after(again, cloud, access=developers_of(cloud, "research", "data"), teams=FORMER)[1] == ""
    # An administrator has deleted two of the namespaces, and run pulumi refresh.
    for urn, state in [*without.states.items()]:
        place = state.get("metadata") or {}
        if {"research", "data"} & {place.get("namespace"), place.get("name")}:
            del without.states[urn]
    last, text = after(without, cloud, teams=FORMER[1:])
    assert objects(last) == objects(program(cloud, teams=FORMER[1:], **QUEUE))
    assert text == ""


def renamed(recording: Recording, name: str, other: str) -> Recording:
    """What is deployed, had the stack file ``other`` in place of ``name``."""
    deployed = Recording()
    deployed.states = {urn.replace(name, other): state for urn, state in recording.states.items()}
    return deployed


def test_a_team_in_a_namespace_that_is_a_components_ends_with_the_stack_file() -> None:
    """Version 0.1.0 admitted such names. The policies would refuse the component's pods."""
    update, text = after(renamed(program("gke", teams=[team()], **QUEUE), "research", "calico-system"), "gke")
    assert objects(update) == objects(program("gke", **QUEUE))
    assert text == ""


@each_cloud
def test_a_namespace_of_an_identity_stays_with_its_jobs(cloud: str) -> None:
    """Deleted with the setting that named it, it would end all jobs in it."""
    keys: dict[str, Any] = {"workloads": {"queue": {}, "checkpoints": {"serviceAccount": "data/trainer"}}}
    before = program(cloud, **keys)
    update, text = after(before, cloud)
    assert [one.name for one in update.resources if one.name == "namespace-data"] == ["namespace-data"]
    assert update.named("namespace-limits-in-data").inputs == before.named("namespace-limits-in-data").inputs
    assert "the stack file no longer names 'data'" in text
    assert after(before, cloud, **keys)[1] == ""
    # Under another name it would be made again, and then deleted.
    members, text = after(before, cloud, access=developers_of(cloud, "data"))
    for each in ("namespace-data", "namespace-limits-in-data"):
        assert members.named(each).urn == before.named(each).urn
    assert [one for one in members.resources if one.name == "access-namespace-data"] == []
    assert members.named("access-developers-edit-in-data").inputs["metadata"]["namespace"] == "data"
    assert text == ""
    bindings = [one for one in update.resources if one.type.endswith("ValidatingAdmissionPolicyBinding")]
    assert any("data" in json.dumps(one.inputs["spec"]) for one in bindings)


NAMING: dict[str, dict[str, Any]] = {
    "gke": {"workloads": {"queue": {}, "checkpoints": {"serviceAccount": "data/trainer"}}},
    "eks": {"workloads": {"queue": {}, "sharedVolume": {"namespace": "data"}}},
    "aks": {"workloads": {"queue": {}, "services": [SERVICE]}},
}


@pytest.mark.parametrize(("cloud", "first"), NAMING.items())
def test_jobs_are_guarded_in_each_namespace_of_people_whoever_named_it_first(cloud: str, first: dict[str, Any]) -> None:
    """Without its disruption budget upgrades of nodes and Karpenter evict them."""
    guards = {"access-budget-data", "access-gpu-notifier-data-serviceaccount", "access-gpu-notifier-data-rolebinding"}
    before = program(cloud, **first)
    assert guards - objects(before).keys() == set()
    both, _ = after(before, cloud, **first, access=developers_of(cloud, "data"))
    for changes in (first, {}):
        update, _ = after(both, cloud, **changes)
        assert guards - objects(update).keys() == set()
        assert update.named("namespace-data").urn == before.named("namespace-data").urn


@each_cloud
def test_a_namespace_of_the_cluster_that_an_identity_had_in_the_first_version_stays_with_its_jobs(cloud: str) -> None:
    """A namespace of that name is refused today, and with the advice followed it would be deleted."""
    identity = program(cloud, workloads={"queue": {}, "checkpoints": {"serviceAccount": "data/trainer"}})
    elsewhere: dict[str, Any] = {"workloads": {"queue": {}, "checkpoints": {"serviceAccount": "services/trainer"}}}
    update, text = after(renamed(identity, "data", "svc"), cloud, **elsewhere)
    expected = program(cloud, **elsewhere)
    kept = objects(update)
    assert kept.pop("namespace-svc")["metadata"] == {
        "name": "svc",
        "labels": identity.named("namespace-data").inputs["metadata"]["labels"],
    }
    assert kept == objects(expected), "no policies: those would refuse pods of the cluster's own"
    assert update.named("namespace-svc").urn == identity.named("namespace-data").urn.replace("data", "svc")
    assert "the stack file no longer names 'svc': its namespace stays without quotas and policies" in text


def test_users_of_the_kubeconfig_have_no_rights_in_a_namespace_that_leaves_the_stack_file() -> None:
    """As people of ``access``, whose bindings leave with it."""
    config = {
        key: value
        for key, value in read_yaml(OWN_MACHINES)["config"].items()
        if key not in ("gpucluster:teams", "gpucluster:access")
    }

    def update(deployed: Recording | None, **changes: Any) -> Recording:
        written = {**config, **{f"gpucluster:{key}": value for key, value in changes.items()}}
        return run_with(written, "kubeadm", deployed=deployed)

    before = update(None, teams=[team()])
    left = update(before)
    assert "users-edit-in-research" in objects(before)
    assert {"users-edit-in-research"} == objects(before).keys() - objects(left).keys()
    assert "users-edit-in-research" in objects(update(left, teams=[team()]))


@each_cloud
@pytest.mark.parametrize("identity_stays", [True, False])
def test_a_team_in_a_namespace_that_an_identity_named_first_stays_too(cloud: str, identity_stays: bool) -> None:
    identity: dict[str, Any] = {"workloads": {"queue": {}, "checkpoints": {"serviceAccount": "data/trainer"}}}
    first = program(cloud, **identity)
    before, _ = after(first, cloud, **identity, teams=[team(name="data")])
    update, text = after(before, cloud, **(identity if identity_stays else {}))
    guards = {name for name in objects(before) if name.startswith(("teams-", "queue-", "access-budget-"))}
    assert "teams-data-resourcequota-team" in guards
    assert guards - objects(update).keys() == set()
    where = "teams of the stack file no longer name" if identity_stays else "the stack file no longer names"
    assert f"{where} 'data'" in text
    assert "write the team again with more gpus" in text
    again, _ = after(update, cloud, **(identity if identity_stays else {}))
    assert objects(again) == objects(update)
