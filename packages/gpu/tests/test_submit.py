"""From what is asked to what is created: named, placed, and nothing half-made when the cluster refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.ledger import USER
from facts.concepts.offer import CheckpointsOffer, TeamOffer
from facts.jobs.fit import PodRequest
from facts.jobs.job import AskError, JobRequest, manifests
from facts.jobs.plan import NothingFits, limited, lost_work, place, team_of, training_job
from facts.jobs.sweep import Sweep
from gpu.cluster import ClusterClient, ClusterError, Reply
from gpu.submit import check_secrets, create, mebibytes, millicores, name_for
from packages.gpu.tests.api_server import kubeconfig, serving
from packages.gpu.tests.offers import offer, pool

SPOT = pool("t4-spot", spot=True, notice_seconds=15)
FALLBACK = pool("t4-ondemand", preference=1)


class FakeCluster(ClusterClient):
    """Keeps what is created; refuses what it is told to refuse."""

    def __init__(self, refused: str = "", status: int = 403) -> None:
        self.refused, self.status = refused, status
        self.objects: list[dict[str, Any]] = []
        self.user = ""

    def user_name(self) -> str:
        return self.user

    def create(self, manifest: dict[str, Any]) -> Reply:
        if manifest["kind"] == self.refused:
            raise ClusterError("no", self.status)
        self.objects.append(manifest)
        return Reply({**manifest, "metadata": {**manifest["metadata"], "uid": "u1"}}, (f"look at {manifest['kind']}",))

    def delete(self, path: str) -> None:
        self.objects = [each for each in self.objects if not path.endswith(f"/{each['metadata']['name']}")]


def asked(**changes: Any) -> JobRequest:
    usual: dict[str, Any] = {"name": "train", "namespace": "team-a", "command": ("python", "x.py")}
    return JobRequest(**{**usual, **changes})


def job(*, workers: int = 1, has: dict[str, Any] | None = None, **changes: Any) -> Any:
    job_request = asked(workers=workers, **changes)
    there = replace(offer(SPOT, FALLBACK), **(has or {}))
    return training_job(job_request, place(there, job_request), "example.com/x:1", there)


@pytest.mark.parametrize(("workers", "refused"), [(1, False), (2, False), (3, True)])
def test_a_job_that_its_team_may_never_run_is_refused_at_once(workers: int, refused: bool) -> None:
    there = replace(offer(SPOT), teams=(TeamOffer(name="team-a", gpus=4), TeamOffer(name="other", gpus=1)))
    job_request = asked(gpus=2, workers=workers)
    if refused:
        with pytest.raises(AskError, match="6 GPUs at once exceed the quota of team team-a, 4"):
            team_of(there, job_request)
    else:
        assert team_of(there, job_request) == there.teams[0]


def test_a_job_is_as_urgent_as_its_team_may_be() -> None:
    fit = place(offer(SPOT), PodRequest())
    team = TeamOffer(name="team-a", gpus=4, priority_class="gpucluster-low")
    offers = (replace(offer(SPOT), teams=teams) for teams in ((team,), ()))
    pods = [manifests(training_job(asked(), fit, "x", its))[0]["spec"]["template"]["spec"] for its in offers]
    assert pods[0]["priorityClassName"] == "gpucluster-low"
    assert "priorityClassName" not in pods[1], "a class that is not there refuses the pod"


def test_outside_of_teams_nothing_is_held_to_a_quota() -> None:
    there = replace(offer(SPOT), teams=(TeamOffer(name="other", gpus=0),))
    assert team_of(there, asked()) is None


def test_workers_have_a_service_that_goes_with_their_job() -> None:
    cluster = FakeCluster()
    assert create(cluster, job(workers=2)) == ("look at Job", "look at Service")
    made, service = cluster.objects
    (owner,) = service["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("Job", made["metadata"]["name"], "u1")


@pytest.mark.parametrize(("user", "annotations"), [("ada@example.org", {USER: "ada@example.org"}), ("", {})])
def test_a_job_and_its_pods_say_who_submitted_them(user: str, annotations: dict[str, str]) -> None:
    cluster = FakeCluster()
    cluster.user = user
    create(cluster, job())
    made = cluster.objects[0]
    for metadata in (made["metadata"], made["spec"]["template"]["metadata"]):
        assert {key: text for key, text in (metadata.get("annotations") or {}).items() if key == USER} == annotations


@pytest.mark.parametrize(
    ("answer", "name"),
    [({"status": {"userInfo": {"username": "ada"}}}, "ada"), (404, ""), (403, ""), ({"status": {}}, "")],
)
def test_the_cluster_says_who_a_user_is(
    answer: Any, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({"/apis/authentication.k8s.io/v1/selfsubjectreviews": answer}) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url})))
        assert ClusterClient().user_name() == name


@pytest.mark.parametrize("refused", ["Job", "Service"])
def test_nothing_is_left_of_what_is_refused(refused: str) -> None:
    cluster = FakeCluster(refused)
    with pytest.raises(ClusterError):
        create(cluster, job(workers=2))
    assert cluster.objects == []


def test_a_job_that_may_not_be_interrupted_has_its_namespaces_budget_which_stays() -> None:
    cluster = FakeCluster()
    create(cluster, job(spot=False))
    _, budget = cluster.objects
    assert budget["metadata"] == {"name": "gpucluster-uninterrupted", "namespace": "team-a"}
    cluster = FakeCluster("PodDisruptionBudget", 409)
    assert create(cluster, job(spot=False)) == ("look at Job",)
    cluster = FakeCluster("PodDisruptionBudget")
    (_, warning) = create(cluster, job(spot=False))
    assert warning == "the cloud's maintenance may end the job: no PodDisruptionBudget in team-a: no"
    assert [each["kind"] for each in cluster.objects] == ["Job"]


def test_a_taken_name_is_left_alone_and_told() -> None:
    cluster = FakeCluster("Job", 409)
    with pytest.raises(ClusterError, match=r"job train already exists in team-a; choose another --name"):
        create(cluster, job())


def test_a_spot_node_gives_no_more_time_than_its_cloud() -> None:
    assert job().grace_seconds == 15
    assert job(grace_seconds=5).grace_seconds == 5
    on_demand = place(offer(FALLBACK), PodRequest())
    assert training_job(asked(grace_seconds=600), on_demand, "x", offer(FALLBACK)).grace_seconds == 600
    assert training_job(asked(), on_demand, "x", offer(FALLBACK)).grace_seconds == 30


def test_both_fallback_pools_are_allowed_with_the_taints_of_both() -> None:
    spec = job()
    assert spec.pools == ("t4-spot", "t4-ondemand")
    assert set(spec.taints) == {*SPOT.nodes.taints, *FALLBACK.nodes.taints}


def test_no_more_runs_at_once_than_nodes_can_hold() -> None:
    sweep = Sweep({"seed": tuple(map(str, range(100)))})
    assert job(sweep=sweep).at_once == 6
    assert job(sweep=sweep, at_once=2).at_once == 2


@pytest.mark.parametrize(("quota", "most"), [(None, 3), (10, 3), (2, 2)])
def test_a_queue_gets_no_more_runs_at_once_than_one_pool_and_the_team_have(quota: int | None, most: int) -> None:
    """More would wait for ever, or be ended because the others never come."""
    sweep = Sweep({"seed": tuple(map(str, range(100)))})
    teams = () if quota is None else (TeamOffer(name="team-a", gpus=quota),)
    assert job(sweep=sweep, has={"queued": ("team-a",), "teams": teams}).at_once == most
    assert job(sweep=sweep, has={"queued": ("default",), "teams": teams}).at_once == 6


@pytest.mark.parametrize("workers", [3, 4])
def test_workers_that_no_one_pool_holds_are_refused_where_a_queue_wants_one(workers: int) -> None:
    if workers == 3:
        assert job(workers=workers, has={"queued": ("team-a",)}).workers == workers
    else:
        with pytest.raises(AskError, match="the largest of t4-spot, t4-ondemand has room for 3 such pods"):
            job(workers=workers, has={"queued": ("team-a",)})
    assert job(workers=workers).workers == workers


def test_only_workers_are_tried_again_unless_asked() -> None:
    assert (job().retries, job(workers=2).retries, job(retries=1).retries) == (0, 3, 1)
    assert job(workers=2, timeout_seconds=60).retries == 0, "a retry would start the time again"
    assert job(workers=2, timeout_seconds=60, retries=1).retries == 1


CHECKPOINTS = {
    "accounts": ("team-a/trainer", "team-a/other"),
    "account_labels": {"example.com/identity": "true"},
    "checkpoints": CheckpointsOffer(url="s3://bucket", service_account="team-a/trainer"),
}


def test_a_job_is_the_account_that_has_the_checkpoints_and_finds_its_own() -> None:
    spec = job(has=CHECKPOINTS)
    assert spec.service_account == "trainer"
    assert spec.pod_labels == {"example.com/identity": "true"}
    assert spec.checkpoints == "s3://bucket/train"


def test_where_the_account_is_not_the_job_is_the_namespaces_own_and_writes_nothing() -> None:
    elsewhere = job(has=CHECKPOINTS, namespace="team-b")
    assert (elsewhere.service_account, elsewhere.pod_labels, elsewhere.checkpoints) == (None, {}, None)
    assert (job().service_account, job().checkpoints) == (None, None)


def test_jobs_of_the_volumes_namespace_see_its_files() -> None:
    there = {"volume_namespace": "team-a"}
    assert job(has=there).volume == "shared"
    assert job(has=there, namespace="team-b").volume is None
    assert job().volume is None


def test_what_a_reclaimed_spot_node_costs_a_job_is_said() -> None:
    def said(has: dict[str, Any] | None = None, **changes: Any) -> str:
        there = replace(offer(SPOT, FALLBACK), **(has or {}))
        request = asked(**changes)
        fit = place(there, request)
        return lost_work(training_job(request, fit, "x", there), fit, there) or ""

    assert said().endswith("continues from what it saved in a bucket; --no-spot avoids that")
    assert said(has={"volume_namespace": "team-a"}).endswith("saved in /shared; --no-spot avoids that")
    assert said(has={"pools": (SPOT,)}).endswith("saved in a bucket"), "nothing else is there"
    assert said(spot=False) == ""
    # A bucket is of use to programs that read it.
    assert said(has=CHECKPOINTS).endswith("continues from what it saved in CHECKPOINTS; --no-spot avoids that")
    assert said(has=CHECKPOINTS, service_account="other").endswith("saved in a bucket; --no-spot avoids that")


@pytest.mark.parametrize("namespace", ["kube-system", "kube-anything", "gmp-system", "amazon-cloudwatch", "monitoring"])
def test_no_job_runs_among_the_clusters_own_pods(namespace: str) -> None:
    """https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#working-with-namespaces"""
    teams = (TeamOffer(name="research", gpus=8), TeamOffer(name="vision", gpus=2))
    for there, others in (
        (offer(SPOT), "for example default"),
        (replace(offer(SPOT), teams=teams), "research, vision"),
    ):
        with pytest.raises(AskError, match=rf"{namespace} is a namespace of .*; write --team: {others}$"):
            team_of(there, asked(namespace=namespace))
    for usual in ("default", "research", "kubeflow", "ml"):
        team_of(offer(SPOT), asked(namespace=usual))


