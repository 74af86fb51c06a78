"""Google's resources by the names of its own APIs: of the provider ``google-native``, which is archived and in use.

https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters,
https://docs.cloud.google.com/compute/docs/reference/rest/v1/instances
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN, at, coalesce, flag, items
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, renaming, respelled


def read_node_pool(declared: Declared) -> Iterable[Declared]:
    """``container/v1`` ``NodePool``."""
    inputs = declared.properties
    pool = {**_pool(inputs), "name": inputs.get("name"), "cluster": inputs.get("clusterId")}
    yield respelled(declared, "gcp:container/nodePool:NodePool", {**pool, "location": inputs.get("location")})


def read_cluster(declared: Declared) -> Iterable[Declared]:
    """``container/v1`` ``Cluster``. One that says nothing of its networks answers everybody, as it does elsewhere."""
    inputs = declared.properties
    networks = inputs.get("masterAuthorizedNetworksConfig")
    scaling = inputs.get("autoscaling")
    renamed = {
        **inputs,
        "nodeLocations": inputs.get("locations"),
        "enableAutopilot": at(inputs, "autopilot", "enabled"),
        "enableLegacyAbac": coalesce(at(inputs, "legacyAbac", "enabled"), False),
        "enableShieldedNodes": at(inputs, "shieldedNodes", "enabled"),
        "datapathProvider": at(inputs, "networkConfig", "datapathProvider"),
        "networkConfig": at(inputs, "nodePoolDefaults", "nodeConfigDefaults"),
        "masterAuthorizedNetworksConfig": None if flag(at(networks, "enabled")) is False else networks,
        "clusterAutoscaling": None
        if scaling is None
        else {
            "enabled": at(scaling, "enableNodeAutoprovisioning"),
            "resourceLimits": at(scaling, "resourceLimits"),
            "autoProvisioningDefaults": at(scaling, "autoprovisioningNodePoolDefaults"),
        },
        "nodeConfig": _config(inputs.get("nodeConfig")),
        "nodePools": [_pool(pool) if isinstance(pool, Mapping) else pool for pool in items(inputs.get("nodePools"))],
    }
    yield respelled(declared, "gcp:container/cluster:Cluster", renamed)


def read_instance(declared: Declared) -> Iterable[Declared]:
    """``compute/v1`` ``Instance``."""
    inputs = {**declared.properties, "zone": _last(declared.properties.get("zone"))}
    yield respelled(declared, "gcp:compute/instance:Instance", _machine(inputs))


def read_template(declared: Declared) -> Iterable[Declared]:
    """``compute/v1`` ``InstanceTemplate``: what the provider ``gcp`` has at the top is below ``properties``."""
    inner = at(declared.properties, "properties")
    names = {"name": declared.properties.get("name")}
    inputs = {**inner, **names} if isinstance(inner, Mapping) else {"guestAccelerators": inner, **names}
    yield respelled(declared, "gcp:compute/instanceTemplate:InstanceTemplate", _machine(inputs))


def read_group(declared: Declared) -> Iterable[Declared]:
    """``compute/v1`` ``InstanceGroupManager``, which names its template itself where it has one version only."""
    inputs = declared.properties
    versions = coalesce(inputs.get("versions"), [{"instanceTemplate": inputs.get("instanceTemplate")}])
    yield respelled(declared, "gcp:compute/instanceGroupManager:InstanceGroupManager", {**inputs, "versions": versions})


def read_autoscaler(declared: Declared) -> Iterable[Declared]:
    """``compute/v1`` ``Autoscaler``: https://docs.cloud.google.com/compute/docs/reference/rest/v1/autoscalers."""
    policy = declared.properties.get("autoscalingPolicy")
    if isinstance(policy, Mapping):
        bounds = {"minReplicas": policy.get("minNumReplicas"), "maxReplicas": policy.get("maxNumReplicas")}
        schedules = policy.get("scalingSchedules")  # by name, and not a list
        listed = list(schedules.values()) if isinstance(schedules, Mapping) else schedules
        policy = {**policy, **bounds, "scalingSchedules": listed}
    yield respelled(declared, "gcp:compute/autoscaler:Autoscaler", {**declared.properties, "autoscalingPolicy": policy})


def read_tpu(declared: Declared) -> Iterable[Declared]:
    """``tpu/v2`` ``Node``, and ``QueuedResource``: https://docs.cloud.google.com/tpu/docs/reference/rest."""
    inputs = {**declared.properties, "zone": declared.properties.get("location")}
    if "tpu" in inputs:
        inputs["tpu"] = {"nodeSpecs": at(inputs, "tpu", "nodeSpec")}
    yield respelled(declared, "gcp:tpu/v2Vm:V2Vm", inputs)


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "google-native:container/*:Cluster": read_cluster,
    "google-native:container/*:NodePool": read_node_pool,
    "google-native:compute/*:Instance": read_instance,
    "google-native:compute/*:InstanceTemplate": read_template,
    "google-native:compute/*:InstanceGroupManager": read_group,
    "google-native:compute/*:RegionInstanceGroupManager": read_group,
    "google-native:compute/*:Autoscaler": read_autoscaler,
    "google-native:compute/*:RegionAutoscaler": read_autoscaler,
    "google-native:compute/*:Reservation": renaming("gcp:compute/reservation:Reservation"),
    "google-native:tpu/*:Node": read_tpu,
    "google-native:tpu/*:QueuedResource": read_tpu,
    "google-native:cloudscheduler/*:Job": renaming("gcp:cloudscheduler/job:Job"),
    "google-native:cloudkms/*:CryptoKey": renaming("gcp:kms/cryptoKey:CryptoKey"),
    "google-native:apikeys/*:Key": renaming("gcp:projects/apiKey:ApiKey"),
    "google-native:iam/*:Key": renaming("gcp:serviceaccount/key:Key"),
    "google-native:storage/*:HmacKey": renaming("gcp:storage/hmacKey:HmacKey"),
}


def _pool(pool: Mapping[str, Any]) -> dict[str, Any]:
    scaling = pool.get("autoscaling")
    enabled = UNKNOWN if scaling is UNKNOWN else flag(at(scaling, "enabled"))
    return {
        **pool,
        "nodeConfig": _config(pool.get("config")),
        "nodeLocations": pool.get("locations"),
        "autoscaling": scaling if enabled is True else UNKNOWN if enabled is UNKNOWN else None,
    }


def _config(config: Any) -> Any:
    if not isinstance(config, Mapping):
        return config
    accelerators = config.get("accelerators")
    listed = [_accelerator(entry) for entry in items(accelerators)]
    return {**config, "guestAccelerators": UNKNOWN if accelerators is UNKNOWN else listed}


def _accelerator(entry: Any) -> Any:
    if not isinstance(entry, Mapping):
        return entry
    count, kind = entry.get("acceleratorCount"), _last(entry.get("acceleratorType"))
    return {**entry, "count": count, "type": kind}


def _machine(inputs: Mapping[str, Any]) -> dict[str, Any]:
    accelerators = inputs.get("guestAccelerators")
    listed = accelerators if accelerators is UNKNOWN else [_accelerator(entry) for entry in items(accelerators)]
    return {**inputs, "machineType": _last(inputs.get("machineType")), "guestAccelerators": listed}


def _last(value: Any) -> Any:
    """The name at the end of a link: ``zones/us-central1-a/machineTypes/g2-standard-4``."""
    return value.rpartition("/")[2] if isinstance(value, str) else value
