"""Reads the nodes of ``packages/machines``, which are there whether or not anybody needs them: own machines, one each,
and pools of nodes that somebody else made."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.addresses import open_to_internet
from facts.concepts.declared import Cluster, NodeGroup
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.unknown import UNKNOWN, Maybe, amount, at, flag, items, texts
from policies.readers.resource import Declared, Item, Reader
from policies.readers.taints import taints_of

_KUBEADM: Final = "kubeadm"


def read_worker(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:Worker``, and an additional control plane, which is one more node."""
    yield _owned(declared, declared.named("machine", "name"), _KUBEADM, 1)


def read_control_plane(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:ControlPlane``: the cluster, and the node that system pods run on."""
    yield from read_worker(declared)
    encrypted = flag(at(declared.properties, "encryptSecrets"))
    yield Cluster(
        name=declared.name,
        cloud=_KUBEADM,
        managed_autoscaler=False,
        open_api=open_to_internet(items(at(declared.properties, "apiClients"))),
        secrets_key=UNKNOWN if encrypted is UNKNOWN else "a key on the machine" if encrypted else None,
        resource=declared.urn,
    )


def read_nodes(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:Nodes``, tainted by the program."""
    yield _owned(declared, declared.named("pool"), "existing", amount(at(declared.properties, "count")))


def read_look(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:ExistingCluster`` and ``Preflight``, which look and make nothing."""
    return ()


READERS: Final[Mapping[str, Reader]] = {
    "gpucluster-machines:index:ControlPlane": read_control_plane,
    "gpucluster-machines:index:AdditionalControlPlane": read_worker,
    "gpucluster-machines:index:ExistingCluster": read_look,
    "gpucluster-machines:index:Nodes": read_nodes,
    "gpucluster-machines:index:Preflight": read_look,
    "gpucluster-machines:index:Worker": read_worker,
}


def _owned(declared: Declared, name: str, cloud: str, nodes: Maybe[int]) -> NodeGroup:
    inputs = declared.properties
    return NodeGroup(
        name=name,
        cloud=cloud,
        kind="owned",
        gpus=Gpus(per_node=amount(at(inputs, "gpus"))),
        scaling=Scaling(autoscaled=False, min_nodes=nodes, max_nodes=nodes, capacity_type="fixed"),
        initial_nodes=nodes,
        nodes=Nodes(
            machine_types=(None,), zones=(), labels=texts(at(inputs, "labels")), taints=taints_of(at(inputs, "taints"))
        ),
        resource=declared.urn,
    )
