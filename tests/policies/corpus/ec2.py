"""Programs with pulumi-aws: Auto Scaling groups, single machines, spot requests and fleets."""

from __future__ import annotations

from typing import Any

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.aws import LINK, UNTAINTED, template
from tests.policies.corpus.case import Resource, allowed, blocked, resource

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
    blocked(
        "asg-gpu-minimum-one", "gpu-zero-minimum", "A self-managed GPU group that always keeps one machine.", links=LINK
    ).of(template(), group(minSize=1)),
    blocked(
        "asg-gpu-taint-as-tag-only",
        "gpu-taint",
        "The taint is in the autoscaler's tag, which only describes nodes; the kubelet never registers it.",
        links=LINK,
    ).of(
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
    blocked(
        "asg-gpu-mixed-models", "gpu-uniform-models", "Spot diversification over generations.", links=MIXED_LINK
    ).of(template(), mixed("g4dn.xlarge", "g6.xlarge")),
    blocked(
        "asg-gpu-launch-configuration",
        "gpu-taint",
        "A group from before launch templates, named by the configuration's known name.",
    ).of(
        resource(CONFIGURATION, "machine", name="gpu-v3", instanceType="p3.2xlarge", userData="#!/bin/bash\nkubelet"),
        group(launchTemplate=None, launchConfiguration="gpu-v3"),
    ),
    blocked(
        "asg-gpu-starts-with-two", "gpu-starts-empty", "The desired capacity of the day the group was made.", links=LINK
    ).of(template(), group(desiredCapacity=2)),
    blocked(
        "asg-gpu-running-warm-pool",
        "gpu-zero-minimum",
        "Warm machines that run, up to the group's maximum.",
        links=LINK,
    ).of(template(), group(warmPool={"poolState": "Running", "minSize": 1})),
    blocked(
        "asg-gpu-outside-kubernetes-minimum",
        "gpu-zero-minimum",
        "A group of render machines outside Kubernetes that never goes below one.",
        links=LINK,
    ).of(template(user_data=None), group(minSize=1, tags=[])),
    blocked("ec2-gpu-instance", "gpu-autoscaled", "A workbench machine that nobody stops.").of(
        ("aws:ec2/instance:Instance", "workbench", {"ami": "ami-1", "instanceType": "g5.2xlarge"})
    ),
    blocked(
        "ec2-gpu-instance-from-template",
        "gpu-starts-empty",
        "The same, with its type in a launch template.",
        links=LINK,
    ).of(template(), ("aws:ec2/instance:Instance", "gpu", {"launchTemplate": {"id": UNKNOWN}})),
    blocked(
        "ec2-gpu-spot-request",
        "gpu-autoscaled",
        "A persistent spot request starts the machine again whenever it is taken away.",
    ).of(
        resource(
            "aws:ec2/spotInstanceRequest:SpotInstanceRequest",
            "trainer",
            instanceType="p4d.24xlarge",
            spotType="persistent",
            spotPrice="12",
        )
    ),
    blocked("ec2-gpu-spot-fleet", "gpu-starts-empty", "A fleet that holds four GPU machines.").of(
        resource(
            "aws:ec2/spotFleetRequest:SpotFleetRequest",
            "trainers",
            targetCapacity=4,
            launchSpecifications=[{"ami": "ami-1", "instanceType": "g4dn.xlarge"}],
        )
    ),
    blocked("ec2-gpu-fleet", "gpu-starts-empty", "An EC2 fleet with overrides for several GPU types.").of(
        resource(
            "aws:ec2/fleet:Fleet",
            "trainers",
            launchTemplateConfigs=[{"overrides": [{"instanceType": "g6.xlarge"}, {"instanceType": "g5.xlarge"}]}],
            targetCapacitySpecification={"defaultTargetCapacityType": "spot", "totalTargetCapacity": 2},
        )
    ),
]

ALLOWED = [
    allowed(
        "asg-good",
        "A self-managed GPU group that the autoscaler finds and whose kubelets register the taint.",
        links=LINK,
    ).of(template(), group()),
    allowed(
        "asg-gpu-named-to-the-autoscaler",
        "No discovery tags, because the autoscaler is started with --nodes=0:4:gpu.",
        links=LINK,
    ).of(template(), group(tags=DISCOVERY[1:])),
    allowed(
        "asg-tags-by-other-resources",
        "The autoscaler's tags are resources of their own.",
        links=(*LINK, ("enabled", "autoscalingGroupName", "gpu")),
    ).of(
        template(),
        group(tags=DISCOVERY[1:]),
        (GROUP_TAG, "enabled", {"autoscalingGroupName": UNKNOWN, "tag": DISCOVERY[0]}),
    ),
    allowed(
        "asg-gpu-outside-kubernetes-empty",
        "A batch system's GPU machines outside Kubernetes, empty until a job comes.",
        links=LINK,
    ).of(template(user_data=None), group(tags=[])),
    allowed("ec2-bastion", "A plain small machine.").of(
        ("aws:ec2/instance:Instance", "bastion", {"instanceType": "t4g.nano"})
    ),
]
