"""Creates a job's objects and the one that notifies of its end; parses quantities and names of the command line."""

from __future__ import annotations

import base64
import itertools
import math
import re
import secrets
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from http import HTTPStatus
from pathlib import Path, PurePath
from string import Template
from typing import Any, Final

import yaml

from facts.concepts.durations import seconds
from facts.concepts.kubernetes import NOTIFIER, quantity, uninterrupted_budget
from facts.concepts.rest import resource_path
from facts.jobs.job import LONGEST_NAME, MANAGED_BY, MANAGER, AskError, TrainingJobSpec, manifests
from gpu.cluster import ClusterClient, ClusterError, Object, job_path

_MIB: Final = 1024 * 1024
_DECIMAL: Final = re.compile(r"([\d.]+) ?([mgt])b", re.IGNORECASE)
"""A size as others write it: ``10GB``."""


def create(cluster: ClusterClient, job: TrainingJobSpec, beside: Sequence[Object] = ()) -> tuple[str, ...]:
    """Create the job's objects and those ``beside`` it, which it owns; the warnings of admission.

    If one object is refused, all are deleted.

    Raises:
        ClusterError: the name is taken, a permission is missing, or admission refuses the job.
    """
    first, *others = [*manifests(replace(job, user=cluster.user_name())), *beside]
    try:
        reply = cluster.create(first)
    except ClusterError as error:
        if error.status == 409:
            raise ClusterError(
                f"job {job.name} already exists in {job.namespace}; choose another --name, or `gpu stop {job.name}`",
                409,
            ) from error
        raise
    owner = {
        "apiVersion": first["apiVersion"],
        "kind": first["kind"],
        "name": job.name,
        "uid": reply.stored["metadata"]["uid"],
    }
    warnings = list(reply.warnings)
    for manifest in others:
        owned = {**manifest, "metadata": {**manifest["metadata"], "ownerReferences": [owner]}}
        try:
            warnings += cluster.create(owned).warnings
        except BaseException:
            cluster.delete(job_path(job.namespace, job.name))
            raise
    return (*warnings, *(() if job.drained else _protect(cluster, job.namespace)))


def _protect(cluster: ClusterClient, namespace: str) -> tuple[str, ...]:
    """Have the namespace's budget for running jobs, which stays; a warning if it cannot be created."""
    try:
        cluster.create(uninterrupted_budget(namespace))
    except ClusterError as error:
        if error.status != 409:
            return (f"the cloud's maintenance may end the job: no PodDisruptionBudget in {namespace}: {error}",)
    return ()


def name_for(command: Sequence[str], image: str | None) -> str:
    """A unique name: of the script or else of the image, with a random suffix."""
    script = program_file(command)
    source = PurePath(script).stem if script else (image or (command[0] if command else "job")).rpartition("/")[2]
    stem = re.sub(r"[^a-z0-9]+", "-", source.partition(":")[0].lower()).strip("-")[: LONGEST_NAME - 6].strip("-")
    return f"{stem or 'job'}-{secrets.token_hex(2)}"


def program_file(command: Sequence[str]) -> str | None:
    """The Python or shell file that the command runs. Nobody knows that of a module (``-m``), of a line for a shell
    (``-c``), and of a name with a parameter of a sweep."""
    words = itertools.takewhile(lambda word: word not in ("-c", "-m"), command)
    named = (word for word in words if word.endswith((".py", ".sh")) and not re.search(r"^-|[\s{]", word))
    return next(named, None)


def mebibytes(option: str, text: str) -> int:
    """``200Gi`` in MiB, rounded up. Less than 1 MiB is a number without its unit. Raises AskError."""
    if decimal := _DECIMAL.fullmatch(text):
        raise AskError(f"{option} {text}: not a quantity; write {decimal[1]}{decimal[2].upper()}i")
    amount = _amount(option, text, "200Gi")
    if 0 < amount < _MIB:
        unit = f"write the unit, as in {text}Gi" if text[-1:].isdigit() else "write at least 1Mi"
        raise AskError(f"{option} {text}: is {amount.normalize():f} bytes; {unit}")
    return _positive(option, text, math.ceil(amount / _MIB))


