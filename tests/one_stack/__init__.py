"""One neutral stack on every cloud: ``template.yaml`` with words of the cloud, and variants of it."""

from __future__ import annotations

import copy
import functools
import string
from pathlib import Path
from typing import Any, Final

import yaml

from tests.stacks import stack_file

_FOLDER: Final = Path(__file__).parent
WORDS: Final[dict[str, dict[str, Any]]] = {
    "gke": {
        "account": "gcp:project: my-gcp-project",
        "region": "us-central1",
        "zones": ["us-central1-a", "us-central1-b", "us-central1-c"],
        "big_gpu": "nvidia-a100-40gb",
    },
    "eks": {
        "account": "aws:region: us-west-2",
        "region": "us-west-2",
        "zones": ["us-west-2a", "us-west-2b", "us-west-2c"],
        "big_gpu": "nvidia-a100-40gb",
    },
    "aks": {
        "account": "azure-native:subscriptionId: 00000000-0000-0000-0000-000000000000",
        "region": "eastus",
        "zones": ["eastus-1", "eastus-2", "eastus-3"],
        "big_gpu": "nvidia-a100-40gb",
    },
}
"""Cloud → what the stack must write differently there. The GPU is one that the cloud has eight of in a machine."""
CLOUDS: Final = tuple(WORDS)
VARIANTS: Final[dict[str, dict[str, Any]]] = yaml.safe_load((_FOLDER / "variants.yaml").read_text())


def text(cloud: str) -> str:
    """The stack file."""
    words = {"cloud": cloud, **WORDS[cloud]}
    return string.Template((_FOLDER / "template.yaml").read_text()).substitute(words)


def config(cloud: str, **changes: Any) -> dict[str, Any]:
    """The stack file's ``config``, with other values for some of the project's own keys."""
    base = copy.deepcopy(_config(cloud))
    return {**base, **{f"gpucluster:{key}": copy.deepcopy(value) for key, value in changes.items()}}


def file(cloud: str) -> Path:
    """The stack file on disk, called after the cloud; it lives as long as the process."""
    return stack_file(f"one-{cloud}", config(cloud))


def variant(name: str) -> Path:
    """A file of the one stack with what ``variants.yaml`` says otherwise."""
    return stack_file(name, config(**VARIANTS[name]))


def files() -> list[Path]:
    """The one stack on every cloud, and all its variants."""
    return [*map(file, CLOUDS), *map(variant, VARIANTS)]


@functools.cache
def _config(cloud: str) -> dict[str, Any]:
    config: dict[str, Any] = yaml.safe_load(text(cloud))["config"]
    return config
