"""What a cluster must offer besides GPU nodes: a home for system pods, privacy, encryption."""

from __future__ import annotations

from policies.rules.model import UNKNOWN, Cluster, Maybe, NodeGroup, Stack, Violation, same_place
from policies.rules.node_groups import has_gpus
from policies.rules.scheduling import both, repelling_taints

NOT_ALONE = "gpu-not-only-pool"
SYSTEM_HOME = "system-pods-home"
PRIVATE_NODES = "private-nodes"
GPU_PRIVATE = "gpu-nodes-private"
SECRETS = "secrets-encryption"
OPEN_API = "control-plane-access"
LOCAL_ACCOUNTS = "no-local-accounts"
DISKS = "disk-encryption"


def not_alone(stack: Stack) -> list[Violation]:
    """A cluster with GPU groups has a group without GPUs too."""
    found = []
    for cluster, groups in clusters_with_gpus(stack):
        if any(group.gpus_per_node == 0 for group in groups):
            continue
        message = f"Cluster '{_name(cluster)}' has no node group without GPUs: every pod of its own needs a GPU node."
        remedy = "Add a small CPU node group that is always on."
        undecided = any(group.gpus_per_node is UNKNOWN for group in groups)
        found.append(Violation(NOT_ALONE, message, remedy, undecided=undecided, resource=cluster.resource))
    return found


def system_pods_home(stack: Stack) -> list[Violation]:
    """A cluster with GPU groups has a CPU group that is always on and that no taint closes to system pods."""
    remedy = "Add a CPU node group with at least 1 node at all times and no NoSchedule or NoExecute taint."
    found = []
    for cluster, groups in clusters_with_gpus(stack):
        homes = [both((_without_gpus(group), _always_on(group), _open(group))) for group in groups]
        if True in homes:
            continue
        if UNKNOWN in homes:
            message = f"Cluster '{_name(cluster)}': whether a CPU node group is always on and untainted is unknown"
            message += " at preview, checked at update."
            found.append(Violation(SYSTEM_HOME, message, remedy, undecided=True, resource=cluster.resource))
            continue
        message = (
            f"Cluster '{_name(cluster)}' has no untainted CPU node group that is always on: its system pods wait, "
        )
        message += "or wake a GPU node and keep it up."
        found.append(Violation(SYSTEM_HOME, message, remedy, resource=cluster.resource))
    return found


def private_nodes(subject: Cluster | NodeGroup) -> list[Violation]:
    """Nodes have no public addresses."""
    kind, private = (
        ("Cluster", subject.private_nodes) if isinstance(subject, Cluster) else ("Node group", subject.private)
    )
    remedy = "Give the nodes private addresses only, and a NAT gateway for their way out."
    if private is UNKNOWN:
        message = f"{kind} '{subject.name}': unknown at preview, checked at update: whether its nodes are private."
        return [Violation(PRIVATE_NODES, message, remedy, undecided=True, resource=subject.resource)]
    if private is not False:
        return []
    message = f"{kind} '{subject.name}' gives its nodes public addresses."
    return [Violation(PRIVATE_NODES, message, remedy, resource=subject.resource)]


def gpu_nodes_private(stack: Stack) -> list[Violation]:
    """No GPU node has a public address, by its group's declaration or, where that says nothing, its cluster's."""
    remedy = "Give the group's nodes private addresses only, and a NAT gateway for their way out."
    found = []
    for group in stack.groups:
        if not has_gpus(group):
            continue
        answers = (group.private,)
        if group.private is None:
            answers = tuple(cluster.private_nodes for cluster in stack.clusters if _belongs(group, cluster, stack))
        if False not in answers and UNKNOWN not in answers:
            continue
        undecided = False not in answers or group.gpus_per_node is UNKNOWN
        message = f"GPU node group '{group.name}' gives its nodes public addresses: anyone may probe them."
        if undecided:
            message = (
                f"GPU node group '{group.name}': unknown at preview, checked at update: whether its nodes are private."
            )
        found.append(Violation(GPU_PRIVATE, message, remedy, undecided=undecided, resource=group.resource))
    return found


