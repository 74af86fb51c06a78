"""Stand-ins for provider plugins: the engine talks to them as it does to the real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

from catalog import PLUGINS

if TYPE_CHECKING:
    from rehearsal.simulation import Fleet
    from rehearsal.standins.base import Provider

_CLOUDS: Final[Mapping[str, str]] = {plugin: cloud for cloud, plugin in PLUGINS.items()}

CLOUD_PLUGINS: Final = tuple(sorted(_CLOUDS))
"""Names of the clouds' plugins, as in resource types."""


def cloud_provider(plugin: str, run_dir: Path, fleet: Fleet | None) -> Provider:
    """The stand-in called ``plugin``, which writes below ``run_dir``; without a fleet it only serves previews.

    Raises:
        KeyError: there is no such stand-in (``CLOUD_PLUGINS``).
    """
    # Imported on first use: each brings a vendor's models.
    make: Callable[[Path, Fleet | None], Provider] = import_module(f"rehearsal.standins.{_CLOUDS[plugin]}").make
    return make(run_dir, fleet)
