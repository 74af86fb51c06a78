"""IAM permissions of the AWS Load Balancer Controller: ``load-balancer-policy.yaml``."""

from __future__ import annotations

from typing import Final

import pulumi

from components.clouds.eks import policy
from components.clouds.eks.context import Context

CONTROLLER: Final = ("kube-system", "aws-load-balancer-controller")
"""Namespace and service account, as the controller's chart has them."""


def controller_policy(context: Context) -> pulumi.Output[str]:
    """The controller's policy document."""
    cluster, region = context.settings.cluster_name, context.settings.region
    return pulumi.Output.all(context.account.partition, context.account.id, context.network.vpc).apply(
        lambda known: policy.document(
            *policy.statements(
                "load-balancer", cluster=cluster, region=region, partition=known[0], account=known[1], vpc=known[2]
            )
        )
    )
