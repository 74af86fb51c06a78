"""What GKE makes of a node pool: the labels and taints it adds, the group of machines that results, and why its nodes
would not work: their account's roles, their access scopes, and their way to Google's registries.

Google starts such machines and bills them: without a way to the registry they never become ready
(https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/308), without the role or the
scopes they write no logs and no metrics, and where they stream images without a role for it, no pod starts
(https://github.com/terraform-google-modules/terraform-google-kubernetes-engine/issues/2251). A rehearsal has no node in
any of these cases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from facts.catalog.gke.nodes import allocatable, confidential_mib, disk_mib, streaming_mib
from facts.catalog.model import Machine
from facts.concepts.kubernetes import Effect, Taint
from facts.concepts.parts import Nodes, Scaling
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import Record, SimulatedCloud
from rehearsal.providers.gke.cloud import SELF_LINK, region_of
from rehearsal.providers.gke.iam import ACCOUNT
from rehearsal.providers.gke.network import NAT, ROUTER, subnetwork_of
from rehearsal.simulation import Advertiser, NodeShape, Packing, Renewal, SimulatedNodeGroup

GPU_RESOURCE: Final = "nvidia.com/gpu"
TPU_RESOURCE: Final = "google.com/tpu"
TPU_MACHINE: Final = re.compile(r"(?:ct\d\w*|tpu\d\w*)-\w+-(\d+)t")
"""A machine type with TPUs, and its number of chips: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus"""
_ONE_NODE: Final = {1: "1x1", 4: "2x2", 8: "2x4"}
DEFAULT_MACHINE: Final = "e2-medium"
"""https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1beta1/NodeConfig (machineType)"""
_DISK_GB: Final = 100
"""https://cloud.google.com/kubernetes-engine/docs/how-to/custom-boot-disks"""

EFFECTS: Final[Mapping[str, Effect]] = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
OS_DISTRIBUTIONS: Final = {"COS": "cos", "UBUNTU": "ubuntu", "WINDOWS": "windows"}
MAX_PODS: Final = 110
"""Of a node, if neither pool nor cluster says otherwise."""
_MANY_PODS_MILLI_CPU: Final = 400
"""What the kubelet keeps for more: ``reserved.go`` of https://github.com/GoogleCloudPlatform/cluster-autoscaler"""
CLASS_LABEL: Final = "cloud.google.com/compute-class"
PREFIX: Final = "cloud.google.com/"
_NO_PLUGIN: Final = "gke-no-default-nvidia-gpu-device-plugin"

PARTITIONS: Final[Mapping[str, Mapping[str, int]]] = yaml.safe_load(
    Path(__file__).with_name("partitions.yaml").read_text("utf-8")
)
"""Accelerator → size of its partitions (MIG) → how many one GPU has."""


@dataclass(frozen=True)
class GpusOfConfig:
    """The accelerators of one node. ``count`` is physical, ``shared_by`` how many clients see each (1: not shared), of
    each of the ``parts`` that it is divided into (of size ``partition``)."""

    accelerator: str
    count: int
    driver: str
    sharing: str = ""
    shared_by: int = 1
    partition: str = ""

    @property
    def resource(self) -> str:
        """The resource by which pods request them."""
        return TPU_RESOURCE if self.accelerator.startswith("tpu") else GPU_RESOURCE

    @property
    def parts(self) -> int:
        """Partitions of each GPU."""
        return PARTITIONS[self.accelerator][self.partition] if self.partition else 1

    @property
    def offered(self) -> int:
        """How many GPUs pods can request on one node."""
        return self.count * self.parts * self.shared_by

    @property
    def managed(self) -> bool:
        """Whether GKE installs the driver; an omitted version means ``DEFAULT`` since 1.30.1-gke.1156000.

        https://cloud.google.com/kubernetes-engine/docs/how-to/gpus#create-gpu-pool-auto-drivers
        """
        return self.driver != "INSTALLATION_DISABLED"

    def advertised_by(self, labels: Collection[str]) -> Advertiser:
        """Who makes them allocatable on a node with these labels. One of them keeps Google's device plugin away:
        https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/google-gke.html
        """
        if _NO_PLUGIN in labels and self.resource == GPU_RESOURCE:
            return "device-plugin" if self.managed else "installer-and-plugin"
        return "cloud" if self.managed else "partitioner" if self.partition else "daemonset"


