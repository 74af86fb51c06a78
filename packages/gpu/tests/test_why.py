"""One line for what a job waits for: the words of schedulers, autoscalers and kubelets, as they write them."""

from __future__ import annotations

from typing import Any

import pytest

from gpu.why import View, ahead_of, of_job

UID = "pod-1"
JOB: dict[str, Any] = {"metadata": {"name": "train", "uid": "job-1"}, "spec": {}, "status": {}}


def pod(phase: str = "Pending", uid: str = UID, node: str | None = None, **status: Any) -> dict[str, Any]:
    spec = {"containers": [{"name": "main"}], **({"nodeName": node} if node else {})}
    return {"metadata": {"name": uid, "uid": uid}, "spec": spec, "status": {"phase": phase, **status}}


def event(
    reason: str, message: str, second: int = 0, kind: str = "Pod", name: str = UID, uid: str = UID
) -> dict[str, Any]:
    about = {"kind": kind, "name": name, "uid": uid}
    time = f"2026-11-22T08:00:{second:02}Z"
    return {"reason": reason, "message": message, "lastTimestamp": time, "involvedObject": about}


UNSCHEDULED = event("FailedScheduling", "0/1 nodes are available: 1 node(s) had untolerated taint(s).", 1)
TRIGGERED = event("TriggeredScaleUp", "pod triggered scale-up: [{gke-t4-grp 0->1 (max: 3)}]", 5)
NOMINATED = event("Nominated", "Pod should schedule on: nodeclaim/t4-x7k2p", 5)


def not_triggered(refusal: str, second: int = 0) -> dict[str, Any]:
    return event("NotTriggerScaleUp", f"pod didn't trigger scale-up: {refusal}", second)


def failed_scale_up(error: str) -> dict[str, Any]:
    failed = "Node scale up in zones us-central1-a associated with this pod failed"
    return event("FailedScaleUp", f"{failed}: {error}. Pod is at risk of not being scheduled.")


def not_scheduled(error: str) -> dict[str, Any]:
    return event("FailedScheduling", f"Failed to schedule pod, {error}")


def insufficient(message: str, claim: str) -> dict[str, Any]:
    return event("InsufficientCapacityError", f"NodeClaim {claim} event: {message}", 6, "NodeClaim", claim, "c")


BACKOFF = "1 in backoff after failed scale-up, 2 node(s) didn't match Pod's node affinity"
QUOTA_EXCEEDED = event(
    "FailedToScaleUpGroup",
    'Scale-up failed for group aks-t4: Code="QuotaExceeded" Message="Operation could not be completed as it results in '
    'exceeding approved Total Regional Cores quota"',
    1,
    "ConfigMap",
    "cluster-autoscaler-status",
    "cm",
)


@pytest.mark.parametrize(
    ("kind", "events"),
    [
        ("waiting", []),
        ("waiting", [UNSCHEDULED]),
        ("scaling", [UNSCHEDULED, TRIGGERED]),
        ("scaling", [UNSCHEDULED, NOMINATED]),
        ("no-capacity", [failed_scale_up("GCE out of resources")]),
        ("cloud-quota", [failed_scale_up("GCE quota exceeded")]),
        ("pool-full", [not_triggered("1 max node group size reached")]),
        ("pool-full", [not_triggered("max total nodes in cluster reached")]),
        ("no-pool", [not_triggered("2 node(s) didn't match Pod's node affinity/selector")]),
        ("no-pool", [not_triggered("1 Insufficient memory")]),
        ("unknown", [not_triggered(BACKOFF)]),
        ("unknown", [not_triggered("all priority rules in backoff")]),
        ("no-pool", [not_scheduled("no instance type has enough resources")]),
        ("cloud-quota", [QUOTA_EXCEEDED, not_triggered(BACKOFF, 2)]),
        ("no-capacity", [NOMINATED, insufficient("creating nodeclaim, insufficient capacity", "t4-x7k2p")]),
        ("scaling", [NOMINATED, insufficient("insufficient capacity", "other")]),
        ("pool-full", [not_scheduled("all available instance types exceed limits for nodepool: t4")]),
        ("pool-full", [not_scheduled("node limits have been exhausted for nodepool: t4")]),
        ("no-pool", [not_scheduled('incompatible with nodepool "t4", did not tolerate taint')]),
    ],
)
def test_a_pod_without_a_node(kind: str, events: list[dict[str, Any]]) -> None:
    reason = of_job(JOB, [pod()], events)
    assert reason.kind == kind
    assert "\n" not in reason.summary
    assert bool(reason.remedy) is (kind not in ("waiting", "scaling"))


