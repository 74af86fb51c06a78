"""What the engine's inputs must be, what of them may change, what kubeadm gets, and addresses for Services."""

from __future__ import annotations

import base64
import json
import time
from datetime import datetime
from typing import Any

import asyncssh
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from machines.differences import difference
from machines.errors import OperationError
from machines.inputs import CONTROL_PLANE, PREFLIGHT, WORKER, configuration_problems, problems_of
from machines.kubeadm import ends_soon, init_documents, join_documents
from machines.preflight import Candidate, problems, warnings
from machines.scripts import VERSION
from machines.wire import UNKNOWN, marshal, unmarshal
from packages.machines.tests.simulated import (
    CA_HASH,
    FACTS,
    KUBECONFIG,
    SimulatedMachine,
    Site,
    control_plane,
    preflight,
    worker,
)

CP1, GPU1 = SimulatedMachine("cp1"), SimulatedMachine("gpu1")
CP1.port = GPU1.port = 22
KEY = asyncssh.generate_private_key("ssh-ed25519")


def test_inputs_that_are_right_have_no_problem() -> None:
    assert problems_of(CONTROL_PLANE, control_plane(CP1)) == []
    assert problems_of(WORKER, worker(GPU1, CP1, nvidia={"driver": "580"}, gpus=2)) == []
    assert problems_of(WORKER, {**worker(GPU1, CP1), "endpoint": UNKNOWN, "caHash": UNKNOWN}) == []
    assert problems_of(PREFLIGHT, preflight(CP1, GPU1)) == []


def test_all_problems_of_a_resource_are_reported_at_once() -> None:
    machine = {"name": "GPU_1", "address": "a b", "hostKey": "ssh-ed25519 AAAA", "port": 99999}
    inputs = worker(GPU1, CP1, labels={"a b": "c"}, taints=[{"key": "k", "effect": "Never"}])
    inputs["software"]["kubernetes"] = {"version": "v1.34.4", "url": "ftp://x"}
    inputs["software"]["nvidia"]["keys"] = {"debian13": {"keyUrl": "13.pub", "keyFingerprint": "B"}}
    inputs["software"]["images"] = [{"registry": "../etc", "url": "http://m.example"}]
    inputs |= {"machine": machine, "nvidia": {"driver": "latest"}, "password": "x"}
    del inputs["caHash"]
    assert {each.where for each in problems_of(WORKER, inputs)} == {
        "caHash",
        "password",
        "machine.name",
        "machine.address",
        "machine.hostKey",
        "machine.port",
        "software.kubernetes.version",
        "software.kubernetes.url",
        "software.kubernetes.keyFingerprint",
        "software.nvidia.keys.debian13.keyUrl",
        "software.nvidia.keys.debian13.keyFingerprint",
        "software.images[0].registry",
        "software.images[0].url",
        "labels.a b",
        "taints[0].effect",
        "nvidia.driver",
    }


@pytest.mark.parametrize(
    ("config", "where"),
    [
        ({"privateKey": "nonsense"}, ["privateKey"]),
        ({"privateKey": KEY.export_private_key("pkcs8-pem", passphrase="x").decode()}, ["privateKey"]),
        ({"user": "a b", "port": 0}, ["user", "port"]),
        ({"jumpHost": {"address": "10.0.0.1"}}, ["jumpHost.hostKey"]),
        ({"skipUnreachable": "gpu1"}, ["skipUnreachable"]),
        ({"privateKey": KEY.export_private_key().decode(), "port": 2222, "skipUnreachable": ["gpu1"]}, []),
        ({"privateKey": UNKNOWN, "jumpHost": UNKNOWN}, []),
    ],
)
def test_the_providers_settings(config: dict[str, Any], where: list[str]) -> None:
    assert [each.where for each in configuration_problems(config)] == where
    assert "nonsense" not in str(configuration_problems(config))


