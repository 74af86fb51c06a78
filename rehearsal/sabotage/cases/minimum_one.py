"""A GPU pool that keeps one node: the bill of an idle cluster."""

from __future__ import annotations

from typing import Any

import pulumi

from rehearsal.sabotage.case import Case, Program, is_gpu_pool


def _keep_one(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    properties: dict[str, Any] = dict(args.props)
    if not is_gpu_pool(args.type_, properties):
        return None
    properties["initialNodeCount"] = 1
    properties["autoscaling"] = {**properties["autoscaling"], "totalMinNodeCount": 1}
    return pulumi.ResourceTransformationResult(properties, args.opts)


def _sabotage(program: Program) -> None:
    pulumi.runtime.register_stack_transformation(_keep_one)
    program()


CASE = Case(
    name="minimum-one",
    title="every GPU pool keeps one node",
    stack="dev",
    rule="gpu-zero-minimum",
    check="starts-at-zero",
    reason="GPU nodes before any pod asked for a GPU",
    sabotage=_sabotage,
)