POOL = "gpucluster.dev/pool"
OF_OTHERS = "; ".join(
    f"incompatible requirements, key gpucluster.dev/gpu, gpucluster.dev/gpu In [t4] not in gpucluster.dev/gpu In [l4]; "
    f"key {POOL}, {POOL} In [t4-spot] not in {POOL} In [{other}]"
    for other in ("l4-spot", "l4")
)
NO_TYPE = event(
    "NoCompatibleInstanceTypes",
    "NodePool requirements filtered out all compatible available instance types",
    1,
    "NodePool",
    "t4-spot",
    "np",
)


@pytest.mark.parametrize(
    ("kind", "waiting_helps", "refusal", "events"),
    [
        ("no-capacity", True, OF_OTHERS, [NO_TYPE]),
        ("unknown", None, OF_OTHERS, []),
        ("unknown", None, OF_OTHERS, [{**NO_TYPE, "involvedObject": {"kind": "NodePool", "name": "l4"}}]),
        ("no-pool", False, f"{OF_OTHERS}; no instance type has enough resources, requirements=x", [NO_TYPE]),
        ("no-pool", False, "did not tolerate taint (taint=x); incompatible requirements, key x", [NO_TYPE]),
    ],
)
def test_a_node_pool_that_karpenter_does_not_consider(
    kind: str, waiting_helps: bool | None, refusal: str, events: list[dict[str, Any]]
) -> None:
    waiting = pod()
    waiting["spec"]["nodeSelector"] = {POOL: "t4-spot"}
    reason = of_job(JOB, [waiting], [*events, not_scheduled(refusal)])
    assert (reason.kind, reason.waiting_helps) == (kind, waiting_helps), reason


@pytest.mark.parametrize(
    ("refusal", "volume"),
    [
        ("1 node(s) had volume node affinity conflict, 2 node(s) didn't match Pod's node affinity/selector", True),
        ("1 node(s) didn't match PersistentVolume's node affinity, 2 node(s) had untolerated taint(s)", True),
        ("1 node(s) had volume node affinity conflict, 6 Insufficient nvidia.com/gpu", False),
        ("6 Insufficient memory, 6 Insufficient nvidia.com/gpu, 1 node(s) had volume node affinity conflict", False),
        ("6 node(s) had volume node affinity conflict, 1 Insufficient nvidia.com/gpu", True),
        ("4 node(s) had volume node affinity conflict, 3 Insufficient cpu, 3 Insufficient nvidia.com/gpu", True),
    ],
)
def test_a_volumes_zone_is_the_cause_unless_more_pools_are_too_small(refusal: str, volume: bool) -> None:
    message = f"pod didn't trigger scale-up: {refusal}"
    reason = of_job(JOB, [pod()], [event("NotTriggerScaleUp", message)])
    assert (reason.kind, "volume" in reason.summary) == ("volume" if volume else "no-pool", volume)
    full = of_job(JOB, [pod()], [event("NotTriggerScaleUp", f"{message}, 1 max node group size reached")])
    assert full.kind == (reason.kind if "Insufficient" in refusal else "pool-full")


def test_when_all_capacity_types_are_dry_the_last_attempt_is_shown() -> None:
    dry = event("FailedScaleUp", "Node scale up in zones us-central1-a failed: GCE out of resources", 30)
    backoff = event("NotTriggerScaleUp", "pod didn't trigger scale-up: all priority rules in backoff", 40)
    for events in ([dry], [dry, backoff]):
        reason = of_job(JOB, [pod()], events)
        assert reason.kind == "no-capacity"
        assert reason.summary.endswith("for this machine type; last attempt 2026-11-22 08:00 UTC")
    full = event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached")
    assert "last attempt" not in of_job(JOB, [pod()], [full]).summary


