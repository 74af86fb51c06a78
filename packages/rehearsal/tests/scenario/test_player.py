from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import pytest

from facts.concepts.kubernetes import Taint
from packages.rehearsal.tests.objects import Cluster
from rehearsal.cluster.api import Object
from rehearsal.scenario.plan import Burst, RunsOn, Submission
from rehearsal.scenario.player import CHANCE_SECONDS, NothingHappened, Player
from rehearsal.scenario.user import SubmissionReply, User

DISRUPTED = Taint("karpenter.sh/disrupted", "", "NoSchedule")


@dataclass
class Submits(User):
    """Runs each pod at once on the node of its name, while there is one."""

    cluster: Cluster
    nodes: dict[str, str]
    names: list[str] = field(default_factory=list)

    def create(self, manifest: Object) -> SubmissionReply:
        name = manifest["metadata"]["name"]
        self.names.append(name)
        node = self.nodes.get(name)
        self.cluster.pod(name, node=node, phase="Running" if node else "Pending", uid=self._uid(name))
        return SubmissionReply(True)

    def delete(self, kind: str, name: str, namespace: str | None = None) -> None:
        self.cluster.pod(name, node="gpu-1", phase="Running", change="DELETED", uid=self._uid(name))
        self.cluster.pod("extra", node="gpu-1", phase="Running", change="MODIFIED", uid=self._uid("extra"))

    def _uid(self, name: str) -> str:
        return f"{name}-{self.names.count(name)}"


def pod(name: str) -> Submission:
    return Submission(name, "", {"kind": "Pod", "metadata": {"name": name}, "spec": {}}, RunsOn(frozenset({"t4-1"})))


def play(cluster: Cluster, user: Submits, alive: Callable[[], None]) -> Player:
    player = Player(user, cluster.timeline, lambda _: None, alive, lambda: None, lambda _: None)
    with suppress(NothingHappened):
        player.fill(Burst("t4-1", 2, 2, (pod("one"), pod("two")), pod("extra"), None))
    return player


def test_a_pod_on_a_node_that_is_being_removed_does_not_fill_the_pool() -> None:
    cluster = Cluster.empty()
    cluster.node("gpu-0", "t4-1", size=1, taints=[DISRUPTED])
    cluster.node("gpu-1", "t4-1", size=1)
    user = Submits(cluster, {"one": "gpu-0", "two": "gpu-1"})

    def alive() -> None:
        cluster.after(1)
        if user.names == ["one", "two"] and cluster.timeline.living_nodes()[0].name == "gpu-0":
            cluster.pod("one", node="gpu-0", phase="Running", change="DELETED", uid="one-1")
            cluster.deleted("gpu-0", "t4-1", size=1)
            cluster.node("gpu-2", "t4-1", size=1)
            user.nodes["one"] = "gpu-2"
        if "extra" in user.names:
            cluster.warning("extra", "no pool fits", source="karpenter")

    player = play(cluster, user, alive)
    assert user.names == ["one", "two", "one", "extra"]
    assert player.played.pool_full is not None
    assert player.played.extra_waited_until is not None


@pytest.mark.parametrize(("reason", "ends"), [("DevicePluginMissing", True), ("FailedScheduling", False)])
def test_a_node_that_is_known_to_get_no_devices_ends_the_scenario_even_if_other_pods_change(
    reason: str, ends: bool
) -> None:
    cluster = Cluster.empty()
    cluster.node("gpu-0", "t4-1", size=1, gpus=0)
    user = Submits(cluster, {})

    def alive() -> None:
        cluster.after(20)
        cluster.pod("other", node="gpu-0", phase="Running", uid=f"other-{cluster.clock.moment}")
        cluster.warning("gpu-0", "the node advertises no chip", reason=reason, kind="Node")

    play(cluster, user, alive)
    assert (cluster.timeline.now() < 2 * CHANCE_SECONDS) is ends
    assert ("extra" not in user.names) is ends


def test_a_full_pool_is_filled_once() -> None:
    cluster = Cluster.empty()
    cluster.node("gpu-0", "t4-1", size=1)
    cluster.node("gpu-1", "t4-1", size=1)
    user = Submits(cluster, {"one": "gpu-0", "two": "gpu-1"})
    player = play(cluster, user, lambda: cluster.after(1).warning("extra", "no pool fits", source="karpenter"))
    assert user.names == ["one", "two", "extra"]
    assert player.played.extra_waited_until is not None


def test_a_job_runs_when_all_its_pods_do() -> None:
    """A controller makes one after the other."""
    cluster = Cluster.empty()
    for number in range(2):
        cluster.node(f"gpu-{number}", "t4-1", size=1)
    job = {"kind": "Job", "metadata": {"name": "pair"}, "spec": {"parallelism": 2}}
    user = Submits(cluster, {"pair": "gpu-0"})

    def alive() -> None:
        cluster.after(1)
        cluster.pod("pair-second", node="gpu-1", phase="Running", owner=("Job", "pair"), labels={"job-name": "pair"})

    player = Player(user, cluster.timeline, lambda _: None, alive, lambda: None, lambda _: None)
    pair = Submission("pair", "", job, RunsOn(frozenset({"t4-1"})))
    player.fill(Burst("t4-1", 2, 2, (pair,), None, None))
    assert len(cluster.timeline.pods_of("pair")) == 2
    assert player.played.pool_full is not None
