"""Whether the objects that a program declares in the cluster work together, and what rights they give.

To the API server, a name of an object that does not exist is no error, a ConfigMap is text, and a role may grant all.
"""

from __future__ import annotations

import io
import itertools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from typing import Any, Final
from unittest import mock

from facts.concepts.broken_nodes import SINCE
from facts.concepts.counts import counted
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, NOTIFIER, uninterrupted_budget
from facts.concepts.ledger import EVERY_MINUTES, MONTHS
from facts.concepts.offer import (
    CONFIG_MAP,
    KEY,
    NAMESPACE,
    Offer,
    OfferError,
    PoolOffer,
    from_config_map,
    to_config_map,
    written_pool,
)
from facts.concepts.unknown import at
from rehearsal.checks.ledger_cluster import LedgerCluster
from rehearsal.cluster.api import Object, timestamp
from rehearsal.fleet.pod_placement import refusal
from rehearsal.scenario.check import Check
from rehearsal.simulation import SimulatedNodeGroup

Reference = tuple[str, str, str]
"""Kind, namespace (empty: the cluster's), name."""
Right = tuple[str, str, str, str, str]
"""Namespace (empty: all), API group, resource, name (empty: all), verb."""

_GLOBAL: Final = ("ClusterRole", "ClusterRoleBinding", "Namespace", "ValidatingAdmissionPolicy")
# https://kubernetes.io/docs/reference/access-authn-authz/rbac/#default-roles-and-role-bindings
_BUILT_IN: Final = re.compile("cluster-admin|admin|edit|view|system:.*")


_OF_PODS: Final[frozenset[Right]] = frozenset({(NAMESPACE, "", "configmaps", CONFIG_MAP, "get")})
"""The rights of all pods."""
_BEGIN: Final = 1_764_417_600.0
"""A day at noon, in Unix time."""


def object_checks(objects: Sequence[Object], groups: Sequence[SimulatedNodeGroup], offer: Offer) -> list[Check]:
    """Checks of what is declared, beside the cloud's node ``groups``. ``offer``: what the stack's users should read."""
    titles = {
        "object-links": ("Every object that another one names is declared", _links(objects)),
        "account-rights": ("Users' pods have the rights that they use, and no others", _rights(objects)),
        "cron-jobs": (
            "CronJobs work on lasting nodes, with the rights that they use and no others",
            _cron_jobs(objects, groups, offer),
        ),
        "namespaces": ("Users' namespaces refuse privileged pods, and to evict running jobs", _namespaces(objects)),
        "offer": ("Users read of each pool what the stack declares", _offered(objects, offer)),
    }
    results = {id: (title, list(problems)) for id, (title, problems) in titles.items()}
    good = counted(len(objects), "object")
    return [Check(id, title, not wrong, "; ".join(wrong) or good) for id, (title, wrong) in results.items()]


def _place(item: Object) -> Reference:
    metadata = item.get("metadata") or {}
    namespace = "" if item["kind"] in _GLOBAL else metadata.get("namespace") or DEFAULT_NAMESPACE
    return item["kind"], namespace, metadata.get("name", "")


def _links(objects: Iterable[Object]) -> Iterator[str]:
    places = {_place(each) for each in objects}
    references = [(_place(each)[2], to) for each in objects for to in _references(each)]
    for name, (kind, namespace, other) in references:
        if (kind, namespace, other) not in places:
            yield f"{name} names the {kind} {other}, and {namespace or 'the cluster'} has none"
    policies = {place for place in places if place[0] == "ValidatingAdmissionPolicy"}
    yield from (f"nothing binds {policy[2]}" for policy in sorted(policies - {to for _, to in references}))


def _references(item: Object) -> Iterator[Reference]:
    kind, namespace, _ = _place(item)
    if kind == "ValidatingAdmissionPolicyBinding":
        yield "ValidatingAdmissionPolicy", "", item["spec"].get("policyName", "")
    elif kind.endswith("RoleBinding"):
        role = _role(item)
        if role[0] == "Role" or not _BUILT_IN.fullmatch(role[2]):
            yield role
        yield from (subject for subject in _subjects(item) if subject[0] == "ServiceAccount")
    elif account := _pod(item).get("serviceAccountName"):
        yield "ServiceAccount", namespace, account


