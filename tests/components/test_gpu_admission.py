"""The admission policies and the gate's rules on pods as such, judged by a real API server: refused, warned, silent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.admission_manifests import main
from components.gpu_admission import ISOLATION_POLICY, PLACEMENT_POLICY, TEAMS_POLICY, claims, manifests, mps_pods
from components.outputs import gpu_job
from components.user_admission import BLANKET_POLICY, RESERVED_POLICY, pod_rules
from components.users import MPS_POD_SECURITY
from facts.catalog.model import Resources
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import SharedGpu
from facts.concepts.pool import TEAMS_LABEL, Pool, resource_taint
from packages.rehearsal.tests.simulated_cluster import eventually
from tests import one_stack
from tests.components import specs
from tests.components.gpu_workloads import (
    PODS,
    Submit,
    asking,
    controller,
    expression,
    judging,
    pod,
    required_affinity,
    workload,
)
from tests.stacks import run_with

TEAM = Taint("example.com/team", "vision", "NoSchedule")
SPOT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
POOLS = (
    specs.gpu_pool("l4-1", gpu="nvidia-l4"),
    specs.gpu_pool("l4-4", gpu="nvidia-l4", size=4),
    specs.gpu_pool("a100-8", gpu="nvidia-a100-80gb", size=8, extra_taints=(SPOT,)),
    specs.gpu_pool("p4-1", gpu="nvidia-p4", extra_taints=(SPOT,), time_sharing=SharedGpu(clients_per_gpu=4)),
    specs.gpu_pool("a10-1", gpu="nvidia-a10", extra_taints=(TEAM,), mps=SharedGpu(clients_per_gpu=4)),
    # Fallback pools: the preferred one has one more taint.
    specs.gpu_pool("t4-1-spot", extra_taints=(TEAM, SPOT), declared_at="gpuPools[4]"),
    specs.gpu_pool(
        "t4-1-ondemand", extra_taints=(TEAM,), capacity_type="on-demand", preference=1, declared_at="gpuPools[4]"
    ),
)

TPU = "google.com/tpu"
TOPOLOGY = {"cloud.google.com/gke-tpu-topology": "4x4"}
SLICE = specs.gpu_pool(
    "slice-4",
    gpu="google-tpu-v6e",
    size=4,
    taints=(resource_taint(TPU),),
    extra_labels=TOPOLOGY,
    cloud_labels=TOPOLOGY,
    topology="4x4",
    slice_nodes=4,
)

RESEARCH = ("research", "vision")
LAB = specs.gpu_pool(
    "lab-8",
    gpu="nvidia-h200-141gb",
    size=8,
    extra_taints=(Taint(TEAMS_LABEL, "lab", "NoSchedule"),),
    extra_labels={TEAMS_LABEL: "lab"},
    teams=RESEARCH,
)
# Only the policy for clusters of others knows it.
JOINED = specs.gpu_pool(
    "joined-1",
    gpu="nvidia-h100-80gb",
    extra_taints=(Taint(TEAMS_LABEL, "joined", "NoSchedule"),),
    extra_labels={TEAMS_LABEL: "joined"},
    teams=("research",),
)

# p4-1 is a pool of which this is not known.
ROOM = {
    "l4-1": Resources(milli_cpu=3900, memory_mib=12 * 1024),
    "l4-4": Resources(milli_cpu=47_500, memory_mib=170 * 1024),
    "a100-8": Resources(milli_cpu=95_000, memory_mib=1300 * 1024),
}

TOLERATE_4 = {"key": "gpucluster.dev/gpus-per-node", "operator": "Equal", "value": "4", "effect": "NoSchedule"}
TOLERATE_8 = {**TOLERATE_4, "value": "8"}
TOLERATE_SPOT = {"key": "cloud.google.com/gke-spot", "operator": "Exists"}
TOLERATE_TEAM = {"key": "example.com/team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
TOLERATE_ALL = {"operator": "Exists"}
L4 = {"gpucluster.dev/gpu": "nvidia-l4"}
A100 = {"gpucluster.dev/gpu": "nvidia-a100-80gb"}
P4 = {"gpucluster.dev/gpu": "nvidia-p4"}
T4 = {"gpucluster.dev/gpu": "nvidia-t4"}
CLAIMS_LABEL = {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true"}
POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
NOT_EVICTED = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submit]:
    made = manifests((*POOLS, SLICE, LAB), adds_gpu_toleration=True, ends_running_pods=True, room=ROOM)
    others = manifests((JOINED,), adds_gpu_toleration=True, ends_running_pods=True, others=lambda _: {})
    (of_others,) = (each for each in others if each.suffix == "teams")
    renamed = json.loads(json.dumps([of_others.policy, of_others.binding]).replace(TEAMS_POLICY, "joined.example.com"))
    policies = [*(each for one in made for each in (one.policy, one.binding)), *renamed, *mps_pods(), *claims()]
    with judging(tmp_path_factory.mktemp("admission"), policies) as submit:
        about = {"name": "mps", "labels": dict(MPS_POD_SECURITY)}
        for metadata in (about, {"name": "research"}):
            submit.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        eventually("the policy on MPS is in force", lambda: submit(in_mps({"hostPID": True})).status == 403)
        refused = pod(1, tolerations=[TOLERATE_ALL])
        eventually("they are in force", lambda: submit(refused).status == 403 and submit(pod(99)).warnings)
        yield submit


def real(test: Callable[..., None]) -> Callable[..., None]:
    """Marks of what asks a real API server; it is shared, so all of it takes seconds."""
    return pytest.mark.merge(pytest.mark.rehearsal(test))


def in_mps(spec: dict[str, Any], container: dict[str, Any] | None = None, **metadata: Any) -> dict[str, Any]:
    """A pod for the pool with MPS, in the namespace whose pods may use it."""
    made = pod(1, namespace="mps", tolerations=[TOLERATE_TEAM], selector={"gpucluster.dev/sharing": "mps"}, **metadata)
    made["spec"] |= {"hostIPC": True, **spec}
    made["spec"]["containers"][0] |= container or {}
    return made


@real
@pytest.mark.parametrize(
    ("spec", "container", "words"),
    [
        pytest.param({}, {}, "", id="the shared memory"),
        pytest.param(
            {"nodeSelector": {}, **required_affinity([expression("gpucluster.dev/sharing", "In", "mps")])},
            {},
            "",
            id="its pools by affinity",
        ),
        pytest.param(
            {"securityContext": {"runAsUser": 0, "seccompProfile": {"type": "RuntimeDefault"}}},
            {"securityContext": {"capabilities": {"add": ["CHOWN"]}}, "livenessProbe": {"httpGet": {"port": 80}}},
            "",
            id="what ordinary containers may have",
        ),
        pytest.param({"nodeSelector": {}}, {}, "hostIPC is admitted on nodes with MPS alone", id="on any node"),
        pytest.param(
            {
                "nodeSelector": {},
                **required_affinity(
                    [expression("gpucluster.dev/sharing", "In", "mps")], [expression("gpucluster.dev/pool", "Exists")]
                ),
            },
            {},
            "hostIPC is admitted on nodes with MPS alone",
            id="on nodes of which some have MPS",
        ),
        pytest.param({"hostPID": True}, {}, "hostNetwork and hostPID", id="processes"),
        pytest.param({"hostNetwork": True}, {}, "hostNetwork and hostPID", id="network"),
        pytest.param({}, {"securityContext": {"privileged": True}}, "privileged containers", id="privileged"),
        pytest.param(
            {"initContainers": [{"name": "a", "image": "a", "securityContext": {"privileged": True}}]},
            {},
            "privileged containers",
            id="privileged at first",
        ),
        pytest.param(
            {}, {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}, "no capability", id="capability"
        ),
        pytest.param({"volumes": [{"name": "a", "hostPath": {"path": "/"}}]}, {}, "hostPath volumes", id="disk"),
        pytest.param({}, {"ports": [{"containerPort": 80, "hostPort": 80}]}, "hostPort is not admitted", id="port"),
        pytest.param(
            {},
            {"readinessProbe": {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}},
            "probes and lifecycle hooks",
            id="probe",
        ),
        pytest.param(
            {},
            {"lifecycle": {"preStop": {"httpGet": {"port": 80, "host": "10.0.0.1"}}}},
            "probes and lifecycle hooks",
            id="hook",
        ),
        pytest.param({}, {"securityContext": {"appArmorProfile": {"type": "Unconfined"}}}, "AppArmor", id="AppArmor"),
        pytest.param({"securityContext": {"seLinuxOptions": {"type": "spc_t"}}}, {}, "SELinux", id="SELinux"),
        pytest.param({}, {"securityContext": {"seccompProfile": {"type": "Unconfined"}}}, "seccomp", id="seccomp"),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "net.core.somaxconn", "value": "1"}]}}, {}, "sysctls", id="sysctl"
        ),
    ],
)
def test_a_pod_with_mps_gets_the_node_s_shared_memory_and_nothing_else(
    submit: Submit, spec: dict[str, Any], container: dict[str, Any], words: str
) -> None:
    answer = submit(in_mps(spec, container))
    assert answer.silent if not words else (answer.status == 403 and words in answer.error)


@real
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        pytest.param(
            {"exactly": {"deviceClassName": "gpu.nvidia.com"}},
            "claims devices of gpu.nvidia.com, for which no empty pool",
            id="a GPU",
        ),
        pytest.param(
            {"firstAvailable": [{"name": "a", "deviceClassName": "mig.nvidia.com"}]},
            "claims devices of mig.nvidia.com",
            id="a slice or nothing",
        ),
        pytest.param({"exactly": {"deviceClassName": "mrdma.google.com"}}, "", id="a network device"),
    ],
)
@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
def test_a_claim_for_gpus_is_warned(submit: Submit, kind: str, asked: dict[str, Any], words: str) -> None:
    devices: dict[str, Any] = {"devices": {"requests": [{"name": "one", **asked}]}}
    spec = devices if kind == "ResourceClaim" else {"spec": devices}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}
    eventually("the answer", lambda: words in "".join(submit(claim).warnings) if words else submit(claim).silent)


@real
def test_a_pod_without_the_shared_memory_of_mps_is_warned(submit: Submit) -> None:
    (warning,) = submit(in_mps({"hostIPC": False})).warnings
    assert "may run in pool a10-1, where MPS shares GPUs" in warning
    assert "write hostIPC: true and nodeSelector: {gpucluster.dev/sharing: mps}" in warning


@real
@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(asking(1), id="the plain pod of every tutorial"),
        pytest.param(asking(0, tolerations=[TOLERATE_ALL]), id="no GPU, no opinion"),
        pytest.param(asking(4, tolerations=[TOLERATE_4]), id="4 GPUs on 4"),
        pytest.param(asking(2, tolerations=[TOLERATE_4]), id="2 GPUs, for which nothing smaller would do"),
        pytest.param(asking(8, tolerations=[TOLERATE_8, TOLERATE_SPOT]), id="both taints of one pool"),
        pytest.param(
            asking(1, tolerations=[TOLERATE_8, TOLERATE_SPOT], selector=A100), id="the GPU exists only in large"
        ),
        pytest.param(
            asking(1, tolerations=[TOLERATE_4], labels={"gpucluster.dev/allow-larger-node": "true"}), id="opted out"
        ),
        pytest.param(asking(1, selector={"kubernetes.io/arch": "amd64"}), id="a selector that is not ours"),
        pytest.param(asking(1, tolerations=[TOLERATE_ALL], namespace="kube-system"), id="a system pod"),
        pytest.param(asking(99, owner="ReplicaSet"), id="a warning that nobody would read"),
        pytest.param(asking(1, kind="DaemonSet", tolerations=[TOLERATE_ALL]), id="a DaemonSet"),
        pytest.param(
            asking(1, selector=L4, demands={"cpu": "3900m", "memory": "12Gi"}),
            id="a whole node, to the last bit",
        ),
        pytest.param(
            asking(1, selector=P4, tolerations=[TOLERATE_SPOT], demands={"cpu": "64", "memory": "2Ti"}),
            id="nobody knows how large that pool's machines are",
        ),
        pytest.param(
            asking(1, affinity=[[expression("gpucluster.dev/pool", "In", "l4-1", "other")]]),
            id="affinity that a pool satisfies",
        ),
        pytest.param(
            asking(
                1,
                affinity=[
                    [expression("gpucluster.dev/pool", "In", "other")],
                    [expression("gpucluster.dev/gpu", "NotIn", "nvidia-a100-80gb")],
                ],
            ),
            id="of two terms one is enough",
        ),
        pytest.param(
            asking(1, affinity=[[expression("topology.kubernetes.io/zone", "In", "x")]]), id="affinity not ours"
        ),
        pytest.param(
            asking(1, affinity=[[expression("nvidia.com/gpu.product", "DoesNotExist")]]), id="what no empty pool has"
        ),
        pytest.param(
            asking(1, selector={"nvidia.com/gpu.present": "true"}), id="a label of NVIDIA's that our pools have"
        ),
        pytest.param(asking(1, tolerations=[TOLERATE_TEAM, TOLERATE_SPOT], selector=T4), id="both fallback pools"),
        pytest.param(
            asking(1, tolerations=[TOLERATE_TEAM], selector={"gpucluster.dev/pool": "t4-1-ondemand"}),
            id="the pool it selects",
        ),
        pytest.param(asking(3, kind="Job", tolerations=[TOLERATE_4]), id="more than half of a node's GPUs"),
        pytest.param(
            asking(
                1,
                kind="Job",
                tolerations=[TOLERATE_SPOT],
                selector=P4,
                annotations=NOT_EVICTED,
            ),
            id="a part, and kept",
        ),
        pytest.param(asking(1, tolerations=[TOLERATE_SPOT], selector=P4), id="a part, and without a controller"),
        pytest.param(
            asking(1, kind="Deployment", tolerations=[TOLERATE_SPOT], selector=P4), id="what serves may be moved"
        ),
    ],
)
def test_what_is_right_passes_in_silence(submit: Submit, manifest: dict[str, Any]) -> None:
    assert submit(manifest).silent


def test_without_pools_for_teams_the_policies_are_as_they_were() -> None:
    for others in (None, lambda _: {}):
        for each in manifests(POOLS, adds_gpu_toleration=True, ends_running_pods=True, others=others):
            assert "teams" not in str(each)
    of_teams = manifests((LAB,), adds_gpu_toleration=True, ends_running_pods=True)
    assert [each.suffix for each in of_teams if "may run in a pool" in str(each.policy)] == ["placement", "teams"]


def of_lab(value: str = "lab", gpus: int = 8, **metadata: Any) -> dict[str, Any]:
    """A pod that tolerates the taints of a pool for teams; of any such pool, without a ``value``."""
    named = {"operator": "Equal", "value": value} if value else {"operator": "Exists"}
    return asking(gpus, tolerations=[TOLERATE_8, {"key": TEAMS_LABEL, **named}], **metadata)


@real
@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(of_lab(), id="by the pool's taint"),
        pytest.param(of_lab("", selector={"gpucluster.dev/gpu": "nvidia-h200-141gb"}), id="by any such taint"),
        pytest.param(of_lab("joined", 1), id="in a cluster of others"),
    ],
)
def test_a_pool_for_teams_is_for_pods_of_their_namespaces_alone(submit: Submit, manifest: dict[str, Any]) -> None:
    refused = submit(manifest)
    assert refused.status == 403
    assert "which is for pods of namespace research" in refused.error
    assert submit({**manifest, "metadata": {**manifest["metadata"], "namespace": "research"}}).status == 201


@real
@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(of_lab("lab", gpus=1, selector=L4), id="selects another pool"),
        pytest.param(of_lab("others"), id="the taint of no pool"),
        pytest.param(asking(8, tolerations=[TOLERATE_8, TOLERATE_SPOT]), id="the size alone"),
        pytest.param(asking(1, tolerations=[TOLERATE_ALL], kind="DaemonSet"), id="a DaemonSet"),
        pytest.param(
            asking(1, tolerations=[TOLERATE_ALL], selector={"gpucluster.dev/gpu": "nvidia-h100-80gb"}),
            id="tolerates all, in a cluster of others",
        ),
    ],
)
def test_who_reaches_no_pool_of_other_teams_is_not_refused(submit: Submit, manifest: dict[str, Any]) -> None:
    assert submit(manifest).status == 201


def with_claim(manifest: dict[str, Any]) -> dict[str, Any]:
    """The pod with a claim for a GPU instead of a limit."""
    spec = {**manifest["spec"], "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]}
    containers = [{**each, "resources": {"claims": [{"name": "gpu"}]}} for each in spec["containers"]]
    return {**manifest, "spec": {**spec, "containers": containers}}


def of_a_daemon_set(*tolerations: dict[str, Any], gpus: int = 1) -> dict[str, Any]:
    owner = {**controller("DaemonSet"), "blockOwnerDeletion": False}
    return pod(gpus, tolerations=[TOLERATE_8, *tolerations], ownerReferences=[owner])


ANY_TEAM = {"key": TEAMS_LABEL, "operator": "Exists"}


@real
@pytest.mark.parametrize(
    ("manifest", "status"),
    [
        pytest.param(of_a_daemon_set(ANY_TEAM), 403, id="a DaemonSet that names the taint"),
        pytest.param(of_a_daemon_set(TOLERATE_ALL), 403, id="a DaemonSet with GPUs that tolerates all"),
        pytest.param(of_a_daemon_set(TOLERATE_ALL, gpus=0), 201, id="an agent of the cluster"),
        pytest.param(of_a_daemon_set(), 201, id="a DaemonSet of other nodes"),
    ],
)
def test_pools_for_teams_are_closed_to_daemon_sets_of_others(
    submit: Submit, manifest: dict[str, Any], status: int
) -> None:
    assert submit.controller is not None
    assert submit.controller(manifest).status == status


@real
def test_pools_for_teams_are_closed_to_claims_of_others(submit: Submit) -> None:
    refused = submit(with_claim(of_lab()))
    assert (refused.status, "tolerates pool lab-8, which is for pods of namespace" in refused.error) == (403, True)
    assert submit(with_claim(of_lab(namespace="research"))).status == 201


@real
def test_the_author_of_a_job_for_a_pool_of_others_is_warned(submit: Submit) -> None:
    warning = " ".join(submit(of_lab(kind="Job")).warnings)
    assert "tolerates pool lab-8, which is for pods of namespace research or vision only" in warning
    assert "in spec.template.spec remove the toleration of gpucluster.dev/teams" in warning


@real
@pytest.mark.parametrize("pool", [*POOLS, SLICE, LAB], ids=lambda pool: pool.name)
def test_the_job_of_a_pool_passes_in_silence(submit: Submit, pool: Pool) -> None:
    assert submit(gpu_job(pool, "managed")).silent


@real
@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        pytest.param(asking(1, tolerations=[TOLERATE_4], owner="ReplicaSet"), "l4-4", id="of a controller"),
        pytest.param(asking(1, tolerations=[TOLERATE_4]), "tolerates pool l4-4 with 4 GPUs per node", id="one size up"),
        pytest.param(
            asking(1, tolerations=[TOLERATE_4], selector={"gpucluster.dev/pool": "l4-4"}),
            "l4-4",
            id="insists on the pool",
        ),
        pytest.param(
            asking(1, tolerations=[{"key": "gpucluster.dev/gpus-per-node", "operator": "Exists"}]),
            "l4-4",
            id="any size",
        ),
        pytest.param(
            asking(1, tolerations=[TOLERATE_4], labels={"gpucluster.dev/allow-larger-node": "no"}),
            "l4-4",
            id="no opt-out",
        ),
    ],
)
def test_a_small_pod_that_tolerates_a_large_node_is_refused(
    submit: Submit, manifest: dict[str, Any], words: str
) -> None:
    answer = submit(manifest)
    assert answer.status == 403
    assert words in answer.error
    assert 'gpucluster.dev/allow-larger-node: "true"' in answer.error


@pytest.mark.parametrize(("gpus", "words"), [(1, "the one without a key"), (4, "tolerates pool a100-8")])
def test_a_small_pod_that_tolerates_everything_is_refused(submit: Submit, gpus: int, words: str) -> None:
    """By this policy and by the one for teams' pools, of which the API server names either."""
    answer = submit(asking(gpus, tolerations=[TOLERATE_ALL]))
    assert answer.status == 403
    assert words in answer.error or "remove the toleration of gpucluster.dev/teams" in answer.error


