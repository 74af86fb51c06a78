from __future__ import annotations

import io
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from rich.console import Console

from facts import catalog
from packages.rehearsal.tests.objects import Clock, Cluster, admin_pool, gpu_pool, job_yaml
from packages.rehearsal.tests.providers.kubernetes.helm.charts import write_chart
from packages.rehearsal.tests.simulated_cluster import eventually
from packages.rehearsal.tests.tables import cases
from rehearsal import picture
from rehearsal.checks.cluster import CAPACITY
from rehearsal.engine.engine import Engine
from rehearsal.engine.stack import available, resolve
from rehearsal.providers.kubernetes.helm.charts import FOLDER
from rehearsal.report.drift import drift_of
from rehearsal.report.record import Scope, StageTime, real_programs, scaled_by, scope_of, simulated_interfaces
from rehearsal.report.report import RunRecord, cost_of, node_prices, unusable_machines, write_atomically
from rehearsal.report.summary import Display, show, sparkline
from rehearsal.scenario.check import Check, Pools
from rehearsal.scenario.plan import derive
from rehearsal.scenario.player import Played, Submitted
from rehearsal.scenario.user import SubmissionReply
from rehearsal.tools.own_autoscaler import AutoscalerProgram

POOL = gpu_pool("t4-1", 1, hourly_usd=3600.0)


@pytest.fixture
def record() -> RunRecord:
    """One GPU node for ten seconds, beside an admin node for twenty."""
    cluster = Cluster.empty()
    pools = Pools((POOL,), (), admin_pool())
    plain = derive(pools.gpu, {POOL.name: job_yaml(POOL)}, 2.0).gpu_limit_only
    prices: dict[str, Any] = {"pools": pools, "price": lambda node, pool: pool.nodes.hourly_usd}
    record = RunRecord("dev", "Pulumi.dev.yaml", cluster.timeline, **prices)
    record.scope, record.seed = Scope({"network": "lets everything through"}, {"prices": "list prices"}), 7
    record.played = Played([Submitted(plain, 0.0, SubmissionReply(True, warnings=("a warning",)))])
    cluster.node("admin-0", "admin")
    cluster.pod("gpu-pod")
    cluster.after(5).node("gpu-0", "t4-1", size=1)
    cluster.pod("gpu-pod", node="gpu-0", phase="Running", change="MODIFIED")
    cluster.after(10).deleted("gpu-0", "t4-1", size=1)
    record.ended = cluster.after(5).timeline.now()
    record.complete = True
    return record


def shown(record: RunRecord, **console: Any) -> str:
    """The summary as a console shows it."""
    output = io.StringIO()
    show(Console(file=output, **{"width": 100, **console}), record)
    return output.getvalue()


def test_no_credential_of_an_error_is_in_the_report(record: RunRecord) -> None:
    record.checks.append(Check("x", "A title", False, "GET https://user:hunter22@example.com: DB_PASSWORD=hunter22"))
    record.failures.append("Authorization: Bearer hunter22.aaaaaaaaaaaaaaaa")
    text = json.dumps(record.to_json(None))
    assert "hunter22" not in text
    assert "[secret]" in text


def test_the_dearest_moment_has_its_list_price(record: RunRecord) -> None:
    assert cost_of(record).peak_hourly == pytest.approx(3600.09)


@cases
def test_what_ran_is_priced_as_it_was_bought_and_not_as_declared(ran: str, bought: str | None, spot: bool) -> None:
    stack = resolve("examples/gke-tips.yaml").settings
    (pool,) = stack.gpu_pools
    cluster = Cluster.empty()
    labels = {} if bought is None else {CAPACITY: bought}
    cluster.node("gpu-0", pool.name, size=1, machine_type=ran, labels=labels)
    (node,) = cluster.timeline.nodes
    machine = catalog.of("gke").machines.with_gpus(ran, pool.gpus.type, 1)
    assert machine is not None
    expected = catalog.of("gke").prices.node(stack.region, machine, pool.nodes.disk_gb, spot=spot)
    assert expected is not None
    assert node_prices(stack)(node, pool) == expected.usd
    assert (expected.usd == pool.nodes.hourly_usd) is ((ran, spot) == (pool.nodes.machine_type, True))


