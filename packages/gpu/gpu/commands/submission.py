"""``gpu submit``: from a program on a laptop to a job in the cluster."""

from __future__ import annotations

import json as json_module
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from pathlib import Path, PurePath
from typing import Annotated, Any, Final

import typer
import yaml
from rich.console import Console
from rich.markup import escape

from facts.concepts.counts import counted
from facts.concepts.kubernetes import MOST_GRACE_SECONDS, uninterrupted_budget
from facts.concepts.offer import Offer
from facts.jobs.fit import Fit, PodRequest
from facts.jobs.job import AskError, JobRequest, TrainingJobSpec, manifests
from facts.jobs.plan import limited, lost_work, place, short_nodes, slow_network, team_of, training_job
from facts.jobs.sweep import parse
from gpu import image as images
from gpu.cluster import ClusterClient, ClusterError
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, err, fail, print_json
from gpu.commands.copying import store, stored_at
from gpu.commands.fit import ClusterChoice, choose
from gpu.commands.following import follow
from gpu.commands.job_file import (
    CommandArgument,
    EnvFileOption,
    FileOption,
    MountOption,
    refuse_mount,
    variables,
)
from gpu.commands.offer import as_json, described, nodes_up, offer_of, refuse_default_image, request_of
from gpu.commands.record import WorkerOptions, takes
from gpu.folder import IGNORED, IMAGE, MOST_BYTES, MOST_READ, FolderArchive, files_of, left_out_because, pack
from gpu.submit import (
    check_notify,
    check_secrets,
    create,
    name_for,
    notify_manifests,
    program_file,
    whole_seconds,
)

_PLACEHOLDER: Final = "REGISTRY"


@dataclass(frozen=True, kw_only=True)
class SubmitOptions(WorkerOptions):
    """The options of ``gpu submit``: each is of the command line, else of the variable that its help names, else of
    ``--file``, else the default."""

    command: CommandArgument = None
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            "--sweep",
            metavar="NAME=VALUES",
            help="One run per value: lr=1e-3,1e-4 or seed=0..9; several options combine. Each parameter is an "
            "environment variable of the program and replaces {lr} in its arguments.",
        ),
    ] = None
    at_once: Annotated[
        int | None, typer.Option("--at-once", min=1, metavar="N", help="Runs of a sweep that may run at the same time.")
    ] = None
    image: Annotated[
        str | None,
        typer.Option("--image", metavar="IMAGE", help="Run this image, without the folder unless you write --sync."),
    ] = None
    sync: Annotated[
        bool | None,
        typer.Option(
            "--sync/--build",
            help="Copy the folder into the container, or build an image of it. Default: build if it has a Dockerfile "
            "or you name a --registry.",
        ),
    ] = None
    registry: Annotated[
        str | None, typer.Option("--registry", metavar="HOST/PATH", help="Registry to push to. Default: the stack's.")
    ] = None
    file: FileOption = None
    name: Annotated[str | None, typer.Option("--name", metavar="NAME", help="The job's name. Default: generated.")] = (
        None
    )
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="NAME=VALUE", help="Environment variable of the program: NAME=value."),
    ] = None
    env_file: EnvFileOption = None
    secret: Annotated[
        list[str] | None,
        typer.Option(
            "--secret", metavar="NAME", help="A Secret of the namespace: its keys are variables of the program."
        ),
    ] = None
    mount: MountOption = None
    timeout: Annotated[
        str | None,
        typer.Option("--timeout", metavar="TIME", help="Stop each pod so long after it started on a node: 90m, 2h30m."),
    ] = None
    priority: Annotated[
        str | None,
        typer.Option(
            "--priority",
            metavar="LEVEL",
            help="low, normal or high: whose pods get the next free node. Default: the team's.",
        ),
    ] = None
    notify: Annotated[
        str | None,
        typer.Option(
            "--notify",
            metavar="URL",
            envvar="GPU_NOTIFY",
            help="Webhook, as Slack has them, that gets a message when the job has ended.",
        ),
    ] = None
    retries: Annotated[
        int | None,
        typer.Option(
            "--retries", min=0, metavar="N", help="Retries after the program failed; a reclaimed node does not count."
        ),
    ] = None
    grace: Annotated[
        int | None,
        typer.Option(
            "--grace",
            min=0,
            max=MOST_GRACE_SECONDS,
            metavar="SECONDS",
            help="Seconds from SIGTERM to SIGKILL; on spot nodes at most the cloud's notice.",
        ),
    ] = None
    service_account: Annotated[
        str | None,
        typer.Option(
            "--service-account",
            metavar="NAME",
            help="Service account of the pods. Default: that of the stack's checkpoints.",
        ),
    ] = None
    team: options.Team = None
    context: options.Context = None
    cluster: Annotated[
        ClusterChoice | None,
        typer.Option(metavar="WHICH", help="Of all clusters of your kubeconfig: soonest or cheapest."),
    ] = None
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print manifests for `kubectl apply --server-side`.")] = (
        False
    )
    detach: Annotated[
        bool, typer.Option("--detach", "-d", help="Exit after submitting, without following the output.")
    ] = False
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask to confirm the cluster or a large sweep.")] = (
        False
    )
    json: options.Json = False


