"""The node groups of a cluster and their state."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from facts.concepts.kubernetes import Taint
from facts.concepts.parts import Nodes, Scaling
from rehearsal.fleet.drivers import MissingDriver
from rehearsal.fleet.nodes import ClusterFacts, NodeTemplate
from rehearsal.simulation import NodeShape, SimulatedNodeGroup


def write_report(
    path: Path,
    cluster: ClusterFacts | None,
    groups: Iterable[SimulatedNodeGroup] = (),
    had_nodes: Iterable[str] = (),
    missing_drivers: Iterable[MissingDriver] = (),
) -> None:
    """Write the report: the declared groups, the names of those that have had a node, the nodes without usable GPUs."""
    report = {
        "cluster": None if cluster is None else asdict(cluster),
        "groups": [asdict(group) for group in groups],
        "had_nodes": sorted(had_nodes),
        "missing_drivers": [asdict(each) for each in missing_drivers],
    }
    # Several threads write: each its own file, renamed atomically.
    draft = path.with_name(f".{path.name}.{threading.get_ident()}")
    draft.write_text(json.dumps(report, indent=2, default=dict))
    draft.replace(path)


def read_report(path: Path, others: Collection[str] = ()) -> list[SimulatedNodeGroup]:
    """The groups of a report, without those of the names ``others``; none where nothing was written."""
    written = json.loads(path.read_text())["groups"] if path.exists() else []
    return [_group(each) for each in written if each["name"] not in others]


def _group(read: Mapping[str, Any]) -> SimulatedNodeGroup:
    """A group as it was written, without its packing."""
    nodes = {**read["nodes"], "taints": _taints(read["nodes"]["taints"])}
    nodes |= {key: tuple(nodes[key]) for key in ("machine_types", "zones")}
    return SimulatedNodeGroup(
        **{
            **read,
            "machine": NodeShape(**read["machine"]),
            "nodes": Nodes(**nodes),
            "scaling": Scaling(**read["scaling"]),
            "late_taints": _taints(read["late_taints"]),
            "packing": None,
        }
    )


def _taints(read: Iterable[Mapping[str, Any]]) -> tuple[Taint, ...]:
    return tuple(Taint(**each) for each in read)


class Groups:
    """The groups of ``cluster`` by name; the file ``report`` is always up to date.

    Any thread may read, note and report; callers hold a lock for changes.
    """

    def __init__(self, cluster: ClusterFacts, report: Path) -> None:
        self.cluster = cluster
        self._report = report
        self._templates: dict[str, NodeTemplate] = {}
        self._settled: set[str] = set()
        self._with_history: set[str] = set()
        self._known: set[str] = set()
        self._missing_drivers: tuple[MissingDriver, ...] = ()

    def template(self, name: str) -> NodeTemplate | None:
        """The group's template, if the group exists."""
        return self._templates.get(name)

    def templates(self) -> list[NodeTemplate]:
        """The templates of all groups."""
        return list(self._templates.values())

    def declare(self, group: SimulatedNodeGroup) -> NodeTemplate:
        """Add the group, or replace the one with its name; it is not settled."""
        self._settled.discard(group.name)
        template = self._templates[group.name] = NodeTemplate(self._as_known(group), self.cluster)
        self.write()
        return template

    def forget(self, name: str) -> bool:
        """Remove the group; returns whether it existed."""
        if self._templates.pop(name, None) is None:
            return False
        self._settled.discard(name)
        self._with_history.discard(name)
        self._known.discard(name)
        self.write()
        return True

    def know(self, name: str) -> NodeTemplate:
        """The group's template, now that its autoscaler knows a node of it."""
        self._known.add(name)
        group = self._as_known(self._templates[name].group)
        template = self._templates[name] = NodeTemplate(group, self.cluster)
        return template

    def settle(self, group: SimulatedNodeGroup) -> None:
        """Mark the group as settled, unless it has changed in the meantime."""
        if self._is(group):
            self._settled.add(group.name)

    def settled(self, group: SimulatedNodeGroup) -> bool:
        """Whether the group, exactly as passed, is settled."""
        return group.name in self._settled and self._is(group)

    def note_node(self, name: str) -> None:
        """Record that a group has had a node; called for every observed node."""
        if name in self._with_history or name not in self._templates:
            return
        self._with_history.add(name)
        self.write()

    def had_node(self, name: str) -> bool:
        """Whether the group has had a node."""
        return name in self._with_history

    def report_missing(self, missing: tuple[MissingDriver, ...]) -> None:
        """Set the nodes without usable GPUs."""
        self._missing_drivers = missing
        self.write()

    def write(self) -> None:
        """Write the report."""
        groups = [each.group for each in self.templates()]
        write_report(self._report, self.cluster, groups, set(self._with_history), self._missing_drivers)

    def _is(self, group: SimulatedNodeGroup) -> bool:
        template = self._templates.get(group.name)
        return template is not None and template.group == self._as_known(group)

    def _as_known(self, group: SimulatedNodeGroup) -> SimulatedNodeGroup:
        return replace(group, plans_whole=False) if group.name in self._known else group
