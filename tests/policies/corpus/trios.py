"""For each rule one program with one value open: refused, allowed next to it, and not evaluated while it is unknown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, aws_scaling, azure, gke, kubernetes
from tests.policies.corpus.case import Case, Program, resource


@dataclass(frozen=True)
class Trio:
    """``program`` takes the value that decides. ``no_unknown``: why the rule reports nothing while it is unknown."""

    rule: str
    _: KW_ONLY
    program: Callable[[Any], Program] = lambda _: ()
    refused: Any
    allowed: Any
    unknown: Any = UNKNOWN
    no_unknown: str = ""
    limits: Mapping[str, Any] = field(default_factory=dict)
    links: tuple[tuple[str, str, str], ...] = ()

    def of(self, program: Callable[[Any], Program]) -> Trio:
        """The trio with this program."""
        return replace(self, program=program)

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
    Trio("gpu-zero-minimum", refused=1, allowed=0).of(
        lambda least: _pool(autoscaling={"totalMinNodeCount": least, "totalMaxNodeCount": 4})
    ),
    Trio("gpu-starts-empty", refused=2, allowed=0).of(lambda count: _pool(initialNodeCount=count)),
    Trio("gpu-autoscaled", refused=None, allowed={"totalMinNodeCount": 0, "totalMaxNodeCount": 4}).of(
        lambda autoscaling: _pool(autoscaling=autoscaling, initialNodeCount=2)
    ),
    Trio("gpu-ceiling", refused=100, allowed=8, limits={"maxGpus": 8}).of(
        lambda most: _pool(autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": most})
    ),
    Trio("gpu-taint", refused=[], allowed=[gke.TAINT]).of(lambda taints: _pool(config={"taints": taints})),
    Trio(
        "gpu-taint-key",
        refused="dedicated",
        allowed="sku",
        limits={"taintKeys": ["sku"]},
        no_unknown="gpu-taint reports unknown taints.",
    ).of(lambda key: _pool(config={"taints": [{"key": key, "value": "gpu", "effect": "NO_SCHEDULE"}]})),
    Trio("gpu-present-label", refused={}, allowed={"nvidia.com/gpu.present": "true"}).of(
        lambda labels: _pool(config={"labels": labels})
    ),
    Trio(
        "gpu-uniform-sizes",
        refused=["g5.xlarge", "g5.12xlarge"],
        allowed=["g5.xlarge", "g5.2xlarge"],
        no_unknown=TYPES_UNKNOWN,
    ).of(lambda types: _eks(aws.node_group(instanceTypes=types))),
    Trio(
        "gpu-uniform-models",
        refused=["g5.xlarge", "g4dn.xlarge"],
        allowed=["g5.xlarge", "g5.2xlarge"],
        no_unknown=TYPES_UNKNOWN,
    ).of(lambda types: _eks(aws.node_group(instanceTypes=types))),
    Trio("accelerator-zero-minimum", refused=1, allowed=0).of(
        lambda least: _pool(
            config={"machineType": "ct5lp-hightpu-1t", "guestAccelerators": None},
            autoscaling={"totalMinNodeCount": least, "totalMaxNodeCount": 4},
        )
    ),
    Trio("gpu-not-only-pool", refused="g2-standard-4", allowed="e2-standard-4").of(
        lambda machine: (
            gke.cluster(),
            gke.pool(),
            gke.pool("second", config={"machineType": machine, "guestAccelerators": None}),
        )
    ),
    Trio("system-pods-home", refused=0, allowed=1).of(
        lambda count: (gke.cluster(), gke.pool(), (gke.POOL, "admin", {**gke.admin()[2], "nodeCount": count}))
    ),
    Trio("gpu-workload-placeable", refused=8, allowed=1).of(lambda gpus: _job(kubernetes.pod(gpus))),
    Trio("gpu-workload-tolerates", refused=[], allowed=[kubernetes.TOLERATION]).of(
        lambda tolerations: _job({**kubernetes.pod(1), "tolerations": tolerations})
    ),
    Trio("gpu-daemonset-tolerates", refused=[], allowed=[kubernetes.TOLERATION]).of(
        lambda tolerations: _pod(
            {**kubernetes.pod(), "nodeSelector": kubernetes.GPU_NODES, "tolerations": tolerations},
            token="apps/v1:DaemonSet",
        )
    ),
    Trio("no-blanket-toleration", refused=[{"operator": "Exists"}], allowed=[{"key": "team", "operator": "Exists"}]).of(
        lambda tolerations: _pod({**kubernetes.pod(), "tolerations": tolerations})
    ),
    Trio("gpu-nodes-for-gpus", refused=None, allowed=1).of(lambda gpus: _pod(kubernetes.pod(gpus))),
    Trio(
        "gpu-daemonset-asks",
        refused=1,
        allowed=None,
        no_unknown="The rule is silent about an unknown number; gpu-daemonset-tolerates reports it.",
    ).of(lambda gpus: _pod(kubernetes.pod(gpus), token="apps/v1:DaemonSet")),
    Trio("gpu-placeholders", refused=-10, allowed=10).of(
        lambda value: _scaled(
            "apps/v1:Deployment",
            2,
            kubernetes.pod(1, priorityClassName="low"),
            (PRIORITY, "low", {"metadata": {"name": "low"}, "value": value}),
        )
    ),
    Trio(
        "gpu-held-for-ever",
        refused=2,
        allowed=0,
        no_unknown="The rule only reports; it is silent about an unknown number of replicas.",
    ).of(lambda replicas: _scaled("apps/v1:Deployment", replicas, kubernetes.pod(1))),
    Trio("gpu-minimum-elsewhere", refused=2, allowed=0).of(_schedule),
    Trio("gpu-reserved-capacity", refused=2, allowed=0).of(
        lambda count: (
            resource(
                "aws:ec2/capacityReservation:CapacityReservation",
                "h100",
                instanceType="p5.48xlarge",
                instanceCount=count,
            ),
        )
    ),
    Trio("gpu-idle-time", refused="12h", allowed="10m").of(
        lambda time: (azure.cluster(autoScalerProfile={"scaleDownUnneededTime": time}), azure.pool())
    ),
    Trio("gpu-nodes-deleted", refused="Deallocate", allowed="Delete").of(
        lambda mode: (azure.cluster(), azure.pool(scaleDownMode=mode))
    ),
    Trio("private-nodes", refused=False, allowed=True).of(
        lambda private: (gke.cluster(privateClusterConfig={"enablePrivateNodes": private}),)
    ),
    Trio("gpu-nodes-private", refused=False, allowed=True).of(
        lambda private: (gke.cluster(privateClusterConfig={"enablePrivateNodes": private}), gke.admin(), gke.pool())
    ),
    Trio(
        "secrets-encryption",
        refused=None,
        allowed={"provider": {"keyArn": "arn:aws:kms:us-west-2:1:key/k"}, "resources": ["secrets"]},
        no_unknown=KEY_TO_BE_CREATED,
    ).of(lambda key: ((aws.CLUSTER, "ml", {"name": "ml", "encryptionConfig": key}),)),
    Trio("control-plane-access", refused=True, allowed=False).of(
        lambda public: ((aws.CLUSTER, "ml", {"name": "ml", "vpcConfig": {"endpointPublicAccess": public}}),)
    ),
    Trio("no-local-accounts", refused=False, allowed=True).of(
        lambda disabled: (azure.cluster(disableLocalAccounts=disabled),)
    ),
    Trio(
        "disk-encryption",
        refused=None,
        allowed="projects/p/locations/us/keyRings/r/cryptoKeys/k",
        limits={"customerKey": True},
        no_unknown=KEY_TO_BE_CREATED,
    ).of(lambda key: (gke.cluster(), gke.pool(config={"bootDiskKmsKey": key}))),
    Trio(
        "no-static-keys", refused={"clientSecret": "s"}, allowed={"useOidc": True}, unknown={"clientSecret": UNKNOWN}
    ).of(lambda secret: (("pulumi:providers:azure-native", "azure", {"clientId": "c", **secret}),)),
    Trio("no-admin-for-everybody", refused="system:authenticated", allowed="admins@example.org").of(
        lambda group: (
            resource(
                "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
                roleRef={"kind": "ClusterRole", "name": "cluster-admin"},
                subjects=[{"kind": "Group", "name": group}],
            ),
        )
    ),
    Trio("private-load-balancers", refused=None, allowed=["10.0.0.0/8"], unknown=[UNKNOWN]).of(
        lambda ranges: (kubernetes.kind("core/v1:Service", type="LoadBalancer", loadBalancerSourceRanges=ranges),)
    ),
    Trio("allowed-regions", refused="us-central1", allowed="europe-west4", limits={"regions": ["europe-west4"]}).of(
        lambda location: (gke.cluster(location=location),)
    ),
    Trio(
        "low-carbon-region",
        refused="asia-south1",
        allowed="europe-north1",
        no_unknown="The rule is silent about an unknown region; allowed-regions reports it.",
    ).of(lambda location: (gke.cluster(location=location),)),
    Trio("hourly-cost-ceiling", refused=40, allowed=1, limits={"maxHourlyUsd": 10}).of(
        lambda most: _priced(
            aws.node_group(instanceTypes=["g5.xlarge"], scalingConfig={"minSize": 0, "maxSize": most, "desiredSize": 0})
        )
    ),
    Trio("idle-cost-ceiling", refused=4, allowed=0, limits={"maxIdleUsd": 1}).of(
        lambda least: _priced(
            aws.node_group(
                instanceTypes=["g5.xlarge"], scalingConfig={"minSize": least, "maxSize": 4, "desiredSize": least}
            )
        )
    ),
    Trio("gpu-stack-ceiling", refused=100, allowed=8, limits={"maxGpus": 8}).of(
        lambda most: _pool(autoscaling={"totalMinNodeCount": 0, "totalMaxNodeCount": most})
    ),
    Trio("gpu-quotas-kept", refused="5", allowed="4").of(
        lambda gpus: (
            *_pool(),
            kubernetes.thing("core/v1:ResourceQuota", {"hard": {"requests.nvidia.com/gpu": gpus}}, "red", "red"),
        )
    ),
    Trio(
        "gpu-sharing-visible",
        refused="version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, replicas: 4}]}}",
        allowed="version: v1\nsharing: {timeSlicing: {resources: []}}",
        no_unknown="A ConfigMap whose text is unknown may be about anything; the rule is silent.",
    ).of(
        lambda replicas: (
            *_pool(),
            resource(
                "kubernetes:core/v1:ConfigMap", "plugin", metadata={"name": "plugin"}, data={"config.yaml": replicas}
            ),
        )
    ),
    Trio(
        "autoscaler-present", refused="nginx:1.29", allowed="registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0"
    ).of(
        lambda image: _eks(
            aws.node_group(),
            kubernetes.template(
                "apps/v1:Deployment", {"containers": [{"name": "main", "image": image}]}, "scaler", "kube-system"
            ),
        )
    ),
    Trio(
        "autoscaler-sees-group",
        refused="--node-group-auto-discovery=asg:tag=of-another-cluster",
        allowed="--node-group-auto-discovery=asg:tag=k8s.io/cluster-autoscaler/enabled",
        links=(aws_scaling.TAGGED,),
    ).of(lambda flag: (*aws_scaling.NODES, aws_scaling.scaler(flag))),
    Trio(
        "autoscaler-permitted",
        refused=aws_scaling.document(aws_scaling.allow(aws_scaling.READS)),
        allowed=aws_scaling.GOOD_POLICY,
        links=aws_scaling.LINKS,
    ).of(lambda policy: (*aws_scaling.NODES, aws_scaling.scaler(), *aws_scaling.rights(policy))),
    Trio(
        "autoscaler-knows-template",
        refused="present:NoExecute",
        allowed="present:NoSchedule",
        links=(aws_scaling.TAGGED,),
    ).of(lambda value: (*aws_scaling.NODES[:-1], aws_scaling.scaler(), aws_scaling.tag(value=value))),
    Trio("system-pods-evictable", refused=0, allowed=1).of(
        lambda budget: (
            gke.cluster(),
            gke.admin(),
            gke.pool("cpus", config={"machineType": "e2-standard-4", "guestAccelerators": None, "taints": None}),
            kubernetes.template(
                "apps/v1:Deployment", {"containers": [{"name": "a", "image": "i"}]}, "dns", "kube-system"
            ),
            resource(
                "kubernetes:policy/v1:PodDisruptionBudget",
                "budget",
                metadata={"name": "dns", "namespace": "kube-system"},
                spec={"selector": {"matchLabels": {}}, "maxUnavailable": budget},
            ),
        )
    ),
    Trio(
        "unjudged",
        refused="Standard_NQ8_v9",
        allowed="Standard_NC24ads_A100_v4",
        no_unknown="What is unknown until the update is evaluated then, so the rule does not report it.",
    ).of(lambda size: ((azure.POOL, "workers", {"vmSize": size, "count": 0}),)),
]

WITHOUT: Final[Mapping[str, str]] = {
    "resource-readable": "No known program makes a reader fail; test_odd_inputs.py searches for one."
}
"""Rule → why it has no cases."""
