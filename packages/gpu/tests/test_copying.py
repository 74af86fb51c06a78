"""``gpu cp``: what a pod sends arrives whole and in its folder, or nothing is pretended; else where the results are."""

from __future__ import annotations

import io
import os
import random
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from facts.concepts.offer import CheckpointsOffer
from facts.jobs.runner import FILES
from gpu.commands import copying, fit, submission
from gpu.commands import offer as offer_commands
from packages.gpu.tests.offers import offer, pool
from packages.gpu.tests.test_cli import FakeCluster, Run, gpu, in_place

__all__ = ["gpu"]

VOLUME = {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}


class Cluster(FakeCluster):
    """Has the job ``train``. ``running``: the indexes of its running pods; ``reader``: how the reader's pod is."""

    running: tuple[int, ...] = (0, 1)
    reader = "Running"
    volumes: tuple[Any, ...] = (VOLUME,)
    env: tuple[Any, ...] = ()
    published = offer(pool())

    def offer(self) -> Any:
        return self.published

    def find(self, path: str) -> dict[str, Any] | None:
        template = {"spec": {"containers": [{"name": "main", "env": [*self.env]}], "volumes": [*self.volumes]}}
        about = {"name": "train", "namespace": "default", "uid": "u"}
        return {"metadata": about, "spec": {"template": template}, "status": {}} if path.endswith("/train") else None

    def list(self, path: str, **query: Any) -> list[dict[str, Any]]:
        if query.get("labelSelector", "").startswith("batch.kubernetes.io/job-name=gpu-cp-"):
            return [{"metadata": {"name": "reader"}, "status": {"phase": self.reader}}]
        return [
            {
                "metadata": {
                    "name": f"train-{index}",
                    "creationTimestamp": "2026-11-22T08:00:00Z",
                    "annotations": {"batch.kubernetes.io/job-completion-index": str(index)},
                },
                "status": {"phase": "Running" if index in self.running else "Succeeded"},
            }
            for index in range(2)
        ]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> type[Cluster]:
    monkeypatch.setattr("time.sleep", lambda _: None)
    return in_place(monkeypatch, Cluster, copying)


