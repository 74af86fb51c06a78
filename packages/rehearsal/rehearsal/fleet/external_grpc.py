"""The groups of a cluster as the cloud provider of a real cluster-autoscaler, by its external gRPC protocol.

https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/externalgrpc#readme. A group is
one node group, or one per zone where its limits count per zone. Machines start at once: no size is ever outstanding.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import grpc
import yaml
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message_factory import GetMessages
from urllib3.exceptions import HTTPError

from facts.concepts.pool import POOL_LABEL
from machines.callers import LocalCallers, OwnUserOnly
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.fleet import group_nodes, machine_nodes
from rehearsal.fleet.groups import Groups
from rehearsal.fleet.machine_types import CAPACITY_TYPE, allocatable, capacity, capacity_type
from rehearsal.fleet.nodes import GPU_LABELS, GROUP_LABEL, ZONE, NodeTemplate

_TABLE: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
SERVICE: Final[str] = _TABLE["service"]
METHODS: Final[Mapping[str, tuple[str, str]]] = _TABLE["methods"]
"""Method → the messages of its request and its response."""

_RUNNING: Final = 1
ONLY_EMPTY: Final = 0.001
"""Utilisation of a GPU node with less than one GPU in use."""


def _classes() -> dict[str, Any]:
    file = FileDescriptorProto(name="external.proto", syntax="proto3")
    for name, fields in _TABLE["messages"].items():
        message = file.message_type.add(name=name)
        for field, (number, kind) in fields.items():
            base = kind.removeprefix("repeated ")
            label = "LABEL_OPTIONAL" if kind == base else "LABEL_REPEATED"
            typed = {"type_name": base} if base in _TABLE["messages"] else {"type": f"TYPE_{base.upper()}"}
            message.field.add(name=field, number=number, label=label, **typed)
    return GetMessages([file], DescriptorPool())


MESSAGES: Final = _classes()
"""Name → class of a message."""


class _Refusal(Exception):
    def __init__(self, code: grpc.StatusCode, message: str) -> None:
        super().__init__(message)
        self.code = code


def served_groups(templates: Iterable[NodeTemplate]) -> dict[str, NodeTemplate]:
    """Id → node group: an autoscaled group, or its share in one zone where its limits count per zone."""
    served = {}
    for template in templates:
        group, least = template.group, template.group.permanent()
        if group.scaling.autoscaled and group.per_zone:
            for zone in group.nodes.zones:
                share = replace(
                    group,
                    nodes=replace(group.nodes, zones=(zone,)),
                    scaling=replace(group.scaling, min_nodes=least[zone]),
                    per_zone=False,
                )
                served[f"{group.name}-{zone}"] = replace(template, group=share)
        elif group.scaling.autoscaled:
            served[group.name] = template
    return served


def new_node(template: NodeTemplate, zone: str) -> Object:
    """A node as its cloud starts it, with the label that all autoscaled nodes have."""
    manifest = template.node(zone)
    manifest["metadata"]["labels"][CAPACITY_TYPE] = capacity_type(template.group)
    return manifest


def planned_node(template: NodeTemplate) -> Object:
    """The node that the autoscaler plans with while there is none."""
    group = replace(template.group, late_labels={}, late_taints=())
    sizes = {"capacity": capacity(group.machine), "allocatable": allocatable(group.planned_machine)}
    status = {name: size.resources() for name, size in sizes.items()}
    return {**new_node(replace(template, group=group), group.nodes.zones[0]), "status": status}


def _planned(template: NodeTemplate) -> bytes:
    """The same, serialised."""
    node = planned_node(template)
    quantities = {
        name: [{"key": key, "value": {"string": value}} for key, value in size.items()]
        for name, size in node["status"].items()
    }
    labels = [{"key": key, "value": value} for key, value in node["metadata"]["labels"].items()]
    status = {**quantities, "conditions": [{"type": "Ready", "status": "True"}]}
    metadata = {"name": node["metadata"]["name"], "labels": labels}
    serialised: bytes = MESSAGES["Node"](metadata=metadata, spec=node["spec"], status=status).SerializeToString()
    return serialised


def _has(template: NodeTemplate, labels: Mapping[str, str]) -> bool:
    return labels.get(GROUP_LABEL) == template.group.name and labels.get(ZONE) in template.group.nodes.zones


def _described(id: str, template: NodeTemplate) -> dict[str, Any]:
    return {
        "id": id,
        "minSize": template.group.scaling.min_nodes,
        "maxSize": template.group.scaling.max_nodes,
        "debug": id,
    }


class NodeGroupServer:
    """Answers a cluster-autoscaler on ``port`` of 127.0.0.1, with the groups and nodes that there are at that time.

    ``options_by_group``: it asks for options of each group, such as thresholds; else its flags hold for all groups.
    """

    def __init__(self, api: Api, groups: Groups, *, options_by_group: bool) -> None:
        self._api = api
        self._groups = groups
        self._machines: dict[str, str] = {}
        self._resizing = threading.Lock()
        self._exhausted: frozenset[str] = frozenset()
        answers: Mapping[str, Callable[[Any], Mapping[str, Any]]] = {
            "NodeGroups": lambda request: {"nodeGroups": [_described(*each) for each in self._served().items()]},
            "NodeGroupForNode": self._group_of_node,
            "GPULabel": lambda request: {"label": self._gpus()[0]},
            "GetAvailableGPUTypes": lambda request: {"gpuTypes": [{"key": value} for value in self._gpus()[1]]},
            "Cleanup": lambda request: {},
            "Refresh": lambda request: {},
            "NodeGroupTargetSize": lambda request: {"targetSize": len(self._nodes(request))},
            "NodeGroupIncreaseSize": self._increase,
            "NodeGroupDeleteNodes": self._delete,
            "NodeGroupDecreaseTargetSize": self._decrease,
            "NodeGroupNodes": self._instances,
            "NodeGroupTemplateNodeInfo": lambda request: {"nodeBytes": _planned(self._find(request))},
            **({"NodeGroupGetOptions": self._options} if options_by_group else {}),
        }
        handlers = {name: _handler(name, answer) for name, answer in answers.items()}
        callers = LocalCallers()
        self._server = grpc.server(ThreadPoolExecutor(max_workers=8), interceptors=[OwnUserOnly(callers)])
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))
        self.port = callers.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def exhaust(self, pools: Collection[str]) -> None:
        """From now on exactly these pools (by node label) get no further node."""
        self._exhausted = frozenset(pools)

    def close(self) -> None:
        """Answer no more."""
        self._server.stop(grace=None).wait()

    def _served(self) -> Mapping[str, NodeTemplate]:
        return served_groups(self._groups.templates())

    def _find(self, request: Any) -> NodeTemplate:
        template = self._served().get(request.id)
        if template is None:
            raise _Refusal(grpc.StatusCode.NOT_FOUND, f"there is no node group {request.id}")
        return template

    def _nodes(self, request: Any) -> list[Object]:
        template = self._find(request)
        nodes = group_nodes.nodes_of(self._api, template.group.name)
        return [node for node in nodes if _has(template, node["metadata"]["labels"])]

    def _gpus(self) -> tuple[str, list[str]]:
        """The label of nodes with GPUs, and its values."""
        labels = [each.planned_labels for each in self._served().values()]
        key = next((key for key in GPU_LABELS if any(key in each for each in labels)), GPU_LABELS[0])
        return key, sorted({each[key] for each in labels if key in each})

    def _group_of_node(self, request: Any) -> Mapping[str, Any]:
        served, labels = self._served(), {each.key: each.value for each in request.node.labels}
        # It asks about machines without a Node, too, which have no labels: those that it has just removed.
        ids = [] if labels else [self._machines.get(request.node.providerID, "")]
        ids += [id for id, template in served.items() if _has(template, labels)]
        # Without an id: not one of the autoscaler's.
        return {"nodeGroup": next((_described(id, served[id]) for id in ids if id in served), {})}

    def _increase(self, request: Any) -> Mapping[str, Any]:
        template = self._find(request)
        most, zones = template.group.scaling.max_nodes, template.group.nodes.zones
        with self._resizing:
            nodes = self._nodes(request)
            if request.delta <= 0 or len(nodes) + request.delta > most:
                because = f"{request.id}: {len(nodes)} of at most {most} nodes, no room for {request.delta} more"
                raise _Refusal(grpc.StatusCode.INVALID_ARGUMENT, because)
            if template.labels.get(POOL_LABEL) in self._exhausted:
                raise _Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, f"there is no machine for {request.id} now")
            there = Counter(node["metadata"]["labels"][ZONE] for node in nodes)
            for _ in range(request.delta):
                zone = min(zones, key=there.__getitem__)
                self._api.create("/api/v1/nodes", new_node(template, zone))
                there[zone] += 1
        return {}

    def _delete(self, request: Any) -> Mapping[str, Any]:
        least = self._find(request).group.scaling.min_nodes
        with self._resizing:
            nodes = {node["metadata"]["name"] for node in self._nodes(request)}
            # A machine without a Node is gone already.
            names = {node.name for node in request.nodes if self._machines.get(node.name) != request.id}
            if strangers := sorted(names - nodes):
                raise _Refusal(grpc.StatusCode.INVALID_ARGUMENT, f"{', '.join(strangers)}: not of {request.id}")
            if len(nodes - names) < least:
                because = f"{request.id} has {len(nodes)} nodes, of which {least} remain"
                raise _Refusal(grpc.StatusCode.FAILED_PRECONDITION, because)
            for name in names:
                machine_nodes.remove(self._api, name)
        return {}

    def _decrease(self, request: Any) -> Mapping[str, Any]:
        self._find(request)
        raise _Refusal(grpc.StatusCode.FAILED_PRECONDITION, f"all nodes of {request.id} exist: delete them by name")

    def _instances(self, request: Any) -> Mapping[str, Any]:
        status, machines = {"instanceState": _RUNNING}, [node["spec"]["providerID"] for node in self._nodes(request)]
        self._machines |= dict.fromkeys(machines, request.id)
        return {"instances": [{"id": machine, "status": status} for machine in machines]}

    def _options(self, request: Any) -> Mapping[str, Any]:
        group, options = self._find(request).group, request.defaults
        options.scaleDownGpuUtilizationThreshold = ONLY_EMPTY if group.packing is None else group.packing.gpus_below
        if group.packing is not None:
            options.scaleDownUtilizationThreshold = group.packing.others_below
            options.ignoreDaemonSetsUtilization = group.packing.ignores_daemon_sets
        if group.scaling.unneeded_minutes is not None:
            # A minute of the cloud's is a second here.
            options.scaleDownUnneededDuration.seconds = group.scaling.unneeded_minutes
        return {"nodeGroupAutoscalingOptions": options}


def _handler(name: str, answer: Callable[[Any], Mapping[str, Any]]) -> grpc.RpcMethodHandler[Any, Any]:
    request, response = (MESSAGES[each] for each in METHODS[name])

    def behaviour(message: Any, context: grpc.ServicerContext) -> Any:
        try:
            return response(**answer(message))
        except _Refusal as refusal:
            context.abort(refusal.code, str(refusal))
        except (ApiError, HTTPError) as error:
            context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    return grpc.unary_unary_rpc_method_handler(behaviour, request.FromString, response.SerializeToString)
