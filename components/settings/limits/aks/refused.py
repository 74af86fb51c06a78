"""What a stack on AKS does not support, and how it writes names and IDs: one row each."""

from __future__ import annotations

import re
from typing import Final

from components.settings.fields.answers import Form, Refused
from facts.catalog.aks.resource_ids import CONTAINER, ENCRYPTION_SET, GROUP, IDENTITY, KEY

GUID: Final = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE)
"""The ID of a subscription or of a group."""
_VAULT_SECRET: Final = re.compile(
    GROUP + r"/Microsoft\.KeyVault/vaults/[-\w]{3,24}(/secrets/[-0-9a-z]{1,127})?", re.IGNORECASE
)

REFUSED: Final[tuple[Refused, ...]] = (
    Refused(
        keys=("gpuPools.drivers",),
        value="daemonset",
        message="there is no driver DaemonSet for AKS node images",
        remedy="Write drivers: managed, or none if a GPU operator installs it",
    ),
    Refused(
        keys=("gpuPools.driverVersion",),
        value="latest",
        message="the driver version on AKS comes with the node image",
        remedy="Leave it out; with drivers: none you install a driver of your own",
    ),
    Refused(
        keys=("gpuPools.timeSharing",),
        message="the autoscalers of AKS count whole GPUs of an empty pool, not shares, so they would add a node for "
        "each pod (https://github.com/Azure/AKS/issues/3427)",
        remedy="Leave it out; on GPUs that have MIG, mig divides them (whole GPUs are counted there too)",
    ),
    # https://github.com/NVIDIA/k8s-device-plugin#with-cuda-mps: a privileged daemon of its own on each node
    Refused(
        keys=("gpuPools.mps",),
        message="AKS does not share GPUs by MPS",
        remedy="Leave it out. By hand: NVIDIA's GPU Operator (drivers: none), whose shares no autoscaler knows of "
        "an empty pool",
    ),
    Refused(
        keys=("gpuPools.placement",),
        message="placing nodes close to each other is not supported on AKS",
        remedy="Leave it out and keep each job on one node. If nodes talk to each other, write one zone",
    ),
    Refused(
        keys=("gpuPools.fabric",),
        message="a fabric is not supported on AKS yet",
        remedy="Leave it out. By hand: register the feature AKSInfinibandSupport, write drivers: none in the pool, "
        "and install NVIDIA's network and GPU operators (https://azure.github.io/aks-rdma-infiniband/)",
    ),
    Refused(
        keys=("gpuPools.computeClass",),
        message="a ComputeClass is of GKE: AKS tries the capacity types in any order that capacity lists",
        remedy="Leave it out; pods that select no pool use the order, too",
    ),
    Refused(
        keys=("gpuPools.imageStreaming",),
        message="image streaming is not supported on AKS: a container starts once its image is pulled",
        remedy="Leave it out, and keep images small or in the cluster's region",
    ),
    Refused(
        keys=("adminPool.diskGb", "pools.diskGb"),
        within=(30, 2048),
        message="the boot disk of an AKS node has 30 to 2048 GB, not {value}",
        remedy="Write {nearest}",
    ),
    # Node auto-provisioning is Karpenter: docs/adr/0011-node-auto-provisioning.md
    Refused(
        keys=("cpuPools.minNodes",),
        autoscaler="node-auto-provisioning",
        message="node auto-provisioning keeps no nodes without pods",
        remedy="Leave it out: running replicas keep a node. Or write autoscaling.autoscaler: managed",
    ),
    Refused(
        keys=("adminPool.maxNodes",),
        autoscaler="node-auto-provisioning",
        message="a cluster with node auto-provisioning has no cluster autoscaler, which would scale the admin pool",
        remedy="Leave it out, and write adminPool.nodes; or write autoscaling.autoscaler: managed",
    ),
    Refused(
        keys=("pools.upgrade",),
        autoscaler="node-auto-provisioning",
        message="node auto-provisioning has no upgrade setting per pool: it replaces idle nodes, CPU nodes one at a "
        "time in the window",
        remedy="Leave it out, or write autoscaling.autoscaler: managed",
    ),
    # https://learn.microsoft.com/azure/aks/node-auto-provisioning-aksnodeclass
    Refused(
        keys=("gpuPools.mig", "gpuPools.reservation"),
        autoscaler="node-auto-provisioning",
        message="an AKSNodeClass, which describes the nodes of node auto-provisioning, has no field for it",
        remedy="Leave it out, or write autoscaling.autoscaler: managed",
    ),
    # https://learn.microsoft.com/azure/aks/upgrade-aks-node-pools-rolling#customize-node-drain-timeout
    Refused(
        keys=("pools.upgrade.drainMinutes",),
        within=(5, 1440),
        message="AKS gives pods at least 5 minutes to leave a node, not {value}",
        remedy="Write 5 or more",
    ),
    Refused(
        keys=("pools.upgrade",),
        present=("upgrade.maxSurge", "upgrade.maxUnavailable"),
        message="AKS supports maxSurge or maxUnavailable, not both",
        remedy="Leave out maxSurge or maxUnavailable",
    ),
    Refused(
        keys=("adminPool.capacity",),
        value="spot",
        message="a system pool of AKS cannot be a spot pool (https://learn.microsoft.com/azure/aks/spot-node-pool)",
        remedy="Write capacity: on-demand, or leave it out",
    ),
    Refused(
        keys=("existingCluster.nodeIdentity",),
        message="all nodes of an AKS cluster have its kubelet identity",
        remedy="Leave it out; pods have identities of their own by workload identity",
    ),
    Refused(
        keys=("existingCluster.location",),
        message="a resource group has one cluster of a name",
        remedy="Leave it out, and write resourceGroup",
    ),
    Refused(
        keys=("existingCluster.nodeClass",),
        message="pools take over the subnet and settings of the node pools that are there, not those of a class",
        remedy="Leave it out",
    ),
    Refused(
        keys=("existingCluster.subnets", "existingCluster.securityGroups"),
        message="pools are in the subnet of the node pools that are there, with the security group that AKS makes",
        remedy="Leave it out; raw: {vnetSubnetID: …} of a pool names another subnet of the network",
    ),
    # https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
    Refused(
        keys=("security.diskKey",),
        present=("existingCluster",),
        message="AKS encrypts disks of all nodes with the disk encryption set that the cluster was made with",
        remedy="Leave it out",
    ),
    Refused(
        keys=("network.dnsEndpoint",),
        message="AKS has no DNS endpoint: access to the control plane is restricted by address",
        remedy="Leave it out, and write your own address in authorizedNetworks",
    ),
    Refused(
        keys=("network.controlPlaneCidr",),
        message="AKS runs the control plane in Azure's own network: its addresses cannot be chosen",
        remedy="Leave it out",
    ),
    # https://learn.microsoft.com/azure/aks/concepts-network-azure-cni-overlay
    Refused(
        keys=("network.serviceCidr",),
        within=(13, 32),
        message="{value} is larger than AKS allows",
        remedy="Write a range with prefix /13 or longer",
    ),
    Refused(
        keys=("network.existing.podRange",),
        message="on AKS the addresses of pods and services are not part of the virtual network",
        remedy="Leave it out; podCidr chooses them",
    ),
    Refused(
        keys=("network.existing.serviceRange",),
        message="on AKS the addresses of pods and services are not part of the virtual network",
        remedy="Leave it out; serviceCidr chooses them",
    ),
    Refused(
        keys=("security.dataKey",),
        message="on AKS the program encrypts registry and bucket with the cloud's own key",
        remedy="Leave it out, or declare registry and bucket in your own program",
    ),
    Refused(
        keys=("security.permissionsBoundary", "security.rolePath"),
        message="AKS has no such setting for identities",
        remedy="Leave it out; use Azure Policy to limit which roles can be assigned",
    ),
    Refused(
        keys=("addonVersions",),
        message="AKS chooses the versions of its add-ons itself",
        remedy="Leave it out",
    ),
    # https://learn.microsoft.com/azure/container-registry/container-registry-retention-policy
    Refused(
        keys=("workloads.registry.untaggedDays",),
        message="Azure deletes untagged images only in registries of the Premium tier, and the program creates one "
        "of the Basic tier",
        remedy="Leave it out, and run `acr purge` when the registry is full "
        "(https://learn.microsoft.com/azure/container-registry/container-registry-auto-purge)",
    ),
    # https://learn.microsoft.com/azure/aks/api-server-authorized-ip-ranges
    Refused(
        keys=("network.authorizedNetworks",),
        together={"network.privateEndpoint": True},
        message="AKS does not support them with a private control plane "
        "(https://learn.microsoft.com/azure/aks/api-server-authorized-ip-ranges)",
        remedy="Leave them out: with privateEndpoint the control plane is reachable only from the cluster's network",
    ),
)

