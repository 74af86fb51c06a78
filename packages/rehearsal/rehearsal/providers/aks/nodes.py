"""What AKS makes of an agent pool: the labels and taints it adds, the group of machines that results, and the night on
which it gives nodes new images. And node auto-provisioning: the Karpenter that Azure runs for a cluster, and its nodes.

https://learn.microsoft.com/azure/aks/node-auto-provisioning. Azure's provider of Karpenter itself is not run: see
docs/adr/0011-node-auto-provisioning.md.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, cast

from facts import catalog
from facts.catalog.aks.nodes import MAX_PODS, disk_mib, reserved_mib, reserved_milli_cpu
from facts.catalog.model import Machine
from facts.concepts import durations
from facts.concepts.kubernetes import Effect, Taint, resource_of
from facts.concepts.parts import Nodes, Scaling
from rehearsal.providers.aks.cloud import CLUSTER, Subscription, bad_request
from rehearsal.providers.base import Properties, at
from rehearsal.providers.cloud import Record
from rehearsal.providers.resource import manifests
from rehearsal.simulation import Advertiser, ManagedKarpenter, Night, NodeShape, Packing, Renewal, SimulatedNodeGroup

POOL_LABEL: Final = "agentpool"
PREFIX: Final = "kubernetes.azure.com/"
SPOT_KEY: Final = f"{PREFIX}scalesetpriority"
SPOT_TAINT: Final = f"{SPOT_KEY}=spot:NoSchedule"
"""https://learn.microsoft.com/azure/aks/spot-node-pool"""

# Of one GPU; an A100's table at https://learn.microsoft.com/azure/aks/gpu-multi-instance, the same on H100 and H200.
MIG_SLICES: Final[Mapping[str, int]] = {"MIG1g": 7, "MIG2g": 3, "MIG3g": 2, "MIG4g": 1, "MIG7g": 1}

# Of Azure CNI: Overlay, and with addresses of the nodes' subnet. https://learn.microsoft.com/azure/aks/quotas-skus-regions
OVERLAY_PODS: Final = 250
SUBNET_PODS: Final = 30

# vCPUs → GB of an OS disk without a size: https://learn.microsoft.com/azure/aks/concepts-storage#default-os-disk-sizing
_DISKS_GB: Final = ((64, 1024), (16, 512), (8, 256), (0, 128))
_PREMIUM: Final = re.compile(r"Standard_[A-Z]+\d+(?:-\d+)?[a-z]*s[a-z]*_.*")
"""The letter s: https://learn.microsoft.com/azure/virtual-machines/vm-naming-conventions"""


def is_spot(pool: Mapping[str, Any]) -> bool:
    """Whether the pool's machines are spot machines."""
    return pool.get("scaleSetPriority") == "Spot"


def can_mig(machine: Machine) -> bool:
    """Whether AKS partitions the machine's GPUs."""
    accelerator = catalog.of("aks").machines.accelerators.get(machine.gpu or "")
    return accelerator is not None and bool(accelerator.partitions)


def is_amd(machine: Machine) -> bool:
    """Whether the machine has AMD's GPUs, for which AKS installs nothing: https://learn.microsoft.com/azure/aks/use-amd-gpus"""
    return resource_of(machine.gpu or "") == "amd.com/gpu"


def _planned_gpus(machine: Machine, pool: Mapping[str, Any]) -> int:
    """GPUs that the autoscaler expects of a node: it takes a machine's for NVIDIA's, and knows others by a tag alone.

    https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/cloudprovider/azure/azure_template.go
    """
    if not is_amd(machine) or not pool.get("enableAutoScaling"):
        return machine.gpus
    return int((pool.get("tags") or {}).get("k8s.io_cluster-autoscaler_node-template_resources_amd.com_gpu") or 0)


def zones_of(region: str, pool: Mapping[str, Any]) -> tuple[str, ...]:
    """The pool's zones as values of the nodes' zone label; ``0`` if the pool has none.

    https://learn.microsoft.com/azure/aks/availability-zones
    """
    return tuple(f"{region}-{number}" for number in sorted(pool.get("availabilityZones") or [])) or ("0",)


def effective_taints(pool: Mapping[str, Any]) -> list[str]:
    """The pool's taints: those declared, and the one that AKS puts on every spot node."""
    declared = list(pool.get("nodeTaints") or [])
    return [*declared, SPOT_TAINT] if is_spot(pool) and SPOT_TAINT not in declared else declared