def test_another_account_has_its_own_rights_and_no_checkpoints() -> None:
    other = job(has=CHECKPOINTS, service_account="other")
    assert (other.service_account, other.checkpoints) == ("other", None)
    assert other.pod_labels == {"example.com/identity": "true"}
    unknown = job(has=CHECKPOINTS, service_account="plain")
    assert (unknown.service_account, unknown.pod_labels) == ("plain", {})


def test_what_no_pool_takes_names_the_nearest() -> None:
    with pytest.raises(NothingFits, match=r"the nearest is t4-spot: at most 1 GPU per pod, not 8"):
        place(offer(SPOT), PodRequest(gpus=8))
    with pytest.raises(NothingFits, match="no GPU pool"):
        place(offer(), PodRequest())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Train"}, "--name"),
        ({"name": "-x"}, "--name"),
        ({"name": "x" * 53}, "52"),
        ({"sweep": Sweep({"a": ("1",)}), "workers": 2}, "--workers"),
        ({"sweep": Sweep({"a": ("1",)}), "command": ()}, "after --"),
    ],
)
def test_what_means_nothing_is_told(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AskError, match=message):
        asked(**changes)
    assert replace(asked(), name="x" * 52)


@pytest.mark.parametrize(
    ("command", "image", "stem"),
    [
        (["python", "src/train_llama.py", "--x"], None, "train-llama"),
        ([], "ghcr.io/me/My.App:v1", "my-app"),
        (["nvidia-smi"], None, "nvidia-smi"),
        (["python", "x" * 80 + ".py"], None, "x" * 46),
        (["python", "__.py"], None, "job"),
    ],
)
def test_a_name_tells_what_runs_and_differs_each_time(command: list[str], image: str | None, stem: str) -> None:
    first, second = name_for(tuple(command), image), name_for(tuple(command), image)
    assert first.rpartition("-")[0] == stem
    assert first != second
    assert asked(name=first).name == first


