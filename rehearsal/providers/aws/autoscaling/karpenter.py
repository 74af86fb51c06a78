"""What a deployed Karpenter would do with a NodePool: make machines of it, of this shape, or not.

https://karpenter.sh/v1.8/concepts/nodepools/ and https://karpenter.sh/v1.8/concepts/nodeclasses/. A NodePool becomes
one group of the fleet: all its nodes are of the cheapest type that its requirements admit. The fleet's own Karpenter
passes over these NodePools, because their node class is not its own (``IsManaged`` in
https://github.com/kubernetes-sigs/karpenter/blob/v1.8.2/pkg/utils/nodepool/nodepool.go).

Where the rehearsal differs: a NodePool that is deleted is gone at once and its nodes go after it, where Karpenter's
finalizers hold an EC2NodeClass until then; and a queue of interruptions that does not exist stops everything, where
Karpenter goes on and would miss every interruption.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final

from rehearsal.providers.aws.autoscaling.discovery import Installation
from rehearsal.providers.aws.autoscaling.identity import Role
from rehearsal.providers.aws.autoscaling.karpenter_calls import NodeClass, Request, calls
from rehearsal.providers.aws.autoscaling.requirements import RequirementError, admits
from rehearsal.simulation import Machine, NodeGroup

IMAGE: Final = re.compile(r"(?:^|/)karpenter/controller(?:[:@]|$)")
CLASS_GROUP: Final = "karpenter.k8s.aws"
TYPE: Final = "node.kubernetes.io/instance-type"
ZONE: Final = "topology.kubernetes.io/zone"
CAPACITY: Final = "karpenter.sh/capacity-type"
GPU: Final = "nvidia.com/gpu"
SPOT, ON_DEMAND = "spot", "on-demand"

_UNLIMITED: Final = 1000
"""Nodes of a NodePool without limits."""

_NAME_LIMIT: Final = 63
_PREFIX: Final = "karpenter-"
_ENTRY_TYPES: Final = ("EC2_LINUX", "EC2")
_UNITS: Final = {"m": Fraction(1, 1000), "k": Fraction(1000)}


@dataclass(frozen=True)
class NodePool:
    """What matters of a NodePool. ``requirements`` include those that its template's labels amount to."""

    name: str
    requirements: tuple[Mapping[str, Any], ...]
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    limits: Mapping[str, Any]
    weight: int
    node_class: str
    keeps_idle: str = ""
    fixed: bool = False

    @classmethod
    def parse(cls, manifest: Mapping[str, Any]) -> NodePool | None:
        """A NodePool whose class is an EC2NodeClass; ``None`` for any other."""
        spec = manifest["spec"]
        template = spec["template"]["spec"]
        reference = template["nodeClassRef"]
        if reference.get("group") != CLASS_GROUP:
            return None
        return cls(
            name=manifest["metadata"]["name"],
            requirements=tuple(template.get("requirements") or ()),
            labels=(spec["template"].get("metadata") or {}).get("labels") or {},
            taints=tuple(
                {"key": each["key"], "value": each.get("value", ""), "effect": each["effect"]}
                for each in template.get("taints") or ()
            ),
            limits=spec.get("limits") or {},
            weight=int(spec.get("weight") or 0),
            node_class=reference["name"],
            keeps_idle=_keeps_idle(spec.get("disruption") or {}),
            fixed="replicas" in spec,
        )


@dataclass(frozen=True)
class Offer:
    """An instance type that can be had: its ``labels`` as Karpenter knows them, the zones that offer it, and its nodes
    by capacity type (``spot``, ``on-demand``), without labels and taints of a pool."""

    labels: Mapping[str, str]
    zones: frozenset[str]
    nodes: Mapping[str, NodeGroup]


@dataclass(frozen=True)
class Seen:
    """What the decision about every NodePool rests on.

    ``role`` is Karpenter's, or why it has none; ``queue_arn`` that of its interruption queue, ``None`` where the queue
    it is told of does not exist. ``context`` are condition keys of every request.
    """

    installation: Installation | None
    role: Role | str
    cluster: str
    region: str
    account: str
    version: str
    queue_arn: str | None
    context: Mapping[str, str]


def group_name(pool: str) -> str:
    """The fleet's name for a NodePool's machines: another than its own, because the fleet has NodePools, too."""
    name = _PREFIX + pool
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 9]}-{zlib.crc32(pool.encode()):08x}"


def judge(
    seen: Seen, pool: NodePool, node_class: NodeClass | None, offers: Sequence[Offer], *, ranked: bool
) -> NodeGroup:
    """The machines of ``pool`` as the fleet should have them, or why Karpenter makes none.

    ``ranked``: some NodePool of the cluster has a weight, so that all are tried in the order of their weights.
    """
    try:
        shape = _shape(pool, node_class, offers)
    except RequirementError as error:
        return _none(seen, pool, f"NodePool {pool.name}: {error}")
    if isinstance(shape, str):
        return _none(seen, pool, f"NodePool {pool.name}: {shape}")
    because = _why_not(seen, pool, node_class, spot=shape.spot)
    return replace(
        shape,
        name=group_name(pool.name),
        cluster=seen.cluster,
        labels={**shape.labels, **pool.labels},
        taints=pool.taints,
        autoscaled=not because,
        min_nodes=0,
        max_nodes=most_nodes(pool, shape.machine),
        rank=-float(pool.weight) if ranked else None,
        not_scaled_because=because,
    )


