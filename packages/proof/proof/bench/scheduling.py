"""How long many one-GPU pods take until all run: on our program's pool, over the same pool without our program.

The pool of the other is written out here, and not derived from the program, so that the two can differ. Nodes have
eight GPUs: every GKE node brings eight pods of its own, which on one-GPU nodes would be most of the work.
"""

from __future__ import annotations

import math
import multiprocessing
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling
from proof.bench.project import Goal, Sample, stack_with, workspace
from rehearsal.cluster.api import Api
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.engine.engine import Engine, EngineError
from rehearsal.engine.stack import ROOT
from rehearsal.fleet import KarpenterFleet
from rehearsal.providers.gke.system import system_objects
from rehearsal.sandbox.client import SandboxError, SandboxHandle
from rehearsal.scenario.plan import HELD, SECONDS
from rehearsal.scenario.timeline import Timeline
from rehearsal.scenario.user import User, Watcher
from rehearsal.simulation import NodeShape, Packing, SimulatedNodeGroup

GPUS_PER_NODE: Final = 8
POOL: Final = f"bench-{GPUS_PER_NODE}"
GPU: Final = "nvidia-v100"
_CLUSTER: Final = "baseline"
_ZONES: Final = ("us-central1-a",)
_START_TIMEOUT_SECONDS: Final = 300.0
_RUN_TIMEOUT_SECONDS: Final = 1800.0


def measure_scheduling(tools: Path, pods: int, repetitions: int) -> list[Goal]:
    """Both variants in turns; every repetition has clusters of its own."""
    ours, bare = [], []
    nodes = math.ceil(pods / GPUS_PER_NODE)
    with workspace("scheduling") as folder:
        for number in range(repetitions):
            with _our_cluster(folder / f"ours-{number}", tools, nodes) as kubeconfig:
                ours.append(_until_all_run(kubeconfig, pods))
            with bare_cluster(folder / f"bare-{number}", tools, nodes) as kubeconfig:
                bare.append(_until_all_run(kubeconfig, pods))
    mine, baseline = Sample(tuple(ours)), Sample(tuple(bare))
    name = f"{pods} one-GPU pods on {nodes} new nodes"
    return [
        Goal(f"{name}, autoscaler alone", baseline, "s"),
        # A ratio of two noisy times: within a twentieth of 1 is 1.
        Goal(f"{name}, our pools", mine.over(baseline), "× alone", 1.05),
    ]


def our_stack(folder: Path, max_nodes: int) -> Path:
    """A stack file with one GPU pool of so many nodes; the admin pool grows with what these need of the system pods."""
    name = POOL.removesuffix(f"-{GPUS_PER_NODE}")
    pool = {"name": name, "gpu": GPU, "gpusPerNode": GPUS_PER_NODE, "capacity": "spot", "maxNodes": max_nodes}
    network = {"authorizedNetworks": [{"name": "me", "cidr": "203.0.113.17/32"}], "podCidr": "10.64.0.0/12"}
    return stack_with(folder, "scheduling", {"gpuPools": [pool], "network": network, "adminPool": {"maxNodes": 4}})


@contextmanager
def _our_cluster(folder: Path, tools: Path, max_nodes: int) -> Iterator[str]:
    """A cluster made by the program: one GPU pool, large enough for every pod."""
    folder.mkdir()
    stack_file = our_stack(folder, max_nodes)
    with SandboxHandle(folder, tools=tools, clouds=("gcp",)) as sandbox:
        engine = Engine.create(project=ROOT, stack="scheduling", stack_file=stack_file, run_dir=folder, path=(tools,))
        facts = sandbox.ready()
        result = replace(engine, home=facts.pulumi_home, path=(facts.plugins, tools)).up()
        if not result.ok or facts.kubeconfig is None:
            raise EngineError(f"the update before the measurement failed: {result.reason}")
        yield facts.kubeconfig.read_text()


