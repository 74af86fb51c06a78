"""What pulumi-aws declares. The limits of AWS's own requests are botocore's, which the stand-in asks itself."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable
from typing import Any

from schemas.sources import sdk
from schemas.sources.collecting import Collection


def made(tokens: Iterable[str]) -> dict[str, Any]:
    """The schema of the resource types ``tokens``, in the form of the JSON file."""
    collection = Collection()
    resources = {
        token: {
            "api": "",
            "object": collection.plain(sdk.inputs_of(token))["object"],
            "outputs": sdk.outputs_of(token),
        }
        for token in tokens
    }
    resources, objects = collection.result(resources)
    sources = {"pulumi-aws": importlib.metadata.version("pulumi-aws")}
    return {"sources": sources, "resources": resources, "objects": objects}
