"""DaemonSets that make GPUs usable where the cloud does not: driver installers and device plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import pulumi

from components.clouds import device_plugin
from components.clouds.base import GpuDaemon
from components.cluster import PoolsCluster
from components.resources import CustomResource
from facts.concepts.kubernetes import RBAC, manifest, role_binding
from facts.concepts.pool import POOL_LABEL, Pool, placement

NAMESPACE: Final = "kube-system"
VARIANT_LABEL: Final = "gpucluster.dev/driver"
_DAEMON_SET: Final = "kubernetes:apps/v1:DaemonSet"
# A list of pools must not be empty: https://github.com/kubernetes/api/blob/v0.34.4/core/v1/types.go
# (NodeSelectorRequirement). No pool has this name.
_NONE: Final = ""


@dataclass(frozen=True, kw_only=True)
class DriverDaemonSetArgs:
    """All GPU ``pools`` of ``cluster``; pools whose cloud installs everything get no DaemonSet."""

    cluster: PoolsCluster
    pools: Sequence[Pool]


class DriverDaemonSet(pulumi.ComponentResource):
    """The DaemonSets that the cloud names for these pools (``Cloud.gpu_daemons``), each on its own pools only.

    A busy pool keeps the device plugin that its nodes have. With another one that shares GPUs, more pods would start on
    the GPU of a running pod: the kubelet compares the ids of devices, and a plugin that shares them has its own:
    ``NewAnnotatedID`` in https://github.com/NVIDIA/k8s-device-plugin/blob/v0.18.2/internal/rm/devices.go
    """

    daemon_sets: Sequence[CustomResource]

    def __init__(self, name: str, args: DriverDaemonSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:DriverDaemonSet", name, None, opts)
        cloud, objects = args.cluster.cloud, args.cluster.objects
        waiting = dict(_waiting(name, args))
        busy = {pool: what for pool, (_, what) in waiting.items()}
        declared = {each.name: each for each in cloud.gpu_daemons(args.pools)}
        before = {each.name: each for each in cloud.gpu_daemons([pool for pool, _ in waiting.values()])}
        self.daemon_sets = []
        outputs = {}
        for daemon in ({**before, **declared}).values():
            needs = []
            if daemon.files:
                needs.append(objects.declare(f"{name}-{daemon.name}-files", config_map(daemon), self))
            for each in rights(daemon) if daemon.rules else ():
                needs.append(objects.declare(f"{name}-{daemon.name}-{each['kind'].lower()}", each, self))
            now, then = (each[daemon.name].pools if daemon.name in each else () for each in (declared, before))
            names = _while_busy(_names(now), _names(then), busy)
            on_all = daemon_set(replace(daemon, pools=(*now, *then)))
            self.daemon_sets.append(objects.declare(f"{name}-{daemon.name}", _on(names, on_all), self, *needs))
            outputs[daemon.name] = names
        self.register_outputs(outputs)


def _waiting(name: str, args: DriverDaemonSetArgs) -> Iterator[tuple[str, tuple[Pool, pulumi.Output[str]]]]:
    """The pools whose nodes may have another device plugin than the stack file says: as these nodes are, and what is
    there that keeps it."""
    if (running := args.cluster.handle.running_nodes) is None:
        return
    deployed = running.deployed.beginning(_DAEMON_SET, f"{name}-{device_plugin.APP}-")
    variants = {pool: variant for variant, outputs in deployed.items() for pool in _selected(outputs)}
    for pool in args.pools:
        if device_plugin.has_software_of_others(pool):
            continue
        as_made = replace(pool, nodes=replace(pool.nodes, image=running.image(pool)))
        if variant := variants.get(running.former_name(pool)):
            as_made = device_plugin.with_variant(as_made, variant)
        was, will_be = _plugins(args, as_made), _plugins(args, pool)
        if was != will_be:
            what = running.busy(pool)
            # Another image is reported with its machines.
            if was and will_be:
                what.apply(partial(_report, pool.name))
            yield pool.name, (as_made, what)


def _selected(outputs: Mapping[str, Any]) -> Sequence[str]:
    """The pools of a DaemonSet in the stack's state."""
    affinity = outputs["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return next(each["values"] for each in term["matchExpressions"] if each["key"] == POOL_LABEL)


def _plugins(args: DriverDaemonSetArgs, pool: Pool) -> Sequence[str]:
    return [each.name for each in args.cluster.cloud.gpu_daemons([pool]) if each.app == device_plugin.APP]


def _report(pool: str, what: str) -> None:
    if what:
        pulumi.info(f"pool {pool} has {what}: run `up` again when it has none to change how pods share its GPUs")


def _names(pools: Sequence[Pool]) -> Sequence[str]:
    return [pool.name for pool in pools]


def _while_busy(
    now: Sequence[str], then: Sequence[str], busy: Mapping[str, pulumi.Output[str]]
) -> pulumi.Input[Sequence[str]]:
    """The pools of a DaemonSet: those of the stack file, and of ``busy`` ones those of before."""
    if not (open_ := [each for each in busy if (each in now) != (each in then)]):
        return now

    def names(answers: Sequence[str]) -> Sequence[str]:
        are_busy = {each for each, what in zip(open_, answers, strict=True) if what}
        kept = [each for each in now if each not in are_busy or each in then]
        return [*kept, *(each for each in then if each in are_busy and each not in now)] or [_NONE]

    return pulumi.Output.all(*(busy[each] for each in open_)).apply(names)


def _on(names: pulumi.Input[Sequence[str]], daemon_set: dict[str, Any]) -> dict[str, Any]:
    """The DaemonSet on pools with these ``names``."""
    affinity = daemon_set["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    (own,) = (each for each in term["matchExpressions"] if each["key"] == POOL_LABEL)
    own["values"] = names
    return daemon_set


def config_map(daemon: GpuDaemon) -> dict[str, Any]:
    """The files that the DaemonSet's pods mount."""
    return manifest("v1", "ConfigMap", daemon.name, NAMESPACE, labels=_labels(daemon), data=dict(daemon.files))


def rights(daemon: GpuDaemon) -> list[dict[str, Any]]:
    """The service account of the DaemonSet's pods, its ClusterRole and the binding."""
    account = {"apiGroup": "", "kind": "ServiceAccount", "name": daemon.app, "namespace": NAMESPACE}
    return [
        manifest("v1", "ServiceAccount", daemon.app, NAMESPACE, labels=_labels(daemon)),
        manifest(f"{RBAC}/v1", "ClusterRole", daemon.app, rules=[*daemon.rules]),
        role_binding(daemon.app, {"kind": "ClusterRole", "name": daemon.app}, [account]),
    ]


def daemon_set(daemon: GpuDaemon, *, critical: bool = True) -> dict[str, Any]:
    """The DaemonSet that runs the pod on all nodes of the daemon's pools, and on no others.

    A ``critical`` pod preempts others on a full node; any other waits until a job ends there.
    """
    labels, pools = _labels(daemon), [pool.name for pool in daemon.pools]
    pod = {
        **daemon.pod,
        **({"priorityClassName": "system-node-critical"} if critical else {}),
        "automountServiceAccountToken": bool(daemon.rules),
        **placement(pools, [taint for pool in daemon.pools for taint in pool.nodes.taints]),
    }
    spec = {
        "selector": {"matchLabels": labels},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return manifest("apps/v1", "DaemonSet", daemon.name, NAMESPACE, labels=labels, spec=spec)


def _labels(daemon: GpuDaemon) -> dict[str, str]:
    return {"k8s-app": daemon.app, VARIANT_LABEL: daemon.variant}
