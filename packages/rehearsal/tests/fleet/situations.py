"""Plays the situations of ``test_situations.yaml`` in which groups grow, at once on one cluster, each with groups and
pods of its own.

``python -m packages.rehearsal.tests.fleet.situations`` plays these and those of ``emptying.py`` with the program that
``CLUSTER_AUTOSCALER`` names, and writes what it did and said into ``recorded_situations.yaml``; a word ``grows`` or
``empties`` behind it plays those alone.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml

from facts.concepts.kubernetes import Taint
from packages.rehearsal.tests.fleet.emptying import emptied, outcome_of_row, plays
from packages.rehearsal.tests.fleet.facts import Running, running_fleet
from packages.rehearsal.tests.simulated_cluster import PODS, daemon_set, eventually, gpu_group, group_of, nodes, pod
from rehearsal.cluster.api import Api, Object
from rehearsal.fleet.node_pools import ExhaustedPools
from rehearsal.simulation import NodeShape, SimulatedNodeGroup
from rehearsal.tools.own_autoscaler import own_autoscaler
from tests.yaml_file import read_yaml

TABLE: Final[Mapping[str, Any]] = read_yaml(Path(__file__).with_name("test_situations.yaml"))
GROWS: Final = {f"s{number}": each for number, each in enumerate(TABLE["grows"])}
EMPTIES: Final = {f"e{number}": each for number, each in enumerate(TABLE["empties"])}
RECORDED: Final = Path(__file__).with_name("recorded_situations.yaml")
QUIET_SECONDS: Final = 5.0
PRIORITIES: Final = {"expendable": -20, "low": -1}
_FLAGS: Final = ("--balance-similar-node-groups=true", "--balancing-ignore-label=gpucluster.dev/pool")
_UNNEEDED_MINUTES: Final = 3600
"""Here groups grow: no idle node goes while slower situations are played, nor is one started in its place."""
_ENOUGH_SECONDS: Final = 240.0
"""For a real autoscaler, which may do something else than the table says."""


@contextmanager
def played(folder: Path, *, patience: float = 600.0) -> Iterator[Running]:
    """All situations, played until what should run runs and who waits has heard why, or ``patience`` has passed, and
    nothing changes any more."""
    heard = {lane: set(recorded["said"]) for lane, recorded in _recorded().items()}
    with running_fleet(folder) as running:
        api = running.api
        for name, value in PRIORITIES.items():
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}}
            api.apply_manifest({**kind, "value": value})
        exhausted = set[str]()
        for lane, each in GROWS.items():
            for name in each["groups"]:
                running.fleet.apply_group(group_of_row(lane, name))
            exhausted |= {f"{lane}-{name}" for name in each.get("exhausted", ())}
            if "daemon_cpu" in each:
                api.apply_manifest(agents_of_row(lane))
        running.fleet.settle()
        ExhaustedPools().exhaust(api, exhausted)
        running.fleet.exhaust(exhausted)
        for lane, each in GROWS.items():
            for name in each["pods"]:
                api.create(PODS, pod_of_row(lane, name))
        deadline = time.monotonic() + patience
        eventually(
            "what should run runs, and who waits has heard why",
            lambda: all(_runs(api, lane, heard[lane]) for lane in GROWS) or time.monotonic() > deadline,
            patience + 60.0,
        )
        eventually("nothing changes any more", lambda: _quiet(api))
        yield running


def sorted_parts(message: str) -> str:
    """The message with its counts in order: the program's order is that of a Go map, by chance."""
    start, colon, parts = message.partition(": ")
    return start + colon + ", ".join(sorted(parts.split(", ")))


def outcome(api: Api, lane: str) -> dict[str, Any]:
    """What became of a situation: each group's nodes, each pod's group, and what was said of each pod."""
    each, said = GROWS[lane], dict[str, str]()
    for event in sorted(api.list("/api/v1/events"), key=lambda event: event["lastTimestamp"] or ""):
        about = event["involvedObject"]["name"]
        if event["reason"] == "NotTriggerScaleUp" and about.startswith(f"{lane}-"):
            said[about.removeprefix(f"{lane}-")] = sorted_parts(event["message"])
    places = {name: group_of(api, f"{lane}-{name}") for name in each["pods"]}
    return {
        "nodes": {name: len(nodes(api, f"{lane}-{name}")) for name in each["groups"]},
        "runs": {name: place.removeprefix(f"{lane}-") for name, place in places.items() if place},
        "said": {name: text for name, text in said.items() if name in places and places[name] is None},
    }


