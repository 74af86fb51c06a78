"""Simulated Kubernetes provider plugin: real objects in a real API server, by its documented API."""

from rehearsal.providers.kubernetes.provider import SimulatedKubernetes

__all__ = ["SimulatedKubernetes"]
