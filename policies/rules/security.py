"""Privacy, encryption, identities and keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from facts.concepts.declared import (
    Cluster,
    Credential,
    EncryptionKey,
    Exposure,
    NodeGroup,
    Stack,
    UnknownReason,
    Violation,
)
from facts.concepts.unknown import UNKNOWN, either, negation
from policies.rules.clusters import belongs
from policies.rules.node_groups import has_gpus
from policies.rules.rule import rule
from policies.rules.samples import CLUSTER, GPUS, program


@rule(
    "private-nodes",
    title="Nodes have no public addresses",
    why="A node with a public address can be reached and scanned from anywhere.",
    remedy="Give the nodes private addresses only, with a NAT gateway for outgoing traffic.",
    level="advisory",
    severity="medium",
    example=replace(CLUSTER, private_nodes=False),
)
def private_nodes(subject: Cluster | NodeGroup) -> list[Violation]:
    """Nodes have no public addresses."""
    private = subject.private_nodes if isinstance(subject, Cluster) else subject.private
    broken = UNKNOWN if private is UNKNOWN else private is False
    return private_nodes.decide(broken, subject.title, "gives its nodes public addresses", subject.resource)


@rule(
    "gpu-nodes-private",
    title="GPU nodes have no public addresses",
    why="Cryptocurrency miners scan for GPU nodes with public addresses.",
    remedy="Give the group's nodes private addresses only, with a NAT gateway for outgoing traffic.",
    level="advisory",
    severity="high",
    example=program(replace(GPUS, private=False)),
)
def gpu_nodes_private(stack: Stack) -> Iterator[Violation]:
    """No GPU node has a public address, by its group's declaration or, where that says nothing, its cluster's."""
    for group in stack.groups:
        if not has_gpus(group):
            continue
        answers = (group.private,)
        if group.private is None:
            answers = tuple(cluster.private_nodes for cluster in stack.clusters if belongs(group, cluster, stack))
        if False not in answers and UNKNOWN not in answers:
            continue
        name = f"GPU node group '{group.name}'"
        if False not in answers or group.gpus.per_node is UNKNOWN:
            yield gpu_nodes_private.unknown(name, "whether its nodes are private", group.resource)
        else:
            yield gpu_nodes_private.violation(f"{name} gives its nodes public addresses.", group.resource)


@rule(
    "secrets-encryption",
    title="Kubernetes Secrets are encrypted with your own key",
    why="You can rotate, audit and revoke your own key.",
    remedy="Set a KMS key for the encryption of Kubernetes Secrets.",
    level="advisory",
    severity="low",
    example=CLUSTER,
)
def secrets_encryption(cluster: Cluster) -> list[Violation]:
    """Kubernetes Secrets are encrypted with a key of the customer's."""
    if cluster.other_groups is UNKNOWN:  # somebody else made it, and the update looks at it
        what = "whether it encrypts Kubernetes Secrets with a key of your own"
        return [secrets_encryption.unknown(cluster.title, what, cluster.resource)]
    if cluster.secrets_key is UNKNOWN or cluster.secrets_key or cluster.managed_nodes is True:
        return []  # a key that the update creates is a key
    message = f"{cluster.title} encrypts Kubernetes Secrets without a key of your own."
    return [secrets_encryption.violation(message, cluster.resource)]


@rule(
    "key-rotation",
    title="Encryption keys rotate",
    why="Of a key that never rotates one copy is enough to read everything that it ever encrypted.",
    remedy="AWS: enableKeyRotation. Google Cloud: rotationPeriod. Azure: a rotationPolicy that rotates automatically.",
    level="advisory",
    severity="low",
    example=EncryptionKey("KMS key 'secrets'", False),
)
def key_rotation(key: EncryptionKey) -> list[Violation]:
    """The cloud renews the key's material by itself; it retains the old, so nothing has to be encrypted again."""
    return key_rotation.decide(negation(key.rotates), key.what, "does not rotate", key.resource)


