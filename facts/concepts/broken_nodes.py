"""Takes nodes with broken GPUs or fabric devices out of service: the program of a CronJob
(``components/node_reaper.py``). ``problem`` is also what users are shown.

Uses the standard library only, because the image has nothing else.
"""

from __future__ import annotations

import json
import os
import re
import ssl
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

SINCE = "gpucluster.dev/broken-since"
"""Annotation of a node: when its problem was first observed."""
DEVICES = "gpucluster.dev/devices"
"""Annotation of a node: the devices that its pool declared when the node was new, as JSON. A running node keeps what it
was created with, whatever its pool declares since."""
TAINT = "gpucluster.dev/broken"
"""Key of the taint of a node out of service. Its effect is NoExecute, which ends pods that no disruption budget lets be
evicted, with the condition DisruptionTarget, so that a Job counts no failure:
https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions"""

EVERY_MINUTES = 5
"""How often this program runs."""
NEW_MINUTES = 10
"""How old a node is at most when this program first sees it, unless it was there before the program."""
MINUTES = {"broken": 10, "missing": 20}
"""How long a problem must last: ``missing`` while a node has none of a resource at all, as one does that starts. A
device plugin that restarts makes all devices unusable for a moment, and a driver is installed within minutes."""

_NODES = "/api/v1/nodes"
_POOL_LABEL = "gpucluster.dev/pool"
_CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
_FORMAT = "%Y-%m-%dT%H:%M:%SZ"
# Where Kubernetes mounts the account and serves its API in every pod; a rehearsal has other places.
_ACCOUNT = os.environ.get("SERVICE_ACCOUNT_FOLDER", "/var/run/secrets/kubernetes.io/serviceaccount")
_SERVER = os.environ.get("API_SERVER", "https://kubernetes.default.svc")


def created_with(node: Mapping[str, Any], resources: Iterable[str]) -> dict[str, int]:
    """Resource → how many of it the node was created with: its record, or what it has of these ``resources``."""
    record = (node["metadata"].get("annotations") or {}).get(DEVICES)
    if record is not None:
        return dict(json.loads(record))
    return {resource: count for resource in resources if (count := _count(node, "capacity", resource))}


def problem(node: Mapping[str, Any], devices: Mapping[str, int]) -> str:
    """What is wrong with the devices of a node; empty if nothing is, or if the node is not ready.

    ``devices``: resource → how many of it the node was created with.

    - Kubelet does not count a GPU as allocatable that its device plugin reports as unhealthy. NVIDIA's does after Xid
      errors other than a program's own: https://github.com/NVIDIA/k8s-device-plugin/blob/02597b9/internal/rm/health.go
    - Karpenter waits for a resource that never registers, and removes no such node:
      https://github.com/kubernetes-sigs/karpenter/blob/v1.14.1/pkg/controllers/nodeclaim/lifecycle/initialization.go
    - GKE's plugin reports most Xid errors by the condition XidCriticalError. Its reason is JSON, ``{"79":true}``:
      https://github.com/GoogleCloudPlatform/container-engine-accelerators/blob/06e703e/pkg/gpu/nvidia/health_check/health_checker.go
      63 alone is no problem, programs go on
      (https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/error-recovery-and-response-flags.html).
    - AKS reports by GPUMissing that a machine has fewer GPUs than its size
      (https://learn.microsoft.com/azure/aks/gpu-health-monitoring). Its XIDErrors also counts a program's own errors.
    """
    status = node.get("status") or {}
    conditions = {each["type"]: each for each in status.get("conditions") or () if each["status"] == "True"}
    if "Ready" not in conditions:
        return ""
    xids = set(re.findall("[0-9]+", conditions.get("XidCriticalError", {}).get("reason") or "")) - {"63"}
    if xids:
        return f"Xid {', '.join(sorted(xids))}"
    if "GPUMissing" in conditions:
        return "a GPU is missing"
    for resource, declared in devices.items():
        usable, expected = _count(node, "allocatable", resource), max(declared, _count(node, "capacity", resource))
        if usable < expected:
            return f"{usable} of {expected} {resource} usable"
    return ""


def is_starting(node: Mapping[str, Any], resources: Iterable[str]) -> bool:
    """Whether the node has nothing yet of one of the ``resources``."""
    return not all(_count(node, "capacity", resource) for resource in resources)


def _count(node: Mapping[str, Any], kind: str, resource: str) -> int:
    return int(((node.get("status") or {}).get(kind) or {}).get(resource, 0))


def is_out_of_service(node: Mapping[str, Any]) -> bool:
    """Whether this program has taken the node out of service."""
    return any(each["key"] == TAINT for each in (node.get("spec") or {}).get("taints") or ())