def test_a_pool_without_a_price_is_named_not_guessed(record: RunRecord) -> None:
    record.pools = Pools((gpu_pool("t4-1", 1, hourly_usd=None),), (), admin_pool())
    assert cost_of(record).unpriced == ("t4-1",)
    assert cost_of(record).peak_hourly == pytest.approx(0.09)


def test_the_report_holds_what_the_docstring_promises(record: RunRecord) -> None:
    import rehearsal.report.report

    report = record.to_json(None)
    documented = re.findall(r"``(\w+)``", (rehearsal.report.report.__doc__ or "").split("\n\n")[2].replace(",", " "))
    assert set(report) <= set(documented)
    assert report["seed"] == 7
    assert set(report["scope"]) == {"notRehearsed", "estimates"}
    assert report["scope"]["notRehearsed"]["network"]
    (workload,) = report["workloads"]
    placed = {"name": "gpu-pod", "pool": "t4-1", "node": "gpu-0"}
    assert workload["pods"] == [{**placed, "waitedSeconds": 5.0, "phase": "Running"}]
    gpu = report["pools"][1]
    assert (gpu["peak"], gpu["series"][0], max(gpu["series"]), gpu["series"][-1]) == (1, 0, 1, 0)
    assert report["overTime"] == {
        "seconds": [0.0, 5.0, 15.0, 20.0],
        "nodes": {"admin": [1, 1, 1, 1], "t4-1": [0, 1, 0, 0]},
        "pendingPods": [1, 0, 0, 0],
        "runningPods": [0, 1, 1, 0],
        "nodesHourlyUsd": [0.09, 3600.09, 0.09, 0.09],
    }
    assert report["waiting"]["byGpu"] == {"nvidia-t4": [5.0]}
    json.dumps(report)


def test_programs_are_real_and_plugins_and_machines_are_simulated() -> None:
    stack = resolve("dev")
    real = real_programs(stack, cast(Engine, SimpleNamespace(version=lambda: "v3.999.0")))
    assert {"etcd", "kube-apiserver", "karpenter"} < set(real)
    assert real["pulumi"] == "v3.999.0"
    simulated = simulated_interfaces(stack)
    assert set(simulated) == {"pulumi-gcp", "pulumi-kubernetes", "kwok"}
    assert not set(simulated) & set(real)
    assert all(re.match(r"v?\d+\.\d+\.\d+", version) for version in (*real.values(), *simulated.values()))


def test_who_started_the_nodes_is_named_with_its_version() -> None:
    stack, engine = resolve("dev"), cast(Engine, SimpleNamespace(version=lambda: "v3.999.0"))
    simulated = scaled_by(real_programs(stack, engine))
    assert re.fullmatch(r"karpenter v\d+\.\d+\.\d+", simulated)
    assert simulated in scope_of(stack.settings).not_rehearsed["the cloud's autoscaler"]
    own = AutoscalerProgram(Path("/x"), "1.36.1", (1, 36))
    real = real_programs(stack, engine, own)
    assert (scaled_by(real), "karpenter" in real) == ("cluster-autoscaler 1.36.1", False)
    assert (
        "cluster-autoscaler 1.36.1" in scope_of(stack.settings, autoscaler=own).not_rehearsed["the cloud's autoscaler"]
    )
    aws = resolve("examples/eks-karpenter.yaml")
    assert scaled_by(real_programs(aws, engine)).startswith("karpenter-aws v")
    assert scaled_by({"pulumi": "v3.999.0"}) == ""


def test_pass_needs_every_check_and_the_end(record: RunRecord) -> None:
    assert record.verdict == "pass"
    record.complete = False
    assert (record.verdict, record.reasons) == ("fail", ["the run did not complete"])
    record.complete = True
    record.checks.append(Check("max-never-exceeded", "No pool exceeds its maximum", False, "t4-1 had 5 nodes"))
    assert (record.verdict, record.reasons) == ("fail", ["max-never-exceeded: t4-1 had 5 nodes"])


