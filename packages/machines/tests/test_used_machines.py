"""Machines that have had a life before: proxies, other networks, another apt at work, swap, GPUs of several models."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from machines.gpus import is_called
from machines.preflight import Candidate, problems, warnings
from machines.scripts import PREPARE, compose
from machines.software import prepare_variables
from packages.machines.tests.simulated import FACTS, SimulatedMachine, control_plane, software
from packages.machines.tests.test_packages import calls, machine, program
from packages.machines.tests.test_scripts import FOLDER, run_common

__all__ = ["machine"]

PROXIES = ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY")
SESSION = dict.fromkeys(
    (*PROXIES, "TMPDIR", "GNUPGHOME", "KUBECONFIG", "APT_CONFIG"), "http://me:pw@session.example:3128"
)
PROXY, EXCEPT = "http://lab:p%40ss@proxy.example:3128", ["mirror.lab", "192.0.2.0/24"]


def variables(**changed: Any) -> dict[str, str]:
    inputs = control_plane(SimulatedMachine("m"))
    return prepare_variables({**inputs, "software": {**software(), **changed}}, "worker")


def test_no_phase_has_what_a_session_brings() -> None:
    """kubeadm copies proxies into the control plane's pods; what is assigned to an exported variable is exported."""
    script = compose(PREPARE, variables(proxy=PROXY, noProxy=EXCEPT)).partition("\nmain() {")[0]
    environment = {**os.environ, **SESSION}
    shown = subprocess.run(["sh", "-s"], input=f"{script}\nenv", env=environment, text=True, capture_output=True)
    names = {line.partition("=")[0] for line in shown.stdout.splitlines()}
    assert not names & {*SESSION}, shown.stdout
    assert "session.example" not in shown.stdout
    told = subprocess.run(
        ["sh", "-s"],
        input=f"{script}\nprintf %s $session_proxy",
        env={"PATH": os.environ["PATH"], "HTTPS_PROXY": "http://a:1"},
        text=True,
        capture_output=True,
    )
    assert told.stdout == "http://a:1"


def sources(machine: Path, **changed: Any) -> str:
    body = "".join(f"{name}='{value}'\n" for name, value in variables(**changed).items() if "PROXY" in name)
    body += "has() { :; }; kubernetes_source() { :; }; systemctl() { :; }; lock; touch $state/files; sources"
    return run_common(f"PATH=$PATH:/usr/bin:/bin\n{body}; echo $proxy_changed", machine, "prepare").strip()


def test_the_proxy_and_its_exceptions_reach_apt_and_containerd_and_go_again(machine: Path) -> None:
    apt = machine / "etc/apt/apt.conf.d/95gpucluster-proxy"
    unit = machine / "etc/systemd/system/containerd.service.d/gpucluster-proxy.conf"
    assert sources(machine, proxy=PROXY, noProxy=EXCEPT) == "yes"
    lines = apt.read_text().splitlines()
    assert f'Acquire::https::Proxy "{PROXY}";' in lines
    assert 'Acquire::http::Proxy::mirror.lab "DIRECT";' in lines
    assert not any("192.0.2" in line for line in lines)
    expanded = unit.read_text().splitlines()[1].replace("%%", "%")  # as systemd reads it
    assert unit.read_text().count("%") == 4
    assert expanded == f'Environment="HTTP_PROXY={PROXY}" "HTTPS_PROXY={PROXY}" "NO_PROXY=mirror.lab,192.0.2.0/24"'
    assert sources(machine, proxy=PROXY, noProxy=EXCEPT) == "no"
    assert sources(machine) == "yes"
    assert (apt.exists(), unit.exists()) == (False, False)
    assert sources(machine) == "no"


BUSY = "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 4711 (apt-get)"
CUT = "E: dpkg was interrupted, you must manually run 'sudo dpkg --configure -a' to correct the problem."


