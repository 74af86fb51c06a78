"""What the program looks at in a cluster that somebody else made, before it adds anything.

``survey`` asks for rights and lists what is there, ``look`` judges it and tries each object by a dry run. Both change
nothing. All problems come at once, except that an update without rights looks at nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import yaml

from components.cluster_reader import ClusterReader, Object, RefusedRequestError
from components.driver_daemon_set import VARIANT_LABEL
from components.published_offer import requests_of
from components.settings import Problem, Settings
from facts import catalog
from facts.catalog.model import Resources
from facts.concepts.counts import counted
from facts.concepts.declared import NodeGroup, Workload
from facts.concepts.kubernetes import ALL_OPERANDS, GPU_RESOURCE, OPERAND_LABELS, RBAC, Toleration, gpu_limit, manifest
from facts.concepts.offer import CONFIG_MAP, KEY, NAMESPACE
from facts.concepts.pool import POOL_LABEL, Pool, as_node_group
from facts.concepts.unknown import UNKNOWN
from policies.rules.scheduling import admits, can_get

Manifest = Mapping[str, Any]

PATH: Final = "existingCluster"
_READING_VERBS: Final = ("get", "list", "watch")
_SEEN_VERBS: Final = (*_READING_VERBS, "create")
_CHANGING_VERBS: Final = ("patch", "delete")
_PODS: Final = "/api/v1/pods"
_DAEMONS: Final = "/apis/apps/v1/daemonsets"
_OPERATOR: Final = "/apis/nvidia.com/v1/clusterpolicies"
_DEFERRED: Final = (
    "/apis/apps/v1/deployments",
    "/apis/apps/v1/statefulsets",
    "/apis/batch/v1/cronjobs",
    "/apis/batch/v1/jobs",
)
"""What makes pods later."""
_LISTS: Final = (_PODS, _DAEMONS, _OPERATOR, *_DEFERRED)
_ENDED: Final = {_PODS: {"fieldSelector": "status.phase!=Succeeded,status.phase!=Failed"}}
_WITH_PODS: Final = ("apps", "batch")
_UNREADABLE: Final = 400
_AT_ONCE: Final = 16
_NAMED: Final = 6
_FORBIDDEN: Final = 403
_NOT_FOUND: Final = 404
_ALIVE: Final = ("Pending", "Running")
_SOCKETS: Final = "/var/lib/kubelet/device-plugins"
_OURS: Final = f"{POOL_LABEL.partition('/')[0]}/"
# Labels that the GPU Operator and Node Feature Discovery set on nodes that run, which no empty pool shows.
_SET_LATER: Final = ("nvidia.com", "feature.node.kubernetes.io")
# https://github.com/NVIDIA/gpu-operator/blob/main/deployments/gpu-operator/values.yaml (daemonsets.tolerations)
_OPERATOR_TOLERATES: Final = ({"key": GPU_RESOURCE, "operator": "Exists", "effect": "NoSchedule"},)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What a stack is about to add.

    ``objects``: name of the resource → manifest. ``uids``: those of the objects that this stack has made, by name of
    the resource. ``former``: those of them that the update deletes, as they are not among ``objects``. ``owner``:
    project and stack, as the inventory has them. ``preview``: nothing is added now, so that rights to write may be
    missing. The others are those of the cloud's ``Joining``.
    """

    settings: Settings
    objects: Mapping[str, Manifest]
    uids: Mapping[str, str]
    former: Collection[Manifest] = ()
    owner: tuple[str, str]
    preview: bool = False
    own_daemon: Callable[[Mapping[str, Any]], bool] = lambda metadata: False
    node_labels: Callable[[Pool], Mapping[str, str | None]] = lambda pool: {}
    label_domains: Sequence[str] = ()
    other_plugin: Callable[[Pool, str], Problem | None] = lambda pool, plugin: None
    lists: Sequence[str] = ()
    listed_notes: Callable[[Mapping[str, Sequence[Object]]], Iterable[str]] = lambda lists: ()
    needs_plugin: Callable[[Pool], bool] = lambda pool: False
    needs_driver: Callable[[Pool], bool] = lambda pool: False

    @cached_property
    def groups(self) -> list[tuple[Pool, NodeGroup]]:
        """The pools, as node groups with the labels that the cloud sets on nodes by itself."""
        return [(pool, self._group(pool)) for pool in self.settings.gpu_pools]

    def _group(self, pool: Pool) -> NodeGroup:
        group = as_node_group(pool, cloud=self.settings.cloud, region=self.settings.region)
        labels = {**self.node_labels(pool), **pool.nodes.labels}
        domains = (*group.cloud_label_domains, *self.label_domains)
        return replace(group, nodes=replace(group.nodes, labels=labels), cloud_label_domains=domains)


