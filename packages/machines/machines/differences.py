"""What is different: declared inputs from earlier ones, a machine from what is declared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from machines.errors import OperationError
from machines.gpus import kernel_modules
from machines.inputs import ADDITIONAL_PLANE, CONTROL_PLANE, PREFLIGHT, WORKER
from machines.kubeadm import ends_soon
from machines.scripts import VERSION
from machines.versions import refusal
from machines.wire import Properties, is_known

_REPLACING: Final = {CONTROL_PLANE: (), **dict.fromkeys((ADDITIONAL_PLANE, WORKER), ("endpoint", "caHash"))}
_FIXED: Final = {
    CONTROL_PLANE: ("kubeadm", "encryptSecrets", "schedulable", "nvidia"),
    ADDITIONAL_PLANE: ("encryptSecrets", "schedulable"),
    WORKER: ("kubeadm",),
}
CORDONED: Final = "gpucluster-machines/cordoned"
"""Annotation of a node that was cordoned to be drained; one that is left is of an interrupted command."""


@dataclass(frozen=True)
class ResourceDiff:
    """Property paths that change in place, and those for which the resource is made anew."""

    changes: frozenset[str] = frozenset()
    replaces: frozenset[str] = frozenset()


def difference(kind: str, olds: Properties, state: Properties, news: Properties) -> ResourceDiff:
    """Raises ``OperationError`` for changes that a running node does not take."""
    changes = {key for key in {*olds, *news} if olds.get(key) != news.get(key)}
    if kind == PREFLIGHT:
        _refuse_other_roles(olds, news)
        return ResourceDiff(frozenset(changes))
    if "machine" in changes:
        parts = {key for key in ("name", "address", "hostKey", "user", "port") if _part(olds, key) != _part(news, key)}
        changes = (changes - {"machine"}) | {f"machine.{part}" for part in parts}
    replaces = changes & {"machine.name", "machine.address", *_REPLACING[kind]}
    if "firewall" in changes and (state.get("facts") or {}).get("firewall") not in (None, "ufw"):
        changes -= {"firewall"}
    if state.get("drift") or _ending(state):
        changes |= {"drift"}
    if state.get("facts") and state.get("scripts") != VERSION:
        changes |= {"scripts"}
    if kind == CONTROL_PLANE and state.get("facts"):
        _refuse_for_cluster(olds, news)
    if not replaces and state.get("facts"):
        _refuse(kind, olds, state, news, changes)
    return ResourceDiff(frozenset(changes), frozenset(replaces))


def _refuse_other_roles(olds: Properties, news: Properties) -> None:
    """A machine leaves the cluster before it is another kind of node: as one resource goes after another is made, it
    would leave as what it has become."""
    before, after = (
        {each["machine"]["name"]: each["role"] for each in inputs.get("machines") or []} for inputs in (olds, news)
    )
    moved = sorted(name for name, role in after.items() if before.get(name, role) != role)
    if moved:
        raise OperationError(
            f"{', '.join(moved)}: no machine in the cluster can turn from a control plane into a worker or the reverse;"
            " remove it from the stack file, `pulumi up`, and add it again"
        )


def _part(inputs: Properties, key: str) -> Any:
    return (inputs.get("machine") or {}).get(key)


def _refuse_for_cluster(olds: Properties, news: Properties) -> None:
    """What all machines of a cluster, its certificates and its kubeconfigs have of the first control plane."""
    name, before, after = news["machine"]["name"], olds.get("virtualAddress"), news.get("virtualAddress")
    if before != after:
        way = (
            f"write virtualAddress: {before}"
            if before
            else "leave it out, and the cluster has one control plane; for three, write it before the cluster is made"
        )
        raise OperationError(
            f"{name}: the cluster's certificates, kubeconfigs and machines have the address {before or 'of ' + name},"
            f" so virtualAddress cannot change: {way}. Else take the cluster down first (pulumi destroy)"
        )
    parts = ("name", "address")
    if any(_part(olds, part) != _part(news, part) for part in parts):
        old = olds["machine"]
        others = (
            "If it is lost for good, install it anew with this name and address, write its new hostKey and `pulumi up`:"
            " it joins the others"
            if before
            else "Another one is another cluster: take this one down first (pulumi destroy), with all that is in it"
        )
        raise OperationError(
            f"{old['name']} ({old['address']}) is the first control plane and has to be the first in"
            f" adminPool.machines. {others}"
        )


def _refuse(kind: str, olds: Properties, state: Properties, news: Properties, changes: set[str]) -> None:
    name = news["machine"]["name"]
    fixed = sorted(changes & set(_FIXED[kind]))
    if fixed:
        raise OperationError(
            f"{name}: {', '.join(fixed)} cannot change on a machine that is in the cluster; "
            + (
                "remove the machine from the stack file, `pulumi up`, and add it again"
                if kind != CONTROL_PLANE
                else "change the stack file back, or take the cluster down first (pulumi destroy)"
            )
        )
    version, running = news["software"]["kubernetes"]["version"], state.get("kubernetesVersion")
    text = refusal(running, version, state["facts"]["cgroup"]) if running and is_known(version) else ""
    if text:
        raise OperationError(f"{name}: {text}")
    if olds.get("nvidia") and news.get("nvidia") and len({_modules(each, state) for each in (olds, news)}) == 2:
        raise OperationError(
            f"{name}: kernelModules cannot change on a machine that is in the cluster; remove the machine from the"
            " stack file, `pulumi up`, and add it again"
        )
    if olds.get("nvidia") and not news.get("nvidia"):
        raise OperationError(
            f"{name}: its NVIDIA driver is removed with the machine only: remove it from the stack file"
        )


def _modules(inputs: Properties, state: Properties) -> str:
    return kernel_modules(inputs["nvidia"].get("kernelModules") or "", state["facts"].get("gpuIds") or "")


def drift(inputs: Properties, state: Properties, facts: Mapping[str, Any], node: Properties | None) -> list[str]:
    """In what the machine and its node differ from what is declared, a sentence each."""
    result = [
        f"{unit} is {facts[unit].replace('/', ' and ')}, not enabled and active"
        for unit in ("containerd", "kubelet")
        if facts[unit] != "enabled/active"
    ]
    if inputs.get("virtualAddress") and facts["keepalived"] != "enabled/active":
        result.append(f"keepalived is {facts['keepalived'].replace('/', ' and ')}, not enabled and active")
    if facts["changedFiles"]:
        result.append(f"changed since: {facts['changedFiles']}")
    if state.get("kubernetesVersion") not in (None, facts["kubeletVersion"]):
        result.append(f"kubeletVersion is {facts['kubeletVersion'] or 'none'}, not {state['kubernetesVersion']}")
    if facts["certificatesEnding"]:
        result.append(f"certificates end within 30 days: {facts['certificatesEnding']}")
    result += _ending(state)
    if facts["notHeld"]:
        result.append(f"not held: {', '.join(facts['notHeld'].split())}")
    if facts["swap"]:
        result.append(f"uses swap: {facts['swap']}")
    nvidia = inputs.get("nvidia")
    if nvidia and not facts["driverVersion"].startswith(f"{nvidia['driver']}."):
        result.append(f"NVIDIA driver {facts['driverVersion'] or 'not running'}, not {nvidia['driver']}")
    elif nvidia and facts["driverGpus"] < int(inputs.get("gpus") or 0):
        result.append(f"nvidia-smi lists {facts['driverGpus']} GPUs, not {int(inputs['gpus'])}")
    if nvidia and not facts["foreignDriver"]:
        result += _of_own_driver(nvidia, facts)
    if not facts["joined"]:
        return [*result, "is in no cluster any more"]
    if node is None:
        return [*result, "its Node object is gone"]
    labels, taints = _labels(node), _taints(node)
    for key, value in (inputs.get("labels") or {}).items():
        if labels.get(key) != value:
            result.append(f"label {key} is {labels.get(key, 'missing')}, not {value}")
    result += [f"taint {taint} is missing" for taint in _declared_taints(inputs) if taint not in taints]
    return result


def _of_own_driver(nvidia: Properties, facts: Mapping[str, Any]) -> Iterator[str]:
    """Of a driver that was installed from here."""
    modules = facts["kernelModules"]
    if modules and nvidia.get("kernelModules") not in (None, modules):
        yield f"the NVIDIA driver has {modules} kernel modules, not {nvidia['kernelModules']}"
    if facts["fabricManager"] not in ("", "enabled/active"):
        yield f"nvidia-fabricmanager is {facts['fabricManager'].replace('/', ' and ')}, not enabled and active"


def _ending(state: Properties) -> list[str]:
    ends = {key: ends_soon(state.get(key) or "") for key in ("adminKubeconfig", "userKubeconfig")}
    return [f"the certificate of {key} ends on {day}" for key, day in ends.items() if day]


def node_changes(inputs: Properties, olds: Properties, node: Properties) -> dict[str, str]:
    """Variables of the phase node for what is not as declared; empty if there is nothing to do."""
    labels, taints = _labels(node), _taints(node)
    declared, before = inputs.get("labels") or {}, olds.get("labels") or {}
    words = [f"{key}={value}" for key, value in declared.items() if labels.get(key) != value]
    words += [f"{key}-" for key in before if key not in declared and key in labels]
    missing = [taint for taint in _declared_taints(inputs) if taint not in taints]
    dropped = [
        f"{taint['key']}:{taint['effect']}"
        for taint in olds.get("taints") or []
        if (taint["key"], taint["effect"]) not in {(each["key"], each["effect"]) for each in inputs.get("taints") or []}
    ]
    cordoned = CORDONED in (node["metadata"].get("annotations") or {})
    if not (words or missing or dropped or cordoned):
        return {}
    return {
        "LABELS": " ".join(words),
        "TAINTS": " ".join(missing),
        "TAINTS_REMOVED": " ".join(dropped),
        "UNCORDON": "yes" if cordoned else "no",
    }


def _labels(node: Properties) -> Properties:
    return node["metadata"].get("labels") or {}


def _taints(node: Properties) -> set[str]:
    return {_taint(taint) for taint in node["spec"].get("taints") or []}


def _declared_taints(inputs: Properties) -> list[str]:
    return [_taint(taint) for taint in inputs.get("taints") or []]


def _taint(taint: Properties) -> str:
    return f"{taint['key']}={taint.get('value') or ''}:{taint['effect']}"
