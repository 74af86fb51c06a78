"""The cluster's Kubernetes version: the stack file's, but never below the running one, nor two steps above it.

EKS upgrades a control plane itself when standard support ends, and users do so in the console. The provider sends any
different version, and within seven days of an upgrade EKS treats a lower one as a rollback:
https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html. It goes up by one minor version at a time:
https://docs.aws.amazon.com/eks/latest/userguide/update-cluster.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import pulumi

from components.clouds.data_lookup import refuse, step_problem
from components.clouds.eks.running_cluster import RunningCluster
from components.settings import Settings
from facts import catalog
from facts.catalog.eks.versions import kubernetes_minor

_ADDON_VERSION: Final = "aws:eks/getAddonVersion:getAddonVersion"


def cluster_minor(settings: Settings, cluster: RunningCluster | None) -> str:
    """The minor version to declare.

    Raises:
        pulumi.RunError: the stack file names a lower one than the cluster runs, or one that is more than a step above.
    """
    target = kubernetes_minor(settings.kubernetes.version, settings.kubernetes.channel)
    running = target if cluster is None else cluster.version
    if _number(target) - _number(running) in (0, 1):
        return target
    if _number(running) < _number(target):
        return _step(settings, running, target)
    if settings.kubernetes.version is not None:
        raise pulumi.RunError(
            f"kubernetes.version: cluster {settings.cluster_name} runs {running}, and {target} would send its control "
            f"plane back under nodes that are newer. Write '{running}'; a rollback is a step of its own: "
            "https://docs.aws.amazon.com/eks/latest/userguide/rollback-cluster.html"
        )
    return running


def _step(settings: Settings, running: str, target: str) -> str:
    refuse(filter(None, [step_problem(settings, running)]), settings)
    following = f"1.{_number(running) + 1}"
    pulumi.info(
        f"cluster {settings.cluster_name} runs {running}, and EKS upgrades by one minor version at a time: this update "
        f"makes it {following}. Run `up` again for {target}."
    )
    return following


def support_type(settings: Settings, minor: str, cluster: RunningCluster | None) -> str:
    """What EKS does when ``minor``'s standard support ends: only a pinned version stays, at six times the price
    (https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html); otherwise EKS upgrades.

    A cluster that is in extended support cannot leave it before it runs a version in standard support:
    https://docs.aws.amazon.com/eks/latest/userguide/disable-extended-support.html
    """
    late = cluster is not None and cluster.extended and catalog.of("eks").choices.ended(minor, settings.day)
    return "EXTENDED" if late or settings.kubernetes.version is not None else "STANDARD"


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
