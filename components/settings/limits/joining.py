"""A stack that adds its pools to a cluster that somebody else made: which keys its file may not have, and checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from components.settings.fields.problems import Problem
from components.settings.pools.settings import Settings
from facts.catalog.choices import Choices
from facts.concepts.autoscaler import KARPENTERS

KEY: Final = "existingCluster"
_OWNERS: Final = "belongs to the cluster, which the stack does not own"
REFUSED: Final[Mapping[str, str]] = {
    "availability": "Leave it out: the program looks up where the control plane is",
    "clusterName": "Leave it out: existingCluster.name is the cluster's name",
    "kubernetes": "Leave it out: the program reads the version at each update, and the cluster's owner upgrades it",
    "network": "Leave it out: pools take the cluster's network",
    "monitoring": "Leave it out: the cluster's owner decides what the cloud collects",
    "maintenance": "Leave it out: the cluster's owner decides when it is upgraded",
    "autoscaling": "Leave it out: the program reads how the cluster scales",
    "adminPool": "Leave it out: system pods run on the nodes that the cluster has",
    "cpuPools": "Leave it out, and make pools without GPUs where the cluster is made",
    "addons": "Leave it out, and install add-ons where the cluster is made",
    "addonVersions": "Leave it out, and install add-ons where the cluster is made",
    "workloads": "Leave it out, and install tools with their own charts",
    "identities": "Leave it out: the cluster's owner decides about identities of pods",
    "access": "Leave it out: the cluster's owner decides who has access",
    "teams": "Leave it out: namespaces and their quotas are the cluster owner's",
    "raw": "Leave it out: it has inputs of the cluster; raw of a pool has those of the pool",
}
"""Key of the file → what to do, where the cluster is somebody else's."""

_DEFAULTS: Final[Mapping[str, object]] = {"availability": "zonal"}
"""What Pulumi.yaml gives every stack, beside empty values."""
_OWN_SECURITY: Final = ("diskKey",)
_OWN_SCALING: Final = ("autoscaler",)
SOME_OF: Final[Mapping[str, tuple[str, ...]]] = {"security": _OWN_SECURITY, "autoscaling": _OWN_SCALING}
"""Sections of which pools have some keys."""
# The file need not say who reaches a control plane that nobody makes.
UNSEEN_NETWORK: Final = {"privateEndpoint": True, "dnsEndpoint": True}


def belonging_to_cluster(raw: Mapping[str, Any], choices: Choices) -> tuple[dict[str, Any], list[Problem]]:
    """The keys of a file that are about pools, and a problem for each of the others."""
    own = dict(SOME_OF)
    if len(choices.autoscalers) <= 1:
        del own["autoscaling"]
    problems = [
        Problem(key, _OWNERS, remedy)
        for key, remedy in REFUSED.items()
        if key in raw and raw[key] not in ({}, []) and raw[key] != _DEFAULTS.get(key) and key not in own
    ]
    kept = {key: value for key, value in raw.items() if key not in REFUSED or key in own}
    for name, keys in own.items():
        section = raw.get(name)
        if isinstance(section, Mapping):
            problems += [
                Problem(
                    f"{name}.{key}",
                    _OWNERS,
                    f"Leave it out; that of the nodes is {KEY}.nodeIdentity"
                    if (name, key) == ("security", "nodeIdentity")
                    else f"Leave it out; of {name}, pools have {', '.join(keys)}",
                )
                for key in section
                if key not in keys
            ]
            kept[name] = {key: value for key, value in section.items() if key in keys}
    return {**kept, "network": UNSEEN_NETWORK}, problems


def is_of_pools(path: str) -> bool:
    """Whether a problem is about a key that such a file may have; others are about what nobody makes."""
    return path.partition(".")[0] not in REFUSED or path.partition(".")[2] in _OWN_SCALING


def needs_of_owner(settings: Settings) -> Iterator[Problem]:
    """What needs a part of the cluster that only its owner can change."""
    joins = settings.known.choices.joins_clusters
    if settings.autoscaler not in joins:
        text = f"pools on a cluster of others with {settings.autoscaler} are not supported yet"
        yield Problem("autoscaling.autoscaler", text, f"Write {' or '.join(joins)}, if the cluster has it")
    for index, entry in enumerate(settings.file.gpu_pools):
        if len(entry.capacity) > 1 and settings.autoscaler not in KARPENTERS:
            yield Problem(
                f"gpuPools[{index}].capacity",
                "an order of capacity types needs the cluster's autoscaler, which is somebody else's; another entry is "
                "another pool, which pods select by name",
                f"Write capacity: {entry.capacity[0]}",
            )
        if entry.image_streaming:
            yield Problem(
                f"gpuPools[{index}].imageStreaming",
                "it needs a role of the nodes' identity, which is the cluster owner's",
                "Leave it out",
            )
