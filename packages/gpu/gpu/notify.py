"""``gpu submit --notify``: a Secret with the webhook's URL, and a small Job that waits for the job's end and posts it.

It is beside the job and not in its pods, which may be killed for memory or deleted with their node.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from typing import Any, Final

from facts.concepts.notifier import NOTIFIER
from facts.concepts.rest import resource_path
from facts.jobs.job import MANAGED_BY, MANAGER, AskError, TrainingJobSpec
from gpu.cluster import ClusterClient, ClusterError

_IMAGE: Final = "docker.io/library/python:3.13-alpine"
_URL: Final = re.compile(r"https?://[^\s/]+\S*")
_RETRIES: Final = 3


def check_notify(cluster: ClusterClient, url: str) -> None:
    """Refuse what could not notify, before anything is created. The URL is in no message.

    Raises:
        AskError: no URL.
        ClusterError: the namespace has no account for it.
    """
    if not _URL.fullmatch(url):
        raise AskError("--notify: write the webhook's URL, as in https://hooks.example.com/…")
    if cluster.find(resource_path("v1", "serviceaccounts", NOTIFIER, cluster.namespace)) is None:
        raise ClusterError(
            f"--notify: namespace {cluster.namespace} has no service account {NOTIFIER}. The stack makes one in "
            "`default` and in the namespaces of `teams` and `access`; an older stack needs `pulumi up`"
        )


def notify_manifests(job: TrainingJobSpec, url: str) -> list[dict[str, Any]]:
    """The Secret and the Job; to be owned by the job, and so deleted with it."""
    metadata = {"name": f"{job.name}-notify", "namespace": job.namespace, "labels": {MANAGED_BY: MANAGER}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
    reference = {"secretKeyRef": {"name": metadata["name"], "key": "url"}}
    container = {
        "name": "notifier",
        "image": _IMAGE,
        "command": ["python", "-u", "-c", Path(__file__).with_name("notifier.py").read_text()],
        "env": [
            {"name": "NAMESPACE", "value": job.namespace},
            {"name": "JOB", "value": job.name},
            {"name": "URL", "valueFrom": reference},
        ],
        "resources": {"requests": {"cpu": "10m", "memory": "32Mi"}, "limits": {"memory": "128Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    pod = {
        "restartPolicy": "Never",
        "serviceAccountName": NOTIFIER,
        "automountServiceAccountToken": True,
        # A team may only create pods of its own priority.
        **({"priorityClassName": job.priority_class} if job.priority_class else {}),
        "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    # Autoscalers may move it, so that it keeps no node alive; a move is no failure.
    moved = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    spec = {
        "backoffLimit": _RETRIES,
        "podFailurePolicy": {"rules": [moved]},
        "template": {"metadata": {"labels": {MANAGED_BY: MANAGER}}, "spec": pod},
    }
    return [
        {**secret, "data": {"url": base64.b64encode(url.encode()).decode()}},
        {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec},
    ]
