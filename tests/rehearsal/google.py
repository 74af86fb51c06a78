"""A driver of the Google Cloud stand-in: the engine's calls in the engine's order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rehearsal.providers.base import Created, Properties, ProviderError, Request
from rehearsal.providers.gcp import GcpProvider
from tests.rehearsal.noting_fleet import NotingFleet

NETWORK = "gcp:compute/network:Network"
SUBNETWORK = "gcp:compute/subnetwork:Subnetwork"
ROUTER = "gcp:compute/router:Router"
NAT = "gcp:compute/routerNat:RouterNat"
FIREWALL = "gcp:compute/firewall:Firewall"
ADDRESS = "gcp:compute/address:Address"
ACCOUNT = "gcp:serviceaccount/account:Account"
PROJECT_MEMBER = "gcp:projects/iAMMember:IAMMember"
CLUSTER = "gcp:container/cluster:Cluster"
POOL = "gcp:container/nodePool:NodePool"

PROJECT = "demo-project"
ZONE = "us-central1-a"


class Google:
    """One program's view of the provider; ``restart`` is a new process on the same state."""

    def __init__(self, directory: Path, **config: str) -> None:
        self.directory = directory
        self.fleet = NotingFleet()
        self.config = {"project": PROJECT, "region": "us-central1", **config}
        self.restart()

    def restart(self) -> None:
        self.provider = GcpProvider(self.directory, self.fleet)
        self.provider.configure(dict(self.config))

    def request(self, type: str, name: str = "it", **more: Any) -> Request:
        return Request(f"urn:pulumi:dev::test::{type}::{name}", type, name, random_seed=name.encode(), **more)

    def check(self, type: str, inputs: Properties, olds: Properties | None = None, name: str = "it") -> Properties:
        accepted, failures = self.provider.check(self.request(type, name), olds or {}, inputs)
        if failures:
            raise ProviderError("; ".join(f"{failure.property}: {failure.reason}" for failure in failures))
        return accepted

    def create(self, type: str, inputs: Properties, name: str = "it") -> Created:
        accepted = self.check(type, inputs, name=name)
        created = self.provider.create(self.request(type, name), accepted, 0)
        return Created(created.id, created.state, accepted)

    def preview(self, type: str, inputs: Properties) -> Properties:
        accepted = self.check(type, inputs)
        return self.provider.create(self.request(type, preview=True), accepted, 0).state

    def update(self, type: str, existing: Created, inputs: Properties) -> Properties:
        old = existing.inputs or {}
        accepted = self.check(type, inputs, old)
        return self.provider.update(self.request(type), existing.id, old, existing.state, accepted, 0)

    def delete(self, type: str, existing: Created) -> None:
        self.provider.delete(self.request(type), existing.id, existing.inputs or {}, existing.state, 0)

    def read(self, type: str, id: str, inputs: Properties | None = None) -> Created:
        return self.provider.read(self.request(type), id, inputs or {}, {})

    def network(self) -> tuple[Created, Created]:
        """A custom network with one subnetwork and the ranges of a cluster."""
        network = self.create(NETWORK, {"name": "net", "autoCreateSubnetworks": False})
        return network, self.create(SUBNETWORK, subnetwork(network=network.state["selfLink"]))

    def cluster(self, **changes: Any) -> Created:
        """A zonal cluster in a network of its own, without a default pool."""
        network, subnet = self.network()
        return self.create(CLUSTER, cluster(network=network.id, subnetwork=subnet.id, **changes))


def subnetwork(**changes: Any) -> Properties:
    return {
        "name": "sub",
        "network": "net",
        "ipCidrRange": "10.0.0.0/20",
        "secondaryIpRanges": [
            {"rangeName": "pods", "ipCidrRange": "10.4.0.0/14"},
            {"rangeName": "services", "ipCidrRange": "10.8.0.0/20"},
        ],
        **changes,
    }


def cluster(**changes: Any) -> Properties:
    return {
        "name": "gpu-dev",
        "location": ZONE,
        "network": "net",
        "subnetwork": "sub",
        "ipAllocationPolicy": {"clusterSecondaryRangeName": "pods", "servicesSecondaryRangeName": "services"},
        "privateClusterConfig": {"enablePrivateNodes": True, "masterIpv4CidrBlock": "172.16.0.0/28"},
        "removeDefaultNodePool": True,
        "initialNodeCount": 1,
        "deletionProtection": False,
        "masterAuth": {"clientCertificateConfig": {"issueClientCertificate": False}},
        **changes,
    }


def cpu_pool(**changes: Any) -> Properties:
    return {
        "name": "admin",
        "cluster": CLUSTER_ID,
        "nodeCount": 1,
        "nodeConfig": {"machineType": "e2-standard-2"},
        **changes,
    }


def gpu_pool(**changes: Any) -> Properties:
    """A pool of T4 nodes that starts at zero; ``nodeConfig`` in ``changes`` is merged, not replaced."""
    config = {
        "machineType": "n1-standard-4",
        "spot": True,
        "imageType": "COS_CONTAINERD",
        "guestAccelerators": [gpu("nvidia-tesla-t4", 1, "DEFAULT")],
        "labels": {"team": "vision"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        **changes.pop("nodeConfig", {}),
    }
    scaling = {"totalMinNodeCount": 0, "totalMaxNodeCount": 4, "locationPolicy": "ANY"}
    return {"name": "t4-1", "cluster": CLUSTER_ID, "autoscaling": scaling, "nodeConfig": config, **changes}


def gpu(type: str, count: int, driver: str | None = None, **more: Any) -> Properties:
    accelerator: Properties = {"type": type, "count": count, **more}
    if driver:
        accelerator["gpuDriverInstallationConfig"] = {"gpuDriverVersion": driver}
    return accelerator


CLUSTER_ID = f"projects/{PROJECT}/locations/{ZONE}/clusters/gpu-dev"
