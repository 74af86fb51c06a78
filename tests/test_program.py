"""The real program on every stack file: what must hold whatever the stack says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import yaml

from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.settings import Settings, from_stack_file
from policies.rules.model import POOL_LABEL, Taint, Toleration
from tests.recorder import Recording, Registration
from tests.stacks import ROOT, STACK_FILES, run_program, run_with, stack_name

CLUSTER = "gcp:container/cluster:Cluster"
NODE_POOL = "gcp:container/nodePool:NodePool"
GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}

each_stack = pytest.mark.parametrize("file", STACK_FILES, ids=stack_name)


def gpu_pools(recording: Recording) -> list[Registration]:
    return [pool for pool in recording.of_type(NODE_POOL) if "guestAccelerators" in pool.inputs["nodeConfig"]]


def admin_pool(recording: Recording) -> Registration:
    (pool,) = [
        pool
        for pool in recording.of_type(NODE_POOL)
        if pool.inputs["nodeConfig"]["labels"].get("gpucluster.dev/role") == "admin"
    ]
    return pool


def test_the_stacks_and_the_examples_of_the_seeds_are_tried() -> None:
    assert {"dev", "prod", "gke-tips", "gke-per-gpu-type"} <= {stack_name(file) for file in STACK_FILES}


def test_the_program_is_short() -> None:
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 60


@each_stack
def test_every_spec_becomes_exactly_one_pool_of_that_name(file: Path) -> None:
    recording, settings = run_program(file), from_stack_file(file)
    expected = [spec.name for spec in _all_specs(settings)]
    assert sorted(pool.inputs["name"] for pool in recording.of_type(NODE_POOL)) == sorted(expected)


@each_stack
def test_gpu_pools_start_empty_reach_zero_and_repel_other_pods(file: Path) -> None:
    pools = gpu_pools(run_program(file))
    assert pools
    for pool in pools:
        assert pool.inputs["initialNodeCount"] == 0
        assert pool.inputs["autoscaling"]["totalMinNodeCount"] == 0
        assert pool.inputs["autoscaling"]["totalMaxNodeCount"] >= 1
        assert pool.inputs["autoscaling"]["locationPolicy"] == "ANY"
        assert "nodeCount" not in pool.inputs
        assert {"initialNodeCount", "nodeCount"} <= set(pool.ignore_changes)
        assert GPU_TAINT in pool.inputs["nodeConfig"]["taints"]
        assert pool.inputs["nodeConfig"]["labels"]["nvidia.com/gpu.present"] == "true"
        assert pool.inputs["nodeConfig"]["labels"][POOL_LABEL] == pool.inputs["name"]


@each_stack
def test_pools_larger_than_the_smallest_carry_the_size_taint_and_no_other_does(file: Path) -> None:
    pools = gpu_pools(run_program(file))
    sizes = {pool.urn: pool.inputs["nodeConfig"]["guestAccelerators"][0]["count"] for pool in pools}
    for pool in pools:
        size = sizes[pool.urn]
        tainted = [
            taint["value"]
            for taint in pool.inputs["nodeConfig"]["taints"]
            if taint["key"] == "gpucluster.dev/gpus-per-node"
        ]
        assert tainted == ([f"{size:g}"] if size > min(sizes.values()) else [])


@each_stack
def test_system_pods_have_an_untainted_home_before_any_other_pool_exists(file: Path) -> None:
    recording = run_program(file)
    home = admin_pool(recording)
    assert home.inputs["nodeConfig"]["taints"] == []
    assert home.inputs["nodeCount"] >= 1
    assert "autoscaling" not in home.inputs
    for pool in recording.of_type(NODE_POOL):
        assert pool is home or home.urn in pool.depends_on


@each_stack
def test_every_node_is_private_hardened_and_of_the_dedicated_account(file: Path) -> None:
    recording = run_program(file)
    cluster = recording.only(CLUSTER)
    account = recording.only("gcp:serviceaccount/account:Account")
    assert cluster.inputs["privateClusterConfig"]["enablePrivateNodes"] is True
    for config in [cluster.inputs["nodeConfig"], *(pool.inputs["nodeConfig"] for pool in recording.of_type(NODE_POOL))]:
        assert config["serviceAccount"].startswith(account.inputs["accountId"] + "@")
        assert config["metadata"] == {"disable-legacy-endpoints": "true"}
        assert config["workloadMetadataConfig"] == {"mode": "GKE_METADATA"}
        assert config["shieldedInstanceConfig"]["enableIntegrityMonitoring"] is True
        assert config["shieldedInstanceConfig"]["enableSecureBoot"] is (config["imageType"] != "UBUNTU_CONTAINERD")


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
    versions = {
        resource.type.partition(":")[0]: resource.version for resource in run_program(file).resources if resource.custom
    }
    assert versions == {"gcp": "10.2.0", "kubernetes": "4.34.2", "pulumi": "4.34.2"}


@each_stack
def test_objects_in_the_cluster_use_its_provider_and_go_with_it(file: Path) -> None:
    recording = run_program(file)
    provider = recording.only("pulumi:providers:kubernetes")
    objects = [resource for resource in recording.resources if resource.type.startswith("kubernetes:")]
    assert objects
    for resource in objects:
        assert resource.provider.startswith(provider.urn)
        assert resource.deleted_with == recording.only(CLUSTER).urn


@each_stack
def test_the_kubeconfig_is_secret_and_holds_no_credential(file: Path) -> None:
    recording = run_program(file)
    assert "kubeconfig" in recording.secret_stack_outputs
    assert "kubeconfig" in recording.only("pulumi:providers:kubernetes").secret_inputs
    (user,) = yaml.safe_load(recording.stack_outputs["kubeconfig"])["users"]
    assert user["user"].keys() == {"exec"}


@each_stack
def test_a_protected_stack_is_protected_by_the_engine_and_by_the_cloud(file: Path) -> None:
    recording, wanted = run_program(file), from_stack_file(file).security.deletion_protection
    cluster = recording.only(CLUSTER)
    assert (cluster.protect, cluster.inputs["deletionProtection"]) == (wanted, wanted)


def test_prod_is_protected_and_dev_is_not() -> None:
    assert run_program(ROOT / "Pulumi.prod.yaml").only(CLUSTER).protect
    assert not run_program(ROOT / "Pulumi.dev.yaml").only(CLUSTER).protect


@each_stack
def test_driver_installers_serve_exactly_the_pools_without_a_managed_driver(file: Path) -> None:
    recording, settings = run_program(file), from_stack_file(file)
    taints = {spec.name: spec.taints for spec in settings.gpu_pool_specs}
    served: list[str] = []
    for daemon_set in recording.of_type("kubernetes:apps/v1:DaemonSet"):
        pod = daemon_set.inputs["spec"]["template"]["spec"]
        for pool in _affinity_pools(pod):
            served.append(pool)
            assert not _not_tolerated(pod["tolerations"], taints[pool])
    assert sorted(served) == sorted(spec.name for spec in settings.gpu_pool_specs if spec.drivers == "daemonset")
    for pool in gpu_pools(recording):
        mode = pool.inputs["nodeConfig"]["guestAccelerators"][0]["gpuDriverInstallationConfig"]["gpuDriverVersion"]
        assert (mode == "INSTALLATION_DISABLED") == (pool.inputs["name"] in served)


def test_one_taint_more_than_the_installer_tolerates_is_noticed() -> None:
    tolerations = [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present", "effect": "NoSchedule"}]
    gpu, spot = Taint("nvidia.com/gpu", "present", "NoSchedule"), Taint("example.com/spot", "true", "NoSchedule")
    assert _not_tolerated(tolerations, (gpu,)) == []
    assert _not_tolerated(tolerations, (gpu, spot)) == [spot]


@each_stack
def test_the_outputs_describe_every_gpu_pool(file: Path) -> None:
    outputs, settings = run_program(file).stack_outputs, from_stack_file(file)
    assert outputs.keys() == {"clusterName", "kubeconfig", "pools", "gpuJobs", "cost", "autoscaling"}
    names = {spec.name for spec in settings.gpu_pool_specs}
    assert outputs["pools"].keys() == outputs["gpuJobs"].keys() == names
    assert outputs["autoscaling"].keys() == names | {spec.name for spec in settings.cpu_pool_specs}
    assert outputs["clusterName"] == settings.cluster_name


@each_stack
def test_each_gpu_job_reaches_its_pool_and_uses_one_whole_node(file: Path) -> None:
    outputs, settings = run_program(file).stack_outputs, from_stack_file(file)
    for spec in settings.gpu_pool_specs:
        job = yaml.safe_load(outputs["gpuJobs"][spec.name])
        pod = job["spec"]["template"]["spec"]
        assert pod["nodeSelector"].items() <= spec.labels.items()
        assert not _not_tolerated(pod["tolerations"], spec.taints)
        gpus = pod["containers"][0]["resources"]["limits"]["nvidia.com/gpu"]
        assert gpus * job["spec"]["parallelism"] == spec.allocatable_gpus


@each_stack
def test_idle_costs_less_than_the_maximum_and_prices_are_dated(file: Path) -> None:
    cost = run_program(file).stack_outputs["cost"]
    assert cost["asOf"] >= "2026-01-01"
    if cost["maxHourlyUsd"] is not None:
        assert 0 < cost["idleHourlyUsd"] < cost["maxHourlyUsd"]


def test_no_resource_is_created_inside_apply() -> None:
    for file in [ROOT / "__main__.py", *(ROOT / "components").rglob("*.py")]:
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "apply":
                assert "ResourceOptions" not in ast.unparse(call), f"{file}:{call.lineno}"


def test_a_stack_with_problems_ends_with_all_of_them_and_no_resource() -> None:
    with pytest.raises(Exception, match=r"2 problems") as caught:
        run_with(
            {
                "gcp:project": "my-project",
                "gpucluster:cloud": "gke",
                "gpucluster:region": "us-centrl1",
                "gpucluster:network": {"authorizedNetworks": [{"name": "office", "cidr": "203.0.113.0/24"}]},
                "gpucluster:gpuPools": [{"name": "t4", "gpu": "nvidia-t4", "maxNodes": 0}],
            },
            "broken",
        )
    assert "us-central1" in str(caught.value)


def _all_specs(settings: Settings) -> list[AdminPoolSpec | GpuPoolSpec | CpuPoolSpec]:
    return [settings.admin_pool_spec, *settings.gpu_pool_specs, *settings.cpu_pool_specs]


def _affinity_pools(pod: dict[str, object]) -> list[str]:
    affinity = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]  # type: ignore[index]
    (term,) = affinity["nodeSelectorTerms"]
    (expression,) = term["matchExpressions"]
    assert (expression["key"], expression["operator"]) == (POOL_LABEL, "In")
    return list(expression["values"])


def _not_tolerated(tolerations: list[dict[str, str]], taints: tuple[Taint, ...]) -> list[Taint]:
    covered = [
        Toleration(one.get("key"), one["operator"], one.get("value"), one.get("effect"))  # type: ignore[arg-type]
        for one in tolerations
    ]
    return [taint for taint in taints if not any(toleration.tolerates(taint) for toleration in covered)]
