"""GPU nodes that come, work and go are told of and disturb nobody; what costs money in vain or breaks is told of.

Prometheus is real, and so are the rules, dashboards and scrape configuration: those that the engine declared on a
rehearsed cluster, with a minute as a second. The metrics come from replacements for two exporters, of the pods and
nodes of that cluster, whose control plane is real: ``state_metrics.py`` and ``gpu_metrics.py``.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from facts.concepts.offer import CONFIG_MAP, NAMESPACE, from_config_map
from facts.concepts.pool import POOL_LABEL
from packages.rehearsal.tests.monitoring import faster, prometheus, state_metrics
from packages.rehearsal.tests.monitoring.exporters import Exporters
from packages.rehearsal.tests.monitoring.gpu_metrics import BUSY_WATTS
from packages.rehearsal.tests.monitoring.prometheus import Labels, Prometheus
from packages.rehearsal.tests.retained_cluster import retained_cluster
from packages.rehearsal.tests.simulated_cluster import PODS, eventually, nodes
from rehearsal.cluster.api import Api, Object
from rehearsal.cluster.kubeconfig import Kubeconfig

pytestmark = [
    pytest.mark.rehearsal,
    pytest.mark.usefixtures("tools"),
    pytest.mark.skipif(prometheus.PROGRAM is None, reason="prometheus is not on PATH (Debian's package prometheus)"),
]
if prometheus.PROGRAM is None:
    warnings.warn("prometheus is not on PATH (Debian's package prometheus): no alert was rehearsed", stacklevel=1)

STACK: Final = "monitored"
SMALL, LARGE = "t4-1", "t4-2"
BUSY: Final = 90.0
IDLE: Final = 0.0
FOR_EVER: Final = 3600
BY_POD: Final = "GPUs: GPU utilisation by pod: A"


@dataclass(frozen=True)
class Monitored:
    """A cluster and its Prometheus. ``jobs``: the stack's own first job of each pool; ``usd``: a node's, an hour.

    ``dashboards``: each query, by dashboard and panel and its letter, with shorter times. ``use``: percent of its GPUs
    that a pod uses, by its name; others are busy.
    """

    api: Api
    prometheus: Prometheus
    jobs: Mapping[str, Object]
    usd: Mapping[str, float]
    dashboards: Mapping[str, str]
    use: dict[str, float]

    def submit(self, name: str, pool: str, on: str | None = None) -> None:
        """A pod that has a whole node of the pool for as long as it is there; ``on``: it says that of another pool."""
        template = self.jobs[pool]["spec"]["template"]
        annotations = {**template["metadata"]["annotations"], "rehearsal.gpucluster.dev/seconds": str(FOR_EVER)}
        spec = {**template["spec"], "nodeSelector": {**template["spec"]["nodeSelector"], POOL_LABEL: on or pool}}
        metadata = {"name": name, "annotations": annotations}
        self.api.create(PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})

    def runs(self, *names: str) -> bool:
        """Whether all of them run."""
        return all(self.api.get(f"{PODS}/{name}")["status"].get("phase") == "Running" for name in names)

    def node_of(self, name: str) -> str:
        """The node that the pod is on."""
        return str(self.api.get(f"{PODS}/{name}")["spec"]["nodeName"])

    def delete(self, *names: str) -> None:
        for name in names:
            self.api.delete(f"{PODS}/{name}", gracePeriodSeconds=0)

    def back_at_zero(self) -> None:
        eventually("no GPU node is left", lambda: not nodes(self.api, SMALL) and not nodes(self.api, LARGE))
        query = "gpucluster:node_pool or gpucluster:gpu_utilisation"
        eventually("Prometheus knows it", lambda: not self.prometheus.now(query))

    def highest(self, start: float) -> dict[str, dict[Labels, float]]:
        """The highest that each query answered since ``start``, by labels."""
        return {
            where: {labels: max(values) for labels, values in self.prometheus.since(query, start).items()}
            for where, query in self.dashboards.items()
        }


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    folder = tmp_path_factory.mktemp("monitored")
    with retained_cluster(Path(__file__).parent / f"{STACK}.yaml", "--day-two", "none") as retained:
        api = Api(Kubeconfig.parse(retained.kubeconfig.read_text()))
        values = _values(json.loads(retained.output(f"pulumi stack export -s {STACK}")))
        (written,) = values["additionalPrometheusRulesMap"].values()
        (rules := folder / "rules.yaml").write_text(yaml.safe_dump(faster.rules(written)))
        through = state_metrics.allowed_labels(values["kube-state-metrics"]["metricLabelsAllowlist"], "nodes")
        use: dict[str, float] = {}
        with Exporters(api, through, lambda name: use.get(name, BUSY)) as exporters:
            configured = prometheus.configuration(values, rules, exporters)
            with prometheus.running(configured, folder) as answers:
                jobs = json.loads(retained.output(f"pulumi stack output -s {STACK} gpuJobs --json"))
                manifests = {pool: yaml.safe_load(job) for pool, job in jobs.items()}
                yield Monitored(api, answers, manifests, _prices(api), _queries(api), use)


def _values(state: Mapping[str, Any]) -> dict[str, Any]:
    """Those that the engine has handed to the chart."""
    releases = [each["inputs"] for each in state["deployment"]["resources"] if each["type"].endswith(":Release")]
    (values,) = [each["values"] for each in releases if each["name"] == "kube-prometheus-stack"]
    result: dict[str, Any] = values
    return result


def _prices(api: Api) -> dict[str, float]:
    """Of a node, by pool, as the cluster tells those who use it."""
    offer = from_config_map(api.get(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}"))
    return {pool.name: pool.nodes.hourly_usd for pool in offer.pools if pool.nodes.hourly_usd is not None}


def _queries(api: Api) -> dict[str, str]:
    """Of the dashboards that Grafana finds in the cluster: https://github.com/grafana/helm-charts, its sidecar."""
    config_maps = api.list("/api/v1/namespaces/monitoring/configmaps", labelSelector="grafana_dashboard=1")
    boards = [json.loads(text) for each in config_maps for text in each["data"].values()]
    panels = [(f"{board['title']}: {panel['title']}", panel) for board in boards for panel in board["panels"]]
    targets = [(title, target) for title, panel in panels for target in panel["targets"]]
    return {f"{title}: {each['refId']}": faster.query(each["expr"]) for title, each in targets}


