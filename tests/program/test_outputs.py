"""What the program tells about each stack, and what people may do in its cluster: nobody becomes the administrator.

https://kubernetes.io/docs/concepts/security/rbac-good-practices/#workload-creation
"""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from components.clouds.base import load_cloud
from facts.concepts.namespaces import TOOLS
from tests.program import each_stack, not_tolerated
from tests.recorder import Recording, Registration
from tests.stacks import EXISTING, OWN_MACHINES, STACK_FILES, run_program, run_with, settings_of, stack_name


@each_stack
def test_the_outputs_describe_every_pool(file: Path) -> None:
    outputs, settings = run_program(file).stack_outputs, settings_of(file)
    names = "clusterName kubeconfig network pools gpuJobs cost quotas gpuInstall autoscaling"
    expected = set(names.split())
    asked = settings.workloads.model_dump(by_alias=True, exclude={"pull_from"})
    expected |= {key for key, section in asked.items() if section not in (None, ())}
    expected |= {"fabricTest"} if any(pool.nodes.fabric for pool in settings.gpu_pools) else set()
    expected |= {"raw"} if settings.raw or any(pool.raw for pool in settings.pools) else set()
    assert outputs.keys() == expected
    # An existing network's public subnets are not the program's.
    public = {"publicSubnetIds"} if settings.network.existing else set()
    assert all(value for key, value in outputs["network"].items() if key not in public)
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
        assert (expected["min"], expected["max"]) == (pool.scaling.min_nodes, pool.scaling.max_nodes)
        assert expected["reachesZero"].startswith("no") == (pool.scaling.min_nodes > 0)
        assert all(cloud.governance(pool, settings).as_output(pool).values()) or pool.scaling.min_nodes == 0


@each_stack
def test_each_gpu_job_reaches_its_pool_and_uses_one_whole_node(file: Path) -> None:
    outputs = run_program(file).stack_outputs
    for spec in settings_of(file).gpu_pools:
        *_, job = yaml.safe_load_all(outputs["gpuJobs"][spec.name])
        pod = job["spec"]["template"]["spec"]
        assert pod["nodeSelector"].items() <= spec.nodes.labels.items()
        assert not not_tolerated(pod["tolerations"], spec.nodes.taints)
        maker = spec.gpus.type.partition("-")[0]
        resources = {"aws": "aws.amazon.com/neuron", "amd": "amd.com/gpu", "google": "google.com/tpu"}
        resource = resources.get(maker, "nvidia.com/gpu")
        gpus = pod["containers"][0]["resources"]["limits"][resource]
        assert gpus * job["spec"]["parallelism"] == spec.gpus.allocatable * max(1, spec.gpus.slice_nodes)


@each_stack
def test_idle_costs_less_than_the_maximum_and_prices_are_dated(file: Path) -> None:
    cost = run_program(file).stack_outputs["cost"]
    assert cost["asOf"] >= "2026-01-01"
    if "maxHourlyUsd" in cost:
        assert 0 < cost["idleHourlyUsd"] < cost["maxHourlyUsd"]


RBAC = "kubernetes:rbac.authorization.k8s.io/v1"
PEOPLE = ("User", "Group")
CREATES_PODS = ("edit", "admin")
LEVEL = "pod-security.kubernetes.io/enforce"

each_stack = pytest.mark.parametrize("file", [*STACK_FILES, OWN_MACHINES, EXISTING], ids=stack_name)


def recording(file: Path) -> Recording:
    """The program of a stack file; that of an existing cluster needs its kubeconfig."""
    if file != EXISTING:
        return run_program(file)
    secret = "gpucluster:kubeconfig"
    return run_with({**yaml.safe_load(file.read_text())["config"], secret: "secret"}, "existing", secrets=[secret])


def editors(program: Recording) -> dict[str, list[Registration]]:
    """Namespace (``""``: all) → bindings that let people create pods there."""
    bindings: dict[str, list[Registration]] = {}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in program.of_type(f"{RBAC}:{kind}"):
            people = [each for each in binding.inputs["subjects"] if each["kind"] in PEOPLE]
            if people and binding.inputs["roleRef"]["name"] in CREATES_PODS:
                bindings.setdefault(binding.inputs["metadata"].get("namespace", ""), []).append(binding)
    return bindings


@each_stack
def test_nobody_but_administrators_creates_pods_where_system_pods_run(file: Path) -> None:
    spaces = editors(recording(file))
    assert not [space for space in spaces if not space or space.startswith("kube-") or space in TOOLS]


@each_stack
def test_where_people_create_pods_privileged_ones_are_refused(file: Path) -> None:
    program = recording(file)
    spaces = [one for kind in ("Namespace", "NamespacePatch") for one in program.of_type(f"kubernetes:core/v1:{kind}")]
    written = [each.inputs["metadata"] for each in spaces]
    labels = {each["name"]: each.get("labels", {}) for each in written}
    levels = {name: own.get(LEVEL, own.get("gpucluster.dev/pod-security")) for name, own in labels.items()}
    if file == EXISTING:  # Its owner decides.
        assert set(levels.values()) <= {None}
        return
    bindings = program.of_type("kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding")
    in_force = {each.inputs["spec"]["policyName"]: each.inputs["spec"]["validationActions"] for each in bindings}
    level = "mps" if in_force.get("mps-pods.gpucluster.dev") == ["Deny"] else "baseline"
    assert levels["default"] == level
    assert {levels[space] for space in editors(program)} <= {level}


@each_stack
def test_tools_are_in_namespaces_that_no_stack_file_may_give_to_people(file: Path) -> None:
    releases = recording(file).of_type("kubernetes:helm.sh/v3:Release")
    assert {each.inputs["namespace"] for each in releases} <= {*TOOLS, "kube-system"}
