"""A machine as a node, and the administration of its cluster on whichever control plane answers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from machines import scripts
from machines.differences import node_changes
from machines.errors import OperationError, Unreachable
from machines.inputs import CONTROL_PLANE
from machines.scripts import Phase
from machines.ssh import Sessions, SshAccess, SshMachine
from machines.wire import Properties

_DRAIN_SECONDS: Final = 600
_NODE_SECONDS: Final = 90


@dataclass(frozen=True)
class MachineNode:
    """A machine that is or becomes a node. ``planes``: where its cluster is administered, the first that answers."""

    kind: str
    inputs: Properties
    machine: SshMachine
    planes: tuple[SshMachine, ...]
    log: Any

    @classmethod
    def of(cls, kind: str, inputs: Properties, access: SshAccess, log: Any) -> MachineNode:
        """From a resource's inputs; the first control plane administers itself."""
        machine = SshMachine.of(inputs["machine"])
        first = machine if kind == CONTROL_PLANE else SshMachine.of(inputs["controlPlane"]["machine"])
        others = (each for each in access.control_planes if each.name not in (machine.name, first.name))
        return cls(kind, inputs, machine, (first, *others), log)

    @property
    def others(self) -> tuple[SshMachine, ...]:
        """Control planes but this machine."""
        return tuple(each for each in self.planes if each.name != self.machine.name)


class Administration:
    """What is done with a node's object, tokens and member of etcd."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._answered = ""

    async def run(
        self, node: MachineNode, phase: Phase, variables: Mapping[str, str], *, always: bool = False
    ) -> Properties:
        """A phase on the first control plane that answers; the one that did is asked first the next time.

        Raises ``Unreachable`` of the first if none does.
        """
        silent, left = None, None
        for plane in sorted(node.planes, key=lambda each: each.name != self._answered):
            try:
                result = await self._sessions.run(plane, phase, variables, node.log.progress, always=always)
            except Unreachable as error:
                silent = silent or error
                continue
            if result.get("controlPlane") == "no":
                left = result
                continue
            self._answered = plane.name
            return result
        if silent is not None:
            raise silent
        return left or {}

    async def administer(self, node: MachineNode, action: str, **more: str) -> Properties:
        """The phase node."""
        variables = {"NODE_NAME": node.machine.name, "ACTION": action, "DRAIN_SECONDS": str(_DRAIN_SECONDS)}
        variables |= dict.fromkeys(("LABELS", "TAINTS", "TAINTS_REMOVED"), "") | {"UNCORDON": "no", "MEMBER": "no"}
        return await self.run(node, scripts.NODE, variables | more)

    async def get(self, node: MachineNode) -> Properties | None:
        """The Node object, if there is one."""
        return (await self.administer(node, "get"))["node"]

    async def set(self, node: MachineNode, olds: Properties) -> None:
        """Labels and taints that are ours; the node appears some seconds after its kubelet has started."""
        deadline = asyncio.get_running_loop().time() + _NODE_SECONDS
        while (known := await self.get(node)) is None:
            if asyncio.get_running_loop().time() > deadline:
                raise OperationError(
                    f"{node.machine.name}: its kubelet has not registered the node within {_NODE_SECONDS} s; look at"
                    " journalctl -u kubelet there"
                )
            await asyncio.sleep(2)
        changes = node_changes(node.inputs, olds, known)
        if changes:
            await self.administer(node, "set", **changes)
