"""The provider's own inputs (``kubernetes.Provider``), validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rehearsal.providers.base import CheckFailure, Properties, ProviderError, Unknown
from rehearsal.providers.kubernetes.kubeconfig import load_kubeconfig

_NOT_SIMULATED: Final[Mapping[str, str]] = {
    "alwaysRender": "rendering to YAML is not simulated; leave it out",
    "renderYamlToDirectory": "rendering to YAML is not simulated; leave it out",
    "skipUpdateUnreachable": "skipping updates is not simulated; leave it out",
}


@dataclass(frozen=True)
class ProviderSettings:
    """What the provider does differently when told so; the defaults are the real provider's."""

    namespace: str | None = None
    delete_unreachable: bool = False
    patch_force: bool = False
    upsert: bool = False
    mutable_config_maps: bool = False
    mutable_secrets: bool = False

    @classmethod
    def parse(cls, config: Mapping[str, Any]) -> ProviderSettings:
        """Read the configuration, whose booleans may be strings."""
        return cls(
            namespace=config.get("namespace") or None,
            delete_unreachable=_flag(config, "deleteUnreachable"),
            patch_force=_flag(config, "enablePatchForce"),
            upsert=_flag(config, "upsertExistingObjects"),
            mutable_config_maps=_flag(config, "enableConfigMapMutable"),
            mutable_secrets=_flag(config, "enableSecretMutable"),
        )


def failures(config: Properties) -> list[CheckFailure]:
    """Everything that is wrong with the provider's inputs as far as they are known."""
    found = [CheckFailure(key, reason) for key, reason in _NOT_SIMULATED.items() if _flag(config, key)]
    if "enableServerSideApply" in config and not _flag(config, "enableServerSideApply"):
        found.append(CheckFailure("enableServerSideApply", "only server-side apply is simulated; leave it out"))
    relevant = [config.get(key) for key in ("kubeconfig", "context", "cluster")]
    if relevant[0] and not any(isinstance(value, Unknown) for value in relevant):
        try:
            load_kubeconfig(config)
        except ProviderError as error:
            found.append(CheckFailure("kubeconfig", str(error)))
    return found


def _flag(config: Mapping[str, Any], key: str) -> bool:
    value = config.get(key)
    return str(value).lower() not in ("none", "false", "")
