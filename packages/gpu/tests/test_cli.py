"""The command line: what it prints, asks and refuses, and the exit codes that scripts rely on."""

from __future__ import annotations

import io
import json
import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpu import cli
from gpu.cluster import ClusterClient, ClusterError, Reply
from gpu.commands import dev, fit, submission
from gpu.commands import offer as offer_commands
from gpu.commands.submission import SweepPrice
from packages.gpu.tests.api_server import kubeconfig
from packages.gpu.tests.offers import offer, pool

Run = Callable[..., tuple[int, str, str]]


class FakeCluster(ClusterClient):
    """Offers two pools, one of which has a node up; keeps what is created."""

    created: list[dict[str, Any]]
    deleted: list[str]
    others = 0
    sees_nodes = True

    def __init__(self, context: str | None = None, namespace: str | None = None) -> None:
        self.context, self.namespace = context or "here", namespace or "default"

    def offer(self) -> Any:
        return offer(pool("t4-1", spot=True, notice_seconds=15), pool("t4-4", size=4))

    def user_name(self) -> str:
        return "ada"

    def list_if_allowed(self, path: str, **query: Any) -> list[dict[str, Any]] | None:
        return [{"metadata": {"labels": {"gpucluster.dev/pool": "t4-4"}}}] if self.sees_nodes else None

    def create(self, manifest: dict[str, Any]) -> Reply:
        if manifest["metadata"]["namespace"] == "nowhere":
            raise ClusterError('namespaces "nowhere" not found', 404)
        self.created.append(manifest)
        return Reply({**manifest, "metadata": {**manifest["metadata"], "uid": "u"}}, ("mind this",))

    def delete(self, path: str) -> None:
        self.deleted.append(path)


def in_place(monkeypatch: pytest.MonkeyPatch, cluster: type[ClusterClient], *modules: Any) -> Any:
    """A class of the test's own, with what is created and deleted, in the place of the modules' client."""
    own = type("Own", (cluster,), {"created": [], "deleted": []})
    for module in modules:
        monkeypatch.setattr(module, "ClusterClient", own)
    return own


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[FakeCluster]:
    return in_place(monkeypatch, FakeCluster, fit, offer_commands, submission)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process; exit code, standard output, standard error."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["gpu", *arguments])
        monkeypatch.setenv("COLUMNS", "80")
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        code = ended.value.code
        return (code if isinstance(code, int) else 0), out, err

    return run


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, ""),
        ({"spot": True}, " spot"),
        ({"spot": True, "capacity_type": "spot"}, " spot"),
        ({"capacity_type": "reserved"}, " reserved"),
        ({"capacity_type": "flex-start", "max_run_hours": 24}, " flex-start (up to 24 h)"),
        (
            {"capacity_type": "capacity-block", "since": "2099-03-01", "until": "2099-03-08"},
            " capacity-block (from 2099-03-01 until 2099-03-08)",
        ),
    ],
)
def test_the_capacity_type_is_shown_unless_it_is_on_demand(changes: dict[str, Any], expected: str) -> None:
    assert offer_commands.capacity(pool(**changes)) == expected


def test_pools_fit_80_columns_and_say_what_is_up(gpu: Run, cluster: type[FakeCluster]) -> None:
    code, out, _ = gpu("pools")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert "1/3" in out
    assert "0/3" in out
    _, out, _ = gpu("pools", "--json")
    pools = json.loads(out)
    assert {each["name"]: each["nodes"] for each in pools} == {"t4-1": 0, "t4-4": 1}
    assert all(key.isalnum() for pool in pools for key in pool), "camelCase, like the other commands"
    assert pools[1]["gpusPerNode"] == 4
    assert pools[1]["capacityType"] == "on-demand"
    assert pools[1]["labels"]["gpucluster.dev/pool"] == "t4-4", "names of labels are not changed"
    cluster.sees_nodes = False
    _, out, _ = gpu("pools", "--json")
    assert {each["nodes"] for each in json.loads(out)} == {None}