@contextmanager
def bare_cluster(folder: Path, tools: Path, max_nodes: int) -> Iterator[str]:
    """A cluster with the same pool, declared by hand, in a process of its own as a rehearsal's."""
    folder.mkdir()
    processes = multiprocessing.get_context("spawn")
    mine, its = processes.Pipe()
    process = processes.Process(target=serve, args=(folder, tools, max_nodes, its))
    process.start()
    its.close()
    try:
        if not mine.poll(_START_TIMEOUT_SECONDS):
            raise SandboxError(f"the baseline did not start within {_START_TIMEOUT_SECONDS:.0f} s")
        yield mine.recv()
    except EOFError as error:
        raise SandboxError(f"the baseline ended with exit code {process.exitcode}") from error
    finally:
        mine.close()
        process.join()


def _until_all_run(kubeconfig: str, pods: int) -> float:
    """Submit one Job of so many held pods; seconds until the last of them runs."""
    api = Api(Kubeconfig.parse(kubeconfig))
    timeline = Timeline()
    watcher = Watcher(api, timeline)
    try:
        begun = timeline.now()
        reply = User(api).create(gpu_job("many", pods, {SECONDS: HELD}))
        if not reply.ok:
            raise SandboxError(f"the job was refused: {reply.message}")
        if not timeline.wait_until(lambda: _running(timeline) >= pods, _RUN_TIMEOUT_SECONDS):
            raise SandboxError(f"only {_running(timeline)} of {pods} pods ran within {_RUN_TIMEOUT_SECONDS:.0f} s")
        return timeline.now() - begun
    finally:
        watcher.stop()


def _running(timeline: Timeline) -> int:
    return sum(pod.phase == "Running" and pod.deleted is None for pod in timeline.pods_of("many"))


def gpu_job(name: str, pods: int, annotations: Mapping[str, str]) -> dict[str, Any]:
    """A Job of so many one-GPU pods with these ``annotations``, all at once."""
    container = {"name": "cuda", "image": "nvidia/cuda:12.2.2-base-ubuntu22.04", "command": ["nvidia-smi"]}
    limits = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    spec = {
        "restartPolicy": "Never",
        "nodeSelector": {"gpucluster.dev/pool": POOL},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container | limits],
    }
    template = {"metadata": {"annotations": dict(annotations)}, "spec": spec}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {"parallelism": pods, "completions": pods, "backoffLimit": pods, "template": template},
    }


def groups(max_nodes: int) -> tuple[SimulatedNodeGroup, SimulatedNodeGroup]:
    """Admin nodes, and spot machines with eight V100 each, up to ``max_nodes``.

    One admin node for each fifty machines: the replicas of kube-dns, which GKE makes more of with the cluster's cores,
    find no place otherwise, and the scheduler tries them again with every new node.
    """
    admin_nodes = 1 + max_nodes // 50
    admin = SimulatedNodeGroup(
        name="admin",
        cluster=_CLUSTER,
        machine=NodeShape(2, 10),
        nodes=Nodes(
            machine_types=("e2-custom-2-10240",),
            zones=_ZONES,
            labels={"gpucluster.dev/role": "admin", "gpucluster.dev/pool": "admin"},
        ),
        scaling=Scaling(autoscaled=False, max_nodes=admin_nodes),
        initial_nodes=admin_nodes,
    )
    gpu = SimulatedNodeGroup(
        name=POOL,
        cluster=_CLUSTER,
        machine=NodeShape(32, 120, GPUS_PER_NODE, "nvidia-tesla-v100"),
        nodes=Nodes(
            machine_types=("n1-standard-32",),
            zones=_ZONES,
            labels={
                "nvidia.com/gpu.present": "true",
                "gpucluster.dev/pool": POOL,
                "cloud.google.com/gke-nodepool": POOL,
                "cloud.google.com/gke-accelerator": "nvidia-tesla-v100",
                "cloud.google.com/gke-os-distribution": "cos",
                "iam.gke.io/gke-metadata-server-enabled": "true",
            },
            taints=(Taint("nvidia.com/gpu", "present", "NoSchedule"),),
            hourly_usd=8.5,
        ),
        scaling=Scaling(max_nodes=max_nodes, capacity_type="spot"),
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
