"""For each rule one program with one value open: refused, allowed next to it, and not evaluated while it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, aws_scaling, azure, gke, kubernetes
from tests.policies.corpus.case import Case

Program = tuple[tuple[str, str, Mapping[str, Any]], ...]


@dataclass(frozen=True, kw_only=True)
class Trio:
    """``program`` takes the value that decides. ``no_unknown``: why the rule reports nothing while it is unknown."""

    rule: str
    program: Callable[[Any], Program]
    refused: Any
    allowed: Any
    unknown: Any = UNKNOWN
    no_unknown: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[tuple[str, str, str], ...] = ()

    def case(self, value: Any) -> Case:
        """The program with this value."""
        return Case(
            id=self.rule, story="", resources=self.program(value), rule=self.rule, limits=self.limits, links=self.links
        )


def _pool(**changes: Any) -> Program:
    return (gke.cluster(), gke.admin(), gke.pool(**changes))


def _pod(spec: Any, *more: Any, token: str = "apps/v1:Deployment") -> Program:
    return (*_pool(), *more, kubernetes.template(token, spec))


def _job(spec: Any) -> Program:
    return _pod(spec, token="batch/v1:Job")


def _scaled(token: str, replicas: Any, spec: Any, *more: Any) -> Program:
    return (*_pool(), *more, kubernetes.thing(token, {"replicas": replicas, "template": {"spec": spec}}))


def _eks(*resources: Any) -> Program:
    return ((aws.CLUSTER, "ml", {"name": "ml", "region": "us-west-2"}), aws.cpu_group(), *resources)


def _priced(group: Any) -> Program:
    return ((aws.CLUSTER, "ml", {"name": "ml", "region": "us-west-2"}), group)


def _schedule(least: Any) -> Program:
    group = ("aws:autoscaling/schedule:Schedule", "morning")
    return (*_eks(aws.node_group()), (*group, {"autoscalingGroupName": "gpu", "minSize": least}))


PRIORITY: Final = "kubernetes:scheduling.k8s.io/v1:PriorityClass"
TYPES_UNKNOWN: Final = "A mix shows only where all machine types are known; other rules report an unknown type."
KEY_TO_BE_CREATED: Final = "An unknown key is a key that the update creates, so the rule is met."

TRIOS: Final = [
    Trio(
        rule="gpu-zero-minimum",
        program=lambda least: _pool(autoscaling={"totalMinNodeCount": least, "totalMaxNodeCount": 4}),
        refused=1,
        allowed=0,
    ),
    Trio(rule="gpu-starts-empty", program=lambda count: _pool(initialNodeCount=count), refused=2, allowed=0),
    Trio(
        rule="gpu-autoscaled",
        program=lambda autoscaling: _pool(autoscaling=autoscaling, initialNodeCount=2),
        refused=None,
        allowed={"totalMinNodeCount": 0, "totalMaxNodeCount": 4},
    ),
    Trio(
        rule="gpu-ceiling",
        program=lambda most: _pool(autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": most}),
        refused=100,
        allowed=8,
        limits={"maxGpus": 8},
    ),
    Trio(rule="gpu-taint", program=lambda taints: _pool(config={"taints": taints}), refused=[], allowed=[gke.TAINT]),
    Trio(
        rule="gpu-present-label",
        program=lambda labels: _pool(config={"labels": labels}),
        refused={},
        allowed={"nvidia.com/gpu.present": "true"},
    ),
    Trio(
        rule="gpu-uniform-sizes",
        program=lambda types: _eks(aws.node_group(instanceTypes=types)),
        refused=["g5.xlarge", "g5.12xlarge"],
        allowed=["g5.xlarge", "g5.2xlarge"],
        no_unknown=TYPES_UNKNOWN,
    ),
    Trio(
        rule="gpu-uniform-models",
        program=lambda types: _eks(aws.node_group(instanceTypes=types)),
        refused=["g5.xlarge", "g4dn.xlarge"],
        allowed=["g5.xlarge", "g5.2xlarge"],
        no_unknown=TYPES_UNKNOWN,
    ),
    Trio(
        rule="accelerator-zero-minimum",
        program=lambda least: _pool(
            config={"machineType": "ct5lp-hightpu-1t", "guestAccelerators": None},
            autoscaling={"totalMinNodeCount": least, "totalMaxNodeCount": 4},
        ),
        refused=1,
        allowed=0,
    ),
    Trio(
        rule="gpu-not-only-pool",
        program=lambda machine: (
            gke.cluster(),
            gke.pool(),
            gke.pool("second", config={"machineType": machine, "guestAccelerators": None}),
        ),
        refused="g2-standard-4",
        allowed="e2-standard-4",
    ),
    Trio(
        rule="system-pods-home",
        program=lambda count: (
            gke.cluster(),
            gke.pool(),
            (gke.POOL, "admin", {**gke.admin()[2], "nodeCount": count}),
        ),
        refused=0,
        allowed=1,
    ),
    Trio(rule="gpu-workload-placeable", program=lambda gpus: _job(kubernetes.pod(gpus)), refused=8, allowed=1),
    Trio(
        rule="gpu-workload-tolerates",
        program=lambda tolerations: _job({**kubernetes.pod(1), "tolerations": tolerations}),
        refused=[],
        allowed=[kubernetes.TOLERATION],
    ),
    Trio(
        rule="gpu-daemonset-tolerates",
        program=lambda tolerations: _pod(
            {**kubernetes.pod(), "nodeSelector": kubernetes.GPU_NODES, "tolerations": tolerations},
            token="apps/v1:DaemonSet",
        ),
        refused=[],
        allowed=[kubernetes.TOLERATION],
    ),
    Trio(
        rule="no-blanket-toleration",
        program=lambda tolerations: _pod({**kubernetes.pod(), "tolerations": tolerations}),
        refused=[{"operator": "Exists"}],
        allowed=[{"key": "team", "operator": "Exists"}],
    ),
    Trio(
        rule="gpu-nodes-for-gpus",
        program=lambda gpus: _pod(kubernetes.pod(gpus)),
        refused=None,
        allowed=1,
    ),
    Trio(
        rule="gpu-daemonset-asks",
        program=lambda gpus: _pod(kubernetes.pod(gpus), token="apps/v1:DaemonSet"),
        refused=1,
        allowed=None,
        no_unknown="The rule is silent about an unknown number; gpu-daemonset-tolerates reports it.",
    ),
    Trio(
        rule="gpu-placeholders",
        program=lambda value: _scaled(
            "apps/v1:Deployment",
            2,
            kubernetes.pod(1, priorityClassName="low"),
            (PRIORITY, "low", {"metadata": {"name": "low"}, "value": value}),
        ),
        refused=-10,
        allowed=10,
    ),
    Trio(
        rule="gpu-held-for-ever",
        program=lambda replicas: _scaled("apps/v1:Deployment", replicas, kubernetes.pod(1)),
        refused=2,
        allowed=0,
        no_unknown="The rule only reports; it is silent about an unknown number of replicas.",
    ),
    Trio(rule="gpu-minimum-elsewhere", program=_schedule, refused=2, allowed=0),
    Trio(
        rule="gpu-reserved-capacity",
        program=lambda count: (
            (
                "aws:ec2/capacityReservation:CapacityReservation",
                "h100",
                {"instanceType": "p5.48xlarge", "instanceCount": count},
            ),
        ),
        refused=2,
        allowed=0,
    ),
    Trio(
        rule="gpu-idle-time",
        program=lambda time: (
            azure.cluster(autoScalerProfile={"scaleDownUnneededTime": time}),
            azure.pool(),
        ),
        refused="12h",
        allowed="10m",
    ),
    Trio(
        rule="private-nodes",
        program=lambda private: (gke.cluster(privateClusterConfig={"enablePrivateNodes": private}),),
        refused=False,
        allowed=True,
    ),
    Trio(
        rule="gpu-nodes-private",
        program=lambda private: (
            gke.cluster(privateClusterConfig={"enablePrivateNodes": private}),
            gke.admin(),
            gke.pool(),
        ),
        refused=False,
        allowed=True,
    ),
    Trio(
        rule="secrets-encryption",
        program=lambda key: ((aws.CLUSTER, "ml", {"name": "ml", "encryptionConfig": key}),),
        refused=None,
        allowed={"provider": {"keyArn": "arn:aws:kms:us-west-2:1:key/k"}, "resources": ["secrets"]},
        no_unknown=KEY_TO_BE_CREATED,
    ),
    Trio(
        rule="control-plane-access",
        program=lambda public: ((aws.CLUSTER, "ml", {"name": "ml", "vpcConfig": {"endpointPublicAccess": public}}),),
        refused=True,
        allowed=False,
    ),
    Trio(
        rule="no-local-accounts",
        program=lambda disabled: (azure.cluster(disableLocalAccounts=disabled),),
        refused=False,
        allowed=True,
    ),
    Trio(
        rule="disk-encryption",
        program=lambda key: (gke.cluster(), gke.pool(config={"bootDiskKmsKey": key})),
        refused=None,
        allowed="projects/p/locations/us/keyRings/r/cryptoKeys/k",
        limits={"customerKey": True},
        no_unknown=KEY_TO_BE_CREATED,
    ),
    Trio(
        rule="no-static-keys",
        program=lambda secret: (("pulumi:providers:azure-native", "azure", {"clientId": "c", **secret}),),
        refused={"clientSecret": "s"},
        allowed={"useOidc": True},
        unknown={"clientSecret": UNKNOWN},
    ),
    Trio(
        rule="allowed-regions",
        program=lambda location: (gke.cluster(location=location),),
        refused="us-central1",
        allowed="europe-west4",
        limits={"regions": ["europe-west4"]},
    ),
    Trio(
        rule="low-carbon-region",
        program=lambda location: (gke.cluster(location=location),),
        refused="asia-south1",
        allowed="europe-north1",
        no_unknown="The rule is silent about an unknown region; allowed-regions reports it.",
    ),
    Trio(
        rule="hourly-cost-ceiling",
        program=lambda most: _priced(
            aws.node_group(instanceTypes=["g5.xlarge"], scalingConfig={"minSize": 0, "maxSize": most, "desiredSize": 0})
        ),
        refused=40,
        allowed=1,
        limits={"maxHourlyUsd": 10},
    ),
    Trio(
        rule="idle-cost-ceiling",
        program=lambda least: _priced(
            aws.node_group(
                instanceTypes=["g5.xlarge"], scalingConfig={"minSize": least, "maxSize": 4, "desiredSize": least}
            )
        ),
        refused=4,
        allowed=0,
        limits={"maxIdleUsd": 1},
    ),
    Trio(
        rule="gpu-stack-ceiling",
        program=lambda most: _pool(autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": most}),
        refused=100,
        allowed=8,
        limits={"maxGpus": 8},
    ),
    Trio(
        rule="gpu-quotas-kept",
        program=lambda gpus: (
            *_pool(),
            kubernetes.thing("core/v1:ResourceQuota", {"hard": {"requests.nvidia.com/gpu": gpus}}, "red", "red"),
        ),
        refused="5",
        allowed="4",
    ),
    Trio(
        rule="gpu-sharing-visible",
        program=lambda replicas: (
            *_pool(),
            (
                "kubernetes:core/v1:ConfigMap",
                "plugin",
                {"metadata": {"name": "plugin"}, "data": {"config.yaml": replicas}},
            ),
        ),
        refused="version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
        allowed="version: v1\nsharing: {timeSlicing: {resources: []}}",
        no_unknown="A ConfigMap whose text is unknown may be about anything; the rule is silent.",
    ),
    Trio(
        rule="autoscaler-present",
        program=lambda image: _eks(
            aws.node_group(),
            kubernetes.template(
                "apps/v1:Deployment", {"containers": [{"name": "main", "image": image}]}, "scaler", "kube-system"
            ),
        ),
        refused="nginx:1.29",
        allowed="registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0",
    ),
    Trio(
        rule="autoscaler-sees-group",
        program=lambda flag: (*aws_scaling.NODES, aws_scaling.scaler(flag)),
        refused="--node-group-auto-discovery=asg:tag=of-another-cluster",
        allowed="--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled",
        links=(aws_scaling.TAGGED,),
    ),
    Trio(
        rule="autoscaler-permitted",
        program=lambda policy: (*aws_scaling.NODES, aws_scaling.scaler(), *aws_scaling.rights(policy)),
        refused=aws_scaling.document(aws_scaling.allow(aws_scaling.READS)),
        allowed=aws_scaling.GOOD_POLICY,
        links=aws_scaling.LINKS,
    ),
    Trio(
        rule="autoscaler-knows-template",
        program=lambda value: (*aws_scaling.NODES[:-1], aws_scaling.scaler(), aws_scaling.tag(value=value)),
        refused="present:NoExecute",
        allowed="present:NoSchedule",
        links=(aws_scaling.TAGGED,),
    ),
    Trio(
        rule="system-pods-evictable",
        program=lambda budget: (
            gke.cluster(),
            gke.admin(),
            gke.pool("cpus", config={"machineType": "e2-standard-4", "guestAccelerators": None, "taints": None}),
            kubernetes.template(
                "apps/v1:Deployment", {"containers": [{"name": "a", "image": "i"}]}, "dns", "kube-system"
            ),
            (
                "kubernetes:policy/v1:PodDisruptionBudget",
                "budget",
                {
                    "metadata": {"name": "dns", "namespace": "kube-system"},
                    "spec": {"selector": {"matchLabels": {}}, "maxUnavailable": budget},
                },
            ),
        ),
        refused=0,
        allowed=1,
    ),
    Trio(
        rule="unjudged",
        program=lambda size: ((azure.POOL, "workers", {"vmSize": size, "count": 0}),),
        refused="Standard_NQ8_v9",
        allowed="Standard_NC24ads_A100_v4",
        no_unknown="What is unknown until the update is evaluated then, so the rule does not report it.",
    ),
]

WITHOUT: Final[Mapping[str, str]] = {
    "resource-readable": "No known program makes a reader fail; test_odd_inputs.py searches for one.",
}
"""Rule → why it has no cases."""
