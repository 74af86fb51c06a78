"""Whether somebody else's cluster is as it was before a stack came: each object, and each answer to what they write."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from facts.concepts.counts import counted
from facts.concepts.rest import resource_path
from facts.concepts.unknown import at
from rehearsal.cluster.api import Api, ApiError, Object, pod_path
from rehearsal.fleet.nodes import GROUP_LABEL
from rehearsal.scenario.check import Check

Key = tuple[str, str, str]
"""Kind with its group and version, namespace (empty: the cluster's), name."""

NOT_COMPARED: Final = frozenset({"Event", "Lease"})
"""Kinds whose objects come and go in every cluster."""

CHANGES_BY_ITSELF: Final[tuple[tuple[str, ...], ...]] = (
    ("metadata", "resourceVersion"),
    # GKE resizes its own agents with the number of nodes, there and back; the spec itself is compared.
    ("metadata", "generation"),
    ("status", "observedGeneration"),
    ("status", "conditions", "*", "lastHeartbeatTime"),
    ("status", "conditions", "*", "lastUpdateTime"),
    ("status", "conditions", "*", "lastTransitionTime"),
    # What led to the state of a condition, which is compared.
    ("status", "conditions", "*", "message"),
    ("status", "conditions", "*", "reason"),
    # Karpenter counts the nodes of each NodePool, with the resources that they have at that moment:
    # https://github.com/kubernetes-sigs/karpenter/blob/v1.14.0/pkg/controllers/nodepool/counter/controller.go
    ("status", "resources"),
    ("status", "nodes"),
)
"""Paths in an object that change although nobody changes it; ``*`` is each entry of a list."""

COMES_AND_GOES: Final = ("launch template karpenter",)
"""How the names of cloud resources begin that their Karpenter makes for its own nodes, and deletes when it has not used
them for a while: https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/providers/launchtemplate/launchtemplate.go"""

_WITH_PODS: Final = frozenset({"CronJob", "DaemonSet", "Deployment", "Job", "Pod", "StatefulSet"})
_WRITTEN: Final = ("namespace", "labels", "annotations", "ownerReferences")
_OF_EACH: Final = (("metadata", "uid"), ("metadata", "creationTimestamp"))
_NAME: Final = 50
_LISTED: Final = 5


def objects(api: Api) -> dict[Key, Object]:
    """Every object that the API server lists, without what changes by itself."""
    found: dict[Key, Object] = {}
    for version, kind, plural in _kinds(api):
        for each in api.list(resource_path(version, plural)):
            metadata = each["metadata"]
            if GROUP_LABEL in (metadata.get("labels") or {}) and kind != "Node":
                continue  # of the autoscaler's simulation, which has a place for each group in one order
            if kind == "Pod" and _is_resized(metadata):
                continue
            found[f"{version} {kind}", metadata.get("namespace", ""), metadata["name"]] = _lasting(each)
    return found


def _is_resized(metadata: Object) -> bool:
    """Whether it is a pod of a system Deployment, which its owner resizes with the number of nodes: another of its pods
    may be left afterwards. How many are ready is in the Deployment, which is compared."""
    owners = {each["kind"] for each in metadata.get("ownerReferences") or ()}
    return metadata.get("namespace") == "kube-system" and owners == {"ReplicaSet"}


def _kinds(api: Api) -> Iterator[tuple[str, str, str]]:
    groups = api.get("/apis")["groups"]
    for version in ("v1", *(group["preferredVersion"]["groupVersion"] for group in groups)):
        for each in api.get(resource_path(version, ""))["resources"]:
            if "/" not in each["name"] and "list" in each["verbs"] and each["kind"] not in NOT_COMPARED:
                yield version, each["kind"], each["name"]


def _lasting(item: Object) -> Object:
    result = copy.deepcopy(item)
    for path in CHANGES_BY_ITSELF:
        _drop(result, path)
    if isinstance(conditions := at(result, "status", "conditions"), list):
        conditions.sort(key=lambda each: each["type"])  # a controller appends the one that it sets again
    if isinstance(subnets := at(result, "status", "subnets"), list):
        # Karpenter lists the one with the most free addresses first:
        # https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/pkg/controllers/nodeclass/subnet.go
        subnets.sort(key=lambda each: each["id"])
    # Who has written the object, but for its status; each entry has a time.
    written = {each["manager"] for each in result["metadata"].pop("managedFields", ()) if "subresource" not in each}
    return {**result, "written by": sorted(written)}


def collect(api: Api) -> None:
    """Delete the pods of nodes that are gone, which the cluster's pod garbage collector does after 40 s.

    https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/podgc/gc_controller.go (``quarantineTime``)
    """
    nodes = {each["metadata"]["name"] for each in api.list("/api/v1/nodes")}
    for pod in api.list("/api/v1/pods"):
        if pod["spec"].get("nodeName", "") not in {"", *nodes}:
            api.delete(pod_path(pod), gracePeriodSeconds=0)


def _drop(value: Any, path: Sequence[str]) -> None:
    first, *rest = path
    if first == "*":
        for each in value if isinstance(value, list) else ():
            _drop(each, rest)
    elif isinstance(value, dict) and first in value:
        if rest:
            _drop(value[first], rest)
        else:
            del value[first]


def differences(before: Mapping[Key, Object], after: Mapping[Key, Object]) -> list[str]:
    """What is new, gone or changed, with the path of the first difference."""
    new = [f"new: {_named(key)}" for key in after if key not in before]
    gone = [f"gone: {_named(key)}" for key in before if key not in after]
    changed = [
        f"changed: {_named(key)} ({path})"
        for key, item in before.items()
        if key in after and (path := next(_paths(item, after[key]), ""))
    ]
    return [*new, *gone, *changed]


def _named(key: Key) -> str:
    kind, namespace, name = key
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def _paths(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Where two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted({*one, *other}):
            yield from _paths(one.get(key), other.get(key), f"{where}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (mine, yours) in enumerate(zip(one, other, strict=True)):
            yield from _paths(mine, yours, f"{where}[{index}]")
    elif one != other:
        yield where.lstrip(".")


@dataclass(frozen=True)
class DryRun:
    """The API server's answer to a new object, which is not created: its refusal (empty if it accepts), its warnings,
    and what it would store."""

    refusal: str
    warnings: tuple[str, ...] = ()
    stored: Object | None = None


def answers(api: Api, before: Mapping[Key, Object]) -> dict[Key, DryRun]:
    """The answers to the workloads and pods of ``before``, each asked for once more under another name."""
    return {key: _asked(api, key, item) for key, item in before.items() if _kind(key) in _WITH_PODS}


def _kind(key: Key) -> str:
    return key[0].rpartition(" ")[2]


def _asked(api: Api, key: Key, item: Object) -> DryRun:
    version, _, kind = key[0].rpartition(" ")
    metadata = {name: item["metadata"][name] for name in _WRITTEN if name in item["metadata"]}
    # A bound pod is not what anybody writes.
    spec = {name: value for name, value in item["spec"].items() if name != "nodeName"}
    name = f"{key[2][:_NAME].rstrip('-.')}-again"
    question = {"apiVersion": version, "kind": kind, "metadata": {**metadata, "name": name}, "spec": spec}
    try:
        stored, warnings = api.submit(api.resource(version, kind).path(namespace=key[1]), question, dryRun="All")
    except ApiError as refusal:
        return DryRun(str(refusal))
    for path in _OF_EACH:
        _drop(stored, path)
    return DryRun("", warnings, _lasting(stored))


def untouched(before: Mapping[Key, Object], after: Mapping[Key, Object]) -> Check:
    """Each object of theirs is as it was, and there is no other."""
    changed = differences(before, after)
    return Check("their-objects", "Their objects are as they were", not changed, _listed(changed) or _of(before))


def answered(id: str, title: str, before: Mapping[Key, DryRun], now: Mapping[Key, DryRun], *, warned: bool) -> Check:
    """Each answer is as it was; ``warned``: it may have more warnings, which the detail counts."""
    wrong = [text for key in before for text in _answered_otherwise(key, before[key], now[key], warned=warned)]
    more = sum(before[key].warnings != now[key].warnings for key in before)
    good = f"{counted(len(before), 'question')}, all answered as before (dry run)"
    good += f", {more} with more warnings" if more else ""
    return Check(id, title, not wrong, _listed(wrong) or good)


def _answered_otherwise(key: Key, before: DryRun, now: DryRun, *, warned: bool) -> Iterator[str]:
    if before.refusal != now.refusal:
        yield f"{_named(key)}: {now.refusal or 'accepted, and was refused'}"
    elif before.stored != now.stored:
        yield f"{_named(key)} is stored otherwise ({next(_paths(before.stored, now.stored))})"
    # What was said before is still said.
    lost, more = {*before.warnings} - {*now.warnings}, {*now.warnings} - {*before.warnings}
    yield from (f"{_named(key)}: no longer warned: {each}" for each in sorted(lost))
    yield from (f"{_named(key)}: {each}" for each in (() if warned else sorted(more)))


def _of(found: Mapping[Key, Object]) -> str:
    return f"{counted(len(found), 'object')} of {counted(len({key[0] for key in found}), 'kind')}"


def _listed(lines: Sequence[str]) -> str:
    more = len(lines) - _LISTED
    return "; ".join(lines[:_LISTED]) + (f"; and {more} more" if more > 0 else "")
