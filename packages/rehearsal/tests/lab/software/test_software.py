"""The real software, built or from the cache: its names and versions, and the simulated NVIDIA commands."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from packages.rehearsal.tests.simulated_cluster import PATIENCE
from packages.rehearsal.tests.tables import cases
from rehearsal.lab.software import WORKLOAD_IMAGE, Software, prepare
from rehearsal.tools import cache
from rehearsal.tools.install import install
from rehearsal.tools.modules import KUBERNETES, LAB
from rehearsal.tools.progress import Progress

pytestmark = [pytest.mark.rehearsal]


@pytest.fixture(scope="module")
def software() -> Software:
    return prepare(cache.root(), Progress())


@pytest.fixture(scope="module")
def binaries() -> Path:
    return install(Progress(), modules=(KUBERNETES, *LAB))


def _tags(archive: Path) -> list[str]:
    with tarfile.open(archive) as tar:
        return json.load(tar.extractfile("manifest.json") or io.BytesIO(b"[]"))[0]["RepoTags"]


def test_the_images_are_those_that_kubeadm_and_flannel_ask_for(software: Software, binaries: Path) -> None:
    names = {name for archive in software.images for name in _tags(archive)}
    command = [binaries / "kubeadm", "config", "images", "list", "--kubernetes-version", "v1.34.4"]
    asked = set(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert len(asked) == 7
    assert asked <= names
    assert names - asked == {
        "docker.io/library/busybox:1.37.0",
        "docker.io/rancher/local-path-provisioner:v0.0.30",
        "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel3",
        "ghcr.io/flannel-io/flannel:v0.28.10",
        "nvcr.io/nvidia/k8s-device-plugin:v0.18.2",
        "registry.k8s.io/pause:3.6",
        *(f"registry.k8s.io/kube-{name}:v1.34.5" for name in ("apiserver", "controller-manager", "proxy", "scheduler")),
        WORKLOAD_IMAGE,
    }


@pytest.mark.parametrize(
    ("command", "answer"),
    [
        (["kubeadm", "version", "-o", "short"], "v1.34.4"),
        (["kubelet", "--version"], "Kubernetes v1.34.4"),
        (["kube-proxy", "--version"], "Kubernetes v1.34.4"),
        (["crictl", "--version"], "crictl version v1.34.0"),
        (["coredns", "-version"], "CoreDNS-1.12.1"),
        (["flanneld", "--version"], "v0.28.10"),
        (["bridge"], "CNI bridge plugin v1.7.1"),
        (["flannel-cni"], "CNI flannel plugin"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_runs(binaries: Path, command: list[str], answer: str) -> None:
    program = [str(binaries / command[0]), *command[1:]]
    shown = subprocess.run(program, stdin=subprocess.DEVNULL, text=True, capture_output=True)
    assert answer in shown.stdout + shown.stderr


def test_flannels_plugin_has_the_cni_version_of_flannels_configuration(binaries: Path) -> None:
    asked: dict[str, Any] = {"env": {"CNI_COMMAND": "VERSION"}, "input": "{}"}
    answer = subprocess.run([binaries / "flannel-cni"], check=True, capture_output=True, text=True, **asked)
    assert "1.0.0" in json.loads(answer.stdout)["supportedVersions"]


def test_a_second_run_only_looks_and_says_nothing(software: Software, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("packages", "_fill"):
        monkeypatch.delattr(f"{prepare.__module__}.{name}")
    out = io.StringIO()
    assert prepare(cache.root(), Progress(out)) == software
    assert out.getvalue() == ""


@pytest.mark.parametrize("driver", ["580.95.05", "595.71.05"])
def test_apt_can_install_all_from_the_four_repositories_alone(software: Software, tmp_path: Path, driver: str) -> None:
    branch = driver.partition(".")[0]
    for each in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "var/lib/apt/lists", "var/cache/apt/archives"):
        (tmp_path / each / "partial").mkdir(parents=True)
    (tmp_path / "status").touch()
    names = ("debian", "kubernetes", "nvidia", "toolkit")
    assert {each.name for each in software.repository.iterdir()} == {*names, "kubernetes-later", "key.asc"}
    lines = [f"deb [signed-by={software.repository}/key.asc] copy:{software.repository}/{name} /\n" for name in names]
    (tmp_path / "etc/apt/sources.list").write_text("".join(lines))
    pin = f"Package: *nvidia*\nPin: version {branch}.*\nPin-Priority: 1001\n"
    (tmp_path / "etc/apt/preferences.d/driver").write_text(pin)
    options = ["-o", f"Dir={tmp_path}", "-o", f"Dir::State::status={tmp_path}/status", "-o", "APT::Sandbox::User=root"]
    subprocess.run(["apt-get", *options, "--quiet", "update"], check=True, capture_output=True)
    packages = ["kubelet=1.34.4-1.1", "kubeadm=1.34.4-1.1", "containerd", "conntrack", "ufw", "nvidia-open"]
    packages += ["nvidia-container-toolkit", f"nvidia-fabricmanager-{branch}", f"linux-headers-{os.uname().release}"]
    command = ["apt-get", *options, "--simulate", "--no-install-recommends", "install", *packages]
    answer = subprocess.run(command, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    for line in ("kubelet (1.34.4-1.1", "kubernetes-cni (1.7.1-1.1", f"nvidia-driver-cuda ({driver}-1"):
        assert f"Inst {line}" in answer.stdout


def _ctk(binaries: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([binaries / "lab-image", "nvidia-ctk", *arguments], capture_output=True, text=True)


CONTAINERD = """
version = 2
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
    SystemdCgroup = true
