"""EKS add-ons: the parts of a cluster that AWS maintains, and their permissions.

At its creation an add-on gets the version that AWS marks as default for the cluster's minor version, and keeps it until
a user updates or pins it: https://docs.aws.amazon.com/eks/latest/userguide/eks-add-ons.html. Those of
``_OF_THE_MINOR`` have the default of the version that the cluster runs.
Pod Identity grants permissions to the one service account that needs them, never to all pods of a node.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks import disk_key, policy
from components.clouds.eks.context import Context
from components.clouds.eks.identity import CallerIdentity, ServiceRole, associate
from components.clouds.eks.network import LOAD_BALANCER
from components.clouds.eks.version import default_addon_version
from components.resources import CustomResource
from components.settings import Settings
from facts.concepts.pool import ROLE_LABEL

if TYPE_CHECKING:
    from schemas import eks

_ON_ADMIN: Final = {ROLE_LABEL: "admin"}
# A kube-proxy may be three minor versions older than the control plane:
# https://docs.aws.amazon.com/eks/latest/userguide/managing-kube-proxy.html
_OF_THE_MINOR: Final = ("kube-proxy", "coredns")


@dataclass(frozen=True, kw_only=True)
class Addon:
    """One add-on: its ``service_accounts`` get AWS's ``policies``, and ``configuration`` replaces its defaults."""

    name: str
    service_accounts: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict)


_MOUNTING: Final = ("kube-system", "efs-csi-node-sa")
_BALANCING: Final = ("kube-system", "aws-load-balancer-controller")
"""Namespace and service account of the AWS Load Balancer Controller, as its chart has them."""

POD_IDENTITY_AGENT: Final = Addon(name="eks-pod-identity-agent")

BEFORE_NODES: Final = (
    POD_IDENTITY_AGENT,
    Addon(
        name="vpc-cni",
        service_accounts=("aws-node",),
        policies=("AmazonEKS_CNI_Policy",),
        # Addresses in blocks of 16: Kubernetes limits the pods of a node, not the number of its interfaces.
        # https://docs.aws.amazon.com/eks/latest/best-practices/prefix-mode-linux.html
        configuration={"env": {"ENABLE_PREFIX_DELEGATION": "true", "WARM_PREFIX_TARGET": "1"}},
    ),
    Addon(name="kube-proxy"),
)
"""DaemonSets without which no node becomes ready; as no node exists yet, they are active at once."""

_MONITORING: Final = Addon(
    name="eks-node-monitoring-agent",
    # Its GPU monitor reports a lost connection to DCGM as a broken GPU, for ever, and node repair then deletes the node
    # with its job: https://github.com/aws/eks-node-monitoring-agent/issues/266
    configuration={"nodeAgent": {"monitors": {"nvidia": {"enabled": False}}}},
)
"""What Karpenter's node repair acts on: https://docs.aws.amazon.com/eks/latest/userguide/node-health-nma.html"""

# Their Deployments must not keep a node of a CPU pool alive.
_COREDNS: Final = Addon(name="coredns", configuration={"nodeSelector": _ON_ADMIN})
_EBS: Final = Addon(
    name="aws-ebs-csi-driver",
    service_accounts=("ebs-csi-controller-sa",),
    # Volumes with the driver's own tag alone, where the first policy of that name had all of the account:
    # https://docs.aws.amazon.com/aws-managed-policy/latest/reference/AmazonEBSCSIDriverPolicyV2.html
    policies=("AmazonEBSCSIDriverPolicyV2",),
    # Its own default class does not encrypt, and has no parameter for it; ours (``storage.py``) does.
    configuration={"controller": {"nodeSelector": _ON_ADMIN}},
)

OPTIONAL: Final[Mapping[str, Addon]] = {
    # https://docs.aws.amazon.com/eks/latest/userguide/efs-csi.html
    "efs": Addon(
        name="aws-efs-csi-driver",
        # Not ``efs-csi-node-sa``, which mounts: these are to make and delete access points. A mount needs no right
        # unless the file system has a policy (https://docs.aws.amazon.com/efs/latest/ug/iam-access-control-nfs-efs.html),
        # as the shared volume has: ``file_mounts``.
        service_accounts=("efs-csi-controller-sa",),
        policies=("service-role/AmazonEFSCSIDriverPolicy",),
        configuration={"controller": {"nodeSelector": _ON_ADMIN}},
    ),
    # https://docs.aws.amazon.com/eks/latest/userguide/fsx-csi-create.html
    "fsx": Addon(
        name="aws-fsx-csi-driver",
        service_accounts=("fsx-csi-controller-sa",),
        policies=("AmazonFSxFullAccess",),
        configuration={"controller": {"nodeSelector": _ON_ADMIN}},
    ),
    # https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/install-CloudWatch-Observability-EKS-addon.html
    "cloudwatch": Addon(
        name="amazon-cloudwatch-observability",
        service_accounts=("cloudwatch-agent",),
        policies=("CloudWatchAgentServerPolicy", "AWSXrayWriteOnlyAccess"),
        # Its Deployment tolerates every taint, and on a GPU node it would keep that node alive:
        # https://github.com/aws/containers-roadmap/issues/2462
        configuration={"manager": {"nodeSelector": _ON_ADMIN}},
    ),
}
"""Opt-ins of a stack file by their names there; ``ebs`` is always there, ``load-balancer`` is rights alone."""