@pytest.mark.parametrize(
    ("says", "times", "does", "error"),
    [
        (BUSY, 2, ["apt-get", "apt-get", "apt-get"], ""),
        (BUSY, 99, ["apt-get"], "Could not get lock"),
        (CUT, 1, ["apt-get", "dpkg --configure -a", "apt-get"], ""),
        (CUT, 99, ["apt-get", "dpkg --configure -a", "apt-get"], "dpkg was interrupted"),
        ("E: Unable to locate package x", 99, ["apt-get"], "Unable to locate"),
    ],
)
def test_another_apt_is_waited_for_and_a_power_cut_mended(
    says: str, times: int, does: list[str], error: str, machine: Path
) -> None:
    count = machine / "count"
    failing = f'echo x >>{count}; if [ $(wc -l <{count}) -le {times} ]; then echo "{says}" >&2; exit 100; fi'
    program(machine, "apt-get", failing)
    program(machine, "dpkg", "")
    body = f"sleep() {{ :; }}; apt_seconds={0 if error else 600}; lock; apt update; echo done"
    output = run_common(f"PATH=$PATH:/usr/bin:/bin\n{body}", machine)
    assert ("done" in output.split(), error in output) == (not error, True)
    made = (machine / "calls").read_text().splitlines()
    waits = f"DPkg::Lock::Timeout={0 if error else 600}"  # dpkg's own locks
    assert all(waits in line for line in made if line.startswith("apt-get"))
    assert ["dpkg --configure -a" if "--configure" in line else line.split()[0] for line in made] == does


def test_networks_of_others_are_put_aside_and_given_back(machine: Path) -> None:
    folder, leases = machine / "etc/cni/net.d", machine / "var/lib/cni/networks"
    before = {"87-podman-bridge.conflist": "podman\n", "10-calico.conflist": "calico\n"}
    folder.mkdir(parents=True)
    for name, text in before.items():
        (folder / name).write_text(text)
    (leases / "podman").mkdir(parents=True)
    for name in ("ip", "nft", "iptables-save", "systemctl"):
        program(machine, name, "")
    stubs = "OWNER=me; "
    path = "PATH=$PATH:/usr/bin:/bin\n"
    (machine / "proc/sys/net/ipv4").mkdir(parents=True)
    (machine / "proc/sys/net/ipv4/ip_forward").write_text("0\n")
    for _ in range(2):  # also a snapshot that was interrupted
        (machine / "state/snapshot/done").unlink(missing_ok=True)
        run_common(f"{path}{stubs}lock; snapshot", machine, "prepare")
        assert [each.name for each in folder.iterdir()] == []
    (folder / "10-flannel.conflist").write_text("flannel\n")
    assert run_common(f"{path}{stubs}lock; snapshot", machine, "prepare") == ""
    assert [each.name for each in folder.iterdir()] == ["10-flannel.conflist"]
    (leases / "cbr0").mkdir()
    (machine / "state/joined").touch()
    run_common(f"{path}{stubs}OTHERS=no; rules() {{ :; }}; umount() {{ :; }}; main", machine, "reset")
    assert [each.name for each in leases.iterdir()] == ["podman"]
    run_common(f"{path}lock; give_back {machine}/etc/cni", machine)
    assert {each.name: each.read_text() for each in folder.iterdir()} == before


@pytest.mark.parametrize(("mark", "kept"), [("joined", True), ("init", False), ("initialised", False)])
def test_the_etcd_of_somebody_else_on_a_worker_keeps_its_data(mark: str, kept: bool, machine: Path) -> None:
    for file in ("var/lib/etcd/default/member", "var/lib/kubelet/config.yaml", f"state/{mark}"):
        (machine / file).parent.mkdir(parents=True, exist_ok=True)
        (machine / file).touch()
    for name in ("systemctl", "kubeadm"):
        program(machine, name, "")
    stubs = "OTHERS=no; rules() { :; }; umount() { :; }; ip() { :; }"
    run_common(f"PATH=$PATH:/usr/bin:/bin\n{stubs}; main", machine, "reset")
    assert (machine / "var/lib/etcd/default/member").exists() is kept
    assert not (machine / "var/lib/kubelet/config.yaml").exists()
    (call,) = calls(machine, "kubeadm")
    assert ("--skip-phases=remove-etcd-member" in call) is kept


@pytest.mark.parametrize(("before", "begins"), [("", True), ("member", False)])
def test_kubeadm_takes_no_data_of_another_etcd_for_its_own(before: str, begins: bool, machine: Path) -> None:
    (machine / "var/lib/etcd" / before).mkdir(parents=True)
    stubs = "JOIN_CONFIG=''; CA_HASH=''; ENCRYPT=no; files() { echo begins; exit 0; }"
    told = run_common(f"PATH=$PATH:/usr/bin:/bin\n{stubs}; main", machine, "init")
    assert ("begins" in told) is begins
    assert ("move it away first" in told) is not begins
    assert (machine / "state/init").exists() is begins


