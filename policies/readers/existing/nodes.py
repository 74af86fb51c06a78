"""Reads a pool of nodes that somebody else made: there whether or not anybody needs them, tainted by the program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import NodeGroup
from facts.concepts.unknown import amount, at, texts
from policies.readers.resource import Declared, Item, Reader
from policies.readers.taints import taints_of


def read_nodes(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:Nodes``."""
    inputs = declared.properties
    nodes = amount(at(inputs, "count"))
    yield NodeGroup(
        name=str(at(inputs, "pool") or declared.name),
        cloud="existing",
        kind="owned",
        gpus_per_node=amount(at(inputs, "gpus")),
        min_nodes=nodes,
        max_nodes=nodes,
        initial_nodes=nodes,
        taints=taints_of(at(inputs, "taints")),
        labels=texts(at(inputs, "labels")),
        resource=declared.urn,
    )


def read_cluster(declared: Declared) -> Iterable[Item]:
    """``gpucluster-machines:index:ExistingCluster``: nothing of it is the program's."""
    return ()


READERS: Final[Mapping[str, Reader]] = {
    "gpucluster-machines:index:ExistingCluster": read_cluster,
    "gpucluster-machines:index:Nodes": read_nodes,
}
