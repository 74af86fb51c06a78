"""Flat apt repositories: ``Packages``, ``Release`` and its signature, by a key that only signs them and is thrown away.

The format: https://wiki.debian.org/DebianRepository/Format#Flat_Repository_Format.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.lab.software.debs import ARCHITECTURE
from rehearsal.tools.progress import run

_OWNER: Final = "Rehearsal of own machines <rehearsal@example.invalid>"
_DATE: Final = "Tue, 14 Nov 2023 22:13:20 UTC"
_ADVICE: Final = "Install GnuPG (Debian, Ubuntu: `apt install gnupg`)."


@dataclass(frozen=True)
class SigningKey:
    """A key in the GnuPG folder ``home``."""

    home: Path

    def export(self, target: Path) -> None:
        """Write the public key, ASCII-armored."""
        _gpg(self.home, "--armor", "--output", str(target), "--export")

    def sign(self, folder: Path) -> None:
        """Write ``InRelease`` and ``Release.gpg`` beside ``Release``."""
        release = str(folder / "Release")
        _gpg(self.home, "--output", str(folder / "InRelease"), "--clear-sign", release)
        _gpg(self.home, "--armor", "--output", str(folder / "Release.gpg"), "--detach-sign", release)


@contextlib.contextmanager
def signing_key() -> Iterator[SigningKey]:
    """A new key without a passphrase, deleted at the end."""
    # Not in the cache: the path of the agent's socket must be short.
    home = Path(tempfile.mkdtemp(prefix="gpg-"))
    key = SigningKey(home)
    try:
        _gpg(home, "--passphrase", "", "--quick-generate-key", _OWNER, "ed25519", "sign", "never")
        yield key
    finally:
        subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], capture_output=True)
        shutil.rmtree(home, ignore_errors=True)


def _gpg(home: Path, *arguments: str) -> None:
    run(["gpg", "--homedir", str(home), "--batch", "--yes", *arguments], "signing with gpg", _ADVICE)


def publish(folder: Path, origin: str, key: SigningKey) -> None:
    """Index and sign the .deb files of ``folder`` as a flat repository; ``origin`` is what apt pins match."""
    stanzas = [_stanza(package) for package in sorted(folder.glob("*.deb"))]
    packages = "\n".join(stanzas).encode()
    (folder / "Packages").write_bytes(packages)
    (folder / "Packages.gz").write_bytes(gzip.compress(packages, 1, mtime=0))
    lines = [f"Origin: {origin}", f"Label: {origin}", f"Architectures: {ARCHITECTURE}", f"Date: {_DATE}", "SHA256:"]
    for name in ("Packages", "Packages.gz"):
        content = (folder / name).read_bytes()
        lines.append(f" {hashlib.sha256(content).hexdigest()} {len(content)} {name}")
    (folder / "Release").write_text("\n".join(lines) + "\n", encoding="utf-8")
    key.sign(folder)


def _stanza(package: Path) -> str:
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}
    answer = subprocess.run(
        ["dpkg-deb", "--field", str(package)], env=environment, check=True, capture_output=True, text=True
    )
    content = package.read_bytes()
    own = f"Filename: ./{package.name}\nSize: {len(content)}\nSHA256: {hashlib.sha256(content).hexdigest()}\n"
    return answer.stdout.rstrip("\n") + "\n" + own
