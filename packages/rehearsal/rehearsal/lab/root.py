"""The root file system below all machines: Debian 12 as after a minimal installation, made once by mmdebstrap."""

from __future__ import annotations

import hashlib
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rehearsal.lab.isolation import LabUnavailable
from rehearsal.tools import cache
from rehearsal.tools.progress import run

SUITE: Final = "bookworm"
PACKAGES: Final = tuple(Path(__file__).with_name("files").joinpath("root-packages.txt").read_text("utf-8").split())
"""A minimal server. What a cluster needs (containerd, conntrack, kubelet …) is for the program to install."""

_HOOK: Final = Path(__file__).parent / "files" / "root.sh"
_GIB: Final = 0.6


def definition() -> str:
    """16 hex digits that change with everything that the root is made of, but for the versions of the packages."""
    parts = (SUITE, platform.machine(), *PACKAGES, _HOOK.read_text())
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def base_root(progress: Callable[[str], None]) -> Path:
    """The cached root, ``lab-root-<definition>``; without one it is built, in about two minutes.

    ``progress`` gets a sentence before anything slow. Raises LabUnavailable without mmdebstrap or a source of packages,
    ToolsError if the build fails.
    """
    folder = cache.root() / f"lab-root-{definition()}"
    if not folder.is_dir():
        with cache.exclusive(cache.root() / "lab-root.lock", lambda holder: progress(f"waiting for {holder}")):
            if not folder.is_dir():
                _build(folder, progress)
    cache.mark_used((folder,))
    return folder


def _build(folder: Path, progress: Callable[[str], None]) -> None:
    if shutil.which("mmdebstrap") is None:
        raise LabUnavailable("the machines' root file system needs mmdebstrap: run `apt-get install mmdebstrap`")
    sources = package_sources()
    cache.require_space({folder.parent: _GIB})
    progress(f"building the machines' root file system, Debian {SUITE}; about 2 minutes, once")
    with cache.new_folder(folder) as temporary, tempfile.NamedTemporaryFile("w", suffix=".list") as file:
        file.write("".join(f"{line}\n" for line in sources))
        file.flush()
        command = ["mmdebstrap", "--quiet", "--variant=apt", "--format=directory", f"--include={','.join(PACKAGES)}"]
        command += [f"--customize-hook={_HOOK}", SUITE, str(temporary), file.name]
        run(command, "mmdebstrap", "run `apt-get update` and see whether this host reaches its package sources")


def package_sources() -> tuple[str, ...]:
    """Lines for sources.list: the host's own sources of the suite. Raises LabUnavailable if there are none."""
    command = ["apt-get", "indextargets", "--format", "deb $(REPO_URI) $(RELEASE) $(COMPONENT)|$(ORIGIN)|$(CODENAME)"]
    try:
        listed = subprocess.run([*command, "Created-By: Packages"], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        listed = ""
    targets = (line.split("|") for line in listed.splitlines())
    lines = dict.fromkeys(
        line for line, origin, codename in targets if origin == "Debian" and codename.partition("-")[0] == SUITE
    )
    if not lines:
        raise LabUnavailable(
            f"the machines are Debian {SUITE}, and apt on this host has no source of it. "
            f"Run `apt-get update`; on another system, add Debian's {SUITE} to its sources"
        )
    return tuple(lines)
