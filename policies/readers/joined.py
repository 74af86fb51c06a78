"""Reads ``GpuPools``: what was looked up of a cluster that somebody else made, and what nobody could look up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from facts.concepts.declared import Cluster, NodeGroup, NotEvaluated, UnknownReason
from facts.concepts.unknown import UNKNOWN, at, flag, known_text, mapping, text
from policies.readers.resource import Declared, Item, Reader

POOLS_ON_OTHERS: Final = "gpucluster:index:GpuPools"
_REMEDY: Final = "Make it answer, or check it by hand."
_PUT_OFF: Final = UnknownReason(
    "this preview could not look at it, as its warnings say; the update does",
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
    reasons = mapping(at(declared.properties, "unknown"))
    unknown = {} if reasons is UNKNOWN else {str(what): str(why) for what, why in reasons.items()}
    if properties is UNKNOWN:
        yield _unknown(cloud, declared)
    else:
        known = {**properties, **dict.fromkeys(unknown, UNKNOWN)}
        read = import_module(f"policies.readers.{cloud}.clusters").read_cluster
        listed = [*read(replace(declared, properties=known))]
        groups = tuple(each for each in listed if isinstance(each, NodeGroup))
        yield from (_looked_up(each, groups, known) for each in listed if isinstance(each, Cluster))
    if reasons is UNKNOWN:
        yield NotEvaluated(f"What runs in the cluster of {declared.name}", _PUT_OFF, declared.urn, until_update=True)
    for what, why in unknown.items():
        yield NotEvaluated(f"'{what}' of the cluster of {declared.name}", UnknownReason(why, _REMEDY), declared.urn)


READERS: Final[Mapping[str, Reader]] = {POOLS_ON_OTHERS: read_gpu_pools}


def _looked_up(cluster: Cluster, groups: tuple[NodeGroup, ...], known: Mapping[str, Any]) -> Cluster:
    """With its node groups; where the cloud's resource does not have them, with what the cluster itself says:
    ``systemNodes`` (whether system pods have nodes), ``autoscaler`` and ``networkPolicies``."""
    home = NodeGroup(name="its other nodes", cloud=cluster.cloud, initial_nodes=1)
    if "systemNodes" not in known:
        return replace(cluster, other_groups=groups or ((home,) if cluster.managed_nodes is True else ()))
    homes, autoscaler = flag(known["systemNodes"]), text(known.get("autoscaler"))
    return replace(
        cluster,
        other_groups=UNKNOWN if homes is UNKNOWN else (home,) if homes else (),
        managed_autoscaler=UNKNOWN if autoscaler is UNKNOWN else autoscaler is not None,
        network_policies=flag(known.get("networkPolicies")),
    )


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