@dataclass(frozen=True, kw_only=True)
class Surveyed:
    """What the API server lists, by path; the rights that the user lacks, in words; and the rules that grant them."""

    lists: Mapping[str, Sequence[Object]] = field(default_factory=dict)
    missing: Sequence[str] = ()
    unread: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Looked:
    """Reasons not to add anything, and what the user should know; ``put_off``: the update looks at more."""

    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()
    put_off: bool = False


def survey(reader: ClusterReader, plan: Planned) -> Surveyed:
    """What is there, as far as the user may list it. Raises ``SilentServerError`` and ``RefusedRequestError``."""
    paths = (*_LISTS, *plan.lists)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        missing = _missing(reader, rules_by_namespace(plan), threads)
        if missing and not plan.preview:
            return Surveyed(missing=missing)
        listed = [*threads.map(lambda path: _list(reader, path), paths)]
    known = {path: each for path, each in zip(paths, listed, strict=True) if each is not None}
    unread = [path.rpartition("/")[2] for path in paths if path not in known]
    return Surveyed(lists=known, missing=missing, unread=unread)


def _list(reader: ClusterReader, path: str) -> list[Object] | None:
    """The objects of a list, none where the kind does not exist; ``None`` if the user may not list them."""
    try:
        return [*reader.items(path, **_ENDED.get(path, {}))]
    except RefusedRequestError as error:
        if error.status == _FORBIDDEN:
            return None
        if error.status == _NOT_FOUND:
            return []
        raise


def look(reader: ClusterReader, plan: Planned, seen: Surveyed) -> Looked:
    """What stands against the plan. Raises ``SilentServerError`` and ``RefusedRequestError``."""
    lacking = f"the user of the program lacks rights in the cluster: {'; '.join(seen.missing)}"
    if seen.missing and not plan.preview:
        roles = roles_for(plan)
        return Looked(problems=(Problem(PATH, lacking, "Ask its administrator to bind these roles", roles),))
    pods, daemons, policies = (seen.lists.get(path, ()) for path in (_PODS, _DAEMONS, _OPERATOR))
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        tried = [*threads.map(lambda item: _try(reader, plan, *item, dry_run=not seen.missing), plan.objects.items())]
        inventory = _permitted(reader, f"/api/v1/namespaces/{NAMESPACE}/configmaps/{CONFIG_MAP}")
    if (other := _other_stack(inventory, plan)) is not None:
        return Looked(problems=(other,))
    problems = [problem for each in tried for problem in each.problems]
    problems += _plugins(daemons, policies, plan)
    notes = [note for each in tried for note in each.notes]
    if seen.missing:
        notes.append(
            f"{lacking}. The update prints roles that have them; this preview has tried no object by a dry run"
        )
    if seen.unread:
        notes.append(f"the user may not list {', '.join(seen.unread)}, so the preview says nothing of them")
    notes += [*_gpu_pods(pods, plan), *_deferred(seen, plan), *_guests(pods, plan), *_unbounded(daemons, plan)]
    notes += plan.listed_notes(seen.lists)
    return Looked(problems=tuple(problems), notes=tuple(notes), put_off=bool(seen.missing))


def taken_by_daemons(plan: Planned, seen: Surveyed) -> dict[str, Resources] | None:
    """Pool → what pods of others' DaemonSets request on each of its nodes; ``None`` if nobody could list them.

    Labels that are set on running nodes are not known, and count as there.
    """
    if _DAEMONS not in seen.lists:
        return None
    ours = {(each["kind"], each["metadata"]["name"]) for each in plan.objects.values()}
    theirs = []
    for each in seen.lists[_DAEMONS]:
        metadata, pod = each["metadata"], each["spec"]["template"]["spec"]
        if not plan.own_daemon(metadata) and ("DaemonSet", metadata["name"]) not in ours:
            theirs.append((_workload(each, pod), requests_of(pod)))
    taken = {}
    for pool, group in plan.groups:
        requests = [request for workload, request in theirs if _runs_on(workload, group)]
        taken[pool.name] = Resources(
            milli_cpu=sum(each.milli_cpu for each in requests), memory_mib=sum(each.memory_mib for each in requests)
        )
    return taken


