"""Reads KAITO's Workspace: GPU machines that an operator makes for one model, and keeps.

https://github.com/kaito-project/kaito/blob/main/api/v1beta1/workspace_types.go
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from concepts.declared import NodeGroup
from concepts.unknown import UNKNOWN, at, text, whole
from policies.readers.aks.facts import CLOUD, gpus_of_size
from policies.readers.kubernetes.objects import read_custom_resource
from policies.readers.resource import Declared, Item, Reader


def read_workspace(declared: Declared) -> Iterable[Item]:
    """``Workspace``: ``resource.count`` machines of ``resource.instanceType``, one by default, until it is deleted."""
    wanted = declared.properties.get("resource")
    size = text(at(wanted, "instanceType"))
    gpus = UNKNOWN if size is UNKNOWN else gpus_of_size(size)
    if gpus != 0:
        count = whole(at(wanted, "count"), default=1)
        yield NodeGroup(
            name=f"workspace {declared.name}",
            cloud=CLOUD,
            kind="machine",
            gpus_per_node=gpus,
            initial_nodes=0 if count is None else count,
            machine_type=size,
            resource=declared.urn,
        )
    yield from read_custom_resource(declared)


READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:kaito.sh/*:Workspace": read_workspace,
    "kubernetes:kaito.sh/*:WorkspacePatch": read_workspace,
}
