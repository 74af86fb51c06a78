"""YAML files of the repository, as fast as they can be read: each worker of the tests reads hundreds before its first.

``test_yaml.py`` holds both parsers to the same answer for each of them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's, where PyYAML was built with it: it takes 1 ms for what PyYAML's own takes 30."""


def read_yaml(file: Path) -> Any:
    """The content of a file of one document."""
    return yaml.load(file.read_text("utf-8"), LOADER)
