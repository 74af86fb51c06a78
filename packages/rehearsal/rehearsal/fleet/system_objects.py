"""The cloud's own objects in the cluster."""

from __future__ import annotations

import time
from typing import Final

from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.fleet.errors import FleetError

_KIND_SECONDS: Final = 240.0


def apply_system_objects(api: Api, objects: list[Object]) -> None:
    """Apply the objects in order; a kind may be defined by one of them.

    Raises:
        FleetError: the API server refuses one.
    """
    deadline = time.monotonic() + _KIND_SECONDS
    defines_kinds = any(manifest["kind"] == "CustomResourceDefinition" for manifest in objects)
    for manifest in objects:
        while True:
            try:
                api.apply_manifest(manifest)
                break
            except ApiError as error:
                # A kind is served a moment after it is defined.
                if error.status != 404 or not defines_kinds or time.monotonic() > deadline:
                    what = f"{manifest['kind']} {manifest['metadata']['name']}"
                    raise FleetError(f"system object {what}: {error}") from error
            time.sleep(0.1)