def test_a_pod_that_does_not_select_the_class_of_the_only_pools_is_told_so() -> None:
    taint = "2 node(s) had untolerated taint {cloud.google.com/compute-class: h100}"
    words = f"pod didn't trigger scale-up: {taint}, 1 node(s) didn't match Pod's node affinity/selector"
    reason = of_job(JOB, [pod()], [event("NotTriggerScaleUp", words)])
    assert (reason.kind, "ComputeClass" in reason.summary) == ("no-pool", True)
    small = of_job(JOB, [pod()], [event("NotTriggerScaleUp", f"{words}, 3 Insufficient memory")])
    assert "ComputeClass" not in small.summary


def test_what_happened_last_counts() -> None:
    full = event("NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached", 3)
    assert of_job(JOB, [pod()], [TRIGGERED, full]).kind == "scaling"
    late = {**full, "lastTimestamp": "2026-11-22T08:00:30Z"}
    assert of_job(JOB, [pod()], [late, TRIGGERED]).kind == "pool-full"


def test_another_pods_events_say_nothing() -> None:
    assert of_job(JOB, [pod()], [event("TriggeredScaleUp", "x", uid="pod-2")]).kind == "waiting"


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_an_image_that_cannot_be_pulled_is_named(reason: str) -> None:
    status = {"image": "example.com/none:1", "state": {"waiting": {"reason": reason, "message": "not found"}}}
    state = of_job(JOB, [pod(node="n1", containerStatuses=[status])], [])
    assert (state.kind, state.message) == ("image", "not found")
    assert "example.com/none:1" in state.summary
    creating = {"state": {"waiting": {"reason": "ContainerCreating"}}}
    assert of_job(JOB, [pod(node="n1", containerStatuses=[creating])], []).kind == "starting"


def test_the_namespaces_quota_is_told_from_any_other_refusal() -> None:
    about = {"kind": "Job", "name": "train", "uid": "job-1"}
    message = (
        'Error creating: pods "train-x" is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=4, '
        "used: requests.nvidia.com/gpu=6, limited: requests.nvidia.com/gpu=8"
    )
    reason = of_job(JOB, [], [event("FailedCreate", message, 0, **about)])
    assert reason.kind == "namespace-quota"
    assert "requested: requests.nvidia.com/gpu=4" in reason.summary
    assert of_job(JOB, [], [event("FailedCreate", "admission webhook denied it", 0, **about)]).kind == "failed"
    assert of_job(JOB, [], [event("FailedCreate", message, 0, **{**about, "uid": "job-2"})]).kind == "waiting"


@pytest.mark.parametrize(
    ("quota", "usage", "kind", "summary", "remedy"),
    [
        ("team", "requests.nvidia.com/gpu=4", "namespace-quota", "team quota exceeded", "jobs of the team"),
        ("namespace-limits", "pods=1", "namespace-quota", "limits of the namespace exceeded", "pods of the namespace"),
        ("theirs", "cpu=1", "namespace-quota", "quota theirs exceeded", "pods of the namespace"),
        ("priority", "pods=1", "failed", "the team may not use the job's priorityClassName", "gpu submit --dry-run"),
    ],
)
def test_a_quota_has_the_name_of_what_is_used_up(quota: str, usage: str, kind: str, summary: str, remedy: str) -> None:
    message = (
        f'pods "train-x" is forbidden: exceeded quota: {quota}, requested: {usage}, used: {usage}, limited: {usage}'
    )
    reason = of_job(JOB, [], [event("FailedCreate", message, 0, kind="Job", name="train", uid="job-1")])
    assert (reason.kind, reason.waiting_helps) == (kind, kind == "namespace-quota")
    assert summary in reason.summary
    assert f"requested: {usage}" in reason.summary
    assert remedy in reason.remedy


def test_a_queue_holds_a_suspended_job() -> None:
    assert of_job({**JOB, "spec": {"suspend": True}}, [], []).kind == "queued"
    gated = pod(conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}])
    assert of_job(JOB, [gated], []).kind == "queued"


