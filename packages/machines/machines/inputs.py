"""What the engine's inputs must be. All problems of a resource at once; values that are not known yet are left out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import Final

import asyncssh

from machines.errors import Problem
from machines.gpus import OPEN, PROPRIETARY
from machines.versions import is_newer
from machines.wire import Properties, UnknownValue

PREFLIGHT: Final = "gpucluster-machines:index:Preflight"
CONTROL_PLANE: Final = "gpucluster-machines:index:ControlPlane"
ADDITIONAL_PLANE: Final = "gpucluster-machines:index:AdditionalControlPlane"
PLANES: Final = (CONTROL_PLANE, ADDITIONAL_PLANE)
WORKER: Final = "gpucluster-machines:index:Worker"
EXISTING_CLUSTER: Final = "gpucluster-machines:index:ExistingCluster"
NODES: Final = "gpucluster-machines:index:Nodes"
EXISTING: Final = (EXISTING_CLUSTER, NODES)
"""Those of a cluster that somebody else made; the others are of machines."""

_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_ADDRESS: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")
_USER: Final = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
_VERSION: Final = re.compile(r"1\.[0-9]{2}(\.[0-9]{1,3})?")
_FINGERPRINT: Final = re.compile(r"[0-9A-F]{40}")
_LABEL: Final = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_URL: Final = re.compile(r"https?://[^\s\"']+")
_MIRROR: Final = (
    ("registry", re.compile(r"\*|[a-z0-9.-]*[a-z0-9](:[0-9]{1,5})?"), "must be a registry such as docker.io, or '*'"),
    ("url", re.compile(r"https://[^\s\"'@]+"), "must be an https address without a password"),
)
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")

_REQUIRED: Final = {
    PREFLIGHT: ("machines", "podCidr", "serviceCidr"),
    CONTROL_PLANE: ("machine", "software", "kubeadm"),
    ADDITIONAL_PLANE: ("machine", "software", "controlPlane", "endpoint", "caHash", "virtualAddress"),
    WORKER: ("machine", "software", "controlPlane", "endpoint", "caHash"),
    EXISTING_CLUSTER: ("rights", "pools"),
    NODES: ("pool", "labels"),
}
_OPTIONAL: Final = {
    PREFLIGHT: ("software", "disableSwap", "loadBalancerRange", "virtualAddress"),
    CONTROL_PLANE: (
        "schedulable", "labels", "taints", "firewall", "files", "encryptSecrets", "nvidia", "gpus", "disableSwap",
        "user", "virtualAddress",
    ),
    ADDITIONAL_PLANE: ("schedulable", "labels", "taints", "firewall", "files", "encryptSecrets", "disableSwap"),
    WORKER: ("kubeadm", "labels", "taints", "firewall", "nvidia", "gpus", "disableSwap"),
    EXISTING_CLUSTER: (),
    NODES: ("taints", "machines", "selector", "gpus", "count"),
}  # fmt: skip


def configuration_problems(config: Properties) -> list[Problem]:
    """Of the provider's settings."""
    problems: list[Problem] = []
    user = config.get("user")
    if isinstance(user, str) and not _USER.fullmatch(user):
        problems.append(Problem("user", f"{user!r} is not a user's name"))
    problems += _port(config, "port")
    key = config.get("privateKey")
    if isinstance(key, str) and key:
        try:
            asyncssh.import_private_key(key)
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
            locked = isinstance(error, asyncssh.KeyEncryptionError) or "assphrase" in str(error)
            text = "has a passphrase; use the SSH agent, or a key without one"
            problems.append(Problem("privateKey", text if locked else "is no private key in OpenSSH or PEM format"))
    jump = config.get("jumpHost")
    if jump is not None and not isinstance(jump, (dict, UnknownValue)):
        problems.append(Problem("jumpHost", "must be a mapping with address and hostKey"))
    elif isinstance(jump, dict):
        problems += _place(jump, "jumpHost")
    planes = config.get("controlPlanes")
    if planes is not None and not isinstance(planes, (list, UnknownValue)):
        problems.append(Problem("controlPlanes", "must be a list of machines"))
    for number, plane in enumerate(planes if isinstance(planes, list) else ()):
        if isinstance(plane, dict):
            problems += _place(plane, f"controlPlanes[{number}]")
    names = config.get("skipUnreachable")
    if names is not None and not isinstance(names, (list, UnknownValue)):
        problems.append(Problem("skipUnreachable", "must be a list of machines' names"))
    return problems


