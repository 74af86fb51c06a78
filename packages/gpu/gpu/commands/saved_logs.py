"""Logs of pods that were deleted with their nodes: from the shared volume, or where the cloud has them.

The command cannot read the volume itself, so a pod without GPU prints the file.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Formatter, Template
from typing import Any, Final

import yaml
from rich.markup import escape

from facts.concepts.offer import SHARED_CLAIM, OfferError
from facts.jobs.job import LOGS_ANNOTATION, MANAGED_BY, MANAGER, SHARED
from gpu.cluster import ClusterClient, ClusterError, Object, job_path, pod_path
from gpu.commands.common import err, show_line

_SECONDS: Final = 180
_POLL_SECONDS: Final = 1.0


def show_saved(cluster: ClusterClient, job: Object, index: int) -> bool:
    """Print the saved log of a run or worker, else where it is or why there is none; whether it was printed."""
    name = job["metadata"]["name"]
    directory = (job["metadata"].get("annotations") or {}).get(LOGS_ANNOTATION)
    console = err()
    lost = f"the log of {name} was deleted with its node"
    if directory is None:
        console.print(escape(f"{lost}{_elsewhere(cluster, job, index)}"))
        return False
    console.print(f"[dim]{escape(lost)}; a pod reads the copy in the shared volume, which takes some seconds …[/]")
    file = f"{directory}/{index}.log"
    lines = _read(cluster, reader_of(job, file))
    if lines is None:
        console.print(escape(f"{name} has saved no log in {file}, or no node could run the pod that reads it"))
        return False
    for line in lines:
        show_line(line)
    return True


def _filled(template: str, values: Mapping[str, str]) -> str | None:
    """``template`` with the ``values`` by name; ``None`` if it asks for anything else."""
    try:
        fields = [part[1:] for part in Formatter().parse(template) if part[1] is not None]
    except ValueError:
        return None
    return (
        template.format(**values) if all(name in values and not (spec or kind) for name, spec, kind in fields) else None
    )


def _elsewhere(cluster: ClusterClient, job: Object, index: int) -> str:
    """The rest of a sentence: the command that reads the cloud's logs, or what saves logs in future."""
    name, namespace = job["metadata"]["name"], job["metadata"]["namespace"]
    try:
        offer = cluster.offer()
    except (ClusterError, OfferError):
        return ""
    if offer.log_command is not None:
        indexed = job["spec"].get("completionMode") == "Indexed"
        pods = f"^{name}-{index}-" if indexed else f"^{name}-[a-z0-9]+$"
        place = {"region": offer.region, "cluster": offer.cluster, "namespace": namespace}
        if (command := _filled(offer.log_command, {**place, "pods": pods})) is not None:
            return f". Your cloud has it; this prints it:\n{command}"
    if offer.volume_namespace is not None:
        return f". Jobs with a command in namespace {offer.volume_namespace} save theirs in the shared volume"
    settings = " or ".join(f"`{each}`" for each in ("workloads: {sharedVolume: {}}", offer.log_setting) if each)
    return f", and nothing saves logs here; ask your administrator for {settings}"


def _read(cluster: ClusterClient, reader: Object) -> list[str] | None:
    """The last lines of its file; ``None`` if there is no such file, or the reader cannot run."""
    name, namespace = reader["metadata"]["name"], reader["metadata"]["namespace"]
    cluster.create(reader)
    try:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            for pod in cluster.list(pod_path(namespace), labelSelector=f"batch.kubernetes.io/job-name={name}"):
                if pod["status"].get("phase") == "Failed":
                    return None
                if pod["status"].get("phase") == "Succeeded":
                    return [text for _, text in cluster.log(namespace, pod["metadata"]["name"])]
            time.sleep(_POLL_SECONDS)
        return None
    finally:
        cluster.delete(job_path(namespace, name))


def reader_of(job: Object, file: str) -> dict[str, Any]:
    """A Job that prints the file; beside ``job``, in its namespace."""
    # 8 MiB: the kubelet starts a new file after 10, and the API reads the newest alone:
    # https://kubernetes.io/docs/concepts/cluster-administration/logging/#log-rotation
    return volume_reader(job, f"gpu-logs-{secrets.token_hex(3)}", ("tail", "-c", "8388608", file), _SECONDS)


def volume_reader(
    job: Object, name: str, command: Sequence[str], seconds: int, *, writes: bool = False
) -> dict[str, Any]:
    """A Job ``name`` in the namespace of ``job`` that runs a command with the shared volume, for so many seconds at
    most; it may write there only if it ``writes``."""
    text = Template(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")).substitute(
        name=name,
        namespace=job["metadata"]["namespace"],
        seconds=seconds,
        read_only=str(not writes).lower(),
        shared=SHARED,
        claim=SHARED_CLAIM,
        managed_by=MANAGED_BY,
        manager=MANAGER,
    )
    reader: dict[str, Any] = yaml.safe_load(text)
    pod = reader["spec"]["template"]["spec"]
    pod["containers"][0]["command"] = [*command]
    # A team may only create pods of its own priority.
    if priority := job["spec"]["template"]["spec"].get("priorityClassName"):
        pod["priorityClassName"] = priority
    return reader
