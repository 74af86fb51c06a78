"""What a user of a cluster has."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The folder of the sessions with ``gpu`` in docs/."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print('loss 0.1')\n")
    return folder
