"""What Google's provider reads of a cluster or a node pool of the API: the object in the provider's words, without what
its schema does not have.

As ``resource_container_cluster.go.tmpl``, ``resource_container_node_pool.go.tmpl`` and ``node_config.go.tmpl`` of
https://github.com/GoogleCloudPlatform/magic-modules/tree/main/mmv1/third_party/terraform/services/container flatten it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from packages.rehearsal.tests.providers.gke.account import CLUSTER, POOL
from rehearsal.providers.base import Properties, at
from schemas import Property, schema

_PROVISIONING: Final = "autoscaling.autoprovisioningNodePoolDefaults"
_ENDPOINTS: Final = "controlPlaneEndpointsConfig.ipEndpointsConfig"
_EXCLUSIONS: Final = "maintenancePolicy.window.maintenanceExclusions"
_AUTHORITIES: Final = "containerdConfig.privateRegistryAccessConfig.certificateAuthorityDomainConfig"
_CONFIG: Final = {
    "config": "nodeConfig",
    "config.accelerators": "nodeConfig.guestAccelerators",
    "config.loggingConfig.variantConfig.variant": "nodeConfig.loggingVariant",
    f"config.{_AUTHORITIES}": f"nodeConfig.{_AUTHORITIES}s",
}
MOVED: Final[Mapping[str, Mapping[str, str]]] = {
    CLUSTER: {
        "addonsConfig.cloudRunConfig": "addonsConfig.cloudrunConfig",
        "autopilot.enabled": "enableAutopilot",
        "autoscaling": "clusterAutoscaling",
        _PROVISIONING: "clusterAutoscaling.autoProvisioningDefaults",
        f"{_PROVISIONING}.diskSizeGb": "clusterAutoscaling.autoProvisioningDefaults.diskSize",
        "autoscaling.enableNodeAutoprovisioning": "clusterAutoscaling.enabled",
        f"{_ENDPOINTS}.authorizedNetworksConfig": "masterAuthorizedNetworksConfig",
        f"{_ENDPOINTS}.globalAccess": "privateClusterConfig.masterGlobalAccessConfig.enabled",
        f"{_ENDPOINTS}.enablePublicEndpoint": "privateClusterConfig.enablePrivateEndpoint",
        f"{_ENDPOINTS}.privateEndpoint": "privateClusterConfig.privateEndpoint",
        f"{_ENDPOINTS}.privateEndpointSubnetwork": "privateClusterConfig.privateEndpointSubnetwork",
        f"{_ENDPOINTS}.publicEndpoint": "privateClusterConfig.publicEndpoint",
        "currentMasterVersion": "masterVersion",
        "currentNodeVersion": "nodeVersion",
        "defaultMaxPodsConstraint.maxPodsPerNode": "defaultMaxPodsPerNode",
        "legacyAbac.enabled": "enableLegacyAbac",
        "locations": "nodeLocations",
        "loggingConfig.componentConfig.enableComponents": "loggingConfig.enableComponents",
        "maintenancePolicy.window": "maintenancePolicy",
        "monitoringConfig.componentConfig.enableComponents": "monitoringConfig.enableComponents",
        "monitoringConfig.managedPrometheusConfig": "monitoringConfig.managedPrometheus",
        "networkConfig.datapathProvider": "datapathProvider",
        "networkConfig.defaultEnablePrivateNodes": "privateClusterConfig.enablePrivateNodes",
        "networkConfig.defaultSnatStatus": "defaultSnatStatus",
        "networkConfig.disableL4LbFirewallReconciliation": "disableL4LbFirewallReconciliation",
        "networkConfig.enableCiliumClusterwideNetworkPolicy": "enableCiliumClusterwideNetworkPolicy",
        "networkConfig.enableMultiNetworking": "enableMultiNetworking",
        "networkConfig.inTransitEncryptionConfig": "inTransitEncryptionConfig",
        "networkConfig.network": "network",
        "networkConfig.serviceExternalIpsConfig": "serviceExternalIpsConfig",
        "networkConfig.subnetwork": "subnetwork",
        "nodeConfig.loggingConfig.variantConfig.variant": "nodeConfig.loggingVariant",
        f"nodeConfig.{_AUTHORITIES}": f"nodeConfig.{_AUTHORITIES}s",
        "nodePoolDefaults.nodeConfigDefaults.loggingConfig.variantConfig.variant": (
            "nodePoolDefaults.nodeConfigDefaults.loggingVariant"
        ),
        "nodePoolDefaults.nodeConfigDefaults.nodeKubeletConfig.insecureKubeletReadonlyPortEnabled": (
            "nodePoolDefaults.nodeConfigDefaults.insecureKubeletReadonlyPortEnabled"
        ),
        "shieldedNodes.enabled": "enableShieldedNodes",
    },
    POOL: {
        **_CONFIG,
        "locations": "nodeLocations",
        "maxPodsConstraint.maxPodsPerNode": "maxPodsPerNode",
    },
}
"""API path → the provider's, where it is another."""