def effective_labels(pool: Mapping[str, Any], *, new: bool) -> dict[str, str]:
    """The pool's labels as its answer shows them: those declared, and the one that AKS gives a new spot pool.

    An update leaves those alone that it names, so AKS's own goes, from the nodes too: https://github.com/Azure/AKS/issues/3152
    and https://github.com/kubernetes-sigs/cluster-api-provider-azure/issues/2603 (2022; no word of a change since).
    """
    return {**(pool.get("nodeLabels") or {}), **({SPOT_KEY: "spot"} if new and is_spot(pool) else {})}


def node_labels(
    cluster: Properties, name: str, pool: Mapping[str, Any], machine: Machine, node_group: str
) -> dict[str, str]:
    """Every label that a node of the pool gets; region, zone and machine type come with the node.

    https://learn.microsoft.com/azure/aks/use-labels, and those that users show of their nodes (``recorded_nodes.yaml``
    in the tests). AKS 1.30 no longer sets ``kubernetes.io/role``.
    """
    storage = {"storageprofile": str(pool.get("osDiskType") or "Managed").lower()}
    # What machines without Premium storage, and disks of the machine itself, have is not recorded.
    if storage["storageprofile"] == "managed" and _PREMIUM.fullmatch(machine.type):
        storage["storagetier"] = "Premium_LRS"
    labels = {
        POOL_LABEL: name,
        f"{PREFIX}agentpool": name,
        f"{PREFIX}cluster": node_group,
        f"{PREFIX}mode": str(pool.get("mode") or "User").lower(),
        f"{PREFIX}nodepool-type": pool.get("type") or "VirtualMachineScaleSets",
        f"{PREFIX}os-sku": pool.get("osSKU") or "Ubuntu",
        f"{PREFIX}role": "agent",
        f"{PREFIX}sku-cpu": str(machine.vcpus),
        f"{PREFIX}sku-memory": str(int(1024 * machine.memory_gib)),
        **storage,
        **{f"{PREFIX}{key}": value for key, value in storage.items()},
    }
    if is_overlay(cluster):
        labels |= {f"{PREFIX}podnetwork-type": "overlay", f"{PREFIX}azure-cni-overlay": "true"}
    if machine.gpus:
        # https://learn.microsoft.com/azure/aks/cluster-autoscaler: the label by which the autoscaler knows GPU nodes.
        maker = str(machine.gpu).partition("-")[0]
        labels |= {f"{PREFIX}accelerator": maker, "accelerator": maker}
    return {**labels, **(pool.get("nodeLabels") or {})}


def scale_set(cluster: str, pool: str) -> str:
    """The name of the pool's scale set, ``aks-<pool>-<eight digits>-vmss``: what the autoscaler's priorities match."""
    return f"aks-{pool}-{zlib.crc32(cluster.lower().encode()) % 10**8:08d}-vmss"


def max_pods(cluster: Properties, pool: Mapping[str, Any]) -> int:
    """Pods on a node of the pool."""
    if pool.get("maxPods"):
        return int(pool["maxPods"])
    return OVERLAY_PODS if is_overlay(cluster) else SUBNET_PODS


def is_overlay(cluster: Properties) -> bool:
    """Whether pods have addresses of an overlay, which Azure takes where a cluster names neither plugin nor subnet."""
    network = cluster.get("networkProfile") or {}
    if network.get("networkPluginMode"):
        return bool(network["networkPluginMode"] == "overlay")
    own_subnet = any(pool.get("podSubnetID") for pool in cluster.get("agentPoolProfiles") or ())
    return network.get("networkPlugin") is None and not own_subnet