@pytest.mark.parametrize(("role", "refused"), [("controlPlane", True), ("worker", False)])
def test_an_etcd_is_in_the_way_of_a_control_plane_alone(role: str, refused: bool) -> None:
    (told,) = [problems([replace(candidate(etcdData="present"), role=role)], {}, {})]
    assert any("data of another etcd" in each.text for each in told) is refused


def test_a_containerd_that_no_package_brought_keeps_its_images(machine: Path) -> None:
    theirs, ours = machine / "var/lib/containerd/layer", machine / "opt/cni/bin/bridge"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    (machine / "etc/cni/net.d").mkdir(parents=True)
    (machine / "proc/sys/net/ipv4").mkdir(parents=True)
    (machine / "proc/sys/net/ipv4/ip_forward").write_text("0\n")
    for name in ("ip", "nft", "iptables-save", "systemctl", "apt-mark", "apt-get", "dpkg-query"):
        program(machine, name, "")
    run_common("PATH=$PATH:/usr/bin:/bin\nOWNER=me; lock; snapshot", machine, "prepare")
    ours.parent.mkdir(parents=True)
    ours.touch()
    run_common("PATH=$PATH:/usr/bin:/bin\napt() { :; }; main", machine, "restore")
    assert theirs.exists()
    assert not ours.exists()


def test_a_package_that_the_owner_installs_meanwhile_is_not_ours(machine: Path) -> None:
    listed = machine / "listed"
    listed.write_text("adduser\n")
    program(machine, "apt-get", "echo 'Inst containerd (1.7)'; echo 'Inst runc (1.1)'")
    stubs = f"installed() {{ sort -u {listed}; }}; apt() {{ printf 'containerd\\npostgresql\\nrunc\\n' >>{listed}; }}"
    run_common(f"PATH=$PATH:/usr/bin:/bin\n{stubs}; lock; install_packages containerd", machine)
    assert (machine / "state/installed").read_text().split() == ["containerd", "runc"]


def test_what_a_cluster_left_of_its_pods_network_goes_where_nobody_else_had_one(machine: Path) -> None:
    (machine / "etc/cni/net.d").mkdir(parents=True)
    (machine / "var/lib/cni/networks/cilium").mkdir(parents=True)
    (machine / "state/joined").touch()
    (machine / "state/folders").write_text(f"{machine}/var/lib/cni\n")
    stubs = "OTHERS=no; rules() { :; }; umount() { :; }; ip() { :; }"
    run_common(f"PATH=$PATH:/usr/bin:/bin\n{stubs}; main", machine, "reset")
    assert not (machine / "etc/cni/net.d").exists()
    assert not (machine / "var/lib/cni").exists()


SWAPS = "Filename Type Size Used Priority\n"


@pytest.mark.parametrize(
    ("units", "shown"),
    [("dev-zram0.swap loaded active active /dev/zram0", "/dev/zram0, unit dev-zram0.swap"), ("", "/dev/zram0")],
)
def test_swap_that_comes_back_with_the_drivers_reboot_is_named(units: str, shown: str, machine: Path) -> None:
    (machine / "proc").mkdir()
    (machine / "proc/swaps").write_text(f"{SWAPS}/dev/zram0 partition 8 0 100\n")
    program(machine, "systemctl", f"case $1 in list-units) echo '{units}' ;; esac")
    path = "PATH=$PATH:/usr/bin:/bin\n"
    assert run_common(f"{path}swap", machine) == shown
    output = run_common(f"{path}AFTER_REBOOT=yes; main", machine, "driver")
    assert f"swap is on again after the reboot ({shown})" in output
    assert "switch it off" in output
    (machine / "proc/swaps").write_text(SWAPS)
    assert run_common(f"{path}swap", machine) == ""


def test_the_lock_is_where_only_root_writes() -> None:
    """Whoever can open a file can lock it: in /run/lock that is everybody."""
    assert 'exec 9>"$state/lock"' in (FOLDER / "common.sh").read_text()
    assert "exec 9>/var/lib/gpucluster-machines/lock" in (FOLDER / "on_machine/gpucluster-etcd.sh").read_text()


