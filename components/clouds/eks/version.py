"""The cluster's Kubernetes version: the stack file's, but never below the running one.

EKS upgrades a control plane itself when standard support ends, and users do so in the console. The provider sends any
different version, and within seven days of an upgrade EKS treats a lower one as a rollback:
https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pulumi

from components.clouds.data_lookup import look_up
from components.settings import Settings
from facts.catalog.eks.versions import kubernetes_minor

_CLUSTER: Final = "aws:eks/getCluster:getCluster"
_ADDON_VERSION: Final = "aws:eks/getAddonVersion:getAddonVersion"


def cluster_minor(settings: Settings, parent: pulumi.Resource, *, exists: bool) -> str:
    """The minor version to declare.

    Raises:
        pulumi.RunError: the stack file names a lower one than the cluster runs.
    """
    target = kubernetes_minor(settings.kubernetes.version, settings.kubernetes.channel)
    if not exists:
        return target
    running = str(look_up(_CLUSTER, {"name": settings.cluster_name}, parent)["version"])
    if _number(running) <= _number(target):
        return target
    if settings.kubernetes.version is not None:
        raise pulumi.RunError(
            f"kubernetes.version: cluster {settings.cluster_name} runs {running}, and {target} would send its control "
            f"plane back under nodes that are newer. Write '{running}'; a rollback is a step of its own: "
            "https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html"
        )
    return running


def default_addon_version(addon: str, minor: str, opts: pulumi.ResourceOptions) -> str:
    """The version of an add-on that AWS marks as default for this minor version of Kubernetes."""
    asked = {"addonName": addon, "kubernetesVersion": minor}
    answer = pulumi.runtime.invoke(_ADDON_VERSION, asked, pulumi.InvokeOptions(parent=opts.parent)).value
    return str(answer["version"])


def release(known: Mapping[str, str], minor: str) -> str:
    """Of the releases ``known`` by minor version of Kubernetes, the one for ``minor``, or the newest."""
    return known.get(minor) or known[max(known, key=_number)]


def _number(minor: str) -> int:
    return int(minor.partition(".")[2])
