"""What a job waits for where an autoscaler's words alone do not say it: the pools, the pod's claims and nodes."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime, timezone
from typing import Any, Final

import pytest

from facts.concepts.pool import GPU_TAINT, placement
from gpu.why import View, of_job
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_why import JOB, NOMINATED, TRIGGERED, UID, UNSCHEDULED, event, not_triggered

NOW: Final = datetime(2026, 11, 22, 8, 30, tzinfo=timezone.utc)
OFFER: Final = offer(pool("t4-1", max_nodes=1), pool("t4-1-spot", spot=True), pool("t4-4", size=4))
FIXED: Final = offer(pool("t4-1", max_nodes=1, capacity_type="fixed"))
FULL: Final = "max node group size reached"


def waiting(*pools: str, gpus: int = 1, memory: str = "1Gi", claims: tuple[str, ...] = (), **more: Any) -> Any:
    """A pod for ``pools`` as ``gpu submit`` places it; without any, one that only asks for GPUs."""
    containers = [{"resources": {"requests": {"memory": memory}, "limits": {"nvidia.com/gpu": gpus}}}]
    volumes = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims]
    spec = {"containers": containers, "volumes": volumes, **(placement(pools, [GPU_TAINT]) if pools else {})}
    conditions = [{"type": "PodScheduled", "status": "False", "message": more["unschedulable"]}] if more else []
    return {
        "metadata": {"name": UID, "uid": UID},
        "spec": spec,
        "status": {"phase": "Pending", "conditions": conditions},
    }


def in_zone(zone: str) -> Any:
    """A pod that only asks for a GPU in a zone."""
    one = waiting("t4-1")
    return {**one, "spec": {**one["spec"], "nodeSelector": {"topology.kubernetes.io/zone": zone}}}


def node(name: str = "n1", of: str = "t4-1", gpus: int = 1, ready: str = "True", created: int = 8) -> dict[str, Any]:
    labels = {"gpucluster.dev/pool": of, "gpucluster.dev/gpus-per-node": "1"}
    metadata = {"name": name, "labels": labels, "creationTimestamp": f"2026-11-22T08:{created:02}:00Z"}
    conditions = [
        {"type": "Ready", "status": ready, "reason": "KubeletNotReady", "message": "cni plugin not initialized"}
    ]
    return {"metadata": metadata, "status": {"conditions": conditions, "allocatable": {"nvidia.com/gpu": str(gpus)}}}


@pytest.mark.parametrize(
    ("refusal", "job_pod", "nodes", "kind"),
    [
        pytest.param(
            f"1 {FULL}, 4 Insufficient memory", waiting("t4-1", memory="900Gi"), [], "no-pool", id="too large"
        ),
        pytest.param(f"1 {FULL}, 2 Insufficient nvidia.com/gpu", waiting("t4-1", gpus=2), [], "no-pool", id="too many"),
        pytest.param(f"2 {FULL}, 2 node(s) didn't match", waiting("h100-8"), [], "no-pool", id="no such pool"),
        pytest.param(f"2 {FULL}, 4 Insufficient cpu", waiting("t4-1"), [node()], "pool-full", id="full"),
        pytest.param(f"2 {FULL}, 4 Insufficient cpu", waiting("t4-1"), None, "pool-full", id="nodes are not listed"),
        pytest.param(f"1 {FULL}, 2 strange", waiting("t4-1"), [], "unknown", id="another group is full"),
        pytest.param(
            f"1 {FULL}, 2 node(s) had volume node affinity conflict", waiting("t4-1"), [], "volume", id="its volume"
        ),
        pytest.param(
            f"2 {FULL}, 2 node(s) didn't match Pod's node affinity/selector",
            *(waiting("t4-1"), [], "pool-full"),
            id="its machine is starting",
        ),
        pytest.param(
            f"1 {FULL}, 1 in backoff after failed scale-up",
            *(waiting("t4-1", "t4-1-spot"), [node()], "unknown"),
            id="one of its pools is full",
        ),
        pytest.param(
            f"1 {FULL}, 2 node(s) didn't match Pod's node affinity/selector",
            *(in_zone("zone-b"), [], "no-pool"),
            id="another zone",
        ),
        pytest.param(f"1 {FULL}", in_zone("zone-a"), [], "pool-full", id="its zone"),
        pytest.param(f"2 {FULL}", waiting("t4-1", memory="17Gi"), [node()], "pool-full", id="published with a reserve"),
        pytest.param("1 in backoff after failed scale-up, 4 Insufficient memory", waiting("t4-1"), [], "unknown"),
        pytest.param(
            "1 in backoff after failed scale-up, 4 Insufficient memory", waiting("t4-1", memory="900Gi"), [], "no-pool"
        ),
        pytest.param(
            "no instance type which met the scheduling requirements and had enough resources, had a required offering",
            *(waiting("t4-1"), [], "no-capacity"),
        ),
    ],
)
def test_a_text_about_all_groups_is_compared_with_the_pools(
    refusal: str, job_pod: Any, nodes: list[Any] | None, kind: str
) -> None:
    reason = of_job(JOB, [job_pod], [not_triggered(refusal)], view=View(offer=OFFER, nodes=nodes))
    assert reason.kind == kind


@pytest.mark.parametrize(
    ("refusal", "kind"),
    [
        (f"1 {FULL}, 4 Insufficient memory", "no-pool"),
        (
            f"1 {FULL}, 2 node(s) didn't match Pod's node affinity/selector, 1 Insufficient nvidia.com/mig-1g.10gb",
            "no-pool",
        ),
        (f"2 Insufficient nvidia.com/gpu, 1 {FULL}", "no-pool"),
        (f"1 {FULL}, 2 node(s) didn't match Pod's node affinity/selector", "pool-full"),
        ("1 in backoff after failed scale-up, 4 Insufficient memory", "no-pool"),
    ],
)
def test_without_the_pools_a_group_that_looked_at_the_pod_counts_more(refusal: str, kind: str) -> None:
    assert of_job(JOB, [waiting()], [not_triggered(refusal)]).kind == kind


@pytest.mark.parametrize(("full", "kind"), [("t4-1", "pool-full"), ("l4-1", "no-pool")])
def test_karpenter_names_the_node_pool_that_is_full(full: str, kind: str) -> None:
    text = f"Failed to schedule pod, node limits have been exhausted for nodepool (NodePool={full}); did not tolerate x"
    refusal = event("FailedScheduling", text)
    assert of_job(JOB, [waiting("t4-1")], [refusal], view=View(offer=OFFER, nodes=[])).kind == kind
    assert of_job(JOB, [waiting("t4-1")], [refusal]).kind == kind
    assert of_job(JOB, [waiting()], [refusal]).kind == "pool-full"


@pytest.mark.parametrize(
    ("compared", "refusal", "calculated"),
    [
        (False, "1 Insufficient memory, 2 node(s) didn't match Pod's node affinity/selector", True),
        (False, "no instance type has enough resources", True),
        (False, "2 node(s) didn't match Pod's node affinity/selector", False),
        (True, "1 Insufficient memory, 2 node(s) didn't match Pod's node affinity/selector", False),
        (None, "1 Insufficient memory, 2 node(s) didn't match Pod's node affinity/selector", False),
    ],
)
def test_where_a_pod_fits_what_is_published_alone_the_size_may_be_wrong(
    compared: bool | None, refusal: str, calculated: bool
) -> None:
    view = View(offer=offer(pool("t4-1", compared=compared)), nodes=[])
    reason = of_job(JOB, [waiting("t4-1")], [not_triggered(refusal)], view=view)
    assert reason.kind == "no-pool"
    assert ("the size of t4-1 is calculated" in reason.summary) is calculated


def test_what_the_nearest_pool_lacks_is_named() -> None:
    refusal = [not_triggered(f"1 {FULL}, 4 Insufficient memory")]
    reason = of_job(JOB, [waiting("t4-1", memory="900Gi")], refusal, view=View(offer=OFFER))
    assert "the nearest is t4-1: at most 16Gi of memory per pod, not 900Gi" in reason.summary


def group_failed(group: str, error: str, second: int = 9) -> dict[str, Any]:
    message = f"Scale-up failed for group {group}: {error}"
    return event("FailedToScaleUpGroup", message, second, "ConfigMap", "cluster-autoscaler-status", "cm")


QUOTA: Final = 'Code="QuotaExceeded"'
DRY: Final = 'Code="AllocationFailed"'


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        (
            [
                event("FailedScaleUp", "failed: GCE out of resources"),
                event("FailedScaleUp", "GCE quota exceeded", 5, uid="x"),
            ],
            "no-capacity",
        ),
        ([group_failed("eks-t4-1-0a", DRY), group_failed("eks-t4-4-0b", QUOTA)], "no-capacity"),
        ([group_failed("eks-t4-4-0b", QUOTA)], "unknown"),
        ([group_failed("eks-t4-10-0b", QUOTA)], "unknown"),
        (
            [
                event("TriggeredScaleUp", "pod triggered scale-up: [{aks-x-vmss 0->1 (max: 3)}]"),
                group_failed("aks-x-vmss", QUOTA),
            ],
            "cloud-quota",
        ),
    ],
)
def test_in_backoff_the_pods_own_failure_counts_then_its_groups(events: list[Any], kind: str) -> None:
    refused = not_triggered("1 in backoff after failed scale-up", 20)
    assert of_job(JOB, [waiting("t4-1")], [*events, refused], view=View(offer=OFFER)).kind == kind


@pytest.mark.parametrize(
    ("cloud", "group"),
    [
        # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html, and the names of AKS's scale sets
        # and GKE's instance groups as their autoscalers report them.
        ("eks", "eks-t4-1-0ac1b2d3"),
        ("gke", "https://www.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/gke-dev-t4-1-1a2b3c4d-grp"),
        ("aks", "aks-t41bl3f7-12345678-vmss"),
    ],
)
def test_groups_are_known_by_the_names_that_clouds_give_them(cloud: str, group: str) -> None:
    refused = not_triggered("1 in backoff after failed scale-up", 20)
    there = View(offer=replace(OFFER, cloud=cloud))
    for pools, kind in ((("t4-1",), "cloud-quota"), (("t4-4",), "unknown")):
        events = [group_failed(group, QUOTA), refused]
        job_pod = waiting(*pools)
        job_pod["spec"]["tolerations"] = [{"operator": "Exists"}]
        assert of_job(JOB, [job_pod], events, view=there).kind == kind


def test_a_pod_that_names_no_pool_has_those_that_it_tolerates() -> None:
    """It only asks for a GPU, so it may not use the pool of the larger size."""
    tolerant = waiting("t4-1")
    plain = {**tolerant, "spec": {**tolerant["spec"], "affinity": {}}}
    refused = not_triggered("1 in backoff after failed scale-up", 20)
    sizes = offer(pool("t4-1"), pool("t4-4", size=4))
    for group, kind in (("eks-t4-1-0a", "cloud-quota"), ("eks-t4-4-0b", "unknown")):
        events = [group_failed(group, QUOTA), refused]
        assert of_job(JOB, [plain], events, view=View(offer=sizes)).kind == kind
    up = View(offer=sizes, nodes=[node(gpus=0)], now=NOW.replace(minute=10))
    assert "waits for its GPU driver" in of_job(JOB, [plain], [TRIGGERED], view=up).summary


def test_another_pod_of_the_job_may_have_the_reason() -> None:
    other = {**waiting("t4-1"), "metadata": {"name": "pod-2", "uid": "pod-2"}}
    events = [event("FailedScaleUp", "GCE out of resources", uid="pod-2"), not_triggered("1 in backoff", 20)]
    assert of_job(JOB, [waiting("t4-1"), other], events).kind == "no-capacity"


@pytest.mark.parametrize(
    ("reason", "message", "kind"),
    [
        ("ScaleUpTimedOut", "Nodes added to group aks-x-vmss failed to register within 15m3s", "did-not-join"),
        (
            "ScaleUpFailed",
            "Failed adding 1 nodes to group aks-x-vmss due to OutOfResource.x; source errors: AllocationFailed",
            "no-capacity",
        ),
        ("ScaleUpFailed", "Failed adding 1 nodes to group other due to OutOfResource.x; source errors: y", "scaling"),
    ],
)
def test_a_scale_up_that_failed_after_it_was_announced(reason: str, message: str, kind: str) -> None:
    failure = event(reason, message, 30, "ConfigMap", "cluster-autoscaler-status", "cm")
    announced = event("TriggeredScaleUp", "pod triggered scale-up: [{aks-x-vmss 0->1 (max: 3)}]", 5)
    assert of_job(JOB, [waiting("t4-1")], [announced, failure]).kind == kind
    earlier = {**failure, "lastTimestamp": "2026-11-22T08:00:01Z"}
    assert of_job(JOB, [waiting("t4-1")], [announced, earlier]).kind == "scaling"


def node_claim(launched: tuple[str, str, str], registered: str = "Unknown", node_name: str = "") -> dict[str, Any]:
    status, reason, message = launched
    since = {"lastTransitionTime": "2026-11-22T08:10:00Z"}
    conditions = [
        {"type": "Launched", "status": status, "reason": reason, "message": message, **since},
        {"type": "Registered", "status": registered, "message": "Node not registered with cluster", **since},
    ]
    return {"metadata": {"name": "t4-x7k2p"}, "status": {"conditions": conditions, "nodeName": node_name}}


LAUNCHED: Final = ("True", "Launched", "")


@pytest.mark.parametrize(
    ("claim", "minute", "answer"),
    [
        (
            node_claim(("Unknown", "AwaitingReconciliation", "object is awaiting reconciliation")),
            30,
            ("scaling", None, True),
        ),
        (
            node_claim(("Unknown", "Unauthorized", "User is not authorized")),
            30,
            ("configuration", "administrator", False),
        ),
        (
            node_claim(("Unknown", "AMINotFound", "AMI used for instance launch")),
            30,
            ("configuration", "administrator", False),
        ),
        (
            node_claim(("Unknown", "SecurityGroupSubnetVPCMismatch", "must be in the same")),
            30,
            ("configuration", "administrator", False),
        ),
        (
            node_claim(("Unknown", "AccountPendingVerification", "still being verified")),
            30,
            ("configuration", "cloud", True),
        ),
        (node_claim(("Unknown", "FreeTierIneligible", "not eligible")), 30, ("configuration", "administrator", False)),
        (
            node_claim(("Unknown", "VCPULimitExceeded", "would exceed your VCPU quota")),
            30,
            ("cloud-quota", "administrator", False),
        ),
        (
            node_claim(("Unknown", "SubscriptionQuotaReached", "vCPU quota has been reached")),
            30,
            ("cloud-quota", "administrator", False),
        ),
        (
            node_claim(("Unknown", "AllocationFailure", "unable to allocate resources")),
            30,
            ("no-capacity", "cloud", True),
        ),
        (node_claim(("Unknown", "LaunchFailed", "Instance launch failed")), 30, ("unknown", None, None)),
        (node_claim(LAUNCHED), 19, ("scaling", None, True)),
        (node_claim(LAUNCHED), 21, ("did-not-join", "administrator", False)),
        (node_claim(LAUNCHED, "True", "n1"), 30, ("scaling", None, True)),
    ],
    ids=lambda each: str(each)[:50],
)
def test_a_nominated_node_claim_says_what_its_machine_does(claim: Any, minute: int, answer: tuple[Any, ...]) -> None:
    view = View(node_claims=[claim], now=NOW.replace(minute=minute))
    reason = of_job(JOB, [waiting("t4-1")], [NOMINATED], view=view)
    assert (reason.kind, reason.mended_by, reason.waiting_helps) == answer
    if reason.kind == "unknown":
        assert (reason.message, reason.source) == (
            "LaunchFailed: Instance launch failed",
            "condition Launched of NodeClaim t4-x7k2p",
        )


def test_machines_that_go_one_after_the_other_are_counted() -> None:
    def nominated(claim: str, second: int) -> dict[str, Any]:
        return event("Nominated", f"Pod should schedule on: nodeclaim/{claim}", second)

    events = [nominated("t4-a", 1), nominated("t4-b", 2)]
    there = {"metadata": {"name": "t4-b"}}
    for claims, kind in (([], "unknown"), ([there], "scaling"), (None, "scaling")):
        reason = of_job(JOB, [waiting("t4-1")], events, view=View(node_claims=claims))
        assert (reason.kind, "2 machines" in reason.summary) == (kind, kind == "unknown")
    assert of_job(JOB, [waiting("t4-1")], events[:1], view=View(node_claims=[])).kind == "scaling"
    dry = event("InsufficientCapacityError", "were unavailable during launch", 3, "NodeClaim", "t4-b", "c")
    assert of_job(JOB, [waiting("t4-1")], [*events, dry], view=View(node_claims=[])).kind == "no-capacity"


@pytest.mark.parametrize(
    ("up", "minute", "kind", "summary"),
    [
        (node(ready="False"), 10, "scaling", "not ready yet"),
        (node(ready="False"), 30, "did-not-join", "not ready"),
        (node(gpus=0), 10, "scaling", "waits for its GPU driver"),
        (node(gpus=0), 30, "configuration", "no usable GPU"),
        (node(), 30, "waiting", "n1 is ready; the scheduler has not placed the pod there"),
        (node(of="other"), 30, "scaling", "provisioning a node"),
    ],
)
def test_once_the_announced_node_is_there_its_state_counts(up: Any, minute: int, kind: str, summary: str) -> None:
    view = View(nodes=[up], now=NOW.replace(minute=minute))
    reason = of_job(JOB, [waiting("t4-1")], [TRIGGERED], view=view)
    assert (reason.kind, summary in reason.summary) == (kind, True), reason
    claimed = [node_claim(LAUNCHED, "True", "n1")]
    reason = of_job(JOB, [waiting("t4-1")], [NOMINATED], view=View(nodes=[{**up}], node_claims=claimed, now=view.now))
    assert reason.kind == (kind if up["metadata"]["labels"]["gpucluster.dev/pool"] == "t4-1" else "waiting")


TWELVE: Final = [{**waiting("t4-1", "t4-1-spot"), "metadata": {"name": f"{n}", "uid": f"{n}"}} for n in range(12)]
PLACES: Final = ("t4-1", "t4-1", "t4-1", "t4-1-spot", "t4-1-spot")


def of_twelve(events: list[Any], up: list[Any], taken: int, **view: Any) -> Any:
    """What the last of twelve pods waits for; the first ``taken`` are on the first nodes."""
    placed = [
        {**each, "spec": {**each["spec"], "nodeName": f"n{n}"}, "status": {"phase": "Running"}}
        for n, each in enumerate(TWELVE[:taken])
    ]
    last = {**TWELVE[-1], "metadata": {"name": UID, "uid": UID}}
    return of_job(JOB, [*placed, last], events, view=View(nodes=up, now=NOW, **view))


@pytest.mark.parametrize(
    ("up", "taken", "more", "answer"),
    [
        (0, 0, 0, ("scaling", True, "provisioning a node")),
        (1, 1, 0, ("scaling", True, "provisioning a node")),
        (4, 4, 0, ("scaling", True, "provisioning a node")),
        (5, 4, 0, ("waiting", None, "n0, n1, n2, n3, n4 are ready; the scheduler has not placed the pod there")),
        (5, 5, 0, ("pool-full", True, "all matching pools are at maxNodes")),
        (5, 5, 1, ("waiting", True, "other pods are there; waiting for the autoscaler")),
    ],
)
def test_while_machines_of_its_pools_are_to_come_a_ready_node_says_nothing(
    up: int, taken: int, more: int, answer: tuple[Any, ...]
) -> None:
    """Twelve pods, five nodes: others get the first ones."""
    groups = "{gke-dev-t4-1-1a2b3c4d-grp 0->3 (max: 3)} {gke-dev-t4-1-spot-1a2b3c4d-grp 0->2 (max: 2)}"
    triggered = event("TriggeredScaleUp", f"pod triggered scale-up: [{groups}]", 5)
    nodes = [node(f"n{n}", of) for n, of in enumerate(PLACES[:up])]
    both = offer(pool("t4-1", max_nodes=3 + more), pool("t4-1-spot", spot=True, max_nodes=2))
    reason = of_twelve([triggered], nodes, taken, offer=both)
    assert (reason.kind, reason.waiting_helps) == answer[:2], reason
    assert answer[2] in reason.summary


def test_an_earlier_scale_up_is_no_later_one() -> None:
    """The group grew to 2 for others, then to 3 for this pod: their nodes come after the event on this one."""
    triggered = event("TriggeredScaleUp", "pod triggered scale-up: [{gke-dev-t4-1-1a2b3c4d-grp 2->3 (max: 3)}]", 5)
    many = offer(pool("t4-1", max_nodes=9))
    for up, kind in ((2, "scaling"), (3, "waiting")):
        assert of_twelve([triggered], [node(f"n{n}") for n in range(up)], up, offer=many).kind == kind


def claim_of(name: str, node_name: str, initialized: str, of: str = "t4-1") -> dict[str, Any]:
    made = node_claim(LAUNCHED, "True" if node_name else "Unknown", node_name)
    conditions = [*made["status"]["conditions"], {"type": "Initialized", "status": initialized}]
    conditions = [{**each, "lastTransitionTime": "2026-11-22T08:29:00Z"} for each in conditions]
    return {
        "metadata": {"name": name, "labels": {"gpucluster.dev/pool": of}},
        "status": {**made["status"], "conditions": conditions},
    }


@pytest.mark.parametrize(
    ("others", "more_nodes", "kind"),
    [
        ([claim_of("t4-b", "", "Unknown")], [], "scaling"),
        (None, [node("n1", ready="False", created=29)], "scaling"),
        ([claim_of("t4-b", "", "Unknown", of="l4-1")], [], "waiting"),
        ([claim_of("t4-b", "n1", "True")], [node("n1")], "waiting"),
        ([], [], "waiting"),
    ],
)
def test_the_node_of_a_nomination_may_be_taken(others: list[Any] | None, more_nodes: list[Any], kind: str) -> None:
    """Karpenter names a machine; the scheduler places another pod there. It reports a nomination once in 2 minutes:
    https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/events/recorder.go"""
    mine = claim_of("t4-x7k2p", "n0", "True")
    named = event("Nominated", "Pod should schedule on: nodeclaim/t4-x7k2p, node/n0", 5)
    nominations = [named, NOMINATED] if others is not None else [named]
    for nominated in nominations:
        claims = None if others is None else [mine, *others]
        many = offer(pool("t4-1", max_nodes=9), pool("t4-1-spot", spot=True))
        reason = of_twelve([nominated], [node("n0"), *more_nodes], 1, offer=many, node_claims=claims)
        assert (reason.kind, reason.waiting_helps) == (kind, True), reason
        assert ("n0 is ready and other pods are there" in reason.summary) is (kind == "waiting")


@pytest.mark.parametrize(
    ("second", "said", "taken"),
    [(30, "2 Insufficient nvidia.com/gpu", True), (1, "2 Insufficient nvidia.com/gpu", False), (30, "1 other", False)],
)
def test_what_the_scheduler_says_after_a_node_is_ready_counts(second: int, said: str, taken: bool) -> None:
    """Who uses the node may be in another namespace."""
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-22T08:00:10Z"}
    up = {**node(), "status": {**node()["status"], "conditions": [ready]}}
    unplaced = event("FailedScheduling", f"0/3 nodes are available: {said}", second)
    many = offer(pool("t4-1", max_nodes=9))
    reason = of_job(JOB, [waiting("t4-1")], [unplaced, TRIGGERED], view=View(nodes=[up], offer=many, now=NOW))
    assert ("other pods are there" in reason.summary) is taken, reason


def about_claim(reason: str, message: str, second: int = 1) -> dict[str, Any]:
    return event(reason, message, second, "PersistentVolumeClaim", "home", "h")


PENDING: Final = {"metadata": {"name": "home"}, "status": {"phase": "Pending"}}
EXTERNAL: Final = "Waiting for a volume to be created either by the external provisioner 'ebs.csi.aws.com'"


@pytest.mark.parametrize(
    ("claims", "events", "answer"),
    [
        ([], [], ("volume", "user", False)),
        ([PENDING], [], ("scaling", None, True)),
        ([PENDING], [about_claim("WaitForFirstConsumer", "waiting for first consumer")], ("scaling", None, True)),
        (
            [PENDING],
            [
                about_claim(
                    "FailedBinding", "no persistent volumes available for this claim and no storage class is set"
                )
            ],
            ("volume", "user", False),
        ),
        (
            [PENDING],
            [about_claim("ProvisioningFailed", 'storageclass.storage.k8s.io "fast" not found')],
            ("volume", "user", False),
        ),
        (
            [PENDING],
            [about_claim("ProvisioningFailed", "UnauthorizedOperation: You are not authorized")],
            ("volume", "administrator", False),
        ),
        (
            [PENDING],
            [about_claim("ProvisioningFailed", "Quota 'SSD_TOTAL_GB' exceeded.")],
            ("cloud-quota", "administrator", False),
        ),
        (
            [PENDING],
            [
                about_claim(
                    "ProvisioningFailed", "rpc error: code = InvalidArgument desc = Invalid access mode for disk type"
                )
            ],
            ("volume", "user", False),
        ),
        ([PENDING], [about_claim("ProvisioningFailed", "something new")], ("volume", "administrator", None)),
        (
            [PENDING],
            [about_claim("VolumeMismatch", "volume already bound to a different claim.")],
            ("volume", "user", False),
        ),
        ([PENDING], [about_claim("ExternalProvisioning", EXTERNAL)], ("volume", "administrator", False)),
        (None, [about_claim("ExternalProvisioning", EXTERNAL)], ("volume", "administrator", False)),
        (
            [PENDING],
            [about_claim("ProvisioningFailed", "x"), about_claim("WaitForFirstConsumer", "waiting", 2)],
            ("scaling", None, True),
        ),
        (
            [PENDING],
            [
                about_claim("ProvisioningFailed", "rpc error: volume limit (10) has been reached"),
                about_claim("Provisioning", "again", 2),
                about_claim("ExternalProvisioning", EXTERNAL, 3),
            ],
            ("cloud-quota", "administrator", False),
        ),
        (
            [{**PENDING, "status": {"phase": "Bound"}}],
            [about_claim("ProvisioningFailed", "x")],
            ("scaling", None, True),
        ),
    ],
    ids=lambda each: str(each)[:50],
)
def test_the_pods_claims_come_before_the_autoscaler(claims: Any, events: list[Any], answer: tuple[Any, ...]) -> None:
    reason = of_job(JOB, [waiting("t4-1", claims=("home",))], [TRIGGERED, *events], view=View(claims=claims, now=NOW))
    assert (reason.kind, reason.mended_by, reason.waiting_helps) == answer
    assert reason.kind != "volume" or "claim home" in reason.summary
    other = of_job(JOB, [waiting("t4-1")], [TRIGGERED, *events], view=View(claims=claims, now=NOW))
    assert other.kind == "scaling", "another pod's claim"


def test_a_claim_that_is_made_for_the_pod_is_none_that_is_missing() -> None:
    job_pod = waiting("t4-1")
    job_pod["spec"]["volumes"] = [{"name": "scratch", "ephemeral": {"volumeClaimTemplate": {}}}]
    name = f"{UID}-scratch"
    failed = event("ProvisioningFailed", "something new", 6, "PersistentVolumeClaim", name)
    claim = {"metadata": {"name": name}, "status": {"phase": "Pending"}}
    for claims, events, kind in (([], [], "scaling"), ([claim], [], "scaling"), ([claim], [failed], "volume")):
        assert of_job(JOB, [job_pod], [TRIGGERED, *events], view=View(claims=claims)).kind == kind


def test_a_driver_has_some_minutes_to_make_a_volume() -> None:
    young = {**about_claim("ExternalProvisioning", EXTERNAL), "firstTimestamp": "2026-11-22T08:25:00Z"}
    for first, helps in (("2026-11-22T08:25:00Z", True), ("2026-11-22T08:05:00Z", False)):
        events = [TRIGGERED, {**young, "firstTimestamp": first}]
        reason = of_job(JOB, [waiting("t4-1", claims=("home",))], events, view=View(claims=[PENDING], now=NOW))
        assert (reason.kind, reason.waiting_helps) == ("volume", helps)


@pytest.mark.parametrize(
    ("text", "job_pod", "kind"),
    [
        (
            "0/2 nodes are available: 1 Insufficient nvidia.com/gpu, 1 node(s) had untolerated taint(s).",
            waiting("t4-1"),
            "pool-full",
        ),
        ("0/2 nodes are available: 2 Insufficient memory.", waiting("t4-1", memory="900Gi"), "no-pool"),
        ("0/2 nodes are available: 2 Insufficient nvidia.com/gpu.", waiting("t4-1", gpus=4), "no-pool"),
        ('0/2 nodes are available: persistentvolumeclaim "home" not found.', waiting("t4-1"), "volume"),
        (
            "0/2 nodes are available: 2 node(s) didn't match PersistentVolume's node affinity.",
            waiting("t4-1"),
            "volume",
        ),
        ("0/2 nodes are available: 2 a reason of a new plugin.", waiting("t4-1"), "unknown"),
        ("", waiting("t4-1"), "waiting"),
    ],
)
def test_machines_that_nobody_scales(text: str, job_pod: Any, kind: str) -> None:
    unplaced = event("FailedScheduling", text)
    reason = of_job(JOB, [job_pod], [unplaced], view=View(offer=FIXED))
    assert reason.kind == kind
    assert "waiting for the autoscaler" not in reason.summary
    scaled = of_job(JOB, [waiting("t4-1")], [UNSCHEDULED], view=View(offer=OFFER))
    assert "waiting for the autoscaler" in scaled.summary


@pytest.mark.parametrize(
    ("nodes", "kind"),
    [
        ([node()], "no-pool"),
        ([node(ready="Unknown")], "did-not-join"),
        ([node(of="other")], "did-not-join"),
        ([node(ready="Unknown"), node("n2")], "no-pool"),
        (None, "no-pool"),
    ],
)
def test_machines_that_are_down_hide_behind_a_taint(nodes: Any, kind: str) -> None:
    hidden = event("FailedScheduling", "0/2 nodes are available: 2 node(s) had untolerated taint(s).")
    assert of_job(JOB, [waiting("t4-1")], [hidden], view=View(offer=FIXED, nodes=nodes)).kind == kind


@pytest.mark.parametrize(
    ("memory", "sizes", "kind"),
    [
        ("900Gi", ["15Gi", "16000000Ki"], "no-pool"),
        ("15Gi", ["7Gi", "16000000Ki"], "pool-full"),
        ("900Gi", [], "pool-full"),  # whoever may list no nodes does not know
    ],
)
def test_what_no_machine_of_others_has_is_not_waited_for(memory: str, sizes: list[str], kind: str) -> None:
    """Of own machines and clusters of others no memory is published, but their nodes are all that there will be."""
    unknown = offer(pool("t4-1", capacity_type="fixed", milli_cpu=None, memory_mib=None, disk_mib=None))
    nodes = [node(f"n{number}") for number, _ in enumerate(sizes)]
    for one, size in zip(nodes, sizes, strict=True):
        one["status"]["allocatable"] = {"cpu": "4", "memory": size, "ephemeral-storage": "48294789041", "pods": "110"}
    text = event("FailedScheduling", "0/2 nodes are available: 2 Insufficient memory.")
    reason = of_job(JOB, [waiting("t4-1", memory=memory)], [text], view=View(offer=unknown, nodes=nodes or None))
    assert reason.kind == kind
    assert ("at most 15.26Gi of memory per pod, not 900Gi" in reason.summary) is (kind == "no-pool")


def test_offers_are_of_pools_that_the_pod_selects_and_tolerates() -> None:
    tainted = offer(pool("t4-1", taints=(*OFFER.pools[0].nodes.taints, GPU_TAINT.__class__("team", "a", "NoSchedule"))))
    refusal = [not_triggered("1 node(s) had untolerated taint(s)")]
    assert "taints" in of_job(JOB, [waiting("t4-1")], refusal, view=View(offer=tainted)).summary
    assert asdict(tainted.pools[0].nodes.taints[1])["key"] == "team"