@dataclass(frozen=True, kw_only=True)
class PlacedJob:
    """A checked job, and where it fits; nothing was built or created.

    ``archive`` is the folder, if it is copied into the container. ``build``: the image is built of it.
    """

    target: ClusterClient
    offer: Offer
    request: JobRequest
    fit: Fit
    archive: FolderArchive | None
    build: bool


@takes(SubmitOptions)
def submit(asked: SubmitOptions) -> None:
    """Run a program on GPUs, with this folder or an image.

    Creates a Job on the cheapest pools that fit, and shows its output.
    """
    console = err()
    placed = _checked(asked, console)
    if asked.dry_run:
        _print_manifests(asked, placed)
        return
    target, offer, fit = placed.target, placed.offer, placed.fit
    if asked.notify:
        check_notify(target, asked.notify)
    confirmed = asked.context is not None or asked.cluster is not None or asked.yes
    confirm_cluster(target, offer, chosen=confirmed)
    console.print(escape(described(fit, placed.request, nodes_up(target))))
    if price := sweep_price(training_job(placed.request, fit, "", offer), fit):
        _confirm_sweep(price, console, yes=asked.yes)
    if placed.archive is not None and placed.archive.files:
        console.print(escape(f"syncing this folder: {placed.archive}"))
    if placed.archive is not None and placed.request.stored:
        store(target, manifests(training_job(placed.request, fit, "", offer))[0], placed.archive.content)
    job = limited(training_job(placed.request, fit, _image(asked, placed, console), offer), fit)
    _warn(job, fit, offer, console)
    for warning in _created(target, job, offer, notify_manifests(job, asked.notify) if asked.notify else ()):
        console.print(f"[yellow]warning:[/] {escape(warning)}")
    hints = ", ".join(f"`gpu {verb} {job.name}{target.option}`" for verb in ("why", "logs", "stop"))
    console.print(escape(f"job {job.name} created in {job.namespace}{target.among}; {hints}"))
    if asked.json:
        created = {"context": target.context, "name": job.name, "namespace": job.namespace, "image": job.image}
        print_json({**created, **as_json(fit, placed.request, None)})
    elif not asked.detach:
        follow(target, job.name)


def _checked(asked: SubmitOptions, console: Console) -> PlacedJob:
    """The options as a job in a cluster. Raises AskError, ClusterError, NothingFits."""
    refuse_mount(asked.mount)
    program = tuple(asked.command or ())
    if not program and asked.image is None:
        fail("no program: write it after --, as in `gpu submit -- python train.py`", EXIT_BAD_INPUT)
    refuse_quoted(program)
    build = _builds(asked.image, asked.registry, asked.sync)
    archive = _folder(asked, _in_folder(program), console, build=build)
    pods = request_of(asked)
    request = _job_request(asked, pods, program, archive)  # before a cluster is asked, or known
    if asked.file is not None and asked.env_file is not None:
        names = ", ".join(variables(asked.env_file, []))
        console.print(f"environment variables from {escape(str(asked.env_file))}: {escape(names)}")
    target = _target(asked, pods)
    offer = offer_of(target)
    if archive is not None and (asked.dry_run or offer.volume_namespace != target.namespace):
        archive.check(MOST_BYTES)
    request = replace(request, namespace=target.namespace)
    team_of(offer, request)  # before anything is built
    check_secrets(target, request.secrets)
    fit = place(offer, request)
    if asked.image is None and not (build and Path("Dockerfile").is_file()):
        refuse_default_image(fit)
    return PlacedJob(target=target, offer=offer, request=request, fit=fit, archive=archive, build=build)


def _image(asked: SubmitOptions, placed: PlacedJob, console: Console) -> str:
    """The image that the job runs, built and pushed if it is the folder's. Raises AskError, ImageError."""
    if asked.image is not None or not placed.build:
        return asked.image or IMAGE
    registry = asked.registry or placed.offer.registry
    return _built(registry, placed.request.name, placed.fit.platform, console)


