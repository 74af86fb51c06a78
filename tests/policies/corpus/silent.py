"""A program for each line of what the gate does not see; once the gate sees it, the line has to go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import Case, allowed, resource
from tests.policies.corpus.elsewhere import custom
from tests.policies.corpus.kubernetes import EVERYTHING

SILENT: Final[Mapping[str, Case]] = {
    "made-outside": allowed(
        "gap-made-outside", "An operator of the company's own: how many nodes it makes, it decides."
    ).of(custom("kubernetes:nodes.example.org/v1:Burst", team="vision", size="large")),
    "script-in-a-machine": allowed("gap-script-in-a-machine", "A small machine that resizes a pool when it boots.").of(
        resource(
            "gcp:compute/instance:Instance",
            machineType="e2-small",
            zone="europe-west4-a",
            metadataStartupScript="gcloud container clusters resize ml --node-pool gpu --num-nodes 4",
        )
    ),
    "gpu-services": allowed("gap-gpu-services", "An endpoint whose size is a word of the service.").of(
        resource("modal:index/deployment:Deployment", size="performance", minReplicas=2)
    ),
    "referenced-image": allowed("gap-referenced-image", "A Deployment whose program starts pods with GPUs.").of(
        resource(
            "kubernetes:apps/v1:Deployment",
            metadata={"name": "launcher"},
            spec={"template": {"spec": {"containers": [{"name": "main", "image": "example.org/launcher:1"}]}}},
        )
    ),
    "placement-by-others": allowed("gap-placement-by-others", "A RuntimeClass for pods of other programs.").of(
        resource("kubernetes:node.k8s.io/v1:RuntimeClass", handler="a", scheduling={"tolerations": EVERYTHING}),
    ),
    "rights-in-the-cluster": allowed("gap-rights-in-the-cluster", "A role of one's own for everybody.").of(
        resource(
            "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding",
            roleRef={"kind": "ClusterRole", "name": "our-administrators"},
            subjects=[{"kind": "Group", "name": "system:authenticated"}],
        )
    ),
    "harmless-types": allowed("gap-harmless-types", "A parameter that other programs take their machine type from.").of(
        resource("aws:ssm/parameter:Parameter", type="String", value="p5.48xlarge")
    ),
    "chart-parameters": allowed("gap-chart-parameters", "An application of Argo CD that sets one value of a chart.").of(
        custom(
            "kubernetes:argoproj.io/v1alpha1:Application",
            source={"helm": {"parameters": [{"name": "controller.tolerations[0].operator", "value": "Exists"}]}},
        )
    ),
    "late-templates": allowed("gap-late-templates", "A template that is put together from outputs.").of(
        resource("aws:cloudformation/stack:Stack", templateBody=UNKNOWN)
    ),
}
"""Line → a program that passes in silence."""
