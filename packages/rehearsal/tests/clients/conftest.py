"""One retained cluster for the tests of all clients."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.rehearsal.tests.conftest import tools
from packages.rehearsal.tests.retained_cluster import RetainedCluster, retained_cluster
from rehearsal.cluster.api import Api
from rehearsal.cluster.kubeconfig import Kubeconfig
from tests.research_lab import EXAMPLE

__all__ = ["tools"]


@pytest.fixture(scope="session")
def retained(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetainedCluster]:
    # A name of its own: other tests rehearse the example at the same time, and so may another worker.
    name = f"clients-{os.environ.get('PYTEST_XDIST_WORKER', 'all')}.yaml"
    stack = Path(shutil.copy(EXAMPLE, tmp_path_factory.mktemp("kept") / name))
    with retained_cluster(stack) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def api(retained: RetainedCluster) -> Api:
    """As the cluster's administrator."""
    return Api(Kubeconfig.parse(retained.kubeconfig.read_text()))