def node_group(
    cloud: Subscription, cluster: Properties, name: str, pool: Properties, made_in: str, rank: float | None
) -> SimulatedNodeGroup:
    """The machines behind a pool whose inputs were checked, with the labels that it has in the end.

    ``made_in`` is the cluster's own resource group.
    """
    machine = cloud.catalog.machines.get(pool["vmSize"])
    if machine is None:
        raise ValueError(f"pool {name}: no machine {pool['vmSize']}")
    region = cluster["location"]
    zones = zones_of(region, pool)
    autoscaled = bool(pool.get("enableAutoScaling"))
    count = 1 if pool.get("count") is None else int(pool["count"])
    slices = pool.get("gpuInstanceProfile")
    unneeded = durations.seconds(str(at(cluster, "autoScalerProfile.scaleDownUnneededTime")))
    low = int(pool.get("minCount") or 0) if autoscaled else count
    disk_gb = int(pool.get("osDiskSizeGB") or next(gb for least, gb in _DISKS_GB if machine.vcpus >= least))
    return SimulatedNodeGroup(
        name=name,
        cluster=cluster["resourceName"],
        machine=replace(
            _machine(cloud, machine, max_pods(cluster, pool), disk_gb), gpus=(planned := _planned_gpus(machine, pool))
        ),
        nodes=Nodes(
            machine_types=(machine.type,),
            zones=zones,
            labels=node_labels(cluster, name, pool, machine, made_in),
            taints=tuple(map(taint, effective_taints(pool))),
            # A spot machine costs no more than the same machine on demand.
            hourly_usd=min(cloud.hourly_usd(machine, region, spot=each) for each in {is_spot(pool), False}),
        ),
        scaling=Scaling(
            autoscaled=autoscaled,
            min_nodes=low,
            max_nodes=int(pool.get("maxCount") or 0) if autoscaled else count,
            capacity_type="spot" if is_spot(pool) else "on-demand",
            reservation=pool.get("capacityReservationGroupID") or None,
            unneeded_minutes=None if unneeded is None else round(unneeded / 60),
        ),
        # A count is for all zones. A remainder is left to the minimum.
        initial_nodes=count // len(zones) if autoscaled else 0,
        rank=rank,
        gpus_advertised_by=_advertiser(machine, pool),
        offered_gpus=machine.gpus * MIG_SLICES.get(slices or "", 1) if slices or planned != machine.gpus else None,
        packing=_packing(cluster) if autoscaled else None,
        # https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/cloudprovider/azure/azure_template.go
        plans_whole=True,
        renewal=_renewal(pool) if renews_images(cluster) else "",
        # Such nodes stay registered: https://learn.microsoft.com/azure/aks/scale-down-mode
        removal="deallocate"
        if "Deallocate" in (pool.get("scaleDownMode"), pool.get("scaleSetEvictionPolicy"))
        else "delete",
    )


def renews_images(cluster: Mapping[str, Any]) -> bool:
    """Whether AKS gives nodes new images by itself: https://learn.microsoft.com/azure/aks/auto-upgrade-node-os-image."""
    return at(cluster, "autoUpgradeProfile.nodeOSUpgradeChannel") in (None, "NodeImage", "SecurityPatch")


def _renewal(pool: Mapping[str, Any]) -> Renewal:
    """https://learn.microsoft.com/javascript/api/@azure/arm-containerservice/knownundrainablenodebehavior"""
    return "cordon" if at(pool, "upgradeSettings.undrainableNodeBehavior") == "Cordon" else "schedule"


_DELAY_SECONDS: Final = 600


def _packing(cluster: Properties) -> Packing:
    """How the autoscaler packs, by the cluster's profile; of GPUs the profile says nothing, so it is upstream's half.

    Defaults of the profile: https://learn.microsoft.com/azure/aks/cluster-autoscaler
    """
    profile = cluster.get("autoScalerProfile") or {}
    return Packing(
        gpus_below=0.5,
        others_below=float(profile.get("scaleDownUtilizationThreshold") or 0.5),
        moves_system_pods=profile.get("skipNodesWithSystemPods") == "false",
        moves_local_storage=profile.get("skipNodesWithLocalStorage") != "true",
        delay_minutes=(durations.seconds(profile.get("scaleDownDelayAfterAdd") or "") or _DELAY_SECONDS) / 60,
    )


def taint(text: str) -> Taint:
    """A taint ``key=value:Effect``."""
    pair, _, effect = text.rpartition(":")
    key, _, value = pair.partition("=")
    return Taint(key, value or None, cast("Effect", effect))


def _machine(cloud: Subscription, machine: Machine, pods: int, disk_gb: int) -> NodeShape:
    return NodeShape(
        cpu=machine.vcpus,
        memory_gib=machine.memory_gib,
        gpus=machine.gpus,
        gpu_name=cloud.catalog.machines.accelerators[machine.gpu].name if machine.gpu else "",
        gpu_resource=resource_of(machine.gpu or ""),
        reserved_milli_cpu=reserved_milli_cpu(machine.vcpus),
        reserved_memory_mib=reserved_mib(machine.memory_gib, pods),
        max_pods=pods,
        disk_mib=disk_mib("ubuntu", disk_gb),
    )


