"""Stand-ins for provider plugins: the engine talks to them as it does to the real ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from rehearsal.providers.base import Provider
    from rehearsal.simulation import Fleet

# Imported on first use: each brings a vendor's models.
_CLOUDS: Final[Mapping[str, tuple[str, str]]] = {
    "aws": ("rehearsal.providers.aws", "AwsProvider"),
    "azure-native": ("rehearsal.providers.azure_native", "AzureNativeProvider"),
    "gcp": ("rehearsal.providers.gcp", "GcpProvider"),
}

CLOUD_PLUGINS: Final = tuple(_CLOUDS)
"""Names of the clouds' plugins, as in resource types."""


def cloud_provider(plugin: str, state: Path, fleet: Fleet | None) -> Provider:
    """The stand-in called ``plugin``, with its cloud's state in ``state``; without a fleet it only serves previews.

    Raises:
        KeyError: there is no such stand-in (``CLOUD_PLUGINS``).
    """
    module, name = _CLOUDS[plugin]
    make: Callable[[Path, Fleet | None], Provider] = getattr(import_module(module), name)
    return make(state, fleet)