def chips(count: int, **of_pod: Any) -> dict[str, Any]:
    """A pod that requests so many chips."""
    made: dict[str, Any] = json.loads(json.dumps(asking(count, **of_pod)).replace("nvidia.com/gpu", TPU))
    return made


@real
@pytest.mark.parametrize(
    "selector", [{}, TOPOLOGY, {"gpucluster.dev/pool": "slice-4"}], ids=["none", "topology", "pool"]
)
def test_a_pod_with_fewer_chips_than_a_node_starts_no_slice(submit: Submit, selector: dict[str, str]) -> None:
    answer = submit(chips(1, selector=selector))
    assert answer.status == 403
    assert "requests 1 GPU per pod, but may start nodes of pool slice-4, whose chips no pods share" in answer.error
    assert "in spec request all 4 of a node" in answer.error
    assert "whose chips no pods share" in "".join(submit(chips(1, kind="Job", selector=selector)).warnings)
    assert submit(chips(4, selector=selector)).status == 201
    # Elsewhere it starts nothing.
    assert submit(chips(1, selector={"gpucluster.dev/pool": "t4-1-spot"})).status == 201


@real
def test_a_pod_that_exists_cannot_tolerate_a_large_node_later(submit: Submit) -> None:
    """Tolerations may be added to a pod at any time."""
    tolerations = submit.api.create(PODS, pod(1, name="there"))["spec"]["tolerations"]
    assert submit.change("there", {"metadata": {"labels": {"app": "two"}}}).status == 200
    tolerations = [*tolerations, TOLERATE_TEAM]
    assert submit.change("there", {"spec": {"tolerations": tolerations}}).status == 200
    answer = submit.change("there", {"spec": {"tolerations": [*tolerations, TOLERATE_4]}})
    assert "tolerates pool l4-4 with 4 GPUs per node" in answer.error


