"""Checks that need more than one part of the file: room for all nodes, the budget, reservations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from difflib import get_close_matches
from functools import partial
from ipaddress import IPv4Network
from itertools import count
from typing import Final

from components.settings.fields.check import requests_on, series
from components.settings.fields.problems import Problem, instead
from components.settings.fields.types import NotValidYet
from components.settings.limits.joining import needs_of_owner
from components.settings.pools.settings import Settings
from components.settings.sections.pools import MOST_ADMIN_NODES
from facts import catalog
from facts.catalog import Machine
from facts.catalog.machines import Machines
from facts.catalog.model import Resources
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.counts import counted
from facts.concepts.kubernetes import quantity
from facts.concepts.namespaces import PUBLIC
from facts.concepts.pool import ADMIN_POOL_NAME, Pool

_SMALLEST_SERVICES: Final = 27


def volume_problems(settings: Settings) -> Iterator[Problem]:
    """Problems of the shared volume, if there is one."""
    volume, sold = settings.workloads.shared_volume, catalog.of(settings.cloud).choices.volume_gib
    if volume is None:
        return
    path = "workloads.sharedVolume"
    if volume.size_gib is not None and sold is None:
        yield Problem(
            f"{path}.sizeGib",
            "shared volumes on this cloud have no size: they grow with their contents",
            "Leave it out",
        )
    elif volume.size_gib is not None and sold is not None and not sold[0] <= volume.size_gib <= sold[1]:
        yield Problem(
            f"{path}.sizeGib",
            f"{volume.size_gib} GiB is not a supported size",
            f"Write {sold[0]} to {sold[1]}",
        )
    if settings.network.existing is not None:
        yield Problem(
            path,
            "a shared volume needs a new resource in the network, and the program never changes an existing network",
            "Leave it out, and mount a file system of that network with your own PersistentVolume",
        )


def partition_problems(settings: Settings, otherwise: str = "") -> Iterator[Problem]:
    """MIG partitions that the pool's GPU does not have; ``otherwise``: what the remedy adds where nodes share GPUs."""
    otherwise = "" if settings.autoscaler in KARPENTERS else otherwise
    accelerators = catalog.of(settings.cloud).machines.accelerators
    partitioned = [gpu for gpu, accelerator in accelerators.items() if accelerator.partitions]
    for pool in settings.gpu_pools:
        sizes = accelerators[pool.gpus.type].partitions
        if pool.gpus.mig is None or pool.gpus.mig in sizes:
            continue
        if sizes:
            message = f"{settings.cloud.upper()} has no {pool.gpus.mig} partitions"
            remedy = f"Write one of {', '.join(sizes)}"
        else:
            message = f"{settings.cloud.upper()} does not partition {pool.gpus.type} (MIG)"
            remedy = f"Leave it out{otherwise}, or write gpu: {partitioned[0]} (also {', '.join(partitioned[1:])})"
        yield Problem(f"{pool.declared_at}.mig", message, remedy)


def version_problems(settings: Settings) -> Iterator[Problem]:
    """A pinned version that the cloud no longer has, or only in its channel of extended support."""
    written, known, cloud = settings.kubernetes.version, catalog.of(settings.cloud), settings.cloud.upper()
    if written is None:
        return
    oldest = min(map(minor, known.choices.supported))
    if minor(written) < oldest or known.choices.ended(written, settings.day, extended=True):
        yield Problem(
            "kubernetes.version",
            f"{cloud} no longer supports Kubernetes {written}",
            "Write a newer version, or leave it out",
        )
    elif known.choices.ended(written, settings.day) and settings.kubernetes.channel != "extended":
        yield Problem(
            "kubernetes.version",
            f"Kubernetes {written} is in extended support, which {cloud} has in the channel extended only, at an extra "
            "fee",
            "Write a newer version, or channel: extended",
        )


def oldest_version(settings: Settings, least: int) -> str:
    """The oldest minor from ``least`` on that the cloud has in the stack's channel."""
    choices, extended = catalog.of(settings.cloud).choices, settings.kubernetes.channel == "extended"
    versions = (f"1.{each}" for each in count(least))
    return next(version for version in versions if not choices.ended(version, settings.day, extended=extended))


