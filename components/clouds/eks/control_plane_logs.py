"""The log group of a control plane, with an end to what it keeps.

https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
"""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.eks.declare import declare
from components.resources import CustomResource
from components.settings import Settings

LOGS: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")
_DAYS: Final = 30


def log_group(name: str, settings: Settings, parent: pulumi.Resource, *, new: bool) -> CustomResource:
    """The group, declared before the cluster: EKS would make it itself, and keep what is in it for ever.

    EKS writes late logs when a cluster has gone, and makes the group again, where a ``new`` cluster of the same name
    finds it: https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2763. That one is taken over as it is;
    the next update gives it its tags and its end.
    """
    log_group_name = f"/aws/eks/{settings.cluster_name}/cluster"
    options = pulumi.ResourceOptions(parent=parent)
    if new and log_group_name in _existing(log_group_name, parent):
        retained = pulumi.ResourceOptions(import_=log_group_name, ignore_changes=["retentionInDays", "tags"])
        options = pulumi.ResourceOptions.merge(options, retained)
    return declare(
        "aws:cloudwatch/logGroup:LogGroup",
        f"{name}-control-plane-logs",
        {"name": log_group_name, "retentionInDays": _DAYS, "tags": dict(settings.labels)},
        options,
    )


def _existing(prefix: str, parent: pulumi.Resource) -> list[str]:
    """Names of log groups that begin so."""
    log_groups = pulumi.runtime.invoke(
        "aws:cloudwatch/getLogGroups:getLogGroups", {"logGroupNamePrefix": prefix}, pulumi.InvokeOptions(parent=parent)
    )
    return list(log_groups.value["logGroupNames"])
