"""A job's manifests say what its program was promised: where it runs, what it learns, what does not end it; a sweep."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from facts.concepts.kubernetes import Taint, Toleration
from facts.concepts.pool import GPU_TAINT, POOL_LABEL, size_taint
from facts.jobs.job import AskError, JobRequest, TrainingJobSpec, manifests
from facts.jobs.sweep import MOST, Sweep, SweepError, parse, unnamed

SWEEP = Sweep({"seed": ("0", "1", "2")})


def made(**changes: Any) -> list[dict[str, Any]]:
    usual: dict[str, Any] = {
        "name": "train",
        "namespace": "team-a",
        "image": "example.com/train:1",
        "command": ("python", "train.py"),
        "pools": ("t4-4", "t4-4-ondemand"),
        "taints": (GPU_TAINT, size_taint(4)),
    }
    return manifests(TrainingJobSpec(**{**usual, **changes}))


def job(**changes: Any) -> dict[str, Any]:
    return made(**changes)[0]["spec"]


def pod(**changes: Any) -> dict[str, Any]:
    return job(**changes)["template"]["spec"]


def environment(**changes: Any) -> dict[str, Any]:
    return {
        each["name"]: each.get("value", each.get("valueFrom"))
        for each in pod(**changes)["containers"][0].get("env", [])
    }


def test_it_may_use_its_pools_and_no_other_and_tolerates_exactly_their_taints() -> None:
    spec = pod()
    required = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (term,) = required["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": POOL_LABEL, "operator": "In", "values": ["t4-4", "t4-4-ondemand"]}]
    tolerations = [Toleration(one["key"], one["operator"], one["value"], one["effect"]) for one in spec["tolerations"]]
    for taint in (GPU_TAINT, size_taint(4)):
        assert any(one.tolerates(taint) for one in tolerations)
    assert not any(one.tolerates(size_taint(8)) for one in tolerations)
    assert not any(one.tolerates(Taint("example.com/x", "y", "NoSchedule")) for one in tolerations)


@pytest.mark.parametrize("drained", [False, True])
def test_a_budget_keeps_its_pods_unless_the_cloud_may_reclaim_them_with_notice(drained: bool) -> None:
    labels = job(drained=drained)["template"]["metadata"]["labels"]
    assert labels.get("gpucluster.dev/uninterrupted") == (None if drained else "true")


def test_a_node_that_is_taken_away_is_no_failure_and_no_autoscaler_ends_it() -> None:
    for changes in ({}, {"workers": 2}, {"sweep": SWEEP}):
        spec = job(**changes)
        (rule,) = spec["podFailurePolicy"]["rules"]
        assert (rule["action"], rule["onPodConditions"][0]["type"]) == ("Ignore", "DisruptionTarget")
        # The API server takes such a policy with this alone.
        assert spec["template"]["spec"]["restartPolicy"] == "Never"
        annotations = spec["template"]["metadata"]["annotations"]
        assert annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] == "false"
        assert annotations["karpenter.sh/do-not-disrupt"] == "true"


def test_on_a_machine_that_the_cloud_takes_away_it_does_not_hold_the_node_that_karpenter_has_to_drain() -> None:
    annotations = job(drained=True)["template"]["metadata"]["annotations"]
    assert annotations == {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


def test_one_program_runs_once_and_is_what_signals_reach() -> None:
    spec = job()
    assert (spec["completions"], spec["parallelism"], spec["backoffLimit"]) == (1, 1, 0)
    assert "completionMode" not in spec
    assert pod()["containers"][0]["command"] == ["python", "train.py"]
    assert "command" not in pod(command=())["containers"][0]
    assert [each["kind"] for each in made()] == ["Job"]


def test_every_run_of_a_sweep_fails_by_itself_and_only_so_many_run_at_once() -> None:
    spec = job(sweep=SWEEP, at_once=2, retries=1)
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (3, 2, "Indexed")
    assert spec["backoffLimitPerIndex"] == 1
    assert "backoffLimit" not in spec
    assert job(sweep=SWEEP, at_once=20)["parallelism"] == 3
    assert "JOB_COMPLETION_INDEX" in pod(sweep=SWEEP)["containers"][0]["command"][-1]


def test_workers_start_together_and_find_the_first_by_its_name() -> None:
    documents = made(workers=4, gpus=8, retries=2)
    spec, service = documents[0]["spec"], documents[1]
    assert (spec["completions"], spec["parallelism"], spec["completionMode"]) == (4, 4, "Indexed")
    assert spec["backoffLimit"] == 8
    variables = environment(workers=4, gpus=8)
    master, domain = variables["MASTER_ADDR"].split(".")
    assert (master, domain) == ("train-0", service["metadata"]["name"])
    assert spec["template"]["spec"]["subdomain"] == service["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "train"}
    assert service["spec"]["ports"][0]["port"] == int(variables["MASTER_PORT"])
    assert (variables["NNODES"], variables["NPROC_PER_NODE"], variables["WORLD_SIZE"]) == ("4", "8", "32")
    path = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    assert variables["NODE_RANK"] == variables["PET_NODE_RANK"] == {"fieldRef": {"fieldPath": path}}
    for name in ("MASTER_ADDR", "MASTER_PORT", "NNODES", "NPROC_PER_NODE"):
        assert variables[f"PET_{name}"] == variables[name]


def test_one_worker_learns_nothing_of_others() -> None:
    assert environment() == {}


def test_a_program_learns_where_its_state_is_and_each_run_of_a_sweep_has_its_own() -> None:
    assert environment(checkpoints="s3://b/train")["CHECKPOINTS"] == "s3://b/train"
    listed = pod(checkpoints="s3://b/train", sweep=SWEEP)["containers"][0]["env"]
    names = [each["name"] for each in listed]
    # A variable can name those before it alone.
    assert names[-1] == "CHECKPOINTS"
    variables = environment(checkpoints="s3://b/train", sweep=SWEEP)
    assert variables["CHECKPOINTS"] == "$(CHECKPOINTS_OF_ALL)/$(JOB_COMPLETION_INDEX)"
    assert variables["CHECKPOINTS_OF_ALL"] == "s3://b/train"
    assert environment(checkpoints="s3://b/train", env={"CHECKPOINTS": "mine"}) == {"CHECKPOINTS": "mine"}


def test_the_files_of_a_claim_are_at_one_place_beside_the_memory() -> None:
    spec = pod(volume="shared")
    mounts = {each["name"]: each["mountPath"] for each in spec["containers"][0]["volumeMounts"]}
    assert mounts == {"shm": "/dev/shm", "shared": "/shared"}
    assert {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}} in spec["volumes"]
    assert [each["name"] for each in pod()["volumes"]] == ["shm"]


def test_where_mps_shares_gpus_the_memory_is_the_node_s() -> None:
    spec = pod(volume="shared", kind={"gpucluster.dev/sharing": "mps"})
    assert spec["hostIPC"] is True
    assert [each["name"] for each in spec["volumes"]] == ["shared"]
    assert [each["name"] for each in spec["containers"][0]["volumeMounts"]] == ["shared"]
    terms = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    selected = {"key": "gpucluster.dev/sharing", "operator": "In", "values": ["mps"]}
    assert all(selected in term["matchExpressions"] for term in terms)
    assert "hostIPC" not in pod()


def test_what_is_asked_for_is_requested_and_nothing_else() -> None:
    resources = pod(gpus=2, memory_mib=2048, milli_cpu=1500, disk_mib=10)["containers"][0]["resources"]
    assert resources["requests"] == {"cpu": "1500m", "memory": "2048Mi", "ephemeral-storage": "10Mi"}
    assert resources["limits"] == {"nvidia.com/gpu": 2}
    assert pod()["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": 1}}


@pytest.mark.parametrize(
    ("request_of_pod", "requests", "limits"),
    [
        ({}, {"ephemeral-storage": "0Mi"}, {"ephemeral-storage": "900Mi"}),
        ({"disk_mib": 10}, {"ephemeral-storage": "10Mi"}, {"ephemeral-storage": "900Mi"}),
        (
            {"memory_mib": 64},
            {"memory": "64Mi", "ephemeral-storage": "0Mi"},
            {"memory": "800Mi", "ephemeral-storage": "900Mi"},
        ),
    ],
)
def test_a_limit_counts_an_eviction_as_a_failure_and_requests_nothing(
    request_of_pod: dict[str, int], requests: dict[str, str], limits: dict[str, str]
) -> None:
    resources = pod(**request_of_pod, most_disk_mib=900, most_memory_mib=800)["containers"][0]["resources"]
    assert resources["requests"] == requests
    assert resources["limits"] == {"nvidia.com/gpu": 1, **limits}


def test_a_larger_node_on_purpose_opts_out_of_isolation() -> None:
    label = "gpucluster.dev/allow-larger-node"
    assert job(larger_node=True)["template"]["metadata"]["labels"][label] == "true"
    assert label not in job()["template"]["metadata"]["labels"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"sweep": SWEEP, "workers": 2}, "leave one"), ({"sweep": SWEEP}, "--sweep: write"), ({"files": b"x"}, "--sync")],
)
def test_what_cannot_be_one_job_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(AskError, match=message):
        JobRequest(name="train", namespace="default", **changes)


PROGRAM = "import json, os, sys; print(json.dumps([sys.argv[1:], os.environ.get('lr'), os.environ.get('seed')]))"


def run(sweep: Sweep, index: int, *arguments: str) -> list[object]:
    command = sweep.wrap((sys.executable, "-c", PROGRAM, *arguments), "INDEX")
    done = subprocess.run(command, env={**os.environ, "INDEX": str(index)}, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_each_index_is_one_combination_as_variables_and_in_arguments() -> None:
    sweep = parse(["lr=1e-3,1e-4", "seed=0..2"])
    assert sweep is not None
    assert sweep.runs == 6
    outputs = [run(sweep, index, "--lr={lr}", "{seed}", "plain") for index in range(sweep.runs)]
    runs = itertools.product(["1e-3", "1e-4"], ["0", "1", "2"])
    expected = [[[f"--lr={lr}", seed, "plain"], lr, seed] for lr, seed in runs]
    assert outputs == expected
    assert [sweep.values(index) for index in range(6)] == [{"lr": lr, "seed": seed} for _, lr, seed in expected]


@pytest.mark.parametrize("value", ["a b", "it's", '"', "$HOME", "`id`", "\\", "{other}", "*", "-n", "%s", "é"])
def test_values_and_arguments_are_taken_as_they_are_written(value: str) -> None:
    sweep = parse([f"lr={value},other"])
    assert sweep is not None
    assert run(sweep, 0, value, "{lr}", "") == [[value, value, ""], value, None]


def test_the_program_takes_the_shells_place_so_that_signals_reach_it() -> None:
    sweep = Sweep({"lr": ("1",)})
    program = "import os; print(os.getpid())"
    command = sweep.wrap((sys.executable, "-c", program), "INDEX")
    process = subprocess.Popen(command, env={**os.environ, "INDEX": "0"}, stdout=subprocess.PIPE, text=True)
    output, _ = process.communicate(timeout=60)
    assert int(output) == process.pid


def test_no_sweep_is_none() -> None:
    assert parse([]) is None


def test_a_range_counts_its_ends_and_may_be_negative() -> None:
    sweep = parse(["x=-1..1"])
    assert sweep is not None
    assert sweep.axes == {"x": ("-1", "0", "1")}


NO_RANGES = ("0.1..0.5", "0..", "..9", "0...9", "1e-4..1e-3", "-1..+1")


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("seed=0..2,20", ("0", "1", "2", "20")),
        ("seed=1,2,3..5", ("1", "2", "3", "4", "5")),
        ("seed=1..2,8..9", ("1", "2", "8", "9")),
        ("data=../a,..", ("../a", "..")),
        ("data=s3://b/v1..v2", ("s3://b/v1..v2",)),
        ("month=2026-01,2026-02", ("2026-01", "2026-02")),
    ],
)
def test_values_and_ranges_stand_in_one_list(written: str, values: tuple[str, ...]) -> None:
    sweep = parse([written])
    assert sweep is not None
    assert [*sweep.axes.values()] == [values]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (["lr"], "name=value"),
        (["=1"], "name=value"),
        (["l-r=1"], "letters"),
        (["lr="], "empty"),
        (["lr=1,,2"], "empty"),
        (["seed=3..1"], "1..3"),
        (["lr=1,1"], "duplicate"),
        (["lr=1", "lr=2"], "already used"),
        (["PATH=1"], "the shell that starts the program needs PATH; write another name"),
        (["gpu_sweep_i=1"], "needs gpu_sweep_i; write another name"),
        (["seed=0..10000"], "10000"),
        (["a=0..200", "b=0..200"], "10000"),
        *(([f"lr={value}"], "a range has two whole numbers, as in 0..9") for value in NO_RANGES),
        (["lr=1,0.1..0.5"], "0.1..0.5: a range has two whole numbers"),
        (["seed=0..3,2"], "duplicate"),
        (["seed=0-9"], "one value with a dash; write 0..9"),
    ],
)
def test_a_sweep_that_means_nothing_says_what_to_write(written: list[str], message: str) -> None:
    with pytest.raises(SweepError, match=message):
        parse(written)


def test_a_parameter_may_have_any_name_but_the_shells() -> None:
    names = ("i", "pick", "n", "name", "shift")
    sweep = parse([f"{name}=0..2" for name in names])
    assert sweep is not None
    program = sweep.wrap(("printenv", *names), "INDEX")
    for index in (0, 5, 242):
        environment = {"PATH": os.environ["PATH"], "INDEX": str(index)}
        printed = subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout
        assert dict(zip(names, printed.split(), strict=True)) == sweep.values(index)


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (["sh", "-c", "lr=$((lr + 5)); echo {lr} ${lr} ${HOME} $1", "_", "${lr}"], "2 7 /home/a 2\n"),
        (["echo", "/shared/runs/${lr}"], "/shared/runs/2\n"),
    ],
)
def test_a_variable_of_the_shell_stays_so_and_no_runs_share_a_folder(command: list[str], printed: str) -> None:
    """No other program expands it: all runs would have one folder, literally ``${lr}``."""
    program = Sweep({"lr": ("1", "2")}).wrap(command, "INDEX")
    environment = {"PATH": os.environ["PATH"], "INDEX": "1", "HOME": "/home/a"}
    assert subprocess.run(program, env=environment, capture_output=True, text=True, check=True).stdout == printed


def test_the_largest_sweep_is_one_job() -> None:
    sweep = parse([f"seed=1..{MOST}"])
    assert sweep is not None
    assert sweep.runs == MOST
    # An argument of a program may have 128 KiB: https://man7.org/linux/man-pages/man2/execve.2.html
    assert max(map(len, sweep.wrap(("true",), "INDEX"))) < 128 * 1024


@pytest.mark.parametrize(
    ("argument", "with_sweep", "without"),
    [
        ("{lr}", [], ["lr"]),
        ("--b={b}", ["b"], ["b"]),
        ("x{b}-{c}", ["b", "c"], []),
        ("print(f'{b}')", ["b"], []),
        ("{0} {} {a-b}", [], []),
        ("out=${data_dir}/{lr}", [], []),
        ("--lr=${lr2}", ["lr2"], []),
        ("{b}/${data_dir}", ["b"], []),
    ],
)
def test_names_in_braces_that_no_sweep_has(argument: str, with_sweep: list[str], without: list[str]) -> None:
    assert unnamed(["echo", argument], Sweep({"lr": ("1",)})) == tuple(with_sweep)
    assert unnamed(["echo", argument], None) == tuple(without)


@pytest.mark.parametrize(
    ("command", "names"),
    [
        (["bash", "-euo", "pipefail", "-c", "echo ${HOME} {b} {lr}"], ["b"]),
        (["env", "A=1", "/bin/bash", "-lc", "echo ${HOME}"], []),
        (["sh", "-ce", "echo ${lr2} {lr}"], []),
        (["bash", "-c", "-e", "--", "echo ${lr2}"], []),
        (["bash", "--rcfile", "f", "-c", "echo ${lr2}"], []),
        (["sh", "-c", 'python train.py "$1"', "_", "${lr2}"], ["lr2"]),
        (["bash", "train.sh", "-c", "${lr2}"], ["lr2"]),
        (["bash", "${lr2}"], ["lr2"]),
    ],
)
def test_only_the_script_of_a_shell_has_variables_of_its_own(command: list[str], names: list[str]) -> None:
    assert unnamed(command, Sweep({"lr": ("1",)})) == tuple(names)
