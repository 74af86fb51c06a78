"""Pulumi's Patch resources, which change an object that something else declares.

Alone, a patch is read as an object of its own. One of an object of the same program is read as that object with the
patch laid over it: https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from facts.concepts.unknown import at
from policies.readers.resource import Declared, Program, in_one_place, unpatched


def over_its_object(patch: Declared, everything: Program) -> Declared | None:
    """The patch with all that its object has, which is its ``patched``; ``None`` for anything else."""
    if patch.type == unpatched(patch.type):
        return None
    metadata = at(patch.properties, "metadata")
    reference = {
        "apiVersion": patch.type.split(":")[1],
        "kind": patch.kind,
        **{key: at(metadata, key) for key in ("name", "namespace")},
    }
    objects = (each for each in everything.meant(reference, patch) if each.type == unpatched(each.type))
    patched = next((each for each in objects if in_one_place(patch, each) is not False), None)
    if patched is None:
        return None
    return replace(patch, properties=_over(patch.properties, patched.properties), outside=None, patched=patched)


def _over(patch: Any, below: Any) -> Any:
    """Maps are merged, and lists of what has a name; anything else is replaced, as Kubernetes does.

    https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy
    """
    if isinstance(patch, Mapping) and isinstance(below, Mapping):
        return {**below, **{key: _over(part, below.get(key)) for key, part in patch.items()}}
    if isinstance(patch, (list, tuple)) and isinstance(below, (list, tuple)):
        parts, named = {at(each, "name"): each for each in below}, [at(each, "name") for each in patch]
        if parts and all(isinstance(name, str) for name in (*parts, *named)):
            return [
                *{**parts, **{at(each, "name"): _over(each, parts.get(at(each, "name"))) for each in patch}}.values()
            ]
    return patch