def _folder(asked: SubmitOptions, script: str | None, console: Console, *, build: bool) -> FolderArchive | None:
    """This folder, if it is copied into the container; ``script`` is the program's file in it. Raises AskError."""
    synced = bool(asked.sync) or (asked.image is None and not build)
    if script is not None and (synced or build) and not Path(script).is_file():
        _missing(script, console, synced=synced)
    archive = pack(Path.cwd(), MOST_READ) if synced else None
    if archive is not None:
        files, left_out, without, instead = archive.files, archive.left_out, "not synced", "use --build"
    elif script is not None and build and not Path("Dockerfile").is_file():
        files, left_out = files_of(Path.cwd())
        without, instead = "not in the image", "write a Dockerfile"
    else:
        return None
    if script is not None and os.path.normpath(script) not in files:
        raise AskError(f"{script} is {without}, because {_because(script, left_out)}, or {instead}")
    return archive


def _because(script: str, left_out: Sequence[str]) -> str:
    """Why a file is none of those that the job gets, and what to do."""
    path = PurePath(os.path.normpath(script))
    if str(path) in left_out:
        return "its name is one of credentials; rename it"
    folders = [each for each in map(str, path.parents) if each != "."]
    if path.parts[0] == "..":
        return f"it is outside of this folder ({Path.cwd()}); run `gpu submit` in the folder of your program"
    if link := next((each for each in folders if Path(each).is_symlink()), None):
        return f"{link} is a link; write where the file is, in this folder"
    if ignored := IGNORED.intersection(path.parts):
        return f"nothing in {min(ignored)} is; move it"
    return ".gitignore lists it; remove it there"


def _target(asked: SubmitOptions, request: PodRequest) -> ClusterClient:
    """The cluster that gets the job."""
    if asked.cluster is None:
        return ClusterClient(asked.context, asked.team)
    if asked.context is not None:
        fail("--cluster chooses among all clusters, --context names one; write one of them", EXIT_BAD_INPUT)
    return choose(asked.cluster, asked.team, request)


def _job_request(
    asked: SubmitOptions, request: PodRequest, program: tuple[str, ...], archive: FolderArchive | None
) -> JobRequest:
    """The options as a job; what is too large for the cluster's API is in the shared volume. Raises AskError."""
    content = archive.content if archive else b""
    small = len(content) <= MOST_BYTES
    return JobRequest(
        **vars(request),
        name=asked.name or name_for(program, asked.image),
        command=program,
        sweep=parse(asked.sweep or ()),
        at_once=asked.at_once,
        retries=asked.retries,
        timeout_seconds=whole_seconds("--timeout", asked.timeout) if asked.timeout else None,
        priority=asked.priority,
        grace_seconds=asked.grace,
        env=variables(asked.env_file, asked.env or []),
        service_account=asked.service_account,
        secrets=tuple(dict.fromkeys(asked.secret or ())),
        files=content if small else b"",
        stored="" if small else stored_at(content),
    )


def _print_manifests(asked: SubmitOptions, placed: PlacedJob) -> None:
    """What would be created, except what holds the webhook's URL."""
    if asked.notify:
        typer.echo("left out: what --notify creates, because it holds the webhook's URL", err=True)
    request, offer = placed.request, placed.offer
    tag = images.tag_for(asked.registry or offer.registry or _PLACEHOLDER, request.name)
    image = asked.image or (tag if placed.build else IMAGE)
    job = limited(training_job(request, placed.fit, image, offer), placed.fit)
    budgets = [] if job.drained else [uninterrupted_budget(job.namespace)]
    typer.echo(_yaml([*manifests(job), *budgets]), nl=False)


def _warn(job: TrainingJobSpec, fit: Fit, offer: Offer, console: Console) -> None:
    """Say what the job will lack."""
    if offer.checkpoints is not None and job.checkpoints is None:
        account = offer.checkpoints.service_account
        console.print(f"[dim]no access to the stack's checkpoints: only service account {escape(account)} has it[/]")
    if note := lost_work(job, fit, offer):
        console.print(f"[dim]{escape(note)}[/]")
    for warning in filter(None, (slow_network(job, fit), short_nodes(job, fit))):
        console.print(f"[yellow]warning:[/] {escape(warning)}")


def _created(
    cluster: ClusterClient, job: TrainingJobSpec, offer: Offer, beside: Sequence[dict[str, Any]]
) -> tuple[str, ...]:
    """The warnings of admission; a missing namespace is reported with the stack's teams."""
    try:
        return create(cluster, job, beside)
    except ClusterError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        teams = ", ".join(team.name for team in offer.teams) or "none"
        missing = f"namespace {job.namespace} does not exist; the stack's teams: {teams}"
        raise ClusterError(missing, error.status) from error


