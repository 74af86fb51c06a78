"""Labels and taints of this program on nodes that are not its own, and their removal.

Labels are applied by the server (server-side apply) under a field manager of their own: a label that somebody else also
set stays when ours go. Taints are not: the API has them as one list (``+listType=atomic``,
https://github.com/kubernetes/api/blob/v0.34.4/core/v1/types.go), so applying them would remove the taints of others,
and the node controller takes the list over with the first taint of its own (a node that is not ready, a cordon). So
each taint is added to the list, and taken out of it, on the version of the node that was read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from machines.existing.api import APPLY, MANAGER, MERGE, AnswerError, ClusterApi, Object
from machines.wire import Properties

POOL_LABEL: Final = "gpucluster.dev/pool"
_PASSING: Final = re.compile(
    r"node(\.cloudprovider)?\.kubernetes\.io/|(ToBeDeleted|DeletionCandidateOf)|karpenter\.sh/disrupt|gpucluster\.dev/"
)
_CONFLICT: Final = 409
_ATTEMPTS: Final = 10


def selected(nodes: Sequence[Object], inputs: Properties) -> list[Object]:
    """The nodes of a pool: those that it names, or those with all labels of its selector."""
    names, selector = inputs.get("machines") or [], inputs.get("selector") or {}
    if names:
        return [node for node in nodes if node["metadata"]["name"] in names]
    return [node for node in nodes if selector and selector.items() <= labels_of(node).items()]


def labels_of(node: Object) -> dict[str, str]:
    """Its labels."""
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    return labels


def taints_of(node: Object) -> list[dict[str, str]]:
    """Its taints, each with key, value and effect."""
    return [_plain(taint) for taint in node.get("spec", {}).get("taints") or []]


def conflicts(node: Object, inputs: Properties) -> Iterator[str]:
    """What of others the program would have to overwrite."""
    applied = _applied(node)
    for key, value in (inputs.get("labels") or {}).items():
        current = labels_of(node).get(key)
        if current not in (None, value) and f"f:{key}" not in applied:
            yield f"has the label {key}={current}, the pool needs {value}; remove it, or leave the node out"
    values = {(taint["key"], taint["effect"]): taint["value"] for taint in taints_of(node)}
    for taint in _declared(inputs):
        current = values.get((taint["key"], taint["effect"]))
        if current not in (None, taint["value"]) and not applied:
            current_taint = _text({**taint, "value": current})
            yield f"has the taint {current_taint}, the pool needs {_text(taint)}; remove it, or leave the node out"


def missing(node: Object, inputs: Properties) -> list[str]:
    """Labels and taints that the node does not have, as kubectl writes them."""
    labels, taints = labels_of(node), taints_of(node)
    absent = [f"{key}={value}" for key, value in (inputs.get("labels") or {}).items() if labels.get(key) != value]
    return [*absent, *(_text(taint) for taint in _declared(inputs) if taint not in taints)]


def foreign_taints(node: Object, inputs: Properties) -> list[str]:
    """Taints that keep the pool's jobs away and are not the pool's, as kubectl writes them.

    Not those that come and go with a node's state (``node.kubernetes.io/unschedulable``), and former ones of ours.
    """
    declared = {(taint["key"], taint["effect"]) for taint in _declared(inputs)}
    return [
        _text(taint)
        for taint in taints_of(node)
        if taint["effect"] != "PreferNoSchedule"
        and not _PASSING.match(taint["key"])
        and (taint["key"], taint["effect"]) not in declared
    ]


def put(api: ClusterApi, name: str, inputs: Properties, olds: Properties) -> list[dict[str, str]]:
    """Bring a node in order; ``olds`` are the inputs before, empty for a node that was not in the pool. Returns the
    new taints that somebody else had set before."""
    taints, before, node = _declared(inputs), _declared(olds), api.get(_path(name))
    # Those of another pool of this program are nobody else's.
    there = [] if _is_in_another(node, inputs) else taints_of(node)
    foreign = [taint for taint in there if taint in taints and taint not in before]
    _apply_labels(api, name, inputs.get("labels") or {})
    _change_taints(api, name, taints, [taint for taint in before if taint not in taints])
    return foreign


def give_back(api: ClusterApi, name: str, inputs: Properties, foreign: Sequence[Mapping[str, str]]) -> None:
    """Take our labels and taints off a node, except taints that were there before (``foreign``); none if it is gone, or
    if another pool has it by now: one that is renamed is made under its new name before the former one goes."""
    try:
        if _is_in_another(api.get(_path(name)), inputs):
            return
        _apply_labels(api, name, {})
        _change_taints(api, name, [], [taint for taint in _declared(inputs) if taint not in foreign])
        _forget(api, name)
    except AnswerError as error:
        if error.status != 404:
            raise


def _is_in_another(node: Object, inputs: Properties) -> bool:
    """Whether this program has put it in another pool."""
    pool = labels_of(node).get(POOL_LABEL)
    return f"f:{POOL_LABEL}" in _applied(node) and pool != (inputs.get("labels") or {}).get(POOL_LABEL)


def _apply_labels(api: ClusterApi, name: str, labels: Mapping[str, str]) -> None:
    # Without labels the server removes those that only this manager has set.
    metadata = {"name": name, **({"labels": dict(labels)} if labels else {})}
    body = {"apiVersion": "v1", "kind": "Node", "metadata": metadata}
    api.get(_path(name))  # an apply would make a node that is not there
    api.send("PATCH", _path(name), body, APPLY, {"fieldManager": MANAGER})


def _change_taints(
    api: ClusterApi, name: str, added: Sequence[dict[str, str]], removed: Sequence[dict[str, str]]
) -> None:
    keys = {(taint["key"], taint["effect"]) for taint in added}

    def changed(node: Object) -> Object | None:
        current = node.get("spec", {}).get("taints") or []
        others = [each for each in current if _plain(each) not in removed]
        # A taint is one by its key and effect: ours takes the place of one with another value.
        others = [each for each in others if _plain(each) in added or (each["key"], each["effect"]) not in keys]
        taints = [*others, *(taint for taint in added if taint not in map(_plain, others))]
        return None if taints == current else {"spec": {"taints": taints or None}}

    _patch(api, name, changed)


def _forget(api: ClusterApi, name: str) -> None:
    """The node's record of who set what no longer names this program."""

    def changed(node: Object) -> Object | None:
        entries = node["metadata"].get("managedFields") or []
        others = [entry for entry in entries if entry.get("manager") != MANAGER]
        # An empty entry, not an empty list, takes the last one away.
        return {"metadata": {"managedFields": others or [{}]}} if len(others) < len(entries) else None

    _patch(api, name, changed)