@rule(
    "control-plane-access",
    title="The control plane is not open to the internet",
    why="With a public API server, one stolen token or one bug is enough to take over the cluster.",
    remedy="Make the control plane private, or list the address ranges that can reach it: together at most a /8 of "
    "public addresses. GKE: also leave enableK8sTokensViaDns and enableK8sCertsViaDns off, and set "
    "masterAuthorizedNetworksConfig.gcpPublicCidrsAccessEnabled to false: else Google's own public addresses are in.",
    level="advisory",
    severity="medium",
    example=replace(CLUSTER, open_api=True),
)
def control_plane_access(cluster: Cluster) -> list[Violation]:
    """The API server is private, or answers known address ranges only, which are counted together
    (``facts/concepts/addresses.py``). An empty list of ranges is a mistake, too: it locks out the people and the
    program that made the cluster.
    """
    answers = {
        "allows the whole internet to reach its API server": cluster.open_api,
        "allows every machine of the cloud's customers to reach its API server": cluster.open_to_cloud,
        "has a public API server that answers nobody, as it lists no address range": cluster.shut_api,
    }
    violations = []
    for predicate, broken in answers.items():
        violations += control_plane_access.decide(broken, cluster.title, predicate, cluster.resource)
    return violations[:1]  # a control plane that lets everybody in has no other problem


@rule(
    "pods-not-nodes",
    title="Pods cannot act as their node",
    why="A pod that gets the node's credentials has the rights of the node, which see every pod and secret on it.",
    remedy="GKE: workload metadata mode GKE_METADATA, a workload pool on the cluster, and no legacy endpoints. EKS: "
    "httpTokens required with httpPutResponseHopLimit 1. AKS is not asked: only a preview can do it there.",
    level="advisory",
    severity="high",
    example=program(replace(GPUS, pods_as_nodes=True)),
)
def pods_not_nodes(stack: Stack) -> Iterator[Violation]:
    """The machine's metadata server keeps its credentials from pods.

    AKS can only do so in a preview, of which add-ons are excluded: https://learn.microsoft.com/azure/aks/imds-restriction
    """
    for group in stack.groups:
        answer = group.pods_as_nodes
        if answer is None:
            answer = either(one.pods_as_nodes for one in stack.clusters if belongs(group, one, stack))
        if group.kind in ("pool", "auto-provisioned"):
            predicate = "lets pods take its nodes' credentials"
            yield from pods_not_nodes.decide(answer, group.title, predicate, group.resource)


@rule(
    "node-identity",
    title="Nodes have an identity of their own",
    why="The cloud's default account is shared with all other machines, and has far too many rights or none at all.",
    remedy="Give the nodes a service account of their own, with the roles for logs, metrics and images.",
    level="advisory",
    severity="medium",
    example=replace(GPUS, default_identity=True),
)
def node_identity(subject: Cluster | NodeGroup) -> list[Violation]:
    """No node is the cloud's default account."""
    predicate = "runs its nodes as the cloud's default account"
    return node_identity.decide(subject.default_identity, subject.title, predicate, subject.resource)


@rule(
    "verified-boot",
    title="Nodes load signed software only",
    why="A rootkit below the operating system outlives the pod that brought it.",
    remedy="Leave shielded nodes and integrity monitoring on (AKS: enableVTPM; azurerm has no word for it, azapi has), "
    "and turn secure boot on where the GPU driver is signed.",
    level="advisory",
    severity="low",
    example=replace(GPUS, verified_boot=False),
)
def verified_boot(subject: Cluster | NodeGroup) -> list[Violation]:
    """Nodes verify what they boot, as far as their drivers are signed. On EKS that is a matter of the image."""
    broken = subject.verified_boot is not None and negation(subject.verified_boot)
    return verified_boot.decide(broken, subject.title, "does not verify what its nodes boot", subject.resource)


_NO_NETWORK_PLUGIN = UnknownReason(
    "this program declares no plugin of the pods' network",
    "Declare it in this program, or exempt the cluster by name.",
)