def test_a_passphrase_is_named() -> None:
    key = KEY.export_private_key("pkcs8-pem", passphrase="x").decode()
    assert "has a passphrase" in configuration_problems({"privateKey": key})[0].text


def state(inputs: dict[str, Any], **facts: Any) -> dict[str, Any]:
    return {**inputs, "kubernetesVersion": "v1.34.4", "facts": {**FACTS, **facts}, "drift": [], "scripts": VERSION}


@pytest.mark.parametrize(
    ("change", "changes", "replaces"),
    [
        ({}, set(), set()),
        ({"labels": {}}, {"labels"}, set()),
        ({"caHash": "sha256:b"}, {"caHash"}, {"caHash"}),
        ({"endpoint": UNKNOWN}, {"endpoint"}, {"endpoint"}),
        ({"machine": {**GPU1.property, "address": "10.0.0.9"}}, {"machine.address"}, {"machine.address"}),
        ({"machine": {**GPU1.property, "hostKey": "other"}}, {"machine.hostKey"}, set()),
        ({"firewall": {"machines": ["10.0.0.9"]}}, set(), set()),
    ],
)
def test_what_changes_in_place_and_what_is_new(change: dict[str, Any], changes: set[str], replaces: set[str]) -> None:
    inputs = worker(GPU1, CP1, firewall={"machines": []})
    diff = difference(WORKER, inputs, state(inputs), {**inputs, **change})
    assert (diff.changes, diff.replaces) == (changes, replaces)


def test_files_of_a_running_api_server_change() -> None:
    inputs = control_plane(CP1, files=[])
    news = {**inputs, "files": [{"path": "/etc/kubernetes/gpucluster/audit.yaml", "content": "{}"}]}
    assert difference(CONTROL_PLANE, inputs, state(inputs), news).changes == {"files"}


def test_a_firewall_rule_changes_where_ufw_is_on() -> None:
    inputs = worker(GPU1, CP1, firewall={"machines": []})
    news = {**inputs, "firewall": {"machines": ["10.0.0.9"]}}
    assert difference(WORKER, inputs, state(inputs, firewall="ufw"), news).changes == {"firewall"}


@pytest.mark.parametrize(
    ("kind", "change", "text"),
    [
        (
            CONTROL_PLANE,
            {"kubeadm": [{"kind": "ClusterConfiguration"}]},
            "cp1: kubeadm cannot change",
        ),
        (CONTROL_PLANE, {"encryptSecrets": False}, "cp1: encryptSecrets cannot change"),
        (
            CONTROL_PLANE,
            {"version": "1.36"},
            "cp1: Kubernetes 1.34.4 runs there, .* write kubernetes.version: '1.35' .*, or '1.34' to stay",
        ),
        (
            WORKER,
            {"version": "1.33"},
            "gpu1: .* cannot go back to 1.33: write kubernetes.version: '1.34.4'",
        ),
        (WORKER, {"version": "1.34.3"}, "gpu1: .* cannot go back to 1.34.3"),
        (
            WORKER,
            {"version": "1.35", "cgroup": "v1"},
            "gpu1: it uses cgroup v1, .* write kubernetes.version: '1.34'",
        ),
        (
            WORKER,
            {"nvidia": {"driver": "580", "kernelModules": "proprietary"}},
            "gpu1: kernelModules cannot change",
        ),
        (
            WORKER,
            {"nvidia": None},
            "gpu1: its NVIDIA driver is removed with the machine only",
        ),
    ],
)
def test_what_no_node_takes_is_refused_before_anything_happens(kind: str, change: dict[str, Any], text: str) -> None:
    inputs = control_plane(CP1) if kind == CONTROL_PLANE else worker(GPU1, CP1, nvidia={"driver": "580"})
    news = json.loads(json.dumps({**inputs, **change}))
    cgroup = news.pop("cgroup", "v2")
    if version := news.pop("version", None):
        news["software"]["kubernetes"]["version"] = version
    with pytest.raises(OperationError, match=text):
        difference(kind, inputs, state(inputs, cgroup=cgroup), news)
    assert difference(kind, inputs, dict(inputs), news).changes, "a create that failed may be corrected"


