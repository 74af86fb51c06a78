"""An EKS cluster: private nodes, secrets in an envelope of KMS, access by IAM alone, and no node of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pulumi

from components.clouds.base import ClusterSpec
from components.clouds.eks import addons, cluster_autoscaler, karpenter, pools
from components.clouds.eks.access import vpc_config
from components.clouds.eks.encryption import secrets_key
from components.clouds.eks.identity import Account, cluster_role, node_role
from components.clouds.eks.kubeconfig import kubeconfig
from components.clouds.eks.network import Network
from components.clouds.eks.versions import kubernetes_minor
from components.pools import AdminPoolSpec, CpuPoolSpec, GpuPoolSpec
from components.resources import ClusterObjects, CustomResource

# https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
_LOGS: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_LOG_DAYS: Final = 30


class EksCluster:
    """The ``CloudCluster`` of Amazon; all its resources are children of ``parent``."""

    def __init__(self, name: str, spec: ClusterSpec, parent: pulumi.Resource) -> None:
        self.spec = spec
        self.account = Account(parent)
        self.network = Network(name, spec, parent)
        self.node_role = node_role(name, spec, self.account, parent)
        role = cluster_role(name, spec, self.account, parent)
        key = secrets_key(name, spec, role, parent)
        # EKS would make this log group itself, and keep what is in it for ever.
        logs = CustomResource(
            "aws:cloudwatch/logGroup:LogGroup",
            f"{name}-control-plane-logs",
            {
                "name": f"/aws/eks/{spec.name}/cluster",
                "retentionInDays": _LOG_DAYS,
                "tags": dict(spec.labels),
            },
            pulumi.ResourceOptions(parent=parent),
        )
        self._resource = CustomResource(
            "aws:eks/cluster:Cluster",
            f"{name}-control-plane",
            self._inputs(role.arn, key.arn, vpc_config(name, spec, self.network, parent)),
            pulumi.ResourceOptions(
                parent=parent,
                depends_on=[*role.ready, *key.ready, *self.network.ready, logs],
                protect=spec.deletion_protection,
                custom_timeouts=pulumi.CustomTimeouts(create="45m", update="90m", delete="30m"),
            ),
            outputs=["endpoint", "certificateAuthority"],
        )
        self._kubeconfig = self._make_kubeconfig()
        self.node_addons = addons.before_nodes(name, self, parent)
        self._karpenter: karpenter.Karpenter | None = None
        self._admin_pool: AdminPoolSpec | None = None

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
    def cluster(self) -> CustomResource:
        """The cluster resource with its outputs, for the pools."""
        return self._resource

    @property
    def security_group(self) -> pulumi.Output[Any]:
        """The security group that EKS makes for control plane and nodes."""
        return self._resource.output("vpcConfig").apply(lambda network: network["clusterSecurityGroupId"])

    def admin_pool(
        self, name: str, spec: AdminPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """A managed node group, and the add-ons whose pods run on it."""
        self._admin_pool = spec
        pool = pools.admin_pool(self, name, spec, opts)
        addons.on_admin_pool(name, self, pool, opts)
        return pool

    def cpu_node_pool(
        self, name: str, spec: CpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool without GPUs."""
        if self._karpenter is not None:
            return self._karpenter.node_pool(name, spec, objects, opts)
        return pools.cpu_node_pool(self, name, spec, opts)

    def gpu_node_pool(
        self, name: str, spec: GpuPoolSpec, objects: ClusterObjects, opts: pulumi.ResourceOptions
    ) -> pulumi.CustomResource:
        """An autoscaled pool of GPU nodes that starts empty."""
        if self._karpenter is not None:
            return self._karpenter.node_pool(name, spec, objects, opts)
        return pools.gpu_node_pool(self, name, spec, opts)

    def autoscaler(
        self,
        name: str,
        pools: Sequence[GpuPoolSpec | CpuPoolSpec],
        objects: ClusterObjects,
        parent: pulumi.Resource,
        admin_pool: pulumi.Resource,
    ) -> None:
        """Cluster-autoscaler, or Karpenter, on the admin pool."""
        if self.spec.autoscaler == "karpenter":
            replicas = 1 if self._admin_pool is None else min(2, self._admin_pool.total_nodes)
            self._karpenter = karpenter.Karpenter(name, self, pools, objects, parent, admin_pool, replicas)
        else:
            cluster_autoscaler.declare(name, self, pools, objects, parent, admin_pool)

    def _make_kubeconfig(self) -> pulumi.Output[str]:
        cluster = self._resource
        authority = cluster.output("certificateAuthority").apply(lambda found: found["data"])
        return pulumi.Output.secret(
            pulumi.Output.all(cluster.output("endpoint"), authority).apply(
                lambda answer: kubeconfig(self.spec.name, self.spec.region, answer[0], answer[1])
            )
        )

    def _inputs(
        self, role_arn: pulumi.Output[Any], key_arn: pulumi.Input[str], access: dict[str, Any]
    ) -> dict[str, Any]:
        spec = self.spec
        return {
            "name": spec.name,
            "roleArn": role_arn,
            "version": kubernetes_minor(spec.version, spec.channel),
            "vpcConfig": access,
            # Access entries alone, no aws-auth ConfigMap; EKS makes one for whoever creates the cluster:
            # https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
            "accessConfig": {"authenticationMode": "API", "bootstrapClusterCreatorAdminPermissions": True},
            # The add-ons are declared, so that their versions and rights are ours.
            "bootstrapSelfManagedAddons": False,
            "kubernetesNetworkConfig": {"ipFamily": "ipv4", "serviceIpv4Cidr": spec.service_cidr},
            "encryptionConfig": {"provider": {"keyArn": key_arn}, "resources": ["secrets"]},
            "enabledClusterLogTypes": list(_LOGS),
            # Extended support costs six times as much, so only a written version stays that long; otherwise EKS
            # upgrades: https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html
            "upgradePolicy": {"supportType": "STANDARD" if spec.version is None else "EXTENDED"},
            "deletionProtection": spec.deletion_protection,
            "tags": dict(spec.labels),
        }
