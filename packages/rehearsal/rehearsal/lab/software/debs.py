"""Debian packages made with ``dpkg-deb`` (the same input gives the same package): rows of ``files/packages.yaml``.

Kubernetes' are as https://pkgs.k8s.io has them. NVIDIA's are simulated, without a kernel module or a library:
``nvidia-modprobe`` makes device nodes for the GPUs of /sys/bus/pci, and ``nvidia-smi`` answers from what that has
loaded. As with a real driver, a new version counts from the next boot on, and until then ``nvidia-smi`` reports a
mismatch. ``/proc/driver/nvidia`` does not exist.

They lie in flat apt repositories, signed by a key that only signs them and is thrown away:
https://wiki.debian.org/DebianRepository/Format#Flat_Repository_Format.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.tools.modules import CNI_PLUGINS, CRICTL
from rehearsal.tools.progress import run

ARCHITECTURE: Final = "amd64"
_EPOCH: Final = "1700000000"
"""The time of every file, in seconds since 1970."""


@dataclass(frozen=True)
class Link:
    """A symbolic link to ``target``."""

    target: str


@dataclass(frozen=True)
class Package:
    """One binary package.

    ``files`` maps an absolute path to its content, to a file that is copied, or to a ``Link``; a content that starts
    with ``#!`` and a copied file are executable. ``relations`` are fields such as ``Depends``; ``scripts`` maintainer
    scripts by their names (``postinst``, ``prerm``). Files in /etc are conffiles.
    """

    name: str
    version: str
    summary: str
    files: Mapping[str, str | Path | Link] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)

    @property
    def file_name(self) -> str:
        """E.g. ``kubelet_1.34.4-1.1_amd64.deb``."""
        return f"{self.name}_{self.version}_{ARCHITECTURE}.deb"

    @property
    def control(self) -> str:
        """https://www.debian.org/doc/debian-policy/ch-controlfields.html"""
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": ARCHITECTURE,
            "Maintainer": "The rehearsal of own machines <rehearsal@example.invalid>",
            **self.relations,
            "Description": f"{self.summary}\n Made for a rehearsal; not the upstream project's package.",
        }
        return "".join(f"{key}: {value}\n" for key, value in fields.items())


def build(package: Package, folder: Path) -> Path:
    """Write ``package`` into ``folder``. Raises ToolsError with dpkg-deb's own words."""
    target = folder / package.file_name
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "root"
        for path, source in package.files.items():
            _place(source, root / path.lstrip("/"))
        control = root / "DEBIAN"
        control.mkdir(parents=True)
        (control / "control").write_text(package.control, encoding="utf-8")
        if conffiles := [path for path in package.files if path.startswith("/etc/")]:
            (control / "conffiles").write_text("".join(f"{path}\n" for path in conffiles), encoding="utf-8")
        for name, script in package.scripts.items():
            _place(script, control / name)
        for directory in (root, *(path for path in root.rglob("*") if path.is_dir())):
            directory.chmod(0o755)
        os.environ.setdefault("SOURCE_DATE_EPOCH", _EPOCH)
        command = ["dpkg-deb", "--build", "--root-owner-group", "-Zgzip", "-z1", str(root), str(target)]
        run(command, f"packing {package.name}", "dpkg-deb comes with Debian and Ubuntu (package dpkg).")
    return target


def _place(source: str | Path | Link, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(source, Link):
        target.symlink_to(source.target)
    elif isinstance(source, Path):
        shutil.copyfile(source, target)
        target.chmod(0o755)
    else:
        target.write_text(source, encoding="utf-8")
        target.chmod(0o755 if source.startswith("#!") else 0o644)


DRIVERS: Final = ("580.95.05", "595.71.05")
"""One version per branch."""
TOOLKIT: Final = "1.18.1"
_FILES: Final = Path(__file__).resolve().parent / "files"


def kubernetes(tools: Path, own: Path, version: str) -> list[Package]:
    """Of a ``version`` such as ``v1.34.4`` from the binaries in ``own``, and what they need from those in ``tools``."""
    crictl = CRICTL.version("sigs.k8s.io/cri-tools").lstrip("v")
    cni = CNI_PLUGINS.version("github.com/containernetworking/plugins").lstrip("v")
    folders = {"tools": tools, "own": own}
    *others, plugins = _packages("kubernetes", folders, release=version.lstrip("v"), crictl=crictl, cni=cni)
    return [*others, replace(plugins, files={f"/opt/cni/bin/{name}": tools / name for name in CNI_PLUGINS.binaries})]


def drivers(tools: Path) -> list[Package]:
    """The driver's packages of all branches."""
    branches = ((version, version.partition(".")[0]) for version in DRIVERS)
    return [
        package
        for version, branch in branches
        for package in _packages("driver", {"tools": tools}, version=version, branch=branch)
    ]


def toolkit(tools: Path) -> list[Package]:
    """The container toolkit's packages."""
    return _packages("toolkit", {"tools": tools}, version=TOOLKIT)


def kernel_headers() -> list[Package]:
    """Headers of this machine's kernel."""
    return _packages("kernel", {}, release=platform.release())


def _packages(repository: str, folders: Mapping[str, Path], **values: str) -> list[Package]:
    def filled(texts: Mapping[str, str]) -> dict[str, str]:
        return {key: text.format_map(values) for key, text in texts.items()}

    def content(source: str | Mapping[str, str]) -> str | Path | Link:
        if isinstance(source, str):
            return source.format_map(values)
        ((kind, name),) = source.items()
        return Link(name) if kind == "link" else _text(name) if kind == "file" else folders[kind] / name

    def package(row: Mapping[str, Any]) -> Package:
        return Package(
            **filled({key: row[key] for key in ("name", "version", "summary")}),
            files={path.format_map(values): content(source) for path, source in row.get("files", {}).items()},
            relations=filled(row.get("relations", {})),
            scripts={name: _text(file).replace("UNIT", unit) for name, (file, unit) in row.get("scripts", {}).items()},
        )

    return [package(row) for row in yaml.safe_load(_text("packages.yaml"))[repository]]


def _text(file: str) -> str:
    return (_FILES / file).read_text(encoding="utf-8")


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
