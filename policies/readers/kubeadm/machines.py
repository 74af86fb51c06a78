"""Reads the machines of ``packages/machines``: each is a node of a cluster, there whether or not anybody needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.kubernetes import Taint
from facts.concepts.unknown import UNKNOWN, Maybe, at, flag, items, text, texts, whole
from policies.readers.resource import Declared, Item, Reader

CLOUD: Final = "kubeadm"


def read_worker(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:Worker``."""
    yield _node(declared)


def read_control_plane(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:ControlPlane``: the cluster, and the node that system pods run on."""
    yield _node(declared)
    encrypted = flag(at(declared.properties, "encryptSecrets"))
    yield Cluster(
        name=declared.name,
        cloud=CLOUD,
        managed_autoscaler=False,
        secrets_key=UNKNOWN if encrypted is UNKNOWN else "a key on the machine" if encrypted else None,
        resource=declared.urn,
    )


def _node(declared: Declared) -> NodeGroup:
    inputs = declared.properties
    gpus = whole(at(inputs, "gpus"), default=0)
    return NodeGroup(
        name=str(at(inputs, "machine", "name") or declared.name),
        cloud=CLOUD,
        kind="owned",
        gpus_per_node=UNKNOWN if gpus is None else gpus,
        min_nodes=1,
        max_nodes=1,
        initial_nodes=1,
        taints=_taints(at(inputs, "taints")),
        labels=texts(at(inputs, "labels")),
        resource=declared.urn,
    )


def _taints(value: Any) -> Maybe[tuple[Taint, ...]]:
    taints: list[Taint] = []
    for entry in items(value):
        key, effect = text(at(entry, "key")), text(at(entry, "effect"))
        if key is UNKNOWN or effect is UNKNOWN or key is None:
            return UNKNOWN
        if effect in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            taints.append(Taint(key, str(at(entry, "value") or ""), effect))
    return tuple(taints)


READERS: Final[Mapping[str, Reader]] = {
    "gpucluster-machines:index:ControlPlane": read_control_plane,
    "gpucluster-machines:index:Worker": read_worker,
}
