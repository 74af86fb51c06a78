"""Namespaces in which nobody's jobs run: of Kubernetes, of the clouds' components, of the program's tools."""

from __future__ import annotations

from typing import Final

_SYSTEM: Final = ("kube-", "gke-", "gmp-", "aks-")
"""Kubernetes' own namespaces, and those of components that Google and Azure run in a cluster. Write access there is
control over the cluster, and the cloud may delete other objects there.
https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#working-with-namespaces,
https://cloud.google.com/stackdriver/docs/managed-prometheus/setup-managed,
https://learn.microsoft.com/azure/aks/istio-deploy-addon"""

_COMPONENTS: Final = ("amazon-cloudwatch", "calico-system", "gatekeeper-system", "svc", "tigera-operator")
"""Namespaces of components that clouds install in others than their own: add-ons, the network, Azure's policies. In
``svc`` a Service could take the names ``<service>.<namespace>.svc`` of all others.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/install-CloudWatch-Observability-EKS-addon.html,
https://learn.microsoft.com/azure/aks/use-network-policies,
https://learn.microsoft.com/azure/governance/policy/concepts/policy-for-kubernetes"""

TOOLS: Final = (
    *("dashboard", "gpucluster-ledger", "keda", "kueue-system", "local-path-storage", "metallb-system", "monitoring"),
    "notebook",
)
"""Namespaces of tools that the program installs. A principal that creates pods there has the rights of the tool."""

PUBLIC: Final = frozenset(
    (
        *("ai", "app", "aws", "biz", "cc", "cloud", "co", "com", "dev", "edu", "eu", "gov", "goog", "google", "info"),
        *("internal", "io", "local", "me", "net", "org", "page", "run", "sh", "tech", "tv", "us", "xyz"),
    )
)
"""Top-level domains of names that programs look up: ``pypi`` in the namespace ``org`` is ``pypi.org`` for every pod,
and ``google`` in ``internal`` has the name of Google's metadata server.
https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#namespaces-and-dns"""


def owner_of(namespace: str) -> str:
    """Whose namespace it is, in words; empty: it may be a user's."""
    if namespace in TOOLS:
        return "a tool of the program"
    return "the cluster itself" if namespace.startswith(_SYSTEM) or namespace in _COMPONENTS else ""
