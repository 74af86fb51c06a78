"""The entry point of the plugin: the language host runs this folder with the engine's address."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
sys.path[:1] = [str(_ROOT), str(_ROOT / "packages" / "machines")]  # this folder is no place for imports

from components.package.server import main  # noqa: E402

main(sys.argv[1:])
