"""EKS's optimized images, by the names that AWS gives them, instances as EC2 describes them, and EC2's capacity for the
pools of a stack: their reservations, what is exhausted, and machines that are taken back.

https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html,
https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami-bottlerocket.html
"""

from __future__ import annotations

import base64
import logging
import threading
import zlib
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, Literal

from facts.concepts.pool import Pool
from rehearsal.providers.eks.cloud import Account, AwsError, CapacityReservation
from rehearsal.providers.eks.events import scheduled_change, spot_interruption
from rehearsal.providers.eks.rules import VERSIONS

BOTTLEROCKET: Final = "1.52.0"
Family = Literal["al2023", "bottlerocket"]

_OS: Final = {"al2023": "Amazon Linux 2023", "bottlerocket": "Bottlerocket OS"}


@dataclass(frozen=True)
class NodeImage:
    """An image that boots into a kubelet: ``minor`` of Kubernetes, ``arch`` as EC2 says it (``x86_64``), ``variant``
    ``standard``, ``nvidia`` or ``neuron``."""

    family: Family
    variant: str
    minor: str
    arch: str

    @property
    def name(self) -> str:
        """As AWS names the newest one."""
        if self.family == "al2023":
            return f"amazon-eks-node-al2023-{self.arch}-{self.variant}-{self.minor}-v20261101"
        variant = "" if self.variant == "standard" else f"-{self.variant}"
        return f"bottlerocket-aws-k8s-{self.minor}{variant}-{self.arch}-v{BOTTLEROCKET}-0a1b2c3d"

    @property
    def os(self) -> str:
        """What its nodes say that they run."""
        return _OS[self.family]

    @property
    def ami_type(self) -> str:
        """EKS's word for an image of this kind: https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html."""
        if self.family == "bottlerocket":
            return f"BOTTLEROCKET_{self.arch}" + ("_NVIDIA" if self.variant == "nvidia" else "")
        return f"AL2023_{self.arch}_{self.variant.upper()}"


_KINDS: Final[Mapping[tuple[Family, str], tuple[str, ...]]] = {
    ("al2023", "x86_64"): ("standard", "nvidia", "neuron"),
    ("al2023", "arm64"): ("standard", "nvidia"),
    ("bottlerocket", "x86_64"): ("standard", "nvidia"),
    ("bottlerocket", "arm64"): ("standard", "nvidia"),
}


@cache
def published() -> Mapping[str, NodeImage]:
    """All of them by id, which is the same in every region."""
    images = (
        NodeImage(family, variant, minor, arch)
        for minor in VERSIONS
        for (family, arch), variants in _KINDS.items()
        for variant in variants
    )
    return {f"ami-{zlib.crc32(image.name.encode()):017x}": image for image in images}


_OF_A_GROUP: Final = "aws:autoscaling:groupName"
"""Tag of what an Auto Scaling group started; node groups' machines are known to the fleet as groups."""


@dataclass(frozen=True)
class Instance:
    """One instance. ``profile`` is its instance profile's ARN, ``volumes`` device → GiB; both empty without any."""

    id: str
    type: str
    state: str
    zone: str
    image: str
    subnet: str
    security_groups: tuple[str, ...]
    private_name: str
    public_ip: str
    profile: str
    spot: bool = False
    volumes: Mapping[str, int] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


def instances(account: Account) -> list[Instance]:
    """Every instance of the region that is in no Auto Scaling group, those that have just ended included."""
    every = (_instance(account, each) for each in account.instances())
    return [each for each in every if _OF_A_GROUP not in each.tags]


def user_data(account: Account, id: str) -> str:
    """What the instance reads as its user data; ``""`` without any."""
    answer = account.call("ec2", "DescribeInstanceAttribute", InstanceId=id, Attribute="userData")
    return base64.b64decode((answer.get("UserData") or {}).get("Value") or "").decode(errors="replace")


def image_name(account: Account, id: str) -> str | None:
    """The name of an image, ``None`` if there is no such image."""
    images = account.look_up("ec2", "DescribeImages", "Images", ImageIds=[id])
    return str(images[0].get("Name") or "") if images else None


