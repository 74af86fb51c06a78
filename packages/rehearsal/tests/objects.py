"""Kubernetes objects as a watch delivers them, for tests that feed a timeline by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from facts.concepts.kubernetes import Taint
from facts.concepts.pool import POOL_LABEL, Pool, admin_pool_labels, gpu_pool_labels
from rehearsal.scenario.timeline import Timeline
from tests.components import specs


@dataclass
class Clock:
    """A clock that moves only when told to."""

    moment: float = 100.0

    def __call__(self) -> float:
        return self.moment


@dataclass
class Cluster:
    """A timeline, its clock, and short words for what happens in a cluster."""

    timeline: Timeline
    clock: Clock

    @classmethod
    def empty(cls) -> Cluster:
        clock = Clock()
        return cls(Timeline(clock), clock)

    def after(self, seconds: float) -> Cluster:
        self.clock.moment += seconds
        return self

    def node(  # noqa: PLR0913 - a record of a test
        self,
        name: str,
        pool: str,
        *,
        size: int = 0,
        gpus: int | None = None,
        change: str = "ADDED",
        machine_type: str | None = None,
        zone: str = "us-central1-a",
        labels: Mapping[str, str] | None = None,
        taints: Sequence[Taint] = (),
        leaving: bool = False,
        offered: Mapping[str, str] | None = None,
    ) -> None:
        """A node as ``gpu_pool`` and ``admin_pool`` declare theirs, but for the taints."""
        machine = machine_type or ("n1-standard-4" if size else "e2-custom-2-10240")
        own = admin_pool_labels() if size == 0 else gpu_pool_labels(pool, "nvidia-t4", size, {})
        places = {"node.kubernetes.io/instance-type": machine, "topology.kubernetes.io/zone": zone}
        gpu = {"nvidia.com/gpu": str(size if gpus is None else gpus)} if size else {}
        status = {
            "conditions": [{"type": "Ready", "status": "True"}],
            "allocatable": {"cpu": "1930m", "memory": "6Gi", **gpu, **(offered or {})},
            "capacity": {"cpu": "2"},
        }
        metadata: dict[str, Any] = {"uid": name, "name": name, "labels": {**own, **places, **(labels or {})}}
        if leaving:
            metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        spec = {"taints": [{"key": each.key, "value": each.value or "", "effect": each.effect} for each in taints]}
        self.timeline.observe("Node", change, {"metadata": metadata, "spec": spec, "status": status})

    def deleted(self, name: str, pool: str, *, size: int = 0) -> None:
        self.node(name, pool, size=size, change="DELETED")

    def pod(  # noqa: PLR0913 - a record of a test
        self,
        name: str,
        *,
        node: str | None = None,
        phase: str = "Pending",
        gpus: int = 1,
        namespace: str = "default",
        owner: tuple[str, str] | None = None,
        change: str = "ADDED",
        labels: Mapping[str, str] | None = None,
        limits: Mapping[str, str] | None = None,
        uid: str = "",
    ) -> None:
        metadata: dict[str, Any] = {"uid": uid or f"{namespace}/{name}", "name": name, "namespace": namespace}
        metadata["labels"] = dict(labels or {})
        if owner is not None:
            metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
        resources = {"limits": {**({"nvidia.com/gpu": str(gpus)} if gpus else {}), **(limits or {})}}
        spec: dict[str, Any] = {"containers": [{"resources": resources}]}
        if node is not None:
            spec["nodeName"] = node
        self.timeline.observe("Pod", change, {"metadata": metadata, "spec": spec, "status": {"phase": phase}})

    def warning(
        self,
        about: str,
        message: str,
        *,
        kind: str = "Pod",
        reason: str = "FailedScheduling",
        pool: str | None = None,
        source: str = "",
        type: str = "Warning",
    ) -> None:
        metadata = {"uid": f"event-{len(self.timeline.events)}"}
        labels = {} if pool is None else {"labels": {POOL_LABEL: pool}}
        involved = {"kind": kind, "name": about}
        event = {"metadata": metadata | labels, "involvedObject": involved, "type": type, "reason": reason}
        event |= {"message": message, "reportingComponent": source}
        self.timeline.observe("Event", "ADDED", event)


def gpu_pool(name: str, size: int, *, most: int = 3, **changes: Any) -> Pool:
    """A GPU pool as settings would resolve it."""
    usual: dict[str, Any] = {"max_nodes": most, "hourly_usd": 0.36 * size}
    return specs.gpu_pool(name, size=size, **{**usual, **changes})


def admin_pool() -> Pool:
    """The admin pool with one node."""
    return specs.admin_pool(hourly_usd=0.09)


def job_yaml(pool: Pool) -> str:
    """A job for one whole node of a pool, as the program's ``gpuJobs`` output has it."""
    return f"""
apiVersion: batch/v1
kind: Job
metadata:
  name: try-{pool.name}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector:
        gpucluster.dev/pool: {pool.name}
      containers:
        - name: cuda
          image: nvidia/cuda:12.4.1-base-ubuntu22.04
          resources:
            limits:
              nvidia.com/gpu: {pool.gpus.allocatable}
"""
