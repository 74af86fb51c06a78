"""What is asked of a cluster before anything changes there: rights, nodes, and who offers its GPUs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from machines.errors import Problem
from machines.existing.api import AnswerError, ClusterApi, Object
from machines.existing.nodes import POOL_LABEL, conflicts, foreign_taints, labels_of, missing, selected
from machines.wire import Properties

GPU: Final = "nvidia.com/gpu"
_OURS: Final = "gpucluster.dev/driver"
"""The label of this program's own device plugins."""
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
_OPERATOR: Final = "clusterpolicies.nvidia.com"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


def missing_rights(api: ClusterApi, rights: Sequence[Properties]) -> list[str]:
    """Those of the rights ``{group, resource, name?, verbs}`` that the user does not have, a line for each resource.

    https://kubernetes.io/docs/reference/access-authn-authz/authorization/#checking-api-access
    """
    lines = []
    for right in rights:
        verbs = [verb for verb in right["verbs"] if not _allowed(api, right, verb)]
        if verbs:
            group, name = right.get("group") or "", right.get("name") or ""
            resource = f"{right['resource']}.{group}" if group else str(right["resource"])
            lines.append(f"{', '.join(verbs)} {resource}{f' {name}' if name else ''}")
    return lines


def _allowed(api: ClusterApi, right: Properties, verb: str) -> bool:
    resource, _, part = str(right["resource"]).partition("/")
    attributes = {"group": right.get("group") or "", "resource": resource, "verb": verb}
    attributes |= {"subresource": part} if part else {}
    attributes |= {"name": right["name"]} if right.get("name") else {}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    return bool(api.send("POST", _REVIEWS, review)["status"].get("allowed"))


def identity(api: ClusterApi) -> str:
    """What tells this cluster from any other: the identity of its namespace kube-system."""
    return str(api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"])


def problems(api: ClusterApi, inputs: Properties) -> list[Problem]:
    """Why the program cannot work there, all at once: rights first, without which nothing else can be looked at."""
    lines = missing_rights(api, inputs.get("rights") or [])
    if lines:
        text = "The user of the kubeconfig lacks rights; ask the cluster's administrator for:"
        return [Problem("rights", "\n    ".join([text, *lines]))]
    nodes, pools = api.items("/api/v1/nodes"), inputs.get("pools") or []
    plugins = device_plugins(api)
    return [*_pools(nodes, pools, plugins), *_twice(nodes, pools)]


def warnings(api: ClusterApi, inputs: Properties) -> list[str]:
    """What the node groups of nodes that somebody else scales have to give them, and taints that keep pods from any."""
    lines = []
    nodes = api.items("/api/v1/nodes")
    for pool in inputs.get("pools") or []:
        members = [node for node in nodes if pool.get("scaled") and labels_of(node).get(POOL_LABEL) == pool["name"]]
        for node in [*members, *(each for each in selected(nodes, pool) if each not in members)]:
            if foreign := foreign_taints(node, pool):
                taints = ", ".join(foreign)
                text = f"{pool['name']}: node {node['metadata']['name']} has the taint {taints}, which the pool's pods"
                lines.append(
                    f"{text} do not tolerate, so they stay Pending: write it in taints of the pool, or remove it"
                )
        for node in members:
            if absent := missing(node, pool):
                name = node["metadata"]["name"]
                lines.append(f"{pool['name']}: node {name} lacks {', '.join(absent)}; set it on its node group")
    return lines


def device_plugins(api: ClusterApi) -> list[str]:
    """What offers the nodes' GPUs and is not this program's, as ``namespace/name``."""
    result = []
    for each in api.items("/apis/apps/v1/daemonsets"):
        place, pod = each["metadata"], each["spec"]["template"]["spec"]
        paths = {(volume.get("hostPath") or {}).get("path", "").rstrip("/") for volume in pod.get("volumes") or []}
        names = [place["name"], *(container.get("image", "") for container in pod["containers"])]
        if _SOCKETS in paths and _OURS not in (place.get("labels") or {}) and any("nvidia" in name for name in names):
            result.append(f"{place['namespace']}/{place['name']}")
    try:
        api.get(f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{_OPERATOR}")
        result.append("NVIDIA's GPU Operator")
    except AnswerError as error:
        if error.status != 404:
            raise
    return result


def _pools(nodes: Sequence[Object], pools: Sequence[Properties], plugins: Sequence[str]) -> Iterator[Problem]:
    for pool in pools:
        where, members = str(pool["name"]), selected(nodes, pool)
        names = {node["metadata"]["name"] for node in members}
        for name in pool.get("machines") or []:
            if name not in names:
                present = ", ".join(sorted(node["metadata"]["name"] for node in nodes))
                yield Problem(where, f"the cluster has no node '{name}'; it has {present}")
        if pool.get("selector") and not 0 < len(members) <= pool["count"]:
            text = f"{len(members)} nodes have the labels of its selector, the stack file says {pool['count']}"
            yield Problem(where, f"{text}; correct the selector or maxNodes")
        if pool.get("devicePlugin") and plugins:
            text = f"{', '.join(plugins)} offers GPUs already and is left alone; write drivers: none"
            yield Problem(where, text)
        for node in members:
            yield from (Problem(f"{where}, node {node['metadata']['name']}", text) for text in _node(node, pool))


def _node(node: Object, pool: Properties) -> Iterator[str]:
    yield from conflicts(node, pool)
    gpus, offered = pool.get("gpus") or 0, int(node["status"].get("allocatable", {}).get(GPU, 0))
    if offered == gpus or (pool.get("devicePlugin") and not offered):
        return
    if not offered:
        yield "offers no GPUs; install NVIDIA's driver and device plugin there, or write drivers: device-plugin"
    elif not pool.get("devicePlugin"):
        yield f"offers {offered} GPUs (allocatable {GPU}), the stack file says {gpus}"


def _twice(nodes: Sequence[Object], pools: Sequence[Properties]) -> Iterator[Problem]:
    owners: dict[str, Any] = {}
    for pool in pools:
        for node in selected(nodes, pool):
            name = node["metadata"]["name"]
            if name in owners:
                yield Problem(str(pool["name"]), f"node {name} is in {owners[name]} too; write it in one pool")
            owners.setdefault(name, pool["name"])
