"""How long idle GPU nodes stay: delays and windows of every autoscaler, and its defaults."""

from __future__ import annotations

from typing import Any, Final

from tests.policies.corpus import aws, aws_scaling, azure, gke, karpenter
from tests.policies.corpus.case import Draft, Program, Resource, allowed, draft, resource

RULE: Final = "gpu-idle-time"
CLASSIC: Final = "azure:containerservice/kubernetesCluster:KubernetesCluster"
CLASS: Final = "kubernetes:cloud.google.com/v1:ComputeClass"


def disrupted(**disruption: Any) -> Resource:
    return karpenter.node_pool(disruption=disruption)


def frozen(schedule: str, duration: str, **more: Any) -> Resource:
    return disrupted(budgets=[{"nodes": "0", "schedule": schedule, "duration": duration, **more}])


def profiled(profile: dict[str, Any]) -> Program:
    return azure.cluster(autoScalerProfile=profile), azure.pool()


def chart(flags: dict[str, Any]) -> Resource:
    values = {"autoDiscovery": {"clusterName": "ml"}, "extraArgs": flags}
    return "kubernetes:helm.sh/v3:Release", "scaler", {"chart": "cluster-autoscaler", "values": values}


def scaled(*flags: str) -> Resource:
    return aws_scaling.scaler(aws_scaling.DISCOVERY, *flags)


def compute_class(minutes: int) -> Resource:
    spec = {
        "nodePoolAutoCreation": {"enabled": True},
        "priorities": [{"gpu": {"type": "nvidia-l4", "count": 1}}],
        "autoscalingPolicy": {"consolidationDelayMinutes": minutes},
    }
    return CLASS, "l4", {"metadata": {"name": "l4"}, "spec": spec}


def provisioner(seconds: int) -> Resource:
    spec = {"requirements": [karpenter.GPU_FAMILIES], "taints": [karpenter.TAINT], "ttlSecondsAfterEmpty": seconds}
    return karpenter.PROVISIONER, "gpu", {"spec": {**spec, "limits": {"resources": karpenter.LIMITS}}}


def case(id: str, story: str, rule: str | None = None, **limits: Any) -> Draft:
    return draft(f"idle-{id}", story, rule=rule, limits=limits)


BLOCKED: Final = [
    case("month", "a month, to spare cold starts", rule=RULE).of(disrupted(consolidateAfter="720h")),
    case("just-over", "a minute over the limit", rule=RULE).of(disrupted(consolidateAfter="1h1m")),
    case("own-limit", "a stricter stack", rule=RULE, maxIdleMinutes=5).of(disrupted(consolidateAfter="10m")),
    case("all-day", "no disruption, by a schedule that never ends", rule=RULE).of(frozen("0 0 * * *", "24h")),
    case("every-ten-minutes", "windows that touch each other", rule=RULE).of(frozen("*/10 * * * *", "10m")),
    case("office-hours", "empty nodes stay in office hours", rule=RULE).of(frozen("0 9 * * 1-5", "8h")),
    case("provisioner", "the old kind, for thirty days", rule=RULE).of(provisioner(2_592_000)),
    case("flag-off", "scale-down switched off", rule=RULE).of(aws.node_group(), scaled("--scale-down-enabled=false")),
    case("flag-long", "ten days", rule=RULE).of(aws.node_group(), scaled("--scale-down-unneeded-time=240h")),
    case("flag-apart", "the value is the next word", rule=RULE).of(
        aws.node_group(), scaled("--scale-down-delay-after-add", "6h")
    ),
    case("threshold", "no node is ever below 0", rule=RULE).of(
        aws.node_group(), scaled("--scale-down-gpu-utilization-threshold=0")
    ),
    case("chart-off", "the same in the chart's values", rule=RULE).of(
        aws.node_group(), chart({"scale-down-enabled": False})
    ),
    case("chart-long", "ten days in the chart", rule=RULE).of(
        aws.node_group(), chart({"scale-down-unneeded-time": "240h"})
    ),
    case("apps-alone", "an autoscaler in a program of its own", rule=RULE).of(chart({"scale-down-enabled": "false"})),
    case("aks", "ten days in the cluster's profile", rule=RULE).of(*profiled({"scaleDownUnneededTime": "14400m"})),
    case("aks-delay", "a day after each new node", rule=RULE).of(*profiled({"scaleDownDelayAfterAdd": "1440m"})),
    case("aks-threshold", "no node is ever below 0", rule=RULE).of(*profiled({"scaleDownUtilizationThreshold": "0"})),
    case("azurerm", "the older provider's name for it", rule=RULE).of(
        resource(
            CLASSIC, "ml", name="ml", defaultNodePool=azure.SYSTEM, autoScalerProfile={"scaleDownUnneeded": "240m"}
        ),
        azure.pool(),
    ),
    case("compute-class", "a day", rule=RULE).of(gke.cluster(), gke.admin(), compute_class(1440)),
]

ALLOWED: Final = [
    case("minutes", "a coffee break").of(disrupted(consolidateAfter="30m")),
    case("edge", "the limit itself").of(disrupted(consolidateAfter="60m")),
    case("at-once", "no delay").of(disrupted(consolidateAfter="0s")),
    case("cpu-pool", "CPU nodes may stay").of(karpenter.cpu_pool(disruption={"consolidateAfter": "720h"})),
    case("half-hour-window", "a short freeze").of(frozen("0 3 * * *", "30m")),
    case("drift-only", "a freeze of drift all day").of(frozen("0 0 * * *", "24h", reasons=["Drifted"])),
    case("some-nodes", "a budget of one node at a time").of(
        disrupted(budgets=[{"nodes": "1", "schedule": "0 0 * * *"}])
    ),
    case("provisioner-minutes", "five minutes").of(provisioner(300)),
    allowed("idle-flags", "five minutes", links=(aws_scaling.TAGGED,)).of(
        *aws_scaling.NODES, scaled("--scale-down-unneeded-time=5m")
    ),
    case("cpu-groups", "no GPUs to keep").of(aws.cpu_group(), scaled("--scale-down-enabled=false")),
    case("aks-minutes", "five minutes").of(
        *profiled({"scaleDownUnneededTime": "5m", "scaleDownUtilizationThreshold": "0.5"})
    ),
    case("aks-cpu-only", "a cluster without GPUs").of(
        azure.cluster(autoScalerProfile={"scaleDownUnneededTime": "600m"})
    ),
    case("compute-class-minutes", "ten minutes").of(gke.cluster(), gke.admin(), compute_class(10)),
]
