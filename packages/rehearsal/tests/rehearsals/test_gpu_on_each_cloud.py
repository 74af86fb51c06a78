"""The sessions with ``gpu`` on EKS and AKS in docs/: on clusters that save the logs of deleted pods.

That of GKE is in test_retained.py, where such a cluster runs anyway.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from packages.gpu.tests.readme import CLOUDS
from packages.gpu.tests.test_package import installed, wheel
from packages.rehearsal.tests.retained_cluster import retained_cluster

__all__ = ["installed", "wheel"]

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]


@pytest.mark.parametrize("cloud", ["eks", "aks"])
def test_the_page_shows_what_people_see(cloud: str, installed: Path, project: Path, tmp_path: Path) -> None:
    # ``stop`` ends all rehearsals of a name.
    stack = Path(shutil.copy(CLOUDS[cloud].stack, tmp_path / f"session-{cloud}.yaml"))
    with retained_cluster(stack) as cluster:
        cluster.with_gpu_of(installed, project).replay(CLOUDS[cloud], stack.stem)
