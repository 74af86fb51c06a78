"""Accelerators that are no NVIDIA GPUs: what is always up is noted, and nothing is refused."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, azure, gke
from tests.policies.corpus.case import Case

RULE: Final = "accelerator-zero-minimum"


def sized(least: Any, kind: str) -> aws.Resource:
    """A group without a GPU taint."""
    return aws.node_group(
        "accelerated",
        instanceTypes=[kind],
        amiType=None,
        taints=None,
        scalingConfig={"minSize": least, "maxSize": 2, "desiredSize": least},
    )


def tpus(**size: Any) -> aws.Resource:
    config = {"machineType": "ct5lp-hightpu-4t"}
    return gke.POOL, "tpu", {"name": "tpu", "cluster": "ml", "location": gke.ZONE, "nodeConfig": config, **size}


def case(id: str, story: str, *resources: Any, rule: str | None = None) -> Case:
    return Case(id=f"accelerators-{id}", story=story, resources=resources, rule=rule)


BLOCKED: Final = [
    case("tpu-minimum", "one node is kept", tpus(autoscaling={"minNodeCount": 1, "maxNodeCount": 4}), rule=RULE),
    case("tpu-fixed", "a slice of fixed size", tpus(nodeCount=4), rule=RULE),
    case("trainium", "one machine of sixteen chips", sized(1, "trn1.32xlarge"), rule=RULE),
    case("trainium-2", "its successor", sized(1, "trn2u.48xlarge"), rule=RULE),
    case("inferentia", "one machine", sized(1, "inf2.xlarge"), rule=RULE),
    case("gaudi", "one machine", sized(1, "dl1.24xlarge"), rule=RULE),
    case("amd", "one machine", sized(1, "g4ad.xlarge"), rule=RULE),
    case("mi300x", "eight MI300X", azure.pool(vmSize="Standard_ND96isr_MI300X_v5", minCount=1), rule=RULE),
    case("v710", "a part of a V710", azure.pool(vmSize="standard_nv24ads_v710_v5", minCount=1), rule=RULE),
]
NOTHING_UP: Final = [
    case("tpu-from-zero", "TPUs that come for jobs", tpus(autoscaling={"minNodeCount": 0, "maxNodeCount": 4})),
    case("trainium-from-zero", "chips that come for jobs", sized(0, "trn1.32xlarge")),
    case("mi300x-from-zero", "GPUs that come for jobs", azure.pool(vmSize="Standard_ND96isr_MI300X_v5")),
    case("storage", "a family with a similar name", sized(1, "i4i.large")),
    case("fpga", "machines with FPGAs", azure.pool(vmSize="Standard_NP10s", minCount=1)),
]
ALLOWED: Final = [
    *NOTHING_UP,
    case("minimum-of-another-stack", "decided at the update", sized(UNKNOWN, "trn1.32xlarge")),
]
