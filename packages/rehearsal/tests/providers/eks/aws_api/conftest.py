"""A fresh account with a controller in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.eks.aws_api.controller import Controller


@pytest.fixture
def controller(tmp_path: Path) -> Iterator[Controller]:
    amazon = Amazon(tmp_path)
    yield Controller(amazon)
    amazon.stop()