def labels(**pairs: str) -> Labels:
    return frozenset(pairs.items())


def alert(name: str, **pairs: str) -> Labels:
    return labels(alertname=name, **pairs)


def failed_rules(answers: Prometheus) -> float:
    """How often a rule could not be judged: its sides did not match one to one, for example."""
    counted = answers.metrics()
    name = "prometheus_rule_evaluation_failures_total"
    return sum(value for metric, value in counted.items() if metric.startswith(name))


def test_a_pool_that_works_and_is_deleted_has_metrics_and_no_alert_fires(monitored: Monitored) -> None:
    """From zero to two nodes and back."""
    answers = monitored.prometheus
    eventually("nodes are told of", lambda: answers.now("count(kube_node_info)"))
    monitored.back_at_zero()
    start = time.time()
    for name in ("one", "two"):
        monitored.submit(name, SMALL)
    eventually("they run", lambda: monitored.runs("one", "two"))
    eventually("their GPUs are measured", lambda: len(answers.now(monitored.dashboards[BY_POD])) == 2)
    monitored.delete("one", "two")
    monitored.back_at_zero()
    small, cost = labels(pool=SMALL), 2 * monitored.usd[SMALL]
    pods = {name: labels(namespace="default", pod=name) for name in ("one", "two")}
    named = {record: labels(__name__=f"gpucluster:{record}_usd_per_hour") for record in ("pool", "namespace")}
    highest = monitored.highest(start)
    del highest["GPUs: Idle GPU-hours of the last day: A"]  # Too short to be measured; see the other test.
    assert highest == {
        "GPUs: GPU utilisation by pool: A": {small: BUSY},
        BY_POD: dict.fromkeys(pods.values(), BUSY),
        "GPUs: GPU memory in use: A": dict.fromkeys(pods.values(), pytest.approx(BUSY / 100)),
        "GPUs: GPU errors (XID): A": {},
        "GPUs: Power: A": {small: 2 * BUSY_WATTS},
        "Pools and money: Nodes by pool: A": {small: 2},
        "Pools and money: Pods that wait, by reason: A": {labels(reason="no node yet"): 2},
        "Pools and money: $ an hour by pool (list price): A": {small | named["pool"]: pytest.approx(cost, abs=1e-3)},
        "Pools and money: $ an hour by team (namespace): A": {
            labels(namespace="default") | named["namespace"]: pytest.approx(cost, abs=1e-3)
        },
        # While they are idle, before they go.
        "Pools and money: $ an hour by team (namespace): B": {labels(): pytest.approx(cost, abs=1e-3)},
        "Pools and money: GPUs asked for and idle: A": {labels(): 2},
        "Pools and money: GPUs asked for and idle: B": {labels(): 2},
        "Pools and money: Nodes taken away in an hour: A": {},
    }
    assert answers.fired(start) == set()
    assert failed_rules(answers) == 0