def _advertiser(machine: Machine, pool: Mapping[str, Any]) -> Advertiser:
    if not machine.gpus:
        return "cloud"
    without = at(pool, "gpuProfile.driver") == "None"
    if is_amd(machine) and without:
        return "amd-plugin"
    # The driver is in the image unless the user brings it; the device plugin always is the user's.
    # https://learn.microsoft.com/azure/aks/use-nvidia-gpu. With an AKSNodeClass that has Azure install a driver,
    # Karpenter starts no machine of AMD's; here nothing makes its GPUs usable.
    return "daemonset" if without or is_amd(machine) else "device-plugin"


MAINTENANCE: Final = "azure-native:containerservice:MaintenanceConfiguration"
IMAGES_WINDOW: Final = "aksManagedNodeOSUpgradeSchedule"


def night(cloud: Subscription) -> Night | None:
    """When AKS gives nodes new images; refused as an upgrade is that a budget would block for certain.

    https://learn.microsoft.com/troubleshoot/azure/azure-kubernetes/error-codes/unsatisfiablepdb-error. A budget that
    keeps more pods than it selects is none of those: https://github.com/Azure/AKS/releases/tag/2025-01-30
    """
    if not any(map(renews_images, (each.inputs for each in cloud.store.all(CLUSTER)))):
        return None
    windows = [each for each in cloud.store.all(MAINTENANCE) if each.inputs["configName"] == IMAGES_WINDOW]
    budgets = cloud.machines().list_objects("/apis/policy/v1/poddisruptionbudgets")
    problems = "; ".join(filter(None, map(_unsatisfiable, budgets)))
    refused = f"UnsatisfiablePDB: Upgrade is blocked due to invalid Pod Disruption Budgets (PDBs). {problems}"
    window = at(windows[0].inputs, "maintenanceWindow") if windows else None
    when = "any hour" if window is None else _when(window)
    return Night(when, refused=refused if problems else "")


def _when(window: Properties) -> str:
    weekly = at(window, "schedule.weekly") or {}
    return f"{weekly.get('dayOfWeek', 'any day').lower()} {window['startTime']} {window['durationHours']} h"


def _unsatisfiable(budget: Properties) -> str | None:
    spec, expected = budget["spec"], at(budget, "status.expectedPods") or 0
    name = f"PDB {budget['metadata']['namespace']}/{budget['metadata']['name']}"
    if budget["metadata"]["namespace"] == "kube-system":
        return None
    if str(spec.get("maxUnavailable", "")) in ("0", "0%"):
        return f"{name} has maxUnavailable == 0 can't proceed with put operation"
    if 0 < expected == spec.get("minAvailable"):
        return f"{name} has minAvailable({expected}) >= expectedPods({expected}) can't proceed with put operation"
    return None


_NODE_CLASS: Final = ("karpenter.azure.com", "v1beta1", "AKSNodeClass")
_TYPE: Final = "node.kubernetes.io/instance-type"
_MARKET: Final = "karpenter.sh/capacity-type"
_AGENT_TAINT: Final = "node.cilium.io/agent-not-ready"
_DATAPLANE: Final = f"{PREFIX}ebpf-dataplane"
_PLANNED_DISK_GB: Final = 2048
"""The largest. Azure's provider plans with the node class's, kwok with one size for all pools of a machine type."""

# Of agent pools alone.
_NOT_THERE: Final = (POOL_LABEL, f"{PREFIX}agentpool", f"{PREFIX}nodepool-type")


def provisions(cluster: Mapping[str, Any]) -> bool:
    """Whether the cluster has node auto-provisioning, which AKS Automatic brings with it."""
    mode, automatic = at(cluster, "nodeProvisioningProfile.mode"), at(cluster, "sku.name") == "Automatic"
    return mode == "Auto" or (mode is None and automatic)


