"""The pack as a folder of its own: it needs and has nothing else of ours, and pulumi-policy has its names."""

from __future__ import annotations

import ast
import importlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from google.protobuf import json_format
from google.protobuf.struct_pb2 import Struct
from pulumi_policy import policy as sdk
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY, deserialize_properties

from policies import sdk_hooks, sdk_names
from policies.bundle import PACKAGES, ROOT, bundle, main
from policies.sdk_hooks import unpack_once

# Imports every module of the pack, with nothing but the pack and the installed packages to find it in.
IMPORT_ALL = """
import importlib, json, pkgutil, sys
sys.path.insert(0, sys.argv[1])
for package in sys.argv[2:]:
    for found in pkgutil.walk_packages([f"{sys.argv[1]}/{package}"], f"{package}."):
        importlib.import_module(found.name)
print(json.dumps({name: getattr(module, "__file__", None) for name, module in sys.modules.items()}))
"""


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundle") / "pack"
    bundle(folder)
    return folder


@pytest.fixture(scope="module")
def loaded(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str | None]:
    """Module → file of all that the pack's modules load, in an interpreter that knows nothing of the repository."""
    command = [sys.executable, "-I", "-B", "-c", IMPORT_ALL, str(pack), *PACKAGES]
    empty = tmp_path_factory.mktemp("empty")
    done = subprocess.run(command, cwd=empty, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def imported(file: Path) -> Iterator[str]:
    """The first part of the name of each module that a file imports."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield (node.module or "").partition(".")[0]


def test_every_module_of_the_pack_loads_from_the_pack_alone(pack: Path, loaded: dict[str, str | None]) -> None:
    ours = {name: file for name, file in loaded.items() if name.partition(".")[0] in PACKAGES}
    assert {"policies.pack", "policies.dialects.arm", "policies.readers.eks.clusters", "facts.catalog.eks"} <= set(ours)
    assert [file for file in ours.values() if file is not None and not file.startswith(str(pack))] == []
    assert [name for name, file in loaded.items() if file is not None and file.startswith(f"{ROOT}/rehearsal")] == []
    assert not {"components", "rehearsal", "policies.docs", "policies.bundle"} & set(loaded)


def test_its_requirements_are_all_it_needs(pack: Path) -> None:
    pending = [line for line in (pack / "requirements.txt").read_text().splitlines() if not line.startswith("#")]
    allowed: set[str] = set()
    while pending:
        name = re.split(r"[^\w.-]", pending.pop().strip())[0].lower().replace("_", "-")
        if name not in allowed:
            allowed.add(name)
            pending += [line for line in requires(name) or [] if "extra ==" not in line]
    used = {name for file in pack.rglob("*.py") for name in imported(file)} - sys.stdlib_module_names - set(PACKAGES)
    # Several distributions share a name such as google, of which one has to be allowed.
    installed = packages_distributions()
    homes = {name: {home.lower().replace("_", "-") for home in installed.get(name, [])} for name in used}
    assert {"pulumi_policy", "yaml"} <= set(homes)
    assert [name for name, owners in homes.items() if not owners & allowed] == []


def test_it_is_the_same_pack_with_a_virtual_environment_of_its_own(pack: Path) -> None:
    ours, built = (yaml.safe_load((at / "PulumiPolicy.yaml").read_text()) for at in (ROOT / "policies", pack))
    assert (pack / "__main__.py").read_bytes() == (ROOT / "policies" / "__main__.py").read_bytes()
    assert built["runtime"]["options"].pop("virtualenv") == "venv"
    assert ours["runtime"]["options"].pop("virtualenv") == "../.venv"
    assert built == ours


def test_what_is_published_is_sources_and_data(pack: Path) -> None:
    files = [path for package in PACKAGES for path in (pack / package).rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".csv", ".json", ".py"}
    expected = {".gitignore", "LICENSE", "PulumiPolicy.yaml", "__main__.py", "docs", "requirements.txt", *PACKAGES}
    assert {path.name for path in pack.iterdir()} == expected
    assert "venv/" in (pack / ".gitignore").read_text().splitlines()


def test_a_new_pack_leaves_nothing_of_the_old_one_but_its_virtual_environment(tmp_path: Path) -> None:
    bundle(tmp_path)
    (tmp_path / "policies" / "gone.py").touch()
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / "kept").touch()
    bundle(tmp_path)
    assert not (tmp_path / "policies" / "gone.py").exists()
    assert (tmp_path / "venv" / "kept").exists()


def test_a_folder_with_something_else_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies" / "mine.py").touch()
    assert main([str(tmp_path)]) == 2
    assert "name another folder" in capsys.readouterr().err
    assert (tmp_path / "policies" / "mine.py").exists()


def test_the_command_prints_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new'}\n"
    assert (tmp_path / "new" / "PulumiPolicy.yaml").is_file()


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
    calls = [each for each in ast.walk(tree) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)]
    names = [each.args[1] for each in calls if isinstance(each.func, ast.Name) and each.func.id == "setattr"]
    replaced = {each.value for each in names if isinstance(each, ast.Constant)}
    listed = {path for path in sdk_names.REPLACED if not path.endswith(".Configure")}
    assert {f"policy.{name}" for name in replaced} == listed


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
