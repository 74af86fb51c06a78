"""The pack starts only where pulumi-policy has the names that it needs; what it replaces there unpacks alike."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from pulumi_policy import policy as sdk
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY, deserialize_properties

from policies import sdk_hooks, sdk_names
from policies.sdk_hooks import unpack_once

POLICIES = Path(sdk_names.__file__).parent


def test_the_installed_version_has_every_name() -> None:
    sdk_names.require()


@pytest.mark.parametrize("path", [*sdk_names.REPLACED, *sdk_names.READ])
def test_a_missing_name_is_refused_in_a_sentence(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, *owners, name = path.split(".")
    owner: object = importlib.import_module(f"pulumi_policy.{module}")
    for part in owners:
        owner = getattr(owner, part)
    monkeypatch.delattr(owner, name)
    with pytest.raises(SystemExit) as refused:
        sdk_names.require()
    assert re.fullmatch(
        rf"The policy pack cannot start: pulumi-policy [\d.]+ has no pulumi_policy\.{re.escape(path)}\. "
        rf"Install the version that the pack is tested with: pip install pulumi-policy=={re.escape(sdk_names.TESTED)}",
        str(refused.value),
    )


def test_all_missing_names_are_in_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("json_format", "unknown_checking_proxy"):
        monkeypatch.delattr(importlib.import_module("pulumi_policy.policy"), name)
    with pytest.raises(SystemExit, match=r"has no pulumi_policy\.policy\.json_format, pulumi_policy\.policy\.unknown_"):
        sdk_names.require()


def test_the_tested_version_is_the_pinned_one() -> None:
    assert f"pulumi-policy=={sdk_names.TESTED}\n" in (POLICIES / "requirements.txt").read_text()


def test_every_replaced_name_is_checked() -> None:
    tree = ast.parse(Path(sdk_hooks.__file__).read_text())
    replaced = {
        node.args[1].value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "setattr"
        and isinstance(node.args[1], ast.Constant)
    }
    assert {f"policy.{name}" for name in replaced} == {
        path for path in sdk_names.REPLACED if not path.endswith(".Configure")
    }


def test_the_names_are_checked_before_the_pack_is_imported() -> None:
    text = (POLICIES / "__main__.py").read_text()
    assert 0 < text.index("sdk_names.require()") < text.index("from policies.pack import serve")


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
