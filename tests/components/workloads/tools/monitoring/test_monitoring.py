"""The exporter is on GPU nodes alone and disturbs nobody; alerts come in time; dashboards ask what can be answered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from components.clouds.base import load_cloud
from components.clouds.gpu_exporter import gpu_exporter
from components.published_offer import daemons_of, offer
from components.settings import from_stack_file
from components.settings.sections.tools import Prometheus
from components.workloads.monitoring import dashboards, rules, values
from facts.concepts.pool import POOL_LABEL
from tests.components.specs import changed, given
from tests.components.workloads.tools.monitoring import EXPORTED
from tests.components.workloads.tools.stacks import CLOUDS, RELEASE, releases, with_all, with_one
from tests.stacks import ROOT

HERE = Path(__file__).parent
LAB = from_stack_file(ROOT / "examples" / "research-lab.yaml")
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
PROMTOOL = shutil.which("promtool")
with_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on PATH (Debian's package prometheus)")
if PROMTOOL is None:
    warnings.warn("promtool is not on PATH (Debian's package prometheus): no alert or query was tried", stacklevel=1)


def exporters(cloud: str) -> list[dict[str, Any]]:
    daemons = [each.inputs for each in with_all(cloud).of_type(DAEMON_SET)]
    return [each for each in daemons if each["metadata"]["name"].startswith("dcgm-exporter")]


@every_cloud
def test_the_exporter_is_on_every_gpu_pool_and_nowhere_else(cloud: str) -> None:
    pools = with_all(cloud).stack_outputs["pools"]
    placed = set()
    for each in exporters(cloud):
        pod = each["spec"]["template"]["spec"]
        (term,) = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        (expression,) = term["matchExpressions"]
        assert expression["key"] == POOL_LABEL
        placed |= {*expression["values"]}
        tolerated = {each["key"] for each in pod["tolerations"]}
        assert all(taint["key"] in tolerated for name in expression["values"] for taint in pools[name]["taints"])
    assert placed == set(pools)


@every_cloud
def test_the_exporter_ends_no_job_to_have_room(cloud: str) -> None:
    for each in exporters(cloud):
        pod = each["spec"]["template"]["spec"]
        assert "priorityClassName" not in pod
        assert pod["automountServiceAccountToken"] is False


@every_cloud
def test_what_a_pod_can_ask_for_leaves_room_for_the_exporter(cloud: str) -> None:
    def offered(key: str) -> dict[str, Any]:
        recording = with_one(cloud, key)
        (pools,) = [each for each in recording.resources if each.name == "offer-pools"]
        return {pool["name"]: pool for pool in json.loads(pools.inputs["data"]["offer.json"])["pools"]}

    before, after = offered("dashboard"), offered("monitoring")
    for name, pool in after.items():
        assert before[name]["milli_cpu"] - pool["milli_cpu"] == 100
        assert before[name]["memory_mib"] - pool["memory_mib"] == 256


def test_without_monitoring_nothing_is_on_gpu_nodes() -> None:
    unmeasured = given(LAB, workloads=LAB.workloads.model_copy(update={"monitoring": None}))
    assert daemons_of(load_cloud("gke"), unmeasured, LAB.gpu_pools) == ()
    assert offer(unmeasured, LAB.gpu_pools, (), {}).pools[0].milli_cpu is not None


def test_grafana_has_a_password_of_its_own() -> None:
    grafana = releases(with_all("gke"))["kube-prometheus-stack"]["values"]["grafana"]
    assert grafana["admin"] == {"existingSecret": "grafana-login", "userKey": "user", "passwordKey": "password"}
    assert "adminPassword" not in grafana


@every_cloud
def test_only_its_own_pods_reach_what_answers_without_a_login(cloud: str) -> None:
    """Prometheus knows all namespaces, and ends at a request; Alertmanager takes silences of anybody."""
    recording = with_one(cloud, "monitoring")
    (policy,) = recording.of_type("kubernetes:networking.k8s.io/v1:NetworkPolicy")
    assert policy.inputs["metadata"]["namespace"] == "monitoring"
    own = {"podSelector": {}, "policyTypes": ["Ingress"], "ingress": [{"from": [{"podSelector": {}}]}]}
    assert policy.inputs["spec"] == own, "a peer without a namespaceSelector is of the policy's own namespace"
    assert policy.urn in recording.of_type(RELEASE)[0].depends_on, "it holds before the first pod"


@pytest.mark.parametrize("secret", [None, "alerts"])
def test_alerts_reach_somebody_only_if_it_is_said_whom(secret: str | None) -> None:
    alertmanager = values(Prometheus.model_validate({"alertmanagerSecret": secret}), LAB, LAB.gpu_pools)["alertmanager"]
    assert alertmanager["enabled"] == (secret is not None)
    assert alertmanager["alertmanagerSpec"].get("configSecret") == secret


@pytest.mark.parametrize(("minutes", "waits"), [(1, "31m"), (600, "630m")])
def test_an_idle_node_is_unusual_only_after_the_time_that_it_may_be_idle(minutes: int, waits: str) -> None:
    pools = [changed(pool, unneeded_minutes=minutes) for pool in LAB.gpu_pools]
    every = [rule for group in rules(LAB, pools)["groups"] for rule in group["rules"]]
    (alert,) = [rule for rule in every if rule.get("alert") == "GpuPoolNotBackAtZero"]
    assert alert["for"] == waits


def test_measurements_are_dropped_before_their_volume_is_full() -> None:
    for size in (10, 50, 16384):
        spec = values(Prometheus.model_validate({"diskGb": size}), LAB, LAB.gpu_pools)["prometheus"]["prometheusSpec"]
        claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"]
        assert claim == f"{size}Gi"
        assert 0 < int(spec["retentionSize"].removesuffix("GB")) <= 0.9 * size


def queries() -> dict[str, str]:
    """Each query of each dashboard, by where it stands."""
    boards = [json.loads(text) for each in dashboards() for text in each["data"].values()]
    panels = [(f"{board['title']}: {panel['title']}", panel) for board in boards for panel in board["panels"]]
    return {f"{title}: {each['refId']}": each["expr"] for title, panel in panels for each in panel["targets"]}


def written_rules() -> list[dict[str, Any]]:
    return [rule for group in rules(LAB, LAB.gpu_pools)["groups"] for rule in group["rules"]]


def asked_for(expression: str) -> set[str]:
    """The measurements that a query names: its words but for functions, operators, labels and what is in quotes."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^]]*\]|\boffset \w+', " ", expression)
    bare = re.sub(r"\b(by|on|ignoring|without|group_left|group_right)\s*\([^)]*\)", " ", bare)
    words = {each[0] for each in re.finditer(r"[A-Za-z_][\w:]*(?!\w)(?!\s*\()", bare)}
    return words - {"and", "or", "unless", "bool"}


