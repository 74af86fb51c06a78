"""Programs with pulumi-aws: Auto Scaling groups, single machines, spot requests and fleets."""

from __future__ import annotations

from typing import Any

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import LINK, TAINTED, TEMPLATE, UNTAINTED, Resource, template
from tests.policies.corpus.case import Case

GROUP = "aws:autoscaling/group:Group"
GROUP_TAG = "aws:autoscaling/tag:Tag"
CONFIGURATION = "aws:ec2/launchConfiguration:LaunchConfiguration"

DISCOVERY = [
    {"key": "k8s.io/cluster-autoscaler/enabled", "value": "true", "propagateAtLaunch": False},
    {"key": "kubernetes.io/cluster/ml", "value": "owned", "propagateAtLaunch": True},
]


def group(**changes: Any) -> Resource:
    """An Auto Scaling group as it should be, whose template the tests declare beside it."""
    good = {
        "name": "gpu",
        "minSize": 0,
        "maxSize": 4,
        "desiredCapacity": 0,
        "launchTemplate": {"id": UNKNOWN, "version": "$Latest"},
        "tags": DISCOVERY,
    }
    return GROUP, "gpu", {**good, **changes}


def mixed(*kinds: str, **changes: Any) -> Resource:
    policy = {
        "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 0},
        "launchTemplate": {
            "launchTemplateSpecification": {"launchTemplateId": UNKNOWN},
            "overrides": [{"instanceType": kind} for kind in kinds],
        },
    }
    return group(launchTemplate=None, mixedInstancesPolicy=policy, **changes)


MIXED_LINK = (("gpu", "mixedInstancesPolicy", "machine"),)

