"""The permission that Google requires to create, update or delete a resource.

https://cloud.google.com/iam/docs/permissions-reference. Node pools are part of their cluster,
and a grant changes a policy:
https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools/create
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

RIGHTS: Final[Mapping[str, str]] = {
    "gcp:artifactregistry/repository:Repository": "artifactregistry.repositories.{action}",
    "gcp:artifactregistry/repositoryIamMember:RepositoryIamMember": "artifactregistry.repositories.setIamPolicy",
    "gcp:compute/address:Address": "compute.addresses.{action}",
    "gcp:compute/firewall:Firewall": "compute.firewalls.{action}",
    "gcp:compute/network:Network": "compute.networks.{action}",
    "gcp:compute/router:Router": "compute.routers.{action}",
    "gcp:compute/routerNat:RouterNat": "compute.routers.update",
    "gcp:compute/subnetwork:Subnetwork": "compute.subnetworks.{action}",
    "gcp:container/cluster:Cluster": "container.clusters.{action}",
    "gcp:container/nodePool:NodePool": "container.clusters.update",
    "gcp:filestore/instance:Instance": "file.instances.{action}",
    "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "cloudkms.cryptoKeys.setIamPolicy",
    "gcp:projects/iAMMember:IAMMember": "resourcemanager.projects.setIamPolicy",
    "gcp:projects/service:Service": "serviceusage.services.enable",
    "gcp:secretmanager/secretIamMember:SecretIamMember": "secretmanager.secrets.setIamPolicy",
    "gcp:serviceaccount/account:Account": "iam.serviceAccounts.{action}",
    "gcp:storage/bucket:Bucket": "storage.buckets.{action}",
    "gcp:storage/bucketIAMMember:BucketIAMMember": "storage.buckets.setIamPolicy",
}
