"""What EKS cannot do with one pool. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from components.clouds.eks import node_tags
from components.pools import CpuPoolSpec, GpuPoolSpec
from components.settings import Problem, Settings

_RESERVATION: Final = re.compile(r"cr-([0-9a-f]{8}|[0-9a-f]{17})")

# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (labels) and …/API_Taint.html
_EKS_KEY_LIMIT: Final = 63
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
_TAG_KEY_LIMIT: Final = 128
_TAGS_PER_GROUP: Final = 50
# Name of cluster and node group, two for discovery, and the cluster's own.
_TAGS_OF_EKS: Final = 5

_OWN_DOMAINS: Final = ("eks.amazonaws.com", "k8s.amazonaws.com", "karpenter.sh", "karpenter.k8s.aws")
_ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"


def refusals(settings: Settings) -> Iterator[Problem]:
    """What is wrong with each pool; a pool of several specs may be named several times."""
    for gpu_pool in settings.gpu_pool_specs:
        yield from _drivers(gpu_pool)
        yield from _sharing(gpu_pool, settings.autoscaler)
        yield from _reservation(gpu_pool)
    for pool in (*settings.gpu_pool_specs, *settings.cpu_pool_specs):
        yield from _keys(pool)
        if settings.autoscaler == "cluster-autoscaler":
            yield from _lengths(pool)
            yield from _taints(pool)
            yield from _tags(pool)


def _drivers(pool: GpuPoolSpec) -> Iterator[Problem]:
    where = f"{pool.declared_at}.drivers"
    if pool.drivers == "daemonset":
        yield Problem(
            where,
            "on EKS the driver is part of the node image",
            "Write drivers: managed, or none if you bring the device plugin yourself",
        )
    if pool.drivers == "none" and pool.image == "bottlerocket":
        yield Problem(
            where,
            "Bottlerocket's image always runs driver and device plugin",
            "Write image: al2023, whose device plugin can be left out, or drivers: managed",
        )
    if pool.driver_version == "latest":
        yield Problem(
            f"{pool.declared_at}.driverVersion",
            "the node image decides the driver's version",
            "Write driverVersion: default",
        )


def _sharing(pool: GpuPoolSpec, autoscaler: str) -> Iterator[Problem]:
    if pool.time_sharing is not None and autoscaler == "karpenter":
        # https://github.com/kubernetes-sigs/karpenter/issues/729
        yield Problem(
            f"{pool.declared_at}.timeSharing",
            "Karpenter counts the GPUs of a machine, not their shares, and would make a node for every share",
            "Leave it out, or write autoscaling.autoscaler: cluster-autoscaler",
        )
    if pool.mig is not None:
        yield Problem(
            f"{pool.declared_at}.mig",
            "EKS does not partition GPUs, and neither does the default node image",
            "Leave it out and let NVIDIA's GPU Operator partition them (drivers: none), or share GPUs by timeSharing",
        )


def _reservation(pool: GpuPoolSpec) -> Iterator[Problem]:
    where = f"{pool.declared_at}.reservation"
    if pool.reservation is None:
        return
    if not _RESERVATION.fullmatch(pool.reservation):
        yield Problem(
            where,
            f"'{pool.reservation}' is not the id of an On-Demand Capacity Reservation",
            "Write its id, such as cr-0123456789abcdef0",
        )
    if len(pool.zones) > 1:
        yield Problem(
            where,
            f"a Capacity Reservation is in one zone, and the pool in {len(pool.zones)}: {', '.join(pool.zones)}",
            f"Write zones: [{pool.zones[0]}], if that is the reservation's",
        )


def _keys(pool: GpuPoolSpec | CpuPoolSpec) -> Iterator[Problem]:
    own = {_ACCELERATOR: pool.accelerator} if isinstance(pool, GpuPoolSpec) else {}
    for key, value in pool.labels.items():
        domain = key.rpartition("/")[0]
        reserved = next((name for name in _OWN_DOMAINS if domain == name or domain.endswith(f".{name}")), None)
        if reserved is not None and own.get(key) != value:
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                f"labels of {reserved} say what AWS or the autoscaler know about a node",
                f"Use a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
            )


def _lengths(pool: GpuPoolSpec | CpuPoolSpec) -> Iterator[Problem]:
    """Of what EKS itself puts on nodes, and of the tag that tells the autoscaler; a taint's is no longer than this."""
    limit = min(_EKS_KEY_LIMIT, _TAG_KEY_LIMIT - len(node_tags.LABEL))
    keys = [(f"labels.{key}", key) for key in pool.labels] + [("taints", taint.key) for taint in pool.taints]
    for where, key in keys:
        if len(key) > limit:
            yield Problem(
                f"{pool.declared_at}.{where}",
                f"'{key}' has {len(key)} characters, and EKS takes {limit}",
                "Shorten its domain or its name",
            )
    for key, value in pool.labels.items():
        if not value:
            yield Problem(
                f"{pool.declared_at}.labels.{key}", "EKS takes no label without a value", f"Write {key}: 'true'"
            )


def _taints(pool: GpuPoolSpec | CpuPoolSpec) -> Iterator[Problem]:
    for key, count in Counter(taint.key for taint in pool.taints).items():
        if count > 1:
            yield Problem(
                f"{pool.declared_at}.taints",
                f"'{key}' is there {count} times, and the autoscaler learns of one: there is one tag for a key",
                "Write each key once",
            )


def _tags(pool: GpuPoolSpec | CpuPoolSpec) -> Iterator[Problem]:
    room = _TAGS_PER_GROUP - _TAGS_OF_EKS
    tags = len(node_tags.node_template(pool))
    if tags > room:
        yield Problem(
            f"{pool.declared_at}.labels",
            f"labels and taints become {tags} tags of the pool's Auto Scaling group, which has room for {room}",
            f"Remove {tags - room} labels or taints",
        )
