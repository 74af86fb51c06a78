"""The upstream binaries and how each is built: one Go module (go.mod and go.sum) per release line.

Modules are separate because their dependencies do not agree with each other, and so that a change of one pin
rebuilds one module.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from rehearsal.tools.errors import ToolsError

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
class Module:
    """One folder with go.mod and go.sum, and what is built from it.

    ``binaries`` maps the name of a binary to its Go package. ``minutes`` is a build with empty caches on 2 cores;
    ``build_gib`` what downloads and Go's build cache take meanwhile, ``installed_gib`` what stays in the tools' cache.
    """

    directory: Path
    binaries: Mapping[str, str]
    minutes: float
    build_gib: float
    installed_gib: float
    stamps: tuple[Stamp, ...] = ()
    copies: tuple[Copies, ...] = ()

    @property
    def name(self) -> str:
        """The folder's name, e.g. ``kubernetes``."""
        return self.directory.name

    @property
    def files(self) -> tuple[str, ...]:
        """The names of everything that ends up in the module's folder."""
        return (*self.binaries, *(Path(path).name for copies in self.copies for path in copies.paths))

    @property
    def folder(self) -> str:
        """The folder's name in the cache: the module and a hash of all that defines its content."""
        copies = [asdict(copies) for copies in self.copies]
        definition = json.dumps([INSTALLER_VERSION, *target(), self.build_flags(), dict(self.binaries), copies])
        digest = hashlib.sha256(definition.encode())
        for file in ("go.mod", "go.sum"):
            digest.update((self.directory / file).read_bytes())
        return f"{self.name}-{digest.hexdigest()[:16]}"

    def build_flags(self) -> list[str]:
        """What ``go build`` gets: stripped binaries without local paths that know their version."""
        variables = [f"-X {stamp.variable}={self._stamp(stamp)}" for stamp in self.stamps]
        return [*_BUILD_FLAGS, f"-ldflags={' '.join(['-s -w', *variables])}"]

    def version(self, module: str) -> str:
        """The version of ``module`` that go.mod pins, e.g. ``v1.34.4``. Raises ToolsError if it pins none."""
        go_mod = self.directory / "go.mod"
        match = re.search(rf"^(?:require)?\s*{re.escape(module)} (v\S+)", go_mod.read_text(), re.MULTILINE)
        if match is None:
            raise ToolsError(f"{go_mod}: no version of {module}. Add it with `go get -tool {module}/…@vX.Y.Z`.")
        return match[1]

    def _stamp(self, stamp: Stamp) -> str:
        version = self.version(stamp.module)
        major, minor, *_ = version.lstrip("v").split(".")
        return stamp.template.format(version=version, number=version.lstrip("v"), major=major, minor=minor)


def target() -> tuple[str, str]:
    """This machine as Go names it, e.g. ``("linux", "amd64")``. Raises ToolsError for machines nobody has tried."""
    machine = platform.machine().lower()
    if machine not in _ARCHITECTURES:
        raise ToolsError(f"this machine is a {machine}: the tools are built for {', '.join(sorted(_ARCHITECTURES))}")
    return platform.system().lower(), _ARCHITECTURES[machine]


_HERE: Final = Path(__file__).resolve().parent

PULUMI: Final = Module(
    _HERE / "pulumi",
    binaries={"pulumi": "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"},
    stamps=(Stamp("github.com/pulumi/pulumi/sdk/v3/go/common/version.Version", "github.com/pulumi/pulumi/pkg/v3"),),
    copies=(
        Copies(
            "github.com/pulumi/pulumi/sdk/v3",
            (
                "python/cmd/pulumi-language-python-exec",
                "python/dist/pulumi-analyzer-policy-python",
                "python/dist/pulumi-resource-pulumi-python",
            ),
            mode=0o755,
        ),
    ),
    minutes=2.5,
    build_gib=2.0,
    installed_gib=0.2,
)

PULUMI_PYTHON: Final = Module(
    _HERE / "pulumi-python",
    binaries={"pulumi-language-python": "github.com/pulumi/pulumi/sdk/v3/python/cmd/pulumi-language-python"},
    minutes=0.6,
    build_gib=0.5,
    installed_gib=0.1,
)

KUBERNETES: Final = Module(
    _HERE / "kubernetes",
    binaries={
        "etcd": "go.etcd.io/etcd/server/v3",
        "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
        "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
        "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
        "kubectl": "k8s.io/kubernetes/cmd/kubectl",
        "karpenter": "sigs.k8s.io/karpenter/kwok",
    },
    # Without these the API server calls itself v0.0.0-master, and clients that compare versions misjudge it.
    # Kubernetes' own builds set both packages: https://github.com/kubernetes/kubernetes/blob/v1.34.4/hack/lib/version.sh
    stamps=(
        *(
            Stamp(f"{package}.{variable}", "k8s.io/kubernetes", template)
            for package in ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
            for variable, template in {
                "gitVersion": "{version}",
                "gitMajor": "{major}",
                "gitMinor": "{minor}",
                "gitTreeState": "clean",
            }.items()
        ),
        Stamp("sigs.k8s.io/karpenter/pkg/operator.Version", "sigs.k8s.io/karpenter", "{number}"),
    ),
    # The autoscaler's own resource types, which the rehearsal creates in the cluster.
    copies=(
        Copies(
            "sigs.k8s.io/karpenter",
            (
                "pkg/apis/crds/karpenter.sh_nodeclaims.yaml",
                "pkg/apis/crds/karpenter.sh_nodeoverlays.yaml",
                "pkg/apis/crds/karpenter.sh_nodepools.yaml",
                "kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml",
            ),
        ),
    ),
    minutes=9,
    build_gib=4.0,
    installed_gib=0.5,
)

KWOK: Final = Module(
    _HERE / "kwok",
    binaries={"kwok": "sigs.k8s.io/kwok/cmd/kwok"},
    minutes=2.5,
    build_gib=1.0,
    installed_gib=0.1,
)

ACTIONLINT: Final = Module(
    _HERE / "actionlint",
    binaries={"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"},
    stamps=(Stamp("github.com/rhysd/actionlint.version", "github.com/rhysd/actionlint", "{number}"),),
    minutes=0.2,
    build_gib=0.3,
    installed_gib=0.01,
)

MODULES: Final = (KUBERNETES, KWOK, PULUMI, PULUMI_PYTHON, ACTIONLINT)
PULUMI_MODULES: Final = (PULUMI, PULUMI_PYTHON)
