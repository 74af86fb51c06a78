"""Privacy, encryption, identities and keys."""

from __future__ import annotations

from dataclasses import replace

from facts.concepts.declared import Cluster, Credential, NodeGroup, Stack, Violation
from facts.concepts.unknown import UNKNOWN, Maybe
from policies.rules.clusters import belongs, name_of
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import CLUSTER, GPUS, program


@rule(
    "private-nodes",
    title="Nodes are private",
    why="A node with a public address can be reached, and scanned, from anywhere.",
    remedy="Enable private nodes, with a NAT gateway for outgoing traffic.",
    level="advisory",
    severity="medium",
    example=replace(CLUSTER, private_nodes=False),
)
def private_nodes(subject: Cluster | NodeGroup) -> list[Violation]:
    """Nodes have no public addresses."""
    kind, private = (
        ("Cluster", subject.private_nodes) if isinstance(subject, Cluster) else ("Node group", subject.private)
    )
    remedy = "Give the nodes private addresses only, and a NAT gateway for their way out."
    if private is UNKNOWN:
        message = f"{kind} '{subject.name}': unknown at preview, checked at update: whether its nodes are private."
        return [Violation(private_nodes.id, message, remedy, undecided=True, resource=subject.resource)]
    if private is not False:
        return []
    message = f"{kind} '{subject.name}' gives its nodes public addresses."
    return [Violation(private_nodes.id, message, remedy, resource=subject.resource)]


@rule(
    "gpu-nodes-private",
    title="GPU nodes are private",
    why="A GPU node with a public address is what miners of other people's electricity scan for.",
    remedy="Give GPU nodes private addresses only, with a NAT gateway for outgoing traffic.",
    level="advisory",
    severity="high",
    example=program(replace(GPUS, private=False)),
)
def gpu_nodes_private(stack: Stack) -> list[Violation]:
    """No GPU node has a public address, by its group's declaration or, where that says nothing, its cluster's."""
    remedy = "Give the group's nodes private addresses only, and a NAT gateway for their way out."
    found = []
    for group in stack.groups:
        if not has_gpus(group):
            continue
        answers = (group.private,)
        if group.private is None:
            answers = tuple(cluster.private_nodes for cluster in stack.clusters if belongs(group, cluster, stack))
        if False not in answers and UNKNOWN not in answers:
            continue
        undecided = False not in answers or group.gpus_per_node is UNKNOWN
        message = f"GPU node group '{group.name}' gives its nodes public addresses: anyone may probe them."
        if undecided:
            message = (
                f"GPU node group '{group.name}': unknown at preview, checked at update: whether its nodes are private."
            )
        found.append(Violation(gpu_nodes_private.id, message, remedy, undecided=undecided, resource=group.resource))
    return found


@rule(
    "secrets-encryption",
    title="Kubernetes Secrets are encrypted with your key",
    why="A key of your own can be rotated, audited and taken away.",
    remedy="Set a KMS key for Secrets.",
    level="advisory",
    severity="low",
    example=CLUSTER,
)
def secrets_encryption(cluster: Cluster) -> list[Violation]:
    """Kubernetes Secrets are encrypted with a key of the customer's."""
    remedy = "Set a KMS key for the encryption of Kubernetes Secrets."
    if cluster.secrets_key is UNKNOWN or cluster.secrets_key or cluster.managed_nodes is True:
        return []  # a key that is still to be created is a key
    message = f"Cluster '{name_of(cluster)}' stores Secrets without a key of your own."
    return [Violation(secrets_encryption.id, message, remedy, resource=cluster.resource)]


@rule(
    "control-plane-access",
    title="The control plane is not open to the internet",
    why="An API server that answers everyone is one stolen token, or one bug, away from being somebody else's.",
    remedy="Make the control plane private, or list the address ranges that may reach it.",
    level="advisory",
    severity="medium",
    example=replace(CLUSTER, open_api=True),
)
def control_plane_access(cluster: Cluster) -> list[Violation]:
    """The API server is private, or answers known address ranges only."""
    remedy = "Make the control plane private, or list the address ranges that may reach it."
    return _must_not(
        cluster.open_api, control_plane_access.id, cluster, "lets the whole internet reach its API server", remedy
    )


@rule(
    "no-local-accounts",
    title="No local administrators",
    why="A cluster's own administrator keys outlive the people they were given to, and no audit log names them.",
    remedy="Disable local accounts and use the cloud's identities.",
    level="advisory",
    severity="medium",
    example=replace(CLUSTER, local_accounts=True),
)
def no_local_accounts(cluster: Cluster) -> list[Violation]:
    """Everybody, administrators included, is known to the cluster by an identity of the cloud."""
    remedy = "Disable local accounts and give administrators a role through the cloud's identities."
    return _must_not(cluster.local_accounts, no_local_accounts.id, cluster, "keeps local administrator keys", remedy)


@rule(
    "disk-encryption",
    title="Node disks are encrypted",
    why="Training data and checkpoints end up on node disks.",
    remedy="Encrypt node disks; with customerKey, with a key of your own.",
    level="advisory",
    severity="medium",
    limits={
        "customerKey": {
            "type": "boolean",
            "description": "Whether the cloud's own encryption key is not enough.",
        }
    },
    example=GPUS,
    example_limits={"customerKey": True},
)
def disk_encryption(group: NodeGroup, customer_key: bool = False) -> list[Violation]:
    """Node disks are encrypted; with ``customer_key``, with a key of the customer's."""
    if group.disk_encrypted is UNKNOWN:
        message = f"Node group '{group.name}': unknown at preview, checked at update: disk encryption."
        return [Violation(disk_encryption.id, message, "Encrypt the disks.", undecided=True, resource=group.resource)]
    if not group.disk_encrypted:
        message = f"Node group '{group.name}' has disks without encryption."
        return [Violation(disk_encryption.id, message, "Encrypt the disks.", resource=group.resource)]
    if customer_key and group.disk_key is not UNKNOWN and not group.disk_key:
        message = f"Node group '{group.name}' has disks encrypted with the cloud's key, not yours."
        return [Violation(disk_encryption.id, message, "Set a KMS key for the boot disk.", resource=group.resource)]
    return []


@rule(
    "no-static-keys",
    title="No static keys",
    why="A key in a program or its state works for whoever finds it, until somebody remembers to revoke it.",
    remedy="Use workload identity, OIDC or an exec credential plugin.",
    level="mandatory",
    severity="critical",
    example=Credential("the service account key 'ci'", True, ""),
)
def no_static_keys(credential: Credential) -> list[Violation]:
    """What needs credentials gets short-lived ones: workload identity, OIDC, an exec credential plugin."""
    remedy = "Use an identity instead: workload identity, OIDC, or an exec credential plugin in the kubeconfig."
    if credential.static is UNKNOWN:
        message = f"Unknown at preview, checked at update: whether {credential.what} holds a static key."
        return [Violation(no_static_keys.id, message, remedy, undecided=True, resource=credential.resource)]
    if not credential.static:
        return []
    return [
        Violation(
            no_static_keys.id,
            f"Found {credential.what}: a key that never expires.",
            remedy,
            resource=credential.resource,
        )
    ]


def _must_not(state: Maybe[bool], rule: str, cluster: Cluster, what: str, remedy: str) -> list[Violation]:
    if state is False:
        return []
    if state is UNKNOWN:
        message = f"Cluster '{name_of(cluster)}': unknown at preview, checked at update: whether it {what}."
        return [Violation(rule, message, remedy, undecided=True, resource=cluster.resource)]
    return [Violation(rule, f"Cluster '{name_of(cluster)}' {what}.", remedy, resource=cluster.resource)]
