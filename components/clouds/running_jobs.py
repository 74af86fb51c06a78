"""Machines that are there while a stack is updated, and the pods that have their GPUs: as the API server says."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Collection

import pulumi
import yaml

from components.clouds.base import RunningNodes
from components.clouds.deployed import Deployed
from facts.concepts.kubernetes import gpu_limit
from facts.concepts.pool import POOL_LABEL, Pool

_NOT_ENDED = "status.phase!=Succeeded,status.phase!=Failed"


def running_nodes(
    kubeconfig: pulumi.Output[str], deployed: Deployed, former_names: Callable[[Pool], Collection[str]]
) -> RunningNodes:
    """Of a cluster whose administrator has the ``kubeconfig``: a pool is busy while pods have its GPUs.

    Not one whose GPUs nobody is to share any more: its machines say so at once, and so does their device plugin.
    ``former_names``: of the pools in which a pool's nodes were after the last update.
    """

    def former_name(pool: Pool) -> str:
        names = former_names(pool)
        return pool.name if pool.name in names else next(iter(names), pool.name)

    def busy(pool: Pool) -> pulumi.Output[str]:
        if pool.gpus.shares == 1:
            return pulumi.Output.from_input("")
        # Names are no secrets. As one, the DaemonSet's spec would be one in the state, which the next update reads.
        names = {pool.name, former_name(pool)}
        return pulumi.Output.unsecret(kubeconfig.apply(lambda known: asyncio.to_thread(_busy, known, names)))

    return RunningNodes(deployed=deployed, busy=busy, former_name=former_name)


def _busy(kubeconfig: str, pools: Collection[str]) -> str:
    # Few updates ask.
    from components.cluster_reader import ClusterReader, RefusedRequestError, SilentServerError

    reader = ClusterReader(json.dumps(yaml.safe_load(kubeconfig)))
    try:
        nodes = {
            each["metadata"]["name"]
            for pool in pools
            for each in reader.items("/api/v1/nodes", labelSelector=f"{POOL_LABEL}={pool}")
        }
        pods = [
            f"{each['metadata']['namespace']}/{each['metadata']['name']}"
            for each in reader.items("/api/v1/pods", fieldSelector=_NOT_ENDED)
            if each["spec"].get("nodeName") in nodes and gpu_limit(each["spec"])
        ]
    except (RefusedRequestError, SilentServerError) as error:
        return f"nodes, of whose pods nothing is known ({error})"
    return f"pods with GPUs ({', '.join(sorted(pods))})" if pods else ""