def test_no_machine_becomes_another_kind_of_node_while_it_is_in_the_cluster() -> None:
    before = preflight(CP1, GPU1)
    after = json.loads(json.dumps(before))
    for each in after["machines"]:
        each["role"] = "controlPlane"
    with pytest.raises(OperationError, match=r"^gpu1: no machine in the cluster can turn.*remove it.*add it again"):
        difference(PREFLIGHT, before, dict(before), after)
    after["machines"] = [each for each in after["machines"] if each["machine"]["name"] == "cp1"]
    assert difference(PREFLIGHT, before, dict(before), after).changes == {"machines"}
    assert difference(PREFLIGHT, after, dict(after), before).changes == {"machines"}


@pytest.mark.parametrize("version", ["1.34", "1.34.4", "1.34.10", "1.35", "1.35.0"])
def test_a_newer_patch_and_the_next_minor_version_are_updates(version: str) -> None:
    inputs = worker(GPU1, CP1)
    news = json.loads(json.dumps(inputs))
    news["software"]["kubernetes"]["version"] = version
    diff = difference(WORKER, inputs, state(inputs), news)
    assert (diff.changes, diff.replaces) == ({"software"} if version != "1.34" else set(), set())


def test_no_worker_is_newer_than_its_control_plane() -> None:
    def texts_of(version: Any, plane: Any) -> list[str]:
        inputs = worker(GPU1, CP1, controlPlane={"machine": CP1.property, "kubernetesVersion": plane})
        inputs["software"]["kubernetes"]["version"] = version
        return [f"{each.where}: {each.text}" for each in problems_of(WORKER, inputs)]

    assert texts_of("1.34", "v1.34.4") == texts_of("1.34.4", "v1.34.4") == texts_of("1.34.4", "v1.35.0") == []
    assert texts_of("1.35", UNKNOWN) == texts_of(UNKNOWN, "v1.34.4") == []
    (text,) = texts_of("1.35", "v1.34.4")
    assert text.startswith("software.kubernetes.version: 1.35 is newer than the control plane's 1.34.4:")


def kubeconfig(end: datetime) -> str:
    """With a client certificate that ends then."""
    key, name = ed25519.Ed25519PrivateKey.generate(), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "admin")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, datetime(2019, 1, 1), end)
    pem = builder.sign(key, None).public_bytes(Encoding.PEM)
    return f"users:\n- user:\n    client-certificate-data: {base64.b64encode(pem).decode()}\n"


def test_a_certificate_that_ends_is_an_update_without_a_refresh() -> None:
    inputs = control_plane(CP1)
    for year, changes in ((2020, {"drift"}), (2199, set[str]())):
        for key in ("adminKubeconfig", "userKubeconfig"):
            olds = {**state(inputs), key: kubeconfig(datetime(year, 1, 31))}
            assert difference(CONTROL_PLANE, inputs, olds, inputs).changes == changes
    assert ends_soon(kubeconfig(datetime(2020, 1, 31))) == "2020-01-31"
    assert ends_soon(KUBECONFIG) == ends_soon("") == ""


def documents(text: str) -> dict[str, Any]:
    return {each["kind"]: each for each in map(json.loads, text.split("\n---\n"))}


