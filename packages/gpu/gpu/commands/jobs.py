"""``gpu list``, ``logs``, ``why``, ``stop``, ``cost`` and ``shell``: work with submitted jobs."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from fnmatch import fnmatchcase
from typing import Annotated, Any, Final

import typer
from rich.markup import escape

from facts.concepts import broken_nodes
from facts.concepts.counts import counted
from facts.concepts.kubernetes import RESOURCES, gpu_limit
from facts.concepts.ledger import USER
from facts.concepts.offer import Offer, OfferError
from facts.concepts.unknown import at
from gpu import why as reasons
from gpu.causes import Reason
from gpu.cluster import ClusterClient, ClusterError, Object, job_path, pod_path
from gpu.commands import options
from gpu.commands.common import (
    EXIT_BAD_INPUT,
    EXIT_CLUSTER,
    EXIT_NO,
    dollars,
    err,
    fail,
    name_cluster,
    out,
    print_json,
    table_of,
)
from gpu.commands.following import (
    OWNER_LABEL,
    JobState,
    Output,
    events_of,
    follow,
    has_output,
    index_of,
    job_of,
    pods_of,
    reasons_of,
    state_of,
)
from gpu.commands.months import By, check_month, show_month
from gpu.commands.offer import list_nodes
from gpu.commands.saved_logs import show_saved
from gpu.ledger import GpuCost, of_job

JOBS_AT_ONCE: Final = 50
"""Jobs in one answer: each may have 1.5 MiB."""
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_OBJECT_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-subdomain-names"""


def job_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """The namespace's job names for the shell's completion; none if the cluster cannot be asked.

    The shell evaluates them, and a hostile cluster may send any text.
    """
    try:
        cluster = ClusterClient(ctx.params.get("context"), ctx.params.get("team"))
        names = [job["metadata"]["name"] for job in _gpu_jobs(cluster)]
    except ClusterError:
        return []
    return [name for name in names if name.startswith(incomplete) and _OBJECT_NAME.fullmatch(name)]


JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="The job's name.", autocompletion=job_names)]


Mine = Annotated[bool, typer.Option("--mine", help="Only jobs that you submitted with `gpu`.")]


def list_jobs(
    pattern: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Only jobs of this name, with * for any text: 'train-*'.")
    ] = None,
    mine: Mine = False,
    unfinished: Annotated[bool, typer.Option("--unfinished", help="Only jobs that have not ended.")] = False,
    team: options.Team = None,
    context: options.Context = None,
    json: options.Json = False,
) -> None:
    """List the GPU jobs of a namespace, and what each waits for.

    The newest come first, those that ended last.
    """
    cluster = ClusterClient(context, team)
    name_cluster(cluster)
    jobs = _chosen(cluster, pattern, mine=mine, unfinished=unfinished)
    pods = cluster.list(pod_path(cluster.namespace), labelSelector=OWNER_LABEL) if jobs else []
    now = datetime.now(timezone.utc)
    rows = [_row(job, reason, now) for job, _, reason in with_reasons(cluster, cluster.namespace, jobs, pods)]
    if json:
        print_json(rows)
        return
    if not rows:
        which = f" matching {pattern}" if pattern else ""
        which += " of yours" if mine else ""
        out().print(escape(f"no {'unfinished ' if unfinished else ''}GPU jobs{which} in namespace {cluster.namespace}"))
        return
    table = table_of("job", "user", "age", "GPUs", "complete", "state", numbers=("age", "GPUs", "complete"))
    for row in rows:
        user, complete = escape(row["user"] or "–"), f"{row['succeeded']}/{row['runs']}"
        gpus = str(row["gpusAtOnce"])
        cells = (row["name"], user, _age(row["ageSeconds"]), gpus, complete, escape(row["summary"]))
        table.add_row(*cells)
    out().print(table)


