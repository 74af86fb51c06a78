"""From the facts of all machines to all problems of all machines; nothing is changed before there is none."""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from machines import gpus
from machines.errors import Problem
from machines.versions import needs_cgroup_v2
from machines.wire import Properties

Facts = Mapping[str, Any]

SYSTEMS: Final = ("ubuntu 22.04", "ubuntu 24.04", "ubuntu 26.04", "debian 12", "debian 13")
ARCHITECTURES: Final = ("x86_64", "aarch64")
_CLOCK_SECONDS: Final = 60
_NVIDIA: Final = "://developer.download.nvidia.com/"
# https://kubernetes.io/docs/reference/networking/ports-and-protocols/
_PORTS: Final = {"controlPlane": (6443, 2379, 2380, 10250, 10257, 10259), "worker": (10250, 10256)}
# The key with which DKMS signs. By itself it makes one only when it compiles the driver, too late for the first boot:
# https://wiki.debian.org/SecureBoot. Ubuntu's is elsewhere: https://github.com/dkms-project/dkms/pull/322
_MOK_UBUNTU: Final = (
    "sudo apt-get install -y shim-signed mokutil && sudo update-secureboot-policy --new-key &&"
    " sudo mokutil --import /var/lib/shim-signed/mok/MOK.der"
)
_MOK_DEBIAN: Final = (
    "sudo apt-get install -y mokutil openssl && sudo mkdir -p /var/lib/dkms && sudo openssl req -new -x509 -nodes"
    " -days 36500 -subj /CN=DKMS -newkey rsa:2048 -keyout /var/lib/dkms/mok.key -outform DER -out"
    " /var/lib/dkms/mok.pub && sudo mokutil --import /var/lib/dkms/mok.pub"
)
# MiB in /usr, without and with NVIDIA's driver and the compiler of its modules; in /boot for an initramfs written anew
_USR: Final = (1_000, 3_000)
_BOOT: Final = 200
# CPUs, MiB of memory and of disk (https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/install-kubeadm/)
_LEAST: Final = {"controlPlane": (2, 1700, 10_000), "worker": (1, 1700, 10_000)}


@dataclass(frozen=True)
class Candidate:
    """A machine that is to become a node: its name, ``role`` (controlPlane or worker), declared GPUs, of NVIDIA's
    driver that it is to get the branch, the kernel modules if they are declared, and the GPUs' declared name."""

    name: str
    role: str
    gpus: int
    facts: Facts
    driver: str = ""
    modules: str = ""
    gpu: str = ""


def problems(candidates: Sequence[Candidate], inputs: Properties, known: Mapping[str, Facts]) -> list[Problem]:
    """All of them, machine by machine, then those between machines and with the ranges.

    ``known``: host name and machine-id of the machines that were checked before.
    """
    result: list[Problem] = []
    for candidate in candidates:
        texts = [*_of_system(candidate, inputs), *_of_state(candidate), *_of_gpus(candidate)]
        texts += [*_outside(candidate, inputs), *_of_network(candidate, inputs)]
        result += [Problem(candidate.name, text) for text in texts]
    return [
        *result,
        *_shared({**known, **{each.name: each.facts for each in candidates}}),
        *_ranges(candidates, inputs),
        *_virtual_address(candidates, str(inputs.get("virtualAddress") or "")),
    ]


