"""What the scripts do with packages, sources, holds and mirrors, on a machine whose programs only note their calls."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import tomli

from machines.software import prepare_variables
from packages.machines.tests.simulated import SimulatedMachine, control_plane, software
from packages.machines.tests.test_scripts import run_common

INSTALLED = (
    "linux-image-amd64 6.1.1", "linux-image-6.1.0-31-amd64 6.1.1", "linux-image-unsigned-x 6.1.1",
    "nvidia-open 580.95.05-1", "libcuda1 580.95.05-1", "cuda-toolkit 13.0-1", "kubelet 1.36.4-1.1",
)  # fmt: skip

NVIDIA = " ".join(f"NVIDIA_{name}=" for name in ("SUITE", "COMPONENTS", "KEY", "KEY_URL", "KEY_FINGERPRINT"))
NVIDIA += " NVIDIA_URL=x DRIVER_PACKAGE=nvidia-open"


def program(folder: Path, name: str, text: str) -> None:
    """A program on PATH. Each of its calls is a line of the file ``calls``."""
    file = folder / "bin" / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(f'#!/bin/sh\necho "{name} $*" >>{folder}/calls\n{text}\n')
    file.chmod(0o755)


def calls(folder: Path, start: str) -> list[str]:
    return [line for line in (folder / "calls").read_text().splitlines() if line.startswith(start)]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A Debian machine with the packages of ``INSTALLED``, whose kernel's headers can be had."""
    for name in ("state", "etc/apt/sources.list.d"):
        (tmp_path / name).mkdir(parents=True)
    lines = "".join(f"installed {each}\\n" for each in INSTALLED)
    program(tmp_path, "dpkg", "echo amd64")
    program(tmp_path, "dpkg-query", f"case $* in *Status}} | *headers*) exit 1 ;; esac; printf '{lines}'")
    program(tmp_path, "apt-cache", "case $2 in linux-headers-amd64) echo '  Candidate: 6.1.1' ;; esac")
    program(tmp_path, "apt-mark", "if [ $1 = showhold ]; then echo kubelet; fi")
    program(tmp_path, "systemctl", "exit 1")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "text", "reported"),
    [
        ("cuda.list", "deb [signed-by=/x.gpg] https://mirror.example/deb/amd64 /", True),
        ("cuda.list", "deb https://mirror.example/deb/$(ARCH)/ /", True),
        ("cuda.sources", "Types: deb\nURIs: https://mirror.example/deb/amd64/\nSuites: /", True),
        ("cuda.list", "# deb https://mirror.example/deb/amd64/ /", False),
        ("cuda.list", "deb https://mirror.example/deb/amd64/other/ /", False),
        ("gpucluster-nvidia.list", "deb https://mirror.example/deb/amd64/ /", False),
    ],
)
def test_another_source_of_a_repository_is_reported(name: str, text: str, reported: bool, machine: Path) -> None:
    file = machine / "etc/apt/sources.list.d" / name
    file.write_text(f"{text}\n")
    body = "foreign_sources https://other.example/ 'https://mirror.example/deb/{debArchitecture}/'"
    assert run_common(body, machine) == (str(file) if reported else "")


@pytest.mark.parametrize(
    ("machines", "debian", "folders"),
    [
        ("aarch64", "arm64", ["sbsa", "arm64"]),
        ("x86_64", "amd64", ["x86_64", "amd64"]),
    ],
)
def test_packages_come_from_the_machines_folder(machines: str, debian: str, folders: list[str], machine: Path) -> None:
    program(machine, "uname", f"echo {machines}")
    program(machine, "dpkg", f"echo {debian}")
    places = run_common("where x/{architecture}/; echo; where x/{debArchitecture}/", machine)
    assert places.split() == [f"x/{folder}/" for folder in folders]


