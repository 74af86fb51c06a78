"""An EKS cluster: private nodes, secrets in an envelope of KMS, access by IAM alone, and no node of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pulumi

from components.clouds.base import AdminObjects, CloudCluster, NodePools, WorkloadResources
from components.clouds.data_lookup import look_up
from components.clouds.declare import eks as declare
from components.clouds.deployed import Deployed
from components.clouds.eks import access, addons, cluster_autoscaler, disk_key, pools
from components.clouds.eks.context import Context
from components.clouds.eks.encryption import refuse_other_key, secrets_key
from components.clouds.eks.endpoint import kubeconfig, login, vpc_config
from components.clouds.eks.existing_network import ExistingNetwork
from components.clouds.eks.identity import CLUSTER_POLICIES, CallerIdentity, ServiceRole, node_role
from components.clouds.eks.karpenter import NODE_POOL, Karpenter, node_role_arn
from components.clouds.eks.network import Network, refuse_other_network
from components.clouds.eks.running_cluster import running_cluster
from components.clouds.eks.running_groups import RunningGroups
from components.clouds.eks.version import cluster_minor, support_type
from components.clouds.eks.workloads.bucket import bucket
from components.clouds.eks.workloads.pod_identity import pod_identity
from components.clouds.eks.workloads.registry import registry
from components.clouds.eks.workloads.share import share
from components.clouds.raw import beside
from components.resources import CustomResource
from components.settings import Settings
from facts.catalog.eks.subnets import cluster_zones
from facts.concepts.pool import Pool

if TYPE_CHECKING:
    from schemas import eks


class EksCluster(CloudCluster):
    """The ``CloudCluster`` of Amazon; all its resources are children of ``parent``."""

    def __init__(self, name: str, settings: Settings, parent: pulumi.Resource) -> None:
        running = running_cluster(settings.cluster_name, parent)
        exists = running is not None
        deployed = Deployed()
        if settings.network.private_endpoint and settings.network.existing is None and not exists:
            _refuse_unreachable()
        if exists:
            refuse_other_key(name, settings, deployed)
            refuse_other_network(name, settings, deployed)
        account = CallerIdentity(parent)
        if settings.access and not exists:
            access.refuse_cluster_creator(settings, account.caller)
        minor = cluster_minor(settings, running)
        # Before anything is declared: what an update replaces may take the cluster with it. With Karpenter nothing but
        # the program changes the admin pool, its only group.
        groups = RunningGroups(
            settings.cluster_name, parent, exist=exists and settings.autoscaler == "cluster-autoscaler"
        )
        zones = running.zones if running else ()
        running_pools = deployed.names(NODE_POOL)
        there = {pool.name for pool in settings.pools if f"{pool.name}-pool" in running_pools}
        network: ExistingNetwork | Network
        if settings.network.existing:
            network, planes = ExistingNetwork(settings, parent, zones, there), zones
        else:
            in_use = deployed.ends("aws:ec2/subnet:Subnet", f"{name}-private-", "cidrBlock")
            network = Network(name, settings, parent, zones, in_use, there)
            planes = zones or cluster_zones(settings.region, settings.zones)
        nodes = node_role(name, settings, account, parent)
        role = ServiceRole(
            f"{name}-control-plane-role",
            "control-plane",
            settings,
            account,
            parent,
            service="eks.amazonaws.com",
            managed=CLUSTER_POLICIES,
        )
        key, key_use = secrets_key(name, settings, role, deployed, parent)
        logs = log_group(name, settings, parent, new=not exists)
        self.resource = declare(
            "aws:eks/cluster:Cluster",
            f"{name}-control-plane",
            beside(
                _inputs(
                    settings,
                    (minor, support_type(settings, minor, running)),
                    role.arn,
                    key,
                    vpc_config(name, settings, network, parent, planes),
                ),
                settings.raw,
                "raw",
            ),
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=[*role.ready, key_use, *network.ready, logs],
                protect=settings.security.deletion_protection,
                # EKS refuses the version that it has, which the provider sends if the stack's state has another:
                # https://github.com/rancher/rancher/issues/21043
                ignore_changes=["version"] if running is not None and running.version == minor else [],
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="90m", delete="30m"),
            ),
            outputs=["endpoint", "certificateAuthority", "identities"],
        )
        self._context = Context(
            settings=settings,
            account=account,
            network=network,
            node_role=nodes,
            control_plane=self.resource,
            minor=minor,
            groups=groups,
            deployed=deployed,
            disk_keys=disk_key.keys(name, settings, deployed),
            file_mounts=addons.file_mounts(name, settings, account, parent),
        )
        self.authority = self.resource.outputs["certificateAuthority"].apply(lambda authority: str(authority["data"]))
        self.kubeconfig = _kubeconfig(settings, self.resource, self.authority)
        self.running_nodes = pools.running_nodes(self._context)
        access.grant(name, settings, self._context.name, parent)
        self._needs: Sequence[pulumi.Resource] = [
            *nodes.ready,
            *addons.before_nodes(name, self._context, parent),
            *disk_key.grants(name, settings, account, deployed, parent),
        ]

    @property
    def network(self) -> Mapping[str, pulumi.Input[Any]]:
        """IDs for file systems, databases and load balancers of the network. A registry of another account must
        allow all of ``nodeRoleArns`` to pull."""
        context, network = self._context, self._context.network
        own = [node_role_arn(context.settings, context.account)] if context.settings.autoscaler == "karpenter" else []
        return {
            "vpcId": network.vpc,
            "privateSubnetIds": list(network.private_subnets.values()),
            "publicSubnetIds": list(network.public_subnets.values()),
            "clusterSecurityGroupId": self._context.security_group,
            "nodeRoleArns": [context.node_role.arn, *own],
            # https://docs.aws.amazon.com/eks/latest/userguide/iam-roles-for-service-accounts.html
            "oidcIssuerUrl": self.resource.outputs["identities"].apply(
                lambda known: str(known[0]["oidcs"][0]["issuer"])
            ),
        }

    def node_pool(self, name: str, pool: Pool, opts: pulumi.ResourceOptions) -> pulumi.CustomResource:
        """A managed node group; with the admin pool also the add-ons that run on it, which exist before other nodes
        and until these are deleted."""
        group = pools.node_pool(self._context, name, pool, self._needs, opts)
        if pool.role == "admin":
            self._needs = addons.on_admin_pool(name, self._context, group, opts)
        return group

    @property
    def workloads(self) -> WorkloadResources:
        """Resources for jobs outside the cluster."""
        context = self._context
        return WorkloadResources(
            registry=partial(registry, context),
            bucket=partial(bucket, context),
            share=partial(share, context),
            pod_identity=partial(pod_identity, context),
        )

    def basics(self, objects: AdminObjects) -> None:
        """An encrypted class of our own."""
        key = self._context.settings.security.disk_key
        objects.declare("", addons.default_class(key), *objects.home)

    def autoscaler(self, pools: Sequence[Pool], objects: AdminObjects) -> NodePools:
        """Cluster-autoscaler for node groups, or Karpenter with pools of its own, on the admin pool."""
        if self._context.settings.autoscaler == "karpenter":
            return Karpenter(self._context, pools, objects)
        cluster_autoscaler.declare(self._context, pools, objects)
        return self


def _refuse_unreachable() -> None:
    """A new network is not connected to anything: the update would stop after the admin pool, at the first object in
    the cluster."""
    raise pulumi.RunError(
        "network.privateEndpoint: this stack creates the network, and nothing is connected to it yet. Write "
        "network.existing with a network that you can reach. Or, for the first `pulumi up`, write privateEndpoint: "
        "false and your own address in authorizedNetworks; connect the network (VPN, peering, Transit Gateway; its id "
        "is in `pulumi stack output network`); then write privateEndpoint: true with the connected ranges."
    )


def _kubeconfig(
    settings: Settings, cluster: CustomResource[eks.ClusterOutputs], authority: pulumi.Output[str]
) -> pulumi.Output[str]:
    provider_login = login()
    return pulumi.Output.secret(
        pulumi.Output.all(cluster.outputs["endpoint"], authority).apply(
            lambda answer: kubeconfig(settings.cluster_name, settings.region, answer[0], answer[1], provider_login)
        )
    )


def _inputs(
    settings: Settings,
    version: tuple[str, str],
    role_arn: pulumi.Output[Any],
    key_arn: pulumi.Input[str],
    network: eks.ClusterVpcConfig,
) -> eks.Cluster:
    return {
        "name": settings.cluster_name,
        "roleArn": role_arn,
        "version": version[0],
        "upgradePolicy": {"supportType": version[1]},
        "vpcConfig": network,
        # Access entries alone, no aws-auth ConfigMap; EKS creates one for the cluster's creator:
        # https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
        "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
        # The program declares the add-ons, with their versions and roles.
        "bootstrapSelfManagedAddons": False,
        "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": settings.network.service_cidr},
        "encryptionConfig": {"provider": {"keyArn": key_arn}, "resources": ["secrets"]},
        "enabledClusterLogTypes": list(settings.control_plane_logs),
        "deletionProtection": settings.security.deletion_protection,
        "tags": dict(settings.labels),
    }


def log_group(name: str, settings: Settings, parent: pulumi.Resource, *, new: bool) -> CustomResource:
    """The log group, declared before the cluster: otherwise EKS creates one without a retention time.
    https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html

    EKS writes late logs after a cluster was deleted and recreates the group, so that a ``new`` cluster of the same name
    finds one: https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2763. It is imported as it
    is; the next update sets tags and retention.
    """
    log_group_name = f"/aws/eks/{settings.cluster_name}/cluster"
    options = pulumi.ResourceOptions(parent=parent)
    find = ("aws:cloudwatch/getLogGroups:getLogGroups", {"logGroupNamePrefix": log_group_name}, parent)
    if new and log_group_name in look_up(*find)["logGroupNames"]:
        retained = pulumi.ResourceOptions(import_=log_group_name, ignore_changes=["retentionInDays", "tags"])
        options = pulumi.ResourceOptions.merge(options, retained)
    return declare(
        "aws:cloudwatch/logGroup:LogGroup",
        f"{name}-control-plane-logs",
        {"name": log_group_name, "retentionInDays": settings.control_plane_log_days, "tags": dict(settings.labels)},
        options,
    )
