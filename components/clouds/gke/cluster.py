"""A GKE Standard cluster: private, VPC-native, with Workload Identity, and no pool of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.base import AdminObjects, CloudCluster, NodePools, WorkloadResources
from components.clouds.declare import gke as declare
from components.clouds.deployed import Deployed
from components.clouds.gke import access, compute_class, maintenance, pools, storage
from components.clouds.gke.context import Context, location
from components.clouds.gke.existing_network import ExistingNetwork
from components.clouds.gke.fixed import refuse_other_fixed
from components.clouds.gke.identity import (
    STORAGE_AGENTS,
    NodeIdentity,
    grant_cluster_keys,
    grant_data_key,
    has_data_right,
)
from components.clouds.gke.kubeconfig import kubeconfig_of
from components.clouds.gke.network import Network
from components.clouds.gke.node_config import node_config
from components.clouds.gke.workloads.bucket import bucket
from components.clouds.gke.workloads.pod_identity import pod_identity
from components.clouds.gke.workloads.registry import grant_pull, registry
from components.clouds.gke.workloads.share import running_shares, share
from components.clouds.raw import beside, changing
from components.resources import CustomResource, documents
from components.settings import Settings
from components.settings.limits.gke import addresses_off
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import gke

_CLUSTER: Final = "gcp:container/cluster:Cluster"
_COMPUTE_CLASSES: Final = Path(__file__).with_name("compute-classes.yaml")
_PROFILES: Final = {"optimize-utilization": "OPTIMIZE_UTILIZATION", "balanced": "BALANCED"}

# Without v2 network policies have no effect, and multi-networking (GPUDirect) is unsupported:
# https://cloud.google.com/kubernetes-engine/docs/concepts/dataplane-v2
_DATAPLANES: Final = {"v2": "ADVANCED_DATAPATH", "legacy": "LEGACY_DATAPATH"}

_FILESTORE_DRIVER: Final = "gcpFilestoreCsiDriverConfig"
# Without the driver nothing unmounts what running pods have mounted, so no update turns it off by itself.
_DRIVER_STAYS: Final = (
    "workloads.sharedVolume: GKE keeps Filestore's driver on {cluster}, with a pod on every node, until an update "
    "turns it off. When no pod mounts a volume of Filestore any more, write raw: {{addonsConfig: "
    "{{gcpFilestoreCsiDriverConfig: {{enabled: false}}}}}}"
)

# Inputs of ``raw`` for which GKE recreates the nodes of all pools, and the provider says update:
# https://cloud.google.com/kubernetes-engine/docs/how-to/nodelocal-dns-cache,
# https://cloud.google.com/kubernetes-engine/docs/how-to/intranode-visibility,
# https://cloud.google.com/kubernetes-engine/docs/how-to/network-policy
_RECREATES_NODES: Final = ("addonsConfig.dnsCacheConfig", "enableIntranodeVisibility", "networkPolicy")
_NODES_GO: Final = (
    "raw.{path}: the preview shows an update, but GKE recreates the nodes of all pools of {cluster} for it, and their "
    "jobs end. Run this update while no job runs."
)

# GKE deletes this pool as soon as the cluster exists; e2-medium is GKE's default.
_TEMPORARY_POOL_MACHINE: Final = "e2-medium"
_TEMPORARY_POOL_DISK_GB: Final = 20


class GkeCluster(CloudCluster):
    """The ``CloudCluster`` of Google; all its resources are children of ``parent``."""

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        deployed = Deployed()
        refuse_other_fixed(name, settings, deployed, parent)
        _warn_of_recreated_nodes(settings, deployed.outputs(_CLUSTER, f"{name}-control-plane"))
        network = ExistingNetwork(settings, parent) if settings.network.existing else Network(name, settings, parent)
        identity = NodeIdentity(name, settings, parent)
        needs = [*network.ready, *identity.ready, *grant_cluster_keys(name, settings, deployed, parent)]
        self.resource = declare(
            _CLUSTER,
            f"{name}-control-plane",
            beside(_inputs(name, settings, network, identity, deployed), settings.raw, "raw"),
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=needs,
                protect=settings.security.deletion_protection,
                ignore_changes=_ignored_changes(settings),
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="90m", delete="45m"),
            ),
            outputs=["endpoint", "masterAuth"],
        )
        self._context = Context(
            settings=settings,
            name=self.resource.outputs["name"],
            location=location(settings),
            control_plane=self.resource,
            node_account=identity.email,
            deployed=deployed,
        )
        self.authority = self.resource.outputs["masterAuth"].apply(lambda auth: str(auth["clusterCaCertificate"]))
        self.kubeconfig = _kubeconfig(settings, self.resource, self.authority)
        access.grant(name, settings, parent)
        self._network = network
        self._first: list[pulumi.Resource] = []

    @property
    def network(self) -> Mapping[str, pulumi.Input[Any]]:
        """IDs for databases, file stores and peerings of the network."""
        settings = self._context.settings
        place = f"projects/{settings.project}/locations/{location(settings)}/clusters"
        return {
            "network": self._network.network,
            "subnetwork": self._network.subnetwork,
            "nodeServiceAccount": self._context.node_account,
            # https://cloud.google.com/iam/docs/workload-identity-federation-with-kubernetes
            "oidcIssuerUrl": self.name.apply(lambda name: f"https://container.googleapis.com/v1/{place}/{name}"),
        }

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """One pool of any role; all others wait for the admin pool."""
        after = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=self._first))
        declared = pools.node_pool(self._context, name, pool, after)
        if pool.role == "admin":
            self._first = [declared]
        return declared

    @property
    def workloads(self) -> WorkloadResources:
        """Resources for jobs outside the cluster."""
        context = self._context
        settings, deployed = context.settings, context.deployed
        return WorkloadResources(
            registry=partial(registry, context),
            bucket=partial(bucket, context),
            share=partial(share, context),
            pod_identity=partial(pod_identity, context),
            grant_pull=partial(grant_pull, context),
            rights_of_data={
                each: partial(grant_data_key, each, settings, deployed)
                for each in STORAGE_AGENTS
                if has_data_right(each, deployed)
            },
        )

    def basics(self, objects: AdminObjects) -> None:
        """The classes of volumes that GKE's own default does not cover: of Hyperdisk, or with the customer's key."""
        for name, storage_class in storage.classes(self._context.settings):
            objects.declare(name, storage_class)

    def volume_class(self, pool: Pool) -> str | None:
        """A class of its own where the pool's machines do not attach disks of the default class."""
        return storage.volume_class(self._context.settings, pool)

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Google runs the autoscaler, and a pool's limits are all it needs; pods get no nodes past the pools."""
        policy, binding = documents(_COMPUTE_CLASSES)
        objects.declare("compute-classes-binding", binding, objects.declare("compute-classes", policy))
        compute_class.declare(pools, objects)
        return self


