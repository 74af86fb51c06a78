"""Machines that are there while a stack is updated, and the pods that have their GPUs: as the API server says."""

from __future__ import annotations

import asyncio
import json

import pulumi
import yaml

from components.clouds.base import RunningNodes
from components.clouds.deployed import Deployed
from facts.concepts.kubernetes import gpu_limit
from facts.concepts.pool import POOL_LABEL, Pool

_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


def running_nodes(kubeconfig: pulumi.Output[str]) -> RunningNodes:
    """Of a cluster whose administrator has the ``kubeconfig``: a pool is busy while pods have its GPUs.

    Not one whose GPUs nobody is to share any more: its machines say so at once, and so does their device plugin.
    """

    def busy(pool: Pool) -> pulumi.Output[str]:
        if pool.gpus.shares == 1:
            return pulumi.Output.from_input("")
        # Names are no secrets. As one, the DaemonSet's spec would be one in the state, which the next update reads.
        return pulumi.Output.unsecret(kubeconfig.apply(lambda known: asyncio.to_thread(_busy, known, pool.name)))

    return RunningNodes(deployed=Deployed(), busy=busy)


def _busy(kubeconfig: str, pool: str) -> str:
    # Few updates ask.
    from components.cluster_reader import ClusterReader, RefusedRequestError, SilentServerError

    reader = ClusterReader(json.dumps(yaml.safe_load(kubeconfig)))
    try:
        members = reader.items("/api/v1/nodes", labelSelector=f"{POOL_LABEL}={pool}")
        nodes = {each["metadata"]["name"] for each in members}
        pods = [
            f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            for each in reader.items("/api/v1/pods", fieldSelector=_NOT_ENDED)
            if each["spec"].get("nodeName") in nodes and gpu_limit(each["spec"])
        ]
    except (RefusedRequestError, SilentServerError) as error:
        return f"nodes, of whose pods nothing is known ({error})"
    return f"pods with GPUs ({', '.join(sorted(pods))})" if pods else ""