def steps(nodes: Sequence[Any], pools: Mapping[str, Any], now: datetime) -> Iterator[tuple[str, Any, str]]:
    """What to do now: tuples of ``record``, ``note``, ``forget``, ``end`` or ``pause``, the node and the reason; with
    ``record`` the devices of a node that is seen for the first time.

    ``pools``: name → ``devices`` that it declares, and ``slice``: whether its nodes are one slice of TPUs. A slice
    ends as a whole: no other machine can take the place of one (https://docs.cloud.google.com/tpu/docs/failure-recovery).

    If more than one node or slice, and more than a fifth of all, are to be out of service, none is ended: something
    else is wrong then, such as the device plugin.
    """
    units: dict[str, list[Any]] = {}
    reasons: dict[str, str] = {}
    for node in nodes:
        metadata = node["metadata"]
        pool = metadata["labels"][_POOL_LABEL]
        if pool not in pools:
            continue
        declared = pools[pool]["devices"]
        devices = created_with(node, declared)
        if DEVICES not in (metadata.get("annotations") or {}):
            age = now - datetime.strptime(metadata["creationTimestamp"], _FORMAT).replace(tzinfo=timezone.utc)
            devices = declared if age <= timedelta(minutes=NEW_MINUTES) else devices
            yield "record", node, json.dumps(devices)
        unit = f"slice {pool}" if pools[pool]["slice"] else metadata["name"]
        units.setdefault(unit, []).append(node)
        reason, since = problem(node, devices), (metadata.get("annotations") or {}).get(SINCE)
        if is_out_of_service(node):
            reasons.setdefault(unit, "out of service")
        elif reason and since:
            limit = timedelta(minutes=MINUTES["missing" if is_starting(node, devices) else "broken"])
            if now - datetime.strptime(since, _FORMAT).replace(tzinfo=timezone.utc) >= limit:
                reasons[unit] = f"since {since}: {reason}"
        elif reason:
            yield "note", node, reason
        elif since:
            yield "forget", node, "its devices are usable again"
    action = "end" if len(reasons) <= max(1, len(units) // 5) else "pause"
    yield from ((action, node, reason) for unit, reason in reasons.items() for node in units[unit])


def _request(method: str, path: str, body: Any = None) -> Any:
    headers = {"Authorization": f"Bearer {Path(_ACCOUNT, 'token').read_text()}"}
    headers["Content-Type"] = "application/merge-patch+json"
    data = None if body is None else json.dumps(body).encode()
    request = Request(_SERVER + path, data, headers, method=method)
    with urlopen(request, context=ssl.create_default_context(cafile=f"{_ACCOUNT}/ca.crt"), timeout=30) as answer:
        return json.load(answer)


def _end(node: Any) -> None:
    """Take it out of service. Its autoscaler removes it when it is idle; Karpenter's machine ends at once, because
    Karpenter keeps a node that never became ready (https://github.com/kubernetes-sigs/karpenter/issues/3242)."""
    metadata, spec = node["metadata"], node["spec"]
    if not is_out_of_service(node):
        taints = [*(spec.get("taints") or ()), {"key": TAINT, "value": "gpu", "effect": "NoExecute"}]
        # Cordoned, because cluster-autoscaler plans a pool's new nodes after one that takes pods:
        # https://github.com/kubernetes/autoscaler/blob/cluster-autoscaler-1.35.1/cluster-autoscaler/processors/nodeinfosprovider/mixed_nodeinfos_processor.go
        # With its version, because the list of taints is replaced.
        version = {"resourceVersion": metadata["resourceVersion"]}
        body = {"metadata": version, "spec": {"unschedulable": True, "taints": taints}}
        _request("PATCH", f"{_NODES}/{metadata['name']}", body)
    for owner in metadata.get("ownerReferences") or ():
        if os.environ["KARPENTER"] == "yes" and owner["kind"] == "NodeClaim":
            _request("DELETE", f"{_CLAIMS}/{owner['name']}")


def _main() -> None:
    now = datetime.now(timezone.utc)
    nodes = _request("GET", f"{_NODES}?labelSelector={_POOL_LABEL}")["items"]
    for action, node, reason in steps(nodes, json.loads(os.environ["POOLS"]), now):
        sys.stdout.write(f"{action} {node['metadata']['name']}: {reason}\n")
        if action == "end":
            _end(node)
        elif action == "record":
            _annotate(node, {DEVICES: reason})
        elif action != "pause":
            _annotate(node, {SINCE: now.strftime(_FORMAT) if action == "note" else None})


def _annotate(node: Any, annotations: Mapping[str, str | None]) -> None:
    _request("PATCH", f"{_NODES}/{node['metadata']['name']}", {"metadata": {"annotations": annotations}})


if __name__ == "__main__":
    _main()