def problems_of(resource_type: str, inputs: Properties) -> list[Problem]:
    """Of one resource."""
    if resource_type not in _REQUIRED:
        kinds = ", ".join(sorted(kind.rpartition(":")[2] for kind in _REQUIRED))
        return [Problem("", f"{resource_type} is no resource of gpucluster-machines; it has {kinds}")]
    required, allowed = _REQUIRED[resource_type], {*_REQUIRED[resource_type], *_OPTIONAL[resource_type]}
    problems = [Problem(key, "is missing") for key in required if inputs.get(key) is None]
    problems += [Problem(key, f"is no input of {resource_type}") for key in inputs if key not in allowed]
    problems += () if resource_type in EXISTING else _machines(inputs)
    problems += _software(inputs)
    problems += _node(inputs)
    for key in ("podCidr", "serviceCidr"):
        if isinstance(inputs.get(key), str):
            try:
                ipaddress.ip_network(inputs[key])
            except ValueError:
                problems.append(Problem(key, f"{inputs[key]!r} is not a range such as 10.244.0.0/16"))
    problems += _virtual_address(inputs)
    for number, document in enumerate(inputs.get("kubeadm") or []):
        if isinstance(document, dict) and not ({"apiVersion", "kind"} <= {*document}):
            problems.append(Problem(f"kubeadm[{number}]", "has no apiVersion and kind"))
    for number, file in enumerate(inputs.get("files") or []):
        path = file.get("path") if isinstance(file, dict) else None
        if isinstance(path, str) and not re.fullmatch(r"/etc/kubernetes/gpucluster/[A-Za-z0-9._-]+", path):
            problems.append(Problem(f"files[{number}].path", "must be a file in /etc/kubernetes/gpucluster"))
    return problems


def _virtual_address(inputs: Properties) -> Iterator[Problem]:
    address, machine = inputs.get("virtualAddress"), inputs.get("machine")
    if address is None or isinstance(address, UnknownValue):
        return
    try:
        ipaddress.IPv4Address(address)
    except ValueError:
        yield Problem("virtualAddress", f"{address!r} is not an IPv4 address")
    if isinstance(machine, dict) and address == machine.get("address"):
        yield Problem("virtualAddress", f"{address} is the machine's own address; choose a free one")


def _machines(inputs: Properties) -> Iterator[Problem]:
    places = {"machine": inputs.get("machine")}
    plane = inputs.get("controlPlane")
    if isinstance(plane, dict):
        places["controlPlane.machine"] = plane.get("machine")
    for number, entry in enumerate(inputs.get("machines") or []):
        if isinstance(entry, dict):
            places[f"machines[{number}].machine"] = entry.get("machine")
            if entry.get("role") not in ("controlPlane", "worker"):
                yield Problem(f"machines[{number}].role", "must be controlPlane or worker")
    for where, machine in places.items():
        if isinstance(machine, dict):
            name = machine.get("name")
            if not isinstance(name, UnknownValue) and not (isinstance(name, str) and _NAME.fullmatch(name)):
                yield Problem(f"{where}.name", "must be lower case letters, digits and '-': it is the node's name")
            yield from _place(machine, where)


def _place(machine: Properties, where: str) -> Iterator[Problem]:
    address, key = machine.get("address"), machine.get("hostKey")
    if not isinstance(address, UnknownValue) and not (isinstance(address, str) and _ADDRESS.fullmatch(address)):
        yield Problem(f"{where}.address", "must be an IPv4 address or a name")
    if not isinstance(key, UnknownValue):
        try:
            asyncssh.import_public_key(str(key))
        except asyncssh.KeyImportError:
            yield Problem(
                f"{where}.hostKey",
                "must be the line of the machine's /etc/ssh/ssh_host_ed25519_key.pub, such as ssh-ed25519 AAAA…;"
                " read it at the machine, not over the network that you want to trust",
            )
    yield from _port(machine, f"{where}.port")


def _port(values: Properties, where: str) -> Iterator[Problem]:
    port = values.get("port")
    if not (port is None or isinstance(port, UnknownValue) or (isinstance(port, int) and 0 < port < 65536)):
        yield Problem(where, f"{port!r} is not a port")


