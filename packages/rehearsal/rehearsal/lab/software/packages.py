"""The Debian packages that are made for own machines: rows of ``files/packages.yaml``.

Kubernetes' are as https://pkgs.k8s.io has them. NVIDIA's are simulated, without a kernel module or a library:
``nvidia-modprobe`` makes device nodes for the GPUs of /sys/bus/pci, and ``nvidia-smi`` answers from what that has
loaded. As with a real driver, a new version counts from the next boot on, and until then ``nvidia-smi`` reports a
mismatch. ``/proc/driver/nvidia`` does not exist.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.lab.software.debs import Link, Package
from rehearsal.tools.modules import CNI_PLUGINS, CRICTL

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
