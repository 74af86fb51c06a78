"""Labels and taints of a cloud's nodes, labels of its pods, and tags of its resources."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from facts.catalog import tables
from facts.catalog.machines import GPUS, accelerators
from facts.catalog.tags import TagGrammar
from facts.concepts.kubernetes import GPU_RESOURCE, Taint, resource_of
from facts.concepts.pool import ARM, SKYPILOT_LABEL, Pool

Text = TypeVar("Text")


@dataclass(frozen=True, kw_only=True)
class Labels:
    """The labels that ``cloud`` sets or reads."""

    cloud: str
    tags: TagGrammar | None = None
    """How tags are written; ``None`` where resources have labels alone."""
    account: Mapping[str, str] = field(default_factory=dict)
    """Labels by which a pod of a service account with an identity in the cloud gets it."""
    fabric: Mapping[str, str] = field(default_factory=dict)
    """Labels of nodes with RDMA devices."""
    accelerated: tuple[str, ...] = ()
    """Labels that the cloud sets on nodes with GPUs or other accelerators."""
    gpu_claims: Mapping[str, str] = field(default_factory=dict)
    """Labels of a pool for whose claims for GPUs (dynamic resource allocation) the cloud's autoscaler adds nodes."""
    spot_taints: tuple[Taint, ...] = ()
    """Taints that the cloud puts on every spot node by itself."""
    gpu: str | None = None
    """The label that the cloud's autoscaler needs on GPU nodes and that the pool itself must declare."""
    skypilot: frozenset[str] = frozenset()
    """Autoscalers whose GPU pools carry the label by which SkyPilot selects; nodes of others have one of their cloud's
    that it knows."""
    room: Callable[[Pool, Mapping[str, str]], int] | None = None
    """Pool and labels of the stack → how many more labels the pool can have; ``None`` if any number."""

    def of_gpu(self, gpu: str) -> Mapping[str, str]:
        """Labels that a pool of that GPU must declare for the cloud's autoscaler, which waits for NVIDIA's alone:
        https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/processors/customresources/gpu_processor.go
        """
        if self.gpu is None or resource_of(gpu) != GPU_RESOURCE:
            return {}
        return {self.gpu: accelerators(self.cloud)[gpu].name}

    def of_chips(self, accelerator: Text, topology: Text) -> Mapping[str, Text]:
        """Labels that the cloud sets on nodes whose chips have a topology, and pods have to select: the names of the
        chip and of the topology."""
        values = {"accelerator": accelerator, "topology": topology}
        rows = tables.rows(self.cloud, "own_labels")
        return {row["label"]: values[row["of_chips"]] for row in rows if row["of_chips"]}

    def of_launchers(self, pool: Pool, autoscaler: str, stack_labels: Mapping[str, str]) -> Mapping[str, str]:
        """Labels by which launchers select a GPU pool that may be empty; none for parts of GPUs, for chips of
        other makers, for machines with Arm CPUs (whose taint no launcher tolerates), and where the pool has no room
        beside its own labels and those of the stack: what the user wrote comes first.

        https://github.com/skypilot-org/skypilot/blob/v0.14.1/sky/provision/kubernetes/utils.py (``GenericAutoscaler``
        has the label of ``SkyPilotLabelFormatter``, whose values are in lower case)
        """
        parts = pool.gpus.shared is not None or pool.gpus.mig is not None
        if autoscaler not in self.skypilot or parts or not pool.gpus.of_nvidia or pool.arch == ARM:
            return {}
        if self.room is not None and self.room(pool, stack_labels) < 1:
            return {}
        return {SKYPILOT_LABEL: GPUS[pool.gpus.type].skypilot.lower()}
