"""A CronJob on the admin pool that takes nodes with broken GPUs or fabric devices out of service, the same on every
cloud with an autoscaler.

docs/adr/0012-repair.md; its program is ``facts/concepts/broken_nodes.py``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from components.clouds.base import AdminObjects
from components.resources import documents
from facts.concepts import broken_nodes
from facts.concepts.autoscaler import KARPENTERS
from facts.concepts.kubernetes import GPU_PRESENT_LABEL
from facts.concepts.offer import pool_offer
from facts.concepts.pool import POOL_LABEL, ROLE_LABEL, Pool

_NODES: Final[dict[str, Any]] = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "patch"]}
_CLAIMS: Final[dict[str, Any]] = {"apiGroups": ["karpenter.sh"], "resources": ["nodeclaims"], "verbs": ["delete"]}


def manifests(
    autoscaler: str, pools: Iterable[Pool], accelerated: Iterable[str] | None = None, image: str | None = None
) -> list[Any]:
    """Its objects, for a cluster with the ``autoscaler`` of the stack file's spelling and these GPU ``pools``.

    ``accelerated``: instead of on the admin pool it runs on any node without a GPU, which has none of these labels of
    the cloud."""
    inventory = {
        pool.name: {"devices": pool_offer(pool, idle_minutes=None).devices, "slice": pool.gpus.slice_nodes > 1}
        for pool in pools
    }
    karpenter = autoscaler in KARPENTERS
    *others, job = documents(
        Path(__file__).with_name("node-reaper.yaml"),
        script=Path(broken_nodes.__file__).read_text(encoding="utf-8"),
        minutes=broken_nodes.EVERY_MINUTES,
        karpenter="yes" if karpenter else "no",
        pools=json.dumps(inventory),
        rules=[_NODES, _CLAIMS] if karpenter else [_NODES],
    )
    if accelerated is not None:
        pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
        del pod["nodeSelector"][ROLE_LABEL]
        absent = [{"key": key, "operator": "DoesNotExist"} for key in (POOL_LABEL, GPU_PRESENT_LABEL, *accelerated)]
        terms = {"nodeSelectorTerms": [{"matchExpressions": absent}]}
        pod["affinity"] = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    if image is not None:
        job["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return [*others, job]


def declare(
    objects: AdminObjects,
    autoscaler: str,
    pools: Iterable[Pool],
    accelerated: Iterable[str],
    image: str | None = None,
) -> None:
    """Its objects, which run on the admin pool; without one on any node that has none of these labels. ``image`` has
    Python; the default is Docker's official one."""
    for manifest in manifests(autoscaler, pools, None if objects.home else accelerated, image):
        objects.declare(f"reaper-{manifest['kind'].lower()}", manifest, *objects.home)
