"""The entry point of the plugin: the language host runs this folder with the engine's address."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])  # the repository; this folder is no place for imports

from pulumi.provider import main  # noqa: E402

from components.package.provider import PackageProvider  # noqa: E402

main(PackageProvider(), sys.argv[1:])