def _role(binding: Object) -> Reference:
    reference = binding["roleRef"]
    return reference["kind"], _place(binding)[1] if reference["kind"] == "Role" else "", reference["name"]


def _subjects(binding: Object) -> list[Reference]:
    """A service account without a namespace is in the binding's
    (https://github.com/kubernetes/kubernetes/blob/v1.35.0/pkg/registry/rbac/validation/rule.go)."""
    own = _place(binding)[1]
    return [
        (each["kind"], (each.get("namespace") or own) if each["kind"] == "ServiceAccount" else "", each["name"])
        for each in binding.get("subjects") or ()
    ]


def _pod(item: Object) -> Mapping[str, Any]:
    of_job = at(item, "spec", "jobTemplate", "spec", "template", "spec")
    return of_job or at(item, "spec", "template", "spec") or {}


def granted(objects: Iterable[Object], *subjects: Reference) -> set[Right]:
    """What roles among the ``objects`` grant to any of the ``subjects``."""
    roles = {_place(each): each.get("rules") or () for each in objects}
    return {
        (_place(binding)[1], *right)
        for binding in objects
        if binding["kind"].endswith("RoleBinding") and {*subjects} & {*_subjects(binding)}
        for rule in roles.get(_role(binding), ())
        for right in itertools.product(
            rule["apiGroups"], rule["resources"], rule.get("resourceNames") or [""], rule["verbs"]
        )
    }


def _rights(objects: Sequence[Object]) -> Iterator[str]:
    groups = [("Group", "", name) for name in ("system:serviceaccounts", "system:authenticated")]
    yield from _difference("a pod", {*_OF_PODS}, granted(objects, *groups))
    for namespace in _of_users(objects):
        account = ("ServiceAccount", namespace, NOTIFIER)
        waiting = {(namespace, "batch", "jobs", "", "get"), (namespace, "", "pods", "", "list")}
        yield from _difference(NOTIFIER, waiting, granted(objects, account))
        if any(_place(each) == account and each.get("automountServiceAccountToken") is not False for each in objects):
            yield f"a pod of {NOTIFIER} has its token without asking for it"


def _difference(who: str, used: set[Right], granted: set[Right]) -> Iterator[str]:
    for fault, rights in (("cannot", used - granted), ("need not", granted - used)):
        yield from (f"{who} {fault} {' '.join(filter(None, each))}" for each in sorted(rights))


def _nodes(pool: PoolOffer, devices: Mapping[str, int], broken: str) -> list[Object]:
    """A node of the pool, or all of a slice, with its ``devices``; the first lacks one of ``broken``."""
    usable = {resource: str(count) for resource, count in devices.items()}
    lacking = {**usable, broken: str(devices[broken] - 1)}
    return [
        {
            "metadata": {
                "name": f"node{number}",
                "resourceVersion": "1",
                "labels": dict(pool.nodes.labels),
                # New, so that the program takes from its pool what the node has to have.
                "creationTimestamp": timestamp(),
                "annotations": {} if number else {SINCE: "2026-01-01T00:00:00Z"},
                "ownerReferences": [{"kind": "NodeClaim", "name": "claim"}],
            },
            "spec": {},
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "capacity": usable,
                "allocatable": usable if number else lacking,
            },
        }
        for number in range(max(1, pool.gpus.slice_nodes))
    ]


def _reaping(container: Mapping[str, Any], offer: Offer) -> tuple[set[Right], list[str]]:
    """The rights that the node reaper's ``container`` uses where a node of each pool has a broken device, and why it
    does not end the node, and its slice."""
    used: set[Right] = set()
    problems: dict[str, None] = {}
    for pool in offer.pools:
        fabric = pool.nodes.fabric
        devices = {pool.gpus.resource: pool.allocatable_gpus}
        if fabric is not None and not fabric.claimed:
            devices[fabric.resource] = fabric.devices
        for broken in devices:
            nodes = _nodes(pool, devices, broken)
            ended, error = _ended(container, nodes, used)
            if error:
                problems[f"takes no node with a broken GPU out of service: {error}"] = None
            elif len(ended) < len(nodes):
                problems[
                    f"takes {len(ended)} of {len(nodes)} nodes of {pool.name} with a broken {broken} out of service"
                ] = None
    return used, [*problems]