def most_nodes(pool: NodePool, machine: Machine) -> int:
    """How many nodes of a machine the NodePool's limits leave room for."""
    sizes = {"nodes": 1, "cpu": machine.cpu, GPU: machine.gpus}
    rooms = [int(_quantity(limit) // Fraction(sizes[key])) for key, limit in pool.limits.items() if sizes.get(key)]
    return min(rooms, default=_UNLIMITED)


def settings(installation: Installation) -> dict[str, str]:
    """The controller's environment, as far as it is plain."""
    return {each["name"]: str(each.get("value", "")) for each in installation.container.get("env") or []}


def _why_not(seen: Seen, pool: NodePool, node_class: NodeClass | None, *, spot: bool) -> str:
    installation = seen.installation
    if installation is None:
        return (
            f"NodePool {pool.name}: no Karpenter runs in the cluster: no Deployment has an image karpenter/controller"
        )
    where = f"Deployment {installation.where}"
    if not installation.ready:
        return f"{where} (Karpenter) has no ready pod: look at its pods' events"
    own = settings(installation)
    if own.get("CLUSTER_NAME") != seen.cluster:
        return (
            f"{where} is told to serve the cluster {own.get('CLUSTER_NAME') or '(none)'}; "
            f"set settings.clusterName to {seen.cluster}"
        )
    if seen.queue_arn is None:
        return (
            f"{where} reads interruptions from the SQS queue {own.get('INTERRUPTION_QUEUE')}, which does not exist; "
            "create it, or correct settings.interruptionQueue"
        )
    if isinstance(seen.role, str):
        return seen.role
    if pool.keeps_idle or pool.fixed:
        return f"NodePool {pool.name} {pool.keeps_idle or 'has replicas: its size is fixed'}"
    assert node_class is not None
    flaw = _class_flaw(seen, node_class)
    if flaw:
        return f"EC2NodeClass {node_class.name}: {flaw}"
    request = Request(
        region=seen.region,
        account=seen.account,
        cluster=seen.cluster,
        version=seen.version,
        pool=pool.name,
        spot=spot,
        queue_arn=seen.queue_arn,
        context=seen.context,
    )
    return seen.role.missing(calls(request, node_class))


def _class_flaw(seen: Seen, node_class: NodeClass) -> str:
    if not node_class.subnets:
        return "its subnetSelectorTerms find no subnet"
    if not node_class.security_groups:
        return "its securityGroupSelectorTerms find no security group"
    if not node_class.node_role:
        return f"{node_class.identity} does not exist, or has no role"
    if node_class.entry_type not in _ENTRY_TYPES:
        found = (
            f"has an access entry of type {node_class.entry_type}" if node_class.entry_type else "has no access entry"
        )
        return (
            f"the nodes' role {node_class.node_role} {found} in the cluster {seen.cluster}, so its nodes cannot join; "
            "add one of type EC2_LINUX"
        )
    return ""


def _shape(pool: NodePool, node_class: NodeClass | None, offers: Sequence[Offer]) -> NodeGroup | str:
    """The cheapest machine that the NodePool admits, in the zones where it can be had."""
    if node_class is None:
        return f"the EC2NodeClass {pool.node_class} does not exist; create it"
    fitting = []
    for offer in offers:
        for capacity, nodes in offer.nodes.items():
            known = {**offer.labels, **pool.labels, CAPACITY: capacity}
            zones = tuple(
                zone
                for zone in node_class.zones
                if zone in offer.zones and admits(pool.requirements, {**known, ZONE: zone})
            )
            if zones:
                fitting.append(replace(nodes, zones=zones, labels={**offer.labels, CAPACITY: capacity}))
    if not fitting:
        places = ", ".join(node_class.zones) or "no zone"
        return f"no instance type meets its requirements in the zones of its subnets ({places})"
    return min(fitting, key=lambda nodes: nodes.hourly_usd)


def _none(seen: Seen, pool: NodePool, because: str) -> NodeGroup:
    """A group without a machine, which says why to pods that ask for no more GPUs than its limit."""
    return NodeGroup(
        name=group_name(pool.name),
        cluster=seen.cluster,
        machine=Machine("none", 1, 1, gpus=int(_quantity(pool.limits.get(GPU, 0)))),
        zones=(f"{seen.region}a",),
        labels=pool.labels,
        taints=pool.taints,
        autoscaled=False,
        not_scaled_because=because,
    )


def _keeps_idle(disruption: Mapping[str, Any]) -> str:
    """Why empty nodes stay, ``""`` if they go."""
    if disruption.get("consolidateAfter") == "Never":
        return "never removes an empty node (disruption.consolidateAfter: Never)"
    for budget in disruption.get("budgets") or ():
        reasons = budget.get("reasons") or ("Empty",)
        if str(budget.get("nodes")) in ("0", "0%") and not budget.get("schedule") and "Empty" in reasons:
            return "never removes an empty node (a disruption budget of 0 for Empty)"
    return ""


def _quantity(text: Any) -> Fraction:
    written = str(text)
    scale = _UNITS.get(written[-1:], Fraction(1))
    return Fraction(written if scale == 1 else written[:-1]) * scale
