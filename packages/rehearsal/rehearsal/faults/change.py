"""Changes resources of the program while it declares them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final

import pulumi

from rehearsal.faults.case import Program

NODE_CLASS: Final = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"

Change = Callable[[dict[str, Any]], dict[str, Any] | None]
"""Inputs of a resource → those to declare in their place; ``None`` leaves them alone."""


def change(type: str, how: Change) -> Callable[[Program], None]:
    """A fault that passes the inputs of every resource of ``type`` through ``how``."""

    def transform(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
        changed = how(dict(args.props)) if args.type_ == type else None
        return None if changed is None else pulumi.ResourceTransformationResult(changed, args.opts)

    def inject(program: Program) -> None:
        pulumi.runtime.register_stack_transformation(transform)
        program()

    return inject


def without_right(action: str) -> Callable[[Program], None]:
    """A fault that removes ``action`` from every role policy on AWS."""

    def without(policy: str) -> str:
        if action not in policy:
            return policy
        document = json.loads(policy)
        for statement in document["Statement"]:
            if isinstance(statement["Action"], list):
                statement["Action"] = [each for each in statement["Action"] if each != action]
        return json.dumps(document)

    # A policy that names the account is known only when the account is.
    return change(
        "aws:iam/rolePolicy:RolePolicy",
        lambda inputs: {**inputs, "policy": pulumi.Output.from_input(inputs["policy"]).apply(without)},
    )


def without_toleration(inputs: dict[str, Any], key: str) -> dict[str, Any]:
    """The inputs of a DaemonSet whose pods no longer tolerate the taint ``key``."""
    template = inputs["spec"]["template"]
    others = [toleration for toleration in template["spec"]["tolerations"] if toleration.get("key") != key]
    pod = {**template["spec"], "tolerations": others}
    return {**inputs, "spec": {**inputs["spec"], "template": {**template, "spec": pod}}}


def with_spec(inputs: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The inputs of an object in the cluster with other ``fields`` in its spec."""
    return {**inputs, "spec": {**inputs["spec"], **fields}}