def test_an_interruption_is_the_first_reason(record: RunRecord) -> None:
    record.complete = False
    record.failures.append("interrupted during scenario")
    assert record.reasons == ["interrupted during scenario"]


def test_the_summary_shows_the_verdict_last_with_its_reasons(record: RunRecord) -> None:
    record.stages.append(StageTime("scenario", 12.3, False))
    record.checks.append(Check("x", "A title", False, "because [brackets] matter"))
    text = shown(record)
    assert text.strip().splitlines()[-2:] == ["FAIL dev:", "  • x: because [brackets] matter"]
    assert "gpu-pod" in text


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_the_chart_of_nodes_shows_whole_names_and_its_end_at_any_width(record: RunRecord, columns: int) -> None:
    long = gpu_pool("a100-40gb-8-ondemand", 8)
    record.pools = Pools((POOL, long), (), admin_pool())
    lines = shown(record, width=columns).splitlines()
    heading = next(index for index, line in enumerate(lines) if line.startswith("pool "))
    assert lines[heading].split() == ["pool", "peak", "maximum"]
    for line, pool in zip(lines[heading + 1 :], record.pools.all, strict=False):
        assert line.startswith(f"{pool.name} ")
        chart = line[line.index("▕") + 1 : line.index("▏")]
        assert len(line.rstrip()) <= columns
        assert chart.endswith(" ") is (pool.role == "gpu"), "the return to zero is there to see"


def test_text_is_wrapped_at_words_in_a_terminal_and_not_at_all_in_a_file(record: RunRecord) -> None:
    words = "word " * 40
    record.checks.append(Check("x", "A title", True, words.strip()))
    for terminal in (True, False):
        text = shown(record, width=80, force_terminal=terminal, color_system=None)
        lines = [line for line in text.splitlines() if "word" in line]
        assert (len(lines) == 1) is not terminal
        assert all(part in ("✓", "A", "title:", "word") for line in lines for part in line.split())


def test_the_verdict_says_what_it_does_not_cover(record: RunRecord) -> None:
    assert "Not rehearsed (why: report.json): network." in shown(record)
    assert "seed 7" in shown(record)


def test_every_stack_has_a_scope_that_names_who_scales() -> None:
    for name in available():
        settings = resolve(name).settings
        subjects = scope_of(settings).not_rehearsed
        karpenter = settings.autoscaler in ("karpenter", "node-auto-provisioning")
        assert ("idle times" in subjects) is karpenter
        assert ("the cloud's autoscaler" in subjects) is not karpenter


@pytest.mark.parametrize(
    ("stack", "subject", "named"),
    [
        ("dev", "answers of 1 of 19 resource types", "Service"),
        ("examples/eks-t4.yaml", "answers of 24 of 42 resource types", "PodIdentityAssociation"),
        ("examples/aks-train-infer.yaml", "answers of 18 of 20 resource types", "RoleAssignment"),
    ],
)
def test_the_verdict_counts_the_types_that_nobody_recorded(stack: str, subject: str, named: str) -> None:
    sentence = scope_of(resolve(stack).settings).estimates[subject]
    assert named in sentence
    assert "NodePool," not in sentence


def test_a_machine_without_a_recorded_node_is_named() -> None:
    """examples/eks-t4.yaml has g4dn.xlarge, of which a node was recorded, and larger ones."""
    sizes = scope_of(resolve("examples/eks-t4.yaml").settings).estimates["sizes"]
    listed = sizes.partition("no real node of these machines was compared: ")[2].split(", ")
    assert listed
    assert "g4dn.xlarge" not in listed
    assert "no real node" not in scope_of(resolve("examples/kubeadm.yaml").settings).estimates["sizes"]