def minor(version: str) -> int:
    """The minor of a version such as ``1.35`` or ``1.35.2``."""
    return int(version.removeprefix("v").split(".")[1])


def existing_too_small(key: str, name: str, network: IPv4Network, room: int, nodes: int, upgrades: int = 0) -> Problem:
    """A range of an existing network that is too small for all pools at maxNodes; ``upgrades`` are of the ``nodes``."""
    of_them = f", {upgrades} of them during upgrades" if upgrades else ""
    return Problem(
        f"network.existing.{key}",
        f"'{name}' ({network}) has room for {counted(room, 'node')}, but the pools may grow to {nodes}{of_them}",
        "Use a larger one, or lower maxNodes",
    )


def warnings(settings: Settings) -> list[str]:
    """What a valid file may be wrong about, a sentence each: the tools may not fit beside the system pods; a namespace
    of ``access`` may be a misspelled team, or have Services with names of the internet; a quota may limit what no node
    offers."""
    problems = (
        *_admin_room(settings, certain=False),
        *_members(settings),
        *_slices_of_teams(settings),
        *_public_names(settings),
    )
    return [str(problem) for problem in problems]


def _slices_of_teams(settings: Settings) -> Iterator[Problem]:
    """Every slice of the cloud's and of the program's device plugins is a GPU; others may offer them by profile."""
    if any(pool.gpus.drivers == "none" for pool in settings.gpu_pools):
        return
    for index, team in enumerate(settings.teams):
        if team.mig_slices:
            yield Problem(
                f"teams[{index}].migSlices",
                f"limits nothing for '{team.name}': no pool has drivers: none, and all other device plugins offer "
                "slices as GPUs",
                "Limit them by gpus, of which each slice is one",
            )


def _public_names(settings: Settings) -> Iterator[Problem]:
    places = {team.name: f"teams[{index}].name" for index, team in enumerate(settings.teams)}
    for namespace in settings.user_namespaces:
        if namespace in PUBLIC:
            yield Problem(
                places.get(namespace, "access"),
                f"'{namespace}' is also a domain of the internet: a Service 'x' of that namespace has the name "
                f"x.{namespace}, and every pod of the cluster that asks for that name reaches it",
                f"Write another name, such as '{namespace}-team'; a namespace that is there keeps what runs in it",
            )


def _members(settings: Settings) -> Iterator[Problem]:
    """A namespace of developers that is no team, and is called almost as a team without developers."""
    named = [each for entry in settings.access if entry.role == "developer" for each in entry.namespaces]
    empty = [team.name for team in settings.teams if team.name not in named]
    for namespace in dict.fromkeys(named):
        nearest = get_close_matches(namespace, empty, 1)
        if nearest and namespace not in [team.name for team in settings.teams]:
            yield Problem(
                "access",
                f"the namespace '{namespace}' is no team, so its pods have no GPU quota, and the team '{nearest[0]}' "
                "has no developer",
                f"Did you mean '{nearest[0]}'?",
            )


def _admin_maximum(settings: Settings) -> Iterator[Problem]:
    admin = settings.admin_pool
    if admin.scaling.max_nodes < admin.scaling.min_nodes:
        yield Problem(
            "adminPool.maxNodes",
            f"{admin.scaling.max_nodes} is below the minimum of {counted(admin.scaling.min_nodes, 'node')} "
            f"({admin.nodes_per_zone} in each of {counted(len(admin.nodes.zones), 'zone')})",
            f"Write {admin.scaling.min_nodes} or more",
        )


