"""``gpu cp``: files of a job on your computer: of its running pod, of the shared volume, or how to read its bucket.

And the other way: a folder that is too large for the cluster's API, in the shared volume.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import posixpath
import secrets
import shlex
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.markup import escape

from facts import catalog
from facts.concepts.counts import counted
from facts.concepts.offer import SHARED_CLAIM
from facts.jobs.job import CHECKPOINTS, SHARED
from gpu.cluster import ClusterClient, job_path, pod_path
from gpu.commands import options
from gpu.commands.common import EXIT_BAD_INPUT, EXIT_NO, err, fail, name_cluster
from gpu.commands.following import index_of, job_of, pods_of
from gpu.commands.jobs import job_names, program_of_kubectl
from gpu.commands.saved_logs import volume_reader

_SECONDS: Final = 180
_POLL_SECONDS: Final = 1.0
_LONGEST_SECONDS: Final = 4 * 3600
"""After which the pod that reads the shared volume ends, should the command be stopped."""


def cp(
    source: Annotated[
        str,
        typer.Argument(
            metavar="JOB:PATH",
            help="A file or folder of the job: train:out, train:/shared/out.",
            autocompletion=job_names,
        ),
    ],
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to put it. Default: this folder.")] = Path(),
    index: options.Index = 0,
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace what is there.")] = False,
    team: options.Team = None,
    context: options.Context = None,
) -> None:
    """Copy results of a job to your computer, with kubectl.

    From its pod while it runs; from /shared at any time; of a bucket it prints the command.
    """
    name, _, path = source.partition(":")
    if not name or not path:
        fail(f"{source}: write JOB:PATH, as in train:out or train:/shared/out", EXIT_BAD_INPUT)
    base = posixpath.basename(posixpath.normpath(path))
    if base in ("", ".", ".."):
        fail(f"{source}: name a file or folder in it", EXIT_BAD_INPUT)
    if os.path.lexists(folder / base) and not force:
        fail(f"{folder / base} exists; choose another FOLDER, or replace it with --force", EXIT_BAD_INPUT)
    kubectl = program_of_kubectl()
    cluster = ClusterClient(context, team)
    name_cluster(cluster)
    with _pod_with(cluster, name, index, path) as pod:
        files = _received(cluster, kubectl, pod, path, folder)
    err().print(escape(f"{counted(files, 'file')} copied to {folder / base}"))


@contextmanager
def _pod_with(cluster: ClusterClient, name: str, index: int, path: str) -> Iterator[str]:
    """A running pod that has the path; the command fails if there can be none."""
    job = job_of(cluster, name)
    pods = [pod for pod in pods_of(cluster, job) if index_of(pod) == index]
    running = [pod for pod in pods if pod["status"].get("phase") == "Running"]
    shared = posixpath.normpath(path).split("/")[:2] == SHARED.split("/")
    if running:
        yield str(running[-1]["metadata"]["name"])
    elif shared and _mounts_volume(job):
        err().print(
            "[dim]no pod of the job runs; a pod without GPU reads the shared volume, which takes some seconds …[/]"
        )
        with _volume_pod(cluster, job) as reader:
            yield reader
    else:
        fail(f"no pod of {name} runs, and {path} went with its container; {_elsewhere(cluster, job, shared)}", EXIT_NO)


def _mounts_volume(job: Any) -> bool:
    volumes = job["spec"]["template"]["spec"].get("volumes") or ()
    return any((each.get("persistentVolumeClaim") or {}).get("claimName") == SHARED_CLAIM for each in volumes)


def _elsewhere(cluster: ClusterClient, job: Any, shared: bool) -> str:
    """Where results of the job are, or where later jobs write theirs."""
    name = job["metadata"]["name"]
    variables = job["spec"]["template"]["spec"]["containers"][0].get("env") or ()
    bucket = next((each.get("value") for each in variables if each["name"] == CHECKPOINTS), None)
    offer = cluster.offer()
    if bucket:
        command = catalog.of(offer.cloud).copy_command
        text = f"what it wrote to CHECKPOINTS is in {bucket}"
        if command is None:
            return text
        copies = command.format(url=shlex.quote(bucket), name=name)
        return f"{text}; with read access to the bucket this copies it:\n{copies}"
    kept = [
        *([f"{SHARED} (namespace {offer.volume_namespace})"] if offer.volume_namespace and not shared else []),
        *(["CHECKPOINTS"] if offer.checkpoints is not None else []),
    ]
    if kept:
        return f"let the program write results to {' or '.join(kept)}"
    return "ask your administrator for `workloads: {sharedVolume: {}}` or `workloads: {checkpoints: {}}`"


@contextmanager
def _volume_pod(cluster: ClusterClient, job: Any, *, writes: bool = False) -> Iterator[str]:
    """A running pod without GPU in the job's namespace that has the shared volume; it is deleted afterwards."""
    command = ("sleep", str(_LONGEST_SECONDS))
    reader = volume_reader(job, f"gpu-cp-{secrets.token_hex(3)}", command, _LONGEST_SECONDS, writes=writes)
    name, namespace = reader["metadata"]["name"], reader["metadata"]["namespace"]
    cluster.create(reader)
    try:
        pod = _when_running(cluster, name, namespace)
        if pod is None:
            fail(f"no node could run the pod with the shared volume within {_SECONDS} seconds", EXIT_NO)
        yield pod
    finally:
        cluster.delete(job_path(namespace, name))


