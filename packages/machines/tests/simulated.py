"""A machine for tests: an SSH server that reads a phase as ``sh -s`` would, notes it, and answers as the phase does.

What the scripts really do on a machine is tried in the rehearsal of own machines.
"""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
import time
from dataclasses import dataclass, field
from typing import Any

import asyncssh

from machines.resources import MachineResources

CORDONED = "gpucluster-machines/cordoned"
CA_HASH = "sha256:" + "a" * 64
TOKEN = "abcdef.0123456789abcdef"
CERTIFICATE_KEY = "c" * 64
ENCRYPTION = base64.b64encode(b"the cluster's key").decode()
VIRTUAL = "127.0.0.9"
KUBECONFIG = "apiVersion: v1\nclient-key-data: c2VjcmV0\n"
POD_CIDR, SERVICE_CIDR = "10.244.0.0/16", "10.96.0.0/16"

FACTS: dict[str, Any] = {
    "os": "debian 12", "architecture": "x86_64", "kernel": "6.1.0-31-amd64", "cpus": 8, "memoryMiB": 32000,
    "diskFreeMiB": 90000, "hostname": "", "machineId": "", "boot": "first 1", "swap": "", "ports": "22",
    "clockSynchronized": "yes", "time": 0, "cgroup": "v2", "init": "systemd", "addresses": "192.0.2.10/24",
    "secureBoot": "off", "mok": "none", "headers": "present", "gpus": 0, "nvswitches": 0, "gpuIds": "",
    "driverVersion": "", "driverGpus": 0, "containerdVersion": "1.7.24", "kubeletVersion": "v1.34.4",
    "kubeadmVersion": "v1.34.4", "containerd": "enabled/active", "kubelet": "enabled/active",
    "keepalived": "enabled/active", "notHeld": "", "foreignSources": "", "foreignDriver": "", "kernelModules": "",
    "driverBranches": "", "nvlink5": 0, "fabricManager": "", "conflicts": "", "etcdData": "",
    "firewall": "none", "joined": "", "controlPlane": "", "ours": "", "changedFiles": "", "certificatesEnding": "",
    "gpuNames": "", "gpuProcesses": "", "users": "", "proxy": "", "usrFreeMiB": 90000, "bootFreeMiB": 900,
    "forward": "", "bridges": "", "nameservers": "192.0.2.1", "passphrase": "", "restarts": "", "foreignKeepalived": "",
}  # fmt: skip


