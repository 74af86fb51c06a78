"""How long idle GPU nodes stay: delays and windows of every autoscaler, and its defaults."""

from __future__ import annotations

from typing import Any, Final

from tests.policies.corpus import aws, aws_scaling, azure, gke, karpenter
from tests.policies.corpus.case import Case

RULE: Final = "gpu-idle-time"
CLASSIC: Final = "azure:containerservice/kubernetesCluster:KubernetesCluster"
CLASS: Final = "kubernetes:cloud.google.com/v1:ComputeClass"


def disrupted(**disruption: Any) -> aws.Resource:
    return karpenter.node_pool(disruption=disruption)


def frozen(schedule: str, duration: str, **more: Any) -> aws.Resource:
    return disrupted(budgets=[{"nodes": "0", "schedule": schedule, "duration": duration, **more}])


def profiled(profile: dict[str, Any]) -> tuple[azure.Resource, ...]:
    return azure.cluster(autoScalerProfile=profile), azure.pool()


def chart(flags: dict[str, Any]) -> aws.Resource:
    values = {"autoDiscovery": {"clusterName": "ml"}, "extraArgs": flags}
    return "kubernetes:helm.sh/v3:Release", "scaler", {"chart": "cluster-autoscaler", "values": values}


def scaled(*flags: str) -> aws.Resource:
    return aws_scaling.scaler(aws_scaling.DISCOVERY, *flags)


def compute_class(minutes: int) -> gke.Resource:
    spec = {
        "nodePoolAutoCreation": {"enabled": True},
        "priorities": [{"gpu": {"type": "nvidia-l4", "count": 1}}],
        "autoscalingPolicy": {"consolidationDelayMinutes": minutes},
    }
    return CLASS, "l4", {"metadata": {"name": "l4"}, "spec": spec}


def provisioner(seconds: int) -> aws.Resource:
    spec = {"requirements": [karpenter.GPU_FAMILIES], "taints": [karpenter.TAINT], "ttlSecondsAfterEmpty": seconds}
    return karpenter.PROVISIONER, "gpu", {"spec": {**spec, "limits": {"resources": karpenter.LIMITS}}}


def case(id: str, story: str, *resources: Any, rule: str | None = None, **limits: Any) -> Case:
    return Case(id=f"idle-{id}", story=story, resources=resources, rule=rule, limits=limits)


BLOCKED: Final = [
    case("month", "a month, to spare cold starts", disrupted(consolidateAfter="720h"), rule=RULE),
    case("just-over", "a minute over the limit", disrupted(consolidateAfter="1h1m"), rule=RULE),
    case("own-limit", "a stricter stack", disrupted(consolidateAfter="10m"), rule=RULE, maxIdleMinutes=5),
    case("all-day", "no disruption, by a schedule that never ends", frozen("0 0 * * *", "24h"), rule=RULE),
    case("every-ten-minutes", "windows that touch each other", frozen("*/10 * * * *", "10m"), rule=RULE),
    case("office-hours", "empty nodes stay in office hours", frozen("0 9 * * 1-5", "8h"), rule=RULE),
    case("provisioner", "the old kind, for thirty days", provisioner(2_592_000), rule=RULE),
    case("flag-off", "scale-down switched off", aws.node_group(), scaled("--scale-down-enabled=false"), rule=RULE),
    case("flag-long", "ten days", aws.node_group(), scaled("--scale-down-unneeded-time=240h"), rule=RULE),
    case(
        "flag-apart",
        "the value is the next word",
        aws.node_group(),
        scaled("--scale-down-delay-after-add", "6h"),
        rule=RULE,
    ),
    case(
        "threshold",
        "no node is ever below 0",
        aws.node_group(),
        scaled("--scale-down-gpu-utilization-threshold=0"),
        rule=RULE,
    ),
    case(
        "chart-off", "the same in the chart's values", aws.node_group(), chart({"scale-down-enabled": False}), rule=RULE
    ),
    case(
        "chart-long", "ten days in the chart", aws.node_group(), chart({"scale-down-unneeded-time": "240h"}), rule=RULE
    ),
    case("apps-alone", "an autoscaler in a program of its own", chart({"scale-down-enabled": "false"}), rule=RULE),
    case("aks", "ten days in the cluster's profile", *profiled({"scaleDownUnneededTime": "14400m"}), rule=RULE),
    case("aks-delay", "a day after each new node", *profiled({"scaleDownDelayAfterAdd": "1440m"}), rule=RULE),
    case("aks-threshold", "no node is ever below 0", *profiled({"scaleDownUtilizationThreshold": "0"}), rule=RULE),
    case(
        "azurerm",
        "the older provider's name for it",
        (
            CLASSIC,
            "ml",
            {"name": "ml", "defaultNodePool": azure.SYSTEM, "autoScalerProfile": {"scaleDownUnneeded": "240m"}},
        ),
        azure.pool(),
        rule=RULE,
    ),
    case("compute-class", "a day", gke.cluster(), gke.admin(), compute_class(1440), rule=RULE),
]

ALLOWED: Final = [
    case("minutes", "a coffee break", disrupted(consolidateAfter="30m")),
    case("edge", "the limit itself", disrupted(consolidateAfter="60m")),
    case("at-once", "no delay", disrupted(consolidateAfter="0s")),
    case("cpu-pool", "CPU nodes may stay", karpenter.cpu_pool(disruption={"consolidateAfter": "720h"})),
    case("half-hour-window", "a short freeze", frozen("0 3 * * *", "30m")),
    case("drift-only", "a freeze of drift all day", frozen("0 0 * * *", "24h", reasons=["Drifted"])),
    case("some-nodes", "a budget of one node at a time", disrupted(budgets=[{"nodes": "1", "schedule": "0 0 * * *"}])),
    case("provisioner-minutes", "five minutes", provisioner(300)),
    Case(
        id="idle-flags",
        story="five minutes",
        resources=(*aws_scaling.NODES, scaled("--scale-down-unneeded-time=5m")),
        links=(aws_scaling.TAGGED,),
    ),
    case("cpu-groups", "no GPUs to keep", aws.cpu_group(), scaled("--scale-down-enabled=false")),
    case(
        "aks-minutes",
        "five minutes",
        *profiled({"scaleDownUnneededTime": "5m", "scaleDownUtilizationThreshold": "0.5"}),
    ),
    case("aks-cpu-only", "a cluster without GPUs", azure.cluster(autoScalerProfile={"scaleDownUnneededTime": "600m"})),
    case("compute-class-minutes", "ten minutes", gke.cluster(), gke.admin(), compute_class(10)),
]
