"""What runs the real programs asks for their folder here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.tools import ToolsMissing, folder


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder with the binaries; without them the test is skipped."""
    try:
        return folder()
    except ToolsMissing as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def control_plane(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A real API server of the module's own."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=tools) as running:
        yield running
