"""Which nodes are broken and when they are taken out of service; who does it on each cloud."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest

from components.node_reaper import manifests
from components.outputs import gpu_job
from facts.concepts.broken_nodes import DEVICES, SINCE, TAINT, problem, steps
from tests import one_stack
from tests.stacks import run_program, run_with, settings_of

NOW = datetime(2026, 11, 25, 12, 0, 0, tzinfo=timezone.utc)
CRON_JOB = "kubernetes:batch/v1:CronJob"
ROLE = "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole"


GPUS = {"nvidia.com/gpu": 8}
EFA = "vpc.amazonaws.com/efa"
POOLS = {
    "h100-8": {"devices": GPUS, "slice": False},
    "slice": {"devices": {"google.com/tpu": 4}, "slice": True},
}


def node(
    capacity: int = 8,
    usable: int = 8,
    since: str = "",
    out: bool = False,
    also: dict[str, tuple[int, int]] | None = None,
    recorded: dict[str, int] | None = GPUS,
    **conditions: str,
) -> dict[str, Any]:
    """A node of 8 GPUs, 20 minutes old. ``since``: a time of the day; ``also``: further resources, with capacity and
    what is usable; ``recorded``: what it was created with, ``None`` for a node that the program has not seen;
    ``conditions``: type → status, or the reason of a true one."""
    held = {"Ready": "True", **conditions}
    devices = {"nvidia.com/gpu": (capacity, usable), **(also or {})}
    return {
        "metadata": {
            "name": "n",
            "labels": {"gpucluster.dev/pool": "h100-8"},
            "creationTimestamp": "2026-11-25T11:40:00Z",
            "annotations": {
                **({SINCE: f"2026-11-25T{since}Z"} if since else {}),
                **({} if recorded is None else {DEVICES: json.dumps(recorded)}),
            },
        },
        "spec": {"taints": [{"key": TAINT, "effect": "NoExecute"}]} if out else {},
        "status": {
            "capacity": {resource: str(count) for resource, (count, _) in devices.items()},
            "allocatable": {resource: str(count) for resource, (_, count) in devices.items()},
            "conditions": [
                {"type": kind, "status": what, "reason": kind}
                if what in ("True", "False", "Unknown")
                else {"type": kind, "status": "True", "reason": what}
                for kind, what in held.items()
            ],
        },
    }


def named(name: str, node: dict[str, Any]) -> dict[str, Any]:
    return {**node, "metadata": {**node["metadata"], "name": name}}


def chips(number: int, usable: int = 4, **changes: Any) -> dict[str, Any]:
    """A host of the slice of 4 chips each."""
    host = named(
        f"host-{number}", node(0, 0, also={"google.com/tpu": (4, usable)}, recorded={"google.com/tpu": 4}, **changes)
    )
    return {**host, "metadata": {**host["metadata"], "labels": {"gpucluster.dev/pool": "slice"}}}


@pytest.mark.parametrize(
    ("node_with", "expected"),
    [
        ({}, ""),
        ({"usable": 7}, "7 of 8 nvidia.com/gpu usable"),
        ({"usable": 0}, "0 of 8 nvidia.com/gpu usable"),
        # Shared GPUs: the node offers more than it has.
        ({"capacity": 32, "usable": 32}, ""),
        ({"capacity": 32, "usable": 28}, "28 of 32 nvidia.com/gpu usable"),
        # The driver did not see one when the node started.
        ({"capacity": 7, "usable": 7}, "7 of 8 nvidia.com/gpu usable"),
        ({"capacity": 0, "usable": 0}, "0 of 8 nvidia.com/gpu usable"),
        # A node that is not ready is the cloud's.
        ({"usable": 0, "Ready": "False"}, ""),
        ({"usable": 0, "Ready": "Unknown"}, ""),
        # GKE's plugin
        ({"XidCriticalError": '{"79":true,"48":true}'}, "Xid 48, 79"),
        ({"XidCriticalError": '{"63":true}'}, ""),
        ({"XidCriticalError": '{"63":true,"64":true}'}, "Xid 64"),
        ({"XidCriticalError": "False"}, ""),
        # AKS' node problem detector
        ({"GPUMissing": "True"}, "a GPU is missing"),
        ({"GPUMissing": "False"}, ""),
        ({"XIDErrors": "True"}, ""),
        ({"MemoryPressure": "True"}, ""),
    ],
)
def test_a_problem_is_one_of_the_gpus_alone(node_with: dict[str, Any], expected: str) -> None:
    assert problem(node(**node_with), GPUS) == expected


@pytest.mark.parametrize(
    ("efa", "expected"),
    [
        ((32, 32), ""),
        ((32, 31), f"31 of 32 {EFA} usable"),
        # The plugin's pod does not start, or the machine has too few.
        ((0, 0), f"0 of 32 {EFA} usable"),
        ((31, 31), f"31 of 32 {EFA} usable"),
    ],
)
def test_a_device_of_the_fabric_is_missed_like_a_gpu(efa: tuple[int, int], expected: str) -> None:
    assert problem(node(also={EFA: efa}), {**GPUS, EFA: 32}) == expected


@pytest.mark.parametrize(
    ("node_with", "expected"),
    [
        ({}, []),
        ({"usable": 7}, ["note"]),
        ({"usable": 7, "since": "11:50:01"}, []),
        ({"usable": 7, "since": "11:50:00"}, ["end"]),
        # None was there yet: a driver is being installed.
        ({"capacity": 0, "usable": 0}, ["note"]),
        ({"capacity": 0, "usable": 0, "since": "11:40:01"}, []),
        ({"capacity": 0, "usable": 0, "since": "11:40:00"}, ["end"]),
        ({"since": "11:00:00"}, ["forget"]),
        # It stays out of service, and its machine ends if that failed before.
        ({"out": True}, ["end"]),
    ],
)
def test_a_node_ends_only_when_its_problem_lasts(node_with: dict[str, Any], expected: list[str]) -> None:
    assert [action for action, _, _ in steps([node(**node_with)], POOLS, NOW)] == expected


@pytest.mark.parametrize(
    ("efa", "since", "expected"),
    [((31, 31), "11:49", ["end"]), ((0, 0), "11:49", []), ((0, 0), "11:40", ["end"])],
)
def test_a_fabric_that_starts_has_the_time_of_a_driver(efa: tuple[int, int], since: str, expected: list[str]) -> None:
    pools = {"h100-8": {"devices": {**GPUS, EFA: 32}, "slice": False}}
    nodes = [node(also={EFA: efa}, since=f"{since}:00", recorded={**GPUS, EFA: 32})]
    assert [action for action, _, _ in steps(nodes, pools, NOW)] == expected


@pytest.mark.parametrize(
    ("age", "node_with", "expected"),
    [
        # What its pool declares now may be of nodes that are still to come: EFA, or more shares of each GPU.
        (11, {}, [("record", '{"nvidia.com/gpu": 8}')]),
        (11, {"usable": 7}, [("record", '{"nvidia.com/gpu": 8}'), ("note", "7 of 8 nvidia.com/gpu usable")]),
        (
            10,
            {},
            [
                ("record", '{"nvidia.com/gpu": 16, "vpc.amazonaws.com/efa": 32}'),
                ("note", "8 of 16 nvidia.com/gpu usable"),
            ],
        ),
    ],
)
def test_a_running_node_is_compared_with_what_it_was_created_with(
    age: int, node_with: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    pools = {"h100-8": {"devices": {"nvidia.com/gpu": 16, EFA: 32}, "slice": False}}
    one = node(**node_with, recorded=None)
    one["metadata"]["creationTimestamp"] = f"2026-11-25T11:{60 - age}:00Z"
    assert [(action, reason) for action, _, reason in steps([one], pools, NOW)] == expected
    # Seen once, it keeps its record.
    one["metadata"]["annotations"][DEVICES] = '{"nvidia.com/gpu": 8}'
    assert "end" not in [action for action, _, _ in steps([one], pools, NOW)]


def test_devices_that_pods_claim_are_not_counted() -> None:
    """NVIDIA's driver for claims takes the place of the device plugin, so such a node never has nvidia.com/gpu."""
    labels = {"cloud.google.com/gke-nvidia-gpu-dra-driver": "true", "gke-no-default-nvidia-gpu-device-plugin": "true"}
    pools = [
        {"name": "l4", "gpu": "nvidia-l4", "maxNodes": 2, "drivers": "none", "labels": labels},
        {"name": "t4", "gpu": "nvidia-t4", "maxNodes": 2},
    ]
    recording = run_with(one_stack.config("gke", gpuPools=pools), "claims")
    (reaper,) = [one for one in recording.of_type(CRON_JOB) if "reaper" in one.name]
    (container,) = reaper.inputs["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert json.loads(next(each["value"] for each in container["env"] if each["name"] == "POOLS")).keys() == {"t4-1"}


def test_a_node_of_a_pool_that_is_no_longer_declared_is_left_alone() -> None:
    assert not [*steps([node(usable=7, since="11:00:00")], {}, NOW)]


@pytest.mark.parametrize(
    "broken", [{"usable": 3, "since": "11:00:00"}, {"out": True}], ids=["a chip is lost", "taken out by hand"]
)
def test_a_slice_ends_as_a_whole(broken: dict[str, Any]) -> None:
    hosts = [chips(0, **broken), *(chips(number) for number in range(1, 4))]
    actions = [(action, each["metadata"]["name"]) for action, each, _ in steps([*hosts, node()], POOLS, NOW)]
    assert actions == [("end", f"host-{number}") for number in range(4)]


def test_a_slice_counts_once_among_the_broken() -> None:
    """Two of two are something else than broken machines; hosts that are whole give no reason."""
    hosts = [chips(number, usable=3, since="11:00:00") for number in range(4)]
    assert {action for action, _, _ in steps(hosts, POOLS, NOW)} == {"end"}
    assert {action for action, _, _ in steps([*hosts, node(out=True)], POOLS, NOW)} == {"pause"}
    assert not [*steps([chips(number) for number in range(4)], POOLS, NOW)]


MANY = [(1, 0, "end"), (2, 0, "pause"), (2, 7, "pause"), (2, 8, "end")]


@pytest.mark.parametrize(("broken", "healthy", "action"), MANY)
def test_a_condition_of_many_nodes_at_once_ends_none(broken: int, healthy: int, action: str) -> None:
    """Those out of service count, and are not ended either: with Karpenter their machines would go."""
    nodes = [node(out=True), *[node(usable=7, since="11:00:00")] * (broken - 1), *[node()] * healthy]
    nodes = [named(str(number), each) for number, each in enumerate(nodes)]
    assert [each for each, _, _ in steps(nodes, POOLS, NOW)] == [action] * broken


@pytest.mark.parametrize("cloud", ["gke", "eks", "aks"])
def test_it_looks_every_five_minutes_from_the_admin_pool(cloud: str) -> None:
    recording = run_program(one_stack.file(cloud))
    spec = recording.named("autoscaler-reaper-cronjob").inputs["spec"]
    pod = spec["jobTemplate"]["spec"]["template"]["spec"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("*/5 * * * *", "Forbid")
    karpenter = {"gke": "no", "eks": "yes", "aks": "no"}[cloud]
    assert pod["containers"][0]["env"][0] == {"name": "KARPENTER", "value": karpenter}
    assert pod["nodeSelector"]["gpucluster.dev/role"] == "admin"
    (rules,) = [
        one.inputs["rules"]
        for one in recording.of_type(ROLE)
        if one.inputs["metadata"]["name"] == pod["serviceAccountName"]
    ]
    nodes = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]}
    claims = {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["delete"]}
    assert rules == [nodes, *([claims] if karpenter == "yes" else [])]


@pytest.mark.parametrize("stack", [*sorted(one_stack.VARIANTS), "gke-tpu", "eks-fabric", "eks-neuron", "aks-amd"])
def test_it_counts_each_device_that_jobs_of_a_pool_request(stack: str) -> None:
    file = one_stack.variant(stack) if stack in one_stack.VARIANTS else f"examples/{stack}.yaml"
    settings = settings_of(file)
    if settings.autoscaler == "none":
        return
    gpu_pools = settings.gpu_pools
    (cron_job,) = [each for each in manifests(settings.autoscaler, gpu_pools) if each["kind"] == "CronJob"]
    (container,) = cron_job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    pools = json.loads(next(each["value"] for each in container["env"] if each["name"] == "POOLS"))
    assert pools.keys() == {pool.nodes.labels["gpucluster.dev/pool"] for pool in gpu_pools}
    for pool in gpu_pools:
        job = gpu_job(pool, settings.autoscaler)
        limits = job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]
        # One pod a share, or one for all.
        whole = {resource: int(count) * job["spec"]["parallelism"] for resource, count in limits.items()}
        assert pools[pool.name] == {"devices": whole, "slice": pool.name.startswith(("slice", "ring", "tpu7x"))}, pool
