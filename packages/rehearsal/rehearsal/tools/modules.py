"""The upstream binaries and how each is built: one Go module per release line, which has them as its tools.

Modules are separate because their dependencies do not agree with each other, so that a change of one pin rebuilds one
module, and so that nobody waits for what they do not run.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rehearsal.tools.progress import ToolsError

INSTALLER_VERSION: Final = 1
"""Part of every folder's name; raise it when the way of building changes in a way the flags do not show."""

_BUILD_FLAGS: Final = ("-trimpath", "-buildvcs=false", "-mod=readonly")
_ARCHITECTURES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


@dataclass(frozen=True)
class Stamp:
    """A Go string variable that the linker sets to a pinned version.

    ``template`` may use ``{version}`` (v1.34.4), ``{number}`` (1.34.4), ``{major}`` and ``{minor}`` of ``module``.
    """

    variable: str
    module: str
    template: str = "{version}"


@dataclass(frozen=True)
class Copies:
    """Files that a Go module ships as they are: ``paths`` inside ``module``, installed under their last element."""

    module: str
    paths: tuple[str, ...]
    mode: int = 0o644


@dataclass(frozen=True)
class Overlay:
    """A text of a Go module that is replaced for the build; the downloaded module does not change.

    ``old`` stands exactly once in the file ``path`` inside ``module``.
    """

    module: str
    path: str
    old: str
    new: str


@dataclass(frozen=True)
class ModuleChart:
    """A Helm chart that a Go module carries, packed as ``<name>-<number>.tgz`` the way its release script does.

    In the repository a chart still says the release before; publishing stamps it with the new version. ``published`` is
    the reference that it has then; ``path`` its folder inside ``module``. ``lines`` are those that publishing
    rewrites: file → key (with its indentation; once) → value, as in ``Stamp.template``.
    """

    published: str
    module: str
    path: str
    lines: Mapping[str, Mapping[str, str]]

    @property
    def name(self) -> str:
        """The chart's own name."""
        return self.path.rpartition("/")[2]


@dataclass(frozen=True)
class Module:
    """One folder with go.mod and go.sum, whose tools are built: https://go.dev/doc/modules/managing-dependencies#tools.

    ``names`` maps what Go calls a binary to what it is called here, where that differs. ``minutes`` is a build with
    empty caches on 2 cores; ``build_gib`` what downloads and Go's build cache take meanwhile, ``installed_gib`` what
    the installed files take. ``number`` is what its binaries call themselves in place of the pinned version.
    """

    directory: Path
    minutes: float
    build_gib: float
    installed_gib: float
    names: Mapping[str, str] = field(default_factory=dict)
    stamps: tuple[Stamp, ...] = ()
    copies: tuple[Copies, ...] = ()
    charts: tuple[ModuleChart, ...] = ()
    edits: tuple[Overlay, ...] = ()
    number: str = ""

    @property
    def name(self) -> str:
        """The folder's name, e.g. ``kubernetes``."""
        return self.directory.name

    @property
    def binaries(self) -> dict[str, str]:
        """The name of each binary and its Go package, as go.mod's ``tool`` lines have them."""
        go_mod = (self.directory / "go.mod").read_text()
        blocks = re.findall(r"^tool (?:\((.*?)^\)|(\S+))", go_mod, re.DOTALL | re.MULTILINE)
        packages = [package for block, line in blocks for package in (line or block).split()]
        return {self.names.get(_go_name(package), _go_name(package)): package for package in packages}

    @property
    def versions(self) -> dict[str, str]:
        """The version of each binary, e.g. ``etcd`` → ``v3.6.5``."""
        required = re.findall(r"^\s*(?:require )?(\S+) (v\S+)", (self.directory / "go.mod").read_text(), re.MULTILINE)
        return {
            name: self.number or next(version for module, version in required if f"{package}/".startswith(f"{module}/"))
            for name, package in self.binaries.items()
        }

    @property
    def files(self) -> tuple[str, ...]:
        """The names of everything that ends up in the module's folder."""
        copied = (Path(path).name for copies in self.copies for path in copies.paths)
        return (*self.binaries, *copied, *map(self.archive, self.charts))

    @property
    def folder(self) -> str:
        """The folder's name in the cache: the module and a hash of all that defines its content."""
        shipped = [asdict(each) for each in (*self.copies, *self.charts, *self.edits)]
        definition = json.dumps([INSTALLER_VERSION, *target(), self.build_flags(), self.binaries, shipped])
        digest = hashlib.sha256(definition.encode())
        for file in ("go.mod", "go.sum"):
            digest.update((self.directory / file).read_bytes())
        for source in sorted(self.directory.glob("*.go")):
            digest.update(source.read_bytes())
        return f"{self.name}-{digest.hexdigest()[:16]}"

    def build_flags(self) -> list[str]:
        """What ``go build`` gets: stripped binaries without local paths that know their version."""
        variables = [f"-X {stamp.variable}={self.stamped(stamp.template, stamp.module)}" for stamp in self.stamps]
        return [*_BUILD_FLAGS, f"-ldflags={' '.join(['-s -w', *variables])}"]

    def version(self, module: str) -> str:
        """The version of ``module`` that go.mod pins, e.g. ``v1.34.4``. Raises ToolsError if it pins none."""
        go_mod = self.directory / "go.mod"
        match = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", go_mod.read_text(), re.MULTILINE)
        if match is None:
            raise ToolsError(f"{go_mod}: no version of {module}. Add it with `go get -tool {module}/…@vX.Y.Z`.")
        return match[1]

    def stamped(self, template: str, module: str) -> str:
        """``template`` with the version that is pinned of ``module`` (see ``Stamp``)."""
        version = self.number or self.version(module)
        major, minor, *_ = version.lstrip("v").split(".")
        return template.format(version=version, number=version.lstrip("v"), major=major, minor=minor)

    def archive(self, chart: ModuleChart) -> str:
        """The file name of a packed chart, e.g. ``karpenter-1.14.1.tgz``."""
        return self.stamped(f"{chart.name}-{{number}}.tgz", chart.module)


