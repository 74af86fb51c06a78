"""``gpu submit --notify``: a Secret with the webhook's URL, and a small Job that waits for the job's end and posts it.

It is beside the job and not in its pods, which may be killed for memory or deleted with their node.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path
from string import Template
from typing import Any, Final

import yaml

from facts.concepts.notifier import NOTIFIER
from facts.concepts.rest import resource_path
from facts.jobs.job import MANAGED_BY, MANAGER, AskError, TrainingJobSpec
from gpu.cluster import ClusterClient, ClusterError

_URL: Final = re.compile(r"https?://[^\s/]+\S*")


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
    text = Template(Path(__file__).with_name("notify.yaml").read_text(encoding="utf-8")).substitute(
        job=job.name,
        namespace=job.namespace,
        notifier=NOTIFIER,
        url=base64.b64encode(url.encode()).decode(),
        managed_by=MANAGED_BY,
        manager=MANAGER,
    )
    secret, waiting = yaml.safe_load_all(text)
    pod = waiting["spec"]["template"]["spec"]
    pod["containers"][0]["command"].append(Path(__file__).with_name("notifier.py").read_text())
    if job.priority_class:
        pod["priorityClassName"] = job.priority_class  # A team may only create pods of its own priority.
    return [secret, waiting]
