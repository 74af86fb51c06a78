"""Rules that need the cluster judge one that somebody else made, by what ``GpuPools`` looked up; where nothing could be
looked up they say so. None is silent."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.settings import from_stack_file
from components.settings.limits.joining import REFUSED
from facts.concepts.declared import Cluster, NodeGroup, NotEvaluated, Violation
from facts.concepts.unknown import UNKNOWN
from policies.readers import read, read_stack
from policies.readers.resource import Declared
from policies.reporting import addressed
from policies.rules.rule import Rule
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
    "node-identity": "of pools that a cluster makes by itself; each pool of this stack has one",
    "low-carbon-region": "of the region, as for any cluster",
}


# The same on EKS, whose Karpenter says what its cluster's resource does not.
EKS_KNOWN: Final[dict[str, Any]] = {
    "name": "research",
    "region": "us-west-2",
    "vpcConfig": {"endpointPublicAccess": True, "publicAccessCidrs": ["198.51.100.0/24"]},
    "computeConfig": {"enabled": False},
    "autoscaler": "karpenter",
    "networkPolicies": True,
    "systemNodes": True,
    "encryptionConfig": {"provider": {"keyArn": "arn:aws:kms:us-west-2:123456789012:key/0a"}},
}
EKS_POOLS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "pools-drivers": (
        "kubernetes:apps/v1:DaemonSet",
        {
            "metadata": {"name": "nvidia-device-plugin-whole", "namespace": "kube-system"},
            "spec": {"template": {"spec": {"containers": [{"name": "plugin", "image": "plugin:1"}]}}},
        },
    ),
    "pools-t4-1-pool": (
        "kubernetes:karpenter.sh/v1:NodePool",
        {
            "metadata": {"name": "t4-1"},
            "spec": {
                "limits": {"nodes": "2", "nvidia.com/gpu": "2"},
                "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "5m"},
                "template": {
                    "metadata": {"labels": {"nvidia.com/gpu.present": "true"}},
                    "spec": {
                        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "t4-1"},
                        "requirements": [
                            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["g4dn.xlarge"]}
                        ],
                        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
                    },
                },
            },
        },
    ),
}
# With a cluster-autoscaler of its owner, a node group in place of a NodePool.
EKS_GROUPS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    "pools-drivers": EKS_POOLS["pools-drivers"],
    "pools-t4-1-pool": (
        "aws:eks/nodeGroup:NodeGroup",
        {
            "nodeGroupName": "t4-1",
            "clusterName": "research",
            "amiType": "AL2023_x86_64_NVIDIA",
            "instanceTypes": ["g4dn.xlarge"],
            "scalingConfig": {"minSize": 0, "maxSize": 2, "desiredSize": 0},
            "labels": {"nvidia.com/gpu.present": "true"},
            "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        },
    ),
}
EKS_BROKEN: Final[Mapping[str, dict[str, Any]]] = {
    "gpu-not-only-pool": {"systemNodes": False},
    "system-pods-home": {"systemNodes": False},
    "network-policies": {"networkPolicies": False},
    "control-plane-access": {"vpcConfig": {"endpointPublicAccess": True, "publicAccessCidrs": ["0.0.0.0/0"]}},
    "secrets-encryption": {"encryptionConfig": None},
    "autoscaler-present": {"autoscaler": None},
    "allowed-regions": {"region": "eu-west-1"},
}
EKS_LIMITS: Final[Mapping[str, dict[str, Any]]] = {
    "allowed-regions": {"regions": ["us-west-2"]},
    "hourly-cost-ceiling": {"maxHourlyUsd": 10},
}


# The same on AKS, with an agent pool.
AKS_SYSTEM: Final[dict[str, Any]] = {"name": "system", "mode": "System", "count": 3, "vmSize": "Standard_D4s_v5"}
AKS_KNOWN: Final[dict[str, Any]] = {
    "resourceName": "research",
    "location": "eastus",
    "disableLocalAccounts": True,
    "sku": {"name": "Base"},
    "networkProfile": {"networkPolicy": "cilium"},
    "apiServerAccessProfile": {"authorizedIPRanges": ["198.51.100.0/24"]},
    "autoScalerProfile": {"scaleDownUnneededTime": "10m"},
    "securityProfile": {"azureKeyVaultKms": {"enabled": True, "keyId": "https://v.vault.azure.net/keys/k/0a"}},
    "agentPoolProfiles": [AKS_SYSTEM],
}
AKS_POOL: Final[dict[str, Any]] = {
    "resourceName": "research",
    "resourceGroupName": "platform",
    "agentPoolName": "t4h4uxo",
    "mode": "User",
    "vmSize": "Standard_NC4as_T4_v3",
    "count": 0,
    "enableAutoScaling": True,
    "minCount": 0,
    "maxCount": 2,
    "enableNodePublicIP": False,
    "nodeLabels": {"nvidia.com/gpu.present": "true"},
    "nodeTaints": ["nvidia.com/gpu=present:NoSchedule"],
}
AKS_BROKEN: Final[Mapping[str, dict[str, Any]]] = {
    "gpu-not-only-pool": {"agentPoolProfiles": []},
    "system-pods-home": {"agentPoolProfiles": [{**AKS_SYSTEM, "mode": "User", "nodeTaints": ["team=red:NoSchedule"]}]},
    "network-policies": {"networkProfile": {"networkPolicy": "none"}},
    "secrets-encryption": {"securityProfile": {"azureKeyVaultKms": {"enabled": False}}},
    "control-plane-access": {"apiServerAccessProfile": None},
    "no-local-accounts": {"disableLocalAccounts": False},
    "allowed-regions": {"location": "westeurope"},
}
_LIMITS: Final[Mapping[str, Mapping[str, dict[str, Any]]]] = {
    "gke": LIMITS,
    "eks": EKS_LIMITS,
    "aks": {"allowed-regions": {"regions": ["eastus"]}},
}
_POOLS: Final[Mapping[str, Mapping[str, tuple[str, dict[str, Any]]]]] = {
    "gke": {"pools-t4-1-pool": ("gcp:container/nodePool:NodePool", POOL)},
    "eks": EKS_POOLS,
    "aks": {
        "pools-drivers": EKS_POOLS["pools-drivers"],
        "pools-t4-1-pool": ("azure-native:containerservice:AgentPool", AKS_POOL),
    },
}


_PROGRAM: Final = "urn:pulumi:research::gpu::"
_KINDS: Final[Mapping[str, str]] = {"pools": "", "pools-objects": "$pulumi:providers:kubernetes"}


def urn(name: str) -> str:
    """As the engine makes it of a component and what it declares."""
    inside = _KINDS.get(name, "$gpucluster:index:GpuNodePool$some:module:Pool")
    return f"{_PROGRAM}gpucluster:index:GpuPools{inside}::{name}"


def violations(rule: str, cluster: object, cloud: str = "gke", unknown: Mapping[str, str] = {}) -> list[Violation]:
    """What one rule finds in a program of ``GpuPools`` and a pool."""
    properties = {"cloudName": cloud, "cluster": cluster, "unknown": dict(unknown)}
    groups = isinstance(cluster, Mapping) and cluster.get("autoscaler") == "cluster-autoscaler"
    pools = EKS_GROUPS if groups else _POOLS[cloud]
    declared = [
        Declared("gpucluster:index:GpuPools", "pools", urn("pools"), properties),
        *(Declared(token, name, urn(name), inputs) for name, (token, inputs) in pools.items()),
    ]
    stack = read_stack(declared)
    one, limits = BY_ID[rule], _LIMITS[cloud].get(rule, {})
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


@pytest.mark.parametrize("rule", EKS_BROKEN)
def test_on_eks_a_rule_that_needs_the_cluster_judges_it(rule: str) -> None:
    assert violations(rule, EKS_KNOWN, "eks") == []
    broken = violations(rule, {**EKS_KNOWN, **EKS_BROKEN[rule]}, "eks")
    assert [violation.not_evaluated for violation in broken] == [False]


@pytest.mark.parametrize("rule", [rule for rule in EKS_BROKEN if rule != "autoscaler-present"])
def test_on_eks_with_node_groups_it_does_too(rule: str) -> None:
    known = {**EKS_KNOWN, "autoscaler": "cluster-autoscaler"}
    assert violations(rule, known, "eks") == []
    broken = violations(rule, {**known, **EKS_BROKEN[rule]}, "eks")
    assert [violation.not_evaluated for violation in broken] == [False]


def test_on_eks_no_rule_asks_for_an_autoscaler_of_the_stack_beside_node_groups() -> None:
    """But what the launch template says, which is not here."""
    known = {**EKS_KNOWN, "autoscaler": "cluster-autoscaler"}
    assert {rule.id for rule in RULES if violations(rule.id, known, "eks")} == {"pods-not-nodes"}


@pytest.mark.parametrize("rule", EKS_BROKEN)
def test_on_eks_it_is_not_evaluated_while_the_cluster_is_not_known(rule: str) -> None:
    if rule != "autoscaler-present":  # the update refuses a cluster without one
        assert {violation.not_evaluated for violation in violations(rule, UNKNOWN, "eks")} == {True}


@pytest.mark.parametrize("rule", AKS_BROKEN)
def test_on_aks_a_rule_that_needs_the_cluster_judges_it(rule: str) -> None:
    assert violations(rule, AKS_KNOWN, "aks") == []
    broken = violations(rule, {**AKS_KNOWN, **AKS_BROKEN[rule]}, "aks")
    assert [violation.not_evaluated for violation in broken] == [False]
    assert {violation.not_evaluated for violation in violations(rule, UNKNOWN, "aks")} == {True}


@pytest.mark.parametrize(
    ("rule", "unknown"),
    [
        ("gpu-not-only-pool", "systemNodes"),
        ("system-pods-home", "systemNodes"),
        ("network-policies", "networkPolicies"),
        ("autoscaler-present", "autoscaler"),
    ],
)
def test_on_eks_it_is_not_evaluated_where_the_cluster_did_not_say(rule: str, unknown: str) -> None:
    """Neither while it does not answer, nor where the user may not look."""
    known = {key: value for key, value in EKS_KNOWN.items() if key != unknown}
    found = violations(rule, known, "eks", {unknown: "the cluster has not been asked"})
    assert [violation.not_evaluated for violation in found] == [True]


_CASES: Final = [
    *(("gke", rule, {**KNOWN, **broken}) for rule, broken in BROKEN.items()),
    *(("eks", rule, {**EKS_KNOWN, **broken}) for rule, broken in EKS_BROKEN.items()),
    *(("aks", rule, {**AKS_KNOWN, **broken}) for rule, broken in AKS_BROKEN.items()),
]


@pytest.mark.parametrize(("cloud", "rule", "cluster"), _CASES, ids=[f"{cloud}-{rule}" for cloud, rule, _ in _CASES])
def test_a_remedy_about_the_cluster_says_whom_to_ask(cloud: str, rule: str, cluster: Mapping[str, Any]) -> None:
    """What a cluster has is no key of the stack file: most that a remedy could name are refused there."""
    for violation in violations(rule, cluster, cloud):
        remedy = addressed(violation).remedy
        assert "owner" in remedy
        assert violation.remedy in remedy


def test_the_way_in_is_the_cluster_owners_too() -> None:
    key = BY_ID["no-static-keys"].violation("Found a key", urn("pools-objects"))
    assert "owner" in addressed(key).remedy
    elsewhere = f"{_PROGRAM}pulumi:providers:kubernetes::other"
    for resource in ("", elsewhere, f"{_PROGRAM}some:other:GpuPools$pulumi:providers:kubernetes::pools-objects"):
        assert addressed(replace(key, resource=resource)).remedy == key.remedy


@pytest.mark.parametrize("rule", [rule for rule in RULES if NodeGroup in rule.subjects], ids=lambda rule: rule.id)
def test_a_remedy_of_pools_names_no_key_that_a_cluster_of_others_refuses(rule: Rule[...]) -> None:
    sections = "|".join(sorted({*REFUSED, "security"} - {"raw"}))
    assert re.findall(rf"\b(?:{sections})(?:\.\w|: *\{{)", rule.remedy) == []


def test_what_a_remedy_writes_for_a_pool_is_taken_there(tmp_path: Path) -> None:
    written = [match for rule in RULES for match in re.findall(r"raw: (\{[^}]*\})", rule.remedy)]
    assert written == ["{enableEncryptionAtHost: true}"]
    content = yaml.safe_load(Path("examples/aks-existing-cluster.yaml").read_text())
    content["config"]["gpucluster:gpuPools"][0]["raw"] = yaml.safe_load(written[0])
    file = tmp_path / "research.yaml"
    file.write_text(yaml.safe_dump(content))
    assert from_stack_file(file).gpu_pools[0].raw == {"enableEncryptionAtHost": True}


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


def test_nodes_that_a_cloud_makes_in_a_cluster_of_others_have_no_limit_here() -> None:
    auto_mode = {**EKS_KNOWN, "computeConfig": {"enabled": True, "nodePools": ["general-purpose"]}}
    assert (
        violations("hourly-cost-ceiling", auto_mode, "eks") == violations("hourly-cost-ceiling", EKS_KNOWN, "eks") == []
    )


def test_what_a_preview_puts_off_is_reported() -> None:
    properties = {"cloudName": "gke", "cluster": KNOWN, "unknown": UNKNOWN}
    items = [*read(Declared("gpucluster:index:GpuPools", "pools", "urn:pools", properties))]
    (reported,) = [item for item in items if isinstance(item, NotEvaluated)]
    message = BY_ID["unjudged"].check(reported)[0].message
    assert "What runs in the cluster of pools cannot be evaluated at preview because this preview could not" in message


def test_what_nobody_could_look_up_is_reported_with_the_reason() -> None:
    unknown = {"what runs there": "the API server of 'research' cannot be asked: timed out"}
    properties = {"cloudName": "gke", "cluster": KNOWN, "unknown": unknown}
    items = [*read(Declared("gpucluster:index:GpuPools", "pools", "urn:pools", properties))]
    (reported,) = [item for item in items if isinstance(item, NotEvaluated)]
    assert "timed out" in BY_ID["unjudged"].check(reported)[0].message
