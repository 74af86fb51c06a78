"""Release archives that need no compiling: ``archives.csv`` pins each by its hash, with the hash's source.

An archive counts only as long as go.mod pins the version that it ``replaces``, so a raised pin is compiled until the
table follows. The programs are extracted only if an archive has the pinned hash.
"""

from __future__ import annotations

import csv
import functools
import hashlib
import http.client
import shutil
import tarfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from rehearsal.tools.modules import INSTALLER_VERSION, Module, target
from rehearsal.tools.progress import RunningStage, ToolsError

TABLE: Final = Path(__file__).resolve().with_name("archives.csv")
ORIGINS: Final = ("auto", "archives", "source")


@dataclass(frozen=True)
class Archive:
    """A ``.tar.gz`` with ``files`` in any folder, or the one program itself; ``digest``: ``sha256:…``, ``sha512:…``."""

    url: str
    digest: str
    files: tuple[str, ...]


@functools.cache
def rows() -> tuple[Mapping[str, str], ...]:
    """The table: column → text."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def archives_of(module: Module) -> tuple[Archive, ...] | str:
    """The archives that hold all ``module.files`` for this machine, or the reason why the module is compiled."""
    if module.number:
        return f"it is to call itself {module.number}"
    own = [row for row in rows() if row["module"] == module.name]
    if reason := next((row["compiled_because"] for row in own if row["compiled_because"]), ""):
        return reason
    system, architecture = target()
    own = [row for row in own if (row["os"], row["arch"]) == (system, architecture)]
    if not own:
        return f"no archive for {system}/{architecture} is pinned"
    for row in own:
        name, version = row["replaces"].split()
        if module.version(name) != version:
            return f"{TABLE.name} has {name} {version}, go.mod {module.version(name)}"
    return tuple(Archive(row["url"], row["digest"], tuple(row["files"].split())) for row in own)


def unpacked_folder(module: Module, archives: tuple[Archive, ...]) -> str:
    """The name of the folder in the cache for what comes from ``archives``; never that of a compiled module."""
    definition = repr([INSTALLER_VERSION, *((each.digest, each.files) for each in archives)])
    return f"{module.name}-release-{hashlib.sha256(definition.encode()).hexdigest()[:16]}"


def origin(environ: Mapping[str, str]) -> str:
    """``$GPUCLUSTER_TOOLS_FROM``: ``auto`` (archives, else compile; the default), ``archives`` or ``source`` alone."""
    value = environ.get("GPUCLUSTER_TOOLS_FROM") or ORIGINS[0]
    if value not in ORIGINS:
        raise ToolsError(f"GPUCLUSTER_TOOLS_FROM={value}: write {', '.join(ORIGINS[:-1])} or {ORIGINS[-1]}")
    return value


SECONDS: Final = 8.0
"""How long a server may take to connect, and to send the next bytes."""
_CHUNK: Final = 1 << 18
_MB: Final = 1e6


class Unavailable(Exception):
    """An archive cannot be had; the message says which and why."""


class Downloads:
    """The downloads of one run, kept in ``folder``: each archive is fetched once, a host without an answer asked once.

    ``$GPUCLUSTER_TOOLS_MIRROR`` is the URL of a mirror, ``https://…`` or ``file:///…``. Below it lies what the
    official hosts have: ``<mirror>/github.com/rhysd/actionlint/releases/…``.
    """

    def __init__(self, folder: Path, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._mirror = environ.get("GPUCLUSTER_TOOLS_MIRROR", "").rstrip("/")
        self._unreachable: dict[str, str] = {}

    def unpack(self, archive: Archive, folder: Path, stage: RunningStage) -> None:
        """Put the archive's ``files`` into ``folder``. Raises Unavailable."""
        downloaded = self._folder / archive.digest.replace(":", "-")
        if not downloaded.exists():
            partial = downloaded.with_suffix(".partial")
            self._download(archive, partial, stage)
            partial.rename(downloaded)
        if archive.url.endswith(".tar.gz"):
            _extract(downloaded, archive, folder)
        else:
            shutil.copyfile(downloaded, folder / archive.files[0])
        for name in archive.files:
            (folder / name).chmod(0o755)

    def _download(self, archive: Archive, file: Path, stage: RunningStage) -> None:
        parts = urlsplit(archive.url)
        url = f"{self._mirror}/{parts.netloc}{parts.path}" if self._mirror else archive.url
        host = urlsplit(url).netloc
        if host in self._unreachable:
            raise Unavailable(f"{host}: {self._unreachable[host]}")
        algorithm, _, expected = archive.digest.partition(":")
        digest, received = hashlib.new(algorithm), 0
        try:
            with urllib.request.urlopen(url, timeout=SECONDS) as answer, file.open("wb") as output:
                size = int(answer.headers.get("Content-Length") or 0)
                while chunk := answer.read(_CHUNK):
                    output.write(chunk)
                    digest.update(chunk)
                    received += len(chunk)
                    of = f" of {size / _MB:.0f}" if size else ""
                    stage.detail = f"{received / _MB:.0f}{of} MB of {parts.path.rpartition('/')[2]}"
        except urllib.error.HTTPError as error:
            raise Unavailable(f"{url}: {error.code} {error.reason}") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", error)  # of URLError
            late = isinstance(reason, TimeoutError)
            self._unreachable[host] = (
                f"no answer within {SECONDS:g} s" if late else getattr(reason, "strerror", None) or str(reason)
            )
            raise Unavailable(f"{host}: {self._unreachable[host]}") from error
        if received < size:
            raise Unavailable(f"{url}: ended after {received} of {size} bytes")
        if digest.hexdigest() != expected:
            raise Unavailable(
                f"WRONG HASH, not installed: {url} has {algorithm} {digest.hexdigest()}, pinned is {expected}"
            )


def _extract(file: Path, archive: Archive, folder: Path) -> None:
    """Only regular files called like one of ``archive.files`` are read, and their paths decide nothing."""
    try:
        with tarfile.open(file, "r|gz") as tar:
            for member in tar:
                name = member.name.rpartition("/")[2]
                if name in archive.files and (content := member.isfile() and tar.extractfile(member)):
                    with content, (folder / name).open("xb") as output:
                        shutil.copyfileobj(content, output)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise Unavailable(f"{archive.url} is no usable archive: {error}") from error
    if missing := [name for name in archive.files if not (folder / name).is_file()]:
        raise Unavailable(f"{archive.url} has no {', '.join(missing)}")