def warnings(candidates: Sequence[Candidate], inputs: Properties) -> list[str]:
    """What works and deserves a look."""
    result = []
    for candidate in candidates:
        name, facts = candidate.name, candidate.facts
        if facts["clockSynchronized"] not in ("yes", "unknown"):
            result.append(f"{name}: the clock is not synchronised (timedatectl set-ntp true)")
        if facts["firewall"] == "other":
            result.append(
                f"{name}: a firewall other than ufw refuses incoming traffic; it is left alone: let 10250/tcp, 8472/udp"
                " and on the control plane 6443/tcp through between the machines, and from the pods"
                f" ({inputs.get('podCidr') or 'podCidr'}) the two of TCP"
            )
        if facts["cgroup"] == "v1":
            result.append(
                f"{name}: cgroup v1, which kubelet 1.35 and later refuse; boot with cgroup v2 before an upgrade"
            )
        result += [f"{name}: {text}" for text in (*_gpus_differ(candidate), *_of_surroundings(candidate))]
        unread = _needs_repository(candidate) and not facts["driverBranches"]
        if unread and _NVIDIA in (((inputs.get("software") or {}).get("nvidia") or {}).get("url") or ""):
            missing = gpus.missing_branch(candidate.driver, facts["gpuIds"], facts["os"])
            result += [f"{name}: {missing}"] if missing else []
    return result


def _gpus_differ(candidate: Candidate) -> Iterator[str]:
    """A pod gets any of a machine's GPUs: nothing keeps one of another model from it."""
    facts, count = candidate.facts, candidate.gpus
    if not count:
        return
    names = [each for each in facts["gpuNames"].split("|") if each]
    listed = f" ({', '.join(names)})" if names else ""
    if facts["gpus"] > count:
        yield (
            f"has {facts['gpus']} NVIDIA GPUs on PCI{listed}, {count} are declared, and pods may get any of them: write"
            f" gpusPerNode: {facts['gpus']} if they are of one model, else take the others out"
        )
    devices = sorted({*facts["gpuIds"].split()})
    if len(devices) > 1:
        yield (
            f"has GPUs of several models{listed or ' (PCI devices ' + ', '.join(devices) + ')'}, and a pod may get any"
            " of them: name the pool by the smallest, or move GPUs so that each machine has one model"
        )
    elif names and not any(gpus.is_called(candidate.gpu, each) for each in names):
        yield f"has {', '.join(names)}; the stack file says {candidate.gpu}, by which jobs choose: correct gpu"


def _of_surroundings(candidate: Candidate) -> Iterator[str]:
    """People, proxies and the Internet."""
    facts = candidate.facts
    if facts["proxy"]:
        yield (
            f"has the proxy {facts['proxy']} in its environment, which the program does not use: if packages and images"
            " need it, write packages.proxy (and packages.noProxy)"
        )
    people = [f"{', '.join(facts['users'].split())} logged in"] if facts["users"] else []
    people += [f"{facts['gpuProcesses']} on a GPU"] if facts["gpuProcesses"] else []
    if facts["passphrase"] and _needs_repository(candidate):
        yield (
            f"asks for a passphrase when it starts ({', '.join(facts['passphrase'].split())}): it may restart for its"
            " driver, and then waits until somebody enters it. Stay at its console, or let a TPM or a server answer"
            " (sudo apt-get install clevis-luks clevis-initramfs, then clevis luks bind)"
        )
    if facts["restarts"]:
        yield (
            "restarts by itself after updates (unattended-upgrades), which ends the jobs on it: write"
            ' Unattended-Upgrade::Automatic-Reboot "false"; in /etc/apt/apt.conf.d/52unattended-upgrades-local'
        )
    if facts["bridges"] and not facts["ours"]:
        names = facts["bridges"].split()
        yield (
            f"has the bridge {', '.join(names)}: Kubernetes needs net.bridge.bridge-nf-call-iptables = 1, so from then"
            " on the firewall's rules for forwarded traffic hold for what crosses the bridge as well. Virtual machines"
            f" on it need a rule there (sudo iptables -I FORWARD -i {names[0]} -j ACCEPT; with ufw: sudo ufw route"
            f" allow in on {names[0]})"
        )
    if people and _needs_repository(candidate):
        yield f"has {' and '.join(people)}: the machine may restart for its driver, and nobody there is asked"
    public = [text for text in facts["addresses"].split() if ipaddress.ip_interface(text).ip.is_global]
    if public and facts["firewall"] == "none":
        yield (
            f"has the public address {public[0].split('/')[0]} and no firewall: anybody reaches kubelet (10250/tcp) and"
            " NodePorts, and with forged packets the pods (VXLAN, 8472/udp, has no encryption). Switch ufw on first"
            " (sudo ufw allow PORT/tcp with the port of SSH, then sudo ufw enable), or put a firewall before the"
            " machines"
        )
    elif public and facts["firewall"] == "ufw":
        yield (
            f"has the public address {public[0].split('/')[0]}: ufw will let anybody through to pods and NodePorts"
            " (30000 to 32767); put a firewall before the machines unless these services are for everybody"
        )


