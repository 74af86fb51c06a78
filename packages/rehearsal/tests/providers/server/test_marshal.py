"""The wire form: what the engine sends becomes plain Python, and goes back as the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Struct

from facts.concepts.unknown import UNKNOWN
from packages.rehearsal.tests.tables import cases
from rehearsal.providers.base import ProviderError
from rehearsal.providers.differences import MISSING, covers, differences, format_path, lookup, parse_path
from rehearsal.providers.marshal import (
    ARCHIVE,
    ASSET,
    OUTPUT,
    RESOURCE,
    SECRET,
    SIGNATURE,
    UNKNOWN_VALUES,
    marshal,
    unmarshal,
)


def struct(value: dict[str, Any]) -> Struct:
    return ParseDict(value, Struct())


def secret(value: Any) -> dict[str, Any]:
    return {SIGNATURE: SECRET, "value": value}


@cases
def test_plain_values_and_unknowns_round_trip(properties: dict[str, Any]) -> None:
    returned = unmarshal(marshal(properties))
    assert returned == properties
    types = {key: type(value) for key, value in properties.items()}
    assert {key: type(value) for key, value in returned.items()} == types


@pytest.mark.parametrize("sentinel", sorted(UNKNOWN_VALUES))
def test_every_kind_of_unknown_is_unknown(sentinel: str) -> None:
    assert unmarshal(struct({"a": {"b": [sentinel]}})) == {"a": {"b": [UNKNOWN]}}


def test_nested_secrets_and_outputs_are_unwrapped() -> None:
    sent = {
        "password": secret({"value": secret("deep")}),
        "list": [secret(1), {"x": secret([True])}],
        "known": {SIGNATURE: OUTPUT, "value": secret("out"), "secret": True},
        "unknown": {SIGNATURE: OUTPUT, "dependencies": ["urn"]},
        "resource": {SIGNATURE: RESOURCE, "urn": "urn:x", "id": "the-id"},
        "component": {SIGNATURE: RESOURCE, "urn": "urn:y"},
    }
    assert unmarshal(struct(sent)) == {
        "password": {"value": "deep"},
        "list": [1, {"x": [True]}],
        "known": "out",
        "unknown": UNKNOWN,
        "resource": "the-id",
        "component": "urn:y",
    }


def test_an_asset_is_its_text(tmp_path: Path) -> None:
    file = tmp_path / "values.yaml"
    file.write_text("a: 1")
    sent = {"files": [{SIGNATURE: ASSET, "text": "b: 2"}, {SIGNATURE: ASSET, "path": str(file)}]}
    assert unmarshal(struct(sent)) == {"files": ["b: 2", "a: 1"]}
    for other in ({"uri": "https://example.org/values.yaml"}, {"path": str(tmp_path)}):
        with pytest.raises(ProviderError, match=r"^files\[0\]: "):
            unmarshal(struct({"files": [{SIGNATURE: ASSET, **other}]}))


@pytest.mark.parametrize("signature", [ASSET, ARCHIVE, "ffffffffffffffffffffffffffffffff"])
def test_what_cannot_be_simulated_is_refused_with_its_place(signature: str) -> None:
    with pytest.raises(ProviderError, match=r"^spec\.files\[1\]: "):
        unmarshal(struct({"spec": {"files": ["ok", {SIGNATURE: signature, "path": "x"}]}}))


def test_secret_outputs_are_wrapped_where_they_lie() -> None:
    wire = marshal({"a": {"b": [1, {"c": "x"}]}, "d": {"e": 1}}, ["a.b[1].c", "d", "missing.path", "a.b[7]"])
    assert MessageToDict(wire) == {"a": {"b": [1.0, {"c": secret("x")}]}, "d": secret({"e": 1.0})}
    assert unmarshal(wire) == {"a": {"b": [1, {"c": "x"}]}, "d": {"e": 1}}


def test_a_value_that_is_not_plain_is_named() -> None:
    with pytest.raises(ProviderError, match=r"^a\.b\[0\]: a property cannot hold a set"):
        marshal({"a": {"b": [{1}]}})


@cases
def test_property_paths_round_trip(path: list[str | int]) -> None:
    assert parse_path(format_path(tuple(path))) == tuple(path)


def test_property_paths_of_the_engines_documentation() -> None:
    assert parse_path('root.nested["key with \\"quotes\\""][0].x') == ("root", "nested", 'key with "quotes"', 0, "x")
    with pytest.raises(ValueError, match="not a property path"):
        parse_path("a[b")


def test_covers_and_lookup() -> None:
    assert covers(parse_path("spec.containers[*].image"), ("spec", "containers", 2, "image"))
    assert covers(parse_path("spec"), ("spec", "x"))
    assert not covers(parse_path("spec.x"), ("spec",))
    assert lookup({"a": [{"b": None}]}, ("a", 0, "b")) is None
    assert lookup({"a": [{"b": None}]}, ("a", 1, "b")) is MISSING


def test_differences_are_as_deep_as_possible() -> None:
    old = {"a": 1, "b": [1, {"c": 2}], "gone": None, "same": {"x": [UNKNOWN]}}
    new = {"a": 2, "b": [1, {"c": 3}, 4], "new": {}, "same": {"x": [UNKNOWN]}}
    assert differences(old, new) == [("a",), ("b", 1, "c"), ("b", 2), ("gone",), ("new",)]
