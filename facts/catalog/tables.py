"""The one reader of the tables below ``facts/catalog/<cloud>/data``, which have the same columns on every cloud.

Lines that begin with ``#`` say where a table, or the row below, comes from.

=====================  ============================================================================================
table                  columns
=====================  ============================================================================================
``gpus.csv``           gpu (our name), name (the cloud's), quota (the cloud's quota for this GPU), quota_family (its
                       name in quotas by GPU family), partitions (MIG sizes, separated by spaces)
``zones.csv``          region, zone, gpus (those known to be there, by our names, separated by spaces)
``machines.csv``       type, family, vcpus, memory_mib, gpu, gpus, shared_core (``yes``), provisioning (empty: any),
                       local_ssds (disks that come with the type; on GKE of 375 GB, on AKS not known),
                       local_gb (what they hold together, 10^9 bytes; on EKS only),
                       trusted_launch (``no``; on AKS only), rdma_devices (empty: none), blocks (``yes``: sold in
                       capacity blocks; on EKS only)
``missing_machines``   type, zones: of the zones with its GPU, those that have others of its machines alone (``.csv``)
``machine_prices.csv`` region, type, on_demand, spot: USD an hour with GPUs and local SSD
``family_prices.csv``  region, family, USD an hour for a vCPU and for a GiB, each on_demand and spot
``gpu_prices.csv``     region, gpu, on_demand, spot: USD an hour for one GPU attached to a machine without GPUs
``disk_prices.csv``    region, gib, usd_month: a boot disk of that size (1: the price is by GiB)
``slices.csv``         type, topology (that it can be part of, first the one of a node by itself), nodes; on GKE only
``own_labels.csv``     label: of nodes, those that the cloud sets itself; of_chips (``accelerator``, ``topology``, or
                       empty): the name in its value that pods on such nodes select
``fees.csv``           fee, usd, hours (that it is for), dated (ISO), source: what is paid for by the hour, used or not
``versions.csv``       version (of Kubernetes), extended (first day of its extended support), until (its last day)
``oldest_versions``    need (of a pool), version (of GKE) that has it first; on GKE only (``.csv``)
``kernel_memory.csv``  arch, confidential, physical, reserved (bytes): what the kernel takes; on GKE only
``arm_families.csv``   family: of machine types whose CPUs are Arm; those of all others are x86
``region_carbon.csv``  region, carbon_free_percent, grid_grams_co2eq_per_kwh
``system_pods.csv``    name, milli_cpu, memory_mib: what the cloud's pods request; where: one on each ``node``, on
                       each ``gpu-node`` at most, on each node with a shared volume (``volume-node``), or a few in
                       the ``cluster``; uncertain_milli_cpu (on AKS only): the part of milli_cpu that some clusters do
                       not show
``addon_pods.csv``     addon (of a stack file), and the columns of ``system_pods.csv``
``withdrawn_gpus.csv`` name (that people still write), reason, successor
``recorded_machines``  type: of which a real node was compared with what the program calculates (``.csv``)
``registries.csv``     region, account: whose registry has the cloud's own images (on EKS only)
``changes.csv``        autoscaler, change, preview, job, meaning, source: see ``changes.py``
``checks.csv``         resource, program, image, command: what prints a pod's devices (in the folder of all clouds)
``provider_keys.csv``  provider, key (``*``: any text), risk (empty: a stack file may have it); in the same folder
``threads.csv``        thread (an issue that a rule, a limit or an ADR cites), state (empty: not found), dated (ISO),
                       end (what holds since); in the folder of all clouds
``raw.csv``            resource, input (a path), instead: see ``raw.py``
``sources.csv``        table, dated (ISO), source: of the tables below, in the folder of all clouds
``other_machines.csv`` type, family, vcpus, memory_mib (these three empty: without a price), gpu, gpus, arch, part
                       (``yes``: of one GPU): those that programs name and no stack file offers
=====================  ============================================================================================

A table that a cloud does not need is not there. An empty cell is not known.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

Row = Mapping[str, str]


@cache
def rows(cloud: str, table: str) -> tuple[Row, ...]:
    """The table's rows in their order; none if the cloud has no such table. ``cloud`` is empty for those of all."""
    file = files("facts.catalog") / cloud / "data" / f"{table}.csv"
    if not file.is_file():
        return ()
    return parsed(file.read_text(encoding="utf-8"))


def parsed(text: str) -> tuple[Row, ...]:
    """The rows of a table's text."""
    columns, *lines = csv.reader(line for line in text.splitlines() if not line.startswith("#"))
    return tuple(dict(zip(columns, row, strict=True)) for row in lines if row)


@cache
def by_key(cloud: str, table: str, *keys: str) -> Mapping[tuple[str, ...], Row]:
    """The table's rows by the values of some columns, which together are different in each row."""
    return {tuple(row[key] for key in keys): row for row in rows(cloud, table)}


def number(row: Row | None, column: str) -> float | None:
    """A cell as a number; ``None`` if it is empty or there is no such row."""
    return float(row[column]) if row and row[column] else None