def test_where_there_are_no_queues_somebody_has_to_start_a_suspended_job() -> None:
    named = {"name": "train", "namespace": "ml", "labels": {"kueue.x-k8s.io/queue-name": "gpu"}}
    for metadata in (named, {**named, "labels": {}}):
        job = {**JOB, "metadata": metadata, "spec": {"suspend": True}}
        lost = of_job(job, [], [], queues=False)
        assert "Kueue is not installed" in lost.summary
        assert "kubectl patch job train -n ml" in lost.remedy
        assert "Kueue is not installed" not in of_job(job, [], [], queues=True).summary


def test_some_wait_and_some_run() -> None:
    reason = of_job(JOB, [pod(), pod("Running", "pod-2", "n1"), pod("Running", "pod-3", "n1")], [TRIGGERED])
    assert reason.kind == "scaling"
    assert reason.summary == "1 pod pending: provisioning a node; 2 pods running"
    assert of_job(JOB, [pod("Running", node="n1")], []).summary == "1 pod running"


def ended(condition: str, **more: str) -> dict[str, Any]:
    return {**JOB, "status": {"conditions": [{"type": condition, "status": "True", **more}]}}


def test_how_it_ended() -> None:
    assert of_job(ended("Complete"), [], []).kind == "succeeded"
    unfinished = {"conditions": [{"type": "Complete", "status": "False"}]}
    assert of_job({**JOB, "status": unfinished}, [], []).kind == "waiting"

    def failed(code: int, reason: str) -> Any:
        status = {"state": {"terminated": {"exitCode": code, "reason": reason}}}
        return of_job(ended("Failed", reason="BackoffLimitExceeded"), [pod("Failed", containerStatuses=[status])], [])

    assert failed(3, "Error").summary == "Failed: exit code 3"
    assert "--memory" in failed(137, "OOMKilled").remedy
    assert "BackoffLimitExceeded" in of_job(ended("Failed", reason="BackoffLimitExceeded"), [], []).summary


def workload(message: str, name: str = "job-train-1a2b3") -> dict[str, Any]:
    return event("Pending", message, 0, kind="Workload", name=name)


def test_a_queue_says_why_it_holds_a_job() -> None:
    suspended = {**JOB, "metadata": {**JOB["metadata"], "name": "train"}, "spec": {"suspend": True}}
    full = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu in flavor t4-1, "
    full += "1 more needed"
    reason = of_job(suspended, [], [workload(full)])
    assert (reason.kind, reason.message) == ("queued", full)
    assert "until its queue has free quota" in reason.summary
    never = "insufficient quota for nvidia.com/gpu in flavor t4-1, previously considered podsets requests (0) + "
    never += "current podset request (9) > maximum capacity (8)"
    assert "maximum capacity" in of_job(suspended, [], [workload(never)]).summary
    other = of_job(suspended, [], [workload(never, "job-train-two-1a2b3")])
    assert other.message == ""


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        # https://github.com/kubernetes-sigs/kueue/blob/ff69552/pkg/controller/core/workload_controller.go
        (
            ("QuotaReserved", "False", "Inadmissible", "LocalQueue gpu doesn't exist"),
            ("queued", "user", False, "does not exist in its namespace"),
        ),
        (
            ("QuotaReserved", "False", "Misconfigured", "LocalQueue gpu doesn't exist"),
            ("queued", "user", False, "does not exist in its namespace"),
        ),
        (
            ("QuotaReserved", "False", "Suspended", "ClusterQueue gpu is inactive"),
            ("queued", "administrator", False, "admits no job"),
        ),
        (
            ("QuotaReserved", "False", "Inadmissible", "ClusterQueue  doesn't exist"),
            ("queued", "administrator", False, "admits no job"),
        ),
        (
            ("QuotaReserved", "False", "Inadmissible", "LocalQueue gpu is terminating or missing"),
            ("queued", "user", False, "does not exist in its namespace"),
        ),
        (
            ("QuotaReserved", "False", "Inadmissible", "ClusterQueue gpu-vision is terminating or missing"),
            ("queued", "administrator", False, "admits no job"),
        ),
        (
            ("QuotaReserved", "False", "Pending", "couldn't assign flavors: insufficient unused quota for x"),
            ("queued", "administrator", True, "until its queue has free quota"),
        ),
        (("QuotaReserved", "False", "New", "something new"), ("unknown", None, None, "condition QuotaReserved")),
        (
            ("Admitted", "False", "UnsatisfiedAdmissionChecks", "The workload has not all checks ready"),
            ("queued", "administrator", True, "waits for another check"),
        ),
        (
            ("Evicted", "True", "DeactivatedDueToRequeuingLimitExceeded", "exceeding the maximum number of re-queuing"),
            ("queued", "user", False, "does not start it again"),
        ),
        (("Evicted", "True", "Preempted", "Preempted to accommodate x"), ("queued", "administrator", True, "quota")),
    ],
    ids=lambda each: each[-1][:40],
)
def test_the_condition_of_its_workload_says_why_a_queue_holds_a_job(condition: Any, answer: Any) -> None:
    """There is no event of most of them, and of none after an hour."""
    suspended = {**JOB, "spec": {"suspend": True}}
    type, status, reason, message = condition
    its = {
        "metadata": {"name": "job-train-1a2b3", "ownerReferences": [{"uid": "job-1"}]},
        "spec": {"active": not reason.startswith("Deactivated")},
        "status": {"conditions": [{"type": type, "status": status, "reason": reason, "message": message}]},
    }
    said = of_job(suspended, [], [], view=View(workloads=[its]))
    assert (said.kind, said.mended_by, said.waiting_helps, answer[3] in said.summary) == (*answer[:3], True), said
    earlier = workload("insufficient unused quota")
    if reason != "Preempted":
        assert of_job(suspended, [], [earlier], view=View(workloads=[its])) == said, "an event is older"
    other = {**its, "metadata": {**its["metadata"], "ownerReferences": [{"uid": "job-2"}]}}
    assert of_job(suspended, [], [], view=View(workloads=[other])).message == ""


