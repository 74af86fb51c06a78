"""The baseline of the scheduling measurement: a pool given straight to the autoscaler, without our program.

The pool is written out here, and not derived from the program, so that the two can differ.
"""

from __future__ import annotations

from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.fleet import KarpenterFleet
from rehearsal.providers.gke.system import system_objects
from rehearsal.simulation import NodeShape, Packing, SimulatedNodeGroup

GPUS_PER_NODE: Final = 8
POOL: Final = f"bench-{GPUS_PER_NODE}"
GPU: Final = "nvidia-v100"
_CLUSTER: Final = "baseline"
_ZONES: Final = ("us-central1-a",)


def groups(max_nodes: int) -> tuple[SimulatedNodeGroup, SimulatedNodeGroup]:
    """One admin node, and spot machines with eight V100 each, up to ``max_nodes``."""
    admin = SimulatedNodeGroup(
        name="admin",
        cluster=_CLUSTER,
        machine=NodeShape("e2-custom-2-10240", 2, 10),
        zones=_ZONES,
        labels={"gpucluster.dev/role": "admin", "gpucluster.dev/pool": "admin"},
        autoscaled=False,
        initial_nodes=1,
        max_nodes=1,
    )
    gpu = SimulatedNodeGroup(
        name=POOL,
        cluster=_CLUSTER,
        machine=NodeShape("n1-standard-32", 32, 120, GPUS_PER_NODE, "nvidia-tesla-v100"),
        zones=_ZONES,
        labels={
            "nvidia.com/gpu.present": "true",
            "gpucluster.dev/pool": POOL,
            "cloud.google.com/gke-nodepool": POOL,
            "cloud.google.com/gke-accelerator": "nvidia-tesla-v100",
            "cloud.google.com/gke-os-distribution": "cos",
            "iam.gke.io/gke-metadata-server-enabled": "true",
        },
        taints=({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},),
        max_nodes=max_nodes,
        spot=True,
        hourly_usd=8.5,
        # Little-used nodes are emptied in every autoscaled pool of GKE:
        # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#operating_criteria
        packing=Packing(gpus_below=0.5, others_below=0.5, moves_system_pods=False, moves_local_storage=True),
    )
    return admin, gpu


def serve(run_dir: Path, tools: Path, max_nodes: int, client: Connection) -> None:
    """Start the control plane and the autoscaler of a rehearsal, send the kubeconfig, run until ``client`` closes."""
    with ControlPlane(run_dir, tools=tools) as plane:
        fleet = KarpenterFleet(plane, run_dir, tools)
        try:
            fleet.create_cluster(
                _CLUSTER, version="1.34.4", region="us-central1", zones=_ZONES, system_objects=system_objects({})
            )
            for group in groups(max_nodes):
                fleet.apply_group(group)
            fleet.settle()
            client.send(plane.kubeconfig.read_text())
            with suppress(EOFError):
                client.recv()
        finally:
            fleet.close()