def test_amounts_are_rounded_up() -> None:
    assert (mebibytes("--memory", "1Gi"), mebibytes("--memory", "1Mi"), mebibytes("--memory", "1048577")) == (
        1024,
        1,
        2,
    )
    assert (millicores("--cpus", "4"), millicores("--cpus", "500m"), millicores("--cpus", "0.0001")) == (4000, 500, 1)
    for nothing in ("", "lots", "-1", "0"):
        with pytest.raises(AskError, match="--memory"):
            mebibytes("--memory", nothing)


@pytest.mark.parametrize(
    ("size", "remedy"),
    [
        ("10", "is 10 bytes; write the unit, as in 10Gi"),
        ("16.5", "is 16.5 bytes; write the unit, as in 16.5Gi"),
        ("500k", "is 500000 bytes; write at least 1Mi"),
        ("10GB", "not a quantity; write 10Gi"),
        ("10 gb", "not a quantity; write 10Gi"),
        ("512MB", "not a quantity; write 512Mi"),
    ],
)
def test_a_size_without_its_unit_is_read_back(size: str, remedy: str) -> None:
    with pytest.raises(AskError, match=remedy):
        mebibytes("--memory", size)


@pytest.mark.parametrize(
    ("sizes", "disk", "memory"),
    [
        ([{"disk_mib": 900, "memory_mib": 700}, {"disk_mib": 800, "memory_mib": 750}], 900, 750),
        ([{"disk_mib": 900, "memory_mib": 700}, {"disk_mib": None, "memory_mib": None}], None, None),
        ([{"disk_mib": 900, "memory_mib": 700, "machine_types": ("a", "b")}, {"disk_mib": 900}], 900, None),
        # Own machines of a pool may differ.
        ([{"disk_mib": 900, "memory_mib": 700, "spot": False, "capacity_type": "fixed"}, {"disk_mib": 900}], 900, None),
    ],
)
def test_a_pod_may_use_all_that_the_largest_of_its_pools_leaves(
    sizes: list[dict[str, Any]], disk: int | None, memory: int | None
) -> None:
    there = offer(*(pool(f"t4-1-{number}", **{"spot": not number, **size}) for number, size in enumerate(sizes)))
    fit = place(there, asked())
    assert len(fit.pools) == 2
    most = limited(training_job(asked(), fit, "x", there), fit)
    assert (most.most_disk_mib, most.most_memory_mib) == (disk, memory)
    declared = manifests(training_job(asked(), fit, "x", there))[0]["spec"]["template"]["spec"]["containers"][0]
    assert declared["resources"] == {"limits": {"nvidia.com/gpu": 1}}, "a new limit would replace it"


