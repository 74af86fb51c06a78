"""What of Azure's inputs the program owns, beside those that it sets."""

from __future__ import annotations

from typing import Final

from facts.catalog.raw import Raw, RawInputs

_POOLS: Final = "Leave it out: pools are those of gpuPools and cpuPools, with their taints, limits and prices"
_SIZE: Final = "Write maxNodes and minNodes of the pool"
_CAPACITY: Final = "Write capacity, and reservation, of the pool"
_NODES: Final = "Write gpu, mig, drivers, labels and taints of the pool"
_VERSION: Final = "Write kubernetes.version; docs/operations.md says when nodes follow"

RAW: Final = RawInputs(
    cluster=Raw(
        token="azure-native:containerservice:ManagedCluster",
        owned={
            "aiToolchainOperatorProfile": "Leave it out: KAITO creates GPU nodes past the pools and their limits",
            "aadProfile": "Write access",
            "agentPoolProfiles": _POOLS,
            "apiServerAccessProfile": "Write network.privateEndpoint and network.authorizedNetworks",
            "autoScalerProfile": "Write autoscaling",
            "diskEncryptionSetID": "Write security.diskKey",
            "fqdnSubdomain": "Leave it out: the cluster's name decides",
            "kubernetesVersion": _VERSION,
            "nodeProvisioningProfile": _POOLS,
            "publicNetworkAccess": "Write network.privateEndpoint",
            "servicePrincipalProfile": "Leave it out: the cluster has an identity without a password",
        },
    ),
    pool=Raw(
        token="azure-native:containerservice:AgentPool",
        owned={
            "capacityReservationGroupID": _CAPACITY,
            "count": _SIZE,
            "creationData": "Write image of the pool",
            "gpuInstanceProfile": _NODES,
            "gpuProfile": _NODES,
            "maxCount": _SIZE,
            "minCount": _SIZE,
            "nodeLabels": _NODES,
            "nodePublicIPPrefixID": "Leave it out: nodes have private addresses only",
            "nodeTaints": _NODES,
            "orchestratorVersion": _VERSION,
            "powerState": "Leave it out: a stopped pool starts no node",
            "scaleSetEvictionPolicy": _CAPACITY,
            "spotMaxPrice": _CAPACITY,
            "upgradeSettings": "Write upgrade of the pool",
        },
    ),
)
