"""The pack refuses to start, in one sentence, where the installed pulumi-policy lacks a name that it needs."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from policies import sdk_hooks, sdk_names

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