def _of_system(candidate: Candidate, inputs: Properties) -> Iterator[str]:
    facts = candidate.facts
    if not any(facts["os"] == system or facts["os"].startswith(f"{system}.") for system in SYSTEMS):
        yield f"runs {facts['os']}; supported are {', '.join(SYSTEMS)}"
    if facts["architecture"] not in ARCHITECTURES:
        yield f"has the architecture {facts['architecture']}; supported are {', '.join(ARCHITECTURES)}"
    if facts["init"] != "systemd":
        yield f"is started by {facts['init']}, not by systemd"
    cpus, memory, disk = _LEAST[candidate.role]
    if facts["cpus"] < cpus:
        yield f"has {facts['cpus']} CPU; a {candidate.role} needs {cpus}"
    if facts["memoryMiB"] < memory:
        yield f"has {facts['memoryMiB']} MiB of memory; {memory} are needed"
    if facts["diskFreeMiB"] < disk and not facts["ours"]:
        yield f"has {facts['diskFreeMiB']} MiB free in /var; {disk} are needed for images and packages"
    least = _USR[bool(candidate.gpus and candidate.driver)]
    if facts["usrFreeMiB"] < least and not facts["ours"]:
        yield f"has {facts['usrFreeMiB']} MiB free in /usr; {least} are needed for packages"
    if facts["bootFreeMiB"] < _BOOT and _needs_repository(candidate):
        yield (
            f"has {facts['bootFreeMiB']} MiB free in /boot; {_BOOT} are needed to write the initramfs anew for the"
            " driver: remove kernels that do not run (sudo apt-get autoremove --purge)"
        )
    if facts["swap"] and not inputs.get("disableSwap"):
        yield (
            f"uses swap ({facts['swap']}): switch it off with swapoff -a, and for good its line in /etc/fstab, or the"
            " package or unit that makes it (zram: sudo apt-get purge zram-tools systemd-zram-generator zram-config;"
            " others: sudo systemctl mask UNIT)"
        )
    offset = abs(facts["time"] - time.time())
    if offset > _CLOCK_SECONDS:
        yield f"has a clock that is {offset:.0f} s off this computer's; certificates would be refused: set up NTP"
    version = ((inputs.get("software") or {}).get("kubernetes") or {}).get("version") or ""
    if facts["cgroup"] == "v1" and version and needs_cgroup_v2(version):
        yield f"uses cgroup v1, which kubelet {version} refuses; boot it with cgroup v2, or choose Kubernetes 1.34"


