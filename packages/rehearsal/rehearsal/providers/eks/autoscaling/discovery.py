"""Which cluster-autoscaler runs in the cluster, its command line, and which Auto Scaling groups it finds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

EXPANDERS: Final = ("grpc", "least-nodes", "least-waste", "most-pods", "price", "priority", "random")
_DEFAULT_PROVIDER: Final = "gce"
_DEFAULT_EXPANDER: Final = "least-waste"
_NOT_SIMULATED: Final = ("max-nodes-total", "nodes")
_SWITCHES: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}

_NAMES: Final = yaml.safe_load(Path(__file__).with_name("flags.yaml").read_text("utf-8"))
_BOOLEAN: Final = frozenset(_NAMES["switches"].split())
_KNOWN: Final = _BOOLEAN | frozenset(_NAMES["with_a_value"].split())


class FlagError(ValueError):
    """A command line with which cluster-autoscaler would exit at once; the message says what to write instead."""


@dataclass(frozen=True)
class Flags:
    """What a command line says about scaling.

    ``discovery`` holds one set of tags for each ``--node-group-auto-discovery``: key → value, ``""`` for any value.
    ``ordered``: the first ``--expander`` is the priority expander.
    """

    provider: str
    discovery: tuple[Mapping[str, str], ...]
    ordered: bool
    scale_down: bool


def parse(command_line: Sequence[str]) -> Flags:
    """The flags of a container's ``command`` and ``args``; words before the first flag are the program.

    Raises FlagError: an unknown flag, a value that cannot be read, or a limit that the rehearsal does not simulate.
    """
    values = _read(command_line)
    if limits := [name for name in _NOT_SIMULATED if name in values]:
        raise FlagError(f"the rehearsal does not simulate --{limits[0]}; limit groups by their own sizes")
    expanders = tuple(_last(values, "expander", _DEFAULT_EXPANDER).split(","))
    for expander in expanders:
        if expander not in EXPANDERS:
            raise FlagError(f"--expander={expander} does not exist; write one of {', '.join(EXPANDERS)}")
    return Flags(
        provider=_last(values, "cloud-provider", _DEFAULT_PROVIDER),
        discovery=tuple(_tags(spec) for spec in values.get("node-group-auto-discovery", [])),
        ordered=expanders[0] == "priority",
        scale_down=_switch("scale-down-enabled", _last(values, "scale-down-enabled", "true")),
    )


def command_line(container: Mapping[str, Any]) -> list[str]:
    """What a container runs: ``command`` and ``args``."""
    return [str(word) for part in ("command", "args") for word in container.get(part) or []]


def _read(words: Sequence[str]) -> dict[str, list[str]]:
    """Flag → its values in order, by the rules of Go's pflag: ``--flag=value``, ``--flag value``, ``--switch``."""
    values: dict[str, list[str]] = {}
    rest = iter(words)
    for word in rest:
        if not word.startswith("-"):
            continue
        written, equals, value = word.lstrip("-").partition("=")
        name = written.replace("_", "-")
        if name not in _KNOWN or (not word.startswith("--") and len(name) > 1):
            raise FlagError(f"{word.partition('=')[0]} is not a flag of cluster-autoscaler: it exits at start")
        if not equals and name not in _BOOLEAN:
            value = next(rest, "")
        values.setdefault(name, []).append(value if equals or name not in _BOOLEAN else "true")
    return values


def _last(values: Mapping[str, Sequence[str]], name: str, default: str) -> str:
    return values[name][-1] if name in values else default


def _tags(spec: str) -> Mapping[str, str]:
    kind, _, rest = spec.partition(":")
    key, _, tags = rest.partition("=")
    if kind != "asg" or key != "tag" or not tags:
        raise FlagError(
            f"--node-group-auto-discovery={spec} cannot be read; write asg:tag=<key>[=<value>],<key>[=<value>]"
        )
    pairs = (tag.partition("=") for tag in tags.split(","))
    return {name: value for name, _, value in pairs}


def _switch(flag: str, value: str) -> bool:
    if value.lower() not in _SWITCHES:
        raise FlagError(f"--{flag}={value} is neither true nor false")
    return _SWITCHES[value.lower()]


_IMAGE: Final = re.compile(r"(?:^|/)cluster-autoscaler(?:-[a-z0-9]+)?(?::[^@]+)?(?:@.*)?$")


@dataclass(frozen=True)
class Installation:
    """One Deployment of a program that scales: ``where`` is ``namespace/name``, ``ready`` its ready replicas."""

    where: str
    namespace: str
    service_account: str
    ready: int
    container: Mapping[str, Any]


def cluster_autoscaler(deployments: Iterable[Mapping[str, Any]]) -> Installation | None:
    """The Deployment that runs cluster-autoscaler, by its image, in any namespace; one with ready pods first."""
    installations = []
    for deployment in deployments:
        pod, place = deployment["spec"]["template"]["spec"], deployment["metadata"]
        container = next((each for each in pod["containers"] if _IMAGE.search(str(each.get("image", "")))), None)
        if container is not None:
            ready = int((deployment.get("status") or {}).get("readyReplicas") or 0)
            account = pod.get("serviceAccountName") or "default"
            installations.append(
                Installation(f"{place['namespace']}/{place['name']}", place["namespace"], account, ready, container)
            )
    return max(installations, key=lambda each: each.ready > 0, default=None)


def why_idle(installation: Installation | None) -> str:
    """Why cluster-autoscaler scales nothing (absent, not ready, wrong command line); ``""`` if it runs."""
    if installation is None:
        return "no autoscaler runs in the cluster: no Deployment has an image …/cluster-autoscaler; deploy one"
    where = f"Deployment {installation.where}"
    if not installation.ready:
        return f"{where} has no ready pod: look at its pods' events"
    try:
        flags = parse(command_line(installation.container))
    except FlagError as error:
        return f"{where}: {error}"
    if flags.provider != "aws":
        return f"{where} runs with --cloud-provider={flags.provider}; write --cloud-provider=aws"
    if not flags.discovery:
        return (
            f"{where} looks for no groups; add --node-group-auto-discovery=asg:tag="
            "k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/<cluster>"
        )
    if not flags.scale_down:
        return f"{where} never removes a node (--scale-down-enabled=false): leave that flag out"
    return ""


def why_unseen(flags: Flags, asg: str, tags: Mapping[str, str]) -> str:
    """Why the autoscaler does not find the Auto Scaling group ``asg``: it has to have all tags of one
    ``--node-group-auto-discovery``. ``""`` if it does."""
    fewest = min((_missing(required, tags) for required in flags.discovery), key=len)
    asked = "that --node-group-auto-discovery asks for"
    return f"the Auto Scaling group {asg} lacks the tag {' and '.join(fewest)} {asked}" if fewest else ""


def _missing(required: Mapping[str, str], tags: Mapping[str, str]) -> list[str]:
    return [
        f"{key}={value}" if value else key
        for key, value in required.items()
        if key not in tags or (value and tags[key] != value)
    ]
