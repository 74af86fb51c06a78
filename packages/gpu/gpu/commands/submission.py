"""``gpu submit``: from a program on a laptop to a job in the cluster."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer
import yaml
from rich.markup import escape

from facts.concepts.offer import Offer
from facts.jobs.job import TrainingJobSpec, manifests
from facts.jobs.plan import AskError, JobRequest, place, team_of, training_job
from facts.jobs.sweep import parse
from gpu import image as images
from gpu.cluster import ClusterClient
from gpu.commands.common import (
    EXIT_BAD_INPUT,
    ContextOption,
    CpusOption,
    DiskOption,
    GpuOption,
    GpusOption,
    JsonOption,
    MemoryOption,
    SpotOption,
    TeamOption,
    WorkersOption,
    err,
    fail,
    print_json,
)
from gpu.commands.following import follow
from gpu.commands.offer import as_json, described, nodes_up, request_of
from gpu.submit import create, name_for

_PLACEHOLDER: Final = "REGISTRY"


def submit(
    command: Annotated[list[str] | None, typer.Argument(help="Behind --: the program and its arguments.")] = None,
    gpus: GpusOption = 1,
    gpu: GpuOption = None,
    memory: MemoryOption = None,
    cpus: CpusOption = None,
    disk: DiskOption = None,
    spot: SpotOption = None,
    workers: WorkersOption = 1,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            help="A run for each value: lr=1e-3,1e-4 or seed=0..9; several combine. Each is a "
            "variable of the program, and replaces {lr} in its arguments.",
        ),
    ] = None,
    at_once: Annotated[int | None, typer.Option("--at-once", min=1, help="Runs of a sweep at the same time.")] = None,
    image: Annotated[
        str | None, typer.Option("--image", help="Run this image instead of packaging the folder.")
    ] = None,
    registry: Annotated[str | None, typer.Option("--registry", help="Where to push; the stack's unless given.")] = None,
    name: Annotated[str | None, typer.Option("--name", help="The job's name; one is made up unless given.")] = None,
    env: Annotated[list[str] | None, typer.Option("--env", "-e", help="A variable of the program: NAME=value.")] = None,
    retries: Annotated[
        int | None,
        typer.Option(
            "--retries", min=0, help="Failures of the program that are tried again; a node that is taken away is none."
        ),
    ] = None,
    grace: Annotated[
        int | None,
        typer.Option(
            "--grace", min=0, help="Seconds from SIGTERM to the end; on spot nodes no more than the cloud's notice."
        ),
    ] = None,
    service_account: Annotated[
        str | None,
        typer.Option(
            "--service-account", help="Whose rights the pods have; that of the stack's checkpoints unless given."
        ),
    ] = None,
    team: TeamOption = None,
    context: ContextOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print manifests for `kubectl apply` and stop.")] = False,
    detach: Annotated[bool, typer.Option("--detach", "-d", help="Do not wait for the job's output.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask which cluster is meant.")] = False,
    json: JsonOption = False,
) -> None:
    """Run a program on GPUs: package this folder (or take --image), make a Job that fits the pools, show its output."""
    program = tuple(command or ())
    if not program and image is None:
        fail("nothing to run: write the program behind --, as in `gpu submit -- python train.py`", EXIT_BAD_INPUT)
    request = request_of(gpus=gpus, gpu=gpu, memory=memory, cpus=cpus, disk=disk, spot=spot, pods=workers)
    cluster = ClusterClient(context)
    asked = JobRequest(
        request=request,
        name=name or name_for(program, image),
        namespace=team or cluster.namespace,
        command=program,
        workers=workers,
        sweep=parse(sweep or ()),
        at_once=at_once,
        retries=retries,
        grace_seconds=grace,
        env=_variables(env or []),
        service_account=service_account,
    )
    offer = cluster.offer()
    team_of(offer, asked)  # before anything is built
    fit = place(offer, request)
    if dry_run:
        planned = image or _planned_tag(registry or offer.registry, asked.name)
        typer.echo(_yaml(manifests(training_job(asked, fit, planned, offer))), nl=False)
        return
    _confirm(cluster, offer, chosen=context is not None or yes)
    say = err()
    say.print(escape(described(fit, request, nodes_up(cluster))))
    job = training_job(asked, fit, image or _built(registry or offer.registry, asked.name, say), offer)
    if offer.checkpoints is not None and job.checkpoints is None:
        whose = offer.checkpoints.service_account
        say.print(f"[dim]without the stack's checkpoints: they are {escape(whose)}'s, which this job is not[/]")
    for warning in create(cluster, job):
        say.print(f"[yellow]warning:[/] {escape(warning)}")
    say.print(f"job {job.name} in {job.namespace}; `gpu why {job.name}`, `gpu logs {job.name}`, `gpu stop {job.name}`")
    if json:
        print_json(_as_json(job, as_json(fit, request, None)))
    elif not detach:
        follow(cluster, job.namespace, job.name)


def _yaml(documents: list[dict[str, Any]]) -> str:
    # What occurs several times is written out each time: people expect no anchors in a manifest.
    plain = [json_module.loads(json_module.dumps(document)) for document in documents]
    return yaml.safe_dump_all(plain, sort_keys=False, width=4096)


def _confirm(cluster: ClusterClient, offer: Offer, *, chosen: bool) -> None:
    """Ask which cluster is meant where the kubeconfig has several and none was named."""
    if chosen or not cluster.others:
        return
    what = f"context {cluster.context}: stack {offer.stack}, {offer.cloud} {offer.region}"
    if not sys.stdin.isatty():
        fail(f"your kubeconfig has several contexts; name one with --context, or say --yes to {what}", EXIT_BAD_INPUT)
    typer.confirm(f"submit to {what}?", abort=True, err=True)


def _variables(written: list[str]) -> dict[str, str]:
    found = {}
    for one in written:
        variable, equals, value = one.partition("=")
        if not equals or not variable:
            raise AskError(f"--env {one}: write NAME=value")
        found[variable] = value
    return found


def _built(registry: str | None, name: str, say: Any) -> str:
    """Build and push the folder's image; nothing is in the cluster yet if that fails."""
    tag, builder = images.tag_for(registry, name), images.find_builder()
    say.print(f"building {tag} with {builder.name} …")
    builder.build(Path.cwd(), tag)
    say.print("pushing …")
    builder.push(tag)
    return tag


def _planned_tag(registry: str | None, name: str) -> str:
    return images.tag_for(registry or _PLACEHOLDER, name)


def _as_json(job: TrainingJobSpec, fit: dict[str, Any]) -> dict[str, Any]:
    return {"name": job.name, "namespace": job.namespace, "image": job.image, **fit}
