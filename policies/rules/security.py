"""Privacy, encryption, identities and keys."""

from __future__ import annotations

from dataclasses import replace

from facts.concepts.declared import Cluster, Credential, Exposure, NodeGroup, Stack, Violation
from facts.concepts.unknown import UNKNOWN
from policies.rules.clusters import belongs, name_of
from policies.rules.node_groups import has_gpus
from policies.rules.rule import gate_rule
from policies.rules.samples import CLUSTER, GPUS, program


@gate_rule("private-nodes", example=replace(CLUSTER, private_nodes=False))
def private_nodes(subject: Cluster | NodeGroup) -> list[Violation]:
    """Nodes have no public addresses."""
    kind, private = (
        ("Cluster", subject.private_nodes) if isinstance(subject, Cluster) else ("Node group", subject.private)
    )
    broken = UNKNOWN if private is UNKNOWN else private is False
    return private_nodes.decide(
        broken, f"{kind} '{subject.name}'", "gives its nodes public addresses", subject.resource
    )


@gate_rule("gpu-nodes-private", example=program(replace(GPUS, private=False)))
def gpu_nodes_private(stack: Stack) -> list[Violation]:
    """No GPU node has a public address, by its group's declaration or, where that says nothing, its cluster's."""
    violations = []
    for group in stack.groups:
        if not has_gpus(group):
            continue
        answers = (group.private,)
        if group.private is None:
            answers = tuple(cluster.private_nodes for cluster in stack.clusters if belongs(group, cluster, stack))
        if False not in answers and UNKNOWN not in answers:
            continue
        name = f"GPU node group '{group.name}'"
        if False not in answers or group.gpus_per_node is UNKNOWN:
            violations.append(gpu_nodes_private.unknown(name, "whether its nodes are private", group.resource))
        else:
            violations.append(gpu_nodes_private.violation(f"{name} gives its nodes public addresses.", group.resource))
    return violations


@gate_rule("secrets-encryption", example=CLUSTER)
def secrets_encryption(cluster: Cluster) -> list[Violation]:
    """Kubernetes Secrets are encrypted with a key of the customer's."""
    if cluster.secrets_key is UNKNOWN or cluster.secrets_key or cluster.managed_nodes is True:
        return []  # a key that the update creates is a key
    message = f"Cluster '{name_of(cluster)}' encrypts Kubernetes Secrets without a key of your own."
    return [secrets_encryption.violation(message, cluster.resource)]


@gate_rule("control-plane-access", example=replace(CLUSTER, open_api=True))
def control_plane_access(cluster: Cluster) -> list[Violation]:
    """The API server is private, or answers known address ranges only."""
    predicate = "allows the whole internet to reach its API server"
    return control_plane_access.decide(cluster.open_api, f"Cluster '{name_of(cluster)}'", predicate, cluster.resource)


@gate_rule("no-local-accounts", example=replace(CLUSTER, local_accounts=True))
def no_local_accounts(cluster: Cluster) -> list[Violation]:
    """Every user, administrators included, signs in with an identity of the cloud."""
    predicate = "has local administrator accounts"
    return no_local_accounts.decide(
        cluster.local_accounts, f"Cluster '{name_of(cluster)}'", predicate, cluster.resource
    )


@gate_rule("disk-encryption", example=GPUS, example_limits={"customerKey": True})
def disk_encryption(group: NodeGroup, customer_key: bool = False) -> list[Violation]:
    """Node disks are encrypted; with ``customer_key``, with a key of the customer's."""
    if group.disk_encrypted is UNKNOWN:
        return [disk_encryption.unknown(f"Node group '{group.name}'", "disk encryption", group.resource)]
    if not group.disk_encrypted:
        message = f"Node group '{group.name}' has unencrypted disks."
        return [disk_encryption.violation(message, group.resource)]
    if customer_key and group.disk_key is not UNKNOWN and not group.disk_key:
        message = f"The disks of node group '{group.name}' are encrypted with the cloud's key, not with your own."
        return [disk_encryption.violation(message, group.resource, remedy="Set a KMS key for the boot disk.")]
    return []


@gate_rule("no-static-keys", example=Credential("the service account key 'ci'", True, ""))
def no_static_keys(credential: Credential) -> list[Violation]:
    """Credentials are short-lived: workload identity, OIDC, an exec credential plugin."""
    if credential.static is UNKNOWN:
        message = f"Unknown at preview, checked at update: whether {credential.what} holds a static key."
        return [no_static_keys.violation(message, credential.resource, not_evaluated=True)]
    if not credential.static:
        return []
    message = f"Found {credential.what}: a key that never expires."
    return [no_static_keys.violation(message, credential.resource)]


@gate_rule(
    "no-admin-for-everybody", example=Exposure("rights", "ClusterRoleBinding 'open' with role 'cluster-admin'", True)
)
def no_admin_for_everybody(exposure: Exposure) -> list[Violation]:
    """No binding gives cluster-admin, admin or edit to all accounts, or to requests without one."""
    broken = exposure.kind == "rights" and exposure.open
    return no_admin_for_everybody.decide(broken, exposure.what, "lets everybody change the cluster", exposure.resource)


@gate_rule("private-load-balancers", example=Exposure("network", "Service 'llm'", True))
def private_load_balancers(exposure: Exposure) -> list[Violation]:
    """A Service of type LoadBalancer is internal, or limited to address ranges."""
    broken = exposure.kind == "network" and exposure.open
    predicate = "has a load balancer that the whole internet reaches"
    return private_load_balancers.decide(broken, exposure.what, predicate, exposure.resource)
