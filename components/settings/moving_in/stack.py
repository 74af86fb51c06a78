"""A cluster that exists → the text of a stack file, with a comment for each thing that it cannot express."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import yaml
from pydantic_core import PydanticCustomError

from components.settings import check, fields
from components.settings.moving_in.answer import Notes, OldCluster, OldPool
from facts import catalog
from facts.catalog import CloudCatalog, Machine, tables
from facts.catalog.gpu_machines import gpu_machines
from facts.concepts.kubernetes import GPU_RESOURCE

SYSTEM_TAINT: Final = "CriticalAddonsOnly"
"""The taint by which EKS and AKS reserve a pool for system pods."""
HEAD: Final = """\
# yaml-language-server: $schema=schemas/stack.schema.json
# Written by `make moving-in` from the cluster {name}. A new cluster beside it: see docs/moving-in.md.
# Comments say what is different there. Read them, then: make rehearse STACK={stack}
"""


def stack_file(cluster: OldCluster, stack: str) -> str:
    """The text of ``Pulumi.<stack>.yaml``."""
    known = catalog.of(cluster.cloud)
    notes = cluster.notes
    name = plain_name(cluster.name)[: known.max_name_length - 2].strip("-")
    own = _with_values(cluster.keys)
    keys = {"cloud": cluster.cloud, "clusterName": f"{name}-2", **own, **_pools(cluster, known, notes)}
    notes["clusterName"] = [f"{cluster.name} is taken until the old cluster is deleted"]
    parts = [_dump({known.account_key: cluster.account})]
    for key in [*keys, *(key for key in notes if key not in keys)]:
        parts += [f"  # {key}: {note}\n" for note in notes.get(key, ())]
        parts += [_dump({f"gpucluster:{key}": keys[key]})] if key in keys else []
    left = [f"#   {each}\n" for answer in cluster.answers for each in answer.unread(cluster.cloud)]
    if left:
        left.insert(0, "# No key of this file comes from these fields of the old cluster:\n")
    return "".join([HEAD.format(name=cluster.name, stack=stack), "config:\n", *parts, *left])


def plain_name(name: str) -> str:
    """The name in the alphabet of cluster, pool and stack names."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-").lstrip("0123456789-") or "gpu"


def _dump(mapping: Mapping[str, Any]) -> str:
    nested = any(isinstance(value, (Mapping, list)) for value in mapping.values())
    style = None if nested else False  # None: innermost collections on one line
    text = yaml.safe_dump(dict(mapping), sort_keys=False, width=10_000, default_flow_style=style)
    return "".join(f"  {line}\n" for line in text.splitlines())


