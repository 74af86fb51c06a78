"""Inputs of a node's configuration, shared by node pools, default pools and inline pools.

Names on the left are pulumi-gcp 10.2's, on the right container.v1beta1's. Replacement follows the provider's
``ForceNew`` marks: https://github.com/GoogleCloudPlatform/magic-modules/blob/main/mmv1/third_party/terraform/services/container/node_config.go.tmpl
"""

from __future__ import annotations

from typing import Any, Final

from rehearsal.providers.gcp.translate import Local, Table, To


def boolean_text(value: Any) -> Any:
    """``TRUE``/``FALSE``, the provider's spelling of an optional boolean; anything else is left to the validator."""
    return {"TRUE": True, "FALSE": False}.get(value, value)


NODE_CONFIG: Final[Table] = {
    "NodeConfig": {
        "guestAccelerators": To("accelerators"),
        "effectiveTaints": Local(),
        "gpudirectStrategy": To("gpuDirectConfig.gpuDirectStrategy"),
        "loggingVariant": To("loggingConfig.variantConfig.variant"),
        "nodeImageConfigs": To("nodeImageConfig"),
        "resourceManagerTags": To("resourceManagerTags.tags"),
    },
    "AcceleratorConfig": {"count": To("acceleratorCount"), "type": To("acceleratorType")},
    "LinuxNodeConfig": {"hugepagesConfig": To("hugepages")},
    "WindowsNodeConfig": {"osversion": To("osVersion")},
    "NodeKubeletConfig": {
        "insecureKubeletReadonlyPortEnabled": To("insecureKubeletReadonlyPortEnabled", boolean_text),
    },
    "PrivateRegistryAccessConfig": {"certificateAuthorityDomainConfigs": To("certificateAuthorityDomainConfig")},
    "HostConfig": {"cas": To("ca"), "clients": To("client"), "headers": To("header")},
    "RegistryHeader": {"values": To("value")},
}

NODE_CONFIG_REPLACES: Final = (
    "advancedMachineFeatures",
    "bootDiskKmsKey",
    "confidentialNodes.confidentialInstanceType",
    "enableConfidentialStorage",
    "ephemeralStorageConfig",
    "ephemeralStorageLocalSsdConfig",
    "guestAccelerators",
    "hostMaintenancePolicy",
    "localNvmeSsdBlockConfig",
    "localSsdCount",
    "localSsdEncryptionMode",
    "metadata",
    "minCpuPlatform",
    "nodeGroup",
    "oauthScopes",
    "preemptible",
    "reservationAffinity",
    "sandboxConfig",
    "secondaryBootDisks",
    "serviceAccount",
    "shieldedInstanceConfig",
    "soleTenantConfig",
    "spot",
)