def test_fit_answers_yes_and_no(gpu: Run, cluster: type[FakeCluster]) -> None:
    code, out, _ = gpu("fit", "--gpus", "4")
    assert code == 0
    assert out.startswith("t4-4: 4 nvidia-t4 per node, $4.00/h per node; 1 node up")
    code, out, _ = gpu("fit", "--gpus", "8", "--json")
    assert code == 1
    assert json.loads(out)["fits"] == []
    code, out, _ = gpu("fit", "--gpu", "h100")
    assert code == 1
    assert "the nearest is" in out


def test_a_dry_run_prints_what_kubectl_takes_and_creates_nothing(gpu: Run, cluster: type[FakeCluster]) -> None:
    arguments = ["--image", "example.com/x", "--name", "train", "--workers", "2", "--team", "ml"]
    code, out, err = gpu("submit", "--dry-run", *arguments, "--", "python", "train.py")
    job, service = yaml.safe_load_all(out)
    assert (code, err) == (0, "")
    assert (job["kind"], service["kind"], job["metadata"]["namespace"]) == ("Job", "Service", "ml")
    assert "&id" not in out
    assert cluster.created == []
    packaged = yaml.safe_load(gpu("submit", "--dry-run", "--registry", "r.example/a", "--name", "x", "--", "true")[1])
    assert packaged["spec"]["template"]["spec"]["containers"][0]["image"].startswith("r.example/a/x:")


