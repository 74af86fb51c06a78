"""The log group of a control plane, with a retention time.

https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html
"""

from __future__ import annotations

import pulumi

from components.clouds.data_lookup import look_up
from components.clouds.declare import eks as declare
from components.resources import CustomResource
from components.settings import Settings


def log_group(name: str, settings: Settings, parent: pulumi.Resource, *, new: bool) -> CustomResource:
    """The log group, declared before the cluster: otherwise EKS creates one without a retention time.

    EKS writes late logs after a cluster was deleted and recreates the group, so that a ``new`` cluster of the same name
    finds one: https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2763. It is imported as it
    is; the next update sets tags and retention.
    """
    log_group_name = f"/aws/eks/{settings.cluster_name}/cluster"
    options = pulumi.ResourceOptions(parent=parent)
    if new and log_group_name in _existing(log_group_name, parent):
        retained = pulumi.ResourceOptions(import_=log_group_name, ignore_changes=["retentionInDays", "tags"])
        options = pulumi.ResourceOptions.merge(options, retained)
    return declare(
        "aws:cloudwatch/logGroup:LogGroup",
        f"{name}-control-plane-logs",
        {"name": log_group_name, "retentionInDays": settings.control_plane_log_days, "tags": dict(settings.labels)},
        options,
    )


def _existing(prefix: str, parent: pulumi.Resource) -> list[str]:
    """Names of the log groups with this prefix."""
    log_groups = look_up("aws:cloudwatch/getLogGroups:getLogGroups", {"logGroupNamePrefix": prefix}, parent)
    return list(log_groups["logGroupNames"])