def _of_state(candidate: Candidate) -> Iterator[str]:
    facts = candidate.facts
    if facts["foreignSources"]:
        yield (
            f"has an apt source of its own for Kubernetes' or NVIDIA's packages in {facts['foreignSources']}: remove it"
            " (sudo rm, or its lines in sources.list). The program adds one with the pinned key, and apt refuses two"
            " with different keys (Signed-By)"
        )
    if facts["firewall"] == "firewalld":
        yield (
            "runs firewalld, whose zones would reject the machines' and pods' traffic, and which the program does not"
            " configure: use ufw instead (sudo systemctl disable --now firewalld)"
        )
    if facts["conflicts"].strip() and not facts["ours"]:
        conflicts = facts["conflicts"].strip()
        yield f"has {conflicts} installed, another container runtime, cluster or kubectl; remove it first"
    if facts["etcdData"] and candidate.role == "controlPlane":
        yield (
            "has data of another etcd in /var/lib/etcd, which kubeadm would take for its own: move it away (sudo mv"
            " /var/lib/etcd /var/lib/etcd.before)"
        )
    if facts["joined"] and not facts["ours"]:
        yield "is a node of another cluster; take it out there (kubectl delete node, kubeadm reset) first"
    elif not facts["joined"]:
        used = {int(port) for port in facts["ports"].split()}
        taken = sorted(used & set(_PORTS[candidate.role]))
        if taken:
            ports = ", ".join(map(str, taken))
            yield f"already has something listening on {ports} (ss -ltnp shows what); Kubernetes needs these ports"


def _of_network(candidate: Candidate, inputs: Properties) -> Iterator[str]:
    """What pods would find: their own nameserver, and a way to other pods."""
    facts, pods = candidate.facts, inputs.get("podCidr") or ""
    if inputs.get("virtualAddress") and candidate.role == "controlPlane" and facts["foreignKeepalived"]:
        yield "has a keepalived with a configuration of its own: remove it first (sudo apt-get purge keepalived)"
    if facts["joined"]:
        return
    servers = facts["nameservers"]
    if servers.startswith("none"):
        yield f"has no nameserver ({servers}), and the cluster's DNS would not start: write nameserver ADDRESS there"
    elif any(_is_loopback(each) for each in servers.split()):
        yield (
            f"asks itself for names (nameserver {servers}), and the cluster's DNS would ask itself for ever: write the"
            " network's nameserver in place of the one of this machine, or let systemd-resolved run with it (DNS= in"
            " /etc/systemd/resolved.conf)"
        )
    if facts["forward"] and not (pods and pods in facts["forward"]):
        yield (
            "refuses forwarded traffic with a rule or table that comes before the pods' network, so pods would reach no"
            f" other ({facts['forward'][:200].strip()}). Delete that rule, or let the pods through before it: sudo"
            f" iptables -I FORWARD -s {pods} -j ACCEPT and -d {pods} (nftables: ip saddr {pods} accept and ip daddr),"
            " and keep both for the next boot (sudo netfilter-persistent save, /etc/nftables.conf)"
        )


def _is_loopback(address: str) -> bool:
    return address == "::1" or address.startswith("127.")


def _needs_repository(candidate: Candidate) -> bool:
    """Whether a driver is to be installed that the machine does not run yet."""
    runs = candidate.facts["foreignDriver"] or candidate.facts["driverVersion"].startswith(f"{candidate.driver}.")
    return bool(candidate.gpus and candidate.driver and not runs)


def _of_gpus(candidate: Candidate) -> Iterator[str]:
    facts, count = candidate.facts, candidate.gpus
    if not count:
        return
    if facts["gpus"] == 0:
        yield f"has no NVIDIA GPU on PCI; {count} are declared (gpusPerNode)"
    elif facts["gpus"] < count:
        yield f"has {facts['gpus']} NVIDIA GPUs on PCI; {count} are declared (gpusPerNode)"
    if candidate.driver:
        offered = facts["driverBranches"] if _needs_repository(candidate) else ""
        yield from gpus.refusals(candidate.modules, candidate.driver, facts["gpuIds"], offered)
        yield from _of_foreign_driver(facts, candidate.driver, candidate.modules)
    if facts["driverVersion"]:
        return
    if facts["secureBoot"] == "on" and facts["mok"] != "enrolled":
        commands = _MOK_UBUNTU if facts["os"].startswith("ubuntu") else _MOK_DEBIAN
        yield (
            f"has Secure Boot on and no enrolled key that signs the driver. Run there: {commands}; choose a password,"
            " reboot, and at the console choose Enroll MOK, Continue, Yes and enter it. Or switch Secure Boot off in"
            " the firmware"
        )
    if facts["headers"] == "none":
        yield (
            f"has no kernel headers, and its package sources offer no linux-headers-{facts['kernel']}: update"
            " the kernel and reboot; the driver is compiled against them"
        )