def test_submitting_tells_the_warnings_and_how_to_go_on(gpu: Run, cluster: type[FakeCluster]) -> None:
    code, out, err = gpu("submit", "--image", "x", "--name", "train", "--detach", "-e", "A=b=c")
    assert (code, out) == (0, "")
    assert "mind this" in err
    assert "gpu stop train" in err
    assert "its pod then starts again from the beginning" in err
    (job,) = cluster.created
    assert job["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "A", "value": "b=c"}]


def test_with_several_contexts_it_asks_which_is_meant(gpu: Run, cluster: type[FakeCluster]) -> None:
    cluster.others = 1
    code, _, err = gpu("submit", "--image", "x", "--detach")
    assert code == 2
    assert "--context" in err
    assert cluster.created == []
    assert gpu("submit", "--image", "x", "--detach", "--yes")[0] == 0
    assert gpu("submit", "--image", "x", "--detach", "--context", "there")[0] == 0
    assert len(cluster.created) == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["submit"], 2, "after --"),
        (["submit", "--image", "x", "--sweep", "lr=", "--", "a"], 2, "empty"),
        (["submit", "--image", "x", "--memory", "lots"], 2, "--memory"),
        (["submit", "--image", "x", "--memory", "10", "--", "a"], 2, "is 10 bytes; write the unit, as in 10Gi"),
        (["fit", "--disk", "50"], 2, "is 50 bytes; write the unit, as in 50Gi"),
        (["submit", "--image", "x", "--sweep", "lr=0.1..0.5", "--", "a"], 2, "a range has two whole numbers"),
        (["submit", "--", "python train.py --lr 3"], 2, "write it without quotes: -- python train.py --lr 3"),
        (["submit", "--image", "x", "--name", "No"], 2, "--name"),
        (["submit", "--image", "x", "-e", "A"], 2, "NAME=value"),
        (["submit", "--image", "x", "--gpus", "8"], 1, "the nearest is"),
        (["submit", "--image", "x", "--team", "nowhere"], 3, "namespace nowhere does not exist"),
        (["submit", "--image", "x", "--team", "kube-system"], 2, "kube-system is a namespace of the cluster itself"),
        (["submit", "--image", "x", "--team", "notebook"], 2, "write --team: for example default"),
        (
            ["submit", "--gpu", "t4", "python", "train.py", "--epochs", "3"],
            2,
            "then the program: gpu submit --gpu t4 -- python train.py --epochs 3",
        ),
        (["submit", "--image", "x", "echo", "--name", "me"], 2, "--name behind the program"),
        (["submit", "--image", "x", "echo", "-1"], 2, "-- echo -1"),
        (["submit", "--detach", "--build", "--", "true"], 1, "--registry"),
        (["submit", "--detach", "--", "python", "nowhere.py"], 2, "nowhere.py is not in this folder"),
        (["submit", "--image", "x", "--sweep", "a=1..2", "--", "echo", "{b}"], 2, "write --sweep b=…"),
        (["submit", "--image", "x", "--", "python", "x.py", "--lr={lr}"], 2, "{lr}: no --sweep has that name"),
        (["submit", "--image", "x", "--detach", "--sweep", "a=0..100", "--", "echo"], 2, "confirm it with --yes"),
        (["fit", "--gpus", "0"], 2, "greater"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_created(
    gpu: Run, cluster: type[FakeCluster], arguments: list[str], code: int, message: str
) -> None:
    exit_code, _, err = gpu(*arguments)
    assert exit_code == code
    assert message in err
    assert cluster.created == []


def test_a_program_without_options_needs_no_dashes(gpu: Run, cluster: type[FakeCluster]) -> None:
    for words in (["echo", "a", "-"], ["--", "echo", "a", "-"], ["--", "echo", "--", "-v"]):
        assert gpu("submit", "--image", "x", "--detach", *words)[0] == 0
    commands = [each["spec"]["template"]["spec"]["containers"][0]["command"] for each in cluster.created]
    assert commands == [["echo", "a", "-"], ["echo", "a", "-"], ["echo", "--", "-v"]]


def test_a_sweep_tells_its_price_and_a_large_one_is_confirmed(gpu: Run, cluster: type[FakeCluster]) -> None:
    """The pool has 3 nodes at $4.00 per hour; each takes two of these pods."""
    fits = ("submit", "--image", "x", "--detach", "--gpus", "2", "--sweep")
    code, _, err = gpu(*fits, "a=0..99", "--", "echo", "{a}")
    assert code == 0
    assert "100 runs, 6 at once: up to $12.00/h; $200.00 in all if each takes an hour" in err
    code, _, err = gpu(*fits, "a=0..2", "--at-once", "1", "--", "echo", "{a}")
    assert "3 runs, 1 at once: up to $4.00/h; $6.00 in all if each takes an hour" in err
    assert gpu(*fits, "a=0..100", "--yes", "--", "echo", "{a}")[0] == 0
    assert [each["kind"] for each in cluster.created].count("Job") == 3


@pytest.mark.parametrize(("answer", "created"), [(True, 1), (False, 0)])
def test_at_a_terminal_a_large_sweep_is_a_question(
    gpu: Run, cluster: type[FakeCluster], monkeypatch: pytest.MonkeyPatch, answer: bool, created: int
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" if answer else "n\n"))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    code, _, err = gpu("submit", "--image", "x", "--detach", "--sweep", "a=0..100", "--", "echo", "{a}")
    assert "submit it?" in err
    assert (code == 0) is answer
    assert len(cluster.created) == created


def test_a_sweep_is_large_by_its_runs_or_by_its_price_per_hour() -> None:
    def large(runs: int, at_once: int, usd: float | None) -> bool:
        return SweepPrice(runs, at_once, usd, 1).large

    assert (large(100, 1, 1.0), large(101, 1, 1.0), large(101, 1, None)) == (False, True, True)
    assert (large(10, 10, 2.5), large(10, 10, 2.51), large(10, 10, None)) == (False, True, False)
    assert str(SweepPrice(1, 1, None, 1)) == "1 run, 1 at once, price unknown"


def test_a_dockerfile_may_bring_the_program(
    gpu: Run, cluster: type[FakeCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = ("submit", "--dry-run", "--registry", "r.example/a", "--", "python", "x.py")
    assert gpu(*plan)[0] == 2
    (tmp_path / "Dockerfile").write_text("FROM scratch")
    code, _, err = gpu(*plan)
    assert (code, "x.py is not in this folder" in err) == (0, True)
    (tmp_path / "x.py").touch()
    assert gpu(*plan)[2] == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_a_script_for_completion(gpu: Run, shell: str) -> None:
    code, out, _ = gpu("completion", shell)
    assert code == 0
    assert "_GPU_COMPLETE=complete_" + shell in out
    code, _, err = gpu("completion", "cmd")
    assert (code, "cmd: write one of bash, zsh, fish" in err) == (2, True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("gpu su", "submit"),
        ("gpu submit --regi", "--registry"),
        ("gpu logs tr", "train"),
        ("gpu stop train tu", "tune"),
    ],
)
def test_bash_completes_commands_options_and_the_names_of_jobs(
    gpu: Run, cluster: type[FakeCluster], monkeypatch: pytest.MonkeyPatch, line: str, expected: str
) -> None:
    def named(self: FakeCluster, path: str, keep: Callable[[Any], Any], **_: Any) -> list[dict[str, Any]]:
        assert path == "/apis/batch/v1/namespaces/default/jobs"
        gpus = {"train": 1, "tune": 1, "train-notify": 0}
        gpus |= dict.fromkeys(("train\\$(touch x)", "train`id`", "train'", "tra\nin", "-train", "train:x", ""), 1)
        pods = {name: {"containers": [{"resources": {"limits": {"nvidia.com/gpu": n}}}]} for name, n in gpus.items()}
        jobs = ({"metadata": {"name": name}, "spec": {"template": {"spec": pod}}} for name, pod in pods.items())
        return [kept for job in jobs if (kept := keep(job))]

    monkeypatch.setattr(cluster, "list", named)
    monkeypatch.setattr("gpu.commands.jobs.ClusterClient", cluster)
    for name, value in {
        "_GPU_COMPLETE": "complete_bash",
        "COMP_WORDS": line,
        "COMP_CWORD": str(line.count(" ")),
    }.items():
        monkeypatch.setenv(name, value)
    code, out, _ = gpu()
    assert (code, out.split()) == (0, [expected])


def test_a_silent_cluster_is_reported_in_words(gpu: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu.cluster._TIMEOUT", (0.2, 0.2))
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        file = kubeconfig(tmp_path / "config", {"here": f"http://127.0.0.1:{silent.getsockname()[1]}"})
        monkeypatch.setenv("KUBECONFIG", str(file))
        code, _, err = gpu("pools")
    assert code == 3
    assert "no answer from the cluster: Read timed out. (read timeout=0.2). Check the context" in err


def test_without_a_cluster_it_says_how_to_name_one(gpu: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    code, _, err = gpu("pools")
    assert code == 3
    assert "KUBECONFIG" in err
    file = kubeconfig(tmp_path / "config", {"here": "https://127.0.0.1:1"})
    monkeypatch.setenv("KUBECONFIG", str(file))
    code, _, err = gpu("pools", "--context", "there")
    assert code == 3
    assert "write one of here" in err
    code, _, err = gpu("pools")
    assert code == 3
    assert "no answer" in err


def test_help_fits_80_columns_and_cuts_no_sentence_off(gpu: Run) -> None:
    commands = [line.split()[0] for line in gpu("--help")[1].partition("Commands:\n")[2].splitlines()]
    assert {"pools", "fit", "submit", "top", "forward", "completion"} <= set(commands)
    for words in ([], *([command] for command in commands)):
        code, out, _ = gpu(*words, "--help")
        assert code == 0
        assert max(map(len, out.splitlines())) <= 80, words
        assert [line for line in out.splitlines()[1:] if line.endswith("...")] == [], words
        assert re.findall(r"--[a-z-]+ <.*|.*sha256.*", out) == [], words


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("submit --name My_Job --image x", "--name My_Job: write lowercase letters"),
        ("submit -e FOO --image x", "--env FOO: write NAME=value"),
        ("submit --timeout soon --image x", "--timeout soon: not a duration"),
        ("submit --sweep lr --image x -- true", "--sweep lr"),
        ("cost --month november", "--month november: write a year and a month"),
        ("cost --csv", "--csv needs --month"),
        ("plan nofile.csv", "nofile.csv: No such file"),
        ("forward train http", "http: write a port"),
        ("dev --idle soon", "--idle soon: not a duration"),
    ],
)
def test_a_wrong_word_is_reported_before_the_kubeconfig(
    gpu: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: str, message: str
) -> None:
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(dev, "kubectl", lambda: "kubectl")
    code, _, err = gpu(*arguments.split())
    assert (code, message in err) == (2, True), err