@real
@pytest.mark.parametrize("kind", ["CronJob", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"])
def test_a_template_is_warned_and_not_refused(submit: Submit, kind: str) -> None:
    lacking = submit(workload(kind, pod(4)))
    assert lacking.status == 201
    assert "tolerations: [{key: gpucluster.dev/gpus-per-node" in "".join(lacking.warnings)
    where = "spec.jobTemplate.spec.template.spec" if kind == "CronJob" else "spec.template.spec"
    assert f"in {where} add" in "".join(lacking.warnings)
    too_tolerant = submit(workload(kind, pod(1, tolerations=[TOLERATE_4])))
    assert too_tolerant.status == 201
    assert "smaller nodes are enough" in "".join(too_tolerant.warnings)


@real
@pytest.mark.parametrize("gpus", [2, 4, 8])
def test_adding_the_lines_of_the_warning_makes_the_pod_right(submit: Submit, gpus: int) -> None:
    (warning,) = submit(pod(gpus)).warnings
    advice = warning.replace('\\"', '"').rstrip('"').partition(" add ")[2]
    tolerations, _, selector = advice.partition(" and nodeSelector: ")
    lines = yaml.safe_load(tolerations.removeprefix("tolerations: "))
    assert submit(pod(gpus, tolerations=lines, selector=yaml.safe_load(selector))).silent


@real
@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        pytest.param(asking(9), "more than any node of the selected pools has (at most 8)", id="larger than all"),
        pytest.param(asking(8, selector=L4), "(at most 4)", id="larger than these"),
        pytest.param(
            asking(1, selector={"gpucluster.dev/pool": "l4"}),
            "with one of l4-1, p4-1, a10-1, t4-1-spot, t4-1-ondemand, l4-4, a100-8",
            id="typo",
        ),
        pytest.param(asking(1, selector={"gpucluster.dev/role": "admin"}), "matches no GPU pool", id="the admin pool"),
        pytest.param(
            asking(8, tolerations=[TOLERATE_8]), "key: cloud.google.com/gke-spot", id="one of two tolerations"
        ),
        pytest.param(asking(2, selector=P4), "(at most 1)", id="two shares of a shared GPU"),
        pytest.param(
            asking(1, selector=L4, demands={"memory": "16G"}),
            "and 15258Mi memory, more than a node of l4-1 leaves for pods (3900m, 12288Mi)",
            id="more memory than the machine has",
        ),
        pytest.param(asking(1, selector=L4, demands={"cpu": "3901m"}), "3901m CPU", id="a little too much CPU"),
        pytest.param(
            asking(1, selector=L4, demands={"kind": "limits", "cpu": "4"}),
            "4000m CPU",
            id="limits count as requests",
        ),
        pytest.param(asking(1, selector=L4, demands={"init": True, "cpu": "5"}), "5000m CPU", id="an init container"),
        pytest.param(
            asking(1, affinity=[[expression("gpucluster.dev/pool", "In", "l4")]]),
            "node affinity matches no GPU pool",
            id="typo",
        ),
        pytest.param(
            asking(1, affinity=[[expression("gpucluster.dev/gpu", "DoesNotExist")]]),
            "matches no GPU pool",
            id="not a GPU node",
        ),
        pytest.param(
            asking(
                4, tolerations=[TOLERATE_4], affinity=[[expression("gpucluster.dev/pool", "NotIn", "l4-4", "a100-8")]]
            ),
            "(at most 1)",
            id="affinity leaves the small ones",
        ),
        pytest.param(
            asking(1, selector={"nvidia.com/gpu.product": "NVIDIA-L4"}),
            "nodes by nvidia.com/gpu.product",
            id="discovered",
        ),
        pytest.param(
            asking(1, affinity=[[expression("feature.node.kubernetes.io/pci-10de.present", "Exists")]]),
            "nodes by feature.node.kubernetes.io/pci-10de.present",
            id="discovered, by affinity",
        ),
    ],
)
def test_a_pod_that_no_pool_can_run_is_warned(submit: Submit, manifest: dict[str, Any], words: str) -> None:
    answer = submit(manifest)
    assert answer.status == 201
    (warning,) = answer.warnings
    assert words in warning


