"""Cluster API: machine sets of self-managed and managed clusters, on several infrastructure providers."""

from __future__ import annotations

from typing import Any

from tests.policies.corpus.case import Case

API = "kubernetes:cluster.x-k8s.io/v1beta1"
INFRASTRUCTURE = "kubernetes:infrastructure.cluster.x-k8s.io/v1beta2"
BOOTSTRAP = "kubernetes:bootstrap.cluster.x-k8s.io/v1beta1"
SCALER = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
GPU_COUNT = "capacity.cluster-autoscaler.kubernetes.io/gpu-count"
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}

Resource = tuple[str, str, dict[str, Any]]


def bounds(least: Any = "0", most: Any = "4", **more: str) -> dict[str, Any]:
    return {f"{SCALER}-min-size": least, f"{SCALER}-max-size": most, **more}


def machines(
    template_kind: str = "AWSMachineTemplate",
    *,
    kind: str = "MachineDeployment",
    annotations: Any = None,
    replicas: Any = None,
    bootstrap: str | None = "KubeadmConfigTemplate",
    api: str = API,
    **machine: Any,
) -> Resource:
    """A set of machines that the autoscaler takes down to zero; its template and boot data are declared beside it."""
    spec: dict[str, Any] = {"clusterName": "ml", "infrastructureRef": {"kind": template_kind, "name": "gpu"}, **machine}
    spec["bootstrap"] = {"configRef": {"kind": bootstrap, "name": "gpu"}} if bootstrap else {"dataSecretName": None}
    metadata = {"name": "gpu", "annotations": bounds() if annotations is None else annotations}
    body: dict[str, Any] = {"clusterName": "ml", "template": {"spec": spec}}
    if replicas is not None:
        body["replicas"] = replicas
    return f"{api}:{kind}", f"gpu-{kind}", {"metadata": metadata, "spec": body}


def template(kind: str = "AWSMachineTemplate", **machine: Any) -> Resource:
    machine = machine or {"instanceType": "g5.xlarge"}
    spec = {"template": {"spec": machine}} if kind.endswith("Template") else machine
    return f"{INFRASTRUCTURE}:{kind}", f"gpu-{kind}", {"metadata": {"name": "gpu"}, "spec": spec}


def kubeadm(*taints: Any, **registration: Any) -> Resource:
    node = {"taints": list(taints), **registration}
    spec = {"template": {"spec": {"joinConfiguration": {"nodeRegistration": node}}}}
    return f"{BOOTSTRAP}:KubeadmConfigTemplate", "gpu-boot", {"metadata": {"name": "gpu"}, "spec": spec}


GOOD_BOOT = kubeadm(TAINT)