def _software(inputs: Properties) -> Iterator[Problem]:
    software = inputs.get("software")
    if not isinstance(software, dict):
        return
    kubernetes = software.get("kubernetes")
    version = kubernetes.get("version") if isinstance(kubernetes, dict) else None
    plane = inputs["controlPlane"].get("kubernetesVersion") if isinstance(inputs.get("controlPlane"), dict) else None
    if not isinstance(version, UnknownValue) and not (isinstance(version, str) and _VERSION.fullmatch(version)):
        yield Problem(
            "software.kubernetes.version", 'must be a minor version such as "1.34" or a patch such as "1.34.4"'
        )
    elif isinstance(version, str) and isinstance(plane, str) and is_newer(version, plane):
        text = f"{version} is newer than the control plane's {plane.removeprefix('v')}: upgrade that before, or with it"
        yield Problem("software.kubernetes.version", f"{text} (`pulumi up` without --target)")
    names = ("kubernetes", *(("nvidia", "toolkit") if inputs.get("nvidia") else ()))
    for name in names:
        source = software.get(name)
        if not isinstance(source, dict) or not source.get("url"):
            yield Problem(f"software.{name}.url", "is missing")
            continue
        yield from _signed(f"software.{name}", source)
        for release, key in (source.get("keys") or {}).items():
            yield from _signed(f"software.{name}.keys.{release}", key)
    for number, mirror in enumerate(software.get("images") or []):
        for key, pattern, text in _MIRROR:
            if isinstance(mirror, dict) and not pattern.fullmatch(str(mirror.get(key))):
                yield Problem(f"software.images[{number}].{key}", text)
    proxy = software.get("proxy")
    if isinstance(proxy, str) and proxy and not _URL.fullmatch(proxy):
        yield Problem("software.proxy", f"{proxy!r} is no http(s) address")


def _signed(where: str, source: Properties) -> Iterator[Problem]:
    for key in ("url", "keyUrl"):
        if isinstance(source.get(key), str) and not _URL.fullmatch(source[key]):
            yield Problem(f"{where}.{key}", f"{source[key]!r} is no http(s) address")
    fingerprint = source.get("keyFingerprint")
    if not source.get("key") and not fingerprint:
        yield Problem(f"{where}.keyFingerprint", "is missing: packages are accepted by signature only")
    if isinstance(fingerprint, str) and not _FINGERPRINT.fullmatch(fingerprint.replace(" ", "").upper()):
        yield Problem(f"{where}.keyFingerprint", "must be 40 hexadecimal digits")


def _node(inputs: Properties) -> Iterator[Problem]:
    for key, value in (inputs.get("labels") or {}).items():
        if not _LABEL.fullmatch(key) or (isinstance(value, str) and not _LABEL_VALUE.fullmatch(value)):
            yield Problem(f"labels.{key}", "is not a label that Kubernetes allows")
    for number, taint in enumerate(inputs.get("taints") or []):
        if isinstance(taint, dict):
            value = taint.get("value") or ""
            if not _LABEL.fullmatch(str(taint.get("key"))) or not (
                isinstance(value, UnknownValue) or _LABEL_VALUE.fullmatch(str(value))
            ):
                yield Problem(f"taints[{number}]", "is not a taint that Kubernetes allows")
            if taint.get("effect") not in _EFFECTS:
                yield Problem(f"taints[{number}].effect", f"must be one of {', '.join(_EFFECTS)}")
    nvidia = inputs.get("nvidia")
    if isinstance(nvidia, dict) and not re.fullmatch(r"[0-9]{3}", str(nvidia.get("driver"))):
        yield Problem("nvidia.driver", 'must be a branch of the driver such as "580"')
    if isinstance(nvidia, dict) and nvidia.get("kernelModules") not in (None, OPEN, PROPRIETARY):
        yield Problem("nvidia.kernelModules", f"must be {OPEN} or {PROPRIETARY}")
    firewall = inputs.get("firewall")
    if isinstance(firewall, dict):
        for key in ("machines", "controlPlanes", "apiClients"):
            for address in firewall.get(key) or []:
                if isinstance(address, str) and not re.fullmatch(r"[A-Za-z0-9./:-]+", address):
                    yield Problem(f"firewall.{key}", f"{address!r} is no address")
        for port in firewall.get("ports") or []:
            if not re.fullmatch(r"[0-9]{1,5}/(tcp|udp)", str(port)):
                yield Problem("firewall.ports", f"{port!r} is no port such as 7946/tcp")
