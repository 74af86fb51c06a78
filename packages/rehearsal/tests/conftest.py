"""What runs the real programs asks for their folder here."""

from __future__ import annotations

from pathlib import Path

import pytest

from rehearsal.tools import ToolsMissing, folder


@pytest.fixture(scope="session")
def tools() -> Path:
    """The folder with the binaries; without them the test is skipped."""
    try:
        return folder()
    except ToolsMissing as missing:
        pytest.skip(str(missing))