def secrets_encryption(cluster: Cluster) -> list[Violation]:
    """Kubernetes Secrets are encrypted with a key of the customer's."""
    remedy = "Set a KMS key for the encryption of Kubernetes Secrets."
    if cluster.secrets_key is UNKNOWN or cluster.secrets_key or cluster.managed_nodes is True:
        return []  # a key that is still to be created is a key
    message = f"Cluster '{_name(cluster)}' stores Secrets without a key of your own."
    return [Violation(SECRETS, message, remedy, resource=cluster.resource)]


def control_plane_access(cluster: Cluster) -> list[Violation]:
    """The API server is private, or answers known address ranges only."""
    remedy = "Make the control plane private, or list the address ranges that may reach it."
    return _must_not(cluster.open_api, OPEN_API, cluster, "lets the whole internet reach its API server", remedy)


def no_local_accounts(cluster: Cluster) -> list[Violation]:
    """Everybody, administrators included, is known to the cluster by an identity of the cloud."""
    remedy = "Disable local accounts and give administrators a role through the cloud's identities."
    return _must_not(cluster.local_accounts, LOCAL_ACCOUNTS, cluster, "keeps local administrator keys", remedy)


def disk_encryption(group: NodeGroup, customer_key: bool = False) -> list[Violation]:
    """Node disks are encrypted; with ``customer_key``, with a key of the customer's."""
    if group.disk_encrypted is UNKNOWN:
        message = f"Node group '{group.name}': unknown at preview, checked at update: disk encryption."
        return [Violation(DISKS, message, "Encrypt the disks.", undecided=True, resource=group.resource)]
    if not group.disk_encrypted:
        message = f"Node group '{group.name}' has disks without encryption."
        return [Violation(DISKS, message, "Encrypt the disks.", resource=group.resource)]
    if customer_key and group.disk_key is not UNKNOWN and not group.disk_key:
        message = f"Node group '{group.name}' has disks encrypted with the cloud's key, not yours."
        return [Violation(DISKS, message, "Set a KMS key for the boot disk.", resource=group.resource)]
    return []


def _must_not(state: Maybe[bool], rule: str, cluster: Cluster, what: str, remedy: str) -> list[Violation]:
    if state is False:
        return []
    if state is UNKNOWN:
        message = f"Cluster '{_name(cluster)}': unknown at preview, checked at update: whether it {what}."
        return [Violation(rule, message, remedy, undecided=True, resource=cluster.resource)]
    return [Violation(rule, f"Cluster '{_name(cluster)}' {what}.", remedy, resource=cluster.resource)]


def clusters_with_gpus(stack: Stack) -> list[tuple[Cluster, list[NodeGroup]]]:
    """Each cluster the stack declares with its groups; a group whose cluster is not known could be any cluster's."""
    pairs = []
    for cluster in stack.clusters:
        if cluster.managed_nodes is True:
            continue
        groups = [group for group in stack.groups if group.kind != "machine" and _belongs(group, cluster, stack)]
        if any(has_gpus(group) for group in groups):
            pairs.append((cluster, groups))
    return pairs


def _belongs(group: NodeGroup, cluster: Cluster, stack: Stack) -> bool:
    names = (group.cluster, cluster.name)
    if len(stack.clusters) == 1 or None in names or UNKNOWN in names:
        return True
    return group.cluster == cluster.name and same_place(group, cluster)


def _without_gpus(group: NodeGroup) -> Maybe[bool]:
    return UNKNOWN if group.gpus_per_node is UNKNOWN else group.gpus_per_node == 0


def _always_on(group: NodeGroup) -> Maybe[bool]:
    if group.kind == "serverless":
        return True
    if group.autoscaled is UNKNOWN:
        return UNKNOWN
    least = group.min_nodes if group.autoscaled else group.initial_nodes
    return UNKNOWN if least is UNKNOWN else least > 0


def _open(group: NodeGroup) -> Maybe[bool]:
    taints = repelling_taints(group)
    return UNKNOWN if taints is UNKNOWN else not taints


def _name(cluster: Cluster) -> str:
    return "(name unknown)" if cluster.name is UNKNOWN else cluster.name
