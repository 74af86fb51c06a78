"""A cluster that a rehearsal leaves running: the commands that it prints, and the session with ``gpu`` in docs/."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from packages.gpu.tests.readme import ASKS, CLOUDS, README
from packages.gpu.tests.test_package import installed, wheel
from packages.rehearsal.tests.retained_cluster import RetainedCluster, retained_cluster
from packages.rehearsal.tests.simulated_cluster import PATIENCE, eventually
from tests.other_user import OtherUser

pytestmark = [pytest.mark.rehearsal, pytest.mark.usefixtures("tools")]

NAME: Final = "readme"
"""The stack's name here: other tests rehearse the README's stack at the same time, and ``stop`` ends all of a name."""

__all__ = ["installed", "wheel"]


@pytest.fixture(scope="module")
def retained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RetainedCluster]:
    folder = tmp_path_factory.mktemp("kept")
    stack = Path(shutil.copy(README.stack, folder / f"{NAME}.yaml"))
    with retained_cluster(stack) as cluster:
        yield cluster


def test_no_other_user_and_no_web_page_gets_anything(retained: RetainedCluster) -> None:
    with OtherUser() as user:
        assert retained.given_away(user) == {}


def test_the_readme_shows_what_people_see(retained: RetainedCluster) -> None:
    """In the README's order, at 80 columns: its commands, as they stand there, print what stands below them."""
    assert {command.split()[1] for command, _ in README.steps} == {*ASKS, "submit", "stop"}
    retained.replay(README, NAME)


def test_each_clouds_page_shows_what_is_seen_on_gke(retained: RetainedCluster, installed: Path, project: Path) -> None:
    assert CLOUDS["gke"].stack == README.stack
    retained.with_gpu_of(installed, project).replay(CLOUDS["gke"], NAME)


def test_the_first_job_runs_by_the_commands_that_are_printed(retained: RetainedCluster) -> None:
    apply = next(line for line in retained.printed.splitlines() if "kubectl apply -f" in line)
    manifest = yaml.safe_load(Path(apply.split()[-1]).read_text())
    jobs = json.loads(retained.output(f"pulumi stack output -s {NAME} gpuJobs --json"))
    assert [yaml.safe_load(text) for text in jobs.values()] == [manifest]
    assert "created" in retained.output(apply)
    job = f"job/{manifest['metadata']['name']}"
    # Its log goes with its node, so that it is read as soon as there is one.
    eventually("it says something", lambda: "did not run" in retained.output(f"kubectl logs {job} || true"))
    retained.output(f"kubectl wait --for=condition=complete {job} --timeout={PATIENCE:.0f}s")
    retained.output(f"kubectl delete {job}")


def test_a_developer_gets_what_is_promised(retained: RetainedCluster) -> None:
    """Who may not see nodes: a pod as large as the pool's, a sweep, workers, and what ``--json`` says of them."""
    developer = retained.as_developer()
    shell = developer.shell

    def ask(command: str, code: int = 0) -> Any:
        return json.loads(developer.output(f"gpu {command}", code))

    (pool,) = ask("pools --json")
    assert pool["nodes"] is None
    (fit,) = ask("fit --json")["fits"]
    assert (fit["pools"], fit["gpu"]) == ([pool["name"]], pool["gpu"])
    refused = ask("fit --json --gpus 8", code=1)
    assert (refused["fits"], [miss["pool"] for miss in refused["misses"]]) == ([], [pool["name"]])
    assert "the nearest is" in shell("gpu fit --gpus 8", code=1)
    most = f"--memory={pool['memoryMib']}Mi --cpus={pool['milliCpu']}m"
    # It sleeps, as its output goes with its node: a slow machine needs time to look.
    assert "did not run" in shell(f"gpu submit --name largest --image busybox {most} -- sleep 5")
    assert ask("why largest --json")["kind"] == "succeeded"
    assert "--name" in shell("gpu submit --name largest --image busybox", code=3)
    made = ask("submit --json --name sweep --image busybox --sweep seed=1..3 -- echo {seed}")
    assert (made["name"], made["pools"]) == ("sweep", [pool["name"]])
    eventually("the sweep is done", lambda: ask("why sweep --json")["kind"] == "succeeded")
    assert "write 0 to 2" in shell("gpu logs sweep --index 3", code=2)
    listed = {row["name"]: (row["succeeded"], row["runs"]) for row in ask("list --json")}
    assert (listed["largest"], listed["sweep"]) == ((1, 1), (3, 3))
    assert ask("cost sweep --json")["total"]["gpuHours"] > 0
    shell("gpu submit --name pair --image busybox --workers 2 --detach")
    shell("gpu stop largest sweep pair")
    assert "no job pair" in shell("gpu why pair", code=3)


def test_a_developers_folder_travels_with_its_job(retained: RetainedCluster, tmp_path: Path) -> None:
    """A real API server takes its ConfigMap from a developer, and a real controller deletes it with the job."""
    developer = retained.as_developer()
    (tmp_path / "train.py").write_text("print('trained')")
    developer.shell(f"cd {tmp_path} && gpu submit --name synced --detach -- python train.py")
    part = "kubectl get configmap synced-files-0 -o go-template='{{index .binaryData \"part-000\"}}'"
    assert developer.output(f"{part} | base64 -d | tar -xzO train.py") == "print('trained')"
    eventually("its pod runs", lambda: json.loads(developer.output("gpu why synced --json"))["kind"] == "succeeded")
    developer.output("gpu stop synced")
    eventually("its files go with it", lambda: "NotFound" in developer.shell(f"{part} || true"))


IN_A_QUEUE: Final = {"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "gpu"}}, "spec": {"suspend": True}}


def test_a_job_that_would_wait_for_ever_is_reported(retained: RetainedCluster) -> None:
    """A job for a pool that is not there, and one in a queue where there are none, which runs as soon as it is let."""
    shell = retained.as_developer().output
    manifest = "gpu submit --name {} --image busybox --dry-run -- true | {} | kubectl apply -f -"
    queued = f"kubectl patch --local -f - --type=merge -p '{json.dumps(IN_A_QUEUE)}' -o yaml"
    shell(manifest.format("unlike", "sed s/gpu-1/gpu-2/"))
    shell(manifest.format("patient", queued))

    def why(name: str) -> dict[str, str]:
        reason: dict[str, str] = json.loads(shell(f"gpu why {name} --json"))
        return reason

    answer = why("patient")
    assert answer["kind"] == "queued"
    assert "Kueue is not installed" in answer["summary"]
    eventually("no pool could run it", lambda: why("unlike")["kind"] == "no-pool")
    rows = {row["name"]: row for row in json.loads(shell("gpu list --json"))}
    assert {name: row["kind"] for name, row in rows.items()} == {"patient": "queued", "unlike": "no-pool"}
    shell(re.findall(r"^`(.*)` starts it$", answer["remedy"])[0])
    eventually("it is let run", lambda: why("patient")["kind"] != "queued")
    shell("gpu stop patient unlike")
