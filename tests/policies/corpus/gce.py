"""Google Cloud beside node pools: machines outside of the cluster, and the provider made from Google's API."""

from __future__ import annotations

from typing import Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus.case import resource
from tests.policies.corpus.gke import REGION, T4, ZONE, allowed, blocked

BLOCKED: Final = [
    blocked("instance", "gpu-autoscaled", "a notebook machine beside the cluster").of(
        ("gcp:compute/instance:Instance", "nb", {"machineType": "g2-standard-8", "zone": ZONE})
    ),
    blocked("instance-template", "gpu-autoscaled", "a managed instance group makes them of a template").of(
        resource(
            "gcp:compute/instanceTemplate:InstanceTemplate", "t", machineType="n1-standard-4", guestAccelerators=T4
        ),
        resource(
            "gcp:compute/instanceGroupManager:InstanceGroupManager",
            "m",
            targetSize=2,
            versions=[{"instanceTemplate": UNKNOWN}],
        ),
    ),
    blocked("regional-template", "gpu-autoscaled", "likewise for a region").of(
        resource(
            "gcp:compute/regionInstanceTemplate:RegionInstanceTemplate", "t", machineType="a3-highgpu-8g", region=REGION
        )
    ),
    blocked("key-in-start-up-script", "no-static-keys", "a private key handed to a machine").of(
        resource(
            "gcp:compute/instance:Instance",
            "bastion",
            machineType="e2-small",
            zone=ZONE,
            metadata={"key": "-----BEGIN RSA PRIVATE KEY-----"},
        )
    ),
]

ALLOWED: Final = [
    allowed("cpu-instance", "a bastion").of(
        ("gcp:compute/instance:Instance", "bastion", {"machineType": "e2-small", "zone": ZONE})
    ),
    allowed("cpu-template", "build machines").of(
        ("gcp:compute/instanceTemplate:InstanceTemplate", "ci", {"machineType": "c3-standard-8"})
    ),
]
