"""The upstream binaries and how each is built: one Go module per release line, which has them as its tools.

Modules are separate because their dependencies do not agree with each other, so that a change of one pin rebuilds one
module, and so that nobody waits for what they do not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rehearsal.tools.module import Copies, Module, ModuleChart, Overlay, Stamp

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
