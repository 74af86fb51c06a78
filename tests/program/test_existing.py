"""The real program on a cluster that somebody else made: what it asks, what it declares, and what it leaves alone."""

from __future__ import annotations

import json
from typing import Any

import pulumi
import pytest
import yaml

from facts.concepts.declared import NodeGroup
from tests import declared
from tests.recorder import Recording
from tests.stacks import EXISTING, run_with, settings_of

CLUSTER = "gpucluster-machines:index:ExistingCluster"
NODES = "gpucluster-machines:index:Nodes"
SECRET = "gpucluster:kubeconfig"
EXAMPLE: dict[str, Any] = yaml.safe_load(EXISTING.read_text())["config"]
POOL: dict[str, Any] = EXAMPLE["gpucluster:gpuPools"][0]
SCALED = {"name": "a100", "gpu": "nvidia-a100-40gb", "capacity": "autoscaled", "maxNodes": 4}
# What is made here. Each takes a right over its kind's plural.
MADE = {
    *("core/v1:ConfigMap", "core/v1:NamespacePatch", "core/v1:ServiceAccount", "core/v1:ResourceQuota"),
    *("apps/v1:DaemonSet", "policy/v1:PodDisruptionBudget", "scheduling.k8s.io/v1:PriorityClass"),
    *(f"rbac.authorization.k8s.io/v1:{kind}" for kind in ("Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding")),
    "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy",
    "admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding",
}


def plural(kind: str) -> str:
    """``PriorityClass`` → ``priorityclasses``."""
    name = kind.removesuffix("Patch").lower()
    return name[:-1] + "ies" if name.endswith("y") else name + ("es" if name.endswith("s") else "s")


def recording(**changed: Any) -> Recording:
    config = {**EXAMPLE, **{f"gpucluster:{key}": value for key, value in changed.items()}, SECRET: "secret-content"}
    return run_with(config, "existing", secrets=[SECRET])


def rights(program: Recording) -> dict[tuple[str, str, str], set[str]]:
    asked = program.only(CLUSTER).inputs["rights"]
    return {(each["group"], each["resource"], each.get("name", "")): {*each["verbs"]} for each in asked}


def test_everything_waits_until_the_cluster_was_asked() -> None:
    program = recording()
    cluster = program.only(CLUSTER)
    others = [each for each in program.resources if each.type.startswith("kubernetes:") or each.type == NODES]
    assert len(others) > 10
    assert [each.name for each in others if cluster.urn not in program.before(each)] == []


def test_every_object_is_covered_by_a_right_that_is_asked() -> None:
    access = [
        {"name": "ann", "who": "user:ann", "role": "admin"},
        {"name": "bob", "who": "user:bob", "role": "viewer", "namespaces": ["other"]},
        {"name": "ci", "who": "user:ci", "role": "reader"},
    ]
    program = recording(access=access)
    made = {each.type.removeprefix("kubernetes:") for each in program.resources if each.type.startswith("kubernetes:")}
    assert made == MADE
    asked = rights(program)
    for api, _, kind in (each.partition("/v1:") for each in MADE):
        group, resource = api.removeprefix("core"), plural(kind)
        assert {"create", "patch"} <= asked[(group, resource, "")], resource
        assert "delete" in asked[(group, resource, "")] or resource == "namespaces"
    assert {"get", "list", "patch"} <= asked[("", "nodes", "")]
    assert [key[2] for key, verbs in asked.items() if "bind" in verbs] == [
        *("cluster-admin", "view", "gpucluster:reader")
    ]
    rules = [rule for each in program.resources if each.type.endswith("Role") for rule in each.inputs["rules"]]
    for rule in rules:
        for key in ((group, resource, "") for group in rule["apiGroups"] for resource in rule["resources"]):
            assert {*rule["verbs"]} <= asked.get(key, set()), "nobody grants what they may not do"


