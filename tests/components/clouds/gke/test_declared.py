"""What a cluster on GKE and its pools declare for one setting."""

from __future__ import annotations

from typing import Final

from components.settings.sections.cluster import AuthorizedNetworkSetting
from components.settings.sections.maintenance import Maintenance
from facts.concepts.kubernetes import Taint
from facts.concepts.parts import SharedGpu, Upgrade
from tests.components import specs
from tests.components.clouds.declared_inputs import Case, assert_declared, each_case
from tests.components.clouds.gke.test_cluster import CLUSTER, run_cluster
from tests.components.clouds.gke.test_pools import recording as recorded

THREE_ZONES = ("us-central1-a", "us-central1-b", "us-central1-c")
CASES: Final = {
    "without a setting the endpoint by name is closed also where it was open": [
        Case(inputs={"controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": False}}}),
    ],
    "only the written networks reach the control plane": [
        Case(
            cluster={
                "authorized_networks": (
                    AuthorizedNetworkSetting(name="vpn", cidr="198.51.100.0/24"),
                    AuthorizedNetworkSetting(name="office", cidr="203.0.113.0/28"),
                )
            },
            inputs={
                "masterAuthorizedNetworksConfig": {
                    "cidrBlocks": [
                        {"displayName": "vpn", "cidrBlock": "198.51.100.0/24"},
                        {"displayName": "office", "cidrBlock": "203.0.113.0/28"},
                    ],
                    "gcpPublicCidrsAccessEnabled": False,
                }
            },
        ),
    ],
    "with a private endpoint and no network nobody outside reaches it": [
        Case(
            cluster={"private_endpoint": True, "authorized_networks": ()},
            inputs={
                "privateClusterConfig enablePrivateEndpoint": True,
                "masterAuthorizedNetworksConfig cidrBlocks": [],
            },
        ),
    ],
    "without addresses the control plane has neither networks nor a private one": [
        Case(
            cluster={
                "dns_endpoint": True,
                "authorized_networks": (),
                "raw": {"controlPlaneEndpointsConfig": {"ipEndpointsConfig": {"enabled": False}}},
            },
            inputs={
                "controlPlaneEndpointsConfig": {
                    "dnsEndpointConfig": {"allowExternalTraffic": True},
                    "ipEndpointsConfig": {"enabled": False},
                },
                "privateClusterConfig": {"enablePrivateNodes": True},
            },
            lacks=["masterAuthorizedNetworksConfig"],
        ),
    ],
    "the control plane range is sent only when chosen": [
        Case(lacks=["privateClusterConfig masterIpv4CidrBlock"]),
        Case(
            cluster={"control_plane_cidr": "172.16.0.0/28"},
            inputs={"privateClusterConfig masterIpv4CidrBlock": "172.16.0.0/28"},
        ),
    ],
    "where the control plane and the nodes are": [
        Case(
            cluster={"regional": False, "zones": ("us-central1-a",)},
            inputs={"location": "us-central1-a"},
            lacks=["nodeLocations"],
        ),
        # A zonal cluster must not repeat its own zone.
        Case(
            cluster={"regional": False, "zones": ("us-central1-a", "us-central1-b")},
            inputs={"location": "us-central1-a", "nodeLocations": ["us-central1-b"]},
            ignores=["nodeLocations"],
        ),
        Case(
            cluster={"regional": True, "zones": ("us-central1-a", "us-central1-b")},
            inputs={"location": "us-central1", "nodeLocations": ["us-central1-a", "us-central1-b"]},
            ignores=["nodeLocations"],
        ),
    ],
    "private nodes reach Google and the internet": [
        Case(of="gcp:compute/subnetwork:Subnetwork", inputs={"privateIpGoogleAccess": True}),
        Case(
            of="gcp:compute/routerNat:RouterNat",
            inputs={
                "sourceSubnetworkIpRangesToNat": "LIST_OF_SUBNETWORKS",
                "subnetworks 0 sourceIpRangesToNats": ["ALL_IP_RANGES"],
                "natIpAllocateOption": "AUTO_ONLY",
                "maxPortsPerVm": 65536,
            },
            lacks=["subnetworks 1"],
        ),
    ],
    "auto provisioning is off and the profile is the written one": [
        Case(
            cluster={"autoscaling_profile": "balanced"},
            inputs={"clusterAutoscaling": {"enabled": False, "autoscalingProfile": "BALANCED"}},
        ),
    ],
    "metrics of GPUs come with where they are stored": [
        Case(
            cluster={"gpu_metrics": True},
            inputs={
                "monitoringConfig": {
                    "enableComponents": ["SYSTEM_COMPONENTS", "DCGM"],
                    "managedPrometheus": {"enabled": True},
                }
            },
        ),
        Case(
            cluster={"gpu_metrics": False},
            inputs={
                "monitoringConfig": {"enableComponents": ["SYSTEM_COMPONENTS"], "managedPrometheus": {"enabled": False}}
            },
        ),
    ],
    "the version is pinned only when written": [
        Case(lacks=["minMasterVersion"]),
        Case(cluster={"version": "1.34"}, inputs={"minMasterVersion": "1.34"}),
    ],
    "upgrades come in the window and not on excluded days": [
        Case(
            cluster={
                "maintenance": Maintenance.model_validate(
                    {
                        "day": "saturday",
                        "start": "02:00",
                        "hours": 8,
                        "exclusions": [{"name": "deadline", "first": "2026-12-20", "last": "2027-01-03"}],
                    }
                )
            },
            inputs={
                "maintenancePolicy recurringWindow": {
                    "startTime": "2024-01-06T02:00:00Z",
                    "endTime": "2024-01-06T10:00:00Z",
                    "recurrence": "FREQ=WEEKLY;BYDAY=SA",
                },
                "maintenancePolicy maintenanceExclusions": [
                    {
                        "exclusionName": "deadline",
                        "startTime": "2026-12-20T00:00:00Z",
                        "endTime": "2027-01-04T00:00:00Z",
                        "exclusionOptions": {"scope": "NO_UPGRADES"},
                    }
                ],
            },
        ),
    ],
    "a cluster keeps its dataplane unless the stack file says which": [
        Case(inputs={"datapathProvider": "ADVANCED_DATAPATH"}, ignores=["datapathProvider"]),
        Case(
            cluster={"dataplane": "v2"}, inputs={"datapathProvider": "ADVANCED_DATAPATH"}, follows=["datapathProvider"]
        ),
        Case(
            cluster={"dataplane": "legacy"},
            inputs={"datapathProvider": "LEGACY_DATAPATH"},
            follows=["datapathProvider"],
        ),
    ],
    "a node gets as many ports as it needs and running ones keep theirs": [
        Case(
            of="gcp:compute/routerNat:RouterNat",
            inputs={
                "enableDynamicPortAllocation": True,
                "enableEndpointIndependentMapping": False,
                "minPortsPerVm": 64,
                "maxPortsPerVm": 65536,
            },
            ignores=[
                "enableDynamicPortAllocation",
                "enableEndpointIndependentMapping",
                "minPortsPerVm",
                "maxPortsPerVm",
            ],
        ),
    ],
    "the default pool is removed and its leftovers are no change": [
        Case(inputs={"removeDefaultNodePool": True}, ignores=["initialNodeCount", "nodeConfig"]),
    ],
    "limits are totals over the zones": [
        Case(
            specs.gpu_pool(max_nodes=8, zones=("us-central1-a", "us-central1-c")),
            inputs={
                "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 8, "locationPolicy": "ANY"},
                "nodeLocations": ["us-central1-a", "us-central1-c"],
            },
        ),
    ],
    "labels and taints are exactly those of the spec": [
        Case(
            specs.gpu_pool(
                size=4,
                extra_labels={"example.com/rack": "7"},
                extra_taints=(Taint(key="example.com/team", value="ml", effect="NoExecute"),),
            ),
            inputs={
                "nodeConfig taints": [
                    {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
                    {"key": "gpucluster.dev/gpus-per-node", "value": "4", "effect": "NO_SCHEDULE"},
                    {"key": "example.com/team", "value": "ml", "effect": "NO_EXECUTE"},
                ],
                "nodeConfig labels": {
                    "nvidia.com/gpu.present": "true",
                    "gpucluster.dev/pool": "t4-1",
                    "gpucluster.dev/gpu": "nvidia-t4",
                    "gpucluster.dev/gpus-per-node": "4",
                    "example.com/rack": "7",
                },
            },
        ),
    ],
    "the driver mode is always explicit": [
        Case(
            specs.gpu_pool(drivers="managed", driver_version="default"),
            inputs={"nodeConfig guestAccelerators 0 gpuDriverInstallationConfig": {"gpuDriverVersion": "DEFAULT"}},
        ),
        Case(
            specs.gpu_pool(drivers="managed", driver_version="latest"),
            inputs={"nodeConfig guestAccelerators 0 gpuDriverInstallationConfig": {"gpuDriverVersion": "LATEST"}},
        ),
        Case(
            specs.gpu_pool(drivers="daemonset", driver_version="default"),
            inputs={
                "nodeConfig guestAccelerators 0 gpuDriverInstallationConfig": {
                    "gpuDriverVersion": "INSTALLATION_DISABLED"
                }
            },
        ),
        Case(
            specs.gpu_pool(drivers="daemonset", driver_version="latest"),
            inputs={
                "nodeConfig guestAccelerators 0 gpuDriverInstallationConfig": {
                    "gpuDriverVersion": "INSTALLATION_DISABLED"
                }
            },
        ),
    ],
    "time sharing is the cloud's own": [
        Case(
            specs.gpu_pool(time_sharing=SharedGpu(clients_per_gpu=4)),
            inputs={
                "nodeConfig guestAccelerators 0 gpuSharingConfig": {
                    "gpuSharingStrategy": "TIME_SHARING",
                    "maxSharedClientsPerGpu": 4,
                }
            },
        ),
        Case(
            specs.gpu_pool(mps=SharedGpu(clients_per_gpu=8)),
            inputs={
                "nodeConfig guestAccelerators 0 gpuSharingConfig": {
                    "gpuSharingStrategy": "MPS",
                    "maxSharedClientsPerGpu": 8,
                }
            },
        ),
        Case(specs.gpu_pool(), lacks=["nodeConfig guestAccelerators 0 gpuSharingConfig"]),
    ],
    "a partition is called by its memory too": [
        Case(
            specs.gpu_pool(gpu="nvidia-a100-40gb", mig="1g"),
            inputs={"nodeConfig guestAccelerators 0 gpuPartitionSize": "1g.5gb"},
        ),
        Case(
            specs.gpu_pool(gpu="nvidia-a100-80gb", mig="2g"),
            inputs={"nodeConfig guestAccelerators 0 gpuPartitionSize": "2g.20gb"},
        ),
        Case(
            specs.gpu_pool(gpu="nvidia-b200", mig="7g"),
            inputs={"nodeConfig guestAccelerators 0 gpuPartitionSize": "7g.180gb"},
        ),
        Case(specs.gpu_pool(gpu="nvidia-a100-40gb"), lacks=["nodeConfig guestAccelerators 0 gpuPartitionSize"]),
        Case(specs.gpu_pool(gpu="nvidia-a100-80gb"), lacks=["nodeConfig guestAccelerators 0 gpuPartitionSize"]),
        Case(specs.gpu_pool(gpu="nvidia-b200"), lacks=["nodeConfig guestAccelerators 0 gpuPartitionSize"]),
    ],
    "a reservation is named": [
        Case(
            specs.gpu_pool(reservation="a100s-of-june"),
            inputs={
                "nodeConfig reservationAffinity": {
                    "consumeReservationType": "SPECIFIC_RESERVATION",
                    "key": "compute.googleapis.com/reservation-name",
                    "values": ["a100s-of-june"],
                }
            },
        ),
        Case(specs.gpu_pool(), lacks=["nodeConfig reservationAffinity"]),
    ],
    "flex-start machines are requested as Google requires": [
        Case(
            specs.gpu_pool(max_run_hours=5),
            inputs={
                "nodeConfig flexStart": True,
                "nodeConfig maxRunDuration": "18000s",
                "nodeConfig reservationAffinity": {"consumeReservationType": "NO_RESERVATION"},
                "management autoRepair": False,
                "autoscaling locationPolicy": "ANY",
            },
            # GKE has a strategy of its own for them, and a declared one would be a change in each preview.
            lacks=["upgradeSettings"],
        ),
        Case(
            specs.gpu_pool(),
            inputs={"management autoRepair": True, "upgradeSettings strategy": "SURGE"},
            lacks=["nodeConfig flexStart", "nodeConfig maxRunDuration"],
        ),
    ],
    "the boot disk is one that the machine takes": [
        Case(specs.gpu_pool(machine_types=("n1-standard-4",)), inputs={"nodeConfig diskType": "pd-balanced"}),
        Case(specs.gpu_pool(machine_types=("g2-standard-4",)), inputs={"nodeConfig diskType": "pd-balanced"}),
        Case(specs.gpu_pool(machine_types=("a3-highgpu-8g",)), inputs={"nodeConfig diskType": "pd-balanced"}),
        Case(specs.gpu_pool(machine_types=("a3-ultragpu-8g",)), inputs={"nodeConfig diskType": "hyperdisk-balanced"}),
        Case(specs.gpu_pool(machine_types=("a4-highgpu-8g",)), inputs={"nodeConfig diskType": "hyperdisk-balanced"}),
    ],
    "image and secure boot": [
        Case(
            specs.gpu_pool(image="cos"),
            inputs={
                "nodeConfig imageType": "COS_CONTAINERD",
                "nodeConfig shieldedInstanceConfig enableSecureBoot": True,
            },
        ),
        Case(
            specs.gpu_pool(image="ubuntu"),
            inputs={
                "nodeConfig imageType": "UBUNTU_CONTAINERD",
                "nodeConfig shieldedInstanceConfig enableSecureBoot": False,
            },
        ),
    ],
    "an upgrade gives pods the written time": [
        Case(
            specs.gpu_pool(upgrade=Upgrade(max_unavailable=1, drain_minutes=90)),
            inputs={"nodeDrainConfigs": [{"graceTerminationDuration": "5400s", "pdbTimeoutDuration": "5400s"}]},
        ),
        Case(specs.gpu_pool(), lacks=["nodeDrainConfigs"]),
    ],
    "GPU nodes are not upgraded while their version is supported": [
        Case(specs.gpu_pool(), inputs={"maintenancePolicies": [{"exclusionUntilEndOfSupports": [{"enabled": True}]}]}),
    ],
    "no local SSD is asked for where there is none or it is used anyway": [
        Case(specs.gpu_pool(machine_types=("a3-highgpu-8g",)), lacks=["nodeConfig ephemeralStorageLocalSsdConfig"]),
        Case(specs.gpu_pool(machine_types=("a2-highgpu-1g",)), lacks=["nodeConfig ephemeralStorageLocalSsdConfig"]),
        Case(specs.gpu_pool(machine_types=("n1-standard-4",)), lacks=["nodeConfig ephemeralStorageLocalSsdConfig"]),
    ],
    "gVNIC is for the image that Google builds it into": [
        Case(specs.gpu_pool(image="ubuntu"), lacks=["nodeConfig gvnic"]),
    ],
    "GPU nodes are where there is one unless the pool is to be spread": [
        Case(specs.gpu_pool(location_policy=None), inputs={"autoscaling locationPolicy": "ANY"}),
        Case(specs.gpu_pool(location_policy="any"), inputs={"autoscaling locationPolicy": "ANY"}),
        Case(specs.gpu_pool(location_policy="balanced"), inputs={"autoscaling locationPolicy": "BALANCED"}),
    ],
    "nodes are upgraded as the pool says": [
        Case(
            specs.gpu_pool(upgrade=Upgrade(max_surge=2)),
            inputs={"upgradeSettings": {"strategy": "SURGE", "maxSurge": 2, "maxUnavailable": 0}},
        ),
        # Needs no further quota.
        Case(specs.gpu_pool(), inputs={"upgradeSettings": {"strategy": "SURGE", "maxSurge": 0, "maxUnavailable": 1}}),
    ],
    "nodes are close and images streamed where a pool asks for it": [
        Case(
            specs.gpu_pool(compact=True, image_streaming=True),
            inputs={"placementPolicy": {"type": "COMPACT"}, "nodeConfig gcfsConfig": {"enabled": True}},
        ),
        Case(specs.gpu_pool(), lacks=["placementPolicy", "nodeConfig gcfsConfig"]),
        # Switched off again: what is left out stays as it was.
        Case(specs.gpu_pool(image_streaming=False), inputs={"nodeConfig gcfsConfig": {"enabled": False}}),
    ],
    "what would replace busy nodes is for new pools only": [
        Case(
            specs.gpu_pool(machine_types=("a2-ultragpu-2g",)),
            inputs={
                "nodeConfig gvnic": {"enabled": True},
                "nodeConfig ephemeralStorageLocalSsdConfig": {"localSsdCount": 2},
            },
            ignores=["nodeConfig.gvnic", "nodeConfig.ephemeralStorageLocalSsdConfig"],
        ),
    ],
    "an admin pool has a fixed size that the stack file can change": [
        Case(specs.admin_pool(nodes=2), inputs={"nodeCount": 2}, lacks=["autoscaling"], follows=["nodeCount"]),
    ],
    "an admin pool with a maximum is autoscaled and never smaller than its nodes": [
        Case(
            specs.admin_pool(nodes=2, max_nodes=9, zones=("us-central1-a", "us-central1-b"), capacity_type="spot"),
            inputs={
                "autoscaling": {"totalMinNodeCount": 4, "totalMaxNodeCount": 9, "locationPolicy": "BALANCED"},
                "initialNodeCount": 2,
                "nodeConfig spot": True,
            },
            lacks=["nodeCount"],
            ignores=["initialNodeCount", "nodeCount"],
        ),
    ],
    "a CPU pool starts with its minimum at least": [
        Case(
            specs.cpu_pool(min_nodes=0, max_nodes=3, zones=("us-central1-a",)),
            inputs={"initialNodeCount": 0, "autoscaling totalMinNodeCount": 0},
        ),
        Case(
            specs.cpu_pool(min_nodes=1, max_nodes=3, zones=("us-central1-a",)),
            inputs={"initialNodeCount": 1, "autoscaling totalMinNodeCount": 1},
        ),
        Case(
            specs.cpu_pool(min_nodes=1, max_nodes=3, zones=THREE_ZONES),
            inputs={"initialNodeCount": 1, "autoscaling totalMinNodeCount": 1},
        ),
        Case(
            specs.cpu_pool(min_nodes=4, max_nodes=9, zones=THREE_ZONES),
            inputs={"initialNodeCount": 2, "autoscaling totalMinNodeCount": 4},
        ),
    ],
    "GPU nodes are not upgraded while their version is supported and others are": [
        Case(specs.cpu_pool(), lacks=["maintenancePolicies"]),
    ],
    "CPU pools spread unless capacity is scarce and none is kept": [
        Case(
            specs.cpu_pool(capacity_type="spot", min_nodes=0),
            inputs={"autoscaling locationPolicy": "ANY", "nodeConfig spot": True},
        ),
        Case(
            specs.cpu_pool(capacity_type="on-demand", min_nodes=0),
            inputs={"autoscaling locationPolicy": "BALANCED", "nodeConfig spot": False},
        ),
        Case(
            specs.cpu_pool(capacity_type="spot", min_nodes=1),
            inputs={"autoscaling locationPolicy": "BALANCED", "nodeConfig spot": True},
        ),
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