def roles_for(plan: Planned) -> str:
    """A ClusterRole, and a Role in each namespace, with the rights of the program's user.

    As a list: the engine indents what it prints, and an indented ``---`` separates no documents.
    """
    roles = [
        manifest(f"{RBAC}/v1", "Role" if namespace else "ClusterRole", "gpucluster", namespace or None, rules=rules)
        for namespace, rules in rules_by_namespace(plan).items()
    ]
    listed = {"apiVersion": "v1", "kind": "List", "items": roles}
    return yaml.safe_dump(listed, sort_keys=False, default_flow_style=None)


def rules_by_namespace(plan: Planned) -> dict[str, list[dict[str, Any]]]:
    """Namespace (empty: the cluster) → the rules that the program's user needs there.

    To manage the plan's objects, to look, and to grant what the roles among them grant. What exists can be changed, and
    deleted, only by the names of the stack's objects: https://kubernetes.io/docs/reference/access-authn-authz/rbac/#privilege-escalation-prevention-and-bootstrapping
    """
    needed: dict[tuple[str, str, tuple[str, ...], tuple[str, ...]], dict[str, None]] = {}

    def need(namespace: str, group: str, resource: str, verbs: Sequence[str], names: Collection[str] = ()) -> None:
        needed.setdefault((namespace, group, tuple(sorted(names)), tuple(verbs)), {}).setdefault(resource)

    kinds: dict[tuple[str, str, str], set[str]] = {}
    verbs: dict[tuple[str, str, str], dict[str, None]] = {}
    for each in plan.former:
        key = _collection(each)
        verbs.setdefault(key, {}).update(dict.fromkeys(_READING_VERBS))
        need(*key, ["delete"], [each["metadata"]["name"]])
    for each in plan.objects.values():
        namespace, *_ = key = _collection(each)
        kinds.setdefault(key, set()).add(each["metadata"]["name"])
        verbs.setdefault(key, {}).update(dict.fromkeys(_SEEN_VERBS))
        for rule in each.get("rules") or ():
            for group, resource in ((group, resource) for group in rule["apiGroups"] for resource in rule["resources"]):
                verbs.setdefault((namespace, group, resource), {}).update(dict.fromkeys(rule["verbs"]))
        if (pod := pod_of(each)) is not None:
            verbs.setdefault((pod["metadata"]["namespace"], "", "pods"), {}).update({"create": None})
        if "roleRef" in each:
            # Without it the API server resolves the role of a binding, which a dry run has not made:
            # https://github.com/kubernetes/kubernetes/blob/master/pkg/registry/rbac/clusterrolebinding/policybased/storage.go
            role = each["roleRef"]
            need(namespace if role["kind"] == "Role" else "", RBAC, plural(role["kind"]), ["bind"], [role["name"]])
    for path in (*_LISTS, *plan.lists):
        _, *group, _, resource = path.strip("/").split("/")
        verbs.setdefault(("", group[0] if group else "", resource), {}).update({"list": None})
    for (namespace, group, resource), each in verbs.items():
        need(namespace, group, resource, [*each])
    for (namespace, group, resource), names in kinds.items():
        need(namespace, group, resource, _CHANGING_VERBS, names)
    rules: dict[str, list[dict[str, Any]]] = {}
    for (namespace, group, names, may), resources in sorted(needed.items()):
        named = {"resourceNames": [*names]} if names else {}
        rule = {"apiGroups": [group], "resources": sorted(resources), **named, "verbs": [*may]}
        rules.setdefault(namespace, []).append(rule)
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


def identity(each: Manifest) -> tuple[str, ...]:
    """What tells an object of a cluster from all others, in each version of its kind."""
    return (*_collection(each), each["metadata"]["name"])


def _collection(each: Manifest) -> tuple[str, str, str]:
    """Namespace (empty: the cluster), group and resource."""
    return each["metadata"].get("namespace") or "", _group(each), plural(each["kind"])


def _group(each: Manifest) -> str:
    group, slash, _ = str(each["apiVersion"]).partition("/")
    return group if slash else ""