"""


def test_the_toolkit_writes_a_drop_in_with_the_options_of_runc(binaries: Path, tmp_path: Path) -> None:
    config, drop_in = tmp_path / "config.toml", tmp_path / "conf.d" / "99-nvidia.toml"
    config.write_text(CONTAINERD)
    options = ["--runtime=containerd", f"--config={config}", f"--drop-in-config={drop_in}", "--set-as-default"]
    assert _ctk(binaries, "runtime", "configure", *options).returncode == 0
    once = config.read_text()
    assert f"imports = ['{tmp_path}/conf.d/*.toml']" in once
    assert "SystemdCgroup = true" in drop_in.read_text()
    assert "BinaryName = '/usr/bin/nvidia-container-runtime'" in drop_in.read_text()
    assert "default_runtime_name = 'nvidia'" in drop_in.read_text()
    assert _ctk(binaries, "runtime", "configure", *options).returncode == 0
    assert config.read_text() == once


@cases
def test_what_the_simulated_toolkit_does_not_have_fails(binaries: Path, arguments: list[str], message: str) -> None:
    answer = _ctk(binaries, *arguments)
    assert answer.returncode == 1
    assert message in answer.stderr


def test_the_toolkits_configuration_is_printed_with_the_changed_options(binaries: Path, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("[nvidia-container-cli]\nldconfig = '@/sbin/ldconfig'\n")
    option = "accept-nvidia-visible-devices-envvar-when-unprivileged"
    answer = _ctk(binaries, "config", f"--config-file={file}", f"--set={option}=false")
    assert f"{option} = false" in answer.stdout
    assert "ldconfig = '@/sbin/ldconfig'" in answer.stdout
    assert "ldconfig" in file.read_text()
    assert "invalid argument --set=typo=false" in _ctk(binaries, "config", "--set=typo=false").stderr


def test_nvidia_smi_without_a_loaded_driver_fails_as_the_real_one(binaries: Path) -> None:
    answer = subprocess.run([binaries / "lab-image", "nvidia-smi", "-L"], capture_output=True, text=True)
    assert answer.returncode == 9
    assert answer.stdout.startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")


@pytest.mark.parametrize(
    ("visible", "code"), [("", 0), ("NVIDIA_VISIBLE_DEVICES=void", 0), ("NVIDIA_VISIBLE_DEVICES=all", 1)]
)
def test_the_runtime_touches_only_containers_with_gpus(binaries: Path, tmp_path: Path, visible: str, code: int) -> None:
    bundle, programs = tmp_path / "bundle", tmp_path / "bin"
    bundle.mkdir()
    programs.mkdir()
    content = json.dumps({"process": {"env": ["PATH=/bin", visible]}, "linux": {}})
    (bundle / "config.json").write_text(content)
    (programs / "runc").write_text('#!/bin/sh\necho runc "$@"\n')
    (programs / "runc").chmod(0o755)
    command = [binaries / "lab-image", "nvidia-container-runtime", "--root", "/r", "create", "--bundle", bundle, "id"]
    environment = {"PATH": f"{programs}:/bin"}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert answer.returncode == code
    assert (bundle / "config.json").read_text() == content
    assert answer.stdout == (f"runc --root /r create --bundle {bundle} id\n" if code == 0 else "")
    assert ("nvml error: driver not loaded" in answer.stderr) is (code != 0)


@cases
def test_the_device_plugin_fails_without_gpus_or_with_a_wrong_file(
    binaries: Path, tmp_path: Path, config: dict[str, object], message: str
) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps(config))
    command = [binaries / "lab-image", "nvidia-device-plugin"]
    answer = subprocess.run(command, env={"CONFIG_FILE": str(file)}, capture_output=True, text=True, timeout=PATIENCE)
    assert answer.returncode == 1
    assert message in answer.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount namespace")
@cases
def test_a_container_gets_its_own_gpus(binaries: Path, tmp_path: Path, visible: str, devices: list[str] | None) -> None:
    process = {"env": [f"NVIDIA_VISIBLE_DEVICES={visible}"]}
    answer, linux = _created(binaries, tmp_path, {"process": process})
    if devices is None:
        assert "device error: GPU-c: unknown device" in answer
        assert "devices" not in linux
    else:
        assert answer == ""
        assert [device["path"] for device in linux["devices"]] == devices


STRICT = """
accept-nvidia-visible-devices-envvar-when-unprivileged = false
accept-nvidia-visible-devices-as-volume-mounts = true
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root for a mount namespace")
@cases
def test_a_strict_toolkit_believes_mounts_of_dev_null_and_no_variable(
    binaries: Path, tmp_path: Path, spec: dict[str, Any], gpus: list[str]
) -> None:
    answer, linux = _created(binaries, tmp_path, spec, STRICT)
    assert answer == ""
    nodes = [device["path"] for device in linux.get("devices", [])]
    assert [path for path in nodes if re.fullmatch(r"/dev/nvidia[0-9]+", path)] == gpus


