"""Adds an object to the program's own cluster, through the program's own Kubernetes provider."""

from __future__ import annotations

from typing import Any

import pulumi

from components.resources import CustomResource, object_token
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
    after_pools = pulumi.ResourceOptions(provider=providers[0], depends_on=pools)
    CustomResource(object_token(manifest), name, manifest, after_pools)
