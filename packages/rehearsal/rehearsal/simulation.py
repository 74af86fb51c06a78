"""The seam between the simulated clouds (which know a vendor's API) and the simulated machines (which do not).

A simulated cloud describes what the real cloud would give the cluster; the fleet makes nodes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling

MACHINE_GPUS: Final = "rehearsal.gpucluster.dev/gpus"
"""Annotation of a node whose machine has GPUs, usable or not: how many."""

OF_NO_CLOUD: Final = ("eks-node-viewer/instance-price",)
"""Labels that Karpenter's kwok provider sets on new nodes, and the fleet removes a moment later:
https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/kwok/cloudprovider/cloudprovider.go"""

Advertiser = Literal[
    "cloud", "daemonset", "partitioner", "device-plugin", "installer-and-plugin", "neuron-plugin", "amd-plugin"
]

Renewal = Literal["", "cordon", "schedule", "force"]
"""Of a node that cannot be drained in time: it stays cordoned, takes pods again, or is renewed with what runs there."""

NO_DRIVER: Final = "DriverMissing"
"""Reason of a Kubernetes event about a Node: its GPUs cannot be used, no driver installer is Ready on it."""

NO_DEVICE_PLUGIN: Final = "DevicePluginMissing"
"""Reason of an event about a Node: its GPUs cannot be used, no device plugin offers them."""

NOT_SCALED: Final = "NodeGroupNotScaled"
"""Reason of an event about a Pod: a group would take it, but nothing may start a node of that group."""

NO_NODE: Final = "MachineWithoutNode"
"""Reason of an event about a Node that does not come: its machine runs, but cannot join the cluster."""

PROGRAM_FAILED: Final = "ProgramFailed"
"""Reason of an event about a Pod whose real program ended by itself, or cannot be started; its last words follow."""


@dataclass(frozen=True)
class NodeShape:
    """The shape of one node. ``cpu`` in cores, ``memory_gib`` in GiB, both before system reservations.

    ``reserved_milli_cpu`` and ``reserved_memory_mib`` are what the cloud keeps of it, with the memory that kernel and
    firmware take (``None``: the tiers of ``fleet/machine_types.py``).
    ``disk_mib`` is ephemeral storage for pods; 0 where the autoscaler knows of none while the group is empty.
    ``efa`` counts the network devices that AWS's EFA plugin offers to pods. Pods request ``gpus`` by ``gpu_resource``.
    ``arch`` is of its CPUs, in Kubernetes' words.
    """

    cpu: float
    memory_gib: float
    gpus: int = 0
    gpu_name: str = ""
    reserved_milli_cpu: int | None = None
    reserved_memory_mib: int | None = None
    max_pods: int = 110
    disk_mib: int = 100 * 1024
    efa: int = 0
    gpu_resource: str = "nvidia.com/gpu"
    arch: str = "amd64"


@dataclass(frozen=True)
class Packing:
    """When an autoscaler empties a node that is in use, if the pods fit on other nodes.

    ``gpus_below`` is the share of a node's ``devices`` in use, if it has some, up to which it goes; ``others_below``
    the share of another's CPU or memory, of what pods of DaemonSets leave if it ``ignores_daemon_sets``. Pods of
    ``kube-system`` that are not older than ``system_pods_minutes`` (``None``: of any age), and those with a local
    volume on disk keep their node unless they are moved as well. No node goes for ``delay_minutes`` after a node was
    added to any group, or ``delay_by_group`` to its own.
    """

    gpus_below: float
    others_below: float
    moves_system_pods: bool
    moves_local_storage: bool
    ignores_daemon_sets: bool = False
    # https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/utils/gpu/gpu.go
    devices: tuple[str, ...] = ("nvidia.com/gpu", "amd.com/gpu")
    # https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/config/flags/flags.go
    delay_minutes: float = 10
    delay_by_group: bool = False
    # https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.36.1/cluster-autoscaler/simulator/drainability/rules/system/rule.go
    system_pods_minutes: float | None = 60


@dataclass(frozen=True)
class SimulatedNodeGroup:
    """A group of identical machines exactly as the cloud's autoscaler sees it while the group is empty.

    Of ``nodes`` the machine's type, zones, labels, taints and price count: the price of one node orders the
    autoscaler's choice, cheapest first. ``scaling`` counts nodes over all zones, unless ``per_zone``. A group that is
    not autoscaled has ``initial_nodes`` per zone, or its minimum if that is more; another's exist at once, per zone.
    ``rank`` orders instead of the price where the autoscaler is told an order (smaller first).
    ``gpus_advertised_by`` says who makes a node's GPUs allocatable: the cloud itself, or a DaemonSet (driver installer,
    or device plugin) that must become ready on the node first (how it is recognised: ``rehearsal/fleet/drivers.py``).
    ``machine.gpus`` is what the autoscaler expects of a node; ``offered_gpus`` what the machine really has (slices
    count), if that differs. A device plugin's time slicing multiplies it, so its replicas are never part of it.
    ``efa`` are the devices that the machine really has.
    ``late_labels`` and ``late_taints`` are on every node, but the autoscaler cannot see them while the group is
    empty. ``not_scaled_because`` is the reason, for people, why no autoscaler may change this group's size; it is empty
    for a group that is meant to be fixed. ``packing`` is ``None`` where only empty nodes go. ``pods_ended_by`` is how
    pods end when the cloud takes a machine back: the node is drained, or the machine's kubelet ends them as it shuts
    down. ``renewal`` is what the cloud does in its maintenance with a node that it cannot drain in time; it is empty
    where the cloud renews no node of the group by itself. ``removal`` is what it does with a machine that its
    autoscaler or a reclaim removes. An ``atomic`` group has all its nodes or none: they start together, and end when
    none is needed or one of them ends. ``autoscaler_flags`` (``--name=value``) are declared by the stack, where it runs
    the autoscaler: a real one gets them. One that ``plans_whole`` takes the whole machine for what an empty group
    offers to pods, until it has seen a node.
    """

    name: str
    cluster: str
    machine: NodeShape
    nodes: Nodes
    scaling: Scaling
    per_zone: bool = False
    initial_nodes: int = 0
    rank: float | None = None
    gpus_advertised_by: Advertiser = "cloud"
    offered_gpus: int | None = None
    efa: int = 0
    late_labels: Mapping[str, str] = field(default_factory=dict)
    late_taints: tuple[Taint, ...] = ()
    not_scaled_because: str = ""
    packing: Packing | None = None
    pods_ended_by: Literal["eviction", "kubelet"] = "eviction"
    renewal: Renewal = ""
    removal: Literal["delete", "deallocate"] = "delete"
    atomic: bool = False
    autoscaler_flags: tuple[str, ...] = ()
    plans_whole: bool = False

    @property
    def gpus(self) -> int:
        """GPUs that a node really has, before a device plugin shares each out: the autoscaler may expect others."""
        return self.machine.gpus if self.offered_gpus is None else self.offered_gpus

    @property
    def planned_machine(self) -> NodeShape:
        """What the autoscaler plans with while there is no node."""
        whole = self.plans_whole and not self.scaling.min_nodes
        return replace(self.machine, reserved_milli_cpu=0, reserved_memory_mib=0) if whole else self.machine

    def not_scaled(self, because: str) -> SimulatedNodeGroup:
        """The group with the size that it has, which no autoscaler may change."""
        return replace(self, scaling=replace(self.scaling, autoscaled=False), not_scaled_because=because)

    def permanent(self) -> dict[str, int]:
        """Zone → nodes that always exist: the minimum, and all initial nodes of a group without autoscaling.

        A minimum over all zones is spread as evenly as possible, the first zones first.
        """
        zones, least = self.nodes.zones, self.scaling.min_nodes
        each, more = (least, 0) if self.per_zone else divmod(least, len(zones))
        minimum = {zone: each + (index < more) for index, zone in enumerate(zones)}
        if self.scaling.autoscaled:
            return minimum
        return {zone: max(count, self.initial_nodes) for zone, count in minimum.items()}


@dataclass(frozen=True)
class Balancing:
    """What the cloud's controllers answer for Services of type LoadBalancer and for Ingresses.

    ``host_name`` is the form of a balancer's DNS name, with ``{name}``; empty where it is an address. The cloud serves
    Ingresses of ``ingress_classes``; an empty class is that of an Ingress that names none.
    """

    host_name: str = ""
    ingress_classes: tuple[str, ...] = ()


BY_ADDRESS: Final = Balancing()
"""Balancers with an address each, and no Ingress."""


@dataclass(frozen=True)
class ManagedKarpenter:
    """Karpenter that a cloud runs beside the cluster, for the NodePools in it.

    ``node_class`` is the group, version and kind of the cloud's node classes, whose CustomResourceDefinition is
    ``definition``. ``offers`` has a group for each machine type in each market: its shape, zones and price. ``node``
    says what a node is, from its labels and the spec of its node class: labels, size, who advertises its GPUs.
    ``agent_taint``: key of the startup taint that the cluster's network agent removes from a node.
    """

    node_class: tuple[str, str, str]
    definition: Mapping[str, Any]
    offers: tuple[SimulatedNodeGroup, ...]
    node: Callable[[Mapping[str, str], Mapping[str, Any]], SimulatedNodeGroup]
    agent_taint: str | None = None


@dataclass(frozen=True)
class Node:
    """One machine that joins the cluster by itself, as its kubelet registers it and the cloud completes it.

    ``capacity`` and ``allocatable`` are Kubernetes ResourceLists without GPUs: the machine has ``gpus``, and
    ``gpus_advertised_by`` says who makes them allocatable; ``efa`` and ``gpu_resource`` as of a shape.
    ``taints`` are in the API's form.
    """

    name: str
    cluster: str
    provider_id: str
    labels: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...]
    capacity: Mapping[str, str]
    allocatable: Mapping[str, str]
    kubelet_version: str
    os_image: str
    gpus: int = 0
    gpus_advertised_by: Advertiser = "cloud"
    efa: int = 0
    gpu_resource: str = "nvidia.com/gpu"


@dataclass(frozen=True)
class Injection:
    """What a cloud adds to the containers of a pod when it is made.

    ``env`` are variables. With ``token_audience``, the variable ``token_variable`` names a file with a token of the
    pod's service account for that audience.
    """

    env: Mapping[str, str]
    token_audience: str = ""
    token_variable: str = ""


def makers_rights(*, everything: bool) -> dict[str, Any]:
    """What a cloud grants the creator of a cluster: all of Kubernetes' rights, which it can be asked for, or none.

    https://cloud.google.com/kubernetes-engine/docs/how-to/iam#container.admin,
    https://docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html,
    https://learn.microsoft.com/azure/aks/manage-azure-rbac
    """
    group, name = "rbac.authorization.k8s.io", "cluster-user"
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": name}] if everything else [],
    }


@dataclass(frozen=True)
class UserInfo:
    """As whom the API server knows somebody whom the cloud lets in."""

    user: str
    groups: tuple[str, ...] = ()


Injector = Callable[[str, str], Injection]
"""(namespace, service account) → what the cloud adds to such a pod."""


@dataclass(frozen=True)
class Endpoint:
    """Where the cluster's API server answers: ``host`` is ``127.0.0.1:PORT``, ``ca_pem_base64`` its CA.

    ``name`` is the same by a DNS name, with a certificate of an authority that every machine trusts. At ``nowhere``
    nobody answers. ``inside``: the client is in the cluster's network. ``client`` is an administrator's certificate and
    key, as the user of a kubeconfig.
    """

    host: str
    ca_pem_base64: str
    name: str
    nowhere: str
    inside: bool
    client: Mapping[str, str] = field(default_factory=dict)

    @property
    def private(self) -> str:
        """The address in the cluster's network, which leads nowhere from outside."""
        return self.host if self.inside else self.nowhere