@real
def test_a_pod_that_cannot_use_the_preferred_pool_is_warned(submit: Submit) -> None:
    submitted = pod(1, tolerations=[TOLERATE_TEAM], selector=T4)
    (warning,) = submit(submitted).warnings
    assert "cannot use pool t4-1-spot" in warning
    lines = warning.replace('\\"', '"').rstrip('"').partition("in spec add tolerations: ")[2]
    assert submit(pod(1, tolerations=yaml.safe_load(lines), selector=T4)).silent


@real
@pytest.mark.parametrize(
    ("submitted", "part", "where"),
    [
        (asking(1, kind="Job", tolerations=[TOLERATE_SPOT], selector=P4), "1 GPU per pod, of the 4", "spec"),
        (asking(2, kind="Job", tolerations=[TOLERATE_4]), "2 GPUs per pod, of the 4", "spec"),
        (
            asking(1, kind="CronJob", tolerations=[TOLERATE_SPOT], selector=P4),
            "1 GPU per pod, of the 4",
            "spec.jobTemplate.spec",
        ),
    ],
)
def test_a_job_on_at_most_half_a_node_is_warned_about_eviction(
    submit: Submit, submitted: dict[str, Any], part: str, where: str
) -> None:
    (warning,) = submit(submitted).warnings
    assert f"requests {part} of a node of pool " in warning
    line = warning.replace('\\"', '"').rstrip('"').partition(f"in {where}.template.metadata add annotations: ")[2]
    assert yaml.safe_load(line) == NOT_EVICTED


