"""What keeps GPU nodes up beside their group's minimum: schedules, flags, placeholders, services that never rest."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, aws_scaling, azure, gke, karpenter, kubernetes
from tests.policies.corpus.case import Draft, Resource, draft, resource
from tests.policies.corpus.kubernetes import TOLERATION, container, kind, pod, template, thing

ELSEWHERE: Final = "gpu-minimum-elsewhere"
PLACEHOLDERS: Final = "gpu-placeholders"
FOR_EVER: Final = "gpu-held-for-ever"
SCHEDULE: Final = "aws:autoscaling/schedule:Schedule"
SETTING: Final = "azure-native:monitor:AutoscaleSetting"
RELEASE: Final = "kubernetes:helm.sh/v3:Release"
BUFFER: Final = "autoscaling.x-k8s.io/v1beta1:CapacityBuffer"
LOW: Final = ("kubernetes:scheduling.k8s.io/v1:PriorityClass", "low", {"metadata": {"name": "low"}, "value": -1})
MANAGED: Final = "eks-gpu-0a1b2c3d-1111-2222-3333-444455556666"


def blocked(id: str, rule: str, story: str, **more: Any) -> Draft:
    return draft(f"minimum-{id}", story, rule=rule, **more)


def allowed(id: str, story: str, **more: Any) -> Draft:
    return draft(f"minimum-{id}", story, **more)


def on_t4(*resources: Any) -> tuple[Any, ...]:
    return kubernetes.on_t4(resources)


def schedule(group: Any = UNKNOWN, **sizes: int) -> Resource:
    return SCHEDULE, "morning", {"autoscalingGroupName": group, "recurrence": "0 8 * * 1-5", **sizes}


def setting(minimum: Any, target: Any = "/subscriptions/s/virtualMachineScaleSets/gpus", **more: Any) -> Resource:
    capacity = {"minimum": minimum, "maximum": "4", "default": "0"}
    return SETTING, "office", {"targetResourceUri": target, "profiles": [{"name": "all", "capacity": capacity}], **more}


def scale_set() -> Resource:
    tags = {
        "min": "0",
        "max": "4",
        "k8s.io_cluster-autoscaler_node-template_taint_nvidia.com_gpu": "present:NoSchedule",
    }
    return azure.SCALE_SET, "gpus", {"sku": {"name": "Standard_NC8as_T4_v3", "capacity": 0}, "tags": tags}


def chart(name: str, values: dict[str, Any]) -> Resource:
    return RELEASE, name, {"chart": name, "values": values}


def deployment(gpus: Any = 1, replicas: Any = None, **more: Any) -> Resource:
    spec = {"template": {"spec": pod(gpus, **more)}}
    return thing("apps/v1:Deployment", spec if replicas is None else {**spec, "replicas": replicas})


def buffer(template_name: str = "warm", **spec: Any) -> Resource:
    return thing(BUFFER, {"podTemplateRef": {"name": template_name}, **spec}, "warm")


def pod_template(gpus: Any = 1, **more: Any) -> Resource:
    spec = pod(gpus, **more)
    return "kubernetes:core/v1:PodTemplate", "warm", {"metadata": {"name": "warm"}, "template": {"spec": spec}}


def kaito(kind: str, **body: Any) -> Resource:
    return f"kubernetes:kaito.sh/{kind}", "model", {"metadata": {"name": "model"}, **body}


def batch(least: int) -> Resource:
    resources = {"minVcpus": least, "maxVcpus": 384, "instanceTypes": ["p4d.24xlarge"]}
    return "aws:batch/computeEnvironment:ComputeEnvironment", "batch", {"computeResources": resources}


RESERVED: Final = "gpu-reserved-capacity"
A100: Final = "Standard_NC24ads_A100_v4"
INSTANCE: Final = "gcp:compute/instance:Instance"
MANAGER: Final = "gcp:compute/instanceGroupManager:InstanceGroupManager"
TEMPLATE: Final = resource(
    "gcp:compute/instanceTemplate:InstanceTemplate",
    "gpus",
    name="gpus",
    machineType="n1-standard-4",
    guestAccelerators=gke.T4,
)

BLOCKED: Final = [
    blocked(
        "schedule", ELSEWHERE, "two nodes from eight o'clock on", links=(("morning", "autoscalingGroupName", "gpu"),)
    ).of(aws.node_group(), schedule(minSize=2, maxSize=4)),
    blocked("schedule-by-name", ELSEWHERE, "EKS's name for the group").of(
        aws.node_group(), schedule(MANAGED, minSize=1)
    ),
    blocked("autoscale-setting", ELSEWHERE, "Monitor keeps one").of(azure.cluster(), scale_set(), setting("1")),
    blocked("flag", ELSEWHERE, "--nodes with a minimum").of(
        aws.node_group(), aws_scaling.scaler(f"--nodes=2:4:{MANAGED}")
    ),
    blocked("chart", ELSEWHERE, "the autoscaler's chart, with a minimum").of(
        aws.node_group(),
        chart("cluster-autoscaler", {"autoscalingGroups": [{"name": MANAGED, "minSize": 1, "maxSize": 4}]}),
    ),
    blocked("chart-by-default", ELSEWHERE, "the chart's own minimum").of(
        aws.node_group(), chart("cluster-autoscaler", {"autoscalingGroups": [{"name": MANAGED, "maxSize": 4}]})
    ),
    blocked("pause-pods-by-number", PLACEHOLDERS, "the priority as a number").of(
        *on_t4(deployment(priority=-5, replicas=2))
    ),
    blocked("capacity-buffer", PLACEHOLDERS, "two nodes for pods to come").of(
        *on_t4(pod_template(), buffer(replicas=2))
    ),
    blocked("capacity-buffer-limit", PLACEHOLDERS, "by a limit").of(
        *on_t4(pod_template(), buffer(limits={"cpu": "8"}))
    ),
    blocked("overprovisioner", PLACEHOLDERS, "a chart for it").of(
        *on_t4(
            chart(
                "cluster-overprovisioner",
                {"deployments": [{"name": "gpu", "replicaCount": 1, **container(1), "tolerations": [TOLERATION]}]},
            )
        )
    ),
    blocked("jupyterhub", PLACEHOLDERS, "placeholders as large as a user's server").of(
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
        )
    ),
    blocked("node-claim", "gpu-autoscaled", "a machine of Karpenter's that no pool owns").of(
        resource(
            "kubernetes:karpenter.sh/v1:NodeClaim",
            "one",
            spec={"nodeClassRef": karpenter.EC2, "requirements": [karpenter.GPU_FAMILIES]},
        )
    ),
    blocked("kaito-inference-set", "gpu-autoscaled", "copies of a model, each with machines of its own").of(
        kaito("v1alpha1:InferenceSet", spec={"replicas": 2, "template": {"resource": {"instanceType": A100}}})
    ),
    blocked("kaito-rag", "gpu-autoscaled", "a GPU for embeddings").of(
        kaito("v1alpha1:RAGEngine", spec={"compute": {"instanceType": A100}})
    ),
    blocked("kaito-by-default", "gpu-autoscaled", "v1alpha1 takes an A100 where nothing is said").of(
        kaito("v1alpha1:Workspace", resource={"labelSelector": {}})
    ),
    blocked("kaito-on-amazon", "gpu-autoscaled", "the operator with Karpenter on EKS").of(
        kaito("v1beta1:Workspace", resource={"instanceType": "g5.4xlarge"})
    ),
    blocked(
        "inline-pool-beside-the-default", "gpu-zero-minimum", "only the pool default-pool is removed, not the others"
    ).of(gke.cluster(nodePools=[gke.inline(autoscaling={"minNodeCount": 1, "maxNodeCount": 3})]), gke.admin()),
    blocked("machine-type-as-a-link", "gpu-autoscaled", "the machine type as the API links it").of(
        gke.cluster(),
        gke.admin(),
        (INSTANCE, "box", {"machineType": f"projects/p/zones/{gke.ZONE}/machineTypes/a2-highgpu-1g", "zone": gke.ZONE}),
    ),
    blocked("instance-group", "gpu-autoscaled", "two machines of a template").of(
        gke.cluster(),
        gke.admin(),
        TEMPLATE,
        (MANAGER, "group", {"targetSize": 2, "versions": [{"instanceTemplate": "gpus"}]}),
    ),
    blocked("daemon-set", "gpu-daemonset-asks", "a burn-in on every node").of(
        *on_t4(template("apps/v1:DaemonSet", pod(1), "burn-in"))
    ),
    blocked("dedicated-host", RESERVED, "a host of one's own").of(
        ("aws:ec2/dedicatedHost:DedicatedHost", "host", {"instanceType": "g4dn.metal"})
    ),
    blocked("batch-minimum", RESERVED, "Batch keeps vCPUs").of(batch(192)),
    blocked("azure-reservation", RESERVED, "one machine kept").of(
        ("azure-native:compute:CapacityReservation", "a100", {"sku": {"name": A100, "capacity": 1}})
    ),
    blocked("google-reservation", RESERVED, "two machines kept").of(
        resource(
            "gcp:compute/reservation:Reservation",
            "a2",
            specificReservation={"count": 2, "instanceProperties": {"machineType": "a2-highgpu-1g"}},
        )
    ),
    blocked("horizontal-pod-autoscaler", FOR_EVER, "at least two servers").of(
        *on_t4(
            deployment(replicas=0),
            thing(
                "autoscaling/v2:HorizontalPodAutoscaler",
                {"scaleTargetRef": {"kind": "Deployment", "name": "work"}, "minReplicas": 2},
                "scaler",
            ),
        )
    ),
    blocked("kserve", FOR_EVER, "KServe keeps one unless told otherwise").of(
        *on_t4(
            kind(
                "serving.kserve.io/v1beta1:InferenceService",
                predictor={"model": {"resources": {"limits": {"nvidia.com/gpu": "1"}}}},
            )
        )
    ),
    blocked("ray", FOR_EVER, "workers that stay").of(
        *on_t4(
            kind(
                "ray.io/v1:RayCluster",
                headGroupSpec={"template": {"spec": pod(tolerations=())}},
                workerGroupSpecs=[{"groupName": "gpu", "minReplicas": 1, "template": {"spec": pod(1)}}],
            )
        )
    ),
    blocked("cron-job", FOR_EVER, "every five minutes: the node never goes").of(
        *on_t4(kind("batch/v1:CronJob", schedule="*/5 * * * *", jobTemplate={"spec": {"template": {"spec": pod(1)}}}))
    ),
]

ALLOWED: Final = [
    allowed("schedule-to-zero", "to zero in the evening", links=(("morning", "autoscalingGroupName", "gpu"),)).of(
        aws.node_group(), schedule(minSize=0, maxSize=0)
    ),
    allowed("schedule-of-a-maximum", "only the maximum").of(aws.node_group(), schedule(MANAGED, maxSize=2)),
    allowed(
        "schedule-of-cpus", "web servers in the morning", links=(("morning", "autoscalingGroupName", "system"),)
    ).of(aws.node_group(), aws.cpu_group(), schedule(minSize=4)),
    allowed("batch-of-none", "Batch that goes to zero").of(batch(0)),
    allowed("setting-off", "switched off").of(azure.cluster(), scale_set(), setting("1", enabled=False)),
    allowed("setting-of-another", "another set").of(azure.cluster(), scale_set(), setting("1", target="/x/web")),
    allowed("pause-pods-without-gpus", "room for web servers").of(
        *on_t4(LOW, deployment(None, tolerations=(), priorityClassName="low"))
    ),
    allowed("job-of-low-priority", "work that may wait").of(
        *on_t4(LOW, template("batch/v1:Job", pod(1, priorityClassName="low")))
    ),
    allowed("no-pause-pods", "none for now").of(*on_t4(LOW, deployment(replicas=0, priorityClassName="low"))),
    allowed("buffer-of-cpus", "room for web servers").of(
        *on_t4(pod_template(None, tolerations=()), buffer(replicas=2))
    ),
    allowed("buffer-elsewhere", "a template that another program makes").of(*on_t4(buffer(replicas=2))),
    allowed("hub-without-placeholders", "none by default").of(
        *on_t4(chart("jupyterhub", {"singleuser": {"image": {}}}))
    ),
    allowed("hub-of-cpus", "placeholders without GPUs").of(
        *on_t4(chart("jupyterhub", {"scheduling": {"userPlaceholder": {"replicas": 3}}}))
    ),
    allowed("instance-group-of-none", "a template and its group of size zero").of(
        gke.cluster(),
        gke.admin(),
        TEMPLATE,
        (MANAGER, "group", {"targetSize": 0, "versions": [{"instanceTemplate": "gpus"}]}),
    ),
    allowed("stopped-machine", "a workstation that is switched off").of(
        gke.cluster(),
        gke.admin(),
        (INSTANCE, "box", {"machineType": "a2-highgpu-1g", "zone": gke.ZONE, "desiredStatus": "TERMINATED"}),
    ),
    allowed("kaito-on-own-nodes", "the current version without a machine type makes no machine").of(
        kaito("v1beta1:Workspace", resource={"labelSelector": {}})
    ),
    allowed("service", "a service that stays is noted only").of(*on_t4(deployment())),
]