@pytest.fixture
def pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the files of each pod are: kubectl runs the command there, with its absolute paths below it."""
    home, bin = tmp_path / "pods", tmp_path / "bin"
    bin.mkdir()
    kubectl = bin / "kubectl"
    kubectl.write_text(
        f"#!{sys.executable}\n"
        "import os, sys\n"
        "pod, command = sys.argv[sys.argv.index('--') - 1], sys.argv[sys.argv.index('--') + 1:]\n"
        f"place = os.path.join({str(home)!r}, pod.removeprefix('pod/'))\n"
        "os.chdir(place)\n"
        "os.execvp(command[0], [place + each if each.startswith('/') else each for each in command])\n"
    )
    kubectl.chmod(0o755)
    monkeypatch.setenv("PATH", f"{bin}:{os.environ['PATH']}")
    for name in ("train-0", "train-1", "reader"):
        for folder in ("out/sub", "shared/out"):
            (home / name / folder).mkdir(parents=True)
            (home / name / folder / "model.pt").write_text(f"{name} {folder}")
    monkeypatch.chdir(tmp_path)
    return home


@pytest.mark.parametrize(
    ("arguments", "file", "text"),
    [
        (["train:out"], "out/sub/model.pt", "train-0 out/sub"),
        (["train:out/"], "out/sub/model.pt", "train-0 out/sub"),
        (["train:out/sub/model.pt", "here"], "here/model.pt", "train-0 out/sub"),
        (["train:out", "here", "--index", "1"], "here/out/sub/model.pt", "train-1 out/sub"),
        (["train:/shared/out", "here"], "here/out/model.pt", "train-0 shared/out"),
    ],
)
def test_files_of_a_running_pod_are_copied(
    gpu: Run, cluster: type[Cluster], pods: Path, arguments: list[str], file: str, text: str
) -> None:
    code, out, err = gpu("cp", *arguments)
    assert (code, out) == (0, "")
    assert "1 file copied to" in err
    assert Path(file).read_text() == text
    assert cluster.created == []


def test_what_is_there_is_replaced_on_request_alone(gpu: Run, cluster: type[Cluster], pods: Path) -> None:
    Path("out/sub").mkdir(parents=True)
    Path("out/mine").write_text("mine")
    Path("out/sub/model.pt").symlink_to(Path("out/mine").absolute())
    code, _, err = gpu("cp", "train:out")
    assert (code, "out exists; choose another FOLDER, or replace it with --force" in err) == (2, True)
    assert gpu("cp", "train:out", "--force")[0] == 0
    assert Path("out/sub/model.pt").read_text() == "train-0 out/sub"
    assert Path("out/mine").read_text() == "mine"


def test_of_a_job_that_ended_the_shared_volume_is_read_by_a_pod_that_goes(
    gpu: Run, cluster: type[Cluster], pods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "running", ())
    code, _, _ = gpu("cp", "train:/shared/out")
    assert (code, Path("out/model.pt").read_text()) == (0, "reader shared/out")
    (reader,) = cluster.created
    spec = reader["spec"]["template"]["spec"]
    assert spec["volumes"] == [VOLUME]
    assert spec["containers"][0]["command"][0] == "sleep"
    assert "nvidia.com/gpu" not in str(reader)
    assert cluster.deleted == [f"/apis/batch/v1/namespaces/default/jobs/{reader['metadata']['name']}"]


def test_a_reader_that_cannot_run_is_deleted(
    gpu: Run, cluster: type[Cluster], pods: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "running", ())
    monkeypatch.setattr(cluster, "reader", "Pending")
    monkeypatch.setattr(copying, "_SECONDS", 0.05)
    code, _, err = gpu("cp", "train:/shared/out")
    assert (code, "no node could run the pod" in err, len(cluster.deleted)) == (1, True, 1)


BUCKET = {"name": "CHECKPOINTS", "value": "gs://lab/train"}
CHECKPOINTS = CheckpointsOffer(url="gs://lab", service_account="default/trainer")


@pytest.mark.parametrize(
    ("changes", "published", "path", "words"),
    [
        (
            {"env": ({**BUCKET, "value": "gs://lab/x; evil"},)},
            {"cloud": "gke"},
            "out",
            "gcloud storage cp --recursive 'gs://lab/x; evil' .",
        ),
        ({"env": (BUCKET,)}, {"cloud": "gke"}, "out", "gcloud storage cp --recursive gs://lab/train ."),
        ({"env": (BUCKET,)}, {"cloud": "eks"}, "out", "aws s3 cp --recursive gs://lab/train train"),
        ({"env": (BUCKET,)}, {"cloud": "aks"}, "out", "azcopy copy gs://lab/train . --recursive"),
        ({"env": (BUCKET,)}, {"cloud": "existing"}, "out", "is in gs://lab/train"),
        ({}, {"volume_namespace": "default"}, "out", "write results to /shared (namespace default)"),
        ({}, {"checkpoints": CHECKPOINTS}, "out", "let the program write results to CHECKPOINTS"),
        ({"volumes": ()}, {}, "/shared/out", "ask your administrator for `workloads: {sharedVolume: {}}`"),
        ({}, {}, "/shared/../out", "ask your administrator"),
        ({}, {}, "/shareddata", "ask your administrator"),
    ],
)
def test_otherwise_it_says_where_results_are_and_copies_nothing(
    gpu: Run,
    cluster: type[Cluster],
    pods: Path,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    published: dict[str, Any],
    path: str,
    words: str,
) -> None:
    for name, value in {**changes, "running": (), "published": replace(offer(pool()), **published)}.items():
        monkeypatch.setattr(cluster, name, value)
    code, _, err = gpu("cp", f"train:{path}")
    assert (code, cluster.created) == (1, [])
    assert "went with its container" in " ".join(err.split())
    assert words in " ".join(err.split())


@pytest.mark.parametrize("source", ["train", "train:", ":out", "train:/", "train:..", "train:."])
def test_what_names_no_file_of_a_job_is_refused(gpu: Run, cluster: type[Cluster], pods: Path, source: str) -> None:
    assert gpu("cp", source)[0] == 2


def archive(*members: tuple[str, str]) -> bytes:
    """Of files with their texts; a text with ``->`` is where a link leads, with ``=>`` another name of which file."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as made:
        for name, text in members:
            about = tarfile.TarInfo(name)
            if text.startswith(("->", "=>")):
                about.type = tarfile.SYMTYPE if text.startswith("->") else tarfile.LNKTYPE
                about.linkname = text[2:]
                made.addfile(about)
            else:
                about.size = len(text)
                made.addfile(about, io.BytesIO(text.encode()))
    return buffer.getvalue()