def _go_name(package: str) -> str:
    """What Go calls a package's binary: the last element that is not a major version."""
    *_, parent, last = package.split("/")
    return parent if last.startswith("v") and last[1:].isdigit() else last


def target() -> tuple[str, str]:
    """This machine as Go names it, e.g. ``("linux", "amd64")``. Raises ToolsError for any other architecture."""
    machine = platform.machine().lower()
    if machine not in _ARCHITECTURES:
        raise ToolsError(f"this machine is a {machine}: the tools are built for {', '.join(sorted(_ARCHITECTURES))}")
    return platform.system().lower(), _ARCHITECTURES[machine]


_HERE: Final = Path(__file__).resolve().parent


def _module(name: str) -> Module:
    """The module in the folder ``name``, whose ``module.json`` has its fields; ``why`` is for readers."""
    entry: dict[str, Any] = json.loads((_HERE / name / "module.json").read_text("utf-8"))
    stamps = entry.get("stamps", [])
    return Module(
        _HERE / name,
        entry["minutes"],
        entry["build_gib"],
        entry["installed_gib"],
        entry.get("names", {}),
        # Text is the module that has the same stamps.
        _module(stamps).stamps if isinstance(stamps, str) else tuple(Stamp(**each) for each in stamps),
        tuple(
            Copies(each["module"], tuple(each["paths"]), int(each.get("mode", "644"), 8))
            for each in entry.get("copies", [])
        ),
        tuple(ModuleChart(**each) for each in entry.get("charts", [])),
        tuple(map(_edit, entry.get("edits", []))),
    )


def _edit(entry: Mapping[str, str]) -> Overlay:
    """One of a module's edits. With ``as`` it is the edit of the same text that another of these modules has."""
    if "as" in entry:
        (same,) = (each for each in _module(entry["as"]).edits if each.old == entry["old"])
        return same
    return Overlay(entry["module"], entry["path"], entry["old"], entry["new"])


PULUMI: Final = _module("pulumi")
PULUMI_PYTHON: Final = _module("pulumi-python")
KUBERNETES: Final = _module("kubernetes")
KARPENTER: Final = _module("karpenter")
KWOK: Final = _module("kwok")
ACTIONLINT: Final = _module("actionlint")
HELM: Final = _module("helm")
KARPENTER_AWS: Final = _module("karpenter-aws")

MODULES: Final = (KUBERNETES, KARPENTER, KWOK, PULUMI, PULUMI_PYTHON, HELM, KARPENTER_AWS, ACTIONLINT)

PREVIEW: Final = (PULUMI, PULUMI_PYTHON)
"""Pulumi itself; a user's own can take their place. A preview needs no more."""

REHEARSAL: Final = (KUBERNETES, KARPENTER, KWOK, *PREVIEW)
"""What a rehearsal of every stack runs."""

OF_AUTOSCALER: Final[Mapping[str, tuple[Module, ...]]] = {"karpenter": (HELM, KARPENTER_AWS)}
"""What a rehearsal runs besides, by the stack's autoscaler: Karpenter comes from its Helm charts."""

LANGUAGES: Final = (_module("pulumi-yaml"), _module("pulumi-nodejs-sdk"))
"""What only tests of the component package need: programs in other languages."""

CRICTL: Final = _module("crictl")
COREDNS: Final = _module("coredns")
CNI_PLUGINS: Final = _module("cni-plugins")
FLANNEL: Final = _module("flannel")
LOCAL_PATH: Final = _module("local-path")

KUBEADM: Final = _module("kubeadm")

LAB: Final = (
    KUBEADM,
    _module("etcd"),
    CRICTL,
    COREDNS,
    CNI_PLUGINS,
    FLANNEL,
    _module("flannel-cni"),
    LOCAL_PATH,
    _module("lab-image"),
)
"""What only a rehearsal of own machines needs: kubeadm, kubelet, a network, DNS."""

LATER: Final = "v1.34.5"
"""To what machines are upgraded: the pinned code, linked with this number."""

LATER_MODULES: Final = tuple(replace(module, number=LATER) for module in (KUBERNETES, KUBEADM))
