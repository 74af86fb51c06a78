"""The folder of a program gets into its container, whole and without what is ignored, or into an image by a builder."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml

from facts.jobs.job import TrainingJobSpec, manifests
from facts.jobs.sweep import Sweep
from gpu import folder as folders
from gpu.folder import FolderArchive, FolderError, pack
from gpu.image import Builder, ImageError, dockerfile, find_builder, tag_for
from packages.gpu.tests.test_cli import FakeCluster, Run, cluster, gpu

__all__ = ["cluster", "gpu"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory: a program, a module, and what nobody needs in a job."""
    home = tmp_path / "project"
    for name in ("train.py", "model/layers.py", "model/__pycache__/layers.pyc", ".venv/bin/python", "data/large.bin"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"# {name}")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.chdir(home)
    return home


def contents(archive: FolderArchive) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(archive.content), mode="r:gz") as tar:
        files = {entry.name: tar.extractfile(entry) for entry in tar.getmembers()}
        return {name: file.read() for name, file in files.items() if file}


def git(project: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(project), *arguments], check=True, capture_output=True)


@pytest.mark.parametrize("repository", [False, True])
def test_what_gitignore_lists_is_left_out_and_new_files_are_not(project: Path, repository: bool) -> None:
    (project / ".gitignore").write_text("data/\n*.log\n!keep.log\n")
    (project / "model" / ".gitignore").write_text("*.tmp\n")
    for name in ("a.log", "keep.log", "model/x.tmp", "tracked.py"):
        (project / name).write_text("")
    if repository:
        git(project, "init")
        git(project, "add", "tracked.py", "train.py")
        (project / "tracked.py").unlink()
    files = {".gitignore", "train.py", "keep.log", "model/.gitignore", "model/layers.py"}
    assert set(contents(pack(project))) == (files if repository else files | {"tracked.py"})
    assert not (project / ".git").exists() or repository


@pytest.mark.parametrize("repository", [False, True])
def test_what_holds_credentials_is_left_out_and_named(project: Path, repository: bool) -> None:
    secret = (".env", "app/.env.local", ".aws/credentials", ".ssh/id_ed25519", ".kube/config", "keys/id_rsa", ".netrc")
    harmless = (".env.example", "environment.py", "aws.py", "app/kube/config", "env/main.py", "id_rsa.md")
    for name in (*secret, *harmless):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("HF_TOKEN=hf_x")
    if repository:
        git(project, "init")
        git(project, "add", "--force", *secret)
    archive = pack(project)
    assert not {*secret} & {*contents(archive)}
    assert {*harmless} <= {*contents(archive)}
    assert archive.left_out == (".aws", ".env", ".kube", ".netrc", ".ssh", "app/.env.local", "keys/id_rsa")
    assert "left out because all users of the namespace could read it: .aws, .env, .kube and 4 more" in str(archive)