def _instance(account: Account, raw: Mapping[str, Any]) -> Instance:
    volumes = [each["Ebs"]["VolumeId"] for each in raw.get("BlockDeviceMappings") or () if "Ebs" in each]
    sizes = _sizes(account, volumes) if raw["State"]["Name"] in ("pending", "running") else {}
    return Instance(
        id=raw["InstanceId"],
        type=raw["InstanceType"],
        state=raw["State"]["Name"],
        zone=raw["Placement"]["AvailabilityZone"],
        image=raw["ImageId"],
        subnet=raw.get("SubnetId") or "",
        security_groups=tuple(each["GroupId"] for each in raw.get("SecurityGroups") or ()),
        private_name=raw.get("PrivateDnsName") or raw["InstanceId"],
        public_ip=raw.get("PublicIpAddress") or "",
        profile=(raw.get("IamInstanceProfile") or {}).get("Arn") or "",
        spot=raw.get("InstanceLifecycle") == "spot",
        volumes={
            each["DeviceName"]: sizes[each["Ebs"]["VolumeId"]]
            for each in raw.get("BlockDeviceMappings") or ()
            if each.get("Ebs", {}).get("VolumeId") in sizes
        },
        tags={tag["Key"]: tag["Value"] for tag in raw.get("Tags") or ()},
    )


def _sizes(account: Account, volumes: list[str]) -> dict[str, int]:
    """Those of an instance that ended since it was listed are gone with it."""
    disks = account.look_up("ec2", "DescribeVolumes", "Volumes", VolumeIds=volumes) or () if volumes else ()
    return {each["VolumeId"]: int(each["Size"]) for each in disks}


_NODE_POOLS = "/apis/karpenter.sh/v1/nodepools"
_CLASSES = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"
NOTICE_SECONDS: Final = 120.0
"""https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-instance-termination-notices.html"""

_log = logging.getLogger("rehearsal.aws.machines")


def reserve(account: Account, pools: Iterable[Pool]) -> None:
    """Create the reservations that ``pools`` name, each as large as the pool's maximum."""
    for pool in pools:
        nodes, scaling = pool.nodes, pool.scaling
        if scaling.reservation is not None:
            account.supply.reserve(
                CapacityReservation(
                    id=scaling.reservation,
                    instance_type=nodes.machine_type,
                    zone=nodes.zones[0],
                    count=scaling.max_nodes,
                    block=scaling.block is not None,
                )
            )


def exhaust(account: Account, pools: Collection[str]) -> None:
    """Exhaust the capacity of exactly these Karpenter ``pools``."""
    account.supply.refill()
    if account.fleet is None or not pools:
        return
    classes = {each["metadata"]["name"]: each["spec"] for each in account.fleet.list_objects(_CLASSES)}
    for node_pool in account.fleet.list_objects(_NODE_POOLS):
        spec = node_pool["spec"]["template"]["spec"]
        made_of = classes.get(spec["nodeClassRef"]["name"])
        if node_pool["metadata"]["name"] not in pools or made_of is None:
            continue
        requirements = {each["key"]: each["values"] for each in spec["requirements"] if each["operator"] == "In"}
        (market,) = requirements["karpenter.sh/capacity-type"]
        if market == "reserved":
            for term in made_of["capacityReservationSelectorTerms"]:
                account.supply.use_up(term["id"])
            continue
        for zone in requirements["topology.kubernetes.io/zone"]:
            for machine_type in requirements["node.kubernetes.io/instance-type"]:
                account.supply.exhaust(zone, machine_type, market)


def reclaim(account: Account, node: str) -> bool:
    """Interrupt the node's machine; ``False`` if no instance outside of node groups is that node.

    Recipients of the warning may drain and terminate it; EC2 terminates it after the notice.
    """
    instance = next(
        (each for each in instances(account) if each.private_name == node and each.state == "running"), None
    )
    if instance is None:
        return False
    if not instance.spot:
        _end(account, instance.id)
        return True
    queues = spot_interruption(account, instance.id)
    _log.info("interruption warning for instance %s, delivered to: %s", instance.id, ", ".join(queues) or "nobody")
    timer = threading.Timer(NOTICE_SECONDS, _end, (account, instance.id))
    timer.daemon = True
    timer.start()
    return True


def announce_maintenance(account: Account) -> list[str]:
    """Announce maintenance of all on-demand machines, as AWS does: it renews none by itself. The nodes of those whose
    announcement somebody received."""
    running = [each for each in instances(account) if each.state == "running" and not each.spot]
    return [each.private_name for each in running if scheduled_change(account, each.id)]


def _end(account: Account, instance: str) -> None:
    # It may have ended, and so may the account.
    with suppress(AwsError):
        account.call("ec2", "TerminateInstances", InstanceIds=[instance])
