"""Jobs made by the functions of ``gpu submit`` and submitted by a developer. Their containers run no program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from facts.concepts.offer import Offer
from facts.jobs.job import TrainingJobSpec, manifests
from gpu.cluster import collection, job_path
from rehearsal.cluster.api import Api
from rehearsal.scenario.plan import SECONDS
from rehearsal.scenario.user import Wait, let_in


def image(offer: Offer) -> str:
    """An image as ``gpu submit`` would have pushed it."""
    return f"{offer.registry or 'registry.example'}/train:1"


def namespace(offer: Offer) -> str:
    """The namespace of the service account that can write checkpoints, on a stack that has them."""
    assert offer.checkpoints is not None
    return offer.checkpoints.service_account.partition("/")[0]


def submit(job: TrainingJobSpec, seconds: str, api: Api, developer: Api, wait: Wait) -> None:
    """Submit the job in a namespace of developers; each of its pods runs for so many seconds.

    Raises ApiError: the API server's refusal.
    """
    let_in(api, developer, wait, job.namespace)
    made = manifests(job)
    made[0]["spec"]["template"]["metadata"]["annotations"][SECONDS] = seconds
    for manifest in made:
        developer.submit(collection(manifest), manifest)


def ended(api: Api, job: TrainingJobSpec) -> bool:
    """Whether the Job is complete or failed."""
    return holds(api.get(job_path(job.namespace, job.name)).get("status") or {}, "Complete", "Failed")


def holds(status: Mapping[str, Any], *conditions: str) -> bool:
    """Whether a Job's status has one of these conditions."""
    return any(each["type"] in conditions and each["status"] == "True" for each in status.get("conditions") or ())
