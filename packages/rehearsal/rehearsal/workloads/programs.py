"""Which programs the tools' folder has for carried images."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from rehearsal.cluster.images import KARPENTER, ImageBinary
from rehearsal.tools.modules import KARPENTER_AWS

_MODULE: Final = "github.com/aws/karpenter-provider-aws"
_BINARY: Final = "karpenter-aws"
_PORTS: Final = ("METRICS_PORT", "HEALTH_PROBE_PORT")


def programs(tools: Path) -> Mapping[str, ImageBinary]:
    """Repository → program, of those that were built; tools of a stack that needs none have none."""
    binary = tools / _BINARY
    if not binary.exists():
        return {}
    version = KARPENTER_AWS.version(_MODULE).removeprefix("v")
    return {KARPENTER: ImageBinary(KARPENTER, version, binary, _PORTS)}
