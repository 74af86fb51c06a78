"""Stand-in for the Kubernetes provider plugin: real objects in a real API server, by its documented API."""

from rehearsal.providers.kubernetes.provider import KubernetesStandIn

__all__ = ["KubernetesStandIn"]
