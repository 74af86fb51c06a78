"""What a training job is in Kubernetes: one Job, with a headless Service for workers and ConfigMaps for files. Pure.

Who reads this: the command ``gpu submit``, and components that declare jobs.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from facts.concepts.kubernetes import DO_NOT_DISRUPT, GPU_RESOURCE, SAFE_TO_EVICT, UNINTERRUPTED, Taint, manifest
from facts.concepts.ledger import USER
from facts.concepts.parts import FABRIC_CLAIM, NO_FABRIC, Fabric
from facts.concepts.pool import KIND_LABELS, OPT_OUT_LABEL, SELECTED_LABELS, placement, with_mps
from facts.jobs.fit import PodRequest
from facts.jobs.runner import FILES, WORKSPACE, with_files, with_saved_log
from facts.jobs.sweep import Sweep, unnamed

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
MANAGER: Final = "gpucluster"
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
"""https://kueue.sigs.k8s.io/docs/tasks/run/jobs/"""

INDEX_ANNOTATION: Final = "batch.kubernetes.io/job-completion-index"
MASTER_PORT: Final = 29500
"""torchrun's own default: https://docs.pytorch.org/docs/stable/elastic/run.html"""

CHECKPOINTS: Final = "CHECKPOINTS"
"""The environment variable with the location of the program's checkpoints."""

SHARED: Final = "/shared"
"""Where a job's pods see the files of its ``volume``."""
LOGS_ANNOTATION: Final = "gpucluster.dev/logs"
"""On a Job whose pods save their logs: the directory, in its ``volume``."""
PART_BYTES: Final = 900 * 1024
"""Bytes of the files' archive in one ConfigMap, which holds at most 1 MiB.

https://kubernetes.io/docs/concepts/configuration/configmap/
"""
LONGEST_NAME: Final = 52
"""Pods of an indexed Job are called <job>-<index>, which is a host name: at most 63 characters."""
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_CHECKPOINTS_OF_ALL: Final = "CHECKPOINTS_OF_ALL"
_INDEX: Final = "JOB_COMPLETION_INDEX"
_OWN_INDEX: Final = {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX_ANNOTATION}']"}}
_WEEK: Final = 7 * 24 * 3600
_CONTAINER: Final = "main"
_CLAIM: Final = {"name": "fabric"}


class AskError(ValueError):
    """The request is invalid; the message says what to write instead."""


@dataclass(frozen=True, kw_only=True)
class JobRequest(PodRequest):
    """A program that runs to its end on GPUs, once, once per worker, or once per run of a sweep.

    - ``command``: replaces the image's own program.
    - ``workers``: pods that start together and find each other by torchrun's variables.
    - ``at_once``: most runs of a ``sweep`` at the same time.
    - ``retries``: failures of the program itself, per run of a sweep and per worker.
    - ``timeout_seconds``: each pod is stopped so long after its start on a node, and has failed; ``None``: never. It is
      not retried unless ``retries`` says so.
    - ``priority``: low, normal or high; the team's own unless given.
    - ``grace_seconds``: from SIGTERM to SIGKILL; a spot node gives at most the cloud's notice.
    - ``service_account``: one of ``namespace``; that of the stack's checkpoints unless given, if it is there.
    - ``files``: a compressed tar archive that is unpacked to ``/workspace``; it needs a ``command``.
    - ``stored``: the folder of the shared volume in which such an archive is, instead of ``files``.

    Raises:
        AskError: what is wrong with a name, or what does not belong together.
    """

    name: str
    command: tuple[str, ...] = ()
    sweep: Sweep | None = None
    at_once: int | None = None
    retries: int | None = None
    timeout_seconds: int | None = None
    priority: str | None = None
    grace_seconds: int | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    service_account: str | None = None
    files: bytes = b""
    stored: str = ""
    secrets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or len(self.name) > LONGEST_NAME:
            raise AskError(
                f"--name {self.name}: write lowercase letters, digits and '-', {LONGEST_NAME} characters at most"
            )
        if self.sweep is not None and self.workers > 1:
            raise AskError("--sweep and --workers: a sweep's runs have one worker each; leave one of them out")
        if self.sweep is not None and not self.command:
            raise AskError("--sweep: write the program after --; its arguments receive the values")
        if self.has_files and not self.command:
            raise AskError("--sync: write the program after --, as in `gpu submit --sync -- python train.py`")
        if names := unnamed(self.command, self.sweep):
            braces = ", ".join(f"{{{name}}}" for name in names)
            raise AskError(
                f"{braces}: no --sweep has that name; write --sweep {names[0]}=…, or move text with braces into a file"
            )

    @property
    def has_files(self) -> bool:
        """Whether its pods unpack an archive."""
        return bool(self.files or self.stored)


