"""Nodes as their kubelets report them on the real clouds, against those of the simulated ones.

``recorded_nodes.yaml`` in each cloud's folder has what users and vendors show of real nodes, cut to what is compared.
A recording is compared with the node of the same machine that the simulated cloud makes of the pool ``of`` a name in
``account.yaml`` ``with`` other inputs, in a ``cluster`` with other ones:

- ``labels``: each is on the simulated node, with that value; ``null`` stands for a value of the cluster's own. If the
  recording has ``every_label`` with the cloud's prefixes, the simulated node has no other of these.
- ``taints``: the same.
- ``allocatable``: the same, but for memory and disk (``TOLERATED``).
- ``pods``: the cloud's own pods on the node, with the sum of their containers' requests, CPU and memory.

``differences`` are those that remain, each with its kind (``KINDS``) and why; one that is none any more fails. A
recording that cannot be compared at all is in ``not_comparable``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from facts import catalog
from facts.concepts.kubernetes import pod_requests, quantity
from packages.rehearsal.tests.providers.aks import account as aks
from packages.rehearsal.tests.providers.driver import Account, changed
from packages.rehearsal.tests.providers.eks import account as eks
from packages.rehearsal.tests.providers.eks.account import Amazon
from packages.rehearsal.tests.providers.gke import account as gke
from rehearsal.fleet.nodes import PREFIX, ClusterFacts, NodeTemplate
from rehearsal.providers.base import Properties
from rehearsal.providers.eks.nodes import declared_groups
from rehearsal.simulation import SimulatedNodeGroup
from tests.yaml_file import read_yaml

KINDS: Final = ("per cluster", "older", "refused", "no request", "two sources")
"""Why a difference may remain: the cluster, its provider, a driver or the kubelet fills it in; it is of an API that is
two years older; of a feature that the program refuses; nothing of a stack asks for it; or another source, which is
named, says something else than this recording."""

OWN_PREFIXES: Final = {
    "gke": ("cloud.google.com/", "iam.gke.io/", "kubernetes.io/role"),
    "aks": ("kubernetes.azure.com/", "kubernetes.io/role", "storage", "accelerator"),
    "eks": ("eks.amazonaws.com/",),
}

TOLERATED: Final[Mapping[str, Mapping[str, float]]] = {
    # The guest's memory differs by some MiB between kernels, the file system's size by some KiB.
    "gke": {"memory": 0.001, "ephemeral-storage": 0.001},
    "aks": {"memory": 0.001, "ephemeral-storage": 0.001},
    # AWS does not publish what firmware and kernel take. The simulation takes Karpenter's 7.5 %, and reserves memory
    # for all pods that a node may run; a real node reserves for those that its interfaces address one by one.
    "eks": {"memory": 0.11, "ephemeral-storage": 0.001},
}
"""The share by which a simulated node may have less than a real one. It never has more: what runs in a rehearsal must
fit in the cloud."""

MACHINE_KEYS: Final = ("vmSize", "instanceTypes", "nodeConfig.machineType")
FOLDER: Final = Path(__file__).parent
TABLES: Final[Mapping[str, Mapping[str, Any]]] = {
    cloud: read_yaml(FOLDER / cloud / "recorded_nodes.yaml") for cloud in OWN_PREFIXES
}
ROWS: Final = [
    pytest.param(cloud, row, id=f"{cloud}: {name}")
    for cloud, table in TABLES.items()
    for name, row in table["compared"].items()
]


@pytest.mark.parametrize(("cloud", "row"), ROWS)
def test_a_simulated_node_is_like_the_recorded_one(cloud: str, row: Mapping[str, Any], tmp_path: Path) -> None:
    node, pods = simulated(cloud, row, tmp_path)
    found = dict(differences(cloud, row, node, pods))
    listed = row.get("differences") or {}
    assert {what: how for what, how in found.items() if what not in listed} == {}
    assert listed.keys() <= found.keys(), "a listed difference is none"


@pytest.mark.parametrize("cloud", TABLES)
def test_the_catalogue_knows_the_machines_that_are_compared(cloud: str) -> None:
    """By the keys of each cloud."""
    declared = [
        row["with"][key] for row in TABLES[cloud]["compared"].values() for key in MACHINE_KEYS if key in row["with"]
    ]
    machines = {each for value in declared for each in ([value] if isinstance(value, str) else value)}
    assert catalog.of(cloud).nodes.recorded == machines


def test_a_difference_and_a_recording_that_is_not_compared_say_why() -> None:
    for table in TABLES.values():
        reasons = [reason for row in table["compared"].values() for reason in (row.get("differences") or {}).values()]
        for reason in [*reasons, *(row["because"] for row in (table.get("not_comparable") or {}).values())]:
            kind, _, why = reason.partition(": ")
            assert kind in KINDS, reason
            assert why, reason


def test_a_recording_says_where_it_is_from() -> None:
    for table in TABLES.values():
        for name, row in {**table["compared"], **(table.get("not_comparable") or {})}.items():
            assert row["source"], name


def simulated(cloud: str, row: Mapping[str, Any], path: Path) -> tuple[Properties, list[Properties]]:
    """The Node, and the objects with the cluster's system pods."""
    account, group = _MADE[cloud](row, path)
    try:
        facts = ClusterFacts("gpu-dev", "region", "1.35.0")
        node = NodeTemplate(group, facts).node(group.nodes.zones[0])
        fleet = account.fleet
        return node, [*fleet.clusters["gpu-dev"].get("system_objects", ()), *fleet.applied]
    finally:
        account.stop() if isinstance(account, Amazon) else account.provider.close()


