"""A training job, declared by a Pulumi program: the same Job as ``gpu submit`` creates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

import pulumi

from components.cluster import Cluster
from components.published_offer import daemons_of, offer
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, UNINTERRUPTED, uninterrupted_budget
from facts.jobs.job import JobRequest, TrainingJobSpec, manifests
from facts.jobs.plan import place, slow_network, training_job
from facts.jobs.sweep import Sweep

# Placement depends on the pools and a Job's template is immutable, so a new pool would replace a running job. https://kubernetes.io/docs/concepts/workloads/controllers/job/
_IGNORED_CHANGES: Final = (
    "spec.template.metadata.annotations",
    f'spec.template.metadata.labels["{UNINTERRUPTED}"]',
    *(f"spec.template.spec.{key}" for key in ("affinity", "tolerations", "terminationGracePeriodSeconds")),
)
# The provider waits for a Job to complete (https://github.com/pulumi/pulumi-kubernetes/pull/633), unless an annotation
# says otherwise (https://github.com/pulumi/pulumi-kubernetes/pull/417).
_NOT_AWAITED: Final = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True, kw_only=True)
class TrainingJobArgs:
    """``command`` in ``image``, on the cheapest pools of ``cluster`` that fit ``gpus`` of type ``gpu``.

    ``gpu`` is the name of a GPU type or part of it (``a100``); any by default. With several ``workers`` torchrun's
    variables are set; a ``sweep`` runs once for each combination. ``retries`` count failures of the program, not
    reclaimed nodes. SIGTERM comes ``grace_seconds`` before SIGKILL, on spot at most the cloud's notice.

    ``checkpoints`` is the URL of the stack's bucket (``CheckpointBucket``): the program finds its own place in it in
    ``CHECKPOINTS``, the same after every restart, and reads and writes it as the bucket's service account.

    Raises:
        NothingFits: no pool fits; the message names the nearest.
        AskError: an invalid ``name`` or combination of arguments.
    """

    cluster: Cluster
    image: pulumi.Input[str]
    command: tuple[str, ...] = ()
    gpus: int = 1
    gpu: str | None = None
    milli_cpu: int = 0
    memory_mib: int = 0
    disk_mib: int = 0
    spot: bool | None = None
    workers: int = 1
    sweep: Sweep | None = None
    at_once: int | None = None
    retries: int | None = None
    grace_seconds: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    namespace: str = "default"
    checkpoints: pulumi.Input[str] | None = None


class TrainingJob(pulumi.ComponentResource):
    """An indexed Job of the component's name, and a headless Service for several workers.

    Pulumi does not wait for its completion. Changed arguments replace it; changed pools do not.
    """

    pools: tuple[str, ...]

    def __init__(self, name: str, args: TrainingJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpucluster:index:TrainingJob", name, None, opts)
        job = _job(name, args)
        self.pools = job.pools
        objects = args.cluster.objects
        # The Service first: the workers need it as soon as they run.
        job_manifest, *services = manifests(job)
        first = [objects.declare(f"{name}-service", service, self) for service in services]
        settings = args.cluster.settings
        if args.namespace not in (DEFAULT_NAMESPACE, *settings.user_namespaces):
            # The namespace's, so it outlives this job.
            first.append(objects.declare(f"{name}-budget", uninterrupted_budget(args.namespace), self, retained=True))
        objects.declare(f"{name}-job", job_manifest, self, *first, as_made=_IGNORED_CHANGES)
        self.register_outputs({"job": f"{args.namespace}/{name}", "pools": list(job.pools)})


def _job(name: str, args: TrainingJobArgs) -> TrainingJobSpec:
    settings = args.cluster.settings
    pools = settings.gpu_pools
    # A placeholder; the real URL is an output and set below.
    addresses = {"checkpoints": ""} if args.checkpoints is not None else {}
    stack_offer = offer(settings, pools, daemons_of(args.cluster.cloud, settings, pools), addresses)
    same = {each.name for each in fields(args)} & {each.name for each in fields(JobRequest)}
    asked = JobRequest(name=name, **{key: getattr(args, key) for key in same})
    fit = place(stack_offer, asked)
    job = training_job(asked, fit, "", stack_offer)
    if (slow := slow_network(job, fit)) is not None:
        pulumi.warn(f"job {name}: {slow}")
    # Outputs may take the place of strings in a manifest.
    outputs: dict[str, Any] = {"image": args.image}
    if job.checkpoints is not None and args.checkpoints is not None:
        outputs["checkpoints"] = pulumi.Output.concat(args.checkpoints, "/", name)
    return replace(job, annotations=_NOT_AWAITED, kept_seconds=None, **outputs)
