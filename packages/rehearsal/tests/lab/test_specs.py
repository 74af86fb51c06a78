"""Machines that a lab can have, the images that they share, what a dead lab left; and three control planes."""

from __future__ import annotations

import fcntl
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from packages.rehearsal.tests.tables import cases
from rehearsal.lab import isolation, lab
from rehearsal.lab.machine import MachineSpec, SpecError, lan
from rehearsal.own_machines.control_planes import out_of_turn
from rehearsal.own_machines.lab_rehearsal import LabStackFile


def test_the_lab_has_the_lowest_free_address_of_the_machines_network() -> None:
    assert str(lan([MachineSpec("a", "10.99.0.11"), MachineSpec("b", "10.99.0.12")])) == "10.99.0.1/24"
    assert str(lan([MachineSpec("a", "192.168.7.1"), MachineSpec("b", "192.168.7.2")])) == "192.168.7.3/24"


def test_all_problems_of_all_machines_are_in_one_message() -> None:
    machines = [
        MachineSpec("GPU_1", "10.99.0.11"),
        MachineSpec("b", "10.99.1.12"),
        MachineSpec("b", "10.99.0.11"),
        MachineSpec("c", "fe80::1"),
        MachineSpec("d", "10.99.0.255"),
        MachineSpec("e", "10.99.0.14", gpus=2, gpu_device_id="T4"),
        MachineSpec("f", "10.99.0.15", gpus=17, gpu_device_id="0x1eb8"),
    ]
    with pytest.raises(SpecError) as raised:
        lan(machines)
    assert str(raised.value).splitlines() == [
        "'GPU_1' is no host name: use lower-case letters, digits and hyphens, 63 at most",
        "c: 'fe80::1' is no IPv4 address: the lab's LAN has no other, and no DNS",
        "d: 10.99.0.255 is the address of a network, not of a machine",
        "e: 'T4' is no PCI device id: write one as 0x1eb8",
        "f: 17 GPUs: write 0 to 16",
        "the lab has one LAN, so all machines need addresses of one /24: GPU_1 in 10.99.0.0/24, b in 10.99.1.0/24",
        "2 machines have the name b",
        "2 machines have the address 10.99.0.11",
    ]


def test_a_lab_needs_a_machine() -> None:
    with pytest.raises(SpecError, match="at least one machine"):
        lan([])


RUNC = Path(lab.__file__).parent / "files" / "layer" / "usr" / "local" / "sbin" / "runc"


def test_machines_share_files_but_not_databases(tmp_path: Path) -> None:
    store, first, second = (tmp_path / name for name in ("store", "first", "second"))
    (store / "content").mkdir(parents=True)
    (store / "content" / "blob").write_text("layer")
    (store / "metadata").mkdir()
    (store / "metadata" / "meta.db").write_text("database")
    for machine in (first, second):
        machine.mkdir()
        lab.share_images(store, machine)
        assert (machine / "content" / "blob").samefile(store / "content" / "blob")
    (first / "metadata" / "meta.db").write_text("changed")
    assert (store / "metadata" / "meta.db").read_text() == "database"
    assert (second / "metadata" / "meta.db").read_text() == "database"


def _adapted(folder: Path, config: dict[str, Any], *arguments: str) -> dict[str, Any]:
    """The configuration after the script; the package's runc, which comes after it, is not asked."""
    file = folder / "config.json"
    file.write_text(json.dumps(config, separators=(",", ":")))
    script = RUNC.read_text()
    assert script.endswith('exec /usr/sbin/runc "$@"\n')
    without_runc = script.removesuffix('exec /usr/sbin/runc "$@"\n')
    subprocess.run(["sh", "-s", *arguments], input=without_runc, text=True, check=True)
    return json.loads(file.read_text())


def _may_lower_oom_scores() -> bool:
    return subprocess.run(["sh", "-c", "echo -1 > /proc/self/oom_score_adj"], capture_output=True).returncode == 0


