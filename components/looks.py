"""What the program looks at in a cluster that somebody else made, before it adds anything: one function, ``look``.

It changes nothing. All problems come at once, except that without rights nothing else can be looked at.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

from components.cluster_reader import ClusterReader, Object, RefusedRequestError
from components.settings import Problem, Settings
from facts.concepts.counts import counted
from facts.concepts.declared import NodeGroup, Workload
from facts.concepts.kubernetes import GPU_RESOURCE, RBAC, Toleration, gpu_limit, manifest
from facts.concepts.offer import CONFIG_MAP, KEY, NAMESPACE
from facts.concepts.pool import Pool, as_node_group
from policies.rules.scheduling import admits, can_get

Manifest = Mapping[str, Any]

PATH: Final = "existingCluster"
_VERBS: Final = ("get", "list", "watch", "create", "patch", "delete")
_LISTED: Final = (("apps", "daemonsets"), ("", "pods"), ("nvidia.com", "clusterpolicies"))
_WITH_PODS: Final = ("apps", "batch")
_UNREADABLE: Final = 400
_AT_ONCE: Final = 16
_NAMED: Final = 6
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
_OPERATOR: Final = "/apis/nvidia.com/v1/clusterpolicies"
# Labels that the GPU Operator and Node Feature Discovery set on nodes that run, which no empty pool shows:
# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/getting-started.html
_SET_LATER: Final = ("nvidia.com", "feature.node.kubernetes.io")
# https://github.com/NVIDIA/gpu-operator/blob/main/deployments/gpu-operator/values.yaml (daemonsets.tolerations)
_OPERATOR_TOLERATES: Final = ({"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"},)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a stack is about to add.

    ``objects``: name of the resource → manifest. ``uids``: those of the objects that this stack has made, by name of
    the resource. ``owner``: project and stack, as the inventory has them. ``own_daemons``: labels of the cloud's own
    DaemonSets. ``other_plugin``: a pool and the device plugin of others that reaches its nodes → the problem, if it is
    one. ``needs_plugin``: whether a pool has no device plugin but one of others.
    """

    settings: Settings
    objects: Mapping[str, Manifest]
    uids: Mapping[str, str]
    owner: tuple[str, str]
    own_daemons: Mapping[str, str] = field(default_factory=dict)
    node_labels: Callable[[Pool], Mapping[str, str]] = lambda pool: {}
    other_plugin: Callable[[Pool, str], Problem | None] = lambda pool, plugin: None
    needs_plugin: Callable[[Pool], bool] = lambda pool: False


