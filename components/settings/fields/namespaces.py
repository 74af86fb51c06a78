"""Namespaces that a stack file may name."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, StrictStr

from components.settings.fields.types import wrong

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123), the form of the names of namespaces and most other objects:
https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names"""

_SYSTEM: Final = ("kube-", "gke-", "gmp-", "aks-")
"""Kubernetes' own namespaces, and those of components that Google and Azure run in a cluster. Write access there is
control over the cluster, and the cloud may delete other objects there.
https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#working-with-namespaces,
https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed,
https://learn.microsoft.com/azure/aks/istio-deploy-addon"""

_COMPONENTS: Final = ("amazon-cloudwatch", "calico-system", "gatekeeper-system", "tigera-operator")
"""Namespaces of components that clouds install in others than their own: add-ons, the network, Azure's policies.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/install-CloudWatch-Observability-EKS-addon.html,
https://learn.microsoft.com/azure/aks/use-network-policies,
https://learn.microsoft.com/azure/governance/policy/concepts/policy-for-kubernetes"""

TOOLS: Final = (
    *("dashboard", "gpucluster-ledger", "keda", "kueue-system", "local-path-storage", "metallb-system", "monitoring"),
    "notebook",
)
"""Namespaces of tools that the program installs. A principal that creates pods there has the rights of the tool."""


def own_namespace(text: str, example: str = "research") -> str:
    """A namespace that is neither the cluster's own nor a tool's."""
    if not LABEL.fullmatch(text):
        raise wrong(
            f"'{text}' is not a namespace: lower-case letters, digits and '-'", f"Write for example '{example}'"
        )
    if text.startswith(_SYSTEM) or text in (*TOOLS, *_COMPONENTS):
        owner = "a tool of the program" if text in TOOLS else "the cluster itself"
        raise wrong(f"'{text}' is a namespace of {owner}", f"Write your own, such as '{example}'")
    return text


Namespace = Annotated[StrictStr, AfterValidator(own_namespace)]