DEPENDS = """case "$*" in
  *-s*) for word; do case $word in
      iptables) echo "Remv ufw [1]"; echo "Purg iptables [1]" ;;
      libxtables) echo "Remv ufw [1]"; echo "Remv iptables [1]"; echo "Purg libxtables [1]" ;;
      kubelet|kubectl) echo "Purg $word [1]" ;;
    esac; done ;;
esac"""


@pytest.mark.parametrize(
    ("ours", "removed"),
    [
        ("kubelet kubectl", "kubelet kubectl"),
        ("kubelet iptables libxtables kubectl", "kubelet kubectl"),
        ("ufw iptables libxtables", "ufw iptables libxtables"),
        ("iptables", None),
    ],
)
def test_packages_that_the_owner_built_on_stay(ours: str, removed: str | None, machine: Path) -> None:
    """ufw came after our iptables: with it the machine would lose its firewall."""
    program(machine, "apt-get", DEPENDS)
    state = machine / "state"
    (state / "snapshot").mkdir()
    (state / "snapshot/packages").write_text("containerd\n")
    for name in ("done", "holds", "units", "ip_forward"):
        (state / "snapshot" / name).touch()
    (state / "installed").write_text("\n".join(ours.split()) + "\n")
    (state / "files").touch()
    program(machine, "dpkg-query", "printf installed")
    (machine / "proc/sys/net/ipv4").mkdir(parents=True)
    output = run_common(
        'PATH=$PATH:/usr/bin:/bin\nsystemctl() { :; }; apt() { echo "apt $*" >&2; }; main', machine, "restore"
    )
    purges = [
        line.split("--allow-change-held-packages ")[1] for line in output.splitlines() if line.startswith("apt purge")
    ]
    assert [sorted(each.split()) for each in purges] == ([sorted(removed.split())] if removed else [])
    assert ("iptables stays, because it is needed by ufw" in output) is ("ufw" not in ours and "iptables" in ours)


@pytest.mark.parametrize(
    ("declared", "name", "called"),
    [
        ("nvidia-rtx-3090", "GA102 [GeForce RTX 3090]", True),
        ("nvidia-rtx-3090", "GP102 [GeForce GTX 1080 Ti]", False),
        ("nvidia-gtx-1080ti", "NVIDIA GeForce GTX 1080 Ti", True),
        ("nvidia-h100-80gb", "NVIDIA H100 NVL", True),
        ("nvidia-h100-sxm5", "NVIDIA H100 80GB HBM3", True),
        ("nvidia-rtx-pro-6000", "NVIDIA RTX PRO 6000 Blackwell Server Edition", True),
        ("nvidia-titan-v", "GV100 [TITAN V]", True),
        ("nvidia-a100", "AD102GL [L40S]", False),
    ],
)
def test_a_gpus_name_is_compared_by_its_model(declared: str, name: str, called: bool) -> None:
    assert is_called(declared, name) is called


PCI_IDS = """# a list
10dd  Somebody else
\t2204  Another thing
10de  NVIDIA Corporation
\t1b06  GP102 [GeForce GTX 1080 Ti]
\t2204  GA102 [GeForce RTX 3090]
\t\t10de 147d  A board
10df  Emulex Corporation
\t1b06  No GPU
"""


@pytest.mark.parametrize(
    ("driver", "ids", "names"),
    [
        ("exit 9", "0x2204 0x2204", "GA102 [GeForce RTX 3090]"),
        ("exit 9", "0x2204 0x1b06", "GA102 [GeForce RTX 3090]|GP102 [GeForce GTX 1080 Ti]"),
        ("exit 9", "0x9999", ""),
        ("echo NVIDIA GeForce RTX 3090; echo NVIDIA GeForce RTX 3090", "0x2204", "NVIDIA GeForce RTX 3090"),
        ("echo NVIDIA-SMI has failed; exit 9", "0x1b06", "GP102 [GeForce GTX 1080 Ti]"),
    ],
)
def test_gpus_are_named_by_the_driver_or_the_list_of_pci_devices(
    driver: str, ids: str, names: str, machine: Path
) -> None:
    program(machine, "nvidia-smi", driver)
    known = machine / "pci.ids"
    known.write_text(PCI_IDS)
    text = (FOLDER / "facts.sh").read_text().replace("/usr/share/misc/pci.ids", str(known))
    assert run_common(f"PATH=$PATH:/usr/bin:/bin\n{text}\nids='{ids}'; gpu_names", machine) == names
    known.unlink()
    text = text.replace("/usr/share/hwdata/pci.ids", str(known))
    output = run_common(f"PATH=$PATH:/usr/bin:/bin\n{text}\nids='{ids}'; gpu_names", machine)
    assert output == (names if "exit" not in driver else "")