@rule(
    "network-policies",
    title="NetworkPolicies are enforced",
    why="A cluster that does not enforce them takes a NetworkPolicy without a word, and every pod reaches every other.",
    remedy="GKE: datapathProvider ADVANCED_DATAPATH. AKS: networkPolicy cilium (network.dataplane: cilium). EKS: "
    'the add-on vpc-cni with the configuration enableNetworkPolicy: "true". Own machines: network.plugin: none, and a '
    "plugin that enforces them.",
    level="advisory",
    severity="medium",
    example=program(replace(CLUSTER, network_policies=False)),
)
def network_policies(stack: Stack) -> Iterator[Violation]:
    """Something in the cluster enforces NetworkPolicies: its own dataplane, or a plugin that the program installs."""
    for cluster in stack.clusters:
        names = (cluster.name, UNKNOWN, None)
        plugins = [each.enforces for each in stack.network_plugins if cluster.name is UNKNOWN or each.cluster in names]
        answers = [answer for answer in (cluster.network_policies, *plugins) if answer is not None]
        if answers:
            predicate = "does not enforce NetworkPolicies"
            broken = negation(either(answers))
            yield from network_policies.decide(broken, cluster.title, predicate, cluster.resource)
        else:
            what = "whether something enforces NetworkPolicies"
            yield network_policies.unknown(cluster.title, what, cluster.resource, reason=_NO_NETWORK_PLUGIN)


@rule(
    "no-local-accounts",
    title="No local administrator accounts",
    why="Keys and certificates of local administrators outlive their holders, and no audit log names their user.",
    remedy="Disable local accounts, client certificates and passwords; give people access by the cloud's identities.",
    level="advisory",
    severity="medium",
    example=replace(CLUSTER, local_accounts=True),
)
def no_local_accounts(cluster: Cluster) -> list[Violation]:
    """Every user, administrators included, signs in with an identity of the cloud."""
    predicate = "has local administrator accounts"
    return no_local_accounts.decide(cluster.local_accounts, cluster.title, predicate, cluster.resource)


@rule(
    "disk-encryption",
    title="Node disks are encrypted",
    why="Training data and checkpoints are stored on node disks.",
    remedy="Encrypt the disks; with customerKey, with your own key.",
    level="advisory",
    severity="medium",
    limits={
        "customerKey": {
            "wider": "lower",
            "type": "boolean",
            "description": "Whether the disks need your own key instead of the cloud's.",
        }
    },
    example=GPUS,
    example_limits={"customerKey": True},
)
def disk_encryption(group: NodeGroup, customer_key: bool = False) -> list[Violation]:
    """Node disks are encrypted; with ``customer_key``, with a key of the customer's."""
    if group.disk_encrypted is UNKNOWN:
        return [disk_encryption.unknown(group.title, "disk encryption", group.resource)]
    if group.disk_encrypted is False:
        return [disk_encryption.violation(f"{group.title} has unencrypted disks.", group.resource)]
    if customer_key and group.kind != "owned" and group.disk_key is not UNKNOWN and not group.disk_key:
        message = f"The disks of node group '{group.name}' are encrypted with the cloud's key, not with your own."
        return [disk_encryption.violation(message, group.resource, remedy="Set a KMS key for the boot disk.")]
    return []


@rule(
    "host-encryption",
    title="Temporary disks are encrypted",
    why="Azure encrypts all other disks by default, but jobs write scratch data to temporary ones.",
    remedy="Set enableEncryptionAtHost on a new pool (in a stack file raw: {enableEncryptionAtHost: true}; in azurerm "
    "hostEncryptionEnabled; in an AKSNodeClass encryptionAtHost), after you register the feature "
    "EncryptionAtHost once per subscription. A pool cannot change it, and not every machine size has it.",
    level="advisory",
    severity="low",
    example=replace(GPUS, encrypted_at_host=False),
)
def host_encryption(group: NodeGroup) -> list[Violation]:
    """Temporary disks are encrypted on their host: https://learn.microsoft.com/azure/aks/enable-host-encryption."""
    broken = group.encrypted_at_host is not None and negation(group.encrypted_at_host)
    predicate = "does not encrypt temporary disks"
    return host_encryption.decide(broken, group.title, predicate, group.resource)


