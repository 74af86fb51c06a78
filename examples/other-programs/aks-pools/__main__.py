"""The program of an AKS cluster, and on it GPU pools of this project: its name and its resource group are outputs."""

import sys

import pulumi_azure_native as azure

sys.path.append("../../..")  # this repository
from components.gpu_pools import GpuPools, GpuPoolsArgs

ADMINS = "5c3e0a51-0000-4000-8000-000000000001"  # a group of Entra ID, which whoever runs this is in
group = azure.resources.ResourceGroup("ml", location="eastus")
cluster = azure.containerservice.ManagedCluster(
    "ml",
    resource_group_name=group.name,
    dns_prefix="ml",
    identity={"type": azure.containerservice.ResourceIdentityType.SYSTEM_ASSIGNED},
    aad_profile={"managed": True, "admin_group_object_ids": [ADMINS]},
    disable_local_accounts=True,
    api_server_access_profile={"authorized_ip_ranges": ["203.0.113.0/24"]},
    network_profile={"network_plugin": "azure", "network_plugin_mode": "overlay"},
    agent_pool_profiles=[{"name": "system", "mode": "System", "count": 2, "vm_size": "Standard_D4s_v5"}],
)
existing = {"name": cluster.name, "resourceGroup": group.name}
pools = [{"name": "t4", "gpu": "nvidia-t4", "capacity": "spot", "maxNodes": 2}]
place = {"cloud": "aks", "region": "eastus", "zones": ["eastus-1"]}
GpuPools("gpu", GpuPoolsArgs.of({**place, "existingCluster": existing, "gpuPools": pools}))