def _admin_room(settings: Settings, *, certain: bool) -> Iterator[Problem]:
    """The tools of ``workloads`` must fit on the admin pool beside the system pods of the cluster at its maximum: those
    come first, and the scheduler would end tools for them. Without tools the admin pool may grow for system pods.

    What system pods request is their ``certain`` part, or all of it."""
    tools, admin, known = settings.workloads.tools, settings.admin_pool, catalog.of(settings.cloud)
    machine = known.machines.get(admin.nodes.machine_type)
    if machine is None:
        return
    admin_nodes = admin.scaling.min_nodes if tools else admin.scaling.max_nodes
    nodes = known.nodes
    volume = nodes.volume_pods if settings.workloads.shared_volume is not None else ()
    every_pod = (*nodes.system_pods, *nodes.pods_of(settings.addons), *volume)
    pods = [pod.certain if certain else pod for pod in every_pod if not pod.gpu_node]

    tool_requests = [request for tool in tools.values() for request in tool.asked]
    wanted = Resources(
        milli_cpu=sum(request.milli_cpu for request in tool_requests),
        memory_mib=sum(request.memory_mib for request in tool_requests),
    )

    def free(type: Machine, more: int) -> Resources:
        """What the system pods leave if the admin pool is of this type, and has so many nodes more."""
        larger = replace(
            admin,
            nodes=replace(admin.nodes, machine_types=(type.type,)),
            scaling=replace(admin.scaling, max_nodes=admin.scaling.max_nodes + more),
        )
        vcpus = sum(_most_vcpus(known.machines, pool) for pool in (larger, *settings.pools))
        all_nodes = settings.max_nodes + more
        system = requests_on(nodes, pods, admin_nodes=admin_nodes + more, all_nodes=all_nodes, vcpus=vcpus)
        node = nodes.allocatable(type)
        return Resources(
            milli_cpu=(admin_nodes + more) * node.milli_cpu - system.milli_cpu,
            memory_mib=(admin_nodes + more) * node.memory_mib - system.memory_mib,
        )

    def enough(type: Machine, more: int) -> bool:
        left = free(type, more)
        return left.milli_cpu >= wanted.milli_cpu and left.memory_mib >= wanted.memory_mib

    if enough(machine, 0):
        return
    # Each admin node brings system pods of its own: one more may not do, and on a small machine none does.
    larger = [each.type for each in _series(known.machines) if each.vcpus > machine.vcpus and enough(each, 0)]
    remedies = [f"adminPool.machineType: {type}" for type in larger[:1]]
    if tools or settings.autoscaler in KARPENTERS:
        per_zone = range(1, MOST_ADMIN_NODES + 1 - admin.nodes_per_zone)
        more = next((each for each in per_zone if enough(machine, each * len(admin.nodes.zones))), None)
        remedies += [] if more is None else [f"adminPool.nodes: {admin.nodes_per_zone + more}"]
    else:
        more = next((each for each in range(1, settings.max_nodes + 100) if enough(machine, each)), None)
        grows = (
            f"adminPool.maxNodes: {admin.scaling.max_nodes + (more or 0)}; the admin pool then grows with the others"
        )
        remedies = [*([] if more is None else [grows]), *remedies][:1]
    may = "" if certain else "may "
    left, what = free(machine, 0), f"the system pods of {counted(settings.max_nodes, 'node')}"
    amounts = {f"{-left.milli_cpu}m CPU": left.milli_cpu, f"{-left.memory_mib} MiB": left.memory_mib}
    lacking = " and ".join(text for text, amount in amounts.items() if amount < 0)
    yield Problem(
        f"workloads.{next(iter(tools))}" if tools else "adminPool.maxNodes",
        f"{', '.join(tools)} request {wanted.milli_cpu}m CPU and {wanted.memory_mib} MiB, but {admin_nodes} × "
        f"{machine.type} {may}leave {left.milli_cpu}m and {left.memory_mib} MiB after {what}"
        if tools
        else f"{what} {may}request {lacking} more than {admin_nodes} × {machine.type} have for pods",
        f"Write {', or '.join(remedies)}" if remedies else "Lower maxNodes of the pools",
    )


def _series(machines: Machines) -> list[Machine]:
    """The machines of the cloud's usual series, in ascending size."""
    usual = series(machines.default_cpu)
    alike = [machines.get(type) for type in machines.types if series(type) == usual]
    return sorted((each for each in alike if each is not None), key=lambda each: (each.vcpus, each.memory_gib))


def _most_vcpus(machines: Machines, pool: Pool) -> float:
    types = [machine for type in pool.nodes.machine_types if (machine := machines.get(type)) is not None]
    return pool.scaling.max_nodes * max((machine.vcpus for machine in types), default=0)


