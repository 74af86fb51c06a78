"""Texts that clouds, autoscalers and the scheduler can write, from their sources: each has its answer.

Rows of one kind are listed by who writes them. The answer is kind, who can mend it, and whether waiting helps.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from gpu.why import of_job
from packages.gpu.tests.test_why import JOB, event, failed_scale_up, not_scheduled, not_triggered, pod

Answer = tuple[str, str | None, bool | None]
CAPACITY: Final[Answer] = ("no-capacity", "cloud", True)
QUOTA: Final[Answer] = ("cloud-quota", "administrator", False)
CONFIGURATION: Final[Answer] = ("configuration", "administrator", False)
NO_POOL: Final[Answer] = ("no-pool", "user", False)
FULL: Final[Answer] = ("pool-full", "administrator", True)
VOLUME: Final[Answer] = ("volume", "user", False)
UNKNOWN: Final[Answer] = ("unknown", None, None)


def of(*events: dict[str, Any], **status: Any) -> Answer:
    reason = of_job(JOB, [pod(**status)], events)
    assert reason.kind != "unknown" or reason.message, "it is shown as it is"
    return reason.kind, reason.mended_by, reason.waiting_helps


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # failed_scale_up_event_logger.go in
        # https://github.com/GoogleCloudPlatform/cluster-autoscaler/tree/7d25050/pkg/visibility/events
        ("IP space exhausted", CONFIGURATION),
        ('Node group "t4" already exists', CONFIGURATION),
        ("Invalid TPU topology: 2x2", CONFIGURATION),
        ("Invalid TPU configuration", CONFIGURATION),
        ("Reservation not ready: my-reservation", CAPACITY),
        ("Reservation incompatible with node group: my-reservation", CONFIGURATION),
        ("Any affinity reservations not available: there are none", CONFIGURATION),
        ('Some nodes in node group ["t4"] failed to appear in time', ("did-not-join", "administrator", False)),
        ("GCE quota exceeded, GCE out of resources", QUOTA),
        ("Something new", UNKNOWN),
    ],
)
def test_a_scale_up_on_gke(text: str, answer: Answer) -> None:
    assert of(failed_scale_up(text)) == answer


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        # https://github.com/kubernetes-sigs/cluster-autoscaler/tree/33c3f97/pkg/cloudprovider/gce
        ("QUOTA_EXCEEDED", QUOTA),
        ("RESOURCE_POOL_EXHAUSTED", CAPACITY),
        ("INSUFFICIENT_CAPACITY", CAPACITY),
        ("IP_SPACE_EXHAUSTED", CONFIGURATION),
        ("PERMISSIONS_ERROR", CONFIGURATION),
        ("VM_EXTERNAL_IP_ACCESS_POLICY_CONSTRAINT", CONFIGURATION),
        ("INVALID_RESERVATION", CONFIGURATION),
        ("RESERVATION_NOT_FOUND", CONFIGURATION),
        ("RESERVATION_INCOMPATIBLE", CONFIGURATION),
        ("RESERVATION_NOT_READY", CAPACITY),
        ("RESERVATION_CAPACITY_EXCEEDED", CAPACITY),
        ("AUTOMATIC_RESERVATIONS_NOT_AVAILABLE", CONFIGURATION),
        ("AUTOMATIC_RESERVATIONS_NO_CAPACITY", CAPACITY),
        ("UNSUPPORTED_TPU_CONFIGURATION", CONFIGURATION),
        ("OTHER", UNKNOWN),
    ],
)
def test_what_cluster_autoscaler_reports_of_a_group_that_it_has_grown(code: str, answer: Answer) -> None:
    grown = event("TriggeredScaleUp", "pod triggered scale-up: [{gke-dev-t4-grp 0->1 (max: 3)}]", 1)
    text = f"Failed adding 1 nodes to group gke-dev-t4-grp due to Other.{code}; source errors: x"
    assert of(grown, event("ScaleUpFailed", text, 2, "ConfigMap", "cluster-autoscaler-status", "cm")) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # https://github.com/aws/karpenter-provider-aws/blob/1d92708/pkg/errors/errors.go: codes that it calls a lack of
        # capacity, each alone and together
        ("InsufficientInstanceCapacity: There is no Spot capacity available that matches your request.", CAPACITY),
        ("MaxSpotInstanceCountExceeded: Max spot instance count exceeded", QUOTA),
        ("InsufficientFreeAddressesInSubnet: Not enough free addresses in subnet subnet-1", CONFIGURATION),
        (
            "Unsupported: Your requested instance type is not supported in your requested Availability Zone",
            CONFIGURATION,
        ),
        (
            "InsufficientInstanceCapacity: x; Unsupported: Your requested instance type is not supported in your "
            "requested Availability Zone",
            CAPACITY,
        ),
        ("RequestLimitExceeded: Request limit exceeded.", ("cloud-quota", "cloud", True)),
        ("SomethingNew: the cloud has learned another word", UNKNOWN),
    ],
)
def test_a_launch_on_aws(text: str, answer: Answer) -> None:
    nominated = event("Nominated", "Pod should schedule on: nodeclaim/t4-x7k2p", 5)
    message = f"NodeClaim t4-x7k2p event: creating instance, insufficient capacity, with fleet error(s), {text}"
    failed = event("InsufficientCapacityError", message, 6, "NodeClaim", "t4-x7k2p", "c")
    assert of(nominated, failed) == answer


@pytest.mark.parametrize(
    ("reason", "text", "answer"),
    [
        # https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/events.go
        (
            "InsufficientCapacityError",
            "insufficient capacity, all requested instance types were unavailable during launch",
            CAPACITY,
        ),
        ("NodeClassNotReady", "AMIs could not be resolved", CONFIGURATION),
        # https://github.com/Azure/karpenter-provider-azure/tree/352646f/pkg/providers/instance/offerings
        ("InsufficientCapacityError", "regional on-demand vCPU quota limit for subscription has been reached", QUOTA),
        (
            "AsyncProvisioningError",
            "Failed to register: unable to allocate resources in the selected zone (1)",
            CAPACITY,
        ),
        ("AsyncProvisioningError", "Failed to register: something new", UNKNOWN),
    ],
)
def test_a_node_claim_that_failed(reason: str, text: str, answer: Answer) -> None:
    nominated = event("Nominated", "Pod should schedule on: nodeclaim/t4-x7k2p", 5)
    assert of(nominated, event(reason, text, 6, "NodeClaim", "t4-x7k2p", "c")) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # https://github.com/kubernetes-sigs/cluster-autoscaler/blob/33c3f97/pkg/core/scaleup/orchestrator/skippedreasons.go
        ("2 max node group size reached", FULL),
        ('1 exceeded quota: "cluster-wide", resources: cpu, memory', FULL),
        ("1 max cluster cpu, memory limit reached", FULL),
        ("1 atomic scale-up exceeds cluster node count limit", FULL),
        ("1 not ready for scale-up", ("did-not-join", "administrator", False)),
        ("1 in backoff after failed scale-up", UNKNOWN),
        # https://github.com/kubernetes/kubernetes/tree/v1.34.4/pkg/scheduler/framework/plugins
        ("3 pod has unbound immediate PersistentVolumeClaims", VOLUME),
        ("2 node(s) had no available volume zone", VOLUME),
        ("2 node(s) exceed max volume count", VOLUME),
        ("2 node(s) didn't find available persistent volumes to bind", ("volume", "administrator", False)),
        (
            "2 node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
            ("volume", "administrator", False),
        ),
        (
            "2 node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by "
            "another pod",
            ("volume", "user", True),
        ),
        ("2 cannot allocate all claims", NO_POOL),
        ("2 node(s) didn't have free ports for the requested pod ports", NO_POOL),
        ("2 node(s) didn't match pod anti-affinity rules", NO_POOL),
        ("2 node(s) didn't match pod topology spread constraints (missing required label)", NO_POOL),
        ("2 Insufficient nvidia.com/gpu, 3 Too many pods", NO_POOL),
        ("2 a reason of a new plugin", UNKNOWN),
    ],
)
def test_an_autoscaler_that_counts_node_groups(text: str, answer: Answer) -> None:
    assert of(not_triggered(text)) == answer
    former = event("NotTriggerScaleUp", f"pod didn't trigger scale-up (it wouldn't fit if a new node is added): {text}")
    assert of(former) == answer


NO_OFFERING: Final = (
    "no instance type which met the scheduling requirements and had enough resources, had a required offering, "
    "requirements=x, resources=y"
)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # https://github.com/kubernetes-sigs/karpenter/tree/v1.14.1/pkg/controllers/provisioning/scheduling
        ("node limits have been exhausted for nodepool (NodePool=t4-1); did not tolerate taint (taint=x)", FULL),
        ("no instance type has enough resources, requirements=x, resources=y", NO_POOL),
        ("no instance type met all requirements, requirements=x, resources=y", NO_POOL),
        (NO_OFFERING, CAPACITY),
        (f"{NO_OFFERING}; incompatible requirements, key x; incompatible requirements, key y", CAPACITY),
        ('incompatible requirements, label "gpu" does not have known values', NO_POOL),
        ("nodepool requirements filtered out all available instance types", CONFIGURATION),
        (
            "one or more instance types with compatible reserved offerings are available, but could not be reserved",
            CAPACITY,
        ),
        ("pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter", NO_POOL),
        ("unbound pvc must define a storage class (PersistentVolumeClaim=ml/home)", VOLUME),
        ("failed to validate pvc, pvc with immediate volume binding mode must be bound", VOLUME),
        ("failed to validate pvc, provisioner is not supported", ("volume", "administrator", False)),
        ("something new", UNKNOWN),
    ],
)
def test_karpenter_on_its_node_pools(text: str, answer: Answer) -> None:
    assert of(not_scheduled(text)) == answer


ADMINISTRATOR: Final[Answer] = ("volume", "administrator", None)


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        # https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting/common-deployment-errors
        ('Code="RequestDisallowedByPolicy" Message="Resource was disallowed by policy."', "forbids the machine"),
        ('Code="ReadOnlyDisabledSubscription" Message="The subscription is disabled"', "account is disabled"),
        ('Code="SkuNotAvailable" Message="The requested size is currently not available"', "out of capacity"),
        ('Code="SubnetIsFull" Message="Subnet has not enough addresses"', "no free addresses"),
        ('Code="LinkedAuthorizationFailed" Message="The client has no permission"', "lack a permission"),
        # https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html
        ("OptInRequired: You are not subscribed to this service.", "not subscribed"),
        ("Blocked: This account is currently blocked and not recognized as a valid account.", "blocked"),
        ("Client.InternalError: Client error on launch", "the key of the nodes' disks"),
        ("InvalidSubnetID.NotFound: The subnet ID 'subnet-1' does not exist", "not valid in the cloud"),
        ("InsufficientReservedInstanceCapacity: not enough available instances", "out of capacity"),
        ("InstanceLimitExceeded: Your request has exceeded the maximum", "quota"),
    ],
)
def test_codes_of_clouds(text: str, phrase: str) -> None:
    failed = event("FailedToScaleUpGroup", f"{GROUP_FAILED}{text}", 1, "ConfigMap", "cluster-autoscaler-status", "cm")
    reason = of_job(JOB, [pod()], [failed, not_triggered("1 in backoff after failed scale-up", 2)])
    assert phrase in reason.summary


GROUP_FAILED: Final = "Scale-up failed for group k8s-gpupoolk80-vmss: "


@pytest.mark.parametrize(
    ("reason", "text", "answer"),
    [
        # https://github.com/Azure/AKS/issues/1149
        (
            "FailedToScaleUpGroup",
            f'{GROUP_FAILED}Code="VMExtensionProvisioningError" Message="VM has reported a failure when processing '
            "extension 'vmssCSE'\"",
            ("did-not-join", "administrator", False),
        ),
        # https://github.com/kubernetes/kubernetes/issues/78657
        (
            "FailedAttachVolume",
            "Cannot attach data disk 'x' to VM 'y' because the disk is currently being detached",
            ("volume", "user", True),
        ),
        # https://github.com/Azure/AKS/issues/3550
        (
            "FailedAttachVolume",
            "timed out waiting for external-attacher of disk.csi.azure.com CSI driver",
            ADMINISTRATOR,
        ),
        # https://github.com/kubernetes/kubernetes/issues/110158
        (
            "FailedMount",
            "Unable to attach or mount volumes: unmounted volumes=[x]: timed out waiting for the condit",
            ADMINISTRATOR,
        ),
        # https://github.com/Project-HAMi/HAMi/issues/39
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "x" : object "default"/"kube-root-ca.crt" not registered',
            ("starting", None, True),
        ),
        # https://github.com/NVIDIA/gpu-operator/issues/549
        (
            "FailedCreatePodSandBox",
            "dial unix /run/containerd/containerd.sock: connect: connection refused",
            ("configuration", "administrator", None),
        ),
        (
            "FailedCreatePodSandBox",
            'failed to get sandbox runtime: no runtime for "nvidia" is configured',
            CONFIGURATION,
        ),
    ],
)
def test_events_of_public_reports(reason: str, text: str, answer: Answer) -> None:
    if reason != "FailedToScaleUpGroup":
        state = of_job(JOB, [pod(node="n1")], [event(reason, text)])
        assert (state.kind, state.mended_by, state.waiting_helps) == answer
        return
    failed = event(reason, text, 1, "ConfigMap", "cluster-autoscaler-status", "cm")
    assert of(failed, not_triggered("1 in backoff after failed scale-up", 2)) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        # https://github.com/aws/karpenter-provider-aws/issues/5527
        (
            'incompatible with nodepool "gpu", daemonset overhead={"cpu":"185m"}, no instance type satisfied resources '
            "and requirements (no instance type which met the scheduling requirements and had enough resources, had a "
            'required offering); incompatible with nodepool "general-purpose", daemonset overhead={"cpu":"155m"}, no '
            "instance type satisfied resources and requirements (no instance type has enough resources)",
            CAPACITY,
        ),
        # https://github.com/aws/karpenter-provider-aws/issues/8064
        (
            'incompatible with nodepool "gpu", daemonset overhead={"cpu":"185m"}, no instance type satisfied resources '
            '(no instance type has enough resources); incompatible with nodepool "general", did not tolerate x',
            NO_POOL,
        ),
        # https://github.com/aws/karpenter-provider-aws/issues/5073
        (
            'incompatible with nodepool "default", daemonset overhead={"cpu":"455m"}, incompatible requirements, label '
            '"name" does not have known values (typo of "karpenter.k8s.aws/instance-gpu-name"?)',
            NO_POOL,
        ),
    ],
)
def test_karpenter_in_public_reports(text: str, answer: Answer) -> None:
    assert of(not_scheduled(text)) == answer


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ('persistentvolumeclaim "home" not found', VOLUME),
        ('persistentvolumeclaim "home" is being deleted', VOLUME),
        ("pod has unbound immediate PersistentVolumeClaims", VOLUME),
        ("request gpu: device class gpu.example.com does not exist", NO_POOL),
        ("2 node(s) didn't match the requested node name", NO_POOL),
        ("2 Insufficient nvidia.com/gpu", ("waiting", None, True)),
        ("2 node(s) didn't match Pod's node affinity/selector", ("waiting", None, True)),
    ],
)
def test_the_scheduler_before_an_autoscaler_has_said_anything(text: str, answer: Answer) -> None:
    message = f"0/2 nodes are available: {text}. preemption: 0/2 nodes are available: 2 Preemption is not helpful."
    conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
    assert of(conditions=conditions) == answer