def test_a_chart_may_contain_anything_so_everything_is_asked() -> None:
    program = recording(workloads={"dashboard": {}}, adminPool={"machines": ["cp1"]})
    assert rights(program) == {("*", "*", ""): {"*"}}
    admin = program.named("admin-pool")
    assert admin.inputs["labels"] == {"gpucluster.dev/role": "admin", "gpucluster.dev/pool": "admin"}
    assert admin.inputs["taints"] == []


def test_the_chosen_nodes_get_the_labels_and_taints_of_any_cloud() -> None:
    nodes = recording().only(NODES).inputs
    (pool,) = settings_of(EXISTING).gpu_pools
    assert nodes["machines"] == ["gpu1", "gpu2"]
    assert nodes["labels"] == pool.nodes.labels
    assert nodes["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert (nodes["gpus"], nodes["count"]) == (2, 2)


def test_nodes_of_somebody_elses_autoscaler_are_not_touched_and_their_labels_are_told() -> None:
    program = recording(gpuPools=[SCALED], teams=[])
    assert program.of_type(NODES) == []
    (pool,) = program.only(CLUSTER).inputs["pools"]
    assert (pool["scaled"], pool["machines"], pool["selector"]) == (True, [], {})
    governed_by = program.stack_outputs["autoscaling"]["a100-1"]["governedBy"]
    assert "gpucluster.dev/pool=a100-1" in governed_by
    assert "nvidia.com/gpu=present:NoSchedule" in governed_by
    assert "GPU taint" not in str(declared.violations(program))


def test_the_clusters_own_device_plugin_stays_unless_the_stack_asks_for_ours() -> None:
    def plugins(drivers: str) -> list[str]:
        sets = recording(gpuPools=[{**POOL, "drivers": drivers}]).of_type("kubernetes:apps/v1:DaemonSet")
        return [each.inputs["metadata"]["name"] for each in sets]

    assert plugins("device-plugin") == ["nvidia-device-plugin-whole"]
    assert plugins("none") == []


def test_objects_are_deleted_one_by_one_and_namespaces_of_people_stay() -> None:
    program = recording()
    objects = [each for each in program.resources if each.type.startswith("kubernetes:")]
    assert {each.deleted_with for each in objects} == {""}
    retained = {each.type for each in objects if each.retain_on_delete}
    assert retained == {"kubernetes:core/v1:NamespacePatch"}
    assert not program.of_type("kubernetes:core/v1:Namespace"), "one that is there is used"
    assert not program.of_type("kubernetes:storage.k8s.io/v1:StorageClass")


def test_namespaces_of_the_owner_get_the_quotas_of_teams_and_no_other_limit() -> None:
    hard = [each.inputs["spec"]["hard"] for each in recording().of_type("kubernetes:core/v1:ResourceQuota")]
    assert any("requests.nvidia.com/gpu" in each for each in hard)
    assert [each for each in hard if "count/daemonsets.apps" in each] == []


def test_the_kubeconfig_is_secret_and_in_one_place_only() -> None:
    program = recording(context="lab")
    holders = [each for each in program.resources if "secret-content" in json.dumps(each.inputs)]
    assert [each.type for each in holders] == ["pulumi:providers:gpucluster-machines"]
    assert holders[0].inputs == {"kubeconfig": "secret-content", "context": "lab"}
    assert "kubeconfig" in holders[0].secret_inputs
    assert "kubeconfig" in program.secret_stack_outputs
    assert program.only("pulumi:providers:kubernetes").inputs["kubeconfig"] == "theirs"
    with pytest.raises(pulumi.RunError, match="pulumi config set --secret gpucluster:kubeconfig"):
        run_with(EXAMPLE, "existing")


def test_the_gate_sees_nodes_that_cannot_scale_and_finds_nothing_wrong() -> None:
    program = recording()
    groups = [item for item in declared.items(program) if isinstance(item, NodeGroup)]
    assert [(each.name, each.kind, each.gpus.per_node, each.scaling.min_nodes) for each in groups] == [
        ("t4-2", "owned", 2, 2)
    ]
    assert declared.violations(program) == []
