"""The command line of cluster-autoscaler: which flags it takes, and what those that matter here say.

https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/config/flags/flags.go (releases 1.33 and later)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

EXPANDERS: Final = ("grpc", "least-nodes", "least-waste", "most-pods", "price", "priority", "random")
_DEFAULT_PROVIDER: Final = "gce"
_DEFAULT_EXPANDER: Final = "least-waste"
_SWITCHES: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}

_SWITCH_NAMES: Final = """
    add-dir-header alsologtostderr async-node-groups aws-use-static-instance-list balance-similar-node-groups
    bulk-mig-instances-listing-enabled capacity-buffer-controller-enabled capacity-buffer-pod-injection-enabled
    check-capacity-batch-processing clusterapi-cloud-config-authoritative cordon-node-before-terminating
    daemonset-eviction-for-empty-nodes daemonset-eviction-for-occupied-nodes debugging-snapshot-enabled
    dynamic-node-delete-delay-after-taint-enabled emit-per-nodegroup-metrics enable-csi-node-aware-scheduling
    enable-dynamic-resource-allocation enable-proactive-scaleup enable-provisioning-requests
    enforce-node-group-min-size force-delete-failed-nodes force-delete-unregistered-nodes force-ds
    frequent-loops-enabled ignore-daemonsets-utilization ignore-mirror-pods-utilization leader-elect logtostderr
    one-output parallel-scale-up profiling record-duplicated-events regional scale-down-delay-type-local
    scale-down-enabled scale-down-unready-enabled scale-from-unschedulable scale-up-from-zero skip-headers
    skip-log-headers skip-nodes-with-custom-controller-pods skip-nodes-with-local-storage
    skip-nodes-with-system-pods write-status-configmap
"""
_VALUED_NAMES: Final = """
    address balancing-ignore-label balancing-label blocking-system-pod-distruption-timeout bypassed-scheduler-names
    check-capacity-processor-instance check-capacity-provisioning-request-batch-timebox
    check-capacity-provisioning-request-max-batch-size cloud-config cloud-provider cluster-name
    cluster-snapshot-parallelism cores-total drain-priority-config estimator expander
    expendable-pods-priority-cutoff feature-gates gce-concurrent-refreshes gce-mig-instances-min-refresh-wait-time
    gpu-total grpc-expander-cert grpc-expander-url ignore-taint initial-node-group-backoff-duration
    kube-api-content-type kube-client-burst kube-client-qps kubeconfig kubernetes leader-elect-lease-duration
    leader-elect-renew-deadline leader-elect-resource-lock leader-elect-resource-name
    leader-elect-resource-namespace leader-elect-retry-period log-backtrace-at log-dir log-file log-file-max-size
    log-flush-frequency logging-format max-allocatable-difference-ratio max-binpacking-time
    max-bulk-soft-taint-count max-bulk-soft-taint-time max-drain-parallelism max-failing-time
    max-free-difference-ratio max-graceful-termination-sec max-inactivity max-node-group-backoff-duration
    max-node-provision-time max-nodegroup-binpacking-duration max-nodes-per-scaleup max-nodes-total
    max-pod-eviction-time max-scale-down-parallelism max-total-unready-percentage memory-difference-ratio
    memory-total min-replica-count namespace new-pod-scale-up-delay node-delete-delay-after-taint
    node-deletion-batcher-interval node-deletion-candidate-ttl node-deletion-delay-timeout
    node-group-auto-discovery node-group-backoff-reset-timeout node-info-cache-expire-time nodes
    ok-total-unready-count pod-injection-limit predicate-parallelism provisioning-request-initial-backoff-time
    provisioning-request-max-backoff-cache-size provisioning-request-max-backoff-time
    scale-down-candidates-pool-ratio scale-down-delay-after-add scale-down-delay-after-delete
    scale-down-delay-after-failure scale-down-gpu-utilization-threshold scale-down-non-empty-candidates-count
    scale-down-simulation-timeout scale-down-unneeded-time scale-down-unready-time
    scale-down-utilization-threshold scan-interval scheduler-config-file startup-taint status-config-map-name
    status-taint stderrthreshold unremovable-node-recheck-timeout user-agent v vmodule