FORMS: Final[tuple[Form, ...]] = (
    # https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules
    Form(
        keys=("clusterName",),
        written=re.compile(r"[A-Za-z0-9]|[A-Za-z0-9][A-Za-z0-9_-]{0,61}[A-Za-z0-9]"),
        is_not="a valid name of an AKS cluster",
        remedy="Use 1 to 63 letters, digits, '-' and '_', with a letter or digit at both ends",
    ),
    Form(
        keys=("access[].who",),
        written=GUID,
        is_not="the object ID of an Entra group",
        remedy="Write the ID that 'az ad group show --group <name> --query id' prints; add users and pipelines' "
        "identities to a group",
    ),
    Form(
        keys=("security.kmsKey", "security.dataKey"),
        written=KEY,
        is_not="the resource ID of a key version in Key Vault; a key's URL is not enough, because the program "
        "grants the cluster access by resource ID",
        remedy="Write "
        "/subscriptions/<subscription>/resourceGroups/<group>/providers/Microsoft.KeyVault/vaults/<vault>/keys/<key>/versions/<version>",
    ),
    # https://learn.microsoft.com/azure/aks/azure-disk-customer-managed-keys
    Form(
        keys=("security.diskKey",),
        written=ENCRYPTION_SET,
        is_not="the resource ID of a disk encryption set, through which Azure disks use a key",
        remedy="Write "
        "/subscriptions/<subscription>/resourceGroups/<group>/providers/Microsoft.Compute/diskEncryptionSets/<name>; "
        "or leave it out, and kmsKey also encrypts disks",
    ),
    Form(
        keys=("security.nodeIdentity", "security.controlPlaneIdentity"),
        written=IDENTITY,
        is_not="the resource ID of a user-assigned managed identity",
        remedy="Write "
        "/subscriptions/<subscription>/resourceGroups/<group>/providers/Microsoft.ManagedIdentity/userAssignedIdentities/<name>",
    ),
    Form(
        keys=("identities[].read", "identities[].write"),
        written=CONTAINER,
        is_not="a valid bucket name",
        remedy="Write for example "
        "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.Storage"
        "/storageAccounts/ACCOUNT/blobServices/default/containers/CONTAINER: "
        "Azure grants access by resource ID",
    ),
    Form(
        keys=("identities[].secrets",),
        written=_VAULT_SECRET,
        is_not="a valid secret name",
        remedy="Write for example "
        "/subscriptions/ID/resourceGroups/GROUP/providers/Microsoft.KeyVault/vaults/VAULT/secrets/SECRET",
    ),
)
