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
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pulumi

from components.clouds.declare import eks as declare
from components.clouds.eks import disk_key, policy
from components.clouds.eks.context import Context
from components.clouds.eks.identity import CallerIdentity, ServiceRole, associate
from components.clouds.eks.network import LOAD_BALANCER
from components.clouds.eks.node_template import VOLUME_TYPE
from components.clouds.eks.version import default_addon_version
from components.clouds.storage_class import key_digest, storage_class
from components.resources import CustomResource, documents
from components.settings import Settings
from facts.catalog.eks.cloud import CATALOG
from facts.concepts.pool import ROLE_LABEL

if TYPE_CHECKING:
    from schemas import eks

# A kube-proxy may be three minor versions older than the control plane:
# https://docs.aws.amazon.com/eks/latest/userguide/managing-kube-proxy.html
_OF_THE_MINOR: Final = ("kube-proxy", "coredns")


_AGENT: Final = "eks-pod-identity-agent"
_BEFORE_NODES: Final = ("vpc-cni", "kube-proxy")
_EBS: Final = "aws-ebs-csi-driver"
_MOUNTING: Final = ("kube-system", "efs-csi-node-sa")
_BALANCING: Final = ("kube-system", "aws-load-balancer-controller")
"""Namespace and service account of the AWS Load Balancer Controller, as its chart has them."""


@dataclass(frozen=True, kw_only=True)
class Addon:
    """One add-on: its ``service_accounts`` get AWS's ``policies``, and ``configuration`` replaces its defaults."""

    service_accounts: Sequence[str] = ()
    policies: Sequence[str] = ()
    configuration: Mapping[str, Any] = field(default_factory=dict)


(_TABLE,) = documents(Path(__file__).with_name("addons.yaml"), admin={ROLE_LABEL: "admin"})
ADDONS: Final[Mapping[str, Addon]] = {name: Addon(**fields) for name, fields in _TABLE.items()}
OPTIONAL: Final[Mapping[str, str]] = {
    asked: name for name, asked in CATALOG.choices.pinned_addons.items() if asked in CATALOG.choices.addons
}
"""Opt-ins of a stack file → their add-ons; ``ebs`` is always there, ``load-balancer`` is rights alone."""


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
    agent = _declare(name, _AGENT, context, options)
    later = pulumi.ResourceOptions(parent=parent, depends_on=[agent])
    mounts = context.file_mounts
    monitoring = ["eks-node-monitoring-agent"] if context.settings.autoscaler == "karpenter" else []
    return [
        # It has no effect on pods that are there already, and some seconds later on others.
        # https://docs.aws.amazon.com/eks/latest/APIReference/API_CreatePodIdentityAssociation.html
        *(
            [associate(f"{name}-efs-mounts", mounts, context.name, _MOUNTING, context.settings, options)]
            if mounts
            else []
        ),
        *(_declare(name, addon, context, later) for addon in (*_BEFORE_NODES, *monitoring)),
    ]


def on_admin_pool(
    name: str, context: Context, pool: pulumi.Resource, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """Add-ons that are ready only when their pods run, and so wait for the admin pool; children by ``opts``."""
    options = pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[pool]))
    volume = context.settings.workloads.shared_volume
    asked = dict.fromkeys((*context.settings.addons, *(("efs",) if volume is not None else ())))
    optional = [OPTIONAL[each] for each in asked if each in OPTIONAL]
    made: list[pulumi.Resource] = [_declare(name, addon, context, options) for addon in ("coredns", _EBS, *optional)]
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


def _configuration(addon: str, settings: Settings) -> Mapping[str, Any]:
    """The driver puts the stack's tags on the volumes of claims, which the cluster's own tags do not reach.

    https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/tagging.md,
    https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html
    """
    configuration = ADDONS[addon].configuration
    if addon != _EBS or not settings.tags:
        return configuration
    return {**configuration, "controller": {**configuration["controller"], "extraVolumeTags": dict(settings.labels)}}


def _declare(name: str, addon: str, context: Context, options: pulumi.ResourceOptions) -> CustomResource:
    settings = context.settings
    inputs: eks.Addon = {
        "clusterName": context.name,
        "addonName": addon,
        "resolveConflictsOnCreate": "OVERWRITE",
        "resolveConflictsOnUpdate": "OVERWRITE",
        "tags": dict(settings.labels),
    }
    version = settings.addon_versions.get(addon)
    if version is None and addon in _OF_THE_MINOR:
        version = default_addon_version(addon, context.minor, options)
    if version is not None:
        inputs["addonVersion"] = version
    if configuration := _configuration(addon, settings):
        inputs["configurationValues"] = json.dumps(configuration, sort_keys=True)
    needs: list[pulumi.Resource] = []
    known = ADDONS[addon]
    if known.policies:
        uses = disk_key.uses(context.disk_keys) if addon == _EBS else ()
        document = policy.document(*uses) if uses else None
        role = ServiceRole(
            f"{name}-{addon}-role",
            addon,
            settings,
            context.account,
            options.parent,
            managed=known.policies,
            document=document,
        )
        needs = role.ready
        inputs["podIdentityAssociations"] = [
            {"serviceAccount": account, "roleArn": role.arn} for account in known.service_accounts
        ]
    return declare(
        "aws:eks/addon:Addon",
        f"{name}-{addon}",
        inputs,
        pulumi.ResourceOptions.merge(
            options,
            pulumi.ResourceOptions(
                depends_on=needs, custom_timeouts=pulumi.CustomTimeouts(create="20m", update="20m", delete="40m")
            ),
        ),
    )


def default_class(key: str | None = None) -> dict[str, Any]:
    """The class of volumes for claims that name none: encrypted with ``key``, else the account's default one.

    EKS has made none since 1.30 (https://github.com/kubernetes-sigs/aws-ebs-csi-driver/pull/2039), and without one the
    claims of most charts stay pending. That of the add-on has no parameters, so it does not encrypt:
    https://github.com/kubernetes-sigs/aws-ebs-csi-driver/blob/master/docs/parameters.md
    """
    own = {} if key is None else {"kmsKeyId": key}
    parameters = {"type": VOLUME_TYPE, "encrypted": "true", **own}
    return storage_class(f"gp3-encrypted{key_digest(key)}", "ebs.csi.aws.com", parameters, default=True)
