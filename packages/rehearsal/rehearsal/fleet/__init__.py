"""The simulated data centre: declared node groups become nodes, scaled by a real autoscaler (Karpenter).

Karpenter simulates the clouds' managed autoscalers. It shares with them what a rehearsal tests: a group grows only for
a pod that fits a node built from the group's declaration (labels, taints, capacity), up to its maximum, the cheapest
group first, and empty nodes are removed.
"""

from rehearsal.fleet.group_nodes import FleetError
from rehearsal.fleet.karpenter_fleet import KarpenterFleet

__all__ = ["FleetError", "KarpenterFleet"]