def _with_values(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Without keys that have no value, at any depth."""
    inner = {key: _with_values(value) if isinstance(value, Mapping) else value for key, value in keys.items()}
    return {key: value for key, value in inner.items() if value not in (None, {}, [], ())}


def _pools(cluster: OldCluster, known: CloudCatalog, notes: Notes) -> dict[str, Any]:
    """``adminPool``, ``gpuPools`` and ``cpuPools``. The first pool without GPUs that any system pod tolerates is the
    admin pool."""
    gpu_pools, cpu_pools, admin = [], [], None
    for pool in cluster.pools:
        machines = [*_machines(pool, known, notes)]
        if not machines:
            continue
        if machines[0].gpus:
            gpu_pools.append(_gpu_pool(pool, machines, known, notes["gpuPools"]))
        elif admin is None and all(each["key"] == SYSTEM_TAINT for each in pool.taints):
            admin = _admin_pool(pool, machines[0], known, notes["adminPool"])
        else:
            cpu_pools.append(_cpu_pool(pool, machines, known, notes["cpuPools"]))
    if admin is None:
        notes["adminPool"].append("no pool without GPUs and taints: the default machine, one node")
    return _with_values({"adminPool": admin, "gpuPools": gpu_pools, "cpuPools": cpu_pools})


def _machines(pool: OldPool, known: CloudCatalog, notes: Notes) -> Iterator[Machine]:
    """The pool's machines that a stack file can name and that have the GPUs of the first; the others are noted."""
    gpus = {accelerator.name: gpu for gpu, accelerator in known.accelerators.items()}
    first: Machine | None = None
    for type in pool.machines or ("(of a launch template)",):
        gpu = gpus.get(pool.gpu or "")
        machine = (
            known.machines.with_gpus(type, gpu, pool.gpus) if gpu else None if pool.gpu else known.machines.get(type)
        )
        if machine is None:
            other = gpu_machines(known.name).get(type)
            what = (
                f"{other.gpus} {other.gpu}" if other else f"{pool.gpus} {pool.gpu}" if pool.gpu else "unknown machine"
            )
            notes["gpuPools" if other or pool.gpu else "cpuPools"].append(
                f"{pool.name}: machine type {type} ({what}) is not in the catalogue"
            )
        elif first is not None and (machine.gpu, machine.gpus) != (first.gpu, first.gpus):
            notes["gpuPools"].append(f"{pool.name}: {type} has other GPUs than {first.type}, left out")
        elif first is not None and not (pool.spot and known.mixes_types(known.autoscalers[0])):
            notes["gpuPools" if machine.gpus else "cpuPools"].append(
                f"{pool.name}: {type} left out: only spot pools mix machine types"
            )
        else:
            first = first or machine
            yield machine


def _gpu_pool(pool: OldPool, machines: Sequence[Machine], known: CloudCatalog, notes: list[str]) -> dict[str, Any]:
    if pool.min_nodes:
        notes.append(f"{pool.name}: the minimum of {pool.min_nodes} became 0: GPU pools scale to zero")
    return {
        "name": plain_name(pool.name),
        "gpu": machines[0].gpu,
        "gpusPerNode": machines[0].gpus,
        **_common(pool, machines, known, notes),
    }


def _cpu_pool(pool: OldPool, machines: Sequence[Machine], known: CloudCatalog, notes: list[str]) -> dict[str, Any]:
    least = {"minNodes": pool.min_nodes} if pool.min_nodes else {}
    return {"name": plain_name(pool.name), **least, **_common(pool, machines, known, notes)}


def _admin_pool(pool: OldPool, machine: Machine, known: CloudCatalog, notes: list[str]) -> dict[str, Any]:
    notes.append(f"from pool {pool.name}, of {pool.min_nodes} to {pool.max_nodes} nodes")
    if pool.spot:
        notes.append("spot became on-demand, because system pods run here")
    if labels := {key: value for key, value in pool.labels.items() if key not in _own_labels(known)}:
        notes.append(f"an admin pool has no labels of its own: {labels}")
    if pool.taints:
        notes.append(f"an admin pool has no taint; {SYSTEM_TAINT} left out")
    nodes = {"nodes": 1, "maxNodes": max(pool.max_nodes, 1), **({"diskGb": pool.disk_gb} if pool.disk_gb else {})}
    try:
        check.big_enough(machine, known)
    except PydanticCustomError as error:
        notes.append(f"{error.message()}; so the default machine")
        return nodes
    return {"machineType": machine.type, **nodes}


def _common(pool: OldPool, machines: Sequence[Machine], known: CloudCatalog, notes: list[str]) -> dict[str, Any]:
    """Keys that GPU and CPU pools share."""
    types = [machine.type for machine in machines]
    if pool.max_nodes < 1:
        notes.append(f"{pool.name}: it has no nodes and no autoscaler, so a maximum of 1")
    values = {
        "machineType": types if len(types) > 1 else types[0],
        "capacity": "spot" if pool.spot else "on-demand",
        "maxNodes": max(pool.max_nodes, 1),
        "zones": [*pool.zones],
        "diskGb": pool.disk_gb,
        "labels": {key: value for key, value in pool.labels.items() if _fits(pool, key, known, notes)},
        "taints": [each for each in pool.taints if _stays(pool, each, known, notes)],
        **pool.keys,
    }
    return {key: value for key, value in values.items() if value}


def _own_labels(known: CloudCatalog) -> set[str]:
    return {row["label"] for row in tables.rows(known.name, "own_labels")} | {known.gpu_label or ""}


def _fits(pool: OldPool, key: str, known: CloudCatalog, notes: list[str]) -> bool:
    """Whether a label is the user's own and can be written; those that the cloud sets need no note."""
    try:
        fields.label_key(key)
    except PydanticCustomError as error:
        notes.append(f"{pool.name}: label {key} left out: {error.message()}")
        return False
    return key not in _own_labels(known)


def _stays(pool: OldPool, taint: Mapping[str, str], known: CloudCatalog, notes: list[str]) -> bool:
    """Whether a taint is written; the program and the cloud set those of GPUs and spot nodes themselves."""
    if any((each.key, each.effect) == (taint["key"], taint["effect"]) for each in known.spot_taints):
        return False
    if taint["key"] == GPU_RESOURCE:
        if taint["value"] != "present" or taint["effect"] != "NoSchedule":
            notes.append(
                f"{pool.name}: taint {taint['key']}={taint['value']}:{taint['effect']} became present:NoSchedule"
            )
        return False
    return _fits(pool, taint["key"], known, notes)