def _of_foreign_driver(facts: Facts, branch: str, modules: str) -> Iterator[str]:
    """A driver of the declared branch stays, with the modules that it has unless others are declared."""
    foreign, flavour = facts["foreignDriver"], facts["kernelModules"]
    other = flavour if modules and flavour not in ("", modules) else ""
    if foreign and (other or not foreign.startswith(f"{branch}.")):
        has, wants = (f" with {other} kernel modules", f"{branch} with {modules} ones") if other else ("", branch)
        yield (
            f"has the NVIDIA driver {foreign}{has}, which was not installed from here, and {wants} is declared: remove"
            " it (sudo apt-get purge '*nvidia*', or nvidia-uninstall if it came from a .run file), or keep it with"
            " drivers: none"
        )


def _shared(identities: Mapping[str, Facts]) -> Iterator[Problem]:
    for key, text in (("hostname", "host name"), ("machineId", "machine-id")):
        by_value: dict[str, list[str]] = {}
        for name, facts in identities.items():
            by_value.setdefault(facts[key], []).append(name)
        for value, names in by_value.items():
            if len(names) > 1:
                remedy = (
                    "hostnamectl set-hostname"
                    if key == "hostname"
                    else "sudo rm -f /etc/machine-id /var/lib/dbus/machine-id && sudo systemd-machine-id-setup, then"
                    " reboot; a copied disk? A machine that has its address by DHCP may then get another one: write"
                    " it in address, or set dhcp-identifier: mac in netplan before"
                )
                yield Problem(" and ".join(names), f"have the same {text} {value!r}: {remedy}")


def _networks(candidate: Candidate) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    """Those that the machine has an address in."""
    return [ipaddress.ip_interface(text).network for text in candidate.facts["addresses"].split()]


def _outside(candidate: Candidate, inputs: Properties) -> Iterator[str]:
    """Only a machine in the network of an address can answer for it."""
    addresses = inputs.get("loadBalancerRange")
    if not addresses or candidate.role != "worker":
        return
    networks = _networks(candidate)
    ends = [ipaddress.ip_address(text) for text in addresses.split("-")]
    if not any(all(end in network for end in ends) for network in networks):
        yield (
            f"has no network that holds the loadBalancerRange {addresses} (it has"
            f" {', '.join(map(str, networks)) or 'none'}), so it cannot answer for these addresses: choose others"
        )


def _ranges(candidates: Sequence[Candidate], inputs: Properties) -> Iterator[Problem]:
    ranges = {key: ipaddress.ip_network(inputs[key]) for key in ("podCidr", "serviceCidr") if inputs.get(key)}
    if len(ranges) == 2 and ranges["podCidr"].overlaps(ranges["serviceCidr"]):
        yield Problem("podCidr", f"{ranges['podCidr']} overlaps serviceCidr {ranges['serviceCidr']}")
    for candidate in candidates:
        for network in _networks(candidate):
            for key, each in ranges.items():
                if network.version == each.version and network.overlaps(each):
                    yield Problem(
                        candidate.name, f"is in the network {network}, which overlaps {key} {each}: choose another"
                    )


def _virtual_address(candidates: Sequence[Candidate], address: str) -> Iterator[Problem]:
    """It moves between machines of one network."""
    for candidate in candidates if address else ():
        if candidate.role == "controlPlane":
            networks = [each for each in _networks(candidate) if each.prefixlen < 32]
            if not any(ipaddress.ip_address(address) in network for network in networks):
                shown = ", ".join(map(str, networks)) or "no network"
                yield Problem(
                    candidate.name, f"is in {shown}, which virtualAddress {address} is not in: choose a free one of it"
                )
