"""Jobs made by the functions of ``gpu submit`` and submitted by a developer. Their containers run no program."""

from __future__ import annotations

from facts.concepts.offer import Offer
from facts.jobs.job import TrainingJobSpec, manifests
from gpu.cluster import collection, job_path
from rehearsal.cluster.api import Api, condition
from rehearsal.scenario.plan import SECONDS
from rehearsal.scenario.timeline import PodRecord, Timeline
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
    live = api.get(job_path(job.namespace, job.name))
    return condition(live, "Complete") or condition(live, "Failed")


def running(timeline: Timeline, job: TrainingJobSpec) -> list[PodRecord]:
    """Its pods that run, and that nothing ends."""
    pods = timeline.pods_of(job.name, job.namespace)
    return [pod for pod in pods if pod.phase == "Running" and not pod.disrupted and pod.deleted is None]
