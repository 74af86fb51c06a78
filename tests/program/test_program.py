"""The real program on every stack file, and on one stack on every cloud: what must hold whatever the stack says.

Resources are read with the gate's readers, so each invariant is written once for all clouds.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.clouds.base import cloud_names
from components.clouds.eks.fabric import APP as EFA_PLUGIN
from components.clouds.gpu_exporter import APP as EXPORTER
from components.settings import Settings
from facts.concepts.declared import Cluster, Credential, NodeGroup, Workload
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, Taint
from facts.concepts.pool import POOL_LABEL, ROLE_LABEL, SIZE_KEY, Pool, size_taint
from facts.concepts.unknown import UNKNOWN
from policies.rules.table import RULES
from tests import declared, one_stack
from tests.program import FILES, each_stack, not_tolerated
from tests.recorder import Recording, Registration
from tests.stacks import ROOT, run_program, run_with, settings_of, stack_name

# The property that holds a group's present size, which its autoscaler changes. Objects of an autoscaler have none.
SIZE_PROPERTIES = {
    "gcp:container/nodePool:NodePool": {"initialNodeCount", "nodeCount"},
    # Looked up, because what is ignored is sent as it was recorded: test_running_groups.py and test_running_pools.py.
    "aws:eks/nodeGroup:NodeGroup": set(),
    "azure-native:containerservice:AgentPool": set(),
    # The admin pool is listed by its cluster, which Azure creates with one pool at least.
    "azure-native:containerservice:ManagedCluster": set(),
    "kubernetes:karpenter.sh/v1:NodePool": set(),
}

# The CA that every control plane of the recorder has.
AUTHORITY = "Q0E="

# Where something other than a DaemonSet of ours offers a pool's GPUs to pods.
OFFERED_BY_THE_CLOUD: dict[str, Callable[[Pool], bool]] = {
    "gke": lambda spec: spec.gpus.drivers == "managed",
    "eks": lambda spec: spec.nodes.image == "bottlerocket",
    "aks": lambda spec: False,
}


def groups(recording: Recording) -> dict[str, NodeGroup]:
    """Pool's name, as its label says → its node group."""
    by_name = {}
    for group in declared.stack(recording).groups:
        assert group.kind == "pool"
        assert group.nodes.labels is not UNKNOWN
        name = group.nodes.labels[POOL_LABEL]
        assert isinstance(name, str)
        assert name not in by_name
        by_name[name] = group
    return by_name


def resource_of(recording: Recording, group: NodeGroup) -> Registration:
    (resource,) = [resource for resource in recording.resources if resource.urn == group.resource]
    return resource


def cluster_of(recording: Recording) -> Cluster:
    (cluster,) = declared.stack(recording).clusters
    return cluster


def gpu_specs(file: Path) -> tuple[Pool, ...]:
    return settings_of(file).gpu_pools


def test_the_stacks_and_the_examples_of_the_seeds_are_tried() -> None:
    assert {"dev", "prod", "gke-tips", "gke-per-gpu-type"} <= {stack_name(file) for file in FILES}


@pytest.mark.parametrize("cloud", cloud_names())
def test_the_one_stack_is_tried_on_every_cloud(cloud: str) -> None:
    assert f"one-{cloud}" in {stack_name(file) for file in FILES}
    assert cloud in {settings_of(one_stack.variant(name)).cloud for name in one_stack.VARIANTS}


@each_stack
def test_every_spec_becomes_exactly_one_group(file: Path) -> None:
    assert sorted(groups(run_program(file))) == sorted(spec.name for spec in _all_specs(settings_of(file)))


@each_stack
def test_gpu_groups_are_what_the_file_says_and_reach_zero(file: Path) -> None:
    by_name = groups(run_program(file))
    for spec in gpu_specs(file):
        group = by_name[spec.name]
        assert (group.scaling.min_nodes, group.initial_nodes, group.scaling.autoscaled) == (0, 0, True)
        assert group.scaling.max_nodes == spec.scaling.max_nodes >= 1
        assert (group.gpus.per_node, group.other_gpus_per_node) == (spec.gpus.per_node, ())
        assert group.scaling.spot is spec.scaling.spot


@each_stack
def test_every_group_has_the_labels_and_taints_of_its_spec_and_no_other_taint(file: Path) -> None:
    by_name = groups(run_program(file))
    for spec in _all_specs(settings_of(file)):
        group = by_name[spec.name]
        assert group.nodes.labels is not UNKNOWN
        assert spec.nodes.labels.items() <= group.nodes.labels.items()
        taints = () if spec.role == "admin" else spec.nodes.taints
        assert group.nodes.taints is not UNKNOWN
        assert sorted(map(str, group.nodes.taints)) == sorted(map(str, taints))


