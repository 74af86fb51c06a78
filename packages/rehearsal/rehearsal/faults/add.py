"""Adds an object to the program's own cluster, through the program's own Kubernetes provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pulumi

from components.resources import CustomResource, object_token
from rehearsal.faults.case import KUBERNETES_PROVIDER, NODE_POOL, Program


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
