"""Cluster API: machine sets of self-managed and managed clusters, on several infrastructure providers."""

from __future__ import annotations

from typing import Any

from tests.policies.corpus.case import Resource, allowed, blocked, undecided

API = "kubernetes:cluster.x-k8s.io/v1beta1"
INFRASTRUCTURE = "kubernetes:infrastructure.cluster.x-k8s.io/v1beta2"
BOOTSTRAP = "kubernetes:bootstrap.cluster.x-k8s.io/v1beta1"
SCALER = "cluster.x-k8s.io/cluster-api-autoscaler-node-group"
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


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
    blocked(
        "capi-gpu-only-minimum", "gpu-autoscaled", "One of the two annotations: the autoscaler ignores the set."
    ).of(machines(annotations={f"{SCALER}-min-size": "0"}, replicas=0), template(), GOOD_BOOT),
    blocked("capi-gpu-no-taint", "gpu-taint", "Boot data of the CPU machines, reused.").of(
        machines(), template(), kubeadm()
    ),
    blocked(
        "capi-gpu-taint-annotation-only",
        "gpu-taint",
        "The capacity annotation tells the autoscaler of a taint that no kubelet registers.",
    ).of(
        machines(
            annotations=bounds(
                **{"capacity.cluster-autoscaler.kubernetes.io/taints": "nvidia.com/gpu=present:NoSchedule"}
            )
        ),
        template(),
        kubeadm(),
    ),
    blocked("capi-gpu-azure", "gpu-zero-minimum", "Azure machines with a T4 each.").of(
        machines("AzureMachineTemplate", annotations=bounds("1")),
        template("AzureMachineTemplate", vmSize="Standard_NC4as_T4_v3"),
        GOOD_BOOT,
    ),
    blocked("capi-gpu-google", "gpu-taint", "Google's machines that bring an L4.").of(
        machines("GCPMachineTemplate"), template("GCPMachineTemplate", instanceType="g2-standard-8"), kubeadm()
    ),
    blocked("capi-gpu-aws-machine-pool-mixed", "gpu-uniform-sizes", "An AWSMachinePool with several sizes.").of(
        machines("AWSMachinePool", kind="MachinePool"),
        template(
            "AWSMachinePool",
            mixedInstancesPolicy={"overrides": [{"instanceType": "g5.xlarge"}, {"instanceType": "g5.48xlarge"}]},
        ),
        GOOD_BOOT,
    ),
    blocked(
        "capi-gpu-managed-pool-minimum",
        "gpu-zero-minimum",
        "A managed node group of EKS through Cluster API, with its own scaling.",
    ).of(
        machines("AWSManagedMachinePool", kind="MachinePool", annotations={}, replicas=0, bootstrap=None),
        template(
            "AWSManagedMachinePool",
            instanceType="g4dn.xlarge",
            scaling={"minSize": 1, "maxSize": 3},
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "no-schedule"}],
        ),
    ),
]

ALLOWED = [
    allowed("capi-good", "A GPU set that the autoscaler owns.").of(machines(), template(), GOOD_BOOT),
    allowed("capi-cpu-fixed", "CPU machines of a fixed number.").of(
        machines(annotations={}, replicas=3), template(instanceType="m5.large"), kubeadm()
    ),
    allowed("capi-kubelet-argument-list", "The same in the newer API, where arguments are a list.").of(
        machines(api="kubernetes:cluster.x-k8s.io/v1beta2"),
        template(),
        kubeadm(kubeletExtraArgs=[{"name": "register-with-taints", "value": "nvidia.com/gpu=present:NoSchedule"}]),
    ),
    allowed("capi-machine-taints", "Taints of the machines themselves.").of(
        machines(
            api="kubernetes:cluster.x-k8s.io/v1beta2", bootstrap=None, taints=[{**TAINT, "propagation": "Always"}]
        ),
        template(),
    ),
    undecided(
        "capi-template-elsewhere",
        "is not declared in this program",
        "The machines' template belongs to another program: nothing is known to be wrong.",
    ).of(machines(annotations={}, replicas=2)),
]
