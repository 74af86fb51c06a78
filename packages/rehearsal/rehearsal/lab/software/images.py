"""Container images as docker archives, written by hand: no registry, no builder, the same input gives the same bytes.

The format: https://github.com/moby/docker-image-spec/blob/v1.3.1/spec.md#combined-image-json--filesystem-changeset-format.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from rehearsal.lab.software.debs import Link
from rehearsal.tools.modules import COREDNS, FLANNEL, KUBERNETES, LOCAL_PATH

DEVICE_PLUGIN: Final = "nvcr.io/nvidia/k8s-device-plugin:v0.18.2"
"""The image that the program declares (``components/clouds/device_plugin.py``); a test compares them."""
DEVICE_CHECK: Final = "docker.io/nvidia/cuda:12.2.2-base-ubuntu22.04"
"""The image of the stack's sample jobs and of ``prove`` (``facts/catalog/data/checks.csv``); a test compares them."""
_DEVICES: Final = "#!/bin/sh\necho no GPU computes here, these are device files:\nls /dev/nvidia[0-9]*\n"
_FILES: Final = Path(__file__).with_name("files")
_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Files = Mapping[str, "Path | str | Link | None"]
"""Absolute path in the image → a program that is copied, a text (executable if it starts with ``#!``), a symbolic
link, or None for a folder that everybody may write."""


@dataclass(frozen=True)
class ContainerImage:
    """One image under all of ``names``; ``shell``: with the commands of the user land, above which ``files`` come."""

    names: tuple[str, ...]
    files: Files
    entrypoint: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    shell: bool = False

    @property
    def file_name(self) -> str:
        """The archive's name, e.g. ``kube-proxy-v1.34.4.tar``."""
        return f"{self.names[0].rpartition('/')[2].replace(':', '-')}.tar"


def core(tools: Path, version: str) -> list[ContainerImage]:
    """Kubernetes' own images of a ``version`` such as ``v1.34.4``."""
    return [
        ContainerImage(
            (f"registry.k8s.io/{name}:{version}",), {f"/usr/local/bin/{name}": tools / name}, shell=name == "kube-proxy"
        )
        for name in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy")
    ]


def cluster_images(tools: Path) -> list[ContainerImage]:
    """Kubernetes' own images, and those of ``files/images.yaml``."""
    versions = {
        "etcd": KUBERNETES.version("go.etcd.io/etcd/server/v3").lstrip("v"),
        "coredns": COREDNS.version("github.com/coredns/coredns"),
        "flannel": FLANNEL.version("github.com/flannel-io/flannel"),
        "local_path": LOCAL_PATH.version("github.com/rancher/local-path-provisioner"),
        "device_plugin": DEVICE_PLUGIN,
    }
    others = [
        ContainerImage(
            tuple(name.format_map(versions) for name in row["names"]),
            {path: tools / program for path, program in row.get("files", {}).items()},
            tuple(row.get("entrypoint", ())),
            shell=row.get("shell", False),
        )
        for row in yaml.safe_load((_FILES / "images.yaml").read_text(encoding="utf-8"))
    ]
    check = ContainerImage((DEVICE_CHECK,), {"/usr/bin/nvidia-smi": _DEVICES}, shell=True)
    return [*core(tools, KUBERNETES.version("k8s.io/kubernetes")), check, *others]


def workload_image(names: Sequence[str], tools: Path) -> ContainerImage:
    """One image under all ``names``: it waits, or runs what its pod says with a shell and ``gpu-job``."""
    files: Files = {"/usr/bin/lab-image": tools / "lab-image", "/usr/bin/gpu-job": Link("lab-image")}
    return ContainerImage(tuple(names), files, command=("sleep", "infinity"), shell=True)


def userland(root: Path) -> bytes:
    """The layer of ``root``, into which Debian's packages were extracted; busybox and iptables get their links."""
    sbin = root / "usr" / "sbin"
    applets = subprocess.run([root / "bin" / "busybox", "--list"], check=True, capture_output=True, text=True).stdout
    for name in {*applets.split(), "sh"} - {"busybox"}:
        (root / "bin" / name).symlink_to("busybox")
    for family in ("iptables", "ip6tables"):
        for suffix in ("", "-save", "-restore"):
            link = sbin / f"{family}{suffix}"
            link.unlink(missing_ok=True)
            link.symlink_to("xtables-nft-multi")
    skipped = ("usr/share/", "etc/", "var/", "lib/systemd/", "usr/lib/systemd/")
    return _layer(
        {
            f"/{path.relative_to(root)}": Link(str(path.readlink())) if path.is_symlink() else path
            for path in sorted(root.rglob("*"))
            if (path.is_symlink() or path.is_file()) and not str(path.relative_to(root)).startswith(skipped)
        }
    )


def write(image: ContainerImage, folder: Path, userland_layer: bytes) -> Path:
    """Write the archive of ``image`` into ``folder``."""
    layers = [*([userland_layer] if image.shell else []), _layer({**image.files, "/tmp": None})]
    digests = [hashlib.sha256(layer).hexdigest() for layer in layers]
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {
            "Entrypoint": list(image.entrypoint) or None,
            "Cmd": list(image.command) or None,
            "Env": [f"PATH={_PATH}"],
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}" for digest in digests]},
    }
    content = json.dumps(config, sort_keys=True).encode()
    config_name = f"{hashlib.sha256(content).hexdigest()}.json"
    files = [f"{digest}.tar" for digest in digests]
    manifest = json.dumps([{"Config": config_name, "RepoTags": list(image.names), "Layers": files}]).encode()
    target = folder / image.file_name
    with tarfile.open(target, "w") as archive:
        for name, data in ((config_name, content), *zip(files, layers, strict=True), ("manifest.json", manifest)):
            _add(archive, name, data)
    return target


def _layer(files: Files) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        folders: set[str] = set()
        for path, source in sorted(files.items()):
            name = path.lstrip("/")
            parents = [str(parent) for parent in Path(name).parents if str(parent) != "."]
            for parent in reversed(parents):
                if parent not in folders:
                    folders.add(parent)
                    _add(tar, parent, None, 0o755)
            if source is None:
                _add(tar, name, None, 0o1777)
            elif isinstance(source, Link):
                _add(tar, name, source)
            elif isinstance(source, str):
                _add(tar, name, source.encode(), 0o755 if source.startswith("#!") else 0o644)
            else:
                _add(tar, name, source.read_bytes(), 0o755)
    return buffer.getvalue()


def _add(tar: tarfile.TarFile, name: str, content: bytes | Link | None, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.mode = mode
    if content is None:
        entry.type = tarfile.DIRTYPE
        tar.addfile(entry)
    elif isinstance(content, Link):
        entry.type, entry.linkname = tarfile.SYMTYPE, content.target
        tar.addfile(entry)
    else:
        entry.size = len(content)
        tar.addfile(entry, io.BytesIO(content))
