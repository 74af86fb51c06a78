"""Simulated Kubernetes provider plugin: real objects in a real API server."""

from rehearsal.providers.kubernetes.provider import SimulatedKubernetes

__all__ = ["SimulatedKubernetes"]