def _ended(container: Mapping[str, Any], nodes: Sequence[Object], used: set[Right]) -> tuple[set[str], str]:
    """The ``nodes`` that the program takes out of service, and an error; the rights that it uses are added to ``used``.

    It runs as declared, but for the function that sends its requests.
    """
    ended: set[str] = set()

    def send(method: str, path: str, body: Any = None) -> Any:
        group, resource, name = re.findall(r"/apis?(?:/([^/]*\.[^/]*))?/v[^/]+/(\w+)/?(\w*)", path)[0]
        used.add(("", group, resource, "", method.lower() if name else "list"))
        if at(body or {}, "spec", "unschedulable") is True:
            ended.add(name)
        return {"items": nodes}

    return ended, _run(container, send, lambda program: program["_main"]())


def _run(container: Mapping[str, Any], send: Callable[..., Any], start: Callable[[dict[str, Any]], object]) -> str:
    """The error of the program of a ``container``, which runs as declared, but sends its requests to ``send``."""
    variables = {each["name"]: each.get("value", "") for each in container.get("env") or ()}
    try:
        python, option, text = container["command"]
        program: dict[str, Any] = {"__name__": "program"}
        exec(text, program)  # what the CronJob would run
        program["_request"] = send
        with mock.patch.dict("os.environ", variables), redirect_stdout(io.StringIO()):
            start(program)
    except Exception as error:  # whatever a wrong program raises
        return repr(error)
    return "" if (python, option) == ("python", "-c") else "it does nothing"


_VERBS: Final = {"POST": "create", "PUT": "update", "DELETE": "delete"}


def _recording(container: Mapping[str, Any], offer: Offer) -> tuple[set[Right], list[str]]:
    """The rights that the ledger's ``container`` uses while a node of each pool runs a pod and goes, until their month
    is one line; and of which pool it does not record the price."""
    there = LedgerCluster(json.loads(to_config_map(offer)["data"][KEY])["pools"], now=_BEGIN)
    prices: dict[str, float | None] = {}

    def play(program: Mapping[str, Any]) -> None:
        for pool in offer.pools:
            there.add_node(pool.name, pool.name)
            there.add_pod(pool.name, pool.name, resource=pool.gpus.resource)
            there.run_pod(pool.name)
        for _ in range(2):
            there.now += 60 * EVERY_MINUTES
            program["record"](int(there.now))
        recorded = [day for day in there.days().values() if len(day.pods) == len(offer.pools)]
        prices.update({node.pool: node.usd for day in recorded for node in day.nodes.values()})
        for pool in offer.pools:
            there.remove_node(pool.name)
        for seconds in (60 * EVERY_MINUTES, MONTHS * 31 * 86_400):
            there.now += seconds
            program["record"](int(there.now))

    error = _run(container, there.request, play)
    wrong = [pool.name for pool in offer.pools if prices.get(pool.name, -1) != pool.nodes.hourly_usd]
    problem = f"records nothing: {error}" if error else f"does not record the cost of {', '.join(wrong)}"
    return {*map(_right, there.requests)}, [problem] if error or wrong else []


def _right(request: tuple[str, str]) -> Right:
    """The right that a request needs; of a ConfigMap that the program does not write, for its name."""
    method, path = request
    parts = re.findall(r"/apis?(?:/(?!v1/)([^/]+))?/v1(?:/namespaces/([^/]+))?/(\w+)/?(.*)", path)
    group, namespace, resource, name = parts[0]
    verb = _VERBS.get(method, "get" if name else "list")
    return namespace, group, resource, name if namespace == NAMESPACE else "", verb


_PROGRAMS: Final[Mapping[str, Callable[[Mapping[str, Any], Offer], tuple[set[Right], list[str]]]]] = {
    "reaper": _reaping,
    "ledger": _recording,
}
"""By the name of a CronJob's container: how its program is tried."""


