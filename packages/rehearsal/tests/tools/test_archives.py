"""Release archives from a server on this machine: right, wrong, truncated, absent, silent; and what is done then."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from packages.rehearsal.tests.fake_go import FakeGo
from rehearsal.tools import ToolsError, download
from rehearsal.tools.download import Archive, Downloads, Unavailable, archives_of, unpacked_folder
from rehearsal.tools.install import install, make_plan
from rehearsal.tools.modules import LAB, MODULES, Module
from rehearsal.tools.progress import Progress, RunningStage

LINT = "https://example.org/v1.2.3/lint.tar.gz"
STORE = "https://example.org/v1.2.3/store"


def _tar(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return packed.getvalue()


LINT_ARCHIVE = _tar(**{"lint-1.2.3/lint": b"the released lint", "lint-1.2.3/README": b"read me"})


@dataclass
class Server:
    """``files``: path → content. ``truncated`` paths promise twice their bytes; ``asked`` are the requests."""

    port: int = 0
    files: dict[str, bytes] = field(default_factory=dict)
    truncated: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    released = {"lint.tar.gz": LINT_ARCHIVE, "store": b"the released store"}
    state = Server(files={f"/example.org/v1.2.3/{name}": content for name, content in released.items()})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            state.asked.append(self.path)
            if (content := state.files.get(self.path)) is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(content) * (1 + (self.path in state.truncated))))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        state.port = listening.server_port
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield state
        listening.shutdown()


@pytest.fixture
def go(tmp_path: Path) -> FakeGo:
    return FakeGo.make(tmp_path / "go")


@pytest.fixture
def environ(tmp_path: Path, go: FakeGo, server: Server) -> dict[str, str]:
    return {"PATH": str(go.folder), "GPUCLUSTER_CACHE": str(tmp_path / "cache"), "GPUCLUSTER_TOOLS_MIRROR": server.url}


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Module, ...]]:
    """``lint`` and ``store`` have archives for linux/amd64, which this machine is; ``patched`` is always compiled."""

    def module(name: str) -> Module:
        directory = tmp_path / "modules" / name
        directory.mkdir(parents=True)
        (directory / "go.mod").write_text(f"tool example.org/{name}\nrequire example.org/{name} v1.2.3\n")
        (directory / "go.sum").write_text("")
        return Module(directory, minutes=0.1, build_gib=0.001, installed_gib=0.001)

    def digest(content: bytes) -> str:
        return f"sha256:{hashlib.sha256(content).hexdigest()}"

    table = tmp_path / "archives.csv"
    table.write_text(
        "module,replaces,os,arch,files,url,digest,digest_source,compiled_because\n"
        f"lint,example.org/lint v1.2.3,linux,amd64,lint,{LINT},{digest(LINT_ARCHIVE)},https://example.org,\n"
        f"store,example.org/store v1.2.3,linux,amd64,store,{STORE},{digest(b'the released store')},https://example.org,\n"
        "patched,,,,,,,,its waits are shortened\n"
    )
    monkeypatch.setattr(download, "TABLE", table)
    monkeypatch.setattr(download, "target", lambda: ("linux", "amd64"))
    monkeypatch.setattr(download, "SECONDS", 0.3)
    download.rows.cache_clear()
    yield module("lint"), module("store"), module("patched")
    download.rows.cache_clear()


def _install(environ: dict[str, str], modules: tuple[Module, ...]) -> tuple[dict[str, str], str]:
    """What each program is, and what was printed."""
    out = io.StringIO()
    folder = install(Progress(out), environ, modules)
    return {path.name: path.read_text() for path in folder.iterdir()}, out.getvalue()


COMPILED_LINT = "#!/bin/sh\necho example.org/lint"


def test_what_has_an_archive_is_not_compiled(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    programs, printed = _install(environ, modules)
    assert programs == {
        "lint": "the released lint",
        "store": "the released store",
        "patched": "#!/bin/sh\necho example.org/patched",
    }
    assert len(go.calls("build")) == 1
    assert "patched: to be compiled: its waits are shortened" in printed
    folder = make_plan(environ, modules).folder
    assert all((folder / name).stat().st_mode & 0o777 == 0o755 for name in ("lint", "store"))
    assert [path.name for path in Path(environ["GPUCLUSTER_CACHE"]).glob("tmp-*")] == []


def test_what_is_there_is_not_asked_for(environ: dict[str, str], server: Server, modules: tuple[Module, ...]) -> None:
    _install(environ, modules)
    server.asked.clear()
    assert _install(environ, modules)[1] == ""
    assert server.asked == []


def test_what_was_compiled_needs_no_net(environ: dict[str, str], server: Server, modules: tuple[Module, ...]) -> None:
    compiled = install(Progress(io.StringIO()), {**environ, "GPUCLUSTER_TOOLS_FROM": "source"}, modules)
    assert server.asked == []
    assert install(Progress(io.StringIO()), environ, modules) == compiled
    assert server.asked == []


def test_a_wrong_hash_is_reported_never_installed_and_compiled_instead(
    environ: dict[str, str], server: Server, modules: tuple[Module, ...]
) -> None:
    server.files["/example.org/v1.2.3/lint.tar.gz"] = _tar(lint=b"not what was released")
    programs, printed = _install(environ, modules)
    assert programs["lint"] == COMPILED_LINT
    assert "lint: to be compiled: WRONG HASH, not installed: http://127.0.0.1" in printed
    assert not any(Path(environ["GPUCLUSTER_CACHE"]).glob("lint-release-*"))
    assert programs["store"] == "the released store"


def test_a_truncated_archive_is_compiled(environ: dict[str, str], server: Server, modules: tuple[Module, ...]) -> None:
    server.truncated.add("/example.org/v1.2.3/lint.tar.gz")
    programs, printed = _install(environ, modules)
    assert programs["lint"] == COMPILED_LINT
    size = len(LINT_ARCHIVE)
    assert f"ended after {size} of {2 * size} bytes" in printed


def test_an_absent_archive_is_compiled_instead_and_its_host_is_asked_for_the_next(
    environ: dict[str, str], server: Server, modules: tuple[Module, ...]
) -> None:
    del server.files["/example.org/v1.2.3/lint.tar.gz"]
    programs, printed = _install(environ, modules)
    assert (programs["lint"], programs["store"]) == (COMPILED_LINT, "the released store")
    assert "/example.org/v1.2.3/lint.tar.gz: 404 Not Found" in printed


def test_a_silent_server_is_asked_once(environ: dict[str, str], go: FakeGo, modules: tuple[Module, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        _, printed = _install({**environ, "GPUCLUSTER_TOOLS_MIRROR": f"http://127.0.0.1:{port}"}, modules)
        silent.settimeout(0)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
    assert printed.count(f"to be compiled: 127.0.0.1:{port}: no answer within 0.3 s") == 2
    assert len(go.calls("build")) == 3


def test_a_refused_connection_is_compiled_instead(environ: dict[str, str], modules: tuple[Module, ...]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    programs, printed = _install({**environ, "GPUCLUSTER_TOOLS_MIRROR": f"http://127.0.0.1:{port}"}, modules)
    assert programs["lint"] == COMPILED_LINT
    (line,) = [line for line in printed.splitlines() if line.startswith(f"lint: to be compiled: 127.0.0.1:{port}: ")]
    assert line.endswith("Connection refused")


def test_archives_can_be_required(environ: dict[str, str], server: Server, modules: tuple[Module, ...]) -> None:
    forced = {**environ, "GPUCLUSTER_TOOLS_FROM": "archives"}
    assert _install(forced, modules)[0]["lint"] == "the released lint"
    compiled = {**forced, "GPUCLUSTER_CACHE": environ["GPUCLUSTER_CACHE"] + "-2"}
    server.files.clear()
    with pytest.raises(ToolsError, match=r"lint: .*404 Not Found \(GPUCLUSTER_TOOLS_FROM=archives\)"):
        _install(compiled, modules)
    assert [path.name for path in Path(compiled["GPUCLUSTER_CACHE"]).iterdir()] == ["lock"]


def test_a_misspelled_switch_lists_the_right_ones(environ: dict[str, str]) -> None:
    with pytest.raises(ToolsError, match="GPUCLUSTER_TOOLS_FROM=sources: write auto, archives or source"):
        make_plan({**environ, "GPUCLUSTER_TOOLS_FROM": "sources"})


def test_a_mirror_may_be_a_folder(environ: dict[str, str], tmp_path: Path, modules: tuple[Module, ...]) -> None:
    mirrored = tmp_path / "mirror" / "example.org" / "v1.2.3"
    mirrored.mkdir(parents=True)
    (mirrored / "lint.tar.gz").write_bytes(LINT_ARCHIVE)
    environ["GPUCLUSTER_TOOLS_MIRROR"] = f"file://{tmp_path / 'mirror'}"
    assert _install(environ, modules[:1])[0] == {"lint": "the released lint"}


def test_a_raised_pin_is_compiled_first(environ: dict[str, str], server: Server, modules: tuple[Module, ...]) -> None:
    go_mod = modules[0].directory / "go.mod"
    go_mod.write_text(go_mod.read_text().replace("v1.2.3", "v1.2.4"))
    assert archives_of(modules[0]) == "archives.csv has example.org/lint v1.2.3, go.mod v1.2.4"
    assert _install(environ, modules[:1])[0] == {"lint": COMPILED_LINT}
    assert server.asked == []


def test_another_machine_compiles(modules: tuple[Module, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "target", lambda: ("darwin", "arm64"))
    assert archives_of(modules[0]) == "no archive for darwin/arm64 is pinned"


def _unpack(content: bytes, files: tuple[str, ...], tmp_path: Path) -> Path:
    source, downloaded, folder = tmp_path / "a.tar.gz", tmp_path / "downloads", tmp_path / "deep" / "folder"
    source.write_bytes(content)
    downloaded.mkdir()
    folder.mkdir(parents=True)
    archive = Archive(source.as_uri(), f"sha512:{hashlib.sha512(content).hexdigest()}", files)
    Downloads(downloaded, {}).unpack(archive, folder, RunningStage())
    return folder


@pytest.mark.parametrize("name", ["../../lint", "/lint", "lint-1.2.3/../../../lint"])
def test_paths_in_an_archive_lead_nowhere(tmp_path: Path, name: str) -> None:
    folder = _unpack(_tar(**{name: b"lint", "../../other": b"other"}), ("lint",), tmp_path)
    assert (folder / "lint").read_bytes() == b"lint"
    files = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in files if not path.startswith("downloads/")} == {"a.tar.gz", "deep/folder/lint"}


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe", "folder"])
def test_links_pipes_and_folders_are_no_programs(tmp_path: Path, kind: str) -> None:
    entry, other = tmp_path / "lint", tmp_path / "other"
    other.touch()
    {
        "link": lambda: entry.symlink_to("/etc/passwd"),
        "hard link": lambda: entry.hardlink_to(other),
        "pipe": lambda: os.mkfifo(entry),
        "folder": entry.mkdir,
    }[kind]()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path in (other, entry):
            tar.add(path, path.name)
    with pytest.raises(Unavailable, match=r"a\.tar\.gz has no lint"):
        _unpack(packed.getvalue(), ("lint",), tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (_tar(**{"a/lint": b"1", "b/lint": b"2"}), "no usable archive"),
        (b"no gzip at all", "no usable archive"),
        (_tar(other=b"1"), "has no lint"),
    ],
    ids=["twice", "no gzip", "lacking"],
)
def test_an_archive_without_exactly_one_program_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        _unpack(content, ("lint",), tmp_path)


def test_the_table_has_an_archive_for_every_file_of_every_module_or_a_reason() -> None:
    for module in (*MODULES, *LAB):
        rows = [row for row in download.rows() if row["module"] == module.name]
        if [row["compiled_because"] for row in rows] != [""] * len(rows):
            assert len(rows) == 1, module.name
            continue
        for architecture in ("amd64", "arm64"):
            own = [row for row in rows if (row["os"], row["arch"]) == ("linux", architecture)]
            assert sorted(name for row in own for name in row["files"].split()) == sorted(module.files), module.name
    assert {row["module"] for row in download.rows()} == {module.name for module in (*MODULES, *LAB)}


def test_every_archive_is_what_go_mod_pins_and_has_a_whole_hash_with_its_source() -> None:
    modules = {module.name: module for module in (*MODULES, *LAB)}
    for row in download.rows():
        if row["compiled_because"]:
            continue
        name, version = row["replaces"].split()
        assert modules[row["module"]].version(name) == version
        algorithm, _, digest = row["digest"].partition(":")
        assert len(bytes.fromhex(digest)) == {"sha256": 32, "sha512": 64}[algorithm]
        assert row["url"].startswith("https://")
        assert row["digest_source"].startswith("https://")
        if row["module"] != "pulumi-python":  # the language host comes with the CLI, in its version
            assert version.lstrip("v") in row["url"]


def test_folders_of_archives_are_not_those_of_builds(modules: tuple[Module, ...]) -> None:
    published = archives_of(modules[0])
    assert isinstance(published, tuple)
    other = tuple(Archive(each.url, "sha256:00", each.files) for each in published)
    names = {modules[0].folder, unpacked_folder(modules[0], published), unpacked_folder(modules[0], other)}
    assert len(names) == 3
