"""Images that pods of a stack name and that are not to be had without a registry: all are one that waits."""

from __future__ import annotations

import re
from typing import Final

from rehearsal.engine.stack import ROOT

_IMAGE: Final = re.compile(r"\bimage: (\S+)")
_MANIFESTS: Final = ROOT / "components" / "clouds" / "kubeadm" / "local-path.yaml"


def named() -> list[str]:
    """Of what the program adds to every cluster of own machines, but for the pods' network, whose images are real."""
    return sorted(set(_IMAGE.findall(_MANIFESTS.read_text(encoding="utf-8"))))
