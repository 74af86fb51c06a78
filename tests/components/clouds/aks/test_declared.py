"""What a cluster on AKS and its pools declare for one setting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from components.settings.sections.cluster import AuthorizedNetworkSetting
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Upgrade
from tests.components.clouds.aks.test_cluster import CLUSTER, run_cluster
from tests.components.clouds.aks.test_pools import cpu_spec, gpu_spec
from tests.components.clouds.aks.test_pools import run as recorded
from tests.components.clouds.declared_inputs import Case, assert_declared, each_case

ONE_ZONE: Final[Mapping[str, Any]] = {"zones": ("eastus-2",)}
OUTSIDE_ZONES: Final[Mapping[str, Any]] = {"zones": ("northcentralus-0",)}
PER_ZONE: Final[Mapping[str, Any]] = {"regional": True, "nat_per_zone": True}
PINNED: Final[Mapping[str, Any]] = {
    "autoUpgradeProfile upgradeChannel": "none",
    "autoUpgradeProfile nodeOSUpgradeChannel": "NodeImage",
}
NAT_GATEWAY = "azure-native:network:NatGateway"
PUBLIC_ADDRESS = "azure-native:network:PublicIPAddress"
CASES: Final = {
    "only the written networks and the nodes reach the control plane": [
        Case(
            cluster={"authorized_networks": (AuthorizedNetworkSetting(name="vpn", cidr="198.51.100.0/24"),)},
            inputs={
                "apiServerAccessProfile": {
                    "authorizedIPRanges": ["198.51.100.0/24", "198.51.100.77/32"],
                    "disableRunCommand": True,
                }
            },
        ),
    ],
    "Azure's load balancer is not in a list with other networks": [
        Case(
            cluster={
                "authorized_networks": (AuthorizedNetworkSetting(name="vpn", cidr="198.51.100.0/24"),),
                "nat_per_zone": True,
            },
            inputs={"apiServerAccessProfile authorizedIPRanges": ["198.51.100.0/24"]},
        ),
    ],
    "the list of networks is never empty which would mean everybody": [
        Case(
            cluster={"authorized_networks": (), "nat_per_zone": False},
            inputs={"apiServerAccessProfile authorizedIPRanges": ["198.51.100.77/32"]},
        ),
        Case(
            cluster={"authorized_networks": (), "nat_per_zone": True},
            inputs={"apiServerAccessProfile authorizedIPRanges": ["0.0.0.0/32"]},
        ),
    ],
    "a private control plane has no public name": [
        Case(
            cluster={"private_endpoint": True, "authorized_networks": ()},
            inputs={
                "apiServerAccessProfile": {
                    "enablePrivateCluster": True,
                    "enablePrivateClusterPublicFQDN": False,
                    "privateDNSZone": "system",
                    "disableRunCommand": True,
                }
            },
        ),
    ],
    "people come from Entra and there is no other account": [
        Case(
            inputs={
                "aadProfile": {"managed": True, "enableAzureRBAC": True},
                "disableLocalAccounts": True,
                "enableRBAC": True,
            }
        ),
    ],
    "pods and services have ranges of their own": [
        Case(
            cluster={"pod_cidr": "10.4.0.0/14", "service_cidr": "10.8.0.0/20"},
            inputs={
                "networkProfile networkPlugin": "azure",
                "networkProfile networkPluginMode": "overlay",
                "networkProfile podCidr": "10.4.0.0/14",
                "networkProfile serviceCidr": "10.8.0.0/20",
                "networkProfile dnsServiceIP": "10.8.0.10",
            },
        ),
    ],
    "network policies are obeyed where Cilium carries the traffic": [
        # Not to send the default keeps clusters of before, which any change here would replace.
        Case(lacks=["networkProfile networkDataplane", "networkProfile networkPolicy"]),
        Case(cluster={"dataplane": "azure"}, lacks=["networkProfile networkDataplane", "networkProfile networkPolicy"]),
        Case(
            cluster={"dataplane": "cilium"},
            inputs={"networkProfile networkDataplane": "cilium", "networkProfile networkPolicy": "cilium"},
        ),
    ],
    "machines get no public address by default": [
        Case(of="azure-native:network:Subnet", inputs={"defaultOutboundAccess": False}),
    ],
    "channels": [
        Case(
            cluster={"channel": "rapid"},
            inputs={"autoUpgradeProfile": {"upgradeChannel": "rapid", "nodeOSUpgradeChannel": "NodeImage"}},
        ),
        Case(
            cluster={"channel": "regular"},
            inputs={"autoUpgradeProfile": {"upgradeChannel": "stable", "nodeOSUpgradeChannel": "NodeImage"}},
        ),
        Case(
            cluster={"channel": "stable"},
            inputs={"autoUpgradeProfile": {"upgradeChannel": "stable", "nodeOSUpgradeChannel": "NodeImage"}},
        ),
    ],
    "the version is pinned only when written": [
        Case(lacks=["kubernetesVersion"]),
        Case(cluster={"version": "1.34"}, inputs={"kubernetesVersion": "1.34"}),
    ],
    "a pinned version is not left behind by Azure": [
        # Images of nodes are no versions of Kubernetes: they stay current.
        Case(cluster={"version": "1.34.4", "channel": "rapid"}, inputs=PINNED),
        Case(cluster={"version": "1.34.4", "channel": "regular"}, inputs=PINNED),
        Case(cluster={"version": "1.34.4", "channel": "stable"}, inputs=PINNED),
    ],
    "the tier has an SLA": [
        Case(inputs={"sku": {"name": "Base", "tier": "Standard"}}, lacks=["supportPlan"]),
    ],
    "the extended channel is long term support": [
        Case(
            cluster={"channel": "extended"},
            inputs={
                "sku": {"name": "Base", "tier": "Premium"},
                "supportPlan": "AKSLongTermSupport",
                "autoUpgradeProfile upgradeChannel": "patch",
            },
        ),
    ],
    "one way out is a NAT gateway in the cluster's zone": [
        Case(cluster=ONE_ZONE, of=NAT_GATEWAY, inputs={"zones": ["2"]}),
        Case(cluster=ONE_ZONE, of=PUBLIC_ADDRESS, inputs={"zones": ["2"]}),
        Case(cluster=ONE_ZONE, of="azure-native:network:Subnet", inputs={"natGateway": {"id": "cluster-nat-id"}}),
        Case(cluster=ONE_ZONE, inputs={"networkProfile outboundType": "userAssignedNATGateway"}),
    ],
    "outside of all zones the gateway is in none": [
        Case(cluster=OUTSIDE_ZONES, of=NAT_GATEWAY, lacks=["zones"]),
        Case(cluster=OUTSIDE_ZONES, of=PUBLIC_ADDRESS, lacks=["zones"]),
        # The test's admin pool says its own zones.
        Case(cluster=OUTSIDE_ZONES, inputs={"agentPoolProfiles 0 availabilityZones": ["1"]}),
    ],
    "a regional cluster's single gateway is in a zone of Azure's choice": [
        Case(cluster={"regional": True, "zones": ("eastus-1", "eastus-2")}, of=NAT_GATEWAY, lacks=["zones"]),
    ],
    "a way out that outlives a zone is the load balancer": [
        Case(
            cluster=PER_ZONE,
            inputs={"networkProfile outboundType": "loadBalancer"},
            without=[NAT_GATEWAY],
        ),
        Case(cluster=PER_ZONE, of="azure-native:network:Subnet", lacks=["natGateway"]),
    ],
    "without a key Azure's own encrypts": [
        Case(
            lacks=["securityProfile azureKeyVaultKms", "diskEncryptionSetID"],
            without=["azure-native:compute:DiskEncryptionSet"],
        ),
    ],
    "a GPU pool starts empty and ends empty": [
        Case(
            gpu_spec(max_nodes=8),
            inputs={"mode": "User", "enableAutoScaling": True, "count": 0, "minCount": 0, "maxCount": 8},
        ),
    ],
    "zones are numbers": [
        Case(gpu_spec(zones=("eastus-1", "eastus-3")), inputs={"availabilityZones": ["1", "3"]}),
        # A pool that names no zone is wherever there is room.
        Case(gpu_spec(zones=("eastus-0",)), lacks=["availabilityZones"]),
    ],
    "labels and taints are exactly those of the spec": [
        Case(
            gpu_spec(
                size=4,
                capacity_type="spot",
                extra_labels={"example.com/rack": "7"},
                extra_taints=(
                    Taint(key="example.com/team", value="ml", effect="NoExecute"),
                    Taint(key="kubernetes.azure.com/scalesetpriority", value="spot", effect="NoSchedule"),
                ),
            ),
            inputs={
                "nodeTaints": [
                    "nvidia.com/gpu=present:NoSchedule",
                    "gpucluster.dev/gpus-per-node=4:NoSchedule",
                    "example.com/team=ml:NoExecute",
                    "kubernetes.azure.com/scalesetpriority=spot:NoSchedule",
                ],
                "nodeLabels": {
                    "nvidia.com/gpu.present": "true",
                    "gpucluster.dev/pool": "t4-1",
                    "gpucluster.dev/gpu": "nvidia-t4",
                    "gpucluster.dev/gpus-per-node": "4",
                    "example.com/rack": "7",
                    # Azure sets it on a new pool; an update without it would remove it.
                    "kubernetes.azure.com/scalesetpriority": "spot",
                },
            },
        ),
        Case(gpu_spec(capacity_type="on-demand"), lacks=["nodeLabels kubernetes.azure.com/scalesetpriority"]),
    ],
    "the driver mode is always explicit": [
        Case(gpu_spec(drivers="managed"), inputs={"gpuProfile": {"driver": "Install"}}),
        Case(gpu_spec(drivers="none"), inputs={"gpuProfile": {"driver": "None"}}),
    ],
    "partitions are a property of the pool": [
        Case(gpu_spec(mig="1g"), inputs={"gpuInstanceProfile": "MIG1g"}),
        Case(gpu_spec(mig="2g"), inputs={"gpuInstanceProfile": "MIG2g"}),
        Case(gpu_spec(mig="3g"), inputs={"gpuInstanceProfile": "MIG3g"}),
        Case(gpu_spec(mig="4g"), inputs={"gpuInstanceProfile": "MIG4g"}),
        Case(gpu_spec(mig="7g"), inputs={"gpuInstanceProfile": "MIG7g"}),
        Case(gpu_spec(), lacks=["gpuInstanceProfile"]),
    ],
    "spot machines are deleted and paid up to the price on demand": [
        Case(
            gpu_spec(capacity_type="spot"),
            inputs={"scaleSetPriority": "Spot", "scaleSetEvictionPolicy": "Delete", "spotMaxPrice": -1},
        ),
        Case(
            gpu_spec(capacity_type="on-demand"),
            inputs={"scaleSetPriority": "Regular"},
            lacks=["scaleSetEvictionPolicy", "spotMaxPrice"],
        ),
    ],
    "upgrading GPU nodes needs no further quota": [
        Case(
            gpu_spec(capacity_type="on-demand"),
            inputs={"upgradeSettings maxSurge": "0", "upgradeSettings maxUnavailable": "1"},
        ),
        # Azure takes no such settings for spot, which has no surplus nodes anyway.
        Case(gpu_spec(capacity_type="spot"), lacks=["upgradeSettings"]),
    ],
    "an upgrade never ends what a budget keeps on a GPU node": [
        Case(
            gpu_spec(capacity_type="on-demand"),
            inputs={"upgradeSettings drainTimeoutInMinutes": 30, "upgradeSettings undrainableNodeBehavior": "Cordon"},
        ),
    ],
    "images": [
        Case(gpu_spec(image="ubuntu"), inputs={"osSKU": "Ubuntu"}),
        Case(gpu_spec(image="azurelinux"), inputs={"osSKU": "AzureLinux"}),
    ],
    "secure boot wherever the drivers are signed": [
        Case(gpu_spec(), inputs={"securityProfile": {"enableVTPM": True, "enableSecureBoot": False}}),
        Case(cpu_spec(), inputs={"securityProfile": {"enableVTPM": True, "enableSecureBoot": True}}),
    ],
    "a size without trusted launch is not asked for it": [
        Case(gpu_spec(machine_types=("Standard_ND96asr_v4",)), lacks=["securityProfile"]),
        Case(gpu_spec(machine_types=("Standard_ND96amsr_A100_v4",)), lacks=["securityProfile"]),
    ],
    "every node is private and encrypted": [
        Case(
            gpu_spec(),
            inputs={
                "enableNodePublicIP": False,
                "enableEncryptionAtHost": True,
                "vnetSubnetID": "cluster-subnet-id",
                "tags": {"team": "ml"},
                # What nodes reserve of their memory depends on it, and the catalogue counts with it.
                "maxPods": 110,
            },
        ),
        Case(
            cpu_spec(capacity_type="spot"),
            inputs={
                "enableNodePublicIP": False,
                "enableEncryptionAtHost": True,
                "vnetSubnetID": "cluster-subnet-id",
                "tags": {"team": "ml"},
                "maxPods": 110,
            },
        ),
    ],
    "nodes are upgraded as the pool says": [
        Case(
            gpu_spec(upgrade=Upgrade(max_surge=2)),
            inputs={
                "upgradeSettings maxSurge": "2",
                "upgradeSettings maxUnavailable": "0",
                "upgradeSettings drainTimeoutInMinutes": 30,
            },
        ),
        Case(
            gpu_spec(upgrade=Upgrade(max_unavailable=3)),
            inputs={
                "upgradeSettings maxSurge": "0",
                "upgradeSettings maxUnavailable": "3",
                "upgradeSettings drainTimeoutInMinutes": 30,
            },
        ),
        Case(
            gpu_spec(upgrade=Upgrade(drain_minutes=60)),
            inputs={
                "upgradeSettings maxSurge": "0",
                "upgradeSettings maxUnavailable": "1",
                "upgradeSettings drainTimeoutInMinutes": 60,
            },
        ),
    ],
    "a CPU pool keeps its minimum": [
        Case(cpu_spec(min_nodes=1, max_nodes=3), inputs={"count": 1, "minCount": 1, "maxCount": 3}),
    ],
}


@each_case(CASES)
def test_a_setting_becomes_these_inputs(case: Case) -> None:
    if case.pool is None:
        recording = run_cluster(**case.cluster)
        resource = recording.only(case.of or CLUSTER)
    else:
        recording = recorded(case.pool, **case.cluster)
        resource = recording.named(f"{case.pool.name}-pool")
    assert_declared(case, resource, recording)
