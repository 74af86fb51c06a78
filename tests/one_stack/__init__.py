"""One neutral stack on every cloud: ``template.yaml`` with the words of ``clouds.yaml``."""

from __future__ import annotations

import copy
import functools
import string
import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

_FOLDER: Final = Path(__file__).parent
WORDS: Final[dict[str, dict[str, Any]]] = yaml.safe_load((_FOLDER / "clouds.yaml").read_text())
CLOUDS: Final = tuple(WORDS)


def text(cloud: str) -> str:
    """The stack file."""
    words = {"cloud": cloud, **WORDS[cloud]}
    return string.Template((_FOLDER / "template.yaml").read_text()).substitute(words)


def config(cloud: str, **changes: Any) -> dict[str, Any]:
    """The stack file's ``config``, with other values for some of the project's own keys."""
    given: dict[str, Any] = yaml.safe_load(text(cloud))["config"]
    return {**given, **{f"gpucluster:{key}": copy.deepcopy(value) for key, value in changes.items()}}


def file(cloud: str, name: str = "", **changes: Any) -> Path:
    """A stack file called after the cloud, or ``name``, with that content; it lives as long as the process."""
    path = Path(_written().name) / f"Pulumi.{name or f'one-{cloud}'}.yaml"
    path.write_text(yaml.safe_dump({"config": config(cloud, **changes)}))
    return path


@functools.cache
def _written() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="one-stack-")