BLOCKED = [
    Case(
        id="asg-gpu-minimum-one",
        story="A self-managed GPU group that always keeps one machine.",
        resources=(template(), group(minSize=1)),
        rule="gpu-zero-minimum",
        links=LINK,
    ),
    Case(
        id="asg-gpu-taint-as-tag-only",
        story="The taint is in the autoscaler's tag, which only describes nodes; the kubelet never registers it.",
        resources=(
            template(user_data=UNTAINTED),
            group(
                tags=[
                    *DISCOVERY,
                    {
                        "key": "k8s.io/cluster-autoscaler/node-template/taint/nvidia.com/gpu",
                        "value": "present:NoSchedule",
                        "propagateAtLaunch": True,
                    },
                ]
            ),
        ),
        rule="gpu-taint",
        links=LINK,
    ),
    Case(
        id="asg-gpu-mixed-counts",
        story="Spot diversification over sizes.",
        resources=(template(), mixed("g4dn.xlarge", "g4dn.12xlarge")),
        rule="gpu-uniform-sizes",
        links=MIXED_LINK,
    ),
    Case(
        id="asg-gpu-mixed-models",
        story="Spot diversification over generations.",
        resources=(template(), mixed("g4dn.xlarge", "g6.xlarge")),
        rule="gpu-uniform-models",
        links=MIXED_LINK,
    ),
    Case(
        id="asg-gpu-by-attributes",
        story="The type is chosen by attributes: any machine with an NVIDIA GPU.",
        resources=(
            (
                TEMPLATE,
                "machine",
                {
                    "userData": TAINTED,
                    "instanceRequirements": {
                        "acceleratorManufacturers": ["nvidia"],
                        "acceleratorCount": {"min": 1, "max": 1},
                    },
                },
            ),
            group(minSize=2),
        ),
        rule="gpu-zero-minimum",
        links=LINK,
    ),
    Case(
        id="asg-gpu-launch-configuration",
        story="A group from before launch templates, named by the configuration's known name.",
        resources=(
            (
                CONFIGURATION,
                "machine",
                {"name": "gpu-v3", "instanceType": "p3.2xlarge", "userData": "#!/bin/bash\nkubelet"},
            ),
            group(launchTemplate=None, launchConfiguration="gpu-v3"),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="asg-gpu-starts-with-two",
        story="The desired capacity of the day the group was made.",
        resources=(template(), group(desiredCapacity=2)),
        rule="gpu-starts-empty",
        links=LINK,
    ),
    Case(
        id="asg-gpu-running-warm-pool",
        story="Warm machines that run, up to the group's maximum.",
        resources=(template(), group(warmPool={"poolState": "Running", "minSize": 1})),
        rule="gpu-zero-minimum",
        links=LINK,
    ),
    Case(
        id="asg-gpu-outside-kubernetes-minimum",
        story="A group of render machines outside Kubernetes that never goes below one.",
        resources=(template(user_data=None), group(minSize=1, tags=[])),
        rule="gpu-zero-minimum",
        links=LINK,
    ),
    Case(
        id="ec2-gpu-instance",
        story="A workbench machine that nobody stops.",
        resources=(("aws:ec2/instance:Instance", "workbench", {"ami": "ami-1", "instanceType": "g5.2xlarge"}),),
        rule="gpu-autoscaled",
    ),
    Case(
        id="ec2-gpu-instance-from-template",
        story="The same, with its type in a launch template.",
        resources=(template(), ("aws:ec2/instance:Instance", "gpu", {"launchTemplate": {"id": UNKNOWN}})),
        rule="gpu-starts-empty",
        links=LINK,
    ),
    Case(
        id="ec2-gpu-spot-request",
        story="A persistent spot request starts the machine again whenever it is taken away.",
        resources=(
            (
                "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
                "trainer",
                {"instanceType": "p4d.24xlarge", "spotType": "persistent", "spotPrice": "12"},
            ),
        ),
        rule="gpu-autoscaled",
    ),
    Case(
        id="ec2-gpu-spot-fleet",
        story="A fleet that holds four GPU machines.",
        resources=(
            (
                "aws:ec2/spotFleetRequest:SpotFleetRequest",
                "trainers",
                {"targetCapacity": 4, "launchSpecifications": [{"ami": "ami-1", "instanceType": "g4dn.xlarge"}]},
            ),
        ),
        rule="gpu-starts-empty",
    ),
    Case(
        id="ec2-gpu-fleet",
        story="An EC2 fleet with overrides for several GPU types.",
        resources=(
            (
                "aws:ec2/fleet:Fleet",
                "trainers",
                {
                    "launchTemplateConfigs": [
                        {"overrides": [{"instanceType": "g6.xlarge"}, {"instanceType": "g5.xlarge"}]}
                    ],
                    "targetCapacitySpecification": {"defaultTargetCapacityType": "spot", "totalTargetCapacity": 2},
                },
            ),
        ),
        rule="gpu-starts-empty",
    ),
]

ALLOWED = [
    Case(
        id="asg-good",
        story="A self-managed GPU group that the autoscaler finds and whose kubelets register the taint.",
        resources=(template(), group()),
        links=LINK,
    ),
    Case(
        id="asg-gpu-named-to-the-autoscaler",
        story="No discovery tags, because the autoscaler is started with --nodes=0:4:gpu.",
        resources=(template(), group(tags=DISCOVERY[1:])),
        links=LINK,
    ),
    Case(
        id="asg-tags-by-other-resources",
        story="The autoscaler's tags are resources of their own.",
        resources=(
            template(),
            group(tags=DISCOVERY[1:]),
            (GROUP_TAG, "enabled", {"autoscalingGroupName": UNKNOWN, "tag": DISCOVERY[0]}),
        ),
        links=(*LINK, ("enabled", "autoscalingGroupName", "gpu")),
    ),
    Case(
        id="asg-cpu-by-attributes",
        story="Attributes that exclude accelerators.",
        resources=(
            (TEMPLATE, "machine", {"userData": UNTAINTED, "instanceRequirements": {"acceleratorCount": {"max": 0}}}),
            group(minSize=2),
        ),
        links=LINK,
    ),
    Case(
        id="asg-gpu-outside-kubernetes-empty",
        story="A batch system's GPU machines outside Kubernetes, empty until a job comes.",
        resources=(template(user_data=None), group(tags=[])),
        links=LINK,
    ),
    Case(
        id="ec2-bastion",
        story="A plain small machine.",
        resources=(("aws:ec2/instance:Instance", "bastion", {"instanceType": "t4g.nano"}),),
    ),
]
