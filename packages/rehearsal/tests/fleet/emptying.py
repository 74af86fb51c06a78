"""Plays the situations of ``test_situations.yaml`` in which a node is emptied or stays, those with equal flags at once
on one cluster. Each has a group ``here`` that may lose its node, and a group ``there`` that keeps its own.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from packages.rehearsal.tests.fleet.facts import TOLERATIONS, Running, running_fleet
from packages.rehearsal.tests.simulated_cluster import (
    CLUSTER,
    ZONES,
    daemon_set,
    eventually,
    gpu_group,
    nodes,
    pod_spec,
)
from rehearsal.cluster.api import Api, Object, condition
from rehearsal.simulation import NodeShape, Packing, SimulatedNodeGroup
from rehearsal.tools.own_autoscaler import NAME

Rows = Mapping[str, Mapping[str, Any]]
"""Situations by their place in the table."""

PACKING: Final = Packing(gpus_below=0.5, others_below=0.5, moves_system_pods=True, moves_local_storage=True)
BUSY: Final = {"gpus": 2}
"""A pod on the other node, if it has GPUs and a situation does not say otherwise."""

SYSTEM: Final = "kube-system"
_DISABLED: Final = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
_EXPENDABLE: Final = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "value": -20}
_IDLE_SECONDS: Final = 10.0
"""A node goes after it: ten minutes of a cloud's."""


def plays(rows: Rows) -> list[dict[str, Mapping[str, Any]]]:
    """The rows by flags and by the age of their pods: each play takes a cluster."""
    found: dict[str, dict[str, Mapping[str, Any]]] = {}
    for lane, row in rows.items():
        found.setdefault(f"{row.get('profile')} {row.get('minutes_old')}", {})[lane] = row
    return [*found.values()]


@contextmanager
def emptied(folder: Path, rows: Rows) -> Iterator[Running]:
    """The rows of one play, until no node changes any more."""
    with running_fleet(folder) as running:
        api, fleet = running.api, running.fleet
        api.apply_manifest({**_EXPENDABLE, "metadata": {"name": "expendable"}})
        for lane, row in rows.items():
            for place in ("there", "here"):
                fleet.apply_group(group_of_row(lane, place, row))
            # Until all is as it should be.
            _annotate(api, lane, {_DISABLED: "true"})
            for manifest in objects_of_row(lane, row):
                api.apply_manifest(manifest)
        fleet.settle()
        for lane, row in rows.items():
            for number, fields in enumerate(row["pods"]):
                api.apply_manifest(pod_of_row(f"{lane}-here-{number}", lane, "here", fields, _name(api, lane, "here")))
            for number, fields in enumerate(others_of_row(row)):
                api.apply_manifest(
                    pod_of_row(f"{lane}-there-{number}", lane, "there", fields, _name(api, lane, "there"))
                )
        eventually("all pods run", lambda: all(_runs(api, lane, row) for lane, row in rows.items()))
        time.sleep(max(row.get("minutes_old", 0) for row in rows.values()))
        for lane, row in rows.items():
            _annotate(api, lane, {_DISABLED: None, **row.get("annotations", {})})
        # One after the other.
        deadline = time.monotonic() + _IDLE_SECONDS * (3 + 2 * len(rows))
        eventually("what should go is gone", lambda: _gone(api, rows) or time.monotonic() > deadline)
        time.sleep(_IDLE_SECONDS)
        yield running


def outcome_of_row(api: Api, lane: str) -> dict[str, Any]:
    """Whether the node went, and what an autoscaler said of it and of its pods."""
    said: dict[str, set[str]] = {"node": set(), "pods": set()}
    for event in api.list("/api/v1/events"):
        about = event["involvedObject"]
        its = about["name"].removeprefix(f"{CLUSTER}-").startswith(f"{lane}-")
        if its and event["source"].get("component") == NAME:
            said["node" if about["kind"] == "Node" else "pods"].add(f"{event['reason']}: {event['message']}")
    return {
        "emptied": not nodes(api, f"{lane}-here"),
        "said": {what: sorted(texts) for what, texts in said.items() if texts},
    }


