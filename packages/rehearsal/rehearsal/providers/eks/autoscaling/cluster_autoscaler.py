"""Whether a deployed cluster-autoscaler would scale a managed node group, and what it knows about its nodes.

Of several groups that fit, only the priority expander has a predictable order. ``least-waste``, ``most-pods``,
``least-nodes`` and ``random`` decide by the pods at hand or by chance: there the fleet's own order, the cheapest first,
stands in.

Its template of a node for an empty group comes from the group's tags, not from its nodes:
https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/aws_manager.go
(``buildNodeFromTemplate``): the instance type's size, then tags of the Auto Scaling group, then what EKS's
DescribeNodegroup says of a managed node group, which is asked only as long as the group has never had a node
(https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md).
Where the rehearsal is stricter: a running autoscaler also remembers the last node it saw of a group, until it
restarts. Here only what is declared counts, so that a pool does not depend on that memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts import durations
from facts.concepts.iam import resource_tags
from rehearsal.providers.eks.authorization.identity import Caller, Right, Role
from rehearsal.providers.eks.authorization.needs import refusal
from rehearsal.providers.eks.nodes import DeclaredGroup
from rehearsal.providers.pool_order import Priorities, rank
from rehearsal.simulation import Packing, SimulatedNodeGroup

EXPANDERS: Final = ("grpc", "least-nodes", "least-waste", "most-pods", "price", "priority", "random")
_DEFAULT_PROVIDER: Final = "gce"
_DEFAULT_EXPANDER: Final = "least-waste"
_NOT_SIMULATED: Final = ("max-nodes-total", "nodes")
_SWITCHES: Final = {"true": True, "t": True, "1": True, "false": False, "f": False, "0": False}

_NAMES: Final[Mapping[str, Any]] = yaml.safe_load(Path(__file__).with_name("flags.yaml").read_text("utf-8"))
_BOOLEAN: Final = frozenset(_NAMES["switches"].split())
_KNOWN: Final = _BOOLEAN | frozenset(_NAMES["with_a_value"].split())
_SINCE: Final = {name: release for release, names in _NAMES["since"].items() for name in names.split()}
_RELEASE: Final = re.compile(r":v?(1\.[0-9]+)\.")
"""In the tag of an image; all releases are 1.x."""


class FlagError(ValueError):
    """A command line with which cluster-autoscaler would exit at once; the message says what to write instead."""


@dataclass(frozen=True)
class Flags:
    """What a command line says about scaling.

    ``discovery`` holds one set of tags for each ``--node-group-auto-discovery``: key → value, ``""`` for any value.
    ``ordered``: the first ``--expander`` is the priority expander. ``unneeded``: how long a node stays that nobody
    needs, as Go writes it. ``packing``: of groups whose tags do not say otherwise. ``written``: all, ``--name=value``.
    """

    provider: str
    discovery: tuple[Mapping[str, str], ...]
    ordered: bool
    scale_down: bool
    unneeded: str
    packing: Packing
    written: tuple[str, ...]


def parse(command_line: Sequence[str], image: str = "") -> Flags:
    """The flags of a container's ``command`` and ``args``; words before the first flag are the program.

    Raises FlagError: an unknown flag, one that the release in the tag of ``image`` lacks, a value that cannot be read,
    or a limit that the rehearsal does not simulate.
    """
    values = _read(command_line)
    if tag := _RELEASE.search(image):
        for name in values:
            if name in _SINCE and int(_SINCE[name].partition(".")[2]) > int(tag[1].partition(".")[2]):
                raise FlagError(f"--{name} is a flag since {_SINCE[name]}: cluster-autoscaler {tag[1]} exits at start")
    if limits := [name for name in _NOT_SIMULATED if name in values]:
        raise FlagError(f"the rehearsal does not simulate --{limits[0]}; limit groups by their own sizes")

    def on(switch: str, default: str) -> bool:
        return _switch(switch, _last(values, switch, default))

    def minutes(flag: str, default: str) -> float:
        return (durations.seconds(_last(values, flag, default)) or 0.0) / 60

    expanders = tuple(_last(values, "expander", _DEFAULT_EXPANDER).split(","))
    for expander in expanders:
        if expander not in EXPANDERS:
            raise FlagError(f"--expander={expander} does not exist; write one of {', '.join(EXPANDERS)}")
    return Flags(
        provider=_last(values, "cloud-provider", _DEFAULT_PROVIDER),
        discovery=tuple(_tags(spec) for spec in values.get("node-group-auto-discovery", [])),
        ordered=expanders[0] == "priority",
        scale_down=on("scale-down-enabled", "true"),
        unneeded=_last(values, "scale-down-unneeded-time", "10m"),
        packing=Packing(
            gpus_below=_number(_last(values, "scale-down-gpu-utilization-threshold", "0.5"), 0.5),
            others_below=_number(_last(values, "scale-down-utilization-threshold", "0.5"), 0.5),
            moves_system_pods=not on("skip-nodes-with-system-pods", "true"),
            moves_local_storage=not on("skip-nodes-with-local-storage", "true"),
            ignores_daemon_sets=on("ignore-daemonsets-utilization", "false"),
            delay_minutes=minutes("scale-down-delay-after-add", "10m"),
            delay_by_group=on("scale-down-delay-type-local", "false"),
            system_pods_minutes=minutes("blocking-system-pod-distruption-timeout", "1h"),
        ),
        written=tuple(f"--{name}={value}" for name, each in values.items() for value in each),
    )


def _parsed(container: Mapping[str, Any]) -> Flags:
    return parse(command_line(container), container["image"])


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
        flags = _parsed(installation.container)
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


PREFIX: Final = "k8s.io/cluster-autoscaler/node-template/"
_OPTIONS: Final = "autoscaling-options/"
_UNNEEDED: Final = f"{PREFIX}{_OPTIONS}scaledownunneededtime"
GPU: Final = "nvidia.com/gpu"
EFA: Final = "vpc.amazonaws.com/efa"
_TAINT: Final = re.compile(r"(?P<value>[^:]*):(?P<effect>NoSchedule|NoExecute|PreferNoSchedule)")
_OWNER_TAGS: Final = ("eks:cluster-name", "eks:nodegroup-name")
"""By these tags the autoscaler knows a managed node group."""

_GENERIC: Final = frozenset(_NAMES["labels"].split())
"""What the autoscaler derives by itself from the instance type and the first zone."""


def observed_group(group: DeclaredGroup, *, described: bool) -> SimulatedNodeGroup:
    """The group as the autoscaler plans with it while it is empty; ``group.base`` is what its nodes really are.

    ``described`` says whether DescribeNodegroup is asked, and allowed. Its labels and resources win over the tags, its
    taints come in addition. Of several zones the autoscaler takes the first, in AWS's order. Nodes below a minimum are
    spread over all of them anyway, so a group with a minimum keeps its zones. No instance type tells of a disk:
    https://github.com/kubernetes/autoscaler/issues/1869
    """
    base, tags = group.base, group.asg_tags
    described = described and all(tag in tags for tag in _OWNER_TAGS)
    labels = {**_below(tags, "label/"), **(group.labels if described else {})}
    tagged = {(key, match["value"], match["effect"]) for key, match in _matched(_below(tags, "taint/"))}
    resources = {**_below(tags, "resources/"), **(_below(group.nodegroup_tags, "resources/") if described else {})}
    counted, resource = resources.get(base.machine.gpu_resource, ""), base.machine.gpu_resource
    # Of a machine type it knows NVIDIA's GPUs alone.
    gpus = int(counted) if counted.isdigit() else base.machine.gpus if resource == GPU else 0
    # A group that always has nodes is planned with after them.
    known_disk = resources.get("ephemeral-storage") or base.scaling.min_nodes
    known = {key for key, value in base.nodes.labels.items() if key in _GENERIC or labels.get(key) == value}
    planned = tuple(
        each for each in base.nodes.taints if described or (each.key, each.value or "", each.effect) in tagged
    )
    return replace(
        base,
        nodes=replace(
            base.nodes,
            zones=base.nodes.zones if base.scaling.min_nodes else group.asg_zones[:1],
            labels={key: value for key, value in base.nodes.labels.items() if key in known},
            taints=planned,
        ),
        # No instance type tells of EFA's devices.
        machine=replace(
            base.machine,
            gpus=gpus,
            disk_mib=base.machine.disk_mib if known_disk else 0,
            efa=int(resources.get(EFA) or 0),
        ),
        offered_gpus=base.machine.gpus
        if base.offered_gpus is None and gpus != base.machine.gpus
        else base.offered_gpus,
        # Without these it plans with the whole machine.
        plans_whole=not {"cpu", "memory"} <= resources.keys(),
        late_labels={key: value for key, value in base.nodes.labels.items() if key not in known},
        late_taints=tuple(taint for taint in base.nodes.taints if taint not in planned),
    )


def _packing(flags: Flags, tags: Mapping[str, str]) -> Packing:
    """What the flags say, and the group's tags say otherwise: ``GetAsgOptions`` in
    https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/cloudprovider/aws/aws_manager.go
    """
    own, default = _below(tags, _OPTIONS), flags.packing
    return replace(
        default,
        gpus_below=_number(own.get("scaledowngpuutilizationthreshold", ""), default.gpus_below),
        others_below=_number(own.get("scaledownutilizationthreshold", ""), default.others_below),
        ignores_daemon_sets=_SWITCHES.get(own.get("ignoredaemonsetsutilization", ""), default.ignores_daemon_sets),
    )


def _number(text: str, default: float) -> float:
    try:
        return float(text)
    except ValueError:
        return default


def _below(tags: Mapping[str, str], kind: str) -> dict[str, str]:
    prefix = PREFIX + kind
    return {key.removeprefix(prefix): value for key, value in tags.items() if key.startswith(prefix) and key != prefix}


def _matched(taints: Mapping[str, str]) -> Iterable[tuple[str, re.Match[str]]]:
    """A taint tag's value is ``<value>:<effect>``; the autoscaler passes over any other."""
    return ((key, match) for key, text in taints.items() if (match := _TAINT.fullmatch(text)))


