"""An AKS cluster with Entra ID, a system pool, a pool of T4 GPUs that scales from zero, and NVIDIA's device plugin."""

import base64
import json

import pulumi
import pulumi_azure_native as azure
import pulumi_kubernetes as k8s
import yaml

config = pulumi.Config()
client = azure.authorization.get_client_config()

group = azure.resources.ResourceGroup("ml")
network = azure.network.VirtualNetwork(
    "ml", resource_group_name=group.name, address_space={"address_prefixes": ["10.30.0.0/16"]}
)
subnet = azure.network.Subnet(
    "nodes", resource_group_name=group.name, virtual_network_name=network.name, address_prefix="10.30.0.0/20"
)
identity = azure.managedidentity.UserAssignedIdentity("cluster", resource_group_name=group.name)
NETWORK_CONTRIBUTOR = "4d97b98b-1d4f-4787-a291-c67834d212e7"
ROLES = f"/subscriptions/{client.subscription_id}/providers/Microsoft.Authorization/roleDefinitions"
CLUSTER_ADMIN = "b1ff04bb-8a4e-4dc4-8eb5-8693973ce19b"


ENTRA_SERVER = "6dae42f8-4368-4678-94ff-3960e28e3630"


def with_azure_cli(value: str) -> str:
    """As `kubelogin convert-kubeconfig --login azurecli` does: a pipeline cannot type a device code."""
    content = yaml.safe_load(base64.b64decode(value))
    for user in content["users"]:
        user["user"]["exec"]["args"] = ["get-token", "--login", "azurecli", "--server-id", ENTRA_SERVER]
    return json.dumps(content)


def grant(
    name: str, role: str, scope: pulumi.Input[str], principal: pulumi.Input[str], kind: str
) -> azure.authorization.RoleAssignment:
    """A role of Azure for a principal."""
    return azure.authorization.RoleAssignment(
        name,
        scope=scope,
        principal_id=principal,
        principal_type=kind,
        role_definition_id=f"{ROLES}/{role}",
    )


network_right = grant("network", NETWORK_CONTRIBUTOR, subnet.id, identity.principal_id, "ServicePrincipal")
admin_right = grant("admin", CLUSTER_ADMIN, group.id, client.object_id, "ServicePrincipal")

cluster = azure.containerservice.ManagedCluster(
    "ml",
    resource_group_name=group.name,
    dns_prefix="ml",
    identity={"type": "UserAssigned", "user_assigned_identities": [identity.id]},
    aad_profile={"managed": True, "enable_azure_rbac": True},
    disable_local_accounts=True,
    enable_rbac=True,
    api_server_access_profile={"authorized_ip_ranges": [config.require("office")]},
    network_profile={
        "network_plugin": "azure",
        "network_plugin_mode": "overlay",
        "network_policy": "cilium",
        "network_dataplane": "cilium",
    },
    auto_scaler_profile={"scale_down_unneeded_time": "10m", "skip_nodes_with_system_pods": "false"},
    agent_pool_profiles=[
        {
            "name": "system",
            "mode": "System",
            "count": 2,
            "vm_size": "Standard_D4s_v5",
            "os_type": "Linux",
            "vnet_subnet_id": subnet.id,
            "enable_encryption_at_host": True,
            "security_profile": {"enable_secure_boot": True, "enable_vtpm": True},
        }
    ],
    opts=pulumi.ResourceOptions(depends_on=[network_right]),
)

gpu = azure.containerservice.AgentPool(
    "t4",
    agent_pool_name="t4",
    resource_group_name=group.name,
    resource_name_=cluster.name,
    mode="User",
    vm_size="Standard_NC4as_T4_v3",
    os_type="Linux",
    enable_auto_scaling=True,
    count=0,
    min_count=0,
    max_count=4,
    vnet_subnet_id=subnet.id,
    enable_encryption_at_host=True,
    node_labels={"pool": "t4"},
    node_taints=["nvidia.com/gpu=present:NoSchedule"],
    opts=pulumi.ResourceOptions(ignore_changes=["count"]),
)

credentials = azure.containerservice.list_managed_cluster_user_credentials_output(
    resource_group_name=group.name,
    resource_name=cluster.name,
    opts=pulumi.InvokeOutputOptions(depends_on=[admin_right]),
)
kubeconfig = credentials.kubeconfigs[0].value.apply(with_azure_cli)
provider = k8s.Provider("aks", kubeconfig=kubeconfig)

# AKS installs the driver; the device plugin is the user's: https://learn.microsoft.com/azure/aks/use-nvidia-gpu
k8s.apps.v1.DaemonSet(
    "device-plugin",
    metadata={"name": "nvidia-device-plugin", "namespace": "kube-system"},
    spec={
        "selector": {"match_labels": {"app": "nvidia-device-plugin"}},
        "template": {
            "metadata": {"labels": {"app": "nvidia-device-plugin"}},
            "spec": {
                "priority_class_name": "system-node-critical",
                "node_selector": {"pool": "t4"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
                "containers": [
                    {
                        "name": "nvidia-device-plugin",
                        "image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.4",
                        "security_context": {"allow_privilege_escalation": False, "capabilities": {"drop": ["ALL"]}},
                        "volume_mounts": [{"name": "plugins", "mount_path": "/var/lib/kubelet/device-plugins"}],
                    }
                ],
                "volumes": [{"name": "plugins", "host_path": {"path": "/var/lib/kubelet/device-plugins"}}],
            },
        },
    },
    opts=pulumi.ResourceOptions(provider=provider),
)

# A workspace for logs is not part of what a rehearsal simulates: it is named in the verdict.
azure.operationalinsights.Workspace("logs", resource_group_name=group.name, retention_in_days=30)

pulumi.export("cluster", cluster.name)
pulumi.export("kubeconfig", pulumi.Output.secret(kubeconfig))