def _patch(api: ClusterApi, name: str, change: Callable[[Object], Object | None]) -> None:
    """Make a change of the node as it is now; again if it has changed meanwhile."""
    for attempt in range(_ATTEMPTS):
        node = api.get(_path(name))
        body = change(node)
        if body is None:
            return
        version = {"resourceVersion": node["metadata"]["resourceVersion"]}
        body["metadata"] = {**body.get("metadata", {}), **version}
        try:
            api.send("PATCH", _path(name), body, MERGE, {"fieldManager": MANAGER})
        except AnswerError as error:
            if error.status != _CONFLICT or attempt == _ATTEMPTS - 1:
                raise
        else:
            return


def _applied(node: Object) -> Mapping[str, Any]:
    """The labels that this program's manager has applied, as the server writes fields."""
    for entry in node["metadata"].get("managedFields") or []:
        if entry.get("manager") == MANAGER and entry.get("operation") == "Apply":
            fields: Mapping[str, Any] = entry.get("fieldsV1", {}).get("f:metadata", {}).get("f:labels", {})
            return fields
    return {}


def _declared(inputs: Properties) -> list[dict[str, str]]:
    return [_plain(taint) for taint in inputs.get("taints") or []]


def _plain(taint: Mapping[str, Any]) -> dict[str, str]:
    return {"key": taint["key"], "value": taint.get("value") or "", "effect": taint["effect"]}


def _text(taint: Mapping[str, str]) -> str:
    return f"{taint['key']}={taint['value']}:{taint['effect']}"


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"