def created(name: str, second: int) -> dict[str, Any]:
    made = event("SuccessfulCreate", f"Created pod: {name}", second, "Job", "train", "job-1")
    return {**made, "firstTimestamp": made["lastTimestamp"]}


def placed(name: str, second: int) -> dict[str, Any]:
    about = {"kind": "Pod", "name": name, "namespace": "ml"}
    scheduled = event("Scheduled", f"Successfully assigned ml/{name} to n1", second)
    return {**scheduled, "firstTimestamp": scheduled["lastTimestamp"], "involvedObject": about}


@pytest.mark.parametrize(
    ("spec", "names", "left", "times"),
    [
        ({}, ["train-a"], ["train-a"], ""),
        ({}, ["train-a", "train-b"], ["train-b"], "once"),
        ({}, ["train-a", "train-b", "train-c"], ["train-c"], "2 times"),
        ({"completionMode": "Indexed"}, ["train-0-a", "train-1-a", "train-1-b"], ["train-0-a", "train-1-b"], "once"),
        # One that has succeeded goes with its node, and has no successor.
        ({"completionMode": "Indexed"}, ["train-0-a", "train-1-a"], ["train-1-a"], ""),
        ({"parallelism": 2}, ["train-a", "train-b", "train-c"], ["train-b", "train-c"], ""),
    ],
)
@pytest.mark.parametrize("checkpoints", [True, False])
def test_a_job_that_was_started_again_says_so(
    spec: dict[str, Any], names: list[str], left: list[str], times: str, checkpoints: bool
) -> None:
    """The pods of a reclaimed node are gone; the Job's events still name them."""
    container = {"name": "main", "env": [{"name": "CHECKPOINTS", "value": "s3://b/train"}] if checkpoints else []}
    metadata = {**JOB["metadata"], "namespace": "ml"}
    job = {**JOB, "metadata": metadata, "spec": {**spec, "template": {"spec": {"containers": [container]}}}}
    events = [each for n, name in enumerate(names) for each in (created(name, n), placed(name, n))]
    pods = [pod("Running", uid=name, node="n2") for name in left]
    for each in pods:
        each["metadata"]["creationTimestamp"] = f"2026-11-22T08:00:{names.index(each['metadata']['name']):02}Z"
    reason = of_job(job, pods, events)
    assert reason.kind == "running"
    assert reason.summary.partition("; started again ")[2].partition(":")[0] == times
    assert ("from the beginning" in reason.remedy) is (bool(times) and not checkpoints)
    ended = {**job, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}
    assert of_job(ended, pods, events).summary == "Complete"