@pytest.mark.parametrize("arguments", [("create", "--bundle", "{}"), ("exec", "--process", "{}/config.json")])
def test_oom_scores_are_raised_where_they_cannot_be_lowered(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    config = {"process": {"oomScoreAdj": -998, "args": ["pause"]}}
    adapted = _adapted(tmp_path, config, *(each.format(tmp_path) for each in arguments))
    score = -998 if _may_lower_oom_scores() else 0
    assert adapted == {"process": {"oomScoreAdj": score, "args": ["pause"]}}
    config["process"]["oomScoreAdj"] = 1000
    assert _adapted(tmp_path, config, "create", "--bundle", str(tmp_path)) == config


def test_kube_proxy_alone_has_a_connection_table_of_its_own(tmp_path: Path) -> None:
    name = "io.kubernetes.cri.container-name"
    proxy, other = ({"annotations": {name: container}} for container in ("kube-proxy", "etcd"))
    hook = {"createContainer": [{"path": "/usr/local/lib/lab/own-connection-table"}]}
    assert _adapted(tmp_path, proxy, "create", "--bundle", str(tmp_path)) == {"hooks": hook, **proxy}
    assert _adapted(tmp_path, other, "create", "--bundle", str(tmp_path)) == other
    assert _adapted(tmp_path, proxy, "state", "kube-proxy") == proxy


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Ids of the labs whose cgroups were removed; there are cgroups of the labs ``dead``, ``alive`` and ``unknown``."""
    calls: list[str] = []
    monkeypatch.setattr(isolation, "labs", lambda: {"dead", "alive", "unknown"})
    monkeypatch.setattr(isolation, "remove", lambda lab, machine="": calls.append(lab))
    return calls


def _lab(registry: Path, name: str, folder: Path) -> Path:
    registry.mkdir(exist_ok=True)
    (folder / "machines" / "cp1").mkdir(parents=True)
    (folder / "logs").mkdir()
    entry = registry / name
    entry.write_text(str(folder))
    return entry


def test_dead_labs_are_removed_and_living_ones_are_not(tmp_path: Path, removed: list[str]) -> None:
    registry = tmp_path / "registry"
    _lab(registry, "dead", tmp_path / "dead")
    alive = _lab(registry, "alive", tmp_path / "alive")
    with alive.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert isolation.sweep(registry) == ["dead", "unknown"]
    assert removed == ["dead", "unknown"]
    assert sorted(path.name for path in (tmp_path / "dead").iterdir()) == ["logs"]
    assert (tmp_path / "alive" / "machines" / "cp1").is_dir()
    assert sorted(path.name for path in registry.iterdir()) == ["alive", "lock"]


def test_a_registered_lab_is_alive_until_its_block_ends(tmp_path: Path, removed: list[str]) -> None:
    registry = tmp_path / "registry"
    with isolation.registered(tmp_path / "lab", registry) as lab:
        removed.clear()
        assert lab not in isolation.sweep(registry)
        assert (registry / lab).read_text() == str(tmp_path / "lab")
        removed.clear()
    assert removed == [lab]
    assert not (registry / lab).exists()


STACK = Path(__file__).parents[4] / "examples" / "kubeadm-ha.yaml"


@cases
def test_machines_are_upgraded_in_turn(spans: dict[str, list[int]], wrong: list[str]) -> None:
    assert out_of_turn(spans, ["gpu1"]) == wrong


def test_control_planes_go_and_come_back_and_labels_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rehearsal.own_machines.lab_rehearsal._fingerprint", lambda _: "0" * 40)
    keys: dict[str, str] = dict.fromkeys(("cp1", "cp2", "cp3", "gpu1"), "ssh-ed25519 AAAA")
    file, path = LabStackFile(STACK, keys, "admin", "http://192.0.2.1", Path("key.asc")), tmp_path / "Pulumi.lab.yaml"

    def written(**changes: Any) -> tuple[list[str], dict[str, str]]:
        file.write(path, **changes)
        config = yaml.safe_load(path.read_text())["config"]
        names = [each["name"] for each in config["gpucluster:adminPool"]["machines"]]
        return names, config["gpucluster:gpuPools"][0].get("labels", {})

    label = {"example.com/rack": "r1"}
    assert written(labels=label) == (["cp1", "cp2", "cp3"], label)
    assert written(planes=1) == (["cp1"], label)
    assert written() == (["cp1", "cp2", "cp3"], label)