def candidate(gpu: str = "nvidia-rtx-3090", **facts: Any) -> Candidate:
    gpus = {"gpus": 2, "gpuIds": "0x2204 0x2204", "hostname": "gpu1", "machineId": "m1", "time": 0}
    return Candidate("gpu1", "worker", 2, {**FACTS, **gpus, **facts}, driver="580", gpu=gpu)


UFW = "ufw will let anybody through to pods and NodePorts"


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        ({}, ""),
        ({"gpuNames": "GA102 [GeForce RTX 3090]"}, ""),
        ({"gpuNames": "GP102 [GeForce GTX 1080 Ti]"}, "the stack file says nvidia-rtx-3090, by which jobs choose"),
        ({"gpus": 3, "gpuIds": "0x2204 0x2204 0x2204"}, "write gpusPerNode: 3 if they are of one model"),
        ({"gpuIds": "0x2204 0x1cb3"}, "has GPUs of several models (PCI devices 0x1cb3, 0x2204)"),
        ({"proxy": "http://session.example:3128"}, "write packages.proxy (and packages.noProxy)"),
        ({"users": "ann bob"}, "has ann, bob logged in: the machine may restart for its driver"),
        ({"gpuProcesses": "python (pid 4711)"}, "has python (pid 4711) on a GPU: the machine may restart"),
        ({"users": "ann", "foreignDriver": "580.95.05", "driverVersion": "580.95.05"}, ""),
        (
            {"passphrase": "sda3_crypt"},
            "asks for a passphrase when it starts (sda3_crypt): it may restart for its driver",
        ),
        ({"passphrase": "sda3_crypt", "foreignDriver": "580.95.05", "driverVersion": "580.95.05"}, ""),
        ({"restarts": "yes"}, 'write Unattended-Upgrade::Automatic-Reboot "false"; in /etc/apt/apt.conf.d/'),
        ({"bridges": "br0 virbr1"}, "sudo ufw route allow in on br0)"),
        ({"bridges": "br0", "ours": "worker gpu1"}, ""),
        ({"firewall": "other"}, "and from the pods (10.244.0.0/16) the two of TCP"),
        ({"addresses": "10.0.0.4/24 8.8.8.8/24"}, "public address 8.8.8.8 and no firewall"),
        ({"addresses": "8.8.8.8/24", "firewall": "ufw"}, UFW),
        ({"addresses": "10.0.0.4/24", "firewall": "ufw"}, ""),
    ],
)
def test_a_machine_in_use_is_warned_about_in_words(facts: dict[str, Any], text: str) -> None:
    told = warnings([candidate(**facts)], {"podCidr": "10.244.0.0/16"})
    assert len(told) == bool(text), told
    assert all(text in each and each.startswith("gpu1: ") for each in told)


@pytest.mark.parametrize(("path", "name"), [("usr/local/bin/k3s", "k3s"), ("snap/bin/microk8s", "microk8s")])
def test_clusters_that_no_package_brings_are_seen(path: str, name: str, machine: Path) -> None:
    file = machine / path
    file.parent.mkdir(parents=True)
    text = (FOLDER / "facts.sh").read_text().replace(" /snap/bin", f" {machine}/snap/bin")
    text = text.replace(" /usr/local/bin", f" {machine}/usr/local/bin")
    body = f"PATH=$PATH:/usr/bin:/bin\n{text}\nhas() {{ return 1; }}\nconflicts"
    assert run_common(body, machine) == ""
    file.touch()
    assert run_common(body, machine).split() == [name]
    told = problems([candidate(conflicts=f"{name} ")], {}, {})
    assert any(f"has {name} installed" in each.text for each in told)
    running = problems([candidate(conflicts=f"{name} ", ours="worker gpu1")], {}, {})
    assert not any("installed" in each.text for each in running)


