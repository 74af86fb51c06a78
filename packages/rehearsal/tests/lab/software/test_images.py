"""Archives of container images, as `ctr images import` and `docker load` read them."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path

import pytest

from components.clouds import device_plugin
from facts.catalog.tables import by_key
from facts.concepts.kubernetes import GPU_RESOURCE
from rehearsal.lab.software import images
from rehearsal.lab.software.debs import Link
from rehearsal.lab.software.images import ContainerImage, write


@pytest.fixture
def image(tmp_path: Path) -> ContainerImage:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    return ContainerImage(
        ("registry.example.org/team/tool:v1", "registry.example.org/team/tool:v2"),
        {
            "/usr/bin/tool": program,
            "/etc/tool.conf": "a = 1\n",
            "/run.sh": "#!/bin/sh\n",
            "/bin/tool": Link("/usr/bin/tool"),
        },
        ("tool",),
        ("--wait",),
        shell=True,
    )


def _read(archive: Path) -> dict[str, bytes]:
    with tarfile.open(archive) as tar:
        return {each.name: (tar.extractfile(each) or io.BytesIO()).read() for each in tar.getmembers()}


def test_every_digest_of_an_archive_is_that_of_its_content(image: ContainerImage, tmp_path: Path) -> None:
    files = _read(write(image, tmp_path, b"user land"))
    (manifest,) = json.loads(files["manifest.json"])
    assert manifest["RepoTags"] == ["registry.example.org/team/tool:v1", "registry.example.org/team/tool:v2"]
    assert manifest["Config"] == f"{hashlib.sha256(files[manifest['Config']]).hexdigest()}.json"
    config = json.loads(files[manifest["Config"]])
    digests = [hashlib.sha256(files[each]).hexdigest() for each in manifest["Layers"]]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{each}" for each in digests]
    assert files[manifest["Layers"][0]] == b"user land", "below the image's own files"
    assert (config["config"]["Entrypoint"], config["config"]["Cmd"]) == (["tool"], ["--wait"])
    assert set(files) == {"manifest.json", manifest["Config"], *manifest["Layers"]}


def test_a_layer_has_parents_before_children_modes_and_links(image: ContainerImage, tmp_path: Path) -> None:
    files = _read(write(image, tmp_path, b""))
    layer = files[json.loads(files["manifest.json"])[0]["Layers"][1]]
    with tarfile.open(fileobj=io.BytesIO(layer)) as tar:
        entries = {each.name: each for each in tar.getmembers()}
    names = list(entries)
    for name in names:
        parent = str(Path(name).parent)
        assert parent == "." or names.index(parent) < names.index(name)
    modes = {name: oct(entries[name].mode) for name in ("usr/bin/tool", "etc/tool.conf", "run.sh", "tmp")}
    assert modes == {"usr/bin/tool": "0o755", "etc/tool.conf": "0o644", "run.sh": "0o755", "tmp": "0o1777"}
    assert entries["bin/tool"].linkname == "/usr/bin/tool"
    assert {(each.uid, each.gid, each.mtime) for each in entries.values()} == {(0, 0, 0)}


def test_the_same_input_gives_the_same_bytes(image: ContainerImage, tmp_path: Path) -> None:
    first = write(image, tmp_path, b"user land").read_bytes()
    assert write(image, tmp_path, b"user land").read_bytes() == first
    assert write(image, tmp_path, b"another").read_bytes() != first


def test_an_image_without_a_shell_has_no_user_land(image: ContainerImage, tmp_path: Path) -> None:
    bare = ContainerImage(image.names, image.files)
    (manifest,) = json.loads(_read(write(bare, tmp_path, b"user land"))["manifest.json"])
    assert len(manifest["Layers"]) == 1


def test_the_cluster_runs_the_device_plugin_that_the_program_declares(tmp_path: Path) -> None:
    names = [name for each in images.cluster_images(tmp_path) for name in each.names]
    assert device_plugin.IMAGE in names
    assert len(names) == len(set(names)) == 14
    assert len({each.file_name for each in images.cluster_images(tmp_path)}) == 13


def test_the_sample_jobs_of_a_stack_have_their_image(tmp_path: Path) -> None:
    check = by_key("", "checks", "resource")[(GPU_RESOURCE,)]
    (image,) = (each for each in images.cluster_images(tmp_path) if each.names == (f"docker.io/{check['image']}",))
    assert check["command"] == "nvidia-smi"
    assert "/usr/bin/nvidia-smi" in image.files


def test_all_workloads_are_one_image(tmp_path: Path) -> None:
    image = images.workload_image(["rehearsal.local/workload:1", "nvcr.io/nvidia/pytorch:25.01-py3"], tmp_path)
    assert image.names == ("rehearsal.local/workload:1", "nvcr.io/nvidia/pytorch:25.01-py3")
    assert image.command == ("sleep", "infinity")
