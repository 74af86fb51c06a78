"""What of Google's inputs the program owns, beside those that it sets."""

from __future__ import annotations

from typing import Final

from facts.catalog.raw import Raw, RawInputs

_POOLS: Final = "Leave it out: pools are those of gpuPools and cpuPools, with their taints, limits and prices"
_SIZE: Final = "Write maxNodes and minNodes of the pool"
_CAPACITY: Final = "Write capacity, and reservation, of the pool"
_NODES: Final = "Write gpu, gpusPerNode, timeSharing, labels and taints of the pool"
_VERSION: Final = "Write kubernetes.version; docs/operations.md says when nodes follow"
_STATE: Final = "Leave it out: it is how Pulumi's provider keeps its state"

RAW: Final = RawInputs(
    cluster=Raw(
        token="gcp:container/cluster:Cluster",
        owned={
            "authenticatorGroupsConfig": "Write access",
            "clusterAutoscaling": _POOLS,
            "clusterIpv4Cidr": "Write network.podCidr",
            "controlPlaneEndpointsConfig": "Write network.dnsEndpoint",
            "databaseEncryption": "Write security.kmsKey",
            "defaultMaxPodsPerNode": "Leave it out: the range of pods was measured for what is set",
            "deletionPolicy": _STATE,
            "enableAutopilot": _POOLS,
            "initialNodeCount": _POOLS,
            "ipAllocationPolicy": "Write network.podCidr and network.serviceCidr, or network.existing",
            "masterAuth": "Write access",
            "masterAuthorizedNetworksConfig": "Write network.authorizedNetworks",
            "minMasterVersion": _VERSION,
            "nodeConfig": _POOLS,
            "nodeLocations": "Write zones",
            "nodePools": _POOLS,
            "nodeVersion": _VERSION,
            "privateClusterConfig": "Write network.privateEndpoint",
        },
    ),
    pool=Raw(
        token="gcp:container/nodePool:NodePool",
        owned={
            "autoscaling": _SIZE,
            "deletionPolicy": _STATE,
            "ignoreNodeCountChanges": _STATE,
            "initialNodeCount": _SIZE,
            "maxPodsPerNode": "Leave it out: the range of pods was measured for what is set",
            "namePrefix": "Write name of the pool",
            "networkConfig.enablePrivateNodes": "Leave it out: nodes have private addresses only",
            "nodeConfig.flexStart": _CAPACITY,
            "nodeConfig.guestAccelerators": _NODES,
            "nodeConfig.labels": _NODES,
            "nodeConfig.maxRunDuration": _CAPACITY,
            "nodeConfig.preemptible": _CAPACITY,
            "nodeConfig.reservationAffinity": _CAPACITY,
            "nodeConfig.taints": _NODES,
            "nodeCount": _SIZE,
            "queuedProvisioning": _CAPACITY,
            "version": _VERSION,
        },
    ),
)