@dataclass(frozen=True)
class Night:
    """A cloud's maintenance: the weekly ``window`` (``sunday 02:00 4 h``) in which it renews nodes, why it refuses to
    begin, and the nodes that the provider announced to others, who end them."""

    window: str
    refused: str = ""
    announced: tuple[str, ...] = ()


class Fleet(Protocol):
    """What a simulated cloud may ask of the simulated data centre. Calls are idempotent and thread-safe."""

    def create_cluster(
        self,
        name: str,
        *,
        version: str,
        region: str,
        zones: tuple[str, ...],
        system_objects: list[dict[str, Any]],
        balancing: Balancing = BY_ADDRESS,
    ) -> Endpoint:
        """Make the control plane this cluster's own, apply the cloud's system pods; raises if another exists."""
        ...

    def delete_cluster(self, name: str) -> None:
        """Remove groups, nodes and every object in the cluster; its API server answers no more."""

    def run_karpenter(self, cluster: str, karpenter: ManagedKarpenter) -> None:
        """Run the cloud's Karpenter for the cluster; it serves its kinds before this returns."""

    def apply_group(self, group: SimulatedNodeGroup) -> None:
        """Create or change a group; returns when its initial nodes are Ready."""

    def delete_group(self, cluster: str, name: str) -> None:
        """Drain and remove the group's nodes and the group."""

    def recreate_nodes(self, cluster: str, name: str) -> None:
        """Drain the group's nodes and end them, as clouds do to give them another version or disk; returns when those
        that it always has are there again."""

    def had_nodes(self, cluster: str, name: str) -> bool:
        """Whether the group has ever had a node."""
        ...

    def apply_objects(self, objects: list[dict[str, Any]]) -> None:
        """Apply the cloud's own objects in the existing cluster (an add-on's workloads, CRDs and what needs them)."""

    def apply_node(self, node: Node) -> None:
        """A machine has joined: make its Node, unless it is there already. It runs until it is stopped or removed."""

    def stop_node(self, cluster: str, name: str) -> None:
        """The machine has stopped: its kubelet answers no more, so its Node is not ready and its pods make no progress;
        the Node stays."""

    def remove_node(self, cluster: str, name: str) -> None:
        """The machine is gone for good: the cloud's controller removes its Node, and what ran there is lost."""

    def report_machine(self, cluster: str, name: str, because: str) -> None:
        """Say, as an event about the Node ``name`` that does not come, why a running machine cannot join."""

    def inject_with(self, injector: Injector) -> None:
        """Ask ``injector`` what the cloud adds to the containers of pods whose programs really run."""

    def list_objects(self, path: str) -> list[dict[str, Any]]:
        """Objects inside the cluster by API path (``/apis/apps/v1/deployments``), as an administrator; none while
        there is no cluster. For what a cloud learns from inside a cluster, such as an autoscaler."""
        ...

    def review_token(self, token: str, audience: str) -> dict[str, Any]:
        """What the cluster's API server says of a service account's token: a TokenReview's ``status``. Without a
        cluster nobody's token is any good."""
        ...
