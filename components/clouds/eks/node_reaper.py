"""Ends machines of Karpenter that joined the cluster and did not become ready, as when a GPU never registers.

Karpenter waits for them without limit (https://github.com/kubernetes-sigs/karpenter/issues/3242), and node repair does
not see a missing GPU (https://github.com/Azure/karpenter-provider-azure/issues/1790).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from components.clouds.eks.in_cluster import (
    RESTRICTED_CONTAINER,
    RESTRICTED_POD,
    bound_role,
    metadata,
    service_account,
)
from facts.concepts.pool import ROLE_LABEL

NAME: Final = "gpucluster-node-reaper"
_LABELS: Final = {"app": NAME}
# Docker's official image, as Amazon's registry has it.
_IMAGE: Final = "public.ecr.aws/docker/library/python:3.13-alpine"
_MINUTES: Final = 20
_SCHEDULE: Final = "*/5 * * * *"
_SCRIPT: Final = Path(__file__).with_name("stuck_nodes.py")


def manifests() -> list[dict[str, Any]]:
    """The service account, its role with binding, and the CronJob, in this order."""
    rule = {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["list", "delete"]}
    return [
        service_account(NAME, _LABELS),
        *bound_role("ClusterRole", NAME, _LABELS, [rule]),
        {"apiVersion": "batch/v1", "kind": "CronJob", "metadata": metadata(NAME, _LABELS), "spec": _cron_job()},
    ]


def _cron_job() -> dict[str, Any]:
    container = {
        "name": "reaper",
        "image": _IMAGE,
        "command": ["python", "-c", _SCRIPT.read_text()],
        "env": [{"name": "MINUTES", "value": str(_MINUTES)}],
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": dict(RESTRICTED_CONTAINER),
    }
    pod = {
        "serviceAccountName": NAME,
        "restartPolicy": "Never",
        "nodeSelector": {"kubernetes.io/os": "linux", ROLE_LABEL: "admin"},
        "securityContext": dict(RESTRICTED_POD),
        "containers": [container],
    }
    job = {
        "backoffLimit": 0,
        "activeDeadlineSeconds": 240,
        "template": {"metadata": {"labels": dict(_LABELS)}, "spec": pod},
    }
    return {
        "schedule": _SCHEDULE,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": job},
    }