def _chosen(cluster: ClusterClient, pattern: str | None, *, mine: bool, unfinished: bool) -> list[Object]:
    """Those GPU jobs of the namespace, the newest first, and those that ended last."""
    me = cluster.user_name() if mine else ""
    if mine and not me:
        fail("--mine: the cluster does not say who you are; name the jobs", EXIT_NO)
    jobs = [
        job
        for job in _gpu_jobs(cluster)
        if (pattern is None or fnmatchcase(job["metadata"]["name"], pattern))
        and (not mine or user_of(job) == me)
        and not (unfinished and _ended(job))
    ]
    newest = sorted(jobs, key=lambda job: str(job["metadata"].get("creationTimestamp")), reverse=True)
    return sorted(newest, key=_ended)


def _ended(job: Object) -> bool:
    conditions = at(job, "status", "conditions") or ()
    return any(each["type"] in ("Complete", "Failed") and each["status"] == "True" for each in conditions)


def user_of(job: Object) -> str:
    """Who submitted it, as ``gpu`` wrote it; empty if nobody did with ``gpu``."""
    return str((job["metadata"].get("annotations") or {}).get(USER, ""))


def _age(seconds: float | None) -> str:
    """``4m``, ``3h`` or ``2d``, rounded down."""
    if seconds is None:
        return "–"
    unit, size = next(((unit, size) for unit, size in _AGES if seconds >= size), ("s", 1))
    return f"{int(seconds // size)}{unit}"


_AGES: Final = (("d", 86_400), ("h", 3600), ("m", 60))


def with_reasons(
    cluster: ClusterClient, namespace: str, jobs: Sequence[Object], pods: Sequence[Object]
) -> list[tuple[Object, list[Object], Reason]]:
    """Jobs with their own of ``pods`` and the reason for their state; ``namespace`` is empty for all namespaces."""
    by_job: dict[str, list[Object]] = {}
    for pod in pods:
        by_job.setdefault((pod["metadata"].get("labels") or {}).get(OWNER_LABEL, ""), []).append(pod)
    owned = [(job, by_job.get(job["metadata"]["uid"], [])) for job in jobs]
    known = reasons_of(cluster, namespace, owned)
    return [(job, own, reason) for (job, own), reason in zip(owned, known, strict=True)]


def logs(
    name: JobArgument,
    index: options.Index = 0,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="Print the output so far and exit.")] = False,
    team: options.Team = None,
    context: options.Context = None,
) -> None:
    """Show a job's output as it is written. Ctrl-C stops following; the job keeps running."""
    cluster = ClusterClient(context, team)
    name_cluster(cluster)
    runs = job_of(cluster, name)["spec"].get("completions") or 1
    if index >= runs:
        fail(f"--index {index}: {name} has {counted(runs, 'run')}; write 0 to {runs - 1}", EXIT_BAD_INPUT)
    if not no_follow:
        follow(cluster, name, index)
        return
    state = state_of(cluster, name)
    mine = [pod for pod in state.pods if index_of(pod) == index]
    pods = [pod for pod in mine if has_output(pod)]
    finished = state.reason.kind in ("succeeded", "failed")
    if not pods and not (finished and not mine):
        fail(f"{name} has no output at index {index} yet; `gpu why {name}` shows what it waits for", EXIT_NO)
    output = Output(cluster)
    for pod in pods:
        output.show(pod)
    if output.missing >= len(pods) and not show_saved(cluster, state.job, index):
        raise typer.Exit(EXIT_NO)


def why(
    name: JobArgument, team: options.Team = None, context: options.Context = None, json: options.Json = False
) -> None:
    """Explain what a job waits for, or how it ended, and what to do. Exit code 1 if it failed."""
    cluster = ClusterClient(context, team)
    name_cluster(cluster)
    state = state_of(cluster, name)
    reason, ahead, broken = state.reason, _ahead(cluster, state), _broken_nodes(cluster, state)
    if json:
        parts = {"summary": reason.summary, "remedy": reason.remedy, "message": reason.message}
        parts = {**parts, "source": reason.source}
        print_json({"kind": reason.kind, **_answers(reason), **parts, "podsAhead": ahead, "brokenNodes": broken})
    else:
        out().print(escape(f"{name}: {reason.summary}"))
        for node, problem in broken.items():
            out().print(escape(f"  its node {node} is broken ({problem}); its pods there start again on another one"))
        if reason.remedy:
            out().print(escape(f"  {reason.remedy}"))
        if responsible := _responsible(reason):
            out().print(f"  {responsible}")
        if ahead:
            out().print(f"  in its namespace {counted(ahead, 'GPU pod')} of higher priority or older wait before it")
        if reason.message and reason.message not in reason.summary:
            source = f"{reason.source}: " if reason.source else ""
            out().print(f"  [dim]{escape(source + reason.message)}[/]")
    if reason.kind == "failed":
        raise typer.Exit(EXIT_NO)


