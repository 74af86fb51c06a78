"""The GPU driver installer, for pools whose driver the cloud does not install by itself."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.pools import DriverVersion, GpuPoolSpec, Image
from components.resources import CustomResource, kubernetes_object
from policies.rules.model import POOL_LABEL, Taint

INSTALLER_LABEL: Final = "nvidia-driver-installer"
VARIANT_LABEL: Final = "gpucluster.dev/driver"


@dataclass(frozen=True, kw_only=True)
class DriverDaemonSetArgs:
    """All GPU ``pools`` of ``cluster``; those with ``drivers="managed"`` are left alone."""

    cluster: Cluster
    pools: Sequence[GpuPoolSpec]


class DriverDaemonSet(pulumi.ComponentResource):
    """One DaemonSet per node image and driver version in use; none when the cloud installs every driver."""

    daemon_sets: Sequence[CustomResource]

    def __init__(self, name: str, args: DriverDaemonSetArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:DriverDaemonSet", name, None, opts)
        self.daemon_sets = [
            kubernetes_object(
                f"{name}-{image}-{version}",
                daemon_set(f"{image}-{version}", args.cluster.cloud.driver_pod(image, version), pools),
                args.cluster.object_options(self),
            )
            for (image, version), pools in sorted(_by_variant(args.pools).items())
        ]
        self.register_outputs({"pools": [pool.name for pool in args.pools if pool.drivers == "daemonset"]})


def daemon_set(variant: str, pod: Mapping[str, Any], pools: Sequence[GpuPoolSpec]) -> dict[str, Any]:
    """The DaemonSet that runs ``pod`` on every present and future node of ``pools``, and nowhere else."""
    labels = {"k8s-app": INSTALLER_LABEL, VARIANT_LABEL: variant}
    only_these_pools = {"key": POOL_LABEL, "operator": "In", "values": [pool.name for pool in pools]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": f"{INSTALLER_LABEL}-{variant}", "namespace": "kube-system", "labels": labels},
        "spec": {
            "selector": {"matchLabels": labels},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    **pod,
                    "priorityClassName": "system-node-critical",
                    "automountServiceAccountToken": False,
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [{"matchExpressions": [only_these_pools]}]
                            }
                        }
                    },
                    "tolerations": tolerations(taint for pool in pools for taint in pool.taints),
                },
            },
        },
    }


def tolerations(taints: Iterable[Taint]) -> list[dict[str, str]]:
    """One exact toleration per distinct taint, in order of first appearance."""
    return [
        {"key": taint.key, "operator": "Equal", "value": taint.value or "", "effect": taint.effect}
        for taint in dict.fromkeys(taints)
    ]


def _by_variant(pools: Sequence[GpuPoolSpec]) -> dict[tuple[Image, DriverVersion], list[GpuPoolSpec]]:
    variants: dict[tuple[Image, DriverVersion], list[GpuPoolSpec]] = defaultdict(list)
    for pool in pools:
        if pool.drivers == "daemonset":
            variants[pool.image, pool.driver_version].append(pool)
    return variants