@each_stack
def test_gpu_nodes_repel_other_pods_and_larger_ones_also_those_of_smaller_sizes(file: Path) -> None:
    all_groups = groups(run_program(file)).values()
    assert any(group.gpus.per_node for group in all_groups)
    for group in all_groups:
        alike = (other.gpus.per_node for other in all_groups if other.gpus.resource == group.gpus.resource)
        size, smallest = group.gpus.per_node, min(filter(None, alike), default=0)  # type: ignore[type-var]
        assert size is not UNKNOWN
        assert group.nodes.taints is not UNKNOWN
        assert group.nodes.labels is not UNKNOWN
        maker = str(group.nodes.labels.get("gpucluster.dev/gpu")).partition("-")[0]
        keys = {"aws": "aws.amazon.com/neuron", "amd": "amd.com/gpu", "google": "google.com/tpu"}
        taint = Taint(keys.get(maker, "nvidia.com/gpu"), "present", "NoSchedule")
        assert (taint in group.nodes.taints) == (size > 0)
        assert (group.nodes.labels.get(GPU_PRESENT_LABEL) == "true") == (size > 0 and maker == "nvidia")
        assert [one for one in group.nodes.taints if one.key == SIZE_KEY] == (
            [size_taint(size)] if size > smallest else []
        )


@each_stack
def test_an_autoscaled_groups_size_is_not_the_programs(file: Path) -> None:
    recording = run_program(file)
    for group in groups(recording).values():
        if group.scaling.autoscaled:
            resource = resource_of(recording, group)
            assert SIZE_PROPERTIES[resource.type] <= set(resource.ignore_changes), group.name


@each_stack
def test_system_pods_have_an_untainted_home_before_any_other_pool_exists(file: Path) -> None:
    recording = run_program(file)
    by_name = groups(recording)
    (home,) = [group for group in by_name.values() if _is_home(group)]
    admin = settings_of(file).admin_pool
    assert home.nodes.taints == ()
    assert home.gpus.per_node == 0
    assert home.scaling.autoscaled is admin.scaling.autoscaled
    assert (home.scaling.min_nodes if home.scaling.autoscaled else home.initial_nodes) == admin.scaling.min_nodes >= 1
    # A cluster may list the pool as well as a resource of its own; the others wait for both.
    homes = {item.resource for item in declared.items(recording) if isinstance(item, NodeGroup) and _is_home(item)}
    for group in by_name.values():
        assert group is home or homes <= recording.before(resource_of(recording, group)), group.name


@each_stack
def test_nodes_are_private_and_their_disks_encrypted(file: Path) -> None:
    recording = run_program(file)
    cluster = cluster_of(recording)
    assert cluster.open_api is False
    assert cluster.local_accounts is False
    for group in groups(recording).values():
        assert group.private is True or (group.private is None and cluster.private_nodes is True), group.name
        assert group.disk_encrypted is True, group.name


@each_stack
def test_no_credential_is_static(file: Path) -> None:
    credentials = [item for item in declared.items(run_program(file)) if isinstance(item, Credential)]
    assert [credential for credential in credentials if credential.static is not False] == []


@each_stack
def test_the_gate_has_nothing_against_the_program(file: Path) -> None:
    recording = run_program(file)
    subjects = [*declared.items(recording), declared.stack(recording)]
    violations = [
        f"{rule.id}: {violation.message}"
        for rule in RULES
        if rule.level in ("mandatory", "remediate")
        for subject in subjects
        if isinstance(subject, rule.subjects)
        for violation in rule.check(subject, rule.limits())
    ]
    assert violations == []


@each_stack
def test_children_have_parents_and_components_register_outputs_once(file: Path) -> None:
    recording = run_program(file)
    components = {component.urn for component in recording.components}
    for resource in recording.resources:
        if resource.custom:
            assert resource.parent in components, f"{resource.urn} belongs to no component"
    assert components <= recording.outputs.keys()


@each_stack
def test_every_plugin_version_is_that_of_the_installed_sdk(file: Path) -> None:
    for resource in run_program(file).resources:
        package = resource.type.partition(":")[0]
        if resource.custom and package != "pulumi":
            assert resource.version == version(f"pulumi-{package}"), resource.urn


@each_stack
def test_only_the_stacks_own_cloud_is_used(file: Path) -> None:
    account_key = yaml.safe_load(file.read_text())["config"]
    (package,) = {key.partition(":")[0] for key in account_key} - {"gpucluster"}
    used = {resource.type.partition(":")[0] for resource in run_program(file).resources if resource.custom}
    assert used == {package, "kubernetes", "pulumi"}


@each_stack
def test_objects_in_the_cluster_use_its_provider_and_go_with_it(file: Path) -> None:
    recording = run_program(file)
    provider = recording.only("pulumi:providers:kubernetes")
    objects = [resource for resource in recording.resources if resource.type.startswith("kubernetes:")]
    assert objects
    cluster = cluster_of(recording).resource
    for resource in objects:
        assert resource.provider.startswith(provider.urn)
        # Objects that stand for machines must be deleted one by one, or their machines would stay; Azure ends those in
        # the cluster's own resource group.
        machines = resource.type.startswith("kubernetes:karpenter.") and settings_of(file).cloud != "aks"
        assert resource.deleted_with == ("" if machines else cluster), resource.urn