def test_rules_and_dashboards_ask_for_what_is_exported_or_made_of_it() -> None:
    known = {name for exporter in EXPORTED.values() for name in exporter}
    known |= {rule["record"] for rule in written_rules() if "record" in rule}
    for expression in (*queries().values(), *(rule["expr"] for rule in written_rules())):
        assert asked_for(expression) <= known, expression
    query = 'sum by (pool) (rate(node_cpu{a="b"}[5m])) / on (x) group_left () count(gpucluster:y) or up'
    assert asked_for(query) == {"node_cpu", "gpucluster:y", "up"}


@every_cloud
def test_exporters_are_told_to_export_it(cloud: str) -> None:
    recording = with_all(cloud)
    measured = [one for one in recording.of_type("kubernetes:core/v1:ConfigMap") if "counters.csv" in str(one.inputs)]
    assert measured
    for each in measured:
        lines = each.inputs["data"]["counters.csv"].splitlines()
        assert {line.split(",")[0] for line in lines} == set(EXPORTED["dcgm-exporter"])
    (whole, slices) = (gpu_exporter([changed(pool, mig=mig) for pool in LAB.gpu_pools]) for mig in (None, "1g"))
    more = {*slices[0].files["counters.csv"].splitlines()} - {*whole[0].files["counters.csv"].splitlines()}
    assert {line.split(",")[0] for line in more} == set(EXPORTED["dcgm-exporter of slices"])
    (allowed,) = releases(recording)["kube-prometheus-stack"]["values"]["kube-state-metrics"]["metricLabelsAllowlist"]
    labels = re.fullmatch(r"nodes=\[(.*)\]", allowed)
    assert labels is not None
    through = {"label_" + re.sub(r"\W", "_", label) for label in labels[1].split(",")}
    assert {"node", *through} == set(EXPORTED["kube-state-metrics"]["kube_node_labels"])


@pytest.mark.parametrize("file", ["alerts.yaml", "dashboards.yaml"])
def test_tests_of_rules_measure_what_exporters_can_tell(file: str) -> None:
    scraped = {each["target_label"] for each in _scraped()["relabel_configs"] if "target_label" in each}
    labels = {name: {*names} for exporter in EXPORTED.values() for name, names in exporter.items()}
    for name in (*EXPORTED["dcgm-exporter"], *EXPORTED["dcgm-exporter of slices"]):
        labels[name] |= scraped
    for test in yaml.safe_load((HERE / file).read_text())["tests"]:
        for series in test["input_series"]:
            name, _, rest = series["series"].partition("{")
            assert set(re.findall(r'(\w+)="', rest)) <= labels[name], series["series"]