def _room(settings: Settings) -> Iterator[Problem]:
    if settings.network.existing is not None:
        return  # Its ranges are checked where the network is looked up.
    known, nodes = catalog.of(settings.cloud), settings.max_nodes
    per_node, reserved = known.nodes.pod_addresses, known.choices.reserved_addresses
    own = IPv4Network(settings.network.node_cidr)
    if settings.network.pod_cidr is None:
        yield from _too_small("network.nodeCidr", own, nodes, per_node, reserved, "")
        return
    pods = IPv4Network(settings.network.pod_cidr)
    yield from _too_small("network.podCidr", pods, nodes, per_node, 0, "the pods of ")
    yield from _too_small("network.nodeCidr", own, nodes, 1, reserved, "")


def _services(settings: Settings) -> Iterator[Problem]:
    """A cluster has a dozen services of its own, with DNS at a fixed place among the first addresses. Google's smallest
    range is /27 (https://cloud.google.com/kubernetes-engine/docs/concepts/alias-ips#cluster_sizing, general knowledge);
    a cloud that needs a larger one refuses it in its own module."""
    written = settings.network.service_cidr
    if written and IPv4Network(written).prefixlen > _SMALLEST_SERVICES:
        yield Problem(
            "network.serviceCidr",
            f"{written} has too few addresses for the cluster's own services",
            f"Write a range with prefix /{_SMALLEST_SERVICES} or shorter; it cannot grow later",
        )


def _too_small(path: str, network: IPv4Network, nodes: int, each: int, reserved: int, what: str) -> Iterator[Problem]:
    """A range with too few addresses for all pools at maxNodes, ``each`` being the addresses per node."""
    room = max(network.num_addresses - reserved, 0) // each
    if room < nodes:
        addresses = f" ({each} addresses each)" if each > 1 else ""
        prefix = 32 - (nodes * each + reserved - 1).bit_length()
        yield Problem(
            path,
            f"{network} has room for {what}{counted(room, 'node')}{addresses}, but the pools may grow to {nodes}",
            f"Write a range with prefix /{prefix} or shorter, or lower maxNodes",
        )


def _budget(settings: Settings) -> Iterator[Problem]:
    limit = settings.budget_hourly_usd
    if limit is None:
        return
    if settings.cost_max_hourly is None:
        place = f" in {settings.region}" if settings.region else ""
        yield Problem(
            "budget.maxHourlyUsd",
            f"cannot be checked: the price of {_listed(settings.unpriced)}{place} is unknown",
            f"Remove the budget, or set {_price_keys(settings.unpriced)} to what a node costs per hour",
        )
    elif settings.cost_max_hourly > limit:
        limits = settings.priced_at_most
        keys = f" If you know what its nodes cost, set {_price_keys(limits)}" if limits else ""
        at_most = f"at most {settings.cost_max_hourly:.2f}" if limits else f"{settings.cost_max_hourly:.2f}"
        unknown = f", an upper limit for {_listed(limits)}, whose price is not known" if limits else ""
        remedies = ["Lower maxNodes", *(["use spot"] if _spot_is_cheaper(settings) else []), "or raise the budget"]
        yield Problem(
            "budget.maxHourlyUsd",
            f"with all pools at maxNodes the stack costs {at_most} USD per hour (list price{unknown})",
            (", ".join(remedies) if len(remedies) > 2 else " ".join(remedies)) + (f".{keys}" if keys else ""),
        )


def _listed(pools: Iterable[Pool]) -> str:
    return ", ".join(pool.name for pool in pools)


def _price_keys(pools: Iterable[Pool]) -> str:
    """The keys that say what the nodes of these pools cost."""
    return ", ".join(dict.fromkeys(f"{pool.declared_at}.hourlyUsd" for pool in pools))


def _spot_is_cheaper(settings: Settings) -> bool:
    """Whether a pool's machine on demand has a known price as a spot one."""
    known = settings.known
    pools = (pool for pool in settings.pools if pool.scaling.capacity_type == "on-demand")
    machines = (known.machines.get(pool.nodes.machine_type) for pool in pools)
    return any(
        machine is not None and known.prices.machine(settings.region, machine, spot=True) is not None
        for machine in machines
    )


