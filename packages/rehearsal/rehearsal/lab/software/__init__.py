"""The software of own machines: packages in signed apt repositories, and container images as archives.

Real: Kubernetes, its CNI plugins, crictl, CoreDNS and flannel from their Go modules; Debian's packages,
through the package sources that this machine is configured with. Simulated: all
of NVIDIA's packages and the device plugin, and images that stand for workloads.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.lab.software import debs as deb_packages
from rehearsal.lab.software import images
from rehearsal.tools import cache as folders
from rehearsal.tools.install import install
from rehearsal.tools.modules import KUBERNETES, LAB, LATER, LATER_MODULES
from rehearsal.tools.progress import Progress, ToolsError, run

__all__ = ["WORKLOAD_IMAGE", "Software", "prepare"]

WORKLOAD_IMAGE: Final = "rehearsal.local/workload:1"
"""Always among the images: waits, or runs a shell or ``gpu-job``."""

_MODULES: Final = (KUBERNETES, *LAB)


@dataclass(frozen=True)
class Software:
    """``images``: archives for ``ctr --namespace k8s.io images import``.

    ``repository``: a folder for an HTTP server, with the flat apt repositories ``debian``, ``kubernetes``,
    ``kubernetes-later`` (to upgrade to), ``nvidia`` and ``toolkit``, all signed by ``key.asc``.
    """

    images: tuple[Path, ...]
    repository: Path


def prepare(cache: Path, progress: Progress, workloads: Sequence[str] = ()) -> Software:
    """Build what is missing in ``cache`` (see ``rehearsal.tools.cache.root``); with all there, only look.

    ``workloads`` names further images, which all are the one that stands for any workload. Raises ToolsError.
    """
    require_release()
    environ = {**os.environ, "GPUCLUSTER_CACHE": str(cache)}
    tools, later = (install(progress, environ, modules) for modules in (_MODULES, LATER_MODULES))
    names = tuple(dict.fromkeys((WORKLOAD_IMAGE, *workloads)))
    folder = cache / f"lab-software-{_digest(names)}"
    if not folder.is_dir():
        with folders.exclusive(cache / "lock", lambda holder: progress.say(f"waiting for {holder} …")):
            if not folder.is_dir():
                folders.require_space({cache: 2.5})
                debs = packages(cache, progress)
                with folders.new_folder(folder) as temporary:
                    _fill(temporary, (tools, later), debs, names, progress)
    folders.mark_used([folder])
    return Software(tuple(sorted((folder / "images").glob("*.tar"))), folder / "repository")


def _digest(names: Sequence[str]) -> str:
    """Of everything that defines the content but Debian's own versions, which are those of the first build."""
    tools = [module.folder for module in (*_MODULES, *LATER_MODULES)]
    digest = hashlib.sha256(repr([platform.release(), *tools, *names]).encode())
    here = Path(__file__).parent
    for file in (*sorted(here.glob("*.py")), *sorted((here / "files").iterdir())):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _fill(folder: Path, programs: tuple[Path, Path], debs: Path, names: Sequence[str], progress: Progress) -> None:
    tools, later = programs
    repository, archives, unpacked = (folder / name for name in ("repository", "images", "userland"))
    for each in (archives, unpacked):
        each.mkdir(parents=True)
    shutil.copytree(debs / "machines", repository / "debian")
    with progress.stage("machines: packages of Kubernetes and NVIDIA (simulated)") as stage:
        made: dict[str, list[deb_packages.Package]] = {
            "kubernetes": deb_packages.kubernetes(tools, tools, KUBERNETES.version("k8s.io/kubernetes")),
            "kubernetes-later": deb_packages.kubernetes(tools, later, LATER),
            "nvidia": deb_packages.drivers(tools),
            "toolkit": deb_packages.toolkit(tools),
            "debian": deb_packages.kernel_headers(),
        }
        for name, of_repository in made.items():
            (repository / name).mkdir(exist_ok=True)
            for package in of_repository:
                stage.detail = package.file_name
                deb_packages.build(package, repository / name)
        with deb_packages.signing_key() as key:
            key.export(repository / "key.asc")
            for name, origin in _ORIGINS.items():
                deb_packages.publish(repository / name, origin, key)
    with progress.stage("machines: container images") as stage:
        layer = _userland(debs / "images", unpacked)
        made_images = [*images.cluster_images(tools), *images.core(later, LATER), images.workload_image(names, tools)]
        for image in made_images:
            stage.detail = image.file_name
            images.write(image, archives, layer)


_ORIGINS: Final = {
    "debian": "Debian",
    "kubernetes": "Kubernetes",
    "kubernetes-later": "Kubernetes",
    "nvidia": "NVIDIA",
    "toolkit": "NVIDIA",
}


def _userland(packages: Path, folder: Path) -> bytes:
    unpack(sorted(packages.glob("*.deb")), folder)
    layer = images.userland(folder)
    shutil.rmtree(folder)
    return layer


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
