"""Privacy, encryption, identities and keys."""

from __future__ import annotations

from typing import Final

from policies.rules import clusters, credentials
from policies.rules.model import Cluster, Credential, NodeGroup, Stack
from policies.rules.rule import Rule

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        id=clusters.PRIVATE_NODES,
        title="Nodes are private",
        why="A node with a public address can be reached, and scanned, from anywhere.",
        remedy="Enable private nodes, with a NAT gateway for outgoing traffic.",
        level="advisory",
        severity="medium",
        subjects=(Cluster, NodeGroup),
        check=lambda subject, _: clusters.private_nodes(subject),
    ),
    Rule(
        id=clusters.GPU_PRIVATE,
        title="GPU nodes are private",
        why="A GPU node with a public address is what miners of other people's electricity scan for.",
        remedy="Give GPU nodes private addresses only, with a NAT gateway for outgoing traffic.",
        level="advisory",
        severity="high",
        subjects=(Stack,),
        check=lambda stack, _: clusters.gpu_nodes_private(stack),
    ),
    Rule(
        id=clusters.SECRETS,
        title="Kubernetes Secrets are encrypted with your key",
        why="A key of your own can be rotated, audited and taken away.",
        remedy="Set a KMS key for Secrets.",
        level="advisory",
        severity="low",
        subjects=(Cluster,),
        check=lambda cluster, _: clusters.secrets_encryption(cluster),
    ),
    Rule(
        id=clusters.OPEN_API,
        title="The control plane is not open to the internet",
        why="An API server that answers everyone is one stolen token, or one bug, away from being somebody else's.",
        remedy="Make the control plane private, or list the address ranges that may reach it.",
        level="advisory",
        severity="medium",
        subjects=(Cluster,),
        check=lambda cluster, _: clusters.control_plane_access(cluster),
    ),
    Rule(
        id=clusters.LOCAL_ACCOUNTS,
        title="No local administrators",
        why="A cluster's own administrator keys outlive the people they were given to, and no audit log names them.",
        remedy="Disable local accounts and use the cloud's identities.",
        level="advisory",
        severity="medium",
        subjects=(Cluster,),
        check=lambda cluster, _: clusters.no_local_accounts(cluster),
    ),
    Rule(
        id=clusters.DISKS,
        title="Node disks are encrypted",
        why="Training data and checkpoints end up on node disks.",
        remedy="Encrypt node disks; with customerKey, with a key of your own.",
        level="advisory",
        severity="medium",
        subjects=(NodeGroup,),
        check=lambda group, limits: clusters.disk_encryption(group, limits["customerKey"]),
        schema={
            "customerKey": {
                "type": "boolean",
                "default": False,
                "description": "Whether the cloud's own encryption key is not enough.",
            }
        },
    ),
    Rule(
        id=credentials.STATIC_KEYS,
        title="No static keys",
        why="A key in a program or its state works for whoever finds it, until somebody remembers to revoke it.",
        remedy="Use workload identity, OIDC or an exec credential plugin.",
        level="mandatory",
        severity="critical",
        subjects=(Credential,),
        check=lambda credential, _: credentials.no_static_keys(credential),
    ),
)
