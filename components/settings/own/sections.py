"""The keys of a stack file whose machines are the user's own. What they share with a cloud's has the same name."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictFloat, StrictInt, StrictStr, ValidationInfo, field_validator

from components.settings.access import AccessList
from components.settings.fields import (
    Cidr,
    Flag,
    GpuNodeLabels,
    NodeLabels,
    PoolName,
    Section,
    Taints,
    wrong,
)
from components.settings.pools import TimeSharingSetting
from components.settings.problems import instead
from components.settings.teams import Teams
from components.settings.workloads import Workloads
from facts.catalog.kubeadm.packages import DRIVER_BRANCHES, MINORS

_GPU: Final = re.compile(r"nvidia-[a-z0-9]+(-[a-z0-9]+)*")
_FINGERPRINT: Final = re.compile(r"[0-9A-F]{40}")
_PATCH: Final = re.compile(r"1\.[0-9]+(\.[0-9]+)?")
_KEY_TYPES: Final = ("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa")


def _address(text: str) -> str:
    try:
        return str(IPv4Address(text))
    except AddressValueError:
        raise wrong(
            f"'{text}' is not an IPv4 address", "Write the address by which the machines reach each other"
        ) from None


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


def _some(machines: tuple[MachineSetting, ...]) -> tuple[MachineSetting, ...]:
    if not machines:
        raise wrong("the list is empty", "Write a machine: {name: gpu1, address: 192.168.1.11, hostKey: ssh-ed25519 …}")
    return machines


Machines = Annotated[tuple[MachineSetting, ...], AfterValidator(_some)]


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
    jump_host: JumpHost | None = Field(default=None, description="a machine through which the others are reached")
    skip_unreachable: tuple[StrictStr, ...] = Field(
        default=(),
        description="names of machines that are gone for good: they are removed from the cluster without being "
        "logged in to, and left as they are",
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


class Packages(Section):
    """Where the machines get packages, for networks without the Internet."""

    kubernetes: PackageSource | None = Field(default=None, description="of Kubernetes. Default: pkgs.k8s.io")
    driver: PackageSource | None = Field(default=None, description="of NVIDIA's driver. Default: NVIDIA's own")
    toolkit: PackageSource | None = Field(
        default=None, description="of NVIDIA's container toolkit. Default: NVIDIA's own"
    )
    proxy: Annotated[StrictStr, Field(pattern=r"^https?://[^\s]+$")] | None = Field(
        default=None, description="HTTP proxy of apt and of the container runtime"
    )


class OwnKubernetes(Section):
    """Version of Kubernetes."""

    version: StrictStr = Field(
        default=MINORS[0],
        description="minor version, such as `'1.34'`: its newest patch when a machine joins; or a patch, such as "
        "`'1.34.4'`. Writing a newer patch or the next minor version upgrades the control plane, then one machine at a "
        "time",
    )

    @field_validator("version")
    @classmethod
    def _version(cls, value: str) -> str:
        if not _PATCH.fullmatch(value) or ".".join(value.split(".")[:2]) not in MINORS:
            raise wrong(f"'{value}' is not a version that is installed on own machines", instead(value, MINORS))
        return value


class OwnNetwork(Section):
    """The pods' network. The machines' own network is there already."""

    pod_cidr: Cidr = Field(default="10.244.0.0/16", description="address range of the pods, /24 for each machine")
    service_cidr: Cidr = Field(default="10.96.0.0/16", description="address range of the services")
    plugin: Literal["flannel", "none"] = Field(
        default="flannel",
        description="what carries the pods' traffic between the machines (VXLAN). `none`: you install another one, "
        "and until then nothing runs",
    )

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
        "edit workloads in every namespace, `kube-system` included: people whom you trust",
    )


class OwnAdminPool(Section):
    """The control plane. System pods run on it too."""

    machines: Machines = Field(description="one machine: several control planes are not supported yet")

    @field_validator("machines")
    @classmethod
    def _one(cls, value: tuple[MachineSetting, ...]) -> tuple[MachineSetting, ...]:
        if len(value) > 1:
            raise wrong("several control planes are not supported yet", f"Write {value[0].name} alone")
        return value


def _gpu_name(value: str) -> str:
    if not _GPU.fullmatch(value):
        raise wrong(f"'{value}' is not a name of an NVIDIA GPU", "Write for example nvidia-t4 or nvidia-rtx-4090")
    return value


GpuName = Annotated[StrictStr, AfterValidator(_gpu_name)]
Usd = Annotated[StrictFloat | StrictInt, Field(ge=0)]
PRICE: Final = "what one of its machines costs per hour, in US dollars, for budgets and `gpu fit`. Default: unknown"


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
        default=DRIVER_BRANCHES[0], description="branch of NVIDIA's driver. Changing it drains one machine at a time"
    )
    time_sharing: TimeSharingSetting | None = Field(default=None, description="lets several pods share a GPU")
    hourly_usd: Usd | None = Field(default=None, description=PRICE)
    labels: GpuNodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: Taints = Field(default=(), description="additional node taints, each `{key, value, effect}`")

    @field_validator("driver_version")
    @classmethod
    def _branch(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("drivers") == "none" and value != DRIVER_BRANCHES[0]:
            raise wrong("with drivers: none no driver is installed", "Leave it out")
        if value not in DRIVER_BRANCHES:
            raise wrong(f"'{value}' is not a branch of NVIDIA's driver", instead(value, DRIVER_BRANCHES))
        return value


class OwnCpuPool(Section):
    """Machines without GPUs, in addition to the control plane."""

    name: PoolName = Field(description="the pool's name")
    machines: Machines = Field(description="the pool's machines")
    hourly_usd: Usd | None = Field(default=None, description=PRICE)
    labels: NodeLabels = Field(default_factory=dict, description="additional node labels")
    taints: Taints = Field(default=(), description="node taints, each `{key, value, effect}`")


class OwnBudget(Section):
    """A limit on what the machines cost by `hourlyUsd`."""

    max_hourly_usd: Annotated[StrictFloat | StrictInt, Field(gt=0)] | None = Field(
        default=None, description="refuse a stack whose machines cost more per hour"
    )


class OwnStackFile(Section):
    """All keys below ``gpucluster:`` of a stack on own machines."""

    cloud: StrictStr = Field(description="`kubeadm`: own machines become a cluster by kubeadm")
    cluster_name: PoolName | None = Field(default=None, description="the cluster's name. Default: `gpu-<stack>`")
    kubernetes: OwnKubernetes = Field(default=OwnKubernetes(), description="version of Kubernetes")
    network: OwnNetwork = Field(default=OwnNetwork(), description="address ranges of pods and services")
    ssh: Ssh = Field(default=Ssh(), description="how the machines are logged in to")
    packages: Packages = Field(default=Packages(), description="mirrors and proxy")
    security: OwnSecurity = Field(default=OwnSecurity(), description="deletion protection, administrator's kubeconfig")
    admin_pool: OwnAdminPool = Field(description="the control plane")
    gpu_pools: tuple[OwnGpuPool, ...] = Field(default=(), validate_default=True, description="GPU pools, at least one")
    cpu_pools: tuple[OwnCpuPool, ...] = Field(default=(), description="CPU pools, in addition to the control plane")
    workloads: Workloads = Field(default=Workloads(), description="what jobs need besides GPUs")
    budget: OwnBudget = Field(default=OwnBudget(), description="limit on the stack's cost per hour")
    access: AccessList = Field(default=(), description="users and groups, and their roles in the cluster")
    teams: Teams = Field(default=(), description="namespaces with a quota of GPUs")

    @field_validator("gpu_pools")
    @classmethod
    def _some_pool(cls, value: tuple[OwnGpuPool, ...]) -> tuple[OwnGpuPool, ...]:
        if not value:
            raise wrong(
                "there is no GPU pool", "Write for example gpuPools: [{name: t4, gpu: nvidia-t4, machines: […]}]"
            )
        return value

    def all_machines(self) -> Iterator[tuple[str, MachineSetting]]:
        """Every machine with its key path."""
        pools = [("adminPool", self.admin_pool.machines)]
        pools += [(f"gpuPools[{index}]", pool.machines) for index, pool in enumerate(self.gpu_pools)]
        pools += [(f"cpuPools[{index}]", pool.machines) for index, pool in enumerate(self.cpu_pools)]
        for path, machines in pools:
            yield from ((f"{path}.machines[{index}]", machine) for index, machine in enumerate(machines))
