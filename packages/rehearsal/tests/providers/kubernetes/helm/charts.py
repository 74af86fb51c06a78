"""A small chart for the tests: a ConfigMap, a Deployment if asked for, and a definition in its ``crds`` folder."""

from __future__ import annotations

import shutil
from pathlib import Path


def write_chart(folder: Path, name: str = "web", version: str = "1.2.3") -> Path:
    """The chart's folder."""
    shutil.copytree(Path(__file__).with_name("chart"), folder, dirs_exist_ok=True)
    about = folder / "Chart.yaml"
    about.write_text(about.read_text().replace("NAME", name).replace("VERSION", version))
    return folder
