"""Reads the machines of ``packages/machines``: each is a node of a cluster, there whether or not anybody needs it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.unknown import UNKNOWN, amount, at, flag, texts
from policies.readers.resource import Declared, Item, Reader
from policies.readers.taints import taints_of

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
    return NodeGroup(
        name=str(at(inputs, "machine", "name") or declared.name),
        cloud=CLOUD,
        kind="owned",
        gpus_per_node=amount(at(inputs, "gpus")),
        min_nodes=1,
        max_nodes=1,
        initial_nodes=1,
        taints=taints_of(at(inputs, "taints")),
        labels=texts(at(inputs, "labels")),
        resource=declared.urn,
    )


READERS: Final[Mapping[str, Reader]] = {
    "gpucluster-machines:index:ControlPlane": read_control_plane,
    "gpucluster-machines:index:Worker": read_worker,
}
