"""Pulumi's Patch resources, which change an object that something else declares.

The object is read with all that the program's patches of it set, one over the other. A patch of an object of another
program is read as an object of its own:
https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import reduce
from typing import Any

from facts.concepts.unknown import at
from policies.readers.resource import Declared, Program, in_one_place, is_patch


def with_patches(everything: Program) -> Iterable[Declared]:
    """Each resource, an object with what patches of the program set in place of the object and of these patches."""
    changed: dict[int, list[Declared]] = {}
    laid: set[int] = set()
    for patch in filter(is_patch, everything):
        if (patched := _object_of(patch, everything)) is not None:
            changed.setdefault(id(patched), []).append(patch)
            laid.add(id(patch))
    return (reduce(_laid_over, changed.get(id(each), ()), each) for each in everything if id(each) not in laid)


def _object_of(patch: Declared, everything: Program) -> Declared | None:
    metadata = at(patch.properties, "metadata")
    reference = {
        "apiVersion": patch.type.split(":")[1],
        "kind": patch.kind,
        **{key: at(metadata, key) for key in ("name", "namespace")},
    }
    objects = (each for each in everything.meant(reference, patch) if not is_patch(each))
    return next((each for each in objects if in_one_place(patch, each) is not False), None)


def _laid_over(patched: Declared, patch: Declared) -> Declared:
    return replace(
        patched,
        properties=_over(patch.properties, patched.properties),
        dependencies={
            key: (*patched.dependencies.get(key, ()), *patch.dependencies.get(key, ()))
            for key in (*patched.dependencies, *patch.dependencies)
        },
        outside=None,
        unpatched=patched.unpatched or patched,
    )


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
