"""Google's resources as other tools spell them: unbridged Terraform, Config Connector and Crossplane.

Their fields are Terraform's: https://registry.terraform.io/providers/hashicorp/google/latest/docs and
https://cloud.google.com/config-connector/docs/reference/resource-docs/container/containernodepool. Where a version of a
tool shows a single block as a list of one, both are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from facts.concepts.unknown import at, coalesce
from policies.readers.resource import Declared
from policies.readers.spelling import Spelling, of_terraform, respelled

_LISTS: Final = {
    "guestAccelerator": "guestAccelerators",
    "taint": "taints",
    "nodePool": "nodePools",
    "resourceLimit": "resourceLimits",
}
_BLOCKS: Final = (
    "autoscaling",
    "nodeConfig",
    "networkConfig",
    "clusterAutoscaling",
    "autoProvisioningDefaults",
    "privateClusterConfig",
    "masterAuthorizedNetworksConfig",
    "databaseEncryption",
    "gpuDriverInstallationConfig",
)
_CLUSTER: Final = "gcp:container/cluster:Cluster"
_POOL: Final = "gcp:container/nodePool:NodePool"
_INSTANCE: Final = "gcp:compute/instance:Instance"
_TEMPLATE: Final = "gcp:compute/instanceTemplate:InstanceTemplate"


def _spelled(type_token: str, body: Callable[[Declared], Any]) -> Spelling:
    def spelled(declared: Declared) -> Iterable[Declared]:
        spec = body(declared)
        if isinstance(spec, Mapping):
            flat = of_terraform(spec, _LISTS, _BLOCKS)
            reference = coalesce(flat.get("clusterRef"), flat.get("clusterSelector"))
            cluster = coalesce(flat.get("cluster"), at(reference, "name"), at(reference, "external"))
            yield respelled(declared, type_token, flat if cluster is None else {**flat, "cluster": cluster})

    return spelled


def _properties(declared: Declared) -> Any:
    return declared.properties


def _spec(declared: Declared) -> Any:
    return declared.properties.get("spec")


def _for_provider(declared: Declared) -> Any:
    return at(declared.properties, "spec", "forProvider")


_TYPES: Final = {
    "containerCluster:ContainerCluster": _CLUSTER,
    "containerNodePool:ContainerNodePool": _POOL,
    "computeInstance:ComputeInstance": _INSTANCE,
    "computeInstanceTemplate:ComputeInstanceTemplate": _TEMPLATE,
    "computeRegionInstanceTemplate:ComputeRegionInstanceTemplate": _TEMPLATE,
}
_SERVICE_ACCOUNT_KEY: Final = "gcp:serviceaccount/key:Key"

SPELLINGS: Final[Mapping[str, Spelling]] = {
    # https://www.pulumi.com/docs/iac/concepts/providers/any-terraform-provider/
    **{f"google*:index/{kind}": _spelled(token, _properties) for kind, token in _TYPES.items()},
    "google*:index/serviceAccountKey:ServiceAccountKey": _spelled(_SERVICE_ACCOUNT_KEY, _properties),
    "kubernetes:container.cnrm.cloud.google.com/*:ContainerCluster": _spelled(_CLUSTER, _spec),
    "kubernetes:container.cnrm.cloud.google.com/*:ContainerNodePool": _spelled(_POOL, _spec),
    "kubernetes:compute.cnrm.cloud.google.com/*:ComputeInstance": _spelled(_INSTANCE, _spec),
    "kubernetes:compute.cnrm.cloud.google.com/*:ComputeInstanceTemplate": _spelled(_TEMPLATE, _spec),
    "kubernetes:container.gcp.*upbound.io/*:Cluster": _spelled(_CLUSTER, _for_provider),
    "kubernetes:container.gcp.*upbound.io/*:NodePool": _spelled(_POOL, _for_provider),
    "kubernetes:compute.gcp.*upbound.io/*:Instance": _spelled(_INSTANCE, _for_provider),
    "kubernetes:compute.gcp.*upbound.io/*:InstanceTemplate": _spelled(_TEMPLATE, _for_provider),
}