def stop(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="JOB", help="Names of jobs.", autocompletion=job_names)
    ] = None,
    mine: Annotated[bool, typer.Option("--mine", help="All jobs that you submitted and that have not ended.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    team: options.Team = None,
    context: options.Context = None,
) -> None:
    """Stop jobs and delete them with their pods. Their nodes are removed after the scale-down delay."""
    if bool(names) is mine:
        fail("name the jobs, or write --mine for all of yours that have not ended", EXIT_BAD_INPUT)
    cluster = ClusterClient(context, team)
    if mine:
        names = [job["metadata"]["name"] for job in _chosen(cluster, None, mine=True, unfinished=True)]
        if not names:
            out().print(escape(f"no unfinished GPU jobs of yours in namespace {cluster.namespace}"))
            return
    names = names or []
    missing = [name for name in names if cluster.find(job_path(cluster.namespace, name)) is None]
    if missing:
        nothing = "; no job was stopped" if len(names) > 1 else ""
        raise ClusterError(
            f"no job {', '.join(missing)} in {cluster.namespace}{cluster.among}{nothing}; `gpu list` shows the jobs",
            404,
        )
    if not yes and (mine or (cluster.others and context is None)):
        _confirm_stop(cluster, names)
    costs = _costs_so_far(cluster, names)
    for name in names:
        cluster.delete(job_path(cluster.namespace, name))
        so_far = f": {dollars(costs[name])} so far" if name in costs else ""
        err().print(escape(f"stopped {name}{cluster.among}{so_far}"))


def _costs_so_far(cluster: ClusterClient, names: Sequence[str]) -> dict[str, float]:
    """What jobs cost until now, where all of it is known. To stop a job matters more, so no failure is told."""
    try:
        costs = _costs(cluster, cluster.offer(), [job_of(cluster, name) for name in names])
    except (ClusterError, OfferError):
        return {}
    return {name: cost.so_far for name, cost in costs.items() if cost.whole}


def _costs(cluster: ClusterClient, offer: Offer, jobs: Sequence[Object]) -> dict[str, GpuCost]:
    """Job → its cost until now. Raises ClusterError."""
    nodes = cluster.list_if_allowed("/api/v1/nodes") or []
    events = events_of(cluster, cluster.namespace) if jobs else []
    now = datetime.now(timezone.utc)
    return {job["metadata"]["name"]: of_job(job, pods_of(cluster, job), nodes, offer, now, events) for job in jobs}


def _confirm_stop(cluster: ClusterClient, names: Sequence[str]) -> None:
    """Ask before all of a user's jobs are deleted, or jobs of a cluster that was not named."""
    what = f"{counted(len(names), 'job')} in {cluster.namespace}{cluster.among}: {', '.join(names)}"
    if not sys.stdin.isatty():
        context = " or name the cluster with --context" if cluster.others else ""
        fail(f"this would stop {what}; confirm it with --yes{context}", EXIT_BAD_INPUT)
    typer.confirm(f"stop {what}?", abort=True, err=True)


def cost(
    name: Annotated[
        str | None,
        typer.Argument(metavar="JOB", help="A job's name. Default: all jobs of the team.", autocompletion=job_names),
    ] = None,
    month: Annotated[
        str | None, typer.Option("--month", metavar="MONTH", help="A whole month that the cluster recorded: 2026-11.")
    ] = None,
    by: Annotated[
        By | None, typer.Option("--by", metavar="WHAT", help="With --month: rows of each team (default), user or job.")
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="With --month: CSV with columns of FOCUS, a row a day.")] = False,
    team: options.Team = None,
    context: options.Context = None,
    json: options.Json = False,
) -> None:
    """Show what jobs cost at list prices.

    Running, provisioning of their nodes, and idle time before scale-down. Of the jobs that exist, or of a --month.
    """
    if month is None and (by is not None or csv):
        fail(f"{'--csv' if csv else '--by'} needs --month", EXIT_BAD_INPUT)
    if month is not None and (name or (csv and json)):
        fail("--month: leave out JOB" if name else "write --csv or --json", EXIT_BAD_INPUT)
    if month is not None:
        check_month(month)
    cluster = ClusterClient(context, team)
    name_cluster(cluster)
    if month is not None:
        show_month(cluster, month, by or By.team, team=team, as_csv=csv, as_json=json)
        return
    offer = cluster.offer()
    if name and cluster.find(job_path(cluster.namespace, name)) is None:
        raise ClusterError(
            f"no job {name} in {cluster.namespace}; of jobs that were stopped or deleted, only "
            "`gpu cost --month <month> --by job` has the cost",
            404,
        )
    jobs = [job_of(cluster, name)] if name else _gpu_jobs(cluster)
    costs = _costs(cluster, offer, jobs)
    total = sum(costs.values(), GpuCost())
    if json:
        print_json({"jobs": {job: _cost_json(each) for job, each in costs.items()}, "total": _cost_json(total)})
        return
    numbers = ("GPU hours", "running", "provisioning", "idle, at most", "total")
    table = table_of("job", *numbers, numbers=numbers)
    for job, each in [*costs.items(), *([("all", total)] if len(costs) != 1 else [])]:
        parts = (each.running, each.provisioning, each.idle, each.total)
        table.add_row(job, f"{each.gpu_hours:.2f}", *(dollars(part) for part in parts))
    out().print(table)
    for note in total.notes:
        out().print(f"[dim]{escape(note)}[/]")