def _missing(
    reader: ClusterReader, rules: Mapping[str, Sequence[Mapping[str, Any]]], threads: ThreadPoolExecutor
) -> list[str]:
    """Those of the rules that the user does not have, a line for each resource."""
    asked = [
        {"group": group, "resource": resource, "verb": verb, "namespace": namespace, "name": name}
        for namespace, each in rules.items()
        for rule in each
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]
    attributes = [{key: value for key, value in each.items() if value or key == "group"} for each in asked]
    lacking: dict[tuple[str, str], dict[str, None]] = {}
    for right, granted in zip(asked, threads.map(reader.may, attributes), strict=True):
        if not granted:
            resource = f"{right['resource']}.{right['group']}" if right["group"] else right["resource"]
            lacking.setdefault((right["namespace"], f"{resource} {right['name']}".strip()), {})[right["verb"]] = None
    return [
        f"{', '.join(verbs)} {resource}{f' in {namespace}' if namespace else ''}"
        for (namespace, resource), verbs in lacking.items()
    ]


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


def _permitted(reader: ClusterReader, path: str) -> Object | None:
    """One object; ``None`` if it does not exist, or if a preview may not look at it."""
    try:
        return reader.find(path)
    except RefusedRequestError as error:
        if error.status == _FORBIDDEN:
            return None
        raise


def _try(reader: ClusterReader, plan: Planned, name: str, each: Manifest, *, dry_run: bool) -> Looked:
    """An object whose name is taken, or which the API server, a policy or a quota of others refuses, and its pods."""
    path, called = path_of(each), str(each["metadata"]["name"])
    existing, own = _permitted(reader, f"{path}/{called}"), plan.uids.get(name)
    title = f"{each['kind']} {called}"
    if existing is not None and existing["metadata"].get("uid") != own:
        if own is None:
            text = f"the cluster has a {title} already, which this stack did not make"
            return Looked(problems=(Problem(PATH, text, "Rename or delete it, if nothing needs it"),))
        text = f"the cluster has another {title} than the one that this stack made"
        return Looked(
            problems=(Problem(PATH, text, "If it is a copy of that one, run pulumi refresh; else delete it"),)
        )
    gone = f"the {title} of this stack is gone from the cluster: run pulumi refresh"
    notes = (gone,) if existing is None and own is not None and dry_run else ()
    problems = []
    try:
        if dry_run and existing is None:
            reader.try_create(path, each)
        elif dry_run:
            reader.try_apply(f"{path}/{called}", each)
    except RefusedRequestError as error:
        problems.append(_refused(title, error))
    if dry_run and (pod := pod_of(each)) is not None:
        try:
            reader.try_create(path_of(pod), pod)
        except RefusedRequestError as error:
            problems.append(_refused(f"pod of {title}", error))
    return Looked(problems=tuple(problems), notes=notes)


def _refused(title: str, error: RefusedRequestError) -> Problem:
    text = f"the API server refuses the {title} ({error.status}): {error}"
    if error.status == _UNREADABLE:
        return Problem(PATH, text, "Leave out what it does not know, or ask its owner for a newer version")
    return Problem(PATH, text, "Ask the cluster's administrator for an exception from that policy or quota")


def pod_of(each: Manifest) -> dict[str, Any] | None:
    """A pod such as the object's controller makes, as far as admission and quotas look at it; ``None`` without any.

    Its service account is left out: the API server refuses a pod of one that does not exist yet.
    """
    if _group(each) not in _WITH_PODS:
        return None
    spec = each.get("spec") or {}
    template = (((spec.get("jobTemplate") or {}).get("spec") or {}) if each["kind"] == "CronJob" else spec).get(
        "template"
    )
    if template is None:
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
    """Device plugins of others that would run on our nodes, and drivers of the GPU Operator beside ours."""
    operators = [(each, _operator(each)) for each in policies]
    offering = [each for each in daemons if _offers_gpus(each, plan) and not _refused_pods(each)]
    found = [_workload(each, each["spec"]["template"]["spec"]) for each in offering]
    # A DaemonSet of the Operator is named by its policy.
    found = [each for each in found if not (operators and _of_operator(each))]
    found += [workload for each, workload in operators if _enabled(each, "devicePlugin")]
    for pool, group in plan.groups:
        if not pool.gpus.of_nvidia:  # as all of this software is
            continue
        reaching = [plugin for plugin in found if _runs_on(plugin, group)]
        if not reaching and plan.needs_plugin(pool):
            text = f"no device plugin reaches {pool.name}, so its nodes would start and offer no GPUs"
            yield Problem(f"{pool.declared_at}.drivers", text, "Write drivers: managed, or install the plugin first")
        for plugin in reaching:
            problem = plan.other_plugin(pool, f"{plugin.kind} {plugin.namespace}/{plugin.name}".replace(" /", " "))
            if problem is not None:
                yield replace(problem, remedy=f"{problem.remedy}, or ask its owner to remove {plugin.name}")
        for policy, workload in operators:
            installs = _enabled(policy, "driver") and not _has(group, f"{OPERAND_LABELS}driver", "false")
            if installs == plan.needs_driver(pool) or not _runs_on(workload, group):
                continue
            if installs:
                text = f"{workload.kind} {workload.name} installs drivers on nodes of {pool.name}, as the program does"
                remedy = f'Write labels: {{{OPERAND_LABELS}driver: "false"}}, or set driver.enabled: false there'
                yield Problem(f"{pool.declared_at}.labels", text, remedy)
            else:
                text = f"{workload.kind} {workload.name} installs no driver on nodes of {pool.name}, nor does anybody"
                remedy = "Write drivers: managed, or set driver.enabled: true there"
                yield Problem(f"{pool.declared_at}.drivers", text, remedy)