# https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted
_RESTRICTED: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


def _cron_jobs(objects: Sequence[Object], groups: Sequence[SimulatedNodeGroup], offer: Offer) -> Iterator[str]:
    lasting = [
        {
            "metadata": {"labels": {"kubernetes.io/os": "linux", **each.nodes.labels}},
            "spec": {"taints": [taint.manifest for taint in each.nodes.taints]},
        }
        for each in groups
        if sum(each.permanent().values())
    ]
    for each in objects:
        (kind, namespace, name), pod, job = _place(each), _pod(each), at(each, "spec", "jobTemplate", "spec")
        if kind != "CronJob":
            continue
        (container,) = pod["containers"]
        used, problems = _PROGRAMS[container["name"]](container, offer)
        yield from (f"{name} {problem}" for problem in problems)
        account = ("ServiceAccount", namespace, pod.get("serviceAccountName", ""))
        yield from _difference(name, used - _OF_PODS, granted(objects, account))
        if all(reasons := [refusal(pod, node) for node in lasting]):
            yield f"{name} never runs: it {reasons[0] if reasons else 'has no node'}"
        minutes = re.match(r"(?:\*|\d-59)/(\d+) ", each["spec"]["schedule"])
        if not minutes or job.get("activeDeadlineSeconds", 3600) >= 60 * int(minutes[1]):
            yield f"a run of {name} may last until the next one"
        if not all(at(container, "resources", *path) for path in (("requests", "cpu"), ("limits", "memory"))):
            yield f"{name} runs without a request for CPU or a limit of memory"
        of_pod, own = pod.get("securityContext") or {}, container.get("securityContext") or {}
        ordinary = of_pod.get("runAsNonRoot") and of_pod.get("runAsUser") and of_pod.get("seccompProfile")
        if not ordinary or {**own, **_RESTRICTED} != own:
            yield f"{name} has privileges that it does not use"
        if at(job, "template", "metadata", "labels", "app") != name:
            yield f"`kubectl logs -l app={name}` shows no run of it"  # docs/operations.md


_ACCOUNT: Final = ("ServiceAccount", NOTIFIER)


def _of_users(objects: Iterable[Object]) -> list[str]:
    """The namespaces in which users run jobs."""
    return sorted({DEFAULT_NAMESPACE, *(_place(each)[1] for each in objects if _place(each)[::2] == _ACCOUNT)})


def _namespaces(objects: Sequence[Object]) -> Iterator[str]:
    by_place = {_place(each): each for each in objects}
    for namespace in _of_users(objects):
        labels = at(by_place.get(("Namespace", "", namespace), {}), "metadata", "labels") or {}
        levels = {labels.get(f"pod-security.kubernetes.io/{mode}") for mode in ("enforce", "warn")}
        if not levels <= {"baseline", "restricted"} and labels.get("gpucluster.dev/pod-security") != "mps":
            yield f"{namespace} admits privileged pods, or does not warn"
        budget = uninterrupted_budget(namespace)
        if by_place.get(_place(budget), {}).get("spec") != budget["spec"]:
            yield f"{namespace} has not the budget {_place(budget)[2]}, which refuses to evict running jobs"


def _offered(objects: Iterable[Object], expected: Offer) -> Iterator[str]:
    published = (each for each in objects if _place(each) == ("ConfigMap", NAMESPACE, CONFIG_MAP))
    try:
        offer = from_config_map(next(published, {}))
    except (OfferError, TypeError, KeyError, AttributeError) as error:
        yield f"cannot be read: {error!r}"
        return
    has, declared = _facts(offer), _facts(expected)
    for key in sorted({*has, *declared}):
        value, meant = has.get(key), declared.get(key)
        fits = key.endswith(("milli_cpu", "memory_mib")) and value and meant and value <= meant
        if value != meant and not fits:
            yield f"{key} is {value}, declared {meant}"


def _facts(offer: Offer) -> dict[str, Any]:
    stack = {key: getattr(offer, key) for key in ("stack", "cloud", "region", "cluster", "log_command")}
    return stack | {f"{pool.name} {key}": value for pool in offer.pools for key, value in written_pool(pool).items()}
