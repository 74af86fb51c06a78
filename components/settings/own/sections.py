"""The keys of a stack file whose machines are the user's own. What they share with a cloud's has the same name."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network, summarize_address_range
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictFloat, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings import fields
from components.settings.access import AccessList
from components.settings.cluster import AuthorizedNetworkSetting
from components.settings.fields import Cidr, Flag, PoolName, Section, matching, some, wrong
from components.settings.pools import SharingSetting
from components.settings.problems import instead
from components.settings.teams import Teams
from components.settings.workloads import Workloads
from facts.catalog.kubeadm.packages import DRIVER_BRANCHES, ENDED_DRIVER_BRANCHES, MINORS, PROPRIETARY_BRANCHES

_GPU: Final = re.compile(r"nvidia-[a-z0-9]+(-[a-z0-9]+)*")
_FINGERPRINT: Final = re.compile(r"[0-9A-F]{40}")
_REGISTRY: Final = re.compile(r"\*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?")
_MIRROR_URL: Final = re.compile(r"https://[^\s\"'@]+")
_CERTIFICATES: Final = re.compile(
    r"(-----BEGIN CERTIFICATE-----\s[A-Za-z0-9+/=\s]+-----END CERTIFICATE-----\s*)+",
)
_PATCH: Final = re.compile(r"1\.[0-9]+(\.[0-9]+)?")
_KEY_TYPES: Final = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")


def _address(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        raise wrong(
            f"'{text}' is not an IPv4 address", "Write the address by which the machines reach each other"
        ) from None


def networks(addresses: str) -> list[IPv4Network]:
    """What the range ``addresses``, first-last, consists of. Raises ValueError."""
    first, _, last = addresses.partition("-")
    return list(summarize_address_range(IPv4Address(first), IPv4Address(last)))


def _host_key(text: str) -> str:
    """A public host key as ``ssh-keyscan`` and ``/etc/ssh/ssh_host_*_key.pub`` write it, without a host or comment."""
    words = text.split()
    type, data = (words[0], words[1]) if len(words) > 1 else ("", "")
    try:
        blob = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        blob = b""
    if type not in _KEY_TYPES or type.encode() not in blob[: len(type) + 4]:
        raise wrong(
            "is not the public host key of an SSH server",
            "Write what is in /etc/ssh/ssh_host_ed25519_key.pub of the machine, read at its console, "
            "such as 'ssh-ed25519 AAAA…'",
        )
    return f"{type} {data}"


Address = Annotated[StrictStr, AfterValidator(_address)]
HostKey = Annotated[StrictStr, AfterValidator(_host_key)]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]


class MachineSetting(Section):
    """A machine with Ubuntu or Debian, an SSH server and nothing else that matters to anybody."""

    name: PoolName
    address: Address
    host_key: HostKey
    user: StrictStr | None = None
    port: Port | None = None


Machines = Annotated[
    tuple[MachineSetting, ...],
    some("the list is empty", "Write a machine: {name: gpu1, address: 192.168.1.11, hostKey: ssh-ed25519 …}"),
]


class JumpHost(Section):
    """A machine through which the others are reached by SSH."""

    address: Annotated[StrictStr, Field(min_length=1)]
    host_key: HostKey
    user: StrictStr | None = None
    port: Port = 22


class Ssh(Section):
    """How the machines are logged in to: with the key in `gpucluster:sshPrivateKey`, else with your SSH agent."""

    user: Annotated[StrictStr, Field(min_length=1)] = "ubuntu"
    port: Port = 22
    jump_host: JumpHost | None = None
    skip_unreachable: tuple[StrictStr, ...] = ()


class PackageSource(Section):
    """A mirror of a signed apt repository."""

    url: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")]
    key: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")]
    fingerprint: StrictStr

    @field_validator("fingerprint")
    @classmethod
    def _whole(cls, value: str) -> str:
        plain = value.replace(" ", "").upper()
        if not _FINGERPRINT.fullmatch(plain):
            raise wrong(
                f"'{value}' is not a fingerprint of 40 hexadecimal digits",
                "Write the one that `gpg --show-keys` prints for the key",
            )
        return plain


class ImageMirror(Section):
    """A mirror of a registry of container images, which needs no login."""

    registry: Annotated[
        StrictStr, matching(_REGISTRY, "is not the host of a registry", "Write for example docker.io, or '*'")
    ]
    url: Annotated[
        StrictStr,
        matching(
            _MIRROR_URL,
            "is not an https address without a password",
            "Images have no signature of their own: serve the mirror with TLS, and name its CA in 'ca'",
        ),
    ]
    ca: StrictStr | None = None
    only: Flag = False

    @field_validator("ca")
    @classmethod
    def _certificates(cls, value: str | None) -> str | None:
        if value is not None and not _CERTIFICATES.fullmatch(value.strip()):
            raise wrong("is not one or more PEM certificates", "Write the CA's certificate, never a private key")
        return value


class Packages(Section):
    """Where the machines get packages and images, for networks without the Internet."""

    kubernetes: PackageSource | None = None
    driver: PackageSource | None = None
    toolkit: PackageSource | None = None
    images: tuple[ImageMirror, ...] = ()
    proxy: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")] | None = None

    @field_validator("images")
    @classmethod
    def _one_each(cls, value: tuple[ImageMirror, ...]) -> tuple[ImageMirror, ...]:
        registries = [mirror.registry for mirror in value]
        if twice := {each for each in registries if registries.count(each) > 1}:
            raise wrong(f"two mirrors of {', '.join(sorted(twice))}", "Write one mirror for each registry")
        return value


class OwnKubernetes(Section):
    """Version of Kubernetes."""

    version: StrictStr = next(iter(MINORS))

    @field_validator("version")
    @classmethod
    def _version(cls, value: str) -> str:
        if not _PATCH.fullmatch(value) or ".".join(value.split(".")[:2]) not in MINORS:
            raise wrong(f"'{value}' is not a version that is installed on own machines", instead(value, tuple(MINORS)))
        return value


class OwnNetwork(Section):
    """The pods' network. The machines' own network is there already."""

    pod_cidr: Cidr = "10.244.0.0/16"
    service_cidr: Cidr = "10.96.0.0/16"
    authorized_networks: tuple[AuthorizedNetworkSetting, ...] = ()
    plugin: Literal["flannel", "none"] = "flannel"
    load_balancer_range: StrictStr | None = None

    @field_validator("load_balancer_range")
    @classmethod
    def _addresses(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None:
            return None
        try:
            parts = networks(value)
        except ValueError:
            text = f"'{value}' is not a range of IPv4 addresses"
            raise wrong(text, "Write for example 192.168.1.240-192.168.1.250") from None
        for key in ("pod_cidr", "service_cidr"):
            other = info.data.get(key)
            if other and any(part.overlaps(IPv4Network(other)) for part in parts):
                raise wrong(f"{value} overlaps with {other}", "Choose addresses of the machines' network")
        return value

    @field_validator("service_cidr")
    @classmethod
    def _apart(cls, value: str, info: ValidationInfo) -> str:
        pods = info.data.get("pod_cidr")
        if pods and IPv4Network(value).overlaps(IPv4Network(pods)):
            raise wrong(f"{value} overlaps with podCidr ({pods})", "Choose ranges that do not overlap")
        return value


class OwnSecurity(Section):
    """Deletion protection, and who gets the administrator's kubeconfig."""

    deletion_protection: Flag = False
    admin_kubeconfig: Flag = False