def _pools_of_teams(settings: Settings) -> Iterator[Problem]:
    """Pools are for teams of the stack, and what runs in a namespace of the program has one for it."""
    if not all(team.complete for team in settings.teams):
        raise NotValidYet("teams")
    teams = [team.name for team in settings.teams]
    for pool in {pool.declared_at: pool for pool in settings.gpu_pools}.values():
        for name in pool.nodes.teams:
            if name not in teams:
                yield Problem(
                    f"{pool.declared_at}.teams",
                    f"'{name}' is no team",
                    instead(name, teams) if teams else f"Write teams: [{{name: {name}, gpus: 8}}] in the stack file",
                )
    if settings.workloads.notebook and settings.gpu_pools and all(pool.nodes.teams for pool in settings.gpu_pools):
        yield Problem(
            "workloads.notebook",
            "notebooks run in the namespace notebook, and all GPU pools are for teams",
            "Leave teams out in a pool, or leave notebook out",
        )


def _teams(settings: Settings) -> Iterator[Problem]:
    """No team's quota exceeds the GPUs of the stack. The gate's ``gpu-quotas-kept`` checks the sum of all quotas."""
    if not all(entry.complete for entry in settings.file.gpu_pools):
        raise NotValidYet("gpuPools")  # one of them may have the GPUs
    most = sum(pool.scaling.max_nodes * pool.gpus.allocatable for pool in settings.gpu_pools)
    for index, team in enumerate(settings.teams):
        if team.gpus > most:
            yield Problem(
                f"teams[{index}].gpus",
                f"'{team.name}' has a quota of {counted(team.gpus, 'GPU')}, but all pools at maxNodes have {most}",
                f"Write {most} or less, or raise maxNodes of a pool",
            )


def _services_of_teams(settings: Settings) -> Iterator[Problem]:
    """A team's quota admits the replicas of a service that always run, or its first one."""
    for index, team in enumerate(settings.teams):
        for service in settings.workloads.services:
            if service.namespace != team.name:
                continue
            pods = max(1, service.min)
            gpus, gib = pods * service.gpus, pods * (service.memory_gib or 0)
            needs = (
                f"service '{service.name}' of team '{team.name}' needs {{}} for {counted(pods, 'replica')}, not {{}}"
            )
            if gpus > team.gpus:
                message = needs.format(counted(gpus, "GPU"), team.gpus)
                yield Problem(f"teams[{index}].gpus", message, f"Write {gpus} or more, or lower gpus of the service")
            if team.memory is not None and gib * 2**30 > quantity(team.memory):
                message = needs.format(f"{gib} GiB", team.memory)
                yield Problem(f"teams[{index}].memory", message, f"Write {gib}Gi, or lower memoryGib of the service")


def _fabrics(settings: Settings) -> Iterator[Problem]:
    """A fabric needs machines with RDMA devices, and one pool: nodes of two pools or zones have none in common."""
    known, pools = catalog.of(settings.cloud), Counter(pool.declared_at for pool in settings.gpu_pools)
    firsts = {pool.declared_at: pool for pool in reversed(settings.gpu_pools)}
    able = ", ".join(f"{one.type} ({one.gpus} {one.gpu})" for one in known.machines.with_rdma)
    for pool in settings.gpu_pools:
        where, first = f"{pool.declared_at}.fabric", firsts[pool.declared_at]
        if pool.nodes.fabric is None or not known.nodes.fabric.resource:
            continue
        if not pool.nodes.fabric.devices:
            message = f"{pool.nodes.machine_type} has no RDMA devices that a pool can use"
            yield Problem(where, message, f"Leave it out, or choose one of {able}, with all of its GPUs per node")
        elif pools[pool.declared_at] > 1 or len(pool.nodes.zones) > 1 or len(pool.nodes.machine_types) > 1:
            message = "a fabric connects nodes of one type in one zone, got by one capacity type"
            yield Problem(
                where,
                message,
                f"Write zones: [{first.nodes.zones[0]}], gpusPerNode: {first.gpus.per_node}, "
                f"capacity: {first.scaling.capacity_type} and machineType: {first.nodes.machine_type}",
            )
        elif pool.gpus.shares > 1:
            yield Problem(
                where, "pods on several nodes use whole GPUs", "Leave it out, or leave out mig and timeSharing"
            )


