"""What of Amazon's inputs the program owns, beside those that it sets."""

from __future__ import annotations

from typing import Final

from facts.catalog.raw import Raw, RawInputs

_POOLS: Final = "Leave it out: pools are those of gpuPools and cpuPools, with their taints, limits and prices"
_SIZE: Final = "Write maxNodes and minNodes of the pool"
_NODES: Final = "Write image, diskGb, labels and taints of the pool"
_FORCED: Final = "Leave it out: it ends pods that a disruption budget protects"

RAW: Final = RawInputs(
    cluster=Raw(
        token="aws:eks/cluster:Cluster",
        owned={
            "accessConfig": "Write access",
            "computeConfig": _POOLS,
            "defaultAddonsToRemoves": "Write addons",
            "encryptionConfig": "Write security.kmsKey",
            "forceUpdateVersion": _FORCED,
            "kubernetesNetworkConfig": "Write network.serviceCidr",
            "storageConfig": _POOLS,
            "vpcConfig": "Write network",
        },
    ),
    pool=Raw(
        token="aws:eks/nodeGroup:NodeGroup",
        owned={
            "diskSize": _NODES,
            "forceUpdateVersion": _FORCED,
            "labels": _NODES,
            "nodeGroupNamePrefix": "Write name of the pool",
            "releaseVersion": "Leave it out: an empty pool gets the image that AWS recommends",
            "remoteAccess": "Leave it out, and open a session by Systems Manager, which needs no port",
            "scalingConfig": _SIZE,
            "taints": _NODES,
            "warmPoolConfig": "Leave it out: a GPU node that waits costs as much as one that works",
        },
    ),
    no_pools={"karpenter": "Karpenter makes machines itself: a pool is no node group there"},
)