def test_sources_are_as_before_when_restore_removes_packages(machine: Path) -> None:
    state, source = machine / "state", machine / "etc/apt/sources.list.d/gpucluster-nvidia.list"
    other = machine / "other.conf"
    program(machine, "apt-get", f"ls {source.parent} >>{machine}/calls")
    (machine / "proc/sys/net/ipv4").mkdir(parents=True)
    (state / "snapshot").mkdir()
    snapshot = {"done": "", "packages": "containerd\n", "holds": "", "units": "", "ip_forward": "1\n"}
    for name, text in snapshot.items():
        (state / "snapshot" / name).write_text(text)
    (state / "installed").write_text("kubelet\n")
    (state / "holds").write_text("kubelet\nlibcuda1\n")
    (state / "files").write_text(f"{other}\n{source}\n")
    for file in (source, other):
        file.write_text("from here\n")
    program(machine, "dpkg-query", "printf installed")
    run_common("systemctl() { :; }; main", machine, "restore")
    noted = (machine / "calls").read_text()
    purge = noted[noted.index("apt-get -q -y") :]
    assert "purge" in purge.splitlines()[0]
    assert "gpucluster-nvidia.list" not in purge
    assert not source.exists()
    assert not other.exists()
    assert "apt-mark unhold libcuda1" in calls(machine, "apt-mark")


def test_security_updates_that_a_former_version_kept_away_come_again(machine: Path) -> None:
    folder = machine / "etc/apt/apt.conf.d"
    folder.mkdir()
    blacklist, other = folder / "52gpucluster-unattended-upgrades", folder / "90gpucluster-other"
    run_common(f"echo old | put {blacklist} 644; echo other | put {other} 644", machine)
    stubs = "has() { :; }; kubernetes_source() { :; }; PROXY=; "
    assert run_common(f"{stubs}sources", machine, "prepare") == ""
    assert [each.name for each in folder.iterdir()] == [other.name]
    sums = (machine / "state/sums").read_text()
    assert (str(blacklist) in sums, str(other) in sums) == (False, True)


def test_headers_come_with_every_later_kernel_of_the_machines_flavour(machine: Path) -> None:
    body = 'install_packages() { echo "$*"; }; kernel_headers'
    packages = run_common(body, machine, "driver").split()
    assert [each for each in packages if each[14:15].isalpha()] == ["linux-headers-amd64"]


def test_all_packages_of_the_drivers_version_are_held_and_one_that_is_not_is_drift(machine: Path) -> None:
    stubs = "apt_source() { :; }; put() { cat >/dev/null; }; kernel_headers() { :; }; fabric_manager() { :; }"
    values = NVIDIA
    body = f"lock; changed=no; {stubs}; package_version() {{ echo 580.95.05-1; }}; {values} DRIVER_BRANCH=580; driver"
    assert run_common(body, machine, "driver") == ""
    assert calls(machine, "apt-mark") == ["apt-mark hold nvidia-open libcuda1"]
    installed = "installed() { printf 'kubelet\\nlibcuda1\\nnvidia-open\\n'; }"
    assert run_common(f"lock; hold kubelet; {installed}; not_held", machine, "facts") == "libcuda1 nvidia-open"


def test_held_packages_of_the_old_driver_are_released_for_another_branch(machine: Path) -> None:
    """apt upgrades none of them as a dependency, whatever it is allowed."""
    program(machine, "apt-get", "")
    stubs = "apt_source() { :; }; put() { cat >/dev/null; }; kernel_headers() { :; }; fabric_manager() { :; }"
    stubs += "; package_version() { echo 580.95.05-1; }; candidate() { echo 595.71.05-1; }; apt() { :; }"
    values = NVIDIA
    body = f"lock; changed=no; {stubs}; install_packages() {{ apt-mark install; }}; {values} DRIVER_BRANCH=595; driver"
    run_common(body, machine, "driver")
    released = ["apt-mark unhold nvidia-open", "apt-mark unhold libcuda1"]
    assert calls(machine, "apt-mark")[:3] == [*released, "apt-mark install"]


@pytest.mark.parametrize(
    ("running", "own", "outcome"),
    [
        ("580.95.05", False, "was here before: it stays"),
        ("550.54.14", False, "has the NVIDIA driver 550.54.14, which was not installed from here"),
        ("580.95.05", True, "installs the driver"),
        ("", False, "installs the driver"),
    ],
)
def test_a_driver_that_was_there_is_kept_or_refused(running: str, own: bool, outcome: str, machine: Path) -> None:
    program(machine, "nvidia-smi", f"if [ $1 = -L ]; then echo 'GPU 0: T4'; else echo '{running}'; fi")
    for name in ("modprobe", "modinfo", "nvidia-ctk"):
        program(machine, name, "exit 1")
    if own:
        (machine / "state/driver").touch()
    stubs = "apt_source() { :; }; driver() { echo installs the driver; }; has() { :; }; apt() { :; }"
    stubs += "; containerd_configuration() { :; }; start_containerd() { :; }; lock() { :; }"
    values = "DRIVER_PACKAGE=nvidia-open DRIVER_BRANCH=580 GPUS=1 AFTER_REBOOT=no " + " ".join(
        f"TOOLKIT_{name}=" for name in ("URL", "SUITE", "COMPONENTS", "KEY", "KEY_URL", "KEY_FINGERPRINT")
    )
    assert outcome in run_common(f"{stubs}; {values}; main", machine, "driver")


