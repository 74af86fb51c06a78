"""What Karpenter asks EC2 for when it starts a node, and what that takes in the account."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Any

from packages.rehearsal.tests.providers.eks.account import PROFILE, REGION, SECURITY_GROUP, SUBNET, VPC
from packages.rehearsal.tests.providers.eks.aws_api.controller import Controller
from rehearsal.providers.eks.machines.instance import published

TAGS = {"kubernetes.io/cluster/gpu-dev": "owned", "karpenter.sh/nodepool": "t4", "eks:eks-cluster-name": "gpu-dev"}
IMAGE = next(id for id, image in published().items() if (image.variant, image.minor) == ("nvidia", "1.34"))


def specification(kind: str, **tags: str) -> dict[str, Any]:
    pairs = {**TAGS, **tags}.items()
    return {"ResourceType": kind, "Tags": [{"Key": key, "Value": value} for key, value in pairs]}


@dataclass
class Karpenter:
    """Karpenter's requests, with everything there that they name."""

    controller: Controller
    made: dict[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """A security group and the nodes' instance profile; the subnets are the cluster's."""
        amazon = self.controller.amazon
        vpc = next(created.id for type_, created in amazon.made if type_ == VPC)
        group = amazon.create(SECURITY_GROUP, {"name": "nodes", "vpcId": vpc, "description": "nodes"}, "nodes-group")
        self.made["group"] = group.id
        amazon.create(PROFILE, {"name": "nodes", "role": "nodes"}, "nodes-profile")

    def subnet(self, letter: str = "a") -> str:
        amazon = self.controller.amazon
        subnets = (made for type_, made in amazon.made if type_ == SUBNET)
        return next(made.id for made in subnets if made.state["availabilityZone"] == REGION + letter)

    def template_data(self, **changes: Any) -> dict[str, Any]:
        disk = {"VolumeSize": 100, "VolumeType": "gp3", "Encrypted": True, "DeleteOnTermination": True}
        return {
            "ImageId": IMAGE,
            "IamInstanceProfile": {"Name": "nodes"},
            "UserData": base64.b64encode(b"boot").decode(),
            "BlockDeviceMappings": [{"DeviceName": "/dev/xvda", "Ebs": disk}],
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
            "NetworkInterfaces": [
                {"DeviceIndex": 0, "AssociatePublicIpAddress": False, "Groups": [self.made["group"]]}
            ],
            "TagSpecifications": [specification("network-interface"), specification("spot-instances-request")],
            **changes,
        }

    def template(self, client: Any, **changes: Any) -> str:
        """Its name."""
        name = f"karpenter.k8s.aws/{len(self.made)}"
        data, tags = self.template_data(**changes), [specification("launch-template")]
        client.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data, TagSpecifications=tags)
        self.made[name] = name
        return name

    def override(self, kind: str = "g4dn.xlarge", letter: str = "a") -> dict[str, Any]:
        zone = REGION + letter
        return {"InstanceType": kind, "SubnetId": self.subnet(letter), "ImageId": IMAGE, "AvailabilityZone": zone}

    def fleet(
        self, client: Any, template: str, *overrides: dict[str, Any], spot: bool = False, count: int = 1, **more: Any
    ) -> dict[str, Any]:
        chosen = list(overrides) or [self.override()]
        specified = {"LaunchTemplateName": template, "Version": "$Latest"}
        answer: dict[str, Any] = client.create_fleet(
            Type="instant",
            LaunchTemplateConfigs=[{"LaunchTemplateSpecification": specified, "Overrides": chosen}],
            TargetCapacitySpecification={
                "DefaultTargetCapacityType": "spot" if spot else "on-demand",
                "TotalTargetCapacity": count,
            },
            TagSpecifications=[specification(kind) for kind in ("instance", "volume", "fleet")],
            **more,
        )
        return {"Instances": [], "Errors": [], **answer}