def group_of_row(lane: str, place: str, row: Mapping[str, Any]) -> SimulatedNodeGroup:
    """The group of the node that may go, or of the other one."""
    gpus, name = row.get("gpus", 4), f"{lane}-{place}"
    labels = {"gpucluster.dev/pool": name, "lane": lane, "on": place}
    if gpus:
        labels["cloud.google.com/gke-accelerator"] = "nvidia-tesla-t4"
    machine = NodeShape(4, 16, gpus, "nvidia-tesla-t4" if gpus else "", reserved_milli_cpu=0, reserved_memory_mib=0)
    size: dict[str, Any] = {"min_nodes": 1} if place == "there" else {"initial_nodes": 1}
    packing = replace(PACKING, **row.get("profile", {}))
    zones = (row.get("zones", {}).get(place, ZONES[0]),)
    return gpu_group(name, gpus, machine=machine, labels=labels, packing=packing, zones=zones, max_nodes=1, **size)


def others_of_row(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The pods on the other node."""
    others: list[Mapping[str, Any]] = row.get("others", [BUSY] if row.get("gpus", 4) else [])
    return others


def objects_of_row(lane: str, row: Mapping[str, Any]) -> list[Object]:
    """Disruption budgets, and volumes with their claims."""
    found = []
    for number, budget in enumerate(row.get("budgets", ())):
        selector = {**budget["spec"]["selector"]}
        selector["matchLabels"] = {**selector.get("matchLabels", {}), "lane": lane}
        metadata = {"name": f"{lane}-{number}", "namespace": SYSTEM}
        kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        found.append({**kind, "metadata": metadata, "spec": {"minAvailable": 0, "selector": selector}})
    for name, zone in row.get("claims", {}).items():
        size = {"storage": "1Gi"}
        mode = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
        found += [
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {**mode, "capacity": size, "hostPath": {"path": "/x"}, "nodeAffinity": within(zone)},
            },
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": "default"},
                "spec": {**mode, "volumeName": name, "resources": {"requests": size}},
            },
        ]
    return found


def within(zone: str) -> Object:
    """A volume's node affinity."""
    expression = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def pod_of_row(name: str, lane: str, place: str, fields: Mapping[str, Any], node: str) -> Object:
    """A pod on the node, by what owns it: a Job, a DaemonSet, nothing, or something that nobody knows."""
    rest = dict(fields)
    gpus, cpu, given = rest.pop("gpus", 0), rest.pop("cpu", "100m"), rest.pop("metadata", {})
    selector = {"lane": lane, **rest.pop("nodeSelector", {})}
    if rest.pop("priority", 0) < 0:
        rest["priorityClassName"] = "expendable"
    labels = {"lane": lane, "name": name, **given.get("labels", {})}
    annotations = {"rehearsal.gpucluster.dev/seconds": "900", **given.get("annotations", {})}
    metadata = {"name": name, "namespace": given.get("namespace", "default")}
    spec = pod_spec(gpus, nodeSelector=selector, tolerations=TOLERATIONS)
    (container,) = spec["containers"]
    container["resources"]["requests"] = {"cpu": cpu}
    container |= {"ports": rest.pop("ports")} if "ports" in rest else {}
    spec |= rest
    template = {"metadata": {"labels": labels, "annotations": annotations}, "spec": {**spec, "nodeName": node}}
    owners = given.get("ownerReferences", [{"kind": "Job"}])
    if owners and owners[0]["kind"] == "Job":
        of_job = {"backoffLimit": 0, "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": of_job}
    if owners and owners[0]["kind"] == "DaemonSet":
        agents = daemon_set(name, **{**spec, "restartPolicy": "Always", "nodeSelector": {**selector, "on": place}})
        agents["spec"]["selector"] = {"matchLabels": {"name": name}}
        agents["spec"]["template"]["metadata"] = {"labels": labels}
        return agents
    unknown = {"apiVersion": "example.com/v1", "name": name, "uid": str(uuid.uuid4())}
    metadata |= {"labels": labels, "annotations": annotations}
    metadata["ownerReferences"] = [{**unknown, **each} for each in owners]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "nodeName": node}}


def _name(api: Api, lane: str, place: str) -> str:
    (node,) = nodes(api, f"{lane}-{place}")
    name: str = node["metadata"]["name"]
    return name


def _annotate(api: Api, lane: str, annotations: Mapping[str, str | None]) -> None:
    api.merge(f"/api/v1/nodes/{_name(api, lane, 'here')}", {"metadata": {"annotations": annotations}})


def _runs(api: Api, lane: str, row: Mapping[str, Any]) -> bool:
    pods = api.list("/api/v1/pods", labelSelector=f"lane={lane}")
    return sum(condition(pod, "Ready") for pod in pods) == len(row["pods"]) + len(others_of_row(row))


def _gone(api: Api, rows: Rows) -> bool:
    return not any(nodes(api, f"{lane}-here") for lane, row in rows.items() if row["emptied"])