@real
def test_init_containers_count_by_the_largest_and_containers_by_their_sum(submit: Submit) -> None:
    limits = {"limits": {"nvidia.com/gpu": "2"}}
    two = [{"name": name, "image": "main", "resources": limits} for name in ("a", "b")]
    summed, in_turn = pod(1), pod(1)
    summed["spec"]["containers"] = two
    in_turn["spec"]["initContainers"] = two
    assert "requests 4 GPUs" in "".join(submit(summed).warnings)
    assert "requests 2 GPUs" in "".join(submit(in_turn).warnings)


@pytest.mark.parametrize("ends", [True, False])
def test_no_warning_about_eviction_where_the_autoscaler_does_not_evict(ends: bool) -> None:
    placement, _ = manifests(POOLS, adds_gpu_toleration=True, ends_running_pods=ends)
    messages = [one["message"] for one in placement.policy["spec"]["validations"]]
    assert ("may be ended by the autoscaler while it runs" in messages) is ends


def test_no_advice_about_a_toleration_that_the_cloud_adds() -> None:
    for adds, advised in ((True, False), (False, True)):
        placement, _ = manifests(POOLS[:1], adds_gpu_toleration=adds, ends_running_pods=False)
        (advice,) = [one["expression"] for one in placement.policy["spec"]["variables"] if one["name"] == "advice"]
        assert ("key: nvidia.com/gpu" in advice) is advised


