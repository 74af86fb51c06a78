"""DaemonSets that make GPUs usable where the cloud does not: driver installers and device plugins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.clouds.base import GpuDaemon
from components.cluster import PoolsCluster
from components.resources import CustomResource
from facts.concepts.kubernetes import RBAC, manifest, role_binding
from facts.concepts.pool import Pool, placement

NAMESPACE: Final = "kube-system"
VARIANT_LABEL: Final = "gpucluster.dev/driver"


@dataclass(frozen=True, kw_only=True)
class DriverDaemonSetArgs:
    """All GPU ``pools`` of ``cluster``; pools whose cloud installs everything get no DaemonSet."""

    cluster: PoolsCluster
    pools: Sequence[Pool]


class DriverDaemonSet(pulumi.ComponentResource):
    """The DaemonSets that the cloud names for these pools (``Cloud.gpu_daemons``), each on its own pools only."""

    daemon_sets: Sequence[CustomResource]

    def __init__(self, name: str, args: DriverDaemonSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:DriverDaemonSet", name, None, opts)
        daemons = args.cluster.cloud.gpu_daemons(args.pools)
        objects = args.cluster.objects
        self.daemon_sets = []
        for daemon in daemons:
            needs = []
            if daemon.files:
                needs.append(objects.declare(f"{name}-{daemon.name}-files", config_map(daemon), self))
            for each in rights(daemon) if daemon.rules else ():
                needs.append(objects.declare(f"{name}-{daemon.name}-{each['kind'].lower()}", each, self))
            self.daemon_sets.append(objects.declare(f"{name}-{daemon.name}", daemon_set(daemon), self, *needs))
        self.register_outputs({daemon.name: [pool.name for pool in daemon.pools] for daemon in daemons})


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