def file_mounts(name: str, settings: Settings, account: CallerIdentity, parent: pulumi.Resource) -> ServiceRole | None:
    """The role of the nodes' EFS driver for the shared volume, whose policy admits only this role.

    The role itself has no permissions. https://github.com/kubernetes-sigs/aws-efs-csi-driver/issues/1759
    """
    if settings.workloads.shared_volume is None:
        return None
    return ServiceRole(f"{name}-efs-mounts-role", "efs-mounts", settings, account, parent)


def before_nodes(name: str, context: Context, parent: pulumi.Resource) -> list[pulumi.Resource]:
    """What every node group waits for; the agent is before the others, so waiting for them is enough."""
    options = pulumi.ResourceOptions(parent=parent)
    # The agent hands out the rights of the others, so it comes first.
    agent = _declare(name, POD_IDENTITY_AGENT, context, options)
    later = pulumi.ResourceOptions(parent=parent, depends_on=[agent])
    mounts = context.file_mounts
    monitoring = [_MONITORING] if context.settings.autoscaler == "karpenter" else []
    return [
        # It has no effect on pods that are there already, and some seconds later on others.
        # https://docs.aws.amazon.com/eks/latest/APIReference/API_CreatePodIdentityAssociation.html
        *(
            [associate(f"{name}-efs-mounts", mounts, context.name, _MOUNTING, context.settings, options)]
            if mounts
            else []
        ),
        *(
            _declare(name, addon, context, later)
            for addon in (*BEFORE_NODES, *monitoring)
            if addon is not POD_IDENTITY_AGENT
        ),
    ]


def on_admin_pool(
    name: str, context: Context, pool: pulumi.Resource, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Add-ons that are ready only when their pods run, and so wait for the admin pool; children by ``opts``."""
    options = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[pool]))
    volume = context.settings.workloads.shared_volume
    names = dict.fromkeys((*context.settings.addons, *(("efs",) if volume is not None else ())))
    made: list[pulumi.Resource] = [
        _declare(name, addon, context, options) for addon in (_COREDNS, _EBS, *chosen(tuple(names)))
    ]
    if LOAD_BALANCER in context.settings.addons:
        region, vpc = context.settings.region, context.network.vpc
        rights = context.account.document(
            "load-balancer", cluster=context.settings.cluster_name, region=region, vpc=vpc
        )
        role = ServiceRole(
            f"{name}-load-balancer-role",
            "load-balancer",
            context.settings,
            context.account,
            options.parent,
            document=rights,
        )
        made.append(associate(f"{name}-load-balancer", role, context.name, _BALANCING, context.settings, options))
    return made


def chosen(names: Sequence[str]) -> list[Addon]:
    """The add-ons behind a stack file's names."""
    return [OPTIONAL[name] for name in names if name in OPTIONAL]


def _tagging(addon: Addon, settings: Settings) -> Mapping[str, Any]:
    """What makes the driver put the stack's tags on the volumes of claims, which the cluster's own tags do not reach.

    https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/tagging.md,
    https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html
    """
    if addon is not _EBS or not settings.tags:
        return addon.configuration
    return {
        **addon.configuration,
        "controller": {**addon.configuration["controller"], "extraVolumeTags": dict(settings.labels)},
    }


def _declare(name: str, addon: Addon, context: Context, options: pulumi.ResourceOptions) -> CustomResource:
    settings = context.settings
    inputs: eks.Addon = {
        "clusterName": context.name,
        "addonName": addon.name,
        "resolveConflictsOnCreate": "OVERWRITE",
        "resolveConflictsOnUpdate": "OVERWRITE",
        "tags": dict(settings.labels),
    }
    version = settings.addon_versions.get(addon.name)
    if version is None and addon.name in _OF_THE_MINOR:
        version = default_addon_version(addon.name, context.minor, options)
    if version is not None:
        inputs["addonVersion"] = version
    if addon.configuration:
        inputs["configurationValues"] = json.dumps(_tagging(addon, settings), sort_keys=True)
    needs: list[pulumi.Resource] = []
    if addon.policies:
        uses = disk_key.uses(settings.security.disk_key) if addon is _EBS else ()
        document = policy.document(*uses) if uses else None
        role = ServiceRole(
            f"{name}-{addon.name}-role",
            addon.name,
            settings,
            context.account,
            options.parent,
            managed=addon.policies,
            document=document,
        )
        needs = role.ready
        inputs["podIdentityAssociations"] = [
            {"serviceAccount": account, "roleArn": role.arn} for account in addon.service_accounts
        ]
    return declare(
        "aws:eks/addon:Addon",
        f"{name}-{addon.name}",
        inputs,
        pulumi.ResourceOptions.merge(
            options,
            pulumi.ResourceOptions(
                depends_on=needs,
                custom_timeouts=pulumi.CustomTimeouts(create="20m", update="20m", delete="40m"),
            ),
        ),
    )
