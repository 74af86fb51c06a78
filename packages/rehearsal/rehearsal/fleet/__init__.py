"""The simulated data centre: declared node groups become nodes, scaled by a real autoscaler (Karpenter).

Karpenter stands in for the clouds' managed autoscalers. What it shares with them is what a rehearsal is about:
a group may grow only for a pod that fits a node built from the group's declaration (labels, taints, capacity), up to
its maximum, the cheapest group first, and an empty node goes away.
"""

from rehearsal.fleet.group_nodes import FleetError
from rehearsal.fleet.karpenter_fleet import KarpenterFleet

__all__ = ["FleetError", "KarpenterFleet"]
