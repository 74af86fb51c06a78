"""Pools of a cluster that another program declares, from the gate's configuration.

``{"pools": {"l4": {"gpusPerNode": 1, "taints": ["nvidia.com/gpu=present:NoSchedule"], "labels": {"pool": "l4"}}}}``.
Rules treat them like pools of the program itself. A pool with GPUs has the GPU taint unless
``taints`` is set, and always has the label of GPU nodes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from facts.concepts.declared import NodeGroup
from facts.concepts.kubernetes import GPU_PRESENT_LABEL, Effect, Taint
from facts.concepts.parts import Gpus, Nodes, Scaling
from facts.concepts.pool import GPU_TAINT

KEY: Final = "pools"
_GPUS: Final = "gpusPerNode"
_KEYS: Final = (_GPUS, "taints", "labels")
# https://kubernetes.io/docs/reference/kubectl/generated/kubectl_taint/
_TAINT: Final = re.compile(r"([^=:\s]+)(?:=([^=:\s]*))?:(NoSchedule|PreferNoSchedule|NoExecute)")


def parse(configured: object) -> tuple[NodeGroup, ...]:
    """The pools of a value without ``problems``; none if the value is missing."""
    named: Mapping[str, Mapping[str, Any]] = configured if isinstance(configured, Mapping) else {}
    return tuple(_pool(name, pool) for name, pool in named.items())


def problems(configured: object) -> list[str]:
    """All problems of the configuration's pools, one sentence each."""
    if not isinstance(configured, Mapping) or not configured:
        example = json.dumps({"l4": {_GPUS: 1}})
        return [f"{KEY}: must be an object of pools, for example {example}, got {json.dumps(configured)}"]
    errors = [problem for name, pool in configured.items() for problem in _problems(f"{KEY}.{name}", pool)]
    if not errors and not any(pool[_GPUS] for pool in configured.values()):
        return [f"{KEY}: none has GPUs; name the cluster's GPU pools, with {_GPUS} above 0"]
    return errors


def _pool(name: str, pool: Mapping[str, Any]) -> NodeGroup:
    gpus = int(pool[_GPUS])
    taints = [_taint(text) for text in pool["taints"]] if "taints" in pool else [GPU_TAINT] if gpus else []
    labels = {"kubernetes.io/os": "linux", **({GPU_PRESENT_LABEL: "true"} if gpus else {}), **pool.get("labels", {})}
    return NodeGroup(
        name,
        "any",
        gpus=Gpus(per_node=gpus),
        scaling=Scaling(max_nodes=None),
        nodes=Nodes(machine_types=(None,), zones=(), labels=labels, taints=tuple(taints)),
    )


def _taint(text: str) -> Taint:
    match = _TAINT.fullmatch(text)
    assert match is not None, "problems() has checked it"
    return Taint(match[1], match[2] or "", cast("Effect", match[3]))


def _problems(where: str, pool: object) -> Iterator[str]:
    if not isinstance(pool, Mapping):
        yield f"{where}: must be an object with {', '.join(_KEYS)}, got {json.dumps(pool)}"
        return
    yield from (f"{where}.{key}: no such key; a pool has {', '.join(_KEYS)}" for key in pool if key not in _KEYS)
    gpus = pool.get(_GPUS)
    # The engine passes every number as a float.
    if isinstance(gpus, bool) or not isinstance(gpus, (int, float)) or gpus < 0 or not float(gpus).is_integer():
        yield f"{where}.{_GPUS}: must be the GPUs of one node, 0 or more, got {json.dumps(gpus)}"
    taints, labels = pool.get("taints", []), pool.get("labels", {})
    if not isinstance(taints, list):
        yield f"{where}.taints: must be a list of taints, got {json.dumps(taints)}"
    else:
        for number, text in enumerate(taints):
            if not isinstance(text, str) or not _TAINT.fullmatch(text):
                yield f"{where}.taints[{number}]: must be like {GPU_TAINT}, got {json.dumps(text)}"
    if not isinstance(labels, Mapping) or not all(isinstance(value, str) for value in labels.values()):
        yield f"{where}.labels: must be an object of texts, got {json.dumps(labels)}"
