"""What of Amazon's inputs the program owns, beside those that it sets."""

from __future__ import annotations

from typing import Final

from facts.catalog.raw import Raw, RawInputs

_POOLS: Final = "Leave it out: pools are those of gpuPools and cpuPools, with their taints, limits and prices"
_SIZE: Final = "Write maxNodes and minNodes of the pool"
_NODES: Final = "Write image, diskGb, labels and taints of the pool"
_ROLE: Final = "Leave it out: the program creates the role of the nodes"
_FORCED: Final = "Leave it out: it ends pods that a disruption budget protects"

RAW: Final = RawInputs(
    cluster=Raw(
        token="aws:eks/cluster:Cluster",
        owned={
            "accessConfig": "Write access",
            "computeConfig": _POOLS,
            "defaultAddonsToRemoves": "Write addons",
            "enabledClusterLogTypes": "Write monitoring.controlPlaneLogs",
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
    pool_of={
        # ``spec`` of https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml
        "karpenter": Raw(
            token="karpenter.k8s.aws/v1:EC2NodeClass",
            owned={
                "associatePublicIPAddress": "Leave it out: nodes have no public addresses",
                "blockDeviceMappings": "Write diskGb of the pool, and security.diskKey",
                "capacityReservationSelectorTerms": "Write reservation of the pool",
                "instanceProfile": _ROLE,
                "metadataOptions": "Leave it out: a pod must not get the permissions of its node",
                "placementGroupSelector": "Leave it out: Karpenter has no permission to use placement groups",
                "role": _ROLE,
                "securityGroupSelectorTerms": "Leave it out: nodes have the cluster's security group",
                "subnetSelectorTerms": "Write zones of the pool, and network",
                "tags": "Write labels of the stack",
            },
            inputs=(
                "amiFamily",
                "amiSelectorTerms",
                "connectionTracking",
                "context",
                "cpuOptions",
                "detailedMonitoring",
                "instanceStorePolicy",
                "ipPrefixCount",
                "kubelet",
                "networkInterfaces",
                "userData",
            ),
        )
    },
)