def test_debians_kubectl_is_in_the_way_of_the_one_that_is_installed(machine: Path) -> None:
    """Both are /usr/bin/kubectl, and neither package declares it."""
    text = (FOLDER / "facts.sh").read_text().replace(" /usr/local/bin", f" {machine}")
    stubs = "has() { [ $1 = kubernetes-client ]; }"
    assert run_common(f"PATH=$PATH:/usr/bin:/bin\n{text}\n{stubs}\nconflicts", machine) == "kubernetes-client "


def test_packages_and_units_that_a_node_needs_after_a_reboot(machine: Path) -> None:
    program(machine, "systemctl", "")
    run_common("lock; start_containerd yes; start_containerd no", machine)
    assert calls(machine, "systemctl")[:2] == ["systemctl enable containerd", "systemctl restart containerd"]
    assert calls(machine, "systemctl")[2:] == ["systemctl enable containerd", "systemctl start containerd"]


def test_the_drivers_branch_wins_over_every_other_source(machine: Path) -> None:
    """Above 1000 apt also goes back to an older version: https://manpages.debian.org/bookworm/apt/apt_preferences.5"""
    stubs = "apt_source() { :; }; kernel_headers() { :; }; fabric_manager() { :; }; hold() { :; }"
    stubs += "; package_version() { echo 580.95.05-1; }; apt() { :; }; touch() { :; }"
    values = "NVIDIA_URL=x NVIDIA_SUITE= NVIDIA_COMPONENTS= NVIDIA_KEY= NVIDIA_KEY_URL= NVIDIA_KEY_FINGERPRINT="
    body = f"lock; : >$state/files; changed=no; {stubs}; {values} DRIVER_PACKAGE=nvidia-open DRIVER_BRANCH=580; driver"
    run_common(f"PATH=$PATH:/usr/bin:/bin\n{body}", machine, "driver")
    pin = dict(
        line.split(": ", 1) for line in (machine / "etc/apt/preferences.d/gpucluster-nvidia").read_text().splitlines()
    )
    assert pin["Pin"] == "version 580.*"
    assert int(pin["Pin-Priority"]) > 1000


def test_renewed_certificates_are_read_by_every_pod_of_the_control_plane(machine: Path) -> None:
    program(machine, "kubeadm", "")
    program(machine, "crictl", """case "$*" in *" ps "*) echo "id${8#^}" ;; esac""")
    body = "ending_certificates() { echo apiserver.crt; }; api_ready() { echo ready; }; lock; renew"
    output = run_common(f"PATH=$PATH:/usr/bin:/bin\n{body}", machine, "init")
    assert output.count("ready") == 4
    assert calls(machine, "kubeadm") == ["kubeadm certs renew all"]
    stopped = [line for line in calls(machine, "crictl") if " stop " in line]
    assert len(stopped) == 4
    assert len({*stopped}) == 4
    assert not (machine / "state/renewing").exists()


PODS = "10.244.0.0/16"
# The INPUT and FORWARD of Oracle's Ubuntu images.
ORACLE = """-P {0} ACCEPT
-A {0} -m state --state RELATED,ESTABLISHED -j ACCEPT
-A {0} -j REJECT --reject-with icmp-host-prohibited"""
ALLOWED = f"-P FORWARD ACCEPT\n-A FORWARD -s {PODS} -j ACCEPT\n-A FORWARD -d {PODS} -j ACCEPT\n-A FORWARD -j DROP"
LATE = f'-P FORWARD ACCEPT\n-A FORWARD -m comment --comment "no more" -j DROP\n-A FORWARD -s {PODS} -j ACCEPT'
TABLE = """table inet mine {{
\tchain forward {{
\t\ttype filter hook forward priority filter; policy {0};
\t\tct state established,related accept
\t\t{1}
\t}}
}}"""
OF_IPTABLES = """table ip filter {
\tchain FORWARD {
\t\ttype filter hook forward priority filter; policy drop;
\t}
}"""