def chain() -> bytes:
    """Links through a path that is longer than the system's longest, which end above all folders (CVE-2025-4517)."""
    path, members, steps, long = "out", [], "abcdefghijklmnop", "d" * 247
    for step in steps:
        members += [(f"{path}/{long}/file", "x"), (f"{path}/{step}", f"->{long}")]
        path += f"/{long}"
    top = f"out/{'/'.join(steps)}/{'l' * 254}"
    members += [(top, f"->{'../' * len(steps)}"), ("out/escape", f"->{top.removeprefix('out/')}/../..")]
    return archive(*members, ("out/escape/escaped", "x"))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (archive(("../escaped", "x")), "was not copied"),
        (archive(("out/a", "x"), ("out/../../escaped", "x")), "copied in part"),
        (archive(("escaped", "x")), "escaped is not in out"),
        (archive(("out/a", "x"), ("out/link", "->/etc/passwd")), "leads out of it: out/link"),
        (archive(("out/a", "x" * 2000))[:1500], "was not copied"),
        (b"", "was not copied"),
        (archive(("out/a", "x"), ("out/../mine", "x")), "out/../mine is not in out"),
        (archive(("out", "->."), ("out/mine", "x")), "leads out of it: out"),
        (archive(("out/link", "->.."), ("out/link/mine", "x")), "leads out of it: out/link"),
        (archive(("out/self", "->."), ("out/self/link", "->.."), ("out/link/mine", "x")), "out/self"),
        (chain(), "was not copied"),
        (archive(("out/a", "x"), ("out/b", "->."), ("out/link", "->b/../..")), "leads out of it: out/link"),
        (archive(("out/a", "x"), ("out/././link", "->..")), "leads out of it: out/link"),
        (archive(("out/a", "x"), ("out/link", "=>mine")), "mine is not in out"),
        (archive(("out/a", "x"), ("out/link", "=>out/../../here/mine")), "is not in out"),
    ],
    ids=[
        *("above", "above, later", "beside", "a link out", "cut off", "nothing"),
        *("beside by its name", "a link to the folder", "a link below", "a link by a link"),
        *("a long chain", "a link through a link", "a longer name", "another name", "another name above"),
    ],
)
def test_a_pod_writes_nowhere_else_and_half_an_archive_is_no_success(
    gpu: Run,
    cluster: type[Cluster],
    pods: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    content: bytes,
    words: str,
) -> None:
    (tmp_path / "sent").write_bytes(content)
    monkeypatch.setattr(copying, "program_of_kubectl", lambda: str(tmp_path / "bin/sends"))
    (tmp_path / "bin/sends").write_text(f"#!/bin/sh\ncat {tmp_path}/sent\n")
    (tmp_path / "bin/sends").chmod(0o755)
    (tmp_path / "here").mkdir()
    (tmp_path / "here/mine").write_text("mine")
    code, _, err = gpu("cp", "train:out", "here")
    assert (code, words in " ".join(err.split())) == (1, True)
    assert not [*tmp_path.rglob("escaped")]
    assert not (tmp_path / "here/out/link").is_symlink()
    assert (tmp_path / "here/mine").read_text() == "mine"
    assert {each.name for each in (tmp_path / "here").iterdir()} <= {"mine", "out"}


