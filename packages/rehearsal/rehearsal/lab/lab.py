"""The whole lab: machines that run, on a LAN with package sources, until the block ends.

Container images in the machines' containerd are imported once, cached, and shared by hard links. Importing on every
machine takes most of a minute; a registry that serves them is not rehearsed either way.

The root file system below all machines is Debian 12 as after a minimal installation, made once by mmdebstrap.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from rehearsal.cluster.processes import Processes
from rehearsal.lab import isolation
from rehearsal.lab.isolation import LabUnavailable
from rehearsal.lab.machine import LabMachine, MachineSpec, Site, bridge, free_address, lan, new_key, repository_url
from rehearsal.lab.software import Software
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


_DATABASES: Final = "*.db"
"""What containerd changes in place; all other files of its folder are written once."""

_INSTALL: Final = (
    "apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends containerd"
)
_IMPORT: Final = ("ctr", "--namespace", "k8s.io", "images", "import", "-")
_INSTALL_SECONDS: Final = 600.0


def image_store(archives: Sequence[Path], builder: Callable[[], LabMachine], progress: Callable[[str], None]) -> Path:
    """A cached ``/var/lib/containerd`` that has the images of ``archives``, made on the machine that ``builder`` makes.

    Raises MachineError if a package or an archive is refused.
    """
    stated = [(str(archive), archive.stat().st_size) for archive in archives]
    folder = cache.root() / f"lab-images-{hashlib.sha256(repr(stated).encode()).hexdigest()[:16]}"
    if not folder.is_dir():
        with cache.exclusive(cache.root() / "lab-lab.lock", lambda holder: progress(f"waiting for {holder}")):
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


def share_images(images: Path, containerd: Path) -> None:
    """Fill an empty ``containerd`` folder: links to the files of ``images`` where both are on one disk, else copies."""
    linked = subprocess.run(["cp", "-a", "--link", f"{images}/.", str(containerd)], capture_output=True)
    if linked.returncode:
        subprocess.run(["cp", "-a", "--force", f"{images}/.", str(containerd)], check=True)
    for database in containerd.rglob(_DATABASES):
        database.unlink()
        shutil.copy2(images / database.relative_to(containerd), database)


USER: Final = "ubuntu"
_USER_ID: Final = 1000
_LAYER: Final = Path(__file__).parent / "files" / "layer"
_KEYRING: Final = "usr/share/keyrings/lab.asc"
# Units that do not start. They are no links in the layer: `pulumi package add` refuses a repository with links.
_MASKED: Final = (
    "console-getty.service",
    "dev-hugepages.mount",
    "getty.target",
    "proc-sys-fs-binfmt_misc.automount",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-debug.mount",
    "sys-kernel-tracing.mount",
    "systemd-udevd.service",
)


class Lab:
    """A context manager; ``folder`` gets ``logs/``, ``ssh/`` and, until the end, the machines' disks.

    ``root`` is ``base_root``'s: it has to be there before the process is isolated, because its packages are downloaded.
    Entering raises SpecError, LabUnavailable, MachineError or ToolsError; the process has to be isolated.
    """

    def __init__(
        self,
        folder: Path,
        root: Path,
        machines: Sequence[MachineSpec],
        software: Software,
        progress: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._lan = lan(machines)
        self._folder, self._root = folder.resolve(), root
        self._specs = tuple(machines)
        self._software = software
        self._progress = progress
        self._held = contextlib.ExitStack()
        self._machines: dict[str, LabMachine] = {}
        self._store: Path | None = None

    @property
    def private_key(self) -> Path:
        """The file with the private key of the user ``ubuntu`` of every machine."""
        return self._folder / "ssh" / "id"

    @property
    def repository_url(self) -> str:
        """Where machines reach the package sources."""
        return repository_url(self._lan)

    def machine(self, name: str) -> LabMachine:
        """The machine of that name."""
        return self._machines[name]

    def __enter__(self) -> Lab:
        """Power on all machines and return when their SSH servers answer; after an error nothing is left."""
        isolation.require()
        if not isolation.isolated():
            raise LabUnavailable("the lab needs namespaces of its own: call rehearsal.lab.isolation.enter() first")
        with contextlib.ExitStack() as held:
            self._folder.mkdir(parents=True, exist_ok=True)
            lab = held.enter_context(isolation.registered(self._folder))
            isolation.require_overlay(self._folder)
            isolation.require_room(self._folder)
            logs, disks = self._folder / "logs", self._folder / isolation.DISKS
            held.callback(shutil.rmtree, disks, ignore_errors=True)
            layer = self._layer(disks / "layer")
            held.enter_context(bridge(self._lan, self._software.repository))
            names = {spec.name: spec.address for spec in self._specs}
            processes = held.enter_context(Processes(logs))
            site = Site(lab, logs, (layer, self._root), self._lan, names)

            def new_machine(spec: MachineSpec) -> LabMachine:
                machine = LabMachine(spec, disks / spec.name, site, processes)
                held.callback(machine.remove)
                return machine

            self._store = store = self._image_store(new_machine)
            for spec in self._specs:
                self._machines[spec.name] = machine = new_machine(spec)
                machine.install()
                if store is not None:
                    share_images(store, machine.containerd)
            self.power_on()
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Remove all machines, their disks, cgroups and the LAN; logs and keys stay."""
        self._held.close()
        self._machines.clear()

    def power_on(self) -> None:
        """Power on all machines that are off and wait for their SSH servers."""
        for machine in self._machines.values():
            machine.power_on()
        for machine in self._machines.values():
            machine.wait_for_ssh()

    def restock(self, name: str) -> None:
        """Give a machine its images again, which went with its containerd: there is no registry to pull them from."""
        folder = self._machines[name].containerd
        for entry in folder.iterdir():
            shutil.rmtree(entry)
        if self._store is not None:
            share_images(self._store, folder)

    def _image_store(self, new_machine: Callable[[MachineSpec], LabMachine]) -> Path | None:
        if not self._software.images:
            return None
        spec = MachineSpec("image-store", str(free_address(self._specs, self._lan.ip)))
        return image_store(self._software.images, lambda: new_machine(spec), self._progress)

    def _layer(self, folder: Path) -> Path:
        """What the machines of this lab have in common above the base root."""
        shutil.copytree(_LAYER, folder)
        units = folder / "etc" / "systemd" / "system"
        units.mkdir()
        for unit in _MASKED:
            (units / unit).symlink_to("/dev/null")
        subprocess.run(["chmod", "-R", "go=u-w", str(folder)], check=True)  # the checkout may be its owner's only
        subprocess.run(["chown", "-R", "0:0", str(folder)], check=True)
        private, public = new_key()
        self.private_key.parent.mkdir(exist_ok=True)
        self.private_key.write_text(private)
        self.private_key.chmod(0o600)
        home = folder / "home" / USER
        (home / ".ssh").mkdir(parents=True, mode=0o700)
        (home / ".ssh" / "authorized_keys").write_text(f"{public}\n")
        for path in (home, home / ".ssh", home / ".ssh" / "authorized_keys"):
            os.chown(path, _USER_ID, _USER_ID)
        source = folder / "etc" / "apt" / "sources.list.d" / "lab.sources"
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text(f"Types: deb\nURIs: {self.repository_url}/debian/\nSuites: ./\nSigned-By: /{_KEYRING}\n")
        keyring = folder / _KEYRING
        keyring.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(self._software.repository / "key.asc", keyring)
        return folder
