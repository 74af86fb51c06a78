"""Simulated provider plugins: the engine talks to them as to the real ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from facts.catalog import PLUGINS, of
from rehearsal.providers.account_limits import UNLIMITED, AccountLimits

if TYPE_CHECKING:
    from rehearsal.providers.base import Provider
    from rehearsal.providers.vendor import Vendor
    from rehearsal.simulation import Fleet

_CLOUDS: Final[Mapping[str, str]] = {plugin: cloud for cloud, plugin in PLUGINS.items()}

CLOUD_PLUGINS: Final = tuple(sorted(_CLOUDS))
"""Names of the clouds' plugins, as in resource types."""


def cloud_provider(
    plugin: str, run_dir: Path, fleet: Fleet | None, account_limits: AccountLimits = UNLIMITED
) -> Provider:
    """The simulated provider for ``plugin``, which writes below ``run_dir``; without a fleet it only serves previews.

    ``account_limits`` limits its account. Raises KeyError: ``plugin`` is not simulated (``CLOUD_PLUGINS``).
    """
    # Imported on first use: each brings a vendor's models.
    cloud = _CLOUDS[plugin]
    module = import_module(f"rehearsal.providers.{cloud}")
    provider_class: type[Vendor[Any]] = module.PROVIDER
    if fleet is not None and account_limits is not UNLIMITED:
        from rehearsal.providers.account_limits import LimitedFleet

        fleet = cast("Fleet", LimitedFleet(fleet, account_limits, of(cloud), module.REFUSALS))
    provider = provider_class(run_dir / provider_class.folder, fleet)
    provider.limit(account_limits)
    return provider


def admission_file(plugins: Iterable[str]) -> Path | None:
    """How the first of these clouds configures the admission of its API servers; ``None`` if it does not."""
    cloud = next((_CLOUDS[plugin] for plugin in plugins if plugin in _CLOUDS), None)
    file = None if cloud is None else Path(__file__).parent / cloud / "admission.yaml"
    return file if file is not None and file.is_file() else None
