"""A driver of the simulated Google Cloud provider: the engine's calls in the engine's order."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from typing_extensions import override

from packages.rehearsal.tests.providers.driver import Account, Examples, Step
from rehearsal.providers.base import Created, Properties
from rehearsal.providers.gke import GcpProvider

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
NAT = "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"
POLICY = "gcp:compute/resourcePolicy:ResourcePolicy"
ADDRESS = "gcp:compute/address:Address"
ACCOUNT = "gcp:serviceaccount/account:Account"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"

PROJECT = "demo-project"
ZONE = "us-central1-a"
KEY_MEMBER = "gcp:kms/cryptoKeyIAMMember:CryptoKeyIAMMember"
SERVICE = "gcp:projects/service:Service"
REPOSITORY = "gcp:artifactregistry/repository:Repository"
BUCKET = "gcp:storage/bucket:Bucket"
BUCKET_MEMBER = "gcp:storage/bucketIAMMember:BucketIAMMember"
FILES = "gcp:filestore/instance:Instance"
CLUSTER_ID = f"projects/{PROJECT}/locations/{ZONE}/clusters/gpu-dev"

EXAMPLES = Examples(Path(__file__).parent)


class Google(Account):
    """A project in Google Cloud."""

    provider_type = GcpProvider
    settings: ClassVar[dict[str, str]] = {"project": PROJECT, "region": "us-central1"}
    missing = "Error 404: "
    in_use = "resourceInUseByAnotherResource"
    setting = "project"

    @classmethod
    @override
    def steps(cls) -> Sequence[Step]:
        return EXAMPLES.steps

    def network(self) -> tuple[Created, Created]:
        """A custom network with one subnetwork and the ranges of a cluster."""
        network = self.create(NETWORK, {"name": "net", "autoCreateSubnetworks": False})
        return network, self.create(SUBNETWORK, subnetwork(network=network.state["selfLink"]))

    def cluster(self, **changes: Any) -> Created:
        """A zonal cluster in a network of its own, without a default pool."""
        network, subnet = self.network()
        return self.create(CLUSTER, cluster(network=network.id, subnetwork=subnet.id, **changes))


subnetwork = EXAMPLES.inputs("subnetwork")
cluster = EXAMPLES.inputs("cluster")
cpu_pool = EXAMPLES.inputs("cpu_pool")
nat = EXAMPLES.inputs("nat")
_gpu_pool = EXAMPLES.inputs("gpu_pool")
_files = EXAMPLES.inputs("files")


def gpu_pool(**changes: Any) -> Properties:
    """A pool of T4 nodes that starts at zero; ``nodeConfig`` in ``changes`` is merged, not replaced."""
    return _gpu_pool(**{**changes, "nodeConfig": {**_gpu_pool()["nodeConfig"], **changes.get("nodeConfig", {})}})


def gpu(type: str, count: int, driver: str | None = None, **more: Any) -> Properties:
    accelerator: Properties = {"type": type, "count": count, **more}
    if driver:
        accelerator["gpuDriverInstallationConfig"] = {"gpuDriverVersion": driver}
    return accelerator


def files(size: int = 1024, **changes: Any) -> Properties:
    return _files(fileShares={"name": "shared", "capacityGb": size}, **changes)
