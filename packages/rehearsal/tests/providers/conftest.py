"""An empty account of each cloud, for tests that create what they need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.aks.account import Microsoft
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke.account import Google


@pytest.fixture
def azure(tmp_path: Path) -> Microsoft:
    return Microsoft(tmp_path)


@pytest.fixture
def google(tmp_path: Path) -> Google:
    return Google(tmp_path)


@pytest.fixture
def amazon(tmp_path: Path) -> Iterator[Amazon]:
    account = Amazon(tmp_path)
    yield account
    account.stop()
