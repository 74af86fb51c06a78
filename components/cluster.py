"""The cluster: its network, its identity and its control plane, and the way in."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from components.clouds.base import AuthorizedNetwork, Cloud, CloudCluster, ClusterSpec
from components.resources import ClusterObjects, KubernetesProvider
from components.settings import Settings


@dataclass(frozen=True, kw_only=True)
class ClusterArgs:
    """``spec`` on ``cloud``."""

    cloud: Cloud
    spec: ClusterSpec


class Cluster(pulumi.ComponentResource):
    """A cluster without pools.

    ``handle`` declares pools in it, ``objects`` declares objects in it, ``kubeconfig`` (secret) is for people.
    """

    cloud: Cloud
    spec: ClusterSpec
    handle: CloudCluster
    objects: ClusterObjects
    kubeconfig: pulumi.Output[str]

    def __init__(self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:Cluster", name, None, opts)
        self.cloud, self.spec = args.cloud, args.spec
        self.handle = args.cloud.cluster(name, args.spec, self)
        self.kubeconfig = self.handle.kubeconfig
        provider = KubernetesProvider(f"{name}-objects", self.kubeconfig, pulumi.ResourceOptions(parent=self))
        self.objects = ClusterObjects(provider=provider, cluster=self.handle.resource)
        self.register_outputs({"name": self.handle.name, "kubeconfig": self.kubeconfig})


def cluster_spec(settings: Settings) -> ClusterSpec:
    """The part of the settings that describes the cluster itself."""
    network = settings.network
    return ClusterSpec(
        name=settings.cluster_name,
        project=settings.project,
        region=settings.region,
        zones=settings.zones,
        regional=settings.regional,
        channel=settings.kubernetes.channel,
        version=settings.kubernetes.version,
        authorized_networks=tuple(
            AuthorizedNetwork(name=allowed.name, cidr=allowed.cidr) for allowed in network.authorized_networks
        ),
        private_endpoint=network.private_endpoint,
        node_cidr=network.node_cidr,
        pod_cidr=network.pod_cidr,
        service_cidr=network.service_cidr,
        control_plane_cidr=network.control_plane_cidr,
        kms_key=settings.security.kms_key,
        deletion_protection=settings.security.deletion_protection,
        autoscaling_profile=settings.autoscaling_profile,
        autoscaler=settings.autoscaler,
        expander=settings.expander,
        unneeded_minutes=settings.unneeded_minutes,
        nat_per_zone=settings.nat_per_zone,
        addons=settings.addons,
        admin_pool=settings.admin_pool_spec,
        labels=settings.labels,
    )
