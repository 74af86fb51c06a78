"""What keeps GPU nodes up beside their group's minimum: schedules, flags, placeholders, services that never rest."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, aws_scaling, azure, gke, karpenter, kubernetes
from tests.policies.corpus.case import Case
from tests.policies.corpus.kubernetes import TOLERATION, container, pod, template, thing

ELSEWHERE: Final = "gpu-minimum-elsewhere"
PLACEHOLDERS: Final = "gpu-placeholders"
FOR_EVER: Final = "gpu-held-for-ever"
SCHEDULE: Final = "aws:autoscaling/schedule:Schedule"
SETTING: Final = "azure-native:monitor:AutoscaleSetting"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
BUFFER: Final = "autoscaling.x-k8s.io/v1beta1:CapacityBuffer"
LOW: Final = ("kubernetes:scheduling.k8s.io/v1:PriorityClass", "low", {"metadata": {"name": "low"}, "value": -1})
MANAGED: Final = "eks-gpu-0a1b2c3d-1111-2222-3333-444455556666"


def blocked(id: str, rule: str, story: str, *resources: Any, links: Any = ()) -> Case:
    return Case(id=f"minimum-{id}", story=story, resources=resources, rule=rule, links=links)


def allowed(id: str, story: str, *resources: Any, links: Any = ()) -> Case:
    return Case(id=f"minimum-{id}", story=story, resources=resources, links=links)


def on_t4(*resources: Any) -> tuple[Any, ...]:
    return kubernetes.on_t4(resources)


def schedule(group: Any = UNKNOWN, **sizes: int) -> aws.Resource:
    return SCHEDULE, "morning", {"autoscalingGroupName": group, "recurrence": "0 8 * * 1-5", **sizes}


def setting(minimum: Any, target: Any = "/subscriptions/s/virtualMachineScaleSets/gpus", **more: Any) -> azure.Resource:
    capacity = {"minimum": minimum, "maximum": "4", "default": "0"}
    return SETTING, "office", {"targetResourceUri": target, "profiles": [{"name": "all", "capacity": capacity}], **more}


def scale_set() -> azure.Resource:
    tags = {
        "min": "0",
        "max": "4",
        "k8s.io_cluster-autoscaler_node-template_taint_nvidia.com_gpu": "present:NoSchedule",
    }
    return azure.SCALE_SET, "gpus", {"sku": {"name": "Standard_NC8as_T4_v3", "capacity": 0}, "tags": tags}


def chart(name: str, values: dict[str, Any]) -> aws.Resource:
    return RELEASE, name, {"chart": name, "values": values}


def deployment(gpus: Any = 1, replicas: Any = None, **more: Any) -> kubernetes.Resource:
    spec = {"template": {"spec": pod(gpus, **more)}}
    return thing("apps/v1:Deployment", spec if replicas is None else {**spec, "replicas": replicas})


def buffer(template_name: str = "warm", **spec: Any) -> kubernetes.Resource:
    return thing(BUFFER, {"podTemplateRef": {"name": template_name}, **spec}, "warm")


def pod_template(gpus: Any = 1, **more: Any) -> aws.Resource:
    spec = pod(gpus, **more)
    return "kubernetes:core/v1:PodTemplate", "warm", {"metadata": {"name": "warm"}, "template": {"spec": spec}}


def kaito(kind: str, **body: Any) -> kubernetes.Resource:
    return f"kubernetes:kaito.sh/{kind}", "model", {"metadata": {"name": "model"}, **body}


def batch(least: int) -> aws.Resource:
    resources = {"minVcpus": least, "maxVcpus": 384, "instanceTypes": ["p4d.24xlarge"]}
    return "aws:batch/computeEnvironment:ComputeEnvironment", "batch", {"computeResources": resources}


RESERVED: Final = "gpu-reserved-capacity"
A100: Final = "Standard_NC24ads_A100_v4"
INSTANCE: Final = "gcp:compute/instance:Instance"
MANAGER: Final = "gcp:compute/instanceGroupManager:InstanceGroupManager"
TEMPLATE: Final = (
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gpus",
    {"name": "gpus", "machineType": "n1-standard-4", "guestAccelerators": gke.T4},
)

BLOCKED: Final = [
    blocked(
        "schedule",
        ELSEWHERE,
        "two nodes from eight o'clock on",
        aws.node_group(),
        schedule(minSize=2, maxSize=4),
        links=(("morning", "autoscalingGroupName", "gpu"),),
    ),
    blocked("schedule-by-name", ELSEWHERE, "EKS's name for the group", aws.node_group(), schedule(MANAGED, minSize=1)),
    blocked("autoscale-setting", ELSEWHERE, "Monitor keeps one", azure.cluster(), scale_set(), setting("1")),
    blocked(
        "flag", ELSEWHERE, "--nodes with a minimum", aws.node_group(), aws_scaling.scaler(f"--nodes=2:4:{MANAGED}")
    ),
    blocked(
        "chart",
        ELSEWHERE,
        "the autoscaler's chart, with a minimum",
        aws.node_group(),
        chart("cluster-autoscaler", {"autoscalingGroups": [{"name": MANAGED, "minSize": 1, "maxSize": 4}]}),
    ),
    blocked(
        "chart-by-default",
        ELSEWHERE,
        "the chart's own minimum",
        aws.node_group(),
        chart("cluster-autoscaler", {"autoscalingGroups": [{"name": MANAGED, "maxSize": 4}]}),
    ),
    blocked(
        "pause-pods",
        PLACEHOLDERS,
        "room kept by pods of low priority",
        *on_t4(LOW, deployment(priorityClassName="low")),
    ),
    blocked(
        "pause-pods-by-number", PLACEHOLDERS, "the priority as a number", *on_t4(deployment(priority=-5, replicas=2))
    ),
    blocked("capacity-buffer", PLACEHOLDERS, "two nodes for pods to come", *on_t4(pod_template(), buffer(replicas=2))),
    blocked("capacity-buffer-limit", PLACEHOLDERS, "by a limit", *on_t4(pod_template(), buffer(limits={"cpu": "8"}))),
    blocked(
        "overprovisioner",
        PLACEHOLDERS,
        "a chart for it",
        *on_t4(
            chart(
                "cluster-overprovisioner",
                {"deployments": [{"name": "gpu", "replicaCount": 1, **container(1), "tolerations": [TOLERATION]}]},
            )
        ),
    ),
    blocked(
        "jupyterhub",
        PLACEHOLDERS,
        "placeholders as large as a user's server",
        *on_t4(
            chart(
                "jupyterhub",
                {
                    "singleuser": {
                        "extraResource": {"limits": {"nvidia.com/gpu": "1"}},
                        "extraTolerations": [TOLERATION],
                    },
                    "scheduling": {"userPlaceholder": {"replicas": 3}},
                },
            )
        ),
    ),
    blocked(
        "node-claim",
        "gpu-autoscaled",
        "a machine of Karpenter's that no pool owns",
        (
            "kubernetes:karpenter.sh/v1:NodeClaim",
            "one",
            {"spec": {"nodeClassRef": karpenter.EC2, "requirements": [karpenter.GPU_FAMILIES]}},
        ),
    ),
    blocked(
        "kaito-inference-set",
        "gpu-autoscaled",
        "copies of a model, each with machines of its own",
        kaito("v1alpha1:InferenceSet", spec={"replicas": 2, "template": {"resource": {"instanceType": A100}}}),
    ),
    blocked(
        "kaito-rag",
        "gpu-autoscaled",
        "a GPU for embeddings",
        kaito("v1alpha1:RAGEngine", spec={"compute": {"instanceType": A100}}),
    ),
    blocked(
        "kaito-by-default",
        "gpu-autoscaled",
        "v1alpha1 takes an A100 where nothing is said",
        kaito("v1alpha1:Workspace", resource={"labelSelector": {}}),
    ),
    blocked(
        "kaito-on-amazon",
        "gpu-autoscaled",
        "the operator with Karpenter on EKS",
        kaito("v1beta1:Workspace", resource={"instanceType": "g5.4xlarge"}),
    ),
    blocked(
        "inline-pool-beside-the-default",
        "gpu-zero-minimum",
        "only the pool default-pool is removed, not the others",
        gke.cluster(nodePools=[gke.inline(autoscaling={"minNodeCount": 1, "maxNodeCount": 3})]),
        gke.admin(),
    ),
    blocked(
        "machine-type-as-a-link",
        "gpu-autoscaled",
        "the machine type as the API links it",
        gke.cluster(),
        gke.admin(),
        (INSTANCE, "box", {"machineType": f"projects/p/zones/{gke.ZONE}/machineTypes/a2-highgpu-1g", "zone": gke.ZONE}),
    ),
    blocked(
        "instance-group",
        "gpu-autoscaled",
        "two machines of a template",
        gke.cluster(),
        gke.admin(),
        TEMPLATE,
        (MANAGER, "group", {"targetSize": 2, "versions": [{"instanceTemplate": "gpus"}]}),
    ),
    blocked(
        "daemon-set",
        "gpu-daemonset-asks",
        "a burn-in on every node",
        *on_t4(template("apps/v1:DaemonSet", pod(1), "burn-in")),
    ),
    blocked(
        "capacity-reservation",
        RESERVED,
        "machines kept for a launch",
        (
            "aws:ec2/capacityReservation:CapacityReservation",
            "h100",
            {"instanceType": "p5.48xlarge", "instanceCount": 2},
        ),
    ),
    blocked(
        "dedicated-host",
        RESERVED,
        "a host of one's own",
        ("aws:ec2/dedicatedHost:DedicatedHost", "host", {"instanceType": "g4dn.metal"}),
    ),
    blocked("batch-minimum", RESERVED, "Batch keeps vCPUs", batch(192)),
    blocked(
        "azure-reservation",
        RESERVED,
        "one machine kept",
        ("azure-native:compute:CapacityReservation", "a100", {"sku": {"name": A100, "capacity": 1}}),
    ),
    blocked(
        "google-reservation",
        RESERVED,
        "two machines kept",
        (
            "gcp:compute/reservation:Reservation",
            "a2",
            {"specificReservation": {"count": 2, "instanceProperties": {"machineType": "a2-highgpu-1g"}}},
        ),
    ),
    blocked("deployment", FOR_EVER, "a model server with one replica", *on_t4(deployment())),
    blocked(
        "horizontal-pod-autoscaler",
        FOR_EVER,
        "at least two servers",
        *on_t4(
            deployment(replicas=0),
            thing(
                "autoscaling/v2:HorizontalPodAutoscaler",
                {"scaleTargetRef": {"kind": "Deployment", "name": "work"}, "minReplicas": 2},
                "scaler",
            ),
        ),
    ),
    blocked(
        "kserve",
        FOR_EVER,
        "KServe keeps one unless told otherwise",
        *on_t4(
            thing(
                "serving.kserve.io/v1beta1:InferenceService",
                {"predictor": {"model": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}}},
            )
        ),
    ),
    blocked(
        "ray",
        FOR_EVER,
        "workers that stay",
        *on_t4(
            thing(
                "ray.io/v1:RayCluster",
                {
                    "headGroupSpec": {"template": {"spec": pod(tolerations=())}},
                    "workerGroupSpecs": [{"groupName": "gpu", "minReplicas": 1, "template": {"spec": pod(1)}}],
                },
            )
        ),
    ),
    blocked(
        "cron-job",
        FOR_EVER,
        "every five minutes: the node never goes",
        *on_t4(
            thing(
                "batch/v1:CronJob",
                {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": pod(1)}}}},
            )
        ),
    ),
]

ALLOWED: Final = [
    allowed(
        "schedule-to-zero",
        "to zero in the evening",
        aws.node_group(),
        schedule(minSize=0, maxSize=0),
        links=(("morning", "autoscalingGroupName", "gpu"),),
    ),
    allowed("schedule-of-a-maximum", "only the maximum", aws.node_group(), schedule(MANAGED, maxSize=2)),
    allowed(
        "schedule-of-cpus",
        "web servers in the morning",
        aws.node_group(),
        aws.cpu_group(),
        schedule(minSize=4),
        links=(("morning", "autoscalingGroupName", "system"),),
    ),
    allowed("batch-of-none", "Batch that goes to zero", batch(0)),
    allowed("setting-off", "switched off", azure.cluster(), scale_set(), setting("1", enabled=False)),
    allowed("setting-of-another", "another set", azure.cluster(), scale_set(), setting("1", target="/x/web")),
    allowed(
        "pause-pods-without-gpus",
        "room for web servers",
        *on_t4(LOW, deployment(None, tolerations=(), priorityClassName="low")),
    ),
    allowed(
        "job-of-low-priority",
        "work that may wait",
        *on_t4(LOW, template("batch/v1:Job", pod(1, priorityClassName="low"))),
    ),
    allowed("no-pause-pods", "none for now", *on_t4(LOW, deployment(replicas=0, priorityClassName="low"))),
    allowed("buffer-of-cpus", "room for web servers", *on_t4(pod_template(None, tolerations=()), buffer(replicas=2))),
    allowed("buffer-elsewhere", "a template that another program makes", *on_t4(buffer(replicas=2))),
    allowed("hub-without-placeholders", "none by default", *on_t4(chart("jupyterhub", {"singleuser": {"image": {}}}))),
    allowed(
        "hub-of-cpus",
        "placeholders without GPUs",
        *on_t4(chart("jupyterhub", {"scheduling": {"userPlaceholder": {"replicas": 3}}})),
    ),
    allowed(
        "instance-group-of-none",
        "a template and its group of size zero",
        gke.cluster(),
        gke.admin(),
        TEMPLATE,
        (MANAGER, "group", {"targetSize": 0, "versions": [{"instanceTemplate": "gpus"}]}),
    ),
    allowed(
        "stopped-machine",
        "a workstation that is switched off",
        gke.cluster(),
        gke.admin(),
        (INSTANCE, "box", {"machineType": "a2-highgpu-1g", "zone": gke.ZONE, "desiredStatus": "TERMINATED"}),
    ),
    allowed(
        "kaito-on-own-nodes",
        "the current version without a machine type makes no machine",
        kaito("v1beta1:Workspace", resource={"labelSelector": {}}),
    ),
    allowed("service", "a service that stays is noted only", *on_t4(deployment())),
]