class Lines:
    """What the user would read."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    async def progress(self, message: str) -> None:
        self.lines.append(message)

    async def warning(self, message: str) -> None:
        self.lines.append(f"warning: {message}")


class _Server(asyncssh.SSHServer):
    def connection_requested(self, dest_host: str, dest_port: int, orig_host: str, orig_port: int) -> bool:
        return True  # so that each may be a jump host


@dataclass
class SimulatedMachine:
    """``phases``: (phase, variables) in the order of their start. ``broken``: phase → its error, or None to hang up."""

    name: str
    facts: dict[str, Any] = field(default_factory=dict)
    phases: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    broken: dict[str, str | None] = field(default_factory=dict)
    nodes: dict[str, Any] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    members: set[str] = field(default_factory=set)
    sudo: bool = True
    reboot_needed: bool = False
    plane: SimulatedMachine | None = None
    slow: asyncio.Event | None = None

    def __post_init__(self) -> None:
        self.key = asyncssh.generate_private_key("ssh-ed25519")
        self.facts = {**FACTS, "hostname": self.name, "machineId": f"id-{self.name}", **self.facts}
        self.port = 0

    @property
    def names(self) -> list[str]:
        """The phases that ran, without the read-only ones."""
        return [name for name, _ in self.phases if name not in ("facts", "node", "token")]

    @property
    def property(self) -> dict[str, Any]:
        """The input ``machine``."""
        public = self.key.export_public_key().decode().strip()
        return {"name": self.name, "address": "127.0.0.1", "hostKey": public, "port": self.port}

    async def start(self, users: asyncssh.SSHKey) -> None:
        """Serve on a free port for the owner of ``users``' private key."""
        self.server = await asyncssh.listen(
            "127.0.0.1",
            0,
            server_host_keys=[self.key],
            authorized_client_keys=asyncssh.import_authorized_keys(users.export_public_key().decode()),
            server_factory=_Server,
            process_factory=self._session,
        )
        self.port = self.server.get_port()

    async def stop(self) -> None:
        """Be switched off."""
        self.server.close()
        await self.server.wait_closed()

    async def _session(self, process: asyncssh.SSHServerProcess[str]) -> None:
        if process.command == "sudo -n systemctl reboot":
            self.phases.append(("reboot", {}))
            self.facts |= {"boot": "second 1"}
            self.reboot_needed = False
            process.exit(0)
            return
        assert process.command == "sudo -n sh -s"
        if not self.sudo:
            process.stderr.write("sudo: a password is required\n")
            process.exit(1)
            return
        script = await process.stdin.read()
        head, _, assignments = script.split("\n# shellcheck shell=sh\n")[0].partition("\n")
        phase = head.removeprefix("# phase: ")
        variables = dict(word.split("=", 1) for word in shlex.split(assignments))
        self.phases.append((phase, variables))
        process.stderr.write(f"{phase} works\n")
        if self.slow is not None and phase == "prepare":
            await self.slow.wait()
        error = self.broken.get(phase, "")
        if error is None:
            process.get_extra_info("connection").abort()
            return
        try:
            answer = {"error": error} if error else getattr(self, f"_{phase}", lambda _: {})(variables)
        except AssertionError as wrong:  # the session would wait for an answer
            answer = {"error": f"{phase}: {wrong}"}
        process.stdout.write(f"{json.dumps(answer)}\n")
        process.exit(1 if "error" in answer else 0)

    def _facts(self, _: dict[str, str]) -> dict[str, Any]:
        return {**self.facts, "time": time.time()}

    def _prepare(self, _: dict[str, str]) -> dict[str, Any]:
        self.facts |= {"ours": "ours", "changedFiles": "", "kubelet": "enabled/active"}
        return {"kubernetesVersion": self.facts["kubeletVersion"], "containerdVersion": "1.7.24"}

    def _upgrade(self, variables: dict[str, str]) -> dict[str, Any]:
        version = f"v{variables['KUBERNETES_VERSION']}"
        if variables["STEP"] == "plane" and self.plane is not self:
            assert self.plane is not None
            assert self.plane.facts["kubeletVersion"] == version, "the first control plane is upgraded before"
        if variables["STEP"] == "node":
            assert self.plane is not None
            assert CORDONED in self.plane.nodes[self.name]["metadata"]["annotations"], "a drained node"
            self.facts |= {"kubeletVersion": version}
        return {"kubernetesVersion": version}

    def _driver(self, variables: dict[str, str]) -> dict[str, Any]:
        if self.reboot_needed:
            return {"reboot": "yes"}
        self.facts |= {"driverVersion": f"{variables['DRIVER_BRANCH']}.95.05", "driverGpus": self.facts["gpus"]}
        return {"driverVersion": self.facts["driverVersion"], "driverGpus": self.facts["gpus"]}

    def _init(self, variables: dict[str, str]) -> dict[str, Any]:
        if variables["JOIN_CONFIG"]:
            assert self.plane is not None
            assert self.nodes is self.plane.nodes, "a cluster to join"
            assert self.name in self.tokens, "a token exists while the machine joins"
        self.facts |= {"joined": CA_HASH, "controlPlane": "yes", "certificatesEnding": ""}
        self.members.add(self.name)
        labels = {"node-role.kubernetes.io/control-plane": ""}
        self.nodes.setdefault(self.name, {"metadata": {"labels": labels}, "spec": {}})
        secret = {"caCertificate": "-----BEGIN CERTIFICATE-----", "adminKubeconfig": KUBECONFIG}
        return {"caHash": CA_HASH, **{key: base64.b64encode(text.encode()).decode() for key, text in secret.items()}}

    def _join(self, variables: dict[str, str]) -> dict[str, Any]:
        assert self.plane is not None
        if variables["JOIN_CONFIG"]:
            assert self.plane.tokens, "a token exists while the machine joins"
        self.facts |= {"joined": variables["CA_HASH"]}
        self.plane.nodes.setdefault(self.name, {"metadata": {"labels": {}}, "spec": {}})
        return {}

    def _token(self, variables: dict[str, str]) -> dict[str, Any]:
        assert self.facts["controlPlane"], "only a control plane makes tokens"
        self.tokens.discard(variables["NODE_NAME"])
        if variables["ACTION"] == "create":
            self.tokens.add(variables["NODE_NAME"])
            if variables["CONTROL_PLANE"] == "yes":
                return {"token": TOKEN, "certificateKey": CERTIFICATE_KEY, "encryption": ENCRYPTION}
            return {"token": TOKEN}
        return {}

    def _node(self, variables: dict[str, str]) -> dict[str, Any]:
        name, action = variables["NODE_NAME"], variables["ACTION"]
        if not self.facts["controlPlane"]:
            assert action in ("remove", "forget"), "only a control plane administers"
            return {"controlPlane": "no"}
        if action == "get":
            return {"node": self.nodes.get(name)}
        if action == "set":
            labels = self.nodes[name]["metadata"]["labels"]
            for word in variables["LABELS"].split():
                if word.endswith("-"):
                    labels.pop(word[:-1])
                else:
                    labels.update([word.split("=")])
            taints = self.nodes[name]["spec"].setdefault("taints", [])
            for word in variables["TAINTS"].split():
                key, effect = word.rsplit(":", 1)
                taints.append({"key": key.split("=")[0], "value": key.split("=")[1], "effect": effect})
            if variables["UNCORDON"] == "yes":
                self.nodes[name]["metadata"]["annotations"].pop(CORDONED)
        if action == "drain":
            self.nodes[name]["metadata"].setdefault("annotations", {})[CORDONED] = "yes"
        if action in ("remove", "forget"):
            self.nodes.pop(name, None)
            if variables["MEMBER"] != "no":
                self.members.discard(name)
        return {}

    def _reset(self, variables: dict[str, str]) -> dict[str, Any]:
        assert variables["OTHERS"] == "no" or self.name not in self.members, "the member has left etcd"
        return {}

    def _restore(self, _: dict[str, str]) -> dict[str, Any]:
        self.facts |= {"joined": "", "controlPlane": "", "ours": ""}
        return {}


