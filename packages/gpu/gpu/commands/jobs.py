"""``gpu list``, ``logs``, ``why``, ``stop``, ``cost`` and ``shell``: jobs that are there."""

from __future__ import annotations

import os
import shutil
from datetime import datetime, timezone
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from facts.concepts.kubernetes import GPU_RESOURCE
from gpu import why as reasons
from gpu.cluster import ClusterClient, ClusterError, Object, event_path, job_path, pod_path
from gpu.commands.common import (
    EXIT_BAD_INPUT,
    EXIT_CLUSTER,
    EXIT_NO,
    ContextOption,
    JsonOption,
    TeamOption,
    dollars,
    err,
    fail,
    out,
    print_json,
)
from gpu.commands.following import (
    OWNER_LABEL,
    Output,
    events_around,
    follow,
    gone_with_its_pod,
    has_output,
    has_queues,
    index_of,
    job_of,
    pods_of,
    state_of,
)
from gpu.ledger import GpuCost, of_job

JobArgument = Annotated[str, typer.Argument(help="The job's name.")]
IndexOption = Annotated[int, typer.Option("--index", min=0, help="Which run of a sweep, or which worker.")]


def list_jobs(team: TeamOption = None, context: ContextOption = None, json: JsonOption = False) -> None:
    """The namespace's jobs that ask for GPUs, and what each waits for."""
    cluster = ClusterClient(context)
    namespace = team or cluster.namespace
    jobs = [job for job in cluster.list(job_path(namespace)) if gpus_of(job)]
    events = events_around(cluster, namespace) if jobs else []
    by_job: dict[str, list[Object]] = {}
    for pod in cluster.list(pod_path(namespace), labelSelector=OWNER_LABEL) if jobs else ():
        by_job.setdefault(pod["metadata"]["labels"][OWNER_LABEL], []).append(pod)
    queues = has_queues(cluster, *jobs)
    rows = [_row(job, by_job.get(job["metadata"]["uid"], []), events, queues=queues) for job in jobs]
    if json:
        print_json(rows)
        return
    if not rows:
        out().print(f"no job in {namespace} asks for GPUs")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("job", "GPUs", "done", "state"):
        table.add_column(name, justify="right" if name in ("GPUs", "done") else "left", overflow="fold")
    for row in rows:
        table.add_row(row["name"], str(row["gpus"]), f"{row['succeeded']}/{row['runs']}", escape(row["what"]))
    out().print(table)


def logs(
    name: JobArgument,
    index: IndexOption = 0,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="Print what there is and stop.")] = False,
    team: TeamOption = None,
    context: ContextOption = None,
) -> None:
    """A job's output, as it comes; Ctrl-C ends the watching, not the job."""
    cluster = ClusterClient(context)
    namespace = team or cluster.namespace
    runs = job_of(cluster, namespace, name)["spec"].get("completions") or 1
    if index >= runs:
        fail(f"--index {index}: {name} has {runs} of them; write 0 to {runs - 1}", EXIT_BAD_INPUT)
    if not no_follow:
        follow(cluster, namespace, name, index)
        return
    state = state_of(cluster, namespace, name)
    mine = [pod for pod in state.pods if index_of(pod) == index]
    pods = [pod for pod in mine if has_output(pod)]
    if not mine and state.reason.kind in ("succeeded", "failed"):
        fail(gone_with_its_pod(name), EXIT_NO)
    if not pods:
        fail(f"{name} has no output of index {index}; `gpu why {name}` says what it waits for", EXIT_NO)
    output = Output(cluster)
    for pod in pods:
        output.show(pod)


def why(name: JobArgument, team: TeamOption = None, context: ContextOption = None, json: JsonOption = False) -> None:
    """What a job waits for, or how it ended, and what to do. Exit code 1 if it failed."""
    cluster = ClusterClient(context)
    reason = state_of(cluster, team or cluster.namespace, name).reason
    if json:
        print_json({"kind": reason.kind, "what": reason.what, "remedy": reason.remedy, "said": reason.said})
    else:
        out().print(escape(f"{name}: {reason.what}"))
        if reason.remedy:
            out().print(escape(f"  {reason.remedy}"))
        if reason.said:
            out().print(f"  [dim]{escape(reason.said)}[/]")
    if reason.kind == "failed":
        raise typer.Exit(EXIT_NO)


