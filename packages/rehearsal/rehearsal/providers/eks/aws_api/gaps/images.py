"""AWS's published images for EKS nodes. moto knows none, and none of the parameters that name the newest.

https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html and
https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id-bottlerocket.html. Ids and dates are made up; there is
one image of each kind and Kubernetes version.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, Final

from rehearsal.providers.eks.aws_api.gaps.gap import GapError, GapRequest
from rehearsal.providers.eks.base.account import Account
from rehearsal.providers.eks.machines.instance import BOTTLEROCKET, published

OWNER: Final = "602401143452"
"""Of Amazon's EKS images: https://docs.aws.amazon.com/eks/latest/userguide/add-ons-images.html."""

_PUBLISHED: Final = datetime(2026, 11, 1)


@cache
def _parameters() -> Mapping[str, str]:
    """Public parameter → the id of the image that it names."""
    ids = {}
    for id, image in published().items():
        if image.family == "al2023":
            folder = f"eks/optimized-ami/{image.minor}/amazon-linux-2023/{image.arch}/{image.variant}"
            newest = ("recommended", image.name)
        else:
            variant = "" if image.variant == "standard" else f"-{image.variant}"
            folder, newest = f"bottlerocket/aws-k8s-{image.minor}{variant}/{image.arch}", ("latest", BOTTLEROCKET)
        ids.update({f"/aws/service/{folder}/{which}/image_id": id for which in newest})
    return ids


def get_parameter(request: GapRequest) -> Mapping[str, Any] | None:
    """``ssm:GetParameter`` of a public parameter that names an image."""
    name = str(request.params.get("Name") or "")
    if not name.startswith(("/aws/service/eks/", "/aws/service/bottlerocket/")):
        return None
    image = _parameters().get(name)
    if image is None:
        raise GapError("ParameterNotFound", f"{name} is no parameter that AWS publishes")
    publish(request.account)
    arn = f"arn:{request.account.partition}:ssm:{request.account.region}::parameter{name}"
    return {
        "Parameter": {
            "Name": name,
            "Type": "String",
            "Value": image,
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
                architecture=image.arch,
                creation_date=_PUBLISHED,
                root_device_type="ebs",
                root_device_name="/dev/xvda",
                hypervisor="xen",
                region_name=account.region,
            )