"""
_BOOLEAN: Final = frozenset(_SWITCH_NAMES.split())
_KNOWN: Final = _BOOLEAN | frozenset(_VALUED_NAMES.split())


class FlagError(ValueError):
    """A command line with which cluster-autoscaler would exit at once; the message says what to write instead."""


@dataclass(frozen=True)
class Bounds:
    """``--nodes=<min>:<max>:<group>``."""

    minimum: int
    maximum: int


@dataclass(frozen=True)
class Flags:
    """What a command line says about scaling.

    ``discovery`` holds one set of tags for each ``--node-group-auto-discovery``: key → value, ``""`` for any value.
    ``nodes`` are the groups named one by one. ``max_nodes_total`` of 0 is no limit.
    """

    provider: str
    discovery: tuple[Mapping[str, str], ...]
    nodes: Mapping[str, Bounds]
    expanders: tuple[str, ...]
    max_nodes_total: int
    scale_down: bool


def parse(command_line: Sequence[str]) -> Flags:
    """The flags of a container's ``command`` and ``args``; words before the first flag are the program.

    Raises:
        FlagError: an unknown flag, or a value that cannot be read.
    """
    values = _read(command_line)
    expanders = tuple(_last(values, "expander", _DEFAULT_EXPANDER).split(","))
    for expander in expanders:
        if expander not in EXPANDERS:
            raise FlagError(f"--expander={expander} does not exist; write one of {', '.join(EXPANDERS)}")
    return Flags(
        provider=_last(values, "cloud-provider", _DEFAULT_PROVIDER),
        discovery=tuple(_tags(spec) for spec in values.get("node-group-auto-discovery", [])),
        nodes=dict(_bounds(spec) for spec in values.get("nodes", [])),
        expanders=expanders,
        max_nodes_total=_number("max-nodes-total", _last(values, "max-nodes-total", "0")),
        scale_down=_switch("scale-down-enabled", _last(values, "scale-down-enabled", "true")),
    )


def command_line(container: Mapping[str, Any]) -> list[str]:
    """What a container runs: ``command`` and ``args``."""
    return [str(word) for part in ("command", "args") for word in container.get(part) or []]


def _read(words: Sequence[str]) -> dict[str, list[str]]:
    """Flag → its values in order, by the rules of Go's pflag: ``--flag=value``, ``--flag value``, ``--switch``."""
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            continue
        written, equals, value = word.lstrip("-").partition("=")
        name = written.replace("_", "-")
        if name not in _KNOWN or (not word.startswith("--") and len(name) > 1):
            raise FlagError(f"{word.partition('=')[0]} is not a flag of cluster-autoscaler: it exits at start")
        if not equals and name not in _BOOLEAN:
            value = next(rest, "")
        values.setdefault(name, []).append(value if equals or name not in _BOOLEAN else "true")
    return values


def _last(values: Mapping[str, Sequence[str]], name: str, default: str) -> str:
    return values[name][-1] if name in values else default


def _tags(spec: str) -> Mapping[str, str]:
    kind, _, rest = spec.partition(":")
    key, _, tags = rest.partition("=")
    if kind != "asg" or key != "tag" or not tags:
        raise FlagError(
            f"--node-group-auto-discovery={spec} cannot be read; write asg:tag=<key>[=<value>],<key>[=<value>]"
        )
    pairs = (tag.partition("=") for tag in tags.split(","))
    return {name: value for name, _, value in pairs}


def _bounds(spec: str) -> tuple[str, Bounds]:
    minimum, _, rest = spec.partition(":")
    maximum, _, name = rest.partition(":")
    if not (minimum.isdigit() and maximum.isdigit() and name) or int(minimum) > int(maximum):
        raise FlagError(f"--nodes={spec} cannot be read; write <min>:<max>:<name of the Auto Scaling group>")
    return name, Bounds(int(minimum), int(maximum))


def _number(flag: str, value: str) -> int:
    if not value.isdigit():
        raise FlagError(f"--{flag}={value} is not a number")
    return int(value)


def _switch(flag: str, value: str) -> bool:
    if value.lower() not in _SWITCHES:
        raise FlagError(f"--{flag}={value} is neither true nor false")
    return _SWITCHES[value.lower()]
