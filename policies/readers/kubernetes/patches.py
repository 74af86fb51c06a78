"""Pulumi's Patch resources, which change an object that something else declares.

The object is read with all that the program's patches of it set, one over the other. What they take back stays: the
object is there before them, and remains so where they are refused as conflicts. So of two numbers the larger counts,
and where they say something else, the object as it is declared counts beside the patched one. A patch of an object of
another program is read as an object of its own:
https://www.pulumi.com/registry/packages/kubernetes/how-to-guides/managing-resources-with-server-side-apply/
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import reduce
from typing import Any

from facts.concepts.kubernetes import quantity
from facts.concepts.unknown import UNKNOWN, at
from policies.readers.resource import Declared, Program, in_one_place, is_patch


def with_patches(everything: Program) -> Iterable[Declared]:
    """Each resource, an object with what patches of the program set in place of the object and of these patches."""
    changed: dict[int, list[Declared]] = {}
    laid: set[int] = set()
    for patch in filter(is_patch, everything):
        if (patched := _object_of(patch, everything)) is not None:
            changed.setdefault(id(patched), []).append(patch)
            laid.add(id(patch))
    for each in everything:
        if id(each) in laid:
            continue
        patches = changed.get(id(each), [])
        taking = [patch for patch in patches if _takes_back(patch.properties, each.properties)]
        whole = reduce(_laid_over, (patch for patch in patches if patch not in taking), each)
        yield whole
        yield from (_laid_over(whole, patch) for patch in taking)


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


def _takes_back(patch: Any, below: Any) -> bool:
    """Whether a patch says otherwise what the object says. Of numbers ``_over`` takes the larger."""
    if isinstance(patch, Mapping) and isinstance(below, Mapping):
        return any(_takes_back(part, below[key]) for key, part in patch.items() if key in below)
    if isinstance(patch, (list, tuple)) and isinstance(below, (list, tuple)):
        named = {at(each, "name"): each for each in below}
        return any(each not in below and _takes_back(each, named.get(at(each, "name"), 0)) for each in patch)
    said, before = number_in(patch), number_in(below)
    return before < 0 if said is not None and before is not None else below is not None and patch != below


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
    said, before = number_in(patch), number_in(below)
    return below if said is not None and before is not None and before > said else patch


def number_in(value: Any) -> Decimal | None:
    """A number, or a quantity as Kubernetes writes it."""
    try:
        return None if value is None or value is UNKNOWN or isinstance(value, bool) else quantity(str(value))
    except (ArithmeticError, ValueError):
        return None
