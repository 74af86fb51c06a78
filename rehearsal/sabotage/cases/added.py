"""Adds an object to the program's own cluster, through the program's own Kubernetes provider."""

from __future__ import annotations

from typing import Any

import pulumi

from components.resources import CustomResource
from rehearsal.sabotage.case import KUBERNETES_PROVIDER, NODE_POOL, Program


def add(program: Program, name: str, manifest: dict[str, Any]) -> None:
    """Run ``program``, then declare ``manifest`` after all its node pools."""
    providers: list[pulumi.ProviderResource] = []
    pools: list[pulumi.Resource] = []

    def remember(args: pulumi.ResourceTransformationArgs) -> None:
        if args.type_ == KUBERNETES_PROVIDER and isinstance(args.resource, pulumi.ProviderResource):
            providers.append(args.resource)
        if args.type_ == NODE_POOL:
            pools.append(args.resource)

    pulumi.runtime.register_stack_transformation(remember)
    program()
    group_version = manifest["apiVersion"] if "/" in manifest["apiVersion"] else f"core/{manifest['apiVersion']}"
    after_pools = pulumi.ResourceOptions(provider=providers[0], depends_on=pools)
    CustomResource(f"kubernetes:{group_version}:{manifest['kind']}", name, manifest, after_pools)
