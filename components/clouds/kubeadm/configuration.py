"""kubeadm's configuration, and the audit policy of the API server, as files take them: ``kubeadm.yaml`` and
``audit-policy.yaml``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from components.resources import documents
from components.settings.own.resolved import OwnMachines

_HERE: Final = Path(__file__).parent
_AUDIT: Final = "/etc/kubernetes/gpucluster/audit.yaml"
"""The plugin mounts its folder into the API server."""


def control_plane(cluster: str, own: OwnMachines) -> list[dict[str, Any]]:
    """The documents of ``kubeadm init``."""
    ranges = {"pods": own.pod_cidr, "services": own.service_cidr}
    return documents(_HERE / "kubeadm.yaml", cluster=cluster, audit=_AUDIT, **ranges)


def files() -> list[dict[str, str]]:
    """The files that the API server reads."""
    (policy,) = documents(_HERE / "audit-policy.yaml")
    return [{"path": _AUDIT, "content": json.dumps(policy, indent=1) + "\n"}]
