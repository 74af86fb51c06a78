"""Rules that need the cluster judge one that somebody else made, by what ``GpuPools`` looked up; where nothing could be
looked up they say so. None is silent."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

import pytest

from facts.concepts.declared import Cluster, NotEvaluated, Violation
from facts.concepts.unknown import UNKNOWN
from policies.readers import read, read_stack
from policies.readers.resource import Declared
from policies.rules.table import BY_ID, RULES

CPUS: Final[dict[str, Any]] = {
    "name": "default-pool",
    "nodeCount": 3,
    "nodeConfig": {"machineType": "e2-standard-4", "guestAccelerators": [], "taints": []},
}
KNOWN: Final[dict[str, Any]] = {
    "name": "research",
    "location": "us-central1-a",
    "enableAutopilot": False,
    "enableShieldedNodes": True,
    "privateClusterConfig": {"enablePrivateNodes": True},
    "workloadIdentityConfig": {"workloadPool": "my-project.svc.id.goog"},
    "datapathProvider": "ADVANCED_DATAPATH",
    "databaseEncryption": {"state": "ENCRYPTED", "keyName": "key"},
    "masterAuthorizedNetworksConfig": {
        "cidrBlocks": [{"cidrBlock": "198.51.100.0/24"}],
        "gcpPublicCidrsAccessEnabled": False,
    },
    "nodePools": [CPUS],
    "removeDefaultNodePool": False,
}
POOL: Final[dict[str, Any]] = {
    "name": "t4-1",
    "cluster": "research",
    "location": "us-central1-a",
    "nodeLocations": ["us-central1-a"],
    "initialNodeCount": 0,
    "autoscaling": {"totalMinNodeCount": 0, "totalMaxNodeCount": 2},
    "nodeConfig": {
        "machineType": "n1-standard-4",
        "serviceAccount": "nodes@my-project.iam.gserviceaccount.com",
        "guestAccelerators": [{"type": "nvidia-tesla-t4", "count": 1}],
        "labels": {"nvidia.com/gpu.present": "true"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "shieldedInstanceConfig": {"enableSecureBoot": True, "enableIntegrityMonitoring": True},
    },
}
TAINTED: Final = {**CPUS, "nodeConfig": {**CPUS["nodeConfig"], "taints": [{"key": "team", "effect": "NO_SCHEDULE"}]}}
# Rule → what breaks it of the cluster. The pool leaves its addresses and its metadata server to the cluster.
BROKEN: Final[Mapping[str, dict[str, Any]]] = {
    "gpu-not-only-pool": {"nodePools": [], "removeDefaultNodePool": True},
    "system-pods-home": {"nodePools": [TAINTED]},
    "gpu-nodes-private": {"privateClusterConfig": {"enablePrivateNodes": False}},
    "private-nodes": {"privateClusterConfig": {"enablePrivateNodes": False}},
    "pods-not-nodes": {"workloadIdentityConfig": {}},
    "network-policies": {"datapathProvider": "LEGACY_DATAPATH"},
    "secrets-encryption": {"databaseEncryption": {"state": "DECRYPTED"}},
    "control-plane-access": {"masterAuthorizedNetworksConfig": None},
    "no-local-accounts": {"masterAuth": {"clientCertificateConfig": {"issueClientCertificate": True}}},
    "verified-boot": {"enableShieldedNodes": False},
    "allowed-regions": {"location": "europe-west4"},
}
LIMITS: Final[Mapping[str, dict[str, Any]]] = {"allowed-regions": {"regions": ["us-central1"]}}
# Rules about a cluster that these cannot break, and why.
ELSEWHERE: Final[Mapping[str, str]] = {
    "node-identity": "of the pool that a cluster starts with; each pool of this stack has one",
    "low-carbon-region": "of the region, as for any cluster",
}


def violations(rule: str, cluster: object) -> list[Violation]:
    """What one rule finds in a program of ``GpuPools`` and a pool."""
    properties = {"cloudName": "gke", "cluster": cluster, "unknown": {}}
    declared = [
        Declared("gpucluster:index:GpuPools", "pools", "urn:pools", properties),
        Declared("gcp:container/nodePool:NodePool", "pools-t4-1-pool", "urn:pool", POOL),
    ]
    stack = read_stack(declared)
    one, limits = BY_ID[rule], LIMITS.get(rule, {})
    if one.scope == "stack":
        return one.check(stack, limits)
    items = [item for each in declared for item in read(each) if isinstance(item, one.subjects)]
    return [violation for item in items for violation in one.check(item, limits)]


@pytest.mark.parametrize("rule", BROKEN)
def test_a_rule_that_needs_the_cluster_judges_it(rule: str) -> None:
    assert violations(rule, KNOWN) == []
    broken = violations(rule, {**copy.deepcopy(KNOWN), **BROKEN[rule]})
    assert [violation.not_evaluated for violation in broken] == [False]


@pytest.mark.parametrize("rule", BROKEN)
def test_it_is_not_evaluated_while_the_cluster_is_not_known(rule: str) -> None:
    assert {violation.not_evaluated for violation in violations(rule, UNKNOWN)} == {True}


def test_each_rule_about_clusters_has_a_row() -> None:
    assert {rule.id for rule in RULES if Cluster in rule.subjects} <= {*BROKEN, *ELSEWHERE}


def test_the_pools_of_others_are_judged_by_no_rule() -> None:
    theirs = {
        "name": "their-gpus",
        "nodeCount": 4,
        "nodeConfig": {"machineType": "n1-standard-4", "guestAccelerators": [{"type": "nvidia-l4", "count": 1}]},
    }
    for rule in RULES:
        if rule.id in ("low-carbon-region", "unjudged"):
            continue
        assert violations(rule.id, {**KNOWN, "nodePools": [CPUS, theirs]}) == violations(rule.id, KNOWN), rule.id


def test_what_a_preview_puts_off_is_reported() -> None:
    properties = {"cloudName": "gke", "cluster": KNOWN, "unknown": UNKNOWN}
    items = [*read(Declared("gpucluster:index:GpuPools", "pools", "urn:pools", properties))]
    (reported,) = [item for item in items if isinstance(item, NotEvaluated)]
    assert "the update looks at more than this preview could" in BY_ID["unjudged"].check(reported)[0].message


def test_what_nobody_could_look_up_is_reported_with_the_reason() -> None:
    unknown = {"what runs there": "the API server of 'research' cannot be asked: timed out"}
    properties = {"cloudName": "gke", "cluster": KNOWN, "unknown": unknown}
    items = [*read(Declared("gpucluster:index:GpuPools", "pools", "urn:pools", properties))]
    (reported,) = [item for item in items if isinstance(item, NotEvaluated)]
    assert "timed out" in BY_ID["unjudged"].check(reported)[0].message
