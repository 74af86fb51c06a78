"""An AKS cluster of a platform team: a system pool and a GPU pool in the company's network, Entra ID, and the
company's workloads.

It knows nothing of this project.
"""

import base64
import json
import pathlib

import pulumi
import pulumi_azure_native as azure
import pulumi_kubernetes as k8s
import yaml

config = pulumi.Config()
region = config.require("region")
zones = [zone.rpartition("-")[2] for zone in config.require_object("zones")]
provisioned = config.get("autoscaler") == "node-auto-provisioning"
client = azure.authorization.get_client_config()

group = azure.resources.ResourceGroup("company", resource_group_name=config.require("resourceGroup"), location=region)
network = azure.network.VirtualNetwork(
    "company", resource_group_name=group.name, location=region, address_space={"address_prefixes": ["10.70.0.0/16"]}
)
subnet = azure.network.Subnet(
    "nodes", resource_group_name=group.name, virtual_network_name=network.name, address_prefix="10.70.0.0/20"
)
identity = azure.managedidentity.UserAssignedIdentity("cluster", resource_group_name=group.name, location=region)
ROLES = f"/subscriptions/{client.subscription_id}/providers/Microsoft.Authorization/roleDefinitions"
NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"


def grant(
    name: str, role: str, scope: pulumi.Input[str], principal: pulumi.Input[str]
) -> azure.authorization.RoleAssignment:
    """A role of Azure for a principal."""
    return azure.authorization.RoleAssignment(
        name,
        scope=scope,
        principal_id=principal,
        principal_type="ServicePrincipal",
        role_definition_id=f"{ROLES}/{role}",
    )


rights = [
    grant("network", NETWORK_CONTRIBUTOR, subnet.id, identity.principal_id),
    grant("admin", CLUSTER_ADMIN, group.id, client.object_id),
]
cluster = azure.containerservice.ManagedCluster(
    "company",
    resource_name_=config.require("name"),
    resource_group_name=group.name,
    location=region,
    dns_prefix="company",
    sku={"name": "Base", "tier": "Standard"},
    identity={"type": "UserAssigned", "user_assigned_identities": [identity.id]},
    aad_profile={"managed": True, "enable_azure_rbac": True},
    disable_local_accounts=True,
    enable_rbac=True,
    api_server_access_profile={"authorized_ip_ranges": ["203.0.113.0/24"]},
    network_profile={"network_plugin": "azure", "network_plugin_mode": "overlay"},
    oidc_issuer_profile={"enabled": True},
    security_profile={"workload_identity": {"enabled": True}},
    node_provisioning_profile={"mode": "Auto", "default_node_pools": "None"} if provisioned else None,
    agent_pool_profiles=[
        {
            "name": "system",
            "mode": "System",
            "count": 2,
            "vm_size": "Standard_D4s_v5",
            "os_type": "Linux",
            "vnet_subnet_id": subnet.id,
        }
    ],
    opts=pulumi.ResourceOptions(depends_on=rights),
)
inference = azure.containerservice.AgentPool(
    "inference",
    agent_pool_name="inference",
    resource_group_name=group.name,
    resource_name_=cluster.name,
    mode="User",
    vm_size="Standard_NV36ads_A10_v5",
    os_type="Linux",
    # Node auto-provisioning knows no agent pool that scales by itself.
    **({} if provisioned else {"enable_auto_scaling": True, "min_count": 1, "max_count": 2}),
    count=1,
    availability_zones=zones[:1],
    vnet_subnet_id=subnet.id,
    node_labels={"company.example/tier": "inference"},
    node_taints=["company.example/inference=true:NoSchedule"],
    opts=pulumi.ResourceOptions(ignore_changes=["count"]),
)

ENTRA_SERVER = "6dae42f8-4368-4678-94ff-3960e28e3630"


def with_azure_cli(value: str) -> str:
    """As `kubelogin convert-kubeconfig --login azurecli` does."""
    content = yaml.safe_load(base64.b64decode(value))
    for user in content["users"]:
        user["user"]["exec"]["args"] = ["get-token", "--login", "azurecli", "--server-id", ENTRA_SERVER]
    return json.dumps(content)


credentials = azure.containerservice.list_managed_cluster_user_credentials_output(
    resource_group_name=group.name,
    resource_name=cluster.name,
    opts=pulumi.InvokeOutputOptions(depends_on=[cluster]),
)
provider = k8s.Provider("company", kubeconfig=credentials.kubeconfigs[0].value.apply(with_azure_cli))
k8s.yaml.ConfigFile(
    "company",
    str(pathlib.Path(__file__).with_name("company.yaml")),
    opts=pulumi.ResourceOptions(provider=provider, depends_on=[inference]),
)
pulumi.export("cluster", cluster.name)