def _blocks(settings: Settings) -> Iterator[Problem]:
    for pool in settings.gpu_pools:
        block = pool.scaling.block
        if block is not None and settings.day > date.fromisoformat(block.last):
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"capacity block {pool.scaling.reservation} ended on {block.last}: no node starts in it",
                "Remove the reservation, or write the name and days of the next block",
            )


def shared_reservations(users: Iterable[tuple[str, Pool]]) -> Iterator[Problem]:
    """Pools of two machine types, GPUs or zones in one reservation, which has one of each, or with other days of it;
    others may share it.

    ``users``: a reservation in its one spelling, and a pool on its machines.
    """
    firsts: dict[str, Pool] = {}
    for reservation, pool in users:
        first = firsts.setdefault(reservation, pool)
        machines = [
            f"{one.nodes.machine_type} ({one.gpus.per_node} {one.gpus.type}) in {', '.join(one.nodes.zones)}"
            for one in (first, pool)
        ]
        if machines[0] != machines[1]:
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"'{first.name}' and '{pool.name}' use the reservation '{pool.scaling.reservation}', but are of "
                f"{machines[0]} and of {machines[1]}",
                "Give each size a reservation of its own: a reservation holds machines of one type in one zone",
            )
        elif pool.scaling.block != first.scaling.block:
            days = "with other days" if pool.scaling.block and first.scaling.block else "with days and without"
            yield Problem(
                f"{pool.declared_at}.reservation",
                f"'{first.name}' and '{pool.name}' use the reservation '{pool.scaling.reservation}', {days}",
                "Give each its first and last day if it is a capacity block, and none otherwise",
            )


def _names(settings: Settings) -> Iterator[Problem]:
    """Names of pools that are too long or not unique."""
    owners, limit = {ADMIN_POOL_NAME: "adminPool"}, settings.known.choices.max_name_length
    for path, names in settings.pool_names:
        clash = next((name for name in names if name in owners), None)
        if clash is not None:
            yield Problem(
                f"{path}.name",
                f"two pools would be named '{clash}': this one and one of {owners[clash]}",
                "Choose another name: each resulting pool needs a unique name",
            )
        longest = max(names, key=len)
        if len(longest) > limit:
            message = f"the resulting pool name '{longest}' has {len(longest)} characters, "
            message += f"{settings.cloud} allows {limit}"
            yield Problem(f"{path}.name", message, f"Shorten the name by {len(longest) - limit} or more")
        owners |= dict.fromkeys(names, path)


def _raw(settings: Settings) -> Iterator[Problem]:
    if settings.raw or any(pool.raw for pool in settings.pools):
        from components.settings.limits.raw import problems  # loads a schema that few stacks need

        yield from problems(settings)


def _own_room(settings: Settings) -> Iterator[Problem]:
    """Own machines have a fixed number and no network of the program's."""
    pods, per_node = settings.network.pod_cidr, settings.known.nodes.pod_addresses
    if pods:
        yield from _too_small("network.podCidr", IPv4Network(pods), settings.max_nodes, per_node, 0, "the pods of ")


CHECKS: Final = (
    *(
        _names,
        _admin_maximum,
        partial(_admin_room, certain=True),
        _room,
        _services,
        _budget,
        _teams,
        _services_of_teams,
        _pools_of_teams,
        _blocks,
        _fabrics,
    ),
    *(volume_problems, _raw),
)
"""What is checked on any cloud."""

OF_POOLS: Final = (needs_of_owner, _names, _budget, _blocks, _fabrics, _raw)
"""What is checked of pools on a cluster that somebody else made."""

OF_OWN_MACHINES: Final = (_own_room, _services, _budget, _teams, _services_of_teams, _pools_of_teams)
"""What is checked without a cloud's machines."""
