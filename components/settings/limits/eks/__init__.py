"""Valid settings that EKS does not support. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final

from components.settings.fields.problems import Problem, instead
from components.settings.limits import common, rows
from components.settings.limits.eks import network
from components.settings.limits.eks.pools import pool_problems
from components.settings.limits.eks.refused import FORMS, REFUSED
from components.settings.pools.settings import Settings
from components.settings.sections.maintenance import Maintenance
from facts import catalog
from facts.catalog.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS, kubernetes_minor

_ADDON_VERSION: Final = re.compile(r"v\d+\.\d+\.\d+-eksbuild\.\d+")
_MINOR: Final = re.compile(r"v?\d+\.\d+")

# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
_NODE_GROUPS: Final = 30
"""The default quota; an account may have a larger one, which is not known here."""


def _account(settings: Settings) -> Iterator[Problem]:
    if settings.project != settings.region:
        yield Problem(
            "aws:region",
            f"the provider's region is {settings.project}, but the cluster's is {settings.region}",
            f"Write aws:region: {settings.region}, or region: {settings.project}",
        )


def _version(settings: Settings) -> Iterator[Problem]:
    written = settings.kubernetes.version
    if written is not None and not _MINOR.fullmatch(written):
        yield Problem(
            "kubernetes.version",
            f"EKS chooses the patch version itself, but '{written}' names one",
            f"Write '{kubernetes_minor(written, settings.kubernetes.channel)}'",
        )
    minor = kubernetes_minor(written, settings.kubernetes.channel)
    known = KARPENTERS if settings.autoscaler == "karpenter" else CLUSTER_AUTOSCALERS
    if minor not in known:
        yield Problem(
            "kubernetes.version",
            f"no release of {settings.autoscaler} is known to support Kubernetes {minor}",
            f"Write one of {', '.join(known)}",
        )
    support = catalog.of("eks").choices.support(written)
    if support is not None and support.ended(settings.day, extended=True):
        yield Problem(
            "kubernetes.version",
            f"EKS ended support for Kubernetes {minor} on {support.until} and upgraded every cluster of that version",
            "Write the version that the cluster has now, or leave it out",
        )


def _window(settings: Settings) -> Iterator[Problem]:
    """AWS patches a control plane at any time, and never a node group; Karpenter renews its own nodes:
    https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html"""
    written = settings.maintenance
    if settings.autoscaler != "karpenter" and written != Maintenance() and not written.exclusions:
        yield Problem(
            "maintenance",
            f"EKS has no maintenance windows: only `pulumi up` upgrades {settings.autoscaler}'s node groups, and the "
            "cloud patches the control plane at any time",
            "Leave it out, or write autoscaling.autoscaler: karpenter, which respects the window",
        )


def _addon_versions(settings: Settings) -> Iterator[Problem]:
    known = catalog.of("eks").choices.pinned_addons
    asked = {"", settings.autoscaler, *settings.addons}
    if settings.workloads.shared_volume is not None:
        asked.add("efs")
    for name, version in settings.addon_versions.items():
        where = f"addonVersions.{name}"
        if name not in known:
            yield Problem(where, f"this program installs no add-on '{name}'", instead(name, tuple(known)))
        elif known[name] == "karpenter" and known[name] not in asked:
            yield Problem(where, f"only Karpenter's clusters have {name}", "Leave it out")
        elif known[name] not in asked:
            remedy = f"Write addons: [{known[name]}], or leave it out"
            yield Problem(where, f"this stack does not install {name}", remedy)
        elif not _ADDON_VERSION.fullmatch(version):
            yield Problem(where, f"'{version}' is not the version of an add-on", "Write it as in v1.13.2-eksbuild.4")


def _node_groups(settings: Settings) -> Iterator[Problem]:
    groups = 1 + len(settings.gpu_pools) + len(settings.cpu_pools)
    if settings.autoscaler == "cluster-autoscaler" and groups > _NODE_GROUPS:
        yield Problem(
            "gpuPools",
            f"the pools become {groups} node groups (one per size, capacity type and zone), but a cluster may have "
            f"{_NODE_GROUPS} (quota 'Managed node groups per cluster')",
            "Write fewer sizes or zones per pool, or autoscaling.autoscaler: karpenter, which needs no node groups",
        )


def _joined(settings: Settings) -> Iterator[Problem]:
    """What pools on somebody else's cluster need, and what they cannot have yet."""
    existing = settings.existing_cluster
    if existing is None:
        return
    karpenter = settings.autoscaler == "karpenter"
    if existing.node_class is None and karpenter:
        yield Problem(
            "existingCluster.nodeClass",
            "missing: where and as whom nodes start is written in an EC2NodeClass of the cluster's Karpenter",
            "Write its name, such as default; kubectl get ec2nodeclasses lists all. If the cluster has "
            "cluster-autoscaler instead, write autoscaling: {autoscaler: cluster-autoscaler}",
        )
    for pool in settings.gpu_pools:
        if pool.name == existing.node_class:
            text = f"'{pool.name}' is what the program calls the node class of that pool"
            yield Problem("existingCluster.nodeClass", text, "Write a class of the cluster's owner")
        if pool.nodes.fabric is not None:
            yield Problem(
                f"{pool.declared_at}.fabric",
                "EFA needs a security group of its own and rights of the autoscaler, which are the cluster owner's",
                "Leave it out, and keep each job on one node",
            )


CHECKS: Final = (
    functools.partial(rows.refused, rows=REFUSED),
    network.existing,
    functools.partial(common.partition_problems, otherwise=" and write timeSharing: {clientsPerGpu: 2}"),
    _account,
    _version,
    *network.CHECKS,
    _window,
    functools.partial(rows.other_forms, forms=FORMS),
    _node_groups,
    pool_problems,
    _addon_versions,
    _joined,
)
"""What EKS does not support."""
