"""An image from a folder: by the first builder that answers, with the last words of one that fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu.image import Builder, ImageError, dockerfile, find_builder, tag_for

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
    install(programs, "docker", "#!/bin/sh\nexit 0\n")
    assert find_builder() == Builder("docker")


@pytest.mark.parametrize("name", ["docker", "podman", "buildah"])
def test_a_folder_without_a_dockerfile_gets_the_template(programs: Path, tmp_path: Path, name: str) -> None:
    log, project = tmp_path / "log", tmp_path / "project"
    project.mkdir()
    install(programs, name, RECORD.format(log=log, code=0))
    Builder(name).build(project, "r.example/x:1")
    calls = log.read_text()
    assert calls.startswith("build --platform linux/amd64 --tag r.example/x:1 --file ")
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
    Builder("docker").build(project, "x:1")
    assert "--file" not in log.read_text()


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