@pytest.mark.parametrize(
    ("iptables", "nft", "refused"),
    [
        ("", "", False),
        (ORACLE.format("FORWARD"), "", True),
        ("-P FORWARD DROP\n-A FORWARD -i docker0 -j REJECT", OF_IPTABLES, False),  # appended rules still count
        (ALLOWED, "", False),
        (LATE, "", True),
        ("", TABLE.format("drop", "iifname lo accept"), True),
        ("", TABLE.format("accept", "tcp dport 25 drop"), False),
        ("", TABLE.format("accept", 'log prefix "no " counter packets 1 bytes 60 drop'), True),
        ("", TABLE.format("accept", "reject with icmpx admin-prohibited"), True),
        ("", TABLE.format("accept", f"drop\n\t\tip saddr {PODS} accept"), True),
        ("", TABLE.format("drop", f"ip saddr {PODS} accept"), False),
        ("", TABLE.format("drop", "iifname lo accept").replace("forward", "input"), False),
    ],
)
def test_a_firewall_before_the_pods_network_is_refused(iptables: str, nft: str, refused: bool, machine: Path) -> None:
    """flannel appends its rules; an ACCEPT of iptables does not count in another table."""
    program(machine, "iptables", f"if [ $2 = FORWARD ]; then cat <<'X'\n{iptables}\nX\nfi")
    program(machine, "iptables-legacy", "")
    program(machine, "nft", f"cat <<'X'\n{nft}\nX")
    found = run_common("PATH=$PATH:/usr/bin:/bin\nforward", machine, "facts")
    told = [each.text for each in problems([candidate(forward=found)], {"podCidr": PODS}, {})]
    assert any("refuses forwarded traffic" in each for each in told) is refused, told
    joined = problems([candidate(forward=found, joined="sha256:a", ours="worker gpu1")], {"podCidr": PODS}, {})
    assert not any("forwarded" in each.text for each in joined)


def test_a_firewall_that_rejects_at_the_end_is_one(machine: Path) -> None:
    for name in ("iptables-legacy", "nft", "ufw"):
        program(machine, name, "")
    rules = ORACLE.format("INPUT")
    for text, seen in ((rules, "other"), (rules.rpartition("\n")[0], "none")):
        program(machine, "iptables", f"if [ $2 = INPUT ]; then cat <<'X'\n{text}\nX\nfi")
        assert run_common("PATH=$PATH:/usr/bin:/bin\nfirewall", machine, "facts") == seen


@pytest.mark.parametrize(
    ("resolved", "text", "refused"),
    [
        ("inactive", "nameserver 127.0.0.1\n", "asks itself for names (nameserver 127.0.0.1)"),
        ("inactive", "# NetworkManager\nnameserver ::1\nnameserver 192.0.2.1\n", "asks itself for names"),
        ("inactive", "search lab\n", "has no nameserver (none in "),
        ("inactive", "nameserver 192.0.2.1\n", ""),
        ("active", "nameserver 127.0.0.53\n", ""),
    ],
)
def test_a_nameserver_that_pods_cannot_ask_is_refused(resolved: str, text: str, refused: str, machine: Path) -> None:
    program(machine, "systemctl", f"echo {resolved}")
    (machine / "etc/resolv.conf").write_text(text)
    other = machine / "run/systemd/resolve/resolv.conf"
    other.parent.mkdir(parents=True)
    other.write_text("nameserver 192.0.2.1\n")
    found = run_common("PATH=$PATH:/usr/bin:/bin\nnameservers", machine, "facts")
    told = [each.text for each in problems([candidate(nameservers=found)], {}, {}) if "clock" not in each.text]
    assert [refused in each for each in told] == [True] * bool(refused)
    assert not any(
        "names" in each.text for each in problems([candidate(nameservers=found, joined="x", ours="x")], {}, {})
    )


@pytest.mark.parametrize(
    ("crypttab", "asks"),
    [
        ("# <target name>\nsda3_crypt UUID=1 none luks,discard\n", "sda3_crypt"),
        ("a UUID=1\nb UUID=2 -\n", "a b"),
        ("swap /dev/sda2 /dev/urandom swap\n", ""),
        ("a UUID=1 /root/key luks\nb UUID=1 none tpm2-device=auto\nc UUID=1 none nofail\n", ""),
    ],
)
def test_disks_that_wait_for_a_passphrase_are_seen(crypttab: str, asks: str, machine: Path) -> None:
    (machine / "etc/crypttab").write_text(crypttab)
    program(machine, "zfs", "exit 1")
    body = "PATH=$PATH:/usr/bin:/bin\nhas() { return 1; }; "
    assert run_common(f"{body}passphrase", machine, "facts") == asks
    program(machine, "zfs", "printf 'rpool\\tprompt\\nrpool/a\\tnone\\n'")
    assert run_common(f"{body}passphrase", machine, "facts") == f"{asks} rpool".strip()
    assert run_common(f"{body}has() {{ [ $1 = clevis-initramfs ]; }}; passphrase", machine, "facts") == ""