@dataclass(frozen=True, kw_only=True)
class Looked:
    """Reasons not to add anything, and what the user should know."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()


def look(reader: ClusterReader, plan: Planned) -> Looked:
    """What stands against the plan. Raises ``SilentServerError``."""
    reader.get("/version")
    rules = cluster_role(plan.objects.values())
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        if missing := _missing(reader, rules, threads):
            text = f"the user of the program lacks rights in the cluster: {'; '.join(missing)}"
            role = json.dumps(manifest(f"{RBAC}/v1", "ClusterRole", "gpucluster", rules=rules))
            return Looked(problems=(Problem(PATH, text, f"Ask its administrator to bind this role:\n{role}"),))
        inventory = reader.find(f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}")
        if (other := _other_stack(inventory, plan)) is not None:
            return Looked(problems=(other,))
        tried = threads.map(lambda item: _try(reader, plan, *item), plan.objects.items())
        daemons = threads.submit(lambda: [*reader.items("/apis/apps/v1/daemonsets")])
        pods = threads.submit(lambda: [*reader.items("/api/v1/pods")])
        policies = threads.submit(lambda: (reader.find(_OPERATOR) or {}).get("items") or [])
        problems = [problem for each in tried for problem in each]
        problems += _plugins(daemons.result(), policies.result(), plan)
        notes = (*_gpu_pods(pods.result(), plan), *_guests(pods.result(), plan))
        return Looked(problems=tuple(problems), notes=notes)


def cluster_role(objects: Collection[Manifest]) -> list[dict[str, Any]]:
    """The rules of a ClusterRole for the program's user: to manage these objects, to look, and to grant what the roles
    among them grant: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping"""
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for each in objects:
        verbs.setdefault((_group(each), plural(each["kind"])), {}).update(dict.fromkeys(_VERBS))
        for rule in each.get("rules") or ():
            for group, resource in ((group, resource) for group in rule["apiGroups"] for resource in rule["resources"]):
                verbs.setdefault((group, resource), {}).update(dict.fromkeys(rule["verbs"]))
    for key in _LISTED:
        verbs.setdefault(key, {}).update({"list": None})
    alike: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (group, resource), each in sorted(verbs.items()):
        alike.setdefault((group, tuple(each)), []).append(resource)
    rules = [
        {"apiGroups": [group], "resources": resources, "verbs": [*each]} for (group, each), resources in alike.items()
    ]
    # Without it the API server resolves the role of a binding, which a dry run has not made:
    # https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/rbac/clusterrolebinding/policybased/storage.go
    bound = dict.fromkeys((each["roleRef"]["kind"], each["roleRef"]["name"]) for each in objects if "roleRef" in each)
    for kind, name in bound:
        rules.append({"apiGroups": [RBAC], "resources": [plural(kind)], "resourceNames": [name], "verbs": ["bind"]})
    return rules


def plural(kind: str) -> str:
    """The resource of a kind, as paths and roles spell it."""
    word = kind.lower()
    if word.endswith("y"):
        return f"{word[:-1]}ies"
    return f"{word}es" if word.endswith("s") else f"{word}s"


def path_of(each: Manifest) -> str:
    """The path of the collection that an object is in."""
    version = each["apiVersion"]
    namespace = each["metadata"].get("namespace")
    place = f"namespaces/{namespace}/" if namespace else ""
    return f"/{'apis' if '/' in version else 'api'}/{version}/{place}{plural(each['kind'])}"


def _group(each: Manifest) -> str:
    group, slash, _ = str(each["apiVersion"]).partition("/")
    return group if slash else ""


def _missing(reader: ClusterReader, rules: Sequence[Mapping[str, Any]], threads: ThreadPoolExecutor) -> list[str]:
    """Those of the rules that the user does not have, a line for each resource."""
    asked = [
        {
            "group": rule["apiGroups"][0],
            "resource": resource,
            "verb": verb,
            **({"name": rule["resourceNames"][0]} if "resourceNames" in rule else {}),
        }
        for rule in rules
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]
    lacking: dict[str, list[str]] = {}
    for right, granted in zip(asked, threads.map(reader.may, asked), strict=True):
        if not granted:
            resource = f"{right['resource']}.{right['group']}" if right["group"] else right["resource"]
            lacking.setdefault(f"{resource} {right.get('name', '')}".strip(), []).append(right["verb"])
    return [f"{', '.join(verbs)} {resource}" for resource, verbs in lacking.items()]


def _other_stack(inventory: Object | None, plan: Planned) -> Problem | None:
    """Another stack's inventory: two on one cluster would warn about each other's pods, and share its name."""
    if inventory is None or inventory["metadata"].get("uid") in plan.uids.values():
        return None
    try:
        published = json.loads(inventory["data"][KEY])
        owner = (str(published.get("project") or ""), str(published["stack"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        owner = ("", "")
    project, stack = owner
    whose = f"stack '{stack}'{f' of project {project!r}' if project else ''}" if stack else "somebody else"
    text = f"{whose} has pools on this cluster already (ConfigMap {NAMESPACE}/{CONFIG_MAP})"
    if owner == plan.owner:
        # Two clones with a backend each have stacks of one name.
        return Problem(PATH, f"{text}, and this state does not have them", "Log in to the backend that has their state")
    return Problem(PATH, text, "Add the pools there: a cluster has the pools of one stack")


def _try(reader: ClusterReader, plan: Planned, name: str, each: Manifest) -> list[Problem]:
    """An object whose name is taken, or which the API server, a policy or a quota of others refuses, and its pods."""
    path, called = path_of(each), str(each["metadata"]["name"])
    existing = reader.find(f"{path}/{called}")
    title = f"{each['kind']} {called}"
    if existing is not None and existing["metadata"].get("uid") != plan.uids.get(name):
        text = f"the cluster has a {title} already, which this stack did not make"
        return [Problem(PATH, text, "Rename or delete it, if nothing needs it")]
    problems = []
    try:
        if existing is None:
            reader.try_create(path, each)
        else:
            reader.try_apply(f"{path}/{called}", each)
    except RefusedRequestError as error:
        problems.append(_refused(title, error))
    if (pod := pod_of(each)) is not None:
        may = {"group": "", "resource": "pods", "verb": "create", "namespace": pod["metadata"]["namespace"]}
        try:
            if reader.may(may):  # the controllers make them, not the user
                reader.try_create(path_of(pod), pod)
        except RefusedRequestError as error:
            problems.append(_refused(f"pod of {title}", error))
    return problems


def _refused(title: str, error: RefusedRequestError) -> Problem:
    text = f"the API server refuses the {title} ({error.status}): {error}"
    if error.status == _UNREADABLE:
        return Problem(PATH, text, "Leave out what it does not know, or ask its owner for a newer version")
    return Problem(PATH, text, "Ask the cluster's administrator for an exception from that policy or quota")


def pod_of(each: Manifest) -> dict[str, Any] | None:
    """A pod such as the object's controller makes, as far as admission and quotas look at it; ``None`` without any.

    Its service account is left out: the API server refuses a pod of one that does not exist yet.
    """
    spec = each.get("spec") or {}
    template = (((spec.get("jobTemplate") or {}).get("spec") or {}) if each["kind"] == "CronJob" else spec).get(
        "template"
    )
    if template is None or _group(each) not in _WITH_PODS:
        return None
    metadata = {"generateName": f"{each['metadata']['name']}-", "namespace": each["metadata"]["namespace"]}
    pod = {key: value for key, value in template["spec"].items() if key != "serviceAccountName"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**template.get("metadata", {}), **metadata},
        "spec": pod,
    }


def _plugins(daemons: Iterable[Object], policies: Iterable[Object], plan: Planned) -> Iterator[Problem]:
    """Device plugins of others that would run on our nodes."""
    found = [_workload(each, each["spec"]["template"]["spec"]) for each in daemons if _offers_gpus(each, plan)]
    found += [_operator(each) for each in policies]
    for pool in plan.settings.gpu_pools:
        group = _group_of(pool, plan)
        lenient = replace(group, cloud_label_domains=(*group.cloud_label_domains, *_SET_LATER))
        reaching = [plugin for plugin in found if plugin is not None and admits(plugin, lenient) is not False]
        if not reaching and plan.needs_plugin(pool):
            text = f"no device plugin reaches {pool.name}, so its nodes would start and offer no GPUs"
            yield Problem(f"{pool.declared_at}.drivers", text, "Write drivers: managed, or install the plugin first")
        for plugin in reaching:
            problem = plan.other_plugin(pool, f"{plugin.kind} {plugin.namespace}/{plugin.name}".replace(" /", " "))
            yield from [] if problem is None else [problem]


def _offers_gpus(daemon: Object, plan: Planned) -> bool:
    labels, pod = daemon["metadata"].get("labels") or {}, daemon["spec"]["template"]["spec"]
    paths = {(volume.get("hostPath") or {}).get("path", "").rstrip("/") for volume in pod.get("volumes") or ()}
    names = [daemon["metadata"]["name"], *(container.get("image", "") for container in pod["containers"])]
    clouds = bool(plan.own_daemons) and plan.own_daemons.items() <= labels.items()
    return not clouds and _SOCKETS in paths and any("nvidia" in name for name in names)


def _operator(policy: Object) -> Workload | None:
    """NVIDIA's GPU Operator, which runs its plugin on all nodes with NVIDIA's GPUs that its pods tolerate."""
    spec = policy.get("spec") or {}
    if (spec.get("devicePlugin") or {}).get("enabled") is False:
        return None
    tolerations = (spec.get("daemonsets") or {}).get("tolerations") or _OPERATOR_TOLERATES
    pod = {"tolerations": tolerations, "nodeSelector": {"nvidia.com/gpu.deploy.device-plugin": "true"}}
    return _workload({"kind": "ClusterPolicy of the GPU Operator", "metadata": policy["metadata"]}, pod)


def _gpu_pods(pods: Iterable[Object], plan: Planned) -> Iterator[str]:
    """Pods of others that request GPUs, and that our smallest nodes would take: the cloud adds their toleration."""
    groups = [(pool, _group_of(pool, plan)) for pool in plan.settings.gpu_pools]
    taking: dict[str, tuple[list[str], list[str]]] = {}
    for each in pods:
        phase, gpus = (each.get("status") or {}).get("phase"), gpu_limit(each["spec"])
        if phase not in ("Pending", "Running") or not gpus:
            continue
        workload = _workload(each, each["spec"])
        for pool, group in groups:
            if can_get(workload, group, gpus) is not False:
                waiting, running = taking.setdefault(pool.name, ([], []))
                (waiting if phase == "Pending" else running).append(f"{workload.namespace}/{workload.name}")
                break
    for pool, _ in groups:
        usd = (
            "at an unknown price" if pool.nodes.hourly_usd is None else f"{pool.nodes.hourly_usd:.2f} USD per hour each"
        )
        waiting, running = taking.get(pool.name, ([], []))
        if waiting:
            yield f"{_listed(waiting)} waiting for GPUs start nodes of {pool.name} at once, {usd}"
        if running:
            yield f"{_listed(running)} with GPUs of other nodes may move to {pool.name} when they start again, {usd}"


def _guests(pods: Iterable[Object], plan: Planned) -> Iterator[str]:
    """Pods without GPUs that tolerate everything: on a node of ours they would keep it. DaemonSets keep none."""
    names = []
    for each in pods:
        phase = (each.get("status") or {}).get("phase")
        owners = {owner.get("kind") for owner in each["metadata"].get("ownerReferences") or ()}
        workload = _workload(each, each["spec"])
        if phase not in ("Pending", "Running") or workload.gpus or owners & {"DaemonSet", "Node"}:
            continue
        if any(admits(workload, _group_of(pool, plan)) is True for pool in plan.settings.gpu_pools):
            names.append(f"{workload.namespace}/{workload.name}")
    if names:
        yield (
            f"{_listed(names)} without GPUs may run on the new nodes and keep them: remove the toleration of every "
            "taint, or select other nodes"
        )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{counted(len(names), 'pod')} ({', '.join(sorted(names)[:_NAMED])}{more})"


def _group_of(pool: Pool, plan: Planned) -> NodeGroup:
    """The pool with the labels that its cloud sets on nodes by itself; others of the cloud may be there."""
    group = as_node_group(pool, cloud=plan.settings.cloud, region=plan.settings.region)
    return replace(group, nodes=replace(group.nodes, labels={**plan.node_labels(pool), **pool.nodes.labels}))


def _workload(each: Object, pod: Mapping[str, Any]) -> Workload:
    metadata = each["metadata"]
    return Workload(
        name=metadata["name"],
        namespace=metadata.get("namespace") or "",
        kind=each.get("kind") or "DaemonSet",
        gpus=gpu_limit(pod),
        tolerations=tuple(
            Toleration(
                one.get("key") or None, one.get("operator") or "Equal", one.get("value"), one.get("effect") or None
            )
            for one in pod.get("tolerations") or ()
        ),
        node_selector=pod.get("nodeSelector") or {},
        affinity=pod.get("affinity"),
    )
