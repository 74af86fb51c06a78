"""A driver installer that does not tolerate its pool's spot taint: nodes come, their GPUs never do."""

from __future__ import annotations

from typing import Any, Final

import pulumi

from rehearsal.sabotage.case import Case, Program

_DAEMON_SET: Final = "kubernetes:apps/v1:DaemonSet"
_SPOT_TAINT: Final = "cloud.google.com/gke-spot"


def _forget_spot(args: pulumi.ResourceTransformationArgs) -> pulumi.ResourceTransformationResult | None:
    if args.type_ != _DAEMON_SET:
        return None
    properties: dict[str, Any] = dict(args.props)
    template = properties["spec"]["template"]
    kept = [toleration for toleration in template["spec"]["tolerations"] if toleration.get("key") != _SPOT_TAINT]
    pod_spec = {**template["spec"], "tolerations": kept}
    properties["spec"] = {**properties["spec"], "template": {**template, "spec": pod_spec}}
    return pulumi.ResourceTransformationResult(properties, args.opts)


def _sabotage(program: Program) -> None:
    pulumi.runtime.register_stack_transformation(_forget_spot)
    program()


CASE = Case(
    name="driver-without-spot-toleration",
    title="a driver DaemonSet that does not tolerate its pool's spot taint",
    stack="examples/gke-ubuntu-driver-daemonset.yaml",
    rule="gpu-daemonset-tolerates",
    check="reached:",
    reason="driver",
    sabotage=_sabotage,
)
