"""The virtual environment's stamp, the lock that it follows, and the lists that are exported from the lock."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpucluster import environment, locks
from gpucluster.environment import LOCK, PURPOSES
from rehearsal.tools import ToolsError
from rehearsal.tools.progress import Progress, run
from tests.stacks import ROOT

_LOCK = """\
version = 1

[[package]]
name = "aiohttp"
version = "3.0"
wheels = [{ url = "https://files.pythonhosted.org/a", hash = "sha256:dd", size = 1 }]

[[package]]
name = "uv"
version = "1.0"
source = { registry = "https://pypi.org/simple" }
sdist = { url = "https://files.pythonhosted.org/b", hash = "sha256:aa", size = 1 }
wheels = [
    { url = "https://files.pythonhosted.org/c", hash = "sha256:bb", size = 1 },
]

[[package]]
name = "wheel"
version = "2.0"
wheels = [{ url = "https://files.pythonhosted.org/d", hash = "sha256:cc", size = 1 }]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "packages").mkdir()
    (tmp_path / LOCK).write_text(_LOCK)
    return tmp_path


@pytest.fixture
def commands(project: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Records the commands instead of running them; creating the environment makes its interpreter."""
    recorded: list[list[str]] = []

    def record(command: list[str], what: str, advice: str) -> None:
        assert all((what, advice))
        recorded.append(command)
        if "venv" in command:
            (project / ".venv" / "bin").mkdir(parents=True)
            (project / ".venv" / "bin" / "python").touch()
            (project / ".venv" / "lib" / "python3.10" / "site-packages").mkdir(parents=True)

    monkeypatch.setattr(environment, "run", record)
    return recorded


def _prepare(project: Path, purpose: str = "program") -> bool:
    return environment.prepare(project, purpose, Progress(io.StringIO()))


def _synced(project: Path, commands: list[list[str]]) -> str:
    """The group that the last two commands exported and installed."""
    *export, output, exported = commands[-2]
    files = [Path(each) for each in commands[-1] if each.endswith(".txt")]
    assert files[0] == project / ".venv" / "uv.txt", "uv itself would be removed"
    assert (output, files[1:]) == ("--output-file", [Path(exported)])
    assert "--frozen" in export
    return export[export.index("--only-group") + 1]


def test_installs_once_and_only_with_hashes(project: Path, commands: list[list[str]]) -> None:
    assert _prepare(project)
    assert [("--require-hashes" in command) for command in commands] == [False, True, False, True]
    assert not any(word.startswith("--no-hashes") for command in commands for word in command)
    assert not _prepare(project)
    assert len(commands) == 4


def test_the_program_gets_its_own_packages_only(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    assert _synced(project, commands) == "program"
    assert (project / ".venv" / "bin" / "gpucluster").exists()
    assert not (project / ".venv" / "bin" / "gpu").exists(), "it could not start"


def test_a_purpose_adds_its_packages_to_the_environment(project: Path, commands: list[list[str]]) -> None:
    _prepare(project, "program")
    marker = project / ".venv" / "kept"
    marker.touch()
    assert _prepare(project, "rehearsal")
    assert len(commands) == 6
    assert _synced(project, commands) == "rehearsal"
    assert _prepare(project, "dev")
    assert len(commands) == 8
    assert _synced(project, commands) == "dev"
    assert marker.exists(), "not made again"


def test_what_is_installed_for_more_is_enough_for_less(project: Path, commands: list[list[str]]) -> None:
    _prepare(project, "dev")
    assert [_prepare(project, purpose) for purpose in ("program", "rehearsal", "dev")] == [False, False, False]


def test_a_changed_lock_is_installed_for_what_the_environment_is_for(project: Path, commands: list[list[str]]) -> None:
    _prepare(project, "rehearsal")
    (project / LOCK).write_text(_LOCK.replace('"2.0"', '"2.1"'))
    assert _prepare(project, "program")
    assert _synced(project, commands) == "rehearsal"


def test_another_version_of_uv_is_installed_before_it_is_used(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    (project / LOCK).write_text(_LOCK.replace('"1.0"', '"1.1"'))
    _prepare(project, "dev")
    installs = ["pip" if "pip" in command and "sync" not in command else "uv" for command in commands[1:]]
    assert installs == ["pip", "uv", "uv", "pip", "uv", "uv"]
    assert (project / ".venv" / "uv.txt").read_text().startswith("uv==1.1 ")


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"locks": {}}', "0" * 64])
def test_a_stamp_that_is_not_ours_is_no_installation(project: Path, commands: list[list[str]], stamp: str) -> None:
    _prepare(project)
    (project / ".venv" / ".installed").write_text(stamp)
    assert _prepare(project)
    assert len(commands) == 8


@pytest.mark.parametrize(("name", "folder"), [("gpu", "gpu"), ("gpucluster", "cli")])
def test_the_command_starts_in_any_folder_and_takes_no_module_from_there(
    project: Path, commands: list[list[str]], tmp_path: Path, name: str, folder: str
) -> None:
    _prepare(project, "rehearsal")
    launcher, python = project / ".venv" / "bin" / name, project / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    command = project / "packages" / folder / name
    command.mkdir(parents=True)
    (command / "__init__.py").touch()
    (command / "__main__.py").write_text("import facts, json, sys\ndef main(): print(json.dumps(sys.argv[1:]))\n")
    (project / "facts.py").touch()
    (project / "json.py").write_text("raise RuntimeError\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for module in ("json.py", "facts.py", f"{name}.py"):
        (elsewhere / module).write_text("raise RuntimeError\n")
    command = [launcher, "submit", "--", "a b"]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=True, timeout=240)
    assert json.loads(done.stdout) == ["submit", "--", "a b"]


def test_an_interrupted_install_is_not_taken_for_finished(
    project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(project)
    (project / LOCK).write_text(_LOCK.replace('"2.0"', '"2.1"'))
    with monkeypatch.context() as patch:

        def interrupt(command: list[str], what: str, advice: str) -> None:
            raise KeyboardInterrupt

        patch.setattr(environment, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            _prepare(project)
    (project / LOCK).write_text(_LOCK)  # back to what the first run installed
    assert _prepare(project)
    assert "venv" in commands[-4], "half an installation is not built upon"


def test_an_environment_without_its_python_is_recreated(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    (project / ".venv" / "bin" / "python").unlink()
    assert _prepare(project)


def test_another_folder_s_environment_behind_a_link_stays_as_it_is(
    project: Path, commands: list[list[str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / ".installed").write_text("there")
    (project / ".venv").symlink_to(other)
    with pytest.raises(ToolsError, match="remove the link"):
        _prepare(project)
    assert (other / ".installed").read_text() == "there"
    assert commands == []


def test_a_failing_command_shows_itself_its_output_and_advice() -> None:
    with pytest.raises(ToolsError) as raised:
        run(["/bin/sh", "-c", "seq 30; echo 'no match for uv' >&2; exit 3"], "installing uv", "Check the network.")
    first, command, _, *lines, advice = str(raised.value).splitlines()
    assert first == "installing uv failed with exit code 3."
    assert command == "  command: /bin/sh -c 'seq 30; echo '\"'\"'no match for uv'\"'\"' >&2; exit 3'"
    assert [line.strip() for line in lines] == [*map(str, range(12, 31)), "no match for uv"]
    assert advice == "  what to try: Check the network."


def test_a_missing_lock_says_how_to_get_it_back(tmp_path: Path) -> None:
    with pytest.raises(ToolsError, match=r"uv\.lock: No such file.*git checkout"):
        _prepare(tmp_path)


def test_an_old_python_is_refused(project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "OLDEST_PYTHON", (99, 1))
    with pytest.raises(ToolsError, match=r"is too old, 99\.1 or newer is needed: `make PYTHON="):
        _prepare(project)
    assert commands == []


def test_uv_is_taken_from_the_lock() -> None:
    assert environment.uv_requirement(_LOCK) == "uv==1.0 --hash=sha256:aa --hash=sha256:bb\n"
    assert environment.uv_requirement((ROOT / LOCK).read_text()).count("--hash=sha256:") > 5
    with pytest.raises(ToolsError, match="does not pin uv"):
        environment.uv_requirement('[[package]]\nname = "wheel"\nversion = "2.0"\n')


def _pins(requirements: str) -> dict[str, set[str]]:
    """Package → its versions (several where a marker tells them apart)."""
    pins: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==([^\s;]+)", requirements, re.MULTILINE):
        pins.setdefault(name, set()).add(version)
    return pins


@pytest.mark.parametrize("file", locks.EXPORTED)
def test_an_exported_list_has_hashes_names_no_registry_and_the_lock_s_versions(file: str) -> None:
    content = (ROOT / file).read_text()
    assert content.count("--hash=sha256:") >= len(_pins(content)) > 10
    assert "://" not in content
    assert "file:" not in content
    locked = set(re.findall(r'^name = "(.+)"\nversion = "(.+)"$', (ROOT / LOCK).read_text(), re.MULTILINE))
    assert {(name, version) for name, versions in _pins(content).items() for version in versions} <= locked


def test_the_lock_names_the_public_registry_only() -> None:
    text = (ROOT / LOCK).read_text()
    assert {*re.findall(r'registry = "([^"]+)"', text)} == {"https://pypi.org/simple"}
    assert {*re.findall(r'url = "(https?://[^/]+)', text)} == {"https://files.pythonhosted.org"}


def test_the_list_for_pip_has_the_user_s_packages_at_one_version_each() -> None:
    pins = _pins((ROOT / "requirements.txt").read_text())
    assert {"pulumi", "pulumi-gcp", "pulumi-aws", "pulumi-azure-native", "pulumi-kubernetes", "pytest"} <= {*pins}
    hashed = _pins((ROOT / "requirements.lock").read_text())
    assert {name: hashed[name] for name in pins if name != "PyYAML"} == pins


def test_the_program_s_list_has_nothing_of_the_other_purposes() -> None:
    others = {"moto", "boto3", "kubernetes", "google-api-python-client", "basedpyright", "ruff", "uv", "typer"}
    pins = _pins((ROOT / "requirements.lock").read_text())
    assert others & {*pins} == set()
    assert {"pulumi", "pulumi-policy", "pulumi-gcp", "pydantic", "pyyaml", "pytest"} <= {*pins}


def test_a_list_is_written_with_its_comments() -> None:
    group = 'dev = ["x==1"]\nrequirements = [\n    "a==1",\n    "b[c]==2",  # why\n]\nother = []\n'
    assert locks.requirements(group).splitlines()[2:] == ["a==1", "b[c]==2  # why"]


def test_a_list_that_differs_from_the_lock_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert locks.main(["--check"]) == 0
    lists = locks.exported()
    for file, text in lists.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text if file != "requirements.lock" else text.replace("==", "==9"))
    for name in ("uv.lock", "pyproject.toml"):
        (tmp_path / name).write_text((ROOT / name).read_text())
    for package in ("account", "cli", "gpu", "proof", "rehearsal"):
        folder = tmp_path / "packages" / package
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "pyproject.toml").write_text((ROOT / "packages" / package / "pyproject.toml").read_text())
    (tmp_path / "packages/gpu/gpu").mkdir()
    (tmp_path / "packages/gpu/gpu/__init__.py").write_text((ROOT / "packages/gpu/gpu/__init__.py").read_text())
    monkeypatch.setattr(locks, "ROOT", tmp_path)
    stale: list[str] = []
    monkeypatch.setattr("sys.stderr", SimpleNamespace(write=stale.append))
    assert locks.main(["--check"]) == 1
    assert stale == ["requirements.lock out of date: change pyproject.toml, then run `make lock`\n"]


def test_the_purposes_are_groups_that_hold_each_other() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    for less, more in zip(("requirements", *PURPOSES), PURPOSES, strict=False):
        assert re.search(rf'^{more} = \[\s*{{ include-group = "{less}" }},', text, re.MULTILINE), more


@pytest.mark.parametrize(
    ("target", "modules"),
    [
        ("account", ("account.command", "account.clouds.eks.questions")),
        ("drift", ("rehearsal.report.drift",)),
        ("prove", ("account.prove.command", "rehearsal.report.drift")),
    ],
)
def test_a_target_that_sets_up_less_imports_nothing_of_a_rehearsals_packages(
    target: str, modules: tuple[str, ...]
) -> None:
    (purpose,) = re.findall(rf"^{target}: setup(-\w+)? ", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert purpose in ("", "-account")
    absent = ("googleapiclient", "jinja2", "moto", "psutil", "trustme", "vl_convert")
    program = f"import sys; sys.modules.update(dict.fromkeys({absent!r})); import {', '.join(modules)}"
    subprocess.run([ROOT / ".venv/bin/python", "-c", program], cwd=ROOT, check=True)
