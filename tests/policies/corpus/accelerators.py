"""Accelerators that are no NVIDIA GPUs: what is always up is noted, and nothing is refused."""

from __future__ import annotations

from typing import Any, Final

from facts.concepts.unknown import UNKNOWN
from tests.policies.corpus import aws, azure, gke
from tests.policies.corpus.case import Draft, Resource, draft

RULE: Final = "accelerator-zero-minimum"


def sized(least: Any, kind: str) -> Resource:
    """A group without a GPU taint."""
    return aws.node_group(
        "accelerated",
        instanceTypes=[kind],
        amiType=None,
        taints=None,
        scalingConfig={"minSize": least, "maxSize": 2, "desiredSize": least},
    )


def tpus(**size: Any) -> Resource:
    config = {"machineType": "ct5lp-hightpu-4t"}
    return gke.POOL, "tpu", {"name": "tpu", "cluster": "ml", "location": gke.ZONE, "nodeConfig": config, **size}


def case(id: str, story: str, rule: str | None = None) -> Draft:
    return draft(f"accelerators-{id}", story, rule=rule)


BLOCKED: Final = [
    case("tpu-minimum", "one node is kept", rule=RULE).of(tpus(autoscaling={"minNodeCount": 1, "maxNodeCount": 4})),
    case("tpu-fixed", "a slice of fixed size", rule=RULE).of(tpus(nodeCount=4)),
    case("trainium", "one machine of sixteen chips", rule=RULE).of(sized(1, "trn1.32xlarge")),
    case("trainium-2", "its successor", rule=RULE).of(sized(1, "trn2u.48xlarge")),
    case("inferentia", "one machine", rule=RULE).of(sized(1, "inf2.xlarge")),
    case("gaudi", "one machine", rule=RULE).of(sized(1, "dl1.24xlarge")),
    case("amd", "one machine", rule=RULE).of(sized(1, "g4ad.xlarge")),
    case("mi300x", "eight MI300X", rule=RULE).of(azure.pool(vmSize="Standard_ND96isr_MI300X_v5", minCount=1)),
    case("v710", "a part of a V710", rule=RULE).of(azure.pool(vmSize="standard_nv24ads_v710_v5", minCount=1)),
]
NOTHING_UP: Final = [
    case("tpu-from-zero", "TPUs that come for jobs").of(tpus(autoscaling={"minNodeCount": 0, "maxNodeCount": 4})),
    case("trainium-from-zero", "chips that come for jobs").of(sized(0, "trn1.32xlarge")),
    case("mi300x-from-zero", "GPUs that come for jobs").of(azure.pool(vmSize="Standard_ND96isr_MI300X_v5")),
    case("storage", "a family with a similar name").of(sized(1, "i4i.large")),
    case("fpga", "machines with FPGAs").of(azure.pool(vmSize="Standard_NP10s", minCount=1)),
]
ALLOWED: Final = [
    *NOTHING_UP,
    case("minimum-of-another-stack", "decided at the update").of(sized(UNKNOWN, "trn1.32xlarge")),
]
