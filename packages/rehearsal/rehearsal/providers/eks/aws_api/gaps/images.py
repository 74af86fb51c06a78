"""AWS's published images for EKS nodes. moto knows none, and none of the parameters that name the newest.

https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html and
https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html. Ids and dates are made up; there is
one image of each kind and Kubernetes version.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from rehearsal.providers.eks.aws_api.gaps.gap import GapError, GapRequest
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.rules.cluster_rules import VERSIONS

OWNER: Final = "602401143452"
"""Of Amazon's EKS images: https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html."""

_PUBLISHED: Final = datetime(2026, 11, 1)
_STAMP: Final = "v20261101"
_BOTTLEROCKET: Final = "1.52.0"
_KINDS: Final = (
    ("al2023", "x86_64", "standard"),
    ("al2023", "x86_64", "nvidia"),
    ("al2023", "x86_64", "neuron"),
    ("al2023", "arm64", "standard"),
    ("al2023", "arm64", "nvidia"),
    ("bottlerocket", "x86_64", "standard"),
    ("bottlerocket", "x86_64", "nvidia"),
    ("bottlerocket", "arm64", "standard"),
    ("bottlerocket", "arm64", "nvidia"),
)
_AL2023: Final = re.compile(
    r"/aws/service/eks/optimized-ami/(?P<minor>[\d.]+)/amazon-linux-2023/(?P<arch>\w+)/(?P<variant>\w+)/"
    r"(?P<which>[^/]+)/image_id"
)
_BOTTLEROCKETS: Final = re.compile(
    r"/aws/service/bottlerocket/aws-k8s-(?P<minor>[\d.]+)(?P<nvidia>-nvidia)?/(?P<arch>\w+)/(?P<which>[^/]+)/image_id"
)


@dataclass(frozen=True)
class MachineImage:
    """One of them: ``family`` is ``al2023`` or ``bottlerocket``, ``variant`` ``standard``, ``nvidia`` or ``neuron``."""

    family: str
    architecture: str
    variant: str
    minor: str

    @property
    def name(self) -> str:
        """As AWS names it."""
        if self.family == "al2023":
            return f"amazon-eks-node-al2023-{self.architecture}-{self.variant}-{self.minor}-{_STAMP}"
        variant = "" if self.variant == "standard" else f"-{self.variant}"
        return f"bottlerocket-aws-k8s-{self.minor}{variant}-{self.architecture}-v{_BOTTLEROCKET}-0a1b2c3d"

    @property
    def id(self) -> str:
        """The same in every region."""
        return f"ami-{zlib.crc32(self.name.encode()):017x}"


@cache
def published() -> Mapping[str, MachineImage]:
    """All of them by id."""
    images = (MachineImage(*kind, minor) for minor in VERSIONS for kind in _KINDS)
    return {image.id: image for image in images}


def get_parameter(request: GapRequest) -> Mapping[str, Any] | None:
    """``ssm:GetParameter`` of a public parameter that names an image."""
    name = str(request.params.get("Name") or "")
    if not name.startswith(("/aws/service/eks/", "/aws/service/bottlerocket/")):
        return None
    image = _named(name)
    if image is None:
        raise GapError("ParameterNotFound", f"{name} is no parameter that AWS publishes")
    publish(request.account)
    arn = f"arn:{request.account.partition}:ssm:{request.account.region}::parameter{name}"
    return {
        "Parameter": {
            "Name": name,
            "Type": "String",
            "Value": image.id,
            "Version": 1,
            "LastModifiedDate": _PUBLISHED,
            "ARN": arn,
            "DataType": "text",
        }
    }


def describe_images(request: GapRequest) -> None:
    """``ec2:DescribeImages``: moto's answer, once it knows the images."""
    publish(request.account)


def publish(account: Account) -> None:
    """Let moto know the images, in the account's region."""
    from moto.ec2.models import ec2_backends
    from moto.ec2.models.amis import Ami

    with account.store.held():
        backend: Any = ec2_backends[account.id][account.region]
        if published().keys() <= backend.amis.keys():
            return
        for id, image in published().items():
            backend.amis[id] = Ami(
                backend,
                id,
                name=image.name,
                description=f"EKS Kubernetes Worker AMI ({image.family}, {image.variant})",
                owner_id=OWNER,
                owner_alias="amazon",
                public=True,
                virtualization_type="hvm",
                architecture=image.architecture,
                creation_date=_PUBLISHED,
                root_device_type="ebs",
                root_device_name="/dev/xvda",
                hypervisor="xen",
                region_name=account.region,
            )


def _named(parameter: str) -> MachineImage | None:
    match = _AL2023.fullmatch(parameter)
    if match:
        image = MachineImage("al2023", match["arch"], match["variant"], match["minor"])
        newest = ("recommended", image.name)
    else:
        match = _BOTTLEROCKETS.fullmatch(parameter)
        if match is None:
            return None
        image = MachineImage("bottlerocket", match["arch"], "nvidia" if match["nvidia"] else "standard", match["minor"])
        newest = ("latest", _BOTTLEROCKET)
    return image if image.id in published() and match["which"] in newest else None
