"""Which changed fields replace an object: the API server refuses to change them in place.

The same fields as the real provider's (``replacement.yaml``), so that a rehearsed replacement is one in the cloud too.
"""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Final

import yaml

from rehearsal.providers.differences import Path, covers, parse_path
from rehearsal.providers.kubernetes.manifest import Kind

_IDENTITY: Final = ("metadata.name", "metadata.namespace", "apiVersion", "kind")
_FIELDS: Final[dict[str, list[str]]] = yaml.safe_load(FilePath(__file__).with_suffix(".yaml").read_text())
_SECRET: Final = ("type", "stringData", "data")
_CONFIG_MAP: Final = ("binaryData", "data")


def replacing(
    kind: Kind,
    changes: tuple[Path, ...],
    *,
    immutable: bool = False,
    mutable_secrets: bool = False,
    mutable_config_maps: bool = False,
) -> tuple[Path, ...]:
    """Those of ``changes`` that replace an object of ``kind``.

    Secrets and ConfigMaps are replaced when their data changes, so that pods which use them see it, unless the
    provider's ``enableSecretMutable`` or ``enableConfigMapMutable`` says otherwise and the object is not ``immutable``.
    """
    fields: tuple[str, ...] = _IDENTITY
    if not kind.patch:
        fields += tuple(_FIELDS.get(str(kind), ()))
        if str(kind) == "v1/Secret":
            fields += _SECRET if immutable or not mutable_secrets else ("type",)
        if str(kind) == "v1/ConfigMap" and (immutable or not mutable_config_maps):
            fields += _CONFIG_MAP
    patterns = [parse_path(field) for field in fields]
    # A change above such a field (its parent added or removed) changes the field, too.
    return tuple(path for path in changes if any(covers(each, path) or covers(path, each) for each in patterns))
