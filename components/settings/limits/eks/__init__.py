"""What EKS cannot do although the settings can say it. No Pulumi import: settings are checked without the engine."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final

import catalog
from catalog.eks import node_tags
from catalog.eks.versions import CLUSTER_AUTOSCALERS, KARPENTERS, kubernetes_minor
from components.settings.costs import support_of
from components.settings.limits import common, windows
from components.settings.limits.eks import network
from components.settings.limits.names import Names, name_problems
from components.settings.problems import Problem
from components.settings.settings import Settings
from concepts.pool import ADMIN_POOL_NAME, Pool

_KMS_KEYS: Final = common.KmsKeys(
    cloud="EKS",
    written=re.compile(r"arn:aws[a-z-]*:kms:(?P<region>[a-z0-9-]+):\d{12}:key/[a-z0-9-]+"),
    is_not="the ARN of a KMS key",
    remedy="Write arn:aws:kms:{region}:<account>:key/<id>; an alias will not do",
    elsewhere="Use a key in {region}",
)
# https://docs.aws.amazon.com/eks/latest/userguide/creating-access-entries.html
_PERSON: Final = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]+")
# AWS patches a control plane when it likes, and never a node group
# (https://docs.aws.amazon.com/eks/latest/userguide/update-managed-node-group.html). Karpenter renews its own nodes, and
# its budgets know no dates.
_WINDOWS: Final = windows.Windows(cloud="EKS", most_exclusions=0, autoscaler="karpenter")
_MINOR: Final = re.compile(r"v?\d+\.\d+")

# https://docs.aws.amazon.com/eks/latest/userguide/service-quotas.html
_NODE_GROUPS: Final = 30
"""An account may have asked for more; which ones did is not known here."""

_RESERVATION: Final = re.compile(r"cr-([0-9a-f]{8}|[0-9a-f]{17})")

# Driver 595, which only AL2023's image has: https://github.com/awslabs/amazon-eks-ami/issues/2768
_NOT_IN_BOTTLEROCKET: Final = frozenset({"g7"})

# https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateNodegroup.html (labels) and …/API_Taint.html
_EKS_KEY_LIMIT: Final = 63
# https://docs.aws.amazon.com/autoscaling/ec2/userguide/ec2-auto-scaling-tagging.html
_TAG_KEY_LIMIT: Final = 128
_TAGS_PER_GROUP: Final = 50
# Name of cluster and node group, two for discovery, and the cluster's own.
_TAGS_OF_EKS: Final = 5

_OWN_DOMAINS: Final = ("eks.amazonaws.com", "k8s.amazonaws.com", "karpenter.sh", "karpenter.k8s.aws")
_ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"


# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html,
# https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_CreateSecret.html
_NAMES: Final = Names(
    bucket=re.compile(r"[a-z0-9][-.a-z0-9]{1,61}[a-z0-9]"),
    bucket_example="my-datasets",
    secret=re.compile(r"[-\w/+=.@]{1,512}", re.ASCII),
    secret_example="research/wandb-key",
)


def refusals(settings: Settings) -> list[Problem]:
    """All of them, each once; none for settings that EKS can fulfil."""
    unread = list(network.unread(settings))
    if unread:
        return unread
    found = (
        *_account(settings),
        *_version(settings),
        *network.problems(settings),
        *windows.problems(settings, _WINDOWS),
        *common.people_problems(
            settings,
            _PERSON,
            "the ARN of a role or a user of IAM, the only ones that EKS lets in",
            "Write arn:aws:iam::<account>:role/<name>, with the path of the role; people of a group assume one",
        ),
        *common.kms_key_problems(settings, _KMS_KEYS),
        *name_problems(settings, _NAMES),
        *_autoscaler(settings),
        *_node_groups(settings),
        *_pools(settings),
    )
    # A pool of several sizes, zones or with a fallback is several specs with the same problem.
    return list(dict.fromkeys(found))


def _account(settings: Settings) -> Iterator[Problem]:
    if settings.project != settings.region:
        yield Problem(
            "aws:region",
            f"the provider would work in {settings.project}, and the cluster is to be in {settings.region}",
            f"Write aws:region: {settings.region}, or region: {settings.project}",
        )


def _version(settings: Settings) -> Iterator[Problem]:
    written = settings.kubernetes.version
    if written is not None and not _MINOR.fullmatch(written):
        yield Problem(
            "kubernetes.version",
            f"EKS chooses the patch of a version itself, and '{written}' names one",
            f"Write '{kubernetes_minor(written, settings.kubernetes.channel)}'",
        )
    minor = kubernetes_minor(written, settings.kubernetes.channel)
    known = KARPENTERS if settings.autoscaler == "karpenter" else CLUSTER_AUTOSCALERS
    if minor not in known:
        yield Problem(
            "kubernetes.version",
            f"no release of {settings.autoscaler} is known to go with Kubernetes {minor}",
            f"Write one of {', '.join(known)}",
        )
    support = support_of(catalog.of("eks"), written)
    if support is not None and settings.day > support.until:
        yield Problem(
            "kubernetes.version",
            f"EKS ended its support of Kubernetes {minor} on {support.until} and has upgraded every cluster with it",
            "Write the version that the cluster has now, or leave it out",
        )


def _autoscaler(settings: Settings) -> Iterator[Problem]:
    if settings.autoscaler != "karpenter":
        return
    if settings.expander is not None:
        yield Problem(
            "autoscaling.expander",
            "Karpenter has no expander: it tries pools by weight, and among equals the cheapest machine",
            "Leave it out, or write autoscaler: cluster-autoscaler",
        )
    if settings.admin_pool.autoscaled:
        yield Problem(
            f"{ADMIN_POOL_NAME}Pool.maxNodes",
            "Karpenter runs on the admin pool and does not change its size",
            "Leave it out, or write autoscaler: cluster-autoscaler",
        )


def _node_groups(settings: Settings) -> Iterator[Problem]:
    groups = 1 + len(settings.gpu_pools) + len(settings.cpu_pools)
    if settings.autoscaler == "cluster-autoscaler" and groups > _NODE_GROUPS:
        yield Problem(
            "gpuPools",
            f"sizes, capacities and zones become {groups} node groups with the admin pool's, and a cluster has "
            f"{_NODE_GROUPS} (quota 'Managed node groups per cluster')",
            "Name fewer sizes or zones per pool, or write autoscaling.autoscaler: karpenter, which needs no groups",
        )


def _pools(settings: Settings) -> Iterator[Problem]:
    """What is wrong with each pool; a pool of several specs may be named several times."""
    for gpu_pool in settings.gpu_pools:
        yield from _drivers(gpu_pool)
        yield from _image(gpu_pool)
        yield from _sharing(gpu_pool, settings.autoscaler)
        yield from _reservation(gpu_pool)
        yield from _block(gpu_pool, settings)
    for cpu_pool in settings.cpu_pools:
        yield from _minimum(cpu_pool, settings.autoscaler)
    for pool in (*settings.gpu_pools, *settings.cpu_pools):
        yield from _keys(pool)
        if settings.autoscaler == "cluster-autoscaler":
            yield from _lengths(pool)
            yield from _taints(pool)
            yield from _tags(pool, settings.labels)


def _drivers(pool: Pool) -> Iterator[Problem]:
    where = f"{pool.declared_at}.drivers"
    if pool.gpus.drivers == "daemonset":
        yield Problem(
            where,
            "on EKS the driver is part of the node image",
            "Write drivers: managed, or none if you bring the device plugin yourself",
        )
    if pool.gpus.drivers == "none" and pool.image == "bottlerocket":
        yield Problem(
            where,
            "Bottlerocket's image always runs driver and device plugin",
            "Write image: al2023, whose device plugin can be left out, or drivers: managed",
        )
    if pool.gpus.driver_version == "latest":
        yield Problem(
            f"{pool.declared_at}.driverVersion",
            "the node image decides the driver's version",
            "Write driverVersion: default",
        )


def _image(pool: Pool) -> Iterator[Problem]:
    lacking = sorted({name.partition(".")[0] for name in pool.machine_types} & _NOT_IN_BOTTLEROCKET)
    if pool.image == "bottlerocket" and lacking:
        yield Problem(
            f"{pool.declared_at}.image",
            f"no Bottlerocket image has the driver that {pool.gpus.type} needs",
            "Write image: al2023, or leave it out",
        )


def _sharing(pool: Pool, autoscaler: str) -> Iterator[Problem]:
    if pool.gpus.time_sharing is not None and autoscaler == "karpenter":
        # https://github.com/kubernetes-sigs/karpenter/issues/729
        yield Problem(
            f"{pool.declared_at}.timeSharing",
            "Karpenter counts the GPUs of a machine, not their shares, and would make a node for every share",
            "Leave it out, or write autoscaling.autoscaler: cluster-autoscaler",
        )
    if pool.gpus.mig is not None:
        yield Problem(
            f"{pool.declared_at}.mig",
            "EKS does not partition GPUs, and neither does the default node image",
            "Leave it out and let NVIDIA's GPU Operator partition them (drivers: none), or share GPUs by timeSharing",
        )


def _minimum(pool: Pool, autoscaler: str) -> Iterator[Problem]:
    if pool.min_nodes > 0 and autoscaler == "karpenter":
        # Its pools of a fixed size are an alpha feature, which is off, and do not grow with the pods:
        # https://karpenter.sh/v1.14/concepts/nodepools/#specreplicas
        yield Problem(
            f"{pool.declared_at}.minNodes",
            "Karpenter makes nodes for pods and keeps none without",
            "Leave it out: replicas that always run keep a node; or write autoscaling.autoscaler: cluster-autoscaler",
        )


def _reservation(pool: Pool) -> Iterator[Problem]:
    where = f"{pool.declared_at}.reservation"
    if pool.gpus.reservation is None:
        return
    if not _RESERVATION.fullmatch(pool.gpus.reservation):
        yield Problem(
            where,
            f"'{pool.gpus.reservation}' is not the id of an On-Demand Capacity Reservation",
            "Write its id, such as cr-0123456789abcdef0",
        )
    if len(pool.zones) > 1:
        yield Problem(
            where,
            f"a Capacity Reservation is in one zone, and the pool in {len(pool.zones)}: {', '.join(pool.zones)}",
            f"Write zones: [{pool.zones[0]}], if that is the reservation's",
        )


def _block(pool: Pool, settings: Settings) -> Iterator[Problem]:
    known = catalog.of("eks")
    machine = known.machines.get(pool.machine_type)
    if pool.gpus.reservation is None or settings.autoscaler != "cluster-autoscaler" or machine is None:
        return
    if known.prices.machine(known.reference_region, machine, spot=False) is None:
        # The id of a block looks like any other. https://docs.aws.amazon.com/eks/latest/userguide/capacity-blocks-mng.html
        yield Problem(
            f"{pool.declared_at}.reservation",
            f"{pool.machine_type} is sold in Capacity Blocks alone, and nodes of such a group never start in one",
            "Write autoscaling.autoscaler: karpenter, which takes blocks and On-Demand Capacity Reservations alike",
        )


def _keys(pool: Pool) -> Iterator[Problem]:
    own = {} if pool.gpu_part is None else {_ACCELERATOR: pool.gpu_part.accelerator}
    for key, value in pool.labels.items():
        domain = key.rpartition("/")[0]
        reserved = next((name for name in _OWN_DOMAINS if domain == name or domain.endswith(f".{name}")), None)
        if reserved is not None and own.get(key) != value:
            yield Problem(
                f"{pool.declared_at}.labels.{key}",
                f"labels of {reserved} say what AWS or the autoscaler know about a node",
                f"Use a domain of your own, such as 'example.com/{key.rpartition('/')[2]}'",
            )


def _lengths(pool: Pool) -> Iterator[Problem]:
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


def _taints(pool: Pool) -> Iterator[Problem]:
    for key, count in Counter(taint.key for taint in pool.taints).items():
        if count > 1:
            yield Problem(
                f"{pool.declared_at}.taints",
                f"'{key}' is there {count} times, and the autoscaler learns of one: there is one tag for a key",
                "Write each key once",
            )


def _tags(pool: Pool, labels: Mapping[str, str]) -> Iterator[Problem]:
    room = _TAGS_PER_GROUP - _TAGS_OF_EKS - len(labels)
    tags = len(node_tags.node_template(pool))
    if tags > room:
        yield Problem(
            f"{pool.declared_at}.labels",
            f"labels and taints become {tags} tags of the pool's Auto Scaling group, which has room for {room}",
            f"Remove {tags - room} labels or taints",
        )
