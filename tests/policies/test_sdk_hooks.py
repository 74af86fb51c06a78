"""The shortcut in the SDK's unpacking: the same values, once, and nobody shares what may be changed."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from pulumi_policy import policy as sdk
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY, deserialize_properties

from policies.sdk_hooks import unpack_once

SECRET = {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": "s3cr3t"}


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("json_format", "deserialize_properties", "unknown_checking_proxy"):
        monkeypatch.setattr(sdk, name, getattr(sdk, name))
    unpack_once()
    return sdk


def message(**properties: Any) -> Struct:
    struct = Struct()
    struct.update(properties)
    return struct


def unpacked(installed: Any, struct: Struct, proxy_secrets: bool = False) -> Any:
    return installed.deserialize_properties(installed.json_format.MessageToDict(struct), proxy_secrets)


def test_values_are_those_of_the_sdk(installed: Any) -> None:
    struct = message(count=2, nested={"list": [1, "a", None]}, secret=SECRET)
    expected = deserialize_properties(json_format.MessageToDict(struct))
    assert unpacked(installed, struct) == expected
    assert expected["secret"] == "s3cr3t"


def test_equal_content_is_unpacked_once_and_other_content_is_not_mistaken_for_it(installed: Any) -> None:
    first, again, other = (unpacked(installed, message(count=count)) for count in (1, 1, 2))
    assert first is again
    assert other == {"count": 2}


def test_a_remediation_changes_its_own_copy_only(installed: Any) -> None:
    struct = message(tags=["a"])
    mine = unpacked(installed, struct, proxy_secrets=True)
    mine["tags"] = ["b"]
    assert unpacked(installed, struct) == {"tags": ["a"]}