READS, WRITES = (tuple(_NAMES[kind].split()) for kind in ("reads", "writes"))
"""Permissions; without one of them the autoscaler finds no group or changes nothing."""


@dataclass(frozen=True)
class ClusterSnapshot:
    """The facts that the decision about every group needs.

    ``role`` is the autoscaler's, or why it has none. ``priorities`` are those of the priority expander's ConfigMap,
    or what is wrong with it. ``context`` are condition keys of every request (``aws:RequestedRegion`` …).
    """

    installation: Installation | None
    role: Role | str
    priorities: Priorities | str
    context: Mapping[str, str] = field(default_factory=dict)

    def lacks(self, *actions: str, on: str = "*", **context: str) -> str:
        """Why the autoscaler may not do all of ``actions``, in AWS's words; ``""`` if it may."""
        assert isinstance(self.role, Role)
        rights = [Right(action, on, {**self.context, **context}) for action in actions]
        return refusal(Caller(self.role.arn, self.role.arn), self.role, rights)


def evaluate(snapshot: ClusterSnapshot, group: DeclaredGroup, had_nodes: Callable[[], bool]) -> SimulatedNodeGroup:
    """The group for the fleet: autoscaled with the autoscaler's view of it, or not autoscaled, with the reason.

    ``had_nodes`` says whether the group has ever had a node; it is asked only where that makes a difference. A group
    whose minimum is its maximum needs no autoscaler: nothing is missing there, and nothing would change.
    """
    flags = "" if group.min_size == group.max_size else _flags(snapshot)
    if isinstance(flags, str):
        return group.base.not_scaled(flags)
    tags = resource_tags(group.asg_tags, "autoscaling")
    problem = why_unseen(flags, group.asg_name, group.asg_tags) or snapshot.lacks(*WRITES, on=group.asg_arn, **tags)
    if problem:
        return group.base.not_scaled(problem)
    place, unneeded = None, durations.seconds(group.asg_tags.get(_UNNEEDED, flags.unneeded))
    if flags.ordered and not isinstance(snapshot.priorities, str):
        place = rank(group.asg_name, snapshot.priorities)
        # A group that no expression matches is used only if no other fits.
        place = 1.0 if place is None else place
    scaled = replace(
        group.base,
        scaling=replace(
            group.base.scaling,
            autoscaled=True,
            min_nodes=group.min_size,
            max_nodes=group.max_size,
            unneeded_minutes=None if unneeded is None else round(unneeded / 60),
        ),
        per_zone=False,
        rank=place,
        not_scaled_because="",
        packing=_packing(flags, group.asg_tags),
        autoscaler_flags=flags.written,
    )
    group = replace(group, base=scaled)
    by_tags = observed_group(group, described=False)
    if not _may_describe(snapshot, group):
        return by_tags
    by_both = observed_group(group, described=True)
    return by_tags if by_both == by_tags or had_nodes() else by_both


def _flags(snapshot: ClusterSnapshot) -> Flags | str:
    """The autoscaler's flags, or the reason why it scales no group."""
    idle = why_idle(snapshot.installation)
    if idle or isinstance(snapshot.role, str):
        return idle or str(snapshot.role)
    assert snapshot.installation is not None
    flags = _parsed(snapshot.installation.container)
    problem = snapshot.priorities if flags.ordered and isinstance(snapshot.priorities, str) else ""
    return snapshot.lacks(*READS) or problem or flags


def _may_describe(snapshot: ClusterSnapshot, group: DeclaredGroup) -> bool:
    # A managed node group's ARN ends in the id that its Auto Scaling group's name ends in.
    place = group.asg_arn.partition(":autoScalingGroup:")[0].replace(":autoscaling:", ":eks:")
    own = group.asg_name.removeprefix(f"eks-{group.base.name}-")
    arn = f"{place}:nodegroup/{group.base.cluster}/{group.base.name}/{own}"
    return not snapshot.lacks("eks:DescribeNodegroup", on=arn, **resource_tags(group.nodegroup_tags))