def _warn_of_recreated_nodes(settings: Settings, running: Mapping[str, Any]) -> None:
    if running.get("name") == settings.cluster_name and running.get("location") == location(settings):
        for path in changing(settings.raw, running, _RECREATES_NODES):
            pulumi.warn(_NODES_GO.format(path=path, cluster=settings.cluster_name))


def _ignored_changes(settings: Settings) -> list[str]:
    """Inputs that keep the value of the cluster's creation.

    Those of the temporary pool, which no longer exists; and the dataplane, unless the stack file sets it: a change
    replaces the cluster, and clusters older than the setting have the legacy one. And the zones: every pool declares
    its own, and another zone of the cluster moves all of them, with what runs there:
    https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/ClusterUpdate (desiredLocations)
    """
    temporary_pool = ["initialNodeCount", "nodeConfig", "nodePools", "nodeVersion"]
    dataplane = ["datapathProvider"] if settings.network.dataplane is None else []
    return [*temporary_pool, "nodeLocations", *dataplane]


def _kubeconfig(
    settings: Settings, cluster: CustomResource[gke.ClusterOutputs], authority: pulumi.Output[str]
) -> pulumi.Output[str]:
    """By the cluster's endpoint by name, if it has one."""
    by_name, place = settings.network.dns_endpoint, location(settings)

    def made(answer: Sequence[Any]) -> str:
        host = answer[0]["dnsEndpointConfig"]["endpoint"] if by_name else answer[0]
        known = None if by_name else answer[1]
        return kubeconfig_of(settings.cluster_name, place, settings.project, host, known)

    endpoint = cluster.outputs["controlPlaneEndpointsConfig" if by_name else "endpoint"]
    return pulumi.Output.secret(pulumi.Output.all(endpoint, authority).apply(made))


