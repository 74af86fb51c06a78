"""One resource in another spelling: another provider's, a template's, or that of a controller in Kubernetes.

A module's ``SPELLINGS`` map a type token (or a pattern) to a function that says the same with the types and names that
the readers know; it yields several resources for a template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from policies.readers.resource import Declared

Spelling = Callable[[Declared], Iterable[Declared]]

# Blocks of which there is one at most, although their names end in s.
_SINGULAR: Final = ("autoProvisioningDefaults", "instanceRequirements")
# Their keys are the user's own, not the API's.
_OWN_KEYS: Final = ("Labels", "Tags", "labels", "tags", "parameters", "Parameters")


def respelled(
    declared: Declared, type_token: str, properties: Mapping[str, Any], names: Mapping[str, str] | None = None
) -> Declared:
    """The same resource as ``type_token``, with properties called as ``names`` (its name → the readers') says."""
    called = names or {}
    return replace(
        declared,
        type=type_token,
        properties={called.get(key, key): value for key, value in properties.items()},
        dependencies={called.get(key, key): urns for key, urns in declared.dependencies.items()},
    )


def renaming(type_token: str, **names: str) -> Spelling:
    """A spelling that differs in the names of properties only."""
    return lambda declared: (respelled(declared, type_token, declared.properties, names),)


def in_camel_case(value: Any) -> Any:
    """``{"MinSize": 1}`` → ``{"minSize": 1}``, at any depth; maps whose keys are the user's stay as they are."""
    if isinstance(value, Mapping):
        return {
            f"{key[:1].lower()}{key[1:]}" if isinstance(key, str) else key: part
            if key in _OWN_KEYS and isinstance(part, Mapping)
            else in_camel_case(part)
            for key, part in value.items()
        }
    return [in_camel_case(part) for part in value] if isinstance(value, (list, tuple)) else value


def of_terraform(value: Any, lists: Mapping[str, str]) -> Any:
    """Terraform's schema as a controller or an unbridged provider shows it, with the names of bridged providers.

    ``lists``: a block that may occur several times → its plural. Of others there is one at most, which some versions
    show as a list of one.
    """
    if isinstance(value, Mapping):
        return {lists.get(key, key): _block(key, part, lists) for key, part in value.items()}
    return [of_terraform(part, lists) for part in value] if isinstance(value, (list, tuple)) else value


def _block(key: Any, value: Any, lists: Mapping[str, str]) -> Any:
    if key in _OWN_KEYS and isinstance(value, Mapping):
        return value
    one = isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], Mapping)
    plural = str(key).endswith("s") and key not in _SINGULAR
    return of_terraform(value[0] if one and not plural and key not in lists else value, lists)


def tags_of_pairs(value: Any) -> Any:
    """``[{"key": "a", "value": "b"}]`` → ``{"a": "b"}``; anything else as it is."""
    if not isinstance(value, (list, tuple)):
        return value
    pairs = [entry for entry in value if isinstance(entry, Mapping)]
    return {entry["key"]: entry.get("value", UNKNOWN) for entry in pairs if isinstance(entry.get("key"), str)}


def parsed(value: Any) -> Any:
    """Values that are written as a text, in YAML or JSON; ``UNKNOWN`` for a text that is neither."""
    if not isinstance(value, str):
        return value
    import yaml  # 0.1 s that few programs need to spend

    try:
        return yaml.safe_load(value)
    except yaml.YAMLError:
        return UNKNOWN


def parsed_all(text: str) -> list[Any]:
    """The documents of a text in YAML; none for a text that is none, or a template."""
    import yaml  # as above

    try:
        return [*yaml.safe_load_all(text)]
    except yaml.YAMLError:
        return []