def _offers_gpus(daemon: Object, plan: Planned) -> bool:
    pod = daemon["spec"]["template"]["spec"]
    paths = {(volume.get("hostPath") or {}).get("path", "").rstrip("/") for volume in pod.get("volumes") or ()}
    names = [daemon["metadata"]["name"], *(container.get("image", "") for container in pod["containers"])]
    metadata = daemon["metadata"]
    ours = VARIANT_LABEL in (metadata.get("labels") or {})
    return not (ours or plan.own_daemon(metadata)) and _SOCKETS in paths and any("nvidia" in name for name in names)


def _refused_pods(daemon: Object) -> bool:
    """Whether nodes wait for its pods and none is made, as where a namespace admits no volume of a node.

    https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/daemon-set-v1/#DaemonSetStatus
    """
    status = daemon.get("status") or {}
    if status.get("observedGeneration") != daemon["metadata"].get("generation"):
        return False
    return status.get("desiredNumberScheduled", 0) > 0 and not status.get("currentNumberScheduled")


def _unbounded(daemons: Iterable[Object], plan: Planned) -> Iterator[str]:
    """DaemonSets that request more than a node of a pool has: an autoscaler keeps that room, whether their pods start
    or not, and so starts no node for a job.

    https://github.com/kubernetes/autoscaler/issues/2085
    """
    known = catalog.of(plan.settings.cloud)
    others = [each for each in daemons if not plan.own_daemon(each["metadata"])]
    for pool, group in plan.groups:
        machines = [known.machines.get(type) for type in pool.nodes.machine_types]
        sizes = [known.nodes.offered(each, plan.settings.autoscaler) for each in machines if each is not None]
        most = Resources(
            milli_cpu=max((each.milli_cpu for each in sizes), default=0),
            memory_mib=max((each.memory_mib for each in sizes), default=0),
        )
        for each in others:
            pod = each["spec"]["template"]["spec"]
            asked = requests_of(pod)
            larger = asked.milli_cpu > most.milli_cpu or asked.memory_mib > most.memory_mib
            if sizes and larger and _runs_on(_workload(each, pod), group):
                remedy = "ask its owner to request less, or write taints that it does not tolerate"
                text = f"DaemonSet {_called(each)} requests more than a node of {pool.name} has"
                yield f"{text}, so no job would fit there: {remedy}"


def _enabled(policy: Object, operand: str) -> bool:
    """Whether the GPU Operator runs an operand, as it does by default."""
    return ((policy.get("spec") or {}).get(operand) or {}).get("enabled") is not False


def _operator(policy: Object) -> Workload:
    """NVIDIA's GPU Operator, which runs its operands on all nodes with NVIDIA's GPUs that its pods tolerate."""
    spec = policy.get("spec") or {}
    tolerations = (spec.get("daemonsets") or {}).get("tolerations") or _OPERATOR_TOLERATES
    pod = {"tolerations": tolerations, "nodeSelector": {f"{OPERAND_LABELS}device-plugin": "true"}}
    return _workload({"kind": "ClusterPolicy of the GPU Operator", "metadata": policy["metadata"]}, pod)


def _of_operator(workload: Workload) -> bool:
    """Whether it runs where the GPU Operator labels nodes for it."""
    return workload.node_selector is not UNKNOWN and any(
        key.startswith(OPERAND_LABELS) for key in workload.node_selector
    )


def _runs_on(workload: Workload, group: NodeGroup) -> bool:
    """Whether pods of a DaemonSet would, or might, run on the nodes of a pool: software may label running nodes."""
    if _has(group, ALL_OPERANDS, "false") and _of_operator(workload):
        return False
    lenient = replace(group, cloud_label_domains=(*group.cloud_label_domains, *_SET_LATER))
    return admits(workload, lenient) is not False