def problems(cloud: Subscription, cluster: Record) -> list[str] | None:
    """NodePools that do not reckon with Cilium, whose agent taints each node until it is ready; ``None`` without it.

    https://github.com/Azure/karpenter-provider-azure/issues/1442, https://karpenter.sh/docs/faq (extra nodes)
    """
    if not provisions(cluster.inputs) or not _has_cilium(cluster.inputs):
        return None
    wrong = []
    for pool in cloud.machines().list_objects("/apis/karpenter.sh/v1/nodepools"):
        template, name = pool["spec"]["template"], f"NodePool {pool['metadata']['name']}"
        if _AGENT_TAINT not in [taint["key"] for taint in at(template, "spec.startupTaints") or ()]:
            wrong.append(
                f"{name}: without the startup taint {_AGENT_TAINT} Karpenter starts a second node for its pods"
            )
        if ((template.get("metadata") or {}).get("labels") or {}).get(_DATAPLANE) != "cilium":
            wrong.append(f"{name}: without the label {_DATAPLANE}=cilium Karpenter does not count what Cilium requests")
    return wrong


def _has_cilium(cluster: Mapping[str, Any]) -> bool:
    return at(cluster, "networkProfile.networkDataplane") == "cilium"


def require_one_autoscaler(cluster: Properties, pools: list[Properties]) -> None:
    """400 if one of the pools has the cluster autoscaler beside node auto-provisioning.

    "Autoscaling Node Pools cannot be" created (https://learn.microsoft.com/rest/api/aks/managed-clusters/create-or-update,
    NodeProvisioningMode); both need a preview feature (https://learn.microsoft.com/azure/aks/migrate-from-autoscaler-to-node-auto-provisioning).
    Azure's words are not quoted anywhere.
    """
    if provisions(cluster) and any(pool.get("enableAutoScaling") for pool in pools):
        raise bad_request(
            "Node auto provisioning is not supported on a cluster with node pools that have the cluster autoscaler "
            "enabled, unless the feature AllowClusterAutoscalerAndNAP is registered."
        )


def karpenter(cloud: Subscription, cluster: Record) -> ManagedKarpenter:
    """Azure's Karpenter for the cluster, which may start every size of the catalogue in every zone."""
    (definition,) = manifests(Path(__file__).parent / "system", "aksnodeclass")

    def node(labels: Mapping[str, str], spec: Mapping[str, Any]) -> SimulatedNodeGroup:
        group = _group(cloud, cluster, labels[_TYPE], spec, spot=labels[_MARKET] == "spot")
        own = {key: value for key, value in group.nodes.labels.items() if key not in _NOT_THERE}
        # https://github.com/Azure/karpenter-provider-azure/blob/v1.14.2/pkg/providers/labels/labels.go
        priority = "spot" if group.scaling.spot else "regular"
        own |= {f"{PREFIX}scalesetpriority": priority, f"{PREFIX}priority": priority}
        own["karpenter.azure.com/sku-name"] = group.nodes.machine_type
        return replace(group, nodes=replace(group.nodes, labels=own), renewal="")

    agent_taint = _AGENT_TAINT if _has_cilium(cluster.inputs) else None
    return ManagedKarpenter(_NODE_CLASS, definition, tuple(_offers(cloud, cluster)), node, agent_taint)


def _offers(cloud: Subscription, cluster: Record) -> Iterator[SimulatedNodeGroup]:
    region = cluster.inputs["location"]
    for name in cloud.catalog.machines.types:
        machine = cloud.catalog.machines.get(name)
        having = cloud.catalog.machine_zones(machine) if machine is not None else None
        zones = tuple(zone for zone in cloud.catalog.regions[region] if having is None or zone in having)
        for spot in (False, True) if zones else ():
            spec = {"osDiskSizeGB": _PLANNED_DISK_GB, "maxPods": MAX_PODS}
            group = _group(cloud, cluster, name, spec, spot=spot)
            yield replace(group, nodes=replace(group.nodes, zones=zones))


def _group(
    cloud: Subscription, cluster: Record, name: str, spec: Mapping[str, Any], *, spot: bool
) -> SimulatedNodeGroup:
    """A node as that of an agent pool of one machine."""
    pool = {
        "vmSize": name,
        "count": 1,
        "maxPods": spec.get("maxPods"),
        "osDiskSizeGB": spec.get("osDiskSizeGB"),
        "osSKU": "AzureLinux" if spec.get("imageFamily") == "AzureLinux" else "Ubuntu",
        "scaleSetPriority": "Spot" if spot else "Regular",
        "gpuProfile": {"driver": "None" if at(spec, "gpu.mode") == "None" else "Install"},
    }
    return node_group(cloud, cluster.inputs, name, pool, cluster.outputs["nodeResourceGroup"], None)
