"""Settings that a platform copies into the pods that it starts: in ConfigMaps, in PodTemplates and PodDefaults.

https://argo-workflows.readthedocs.io/en/latest/default-workflow-specs, https://tekton.dev/docs/pipelines/podtemplates,
https://docs.flyte.org/en/latest/deployment/configuration, https://github.com/kubeflow/kubeflow (``PodDefault``)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.declared import UnknownReason, Workload
from facts.concepts.kubernetes import GPU_RESOURCE, Toleration
from facts.concepts.unknown import UNKNOWN, at, mapping
from policies.readers.eks.auth import read_mapping, read_mappings
from policies.readers.kubernetes.chart_values import placed
from policies.readers.kubernetes.objects import read_custom_resource
from policies.readers.kubernetes.workloads import read_config_map, tolerations_of
from policies.readers.resource import Declared, Item, Reader

_COPIED: Final = UnknownReason(
    "a platform copies these settings into pods, and it is unknown whether those request GPUs",
    "Write the tolerations at the pods that request GPUs, or exempt it by name.",
)


_OF_VOLUMES: Final = "helperPod.yaml"
"""The pod by which local-path-provisioner makes and removes a folder, on the node that it names, within seconds:
https://github.com/rancher/local-path-provisioner#customize-the-configmap"""


def read_settings(declared: Declared) -> Iterable[Item]:
    """``ConfigMap``: as any other, by the rights that it gives, and by the placement of pods in its texts."""
    yield from read_config_map(declared)
    yield from read_mappings(declared)
    data = mapping(declared.properties.get("data"))
    if data is UNKNOWN:
        return
    yield from _copied(declared, {key: text for key, text in data.items() if key != _OF_VOLUMES})


def read_pod_template(declared: Declared) -> Iterable[Item]:
    """``core/v1`` ``PodTemplate``, which Spark, Flyte and Jenkins start pods from."""
    yield from _copied(declared, declared.properties.get("template"))


def read_pod_default(declared: Declared) -> Iterable[Item]:
    """``PodDefault``: a webhook adds it to pods by their labels."""
    yield from read_custom_resource(declared)
    yield from _copied(declared, at(declared.properties, "spec"))


# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html, as in the chart's values
_BY_OPERATOR: Final = (Toleration(GPU_RESOURCE, "Exists", None, "NoSchedule"),)


def read_gpu_operator(declared: Declared) -> Iterable[Item]:
    """``ClusterPolicy`` and ``NVIDIADriver``, by which NVIDIA's operator makes its DaemonSets.

    https://github.com/NVIDIA/gpu-operator/blob/main/api/nvidia/v1/clusterpolicy_types.go
    """
    spec = declared.properties.get("spec")
    tolerations = at(spec, "daemonsets", "tolerations") if declared.kind == "ClusterPolicy" else at(spec, "tolerations")
    yield Workload(
        name=declared.object_name,
        namespace=declared.namespace,
        kind="DaemonSet",
        tolerations=_BY_OPERATOR if tolerations is None else tolerations_of(tolerations),
        device_plugin=True,
        resource=declared.urn,
    )


READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:core/v1:ConfigMap": read_settings,
    "kubernetes:iamauthenticator.k8s.aws/*:IAMIdentityMapping": read_mapping,
    "kubernetes:core/v1:PodTemplate": read_pod_template,
    "kubernetes:kubeflow.org/*:PodDefault": read_pod_default,
    "kubernetes:nvidia.com/*:ClusterPolicy": read_gpu_operator,
    "kubernetes:nvidia.com/*:NVIDIADriver": read_gpu_operator,
}


def _copied(declared: Declared, settings: Any) -> Iterable[Item]:
    kind = declared.kind
    for pods in placed(settings, declared.object_name, declared.namespace, declared.urn):
        yield replace(pods, kind=kind, unknown_reason=_COPIED)