@pytest.mark.parametrize(
    ("name", "left_out"),
    [
        (".config/gcloud/credentials.db", ".config/gcloud"),
        ("home/.config/gcloud/a", "home/.config/gcloud"),
        (".kaggle/kaggle.json", ".kaggle"),
        ("data/kaggle.json", "data/kaggle.json"),
        ("keys/service.pem", "keys/service.pem"),
        ("my-kubeconfig.yaml", "my-kubeconfig.yaml"),
        (".cache/huggingface/token", ".cache/huggingface"),
        (".streamlit/secrets.toml", ".streamlit/secrets.toml"),
        ("service-account-prod.json", "service-account-prod.json"),
        ("infra/terraform.tfstate", "infra/terraform.tfstate"),
        ("prod.env", "prod.env"),
        ("env.production", "env.production"),
        ("app/.Env", "app/.Env"),
        ("keys/ID_RSA", "keys/ID_RSA"),
        ("my_id_ed25519", "my_id_ed25519"),
        ("Credentials.JSON", "Credentials.JSON"),
        ("rclone.conf", "rclone.conf"),
        ("token.json", "token.json"),
        (".bash_history", ".bash_history"),
        ("x-firebase-adminsdk-1.json", "x-firebase-adminsdk-1.json"),
        ("home/.m2/settings.xml", "home/.m2/settings.xml"),
        ("wandb/settings", "wandb/settings"),
        (".envrc.local", ".envrc.local"),
        (".pip/pip.conf", ".pip/pip.conf"),
        ("id_ed25519_sk", "id_ed25519_sk"),
        ("infra/prod.auto.tfvars.json", "infra/prod.auto.tfvars.json"),
        ("local.settings.json", "local.settings.json"),
        (".gitconfig", ".gitconfig"),
        (".config/containers/auth.json", ".config/containers/auth.json"),
        ("secret.yaml", "secret.yaml"),
        ("auth.json", ""),
        ("env.py", ""),
        ("loss_history", ""),
        ("tokenizer.json", ""),
        ("wandb/run.log", ""),
        (".config/matplotlib/style", ""),
        (".cache/pip/a", ""),
        ("gcloud/main.py", ""),
        ("secrets.py", ""),
        ("keyboard.py", ""),
        ("model.json", ""),
        ("config.yaml", ""),
    ],
)
def test_what_tools_keep_credentials_in(project: Path, name: str, left_out: str) -> None:
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("a")
    archive = pack(project)
    assert archive.left_out == ((left_out,) if left_out else ())
    assert (name in contents(archive)) is not bool(left_out)


@pytest.mark.parametrize("key", ["private_key", "refresh_token"])
def test_a_key_in_json_is_left_out_whatever_its_file_is_called(project: Path, key: str) -> None:
    (project / "sa.json").write_text(json.dumps({"type": "service_account", key: "x"}))
    (project / "model.json").write_text(json.dumps({"keys": ["private", key]}))
    (project / "large.json").write_text(json.dumps({key: "x" * 70_000}))
    archive = pack(project)
    assert archive.left_out == ("sa.json",)
    assert {"model.json", "large.json"} <= {*contents(archive)}


