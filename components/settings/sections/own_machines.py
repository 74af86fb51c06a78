"""The keys of a stack file whose machines are the user's own. What they share with a cloud's has the same name."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network, summarize_address_range
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings.fields import types as fields
from components.settings.fields.problems import instead
from components.settings.fields.types import Cidr, Flag, PoolName, Section, matching, some, wrong
from components.settings.sections.access import AccessList
from components.settings.sections.cluster import AuthorizedNetworkSetting, limited
from components.settings.sections.pools import SharingSetting
from components.settings.sections.teams import POOL_TEAMS, PoolTeams, Teams
from components.settings.sections.workloads import Workloads
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

    name: PoolName = Field(description="the machine's host name, and the name of its node")
    address: Address = Field(description="IPv4 address by which the machines and you reach it")
    host_key: HostKey = Field(
        description="its public SSH host key (`/etc/ssh/ssh_host_ed25519_key.pub`). A machine with another key is "
        "never logged in to"
    )
    user: StrictStr | None = Field(default=None, description="its user, if not that of `ssh`")
    port: Port | None = Field(default=None, description="the port of its SSH server, if not that of `ssh`")


Machines = Annotated[
    tuple[MachineSetting, ...],
    some("the list is empty", "Write a machine: {name: gpu1, address: 192.168.1.11, hostKey: ssh-ed25519 …}"),
]


class JumpHost(Section):
    """A machine through which the others are reached by SSH."""

    address: Annotated[StrictStr, Field(min_length=1)] = Field(description="its address or name")
    host_key: HostKey = Field(description="its public SSH host key")
    user: StrictStr | None = Field(default=None, description="the user there, if not that of `ssh`")
    port: Port = Field(default=22, description="the port of its SSH server")


class Ssh(Section):
    """How the machines are logged in to: with the key in `gpucluster:sshPrivateKey`, else with your SSH agent."""

    user: Annotated[StrictStr, Field(min_length=1)] = Field(
        default="ubuntu", description="a user who may run `sudo` without a password"
    )
    port: Port = Field(default=22, description="the port of the machines' SSH servers")
    jump_host: JumpHost | None = Field(
        default=None,
        description="a machine through which the others are reached by SSH; port 6443 you forward yourself "
        "([how](own-machines.md#reach-the-api-server))",
    )
    skip_unreachable: tuple[StrictStr, ...] = Field(
        default=(),
        description="names of machines that are gone for good: they are removed from the cluster without being logged "
        "in to, and left as they are",
    )


class PackageSource(Section):
    """A mirror of a signed apt repository."""

    url: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")] = Field(
        description="the repository's address; `{minor}` is the Kubernetes minor version, `{distribution}` such as "
        "`ubuntu2404`"
    )
    key: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")] = Field(
        description="the address of the key that signs it"
    )
    fingerprint: StrictStr = Field(description="the key's fingerprint, 40 hexadecimal digits")

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
    ] = Field(description="the registry whose images it has, such as `docker.io`; `'*'`: all that no other entry names")
    url: Annotated[
        StrictStr,
        matching(
            _MIRROR_URL,
            "is not an https address without a password",
            "Images have no signature of their own: serve the mirror with TLS, and name its CA in 'ca'",
        ),
    ] = Field(
        description="its https address. A path after `/v2/` is part of each image's address there, such as "
        "`https://harbor.example.com/v2/docker-hub`"
    )
    ca: StrictStr | None = Field(
        default=None,
        description="PEM certificates of the CA that signed its own, if the machines do not trust it already",
    )
    only: Flag = Field(
        default=False,
        description="images come from it or not at all. Default: the registry itself is asked for what the mirror does "
        "not have",
    )

    @field_validator("ca")
    @classmethod
    def _certificates(cls, value: str | None) -> str | None:
        if value is not None and not _CERTIFICATES.fullmatch(value.strip()):
            raise wrong("is not one or more PEM certificates", "Write the CA's certificate, never a private key")
        return value


class Packages(Section):
    """Where the machines get packages and images, for networks without the Internet."""

    kubernetes: PackageSource | None = Field(default=None, description="of Kubernetes. Default: pkgs.k8s.io")
    driver: PackageSource | None = Field(default=None, description="of NVIDIA's driver. Default: NVIDIA's own")
    toolkit: PackageSource | None = Field(
        default=None, description="of NVIDIA's container toolkit. Default: NVIDIA's own"
    )
    images: tuple[ImageMirror, ...] = Field(
        default=(),
        description="mirrors of registries, for containerd on all machines. They apply to running machines without a "
        "restart",
    )
    proxy: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")] | None = Field(
        default=None,
        description="HTTP proxy of apt and of the container runtime. All users of a machine can read it there, with a "
        "password in it",
    )
    no_proxy: tuple[Annotated[StrictStr, Field(pattern=r"^[A-Za-z0-9.:/*-]+$")], ...] = Field(
        default=(),
        description="hosts, domains and ranges that are reached without the proxy, such as a mirror in the machines' "
        "network. apt takes hosts only",
    )

    @field_validator("images")
    @classmethod
    def _one_each(cls, value: tuple[ImageMirror, ...]) -> tuple[ImageMirror, ...]:
        registries = [mirror.registry for mirror in value]
        if twice := {each for each in registries if registries.count(each) > 1}:
            raise wrong(f"two mirrors of {', '.join(sorted(twice))}", "Write one mirror for each registry")
        return value


class OwnKubernetes(Section):
    """Version of Kubernetes."""

    version: StrictStr = Field(
        default=next(iter(MINORS)),
        description="minor version, such as `'1.36'`: its newest patch when a machine joins; or a patch, such as "
        "`'1.36.4'`. Writing a newer patch or the next minor version upgrades the control plane, then one machine at a "
        "time",
    )

    @field_validator("version")
    @classmethod
    def _version(cls, value: str) -> str:
        if not _PATCH.fullmatch(value) or ".".join(value.split(".")[:2]) not in MINORS:
            raise wrong(f"'{value}' is not a version that is installed on own machines", instead(value, tuple(MINORS)))
        return value


class OwnNetwork(Section):
    """The pods' network. The machines' own network is there already."""

    pod_cidr: Cidr = Field(default="10.244.0.0/16", description="address range of the pods, /24 for each machine")
    service_cidr: Cidr = Field(default="10.96.0.0/16", description="address range of the services")
    authorized_networks: Annotated[tuple[AuthorizedNetworkSetting, ...], AfterValidator(limited)] = Field(
        default=(),
        description="ranges that reach the API server (6443) where ufw is on, each `{name, cidr}`: of this computer, "
        "users, or the jump host. Default: the machines alone",
    )
    plugin: Literal["flannel", "none"] = Field(
        default="flannel",
        description="what carries the pods' traffic between the machines (VXLAN). `none`: you install another one, and "
        "until then nothing runs",
    )
    load_balancer_range: StrictStr | None = Field(
        default=None,
        description="addresses for Services of type LoadBalancer, such as `192.168.1.240-192.168.1.250`: of the "
        "machines' network, used by nothing else. It installs MetalLB, whose speakers answer for them on the workers "
        "(ARP). Default: such Services get no address",
    )

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
        for field, key in (("pod_cidr", "podCidr"), ("service_cidr", "serviceCidr")):
            other = info.data.get(field)
            if other and any(part.overlaps(IPv4Network(other)) for part in parts):
                raise wrong(
                    f"{value} overlaps with {key}: {other}",
                    f"Choose addresses of the machines' network, or another {key} if it holds that network",
                )
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

    deletion_protection: Flag = Field(default=False, description="the cluster cannot be deleted")
    admin_kubeconfig: Flag = Field(
        default=False,
        description="the output `kubeconfig` (secret) is the administrator's. Default: it is that of a user who may "
        "edit workloads in `default` and the namespaces of `access`, `teams` and `services`, and open the tools",
    )


class OwnAdminPool(Section):
    """The control plane. System pods run on it too."""

    machines: Machines = Field(description="one machine, or three: the cluster then goes on when one of them is lost")
    virtual_address: Annotated[Address | None, Field(validate_default=True)] = Field(
        default=None,
        description="a free IPv4 address of the control planes' network, at which the API server is reached. Required "
        "for three. It cannot change later; with it from the beginning, one control plane can become three",
    )

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

    name: PoolName = Field(description="prefix of the pool's name, which ends in the GPUs per machine")
    gpu: GpuName = Field(description="GPU type, such as `nvidia-t4` or `nvidia-rtx-4090`")
    gpus_per_node: Annotated[StrictInt, Field(ge=1, le=16)] = Field(default=1, description="GPUs of each machine")
    machines: Machines = Field(description="the pool's machines")
    drivers: Literal["managed", "none"] = Field(
        default="managed",
        description="`managed`: NVIDIA's driver and container toolkit are installed. `none`: the machines have both",
    )
    driver_version: StrictStr = Field(
        default=next(iter(DRIVER_BRANCHES)),
        description="branch of NVIDIA's driver, such as `'595'`. Changing it drains one machine at a time. Users "
        "report that NVIDIA's repositories for Debian 13 and Ubuntu 26.04 have none before 595: preflight warns, and "
        "refuses what the machine's package lists lack",
    )
    kernel_modules: Literal["open", "proprietary"] | None = Field(
        default=None,
        description="kernel modules of the driver. Default: `proprietary` for GPUs older than Turing, which have no "
        "others (with driver 580), else `open`, which Grace Hopper, Blackwell and newer require. It cannot change on a "
        "machine in the cluster",
    )
    time_sharing: SharingSetting | None = Field(default=None, description="lets several pods share a GPU")
    hourly_usd: fields.Usd | None = Field(
        default=None,
        description="what one of its machines costs per hour, in US dollars, for budgets and `gpu fit`. Default: "
        "unknown",
    )
    teams: PoolTeams = Field(default=(), description=POOL_TEAMS)
    labels: fields.GpuNodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: fields.Taints = Field(default=(), description="additional node taints, each `{key, value, effect}`")

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

    name: PoolName = Field(description="the pool's name")
    machines: Machines = Field(description="the pool's machines")
    hourly_usd: fields.Usd | None = Field(
        default=None,
        description="what one of its machines costs per hour, in US dollars, for budgets and `gpu fit`. Default: "
        "unknown",
    )
    labels: fields.NodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: fields.Taints = Field(default=(), description="node taints, each `{key, value, effect}`")


class OwnBudget(Section):
    """A limit on what the machines cost by `hourlyUsd`."""

    max_hourly_usd: fields.Ceiling | None = Field(
        default=None, description="refuse a stack whose machines cost more per hour"
    )


class OwnStackFile(Section):
    """All keys below ``gpucluster:`` of a stack on own machines."""

    cloud: StrictStr = Field(description="`kubeadm`: own machines become a cluster by kubeadm")
    cluster_name: PoolName | None = Field(default=None, description="the cluster's name. Default: `gpu-<stack>`")
    kubernetes: OwnKubernetes = Field(default=OwnKubernetes(), description="version of Kubernetes")
    network: OwnNetwork = Field(default=OwnNetwork(), description="address ranges of pods and services")
    ssh: Ssh = Field(default=Ssh(), description="how the machines are logged in to")
    packages: Packages = Field(default=Packages(), description="mirrors of packages and images, and proxy")
    security: OwnSecurity = Field(default=OwnSecurity(), description="deletion protection, administrator's kubeconfig")
    admin_pool: OwnAdminPool = Field(description="the control plane")
    gpu_pools: Annotated[
        tuple[OwnGpuPool, ...],
        some("there is no GPU pool", "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, machines: […]}]"),
    ] = Field(default=(), validate_default=True, description="GPU pools, at least one")
    cpu_pools: tuple[OwnCpuPool, ...] = Field(default=(), description="CPU pools, in addition to the control plane")
    workloads: Workloads = Field(default=Workloads(), description="what jobs need besides GPUs")
    budget: OwnBudget = Field(default=OwnBudget(), description="limit on the stack's cost per hour")
    access: AccessList = Field(default=(), description="users and groups, and their roles in the cluster")
    teams: Teams = Field(default=(), description="namespaces with a quota of GPUs")

    def all_machines(self) -> Iterator[tuple[str, MachineSetting]]:
        """Every machine with its key path."""
        pools = [("adminPool", self.admin_pool.machines)]
        pools += [(f"gpuPools[{index}]", pool.machines) for index, pool in enumerate(self.gpu_pools)]
        pools += [(f"cpuPools[{index}]", pool.machines) for index, pool in enumerate(self.cpu_pools)]
        for path, machines in pools:
            yield from ((f"{path}.machines[{index}]", machine) for index, machine in enumerate(machines))
