"""The schema of one cloud as ``TypedDict``s: what ``components/clouds`` declares, checked by a type checker alone."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

_HEAD: Final = '''"""Inputs and outputs of {cloud}'s resource types as its provider has them, made by `make schemas`.

There is no such module at run time:

    if TYPE_CHECKING:
        from schemas import {cloud}
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol, overload

from pulumi import Input, Output, ResourceOptions
from typing_extensions import Required, TypedDict

from components.resources import CustomResource
'''
_DECLARE: Final = '''
class Declare(Protocol):
    """Declares a resource of one of the types above: its inputs, and the ``outputs`` to read back besides."""
'''
_OVERLOAD: Final = """
    @overload
    def __call__(
        self,
        token: Literal["{token}"],
        name: str,
        inputs: {inputs},
        opts: ResourceOptions,
        *,
        outputs: Sequence[Literal[{outputs}]] = ...,
    ) -> CustomResource[{made}]: ...
"""
_OUTPUTS: Final = {"object": "Mapping[str, Any]", "map": "Mapping[str, Any]", "list": "Sequence[Any]"}
_IN_PART: Final = ", total=False"
_SCALARS: Final = {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "any": "Any"}


def stub(cloud: str, made: Mapping[str, Any]) -> str:
    """The content of ``<cloud>.pyi``: inputs are called after their resource type, a block's after its object.

    ``Declare`` ties each resource type to its own inputs and outputs, which are ``<resource type>Outputs``.
    """
    names = _names(made)
    inputs = "".join(
        _class(names[name], _inputs(names, each), _IN_PART) for name, each in sorted(made["objects"].items())
    )
    outputs = "".join(_class(name, each) for name, each in _outputs(names, made))
    return _HEAD.format(cloud=cloud) + inputs + outputs + _DECLARE + "".join(_overloads(names, made["resources"]))


def _names(made: Mapping[str, Any]) -> dict[str, str]:
    roots = {each["object"]: token.rpartition(":")[2] for token, each in made["resources"].items()}
    names = dict(roots)
    for name in made["objects"]:
        if name not in roots:
            plain = re.sub(r"\W(\w)", lambda match: match.group(1).upper(), name)
            names[name] = f"Inline{plain}" if plain in roots.values() else plain
    others = ["Declare", *(f"{names[root]}Outputs" for root in roots)]
    if len({*names.values(), *others}) < len(names) + len(others):
        raise ValueError(
            f"two classes of {', '.join(made['resources'])} would have one name; Declare is one of its own"
        )
    return names


def _class(name: str, keys: Mapping[str, str], total: str = "") -> str:
    if any(keyword.iskeyword(key) for key in keys):
        inside = ", ".join(f'"{key}": {kind}' for key, kind in keys.items())
        return f'\n{name} = TypedDict("{name}", {{{inside}}}{total})\n'
    lines = [f"    {key}: {kind}\n" for key, kind in keys.items()]
    return f"\nclass {name}(TypedDict{total}):\n" + ("".join(lines) or "    pass\n")


def _outputs(names: Mapping[str, str], made: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Per resource type the class of its outputs, and of inputs that the provider does not repeat.

    What a provider may leave out is typed as if it were there.
    """
    for _, each in sorted(made["resources"].items()):
        inputs = {key: its["type"] for key, its in made["objects"][each["object"]]["properties"].items()}
        kinds = sorted({**inputs, **each["outputs"]}.items())
        yield (
            f"{names[each['object']]}Outputs",
            {key: f"Output[{_OUTPUTS.get(kind) or _SCALARS[kind]}]" for key, kind in kinds},
        )


def _overloads(names: Mapping[str, str], resources: Mapping[str, Any]) -> Iterator[str]:
    for token, each in sorted(resources.items()):
        outputs = ", ".join(f'"{name}"' for name in each["outputs"])
        inputs = names[each["object"]]
        yield _OVERLOAD.format(token=token, inputs=inputs, outputs=outputs, made=f"{inputs}Outputs")


def _inputs(names: Mapping[str, str], of_object: Mapping[str, Any]) -> Mapping[str, str]:
    keys: dict[str, str] = {}
    for key, each in of_object["properties"].items():
        if not key.isidentifier():
            raise ValueError(f"{key} cannot be the name of a key in a class")
        kind = f"Input[{_type(names, each)}]"
        keys[key] = f"Required[{kind}]" if each.get("required") else kind
    return keys


def _type(names: Mapping[str, str], each: Mapping[str, Any]) -> str:
    kind = each["type"]
    if kind == "object":
        return names[each["object"]]
    if kind == "list":
        return f"Sequence[Input[{_type(names, each['items'])}]]"
    if kind == "map":
        return f"Mapping[str, Input[{_type(names, each['items'])}]]"
    return _SCALARS[kind]