@pytest.mark.parametrize(("value", "seen"), [("true", "yes"), ("false", ""), ("", "")])
def test_restarts_by_unattended_upgrades_are_seen(value: str, seen: str, machine: Path) -> None:
    program(
        machine,
        "apt-config",
        f"""[ "$*" = "shell value Unattended-Upgrade::Automatic-Reboot/b" ] || exit 9
[ -z "{value}" ] || echo "value='{value}'" """,
    )
    assert run_common("PATH=$PATH:/usr/bin:/bin\nhas() { :; }; restarts", machine, "facts") == seen
    assert run_common("PATH=$PATH:/usr/bin:/bin\nhas() { return 1; }; restarts", machine, "facts") == ""


@pytest.mark.parametrize(("before", "seen"), [("0", "br0"), (None, "br0"), ("1", "")])
def test_bridges_whose_traffic_a_firewall_begins_to_see(before: str | None, seen: str, machine: Path) -> None:
    net = machine / "sys/class/net"
    for bridge, port in (("br0", "vnet0"), ("br0", "eth0"), ("cni0", "veth1"), ("bond0", "eth1")):
        (net / bridge / ("bridge" if bridge != "bond0" else "bonding")).mkdir(parents=True, exist_ok=True)
        (net / port).mkdir()
        (net / port / "master").symlink_to(net / bridge)
    if before:
        (machine / "proc/sys/net/bridge").mkdir(parents=True)
        (machine / "proc/sys/net/bridge/bridge-nf-call-iptables").write_text(before)
    assert run_common("PATH=$PATH:/usr/bin:/bin\nbridges", machine, "facts") == seen


@pytest.mark.parametrize(
    ("facts", "role", "text"),
    [
        ({"usrFreeMiB": 2000}, "worker", "has 2000 MiB free in /usr; 3000 are needed"),
        ({"bootFreeMiB": 90}, "worker", "has 90 MiB free in /boot; 200 are needed"),
        ({"bootFreeMiB": 90, "foreignDriver": "580.95.05", "driverVersion": "580.95.05"}, "worker", ""),
        ({"usrFreeMiB": 10, "ours": "worker gpu1"}, "worker", ""),
        ({"foreignKeepalived": "present"}, "controlPlane", "sudo apt-get purge keepalived"),
        ({"foreignKeepalived": "present"}, "worker", ""),
        ({"conflicts": "kubernetes-client "}, "worker", "another container runtime, cluster or kubectl; remove it"),
    ],
)
def test_what_would_stop_an_installation_half_way_is_told_before(facts: dict[str, Any], role: str, text: str) -> None:
    inputs = {"virtualAddress": "192.0.2.99"}
    told = [each.text for each in problems([replace(candidate(**facts), role=role)], inputs, {})]
    assert [text in each for each in told if "clock" not in each] == [True] * bool(text), told


@pytest.mark.parametrize(
    ("goes", "kept"),
    [("", ""), ("nvidia-fabricmanager-570", ""), ("xserver-xorg nvidia-fabricmanager-570 ufw", "ufw xserver-xorg")],
)
def test_no_installation_takes_away_what_the_owner_had(goes: str, kept: str, machine: Path) -> None:
    """With -y apt would. What came from here may go."""
    lines = "".join(f"echo 'Remv {each} [1]'; " for each in goes.split())
    program(machine, "apt-get", f"case $* in *-s*) {lines} echo 'Inst nvidia-open (1)' ;; esac")
    (machine / "state/installed").write_text("nvidia-fabricmanager-570\n")
    told = run_common("PATH=$PATH:/usr/bin:/bin\nlock; install_packages nvidia-open; echo done", machine)
    done = [line for line in calls(machine, "apt-get") if " -s " not in line]
    assert ("done" in told, len(done)) == (not kept, not kept)
    assert not kept or f"remove packages that were here before: {kept}. If nobody needs them" in told