def _has(group: NodeGroup, key: str, value: str) -> bool:
    return group.nodes.labels is not UNKNOWN and group.nodes.labels.get(key) == value


def _gpu_pods(pods: Iterable[Object], plan: Planned) -> Iterator[str]:
    """Pods of others that request GPUs, and that our smallest nodes would take: the cloud adds their toleration."""
    taking: dict[str, tuple[list[str], list[str]]] = {}
    for each in pods:
        phase = (each.get("status") or {}).get("phase")
        if phase in _ALIVE and (pool := _smallest(each, each["spec"], plan)) is not None:
            waiting, running = taking.setdefault(pool.name, ([], []))
            (waiting if phase == "Pending" else running).append(_called(each))
    for pool in plan.settings.gpu_pools:
        waiting, running = taking.get(pool.name, ([], []))
        if waiting:
            yield f"{_listed(waiting)} waiting for GPUs start nodes of {pool.name} at once, {_price(pool)}"
        if running:
            moving = f"{_listed(running)} with GPUs of other nodes may move to {pool.name} when they start again"
            yield f"{moving}, {_price(pool)}"


def _deferred(seen: Surveyed, plan: Planned) -> Iterator[str]:
    """What has no pod now, and whose pods would take our smallest nodes when they come."""
    later: dict[str, list[str]] = {}
    for path in _DEFERRED:
        for each in seen.lists.get(path, ()):
            spec, owners = each["spec"], each["metadata"].get("ownerReferences")
            if owners or not ("jobTemplate" in spec or spec.get("replicas") == 0 or spec.get("suspend")):
                continue
            job = spec["jobTemplate"]["spec"] if "jobTemplate" in spec else spec
            if (pool := _smallest(each, job["template"]["spec"], plan)) is not None:
                later.setdefault(pool.name, []).append(_called(each))
    for pool in plan.settings.gpu_pools:
        if names := later.get(pool.name):
            listed = _listed(names, "workload")
            yield f"{listed} with GPUs and without pods now may start nodes of {pool.name} later, {_price(pool)}"


def _smallest(each: Object, pod: Mapping[str, Any], plan: Planned) -> Pool | None:
    """The first pool that takes a pod of others which requests GPUs; ``None`` without one.

    A pod that selects a label of the program is made for its pools.
    """
    gpus = gpu_limit(pod)
    if not gpus or any(key.startswith(_OURS) for key in pod.get("nodeSelector") or {}):
        return None
    workload = _workload(each, pod)
    return next((pool for pool, group in plan.groups if can_get(workload, group, gpus) is not False), None)


def _price(pool: Pool) -> str:
    usd = pool.nodes.hourly_usd
    return "at an unknown price" if usd is None else f"{usd:.2f} USD per hour each"


def _guests(pods: Iterable[Object], plan: Planned) -> Iterator[str]:
    """Pods without GPUs that tolerate everything: on a node of ours they would keep it, and one that waits starts it.
    DaemonSets do neither."""
    running: list[str] = []
    waiting: dict[str, list[str]] = {}
    for each in pods:
        phase = (each.get("status") or {}).get("phase")
        owners = {owner.get("kind") for owner in each["metadata"].get("ownerReferences") or ()}
        workload = _workload(each, each["spec"])
        if phase not in _ALIVE or workload.gpus or owners & {"DaemonSet", "Node"}:
            continue
        pool = next((pool for pool, group in plan.groups if admits(workload, group) is True), None)
        if pool is not None and phase == "Pending":
            waiting.setdefault(pool.name, []).append(_called(each))
        elif pool is not None:
            running.append(_called(each))
    remedy = "remove the toleration of every taint, or select other nodes"
    for pool in plan.settings.gpu_pools:
        if names := waiting.get(pool.name):
            yield f"{_listed(names)} without GPUs may start nodes of {pool.name} at once, {_price(pool)}: {remedy}"
    if running:
        yield f"{_listed(running)} without GPUs may run on the new nodes and keep them: {remedy}"


def _called(each: Object) -> str:
    return f"{each['metadata'].get('namespace') or ''}/{each['metadata']['name']}"


def _listed(names: Sequence[str], what: str = "pod") -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{counted(len(names), what)} ({', '.join(sorted(names)[:_NAMED])}{more})"


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