def machine_of(cloud: SimulatedCloud, config: Mapping[str, Any]) -> Machine | None:
    """The machine of a node configuration with its accelerators attached; ``None`` if there is no such machine."""
    type_ = config.get("machineType") or DEFAULT_MACHINE
    accelerators = config.get("guestAccelerators") or []
    if not accelerators:
        return cloud.catalog.machines.get(type_)
    gpu = gpu_called(cloud, accelerators[0]["type"])
    return cloud.catalog.machines.with_gpus(type_, gpu, int(accelerators[0]["count"])) if gpu else None


def gpu_called(cloud: SimulatedCloud, accelerator: str) -> str | None:
    """The catalogue's GPU behind Google's accelerator type (``nvidia-tesla-t4`` → ``nvidia-t4``)."""
    return next((gpu for gpu, known in cloud.catalog.machines.accelerators.items() if known.name == accelerator), None)


def gpus_of(cloud: SimulatedCloud, config: Mapping[str, Any]) -> GpusOfConfig | None:
    """A node's GPUs: the declared accelerators, or those that belong to the machine type."""
    accelerators = config.get("guestAccelerators") or []
    if accelerators:
        declared = accelerators[0]
        sharing = declared.get("gpuSharingConfig") or {}
        return GpusOfConfig(
            declared["type"],
            int(declared["count"]),
            at(declared, "gpuDriverInstallationConfig.gpuDriverVersion") or "DEFAULT",
            sharing.get("gpuSharingStrategy", ""),
            int(sharing.get("maxSharedClientsPerGpu") or 1),
            declared.get("gpuPartitionSize") or "",
        )
    machine = cloud.catalog.machines.get(config.get("machineType") or DEFAULT_MACHINE)
    if machine is None or machine.gpu is None:
        return None
    return GpusOfConfig(cloud.catalog.machines.accelerators[machine.gpu].name, machine.gpus, "DEFAULT")


