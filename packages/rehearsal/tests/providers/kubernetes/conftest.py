"""The simulated Kubernetes provider on a real API server."""

from __future__ import annotations

import pytest

from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.providers.kubernetes import SimulatedKubernetes


@pytest.fixture
def provider(control_plane: ControlPlane) -> SimulatedKubernetes:
    simulated = SimulatedKubernetes()
    simulated.configure({"kubeconfig": control_plane.kubeconfig.read_text()})
    return simulated
