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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from rehearsal.tools.command import ToolsError

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
    the installed files take.
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
        version = self.version(module)
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

PULUMI: Final = Module(
    _HERE / "pulumi",
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
    minutes=0.6,
    build_gib=0.5,
    installed_gib=0.1,
)

KUBERNETES: Final = Module(
    _HERE / "kubernetes",
    names={"server": "etcd"},
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
    ),
    minutes=7.5,
    build_gib=3.5,
    installed_gib=0.4,
)
"""Of the minor that the simulated clouds use by default (``providers/*/versions.py``).

A newer one accepts what that minor refuses: 1.36.3 with etcd 3.6.8 builds, and rehearses dev in a few seconds more.
"""

_DISRUPTION: Final = "pkg/controllers/disruption"
_EDITS: Final = (
    # The wait between finding a node idle and checking it again, before its deletion.
    (f"{_DISRUPTION}/consolidation.go", "ValidationDelay = 15 * time.Second", "ValidationDelay = 5 * time.Second"),
    # How often it looks for idle nodes.
    (f"{_DISRUPTION}/controller.go", "pollingPeriod = 10 * time.Second", "pollingPeriod = time.Second"),
    # How long a node is held for pods that may come: twice the longest time of collecting pods, and at least 10 s.
    ("pkg/controllers/state/statenode.go", "BatchMaxDuration, 10*time.Second)", "BatchMaxDuration, 0)"),
    # The shortest drain. A node that is being deleted does not count any more, so another may be created beside it.
    (
        "pkg/controllers/node/termination/controller.go",
        "if cond == nil || (cond.IsUnknown() && c.clock.Since(cond.LastTransitionTime.Time) < MinDrainTime) {",
        "if cond == nil && MinDrainTime < 0 {",
    ),
    # A node gets its NodeClaim's name: the default name is too long for the label kubernetes.io/hostname.
    ("kwok/cloudprovider/cloudprovider.go", '"kwok-%s-%s-%d"', '"%[1]s"'),
)
"""Waits and a node name that the simulated clouds' autoscaler has no option for: path, published text, built text.

Idle time is simulated, like the start of a machine; decisions are unchanged. The Karpenter that a stack itself
installs (``KARPENTER_AWS``) is built as published.
"""

KARPENTER: Final = Module(
    _HERE / "karpenter",
    names={"kwok": "karpenter"},
    stamps=(Stamp("sigs.k8s.io/karpenter/pkg/operator.Version", "sigs.k8s.io/karpenter", "{number}"),),
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
    edits=tuple(Overlay("sigs.k8s.io/karpenter", *each) for each in _EDITS),
    minutes=2,
    build_gib=1.5,
    installed_gib=0.1,
)

KWOK: Final = Module(
    _HERE / "kwok",
    minutes=2.5,
    build_gib=1.0,
    installed_gib=0.1,
)

ACTIONLINT: Final = Module(
    _HERE / "actionlint",
    stamps=(Stamp("github.com/rhysd/actionlint.version", "github.com/rhysd/actionlint", "{number}"),),
    minutes=0.2,
    build_gib=0.3,
    installed_gib=0.01,
)

HELM: Final = Module(
    _HERE / "helm",
    # https://github.com/helm/helm/blob/v3.22.0/Makefile
    stamps=(
        Stamp("helm.sh/helm/v3/internal/version.version", "helm.sh/helm/v3"),
        # What a chart's kubeVersion is held against without a cluster; client-go is 0.x for Kubernetes 1.x.
        Stamp("helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor", "k8s.io/client-go", "1"),
        Stamp("helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor", "k8s.io/client-go", "{minor}"),
    ),
    minutes=2,
    build_gib=1.5,
    installed_gib=0.1,
)

_KARPENTER_AWS: Final = "github.com/aws/karpenter-provider-aws"
_CHART_VERSION: Final = {"version": "{number}", "appVersion": "{number}"}

KARPENTER_AWS: Final = Module(
    _HERE / "karpenter-aws",
    names={"controller": "karpenter-aws"},
    # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/Makefile
    stamps=(Stamp("sigs.k8s.io/karpenter/pkg/operator.Version", _KARPENTER_AWS, "{number}"),),
    # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/hack/release/common.sh
    # The published chart names the image's digest, too, which only its registry knows.
    charts=(
        ModuleChart(
            "oci://public.ecr.aws/karpenter/karpenter",
            _KARPENTER_AWS,
            "charts/karpenter",
            {"Chart.yaml": _CHART_VERSION, "values.yaml": {"    tag": "{number}", "    digest": '""'}},
        ),
        ModuleChart(
            "oci://public.ecr.aws/karpenter/karpenter-crd",
            _KARPENTER_AWS,
            "charts/karpenter-crd",
            {"Chart.yaml": _CHART_VERSION},
        ),
    ),
    minutes=5,
    build_gib=3.0,
    installed_gib=0.2,
)

MODULES: Final = (KUBERNETES, KARPENTER, KWOK, PULUMI, PULUMI_PYTHON, HELM, KARPENTER_AWS, ACTIONLINT)

PREVIEW: Final = (PULUMI, PULUMI_PYTHON)
"""Pulumi itself; a user's own can take their place. A preview needs no more."""

REHEARSAL: Final = (KUBERNETES, KARPENTER, KWOK, *PREVIEW)
"""What a rehearsal of every stack runs."""

OF_AUTOSCALER: Final[Mapping[str, tuple[Module, ...]]] = {"karpenter": (HELM, KARPENTER_AWS)}
"""What a rehearsal runs besides, by the stack's autoscaler: Karpenter comes from its Helm charts."""
