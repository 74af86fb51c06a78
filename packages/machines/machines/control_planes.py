"""How a machine becomes a control plane: the cluster's first, or one more of three.

https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/high-availability/
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Final

from machines import scripts
from machines.errors import OperationError, Unreachable
from machines.kubeadm import endpoint, init_documents, join_documents
from machines.node import Administration, MachineNode
from machines.software import init_variables
from machines.ssh import Sessions
from machines.wire import Properties

_CONTROL_PLANE: Final = "node-role.kubernetes.io/control-plane"


async def serve(
    sessions: Sessions,
    one_at_a_time: asyncio.Lock,
    node: MachineNode,
    facts: Properties,
    olds: Properties,
    version: str,
) -> Properties:
    """The answer of the phase init. ``facts`` and ``olds``: of the machine before, and the resource's state.

    A machine that is in no cluster never makes a second one while another control plane is in one: it joins that.
    """
    ca_hash = ""
    if not (facts["controlPlane"] and facts["joined"]):
        ca_hash = str(node.inputs.get("caHash") or await _cluster_of_others(sessions, node, olds))
    if ca_hash:
        async with one_at_a_time:
            return await _join(sessions, replace(node, planes=node.others), ca_hash)
    variables = init_variables(node.inputs, init=init_documents(node.inputs, version))
    return await sessions.run(node.machine, scripts.INIT, variables, node.log.progress)


async def _cluster_of_others(sessions: Sessions, node: MachineNode, olds: Properties) -> str:
    """The CA's hash of the cluster that another control plane is in; empty if none is."""
    for plane in node.others:
        try:
            facts = await sessions.run(plane, scripts.FACTS, {})
        except Unreachable as error:
            if not olds.get("caHash") or plane.name in sessions.access.skip_unreachable:
                continue
            raise OperationError(
                f"{node.machine.name}: it is in no cluster, and whether {plane.name} still is cannot be known"
                f" ({error}). Switch that on; if it is lost for good, name it in ssh.skipUnreachable of the stack file"
            ) from None
        if facts["controlPlane"] and facts["joined"]:
            return str(facts["joined"])
    return ""


async def _join(sessions: Sessions, node: MachineNode, ca_hash: str) -> Properties:
    """``kubeadm join`` with a token and a key of the certificates, both deleted whatever happens.

    etcd takes no new member while one does not answer: what the machine was before is removed, and what is named in
    skipUnreachable and no control plane of the stack file any more.
    https://etcd.io/docs/v3.6/op-guide/runtime-configuration/#strict-reconfiguration-check-mode--strict-reconfig-check
    """
    administration, name, address = Administration(sessions), node.machine.name, node.machine.address
    access = sessions.access
    lost = access.skip_unreachable - {each.name for each in access.control_planes} - {name}
    await administration.administer(node, "forget", MEMBER=address)
    for each in sorted(lost):
        known = (await administration.administer(node, "get", NODE_NAME=each))["node"]
        # A worker that is off keeps its node.
        if known is None or _CONTROL_PLANE in known["metadata"]["labels"]:
            await administration.administer(node, "forget", NODE_NAME=each, MEMBER="unknown")
    token: dict[str, str] = {"NODE_NAME": name, "CONTROL_PLANE": "yes"}
    try:
        made: dict[str, Any] = await administration.run(node, scripts.TOKEN, {**token, "ACTION": "create"})
        inputs = {**node.inputs, "endpoint": endpoint(node.inputs), "caHash": ca_hash, "kubeadm": []}
        documents = join_documents(inputs, made["token"], made["certificateKey"])
        variables = init_variables(node.inputs, join=documents, encryption=made["encryption"], ca_hash=ca_hash)
        return await sessions.run(node.machine, scripts.INIT, variables, node.log.progress)
    finally:
        await administration.run(node, scripts.TOKEN, {**token, "ACTION": "delete"}, always=True)
