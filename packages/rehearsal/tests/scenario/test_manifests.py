"""The user's own manifests: what is read, in which order it goes, and what is said of each object's pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.rehearsal.tests.objects import Cluster
from packages.rehearsal.tests.simulated_cluster import daemon_set, job, pod
from packages.rehearsal.tests.tables import cases
from rehearsal.scenario.manifests import Applied, ManifestsError, checks, read, where_it_ran
from rehearsal.scenario.user import SubmissionReply


def deployment(replicas: int = 1) -> dict[str, Any]:
    labels = {"app": "server"}
    spec = {"containers": [{"name": "main", "image": "example.com/image"}]}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "server"}, "spec": body}


def applied(manifest: dict[str, Any], reply: SubmissionReply | None = None) -> Applied:
    return Applied(manifest, manifest["metadata"].get("namespace", "default"), reply or SubmissionReply(True))


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster.empty()
    cluster.node("admin-0", "admin")
    cluster.node("gpu-0", "t4-1", size=1)
    return cluster


def test_files_are_read_whole_and_what_others_need_goes_first(tmp_path: Path) -> None:
    kind = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "x.y"}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    many = {"apiVersion": "v1", "kind": "List", "items": [pod("a"), space]}
    (tmp_path / "a.yaml").write_text(f"{yaml.safe_dump(job('j', 1))}---\n# nothing\n---\n{yaml.safe_dump(kind)}")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "b.json").write_text(yaml.safe_dump(many))
    (tmp_path / "notes.txt").write_text("not a manifest")
    assert [each["kind"] for each in read(tmp_path)] == ["CustomResourceDefinition", "Namespace", "Job", "Pod"]


@cases
def test_a_folder_that_cannot_be_used_says_why(tmp_path: Path, content: str | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "a.yaml").write_text(content)
    with pytest.raises(ManifestsError, match=reason):
        read(tmp_path)


def test_pods_are_reported_by_owner_and_node(cluster: Cluster) -> None:
    cluster.pod("server-1", node="admin-0", phase="Running", gpus=0, labels={"app": "server"})
    cluster.pod("server-2", node="gpu-0", phase="Running", gpus=0, labels={"app": "server"})
    cluster.pod("other", node="gpu-0", phase="Running", labels={"app": "other"})
    cluster.pod("j-1", node="gpu-0", phase="Succeeded", labels={"batch.kubernetes.io/job-name": "j"})
    assert where_it_ran(applied(deployment()), cluster.timeline) == (True, "ran on admin, t4-1")
    assert where_it_ran(applied(job("j", 1)), cluster.timeline) == (True, "ran on t4-1")
    assert where_it_ran(applied(pod("other")), cluster.timeline) == (True, "ran on t4-1")


def test_a_pod_that_waits_is_reported_with_the_reason_and_fails_the_check(cluster: Cluster) -> None:
    cluster.pod("server-1", gpus=0, labels={"app": "server"})
    cluster.warning("server-1", "0/2 nodes are available: 2 Insufficient cpu.")
    (check,) = checks([applied(deployment())], cluster.timeline)
    assert (check.id, check.passed) == ("applied:Deployment/server", False)
    assert check.detail == "server-1 stays Pending: 0/2 nodes are available: 2 Insufficient cpu."


def test_pods_created_while_the_cluster_is_deleted_are_not_reported(cluster: Cluster) -> None:
    cluster.pod("server-1", node="admin-0", phase="Running", gpus=0, labels={"app": "server"})
    until = cluster.timeline.now()
    cluster.after(1).pod("server-2", gpus=0, labels={"app": "server"})
    assert where_it_ran(applied(deployment()), cluster.timeline, until) == (True, "ran on admin")
    assert not where_it_ran(applied(deployment()), cluster.timeline)[0]


@pytest.mark.parametrize(
    ("manifest", "passed"), [(deployment(), False), (deployment(replicas=0), True), (daemon_set("agent"), True)]
)
def test_no_pod_is_right_only_where_none_is_asked_for(cluster: Cluster, manifest: dict[str, Any], passed: bool) -> None:
    assert where_it_ran(applied(manifest), cluster.timeline)[0] is passed


@pytest.mark.parametrize(
    ("manifest", "maker", "passed"),
    [
        (deployment(), ("ReplicaSet", "server-5d8f9c"), False),
        (daemon_set("agent"), ("DaemonSet", "agent"), False),
        (job("j", 1), ("Job", "j"), False),
        (daemon_set("agent"), ("DaemonSet", "agent-2"), True),
        (deployment(replicas=0), ("ReplicaSet", "other-server-5d8f9c"), True),
    ],
)
def test_pods_that_may_not_be_created_are_reported_with_the_reason(
    cluster: Cluster, manifest: dict[str, Any], maker: tuple[str, str], passed: bool
) -> None:
    kind, name = maker
    cluster.warning(name, "insufficient quota to match these scopes", kind=kind, reason="FailedCreate")
    ran, why = where_it_ran(applied(manifest), cluster.timeline)
    assert ran is passed
    assert ("it created no pod: insufficient quota" in why) is not passed


RAY = {"headGroupSpec": {"template": {"spec": {"containers": [{"name": "head", "image": "ray"}]}}}}


@pytest.mark.parametrize(
    ("version", "spec", "named"),
    [("ray.io/v1", RAY, True), ("ray.io/v1", {"address": "x"}, False), ("networking.k8s.io/v1", RAY, False)],
)
def test_an_object_whose_pods_nobody_creates_names_its_controller(
    cluster: Cluster, version: str, spec: dict[str, Any], named: bool
) -> None:
    manifest = {"apiVersion": version, "kind": "Some", "metadata": {"name": "one"}, "spec": spec}
    failed = [check.detail for check in checks([applied(manifest)], cluster.timeline) if not check.passed]
    sentence = (
        "Some needs the controller of ray.io, which a rehearsal does not run; "
        "to rehearse its pods, apply them as a Job or a Deployment"
    )
    assert failed == ([sentence] if named else [])


def test_what_is_refused_fails_and_what_makes_no_pods_needs_none(cluster: Cluster) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    assert list(checks([applied(config)], cluster.timeline)) == []
    (check,) = checks([applied(config, SubmissionReply(False, "no such namespace"))], cluster.timeline)
    assert (check.passed, check.detail) == (False, "refused: no such namespace")


def test_only_those_that_ask_for_gpus_are_taken_away_before_the_scenario() -> None:
    assert [one.gpus for one in map(applied, (pod("a", 1), job("j", 1), deployment(), daemon_set("d")))] == [
        True,
        True,
        False,
        False,
    ]
