"""What was measured on: without it, a figure means nothing."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def facts(tools: Path) -> dict[str, str]:
    """Cores, memory, load before the run, and the versions that matter."""
    return {
        "cores": str(os.cpu_count()),
        "memory": f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB",
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "pulumi-sdk": version("pulumi"),
        "tools": tools.name,
    }
