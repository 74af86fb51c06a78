"""Pods that have a node: why they do not run, never ran, or were evicted, in the kubelet's words."""

from __future__ import annotations

from typing import Any, Final

import pytest

from gpu.why import View, of_job
from packages.gpu.tests.test_why import JOB, event, pod

FAILED: Final[dict[str, Any]] = {
    **JOB,
    "status": {
        "conditions": [{"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "limit"}]
    },
}
CUDA: Final = (
    "failed to create containerd task: OCI runtime create failed: nvidia-container-cli: requirement error: unsatisfied "
    "condition: cuda>=12.8, please update your driver to a newer version, or use an earlier cuda container: unknown"
)
NO_RUNTIME: Final = (
    'Failed to create pod sandbox: rpc error: code = Unknown desc = no runtime for "nvidia" is configured'
)
MULTI: Final = 'Multi-Attach error for volume "pvc-1" Volume is already used by pod(s) other'


@pytest.mark.parametrize(
    ("reason", "message", "answer"),
    [
        ("FailedCreatePodSandBox", NO_RUNTIME, ("configuration", "administrator", False)),
        (
            "FailedCreatePodSandBox",
            "plugin type=aws-cni failed: failed to assign an IP address to container",
            ("configuration", "administrator", None),
        ),
        ("FailedAttachVolume", MULTI, ("volume", "user", True)),
        (
            "FailedAttachVolume",
            'AttachVolume.Attach failed for volume "pvc-1" : timed out',
            ("volume", "administrator", None),
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "c" : configmap "settings" not found',
            ("configuration", "user", False),
        ),
        (
            "FailedMount",
            'MountVolume.SetUp failed for volume "kube-api-access" : failed to sync configmap cache: timed out',
            ("starting", None, True),
        ),
        (
            "FailedMount",
            "driver name efs.csi.aws.com not found in the list of registered CSI drivers",
            ("volume", "administrator", None),
        ),
        ("Pulling", 'Pulling image "example.com/x:1"', ("starting", None, True)),
    ],
)
def test_what_its_node_prepares(reason: str, message: str, answer: tuple[Any, ...]) -> None:
    creating = {"state": {"waiting": {"reason": "ContainerCreating"}}}
    waits = pod(node="n1", containerStatuses=[creating])
    state = of_job(JOB, [waits], [event("Scheduled", "to n1"), event(reason, message, 5)])
    assert (state.kind, state.mended_by, state.waiting_helps) == answer
    gone_on = of_job(JOB, [waits], [event(reason, message, 5), event("Pulling", "x", 6)])
    assert gone_on.kind == "starting", "what failed has worked since"
    other = of_job(JOB, [waits], [event(reason, message, 5, uid="pod-2")])
    assert other.kind == "starting"


@pytest.mark.parametrize(
    ("reason", "message", "answer"),
    [
        ("ErrImagePull", 'failed to resolve reference "example.com/x:1": not found', ("image", "user", False)),
        ("ImagePullBackOff", "toomanyrequests: You have reached your pull rate limit", ("image", "cloud", True)),
        ("ErrImagePull", "no match for platform in manifest: not found", ("image", "user", False)),
        ("ErrImagePull", "write /var/lib/containerd/x: no space left on device", ("image", "administrator", False)),
        ("ErrImagePull", "dial tcp 203.0.113.10:443: i/o timeout", ("image", "administrator", None)),
        ("InvalidImageName", "couldn't parse image name", ("image", "user", False)),
        ("CreateContainerConfigError", 'secret "token" not found', ("configuration", "user", False)),
        (
            "CreateContainerError",
            "failed to inject CDI devices: unresolvable CDI devices",
            ("configuration", "administrator", False),
        ),
        ("RunContainerError", CUDA, ("configuration", "user", False)),
        (
            "RunContainerError",
            'exec: "trian.py": executable file not found in $PATH: unknown',
            ("configuration", "user", False),
        ),
        ("RunContainerError", "exec /bin/train: exec format error", ("configuration", "user", False)),
        ("NewReason", "something new", ("unknown", None, None)),
    ],
)
def test_what_its_container_waits_for(reason: str, message: str, answer: tuple[Any, ...]) -> None:
    status = {"image": "example.com/x:1", "state": {"waiting": {"reason": reason, "message": message}}}
    state = of_job(JOB, [pod(node="n1", containerStatuses=[status])], [])
    assert (state.kind, state.mended_by, state.waiting_helps) == answer
    assert (state.message, state.source) == (message, f"{reason} of its pod")


@pytest.mark.parametrize(
    ("reason", "message", "summary"),
    [
        (
            "UnexpectedAdmissionError",
            "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices nvidia.com/gpu",
            "GPUs are broken",
        ),
        (
            "UnexpectedAdmissionError",
            "Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 1",
            "no room left",
        ),
        ("UnexpectedAdmissionError", "Allocate failed due to rpc error", "could not prepare the devices"),
        # https://github.com/kubernetes/kubernetes/issues/97131
        (
            "UnexpectedAdmissionError",
            "error creating nvml.Device 5: nvml: GPU is lost",
            "could not prepare the devices",
        ),
        ("OutOfnvidia.com/gpu", "Node didn't have enough resource: nvidia.com/gpu", "no room left"),
        ("OutOfcpu", "Node didn't have enough resource: cpu", "no room left"),
        ("NodeAffinity", "Predicate NodeAffinity failed", "does not support"),
        ("Terminated", "Pod was terminated in response to imminent node shutdown.", "shutting down"),
        (
            "Evicted",
            "The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi. ",
            "filled its node's disk",
        ),
        (
            "Evicted",
            "Pod ephemeral local storage usage exceeds the total limit of containers 40Gi. ",
            "filled the disk that it may use",
        ),
        ("NewReason", "something new", "something new (NewReason)"),
    ],
)
def test_a_pod_that_its_node_ended_or_never_took(reason: str, message: str, summary: str) -> None:
    ended = pod("Failed", node="n1", reason=reason, message=message)
    state = of_job(FAILED, [ended], [])
    assert (state.kind, state.message, state.waiting_helps) == ("failed", message, False)
    assert "wait" not in state.remedy, "nothing starts it again"
    assert summary in state.summary
    assert "gpu logs" not in state.remedy, "it has none"


def test_a_container_that_never_started_has_no_output() -> None:
    status = {"state": {"terminated": {"exitCode": 128, "reason": "StartError", "message": CUDA}}}
    state = of_job(FAILED, [pod("Failed", node="n1", containerStatuses=[status])], [])
    assert (state.kind, state.mended_by, state.message) == ("failed", "user", CUDA)
    assert "newer driver" in state.summary
    assert "driverVersion: latest" in state.remedy
    broken = {"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
    assert of_job(FAILED, [pod("Failed", node="n1", containerStatuses=[broken])], []).summary == "Failed: exit code 1"


def test_a_pull_that_waits_says_why_it_failed() -> None:
    status = {"image": "x", "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image"}}}
    failed = event("Failed", 'Failed to pull image "x": toomanyrequests: You have reached your pull rate limit', 3)
    waits = pod(node="n1", containerStatuses=[status])
    events = [failed, event("Failed", "Error: ImagePullBackOff", 4), event("BackOff", "Back-off pulling image", 5)]
    assert of_job(JOB, [waits], events).waiting_helps is True
    assert of_job(JOB, [waits], [{**failed, "involvedObject": {}}]).waiting_helps is False


@pytest.mark.parametrize(
    ("reason", "message", "phrase"),
    [
        ("ErrImagePull", "no matching manifest for linux/arm64 in the manifest list", "not built for the node's CPU"),
        ("CreateContainerError", "exec /bin/train: exec format error", "not built for the node's CPU"),
        ("RunContainerError", 'exec: "trian.py": executable file not found in $PATH', "cannot start the program"),
        ("RunContainerError", "nvml error: driver not loaded; nvidia-container-cli: failed", "cannot give containers"),
        ("CreateContainerError", "context deadline exceeded", "the container cannot start"),
        ("CrashLoopBackOff", "back-off 5m0s restarting failed container", "ends again and again"),
    ],
)
def test_what_is_alike_for_who_mends_it_is_told_apart(reason: str, message: str, phrase: str) -> None:
    status = {"image": "example.com/x:1", "state": {"waiting": {"reason": reason, "message": message}}}
    assert phrase in of_job(JOB, [pod(node="n1", containerStatuses=[status])], []).summary


@pytest.mark.parametrize(
    ("reason", "message", "phrase"),
    [
        ("FailedCreatePodSandBox", "failed to assign an IP address to container", "no free address"),
        (
            "FailedCreatePodSandBox",
            "dial unix containerd.sock: connect: connection refused",
            "create the pod's sandbox",
        ),
        ("FailedMount", "driver name x not found in the list of registered CSI drivers", "does not run"),
        ("FailedAttachVolume", "api error AttachmentLimitExceeded: Volumes maximum reached", "no more volumes"),
        ("FailedPrepareDynamicResources", "Failed to prepare dynamic resources", "devices that the pod claims"),
        ("FailedCreatePodContainer", "something new", "FailedCreatePodContainer of its pod: something new"),
    ],
)
def test_what_a_node_cannot_do_is_told_apart(reason: str, message: str, phrase: str) -> None:
    assert phrase in of_job(JOB, [pod(node="n1")], [event(reason, message)]).summary


@pytest.mark.parametrize(
    ("message", "phrase"),
    [
        ("The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Mi. ", "ran out of memory"),
        ("The node was low on resource: pids. Threshold quantity: 1200, available: 500. ", "too many processes"),
        ("The node had condition: [DiskPressure]. ", "to take it"),
    ],
)
def test_why_a_node_evicted_a_pod(message: str, phrase: str) -> None:
    assert phrase in of_job(FAILED, [pod("Failed", node="n1", reason="Evicted", message=message)], []).summary


def test_of_several_pods_the_one_that_nobody_waits_for_is_explained() -> None:
    status = {"image": "example.com/x:1", "state": {"waiting": {"reason": "InvalidImageName", "message": "no"}}}
    stuck = pod(uid="pod-2", node="n1", containerStatuses=[status])
    for pods in ([pod(), stuck], [stuck, pod()]):
        state = of_job(JOB, pods, [event("TriggeredScaleUp", "pod triggered scale-up: [{x 0->1 (max: 3)}]")])
        assert (state.kind, state.summary.startswith("2 pods pending: ")) == ("image", True)


DISK: Final = "The node was low on resource: ephemeral-storage. Container main was using 80Gi, request is 0. "
DISRUPTED: Final = {"conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}]}


def evicted(number: int, message: str = DISK) -> Any:
    one = pod("Failed", uid=f"evicted-{number}", node="n1", reason="Evicted", message=message, **DISRUPTED)
    one["metadata"]["creationTimestamp"] = f"2026-11-22T08:{number:02}:00Z"
    return one


@pytest.mark.parametrize("last", [pod("Running", node="n1"), pod()])
def test_evictions_are_counted_with_their_reason(last: Any) -> None:
    once = of_job(JOB, [evicted(1), last], [])
    assert once.kind in ("running", "waiting")
    assert once.summary.endswith("; evicted once: it filled its node's disk")
    again = of_job(JOB, [evicted(1, "The node was low on resource: memory. "), evicted(2), evicted(3), last], [])
    assert (again.kind, again.mended_by, again.waiting_helps) == ("evicted", "user", False)
    assert again.summary.endswith("; evicted 3 times: it filled its node's disk")
    assert "--disk" in again.remedy
    assert of_job(JOB, [last], []).kind != "evicted"


def test_the_pod_that_counted_explains_the_failure() -> None:
    status = {"state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
    state = of_job(FAILED, [evicted(1), pod("Failed", node="n1", containerStatuses=[status])], [])
    assert state.summary == "Failed: exit code 3"
    assert (
        "evicted"
        not in of_job(
            {**FAILED, "status": {"conditions": [{"type": "Complete", "status": "True"}]}}, [evicted(1)], []
        ).kind
    )


def test_a_node_that_stops_is_named() -> None:
    down = {
        "metadata": {"name": "n1"},
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "Unknown",
                    "reason": "NodeStatusUnknown",
                    "message": "Kubelet stopped posting node status.",
                }
            ]
        },
    }
    state = of_job(JOB, [pod(node="n1")], [], view=View(nodes=[down]))
    assert "n1" in state.summary
    assert state.message == "NodeStatusUnknown: Kubelet stopped posting node status."
    assert of_job(JOB, [pod(node="n2")], [], view=View(nodes=[down])).kind == "starting"
