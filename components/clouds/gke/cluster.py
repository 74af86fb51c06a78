"""A GKE Standard cluster: private, VPC-native, with Workload Identity, and no pool of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.clouds.gke import pools
from components.clouds.gke.identity import NodeIdentity, grant_kms_key
from components.clouds.gke.kubeconfig import kubeconfig
from components.clouds.gke.network import POD_RANGE, SERVICE_RANGE, Network
from components.clouds.gke.node_config import node_config
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.resources import ClusterObjects, CustomResource

_PROFILES: Final = {"optimize-utilization": "OPTIMIZE_UTILIZATION", "balanced": "BALANCED"}

# GKE deletes this pool as soon as the cluster exists; e2-medium is what it would choose by itself.
_TEMPORARY_POOL_MACHINE: Final = "e2-medium"
_TEMPORARY_POOL_DISK_GB: Final = 20


class GkeCluster:
    """The ``CloudCluster`` of Google; all its resources are children of ``parent``."""

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        self.spec = spec
        network = Network(name, spec, parent)
        self._identity = NodeIdentity(name, spec, parent)
        needs: list[pulumi.Resource] = [network.ready, *self._identity.ready]
        if spec.kms_key is not None:
            needs.append(grant_kms_key(name, spec, spec.kms_key, parent))
        self._resource = CustomResource(
            "gcp:container/cluster:Cluster",
            f"{name}-control-plane",
            self._inputs(network),
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=needs,
                protect=spec.deletion_protection,
                # These describe the temporary pool, which no longer exists when they are compared.
                ignore_changes=["initialNodeCount", "nodeConfig", "nodePools", "nodeVersion"],
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="90m", delete="45m"),
            ),
            outputs=["endpoint", "masterAuth"],
        )
        self._kubeconfig = self._make_kubeconfig()

    @property
    def resource(self) -> pulumi.Resource:
        """The ``Cluster`` resource."""
        return self._resource

    @property
    def name(self) -> pulumi.Output[str]:
        """The name, known once the cluster exists."""
        return self._resource.output("name")

    @property
    def kubeconfig(self) -> pulumi.Output[str]:
        """Secret: it says where the control plane is, although it holds no credential."""
        return self._kubeconfig

    @property
    def location(self) -> str:
        """Where the control plane is: the region, or the first zone."""
        return self.spec.region if self.spec.regional else self.spec.zones[0]

    @property
    def cluster(self) -> CustomResource:
        """The cluster resource with its outputs, for the pools."""
        return self._resource

    @property
    def node_account(self) -> pulumi.Output[Any]:
        """E-mail address of the nodes' service account."""
        return self._identity.email

    def admin_pool(
        self, name: str, spec: AdminPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """A pool of fixed size."""
        return pools.admin_pool(self, name, spec, opts)

    def cpu_node_pool(
        self, name: str, spec: CpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool without GPUs."""
        return pools.cpu_node_pool(self, name, spec, opts)

    def gpu_node_pool(
        self, name: str, spec: GpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool of GPU nodes that starts empty."""
        return pools.gpu_node_pool(self, name, spec, opts)

    def autoscaler(
        self,
        name: str,
        pools: Sequence[GpuPoolSpec | CpuPoolSpec],
        objects: ClusterObjects,
        parent: pulumi.Resource,
        admin_pool: pulumi.Resource,
    ) -> None:
        """Nothing: Google runs the autoscaler, and a pool's limits are all it needs."""

    def _make_kubeconfig(self) -> pulumi.Output[str]:
        cluster = self._resource
        context = f"gke_{self.spec.project}_{self.location}_{self.spec.name}"
        authority = cluster.output("masterAuth").apply(lambda auth: auth["clusterCaCertificate"])
        return pulumi.Output.secret(
            pulumi.Output.all(cluster.output("endpoint"), authority).apply(
                lambda answer: kubeconfig(context, answer[0], answer[1])
            )
        )

    def _inputs(self, network: Network) -> dict[str, Any]:
        spec = self.spec
        inputs: dict[str, Any] = {
            "project": spec.project,
            "name": spec.name,
            "location": self.location,
            "network": network.network,
            "subnetwork": network.subnetwork,
            "networkingMode": "VPC_NATIVE",
            "ipAllocationPolicy": {
                "clusterSecondaryRangeName": POD_RANGE,
                "servicesSecondaryRangeName": SERVICE_RANGE,
            },
            "privateClusterConfig": self._private_access(),
            "masterAuthorizedNetworksConfig": {
                "cidrBlocks": [
                    {"displayName": allowed.name, "cidrBlock": allowed.cidr} for allowed in spec.authorized_networks
                ],
                "gcpPublicCidrsAccessEnabled": False,
            },
            "releaseChannel": {"channel": spec.channel.upper()},
            "maintenancePolicy": {"dailyMaintenanceWindow": {"startTime": "03:00"}},
            "workloadIdentityConfig": {"workloadPool": f"{spec.project}.svc.id.goog"},
            "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
            "enableLegacyAbac": False,
            "enableShieldedNodes": True,
            "databaseEncryption": (
                {"state": "DECRYPTED"} if spec.kms_key is None else {"state": "ENCRYPTED", "keyName": spec.kms_key}
            ),
            # Auto-provisioning stays off: every pool is one the stack file names, with its taint, limit and price.
            "clusterAutoscaling": {"enabled": False, "autoscalingProfile": _PROFILES[spec.autoscaling_profile]},
            "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
            "monitoringConfig": {
                "enableComponents": ["SYSTEM_COMPONENTS"],
                "managedPrometheus": {"enabled": False},
            },
            "costManagementConfig": {"enabled": True},
            "removeDefaultNodePool": True,
            "initialNodeCount": 1,
            "nodeConfig": node_config(
                machine_type=_TEMPORARY_POOL_MACHINE,
                disk_gb=_TEMPORARY_POOL_DISK_GB,
                service_account=self.node_account,
                labels={},
                resource_labels=spec.labels,
            ),
            "deletionProtection": spec.deletion_protection,
            "resourceLabels": dict(spec.labels),
        }
        further_zones = spec.zones if spec.regional else spec.zones[1:]
        if further_zones:
            inputs["nodeLocations"] = list(further_zones)
        if spec.version is not None:
            inputs["minMasterVersion"] = spec.version
        return inputs

    def _private_access(self) -> dict[str, Any]:
        access: dict[str, Any] = {"enablePrivateNodes": True, "enablePrivateEndpoint": self.spec.private_endpoint}
        if self.spec.control_plane_cidr is not None:
            access["masterIpv4CidrBlock"] = self.spec.control_plane_cidr
        return access