def _yaml(documents: list[dict[str, Any]]) -> str:
    # Without shared objects PyYAML writes no anchors, which are unusual in manifests.
    plain = [json_module.loads(json_module.dumps(document)) for document in documents]
    return yaml.safe_dump_all(plain, sort_keys=False, width=4096)


def confirm_cluster(cluster: ClusterClient, offer: Offer, *, chosen: bool) -> None:
    """Ask to confirm the cluster if the kubeconfig has several contexts and none was named."""
    if chosen or not cluster.others:
        return
    target = f"context {cluster.context}: stack {offer.stack}, {offer.cloud} {offer.region}"
    if not sys.stdin.isatty():
        fail(
            f"your kubeconfig has several contexts; name one with --context, or confirm {target} with --yes",
            EXIT_BAD_INPUT,
        )
    typer.confirm(f"submit to {target}?", abort=True, err=True)


def _confirm_sweep(price: SweepPrice, console: Console, *, yes: bool) -> None:
    """Print what a sweep costs, and ask to confirm a large one."""
    console.print(str(price))
    if yes or not price.large:
        return
    if not sys.stdin.isatty():
        fail("this is a large sweep: confirm it with --yes, or write fewer values or --at-once", EXIT_BAD_INPUT)
    typer.confirm("submit it?", abort=True, err=True)


def _builds(image: str | None, registry: str | None, sync: bool | None) -> bool:
    """Whether to build an image of the folder. Raises AskError."""
    if image is not None and (sync is False or registry is not None):
        raise AskError("--image runs an image that exists, --build and --registry make one; write one of them")
    if sync is None:
        return image is None and (registry is not None or Path("Dockerfile").is_file())
    return not sync


def _missing(script: str, console: Console, *, synced: bool) -> None:
    """Refuse a job whose program is not in the folder; a Dockerfile may get it from elsewhere."""
    if synced or not Path("Dockerfile").is_file():
        raise AskError(f"{script} is not in this folder ({Path.cwd()}); run `gpu submit` in the folder of your program")
    console.print(f"[yellow]warning:[/] {escape(script)} is not in this folder; does your Dockerfile add it?")


def _built(registry: str | None, name: str, platform: str, console: Console) -> str:
    """Build and push the folder's image. If that fails, nothing was created in the cluster."""
    tag, builder = images.tag_for(registry, name), images.find_builder()
    left_out = () if Path("Dockerfile").is_file() else files_of(Path.cwd())[1]
    note = left_out_because(left_out, "all who may pull the image")
    console.print(escape(f"building {tag} with {builder.name}{note} …"))
    builder.build(Path.cwd(), tag, platform)
    console.print("pushing …")
    builder.push(tag)
    return tag


RUNS: Final = 100
"""A sweep with more runs is confirmed."""
HOURLY_USD: Final = 25.0
"""A sweep that may cost more per hour is confirmed."""


@dataclass(frozen=True)
class SweepPrice:
    """A sweep of ``runs``, ``at_once`` of them together, on nodes at ``node_usd`` per hour (``None``: unknown)."""

    runs: int
    at_once: int
    node_usd: float | None
    pods_per_node: int

    @property
    def hourly_usd(self) -> float | None:
        """List price of an hour with as many runs as possible."""
        return None if self.node_usd is None else -(-self.at_once // self.pods_per_node) * self.node_usd

    @property
    def large(self) -> bool:
        """Whether it has to be confirmed."""
        return self.runs > RUNS or (self.hourly_usd or 0) > HOURLY_USD

    def __str__(self) -> str:
        runs = f"{counted(self.runs, 'run')}, {self.at_once} at once"
        if self.node_usd is None or self.hourly_usd is None:
            return f"{runs}, price unknown"
        total = self.runs * self.node_usd / self.pods_per_node
        return f"{runs}: up to ${self.hourly_usd:,.2f}/h; ${total:,.2f} in all if each takes an hour"


def sweep_price(job: TrainingJobSpec, fit: Fit) -> SweepPrice | None:
    """The price of the job's sweep, if it is one."""
    if job.sweep is None:
        return None
    runs = job.sweep.runs
    return SweepPrice(runs, min(runs, job.at_once or runs), fit.hourly_usd, fit.pods_per_node)


def refuse_quoted(command: Sequence[str]) -> None:
    """Refuse a whole command line as the name of a program. Raises AskError."""
    if len(command) == 1 and len(command[0].split()) > 1 and not Path(command[0]).exists():
        raise AskError(f'"{command[0]}" would be the name of one program; write it without quotes: -- {command[0]}')


def _in_folder(command: Sequence[str]) -> str | None:
    """The Python or shell file that the command runs, if it is relative to the working directory."""
    word = program_file(command)
    return None if word is None or PurePath(word).is_absolute() else word