@pytest.mark.parametrize(
    ("version", "schema", "cdi"), [("1.6.20", 2, False), ("1.7.24", 2, True), ("2.0.0", 3, False), ("2.4.1", 3, False)]
)
def test_containerd_gets_the_keys_that_its_version_knows(version: str, schema: int, cdi: bool, machine: Path) -> None:
    program(machine, "kubeadm", "echo registry.k8s.io/pause:3.10")
    program(machine, "containerd", f"echo containerd github.com/containerd/containerd v{version} x")
    run_common("lock; IMAGE_REPOSITORY=; containerd_configuration", machine)
    text = (machine / "etc/containerd/config.toml").read_text()
    assert text.startswith(f"version = {schema}\n")
    assert ("enable_cdi = true" in text, "cdi_spec_dirs" in text) == (cdi, cdi)


@pytest.mark.parametrize("role", ["worker", "controlPlane"])
def test_ufw_opens_the_ports_that_the_cluster_needs_and_no_others(role: str, machine: Path) -> None:
    program(machine, "ufw", "if [ $1 = status ]; then echo 'Status: active'; fi")
    values = "MACHINE_PORTS='7946/tcp 7946/udp' "
    values += f"FIREWALL_MACHINES=192.0.2.1 FIREWALL_CLIENTS=198.51.100.1 FIREWALL_PODS=10.244.0.0/16 ROLE={role}"
    values += " FIREWALL_PLANES=" + ("192.0.2.2" if role == "controlPlane" else "")
    run_common(f"lock; {values}; firewall", machine, "prepare")
    rules = {
        "allow from 192.0.2.1 to any port 10250 proto tcp",
        "allow from 192.0.2.1 to any port 8472 proto udp",
        "allow from 192.0.2.1 to any port 7946 proto tcp",
        "allow from 192.0.2.1 to any port 7946 proto udp",
        "allow from 10.244.0.0/16 to any port 10250 proto tcp",
        "route allow from 10.244.0.0/16",
        "route allow to 10.244.0.0/16",
    }
    if role == "controlPlane":
        sources = ("192.0.2.1", "198.51.100.1", "10.244.0.0/16")
        rules |= {f"allow from {source} to any port 6443 proto tcp" for source in sources}
        rules |= {"allow from 192.0.2.2 to any port 2379:2380 proto tcp", "allow from 192.0.2.2 to any proto vrrp"}
        rules |= {"--dry-run allow from 192.0.2.2 to any proto vrrp"}  # whether ufw knows it
    added = {line.removesuffix(" comment gpucluster") for line in calls(machine, "ufw")} - {"ufw status"}
    assert added == {f"ufw {rule}" for rule in rules}


def test_kubelets_shutdown_delay_wins_over_the_one_of_unattended_upgrades(machine: Path) -> None:
    """systemd takes all files by name, of two with one name that in /etc, and the last value."""
    assert run_common("lock; touch $state/files; shutdown_delay", machine, "prepare") == ""
    vendor = {"unattended-upgrades-logind-maxdelay.conf": "[Login]\nInhibitDelayMaxSec=30\n"}
    kubelet = {"99-kubelet.conf": "[Login]\nInhibitDelayMaxSec=60\n"}
    ours = {file.name: file.read_text() for file in (machine / "etc/systemd/logind.conf.d").iterdir()}
    files = {**vendor, **kubelet, **ours}
    values = [line for name in sorted(files) for line in files[name].splitlines() if "InhibitDelayMaxSec=" in line]
    assert values[-1] == "InhibitDelayMaxSec=60"


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
    of_docker = {f"docker.io/{name}" for name in ("ca.crt", "hosts.toml")}
    assert registries(machine, HARBOR, ALL).keys() == of_docker | {"_default/hosts.toml"}
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
def test_containerd_reads_the_folder_of_its_version(machine: Path, version: str, plugin: str, mirrored: bool) -> None:
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
