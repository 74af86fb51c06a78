"""Which charts and values the Kubernetes stand-in takes, and which objects come of them."""

from __future__ import annotations

from typing import Any

import pytest

from rehearsal.providers.base import UNKNOWN, CheckFailure
from rehearsal.providers.kubernetes.helm import karpenter
from rehearsal.providers.kubernetes.helm.chart import Chart, Target
from rehearsal.providers.kubernetes.helm.charts import find

TARGET = Target("karpenter", "kube-system", "1.8.8")
NEEDED = {"settings": {"clusterName": "demo"}}


def rendered(values: dict[str, Any], target: Target = TARGET) -> dict[str, dict[str, Any]]:
    """Kind → object; of several of one kind the last."""
    given = {**values, "settings": {**NEEDED["settings"], **values.get("settings", {})}}
    return {each["kind"]: each for each in karpenter.CHART.render(target, karpenter.CHART.merged(given))}


def pod(values: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = rendered(values)["Deployment"]["spec"]["template"]["spec"]
    return found


def environment(values: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in pod(values)["containers"][0]["env"]}


@pytest.mark.parametrize(
    ("inputs", "refused"),
    [
        ({"chart": karpenter.SOURCE, "version": "1.8.8"}, ""),
        ({"chart": "karpenter", "repositoryOpts": {"repo": "oci://public.ecr.aws/karpenter/"}, "version": "1.8.0"}, ""),
        ({"chart": karpenter.SOURCE, "version": UNKNOWN}, ""),
        ({"chart": karpenter.SOURCE, "version": "1.8.99"}, "in version 1.8.99; the rehearsal knows 1.8.0"),
        ({"chart": karpenter.SOURCE}, "the version is not pinned"),
        ({"chart": "karpenter", "version": "1.8.8"}, "the chart karpenter is not simulated"),
        (
            {"chart": "redis", "repositoryOpts": {"repo": "https://charts.example.com"}},
            f"the chart https://charts.example.com/redis is not simulated; the rehearsal knows {karpenter.SOURCE}",
        ),
    ],
)
def test_known_charts(inputs: dict[str, Any], refused: str) -> None:
    found = find(inputs)
    assert isinstance(found, CheckFailure if refused else Chart)
    assert not isinstance(found, CheckFailure) or refused in found.reason


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        (NEEDED, None),
        ({**NEEDED, "nodeSelector": {"anything": "goes"}}, None),
        ({**NEEDED, "controller": {"resources": {"requests": {"cpu": "1"}}}}, None),
        ({"settings": {"clusterName": "demo", "interruptionQueue": UNKNOWN}}, None),
        ({"settings": UNKNOWN}, None),
        (UNKNOWN, None),
        ({}, "values.settings.clusterName"),
        ({"settings": {"clusterName": ""}}, "values.settings.clusterName"),
        ({"settings": {"clusterName": "demo", "clustername": "x"}}, "values.settings.clustername"),
        ({**NEEDED, "replicaCount": 1}, "values.replicaCount"),
        ({**NEEDED, "controller": "big"}, "values.controller"),
        ({**NEEDED, "replicas": [1]}, "values.replicas"),
    ],
)
def test_values_by_name(values: Any, refused: str | None) -> None:
    assert [each.property for each in karpenter.CHART.failures(values)] == ([refused] if refused else [])


def test_settings_reach_the_controller_and_empty_ones_are_left_out() -> None:
    plain = environment({})
    assert plain["CLUSTER_NAME"] == "demo"
    assert "INTERRUPTION_QUEUE" not in plain
    assert environment({"settings": {"interruptionQueue": "q"}})["INTERRUPTION_QUEUE"] == "q"
    assert "StaticCapacity=false" in plain["FEATURE_GATES"]
    gates = {"featureGates": {"staticCapacity": True}}
    assert "StaticCapacity=true" in environment({"settings": gates})["FEATURE_GATES"]


def test_the_image_follows_the_charts_version_unless_given() -> None:
    assert pod({})["containers"][0]["image"] == "public.ecr.aws/karpenter/controller:1.8.8"
    image = {"repository": "example.com/karpenter", "tag": "1.8.9", "digest": "sha256:00"}
    assert pod({"controller": {"image": image}})["containers"][0]["image"] == "example.com/karpenter:1.8.9@sha256:00"


@pytest.mark.parametrize(
    ("account", "expected", "made"),
    [
        ({}, "karpenter", True),
        ({"name": "robot"}, "robot", True),
        ({"create": False, "name": "robot"}, "robot", False),
        ({"create": False}, "default", False),
    ],
)
def test_the_pods_service_account(account: dict[str, Any], expected: str, made: bool) -> None:
    values = {"serviceAccount": account}
    assert pod(values)["serviceAccountName"] == expected
    assert ("ServiceAccount" in rendered(values)) is made
    assert rendered(values)["ClusterRoleBinding"]["subjects"][0]["name"] == expected


@pytest.mark.parametrize(
    ("release", "values", "expected"),
    [
        ("karpenter", {}, "karpenter"),
        ("my-karpenter-2", {}, "my-karpenter-2"),
        ("autoscaler", {}, "autoscaler-karpenter"),
        ("autoscaler", {"nameOverride": "scaler"}, "autoscaler"),
        ("autoscaler", {"fullnameOverride": "other"}, "other"),
    ],
)
def test_names_as_helm_makes_them(release: str, values: dict[str, Any], expected: str) -> None:
    assert rendered(values, Target(release, "kube-system", "1.8.8"))["Deployment"]["metadata"]["name"] == expected


def test_no_two_controllers_share_a_node_and_none_is_on_a_node_of_its_own() -> None:
    affinity = pod({})["affinity"]
    terms = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms[0]["labelSelector"]["matchLabels"] == rendered({})["Deployment"]["spec"]["selector"]["matchLabels"]
    own = affinity["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert own == [{"matchExpressions": [{"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}]}]


def test_maps_are_merged_lists_replaced_and_nulls_remove() -> None:
    assert pod({"nodeSelector": {"role": "admin"}})["nodeSelector"] == {"kubernetes.io/os": "linux", "role": "admin"}
    assert pod({"tolerations": [{"key": "a"}]})["tolerations"] == [{"key": "a"}]
    assert pod({"nodeSelector": {"kubernetes.io/os": None, "role": "admin"}})["nodeSelector"] == {"role": "admin"}