@rule(
    "no-static-keys",
    title="No static keys",
    why="Anyone who gets a key from a program or its state, which everybody who previews it can decrypt, can use it "
    "until it is revoked.",
    remedy="Use an identity instead: workload identity, OIDC, or an exec credential plugin in the kubeconfig. Of "
    "other services' tokens declare where they are: an ExternalSecret, a SealedSecret, or a mount of a secret store.",
    level="mandatory",
    severity="critical",
    example=Credential("the service account key 'ci'", True, ""),
)
def no_static_keys(credential: Credential) -> list[Violation]:
    """Credentials are short-lived: workload identity, OIDC, an exec credential plugin. Found as resources that are
    keys, in providers, and in the texts of all resources (``policies/readers/key_material.py``)."""
    if credential.static is UNKNOWN:
        message = f"Unknown at preview, checked at update: whether {credential.what} holds a static key."
        return [no_static_keys.violation(message, credential.resource, not_evaluated=True)]
    if not credential.static:
        return []
    message = f"Found {credential.what}: a key that never expires."
    return [no_static_keys.violation(message, credential.resource)]


@rule(
    "no-admin-for-everybody",
    title="Not everybody may change the cluster",
    why="On GKE every Google account is in the group system:authenticated; every pod is in system:serviceaccounts.",
    remedy="Name the users, groups or service accounts that need the role. Everybody may have the role view, or a "
    "role that can only get, list and watch named resources: no *, no Secrets, no subresources but status, scale, log.",
    level="mandatory",
    severity="critical",
    example=Exposure("rights", "ClusterRoleBinding 'open' with role 'cluster-admin'", True),
)
def no_admin_for_everybody(exposure: Exposure) -> list[Violation]:
    """No binding gives all accounts, all pods of the cluster or of a namespace, or requests without an account more
    than harmless roles: a few of Kubernetes' own, and roles of this program that only read what is no secret. No node,
    and no machine that joins, is an administrator."""
    broken = exposure.kind == "rights" and exposure.open
    predicate = "lets everybody change objects, run commands or read Secrets"
    reason = exposure.unknown_reason
    return no_admin_for_everybody.decide(broken, exposure.what, predicate, exposure.resource, reason)


@rule(
    "private-load-balancers",
    title="Load balancers are not on the internet",
    why="An inference server or a notebook on the internet works for anybody who finds it, at your cost.",
    remedy="Make the load balancer internal by its cloud's annotation, or list loadBalancerSourceRanges: together at "
    "most a /8 of public addresses. AKS: nginx: {defaultIngressControllerType: Internal}, and ingress gateways of mode "
    "Internal.",
    level="advisory",
    severity="high",
    example=Exposure("network", "Service 'llm'", True),
)
def private_load_balancers(exposure: Exposure) -> list[Violation]:
    """A load balancer of a Service, an Ingress, a Gateway or a chart is internal, or limited to address ranges."""
    broken = exposure.kind == "network" and exposure.open
    predicate = "has a load balancer that the whole internet reaches"
    reason = exposure.unknown_reason
    return private_load_balancers.decide(broken, exposure.what, predicate, exposure.resource, reason)


@rule(
    "no-external-ips",
    title="No Service names the addresses that it takes over",
    why="Every node sends traffic for an address in externalIPs to the Service's pods, even if another server has that "
    "address, such as a package index (CVE-2020-8554).",
    remedy="Leave externalIPs out: write type: LoadBalancer, or an Ingress or Gateway.",
    level="advisory",
    severity="medium",
    example=Exposure("addresses", "Service 'llm'", True),
)
def no_external_ips(exposure: Exposure) -> list[Violation]:
    """No Service has externalIPs. https://github.com/kubernetes/kubernetes/issues/97076"""
    broken = exposure.kind == "addresses" and exposure.open
    predicate = "takes over the traffic of the whole cluster for its externalIPs"
    return no_external_ips.decide(broken, exposure.what, predicate, exposure.resource)