def slice_nodes(topology: str, chips: int) -> int:
    """The nodes of a slice of that topology, if each has so many chips."""
    return max(1, math.prod(map(int, topology.split("x"))) // chips)


def max_pods(cluster: Properties, pool: Mapping[str, Any]) -> int:
    """Pods on a node of the pool: https://cloud.google.com/kubernetes-engine/docs/how-to/flexible-pod-cidr."""
    return int(pool.get("maxPodsPerNode") or cluster.get("defaultMaxPodsPerNode") or MAX_PODS)


def private(cluster: Properties, pool: Properties) -> bool | None:
    """Whether nodes of the pool, as it is sent, have no public addresses; ``None`` where neither says it."""
    own: bool | None = at(pool, "networkConfig.enablePrivateNodes")
    return at(cluster, "privateClusterConfig.enablePrivateNodes") if own is None else own


def node_labels(
    cluster: Properties, pool: Properties, machine: Machine, gpus: GpusOfConfig | None, topology: str = ""
) -> dict[str, str]:
    """Every label that a node of the pool gets: those declared and those GKE adds; region and zone come with the node.

    Google has no list of them: these are the ones that users show of their nodes (``recorded_nodes.yaml`` in the
    tests), and those of https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus and
    …/docs/concepts/spot-vms. That of flex-start nodes: ``system_labels.go`` of
    https://github.com/GoogleCloudPlatform/cluster-autoscaler
    """
    config = pool.get("nodeConfig") or {}
    image = str(config.get("imageType") or "COS_CONTAINERD").split("_")[0]
    kinds = {"spot": "spot", "preemptible": "preemptible", "flexStart": "flex-start"}
    labels = {
        f"{PREFIX}gke-boot-disk": config.get("diskType") or "pd-balanced",
        f"{PREFIX}gke-container-runtime": "containerd",
        f"{PREFIX}gke-cpu-scaling-level": str(machine.vcpus),
        f"{PREFIX}gke-logging-variant": config.get("loggingVariant") or "DEFAULT",
        f"{PREFIX}gke-max-pods-per-node": str(max_pods(cluster, pool)),
        # In thousands of MiB: 737 with the 720 GiB of a ct6e-standard-4t.
        f"{PREFIX}gke-memory-gb-scaling-level": str(int(1024 * machine.memory_gib) // 1000),
        f"{PREFIX}gke-netd-ready": "true",
        f"{PREFIX}gke-nodepool": pool["name"],
        f"{PREFIX}gke-os-distribution": OS_DISTRIBUTIONS.get(image, image.lower()),
        f"{PREFIX}gke-provisioning": next((word for key, word in kinds.items() if config.get(key)), "standard"),
        f"{PREFIX}gke-stack-type": at(cluster, "ipAllocationPolicy.stackType") or "IPV4",
        f"{PREFIX}machine-family": machine.family,
        f"{PREFIX}private-node": str(bool(private(cluster, pool))).lower(),
    }
    if config.get("flexStart"):
        labels[f"{PREFIX}gke-flex-start"] = "true"
    if config.get("spot"):
        labels[f"{PREFIX}gke-spot"] = "true"
    if config.get("preemptible"):
        labels[f"{PREFIX}gke-preemptible"] = "true"
    if at(config, "workloadMetadataConfig.mode") == "GKE_METADATA":
        labels["iam.gke.io/gke-metadata-server-enabled"] = "true"
    if gpus and gpus.resource == TPU_RESOURCE:
        labels |= {f"{PREFIX}gke-tpu-accelerator": gpus.accelerator, f"{PREFIX}gke-tpu-topology": topology}
        labels[f"{PREFIX}gke-accelerator-count"] = str(gpus.count)
    elif gpus:
        labels |= _gpu_labels(gpus)
    return {**labels, **(config.get("labels") or {})}


def effective_taints(
    config: Mapping[str, Any], gpus: GpusOfConfig | None, beside_cpu_pool: bool
) -> list[dict[str, str]]:
    """The pool's taints in the API's spelling: those declared, and the GPU taint where GKE adds it.

    GKE adds ``nvidia.com/gpu=present:NO_SCHEDULE`` only to a GPU pool that joins a cluster which has a pool without
    GPUs at that time: https://cloud.google.com/kubernetes-engine/docs/how-to/gpus#create. It always adds
    ``google.com/tpu=present:NO_SCHEDULE``: https://docs.cloud.google.com/kubernetes-engine/docs/concepts/tpus
    """
    declared = [dict(taint) for taint in config.get("taints") or []]
    resource = gpus.resource if gpus else ""
    if gpus and (beside_cpu_pool or resource != GPU_RESOURCE) and not any(each["key"] == resource for each in declared):
        declared.append({"key": resource, "value": "present", "effect": "NO_SCHEDULE"})
    return declared


def node_group(
    cloud: SimulatedCloud, cluster: Properties, pool: Properties, zones: tuple[str, ...], taints: list[dict[str, str]]
) -> SimulatedNodeGroup:
    """The machines behind a pool whose inputs were checked.

    A minimum keeps existing nodes and creates none: at most the number that the pool was created with
    (https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#minimum_and_maximum_node_pool_size:
    raised later, the pool has to be resized by hand).
    """
    config = pool.get("nodeConfig") or {}
    machine, gpus = machine_of(cloud, config), gpus_of(cloud, config)
    if machine is None:
        raise ValueError(f"pool {pool['name']}: no machine for {config}")
    scaling = pool.get("autoscaling") or {}
    per_zone = not scaling.get("totalMaxNodeCount")
    low, high = ("minNodeCount", "maxNodeCount") if per_zone else ("totalMinNodeCount", "totalMaxNodeCount")
    initial = int(pool.get("nodeCount") or pool.get("initialNodeCount") or 0)
    spot = bool(config.get("spot") or config.get("preemptible"))
    usd = cloud.hourly_usd(machine, region_of(zones[0]), spot=spot)
    chips = gpus.count if gpus and gpus.resource == TPU_RESOURCE else 0
    free, pods = allocatable(machine), max_pods(cluster, pool)
    taken = streaming_mib(machine) if at(config, "gcfsConfig.enabled") else 0
    taken += confidential_mib(machine, cluster, pool)
    one_node = _ONE_NODE.get(chips, "") + ("x1" if machine.type.startswith("tpu7x-") else "")
    topology = at(pool, "placementPolicy.tpuTopology") or one_node
    atomic = bool(chips) and slice_nodes(topology, chips) > 1
    return SimulatedNodeGroup(
        name=pool["name"],
        cluster=cluster["name"],
        machine=NodeShape(
            cpu=machine.vcpus,
            memory_gib=machine.memory_gib,
            gpus=gpus.offered if gpus else 0,
            gpu_name=gpus.accelerator if gpus else "",
            gpu_resource=gpus.resource if gpus else GPU_RESOURCE,
            reserved_milli_cpu=1000 * machine.vcpus - free.milli_cpu + (_MANY_PODS_MILLI_CPU if pods > MAX_PODS else 0),
            reserved_memory_mib=int(1024 * machine.memory_gib) - free.memory_mib + taken,
            max_pods=pods,
            disk_mib=disk_mib("cos", int(at(config, "bootDisk.sizeGb") or config.get("diskSizeGb") or _DISK_GB)),
        ),
        nodes=Nodes(
            machine_types=(machine.type,),
            zones=zones,
            labels=node_labels(cluster, pool, machine, gpus, topology),
            taints=tuple(Taint(each["key"], each.get("value") or None, EFFECTS[each["effect"]]) for each in taints),
            hourly_usd=usd,
        ),
        scaling=Scaling(
            autoscaled=bool(scaling),
            min_nodes=min(int(scaling.get(low) or 0), initial if per_zone else initial * len(zones)),
            max_nodes=int(scaling.get(high) or 0) if scaling else initial,
            capacity_type="spot" if spot else "flex-start" if config.get("flexStart") else "on-demand",
            reservation=next(iter((config.get("reservationAffinity") or {}).get("values") or ()), None),
        ),
        per_zone=per_zone,
        initial_nodes=initial,
        rank=choice_rank(config, usd),
        gpus_advertised_by="cloud" if gpus is None else gpus.advertised_by(config.get("labels") or {}),
        packing=_PACKING if scaling and not atomic else None,
        atomic=atomic,
        # Graceful node shutdown: https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms
        pods_ended_by="kubelet",
        renewal=_renewal(pool),
    )


def _renewal(pool: Properties) -> Renewal:
    """An upgrade waits an hour for budgets, then it ends what runs; an exclusion keeps the pool at its version.

    https://cloud.google.com/kubernetes-engine/docs/concepts/node-pool-upgrade-strategies,
    https://cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions
    """
    return "" if excluded(pool) or not at(pool, "management.autoUpgrade") else "force"


def excluded(pool: Properties) -> bool:
    """Whether a pool (its inputs) stays at its version until support of the control plane's version ends."""
    spans = [
        span for each in pool.get("maintenancePolicies") or [] for span in each.get("exclusionUntilEndOfSupports") or []
    ]
    return any(span.get("enabled") for span in spans)


# Google's autoscaler moves pods to remove nodes that are underutilized, in either profile. It does not say below which
# use: half is upstream's. Local volumes have held no node since 1.22. Upstream, system pods hold one for an hour, of
# which Google says nothing.
# https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#operating_criteria
_PACKING: Final = Packing(
    gpus_below=0.5,
    others_below=0.5,
    moves_system_pods=False,
    system_pods_minutes=None,
    moves_local_storage=True,
    devices=(GPU_RESOURCE, TPU_RESOURCE),
)


def choice_rank(config: Mapping[str, Any], usd: float) -> float:
    """GKE's order among pools that fit; smaller is earlier.

    A pool with a matching unused reservation comes first, if that is the project's own. Then spot: among several spot
    pools it does not choose by price, so here the dearest is taken, which nobody may be surprised by. Then on demand,
    which ``hourly_usd`` orders, the cheapest first.

    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler#operating_criteria and ``#reservations``
    """
    affinity = config.get("reservationAffinity") or {}
    names = affinity.get("values") or []
    if affinity.get("consumeReservationType") == "SPECIFIC_RESERVATION" and not any("/" in name for name in names):
        return 0
    return 1 + 1 / (1 + usd) if config.get("spot") or config.get("preemptible") else 2


def _gpu_labels(gpus: GpusOfConfig) -> dict[str, str]:
    """``gke-accelerator-count`` is of Autopilot's nodes and of TPUs alone."""
    labels = {f"{PREFIX}gke-accelerator": gpus.accelerator, f"{PREFIX}gke-gpu": "true"}
    # https://github.com/GoogleCloudPlatform/cluster-autoscaler writes "disabled" where the user installs the driver;
    # what the nodes of a declared pool have then is not recorded.
    if gpus.managed:
        labels[f"{PREFIX}gke-gpu-driver-version"] = gpus.driver.lower()
    if gpus.partition:
        labels[f"{PREFIX}gke-gpu-partition-size"] = gpus.partition
    if gpus.sharing:
        labels[f"{PREFIX}gke-gpu-sharing-strategy"] = gpus.sharing.lower().replace("_", "-")
        labels[f"{PREFIX}gke-max-shared-clients-per-gpu"] = str(gpus.shared_by)
    return labels


GRANT: Final = "gcp:projects/iAMMember:IAMMember"
_NEEDED: Final = yaml.safe_load(Path(__file__).with_name("node_needs.yaml").read_text("utf-8"))


def node_problem(cloud: SimulatedCloud, cluster: Properties, pool: Properties) -> str | None:
    """Why nodes of ``pool`` (its inputs) would not work in ``cluster`` (its inputs); ``None`` if they would."""
    config = pool.get("nodeConfig") or {}
    return _roles(cloud, cluster, config) or _scopes(config) or _network(cloud, cluster, pool)


def _roles(cloud: SimulatedCloud, cluster: Properties, config: Properties) -> str | None:
    """Only an account of this program is judged: roles that others granted are not known.

    One of another project: https://docs.cloud.google.com/kubernetes-engine/security/configure-node-service-accounts.
    """
    account, project = str(config.get("serviceAccount") or ""), cluster["project"]
    if not account.endswith(f"@{project}.iam.gserviceaccount.com"):
        if not any(each.id.endswith(f"/{account}") for each in cloud.store.all(ACCOUNT)):
            return None
        unknown = f"that the service agents of {project} have roles/iam.serviceAccountTokenCreator on it"
        return f"the nodes' service account {account} is of another project, and this rehearsal cannot know {unknown}"
    member = f"serviceAccount:{account}"
    grants = [each.inputs for each in cloud.store.all(GRANT) if each.inputs["member"] == member]
    roles = {each["role"] for each in grants if each["project"] == project}
    if not roles.intersection(_NEEDED["roles"]) and not roles.issuperset(_NEEDED["parts"]):
        lacking = _NEEDED["roles"][0]
    elif at(config, "gcfsConfig.enabled") and not roles.intersection(_NEEDED["streaming"]):
        lacking = _NEEDED["streaming"][0]
    else:
        return None
    return f"the nodes' service account {account} lacks {lacking} on project {project}"


def _scopes(config: Properties) -> str | None:
    scopes = {str(each).rpartition("/")[2] for each in config.get("oauthScopes") or ()}
    if not scopes or "cloud-platform" in scopes:
        return None
    lacking = [what for what, ways in _NEEDED["scopes"].items() if not scopes.intersection(ways)]
    if not lacking:
        return None
    return f"the nodes' access scopes ({', '.join(sorted(scopes))}) lack one for: {', '.join(lacking)}"


def _network(cloud: SimulatedCloud, cluster: Properties, pool: Properties) -> str | None:
    """A private node needs Private Google Access or NAT; NAT must cover the pods, too.

    GKE turns Private Google Access on when it makes a cluster, and a program that declares the opposite turns it off
    again. Which ranges: https://cloud.google.com/nat/docs/nat-product-interactions
    """
    if not private(cluster, pool) or not cluster.get("subnetwork"):
        return None
    subnetwork = subnetwork_of(cloud, cluster)
    gateways = [_translated(gateway, subnetwork) for gateway in _gateways(cloud, subnetwork)]
    ranges = {range_ for served in gateways for range_ in served}
    pods = at(cluster, "ipAllocationPolicy.clusterSecondaryRangeName")
    name = subnetwork.inputs["name"]
    if not ranges.intersection({"nodes", "*"}) and not subnetwork.inputs.get("privateIpGoogleAccess"):
        return (
            f"its nodes are private, and subnetwork '{name}' has neither Private Google Access nor Cloud NAT for its "
            "primary range: they cannot pull from Google's registries"
        )
    if ranges and pods and not ranges.intersection({pods, "*"}):
        return f"Cloud NAT serves subnetwork '{name}', but not its range '{pods}', from which pods reach the Internet"
    return None


def _gateways(cloud: SimulatedCloud, subnetwork: Record) -> list[Properties]:
    """The NAT gateways of the subnetwork's region and network."""
    result = []
    for gateway in cloud.store.all(NAT):
        inputs = gateway.inputs
        router = cloud.store.get(
            ROUTER, f"projects/{inputs['project']}/regions/{inputs['region']}/routers/{inputs['router']}"
        )
        same_region = inputs["region"] == subnetwork.inputs["region"]
        if router is not None and same_region and router.outputs["network"] == subnetwork.outputs["network"]:
            result.append(inputs)
    return result


def _translated(gateway: Properties, subnetwork: Record) -> set[Any]:
    """The ranges of the subnetwork that the gateway serves: ``nodes``, names of secondary ones, or ``*`` for all."""
    how = gateway.get("sourceSubnetworkIpRangesToNat")
    if how != "LIST_OF_SUBNETWORKS":
        return {"nodes"} if how == "ALL_SUBNETWORKS_ALL_PRIMARY_IP_RANGES" else {"*"}
    ranges: set[Any] = set()
    for entry in gateway.get("subnetworks") or ():
        if str(entry["name"]).removeprefix(SELF_LINK) in (subnetwork.id, subnetwork.inputs["name"]):
            written = set(entry.get("sourceIpRangesToNats") or ())
            ranges |= {"*"} if "ALL_IP_RANGES" in written else set()
            ranges |= {"nodes"} if "PRIMARY_IP_RANGE" in written else set()
            ranges |= set(entry.get("secondaryIpRangeNames") or ())
    return ranges
