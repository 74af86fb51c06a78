"""``gpu dev`` and ``gpu forward``: a container with GPUs for an interactive shell, and its ports."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.markup import escape

from facts.jobs.job import JobRequest
from facts.jobs.plan import limited, lost_files, place, training_job
from facts.jobs.runner import until_idle
from gpu.cluster import ClusterClient, Object, job_path
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_NO, err, fail
from gpu.commands.following import states
from gpu.commands.jobs import JobArgument, kubectl, open_shell, running_pod, user_of
from gpu.commands.offer import described, nodes_up, offer_of, refuse_default_image, request_of
from gpu.commands.record import PodOptions, takes
from gpu.commands.submission import confirm_cluster
from gpu.folder import IMAGE, pack
from gpu.submit import create, whole_seconds

_RETAINED_SECONDS: Final = 60


@dataclass(frozen=True, kw_only=True)
class DevOptions(PodOptions):
    """The options of ``gpu dev``."""

    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Its name; an existing one is entered again.")] = (
        "dev"
    )
    image: Annotated[
        str,
        typer.Option("--image", metavar="IMAGE", show_default=False, help="Its image. Default: PyTorch with CUDA 12."),
    ] = IMAGE
    sync: Annotated[bool, typer.Option("--sync", help="Copy this folder to /workspace.")] = False
    idle: Annotated[
        str, typer.Option("--idle", metavar="TIME", help="End when for so long no program ran and nobody used a shell.")
    ] = "30m"
    timeout: Annotated[
        str, typer.Option("--timeout", metavar="TIME", help="End so long after it started, in any case.")
    ] = "8h"
    team: options.Team = None
    context: options.Context = None


@takes(DevOptions)
def dev(asked: DevOptions) -> None:
    """Open a shell in a container with GPUs that ends when idle.

    Exit the shell and run the command again to come back.
    """
    kubectl()
    name, pods = asked.name, request_of(asked)
    idle, timeout = whole_seconds("--idle", asked.idle), whole_seconds("--timeout", asked.timeout)
    cluster = ClusterClient(asked.context, asked.team)
    existing = cluster.find(job_path(cluster.namespace, name))
    if existing is not None and not _is_dev(existing):
        fail(f"{name} is a job of another kind; choose another --name", EXIT_NO)
    if existing is not None and (owner := user_of(existing)) and cluster.user_name() not in ("", owner):
        fail(f"{name} is a container of {owner}; choose another --name", EXIT_NO)
    if existing is None:
        if not sys.stdin.isatty():
            fail(
                "gpu dev opens a shell and needs a terminal; without one it would keep its GPUs until it was idle for "
                f"{asked.idle}. In a script run a job, which frees them when its program ends: "
                "gpu submit -- python train.py",
                EXIT_BAD_INPUT,
            )
        request = replace(pods, namespace=cluster.namespace)
        offer = offer_of(cluster)
        fit = place(offer, request)
        if asked.image == IMAGE:
            refuse_default_image(fit)
        archive = pack(Path.cwd()) if asked.sync else None
        if archive is not None and archive.left_out:
            err().print(escape(f"syncing this folder: {archive}"))
        job_request = JobRequest(
            **vars(request),
            name=name,
            command=until_idle(idle),
            timeout_seconds=timeout,
            files=archive.content if archive is not None else b"",
        )
        confirm_cluster(cluster, offer, chosen=asked.context is not None)
        err().print(escape(described(fit, request, nodes_up(cluster))))
        job = limited(training_job(job_request, fit, asked.image, offer), fit)
        job = replace(job, kept_seconds=_RETAINED_SECONDS)
        if note := lost_files(job, fit, offer):
            err().print(f"[dim]{escape(note)}[/]")
        for warning in create(cluster, job):
            err().print(f"[yellow]warning:[/] {escape(warning)}")
        err().print(
            f"{name} ends after {asked.idle} without use, at the latest after {asked.timeout}; "
            f"`gpu stop {name}` ends it now\n"
            f"VS Code attaches to pod {name}-… in {cluster.namespace} with its extensions Kubernetes and Dev Containers"
            f"; Jupyter: `gpu forward {name} 8888`; JetBrains: SSH, with sshd in the image",
            markup=False,
        )
    _wait(cluster, name)
    open_shell(cluster, running_pod(cluster, name, 0))


def _is_dev(job: Object) -> bool:
    container = job["spec"]["template"]["spec"]["containers"][0]
    script = until_idle(0)[2]
    return script in (container.get("command") or ())


def _wait(cluster: ClusterClient, name: str) -> None:
    """Print what the job waits for, until it runs."""
    for state in states(cluster, name):
        if any(pod["status"].get("phase") == "Running" for pod in state.pods):
            return
        if state.reason.kind in ("succeeded", "failed"):
            fail(f"{name} has ended ({state.reason.summary}); run `gpu stop {name}`, then `gpu dev` again", EXIT_NO)


def forward(
    name: JobArgument,
    ports: Annotated[
        list[str], typer.Argument(metavar="PORT", help="Ports: 8888, or 8000:8888 for port 8000 of your machine.")
    ],
    index: options.Index = 0,
    team: options.Team = None,
    context: options.Context = None,
) -> None:
    """Reach ports of a running job on localhost, with kubectl.

    Ctrl-C ends it.
    """
    wrong = [port for port in ports if not all(part.isdecimal() for part in port.split(":", 1))]
    if wrong:
        fail(f"{', '.join(wrong)}: write a port, or two as in 8000:8888", EXIT_BAD_INPUT)
    cluster = ClusterClient(context, team)
    pod = running_pod(cluster, name, index)
    err().print(
        "until Ctrl-C, other users of this computer and web pages in your browser can reach localhost too: "
        "keep the program's own login on (Jupyter's token)",
        markup=False,
    )
    kubectl(*cluster.kubectl_place, "port-forward", f"pod/{pod}", *ports)
