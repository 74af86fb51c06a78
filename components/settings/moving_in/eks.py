"""``aws eks describe-cluster`` and ``describe-nodegroup``, with ``aws ec2 describe-subnets`` for the zones.

https://docs.aws.amazon.com/eks/latest/APIReference/API_Cluster.html and ``API_Nodegroup.html``
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from components.settings.moving_in.answer import Answer, Notes, OldCluster, OldPool, control_plane_access, taints

COMMANDS: Final = """\
aws eks describe-cluster --name NAME > cluster.json
aws eks list-nodegroups --cluster-name NAME >> cluster.json
aws eks describe-nodegroup --cluster-name NAME --nodegroup-name GROUP >> cluster.json   # for each group
aws ec2 describe-subnets --subnet-ids SUBNET... >> cluster.json   # of the cluster, for its zones"""


def clusters(answers: Sequence[Answer]) -> list[Answer]:
    """The answers that are clusters of EKS."""
    return [Answer(each.content["cluster"]) for each in answers if "arn" in (each.content.get("cluster") or {})]


def read(cluster: Answer, answers: Sequence[Answer]) -> OldCluster:
    """The cluster with its node groups.

    Raises:
        ValueError: the answers of node groups are missing.
    """
    notes = Notes(list)
    groups = [each.content["nodegroup"] for each in answers if "nodegroup" in each.content]
    pools = [Answer(each, f"nodegroup[{each['nodegroupName']}].") for each in groups]
    listed = {name for each in answers for name in each.content.get("nodegroups", ())}
    if missing := sorted(listed - {each["nodegroupName"] for each in groups}):
        raise ValueError(f"FROM has no answer of `aws eks describe-nodegroup` for {', '.join(missing)}")
    zones = {one["SubnetId"]: one["AvailabilityZone"] for each in answers for one in each.content.get("Subnets", ())}
    subnets = cluster.get("resourcesVpcConfig.subnetIds", [])
    if not zones:
        notes["zones"] = [
            "EKS does not print them. Write those of the subnets: aws ec2 describe-subnets --subnet-ids …"
        ]
    allowed = {each: each for each in cluster.get("resourcesVpcConfig.publicAccessCidrs", ())}
    private = not cluster.get("resourcesVpcConfig.endpointPublicAccess")
    region = str(cluster.get("arn")).split(":")[3]
    keys_of_secrets = [each["provider"]["keyArn"] for each in cluster.get("encryptionConfig", ())]
    notes["network"] = ["existing.subnets: the program uses private subnets, one in each zone; leave public ones out"]
    notes["autoscaling"] = ["the old cluster's pools are node groups; without this key Karpenter creates the nodes"]
    keys: dict[str, Any] = {
        "region": region,
        "zones": sorted({zones[subnet] for subnet in subnets if subnet in zones}),
        "availability": "regional",
        "kubernetes": {"version": cluster.get("version")},
        "network": {
            "existing": {"network": cluster.get("resourcesVpcConfig.vpcId"), "subnets": subnets},
            **control_plane_access({} if private else allowed, private=private, notes=notes),
            "serviceCidr": cluster.get("kubernetesNetworkConfig.serviceIpv4Cidr"),
        },
        "security": {
            "kmsKey": next(iter(keys_of_secrets), None),
            "deletionProtection": cluster.get("deletionProtection") or None,
        },
        "autoscaling": {"autoscaler": "cluster-autoscaler"},
        "tags": cluster.get("tags"),
    }
    read_pools = [_pool(each, subnets, zones, notes) for each in pools]
    return OldCluster(cloud="eks", account=region, keys=keys, pools=read_pools, notes=notes, answers=[cluster, *pools])


def _pool(pool: Answer, subnets: Sequence[str], zones: dict[str, str], notes: Notes) -> OldPool:
    name, own = pool.get("nodegroupName"), pool.get("subnets", [])
    capacity = pool.get("capacityType", "ON_DEMAND")
    if capacity == "CAPACITY_BLOCK":
        notes["gpuPools"].append(f"{name}: on-demand here; add its reservation, with its days")
    return OldPool(
        name=name,
        machines=pool.get("instanceTypes", []),
        spot=capacity == "SPOT",
        min_nodes=pool.get("scalingConfig.minSize", 0),
        max_nodes=pool.get("scalingConfig.maxSize", 0),
        zones=sorted({zones[each] for each in own if each in zones}) if set(own) != set(subnets) else (),
        labels=pool.get("labels", {}),
        taints=taints(pool.get("taints", ())),
        disk_gb=pool.get("diskSize"),
    )