@pytest.mark.parametrize("head", ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_a_private_key_is_left_out_whatever_its_file_is_called(project: Path, head: str) -> None:
    key = f"-----BEGIN {head}-----\nMIIEvQ==\n"
    (project / "deploy.txt").write_text(key)
    (project / "id_rsa.bak").write_text(key)
    (project / "README").write_text(f"begins with -----BEGIN {head}-----\n-----BEGIN CERTIFICATE-----\n")
    (project / "test_keys.py").write_text(f'KEY = """\n{key}"""\n')
    archive = pack(project)
    assert archive.left_out == ("deploy.txt", "id_rsa.bak")
    assert {"README", "test_keys.py"} <= {*contents(archive)}


def test_a_name_in_another_encoding_is_left_out_of_an_image(project: Path, tmp_path: Path) -> None:
    (project / ".gitignore").write_text("*.log\n")
    os.close(os.open(os.fsencode(project) + b"/\xfe.log", os.O_CREAT))
    file = tmp_path / "Dockerfile"
    Builder("docker").ignoring(project, file)
    assert b"\n\xfe.log\n" in file.with_name("Dockerfile.dockerignore").read_bytes()


def test_an_image_of_the_template_has_what_a_job_would_get(project: Path, tmp_path: Path) -> None:
    """Who may pull it reads what its folder's .gitignore and names keep from a job."""
    (project / ".gitignore").write_text("data/\nsecrets/*\n!secrets/README\n*.log\n")
    hidden = ("secrets/db.txt", "a.log", ".ENV", "model/.env", "gcp.json", "!odd[1].log", "#.log", "model/\n.log")
    for name in (*hidden, "secrets/README", ".env.example"):
        (project / name).parent.mkdir(exist_ok=True)
        (project / name).write_text(json.dumps({"private_key": "x"}))
    lines = ignored(project, tmp_path)
    caches = ("data", ".venv", "model/__pycache__")
    odd = ("?odd\\[1\\].log", "?.log", "model/?.log")
    assert {*lines} == {*hidden[:5], *odd, *caches}
    (project / ".dockerignore").write_text("model\n!.ENV")
    assert ignored(project, tmp_path)[:2] == ["model", "!.ENV"]
    assert {*ignored(project, tmp_path)[2:]} == {*lines}, "the last line that matches decides"


def ignored(project: Path, tmp_path: Path) -> list[str]:
    """The lines of the file by which a builder leaves files out."""
    file = tmp_path / "Dockerfile"
    Builder("docker").ignoring(project, file)
    return file.with_name("Dockerfile.dockerignore").read_text().splitlines()


def test_without_a_gitignore_caches_and_environments_are_left_out(project: Path) -> None:
    archive = pack(project)
    assert contents(archive) == {
        name: f"# {name}".encode() for name in ("train.py", "model/layers.py", "data/large.bin")
    }
    assert str(archive).startswith("3 files, 1 KiB")
    assert pack(project).content == archive.content, "the same files are the same archive"
    with tarfile.open(fileobj=io.BytesIO(archive.content), mode="r:gz") as tar:
        assert {(each.uid, each.gid, each.uname, each.gname) for each in tar} == {(0, 0, "", "")}
    (project / "empty").mkdir()
    assert pack(project / "empty") == FolderArchive(b"", ())


def test_without_git_a_gitignore_cannot_be_read(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(project))
    assert "data/large.bin" in pack(project).files
    (project / ".gitignore").write_text("data/")
    with pytest.raises(FolderError, match="git is needed"):
        pack(project)


def test_a_large_folder_is_refused_with_its_largest_files(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "data" / "large.bin").write_bytes(os.urandom(7_500_000))
    with pytest.raises(FolderError, match=r"7\.2 MiB compressed, more than 7\.0 MiB; .*: data/large\.bin \(7\.2 MiB\)"):
        pack(project)
    with (project / "data" / "sparse.bin").open("wb") as file:
        file.truncate(300 * 1024 * 1024)
    with pytest.raises(FolderError, match=r"307\.2 MiB, more than 256\.0 MiB"):
        pack(project)
    monkeypatch.setenv("HOME", str(project))
    with pytest.raises(FolderError, match="folder of your program"):
        pack(project)


NESTED = (".gitignore", "lib.py", "secret.log", ".ssh/id_rsa", ".env")


@pytest.mark.parametrize("repository", [False, True])
@pytest.mark.parametrize("how", ["repository", "submodule", "without its .git", "without a .gitignore above"])
def test_a_repository_in_the_folder_is_read_as_its_own(project: Path, repository: bool, how: str) -> None:
    sub = project / "libs" / "sub"
    for name in NESTED:
        (sub / name).parent.mkdir(parents=True, exist_ok=True)
        (sub / name).write_text("*.log\n.env")
    git(sub, "init")
    git(sub, "remote", "add", "origin", "https://user:TOKEN@git.example/sub")
    if how != "without a .gitignore above":
        (project / ".gitignore").write_text("data")
    if repository:
        git(project, "init")
        if how in ("submodule", "without its .git"):
            commit = ("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-m", "one")
            git(sub, "add", "lib.py")
            git(sub, *commit)
            git(project, "add", "libs/sub")
    if how == "without its .git":
        shutil.rmtree(sub / ".git")
    archive = pack(project)
    assert {name for name in archive.files if name.startswith("libs/")} == {"libs/sub/.gitignore", "libs/sub/lib.py"}
    assert {*contents(archive)} == {*archive.files}
    assert archive.left_out == ("libs/sub/.ssh",), "what .gitignore lists needs no word"


def test_a_submodule_that_is_not_there_is_nothing(project: Path) -> None:
    for name in ("sub", "."):
        git(project, "init", name)
    git(project / "sub", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--allow-empty", "-m", "one")
    git(project, "add", "sub")
    shutil.rmtree(project / "sub")
    assert "sub" not in pack(project).files
    (project / "sub").mkdir()
    assert not [name for name in pack(project).files if name.startswith("sub")]


def test_nothing_that_stands_in_the_folder_is_run(project: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = f"touch {ran}; false #"
    git(project, "init")
    git(project, "config", "core.fsmonitor", command)
    assert "train.py" in pack(project).files
    for name in ("HEAD", "config", "objects/.keep", "refs/.keep", "train.py"):
        (project / "job" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / "job" / name).touch()
    (project / "job" / "HEAD").write_text("ref: refs/heads/main")
    (project / "job" / "config").write_text(f'[core]\nbare = false\nworktree = .\nfsmonitor = "{command}"\n')
    with pytest.raises(FolderError, match="cannot use bare repository"):
        pack(project / "job")
    assert not ran.exists()


def test_nothing_is_fetched_to_list_a_folder(project: Path, tmp_path: Path) -> None:
    """A .gitignore of the index that is not there is read from the objects, and these from where they are promised."""
    ran = tmp_path / "ran"
    git(project, "init")
    (project / "model" / ".gitignore").write_text("*.tmp")
    git(project, "add", ".")
    git(project, "update-index", "--skip-worktree", "model/.gitignore")
    (project / "model" / ".gitignore").unlink()
    shutil.rmtree(project / ".git" / "objects")
    (project / ".git" / "objects").mkdir()
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": "git.example:one",
        "core.sshCommand": f"touch {ran}; false",
    }.items():
        git(project, "config", key, value)
    with suppress(FolderError):
        pack(project)
    assert not ran.exists()


def test_what_is_elsewhere_stays_there(project: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "config.json").write_text("{}")
    git(project, "init")
    (project / "a").mkdir()
    (project / "a" / "config.json").write_text("{}")
    git(project, "add", ".")
    shutil.rmtree(project / "a")
    (project / "a").symlink_to(private)
    index = project / ".git" / "index"
    assert {name for name in pack(project).files if name.startswith("a")} == {"a"}, "the link itself"
    (project / "a").unlink()
    (project / "xx").mkdir()
    (project / "xx" / "private.json").write_text("{}")
    git(project, "add", "xx")
    (tmp_path / "private.json").write_text("{}")
    content = index.read_bytes()[:-20].replace(b"xx/private.json", b"../private.json")
    index.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    with suppress(FolderError):
        assert not [name for name in pack(project).files if "private.json" in name and ".." in name]


def spec(**changes: Any) -> TrainingJobSpec:
    usual: dict[str, Any] = {"name": "train", "namespace": "ml", "image": "x", "pools": ("t4-1",), "taints": ()}
    return TrainingJobSpec(**{**usual, "command": ("python3", "train.py", "a b"), **changes})


def parts(job: TrainingJobSpec) -> list[dict[str, Any]]:
    return [each for each in manifests(job) if each["kind"] == "ConfigMap"]


def test_an_archive_is_in_as_many_configmaps_as_it_needs_and_in_order() -> None:
    content = os.urandom(2 * 900 * 1024 + 1)
    made = parts(spec(files=content))
    names = [each["metadata"]["name"] for each in made]
    assert names == ["train-files-0", "train-files-1", "train-files-2"]
    data = {key: base64.b64decode(value) for each in made for key, value in each["binaryData"].items()}
    assert b"".join(data[key] for key in sorted(data)) == content
    # An object of this kind has at most 1 MiB.
    assert max(map(len, data.values())) < 1024 * 1024
    volumes = {each["name"]: each for each in manifests(spec(files=content))[0]["spec"]["template"]["spec"]["volumes"]}
    assert [each["configMap"]["name"] for each in volumes["files"]["projected"]["sources"]] == names
    assert parts(spec()) == []


@pytest.mark.parametrize("sweep", [None, Sweep({"lr": ("1", "2")})])
def test_the_container_unpacks_its_files_installs_requirements_and_becomes_the_program(
    project: Path, tmp_path: Path, sweep: Sweep | None
) -> None:
    """What the node would run, with the container's folders moved to this test's."""
    (project / "train.py").write_text("import os, sys; print(os.getpid(), os.getcwd(), sys.argv[1:], os.getenv('lr'))")
    (project / "requirements.txt").write_text("numpy")
    job = spec(files=pack(project).content, sweep=sweep)
    pod = manifests(job)[0]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["workingDir"] == "/workspace"
    mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
    mounted, workspace, programs = (tmp_path / name for name in ("mounted", "workspace", "bin"))
    for each in (mounted, workspace, programs):
        each.mkdir()
    for part in parts(job):
        for name, value in part["binaryData"].items():
            (mounted / name).write_bytes(base64.b64decode(value))
    (programs / "python3").write_text(f'#!/bin/sh\n[ "$1" = -m ] && echo "$@" >&2 || exec {sys.executable} "$@"\n')
    (programs / "python3").chmod(0o755)
    command = [
        word.replace(mounts["files"], str(mounted)).replace(mounts["workspace"], str(workspace))
        for word in container["command"]
    ]
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "JOB_COMPLETION_INDEX": "1"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = process.communicate(timeout=60)
    assert out.strip() == f"{process.pid} {workspace} ['a b'] {'2' if sweep else None}"
    assert err.split() == ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"]
    next(mounted.iterdir()).write_bytes(b"damaged")
    assert subprocess.run(command, env=environment, capture_output=True, check=False).returncode != 0


def test_a_folder_needs_no_builder_on_the_default_image(gpu: Run, cluster: type[FakeCluster], project: Path) -> None:
    code, _, err = gpu("submit", "--name", "train", "--detach", "--", "python", "train.py")
    assert code == 0
    assert "syncing this folder: 3 files, 1 KiB compressed" in err
    by_kind = {each["kind"]: each for each in cluster.created}
    container = by_kind["Job"]["spec"]["template"]["spec"]["containers"][0]
    assert container["image"].startswith("docker.io/pytorch/pytorch:2.7.1-cuda12.6-cudnn9-runtime@sha256:")
    owners = by_kind["ConfigMap"]["metadata"]["ownerReferences"]
    assert [(each["kind"], each["name"]) for each in owners] == [("Job", "train")], "deleted with its job"
    cluster.created.clear()
    assert gpu("submit", "--image", "mine", "--sync", "--detach", "--", "python", "train.py")[0] == 0
    assert [each["kind"] for each in cluster.created[:2]] == ["Job", "ConfigMap"]
    out = gpu("submit", "--dry-run", "--", "python", "./train.py")[1]
    assert [each["kind"] for each in yaml.safe_load_all(out)][:2] == ["Job", "ConfigMap"]


def test_an_image_of_ones_own_gets_no_folder_unless_asked(gpu: Run, cluster: type[FakeCluster], project: Path) -> None:
    assert gpu("submit", "--image", "mine", "--detach", "--", "python", "elsewhere.py")[0] == 0
    assert "ConfigMap" not in [each["kind"] for each in cluster.created]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--build", "--", "true"], 1, "use --image or --sync"),
        (["--registry", "r.example", "--dry-run", "--", "true"], 0, "image: r.example/"),
        (["--image", "x", "--build", "--", "true"], 2, "write one of them"),
        (["--image", "x", "--registry", "r.example", "--", "true"], 2, "write one of them"),
        (["--image", "x", "--sync"], 2, "--sync: write the program after --"),
        (["--", "python", "data/prepare.py"], 2, "data/prepare.py is not synced, because .gitignore lists it"),
        (["--build", "--", "python", "data/prepare.py"], 2, "is not in the image, because .gitignore lists it"),
        (["--", "python", "nowhere.py"], 2, "nowhere.py is not in this folder"),
        (["--", "python", "../train.py"], 2, "because it is outside of this folder"),
        (["--build", "--", "python", "data/../../train.py"], 2, "because it is outside of this folder"),
        (["--", "python", "src/train.py"], 2, "because src is a link; write where the file is, in this folder"),
        (["--", "python", "venv/train.py"], 2, "because nothing in venv is; move it"),
    ],
)
def test_which_way_the_folder_goes(
    gpu: Run, cluster: type[FakeCluster], project: Path, arguments: list[str], code: int, message: str
) -> None:
    (project / ".gitignore").write_text("data\n")
    (project / "data" / "prepare.py").touch()
    (project / "src").symlink_to(project)
    for other in (project.parent, project / "venv"):
        other.mkdir(exist_ok=True)
        (other / "train.py").touch()
    exit_code, out, err = gpu("submit", "--detach", *arguments)
    assert exit_code == code
    assert message in out + err
    assert cluster.created == []


