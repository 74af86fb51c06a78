"""Property maps on the wire: protobuf structs to and from plain Python.

The engine encodes what JSON has no form for as objects with a signature key, and a value that is not known yet as a
reserved string (https://github.com/pulumi/pulumi/blob/sdk/v3.200.0/sdk/go/common/resource/plugin/rpc.go).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from google.protobuf.struct_pb2 import ListValue, NullValue, Struct, Value

Properties = dict[str, Any]

_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


class UnknownValue:
    """A value that an operation still has to make; there is one, ``UNKNOWN``."""

    def __repr__(self) -> str:
        return "(unknown)"


UNKNOWN: Final = UnknownValue()


def is_known(item: Any) -> bool:
    """Whether ``item`` holds no unknown value, at any depth."""
    if isinstance(item, dict):
        return all(is_known(each) for each in item.values())
    if isinstance(item, list):
        return all(is_known(each) for each in item)
    return not isinstance(item, UnknownValue)


def unmarshal(struct: Struct) -> Properties:
    """Plain Python: secrets unwrapped, unknown values as ``UNKNOWN``, whole numbers as ``int``."""
    return {key: _to_python(value) for key, value in struct.fields.items()}


def _to_python(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value == _UNKNOWN_STRING else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_to_python(item) for item in value.list_value.values]
    if kind != "struct_value":
        return None
    fields = value.struct_value.fields
    if _SIGNATURE not in fields:
        return {key: _to_python(item) for key, item in fields.items()}
    if fields[_SIGNATURE].string_value == _SECRET:
        return _to_python(fields["value"])
    if fields[_SIGNATURE].string_value == _OUTPUT:
        return _to_python(fields["value"]) if "value" in fields else UNKNOWN
    raise ValueError("assets, archives and resources are no inputs of a machine; pass strings")


def marshal(properties: Mapping[str, Any], secrets: Collection[str] = ()) -> Struct:
    """The wire form of ``properties``; the top-level properties ``secrets`` are marked secret."""
    struct = Struct()
    for key, item in properties.items():
        value = _to_value(item)
        if key in secrets:
            value = Value(struct_value=Struct(fields={_SIGNATURE: Value(string_value=_SECRET), "value": value}))
        struct.fields[key].CopyFrom(value)
    return struct


def _to_value(item: Any) -> Value:
    if item is None:
        return Value(null_value=NullValue.NULL_VALUE)
    if isinstance(item, bool):
        return Value(bool_value=item)
    if isinstance(item, (int, float)):
        return Value(number_value=item)
    if isinstance(item, UnknownValue):
        return Value(string_value=_UNKNOWN_STRING)
    if isinstance(item, dict):
        return Value(struct_value=Struct(fields={str(key): _to_value(each) for key, each in item.items()}))
    if isinstance(item, (list, tuple)):
        return Value(list_value=ListValue(values=[_to_value(each) for each in item]))
    return Value(string_value=str(item))
