"""What exists before the stack: the network or the cluster that its file names, as another program would create it."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from components.settings import Settings
from facts.catalog.gke.networks import EXISTING_NETWORK
from rehearsal.providers.base import Properties
from rehearsal.providers.gke.cluster import CLUSTER
from rehearsal.providers.gke.iam import ACCOUNT
from rehearsal.providers.gke.network import NETWORK, ROUTER, SUBNETWORK
from rehearsal.providers.gke.nodes import GRANT


def resources(settings: Settings) -> Generator[tuple[str, Properties], object, None]:
    """Type and inputs of each resource; empty if the stack creates its own network and cluster.

    Ranges of common sizes: 4,000 nodes, and pods of 1,024 nodes. A cluster is regional, with private nodes of their
    own identity, and its control plane admits an office.
    """
    if settings.existing_cluster is not None:
        account = f"platform-nodes@{settings.project}.iam.gserviceaccount.com"
        yield ACCOUNT, {"project": settings.project, "accountId": "platform-nodes"}
        role = {"role": "roles/container.defaultNodeServiceAccount", "member": f"serviceAccount:{account}"}
        yield GRANT, {"project": settings.project, **role}
        office = [{"cidrBlock": "203.0.113.0/24", "displayName": "office"}]
        yield (
            CLUSTER,
            {
                "project": settings.project,
                "location": settings.region,
                "name": settings.existing_cluster.name,
                "nodeLocations": [*settings.zones],
                "initialNodeCount": 1,
                "nodeConfig": {"serviceAccount": account},
                "privateClusterConfig": {"enablePrivateNodes": True},
                "masterAuthorizedNetworksConfig": {"cidrBlocks": office, "gcpPublicCidrsAccessEnabled": False},
                "workloadIdentityConfig": {"workloadPool": f"{settings.project}.svc.id.goog"},
                "deletionProtection": False,
            },
        )
    if settings.security.node_identity is not None:
        yield from _node_account(settings, settings.security.node_identity)
    existing = settings.network.existing
    written = EXISTING_NETWORK.fullmatch(existing.network) if existing else None
    if existing is None or written is None:
        return
    project = written["project"] or settings.project
    network = f"projects/{project}/global/networks/{written['name']}"
    yield NETWORK, {"project": project, "name": written["name"], "autoCreateSubnetworks": False}
    in_region = {"project": project, "region": settings.region}
    yield (
        SUBNETWORK,
        {
            **in_region,
            "name": existing.subnets[0],
            "network": network,
            "ipCidrRange": "10.20.0.0/20",
            "secondaryIpRanges": [
                {"rangeName": existing.pod_range, "ipCidrRange": "10.24.0.0/14"},
                {"rangeName": existing.service_range, "ipCidrRange": "10.28.0.0/20"},
            ],
            "privateIpGoogleAccess": True,
        },
    )
    yield ROUTER, {**in_region, "name": f"{written['name']}-router", "network": network}


def _node_account(settings: Settings, email: str) -> Iterator[tuple[str, Properties]]:
    """The account of the nodes, with the roles that docs/operations.md names."""
    name, _, domain = email.partition("@")
    yield ACCOUNT, {"project": domain.partition(".")[0], "accountId": name}
    for role in ("container.defaultNodeServiceAccount", "artifactregistry.reader", "serviceusage.serviceUsageConsumer"):
        yield GRANT, {"project": settings.project, "role": f"roles/{role}", "member": f"serviceAccount:{email}"}
