"""Options of a job in files: the command line wins, and what a file gets wrong is reported."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from facts.concepts.offer import TeamOffer
from facts.jobs.job import AskError
from facts.jobs.plan import priority_class_of
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import FakeCluster, Run, cluster, gpu

__all__ = ["cluster", "gpu"]

FILE = """
image: example.com/train:1
command: python train.py --lr {lr}
gpus: 4
sweep: {lr: [1e-3, 1e-4], seed: 0..2}
at-once: 2
env: {A: 1, B: from the file, C: true}
timeout: 2h30m
spot: false
detach: true
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "job.yaml"
    path.write_text(FILE)
    return path


def submitted(cluster: type[FakeCluster]) -> dict[str, Any]:
    (job,) = [each for each in cluster.created if each["kind"] == "Job"]
    return job["spec"]


def environment(job: dict[str, Any]) -> dict[str, str]:
    return {each["name"]: each["value"] for each in job["template"]["spec"]["containers"][0]["env"]}


def test_a_file_holds_all_options(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    code, _, err = gpu("submit", "-f", "job.yaml")
    assert code == 0, err
    job = submitted(cluster)
    assert (job["completions"], job["parallelism"]) == (6, 2)
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    assert container["image"] == "example.com/train:1"
    assert 'exec python train.py --lr "$lr"' in container["command"][-1]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 4
    assert environment(job) == {"A": "1", "B": "from the file", "C": "true"}
    assert pod["activeDeadlineSeconds"] == 9000


def test_the_command_line_wins(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    code, _, err = gpu(
        "submit", "--gpus", "2", "--sweep", "lr=1", "--file", "job.yaml", "--", "python", "other.py", "{lr}"
    )
    assert code == 0, err
    job = submitted(cluster)
    assert job["completions"] == 1
    (container,) = job["template"]["spec"]["containers"]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == 2
    assert "python other.py" in container["command"][-1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("gpuss: 1", "there is no option gpuss; did you mean gpus?"),
        ("bogus: 1", "there is no option bogus; write one of at-once, build, "),
        ("image: x\nfile: other.yaml", "there is no option file"),
        ("image: x\nyes: true", "yes: a file does not say this; write --yes on the command line"),
        ("image: x\ncontext: prod", "context: a file does not say this"),
        ("image: x\ncluster: soonest", "cluster: a file does not say this"),
        ("image: x\nteam: ops", "team: a file does not say this; write --team on the command line"),
        ("image: x\nregistry: ttl.sh/a", "registry: a file does not say this; write --registry on the command line"),
        ("image: x\nenv_file: /proc/self/environ", "env_file: /proc/self/environ is outside of this folder"),
        ("image: x\nenv-file: ../.env", "env-file: ../.env is outside of this folder; write --env-file on the"),
        ("image: x\nenv-file: link.env", "env-file: link.env is outside of this folder"),
        ("image: x\nno-spot: 1", "no-spot: write true or false"),
        ("image: x\nno-spot: true\nspot: true", "spot: the file has this option twice"),
        ("image: x\nmount: s3://data", "jobs mount no buckets"),
        ("- gpus", "write one option per line"),
        ("gpus: {a: 1}", "gpus: write one value, not a mapping"),
        ("gpus: [", "--file job.yaml:"),
        ("command: echo it's done", "command: a quotation mark or \\ is not closed; write a list: [python, train.py]"),
        (
            "command: |\n  pip install x\n  python train.py",
            "command: no shell reads this; write one program, or a shell's",
        ),
        ("command: python train.py && echo done", "[bash, -c, 'pip install x && python train.py']"),
        ("command: cd sub; python train.py", "command: no shell reads this"),
        ("command: {a: b}", "command: write one program"),
        ("command: [[python], train.py]", "command: each word is one value"),
        ("image: x\nenv: {A: {b: 1}}", "env: write one value for each name"),
        ("command:", "no program: write it after --"),
        ("gpus: lots", "--gpus"),
        ("image: x\ntimeout: soon", "--timeout soon: not a duration; write for example 90m or 2h30m"),
        ("image: x\ntimeout: 0", "--timeout 0: must be more than 0"),
        ("image: x\npriority: high", "--priority: this stack has no priorities"),
    ],
)
def test_mistakes_are_reported(gpu: Run, cluster: type[FakeCluster], file: Path, content: str, message: str) -> None:
    file.write_text(content)
    file.with_name("link.env").symlink_to("/proc/self/environ")
    code, _, err = gpu("submit", "-f", "job.yaml", "--detach")
    assert code == 2
    assert message in err
    assert cluster.created == []
    assert "mount," not in err
    code, _, err = gpu("submit", "-f", "missing.yaml")
    assert (code, "--file missing.yaml: No such file or directory\n" in err) == (2, True)


@pytest.mark.parametrize(
    ("content", "pools"),
    [
        ("no-spot: true", ["t4-4"]),
        ("no-spot: false", ["t4-1"]),
        ("spot: true", ["t4-1"]),
        ("spot: no", ["t4-4"]),
        ("no_spot: True", ["t4-4"]),
    ],
)
def test_an_option_that_takes_the_place_of_another_may_be_written_in_a_file(
    gpu: Run, cluster: type[FakeCluster], file: Path, content: str, pools: list[str]
) -> None:
    """`--no-spot` and `--build` of `gpu submit --help` are `spot: false` and `sync: false`."""
    file.write_text(f"image: x\ncommand: python -c pass\ndetach: true\n{content}\n")
    code, _, err = gpu("submit", "-f", "job.yaml")
    assert code == 0, err
    (term,) = submitted(cluster)["template"]["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]["nodeSelectorTerms"]
    assert term["matchExpressions"][0]["values"] == pools


def test_variables_come_from_a_file_and_single_ones_win(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    file.with_name(".env").write_text("# a comment\n\nA=1\nexport B = 'two words'\nC=\"x=y\"\nD=\n")
    plan = ("submit", "--image", "x", "--detach", "--env-file", ".env")
    assert gpu(*plan, "-e", "A=3")[0] == 0
    assert environment(submitted(cluster)) == {"A": "3", "B": "two words", "C": "x=y", "D": ""}
    file.write_text("image: x\ncommand: python -c pass\ndetach: true\nenv-file: .env\n")
    cluster.created.clear()
    assert gpu("submit", "-f", "job.yaml")[0] == 0
    assert environment(submitted(cluster))["B"] == "two words"
    file.with_name(".env").write_text("A=1\nB\n")
    code, _, err = gpu(*plan)
    assert (code, "--env-file .env, line 2: write NAME=value" in err) == (2, True)
    file.with_name(".env").unlink()
    assert gpu(*plan)[0] == 2


def priority_of(team: str | None, priority: str | None) -> str | None:
    """Of a job of the team whose jobs have this priority."""
    its = TeamOffer(name="ml", gpus=4, priority_class=f"gpucluster-{team}" if team in ("low", "high") else None)
    return priority_class_of(replace(offer(pool()), teams=(its,)), its if team else None, priority)


@pytest.mark.parametrize(
    ("team", "priority", "expected"),
    [
        ("low", None, "gpucluster-low"),
        ("normal", None, None),
        ("normal", "low", "gpucluster-low"),
        ("high", None, "gpucluster-high"),
        ("high", "normal", None),
        ("high", "low", "gpucluster-low"),
        (None, None, None),
        (None, "high", "gpucluster-high"),
    ],
)
def test_a_jobs_priority_is_one_its_team_may_use(team: str | None, priority: str | None, expected: str | None) -> None:
    assert priority_of(team, priority) == expected


@pytest.mark.parametrize(
    ("team", "priority", "message"),
    [
        ("low", "normal", "team ml may use low; ask"),
        ("normal", "high", "team ml may use low or normal; ask"),
        ("high", "urgent", "write one of low, normal, high"),
    ],
)
def test_a_priority_that_the_team_may_not_use_is_refused_at_once(team: str, priority: str, message: str) -> None:
    with pytest.raises(AskError, match=message):
        priority_of(team, priority)


@pytest.mark.parametrize("url", ["gs://data/imagenet", "s3://data", "az://data"])
def test_a_bucket_is_not_mounted_and_a_way_is_named(gpu: Run, cluster: type[FakeCluster], file: Path, url: str) -> None:
    code, out, err = gpu("submit", "-f", "job.yaml", "--mount", url)
    assert (code, out, cluster.created) == (2, "", [])
    assert f"--mount {url}: jobs mount no buckets. Let the program read it" in " ".join(err.split())
    file.write_text(f"{FILE}\nmount: {url}\n")
    assert "jobs mount no buckets" in gpu("submit", "-f", "job.yaml")[2]


WRITTEN: Final = ("1.10", "no", "010", "1_000", "0x10", "12:30", "0123456", "1e3", "True", "2026-11-29", ".5", "=")


def test_values_are_what_is_written(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    """YAML would read another number, a boolean or a date; `-e` and `--sweep` keep the text."""
    env = "".join(f"  V{n}: {text}\n" for n, text in enumerate(WRITTEN))
    words = ", ".join(["python", "train.py", *WRITTEN])
    file.write_text(f"gpus: 1\nimage: a\ndetach: yes\ncommand: [{words}]\nenv:\n{env}sweep: {{v: [1.10, no, 010]}}\n")
    code, _, err = gpu("submit", "-f", "job.yaml")
    assert code == 0, err
    job = submitted(cluster)
    found = environment(job)
    assert [found[f"V{n}"] for n in range(len(WRITTEN))] == [*WRITTEN]
    (container,) = job["template"]["spec"]["containers"]
    assert shlex.split(container["command"][-1].rpartition("exec ")[2])[2:] == [*WRITTEN]
    assert all(
        f"v={value}" in container["command"][-1] or value in container["command"][-1] for value in ("1.10", "no")
    )
    assert job["completions"] == 3


def test_an_error_shows_what_is_written(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    file.write_text("image: a\ntimeout: 1:30\ncommand: python train.py\n")
    assert "1:30" in gpu("submit", "-f", "job.yaml")[2]


def test_a_file_may_merge_parts(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    file.write_text("image: a\ndetach: true\ncommand: python train.py\nenv: {<<: {A: 1.10}, B: null}\n")
    assert gpu("submit", "-f", "job.yaml")[0] == 0
    assert environment(submitted(cluster)) == {"A": "1.10", "B": ""}


@pytest.mark.parametrize("content", ["env-file: ../mine/.env", "env-file: link.env"])
def test_a_file_from_elsewhere_gets_no_variables_of_the_working_folder(
    gpu: Run, cluster: type[FakeCluster], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    for folder in ("mine", "theirs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "mine" / ".env").write_text("TOKEN=of-mine")
    (tmp_path / "theirs" / "link.env").symlink_to(tmp_path / "mine" / ".env")
    (tmp_path / "theirs" / "job.yaml").write_text(f"image: x\n{content}")
    (tmp_path / "mine" / "job.yaml").symlink_to(tmp_path / "theirs" / "job.yaml")
    monkeypatch.chdir(tmp_path / "mine")
    for file in ("../theirs/job.yaml", "job.yaml"):
        code, _, err = gpu("submit", "-f", file)
        assert code == 2
        assert f"is outside of {tmp_path / 'theirs'}; write --env-file on the command line" in " ".join(err.split())
    assert not cluster.created
    (tmp_path / "theirs" / "job.yaml").write_text("image: x\nenv-file: .env\ndetach: true")
    (tmp_path / "theirs" / ".env").write_text("TOKEN=of-theirs")
    assert gpu("submit", "-f", "../theirs/job.yaml")[0] == 0
    assert environment(submitted(cluster))["TOKEN"] == "of-theirs"


@pytest.mark.parametrize(
    "line", ["python prep.py --sep '|'", 'python load.py --sql "select 1;"', r"find . -exec ls \;"]
)
def test_a_quoted_word_of_a_program_is_none_of_a_shell(
    gpu: Run, cluster: type[FakeCluster], file: Path, line: str
) -> None:
    file.write_text(yaml.safe_dump({"image": "x", "command": line, "detach": True}))
    assert gpu("submit", "-f", "job.yaml")[0] == 0
    assert submitted(cluster)["template"]["spec"]["containers"][0]["command"] == shlex.split(line)


def test_the_variables_that_a_file_asks_for_are_named(gpu: Run, cluster: type[FakeCluster], file: Path) -> None:
    (file.parent / ".env").write_text("A=1\nTOKEN=secret\n")
    (file.parent / "jobs").mkdir()
    (file.parent / "jobs" / "job.yaml").write_text("image: x\nenv-file: .env\ndetach: true")
    code, _, err = gpu("submit", "-f", "jobs/job.yaml")
    assert code == 0, err
    assert "environment variables from .env: A, TOKEN" in err
    assert "secret" not in err


def test_aliases_that_stand_for_too_much_are_refused_at_once(gpu: Run, file: Path) -> None:
    lists = "".join(f"  x{number}: &x{number} [{', '.join([f'*x{number - 1}'] * 9)}]\n" for number in range(1, 12))
    file.write_text(f"image: x\nenv:\n  x0: &x0 [a]\n{lists}")
    code, _, err = gpu("submit", "-f", "job.yaml")
    assert code == 2
    assert "aliases (*name) stand for too many values; write them out" in " ".join(err.split())
