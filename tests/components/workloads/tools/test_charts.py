"""Charts of others: pinned, on the admin pool alone, for the cluster alone, asked for before they come."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from components.settings.sections.workloads import Workloads
from components.workloads.charts import ON_ADMIN
from components.workloads.declare import charts_of
from facts.concepts.kubernetes import quantity
from rehearsal.providers.kubernetes.helm.chart_placeholders import known_charts
from rehearsal.providers.kubernetes.helm.charts import locate
from tests.components.workloads.stacks import run
from tests.components.workloads.tools.stacks import CLOUDS, RELEASE, TOOLS, places, releases, with_all, with_one

every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
every_tool = pytest.mark.parametrize("key", TOOLS)

# Pods of a chart that there are none of: where they are described, and the switch that is off.
NO_PODS = {
    "kueueViz.backend": "enableKueueViz",
    "kueueViz.frontend": "enableKueueViz",
    "prePuller.hook": "prePuller.hook.enabled",
    "proxy.traefik": "proxy.https.enabled",
    "scheduling.userScheduler": "scheduling.userScheduler.enabled",
    "grafana.imageRenderer": "grafana.imageRenderer.enabled",
    "prometheusOperator.admissionWebhooks.deployment": "prometheusOperator.admissionWebhooks.enabled",
    "prometheusOperator.admissionWebhooks.patch": "prometheusOperator.admissionWebhooks.enabled",
}
# https://cloud.google.com/kubernetes-engine/docs/concepts/firewall-rules#cluster-fws
LET_THROUGH = {443, 10250}
# Their place is chosen on the page.
NOTEBOOKS = "singleuser"


def written(key: str) -> Workloads:
    return Workloads.model_validate({key: TOOLS[key]})


def at(values: Any, path: str) -> Any:
    for key in path.split("."):
        values = values.get(key) if isinstance(values, dict) else None
    return values


def unknown(values: Any, keys: Any, path: str = "") -> list[str]:
    """Keys that the chart does not have."""
    if not isinstance(values, dict) or not isinstance(keys, dict):
        return []
    return [
        wrong
        for key, value in values.items()
        for wrong in ([f"{path}{key}"] if key not in keys else unknown(value, keys[key], f"{path}{key}."))
    ]


@every_cloud
def test_a_stack_that_asks_for_no_tool_gets_none(cloud: str) -> None:
    assert not [each for each in run(cloud).of_type(RELEASE) if not each.name.startswith("autoscaler")]


@every_cloud
@every_tool
def test_each_tool_is_pinned_charts_that_wait_for_their_namespace(cloud: str, key: str) -> None:
    recording = with_one(cloud, key)
    for chart in charts_of(written(key)):
        made = recording.called(RELEASE, chart.name)
        assert (made.inputs["version"], made.inputs["namespace"]) == (chart.version, chart.namespace)
        space = recording.called("kubernetes:core/v1:Namespace", chart.namespace)
        assert space.urn in made.depends_on
        assert not made.inputs.get("skipAwait")


@every_cloud
def test_their_values_have_no_key_that_the_chart_does_not_know(cloud: str) -> None:
    known = {chart.name: chart for chart in known_charts().values()}
    for name, inputs in releases(with_all(cloud)).items():
        assert unknown(inputs["values"], known[name].values) == []
    assert unknown({"proxy": {"service": {"typo": 1}}}, known["jupyterhub"].values) == ["proxy.service.typo"]


@every_cloud
def test_every_pod_of_theirs_is_on_the_admin_pool(cloud: str) -> None:
    known = {chart.name: chart for chart in known_charts().values()}
    for name, inputs in releases(with_all(cloud)).items():
        values = inputs["values"]
        placed = {".".join(path): selector for path, selector in places(values, "nodeSelector")}
        assert all(selector == ON_ADMIN for selector in placed.values())
        if "" in placed:
            continue  # of all pods that have none of their own
        could_be = {".".join(path) for path, _ in places(known[name].values, "nodeSelector")}
        for where in could_be - {*placed, NOTEBOOKS}:
            assert not at(values, NO_PODS[where]), where


@every_cloud
def test_nothing_of_theirs_is_reached_from_outside(cloud: str) -> None:
    for name, inputs in releases(with_all(cloud)).items():
        kinds = {str(kind) for path, kind in places(inputs["values"], "type") if path[-1:] == ("service",)}
        assert kinds <= {"ClusterIP"}, name
    assert at(releases(with_all(cloud))["jupyterhub"]["values"], "proxy.service.type") == "ClusterIP"


@every_cloud
def test_a_control_plane_behind_a_firewall_reaches_their_webhooks_and_apis(cloud: str) -> None:
    values = {name: inputs["values"] for name, inputs in releases(with_all(cloud)).items()}
    (webhook,) = at(values, "kueue.webhookService.ports")
    listening = yaml.safe_load(at(values, "kueue.managerConfig.controllerManagerConfigYaml"))
    written = [at(values, f"keda.{path}") for path in ("webhooks.port", "service.portHttpsTarget")]
    asked = [webhook["targetPort"], listening["webhook"]["port"], *written]
    assert {*asked} <= LET_THROUGH
    assert at(values, "kube-prometheus-stack.prometheusOperator.admissionWebhooks.enabled") is False


@every_cloud
@every_tool
def test_their_pods_ask_for_what_the_settings_count(cloud: str, key: str) -> None:
    tool, made = written(key).tools[key], releases(with_one(cloud, key))
    values = {chart.name: made[chart.name]["values"] for chart in charts_of(written(key))}
    # Grafana has two sidecars of one description; without a Secret there is no Alertmanager.
    small = [one for one in places(values, "requests") if "storage" not in one[1] and "alertmanagerSpec" not in one[0]]
    of_pods = [requests for path, requests in small for _ in range(2 if "sidecar" in path else 1)]
    assert sum(quantity(each["cpu"]) for each in of_pods) * 1000 == sum(each.milli_cpu for each in tool.asked)
    assert sum(quantity(each["memory"]) for each in of_pods) == sum(each.memory_mib for each in tool.asked) * 1024**2


@every_tool
def test_a_rehearsal_without_the_chart_knows_its_values(key: str) -> None:
    for chart in charts_of(written(key)):
        chart_values = locate(chart.where, None)
        assert chart_values is not None
        assert (chart_values.name, chart_values.version, chart_values.empty) == (chart.name, chart.version, True)
