"""Faults by one object more in the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pulumi
import yaml

from components.resources import CustomResource, object_token
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, GPU_RESOURCE
from rehearsal.faults.case import KUBERNETES_PROVIDER, NODE_POOL, Injection, Program

_JOB: Final[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("training.yaml").read_text())


def add(program: Program, name: str, manifest: dict[str, Any]) -> None:
    """Run ``program``, then declare ``manifest`` after all its node pools."""
    providers: list[pulumi.ProviderResource] = []
    pools: list[pulumi.Resource] = []

    def record(args: pulumi.ResourceTransformationArgs) -> None:
        if args.type_ == KUBERNETES_PROVIDER and isinstance(args.resource, pulumi.ProviderResource):
            providers.append(args.resource)
        if args.type_ == NODE_POOL:
            pools.append(args.resource)

    pulumi.runtime.register_stack_transformation(record)
    program()
    after_pools = pulumi.ResourceOptions(provider=providers[0], depends_on=pools)
    CustomResource(object_token(manifest), name, manifest, after_pools)


def system_deployment(
    name: str, requests: Mapping[str, str], annotations: Mapping[str, str] | None = None, **pod: Any
) -> dict[str, Any]:
    """A Deployment in kube-system: one container that asks for ``requests``, with ``pod`` in its specification."""
    container = {"name": "main", "image": "registry.k8s.io/pause:3.10", "resources": {"requests": dict(requests)}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "kube-system", **({"annotations": annotations} if annotations else {})},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": {**pod, "containers": [container]}},
        },
    }


def _add_job(program: Program) -> None:
    add(program, "training", _JOB)


_PINNED: Final = system_deployment(
    "gpu-metrics",
    {"cpu": "10m", "memory": "16Mi"},
    nodeSelector={GPU_PRESENT_LABEL: "true"},
    tolerations=[{"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"}],
)


def _add_pinned_pod(program: Program) -> None:
    add(program, "gpu-metrics", _PINNED)


# Otherwise the update waits for the pod and fails by itself.
_UNAWAITED: Final = {"pulumi.com/skipAwait": "true"}
_LARGE: Final = system_deployment("metrics", {"cpu": "64", "memory": "64Mi"}, _UNAWAITED)


def _add_large_pod(program: Program) -> None:
    add(program, "metrics", _LARGE)


INJECTIONS: Final[Mapping[str, Injection]] = {
    "job-without-toleration": _add_job,
    "pinned-system-pod": _add_pinned_pod,
    # A system pod that is too large for every node: everything else works, its own function does not.
    "system-pod-too-large": _add_large_pod,
}