class OwnAdminPool(Section):
    """The control plane. System pods run on it too."""

    machines: Machines
    virtual_address: Annotated[Address | None, Field(validate_default=True)] = None

    @field_validator("machines")
    @classmethod
    def _one_or_three(cls, value: tuple[MachineSetting, ...]) -> tuple[MachineSetting, ...]:
        if len(value) not in (1, 3):
            raise wrong(
                f"{len(value)} control planes: etcd works while more than half of them do, so two survive the loss of"
                " none, and more than three are not supported",
                f"Write {value[0].name} alone, or three machines",
            )
        return value

    @field_validator("virtual_address")
    @classmethod
    def _of_three(cls, value: str | None, info: ValidationInfo) -> str | None:
        machines: tuple[MachineSetting, ...] = info.data.get("machines") or ()
        if value is None and len(machines) > 1:
            raise wrong(
                "three control planes have no virtualAddress",
                "Write a free address of their network, at which the API server stays when one of them is lost",
            )
        return value


GpuName = Annotated[
    StrictStr, matching(_GPU, "is not a name of an NVIDIA GPU", "Write for example nvidia-t4 or nvidia-rtx-4090")
]


class OwnGpuPool(Section):
    """Machines with the same GPUs. They are always there: nothing scales."""

    name: PoolName
    gpu: GpuName
    gpus_per_node: Annotated[StrictInt, Field(ge=1, le=16)] = 1
    machines: Machines
    drivers: Literal["managed", "none"] = "managed"
    driver_version: StrictStr = next(iter(DRIVER_BRANCHES))
    kernel_modules: Literal["open", "proprietary"] | None = None
    time_sharing: SharingSetting | None = None
    hourly_usd: fields.Usd | None = None
    labels: fields.GpuNodeLabels = Field(default_factory=dict)
    taints: fields.Taints = ()

    @field_validator("driver_version")
    @classmethod
    def _branch(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("drivers") == "none" and value != next(iter(DRIVER_BRANCHES)):
            raise wrong("with drivers: none no driver is installed", "Leave it out")
        if value not in DRIVER_BRANCHES:
            ended = ENDED_DRIVER_BRANCHES.get(value)
            why = f" since {ended}" if ended else ""
            raise wrong(
                f"'{value}' is not a driver branch that NVIDIA supports{why}", instead(value, tuple(DRIVER_BRANCHES))
            )
        return value

    @field_validator("kernel_modules")
    @classmethod
    def _modules(cls, value: str | None, info: ValidationInfo) -> str | None:
        branch = info.data.get("driver_version")
        if value and info.data.get("drivers") == "none":
            raise wrong("with drivers: none no driver is installed", "Leave it out")
        if value == "proprietary" and branch and branch not in PROPRIETARY_BRANCHES:
            raise wrong(
                f"the driver {branch} has no proprietary kernel modules",
                f"Leave it out, or write driverVersion: '{PROPRIETARY_BRANCHES[0]}'",
            )
        return value


class OwnCpuPool(Section):
    """Machines without GPUs, in addition to the control plane."""

    name: PoolName
    machines: Machines
    hourly_usd: fields.Usd | None = None
    labels: fields.NodeLabels = Field(default_factory=dict)
    taints: fields.Taints = ()


class OwnBudget(Section):
    """A limit on what the machines cost by `hourlyUsd`."""

    max_hourly_usd: Annotated[StrictFloat | StrictInt, Field(gt=0)] | None = None


class OwnStackFile(Section):
    """All keys below ``gpucluster:`` of a stack on own machines."""

    cloud: StrictStr
    cluster_name: PoolName | None = None
    kubernetes: OwnKubernetes = OwnKubernetes()
    network: OwnNetwork = OwnNetwork()
    ssh: Ssh = Ssh()
    packages: Packages = Packages()
    security: OwnSecurity = OwnSecurity()
    admin_pool: OwnAdminPool
    gpu_pools: Annotated[
        tuple[OwnGpuPool, ...],
        some("there is no GPU pool", "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, machines: […]}]"),
    ] = Field(default=(), validate_default=True)
    cpu_pools: tuple[OwnCpuPool, ...] = ()
    workloads: Workloads = Workloads()
    budget: OwnBudget = OwnBudget()
    access: AccessList = ()
    teams: Teams = ()

    def all_machines(self) -> Iterator[tuple[str, MachineSetting]]:
        """Every machine with its key path."""
        pools = [("adminPool", self.admin_pool.machines)]
        pools += [(f"gpuPools[{index}]", pool.machines) for index, pool in enumerate(self.gpu_pools)]
        pools += [(f"cpuPools[{index}]", pool.machines) for index, pool in enumerate(self.cpu_pools)]
        for path, machines in pools:
            yield from ((f"{path}.machines[{index}]", machine) for index, machine in enumerate(machines))
