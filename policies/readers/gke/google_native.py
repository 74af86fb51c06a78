"""Reads the resources of the Google Cloud Native provider, whose properties are spelled as in Google's REST API.

https://www.pulumi.com/registry/packages/google-native/api-docs/container/v1/nodepool/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.declared import NodeGroup
from facts.concepts.unknown import UNKNOWN, at, flag, items
from policies.readers.gke.clusters import read_cluster, read_instance, read_node_pool
from policies.readers.gke.facts import CLOUD
from policies.readers.resource import Declared, Item, Reader


def read_native_node_pool(declared: Declared) -> Iterable[Item]:
    """``google-native:container/v1:NodePool``."""
    pool = declared.properties
    yield from read_node_pool(_with(declared, {**_pool(pool), "cluster": pool.get("clusterId")}))


def read_native_cluster(declared: Declared) -> Iterable[Item]:
    """``google-native:container/v1:Cluster``."""
    inputs = declared.properties
    pools = inputs.get("nodePools")
    limits = at(inputs, "autoscaling", "resourceLimits")
    yield from read_cluster(
        _with(
            declared,
            {
                **inputs,
                "nodeConfig": _config(inputs.get("nodeConfig")),
                "enableAutopilot": at(inputs, "autopilot", "enabled"),
                "nodeLocations": inputs.get("locations"),
                "nodePools": pools if pools is None or pools is UNKNOWN else [_pool(pool) for pool in items(pools)],
                "clusterAutoscaling": {
                    "enabled": at(inputs, "autoscaling", "enableNodeAutoprovisioning"),
                    "resourceLimits": limits,
                },
            },
        )
    )


def read_native_instance(declared: Declared) -> Iterable[Item]:
    """``google-native:compute/v1:Instance`` and ``InstanceTemplate``."""
    inner = at(declared.properties, "properties")
    if inner is UNKNOWN:  # of a template: what it is made of is not known yet
        yield NodeGroup(declared.name, CLOUD, kind="machine", gpus_per_node=UNKNOWN, resource=declared.urn)
        return
    inputs: Mapping[str, Any] = inner if isinstance(inner, Mapping) else declared.properties
    machine = inputs.get("machineType")
    # The API takes a URL: projects/P/zones/Z/machineTypes/TYPE.
    named = machine.rpartition("/")[2] if isinstance(machine, str) else machine
    flat = {**inputs, "machineType": named, "guestAccelerators": _accelerators(inputs.get("guestAccelerators"))}
    yield from read_instance(_with(declared, flat))


READERS: Final[Mapping[str, Reader]] = {
    "google-native:container/*:NodePool": read_native_node_pool,
    "google-native:container/*:Cluster": read_native_cluster,
    "google-native:compute/*:Instance": read_native_instance,
    "google-native:compute/*:InstanceTemplate": read_native_instance,
}


def _with(declared: Declared, properties: Mapping[str, Any]) -> Declared:
    return Declared(declared.type, declared.name, declared.urn, properties)


def _pool(pool: Any) -> Any:
    if not isinstance(pool, Mapping):
        return pool
    scaling = pool.get("autoscaling")
    off = scaling is not UNKNOWN and flag(at(scaling, "enabled")) is False
    return {
        **pool,
        "nodeConfig": _config(pool.get("config")),
        "nodeLocations": pool.get("locations"),
        "autoscaling": None if off else scaling,
    }


def _config(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return config
    return {**config, "guestAccelerators": _accelerators(config.get("accelerators"))}


def _accelerators(value: Any) -> Any:
    if value is UNKNOWN:
        return UNKNOWN
    return [
        entry if entry is UNKNOWN else {"type": at(entry, "acceleratorType"), "count": at(entry, "acceleratorCount")}
        for entry in items(value)
    ]