def read(token: str, body: Properties) -> tuple[Properties, list[str]]:
    """The object in the provider's words, and the paths of it that the provider does not read."""
    inputs: Properties = {}
    hidden: list[str] = []
    # What is written twice is read where it has another name.
    for path, value in sorted(_leaves(token, body, ""), key=lambda each: _target(token, each[0]) != each[0]):
        target = _target(token, path)
        declared = schema("gke").find(token, target)
        if path == "nodePools":
            inputs[path] = [read(POOL, each)[0] for each in value]
        elif path.startswith(_EXCLUSIONS):
            inputs.setdefault("maintenancePolicy", {})["maintenanceExclusions"] = _exclusions(body)
        elif declared is not None or target in schema("gke").resources[token].outputs:
            _put(inputs, target, _typed(path, value, declared))
        else:
            hidden.append(path)
    return inputs, hidden


def _exclusions(cluster: Properties) -> list[Properties]:
    exclusions = at(cluster, _EXCLUSIONS)
    return [
        {
            "exclusionName": name,
            "startTime": each["startTime"],
            "endTime": each["endTime"],
            "exclusionOptions": {"scope": "NO_UPGRADES", **each.get("maintenanceExclusionOptions", {})},
        }
        for name, each in exclusions.items()
    ]


def _leaves(token: str, block: Properties, path: str) -> Iterator[tuple[str, Any]]:
    """Paths and values; a list and a map of free keys are one value."""
    for key, value in block.items():
        inner = f"{path}.{key}".lstrip(".")
        declared = schema("gke").find(token, _target(token, inner))
        if isinstance(value, dict) and value and (declared is None or declared.type != "map"):
            yield from _leaves(token, value, inner)
        else:
            yield inner, value


def _target(token: str, path: str) -> str:
    """The provider's path: the longest beginning that is moved decides."""
    steps = path.split(".")
    for length in range(len(steps), 0, -1):
        start = ".".join(steps[:length])
        if start in MOVED[token]:
            return ".".join((MOVED[token][start], *steps[length:]))
    return path


def _typed(path: str, value: Any, declared: Property | None) -> Any:
    """The value as the provider has it: numbers are numbers, lists have plural names."""
    if path.endswith(".enablePublicEndpoint"):
        return not value
    if declared is None:
        return value
    if declared.type == "string" and isinstance(value, bool):
        return str(value).upper()
    if declared.type == "integer" and isinstance(value, str):
        return int(value)
    if declared.type == "list" and isinstance(value, list):
        return [_typed("", each, declared.items) for each in value]
    if declared.type == "object" and isinstance(value, dict):
        known = schema("gke").objects[declared.object].properties
        names = {key: key if key in known else f"{key}s" for key in value}
        return {name: _typed("", value[key], known.get(name)) for key, name in names.items()}
    return value


def _put(block: Properties, path: str, value: Any) -> None:
    *blocks, last = path.split(".")
    for each in blocks:
        block = block.setdefault(each, {})
    block[last] = value
