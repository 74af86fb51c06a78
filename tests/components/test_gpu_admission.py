"""The admission policies, judged by a real API server: who is refused, who is warned, and with which words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from components.gpu_admission import manifests
from components.outputs import gpu_job
from facts.catalog.model import Resources
from facts.concepts.kubernetes import Taint
from facts.concepts.pool import TimeSharing
from packages.rehearsal.tests.simulated_cluster import eventually
from tests.components import specs
from tests.components.gpu_workloads import (
    PODS,
    Submit,
    bound,
    controller,
    demanding,
    expression,
    judging,
    pod,
    workload,
)

TEAM = Taint("example.com/team", "vision", "NoSchedule")
SPOT = Taint("cloud.google.com/gke-spot", "true", "NoSchedule")
POOLS = (
    specs.gpu_pool("l4-1", gpu="nvidia-l4"),
    specs.gpu_pool("l4-4", gpu="nvidia-l4", size=4),
    specs.gpu_pool("a100-8", gpu="nvidia-a100-80gb", size=8, extra_taints=(SPOT,)),
    specs.gpu_pool("p4-1", gpu="nvidia-p4", extra_taints=(SPOT,), time_sharing=TimeSharing(clients_per_gpu=4)),
    # Fallback pools: the preferred one has one more taint.
    specs.gpu_pool("t4-1-spot", extra_taints=(TEAM, SPOT), declared_at="gpuPools[4]"),
    specs.gpu_pool("t4-1-ondemand", extra_taints=(TEAM,), spot=False, preference=1, declared_at="gpuPools[4]"),
)

# p4-1 is a pool of which this is not known.
ROOM = {
    "l4-1": Resources(milli_cpu=3900, memory_mib=12 * 1024),
    "l4-4": Resources(milli_cpu=47_500, memory_mib=170 * 1024),
    "a100-8": Resources(milli_cpu=95_000, memory_mib=1300 * 1024),
}

TOLERATE_4 = {"key": "gpucluster.dev/gpus-per-node", "operator": "Equal", "value": "4", "effect": "NoSchedule"}
TOLERATE_8 = {"key": "gpucluster.dev/gpus-per-node", "operator": "Equal", "value": "8", "effect": "NoSchedule"}
TOLERATE_SPOT = {"key": "cloud.google.com/gke-spot", "operator": "Exists"}
TOLERATE_TEAM = {"key": "example.com/team", "operator": "Equal", "value": "vision", "effect": "NoSchedule"}
TOLERATE_ALL = {"operator": "Exists"}
A100 = {"gpucluster.dev/gpu": "nvidia-a100-80gb"}
P4 = {"gpucluster.dev/gpu": "nvidia-p4"}
L4_ONLY = {"gpucluster.dev/gpu": "nvidia-l4"}
T4 = {"gpucluster.dev/gpu": "nvidia-t4"}
NOT_EVICTED = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
OPT_OUT = {"gpucluster.dev/allow-larger-node": "true"}


@pytest.fixture(scope="module")
def submit(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Submit]:
    made = manifests(POOLS, adds_gpu_toleration=True, ends_running_pods=True, room=ROOM)
    with judging(
        tmp_path_factory.mktemp("admission"), [each for one in made for each in (one.policy, one.binding)]
    ) as submit:
        refused = pod(1, tolerations=[TOLERATE_ALL])
        eventually("they are in force", lambda: submit(refused).status == 403 and submit(pod(99)).warnings)
        yield submit


real = pytest.mark.rehearsal


@real
@pytest.mark.parametrize(
    "manifest",
    [
        pytest.param(pod(1), id="the plain pod of every tutorial"),
        pytest.param(pod(0, tolerations=[TOLERATE_ALL]), id="no GPU, no opinion"),
        pytest.param(pod(4, tolerations=[TOLERATE_4]), id="4 GPUs on 4"),
        pytest.param(pod(2, tolerations=[TOLERATE_4]), id="2 GPUs, for which nothing smaller would do"),
        pytest.param(pod(8, tolerations=[TOLERATE_8, TOLERATE_SPOT]), id="both taints of one pool"),
        pytest.param(pod(1, tolerations=[TOLERATE_8, TOLERATE_SPOT], selector=A100), id="the GPU exists only in large"),
        pytest.param(pod(1, tolerations=[TOLERATE_4], labels=OPT_OUT), id="opted out"),
        pytest.param(pod(1, selector={"kubernetes.io/arch": "amd64"}), id="a selector that is not ours"),
        pytest.param(pod(1, tolerations=[TOLERATE_ALL], namespace="kube-system"), id="a system pod"),
        pytest.param(
            pod(
                1,
                tolerations=[TOLERATE_ALL],
                ownerReferences=[controller("DaemonSet")],
            ),
            id="a pod of a DaemonSet",
        ),
        pytest.param(pod(99, ownerReferences=[controller("ReplicaSet")]), id="a warning that nobody would read"),
        pytest.param(workload("DaemonSet", pod(1, tolerations=[TOLERATE_ALL])), id="a DaemonSet"),
        pytest.param(
            demanding(pod(1, selector=L4_ONLY), cpu="3900m", memory="12Gi"), id="a whole node, to the last bit"
        ),
        pytest.param(
            demanding(pod(1, selector=P4, tolerations=[TOLERATE_SPOT]), cpu="64", memory="2Ti"),
            id="nobody knows how large that pool's machines are",
        ),
        pytest.param(
            bound(pod(1), [expression("gpucluster.dev/pool", "In", "l4-1", "other")]),
            id="affinity that a pool satisfies",
        ),
        pytest.param(
            bound(
                pod(1),
                [expression("gpucluster.dev/pool", "In", "other")],
                [expression("gpucluster.dev/gpu", "NotIn", "nvidia-a100-80gb")],
            ),
            id="of two terms one is enough",
        ),
        pytest.param(bound(pod(1), [expression("topology.kubernetes.io/zone", "In", "x")]), id="affinity not ours"),
        pytest.param(
            bound(pod(1), [expression("nvidia.com/gpu.product", "DoesNotExist")]), id="what no empty pool has"
        ),
        pytest.param(pod(1, selector={"nvidia.com/gpu.present": "true"}), id="a label of NVIDIA's that our pools have"),
        pytest.param(pod(1, tolerations=[TOLERATE_TEAM, TOLERATE_SPOT], selector=T4), id="both fallback pools"),
        pytest.param(
            pod(1, tolerations=[TOLERATE_TEAM], selector={"gpucluster.dev/pool": "t4-1-ondemand"}),
            id="the pool it selects",
        ),
        pytest.param(workload("Job", pod(2, tolerations=[TOLERATE_4])), id="half of a node's GPUs"),
        pytest.param(
            workload("Job", pod(1, tolerations=[TOLERATE_SPOT], selector=P4, annotations=NOT_EVICTED)),
            id="a part, and kept",
        ),
        pytest.param(pod(1, tolerations=[TOLERATE_SPOT], selector=P4), id="a part, and without a controller"),
        pytest.param(
            workload("Deployment", pod(1, tolerations=[TOLERATE_SPOT], selector=P4)), id="what serves may be moved"
        ),
        *(pytest.param(gpu_job(pool, "managed"), id=f"the job of {pool.name}") for pool in POOLS),
    ],
)
def test_what_is_right_passes_in_silence(submit: Submit, manifest: dict[str, Any]) -> None:
    assert submit(manifest).silent


@real
@pytest.mark.parametrize(
    ("submitted", "words"),
    [
        pytest.param(
            pod(1, tolerations=[TOLERATE_4], ownerReferences=[controller("ReplicaSet")]), "l4-4", id="of a controller"
        ),
        pytest.param(pod(1, tolerations=[TOLERATE_4]), "tolerates pool l4-4 with 4 GPUs per node", id="one size up"),
        pytest.param(pod(1, tolerations=[TOLERATE_ALL]), "the one without a key", id="tolerates everything"),
        pytest.param(pod(4, tolerations=[TOLERATE_ALL]), "tolerates pool a100-8", id="4 GPUs, tolerates everything"),
        pytest.param(
            pod(1, tolerations=[TOLERATE_4], selector={"gpucluster.dev/pool": "l4-4"}), "l4-4", id="insists on the pool"
        ),
        pytest.param(
            pod(1, tolerations=[{"key": "gpucluster.dev/gpus-per-node", "operator": "Exists"}]), "l4-4", id="any size"
        ),
        pytest.param(
            pod(1, tolerations=[TOLERATE_4], labels={"gpucluster.dev/allow-larger-node": "no"}), "l4-4", id="no opt-out"
        ),
    ],
)
def test_a_small_pod_that_tolerates_a_large_node_is_refused(
    submit: Submit, submitted: dict[str, Any], words: str
) -> None:
    answer = submit(submitted)
    assert answer.status == 403
    assert words in answer.error
    assert 'gpucluster.dev/allow-larger-node: "true"' in answer.error


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
    ("submitted", "words"),
    [
        pytest.param(pod(9), "more than any node of the selected pools has (at most 8)", id="larger than all"),
        pytest.param(pod(8, selector={"gpucluster.dev/gpu": "nvidia-l4"}), "(at most 4)", id="larger than these"),
        pytest.param(
            pod(1, selector={"gpucluster.dev/pool": "l4"}),
            "with one of l4-1, p4-1, t4-1-spot, t4-1-ondemand, l4-4, a100-8",
            id="typo",
        ),
        pytest.param(pod(1, selector={"gpucluster.dev/role": "admin"}), "matches no GPU pool", id="the admin pool"),
        pytest.param(pod(8, tolerations=[TOLERATE_8]), "key: cloud.google.com/gke-spot", id="one of two tolerations"),
        pytest.param(
            pod(2, selector={"gpucluster.dev/gpu": "nvidia-p4"}), "(at most 1)", id="two shares of a shared GPU"
        ),
        pytest.param(
            demanding(pod(1, selector=L4_ONLY), memory="16G"),
            "and 15258Mi memory, more than a node of l4-1 leaves for pods (3900m, 12288Mi)",
            id="more memory than the machine has",
        ),
        pytest.param(demanding(pod(1, selector=L4_ONLY), cpu="3901m"), "3901m CPU", id="a little too much CPU"),
        pytest.param(
            demanding(pod(1, selector=L4_ONLY), "limits", cpu="4"), "4000m CPU", id="limits count as requests"
        ),
        pytest.param(demanding(pod(1, selector=L4_ONLY), init=True, cpu="5"), "5000m CPU", id="an init container"),
        pytest.param(
            bound(pod(1), [expression("gpucluster.dev/pool", "In", "l4")]),
            "node affinity matches no GPU pool",
            id="typo",
        ),
        pytest.param(
            bound(pod(1), [expression("gpucluster.dev/gpu", "DoesNotExist")]),
            "matches no GPU pool",
            id="not a GPU node",
        ),
        pytest.param(
            bound(pod(4, tolerations=[TOLERATE_4]), [expression("gpucluster.dev/pool", "NotIn", "l4-4", "a100-8")]),
            "(at most 1)",
            id="affinity leaves the small ones",
        ),
        pytest.param(
            pod(1, selector={"nvidia.com/gpu.product": "NVIDIA-L4"}), "nodes by nvidia.com/gpu.product", id="discovered"
        ),
        pytest.param(
            bound(pod(1), [expression("feature.node.kubernetes.io/pci-10de.present", "Exists")]),
            "nodes by feature.node.kubernetes.io/pci-10de.present",
            id="discovered, by affinity",
        ),
    ],
)
def test_a_pod_that_no_pool_can_run_is_warned(submit: Submit, submitted: dict[str, Any], words: str) -> None:
    answer = submit(submitted)
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
    ("kind", "where"), [("Job", "in spec.template"), ("CronJob", "in spec.jobTemplate.spec.template")]
)
def test_a_job_on_part_of_a_node_is_warned_about_eviction(submit: Submit, kind: str, where: str) -> None:
    (warning,) = submit(workload(kind, pod(1, tolerations=[TOLERATE_SPOT], selector=P4))).warnings
    assert "requests 1 GPU per pod, of the 4 of a node of pool p4-1" in warning
    line = warning.replace('\\"', '"').rstrip('"').partition(f"{where}.metadata add annotations: ")[2]
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