@pytest.mark.parametrize(
    "program",
    [
        ("bash", "-c", "cd sub && python main.py"),
        ("sh", "-c", "pip install x && ./run.sh"),
        ("python", "-m", "package.main", "--save", "out.py"),
        ("python", "run_{n}.py"),
    ],
)
def test_a_word_that_is_no_file_for_certain_is_not_missing(
    gpu: Run, cluster: type[FakeCluster], project: Path, program: tuple[str, ...]
) -> None:
    sweep = ("--sweep", "n=1,2") if "{n}" in program[-1] else ()
    code, _, err = gpu("submit", "--detach", *sweep, "--", *program)
    assert code == 0, err
    (job,) = [each for each in cluster.created if each["kind"] == "Job"]
    assert re.match(f"{program[0]}-[0-9a-f]{{4}}$", job["metadata"]["name"])


def test_a_dockerfile_is_built_unless_the_folder_is_synced(gpu: Run, cluster: type[FakeCluster], project: Path) -> None:
    (project / "Dockerfile").write_text("FROM scratch")
    plan = ("submit", "--dry-run", "--name", "train")
    image = "REGISTRY/train:"
    assert image in gpu(*plan, "--", "true")[1]
    assert image not in gpu(*plan, "--sync", "--", "true")[1]


def test_the_largest_archive_is_eight_configmaps() -> None:
    assert folders.MOST_BYTES == 8 * 900 * 1024