def _inputs(
    name: str, settings: Settings, network: Network | ExistingNetwork, identity: NodeIdentity, deployed: Deployed
) -> gke.Cluster:
    inputs: gke.Cluster = {
        "project": settings.project,
        "name": settings.cluster_name,
        "location": location(settings),
        "network": network.network,
        "subnetwork": network.subnetwork,
        "networkingMode": "VPC_NATIVE",
        "datapathProvider": _DATAPLANES[settings.network.dataplane or "v2"],
        "ipAllocationPolicy": {
            "clusterSecondaryRangeName": network.pod_range,
            "servicesSecondaryRangeName": network.service_range,
        },
        "privateClusterConfig": _private_access(settings),
        "masterAuthorizedNetworksConfig": {
            "cidrBlocks": [
                {"displayName": allowed.name, "cidrBlock": allowed.cidr}
                for allowed in settings.network.authorized_networks
            ],
            "gcpPublicCidrsAccessEnabled": False,
        },
        "releaseChannel": {"channel": settings.kubernetes.channel.upper()},
        "maintenancePolicy": maintenance.policy(settings.maintenance),
        "workloadIdentityConfig": {"workloadPool": f"{settings.project}.svc.id.goog"},
        "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
        "enableLegacyAbac": False,
        # Every Google account is in system:authenticated: https://docs.cloud.google.com/kubernetes-engine/docs/best-practices/rbac
        "rbacBindingConfig": {
            "enableInsecureBindingSystemAuthenticated": False,
            "enableInsecureBindingSystemUnauthenticated": False,
        },
        "enableShieldedNodes": True,
        "databaseEncryption": (
            {"state": "DECRYPTED"}
            if settings.security.kms_key is None
            else {"state": "ENCRYPTED", "keyName": settings.security.kms_key}
        ),
        # Auto-provisioning stays off: every pool is one the stack file names, with its taint, limit and price.
        "clusterAutoscaling": {"enabled": False, "autoscalingProfile": _PROFILES[settings.autoscaling_profile]},
        "loggingConfig": {"enableComponents": ["SYSTEM_COMPONENTS", "WORKLOADS"]},
        # Google stores the GPUs' metrics in Managed Service for Prometheus, where samples cost; no GPU node, no sample:
        # https://cloud.google.com/kubernetes-engine/docs/how-to/dcgm-metrics
        "monitoringConfig": {
            "enableComponents": ["SYSTEM_COMPONENTS", *(["DCGM"] if settings.gpu_metrics else [])],
            "managedPrometheus": {"enabled": settings.gpu_metrics},
        },
        "costManagementConfig": {"enabled": True},
        # By name, with IAM instead of addresses: the permission container.clusters.connect
        # (https://cloud.google.com/kubernetes-engine/docs/concepts/network-isolation). Always written, because what is
        # left out stays as it was: https://github.com/pulumi/pulumi-gcp/issues/1072
        "controlPlaneEndpointsConfig": {"dnsEndpointConfig": {"allowExternalTraffic": settings.network.dns_endpoint}},
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        # A rule of the company that no disk is without a key holds for this one, too.
        "nodeConfig": node_config(settings, identity.email, _TEMPORARY_POOL_MACHINE, _TEMPORARY_POOL_DISK_GB),
        "deletionProtection": settings.security.deletion_protection,
        "resourceLabels": dict(settings.labels),
    }
    if addresses_off(settings):
        # The provider sends neither, and Google's answer has neither: written, they would show a change for ever
        # (expandControlPlaneEndpointsConfig in
        # https://github.com/hashicorp/terraform-provider-google/blob/main/google/services/container/resource_container_cluster.go).
        del inputs["masterAuthorizedNetworksConfig"]
    if settings.workloads.shared_volume is not None:
        # https://cloud.google.com/kubernetes-engine/docs/how-to/persistent-volumes/filestore-csi-driver
        inputs["addonsConfig"] = {_FILESTORE_DRIVER: {"enabled": True}}
    elif running_shares(deployed) and _FILESTORE_DRIVER not in (settings.raw.get("addonsConfig") or {}):
        pulumi.warn(_DRIVER_STAYS.format(cluster=settings.cluster_name))
    further_zones = settings.zones if settings.regional else settings.zones[1:]
    if further_zones:
        inputs["nodeLocations"] = list(further_zones)
    if (groups := access.authenticator_groups(name, settings, deployed)) is not None:
        inputs["authenticatorGroupsConfig"] = groups
    if settings.kubernetes.version is not None:
        inputs["minMasterVersion"] = settings.kubernetes.version
    return inputs


def _private_access(settings: Settings) -> gke.PrivateClusterConfig:
    access: gke.PrivateClusterConfig = {"enablePrivateNodes": True}
    if not addresses_off(settings):
        access["enablePrivateEndpoint"] = settings.network.private_endpoint
    if settings.network.control_plane_cidr is not None:
        access["masterIpv4CidrBlock"] = settings.network.control_plane_cidr
    return access
