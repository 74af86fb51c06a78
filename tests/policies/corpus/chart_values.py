"""Values of charts and add-ons that let pods go to GPU nodes: nobody can tell a Deployment's from a DaemonSet's."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.policies.corpus import aws
from tests.policies.corpus.case import Case
from tests.policies.corpus.helm import release
from tests.policies.corpus.kubernetes import EVERYTHING, GPU_NODES, TOLERATION, on_t4, thing

DOUBT: Final = "do not say whether these pods belong to a Deployment or a DaemonSet"
ON_GPUS: Final = {"tolerations": [TOLERATION], "nodeSelector": GPU_NODES}


def case(id: str, story: str, *resources: Any, unjudged: str = "") -> Case:
    return Case(id=f"values-{id}", story=story, resources=on_t4(resources), unjudged=unjudged)


def eks(id: str, story: str, addon: str, values: Any, unjudged: str = "") -> Case:
    addon_resource = ("aws:eks/addon:Addon", addon, {"addonName": addon, "configurationValues": json.dumps(values)})
    resources = ((aws.CLUSTER, "ml", {"name": "ml"}), aws.cpu_group(), aws.node_group(), addon_resource)
    return Case(id=f"values-eks-{id}", story=story, resources=resources, unjudged=unjudged)


def flux(values: Any) -> Any:
    return thing("helm.toolkit.fluxcd.io/v2:HelmRelease", {"values": values}, "shop")


def argo(**source: Any) -> Any:
    return thing("argoproj.io/v1alpha1:Application", source, "shop")


UNJUDGED: Final = [
    case(
        "everything",
        "a controller",
        release("ingress-nginx", {"controller": {"tolerations": EVERYTHING}}),
        unjudged=DOUBT,
    ),
    case("gpu-nodes", "a controller on GPU nodes", release("ingress-nginx", {"controller": ON_GPUS}), unjudged=DOUBT),
    case("in-a-text", "a text", release("vault", {"server": {"tolerations": "- operator: Exists\n"}}), unjudged=DOUBT),
    case("flux", "a release by Flux", flux({"controller": {"tolerations": EVERYTHING}}), unjudged=DOUBT),
    case("argo-object", "by Argo CD", argo(source={"helm": {"valuesObject": {"web": ON_GPUS}}}), unjudged=DOUBT),
    case(
        "argo-text",
        "the second source of an application, with values in a text",
        argo(sources=[{}, {"helm": {"values": "web:\n  tolerations: [{operator: Exists}]\n"}}]),
        unjudged=DOUBT,
    ),
    eks("everything", "the cluster's DNS goes anywhere", "coredns", {"tolerations": EVERYTHING}, DOUBT),
    Case(
        id="values-apps-alone",
        story="the cluster is another program's",
        resources=(release("ingress-nginx", {"controller": {"tolerations": EVERYTHING}}),),
        unjudged=DOUBT,
    ),
]

ALLOWED: Final = [
    case("exporter", "a DaemonSet", release("kps", {"prometheus-node-exporter": {"tolerations": EVERYTHING}})),
    case("log-shipper", "a chart that is one", release("promtail", {"tolerations": EVERYTHING})),
    case(
        "said", "it says so", release("ingress-nginx", {"controller": {"kind": "DaemonSet", "tolerations": EVERYTHING}})
    ),
    case(
        "asks",
        "it asks for a GPU",
        release("vllm", {"engine": {**ON_GPUS, "resources": {"limits": {"nvidia.com/gpu": 1}}}}),
    ),
    case(
        "cpu-nodes",
        "anything, on nodes of its own",
        release("web", {"tolerations": EVERYTHING, "nodeSelector": {"role": "x"}}),
    ),
    case("eviction", "eviction", release("web", {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]})),
    case("spot", "another taint", release("web", {"tolerations": [{"key": "spot", "operator": "Exists"}]})),
    case("template", "a text that Helm fills in", release("vault", {"server": {"tolerations": "{{ .Values.x }}"}})),
    case("flux-plain", "a release without a place", flux({"replicas": 2})),
    case("argo-plain", "an application of manifests", argo(source={"path": "manifests"})),
    eks("network", "the network's own pods", "vpc-cni", {"tolerations": EVERYTHING}),
    eks("controller", "a place of its own", "coredns", {"nodeSelector": {"role": "system"}}),
    Case(
        id="values-no-gpus",
        story="a cluster without GPUs",
        resources=(
            (aws.CLUSTER, "ml", {"name": "ml"}),
            aws.cpu_group(),
            release("ingress-nginx", {"controller": {"tolerations": EVERYTHING}}),
        ),
    ),
]