GPUS_NAMED = {"key": "gpucluster.dev/gpu", "operator": "In", "values": ["nvidia-l4", "nvidia-p4"]}
TERMS = {"nodeSelectorTerms": [{"matchExpressions": [GPUS_NAMED]}]}
L4_OR_P4 = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": TERMS}}


@real
def test_a_pod_that_may_get_several_gpu_types_is_warned_unless_it_names_them(submit: Submit) -> None:
    any_type = pod(1, tolerations=[TOLERATE_SPOT])
    warning, shared = submit(any_type).warnings
    assert "l4-1, p4-1" in warning
    assert "a whole GPU or a share of one" in shared
    assert "nodeSelector: {gpucluster.dev/pool: l4-1}" in shared
    assert "nodeSelector: {gpucluster.dev/gpu: nvidia-l4}" in warning
    decided = pod(1, tolerations=[TOLERATE_SPOT], selector={"gpucluster.dev/gpu": "nvidia-l4"})
    assert submit(decided).silent
    any_type["spec"]["affinity"] = L4_OR_P4
    (shared,) = submit(any_type).warnings
    assert "a whole GPU or a share of one" in shared


TOLERATE_GPUS = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
KINDS = ("Deployment", "Job", "CronJob", "StatefulSet")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submit]:
    with judging(tmp_path_factory.mktemp("foreign"), pod_rules()) as tried:
        # Each policy comes into force when its binding has been seen: one by one, in any order.
        def refused(one: Any, kind: Any) -> Any:
            asking_all = pod(0, tolerations=[one])
            return tried(asking_all).status == 403 and tried(workload(kind, asking_all)).warnings

        late = [partial(refused, one, kind) for one in (TOLERATE_ALL, TOLERATE_GPUS) for kind in KINDS]
        for index, in_force in enumerate(late):
            eventually(f"the policies are in force ({index})", in_force)
        yield tried


