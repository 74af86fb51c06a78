"""The virtual environment's stamp, and the lock file that it follows."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rehearsal.tools import ToolsError, environment
from rehearsal.tools.progress import Progress, run

_PROJECT = Path(__file__).resolve().parents[4]
LOCKS = (
    "requirements.lock",
    "packages/gpu/requirements.lock",
    "packages/rehearsal/requirements.lock",
    "requirements-dev.lock",
)
_LOCK = """\
uv==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via -r requirements-dev.txt
wheel==2.0 \\
    --hash=sha256:cc
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for lock in LOCKS:
        (tmp_path / lock).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / lock).write_text(_LOCK)
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


def _synced(project: Path, commands: list[list[str]]) -> list[str]:
    """The locks that the last command installed."""
    paths = [Path(each) for each in commands[-1] if each.endswith((".lock", ".txt"))]
    assert paths[0] == project / ".venv" / "uv.txt", "uv itself would be removed"
    return [str(path.relative_to(project)) for path in paths[1:]]


def test_installs_once_and_only_with_hashes(project: Path, commands: list[list[str]]) -> None:
    assert _prepare(project)
    assert [("--require-hashes" in command) for command in commands] == [False, True, True]
    assert not _prepare(project)
    assert len(commands) == 3


def test_the_program_gets_its_own_lock_only(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    assert _synced(project, commands) == ["requirements.lock"]
    assert not (project / ".venv" / "bin" / "gpu").exists(), "it could not start"


def test_a_purpose_adds_its_packages_to_the_environment(project: Path, commands: list[list[str]]) -> None:
    _prepare(project, "program")
    marker = project / ".venv" / "kept"
    marker.touch()
    assert _prepare(project, "rehearsal")
    assert len(commands) == 4
    assert _synced(project, commands) == list(LOCKS[:3])
    assert _prepare(project, "dev")
    assert len(commands) == 5
    assert _synced(project, commands) == list(LOCKS)
    assert marker.exists(), "not made again"


def test_what_is_installed_for_more_is_enough_for_less(project: Path, commands: list[list[str]]) -> None:
    _prepare(project, "dev")
    assert [_prepare(project, purpose) for purpose in ("program", "rehearsal", "dev")] == [False, False, False]


def test_a_changed_lock_of_another_purpose_is_installed_with_it(project: Path, commands: list[list[str]]) -> None:
    _prepare(project, "rehearsal")
    (project / LOCKS[3]).write_text(_LOCK.replace("wheel==2.0", "wheel==2.1"))
    assert not _prepare(project), "nothing of the developers' is installed"
    (project / LOCKS[2]).write_text(_LOCK.replace("wheel==2.0", "wheel==2.1"))
    assert _prepare(project, "program")
    assert _synced(project, commands) == list(LOCKS[:3])


def test_another_version_of_uv_is_installed_before_it_is_used(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    (project / LOCKS[3]).write_text(_LOCK.replace("uv==1.0", "uv==1.1"))
    _prepare(project, "dev")
    assert [("pip", "sync")[("sync" in command)] for command in commands[1:]] == ["pip", "sync", "pip", "sync"]
    assert (project / ".venv" / "uv.txt").read_text().startswith("uv==1.1 ")


@pytest.mark.parametrize("stamp", ["", "{", "[]", '{"locks": {}}', "0" * 64])
def test_a_stamp_that_is_not_ours_is_no_installation(project: Path, commands: list[list[str]], stamp: str) -> None:
    _prepare(project)
    (project / ".venv" / ".installed").write_text(stamp)
    assert _prepare(project)
    assert len(commands) == 6


@pytest.mark.parametrize(("name", "package"), [("gpu", "gpu"), ("gpucluster", "rehearsal")])
def test_the_command_starts_in_any_folder_and_takes_no_module_from_there(
    project: Path, commands: list[list[str]], tmp_path: Path, name: str, package: str
) -> None:
    _prepare(project, "rehearsal")
    launcher, python = project / ".venv" / "bin" / name, project / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    command = project / "packages" / package / package
    command.mkdir()
    (command / "__init__.py").touch()
    (command / "__main__.py").write_text("import facts, json, sys\ndef main(): print(json.dumps(sys.argv[1:]))\n")
    (project / "facts.py").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for module in ("json.py", "facts.py", f"{package}.py"):
        (elsewhere / module).write_text("raise RuntimeError\n")
    command = [launcher, "submit", "--", "a b"]
    done = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=True, timeout=240)
    assert json.loads(done.stdout) == ["submit", "--", "a b"]


def test_a_changed_lock_installs_again(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    (project / "requirements.lock").write_text(_LOCK.replace("wheel==2.0", "wheel==2.1"))
    assert _prepare(project)
    assert len(commands) == 4, "the same environment, the other packages"


def test_an_interrupted_install_is_not_taken_for_finished(
    project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    _prepare(project)
    (project / "requirements.lock").write_text(_LOCK.replace("wheel==2.0", "wheel==2.1"))
    with monkeypatch.context() as patch:

        def interrupt(command: list[str], what: str, advice: str) -> None:
            raise KeyboardInterrupt

        patch.setattr(environment, "run", interrupt)
        with pytest.raises(KeyboardInterrupt):
            _prepare(project)
    (project / "requirements.lock").write_text(_LOCK)  # back to what the first run installed
    assert _prepare(project)
    assert "venv" in commands[-3], "half an installation is not built upon"


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
    with pytest.raises(ToolsError, match=r"requirements\.lock: No such file.*git checkout"):
        _prepare(tmp_path)


def test_an_old_python_is_refused(project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "OLDEST_PYTHON", (99, 1))
    with pytest.raises(ToolsError, match=r"is too old, 99\.1 or newer is needed: `make PYTHON="):
        _prepare(project)
    assert commands == []


def test_uv_is_taken_from_the_lock() -> None:
    assert environment.uv_requirement(_LOCK) == "uv==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    assert environment.uv_requirement((_PROJECT / LOCKS[3]).read_text()).count("--hash=sha256:") > 5
    with pytest.raises(ToolsError, match="does not pin uv"):
        environment.uv_requirement("wheel==2.0\n")


def _pins(lock: str) -> dict[str, set[str]]:
    """Package → its versions (several where a marker tells them apart)."""
    pins: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([a-z0-9-]+)==([^\s;]+)", (_PROJECT / lock).read_text(), re.MULTILINE):
        pins.setdefault(name, set()).add(version)
    return pins


def test_a_package_has_one_version_in_all_locks() -> None:
    versions: dict[str, dict[str, set[str]]] = {}
    for lock in LOCKS:
        for name, pinned in _pins(lock).items():
            versions.setdefault(name, {})[lock] = pinned
    assert sum(len(locks) > 1 for locks in versions.values()) > 10
    assert {name: locks for name, locks in versions.items() if len(set(map(frozenset, locks.values()))) > 1} == {}


@pytest.mark.parametrize(
    ("lock", "requirements"),
    list(
        zip(
            LOCKS,
            (
                "requirements.txt",
                "packages/gpu/pyproject.toml",
                "packages/rehearsal/pyproject.toml",
                "requirements-dev.txt",
            ),
            strict=True,
        )
    ),
)
def test_a_lock_follows_its_requirements_has_hashes_and_names_no_registry(lock: str, requirements: str) -> None:
    content, text = (_PROJECT / lock).read_text(), (_PROJECT / requirements).read_text()
    # The lock names what an extra brings, not the extra.
    direct = re.findall(r"^(?: *\")?([A-Za-z][\w-]*)(?:\[.*\])?((?:[=<>]=?[^\s;\"]+)+)", text, re.MULTILINE)
    pins = _pins(lock)
    assert len(direct) > 3
    assert [name for name, _ in direct if name.lower() not in pins] == []
    exact = [(name.lower(), bound[2:]) for name, bound in direct if bound.startswith("==")]
    assert [name for name, version in exact if version not in pins[name]] == []
    assert content.count("--hash=sha256:") >= len(pins)
    assert "://" not in content


def test_the_program_s_lock_has_nothing_of_the_other_purposes() -> None:
    others = {"moto", "boto3", "kubernetes", "google-api-python-client", "basedpyright", "ruff", "uv", "typer"}
    assert others & set(_pins("requirements.lock")) == set()
    assert {"pulumi", "pulumi-policy", "pulumi-gcp", "pydantic", "pyyaml", "pytest"} <= set(_pins("requirements.lock"))