def _when_running(cluster: ClusterClient, name: str, namespace: str) -> str | None:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        for pod in cluster.list(pod_path(namespace), labelSelector=f"batch.kubernetes.io/job-name={name}"):
            if pod["status"].get("phase") == "Running":
                return str(pod["metadata"]["name"])
        time.sleep(_POLL_SECONDS)
    return None


def _received(cluster: ClusterClient, kubectl: str, pod: str, path: str, folder: Path) -> int:
    """Unpacks the path of the pod into the folder; the number of files.

    The pod sends what it likes. So the archive's names, links and modes are checked, and it is unpacked in a folder of
    its own: only what is below the path is moved to where it belongs. Links are made when all files are there, so that
    none is written through a link: Python's own check can be led astray by a long chain of them.
    https://docs.python.org/3/library/tarfile.html#tarfile.data_filter, https://nvd.nist.gov/vuln/detail/CVE-2025-4517
    """
    if not hasattr(tarfile, "data_filter"):
        fail("this needs Python 3.10.12, 3.11.4 or newer, which unpack archives safely", EXIT_NO)
    directory, base = posixpath.split(posixpath.normpath(path))
    tar = ("tar", "-cf", "-", "-C", directory or ".", "--", base)
    command = [kubectl, *cluster.kubectl_place, "exec", f"pod/{pod}", "--", *tar]
    folder.mkdir(parents=True, exist_ok=True)
    files, links, problem = 0, dict[str, str](), ""
    with tempfile.TemporaryDirectory(prefix=".gpu-cp-", dir=folder) as unpacked:
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            try:
                with tarfile.open(fileobj=process.stdout, mode="r|") as archive:
                    for member in archive:
                        for name in (member.name, *([member.linkname] if member.islnk() else [])):
                            first, *others = name.split("/")
                            if first != base or ".." in others:
                                raise tarfile.TarError(f"{name} is not in {path}")
                        if member.issym():
                            links[posixpath.normpath(member.name)] = member.linkname
                        else:
                            archive.extract(member, unpacked, filter="data")
                            files += member.isfile()
            except (tarfile.TarError, OSError) as error:
                process.kill()
                problem = f"{error}; the container needs `tar`, and the path has to exist"
            process.stdout.read()
        try:
            _make_links(Path(unpacked), links)
            _move(Path(unpacked, base), folder / base)
        except OSError as error:
            files, problem = 0, problem or str(error)
    if problem or process.returncode:
        what = f"{path} was copied in part" if files else f"{path} of pod {pod} was not copied"
        fail(f"{what}: {problem or f'tar or kubectl ended with {process.returncode}'}", EXIT_NO)
    return files


def _make_links(place: Path, links: Mapping[str, str]) -> None:
    """Makes links in ``place``, where so far are folders and files; ``OSError`` if one leads out of its first folder.

    One that begins in a real folder, goes up at its beginning alone and stays below the first folder ends there, even
    if what it names is another such link.
    """
    for name, target in links.items():
        parts = target.split("/")
        ups = [*itertools.takewhile(lambda part: part in ("..", "."), parts)]
        if target.startswith("/") or ".." in parts[len(ups) :] or name.count("/") - ups.count("..") < 1:
            raise OSError(f"the pod sent a link that leads out of it: {name}")
    for name in links:
        (place / name).parent.mkdir(parents=True, exist_ok=True)
    for name, target in links.items():
        (place / name).symlink_to(target)


def _move(new: Path, place: Path) -> None:
    """Moves ``new`` to ``place``, where it replaces files and links; of two folders all that is in the first."""
    merged = new.is_dir() and place.is_dir() and not place.is_symlink()
    for each in new.iterdir() if merged else ():
        _move(each, place / each.name)
    if not merged:
        if new.is_dir() and os.path.lexists(place):
            place.unlink()
        new.replace(place)


def stored_at(content: bytes) -> str:
    """The folder of the shared volume for an archive, by its content: the same is stored once."""
    return f".sync/{hashlib.sha256(content).hexdigest()[:32]}"


_STORE: Final = """\
set -e
cd "$0"
if [ -f "$1/archive" ]; then cat > /dev/null; exit 0; fi
mkdir -p .sync && chmod a+rwxt .sync 2> /dev/null || true
mkdir -p "$1"
cat > "$1/.$2"
if [ "$(sha256sum < "$1/.$2" | cut -c 1-64)" = "$3" ]; then mv "$1/.$2" "$1/archive"; else rm "$1/.$2"; exit 9; fi
"""
"""Stores standard input, if it is whole. Its name is hidden until then: a job unpacks the others."""


def store(cluster: ClusterClient, job: Any, content: bytes) -> None:
    """Have the archive in the shared volume, by a pod without GPU in the namespace of ``job``; the command fails if it
    is not there afterwards."""
    kubectl = program_of_kubectl()
    err().print("[dim]a pod without GPU stores this folder in the shared volume, which takes some seconds …[/]")
    words = (SHARED, stored_at(content), secrets.token_hex(3), hashlib.sha256(content).hexdigest())
    with _volume_pod(cluster, job, writes=True) as pod:
        command = [kubectl, *cluster.kubectl_place, "exec", "-i", f"pod/{pod}", "--", "sh", "-c", _STORE, *words]
        done = subprocess.run(command, input=content, stdout=subprocess.DEVNULL, check=False)
    if done.returncode:
        fail(f"this folder was not stored in the shared volume: kubectl ended with {done.returncode}", EXIT_NO)
