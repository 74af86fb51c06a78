"""Reads GKE's ComputeClass: pools that the cloud creates for pods that select the class.

https://cloud.google.com/kubernetes-engine/docs/reference/crds/computeclass
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from facts.concepts.declared import IdleTime, Minimum, NodeGroup, UnknownReason
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.pool import CLASS_LABEL, GPU_TAINT
from facts.concepts.unknown import UNKNOWN, Maybe, at, flag, items, text, whole
from policies.readers.gke.clusters import LABEL_DOMAINS, names_default_account
from policies.readers.gke.facts import CLOUD, whole_machine_gpus
from policies.readers.resource import Declared, Item, Reader, Referrer

_LIMITED_ELSEWHERE: Final = UnknownReason(
    "its number of nodes is limited by the cluster's auto-provisioning or the project's quota",
    "Set resource limits for GPUs in the cluster's auto-provisioning, and a quota that is no larger.",
)
_ACTIVE: Final = "buffer.x-k8s.io/active-capacity"


def read_compute_class(declared: Declared) -> Iterable[Item]:
    """``ComputeClass``, where it may make pools by itself; one without GPUs only if the cluster does not limit it.

    It has no maximum of its own: the project's quota limits it, and the cluster's auto-provisioning if that has limits
    (https://docs.cloud.google.com/kubernetes-engine/docs/how-to/node-auto-provisioning). With ``autopilot`` a Standard
    cluster makes nodes as Autopilot does, for all pods that select the class
    (https://docs.cloud.google.com/kubernetes-engine/docs/how-to/autopilot-classes-standard-clusters).
    GKE puts the GPU taint on nodes with GPUs. It labels and taints them with the class, too, and gives pods that select
    the class the toleration for that: the label says all that this taint decides.
    """
    spec = declared.properties.get("spec")
    yield from _buffers(declared)
    as_autopilot = flag(at(spec, "autopilot", "enabled"))
    if as_autopilot is False and flag(at(spec, "nodePoolAutoCreation", "enabled")) is False:
        return
    own_name = declared.object_name
    counts = [_gpus(priority) for priority in items(at(spec, "priorities"))]
    most = max((count for count in counts if count is not UNKNOWN), default=0)
    gpus = UNKNOWN if UNKNOWN in counts and not most else most
    minutes = whole(at(spec, "autoscalingPolicy", "consolidationDelayMinutes"))
    limits = _is_autopilot if as_autopilot is True else _has_limits
    limited = all(limits(cluster) for cluster in declared.references)  # any of them may be meant
    if gpus != 0 or not limited:
        yield NodeGroup(
            name=f"compute class {own_name}",
            cloud=CLOUD,
            kind="auto-provisioned",
            gpus=Gpus(per_node=gpus),
            scaling=Scaling(min_nodes=_kept(spec), max_nodes=UNKNOWN if limited else None),
            nodes=Nodes(
                machine_types=(None,),
                zones=(),
                labels={CLASS_LABEL: own_name},
                taints=() if gpus == 0 else (GPU_TAINT,),
            ),
            cloud_label_domains=LABEL_DOMAINS,
            idle=None if minutes is None else IdleTime(minutes, "spec.autoscalingPolicy.consolidationDelayMinutes"),
            # One that says nothing gets what its cluster's auto-provisioning has.
            private=_private(at(spec, "nodePoolConfig", "ipType")),
            pods_as_nodes=None,
            default_identity=names_default_account(at(spec, "nodePoolConfig", "serviceAccount")),
            unknown_reasons={"max_nodes": _LIMITED_ELSEWHERE} if limited else {},
            resource=declared.urn,
        )


def _private(addresses: object) -> Maybe[bool | None]:
    return addresses if addresses is None or addresses is UNKNOWN else str(addresses).lower() != "public"


def _buffers(declared: Declared) -> Iterator[Minimum]:
    """Nodes of other pools, which the class names, that an active buffer of the class keeps; see ``_kept``."""
    spec = declared.properties.get("spec")
    priorities = items(at(spec, "priorities"))
    pools = [name for each in priorities for name in items(at(each, "nodepools"))]
    least = _kept(spec)
    # Of several priorities or pools the cloud decides which gets the nodes.
    kept: Maybe[int] = least if least is UNKNOWN or least == 0 or len([*priorities, *pools]) == 2 else UNKNOWN
    for pool in pools:
        what = f"buffer of ComputeClass '{declared.object_name}'"
        yield Minimum(what, kept, text(pool), where="spec.buffers", resource=declared.urn)


def _has_limits(cluster: Declared) -> bool:
    """Whether the cluster may limit the nodes of its classes: by resource limits, or because Autopilot makes all."""
    scaling = cluster.properties.get("clusterAutoscaling")
    limits = flag(at(scaling, "enabled")) is not False and at(scaling, "resourceLimits") not in (None, [])
    return limits or _is_autopilot(cluster)


def _is_autopilot(cluster: Declared) -> bool:
    return flag(cluster.properties.get("enableAutopilot")) is not False


def _gpus(priority: object) -> Maybe[int]:
    count = whole(at(priority, "gpu", "count"), default=0 if at(priority, "gpu") is None else 1)
    if count is None or count == 0:
        machine, family = text(at(priority, "machineType")), text(at(priority, "machineFamily"))
        # GKE may take any machine of a series, and those of g2 and a3 all have GPUs.
        return whole_machine_gpus(f"{family}-" if machine is None and isinstance(family, str) else machine)
    return count


def _kept(spec: object) -> Maybe[int]:
    """The least nodes: an active buffer, which is the default, keeps one for pods that do not exist.

    https://docs.cloud.google.com/kubernetes-engine/docs/how-to/configure-capacity-buffer
    """
    kinds = [at(buffer, "provisioningStrategy") for buffer in items(at(spec, "buffers"))]
    if any(kind in (None, "", _ACTIVE) for kind in kinds):
        return 1
    return UNKNOWN if UNKNOWN in kinds else 0


CLASS: Final = "kubernetes:cloud.google.com/v1:ComputeClass"
READERS: Final[Mapping[str, Reader]] = {CLASS: read_compute_class}
REFERRERS: Final[Mapping[str, Referrer]] = {
    CLASS: Referrer(refers=lambda _: True, finds=lambda _, program: program.of("gcp:container/cluster:Cluster"))
}