def test_links_below_the_folder_are_copied(
    gpu: Run, cluster: type[Cluster], pods: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = (("out/best", "->run/last"), ("out/run/last", "->../data/2.pt"), ("out/data/2.pt", "x"))
    (tmp_path / "sent").write_bytes(archive(*members, ("out/data/same.pt", "=>out/data/2.pt")))
    (tmp_path / "bin/kubectl").write_text(f"#!/bin/sh\ncat {tmp_path}/sent\n")
    assert gpu("cp", "train:out", "here")[0] == 0
    assert Path("here/out/best").readlink() == Path("run/last")
    assert Path("here/out/best").read_text() == "x" == Path("here/out/data/same.pt").read_text()


def test_a_copy_that_kubectl_ends_is_no_success(
    gpu: Run, cluster: type[Cluster], pods: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sent").write_bytes(archive(("out/a", "x")))
    (tmp_path / "bin/kubectl").write_text(f"#!/bin/sh\ncat {tmp_path}/sent\nexit 2\n")
    code, _, err = gpu("cp", "train:out", "here")
    assert (code, "copied in part: tar or kubectl ended with 2" in err) == (1, True)


@pytest.fixture
def project(pods: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is too large for the cluster's API."""
    folder = pods.parent / "project"
    folder.mkdir()
    (folder / "train.py").write_text("print(1)")
    (folder / "data.bin").write_bytes(random.Random(1).randbytes(8 * 1024 * 1024))
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def submitting(monkeypatch: pytest.MonkeyPatch) -> type[Cluster]:
    """A cluster with a shared volume in the namespace ``default``."""
    monkeypatch.setattr("time.sleep", lambda _: None)
    cluster = in_place(monkeypatch, Cluster, fit, offer_commands, submission)
    cluster.published = replace(offer(pool("t4-1")), volume_namespace="default")
    own: type[Cluster] = cluster
    return own


SUBMIT = ("submit", "--detach", "--name", "train2", "--", "python", "train.py")


def test_a_folder_that_is_too_large_for_the_api_is_stored_in_the_shared_volume(
    gpu: Run, submitting: type[Cluster], pods: Path, project: Path
) -> None:
    for _ in range(2):
        code, _, err = gpu(*SUBMIT)
        assert (code, "a pod without GPU stores this folder" in err) == (0, True)
    (archive,) = [each for each in (pods / "reader/shared/.sync").rglob("*") if each.is_file()]
    assert archive.name == "archive"
    with tarfile.open(archive) as stored:
        assert sorted(stored.getnames()) == ["data.bin", "train.py"]
    writer, job, *_ = submitting.created
    assert writer["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][0]["readOnly"] is False
    assert submitting.deleted[0].endswith(writer["metadata"]["name"])
    assert not [each for each in submitting.created if each["kind"] == "ConfigMap"]
    (container,) = job["spec"]["template"]["spec"]["containers"]
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    assert mounts[FILES] == {
        "name": "shared",
        "mountPath": FILES,
        "subPath": f".sync/{archive.parent.name}",
        "readOnly": True,
    }
    assert container["workingDir"] == "/workspace"
    volumes = {each["name"] for each in job["spec"]["template"]["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} <= volumes
    assert "files" not in volumes


def test_half_a_folder_is_not_stored_and_no_job_is_created(
    gpu: Run, submitting: type[Cluster], pods: Path, project: Path
) -> None:
    kubectl = pods.parent / "bin/kubectl"
    whole = kubectl.with_name("whole")
    kubectl.rename(whole)
    kubectl.write_text(f'#!/bin/sh\nhead -c 100000 | {whole} "$@"\n')
    kubectl.chmod(0o755)
    code, _, err = gpu(*SUBMIT)
    assert (code, "was not stored in the shared volume: kubectl ended with 9" in " ".join(err.split())) == (1, True)
    assert [each["metadata"]["name"].startswith("gpu-cp-") for each in submitting.created] == [True]
    assert not [each for each in (pods / "reader/shared/.sync").rglob("*") if each.is_file()]


@pytest.mark.parametrize(
    ("volume", "arguments"), [(None, SUBMIT), ("ml", SUBMIT), ("default", (*SUBMIT[:1], "--dry-run", *SUBMIT[1:]))]
)
def test_without_the_volume_a_large_folder_is_refused(
    gpu: Run,
    submitting: type[Cluster],
    pods: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    volume: str | None,
    arguments: tuple[str, ...],
) -> None:
    monkeypatch.setattr(submitting, "published", replace(offer(pool("t4-1")), volume_namespace=volume))
    code, _, err = gpu(*arguments)
    assert (code, "compressed, more than 7.0 MiB" in " ".join(err.split())) == (2, True)
    assert submitting.created == []
