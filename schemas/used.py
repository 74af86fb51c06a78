"""The resource types that the schemas describe: ``used.yaml``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

USED: Final[Mapping[str, tuple[str, ...]]] = {
    cloud: tuple(tokens)
    for cloud, tokens in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).items()
}
"""Cloud → type tokens."""
