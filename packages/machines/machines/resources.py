"""Create, read, update and delete: what each resource type does on its machines, by way of phases.

Create and update are one path: look at the machine, then do what is missing. So an interrupted command is continued.
``log`` is what tells the user: coroutines ``progress(message)``, a passing line, and ``warning(message)``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
from collections.abc import Mapping
from typing import Any, Final

from machines import control_planes, preflight, scripts
from machines.differences import ResourceDiff, difference, drift
from machines.errors import OperationError, Problem, Unreachable, all_problems
from machines.existing.resources import ExistingResources, name_of, problems_of_access
from machines.inputs import (
    ADDITIONAL_PLANE,
    CONTROL_PLANE,
    EXISTING,
    PLANES,
    PREFLIGHT,
    WORKER,
    configuration_problems,
    problems_of,
)
from machines.kubeadm import endpoint, ends_soon, join_documents
from machines.node import Administration, MachineNode
from machines.software import driver_variables, preflight_variables, prepare_variables, upgrade_variables
from machines.ssh import Sessions, SshAccess, SshMachine
from machines.versions import is_newer
from machines.wire import UNKNOWN, Properties, is_known

SECRETS: Final = ("adminKubeconfig", "userKubeconfig", "kubeconfig")
"""Outputs that are marked secret."""

_OF_NODE: Final = ("nodeName", "kubernetesVersion", "containerdVersion", "driverVersion", "facts", "drift", "scripts")
_MADE: Final = {
    PREFLIGHT: ("checked", "warnings", "identities"),
    CONTROL_PLANE: (
        "endpoint", "caCertificate", "caHash", "adminKubeconfig", "userKubeconfig",
        "kubernetesVersion", "containerdVersion", "driverVersion", "facts", "drift", "scripts",
    ),
    ADDITIONAL_PLANE: _OF_NODE,
    WORKER: _OF_NODE,
}  # fmt: skip
_STABLE_FACTS: Final = (
    "os", "architecture", "kernel", "cpus", "memoryMiB", "hostname", "machineId", "cgroup", "gpus", "gpuIds",
    "nvswitches", "firewall",
)  # fmt: skip
_USER_DAYS: Final = 365
_CONNECT_SECONDS: Final = 10


class MachineResources:
    """The provider behind the protocol; one per connection of an engine."""

    def __init__(self) -> None:
        self._use(SshAccess())
        self._one_at_a_time = asyncio.Lock()
        self._existing = ExistingResources({})

    @staticmethod
    def check_config(config: Properties) -> list[Problem]:
        """Problems of the provider's settings."""
        return [*configuration_problems(config), *problems_of_access(config)]

    def configure(self, config: Properties) -> None:
        """Use these settings. In a preview some may be unknown; a preview opens no session."""
        self._use(SshAccess.of(config) if is_known(config) else SshAccess())
        self._existing = ExistingResources(config)

    def _use(self, access: SshAccess) -> None:
        self._sessions = Sessions(access)
        self._administration = Administration(self._sessions)

    def _node(self, kind: str, inputs: Properties, log: Any) -> MachineNode:
        return MachineNode.of(kind, inputs, self._sessions.access, log)

    async def check(self, kind: str, inputs: Properties, log: Any) -> tuple[Properties, list[Problem]]:
        """The inputs, completed where a cluster that exists can be asked, and their problems."""
        problems = problems_of(kind, inputs)
        if problems or kind not in EXISTING:
            return inputs, problems
        inputs, problems, notes = await asyncio.to_thread(self._existing.check, kind, inputs)
        for note in notes:
            await log.warning(note)
        return inputs, problems

    def diff(self, kind: str, olds: Properties, state: Properties, news: Properties) -> ResourceDiff:
        """What would change; raises ``OperationError`` for what no running machine can change to."""
        if kind in EXISTING:
            return self._existing.diff(kind, olds, state, news)
        return difference(kind, olds, state, news)

    def preview(self, kind: str, state: Properties, inputs: Properties) -> Properties:
        """The outputs as far as they are known before the operation."""
        if kind in EXISTING:
            return self._existing.preview(kind, state, inputs)
        made = {key: state.get(key, UNKNOWN) for key in _MADE[kind]}
        if state.get("drift") or _upgrades(inputs, str(state.get("kubernetesVersion") or "")):
            made["kubernetesVersion"] = UNKNOWN
        return {**inputs, **made}

    async def create(self, kind: str, inputs: Properties, log: Any) -> tuple[str, Properties]:
        """The resource's id and outputs."""
        if kind in EXISTING:
            return name_of(kind, inputs), await asyncio.to_thread(self._existing.create, kind, inputs)
        if kind == PREFLIGHT:
            return "preflight", await self._preflight(inputs, {}, log)
        return str(inputs["machine"]["name"]), await self._converge(self._node(kind, inputs, log), {})

    async def update(self, kind: str, olds: Properties, inputs: Properties, log: Any) -> Properties:
        """The outputs afterwards."""
        if kind in EXISTING:
            return await asyncio.to_thread(self._existing.update, kind, olds, inputs)
        if kind == PREFLIGHT:
            return await self._preflight(inputs, olds, log)
        node = self._node(kind, inputs, log)
        changed = {key for key in inputs if key not in _MADE[kind] and olds.get(key) != inputs[key]}
        changed |= {key for key in ("labels", "taints") if olds.get(key) and key not in inputs}
        current = olds.get("facts") and not olds.get("drift") and olds.get("scripts") == scripts.VERSION
        if changed <= {"labels", "taints"} and current:
            await self._administration.set(node, olds)
            return {**{key: olds.get(key) for key in _MADE[kind]}, **inputs}
        return await self._converge(node, olds)

    async def read(self, kind: str, inputs: Properties, state: Properties, log: Any) -> Properties:
        """The outputs as they are; nothing is changed on a machine."""
        if kind in EXISTING:
            return await asyncio.to_thread(self._existing.read, kind, inputs, state)
        if kind == PREFLIGHT:
            return state
        node = self._node(kind, inputs, log)
        try:
            facts = await self._sessions.run(node.machine, scripts.FACTS, {})
            current = (await self._administration.get(node)) if facts["joined"] else None
        except Unreachable as error:
            if not {node.machine.name, node.planes[0].name} & self._sessions.access.skip_unreachable:
                raise OperationError(
                    f"{error}\nTo go on without it, name it in ssh.skipUnreachable of the stack file"
                ) from None
            await log.warning(f"{error}\n{node.machine.name} is skipped (skipUnreachable); its state is not known")
            return state
        return {**state, "facts": _stable(facts), "drift": drift(inputs, state, facts, current)}

    async def delete(self, kind: str, inputs: Properties, state: Properties, log: Any) -> None:
        """The machine as it was before."""
        if kind in EXISTING:
            await asyncio.to_thread(self._existing.delete, kind, inputs, state)
            return
        if kind == PREFLIGHT:
            return
        node, additional = self._node(kind, inputs, log), kind == ADDITIONAL_PLANE
        off = await self._is_off(node.machine, log)
        # Members leave etcd one after the other, and each before its machine is reset.
        async with self._one_at_a_time if additional else contextlib.nullcontext():
            if kind != CONTROL_PLANE and await self._is_administered(node):
                member = node.machine.address if additional else "no"
                await self._administration.administer(node, "forget" if off else "remove", MEMBER=member)
            if not off:
                reset = {"OTHERS": "yes" if additional else "no"}
                await self._sessions.run(node.machine, scripts.RESET, reset, log.progress)
        if not off:
            await self._sessions.run(node.machine, scripts.RESTORE, {}, log.progress)

    def cancel(self) -> None:
        """Start no further phase; those that run end by themselves."""
        self._sessions.stopping = True

    async def close(self) -> None:
        """End the sessions."""
        await self._sessions.close()

    async def _is_administered(self, node: MachineNode) -> bool:
        """Whether a control plane answers; raises ``OperationError`` if the first does not and is not skipped."""
        for plane in node.planes[1:]:
            with contextlib.suppress(Unreachable):
                await self._sessions.run(plane, scripts.FACTS, {})
                return True
        return not await self._is_off(node.planes[0], node.log)

    async def _is_off(self, machine: SshMachine, log: Any) -> bool:
        try:
            await self._sessions.run(machine, scripts.FACTS, {})
        except Unreachable as error:
            if machine.name not in self._sessions.access.skip_unreachable:
                raise OperationError(
                    f"{error}\nSwitch it on, or name it in ssh.skipUnreachable of the stack file: then it is left as it"
                    " is, and must be cleaned by hand"
                ) from None
            await log.warning(
                f"{error}\n{machine.name} is skipped (skipUnreachable). Clean it by hand before it is used again:"
                " kubeadm reset, then the packages and files in /var/lib/gpucluster-machines there"
            )
            return True
        return False

    async def _preflight(self, inputs: Properties, olds: Properties, log: Any) -> Properties:
        before = {entry["machine"]["name"]: entry for entry in olds.get("machines") or []}
        entries = {entry["machine"]["name"]: entry for entry in inputs["machines"]}
        key = "loadBalancerRange"
        if inputs.get(key) != olds.get(key):  # also those that are in the cluster answer for its addresses
            before = {name: before[name] for name in self._sessions.access.skip_unreachable & {*before}}
        fresh = [entry for name, entry in entries.items() if entry != before.get(name)]
        results = await asyncio.gather(*(self._facts(entry, inputs) for entry in fresh))
        broken = [each for each in results if isinstance(each, Problem)]
        candidates = [each for each in results if isinstance(each, preflight.Candidate)]
        known = {name: each for name, each in (olds.get("identities") or {}).items() if name in entries}
        problems = preflight.problems(candidates, inputs, known)
        if len(entries) < len(inputs["machines"]):
            problems.append(Problem("machines", "two of them have the same name"))
        if broken or problems:
            raise OperationError(all_problems([*broken, *problems]))
        notes = preflight.warnings(candidates, inputs)
        for note in notes:
            await log.warning(note)
        mine = {each.name: {key: each.facts[key] for key in ("hostname", "machineId")} for each in candidates}
        return {**inputs, "checked": sorted(entries), "warnings": notes, "identities": {**known, **mine}}

    async def _facts(self, entry: Properties, inputs: Properties) -> preflight.Candidate | Problem:
        machine = SshMachine.of(entry["machine"])
        try:
            facts = await self._sessions.run(machine, scripts.FACTS, preflight_variables(inputs, entry))
        except OperationError as error:
            return Problem(machine.name, str(error).removeprefix(f"{machine.name}: "))
        gpus, driver = int(entry.get("gpus") or 0), str(entry.get("driver") or "")
        modules, gpu = str(entry.get("kernelModules") or ""), str(entry.get("gpu") or "")
        return preflight.Candidate(machine.name, entry["role"], gpus, facts, driver, modules, gpu)

    async def _converge(self, node: MachineNode, olds: Properties) -> Properties:
        inputs, run, progress = node.inputs, self._sessions.run, node.log.progress
        facts = await run(node.machine, scripts.FACTS, {})
        before = (olds.get("facts") or {}).get("machineId")
        # A control plane that was installed anew joins the others, and is the same to the users.
        anew = node.kind in PLANES and bool(node.others) and not facts["joined"]
        if before and before != facts["machineId"] and not anew:
            raise OperationError(
                f"{node.machine.name}: another machine (its machine-id is not the one from before) answers at"
                f" {node.machine.address}; give it a new name in the stack file, so that the old one is removed"
            )
        partial: Properties = {**{key: olds[key] for key in _MADE[node.kind] if key in olds}}
        try:
            role = "controlPlane" if node.kind in PLANES else "worker"
            if facts["joined"] and _upgrades(inputs, facts["kubeletVersion"]):
                await self._upgrade(node, role, partial)
            prepared = await run(node.machine, scripts.PREPARE, prepare_variables(inputs, role), progress)
            if inputs.get("nvidia"):
                await self._driver(node, facts)
            if node.kind in PLANES:
                made = await self._control_plane(node, facts, olds, prepared["kubernetesVersion"])
            else:
                made = {"nodeName": node.machine.name}
                await self._join(node, facts)
            await self._administration.set(node, olds)
            facts = await run(node.machine, scripts.FACTS, {})
        except OperationError as error:
            # Without drift the next update would find its inputs in the state, and nothing to do.
            state = {**partial, "drift": ["the last update did not end"]}
            raise OperationError(str(error), begun=True, state=state) from None
        return {
            **inputs,
            **made,
            "kubernetesVersion": facts["kubeletVersion"],
            "containerdVersion": facts["containerdVersion"],
            "driverVersion": facts["driverVersion"],
            "facts": _stable(facts),
            "drift": [],
            "scripts": scripts.VERSION,
        }

    async def _upgrade(self, node: MachineNode, role: str, partial: Properties) -> None:
        """First the control plane's pods, beside which everything goes on, then the machine's kubelet, drained.

        ``partial`` is told the version from which the cluster cannot go back.
        """

        async def step(name: str) -> Properties:
            variables = upgrade_variables(node.inputs, role, name, first=node.kind == CONTROL_PLANE)
            return await self._sessions.run(node.machine, scripts.UPGRADE, variables, node.log.progress)

        async with self._one_at_a_time:
            if node.kind in PLANES:
                partial["kubernetesVersion"] = (await step("plane"))["kubernetesVersion"]
            await self._administration.administer(node, "drain")
            await step("node")
            await self._administration.administer(node, "set", UNCORDON="yes")

    async def _driver(self, node: MachineNode, facts: Mapping[str, Any]) -> None:
        """Install, restart if the module cannot be loaded otherwise; a node in use is drained first, one at a time."""
        branch = str(node.inputs["nvidia"]["driver"])
        if facts["joined"] and not facts["driverVersion"].startswith(f"{branch}."):
            async with self._one_at_a_time:
                await self._administration.administer(node, "drain")
                await self._install_driver(node, facts)
                await self._administration.administer(node, "set", UNCORDON="yes")
        else:
            await self._install_driver(node, facts)

    async def _install_driver(self, node: MachineNode, facts: Mapping[str, Any]) -> None:
        run, progress = self._sessions.run, node.log.progress
        answer = await run(node.machine, scripts.DRIVER, driver_variables(node.inputs, facts, False), progress)
        if answer.get("reboot") == "yes":
            await self._sessions.reboot(node.machine, facts["boot"], progress)
            await run(node.machine, scripts.DRIVER, driver_variables(node.inputs, facts, True), progress)

    async def _control_plane(self, node: MachineNode, facts: Properties, olds: Properties, version: str) -> Properties:
        answer = await control_planes.serve(self._sessions, self._one_at_a_time, node, facts, olds, version)
        if node.kind == ADDITIONAL_PLANE:
            return {"nodeName": node.machine.name}
        made = {
            "endpoint": endpoint(node.inputs),
            "caCertificate": base64.b64decode(answer["caCertificate"]).decode(),
            "caHash": answer["caHash"],
            "adminKubeconfig": base64.b64decode(answer["adminKubeconfig"]).decode(),
            "userKubeconfig": await self._user_kubeconfig(node, olds),
        }
        await _warn_unless_reached(node, made["endpoint"])
        return made

    async def _user_kubeconfig(self, node: MachineNode, olds: Properties) -> str:
        """The one from before while it is valid and its input the same: no update changes it. Empty without a user."""
        user = node.inputs.get("user")
        if not user:
            return ""
        before = str(olds.get("userKubeconfig") or "")
        if olds.get("user") == user and before and not ends_soon(before):
            return before
        variables = {
            "ADDRESS": node.machine.address,
            "USER_NAME": str(user["name"]),
            "GROUPS_OF_USER": ",".join(user.get("groups") or []),
            "HOURS": str(24 * int(user.get("days") or _USER_DAYS)),
        }
        answer = await self._sessions.run(node.machine, scripts.USER, variables, node.log.progress)
        return base64.b64decode(answer["userKubeconfig"]).decode()

    async def _join(self, node: MachineNode, facts: Mapping[str, Any]) -> None:
        """With a token of its own; without one where the machine has joined.

        The token is deleted whatever happens, and so is one that a killed run left.
        """
        run, inputs = self._sessions.run, node.inputs
        token = {"NODE_NAME": node.machine.name, "CONTROL_PLANE": "no"}
        variables = {"CA_HASH": inputs["caHash"], "JOIN_CONFIG": "", "RESTART": "no"}
        try:
            if not facts["joined"]:
                answer = await self._administration.run(node, scripts.TOKEN, {**token, "ACTION": "create"})
                variables["JOIN_CONFIG"] = join_documents(inputs, answer["token"])
            elif facts["joined"] == inputs["caHash"] and await self._administration.get(node) is None:
                variables["RESTART"] = "yes"  # a kubelet registers its node when it starts
            await run(node.machine, scripts.JOIN, variables, node.log.progress)
        finally:
            await self._administration.run(node, scripts.TOKEN, {**token, "ACTION": "delete"}, always=True)


async def _warn_unless_reached(node: MachineNode, endpoint: str) -> None:
    """Of an API server that this computer gets no answer from, which is what a firewall or a jump host leaves it with.

    A refused connection is an answer.
    """
    address, port = endpoint.removeprefix("https://").rsplit(":", 1)
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(address, int(port)), _CONNECT_SECONDS)
        writer.close()
    except ConnectionRefusedError:
        return
    except (OSError, asyncio.TimeoutError):
        await node.log.warning(
            f"{node.machine.name}: this computer gets no answer from {endpoint}. Where ufw is on, add this computer's"
            " range to network.authorizedNetworks of the stack file. Behind a jump host, run"
            f" `sudo ip address add {address}/32 dev lo` and"
            f" `ssh -N -L {address}:{port}:{address}:{port} USER@JUMPHOST` here, and keep the second running"
        )


def _upgrades(inputs: Properties, running: str) -> bool:
    version = ((inputs.get("software") or {}).get("kubernetes") or {}).get("version")
    return bool(running) and isinstance(version, str) and is_newer(version, running)


def _stable(facts: Mapping[str, Any]) -> Properties:
    """What does not change by itself: so a refresh of an unchanged machine shows nothing."""
    return {key: facts[key] for key in _STABLE_FACTS}
