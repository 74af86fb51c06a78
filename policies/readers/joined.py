"""Reads ``GpuPools``: what was looked up of a cluster that somebody else made, and what nobody could look up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Final

from facts.concepts.declared import Cluster, NodeGroup, NotEvaluated, UnknownReason
from facts.concepts.unknown import UNKNOWN, at, known_text, mapping
from policies.readers.resource import Declared, Item, Reader

_REMEDY: Final = "Make it answer, or check it by hand."
_PUT_OFF: Final = UnknownReason(
    "the update looks at more than this preview could, whose warnings say what",
    "Run the preview where the API server answers, as a user with the rights that the warnings name.",
)


def read_gpu_pools(declared: Declared) -> Iterable[Item]:
    """``gpucluster:index:GpuPools``: its cluster, with the node groups of others that system pods may run on.

    Nothing else of the cluster is the program's: its pools are not, and neither is what its owner permits to whom.
    """
    cloud = known_text(at(declared.properties, "cloudName"))
    if cloud is None:
        return
    properties = mapping(at(declared.properties, "cluster"))
    if properties is UNKNOWN:
        yield _unknown(cloud, declared)
    else:
        items = import_module(f"policies.readers.{cloud}.clusters").read_cluster(
            replace(declared, properties=properties)
        )
        listed = [*items]
        groups = tuple(each for each in listed if isinstance(each, NodeGroup))
        yield from (replace(each, other_groups=groups) for each in listed if isinstance(each, Cluster))
    reasons = mapping(at(declared.properties, "unknown"))
    if reasons is UNKNOWN:
        yield NotEvaluated(f"The cluster of {declared.name}", _PUT_OFF, declared.urn)
        return
    for what, why in reasons.items():
        reason = UnknownReason(str(why), _REMEDY)
        yield NotEvaluated(f"'{what}' of the cluster of {declared.name}", reason, declared.urn)


READERS: Final[Mapping[str, Reader]] = {"gpucluster:index:GpuPools": read_gpu_pools}


def _unknown(cloud: str, declared: Declared) -> Cluster:
    """A cluster that the update looks at."""
    return Cluster(
        name=UNKNOWN,
        cloud=cloud,
        region=UNKNOWN,
        private_nodes=UNKNOWN,
        secrets_key=UNKNOWN,
        open_api=UNKNOWN,
        open_to_cloud=UNKNOWN,
        shut_api=UNKNOWN,
        local_accounts=UNKNOWN,
        network_policies=UNKNOWN,
        pods_as_nodes=UNKNOWN,
        verified_boot=UNKNOWN,
        default_identity=UNKNOWN,
        other_groups=UNKNOWN,
        resource=declared.urn,
    )
