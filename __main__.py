"""The program: assembles AdminPool, GpuNodePool, DriverDaemonSet, ClusterAutoscaler and the rest from the stack file.

What is declared, in one function: components/gpu_cluster.py; why: docs/architecture.md.
"""

from __future__ import annotations

import pulumi

from components.process import run_without_delay
from components.gpu_cluster import assemble
from components.settings import from_pulumi

run_without_delay()
settings = from_pulumi()


def guarded() -> pulumi.ResourceOptions:
    """Protects the whole stack: with the cluster alone protected, a refused destroy would delete the rest first."""
    return pulumi.ResourceOptions(protect=settings.security.deletion_protection)


for key, value in assemble(settings, guarded).items():
    pulumi.export(key, value)
