"""Valid pool settings that EKS does not support."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from typing import Final

from components.settings.fields.problems import Problem
from components.settings.limits.common import shared_reservations
from components.settings.pools.settings import Settings
from facts import catalog
from facts.catalog.eks import node_tags
from facts.concepts.pool import Pool

_RESERVATION: Final = re.compile(r"cr-([0-9a-f]{8}|[0-9a-f]{17})")

# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-extend.html
_LONGEST_BLOCK_DAYS: Final = 182

# Driver 595, which only AL2023's image has, and since when: https://github.com/awslabs/amazon-eks-ami/issues/2768
_NOT_IN_BOTTLEROCKET: Final = frozenset({"g7"})
_FIRST_AL2023: Final = "v20260917"

# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (labels) and …/API_Taint.html
_EKS_KEY_LIMIT: Final = 63
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
_TAG_KEY_LIMIT: Final = 128

_OWN_DOMAINS: Final = ("eks.amazonaws.com", "k8s.amazonaws.com", "karpenter.sh", "karpenter.k8s.aws")


def pool_problems(settings: Settings) -> Iterator[Problem]:
    """Problems of each pool; an entry that becomes several pools may report one several times."""
    for gpu_pool in settings.gpu_pools:
        yield from _image(gpu_pool)
        yield from _chips(gpu_pool)
        yield from _reservation(gpu_pool)
        yield from _block(gpu_pool, settings)
    yield from _shared(settings)
    for pool in settings.pools:
        yield from _keys(pool)
        if settings.autoscaler == "cluster-autoscaler":
            yield from _pinned_image(pool)
            yield from _lengths(pool)
            yield from _taints(pool)
            yield from _tags(pool, settings)


def _pinned_image(pool: Pool) -> Iterator[Problem]:
    if pool.nodes.image_version is not None:
        yield Problem(
            f"{pool.declared_at}.image",
            "a node group gets the image that AWS recommends when it is empty",
            f"Write image: {pool.nodes.image}, or autoscaling.autoscaler: karpenter",
        )


def _image(pool: Pool) -> Iterator[Problem]:
    lacking = sorted({name.partition(".")[0] for name in pool.nodes.machine_types} & _NOT_IN_BOTTLEROCKET)
    if (
        pool.nodes.image == "al2023"
        and lacking
        and pool.nodes.image_version is not None
        and pool.nodes.image_version < _FIRST_AL2023
    ):
        yield Problem(
            f"{pool.declared_at}.image",
            f"al2023@{pool.nodes.image_version} lacks the driver that {pool.gpus.type} needs",
            f"Write image: al2023@{_FIRST_AL2023} or newer, or al2023",
        )
    if pool.nodes.image == "bottlerocket" and lacking:
        yield Problem(
            f"{pool.declared_at}.image",
            f"no Bottlerocket image has the driver that {pool.gpus.type} needs",
            "Write image: al2023, or leave it out",
        )


def _chips(pool: Pool) -> Iterator[Problem]:
    """What AWS's own chips do not have, of what pools of NVIDIA's GPUs may ask for."""
    if pool.gpus.of_nvidia:
        return
    if pool.nodes.image != "al2023":
        message = f"nodes with {pool.gpus.type} have the image AL2023"
        yield Problem(f"{pool.declared_at}.image", message, "Write image: al2023, or leave it out")
    if pool.gpus.time_sharing is not None:
        message = f"pods do not share {pool.gpus.type}: a pod has whole devices"
        yield Problem(f"{pool.declared_at}.timeSharing", message, "Leave it out")


def _reservation(pool: Pool) -> Iterator[Problem]:
    where = f"{pool.declared_at}.reservation"
    if pool.scaling.reservation is None:
        return
    if not _RESERVATION.fullmatch(pool.scaling.reservation):
        what = "an On-Demand Capacity Reservation" if pool.scaling.block is None else "a Capacity Block"
        yield Problem(
            where,
            f"'{pool.scaling.reservation}' is not the ID of {what}",
            "Write its ID, such as cr-0123456789abcdef0",
        )
    if len(pool.nodes.zones) > 1:
        yield Problem(
            where,
            f"a Capacity Reservation is in one zone, but the pool is in {', '.join(pool.nodes.zones)}",
            f"Write zones: [{pool.nodes.zones[0]}] if that is the reservation's, or reservation: {{name: "
            f"{pool.scaling.reservation}, zone: {pool.nodes.zones[0]}}} if only the reserved nodes are there",
        )


def _shared(settings: Settings) -> Iterator[Problem]:
    """A Capacity Reservation has one machine type and one zone:
    https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservation-overview.html. A capacity reservation group
    of AKS may have several."""
    users = ((pool.scaling.reservation, pool) for pool in settings.gpu_pools)
    yield from shared_reservations((reservation, pool) for reservation, pool in users if reservation is not None)


def _block(pool: Pool, settings: Settings) -> Iterator[Problem]:
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-capacity-blocks.html#capacity-blocks-prerequisites"""
    known = catalog.of("eks")
    machine = known.machines.get(pool.nodes.machine_type)
    if pool.scaling.reservation is None or machine is None:
        return
    if pool.scaling.block is not None:
        if not machine.blocks:
            sold = [each for each in known.machines.types if (one := known.machines.get(each)) and one.blocks]
            yield Problem(
                f"{pool.declared_at}.capacity",
                f"AWS sells Capacity Blocks of {', '.join(sold)}, not of {machine.type}",
                f"Write capacity: reserved, and reservation: {pool.scaling.reservation}",
            )
        days = (date.fromisoformat(pool.scaling.block.last) - date.fromisoformat(pool.scaling.block.first)).days
        if days > _LONGEST_BLOCK_DAYS:
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"{pool.scaling.block.first} to {pool.scaling.block.last} are {days} days, but a Capacity Block lasts "
                f"{_LONGEST_BLOCK_DAYS} at most, with its extensions",
                "Write the days that 'aws ec2 describe-capacity-reservations' prints",
            )
    elif (
        settings.autoscaler == "cluster-autoscaler"
        and known.prices.machine(known.reference_region, machine, spot=False) is None
    ):
        # The ID of a block looks like that of any reservation. https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
        yield Problem(
            f"{pool.declared_at}.reservation",
            f"{pool.nodes.machine_type} is sold in Capacity Blocks only, which need capacity: capacity-block",
            f"Write capacity: capacity-block, and reservation: {{name: {pool.scaling.reservation}, first: …, last: …}} "
            "with the block's days; or autoscaling.autoscaler: karpenter, which accepts both",
        )