def _pool(module: Any, account: Account, row: Mapping[str, Any]) -> SimulatedNodeGroup:
    account.cluster(**(row.get("cluster") or {}))  # type: ignore[attr-defined]
    account.create(module.POOL, changed(module.EXAMPLES.inputs(row["of"])(), row.get("with") or {}))
    return list(account.fleet.groups.values())[-1]


def _google(row: Mapping[str, Any], path: Path) -> tuple[Account, SimulatedNodeGroup]:
    account = gke.Google(path)
    return account, _pool(gke, account, row)


def _microsoft(row: Mapping[str, Any], path: Path) -> tuple[Account, SimulatedNodeGroup]:
    account = aks.Microsoft(path)
    return account, _pool(aks, account, row)


def _amazon(row: Mapping[str, Any], path: Path) -> tuple[Account, SimulatedNodeGroup]:
    account = Amazon(path)
    account.cluster()
    inputs = dict(row["with"])
    if template := row.get("template"):
        made = account.create(eks.TEMPLATE, {"name": "gpu", **template})
        inputs["launchTemplate"] = {"id": made.id, "version": "1"}
    account.node_group(**inputs)
    (group,) = declared_groups(account.account)
    return account, group.base


_MADE: Final = {"gke": _google, "aks": _microsoft, "eks": _amazon}


def differences(
    cloud: str, row: Mapping[str, Any], node: Properties, objects: list[Properties]
) -> Iterator[tuple[str, str]]:
    """Each field of a recorded node that is another on the simulated one."""
    labels, recorded = node["metadata"]["labels"], row.get("labels") or {}
    for key, value in recorded.items():
        if key not in labels or (value is not None and labels[key] != value):
            yield f"label {key}", f"real {value}, simulated {labels.get(key)}"
    if row.get("every_label"):
        for key in labels.keys() - recorded.keys():
            if key.startswith(OWN_PREFIXES[cloud]):
                yield f"label {key}", f"real none, simulated {labels[key]}"
    if "taints" in row:
        taints = [f"{each['key']}={each.get('value', '')}:{each['effect']}" for each in node["spec"]["taints"]]
        if sorted(taints) != sorted(row["taints"]):
            yield "taints", f"real {row['taints']}, simulated {taints}"
    allocatable = json.loads(node["metadata"]["annotations"][f"{PREFIX}allocatable"])
    for name in ("nvidia.com/gpu", "vpc.amazonaws.com/efa"):
        if name in allocatable:
            annotation = {"nvidia.com/gpu": "gpus", "vpc.amazonaws.com/efa": "efa"}[name]
            allocatable[name] = node["metadata"]["annotations"][PREFIX + annotation]
    for name, amount in (row.get("allocatable") or {}).items():
        real, simulated = float(quantity(str(amount))), float(quantity(allocatable.get(name, "0")))
        if not real * (1 - TOLERATED[cloud].get(name, 0)) <= simulated <= real:
            yield f"allocatable {name}", f"real {real:.12g}, simulated {simulated:.12g}"
    requests = {each["metadata"]["name"]: _requests(each) for each in objects if "template" in each.get("spec", {})}
    for name, amounts in (row.get("pods") or {}).items():
        real_amounts = tuple(float(quantity(str(amount))) for amount in amounts)
        if requests.get(name) != real_amounts:
            yield f"pod {name}", f"real {real_amounts}, simulated {requests.get(name)}"


def _requests(workload: Properties) -> tuple[float, float]:
    requests = pod_requests(workload["spec"]["template"]["spec"])
    return float(requests.get("cpu", 0)), float(requests.get("memory", 0))
