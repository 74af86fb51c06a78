"""The level ``remediate``: the GPU taint is added where that is safe, and nothing else is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from pulumi_policy import ResourceValidationArgs, ResourceValidationPolicy
from pulumi_policy.deserialize import deserialize_properties, serialize_properties
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.exemptions import today_utc
from policies.pack import Gate
from policies.readers import read
from policies.readers.resource import Declared
from policies.remediation import REMEDIES
from policies.rules.node_groups import gpu_taint, present_label
from policies.rules.table import RULES
from tests.policies.test_pack import OPTIONS

SECRET = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "value": "s"}
GKE, EKS, AKS = (
    "gcp:container/nodePool:NodePool",
    "aws:eks/nodeGroup:NodeGroup",
    "azure-native:containerservice:AgentPool",
)
POOLS: dict[str, dict[str, Any]] = {
    GKE: {
        "cluster": UNKNOWN_STRING_VALUE,
        "project": SECRET,
        "nodeConfig": {
            "guestAccelerators": [{"type": "nvidia-l4", "count": 1}],
            "taints": [{"key": "spot", "value": "true", "effect": "NO_SCHEDULE"}],
        },
    },
    EKS: {"clusterName": "c", "instanceTypes": ["g5.xlarge"]},
    AKS: {"resourceName": "c", "vmSize": "Standard_NC4as_T4_v3"},
}


def remediate(
    token: str, properties: dict[str, Any], config: dict[str, Any] | None = None, rule: str = "gpu-taint"
) -> Any:
    """What the engine gets back, given what it sends."""
    policy = next(policy for policy in Gate().policies() if policy.name == rule)
    assert isinstance(policy, ResourceValidationPolicy)
    props = unknown_checking_proxy(deserialize_properties(properties, True))
    changed = policy.remediate(ResourceValidationArgs(token, props, "urn:p", "p", OPTIONS, None, config))
    assert changed is None or isinstance(changed, Mapping)
    return None if changed is None else serialize_properties(changed)


def test_rules_that_say_so_can_be_remediated() -> None:
    assert {rule.id for rule in RULES if rule.remediable} == set(REMEDIES)


@pytest.mark.parametrize("rule", [gpu_taint, present_label], ids=lambda rule: rule.id)
@pytest.mark.parametrize("token", POOLS)
def test_what_lacks_is_added_once_and_the_reader_sees_it(token: str, rule: Any) -> None:
    changed = remediate(token, POOLS[token], rule=rule.id)
    before, after = (read(Declared(token, "p", "urn:p", properties)) for properties in (POOLS[token], changed))
    assert [len(rule(group)) for group in before] == [1]
    assert [len(rule(group)) for group in after] == [0]
    assert remediate(token, changed, rule=rule.id) is None


def test_labels_stay_and_unknown_ones_are_left_alone() -> None:
    changed = remediate(EKS, {**POOLS[EKS], "labels": {"team": "ml"}}, rule="gpu-present-label")
    assert changed["labels"] == {"team": "ml", "nvidia.com/gpu.present": "true"}
    unknown = {**POOLS[EKS], "labels": UNKNOWN_STRING_VALUE}
    assert remediate(EKS, unknown, rule="gpu-present-label") is None
    inside = {"nodePools": [{"nodeConfig": POOLS[GKE]["nodeConfig"]}]}
    assert remediate("gcp:container/cluster:Cluster", inside, rule="gpu-present-label") is None


def test_everything_else_stays_secrets_and_unknown_values_included() -> None:
    changed = remediate(GKE, POOLS[GKE])
    taints = changed["nodeConfig"].pop("taints")
    expected = {**POOLS[GKE], "nodeConfig": {"guestAccelerators": POOLS[GKE]["nodeConfig"]["guestAccelerators"]}}
    assert changed == expected
    assert [taint["key"] for taint in taints] == ["spot", "nvidia.com/gpu"]
    assert taints[1] == {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}


@pytest.mark.parametrize(
    ("token", "properties"),
    [
        (GKE, {"nodeConfig": {"machineType": "e2-standard-2"}}),
        (GKE, remediate(GKE, POOLS[GKE])),
        (GKE, {"nodeConfig": {**POOLS[GKE]["nodeConfig"], "taints": UNKNOWN_STRING_VALUE}}),
        (GKE, {"nodeConfig": {**SECRET, "value": POOLS[GKE]["nodeConfig"]}}),
        ("gcp:container/cluster:Cluster", {"nodePools": [{"nodeConfig": POOLS[GKE]["nodeConfig"]}]}),
    ],
    ids=["no GPUs", "tainted", "unknown taints", "a secret", "inline pools"],
)
def test_what_is_right_uncertain_or_not_one_pool_is_left_alone(token: str, properties: dict[str, Any]) -> None:
    assert remediate(token, properties) is None


def test_what_is_exempt_is_left_alone() -> None:
    exempt = {"resource": "urn:p", "reason": "load test", "expires": "2020-01-31"}
    assert remediate(GKE, POOLS[GKE], {"exemptions": [exempt]}) is not None, "expired"
    current = {**exempt, "expires": today_utc().isoformat()}
    assert remediate(GKE, POOLS[GKE], {"exemptions": [current]}) is None