class Site:
    """Machines that are on, and the plugin's resources with a key for them."""

    def __init__(self, *machines: SimulatedMachine, **config: Any) -> None:
        self.machines = machines
        self.config = config
        self.log = Lines()

    async def __aenter__(self) -> Site:
        self.user = user = asyncssh.generate_private_key("ssh-ed25519")
        for machine in self.machines:
            machine.plane = first = self.machines[0]
            # One cluster, whichever control plane answers for it.
            machine.nodes, machine.tokens, machine.members = first.nodes, first.tokens, first.members
            await machine.start(user)
        self.private_key = user.export_private_key().decode()
        self.resources = MachineResources()
        self.configure(**self.config)
        return self

    def configure(self, **config: Any) -> None:
        self.resources.configure({"privateKey": self.private_key, **config})

    async def __aexit__(self, *_: object) -> None:
        await self.resources.close()
        for machine in self.machines:
            await machine.stop()


def software() -> dict[str, Any]:
    source = {"url": "https://mirror.example/deb/", "keyFingerprint": "A" * 40}
    return {"kubernetes": {**source, "version": "1.34"}, "nvidia": dict(source), "toolkit": dict(source)}


def control_plane(machine: SimulatedMachine, **more: Any) -> dict[str, Any]:
    return {"machine": machine.property, "software": software(), "kubeadm": [], **more}


def worker(machine: SimulatedMachine, plane: SimulatedMachine, **more: Any) -> dict[str, Any]:
    return {
        "machine": machine.property,
        "software": software(),
        "controlPlane": {"machine": plane.property},
        "endpoint": "https://127.0.0.1:6443",
        "caHash": CA_HASH,
        "labels": {"gpucluster.dev/gpu": "nvidia-t4"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        **more,
    }


def additional(machine: SimulatedMachine, first: SimulatedMachine, **more: Any) -> dict[str, Any]:
    inputs = {key: value for key, value in worker(machine, first).items() if key not in ("labels", "taints")}
    return {**inputs, "virtualAddress": VIRTUAL, **more}


def preflight(*machines: SimulatedMachine, gpus: int = 0) -> dict[str, Any]:
    entries = [
        {"machine": each.property, "role": "worker" if number else "controlPlane", "gpus": gpus if number else 0}
        for number, each in enumerate(machines)
    ]
    for entry in entries:
        if entry["gpus"]:
            entry["driver"] = "580"
    return {"machines": entries, "podCidr": POD_CIDR, "serviceCidr": SERVICE_CIDR, "software": software()}