def test_kubeadm_init_gets_the_programs_documents_and_what_the_machine_knows() -> None:
    mine = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": "lab"}
    made = documents(init_documents(control_plane(CP1, kubeadm=[mine]), "v1.34.4"))
    cluster, init = made["ClusterConfiguration"], made["InitConfiguration"]
    assert cluster["clusterName"] == "lab"
    assert cluster["kubernetesVersion"] == "v1.34.4"
    encryption = "/etc/kubernetes/gpucluster/encryption.yaml"
    assert {"name": "encryption-provider-config", "value": encryption} in cluster["apiServer"]["extraArgs"]
    assert init["nodeRegistration"]["name"] == "cp1"
    taint = {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}
    assert init["nodeRegistration"]["taints"] == [taint]
    assert init["localAPIEndpoint"] == {"advertiseAddress": "127.0.0.1"}
    assert init["bootstrapTokens"][0]["ttl"] == "10m0s"
    assert made["KubeletConfiguration"]["cgroupDriver"] == "systemd"
    assert mine == {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration", "clusterName": "lab"}


def test_no_pod_has_all_processes_of_a_machine_and_etcd_has_the_room_that_it_suggests() -> None:
    made = documents(init_documents(control_plane(CP1, kubeadm=[]), "v1.34.4"))
    assert made["KubeletConfiguration"]["podPidsLimit"] == 65536
    assert made["ClusterConfiguration"]["etcd"] == {
        "local": {"extraArgs": [{"name": "quota-backend-bytes", "value": "8589934592"}]}
    }
    about = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ClusterConfiguration"}
    elsewhere = {"external": {"endpoints": ["https://10.0.0.9:2379"]}}
    made = documents(init_documents(control_plane(CP1, kubeadm=[{**about, "etcd": elsewhere}]), "v1.34.4"))
    assert made["ClusterConfiguration"]["etcd"] == elsewhere


def test_a_schedulable_control_plane_has_no_taint_and_unencrypted_secrets_no_argument() -> None:
    made = documents(init_documents(control_plane(CP1, schedulable=True, encryptSecrets=False), "v1.34.4"))
    assert made["InitConfiguration"]["nodeRegistration"]["taints"] == []
    assert "extraArgs" not in made["ClusterConfiguration"]["apiServer"]


def test_kubeadm_join_pins_the_ca_and_does_not_wait_long_for_an_expired_token() -> None:
    join = documents(join_documents(worker(GPU1, CP1), "a.b"))["JoinConfiguration"]
    expected = {"apiServerEndpoint": "127.0.0.1:6443", "token": "a.b", "caCertHashes": [CA_HASH]}
    assert join["discovery"]["bootstrapToken"] == expected
    assert join["timeouts"] == {"discovery": "1m0s"}
    assert join["nodeRegistration"]["taints"][0]["key"] == "nvidia.com/gpu"


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({"os": "ubuntu 20.04"}, "runs ubuntu 20.04; supported are ubuntu 22.04"),
        ({"os": "debian 1"}, "runs debian 1;"),
        ({"architecture": "riscv64"}, "has the architecture riscv64"),
        ({"init": "runit"}, "not by systemd"),
        ({"memoryMiB": 900}, "has 900 MiB of memory; 1700 are needed"),
        ({"diskFreeMiB": 2000}, "has 2000 MiB free in /var"),
        ({"swap": "/dev/sda2"}, "uses swap (/dev/sda2)"),
        ({"time": 0}, "has a clock that is"),
        ({"conflicts": "docker.io "}, "has docker.io installed"),
        (
            {"joined": "sha256:" + "a" * 64, "ours": ""},
            "is a node of another cluster",
        ),
        ({"ports": "22 10250"}, "already has something listening on 10250"),
        ({"gpus": 1}, "has 1 NVIDIA GPUs on PCI; 2 are declared"),
        ({"gpus": 0}, "has no NVIDIA GPU on PCI"),
        ({"secureBoot": "on"}, "sudo mokutil --import /var/lib/dkms/mok.pub;"),
        ({"secureBoot": "on", "os": "ubuntu 24.04"}, "sudo mokutil --import /var/lib/shim-signed/mok/MOK.der;"),
        ({"foreignSources": "/etc/apt/sources.list.d/cuda.list"}, "in /etc/apt/sources.list.d/cuda.list: "),
        ({"firewall": "firewalld"}, "sudo systemctl disable --now firewalld"),
        ({"foreignDriver": "550.54.14"}, "has the NVIDIA driver 550.54.14, which was not installed from here, and 580"),
        ({"headers": "none"}, "offer no linux-headers-6.1.0-31-amd64"),
    ],
)
def test_each_problem_of_a_machine_says_what_to_do(facts: dict[str, Any], text: str) -> None:
    now = time.time()
    good = {**FACTS, "time": now, "gpus": 2, "gpuIds": "0x1eb8 0x1eb8", "hostname": "gpu1", "machineId": "x"}
    inputs = {"software": {"kubernetes": {"version": "1.34"}}}
    for fine in ({}, {"foreignDriver": "580.95.05"}):
        assert problems([Candidate("gpu1", "worker", 2, {**good, **fine}, "580")], inputs, {}) == []
    (problem,) = problems([Candidate("gpu1", "worker", 2, {**good, **facts}, "580")], inputs, {})
    assert problem.where == "gpu1"
    assert text in problem.text


