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
_SWITCHES: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}

_NAMES: Final = yaml.safe_load(Path(__file__).with_name("flags.yaml").read_text("utf-8"))
_BOOLEAN: Final = frozenset(_NAMES["switches"].split())
_KNOWN: Final = _BOOLEAN | frozenset(_NAMES["with_a_value"].split())


class FlagError(ValueError):
    """A command line with which cluster-autoscaler would exit at once; the message says what to write instead."""


@dataclass(frozen=True)
class Bounds:
    """``--nodes=<min>:<max>:<group>``."""

    minimum: int
    maximum: int


@dataclass(frozen=True)
class Flags:
    """What a command line says about scaling.

    ``discovery`` holds one set of tags for each ``--node-group-auto-discovery``: key → value, ``""`` for any value.
    ``nodes`` are the groups named one by one. ``max_nodes_total`` of 0 is no limit.
    """

    provider: str
    discovery: tuple[Mapping[str, str], ...]
    nodes: Mapping[str, Bounds]
    expanders: tuple[str, ...]
    max_nodes_total: int
    scale_down: bool


def parse(command_line: Sequence[str]) -> Flags:
    """The flags of a container's ``command`` and ``args``; words before the first flag are the program.

    Raises FlagError: an unknown flag, or a value that cannot be read.
    """
    values = _read(command_line)
    expanders = tuple(_last(values, "expander", _DEFAULT_EXPANDER).split(","))
    for expander in expanders:
        if expander not in EXPANDERS:
            raise FlagError(f"--expander={expander} does not exist; write one of {', '.join(EXPANDERS)}")
    return Flags(
        provider=_last(values, "cloud-provider", _DEFAULT_PROVIDER),
        discovery=tuple(_tags(spec) for spec in values.get("node-group-auto-discovery", [])),
        nodes=dict(_bounds(spec) for spec in values.get("nodes", [])),
        expanders=expanders,
        max_nodes_total=_number("max-nodes-total", _last(values, "max-nodes-total", "0")),
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


def _bounds(spec: str) -> tuple[str, Bounds]:
    minimum, _, rest = spec.partition(":")
    maximum, _, name = rest.partition(":")
    if not (minimum.isdigit() and maximum.isdigit() and name) or int(minimum) > int(maximum):
        raise FlagError(f"--nodes={spec} cannot be read; write <min>:<max>:<name of the Auto Scaling group>")
    return name, Bounds(int(minimum), int(maximum))


def _number(flag: str, value: str) -> int:
    if not value.isdigit():
        raise FlagError(f"--{flag}={value} is not a number")
    return int(value)


def _switch(flag: str, value: str) -> bool:
    if value.lower() not in _SWITCHES:
        raise FlagError(f"--{flag}={value} is neither true nor false")
    return _SWITCHES[value.lower()]


_IMAGE: Final = re.compile(r"(?:^|/)cluster-autoscaler(?:-[a-z0-9]+)?(?::v?(?P<tag>[^@]+))?(?:@.*)?$")
_MINOR: Final = re.compile(r"^\d+\.(?P<minor>\d+)")


@dataclass(frozen=True)
class Installation:
    """One Deployment of a program that scales: ``where`` is ``namespace/name``, ``ready`` its ready replicas."""

    where: str
    namespace: str
    service_account: str
    ready: int
    container: Mapping[str, Any]
    selector: Mapping[str, str]

    @property
    def minor(self) -> int | None:
        """The minor Kubernetes version that the image is made for, ``None`` if its tag is no version."""
        image = _IMAGE.search(str(self.container.get("image", "")))
        version = _MINOR.match((image and image["tag"]) or "")
        return int(version["minor"]) if version else None


def cluster_autoscaler(deployments: Iterable[Mapping[str, Any]]) -> Installation | None:
    """The Deployment that runs cluster-autoscaler, by its image, in any namespace; one with ready pods first."""
    return max(installations(deployments, _IMAGE), key=lambda each: each.ready > 0, default=None)


def installations(deployments: Iterable[Mapping[str, Any]], image: re.Pattern[str]) -> list[Installation]:
    """The Deployments with a container of this image."""
    results = []
    for deployment in deployments:
        pod = deployment["spec"]["template"]["spec"]
        container = next((each for each in pod["containers"] if image.search(str(each.get("image", "")))), None)
        if container is not None:
            place = deployment["metadata"]
            results.append(
                Installation(
                    where=f"{place['namespace']}/{place['name']}",
                    namespace=place["namespace"],
                    service_account=pod.get("serviceAccountName") or "default",
                    ready=int((deployment.get("status") or {}).get("readyReplicas") or 0),
                    container=container,
                    selector=deployment["spec"]["selector"].get("matchLabels") or {},
                )
            )
    return results


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
    if not flags.discovery and not flags.nodes:
        return (
            f"{where} looks for no groups; add --node-group-auto-discovery=asg:tag="
            "k8s.io/cluster-autoscaler/enabled,k8s.io/cluster-autoscaler/<cluster>"
        )
    if not flags.scale_down:
        return f"{where} never removes a node (--scale-down-enabled=false): leave that flag out"
    return ""


def find(flags: Flags, asg: str, tags: Mapping[str, str], minimum: int, maximum: int) -> Bounds | str:
    """The limits of the Auto Scaling group ``asg`` for the autoscaler, or why it does not find the group.

    A group is found if it has all tags of one ``--node-group-auto-discovery``; ``--nodes`` names a group and replaces
    its limits.
    """
    if asg in flags.nodes:
        return _limited(flags.nodes[asg], flags)
    missing = [_missing(required, tags) for required in flags.discovery]
    if [] in missing:
        return _limited(Bounds(minimum, maximum), flags)
    if not missing:
        return f"no --nodes flag names the Auto Scaling group {asg}; add --nodes={minimum}:{maximum}:{asg}"
    fewest = min(missing, key=len)
    return (
        f"the Auto Scaling group {asg} lacks the tag {' and '.join(fewest)} that --node-group-auto-discovery asks for"
    )


def strays(minor: int | None, cluster_version: str) -> str:
    """A warning if the autoscaler's version is more than one minor away from the cluster's, else ``""``.

    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/README.md#releases
    """
    version = _MINOR.match(cluster_version.removeprefix("v"))
    if minor is None or version is None or abs(minor - int(version["minor"])) <= 1:
        return ""
    return f"cluster-autoscaler 1.{minor} is made for another version than the cluster's {cluster_version}"


def _limited(bounds: Bounds, flags: Flags) -> Bounds:
    most = min(bounds.maximum, flags.max_nodes_total) if flags.max_nodes_total else bounds.maximum
    return Bounds(bounds.minimum, most)


def _missing(required: Mapping[str, str], tags: Mapping[str, str]) -> list[str]:
    return [
        f"{key}={value}" if value else key
        for key, value in required.items()
        if key not in tags or (value and tags[key] != value)
    ]
