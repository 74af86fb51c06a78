"""The cluster as EKS has it already: what an update of its control plane starts from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pulumi

from components.clouds.data_lookup import look_up

_CLUSTERS: Final = "aws:eks/getClusters:getClusters"
_CLUSTER: Final = "aws:eks/getCluster:getCluster"
_SUBNET: Final = "aws:ec2/getSubnet:getSubnet"


@dataclass(frozen=True, kw_only=True)
class RunningCluster:
    """Its minor ``version``, the ``zones`` of its control plane, and whether its upgrade policy is ``extended``.

    EKS refuses subnets of a control plane in any other zones; nodes may be in all zones of the VPC:
    https://docs.aws.amazon.com/eks/latest/userguide/network-reqs.html
    """

    version: str
    zones: tuple[str, ...]
    extended: bool


def running_cluster(name: str, parent: pulumi.Resource) -> RunningCluster | None:
    """The cluster ``name``; ``None`` if the account has none of that name in the region."""
    if name not in look_up(_CLUSTERS, {}, parent)["names"]:
        return None
    answer = look_up(_CLUSTER, {"name": name}, parent)
    subnets = [look_up(_SUBNET, {"id": id}, parent) for id in answer["vpcConfig"]["subnetIds"]]
    return RunningCluster(
        version=str(answer["version"]),
        zones=tuple(sorted({str(each["availabilityZone"]) for each in subnets})),
        extended=any(each["supportType"] == "EXTENDED" for each in answer.get("upgradePolicies") or ()),
    )