def test_alerts_fire_for_idle_cost_and_failures_and_nothing_else(monitored: Monitored) -> None:
    """Each alert for its own reason, while a busy pod beside it gives none; they end with what they are about."""
    answers, start = monitored.prometheus, time.time()
    monitored.use["lazy"] = IDLE
    taken = ("taken-1", "taken-2", "taken-3")
    for name in ("lazy", *taken):
        monitored.submit(name, SMALL)
    for name in ("busy", "before"):
        monitored.submit(name, LARGE)
    monitored.submit("stuck", SMALL, on="t4-9")
    running = ("lazy", *taken, "busy", "before")
    eventually("all run but the one that no pool takes", lambda: monitored.runs(*running))
    kept_by = monitored.node_of("before")
    monitored.api.create(PODS, left_behind(kept_by))
    eventually("it keeps the node", lambda: monitored.runs("left-behind"))
    monitored.delete("before")
    on_them = answers_for(answers, {monitored.node_of(name) for name in taken})
    eventually("Prometheus has known for minutes what runs on the nodes that go", on_them)
    for name in taken:
        monitored.api.delete(f"/api/v1/nodes/{monitored.node_of(name)}")
    expected = {
        alert("GpuPodPendingTooLong", namespace="default", pod="stuck"),
        alert("GpuIdleWhilePaidFor", namespace="default", pod="lazy", pool=SMALL),
        alert("GpuPoolNotBackAtZero", node=kept_by, pool=LARGE),
        alert("GpuNodesTakenAwayOften", pool=SMALL),
    }
    eventually("all fire", lambda: expected <= answers.fired(start))
    assert answers.fired(start) == expected
    highest = monitored.highest(start)
    assert highest["Pools and money: Nodes taken away in an hour: A"] == {labels(pool=SMALL): 3}
    assert highest["GPUs: Idle GPU-hours of the last day: A"][labels(pool=LARGE)] > 0
    waiting = answers.now(monitored.dashboards["Pools and money: Pods that wait, by reason: A"])
    assert waiting == {labels(reason="no node yet"): 1}
    assert answers.now(monitored.dashboards["Pools and money: GPUs asked for and idle: B"]) == {labels(): 2}
    monitored.delete(*running, "stuck", "left-behind")
    monitored.back_at_zero()
    eventually("no alert is left", lambda: not answers.now("ALERTS"))
    assert failed_rules(answers) == 0


def left_behind(node: str) -> Object:
    """A pod without a GPU that somebody put on that node, past the scheduler."""
    container = {"name": "main", "image": "example.com/image", "command": ["sleep", str(FOR_EVER)]}
    spec = {"nodeName": node, "tolerations": [{"operator": "Exists"}], "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "left-behind"}, "spec": spec}


def answers_for(answers: Prometheus, expected: set[str]) -> Callable[[], bool]:
    """Whether it has known of GPUs in use on all ``wanted`` nodes for as long as a node's end is told by."""
    query = faster.query("gpucluster:pod_gpus offset 3m and on (node) gpucluster:node_pool offset 3m")
    return lambda: expected <= {dict(sample)["node"] for sample in answers.now(query)}
