"""GPUs by side doors (``side_doors.yaml``): objects in a chart's values, claims, patches of nodes, components."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import yaml

from tests.policies.corpus import aws, ec2
from tests.policies.corpus.case import Case, Program, resource, undecided
from tests.policies.corpus.kubernetes import allowed, blocked, on_t4


def program(rows: list[dict[str, Any]]) -> Program:
    """The resources of a program in YAML."""
    return tuple((row["type"], f"gpu{number}", row["inputs"]) for number, row in enumerate(rows))


ROWS: Final = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
PATCHED: Final = "kubernetes:core/v1:NodePatch"
SCALE_DOWN_OFF: Final = {"cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}

BLOCKED: Final = [blocked(f"side-{row['id']}", row["rule"], row["story"]).of(*program(row["refused"])) for row in ROWS]
NEIGHBOURS: Final = [
    replace(allowed(f"beside-{row['id']}", row["story"]).of(*program(row["allowed"])), rule=row["rule"]) for row in ROWS
]
GROUP: Final = next(row for row in ROWS if row["id"] == "config-group")
ALLOWED: Final = [
    *NEIGHBOURS,
    allowed("side-admin-node", "a patch of a node that has no GPUs").of(
        resource(PATCHED, metadata={"name": "gke-ml-admin-0a1b2c3d-x1y2", "annotations": SCALE_DOWN_OFF})
    ),
    allowed("side-group-with-children", "objects that are resources of their own are read once").of(
        *program(GROUP["refused"]), ("kubernetes:yaml/v2:ConfigGroup$kubernetes:core/v1:Namespace", "child", {})
    ),
]
UNJUDGED: Final[list[Case]] = [
    undecided("side-capacity-block", "its offering does not say", "GPUs that are paid in advance").of(
        resource("aws:ec2/capacityBlockReservation:CapacityBlockReservation", capacityBlockOfferingId="cb-1")
    ),
    undecided("side-container-group", "'V100'", "a container with a GPU outside of the cluster").of(
        resource("azure-native:containerinstance:ContainerGroup", sku={"gpu": "V100"})
    ),
    undecided("side-any-node", "the node's name does not say", "a patch of some node", around=on_t4).of(
        resource(PATCHED, metadata={"name": "ip-10-0-1-2.internal", "annotations": SCALE_DOWN_OFF})
    ),
    undecided("side-suspended", "process Terminate is suspended", "it does not scale in", links=aws.LINK).of(
        aws.template(), ec2.group(suspendedProcesses=["Terminate"])
    ),
]