BLOCKED = [
    Case(
        id="capi-gpu-fixed-replicas",
        story="A MachineDeployment of the quick start: replicas, no autoscaler.",
        resources=(machines(annotations={}, replicas=2), template(), GOOD_BOOT),
        rule="gpu-autoscaled",
    ),
    Case(
        id="capi-gpu-default-replica",
        story="No replicas given: Cluster API makes one machine.",
        resources=(machines(annotations={}), template(), GOOD_BOOT),
        rule="gpu-starts-empty",
    ),
    Case(
        id="capi-gpu-minimum-one",
        story="The autoscaler's minimum from the time before it could scale from zero.",
        resources=(machines(annotations=bounds("1")), template(), GOOD_BOOT),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="capi-gpu-only-minimum",
        story="One of the two annotations: the autoscaler ignores the set.",
        resources=(machines(annotations={f"{SCALER}-min-size": "0"}, replicas=0), template(), GOOD_BOOT),
        rule="gpu-autoscaled",
    ),
    Case(
        id="capi-gpu-no-taint",
        story="Boot data of the CPU machines, reused.",
        resources=(machines(), template(), kubeadm()),
        rule="gpu-taint",
    ),
    Case(
        id="capi-gpu-taint-annotation-only",
        story="The capacity annotation tells the autoscaler of a taint that no kubelet registers.",
        resources=(
            machines(
                annotations=bounds(
                    **{"capacity.cluster-autoscaler.kubernetes.io/taints": "nvidia.com/gpu=present:NoSchedule"}
                )
            ),
            template(),
            kubeadm(),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="capi-gpu-machine-set",
        story="A MachineSet without a MachineDeployment.",
        resources=(machines(kind="MachineSet", annotations={}, replicas=1), template(), GOOD_BOOT),
        rule="gpu-autoscaled",
    ),
    Case(
        id="capi-gpu-azure",
        story="Azure machines with a T4 each.",
        resources=(
            machines("AzureMachineTemplate", annotations=bounds("1")),
            template("AzureMachineTemplate", vmSize="Standard_NC4as_T4_v3"),
            GOOD_BOOT,
        ),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="capi-gpu-google",
        story="Google's machines that bring an L4.",
        resources=(
            machines("GCPMachineTemplate"),
            template("GCPMachineTemplate", instanceType="g2-standard-8"),
            kubeadm(),
        ),
        rule="gpu-taint",
    ),
    Case(
        id="capi-gpu-by-annotation",
        story="Bare metal: only the capacity annotation tells of the GPUs.",
        resources=(
            machines("Metal3MachineTemplate", annotations=bounds("2", **{GPU_COUNT: "8"})),
            template("Metal3MachineTemplate", image={"url": "http://image"}),
            GOOD_BOOT,
        ),
        rule="gpu-zero-minimum",
    ),
    Case(
        id="capi-gpu-aws-machine-pool-mixed",
        story="An AWSMachinePool with several sizes.",
        resources=(
            machines("AWSMachinePool", kind="MachinePool"),
            template(
                "AWSMachinePool",
                mixedInstancesPolicy={"overrides": [{"instanceType": "g5.xlarge"}, {"instanceType": "g5.48xlarge"}]},
            ),
            GOOD_BOOT,
        ),
        rule="gpu-uniform-sizes",
    ),
    Case(
        id="capi-gpu-managed-pool-minimum",
        story="A managed node group of EKS through Cluster API, with its own scaling.",
        resources=(
            machines("AWSManagedMachinePool", kind="MachinePool", annotations={}, replicas=0, bootstrap=None),
            template(
                "AWSManagedMachinePool",
                instanceType="g4dn.xlarge",
                scaling={"minSize": 1, "maxSize": 3},
                taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "no-schedule"}],
            ),
        ),
        rule="gpu-zero-minimum",
    ),
]

ALLOWED = [
    Case(id="capi-good", story="A GPU set that the autoscaler owns.", resources=(machines(), template(), GOOD_BOOT)),
    Case(
        id="capi-cpu-fixed",
        story="CPU machines of a fixed number.",
        resources=(machines(annotations={}, replicas=3), template(instanceType="m5.large"), kubeadm()),
    ),
    Case(
        id="capi-docker",
        story="A test cluster in containers, called gpu.",
        resources=(
            machines("DockerMachineTemplate", annotations={}, replicas=1),
            template("DockerMachineTemplate", extraMounts=[]),
            kubeadm(),
        ),
    ),
    Case(
        id="capi-kubelet-argument",
        story="The taint is an argument of the kubelet.",
        resources=(
            machines(),
            template(),
            kubeadm(kubeletExtraArgs={"register-with-taints": "nvidia.com/gpu=present:NoSchedule"}),
        ),
    ),
    Case(
        id="capi-kubelet-argument-list",
        story="The same in the newer API, where arguments are a list.",
        resources=(
            machines(api="kubernetes:cluster.x-k8s.io/v1beta2"),
            template(),
            kubeadm(kubeletExtraArgs=[{"name": "register-with-taints", "value": "nvidia.com/gpu=present:NoSchedule"}]),
        ),
    ),
    Case(
        id="capi-machine-taints",
        story="Taints of the machines themselves.",
        resources=(
            machines(
                api="kubernetes:cluster.x-k8s.io/v1beta2", bootstrap=None, taints=[{**TAINT, "propagation": "Always"}]
            ),
            template(),
        ),
    ),
    Case(
        id="capi-managed-pool",
        story="A managed node group of EKS that scales from zero.",
        resources=(
            machines("AWSManagedMachinePool", kind="MachinePool", annotations={}, replicas=0, bootstrap=None),
            template(
                "AWSManagedMachinePool",
                instanceType="g4dn.xlarge",
                scaling={"minSize": 0, "maxSize": 3},
                taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "no-schedule"}],
            ),
        ),
    ),
    Case(
        id="capi-template-elsewhere",
        unjudged="is not declared in this program",
        story="The machines' template belongs to another program: nothing is known to be wrong.",
        resources=(machines(annotations={}, replicas=2),),
    ),
]
