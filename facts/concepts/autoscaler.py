"""Node autoscalers: when they remove nodes; those that are workloads: how they find groups, what they may do."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from facts.concepts.unknown import Maybe

KARPENTERS: Final = frozenset({"karpenter", "node-auto-provisioning"})
"""Of the setting ``autoscaling.autoscaler``, those whose pools are Karpenter's NodePools."""


_FLAG: Final = re.compile(r"^--?([a-z-]+)(?:=(.*))?$", re.DOTALL)


def flags_of(words: Iterable[object]) -> dict[str, list[str]]:
    """Flag → its values in order, written ``--flag=value`` or ``--flag value``; also inside of a shell's script."""
    flag_values: dict[str, list[str]] = {}
    rest = iter([part for word in words if isinstance(word, str) for part in word.split()])
    pending = None
    for word in rest:
        matched = _FLAG.match(word)
        if matched is None and pending is not None:
            flag_values.setdefault(pending, []).append(word)
        pending = None
        if matched is not None and matched[2] is not None:
            flag_values.setdefault(matched[1], []).append(matched[2])
        elif matched is not None:
            pending = matched[1]
    return flag_values


def tags_of(listed: str) -> Mapping[str, str]:
    """Key → value of the tags by which it discovers groups, ``key=value,key``; ``""`` stands for any value."""
    pairs = (tag.strip().partition("=") for tag in listed.split(",") if tag.strip())
    return {key: value for key, _, value in pairs}


@dataclass(frozen=True)
class IdleTime:
    """How long a node stays after its last pod has gone, in minutes (infinity: for ever), and what says so."""

    minutes: Maybe[float]
    where: str
    """The property or the flag, in its resource's own spelling."""


@dataclass(frozen=True)
class AutoscalerCall:
    """One call that an autoscaler makes, in its cloud's spelling; ``on_group``: it changes a node group."""

    action: str
    resource: str = "*"
    on_group: bool = False


@dataclass(frozen=True)
class ScalingGroup:
    """What an autoscaler in the cluster reads about a node group in place of its nodes, while there are none.

    ``name`` is a pattern (a regular expression) where the cloud makes the name itself. ``tags`` are those that are
    known; ``open`` says that there may be more. ``described_by`` is the call by which it gets labels and taints from
    the cloud; without one, or without the right to it, the tags alone tell them.
    """

    name: Maybe[str]
    tags: Mapping[str, Maybe[str]] = field(default_factory=dict)
    open: bool = False
    described_by: AutoscalerCall | None = None


@dataclass(frozen=True)
class Autoscaler:
    """A node autoscaler as its workload starts it.

    It runs as ``service_account`` and needs ``rights``, none where its cloud has no such thing. It finds its groups by
    ``discovery`` (sets of tags; a group has to carry all of one set, ``""`` stands for any value) and by ``groups``
    (names); both are empty for one that needs no groups.
    """

    service_account: Maybe[str]
    rights: tuple[AutoscalerCall, ...] = ()
    discovery: Maybe[tuple[Mapping[str, str], ...]] = ()
    groups: Maybe[tuple[str, ...]] = ()
    claims: Maybe[bool] = False
    """Whether it plans nodes for pods with claims for devices."""