def stop(
    names: Annotated[list[str], typer.Argument(help="Names of jobs.")],
    team: TeamOption = None,
    context: ContextOption = None,
) -> None:
    """End jobs and remove them, with their pods; their nodes go when they have been idle for long enough."""
    cluster = ClusterClient(context)
    namespace = team or cluster.namespace
    for name in names:
        job_of(cluster, namespace, name)
    for name in names:
        cluster.delete(job_path(namespace, name))
        err().print(f"stopped {name}")


def cost(
    name: Annotated[str | None, typer.Argument(help="A job's name; all of the team's unless given.")] = None,
    team: TeamOption = None,
    context: ContextOption = None,
    json: JsonOption = False,
) -> None:
    """What jobs cost at list prices: programs running, nodes waking up for them, nodes idle after them."""
    cluster = ClusterClient(context)
    namespace = team or cluster.namespace
    offer = cluster.offer()
    nodes = cluster.list_if_allowed("/api/v1/nodes") or []
    now = datetime.now(timezone.utc)
    jobs = (
        [job_of(cluster, namespace, name)]
        if name
        else [job for job in cluster.list(job_path(namespace)) if gpus_of(job)]
    )
    events = cluster.list_if_allowed(event_path(namespace)) or [] if jobs else []
    costs = {job["metadata"]["name"]: of_job(job, pods_of(cluster, job), nodes, offer, now, events) for job in jobs}
    total = sum(costs.values(), GpuCost())
    if json:
        print_json({"jobs": {job: _cost_json(each) for job, each in costs.items()}, "total": _cost_json(total)})
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("job", "GPU hours", "used", "waking", "tail, at most", "total"):
        table.add_column(column, justify="left" if column == "job" else "right")
    for job, each in [*costs.items(), *([("all", total)] if len(costs) != 1 else [])]:
        parts = (each.used, each.waking, each.tail, each.total)
        table.add_row(job, f"{each.gpu_hours:.2f}", *(dollars(part) for part in parts))
    out().print(table)
    for note in total.notes:
        out().print(f"[dim]{escape(note)}[/]")


def shell(name: JobArgument, index: IndexOption = 0, team: TeamOption = None, context: ContextOption = None) -> None:
    """A shell in a running pod of the job, by kubectl."""
    cluster = ClusterClient(context)
    namespace = team or cluster.namespace
    job = job_of(cluster, namespace, name)
    running = [
        pod for pod in pods_of(cluster, job) if index_of(pod) == index and pod["status"].get("phase") == "Running"
    ]
    if not running:
        fail(f"no pod of {name} runs; `gpu why {name}` says what it waits for", EXIT_NO)
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        raise ClusterError("kubectl is not installed, and a shell needs it")
    pod = running[-1]["metadata"]["name"]
    arguments = ["--context", cluster.context, "--namespace", namespace, "exec", "-it", pod, "--", "sh", "-c"]
    try:
        os.execv(kubectl, ["kubectl", *arguments, "command -v bash >/dev/null && exec bash || exec sh"])
    except OSError as error:
        fail(f"kubectl: {error}", EXIT_CLUSTER)


def gpus_of(job: Object) -> int:
    """GPUs that each of its pods asks for."""
    containers = job["spec"]["template"]["spec"]["containers"]
    return sum(int(((each.get("resources") or {}).get("limits") or {}).get(GPU_RESOURCE, 0)) for each in containers)


def _row(job: Object, pods: list[Object], events: list[Object], *, queues: bool) -> dict[str, Any]:
    reason = reasons.of_job(job, pods, events, queues=queues)
    return {
        "name": job["metadata"]["name"],
        "gpus": gpus_of(job),
        "runs": job["spec"].get("completions") or 1,
        "succeeded": (job.get("status") or {}).get("succeeded") or 0,
        "kind": reason.kind,
        "what": reason.what,
    }


def _cost_json(cost: GpuCost) -> dict[str, Any]:
    return {
        "gpuHours": cost.gpu_hours,
        "usedUsd": cost.used,
        "wakingUsd": cost.waking,
        "tailAtMostUsd": cost.tail,
        "totalUsd": cost.total,
        "notes": list(cost.notes),
    }