@each_stack
def test_the_provider_knows_its_cluster_by_what_no_other_has_and_not_by_the_way_in(file: Path) -> None:
    of_the_authority = hashlib.sha256(AUTHORITY.encode()).hexdigest()
    assert run_program(file).only("pulumi:providers:kubernetes").inputs["clusterIdentifier"] == of_the_authority


@each_stack
def test_a_protected_stack_takes_other_pools_as_no_config_map_is_replaced_for_them(file: Path) -> None:
    recording = run_program(file)
    assert recording.of_type("kubernetes:core/v1:ConfigMap")
    assert recording.only("pulumi:providers:kubernetes").inputs["enableConfigMapMutable"] == "true"


@each_stack
def test_the_kubeconfig_is_secret_and_holds_no_credential(file: Path) -> None:
    recording = run_program(file)
    assert "kubeconfig" in recording.secret_stack_outputs
    assert "kubeconfig" in recording.only("pulumi:providers:kubernetes").secret_inputs
    (user,) = yaml.safe_load(recording.stack_outputs["kubeconfig"])["users"]
    assert user["user"].keys() == {"exec"}


@each_stack
def test_a_protected_stack_is_protected_in_all_its_resources(file: Path) -> None:
    recording, protected = run_program(file), settings_of(file).security.deletion_protection
    cluster = cluster_of(recording).resource
    (control_plane,) = [resource for resource in recording.resources if resource.urn == cluster]
    assert control_plane.protect is protected
    assert {component.protect for component in recording.components} == {protected}


def test_prod_is_protected_and_dev_is_not() -> None:
    assert settings_of(ROOT / "Pulumi.prod.yaml").security.deletion_protection
    assert not settings_of(ROOT / "Pulumi.dev.yaml").security.deletion_protection


@each_stack
def test_every_gpu_is_offered_to_pods_once(file: Path) -> None:
    """By the cloud, by one DaemonSet that tolerates its node's taints, or by the user who said so."""
    recording, settings = run_program(file), settings_of(file)
    specs = {spec.name: spec for spec in settings.gpu_pools}
    served: list[str] = []
    for daemon_set in recording.of_type("kubernetes:apps/v1:DaemonSet"):
        pod = daemon_set.inputs["spec"]["template"]["spec"]
        others = daemon_set.inputs["metadata"]["labels"]["k8s-app"] in (EXPORTER, EFA_PLUGIN)
        for pool in _affinity_pools(pod):
            served += [] if others else [pool]
            assert not not_tolerated(pod["tolerations"], specs[pool].nodes.taints)
    by_cloud = OFFERED_BY_THE_CLOUD[settings.cloud]
    ours = [name for name, spec in specs.items() if spec.gpus.drivers != "none" and not by_cloud(spec)]
    assert sorted(served) == sorted(ours)


def test_one_taint_more_than_the_installer_tolerates_is_noticed() -> None:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}]
    gpu, spot = Taint("nvidia.com/gpu", "present", "NoSchedule"), Taint("example.com/spot", "true", "NoSchedule")
    assert not_tolerated(tolerations, (gpu,)) == []
    assert not_tolerated(tolerations, (gpu, spot)) == [spot]


@each_stack
def test_what_scales_nodes_runs_where_no_autoscaler_takes_the_node_away(file: Path) -> None:
    recording, settings = run_program(file), settings_of(file)
    autoscalers = [item for item in declared.items(recording) if isinstance(item, Workload) and item.scales_nodes]
    assert bool(autoscalers) == (settings.autoscaler not in ("managed", "node-auto-provisioning"))
    for workload in autoscalers:
        assert workload.node_selector is not UNKNOWN
        assert workload.node_selector[ROLE_LABEL] == "admin"


def test_no_resource_is_created_inside_apply() -> None:
    for file in [ROOT / "__main__.py", *(ROOT / "components").rglob("*.py")]:
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "apply":
                assert "ResourceOptions" not in ast.unparse(call), f"{file}:{call.lineno}"


@pytest.mark.parametrize("cloud", one_stack.CLOUDS)
def test_a_stack_with_problems_ends_with_all_of_them_and_no_resource(cloud: str) -> None:
    pools = [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 0}]
    with pytest.raises(Exception, match=r"2 problems") as caught:
        run_with(one_stack.config(cloud, availability="everywhere", gpuPools=pools), "broken")
    assert "availability" in str(caught.value)
    assert "gpuPools[0].maxNodes" in str(caught.value)


def _all_specs(settings: Settings) -> list[Pool]:
    return [settings.admin_pool, *settings.pools]


def _is_home(group: NodeGroup) -> bool:
    return group.nodes.labels is not UNKNOWN and group.nodes.labels.get(ROLE_LABEL) == "admin"


def _affinity_pools(pod: dict[str, Any]) -> list[str]:
    """The pools that a DaemonSet is for; none where it is for all nodes or for others than pools."""
    affinity = pod.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    expressions = [expression for term in terms for expression in term["matchExpressions"]]
    of_pools = [each for each in expressions if (each["key"], each["operator"]) == (POOL_LABEL, "In")]
    return [pool for expression in of_pools for pool in expression["values"]]
