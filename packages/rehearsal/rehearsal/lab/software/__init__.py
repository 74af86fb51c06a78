"""The software of own machines: packages in signed apt repositories, and container images as archives.

Real: Kubernetes, its CNI plugins, crictl, CoreDNS and flannel from their Go modules; Debian's packages. Simulated: all
of NVIDIA's packages and the device plugin, and images that stand for workloads.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rehearsal.lab.software import debian, images
from rehearsal.lab.software.debs import (
    Package,
    build,
    drivers,
    kernel_headers,
    kubernetes,
    publish,
    signing_key,
    toolkit,
)
from rehearsal.tools import cache as folders
from rehearsal.tools.install import install
from rehearsal.tools.modules import KUBERNETES, LAB, LATER, LATER_MODULES
from rehearsal.tools.progress import Progress

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
    debian.require_release()
    environ = {**os.environ, "GPUCLUSTER_CACHE": str(cache)}
    tools, later = (install(progress, environ, modules) for modules in (_MODULES, LATER_MODULES))
    names = tuple(dict.fromkeys((WORKLOAD_IMAGE, *workloads)))
    folder = cache / f"lab-software-{_digest(names)}"
    if not folder.is_dir():
        with folders.exclusive(cache / "lock", lambda holder: progress.say(f"waiting for {holder} …")):
            if not folder.is_dir():
                folders.require_space({cache: 2.5})
                debs = debian.packages(cache, progress)
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
        made: dict[str, list[Package]] = {
            "kubernetes": kubernetes(tools, tools, KUBERNETES.version("k8s.io/kubernetes")),
            "kubernetes-later": kubernetes(tools, later, LATER),
            "nvidia": drivers(tools),
            "toolkit": toolkit(tools),
            "debian": kernel_headers(),
        }
        for name, of_repository in made.items():
            (repository / name).mkdir(exist_ok=True)
            for package in of_repository:
                stage.detail = package.file_name
                build(package, repository / name)
        with signing_key() as key:
            key.export(repository / "key.asc")
            for name, origin in _ORIGINS.items():
                publish(repository / name, origin, key)
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
    debian.unpack(sorted(packages.glob("*.deb")), folder)
    layer = images.userland(folder)
    shutil.rmtree(folder)
    return layer