@dataclass(frozen=True, kw_only=True)
class TrainingJobSpec(JobRequest):
    """A request with everything that the cluster adds to it.

    - ``pools``: the job may run on any of them. It tolerates their ``taints``; all of them have the labels ``kind``.
    - ``drained``: some of its pools have nodes that the cloud takes away, so autoscalers may drain its node.
    - ``resource``: what each pod requests ``gpus`` of.
    - ``network``: the network devices of each worker, in a pool with a fabric.
    - ``larger_node``: use a node with more GPUs than needed, for its memory.
    - ``checkpoints``: the URL in ``CHECKPOINTS`` unless ``env`` sets it; the same when the job is submitted again.
    - ``volume``: a claim, mounted at ``/shared``; the output of a ``command`` is saved there, too.
    - ``queue``: the Kueue queue of the namespace.
    - ``most_disk_mib`` and ``most_memory_mib``: of each pod, all that its pools leave. A pod that exceeds its limit has
      failed; one that exceeds its node without a limit is evicted as if the node were the reason, and starts again.
    - ``user``: who submits it, an annotation; empty: nobody knows.
    - ``kept_seconds``: the Job is deleted this long after its end; ``None``: never.
    """

    image: str
    pools: tuple[str, ...]
    taints: tuple[Taint, ...]
    kind: Mapping[str, str] = field(default_factory=dict)
    drained: bool = False
    resource: str = GPU_RESOURCE
    network: Fabric = NO_FABRIC
    retries: int = 0
    grace_seconds: int = 30
    larger_node: bool = False
    checkpoints: str | None = None
    volume: str | None = None
    queue: str | None = None
    most_disk_mib: int | None = None
    most_memory_mib: int | None = None
    kept_seconds: int | None = _WEEK
    priority_class: str | None = None
    pod_labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    user: str = ""


def manifests(job: TrainingJobSpec) -> list[dict[str, Any]]:
    """The Job, then the Service by which several workers find each other, and the ConfigMaps of its files."""
    return [_job(job), *([_service(job)] if job.workers > 1 else []), *_parts(job)]


def _parts(job: TrainingJobSpec) -> Iterator[dict[str, Any]]:
    for number, start in enumerate(range(0, len(job.files), PART_BYTES)):
        name, labels = f"{job.name}-files-{number}", {MANAGED_BY: MANAGER}
        data = {f"part-{number:03}": base64.b64encode(job.files[start : start + PART_BYTES]).decode()}
        yield manifest("v1", "ConfigMap", name, job.namespace, labels=labels, binaryData=data, immutable=True)


def _job(job: TrainingJobSpec) -> dict[str, Any]:
    runs = job.sweep.runs if job.sweep is not None else job.workers
    indexed = job.sweep is not None or job.workers > 1
    spec: dict[str, Any] = {
        "completions": runs,
        "parallelism": min(runs, job.at_once or runs) if job.sweep is not None else runs,
        **({"completionMode": "Indexed"} if indexed else {}),
        # A run that fails does not end the others; when a worker fails the others do too, each with a failure.
        **({"backoffLimitPerIndex": job.retries} if job.sweep is not None else {"backoffLimit": job.retries * runs}),
        # A node that is taken away is no failure of the program:
        # https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
        "podFailurePolicy": {
            "rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
        },
        **({} if job.kept_seconds is None else {"ttlSecondsAfterFinished": job.kept_seconds}),
        "template": _template(job),
    }
    return _object(job, "batch/v1", "Job", spec)


