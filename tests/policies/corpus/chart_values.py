"""Values of charts and add-ons that let pods go to GPU nodes: nobody can tell a Deployment's from a DaemonSet's."""

from __future__ import annotations

import json
from typing import Any, Final

from tests.policies.corpus import aws
from tests.policies.corpus.case import Case, Draft, allowed, draft, undecided
from tests.policies.corpus.helm import release
from tests.policies.corpus.kubernetes import EVERYTHING, GPU_NODES, TOLERATION, on_t4, thing

DOUBT: Final = "do not say whether these pods belong to a Deployment or a DaemonSet"
ON_GPUS: Final = {"tolerations": [TOLERATION], "nodeSelector": GPU_NODES}


def case(id: str, story: str, unjudged: str = "") -> Draft:
    return draft(f"values-{id}", story, unjudged=unjudged, around=on_t4)


def eks(id: str, story: str, addon: str, values: Any, unjudged: str = "") -> Case:
    addon_resource = ("aws:eks/addon:Addon", addon, {"addonName": addon, "configurationValues": json.dumps(values)})
    resources = ((aws.CLUSTER, "ml", {"name": "ml"}), aws.cpu_group(), aws.node_group(), addon_resource)
    return Case(id=f"values-eks-{id}", story=story, resources=resources, unjudged=unjudged)


def flux(values: Any) -> Any:
    return thing("helm.toolkit.fluxcd.io/v2:HelmRelease", {"values": values}, "shop")


def argo(**source: Any) -> Any:
    return thing("argoproj.io/v1alpha1:Application", source, "shop")


UNJUDGED: Final = [
    case("everything", "a controller", unjudged=DOUBT).of(
        release("ingress-nginx", {"controller": {"tolerations": EVERYTHING}})
    ),
    case("gpu-nodes", "a controller on GPU nodes", unjudged=DOUBT).of(
        release("ingress-nginx", {"controller": ON_GPUS})
    ),
    case("in-a-text", "a text", unjudged=DOUBT).of(
        release("vault", {"server": {"tolerations": "- operator: Exists\n"}})
    ),
    case("flux", "a release by Flux", unjudged=DOUBT).of(flux({"controller": {"tolerations": EVERYTHING}})),
    case("argo-object", "by Argo CD", unjudged=DOUBT).of(argo(source={"helm": {"valuesObject": {"web": ON_GPUS}}})),
    case("argo-text", "the second source of an application, with values in a text", unjudged=DOUBT).of(
        argo(sources=[{}, {"helm": {"values": "web:\n  tolerations: [{operator: Exists}]\n"}}])
    ),
    eks("everything", "the cluster's DNS goes anywhere", "coredns", {"tolerations": EVERYTHING}, DOUBT),
    undecided("values-apps-alone", DOUBT, "the cluster is another program's").of(
        release("ingress-nginx", {"controller": {"tolerations": EVERYTHING}})
    ),
]

ALLOWED: Final = [
    case("exporter", "a DaemonSet").of(release("kps", {"prometheus-node-exporter": {"tolerations": EVERYTHING}})),
    case("log-shipper", "a chart that is one").of(release("promtail", {"tolerations": EVERYTHING})),
    case("said", "it says so").of(
        release("ingress-nginx", {"controller": {"kind": "DaemonSet", "tolerations": EVERYTHING}})
    ),
    case("asks", "it asks for a GPU").of(
        release("vllm", {"engine": {**ON_GPUS, "resources": {"limits": {"nvidia.com/gpu": 1}}}})
    ),
    case("cpu-nodes", "anything, on nodes of its own").of(
        release("web", {"tolerations": EVERYTHING, "nodeSelector": {"role": "x"}})
    ),
    case("eviction", "eviction").of(release("web", {"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]})),
    case("spot", "another taint").of(release("web", {"tolerations": [{"key": "spot", "operator": "Exists"}]})),
    case("template", "a text that Helm fills in").of(release("vault", {"server": {"tolerations": "{{ .Values.x }}"}})),
    case("flux-plain", "a release without a place").of(flux({"replicas": 2})),
    case("argo-plain", "an application of manifests").of(argo(source={"path": "manifests"})),
    eks("network", "the network's own pods", "vpc-cni", {"tolerations": EVERYTHING}),
    eks("controller", "a place of its own", "coredns", {"nodeSelector": {"role": "system"}}),
    allowed("values-no-gpus", "a cluster without GPUs").of(
        (aws.CLUSTER, "ml", {"name": "ml"}),
        aws.cpu_group(),
        release("ingress-nginx", {"controller": {"tolerations": EVERYTHING}}),
    ),
]
