"""Container images in the machines' containerd: imported once, cached, and shared by hard links.

Importing on every machine takes most of a minute; a registry that serves them is not rehearsed either way.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rehearsal.lab.machine import LabMachine
from rehearsal.tools import cache

_DATABASES: Final = "*.db"
"""What containerd changes in place; all other files of its folder are written once."""

_INSTALL: Final = (
    "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends containerd"
)
_IMPORT: Final = ("ctr", "--namespace", "k8s.io", "images", "import", "-")
_INSTALL_SECONDS: Final = 600.0


def store(archives: Sequence[Path], builder: Callable[[], LabMachine], progress: Callable[[str], None]) -> Path:
    """A cached ``/var/lib/containerd`` that has the images of ``archives``, made on the machine that ``builder`` makes.

    Raises MachineError if a package or an archive is refused.
    """
    stated = [(str(archive), archive.stat().st_size) for archive in archives]
    folder = cache.root() / f"lab-images-{hashlib.sha256(repr(stated).encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        with cache.exclusive(cache.root() / "lab-images.lock", lambda holder: progress(f"waiting for {holder}")):
            if not folder.is_dir():
                progress(f"importing {len(archives)} container images; once")
                _import(archives, builder(), folder)
    cache.mark_used((folder,))
    return folder


def _import(archives: Sequence[Path], machine: LabMachine, folder: Path) -> None:
    cache.require_space({folder.parent: 2.0})
    machine.install()
    machine.power_on()
    machine.wait_for_ssh()
    machine.run(["sh", "-c", _INSTALL], seconds=_INSTALL_SECONDS)
    for archive in archives:
        machine.run(_IMPORT, stdin=archive, seconds=_INSTALL_SECONDS)
    machine.run(["systemctl", "stop", "containerd"])
    machine.power_cut()
    with cache.new_folder(folder) as temporary:
        subprocess.run(["cp", "-a", f"{machine.containerd}/.", str(temporary)], check=True)
    machine.remove()


def share(images: Path, containerd: Path) -> None:
    """Fill an empty ``containerd`` folder: links to the files of ``images`` where both are on one disk, else copies."""
    linked = subprocess.run(["cp", "-a", "--link", f"{images}/.", str(containerd)], capture_output=True)
    if linked.returncode:
        subprocess.run(["cp", "-a", "--force", f"{images}/.", str(containerd)], check=True)
    for database in containerd.rglob(_DATABASES):
        database.unlink()
        shutil.copy2(images / database.relative_to(containerd), database)