@pytest.mark.rehearsal
@pytest.mark.parametrize(
    ("manifest", "spec"),
    [
        pytest.param(asking(1), {}, id="a pod with a GPU"),
        pytest.param(asking(0), {}, id="a pod without"),
        pytest.param(asking(1, tolerations=[TOLERATE_GPUS]), {}, id="a pod with a GPU and its toleration"),
        pytest.param(
            asking(0, tolerations=[TOLERATE_GPUS]),
            {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}]},
            id="a claim that may be for a GPU",
        ),
        pytest.param(
            asking(1, tolerations=[TOLERATE_GPUS]),
            {"containers": [{"name": "main", "image": "main", "resources": {"limits": {"nvidia.com/mig-1g.10gb": 1}}}]},
            id="a part of a GPU",
        ),
        pytest.param(
            asking(0, tolerations=[{"operator": "Exists", "effect": "NoExecute"}]),
            {},
            id="a toleration of eviction alone",
        ),
        pytest.param(asking(0, tolerations=[{**TOLERATE_GPUS, "effect": "PreferNoSchedule"}]), {}, id="a preference"),
        pytest.param(asking(0, tolerations=[TOLERATE_ALL], namespace="kube-system"), {}, id="a system pod"),
        pytest.param(asking(0, kind="DaemonSet", tolerations=[TOLERATE_ALL]), {}, id="a DaemonSet"),
        pytest.param(asking(1, kind="Job", tolerations=[TOLERATE_GPUS]), {}, id="a Job with a GPU"),
        # Of local-path-provisioner, whose claims would stay Pending.
        pytest.param(asking(0), {"nodeName": "n1"}, id="a pod that names its node, in a cluster of others"),
    ],
)
def test_passes_in_silence(tried: Submit, manifest: dict[str, Any], spec: dict[str, Any]) -> None:
    manifest["spec"].update(spec)
    assert tried(manifest).silent


