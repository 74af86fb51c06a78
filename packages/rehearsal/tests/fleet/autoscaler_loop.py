"""What a cluster-autoscaler calls in a loop, as a program with its flags.

It starts one node for a pending pod that fits the template of a group, and deletes nodes without pods once they have
been so for the group's time.
"""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import yaml

from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.fleet.external_grpc import MESSAGES, METHODS, SERVICE
from rehearsal.fleet.pod_placement import refusal


class Provider:
    """The cloud provider behind an address, a method per call; raises grpc.RpcError."""

    def __init__(self, address: str) -> None:
        self._channel = grpc.insecure_channel(address)

    def call(self, method: str, **fields: Any) -> Any:
        """The response's message."""
        request, response = (MESSAGES[each] for each in METHODS[method])
        call = self._channel.unary_unary(f"/{SERVICE}/{method}", request.SerializeToString, response.FromString)
        return call(request(**fields), timeout=30)

    def template(self, id: str) -> Object:
        """The node that a group is planned with, as Kubernetes' JSON."""
        node = MESSAGES["Node"].FromString(self.call("NodeGroupTemplateNodeInfo", id=id).nodeBytes)
        taints = [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.spec.taints]
        sizes = {each.key: each.value.string for each in node.status.allocatable}
        labels = {each.key: each.value for each in node.metadata.labels}
        return {"metadata": {"labels": labels}, "spec": {"taints": taints}, "status": {"allocatable": sizes}}

    def size(self, id: str) -> int:
        size: int = self.call("NodeGroupTargetSize", id=id).targetSize
        return size


def loop(provider: Provider, api: Api, idle: dict[str, float]) -> None:
    """One look: at most one node more for each group, and fewer by what is idle; ``idle``: node → since when."""
    provider.call("Refresh")
    groups = provider.call("NodeGroups").nodeGroups
    pods = api.list("/api/v1/pods")
    pending = [pod for pod in pods if pod["metadata"]["namespace"] == "default" and not pod["spec"].get("nodeName")]
    used = {pod["spec"].get("nodeName") for pod in pods if pod["status"]["phase"] in ("Pending", "Running")}
    now = time.monotonic()
    for group in groups:
        size = provider.size(group.id)
        template = provider.template(group.id)
        fits = any(refusal(pod["spec"], template) is None for pod in pending)
        if fits and size < group.maxSize:
            provider.call("NodeGroupIncreaseSize", id=group.id, delta=1)
            pending = []
    for node in api.list("/api/v1/nodes"):
        name, labels = node["metadata"]["name"], node["metadata"]["labels"]
        pairs = [{"key": key, "value": value} for key, value in labels.items()]
        mine = {"name": name, "providerID": node["spec"]["providerID"], "labels": pairs}
        group = provider.call("NodeGroupForNode", node=mine).nodeGroup
        if not group.id or name in used:
            idle.pop(name, None)
            continue
        options = provider.call("NodeGroupGetOptions", id=group.id, defaults={"scaleDownUnneededDuration": {}})
        patience = options.nodeGroupAutoscalingOptions.scaleDownUnneededDuration.seconds
        if now - idle.setdefault(name, now) > patience and provider.size(group.id) > group.minSize:
            api.merge(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": True}})
            provider.call("NodeGroupDeleteNodes", id=group.id, nodes=[mine])


def main(flags: list[str]) -> None:
    """Loop every half second, for ever: a group that goes meanwhile ends only this look."""
    values = dict(flag.lstrip("-").split("=", 1) for flag in flags)
    assert values["cloud-provider"] == "externalgrpc"
    provider = Provider(yaml.safe_load(Path(values["cloud-config"]).read_text())["address"])
    api, idle = Api(Kubeconfig.parse(Path(values["kubeconfig"]).read_text())), dict[str, float]()
    while True:
        with suppress(grpc.RpcError):
            loop(provider, api, idle)
        time.sleep(0.5)


if __name__ == "__main__":
    main(sys.argv[1:])
