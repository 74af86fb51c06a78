"""GPUs that several pods share, and what the autoscaler makes of it."""

from __future__ import annotations

from policies.rules.model import UNKNOWN, Stack, Violation
from policies.rules.node_groups import has_gpus

VISIBLE = "gpu-sharing-visible"


def visible(stack: Stack) -> list[Violation]:
    """No device plugin multiplies GPUs behind the back of an autoscaler.

    The autoscaler plans new nodes by the GPUs their group declares. A device plugin that announces more, or announces
    them under another name, shows only on nodes that exist already: from zero, too many nodes come, or none.
    """
    autoscaled = [g for g in stack.groups if has_gpus(g) and g.kind != "machine" and g.autoscaled is not False]
    if not autoscaled:
        return []
    remedy = "Declare the sharing on the node group where the cloud offers that, or give each pod a whole GPU."
    names = ", ".join(f"'{group.name}'" for group in autoscaled[:3])
    found = []
    for sharing in stack.sharing:
        if sharing.replicas is UNKNOWN:
            message = f"{sharing.what}: unknown at preview, checked at update: how many pods share a GPU."
            found.append(Violation(VISIBLE, message, remedy, undecided=True, resource=sharing.resource))
            continue
        message = (
            f"{sharing.what} offers each GPU {sharing.replicas} times, which the autoscaler of {names} cannot see."
        )
        found.append(Violation(VISIBLE, message, remedy, resource=sharing.resource))
    return found
