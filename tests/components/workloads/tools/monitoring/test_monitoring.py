"""The exporter is on GPU nodes alone and disturbs nobody; alerts come in time; dashboards ask what can be answered."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.clouds.base import load_cloud
from components.published_offer import daemons_of, offer
from components.settings import from_stack_file
from components.settings.tools import Prometheus
from components.workloads.monitoring import dashboards, rules, values
from concepts.pool import POOL_LABEL
from tests.components.workloads.tools.stacks import CLOUDS, releases, with_all, with_one
from tests.stacks import ROOT

HERE = Path(__file__).parent
LAB = from_stack_file(ROOT / "examples" / "research-lab.yaml")
DAEMON_SET = "kubernetes:apps/v1:DaemonSet"
every_cloud = pytest.mark.parametrize("cloud", CLOUDS)
PROMTOOL = shutil.which("promtool")
with_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not on PATH (Debian's package prometheus)")


def exporters(cloud: str) -> list[dict[str, Any]]:
    found = [each.inputs for each in with_all(cloud).of_type(DAEMON_SET)]
    return [each for each in found if each["metadata"]["name"].startswith("dcgm-exporter")]


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
    unmeasured = replace(LAB, workloads=LAB.workloads.model_copy(update={"monitoring": None}))
    assert daemons_of(load_cloud("gke"), unmeasured, LAB.gpu_pools) == ()
    assert offer(unmeasured, LAB.gpu_pools, (), {}).pools[0].milli_cpu is not None


def test_grafana_has_a_password_of_its_own() -> None:
    grafana = releases(with_all("gke"))["kube-prometheus-stack"]["values"]["grafana"]
    assert grafana["admin"] == {"existingSecret": "grafana-login", "userKey": "user", "passwordKey": "password"}
    assert "adminPassword" not in grafana


@pytest.mark.parametrize("secret", [None, "alerts"])
def test_alerts_reach_somebody_only_if_it_is_said_whom(secret: str | None) -> None:
    given = values(Prometheus.model_validate({"alertmanagerSecret": secret}), LAB, LAB.gpu_pools)["alertmanager"]
    assert given["enabled"] == (secret is not None)
    assert given["alertmanagerSpec"].get("configSecret") == secret


@pytest.mark.parametrize(("minutes", "waits"), [(1, "31m"), (600, "630m")])
def test_an_idle_node_is_unusual_only_after_the_time_that_it_may_be_idle(minutes: int, waits: str) -> None:
    pools = [replace(pool, unneeded_minutes=minutes) for pool in LAB.gpu_pools]
    (alert,) = [
        rule
        for group in rules(LAB, pools)["groups"]
        for rule in group["rules"]
        if rule.get("alert") == "GpuPoolNotBackAtZero"
    ]
    assert alert["for"] == waits


def test_measurements_are_dropped_before_their_volume_is_full() -> None:
    for size in (10, 50, 16384):
        spec = values(Prometheus.model_validate({"diskGb": size}), LAB, LAB.gpu_pools)["prometheus"]["prometheusSpec"]
        claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]["resources"]["requests"]["storage"]
        assert claim == f"{size}Gi"
        assert 0 < int(spec["retentionSize"].removesuffix("GB")) <= 0.9 * size


def queries() -> list[str]:
    boards = [json.loads(text) for each in dashboards() for text in each["data"].values()]
    return [target["expr"] for board in boards for panel in board["panels"] for target in panel["targets"]]


def test_dashboards_ask_for_what_is_measured_or_made_of_it() -> None:
    made = {
        rule["record"] for group in rules(LAB, LAB.gpu_pools)["groups"] for rule in group["rules"] if "record" in rule
    }
    counters = next(iter(exporters("gke")))["metadata"]["name"]
    (files,) = [
        each.inputs
        for each in with_all("gke").of_type("kubernetes:core/v1:ConfigMap")
        if each.inputs["metadata"]["name"] == counters
    ]
    measured = {line.split(",")[0] for line in files["data"]["counters.csv"].splitlines()}
    asked = {name for query in queries() for name in re.findall(r"gpucluster:\w+|DCGM_\w+", query)}
    assert asked <= made | measured
    alerts = {
        rule["expr"] for group in rules(LAB, LAB.gpu_pools)["groups"] for rule in group["rules"] if "alert" in rule
    }
    assert {name for expr in alerts for name in re.findall(r"gpucluster:\w+|DCGM_\w+", expr)} <= made | measured


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
    asked = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(queries())]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(written))
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": asked}]}))
    done = run(tmp_path, "check", "rules", "rules.yaml", "queries.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    (tmp_path / "queries.yaml").write_text(
        yaml.safe_dump({"groups": [{"name": "queries", "rules": [{"record": "query:0", "expr": "sum by ("}]}]})
    )
    assert run(tmp_path, "check", "rules", "queries.yaml").returncode != 0


@with_promtool
def test_alerts_come_when_they_should_and_not_before(tmp_path: Path) -> None:
    pools = [replace(pool, hourly_usd=0.28) for pool in LAB.gpu_pools]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules(LAB, pools)))
    shutil.copy(HERE / "alerts.yaml", tmp_path)
    done = run(tmp_path, "test", "rules", "alerts.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