def _scraped() -> dict[str, Any]:
    spec = values(Prometheus(), LAB, LAB.gpu_pools)["prometheus"]["prometheusSpec"]
    (scraped,) = spec["additionalScrapeConfigs"]
    return scraped


def test_each_dashboard_is_its_own_and_reads_the_charts_source() -> None:
    boards = [json.loads(text) for each in dashboards() for text in each["data"].values()]
    assert len({board["uid"] for board in boards}) == len(boards)
    for board in boards:
        assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
        assert {panel["datasource"]["uid"] for panel in board["panels"]} == {"prometheus"}


def run(tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    assert PROMTOOL is not None
    return subprocess.run([PROMTOOL, *arguments], cwd=tmp_path, text=True, capture_output=True, check=False)


@with_promtool
def test_prometheus_takes_the_rules_and_the_dashboards_queries(tmp_path: Path) -> None:
    written = rules(LAB, LAB.gpu_pools)
    asked = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(queries().values())]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(written))
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": asked}]}))
    done = run(tmp_path, "check", "rules", "rules.yaml", "queries.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "queries.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "queries", "rules": [{"record": "query:0", "expr": "sum by ("}]}]})
    )
    assert run(tmp_path, "check", "rules", "queries.yaml").returncode != 0


def tried(tmp_path: Path, tests: dict[str, Any]) -> subprocess.CompletedProcess[str]:
    """``tests`` of rules on two pools at $0.25 an hour, of which t4-2 keeps a node."""
    pools = [changed(pool, hourly_usd=0.25, min_nodes=int(pool.name == "t4-2")) for pool in LAB.gpu_pools]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules(LAB, pools)))
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests))
    return run(tmp_path, "test", "rules", "tests.yaml")


@with_promtool
def test_alerts_come_when_they_should_and_not_before(tmp_path: Path) -> None:
    tests = yaml.safe_load((HERE / "alerts.yaml").read_text())
    tested = {each["alertname"] for test in tests["tests"] for each in test.get("alert_rule_test", ())}
    assert tested == {rule["alert"] for rule in written_rules() if "alert" in rule}
    done = tried(tmp_path, tests)
    assert done.returncode == 0, done.stdout + done.stderr


def samples(answer: Mapping[str, float]) -> list[dict[str, Any]]:
    return [{"labels": series, "value": value} for series, value in answer.items()]


# "<dashboard>: <panel>: <query>" → series → its value, of the measurements in dashboards.yaml.
ANSWERS: Final[Mapping[str, Mapping[str, float]]] = {
    "GPUs: GPU utilisation by pool: A": {'{pool="t4-2"}': 40},
    "GPUs: GPU utilisation by pod: A": {'{namespace="vision", pod="p"}': 80},
    "GPUs: GPU memory in use: A": {'{namespace="vision", pod="p"}': 0.2},
    # One GPU of n1 and two of n2 in the two hours that there are measurements of, a sample every five minutes.
    "GPUs: Idle GPU-hours of the last day: A": {'{pool="t4-2"}': 6.25},
    "GPUs: GPU errors (XID): A": {'{node="n1", gpu="1"}': 79},
    "GPUs: Power: A": {'{pool="t4-2"}': 70},
    "Pools and money: Nodes by pool: A": {'{pool="t4-2"}': 2},
    "Pools and money: Pods that wait, by reason: A": {'{reason="no node yet"}': 1, '{reason="ContainerCreating"}': 1},
    "Pools and money: $ an hour by pool (list price): A": {'gpucluster:pool_usd_per_hour{pool="t4-2"}': 0.5},
    "Pools and money: $ an hour by team (namespace): A": {
        'gpucluster:namespace_usd_per_hour{namespace="vision"}': 0.125
    },
    "Pools and money: $ an hour by team (namespace): B": {"{}": 0.375},
    "Pools and money: GPUs asked for and idle: A": {"{}": 1},
    "Pools and money: GPUs asked for and idle: B": {"{}": 3},
    "Pools and money: Nodes taken away in an hour: A": {'{pool="t4-2"}': 1},
}


@with_promtool
def test_every_query_of_every_dashboard_answers_what_it_says(tmp_path: Path) -> None:
    tests = yaml.safe_load((HERE / "dashboards.yaml").read_text())
    assert ANSWERS.keys() == set(queries())
    (test,) = tests["tests"]
    test["promql_expr_test"] = [
        {"expr": query, "eval_time": "2h", "exp_samples": samples(ANSWERS[where])} for where, query in queries().items()
    ]
    done = tried(tmp_path, tests)
    assert done.returncode == 0, done.stdout + done.stderr
