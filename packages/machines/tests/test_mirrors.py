"""Mirrors of image registries: the files that containerd reads, on a machine whose programs only note their calls."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli

from machines.software import prepare_variables
from packages.machines.tests.simulated import SimulatedMachine, control_plane, software
from packages.machines.tests.test_packages import machine, program
from packages.machines.tests.test_scripts import run_common

__all__ = ["machine"]

HARBOR = {"registry": "docker.io", "url": "https://harbor.example/v2/hub/", "ca": "PEM\n", "only": True}
ALL = {"registry": "*", "url": "https://m.example"}
CAPABILITIES = ["pull", "resolve"]


def registries(folder: Path, *images: dict[str, Any], before: str = "") -> dict[str, str]:
    """What is in containerd's folder after the phase prepare with these mirrors, by path."""
    inputs = control_plane(SimulatedMachine("m"))
    lines = prepare_variables({**inputs, "software": {**software(), "images": list(images)}}, "worker")["IMAGE_MIRRORS"]
    body = f"lock; touch $state/files; {before}\nIMAGE_MIRRORS='{lines}'; mirrors"
    assert run_common(f"PATH=$PATH:/usr/bin:/bin\n{body}", folder, "prepare") == ""
    root = folder / "etc/containerd/certs.d"
    return {str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()}


def test_a_mirror_is_tried_first_or_is_the_only_one(machine: Path) -> None:
    files = registries(machine, HARBOR, ALL)
    assert files.pop("docker.io/ca.crt") == "PEM\n"
    keys = {"capabilities": CAPABILITIES, "override_path": True, "ca": "ca.crt"}
    assert {path: tomli.loads(text) for path, text in files.items()} == {
        "docker.io/hosts.toml": {"server": HARBOR["url"][:-1], **keys, "host": {HARBOR["url"][:-1]: keys}},
        "_default/hosts.toml": {"host": {ALL["url"]: {"capabilities": CAPABILITIES}}},
    }


def test_a_mirror_that_is_removed_leaves_the_files_from_before(machine: Path) -> None:
    own = machine / "etc/containerd/certs.d/docker.io/hosts.toml"
    own.parent.mkdir(parents=True)
    own.write_text("own\n")
    assert registries(machine, HARBOR, ALL).keys() == {f"docker.io/{name}" for name in ("ca.crt", "hosts.toml")} | {
        "_default/hosts.toml"
    }
    assert registries(machine, ALL).keys() == {"docker.io/hosts.toml", "_default/hosts.toml"}
    assert own.read_text() == "own\n"
    assert registries(machine) == {"docker.io/hosts.toml": "own\n"}
    assert not (own.parent.parent / "_default").exists()


def test_folders_that_were_made_are_listed_for_restore(machine: Path) -> None:
    (machine / "etc/containerd").mkdir()
    registries(machine, ALL)
    listed = (machine / "state/folders").read_text().split()
    assert [each.removeprefix(f"{machine}/etc/containerd/") for each in listed] == ["certs.d/_default", "certs.d"]


@pytest.mark.parametrize(
    ("version", "plugin"),
    [
        ("1.6.20", "io.containerd.grpc.v1.cri"),
        ("1.7.24", "io.containerd.grpc.v1.cri"),
        ("2.1.4", "io.containerd.cri.v1.images"),
    ],
)
@pytest.mark.parametrize("mirrored", [True, False])
def test_containerd_reads_the_folder_by_the_key_of_its_version(
    machine: Path, version: str, plugin: str, mirrored: bool
) -> None:
    program(machine, "kubeadm", "echo registry.k8s.io/pause:3.10")
    program(machine, "containerd", f"echo 'containerd github.com/containerd/containerd {version} abc'")
    if mirrored:
        (machine / "state/mirrors").write_text("a file\n")
    body = "lock; touch $state/files; kubelet_version() { echo v1.34.4; }; IMAGE_REPOSITORY=; containerd_configuration"
    assert run_common(f"PATH=$PATH:/usr/bin:/bin\n{body}", machine) == ""
    config = tomli.loads((machine / "etc/containerd/config.toml").read_text())
    tables = config["plugins"]
    folder = f"{machine}/etc/containerd/certs.d"
    assert tables[plugin].get("registry") == ({"config_path": folder} if mirrored else None)
    assert config["version"] == (3 if version.startswith("2") else 2)
    assert len(re.findall("config_path", str(tables))) == mirrored
    runtimes = tables[plugin.replace("v1.images", "v1.runtime")]["containerd"]["runtimes"]
    assert runtimes["runc"]["options"] == {"SystemdCgroup": True}