def test_a_pod_that_ran_into_its_timeout_says_so() -> None:
    ended = {"conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"}]}
    reason = of_job({**JOB, "status": ended}, [pod("Failed", reason="DeadlineExceeded")], [])
    assert (reason.kind, reason.summary) == ("failed", "Failed: stopped by its --timeout")


def test_pods_of_higher_priority_and_older_ones_get_a_node_first() -> None:
    def waiting(uid: str, second: int, priority: int = 0, node: str | None = None) -> dict[str, Any]:
        one = pod(uid=uid, node=node)
        one["metadata"]["creationTimestamp"] = f"2026-11-22T08:00:{second:02}Z"
        one["spec"]["priority"] = priority
        return one

    mine = [waiting("mine", 5), waiting("mine-2", 9)]
    older, newer, urgent = waiting("older", 4), waiting("newer", 6), waiting("urgent", 8, 10)
    unimportant, bound = waiting("unimportant", 1, -10), waiting("bound", 1, 0, "node")
    assert ahead_of(mine, [*mine, older, newer, urgent, unimportant, bound]) == 2
    assert ahead_of(mine, mine) == 0
    assert ahead_of([pod("Running")], [older]) == 0


DISK = "The node was low on resource: ephemeral-storage. Container main was using 90Gi, request is 1Gi. "


def reported(name: str, second: int, reason: str, message: str, by: str = "kubelet") -> dict[str, Any]:
    about = {"kind": "Pod", "name": name, "namespace": "ml"}
    made = event(reason, message, second)
    return {**made, "firstTimestamp": made["lastTimestamp"], "involvedObject": about, "source": {"component": by}}


def after(events: list[dict[str, Any]], last: dict[str, Any] | None, job: dict[str, Any] = JOB) -> Any:
    """The reason, when all pods but ``last`` went with their nodes."""
    whole = {**job, "metadata": {**JOB["metadata"], "namespace": "ml"}, "spec": {"template": {"spec": {}}}}
    return of_job(whole, [last] if last else [], events)


def test_evictions_count_although_their_pods_went_with_their_nodes() -> None:
    """Karpenter removes the empty node of an evicted pod, which is deleted with it."""
    events = [
        each
        for n, name in enumerate(("train-a", "train-b"))
        for each in (created(name, 2 * n), placed(name, 2 * n), reported(name, 2 * n + 1, "Evicted", DISK))
    ]
    last = pod("Running", uid="train-c", node="n3")
    last["metadata"]["creationTimestamp"] = "2026-11-22T08:00:30Z"
    reason = after([*events, created("train-c", 30), placed("train-c", 30)], last)
    assert (reason.kind, reason.mended_by, reason.waiting_helps) == ("evicted", "user", False)
    assert reason.summary == "1 pod running; evicted 2 times: it filled its node's disk"
    drained = [
        created("train-a", 0), placed("train-a", 0), reported("train-a", 1, "Evicted", "Evicted pod: x", "karpenter"),
    ]  # fmt: skip
    reason = after([*drained, created("train-c", 30), placed("train-c", 30)], last)
    assert reason.kind == "running"
    assert "started again once" in reason.summary
    assert "evicted" not in reason.summary


def test_a_pod_that_its_node_rejected_explains_the_failure_although_it_is_gone() -> None:
    failed = {
        "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "limit"}]
    }
    message = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu"
    events = [
        created("train-a", 0), placed("train-a", 0), reported("train-a", 1, "UnexpectedAdmissionError", message),
    ]  # fmt: skip
    reason = after(events, None, {**JOB, "status": failed})
    assert (reason.kind, reason.mended_by, reason.waiting_helps) == ("failed", "administrator", False)
    status = {"state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
    reason = after(events, pod("Failed", node="n1", containerStatuses=[status]), {**JOB, "status": failed})
    assert reason.summary == "Failed: exit code 3", "a pod that is there is surer"