def millicores(option: str, text: str) -> int:
    """``4`` or ``500m`` in thousandths of a core, rounded up. Raises AskError."""
    return _positive(option, text, math.ceil(_amount(option, text, "4 or 500m") * 1000))


def whole_seconds(option: str, text: str) -> int:
    """``2h30m`` in seconds, rounded up. Raises AskError."""
    amount = seconds(text)
    if amount is None:
        raise AskError(f"{option} {text}: not a duration; write for example 90m or 2h30m")
    return _positive(option, text, math.ceil(amount))


def _amount(option: str, text: str, example: str) -> Decimal:
    try:
        return quantity(text)
    except (ValueError, ArithmeticError) as error:
        raise AskError(f"{option} {text}: not a quantity; write for example {example}") from error


def _positive(option: str, text: str, amount: int) -> int:
    if amount <= 0:
        raise AskError(f"{option} {text}: must be more than 0; or omit it")
    return amount


_URL: Final = re.compile(r"https?://[^\s/]+\S*")


def check_notify(cluster: ClusterClient, url: str) -> None:
    """Refuse what could not notify, before anything is created. The URL is in no message.

    Raises:
        AskError: no URL.
        ClusterError: the namespace has no account for it.
    """
    if not _URL.fullmatch(url):
        raise AskError("--notify: write the webhook's URL, as in https://hooks.example.com/…")
    if cluster.find(resource_path("v1", "serviceaccounts", NOTIFIER, cluster.namespace)) is None:
        raise ClusterError(
            f"--notify: namespace {cluster.namespace} has no service account {NOTIFIER}. The stack makes one in "
            "`default` and in the namespaces of `teams` and `access`; an older stack needs `pulumi up`"
        )


_LONGEST_SECRET: Final = 253
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_secrets(cluster: ClusterClient, names: Sequence[str]) -> None:
    """Refuse Secrets that do not exist, or whose keys are no variables: Kubernetes would leave them out. No value is in
    a message. Who may not read Secrets is not stopped.

    Raises:
        AskError: a Secret is missing, or has no key that is the name of a variable.
        ClusterError: the cluster does not answer.
    """
    for name in names:
        if "=" in name or not 0 < len(name) <= _LONGEST_SECRET:
            raise AskError(
                "--secret: write the name of a Secret; a value on the command line is in the shell's history"
            )
        try:
            secret = cluster.find(resource_path("v1", "secrets", name, cluster.namespace))
        except ClusterError as error:
            if error.status == HTTPStatus.FORBIDDEN:
                continue
            raise
        if secret is None:
            make = f"kubectl create secret generic {name} -n {cluster.namespace} --from-file=NAME=/dev/stdin"
            raise AskError(f"--secret {name}: no such Secret in {cluster.namespace}; create it: {make}")
        keys = [*(secret.get("data") or {})]
        if wrong := [key for key in keys if not _VARIABLE.fullmatch(key)]:
            raise AskError(f"--secret {name}: {', '.join(wrong)}: no name of a variable; write letters, digits and _")
        if not keys:
            raise AskError(f"--secret {name}: it has no keys")


def notify_manifests(job: TrainingJobSpec, url: str) -> list[dict[str, Any]]:
    """A Secret with the webhook's URL, and a small Job that waits for the job's end and posts it.

    They are owned by the job, and so deleted with it. It is beside the job and not in its pods, which may be killed for
    memory or deleted with their node.
    """
    text = Template(Path(__file__).with_name("notify.yaml").read_text(encoding="utf-8")).substitute(
        job=job.name,
        namespace=job.namespace,
        notifier=NOTIFIER,
        url=base64.b64encode(url.encode()).decode(),
        managed_by=MANAGED_BY,
        manager=MANAGER,
    )
    secret, waiting = yaml.safe_load_all(text)
    pod = waiting["spec"]["template"]["spec"]
    pod["containers"][0]["command"].append(Path(__file__).with_name("notifier.py").read_text())
    if job.priority_class:
        pod["priorityClassName"] = job.priority_class  # A team may only create pods of its own priority.
    return [secret, waiting]
