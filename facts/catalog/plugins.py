"""The versions of the providers' plugins, data that ``make schemas`` writes, so that no SDK is needed."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

from facts.catalog.cloud import OWN_MACHINES

PLUGINS: Final = Path(__file__).with_suffix(".json")


def plugin_version(package: str) -> str:
    """The version of a provider's plugin (``gcp``, ``aws``, ``azure-native``, ``kubernetes``), that of its SDK.

    Empty for the plugin in this repository, which Pulumi.yaml finds by its path.

    Raises:
        KeyError: there is no such plugin.
    """
    return "" if package in OWN_MACHINES.values() else _versions()[package]


@cache
def _versions() -> dict[str, str]:
    return json.loads(PLUGINS.read_text(encoding="utf-8"))