def group_of_row(lane: str, name: str) -> SimulatedNodeGroup:
    """A group of a situation; ``lane`` is its place in the table."""
    fields = dict(GROWS[lane]["groups"][name])
    gpus, full = fields.pop("gpus", 1), f"{lane}-{name}"
    labels = {"gpucluster.dev/pool": full, "lane": lane, **fields.pop("labels", {})}
    shape = NodeShape(4, 15, gpus, "nvidia-tesla-t4" if gpus else "", disk_mib=fields.pop("disk_mib", 100 * 1024))
    fields |= {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    if "taints" in fields:
        fields["taints"] = tuple(Taint(**each) for each in fields["taints"])
    fixed: dict[str, Any] = {"autoscaler_flags": _FLAGS, "unneeded_minutes": _UNNEEDED_MINUTES}
    return gpu_group(full, gpus, machine=shape, labels=labels, **fixed, **fields)


def agents_of_row(lane: str) -> Object:
    """The DaemonSet of a situation that has one."""
    agents = daemon_set(lane, nodeSelector={"lane": lane}, tolerations=[{"operator": "Exists"}])
    (container,) = agents["spec"]["template"]["spec"]["containers"]
    container["resources"] = {"requests": {"cpu": GROWS[lane]["daemon_cpu"]}}
    return agents


def pod_of_row(lane: str, name: str) -> Object:
    """A pod of a situation."""
    fields = dict(GROWS[lane]["pods"][name])
    asked = {"cpu": fields.pop("cpu", None), "ephemeral-storage": fields.pop("disk", None)}
    gpus, port, labels = fields.pop("gpus", 1), fields.pop("port", None), fields.pop("labels", {})
    selector = {"lane": lane, **fields.pop("nodeSelector", {})}
    manifest = pod(f"{lane}-{name}", gpus, seconds=900, nodeSelector=selector, **fields)
    manifest["metadata"]["labels"] = labels
    (container,) = manifest["spec"]["containers"]
    container["resources"]["requests"] = {key: value for key, value in asked.items() if value}
    container["ports"] = [{"containerPort": port, "hostPort": port}] if port else []
    return manifest


def _quiet(api: Api) -> bool:
    """Whether no node, claim or pod's place changes for a while: by then a node too many has come, or is gone again."""

    def there() -> tuple[set[str], set[str], dict[str, Any]]:
        claims = {
            each["metadata"]["name"]
            for each in (api.find("/apis/karpenter.sh/v1/nodeclaims") or {"items": ()})["items"]
        }
        pods = {each["metadata"]["name"]: each["spec"].get("nodeName") for each in api.list(PODS)}
        return {each["metadata"]["name"] for each in api.list("/api/v1/nodes")}, claims, pods

    before = there()
    time.sleep(QUIET_SECONDS)
    return there() == before


def _recorded() -> dict[str, Any]:
    """By lane, what became of a situation with the real program."""
    grown = read_yaml(RECORDED)["grows"]
    return {lane: grown[each["situation"]] for lane, each in GROWS.items()}


def _runs(api: Api, lane: str, heard: set[str]) -> bool:
    each = GROWS[lane]
    if "in_vain" in each:
        return True
    expected = each.get("nodes") or {}
    grown = all(len(nodes(api, f"{lane}-{name}")) >= count for name, count in expected.items())
    run = grown and all(group_of(api, f"{lane}-{name}") is not None for name in each.get("runs", ()))
    # An autoscaler tells a pod nothing while a node that may take it is still starting.
    return run and ("differs" in each or heard <= set(outcome(api, lane)["said"]))


def _grown() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, played(Path(folder), patience=_ENOUGH_SECONDS) as running:
        return {each["situation"]: outcome(running.api, lane) for lane, each in GROWS.items()}


def _emptied() -> dict[str, Any]:
    found = dict[str, Any]()
    for rows in plays(EMPTIES):
        with tempfile.TemporaryDirectory() as folder, emptied(Path(folder), rows) as running:
            found |= {lane: outcome_of_row(running.api, lane) for lane in rows}
    return {each["situation"]: found[lane] for lane, each in EMPTIES.items()}


def main(kinds: Sequence[str]) -> None:
    """Record."""
    program = own_autoscaler()
    if program is None:
        sys.exit("name a program in CLUSTER_AUTOSCALER")
    recorded: dict[str, Any] = yaml.safe_load(RECORDED.read_text("utf-8"))
    recorded["version"] = program.version
    recorded |= {kind: {"grows": _grown, "empties": _emptied}[kind]() for kind in kinds or ("grows", "empties")}
    RECORDED.write_text(yaml.safe_dump(recorded, sort_keys=False, width=120))


if __name__ == "__main__":
    main(sys.argv[1:])
