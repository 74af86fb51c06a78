"""The recipe of docs/several-clusters.md against a real API server: its objects are valid, its token has few rights."""

from __future__ import annotations

import base64
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.workloads.queue import cluster_queue, team_queue, team_resource
from packages.rehearsal.tests.providers.kubernetes.helm.test_charts import KUEUE
from packages.rehearsal.tests.simulated_cluster import PATIENCE
from rehearsal.cluster.api import Api, ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.providers.kubernetes.helm.chart_placeholders import placeholder
from tests.stacks import ROOT, settings_of

_KUBECTL = shutil.which("kubectl")
RECIPE = ROOT / "examples" / "several-clusters"
ACCOUNT = "system:serviceaccount:kueue-system:multikueue"
NAMESPACES = "/api/v1/namespaces"


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((RECIPE / name).read_text()))


def test_the_managers_quota_is_the_sum_of_both_clusters() -> None:
    def quota(queue: dict[str, Any], resource: str = "nvidia.com/gpu") -> int:
        (group,) = [each for each in queue["spec"]["resourceGroups"] if resource in each["coveredResources"]]
        counted = [each for flavor in group["flavors"] for each in flavor["resources"]]
        return sum(int(each["nominalQuota"]) for each in counted if each["name"] == resource)

    (own,) = [each for each in documents("manager.yaml") if each["kind"] == "ClusterQueue"]
    stacks = [settings_of(ROOT / "examples" / f"several-clusters-{cloud}.yaml") for cloud in ("gke", "eks")]
    assert quota(own) == sum(quota(cluster_queue(stack.gpu_pools)) for stack in stacks)
    assert quota(own, team_resource("nvidia.com/gpu")) == quota(own)
    assert stacks[0].teams == stacks[1].teams
    (local,) = [each for each in documents("worker.yaml") if each["kind"] == "LocalQueue"]
    (of_team,) = [team_queue(team, stacks[0].gpu_pools) for team in stacks[0].teams]
    assert local["spec"]["clusterQueue"] == of_team["metadata"]["name"]
    assert local["metadata"]["namespace"] == stacks[0].teams[0].name


def test_the_managers_queue_needs_no_flavor_of_the_stack() -> None:
    """While a flavor of it is missing a ClusterQueue admits nothing: in stacks without teams, or before the update from
    0.1.0, after which it has to cover what counts against teams. ``FlavorNotFound`` in
    https://github.com/kubernetes-sigs/kueue/blob/v0.19.2/pkg/cache/scheduler/clusterqueue.go#L321
    """
    files = documents("manager.yaml")
    (queue,) = [each for each in files if each["kind"] == "ClusterQueue"]
    named = {flavor["name"] for group in queue["spec"]["resourceGroups"] for flavor in group["flavors"]}
    assert named == {each["metadata"]["name"] for each in files if each["kind"] == "ResourceFlavor"}


@pytest.fixture(scope="module")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    assert _KUBECTL is not None
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), tools=Path(_KUBECTL).parent) as running:
        for name in ("kueue-system", "research"):
            running.api.create(NAMESPACES, {"metadata": {"name": name}})
        for file in (placeholder(KUEUE) / "crds").iterdir():
            running.api.apply_manifest(yaml.safe_load(file.read_text()))
        environment = {**os.environ, "KUBECONFIG": str(running.kubeconfig)}
        context = yaml.safe_load(running.kubeconfig.read_text())["current-context"]
        waiting = ["kubectl", "wait", "crd", "--all", "--for=condition=established", f"--timeout={PATIENCE:.0f}s"]
        connecting = ["sh", str(RECIPE / "connect.sh"), context, context, "gke"]
        applying = ["kubectl", "apply", *(f"-f{RECIPE / name}" for name in ("manager.yaml", "job.yaml"))]
        # The queue of that name is another one in the manager, which is the same cluster here.
        clearing = ["kubectl", "delete", "localqueues", "everywhere", "--namespace=research"]
        for command in (waiting, connecting, clearing, applying):
            subprocess.run(command, check=True, env=environment, timeout=PATIENCE)
        yield running


@pytest.mark.rehearsal
@pytest.mark.skipif(_KUBECTL is None, reason="kubectl is not on PATH (make tools builds it)")
def test_the_managers_secret_reaches_the_worker_with_the_rights_of_the_recipe(
    control_plane: ControlPlane,
) -> None:
    secret = control_plane.api.get(f"{NAMESPACES}/kueue-system/secrets/gke")
    remote = Api(Kubeconfig.parse(base64.b64decode(secret["data"]["kubeconfig"]).decode()))
    job = {**documents("job.yaml")[0], "metadata": {"name": "copy"}}
    remote.create("/apis/batch/v1/namespaces/research/jobs", job)
    assert [each["metadata"]["name"] for each in remote.list("/apis/batch/v1/jobs")] == ["copy", "train"]
    for path in ("/apis/batch/v1/namespaces/kube-system/jobs", "/apis/batch/v1/namespaces/default/jobs"):
        with pytest.raises(ApiError, match="forbidden"):
            remote.create(path, job)
    with pytest.raises(ApiError, match="forbidden"):
        remote.list("/api/v1/secrets")
    for verb, namespace, subresource, permitted in (
        ("watch", "", "", True),
        ("create", "research", "", True),
        ("patch", "research", "status", True),
        ("create", "default", "", False),
        ("delete", "", "", False),
    ):
        asked = {"group": "kueue.x-k8s.io", "resource": "workloads", "verb": verb}
        asked |= {"namespace": namespace, "subresource": subresource}
        assert control_plane.api.permits(ACCOUNT, (), asked) is permitted, asked
    (cluster, *_) = documents("manager.yaml")
    cluster["spec"]["clusterSource"]["clusterProfileRef"] = {"name": "gke"}
    with pytest.raises(ApiError, match="exactly one of the fields"):
        control_plane.api.apply_manifest(cluster)
