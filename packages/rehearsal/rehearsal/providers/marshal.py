"""Property maps on the wire: protobuf structs to and from plain Python.

The engine encodes what JSON cannot say as objects with a signature key, and values it does not know yet as a
sentinel string (https://github.com/pulumi/pulumi/blob/v3.200.0/sdk/go/common/resource/plugin/rpc.go).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value

from facts.concepts.unknown import UNKNOWN, Unknown
from rehearsal.providers.base import Properties, ProviderError
from rehearsal.providers.differences import Path as PropertyPath
from rehearsal.providers.differences import parse_path

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
RESOURCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
ASSET: Final = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"

UNKNOWN_VALUES: Final = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",  # a string, and what every other type decays to
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # bool
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)
_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def unmarshal(struct: Struct | None) -> Properties:
    """Plain Python for ``struct``: secrets and outputs unwrapped, unknowns as ``UNKNOWN``, whole numbers as ``int``.

    An asset is its text. Raises ``ProviderError`` for archives, which no simulated resource takes.
    """
    return {} if struct is None else {key: _to_python(value, key) for key, value in struct.fields.items()}


def _to_python(value: Value, where: str) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in UNKNOWN_VALUES else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_to_python(item, f"{where}[{index}]") for index, item in enumerate(value.list_value.values)]
    if kind == "struct_value":
        return _object_to_python(value.struct_value, where)
    return None


def _object_to_python(struct: Struct, where: str) -> Any:
    fields = struct.fields
    signature = fields[SIGNATURE].string_value if SIGNATURE in fields else None
    if signature is None:
        return {key: _to_python(item, f"{where}.{key}") for key, item in fields.items()}
    if signature == SECRET:
        return _to_python(fields["value"], where)
    if signature == OUTPUT:
        return _to_python(fields["value"], where) if "value" in fields else UNKNOWN
    if signature == RESOURCE:
        # A custom resource stands for its id, a component (which has none) for its URN.
        return _to_python(fields["id" if "id" in fields else "urn"], where)
    if signature == ASSET:
        return _asset_text(fields, where)
    if signature == ARCHIVE:
        raise ProviderError(f"{where}: archives are not simulated; pass the content as a string")
    raise ProviderError(f"{where}: the engine sent a value with the unknown signature {signature}")


def _asset_text(fields: Mapping[str, Value], where: str) -> str:
    """The text of an asset: given as such, or as a file's path (relative to the project)."""
    if "text" in fields:
        return fields["text"].string_value
    path = fields["path"].string_value if "path" in fields else ""
    if not path:
        raise ProviderError(f"{where}: assets of other places are not simulated; pass the content as a StringAsset")
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProviderError(f"{where}: the asset {path} cannot be read as text: {error}") from error


def marshal(properties: Properties, secrets: Sequence[str] = ()) -> Struct:
    """The wire form of ``properties``; every property path in ``secrets`` that is present is marked secret."""
    struct = Struct()
    for key, item in properties.items():
        struct.fields[key].CopyFrom(_to_value(item, key))
    for secret in secrets:
        _mark_secret(struct, parse_path(secret))
    return struct


def _to_value(item: Any, where: str) -> Value:
    if item is None:
        return Value(null_value=NullValue.NULL_VALUE)
    if isinstance(item, bool):
        return Value(bool_value=item)
    if isinstance(item, (int, float)):
        return Value(number_value=item)
    if isinstance(item, str):
        return Value(string_value=item)
    if isinstance(item, Unknown):
        return Value(string_value=_UNKNOWN_STRING)
    if isinstance(item, dict):
        fields = {str(key): _to_value(each, f"{where}.{key}") for key, each in item.items()}
        return Value(struct_value=Struct(fields=fields))
    if isinstance(item, (list, tuple)):
        return Value(list_value=ListValue(values=[_to_value(each, f"{where}[{i}]") for i, each in enumerate(item)]))
    raise ProviderError(f"{where}: a property cannot hold a {type(item).__name__}; use plain Python values")


def _mark_secret(struct: Struct, path: PropertyPath) -> None:
    """Wrap the value at ``path`` where it lies; paths that lead nowhere are ignored."""
    if not path or not isinstance(path[0], str) or path[0] not in struct.fields:
        return
    value = struct.fields[path[0]]
    for step in path[1:]:
        kind = value.WhichOneof("kind")
        if kind == "struct_value" and step in value.struct_value.fields:
            value = value.struct_value.fields[str(step)]
        elif kind == "list_value" and isinstance(step, int) and step < len(value.list_value.values):
            value = value.list_value.values[step]
        else:
            return
    plain = Value()
    plain.CopyFrom(value)
    value.CopyFrom(Value(struct_value=Struct(fields={SIGNATURE: Value(string_value=SECRET), "value": plain})))
