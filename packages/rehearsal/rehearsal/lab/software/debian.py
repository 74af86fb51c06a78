"""Debian's own packages, through the package sources that this machine is configured with."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rehearsal.tools import cache as folders
from rehearsal.tools.progress import Progress, ToolsError, run

CODENAME: Final = "bookworm"

FOR_MACHINES: Final = tuple(Path(__file__).with_name("files").joinpath("debian.txt").read_text("utf-8").split())
"""What own machines install of Debian's, or may have installed; all that these depend on comes along."""

FOR_IMAGES: Final = ("busybox-static", "conntrack", "iptables", "nftables")
"""Commands in the container images."""


def require_release(os_release: Path = Path("/etc/os-release")) -> None:
    """Raise ToolsError unless this machine's package sources are those of the release that the machines run."""
    lines = os_release.read_text(encoding="utf-8").splitlines() if os_release.is_file() else []
    if f"VERSION_CODENAME={CODENAME}" not in lines:
        name = next((line.partition("=")[2].strip('"') for line in lines if line.startswith("PRETTY_NAME=")), "unknown")
        raise ToolsError(
            f"own machines are rehearsed with packages of Debian 12 ({CODENAME}), and this machine is {name}. "
            "Run the rehearsal in a Debian 12 container or virtual machine."
        )


def packages(cache: Path, progress: Progress) -> Path:
    """A folder in ``cache`` with ``machines/`` and ``images/``: the .deb files of both lists, of the first download."""
    definition = repr((CODENAME, FOR_MACHINES, FOR_IMAGES))
    folder = cache / f"lab-debian-{hashlib.sha256(definition.encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        with (
            progress.stage("machines: Debian's packages", "60 MB to download"),
            folders.new_folder(folder) as temporary,
        ):
            for name, names in (("machines", FOR_MACHINES), ("images", FOR_IMAGES)):
                (temporary / name).mkdir()
                download(names, temporary / name)
    folders.mark_used([folder])
    return folder


def download(names: Sequence[str], folder: Path) -> None:
    """Put ``names`` and all that they depend on into ``folder`` as .deb files; nothing is installed.

    An empty list of installed packages makes apt fetch every dependency. Raises ToolsError with apt's own words.
    """
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        (root / "status").touch()
        (root / "archives" / "partial").mkdir(parents=True)
        options = {
            "Dir::State::status": root / "status",
            "Dir::Cache": root,
            "Debug::NoLocking": "true",
            "APT::Sandbox::User": "root",
            "APT::Install-Recommends": "false",
            "APT::Get::AllowUnauthenticated": "false",
        }
        flags = [argument for key, value in options.items() for argument in ("-o", f"{key}={value}")]
        command = ["apt-get", *flags, "--quiet", "--assume-yes", "--download-only", "install", *names]
        run(command, "downloading Debian's packages", "Check this machine's package sources: `apt-get update`.")
        for file in (root / "archives").glob("*.deb"):
            # apt writes the colon of an epoch as %3a, which not every HTTP server reads back.
            name, version, rest = file.name.split("_", 2)
            target = folder / f"{name}_{version.rpartition('%3a')[2]}_{rest}"
            target.write_bytes(file.read_bytes())


def unpack(packages: Sequence[Path], folder: Path) -> None:
    """Extract the files of ``packages`` into ``folder``, running none of their scripts."""
    for package in packages:
        run(
            ["dpkg-deb", "--extract", str(package), str(folder)],
            f"unpacking {package.name}",
            "Delete it; run it again.",
        )