def test_cgroup_v1_is_a_warning_with_1_34_and_a_problem_from_1_35_on() -> None:
    facts = {**FACTS, "time": time.time(), "cgroup": "v1"}
    candidate = Candidate("gpu1", "worker", 0, facts)
    assert problems([candidate], {"software": {"kubernetes": {"version": "1.34"}}}, {}) == []
    assert "cgroup v1" in warnings([candidate], {})[0]
    for version in ("1.35", "1.36.4"):
        (problem,) = problems([candidate], {"software": {"kubernetes": {"version": version}}}, {})
        assert f"kubelet {version} refuses" in problem.text


def test_values_survive_the_wire_and_secrets_are_marked() -> None:
    value = {"a": [1, 2.5, None, True, {"b": "c"}], "s": "secret", "u": UNKNOWN}
    struct = marshal(value, ["s", "absent"])
    assert unmarshal(struct) == value
    assert "1b47061264138c4ac30d75fd1eb44270" in str(struct.fields["s"])
    assert "1b47061264138c4ac30d75fd1eb44270" not in str(struct.fields["a"])


@pytest.mark.parametrize(
    ("addresses", "role", "refused"),
    [
        ("192.0.2.90-192.0.2.99", "worker", False),
        ("192.0.2.120-192.0.2.140", "worker", True),
        ("203.0.113.1-203.0.113.2", "worker", True),
        ("203.0.113.1-203.0.113.2", "controlPlane", False),
    ],
)
def test_only_workers_need_the_network_of_addresses_for_services(addresses: str, role: str, refused: bool) -> None:
    facts = {**FACTS, "time": time.time(), "addresses": "192.0.2.10/25 198.51.100.1/24"}
    texts = [each.text for each in problems([Candidate("m", role, 0, facts)], {"loadBalancerRange": addresses}, {})]
    assert len(texts) == refused
    words = f"holds the loadBalancerRange {addresses} (it has 192.0.2.0/25, 198.51.100.0/24)"
    assert all(words in each for each in texts)


async def test_a_range_that_comes_later_is_checked_on_the_machines_that_are_in_the_cluster() -> None:
    plane, gpu1 = SimulatedMachine("cp1"), SimulatedMachine("gpu1", {"addresses": "192.0.2.10/24"})
    async with Site(plane, gpu1) as site:
        inputs = preflight(plane, gpu1)
        _, state = await site.resources.create(PREFLIGHT, inputs, site.log)
        plane.phases.clear()
        gpu1.phases.clear()
        later = {**inputs, "loadBalancerRange": "203.0.113.1-203.0.113.9"}
        with pytest.raises(OperationError, match=r"gpu1: has no network that holds the loadBalancerRange"):
            await site.resources.update(PREFLIGHT, state, later, site.log)
        later["loadBalancerRange"] = "192.0.2.20-192.0.2.30"
        assert (await site.resources.update(PREFLIGHT, state, later, site.log))["checked"] == ["cp1", "gpu1"]
        assert [name for name, _ in gpu1.phases] == ["facts", "facts"]
