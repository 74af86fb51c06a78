"""What the fleet says of itself, in a file."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from rehearsal.fleet.drivers import MissingDriver
from rehearsal.fleet.nodes import ClusterFacts
from rehearsal.simulation import SimulatedNodeGroup


def write_report(
    path: Path,
    cluster: ClusterFacts | None,
    groups: Iterable[SimulatedNodeGroup] = (),
    had_nodes: Iterable[str] = (),
    missing_drivers: Iterable[MissingDriver] = (),
) -> None:
    """Write it whole: the declared groups, the names of those that have had a node, the nodes without usable GPUs."""
    report = {
        "cluster": None if cluster is None else asdict(cluster),
        "groups": [asdict(group) for group in groups],
        "had_nodes": sorted(had_nodes),
        "missing_drivers": [asdict(each) for each in missing_drivers],
    }
    # Several threads report; each writes a file of its own, and the rename is atomic.
    draft = path.with_name(f".{path.name}.{threading.get_ident()}")
    draft.write_text(json.dumps(report, indent=2, default=dict))
    draft.replace(path)
