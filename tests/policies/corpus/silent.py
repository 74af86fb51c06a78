"""A program for each line of what the gate does not see; once the gate sees it, the line has to go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Case
from tests.policies.corpus.elsewhere import custom, one

SILENT: Final[Mapping[str, Case]] = {
    "made-outside": one(
        "gap-made-outside",
        "An operator of the company's own: how many nodes it makes, it decides.",
        "kubernetes:nodes.example.org/v1:Burst",
        custom({"team": "vision", "size": "large"}),
    ),
    "script-in-a-machine": one(
        "gap-script-in-a-machine",
        "A small machine that resizes a pool when it boots.",
        "gcp:compute/instance:Instance",
        {
            "machineType": "e2-small",
            "zone": "europe-west4-a",
            "metadataStartupScript": "gcloud container clusters resize ml --node-pool gpu --num-nodes 4",
        },
    ),
    "gpu-services": one(
        "gap-gpu-services",
        "An endpoint whose size is a word of the service.",
        "modal:index/deployment:Deployment",
        {"size": "performance", "minReplicas": 2},
    ),
    "referenced-image": one(
        "gap-referenced-image",
        "A Deployment whose program starts pods with GPUs.",
        "kubernetes:apps/v1:Deployment",
        {
            "metadata": {"name": "launcher"},
            "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example.org/launcher:1"}]}}},
        },
    ),
    "harmless-types": one(
        "gap-harmless-types",
        "A parameter that other programs take their machine type from.",
        "aws:ssm/parameter:Parameter",
        {"type": "String", "value": "p5.48xlarge"},
    ),
    "chart-parameters": one(
        "gap-chart-parameters",
        "An application of Argo CD that sets one value of a chart.",
        "kubernetes:argoproj.io/v1alpha1:Application",
        custom(
            {"source": {"helm": {"parameters": [{"name": "controller.tolerations[0].operator", "value": "Exists"}]}}}
        ),
    ),
    "late-templates": one(
        "gap-late-templates",
        "A template that is put together from outputs.",
        "aws:cloudformation/stack:Stack",
        {"templateBody": UNKNOWN},
    ),
}
"""Line → a program that passes in silence."""
