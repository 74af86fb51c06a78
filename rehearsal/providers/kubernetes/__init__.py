"""Stand-in for the Kubernetes provider plugin: real objects in a real API server, by its documented API."""

import importlib
import threading

from rehearsal.providers.kubernetes.provider import KubernetesProvider

__all__ = ["KubernetesProvider", "preload"]


def preload() -> None:
    """Import the Kubernetes client in the background, so that the first object does not wait the second it takes."""
    threading.Thread(target=importlib.import_module, args=("kubernetes.config",), name="preload", daemon=True).start()
