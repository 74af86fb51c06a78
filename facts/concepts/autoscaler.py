"""Node autoscalers: when they remove nodes; those that are workloads: how they find groups, what they may do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from facts.concepts.unknown import Maybe

KARPENTERS: Final = frozenset({"karpenter", "node-auto-provisioning"})
"""Of the setting ``autoscaling.autoscaler``, those whose pools are Karpenter's NodePools."""


@dataclass(frozen=True)
class IdleTime:
    """How long a node stays after its last pod has gone, in minutes (infinity: for ever), and what says so."""

    minutes: Maybe[float]
    where: str
    """The property or the flag, in its resource's own spelling."""


@dataclass(frozen=True)
class ScalingGroup:
    """What an autoscaler in the cluster reads about a node group in place of its nodes, while there are none.

    ``name`` is a pattern (a regular expression) where the cloud makes the name itself. ``tags`` are those that are
    known; ``open`` says that there may be more.
    """

    name: Maybe[str]
    tags: Mapping[str, Maybe[str]] = field(default_factory=dict)
    open: bool = False


@dataclass(frozen=True)
class AutoscalerCall:
    """One call that an autoscaler makes, in its cloud's spelling; ``on_group``: it changes a node group."""

    action: str
    resource: str = "*"
    on_group: bool = False


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