def _created(binaries: Path, tmp_path: Path, spec: dict[str, Any], toolkit: str = "") -> tuple[str, dict[str, Any]]:
    """What the runtime says while it creates a container of ``spec`` on a machine with two GPUs; its part ``linux``."""
    gpus = [
        {"index": index, "uuid": uuid, "name": "Tesla T4", "bus": ""} for index, uuid in enumerate(("GPU-a", "GPU-b"))
    ]
    (tmp_path / "loaded.json").write_text(json.dumps({"version": "580.95.05", "gpus": gpus}))
    largest = 2**63 - 1
    (tmp_path / "config.json").write_text(json.dumps({**spec, "linux": {"resources": {"limit": largest}}}))
    (tmp_path / "toolkit.toml").write_text(toolkit)
    (tmp_path / "runc").write_text("#!/bin/sh\n")
    (tmp_path / "runc").chmod(0o755)
    script = (
        'mount -t tmpfs tmpfs /run && mkdir /run/nvidia && cp "$1/loaded.json" /run/nvidia && '
        "mount -t tmpfs tmpfs /etc && mkdir /etc/nvidia-container-runtime && "
        'cp "$1/toolkit.toml" /etc/nvidia-container-runtime/config.toml && shift && exec "$@"'
    )
    command = [binaries / "lab-image", "nvidia-container-runtime", "create", "-b", tmp_path, "id"]
    apart = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", tmp_path, *command]
    answer = subprocess.run(apart, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True)
    linux = json.loads((tmp_path / "config.json").read_text())["linux"]
    assert linux["resources"]["limit"] == largest
    return answer.stderr, linux