def _object(job: TrainingJobSpec, api_version: str, kind: str, spec: Mapping[str, Any]) -> dict[str, Any]:
    labels = {MANAGED_BY: MANAGER, **({QUEUE_LABEL: job.queue} if job.queue else {})}
    annotations = {**job.annotations, **_user(job), **({LOGS_ANNOTATION: logs} if (logs := _logs(job)) else {})}
    return manifest(
        api_version, kind, job.name, job.namespace, labels=labels, annotations=annotations or None, spec=spec
    )


def _logs(job: TrainingJobSpec) -> str | None:
    """Where its pods save their logs."""
    return f"{SHARED}/.logs/{job.name}" if job.volume and job.command else None


def _template(job: TrainingJobSpec) -> dict[str, Any]:
    labels = {
        MANAGED_BY: MANAGER,
        **({OPT_OUT_LABEL: "true"} if job.larger_node else {}),
        **({} if job.drained else {UNINTERRUPTED: "true"}),
        **job.pod_labels,
    }
    spec = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": job.grace_seconds,
        # Of the pod: that of the Job would count the time until a node is there.
        **({"activeDeadlineSeconds": job.timeout_seconds} if job.timeout_seconds else {}),
        **({"subdomain": job.name} if job.workers > 1 else {}),
        **({"serviceAccountName": job.service_account} if job.service_account else {}),
        **({"priorityClassName": job.priority_class} if job.priority_class else {}),
        **placement(job.pools, job.taints, job.kind),
        **({"nodeSelector": own} if (own := _cloud_labels(job)) else {}),
        "containers": [_container(job)],
        **({"resourceClaims": [{**_CLAIM, "resourceClaimTemplateName": FABRIC_CLAIM}]} if job.network.claimed else {}),
        # A container's own /dev/shm has 64 MiB, too little for PyTorch's data loaders and NCCL:
        # https://docs.pytorch.org/docs/stable/multiprocessing.html
        "volumes": [
            {"name": "shm", "emptyDir": {"medium": "Memory"}},
            *([{"name": "shared", "persistentVolumeClaim": {"claimName": job.volume}}] if job.volume else []),
            *_file_volumes(job),
        ],
    }
    return {
        "metadata": {"labels": labels, "annotations": {**_undisturbed(job), **_user(job)}},
        "spec": with_mps(spec, job.kind),
    }


def _cloud_labels(job: TrainingJobSpec) -> dict[str, str]:
    """The cloud reads them in a node selector, to tell the workers of a slice of each other."""
    return {key: value for key, value in job.kind.items() if key not in (*KIND_LABELS, *SELECTED_LABELS)}


def _file_volumes(job: TrainingJobSpec) -> list[dict[str, Any]]:
    """The archive's parts, and an empty directory to unpack them to."""
    sources = [{"configMap": {"name": part["metadata"]["name"]}} for part in _parts(job)]
    parts = [{"name": "files", "projected": {"sources": sources}}] if sources else []
    return [*parts, {"name": "workspace", "emptyDir": {}}] if job.has_files else []


def _file_mounts(job: TrainingJobSpec) -> list[dict[str, Any]]:
    """Where the container finds the archive, in ConfigMaps or in the shared volume, and unpacks it."""
    stored = {"name": "shared", "mountPath": FILES, "subPath": job.stored, "readOnly": True}
    archive = stored if job.stored else {"name": "files", "mountPath": FILES}
    return [archive, {"name": "workspace", "mountPath": WORKSPACE}] if job.has_files else []


def _user(job: TrainingJobSpec) -> dict[str, str]:
    return {USER: job.user} if job.user else {}


def _undisturbed(job: TrainingJobSpec) -> dict[str, str]:
    """No autoscaler ends it to empty its node.

    Karpenter drains no node with a pod that says do-not-disrupt, nor one whose spot machine or capacity block is about
    to end (https://karpenter.sh/docs/concepts/disruption/#pod-level-controls): the program would not hear of it. The
    budget for ``UNINTERRUPTED`` pods would do the same.
    """
    return {SAFE_TO_EVICT: "false", **({} if job.drained else {DO_NOT_DISRUPT: "true"})}