def shell(
    name: JobArgument, index: options.Index = 0, team: options.Team = None, context: options.Context = None
) -> None:
    """Open a shell in a running pod of a job, with kubectl."""
    cluster = ClusterClient(context, team)
    open_shell(cluster, running_pod(cluster, name, index))


def running_pod(cluster: ClusterClient, name: str, index: int) -> str:
    """The name of a job's newest running pod of ``index``; without one the command fails."""
    pods = [pod for pod in pods_of(cluster, job_of(cluster, name)) if index_of(pod) == index]
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    if not running:
        fail(f"no pod of {name} is running; `gpu why {name}` shows what it waits for", EXIT_NO)
    return str(running[-1]["metadata"]["name"])


def open_shell(cluster: ClusterClient, pod: str) -> None:
    """Replace this process by a shell in the pod."""
    shell = ("sh", "-c", "command -v bash >/dev/null && exec bash || exec sh")
    terminal = "-it" if sys.stdin.isatty() else "-i"  # else the shell reads commands from standard input
    kubectl(*cluster.kubectl_place, "exec", terminal, f"pod/{pod}", "--", *shell)


def program_of_kubectl() -> str:
    """Where it is installed. Raises ClusterError if it is not."""
    program = shutil.which("kubectl")
    if program is None:
        raise ClusterError("this needs kubectl: https://kubernetes.io/docs/tasks/tools/")
    return program


def kubectl(*arguments: str) -> None:
    """Replace this process by kubectl; without ``arguments`` only check that it is installed."""
    program = program_of_kubectl()
    try:
        if arguments:
            os.execv(program, ["kubectl", *arguments])
    except OSError as error:
        fail(f"kubectl: {error}", EXIT_CLUSTER)


def _ahead(cluster: ClusterClient, state: JobState) -> int:
    """Pending GPU pods of the namespace that get a node before the job's."""
    if not any(pod["status"].get("phase") == "Pending" for pod in state.pods):
        return 0
    pending = cluster.list(pod_path(state.job["metadata"]["namespace"]), fieldSelector="status.phase=Pending")
    return reasons.ahead_of(state.pods, [pod for pod in pending if gpu_limit(pod["spec"])])


