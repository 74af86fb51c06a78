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
from rehearsal.tools.command import run
from rehearsal.tools.progress import Progress

_PROJECT = Path(__file__).resolve().parents[4]
_LOCK = """\
uv==1.0 \\
    --hash=sha256:aa \\
    --hash=sha256:bb
    # via -r requirements.txt
wheel==2.0 \\
    --hash=sha256:cc
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "requirements.lock").write_text(_LOCK)
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


def _prepare(project: Path) -> bool:
    return environment.prepare(project, Progress(io.StringIO()))


def test_installs_once_and_only_with_hashes(project: Path, commands: list[list[str]]) -> None:
    assert _prepare(project)
    assert [("--require-hashes" in command) for command in commands] == [False, True, True]
    assert not _prepare(project)
    assert len(commands) == 3


def test_the_command_starts_in_any_folder_and_takes_no_module_from_there(
    project: Path, commands: list[list[str]], tmp_path: Path
) -> None:
    _prepare(project)
    launcher, python = project / ".venv" / "bin" / "gpu", project / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    (project / "gpu").mkdir()
    (project / "gpu" / "cli.py").write_text("import json, sys\ndef main(): print(json.dumps(sys.argv[1:]))\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "json.py").write_text("raise RuntimeError\n")
    done = subprocess.run(
        [launcher, "submit", "--", "a b"], cwd=elsewhere, capture_output=True, text=True, check=True, timeout=240
    )
    assert json.loads(done.stdout) == ["submit", "--", "a b"]
    launcher.unlink()
    assert not _prepare(project)
    assert launcher.exists(), "an environment of before gets it, without an installation"


def test_a_changed_lock_installs_again(project: Path, commands: list[list[str]]) -> None:
    _prepare(project)
    (project / "requirements.lock").write_text(_LOCK.replace("wheel==2.0", "wheel==2.1"))
    assert _prepare(project)
    assert len(commands) == 6


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


def test_an_environment_whose_python_is_gone_is_made_again(project: Path, commands: list[list[str]]) -> None:
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


def test_an_old_python_is_refused_with_the_way_to_name_another(
    project: Path, commands: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "OLDEST_PYTHON", (99, 1))
    with pytest.raises(ToolsError, match=r"is too old, 99\.1 or newer is needed: `make PYTHON="):
        _prepare(project)
    assert commands == []


def test_uv_is_taken_from_the_lock() -> None:
    assert environment.uv_requirement(_LOCK) == "uv==1.0 \\\n    --hash=sha256:aa \\\n    --hash=sha256:bb\n"
    assert environment.uv_requirement((_PROJECT / "requirements.lock").read_text()).count("--hash=sha256:") > 5
    with pytest.raises(ToolsError, match="does not pin uv"):
        environment.uv_requirement("wheel==2.0\n")


def test_the_lock_follows_the_requirements_and_names_no_registry() -> None:
    lock = (_PROJECT / "requirements.lock").read_text()
    requirements = (_PROJECT / "requirements.txt").read_text()
    # The lock names what an extra brings, not the extra.
    pins = [re.sub(r"\[.*\]", "", pin) for pin in re.findall(r"^([^\s;]+==[^\s;]+)", requirements, re.MULTILINE)]
    assert len(pins) > 10
    assert [pin for pin in pins if f"\n{pin.lower()} " not in f"\n{lock}"] == []
    assert "://" not in lock