SECRETS = "/api/v1/namespaces/default/secrets"


@pytest.mark.parametrize(
    ("answer", "name", "message"),
    [
        ({"data": {"WANDB_API_KEY": "aHVzaA==", "HF_TOKEN": "aHVzaA=="}}, "wandb", ""),
        (403, "wandb", ""),
        (404, "wandb", "no such Secret in default; create it: kubectl create secret generic wandb -n default"),
        ({"data": {"api-key": "aHVzaA=="}}, "wandb", "api-key: no name of a variable"),
        ({"data": None}, "wandb", "it has no keys"),
        (404, "WANDB_API_KEY=hush", "write the name of a Secret"),
        (404, "", "write the name of a Secret"),
    ],
)
def test_a_secret_is_named_and_its_values_are_in_no_message(
    answer: Any, name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving({f"{SECRETS}/wandb": answer}) as url:
        monkeypatch.setenv("KUBECONFIG", str(kubeconfig(tmp_path / "config", {"here": url})))
        cluster = ClusterClient(namespace="default")
        if message:
            with pytest.raises(AskError, match=message) as refused:
                check_secrets(cluster, (name,))
            assert "hush" not in str(refused.value)
            assert "aHVzaA" not in str(refused.value)
        else:
            check_secrets(cluster, (name,))


def test_a_job_names_its_secrets_and_has_no_value_of_them() -> None:
    (container,) = manifests(job(secrets=("wandb", "hf")))[0]["spec"]["template"]["spec"]["containers"]
    assert container["envFrom"] == [{"secretRef": {"name": "wandb"}}, {"secretRef": {"name": "hf"}}]
    assert "envFrom" not in manifests(job())[0]["spec"]["template"]["spec"]["containers"][0]