def _container(job: TrainingJobSpec) -> dict[str, Any]:
    command = job.sweep.wrap(job.command, _INDEX) if job.sweep is not None else job.command
    command = with_files(command) if job.has_files else command
    command = with_saved_log(command, logs) if (logs := _logs(job)) else command
    variables = [
        *_checkpoints(job),
        *({"name": name, "value": value} for name, value in {**job.network.env, **job.env}.items()),
        *(_torchrun(job) if job.workers > 1 else ()),
    ]
    asked = {
        **({"cpu": f"{job.milli_cpu}m"} if job.milli_cpu else {}),
        **({"memory": f"{job.memory_mib}Mi"} if job.memory_mib else {}),
        # A limit without a request would be the request.
        **({"ephemeral-storage": f"{job.disk_mib}Mi"} if job.disk_mib or job.most_disk_mib else {}),
    }
    most = {
        **({"memory": f"{job.most_memory_mib}Mi"} if job.most_memory_mib and job.memory_mib else {}),
        **({"ephemeral-storage": f"{job.most_disk_mib}Mi"} if job.most_disk_mib else {}),
    }
    return {
        "name": _CONTAINER,
        "image": job.image,
        **({"command": list(command)} if command else {}),
        **({"workingDir": WORKSPACE} if job.has_files else {}),
        **({"env": variables} if variables else {}),
        **({"envFrom": [{"secretRef": {"name": name}} for name in job.secrets]} if job.secrets else {}),
        "resources": {
            **({"requests": asked} if asked else {}),
            "limits": {job.resource: job.gpus, **most, **job.network.limits},
            **({"claims": [_CLAIM]} if job.network.claimed else {}),
        },
        "volumeMounts": [
            {"name": "shm", "mountPath": "/dev/shm"},
            *([{"name": "shared", "mountPath": SHARED}] if job.volume else []),
            *_file_mounts(job),
        ],
    }


def _checkpoints(job: TrainingJobSpec) -> list[dict[str, Any]]:
    """Where the program finds its checkpoints; each run of a sweep has its own location.

    The run's index is declared first, because a variable can name those before it alone, and the Job controller, which
    leaves one that is there, would put it last.
    https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
    """
    if job.checkpoints is None or CHECKPOINTS in job.env:
        return []
    if job.sweep is None:
        return [{"name": CHECKPOINTS, "value": job.checkpoints}]
    return [
        {"name": _CHECKPOINTS_OF_ALL, "value": job.checkpoints},
        {"name": _INDEX, "valueFrom": _OWN_INDEX},
        {"name": CHECKPOINTS, "value": f"$({_CHECKPOINTS_OF_ALL})/$({_INDEX})"},
    ]


def _torchrun(job: TrainingJobSpec) -> list[dict[str, Any]]:
    """What ``torchrun train.py`` needs to know, without flags: torchrun takes a flag's value from ``PET_<FLAG>``.

    https://github.com/pytorch/pytorch/blob/main/torch/distributed/argparse_util.py; the plain names are those that
    programs read themselves: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables
    """
    # Pods of an indexed Job are called so: https://kubernetes.io/docs/concepts/workloads/controllers/job/
    master = f"{job.name}-0.{job.name}"
    plain = {
        "MASTER_ADDR": master,
        "MASTER_PORT": str(MASTER_PORT),
        "NNODES": str(job.workers),
        "NPROC_PER_NODE": str(job.gpus),
        "WORLD_SIZE": str(job.workers * job.gpus),
    }
    of_torchrun = {f"PET_{name}": plain[name] for name in plain if name != "WORLD_SIZE"}
    return [
        {"name": "NODE_RANK", "valueFrom": _OWN_INDEX},
        {"name": "PET_NODE_RANK", "valueFrom": _OWN_INDEX},
        *({"name": name, "value": value} for name, value in {**plain, **of_torchrun}.items()),
    ]


def _service(job: TrainingJobSpec) -> dict[str, Any]:
    """Gives each worker a DNS name before it is ready: workers need the names to become ready."""
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"batch.kubernetes.io/job-name": job.name},
        "ports": [{"name": "torchrun", "port": MASTER_PORT}],
    }
    return _object(job, "v1", "Service", spec)
