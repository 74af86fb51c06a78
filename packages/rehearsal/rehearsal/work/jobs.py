"""Jobs made by the functions of ``gpu submit`` and submitted by a developer. Their containers run no program."""

from __future__ import annotations

import math
from dataclasses import dataclass

from facts.concepts.kubernetes import DEFAULT_NAMESPACE
from facts.concepts.offer import Offer
from facts.concepts.pool import ARCH_LABEL, ARM
from facts.jobs.fit import Fit, PodRequest, comparable, fits
from facts.jobs.job import TrainingJobSpec, manifests
from gpu.cluster import collection, job_path
from rehearsal.cluster.api import Api, condition
from rehearsal.scenario.plan import SECONDS
from rehearsal.scenario.timeline import PodRecord, Timeline
from rehearsal.scenario.user import Wait, let_in


@dataclass(frozen=True)
class Workplace:
    """The cluster of jobs: what it offers, its administrator, a developer who submits, and what is observed."""

    offer: Offer
    api: Api
    developer: Api
    timeline: Timeline
    wait: Wait

    @property
    def image(self) -> str:
        """An image as ``gpu submit`` would have pushed it; on a stack with Arm CPUs one that runs on all its nodes."""
        if any(pool.nodes.labels.get(ARCH_LABEL) == ARM for pool in self.offer.pools):
            return "nvidia/cuda:12.2.2-base-ubuntu22.04"
        return f"{self.offer.registry or 'registry.example'}/train:1"

    @property
    def namespace(self) -> str:
        """The namespace of the service account that can write checkpoints, on a stack that has them."""
        assert self.offer.checkpoints is not None
        return self.offer.checkpoints.service_account.partition("/")[0]

    def namespace_of(self, request: PodRequest) -> str:
        """Where a job for ``request`` runs: with its team, or else where it can write checkpoints."""
        return self.namespace if request.namespace == DEFAULT_NAMESPACE else request.namespace

    def most_gpus(self, namespace: str) -> int:
        """How many GPUs the pods of a namespace may have at once; for all but teams, those of all pools."""
        every = sum(pool.scaling.max_nodes * pool.gpus.per_node for pool in self.offer.pools)
        return next((team.gpus for team in self.offer.teams if team.name == namespace), every)

    def whole_nodes(self, spot: bool | None = None) -> list[tuple[PodRequest, Fit]]:
        """For each type and size of nodes a pod that has all GPUs of one, and the pools for it, the cheapest first.

        A job names the type, which other makers' devices require; one for a slice has a worker for each of its nodes.
        Pools for teams are left out, as the jobs are of no team; where all pools are for teams, a job is of the first
        team of its pool, and has no more GPUs than that may have.
        """
        open_to_all = [pool for pool in self.offer.pools if not pool.nodes.teams]
        requests = [
            PodRequest(
                gpus=min(pool.gpus_per_pod, self.most_gpus(team) // max(1, pool.gpus.slice_nodes)),
                gpu=pool.gpus.type,
                spot=spot,
                workers=max(1, pool.gpus.slice_nodes),
                namespace=team,
            )
            for pool in open_to_all or self.offer.pools
            for team in (next(iter(pool.nodes.teams), DEFAULT_NAMESPACE),)
        ]
        fitting = [(each, fit[0]) for each in dict.fromkeys(requests) if (fit := fits(self.offer, each))]
        priced = zip(comparable([fit for _, fit in fitting]), fitting, strict=True)

        def order(each: tuple[float | None, tuple[PodRequest, Fit]]) -> tuple[float, int]:
            usd, (request, _) = each
            return math.inf if usd is None else usd * request.workers, request.gpus

        return [pair for _, pair in sorted(priced, key=order)]

    def submit(self, job: TrainingJobSpec, seconds: str) -> None:
        """Submit the job in a namespace of developers; each of its pods runs for so many seconds.

        Raises ApiError: the API server's refusal.
        """
        let_in(self.api, self.developer, self.wait, job.namespace)
        made = manifests(job)
        made[0]["spec"]["template"]["metadata"]["annotations"][SECONDS] = seconds
        for manifest in made:
            self.developer.submit(collection(manifest), manifest)

    def ended(self, job: TrainingJobSpec) -> bool:
        """Whether the Job is complete or failed."""
        live = self.api.get(job_path(job.namespace, job.name))
        return condition(live, "Complete") or condition(live, "Failed")

    def running(self, job: TrainingJobSpec) -> list[PodRecord]:
        """Its pods that run, and that nothing ends."""
        pods = self.timeline.pods_of(job.name, job.namespace)
        return [pod for pod in pods if pod.phase == "Running" and not pod.disrupted and pod.deleted is None]
