"""What the accounts of other people's charts may do: all of it is recorded, and what reaches far is on purpose."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.components.workloads.tools.rights import RECORD, archive, installed, rendered
from tests.components.workloads.tools.stacks import CLOUDS, releases, with_all

RIGHTS: dict[str, Any] = yaml.safe_load(RECORD.read_text())
FAR: dict[str, str] = {
    # The chart has no value that narrows it: templates/prometheus-operator/clusterrole.yaml of version 88.5.3.
    "kube-prometheus-stack-operator: * configmaps, secrets": "the operator writes Prometheus' configuration as Secrets",
    "kube-prometheus-stack-operator: * statefulsets.apps": "Prometheus and Alertmanager are StatefulSets",
    # Neither has KEDA's: templates/manager/clusterrole.yaml of version 2.20.2.
    "keda-operator: create, delete, get, list, patch, update, watch jobs.batch": "its ScaledJobs are Jobs",
    # It admits and stops other people's jobs: https://kueue.sigs.k8s.io/docs/concepts/
    "kueue-controller-manager: delete, get, list, patch, update, watch jobs.batch": "it suspends and resumes them",
    "kueue-controller-manager: delete, get, list, patch, update, watch pods": "it takes away their gates",
}
"""What reaches far, and why."""
_OF_ONE_NAMESPACE = re.compile(r"^[^:]* in (?!kube-system)\S+:|^users with ")
_REACHES = re.compile(
    r"\bsecrets\b|(?<=[ ,])\*\.|pods/exec|pods/attach|nodes/proxy|serviceaccounts/token"
    r"|: [^:]*\b(?:bind|escalate|impersonate)\b"
    r"|: [^:]*\b(?:create|update|patch)\b[^:]*\b(?:clusterroles|clusterrolebindings|roles|rolebindings)\b"
    # Pods, and what makes pods, of any service account.
    r"|: [^:]*\b(?:create|update|patch)\b[^:]* (?:pods|\w+\.apps|jobs\.batch|cronjobs\.batch)(?:,|$)"
)
_EVERY_VERB = re.compile(r": \* (?P<resources>.*)$")
_OWN_KINDS = (".metallb.io", ".monitoring.coreos.com")


def reaches_far(line: str) -> bool:
    """Whether an account reads Secrets, becomes another one or changes what runs, outside of its tool's namespace."""
    if _OF_ONE_NAMESPACE.match(line):
        return False
    everything = _EVERY_VERB.search(line)
    others = [one for one in everything["resources"].split(", ") if not one.endswith(_OWN_KINDS)] if everything else []
    return bool(_REACHES.search(line) or others)


def test_every_chart_has_a_record_of_the_version_that_is_installed() -> None:
    versions = {name: inputs["version"] for name, inputs in installed().items()}
    assert versions == {name: each["version"] for name, each in RIGHTS.items()}, "write the record (rights.py)"


def test_no_account_of_a_tool_reads_secrets_or_writes_what_it_likes_everywhere() -> None:
    assert {line for each in RIGHTS.values() for line in each["rights"] if reaches_far(line)} == {*FAR}


@pytest.mark.parametrize(
    ("line", "reaches"),
    [
        ("keda-operator: list, watch secrets", True),
        ("keda-operator: get *.*", True),
        ("a: * pods", True),
        ("a: * *", True),
        ("a: * probes.monitoring.coreos.com, probes/status.monitoring.coreos.com", False),
        ("a: * pods, probes.monitoring.coreos.com", True),
        ("a: create pods/exec", True),
        ("a: get nodes/proxy", True),
        ("a: create, patch clusterrolebindings.rbac.authorization.k8s.io", True),
        ("a: bind clusterroles.rbac.authorization.k8s.io", True),
        ("a in kube-system: get secrets", True),
        ("a in monitoring: get secrets", False),
        ("a: get, list pods, services", False),
        ("a: get, list clusterroles.rbac.authorization.k8s.io", False),
    ],
)
def test_what_reaches_far(line: str, reaches: bool) -> None:
    assert reaches_far(line) is reaches


@pytest.mark.parametrize("cloud", CLOUDS)
def test_the_values_that_narrow_them_are_set(cloud: str) -> None:
    values = {name: inputs["values"] for name, inputs in releases(with_all(cloud)).items()}
    grafana = values["kube-prometheus-stack"]["grafana"]
    assert grafana["rbac"] == {"namespaced": True}
    for sidecar in ("dashboards", "datasources"):
        assert grafana["sidecar"][sidecar] == {"searchNamespace": "monitoring", "resource": "configmap"}
    assert values["kube-prometheus-stack"]["kube-state-metrics"]["collectorsExclude"] == ["secrets"]
    for part in ("operator", "metricServer"):
        assert values["keda"]["permissions"][part] == {"restrict": {"secret": True}}
    assert values["keda"]["rbac"] == {"enabledCustomScaledRefKinds": False}
    assert values["headlamp"]["clusterRoleBinding"] == {"create": False}


@pytest.mark.parametrize("name", RIGHTS)
def test_the_record_is_what_helm_renders(name: str) -> None:
    inputs = installed()[name]
    chart: Path | None = archive(name, inputs["version"])
    if chart is None:
        pytest.skip(f"needs helm on PATH and {name}-{inputs['version']}.tgz in the folder $GPUCLUSTER_CHARTS")
    assert rendered(inputs, chart) == RIGHTS[name]["rights"]