RECORD = (
    '#!/bin/sh\necho "$@" >> {log}\n'
    'for each; do [ "$previous" = --file ] && cat "$each" > {log}.file; previous=$each; done\nexit {code}\n'
)
FAILING = "#!/bin/sh\ni=0; while [ $i -lt 40 ]; do echo line $i; i=$((i+1)); done\necho boom >&2; exit 7\n"


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with a shell, ``cat`` and nothing else; builders are put there."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "cat"):
        (folder / name).symlink_to(f"/bin/{name}")
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(programs: Path, name: str, script: str) -> None:
    (programs / name).write_text(script)
    (programs / name).chmod(0o755)


def test_the_first_that_answers_is_taken_and_a_client_without_server_is_not(programs: Path) -> None:
    with pytest.raises(ImageError, match="none of docker, podman, buildah is installed"):
        find_builder()
    install(programs, "docker", "#!/bin/sh\nexit 1\n")
    with pytest.raises(ImageError, match="docker does not answer"):
        find_builder()
    install(programs, "buildah", "#!/bin/sh\nexit 0\n")
    assert find_builder() == Builder("buildah")
    install(programs, "podman", "#!/bin/sh\nexit 0\n")
    assert find_builder() == Builder("podman")
    install(programs, "docker", "#!/bin/sh\necho podman version 3.4.4\n")
    assert find_builder() == Builder("podman"), "docker is podman there, without its option"
    install(programs, "docker", "#!/bin/sh\nexit 0\n")
    assert find_builder() == Builder("docker")


