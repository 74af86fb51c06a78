"""What the catalogue knows about one cloud, as data, and the one registry of clouds.

A cloud has one name (``gke``); its plugin has another (``gcp``), which is written here and in resources' type tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from importlib import import_module
from typing import Final, TypeVar

from facts.catalog import tables
from facts.catalog.changes import Effects, effects
from facts.catalog.machines import GPUS, Machines
from facts.catalog.model import Accelerator, Machine, Quota, Resources, Support, SystemPod, WithdrawnGpu
from facts.catalog.prices import Prices
from facts.catalog.raw import RawInputs
from facts.catalog.tags import RegistryName, TagGrammar
from facts.concepts.kubernetes import GPU_RESOURCE, Taint, resource_of
from facts.concepts.pool import ARM, NO_FABRIC, SKYPILOT_LABEL, CapacityType, Fabric, Image, Pool

Text = TypeVar("Text")

PLUGINS: Final[Mapping[str, str]] = {"gke": "gcp", "eks": "aws", "aks": "azure-native"}
"""Cloud → its Pulumi plugin, the first part of its resources' type tokens. Every list of clouds derives from this one.

A cloud is a package below ``catalog``, ``components.clouds`` and ``rehearsal.providers``, each imported on first use: a
stack on one cloud loads nothing of another.
"""


OWN_MACHINES: Final[Mapping[str, str]] = {"kubeadm": "gpucluster-machines", "existing": "gpucluster-machines"}
"""Where a cluster of the user's own machines comes from → its Pulumi plugin. Nothing is rented there: no account, no
region, no machine types and no prices. A stack file names it as its ``cloud``.
"""

OWN_SECRETS: Final[Mapping[str, str]] = {"kubeadm": "sshPrivateKey", "existing": "kubeconfig"}
"""The same → the one key of a stack file that is a secret."""


@dataclass(frozen=True, kw_only=True)
class CredentialPlugin:
    """The program that a kubeconfig names for its credentials, and the ``arguments`` that ask it for a token.

    ``otherwise`` is whose credentials it looks for without them: nobody who followed docs/install-gke.md has any.
    """

    command: str
    arguments: str = ""
    otherwise: str = ""


@dataclass(frozen=True, kw_only=True)
class CloudCatalog:
    """One cloud. Of several words the first is the default.

    - ``account_key``: the provider's own configuration key that names the account; ``account_example`` a value of it,
      ``account_form`` all its values, ``placeholder_accounts`` those of examples, which are nobody's
    - ``images``: operating systems of GPU nodes; ``autoscalers``: who can decide the size of pools
    - ``people``: whom a cluster can let in, as a stack file writes them
    - ``unsupported_capacity``: capacity type that the cloud does not have → why, and what it has instead
    - ``addons``: parts of the cloud that a stack file may ask for by name; ``pinned_addons``: the cloud's name of each
      whose version may be written → what asks for it in a stack file, ``""`` if every stack has it
    - ``channels``: release channels of Kubernetes
    - ``dataplanes``: what carries the pods' traffic, where a stack file may choose
    - ``location_policies``: how nodes are spread over zones, where a GPU pool may choose
    - ``fabric``: how pods request the RDMA devices of a node, without their number; no ``resource`` where no pool has a
      fabric; ``fabric_labels``: labels of such nodes
    - ``fabric_image``, ``fabric_network``: an image with PyTorch that can use the devices, and NCCL's name for them
    - ``gpu_metrics``: whether the cloud collects the metrics of GPUs, if the cluster asks for it
    - ``default_admin_machine``, ``default_cpu_machine`` (4 vCPUs with 16 GiB): unless the stack file names others
    - ``default_ranges``: ``node_cidr``, ``pod_cidr`` (``None``: pods have addresses of the nodes' range) and
      ``service_cidr``
    - ``existing_network``: how a stack file names a network that is there already; ``None`` where it cannot yet
    - ``tags``: how tags are written; ``None`` where resources have labels alone
    - ``registry_name``: how a registry of others is named, where the stack can let nodes pull from it
    - ``control_plane_logs``, ``log_days``: logs and retention times that a stack may choose, ascending
    - ``image_version``: versions that a pool's image may be pinned to, as in ``al2023@v20261101``; ``None``: none
    - ``raw``: what a stack file may hand to the provider as it is
    - ``max_name_length``: characters that the name of a cluster or a pool may have
    - ``pod_addresses_per_node``: addresses that each node takes out of the pod range (the nodes' range where pods have
      none); ``reserved_addresses``: addresses of a subnetwork that the cloud reserves
    - ``reference_region``: one whose prices are representative, for tables; ``separate_regions``: how the names of
      regions begin that accounts of the others cannot use (governments, China)
    - ``allocatable``: what a node of a machine leaves for pods; ``system_pods``: the cloud's own pods in a new cluster;
      ``gpu_node_pods``: those that it may run beside them on every node with GPUs; ``volume_pods``: those on every node
      of a stack with a shared volume
    - ``system_replicas``: name of a system pod that is not on each node, the cluster's nodes and vCPUs → how many of it
    - ``quotas``: region, pools and number of NAT gateways → what they need of the account's limits
    - ``quota_page``: where to ask for more; may name the ``{region}``
    - ``rights``: account and settings in use (→ names of what each uses) → lines that name the APIs and roles needed
    - ``starves_small_nodes``: whether the system pods were seen to need more on small machines than they ask for
    - ``kubernetes_versions``: release channel → the minor version (``1.34``) that it means; empty where the cloud's own
      channels decide
    - ``unneeded_minutes``: autoscaling profile → how long a node is idle before it goes; empty where the cloud does not
      say
    - ``spot_taints``: taints that the cloud puts on every spot node by itself
    - ``spot_notice_seconds``: how long pods have, at best, on a spot node that the cloud takes away
    - ``account_labels``: labels by which a pod of a service account with an identity in the cloud gets it
    - ``log_command``: prints the logs of pods that were deleted, for a ``project`` (the account), a ``region``, a
      ``cluster``, a ``namespace`` and a regular expression for the names of ``pods``; ``None`` where the program's
      clusters cannot save logs in the cloud
    - ``log_addon``: which of the ``addons`` saves the logs; ``None`` where they are always saved
    - ``volume_gib``: the least and the most GiB of a shared volume; ``None`` where it has no size and grows
    - ``disk_mib``: image and size of a node's disk in GB → ephemeral storage for pods; ``None`` where that is not known
    - ``gpu_label``: the label that the cloud's autoscaler needs on GPU nodes and that the pool itself must declare
    - ``skypilot_label``: autoscalers whose GPU pools carry the label by which SkyPilot selects; nodes of others have
      one of their cloud's that it knows
    - ``label_room``: pool and labels of the stack → how many more labels the pool can have; ``None`` if any number
    - ``uniform_groups``: autoscalers that plan a group of machines as if all were alike and in one zone, so that a GPU
      pool has to be one pool for each zone, and its machines have to be of one size
    - ``own_zone_names``: regions where an account may have other names for the zones than that of the lists of zones;
      autoscalers that are not in ``uniform_groups`` ask the account
    - ``one_type``: autoscalers whose pools have one machine type each, where others may mix several for spot
    - ``outside``: behind a region's name, what its place outside of all zones is called, which counts as the only zone
      of a region without zones; ``None`` if every machine is in a zone
    """

    name: str
    account_key: str
    account_example: str
    account_form: re.Pattern[str]
    placeholder_accounts: tuple[str, ...] = ()
    credential_plugin: CredentialPlugin
    images: tuple[str, ...]
    autoscalers: tuple[str, ...]
    people: tuple[str, ...]
    unsupported_capacity: Mapping[CapacityType, str] = field(default_factory=dict)
    addons: tuple[str, ...] = ()
    pinned_addons: Mapping[str, str] = field(default_factory=dict)
    channels: tuple[str, ...] = ("rapid", "regular", "stable")
    dataplanes: tuple[str, ...] = ()
    location_policies: tuple[str, ...] = ()
    fabric: Fabric = NO_FABRIC
    fabric_labels: Mapping[str, str] = field(default_factory=dict)
    fabric_image: str = ""
    fabric_network: str = ""
    gpu_metrics: bool = False
    control_plane_logs: tuple[str, ...] = ()
    log_days: tuple[int, ...] = ()
    default_admin_machine: str
    default_cpu_machine: str
    default_ranges: Mapping[str, str | None]
    existing_network: str | None = None
    tags: TagGrammar | None = None
    registry_name: RegistryName
    raw: RawInputs
    image_version: re.Pattern[str] | None = None
    max_name_length: int
    pod_addresses_per_node: int
    reserved_addresses: int
    reference_region: str
    separate_regions: tuple[str, ...] = ()
    machines: Machines
    prices: Prices
    allocatable: Callable[[Machine], Resources]
    system_pods: tuple[SystemPod, ...]
    gpu_node_pods: tuple[SystemPod, ...] = ()
    volume_pods: tuple[SystemPod, ...] = ()
    system_replicas: Callable[[str, int, float], int] = lambda pod, nodes, vcpus: 1
    quotas: Callable[[str, Sequence[Pool], int], tuple[Quota, ...]]
    quota_page: str
    rights: Callable[[str, Mapping[str, Sequence[str]]], Iterator[str]] = lambda account, used: iter(())
    starves_small_nodes: bool = True
    kubernetes_versions: Mapping[str, str] = field(default_factory=dict)
    unneeded_minutes: Mapping[str, int] = field(default_factory=dict)
    spot_taints: tuple[Taint, ...] = ()
    spot_notice_seconds: int
    volume_gib: tuple[int, int] | None = None
    account_labels: Mapping[str, str] = field(default_factory=dict)
    log_command: str | None = None
    log_addon: str | None = None
    disk_mib: Callable[[Image, int], int] | None = None
    gpu_label: str | None = None
    skypilot_label: frozenset[str] = frozenset()
    label_room: Callable[[Pool, Mapping[str, str]], int] | None = None
    uniform_groups: frozenset[str] = frozenset()
    own_zone_names: frozenset[str] = frozenset()
    one_type: frozenset[str] = frozenset()
    outside: str | None = None

    @property
    def plugin(self) -> str:
        """The cloud's Pulumi plugin."""
        return {**PLUGINS, **OWN_MACHINES}[self.name]

    @cached_property
    def accelerators(self) -> Mapping[str, Accelerator]:
        """GPU name → the cloud's accelerator."""
        return {row["gpu"]: _accelerator(row) for row in tables.rows(self.name, "gpus")}

    @cached_property
    def supported(self) -> Mapping[str, Support]:
        """Minor version → how long it is supported; any that is not listed is as long as anybody asks."""
        days = (
            (row["version"], *map(date.fromisoformat, (row["extended"], row["until"])))
            for row in tables.rows(self.name, "versions")
        )
        return {version: Support(extended=extended, until=until) for version, extended, until in days}

    @cached_property
    def withdrawn_gpus(self) -> Mapping[str, WithdrawnGpu]:
        """GPUs that the cloud had once, by the names people still write."""
        return {row["name"]: WithdrawnGpu(**row) for row in tables.rows(self.name, "withdrawn_gpus")}

    @cached_property
    def changes(self) -> Mapping[str, Effects]:
        """Autoscaler → what becomes of a running job when a setting changes."""
        return effects(self.name)

    @cached_property
    def addon_pods(self) -> tuple[SystemPod, ...]:
        """The pods of the ``addons``."""
        return tuple(_system_pod(row) for row in tables.rows(self.name, "addon_pods"))

    def pods_of(self, addons: Collection[str]) -> tuple[SystemPod, ...]:
        """The pods of these add-ons."""
        return tuple(pod for pod in self.addon_pods if pod.addon in addons)

    @cached_property
    def regions(self) -> Mapping[str, tuple[str, ...]]:
        """Region → its zones."""
        zones_by_region: dict[str, tuple[str, ...]] = {}
        for row in tables.rows(self.name, "zones"):
            zones_by_region[row["region"]] = (*zones_by_region.get(row["region"], ()), row["zone"])
        return zones_by_region

    def gpu_zones(self, gpu: str) -> tuple[str, ...] | None:
        """Zones known to have the GPU, sorted; ``None`` where no list is known."""
        having = sorted(row["zone"] for row in tables.rows(self.name, "zones") if gpu in row["gpus"].split())
        return tuple(having) or None

    def machine_zones(self, machine: Machine) -> tuple[str, ...] | None:
        """Zones known to have this machine with GPUs, sorted; ``None`` where no list is known."""
        having = None if machine.gpu is None else self.gpu_zones(machine.gpu)
        row = tables.by_key(self.name, "missing_machines", "type").get((machine.type,))
        return having if row is None or having is None else tuple(z for z in having if z not in row["zones"].split())

    def outside_zones(self, region: str) -> str | None:
        """What the region's place outside its zones is called, if machines can be there."""
        return None if self.outside is None else f"{region}{self.outside}"

    def gpu_labels(self, gpu: str) -> Mapping[str, str]:
        """Labels that a pool of that GPU must declare for the cloud's autoscaler, which waits for NVIDIA's alone:
        https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/processors/customresources/gpu_processor.go
        """
        if self.gpu_label is None or resource_of(gpu) != GPU_RESOURCE:
            return {}
        return {self.gpu_label: self.accelerators[gpu].name}

    def chip_labels(self, accelerator: Text, topology: Text) -> Mapping[str, Text]:
        """Labels that the cloud sets on nodes whose chips have a topology, and pods have to select: the names of the
        chip and of the topology."""
        values = {"accelerator": accelerator, "topology": topology}
        return {
            row["label"]: values[row["of_chips"]] for row in tables.rows(self.name, "own_labels") if row["of_chips"]
        }

    def launcher_labels(self, pool: Pool, autoscaler: str, stack_labels: Mapping[str, str]) -> Mapping[str, str]:
        """Labels by which launchers select a GPU pool that may be empty; none for parts of GPUs, for chips of
        other makers, for machines with Arm CPUs (whose taint no launcher tolerates), and where the pool has no room
        beside its own labels and those of the stack: what the user wrote comes first.

        https://github.com/skypilot-org/skypilot/blob/v0.14.1/sky/provision/kubernetes/utils.py (``GenericAutoscaler``
        has the label of ``SkyPilotLabelFormatter``, whose values are in lower case)
        """
        parts = pool.gpus.shared is not None or pool.gpus.mig is not None
        if autoscaler not in self.skypilot_label or parts or not pool.gpus.of_nvidia or pool.arch == ARM:
            return {}
        if self.label_room is not None and self.label_room(pool, stack_labels) < 1:
            return {}
        return {SKYPILOT_LABEL: GPUS[pool.gpus.type].skypilot.lower()}

    def pool_per_zone(self, *, gpu: bool, spot: bool, zones: int, autoscaler: str) -> bool:
        """Whether such a pool, which is to be in that many zones, has to be one pool for each zone.

        A pool of spot GPUs is called after its zone even if it has one: more zones are what it will want next.
        """
        return gpu and (spot or zones > 1) and autoscaler in self.uniform_groups

    def spot_mix(self, gpu: str, count: int, autoscaler: str) -> tuple[Machine, ...]:
        """The types that a spot pool mixes unless the stack file names some."""
        mix = self.machines.spot(gpu, count, alike=autoscaler in self.uniform_groups)
        return mix if self.mixes_types(autoscaler) else mix[:1]

    def mixes_types(self, autoscaler: str) -> bool:
        """Whether a spot pool may have several machine types."""
        return self.machines.mixed_types > 1 and autoscaler not in self.one_type


def _accelerator(row: tables.Row) -> Accelerator:
    return Accelerator(
        gpu=row["gpu"],
        name=row["name"],
        quota=row["quota"] or None,
        quota_family=row["quota_family"] or None,
        partitions={size.partition(".")[0]: size for size in row["partitions"].split()},
    )


def system_pods(cloud: str, *where: str) -> tuple[SystemPod, ...]:
    """The cloud's own pods in these places, words of the column ``where`` of ``system_pods.csv``."""
    return tuple(_system_pod(row) for row in tables.rows(cloud, "system_pods") if row["where"] in where)


def _system_pod(row: tables.Row) -> SystemPod:
    return SystemPod(
        name=row["name"],
        request=Resources(milli_cpu=int(row["milli_cpu"]), memory_mib=int(row["memory_mib"])),
        per_node=row["where"] != "cluster",
        gpu_node=row["where"] == "gpu-node",
        addon=row.get("addon", ""),
    )


def clouds() -> tuple[str, ...]:
    """The names of all clouds that rent machines."""
    return tuple(PLUGINS)


def of(name: str) -> CloudCatalog:
    """Everything known about one cloud, or about own machines.

    Raises:
        KeyError: there is no such cloud (``clouds``, ``OWN_MACHINES``).
    """
    if name not in PLUGINS and name not in OWN_MACHINES:
        raise KeyError(name)
    catalog: CloudCatalog = import_module(f"facts.catalog.{name}.cloud").CATALOG
    return catalog