def test_charts_that_are_not_here_are_named_the_users_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = resolve("examples/research-lab.yaml").settings
    assert "kueue 0.19.2" in scope_of(settings).not_rehearsed["charts"]
    assert "charts" not in scope_of(resolve("examples/gke-research.yaml").settings).not_rehearsed
    write_chart(tmp_path / "kueue", "kueue", "0.19.2")
    monkeypatch.setenv(FOLDER, str(tmp_path))
    charts = scope_of(settings).not_rehearsed["charts"]
    assert "kueue" not in charts
    assert "headlamp" in charts


def test_a_node_whose_gpus_were_only_late_has_had_no_trouble(record: RunRecord) -> None:
    cluster = Cluster(record.timeline, Clock())
    for node, size in (("gpu-0", 1), ("gpu-1", 0)):
        cluster.node(node, "t4-1", size=1, gpus=size)
        cluster.warning(node, f"{node} offers no GPU", kind="Node", reason="DevicePluginMissing")
    assert [event.name for event in unusable_machines(record)] == ["gpu-1"]


def test_machine_failures_are_reported_once_also_after_they_end(record: RunRecord) -> None:
    cluster = Cluster(record.timeline, Clock())
    for pod in ("gpu-pod", "another"):
        cluster.warning(pod, "t4-1 cannot grow: [no tag]", reason="NodeGroupNotScaled", pool="t4-1")
    cluster.warning("gpu-pod", "Insufficient nvidia.com/gpu")
    assert "! gpu-pod: t4-1 cannot grow: [no tag]" in shown(record).splitlines()


@pytest.mark.parametrize("terminal", [False, True])
def test_the_live_display_says_why_machines_are_missing(record: RunRecord, terminal: bool) -> None:
    cluster = Cluster(record.timeline, Clock())
    cluster.pod("waits")
    output = io.StringIO()
    console = Console(file=output, width=100, force_terminal=terminal, color_system=None)
    with Display(console, record.timeline, record.pools.maxima):
        cluster.warning("waits", "t4-1 cannot grow", reason="NodeGroupNotScaled", pool="t4-1")
        eventually("it is told", lambda: "waits: t4-1 cannot grow" in output.getvalue())
    if not terminal:
        assert output.getvalue().count("t4-1 cannot grow") == 1


def test_a_line_of_progress_names_only_the_pools_that_have_nodes(record: RunRecord) -> None:
    many = tuple(gpu_pool(f"a100-80gb-spot-{size}-us-west-2{zone}", size) for size in (1, 4, 8) for zone in "abc")
    record.pools = Pools((POOL, *many), (), admin_pool())
    output = io.StringIO()
    with Display(Console(file=output, width=80), record.timeline, record.pools.maxima):
        eventually("it is told", lambda: "nodes: " in output.getvalue())
        Cluster(record.timeline, Clock()).node("gpu-1", POOL.name, size=1)
        eventually("the new node is told", lambda: "nodes: admin 1, t4-1 1; pods: " in output.getvalue())
    assert "nodes: admin 1; pods: 1 running" in output.getvalue()
    assert many[0].name not in output.getvalue()


def test_sparklines_are_empty_at_zero_and_full_at_the_top() -> None:
    assert sparkline([0, 1, 4, 8]) == " ▁▄█"
    assert sparkline([0, 0]) == "  "


def test_a_report_is_replaced_as_a_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "report.json"
    write_atomically(target, {"verdict": "pass"})
    with pytest.raises(TypeError):
        write_atomically(target, {"verdict": object()})
    assert json.loads(target.read_text()) == {"verdict": "pass"}
    assert [path.name for path in target.parent.iterdir()] == ["report.json"]


SUMMARY = {"summaryEvent": {"resourceChanges": {}}}