def _keys(pool: Pool) -> Iterator[Problem]:
    own = {} if pool.role != "gpu" else catalog.of("eks").labels.of_gpu(pool.gpus.type)
    for key, value in pool.nodes.labels.items():
        domain = key.rpartition("/")[0]
        reserved = next((name for name in _OWN_DOMAINS if domain == name or domain.endswith(f".{name}")), None)
        if reserved is not None and own.get(key) != value:
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                f"labels of {reserved} are reserved for AWS and the autoscaler",
                f"Name it in a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
            )


def _lengths(pool: Pool) -> Iterator[Problem]:
    """Length limits of labels and taints that EKS sets on nodes, and of the tags that the autoscaler reads."""
    limit = min(_EKS_KEY_LIMIT, _TAG_KEY_LIMIT - len(node_tags.LABEL))
    keys = [(f"labels.{key}", key) for key in pool.nodes.labels] + [
        ("taints", taint.key) for taint in pool.nodes.taints
    ]
    for where, key in keys:
        if len(key) > limit:
            yield Problem(
                f"{pool.declared_at}.{where}",
                f"'{key}' has {len(key)} characters, but EKS allows {limit}",
                "Shorten its domain or its name",
            )
    for key, value in pool.nodes.labels.items():
        if not value:
            yield Problem(
                f"{pool.declared_at}.labels.{key}", "EKS does not allow a label without a value", f"Write {key}: 'true'"
            )


def _taints(pool: Pool) -> Iterator[Problem]:
    for key, count in Counter(taint.key for taint in pool.nodes.taints).items():
        if count > 1:
            yield Problem(
                f"{pool.declared_at}.taints",
                f"'{key}' is listed {count} times, but the autoscaler reads only one taint per key",
                "Write each key once",
            )


def _tags(pool: Pool, settings: Settings) -> Iterator[Problem]:
    joined = settings.existing_cluster is not None
    # In a cluster of others each node has the label by which NVIDIA's operator leaves it alone.
    excess = int(joined) - node_tags.room(pool, settings.labels, joined=joined)
    if excess > 0:
        tags = len(node_tags.node_template(pool, joined=joined))
        room = tags - excess
        yield Problem(
            f"{pool.declared_at}.labels",
            f"labels and taints become {tags} tags of the pool's Auto Scaling group, which allows {room}",
            f"Remove {excess} labels or taints",
        )