@pytest.mark.rehearsal
@pytest.mark.parametrize(
    ("tolerations", "words"),
    [
        ([TOLERATE_ALL], "spec.tolerations name the taints that it needs to tolerate"),
        ([TOLERATE_GPUS], "tolerates nvidia.com/gpu without a GPU request"),
        ([{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present"}], "without a GPU request"),
    ],
)
def test_a_pod_is_refused_and_its_workload_warned(tried: Submit, tolerations: Any, words: str) -> None:
    refusal = tried(pod(0, tolerations=tolerations))
    assert refusal.status == 403
    assert words in refusal.error
    for kind in KINDS:
        answer = tried(workload(kind, pod(0, tolerations=tolerations)))
        assert answer.status == 201
        assert "toleration" in "".join(answer.warnings)


def test_the_command_prints_what_kubectl_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    documents = list(yaml.safe_load_all(capsys.readouterr().out))
    assert documents == [dict(made) for made in pod_rules()]
    policies = [made["metadata"]["name"] for made in documents if made["kind"] == "ValidatingAdmissionPolicy"]
    assert policies == [BLANKET_POLICY, RESERVED_POLICY]


def test_with_a_stack_the_policies_on_sizes_come_along(capsys: pytest.CaptureFixture[str]) -> None:
    root = Path(__file__).resolve().parents[2]
    assert main([str(root / "Pulumi.prod.yaml")]) == 0
    names = {made["metadata"]["name"] for made in yaml.safe_load_all(capsys.readouterr().out)}
    assert {PLACEMENT_POLICY, ISOLATION_POLICY} < names


def test_a_stack_that_is_not_valid_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "Pulumi.x.yaml"
    path.write_text("config: {gpucluster:cloud: moon}\n")
    assert main([str(path)]) == 1
    assert "moon" in capsys.readouterr().err


@pytest.mark.parametrize(("labels", "warns"), [({}, True), (CLAIMS_LABEL, False)], ids=["as it is", "labelled"])
def test_claims_are_warned_about_where_no_pool_grows_for_them(labels: dict[str, str], warns: bool) -> None:
    pools = [
        {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 2, "labels": labels},
        {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2},
    ]
    recording = run_with(one_stack.config("gke", gpuPools=pools), "claims")
    names = {one.inputs["metadata"]["name"] for one in recording.of_type(POLICY)}
    assert ("gpu-claims.gpucluster.dev" in names) is warns
    assert "gpu-placement.gpucluster.dev" in names