def step(op: str, name: str, *changes: str) -> dict[str, Any]:
    diff = {path: {"kind": "update"} for path in changes}
    metadata = {"op": op, "type": "t:a/b:C", "urn": f"urn:pulumi:dev::p::t:a/b:C::{name}", "detailedDiff": diff}
    return {"resourcePreEvent": {"metadata": metadata, "planning": True}}


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        ([step("refresh", "a"), step("same", "a"), step("read", "b"), SUMMARY], []),
        ([step("update", "a", "nodeCount"), SUMMARY], ["- update `t:a/b:C` `a`: `nodeCount`"]),
        ([step("update", "a", "scalingConfig.desiredSize"), SUMMARY], []),
        ([step("create", "a` @all"), SUMMARY], ["- create `t:a/b:C` ``a` @all``"]),
        ([step("create", "a"), step("create", "a"), SUMMARY], ["- create `t:a/b:C` `a`"]),
        (
            [step("update", "a", "scalingConfig.desiredSize", "tags"), SUMMARY],
            ["- update `t:a/b:C` `a`: `scalingConfig.desiredSize`, `tags`"],
        ),
    ],
)
def test_drift_is_what_an_update_would_change(events: list[dict[str, Any]], lines: list[str]) -> None:
    assert drift_of("".join(f"{json.dumps(event)}\n" for event in events)) == lines


def test_a_preview_that_did_not_end_is_no_agreement() -> None:
    assert drift_of(json.dumps(step("same", "a"))) is None
    assert drift_of("") is None


PICTURES = ("rehearsal.svg", "rehearsal-dark.svg")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the committed figures, of the pictures and of README."""
    for file in (picture.README, *(picture.FIGURES.with_name(name) for name in (picture.FIGURES.name, *PICTURES))):
        shutil.copy(file, tmp_path / file.name)
    monkeypatch.setattr(picture, "FIGURES", tmp_path / picture.FIGURES.name)
    monkeypatch.setattr(picture, "README", tmp_path / picture.README.name)
    return tmp_path


def run() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(picture.FIGURES.read_text())
    return content


def test_what_readme_shows_follows_from_the_committed_figures(folder: Path) -> None:
    assert picture.main(["--check"]) == 0


@pytest.mark.parametrize("name", PICTURES)
def test_an_outdated_picture_is_named(folder: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / name).write_text("<svg/>")
    assert picture.main(["--check"]) == 1
    assert capsys.readouterr().err == f"{name} out of date: run `make docs`\n"
    assert (picture.main([]), picture.main(["--check"])) == (0, 0)


def test_both_pictures_have_the_pools_and_the_verdict() -> None:
    for name in PICTURES:
        texts = {element.text for element in ElementTree.parse(picture.FIGURES.with_name(name)).iter()}
        assert {pool["name"] for pool in run()["pools"]} < texts
        assert f"Rehearsal of dev: pass, {len(run()['checks'])} of {len(run()['checks'])} checks" in texts


def test_figures_of_a_report_are_taken(folder: Path, tmp_path: Path) -> None:
    named = {"id": "destroy", "title": "Destroy", "detail": "all deleted", "passed": True}
    checks = [
        {"id": "a", "passed": True, "title": "a", "detail": "b"},
        {**named, "more": 1},
        {"id": "b", "passed": False},
    ]
    report = run() | {"checks": checks, "verdict": "fail", "logs": "/tmp/logs"}
    source = tmp_path / "report.json"
    source.write_text(json.dumps(report))
    assert picture.main(["--from", str(source)]) == 0
    assert run()["checks"] == [{"passed": True}, named, {"passed": False}]
    assert "logs" not in run()
    lines = ["$ make rehearse", "…", "✓ Destroy: all deleted", "…"]
    readme = picture.README.read_text()
    assert "\n".join(lines) in readme
    assert "\nFAIL dev: 0 → N → 0 → N, 3 checks, seed 0, scaled by karpenter v1.14.1\n```\n" in readme


def test_an_outdated_transcript_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picture.README.write_text(picture.README.read_text().replace("PASS dev", "PASS prod"))
    assert picture.main(["--check"]) == 1
    assert capsys.readouterr().err == "README.md out of date: run `make docs`\n"
    assert (picture.main([]), picture.main(["--check"])) == (0, 0)
