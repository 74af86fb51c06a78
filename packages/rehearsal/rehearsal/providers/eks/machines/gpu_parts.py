"""What Bottlerocket makes of the GPUs of a node: its settings partition them (MIG) or share them.

https://bottlerocket.dev/en/os/1.54.x/api/settings/kubelet-device-plugins; its MIG manager and its device plugin's
configuration: https://github.com/bottlerocket-os/bottlerocket-core-kit (``sources/nvidia-migmanager``,
``packages/nvidia-k8s-device-plugin``: with MIG its strategy is ``single``, so each slice is a ``nvidia.com/gpu``).
"""

from __future__ import annotations

import base64
import sys
from collections.abc import Mapping
from typing import Any, Final

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_80: Final = {"1g.10gb": 7, "1g.20gb": 4, "2g.20gb": 3, "3g.40gb": 2, "7g.80gb": 1}
_MODELS: Final[Mapping[str, tuple[str, Mapping[str, int]]]] = {
    "nvidia-a100-40gb": ("a100.40gb", {"1g.5gb": 7, "1g.10gb": 4, "2g.10gb": 3, "3g.20gb": 2, "7g.40gb": 1}),
    "nvidia-a100-80gb": ("a100.80gb", _80),
    "nvidia-h100-80gb": ("h100.80gb", _80),
    "nvidia-h200-141gb": ("h200.141gb", {"1g.18gb": 7, "1g.35gb": 4, "2g.35gb": 3, "3g.71gb": 2, "7g.141gb": 1}),
    "nvidia-b200": ("b200.180gb", {"1g.23gb": 7, "1g.45gb": 4, "2g.45gb": 3, "3g.90gb": 2, "7g.180gb": 1}),
}
"""GPU → its name in the settings, and profile → how many of them it becomes; the number itself is a profile, too."""


def parts(gpu: str, user_data: str) -> int:
    """As how many ``nvidia.com/gpu`` a node with these settings (TOML in base64) advertises each of its GPUs."""
    settings = tomllib.loads(base64.b64decode(user_data).decode()).get("settings") or {}
    plugin = (settings.get("kubelet-device-plugins") or {}).get("nvidia") or {}
    return _slices(gpu, plugin) * _shares(plugin)


def _slices(gpu: str, plugin: Mapping[str, Any]) -> int:
    if plugin.get("device-partitioning-strategy") != "mig" or gpu not in _MODELS:
        return 1
    name, profiles = _MODELS[gpu]
    written = str(((plugin.get("mig") or {}).get("profile") or {}).get(name, "1"))
    # A profile that the GPU does not have leaves it without any slice.
    return {**profiles, **{str(count): count for count in profiles.values()}}.get(written, 0)


def _shares(plugin: Mapping[str, Any]) -> int:
    strategy = plugin.get("device-sharing-strategy", "none")
    if strategy == "none":
        return 1
    sharing = plugin.get(strategy) or {}
    # Renamed, the shares are of another resource.
    return 0 if sharing.get("rename-by-default", True) else int(sharing.get("replicas", 2))