@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_a_folder_without_a_dockerfile_gets_the_template(programs: Path, tmp_path: Path, name: str) -> None:
    log, project = tmp_path / "log", tmp_path / "project"
    project.mkdir()
    install(programs, name, RECORD.format(log=log, code=0))
    Builder(name).build(project, "r.example/x:1", "linux/arm64")
    calls = log.read_text()
    assert calls.startswith("build --platform linux/arm64 --tag r.example/x:1 --file ")
    assert calls.endswith(f" {project}\n")
    assert ("--ignorefile" in calls) is (name != "docker"), "docker finds it beside the file"
    assert (tmp_path / "log.file").read_text() == dockerfile(project)
    assert list(project.iterdir()) == []
    Builder(name).push("r.example/x:1")
    assert log.read_text().splitlines()[-1] == "push r.example/x:1"


def test_ones_own_dockerfile_is_used_as_it_is(programs: Path, tmp_path: Path) -> None:
    log, project = tmp_path / "log", tmp_path / "project"
    project.mkdir()
    (project / "Dockerfile").write_text("FROM scratch\n")
    install(programs, "docker", RECORD.format(log=log, code=0))
    Builder("docker").build(project, "x:1", "linux/amd64")
    assert "--file" not in log.read_text()


def test_no_builder_of_docker_that_reads_no_list_beside_the_dockerfile_gets_the_template(
    programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The legacy builder would copy credentials into the image."""
    monkeypatch.setenv("DOCKER_BUILDKIT", "0")
    install(programs, "docker", f'#!/bin/sh\necho "$DOCKER_BUILDKIT" > {tmp_path}/buildkit\n')
    project = tmp_path / "project"
    project.mkdir()
    for own, value in (("", "1"), ("FROM scratch\n", "0")):
        if own:
            (project / "Dockerfile").write_text(own)
        Builder("docker").build(project, "x:1", "linux/amd64")
        assert (tmp_path / "buildkit").read_text() == f"{value}\n"


def test_requirements_are_installed_where_there_are_some(tmp_path: Path) -> None:
    assert "requirements.txt" not in dockerfile(tmp_path)
    (tmp_path / "requirements.txt").write_text("torch\n")
    text = dockerfile(tmp_path)
    assert text.index("requirements.txt") < text.index("COPY . .")


def test_a_failed_build_tells_its_last_lines(programs: Path, tmp_path: Path) -> None:
    install(programs, "docker", FAILING)
    with pytest.raises(ImageError) as caught:
        Builder("docker").push("r.example/x:1")
    lines = str(caught.value).splitlines()
    assert "exit code 7" in lines[0]
    assert lines[-2:] == ["  line 39", "  boom"]
    assert "line 10" not in str(caught.value)


def test_an_image_needs_a_place() -> None:
    assert tag_for("r.example/team/", "train").startswith("r.example/team/train:")
    for nothing in (None, ""):
        with pytest.raises(ImageError, match="--registry"):
            tag_for(nothing, "train")


def test_a_file_that_cannot_be_read_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a container leaves it that ran as root; a test of root reads every file."""
    add = tarfile.TarFile.add

    def refused(archive: tarfile.TarFile, name: Path, *arguments: Any, **options: Any) -> None:
        if name.name == "large.bin":
            raise PermissionError(13, "Permission denied", str(name))
        add(archive, name, *arguments, **options)

    monkeypatch.setattr(tarfile.TarFile, "add", refused)
    with pytest.raises(
        FolderError, match=r"^data/large\.bin cannot be read: Permission denied; list it in \.gitignore"
    ):
        pack(project)


@pytest.mark.parametrize(
    ("git", "words"),
    [
        ("exec sleep 60", "git did not list the files of .* in 0.2 s; look at its .gitignore"),
        ("echo \"warning: could not open directory 'out/': Permission denied\" >&2", "could not open directory 'out/'"),
    ],
)
def test_a_folder_that_git_cannot_list_whole_is_named(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, git: str, words: str
) -> None:
    """A .gitignore that is a pipe holds git for ever, and a folder that it cannot enter it leaves out."""
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{git}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent), prepend=":")
    monkeypatch.setattr(folders, "_LONGEST_SECONDS", 0.2)
    with pytest.raises(FolderError, match=words):
        pack(project)