def _broken_nodes(cluster: ClusterClient, state: JobState) -> dict[str, str]:
    """Nodes of the job's running pods → the problem of their devices; none for a user who may not list nodes."""
    names = {pod["spec"].get("nodeName") for pod in state.pods if pod["status"].get("phase") == "Running"}
    nodes = (list_nodes(cluster) or ()) if names else ()
    mine = {node["metadata"]["name"]: node for node in nodes if node["metadata"]["name"] in names}
    problems = {name: _problem(node) for name, node in mine.items()}
    return {name: problem for name, problem in problems.items() if problem}


def _problem(node: Object) -> str:
    """What is wrong with a node on which pods run; Kubernetes evicts them from one that is not ready after 5 minutes.

    https://kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration/#taint-based-evictions
    """
    conditions = {each["type"]: each["status"] for each in at(node, "status", "conditions") or ()}
    if conditions.get("Ready") != "True":
        return "not ready"
    return broken_nodes.problem(node, broken_nodes.created_with(node, RESOURCES.values()))


def _gpu_jobs(cluster: ClusterClient) -> list[Object]:
    return cluster.list(job_path(cluster.namespace), page=JOBS_AT_ONCE, keep=gpu_job)


def gpu_job(job: Object) -> Object | None:
    """A Job with GPUs, without what its author may make large and no list shows: command lines, values of variables,
    and what kubectl and the API server note; ``None`` for another."""
    if not gpus_per_pod(job):
        return None
    metadata = {key: value for key, value in job["metadata"].items() if key != "managedFields"}
    if "annotations" in metadata:
        metadata["annotations"] = {key: value for key, value in metadata["annotations"].items() if key != _APPLIED}
    template = job["spec"]["template"]
    pod = dict(template["spec"])
    for part in ("containers", "initContainers"):
        if part in pod:
            pod[part] = [_without_texts(container) for container in pod[part]]
    return {**job, "metadata": metadata, "spec": {**job["spec"], "template": {**template, "spec": pod}}}


def _without_texts(container: Object) -> Object:
    kept = {key: value for key, value in container.items() if key not in ("command", "args")}
    return {**kept, "env": [{"name": each.get("name")} for each in container.get("env") or ()]}


def gpus_per_pod(job: Object) -> int:
    """GPUs that each of the job's pods requests."""
    return gpu_limit(job["spec"]["template"]["spec"])


def _pods_at_once(job: Object) -> int:
    """How many pods the job runs at most at the same time."""
    spec = job["spec"]
    at_once = spec.get("parallelism", 1)
    return int(min(at_once, spec.get("completions") or at_once))


def _answers(reason: Reason) -> dict[str, Any]:
    """Who can mend it, and whether the job may run later although nobody does; ``None``: nobody knows."""
    return {"mendedBy": reason.mended_by, "waitingHelps": reason.waiting_helps}


def _responsible(reason: Reason) -> str:
    """The same as a sentence; empty where nothing is wrong or known."""
    who = {"user": "you can mend it", "administrator": "an administrator can mend it", "cloud": "the cloud can mend it"}
    helps = {True: "waiting helps", False: "waiting does not help", None: "whether waiting helps is unknown"}
    return f"{who[reason.mended_by]}; {helps[reason.waiting_helps]}" if reason.mended_by else ""


def _row(job: Object, reason: Reason, now: datetime) -> dict[str, Any]:
    created = job["metadata"].get("creationTimestamp")
    age = (now - datetime.fromisoformat(created.replace("Z", "+00:00"))).total_seconds() if created else None
    return {
        "name": job["metadata"]["name"],
        "user": user_of(job),
        "created": created,
        "ageSeconds": None if age is None else max(0, int(age)),
        "gpus": gpus_per_pod(job),
        "gpusAtOnce": gpus_per_pod(job) * _pods_at_once(job),
        "runs": job["spec"].get("completions") or 1,
        "succeeded": (job.get("status") or {}).get("succeeded") or 0,
        "kind": reason.kind,
        **_answers(reason),
        "summary": reason.summary,
    }


def _cost_json(cost: GpuCost) -> dict[str, Any]:
    return {
        "gpuHours": cost.gpu_hours,
        "runningUsd": cost.running,
        "provisioningUsd": cost.provisioning,
        "idleAtMostUsd": cost.idle,
        "totalUsd": cost.total,
        "notes": list(cost.notes),
    }
