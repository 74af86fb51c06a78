"""Faults in the program itself: several resources, and their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import pulumi

from rehearsal.faults.case import NODE_POOL, Injection, Program, is_gpu_pool


def _inject(program: Program) -> None:
    gpu_pools: list[pulumi.Resource] = []

    async def every_gpu_pool() -> list[pulumi.Resource]:
        # Awaited when the program has run to its end, so the list is complete.
        return gpu_pools

    def strip(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        properties: dict[str, Any] = dict(args.props)
        if args.type_ != NODE_POOL:
            return None
        if not is_gpu_pool(args.type_, properties):
            args.opts.depends_on = pulumi.Output.from_input(every_gpu_pool())
            return pulumi.ResourceTransformationResult(properties, args.opts)
        gpu_pools.append(args.resource)
        args.opts.depends_on = []
        properties["nodeConfig"] = {**properties["nodeConfig"], "taints": []}
        return pulumi.ResourceTransformationResult(properties, args.opts)

    pulumi.runtime.register_stack_transformation(strip)
    program()


INJECTIONS: Final[Mapping[str, Injection]] = {
    # "GPU nodes live indefinitely" in the GKE tips post: GPU pools without the GPU taint, created before other pools.
    # GKE adds the taint itself if a pool without GPUs already exists, so the order matters.
    "taint-removed": _inject,
}
