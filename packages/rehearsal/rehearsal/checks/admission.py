"""Whether what people write is accepted, warned or refused as the declared pools mean it.

The API server answers each question without creating anything (``dryRun``). The expected answers follow from the pools'
labels, taints and sizes alone, not from the policies that give them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import yaml

from facts.catalog.model import Resources
from facts.concepts.counts import counted
from facts.concepts.kubernetes import DEFAULT_NAMESPACE, Taint, tolerations
from facts.concepts.pool import OPT_OUT_LABEL, POOL_LABEL, ROLE_LABEL, Pool, by_resource, gpus_per_pod
from facts.concepts.rest import short_message
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.scenario.check import Check, Pools

_POLICY: Final = "ValidatingAdmissionPolicy"
_PROVIDERS: Final = Path(__file__).parents[1] / "providers"
_OTHER: Final = "another-value"
_KINDS: Final[Mapping[str, tuple[str, str]]] = {
    "CronJob": ("batch/v1", "spec.jobTemplate.spec.template.spec"),
    "Deployment": ("apps/v1", "spec.template.spec"),
    "Job": ("batch/v1", "spec.template.spec"),
    "ReplicaSet": ("apps/v1", "spec.template.spec"),
    "ReplicationController": ("v1", "spec.template.spec"),
    "StatefulSet": ("apps/v1", "spec.template.spec"),
}


@dataclass(frozen=True)
class Question:
    """An object that somebody writes. ``warned`` and ``refused`` are words of the answer; with neither it is silence.

    ``advised``: the pool that the toleration and the selector in the warning are for.
    """

    title: str
    manifest: Object
    warned: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    namespace: str = DEFAULT_NAMESPACE
    advised: Pool | None = None


def admission_checks(api: Api, pools: Pools) -> Iterator[Check]:
    """One check of all questions; none if there is no question."""
    questions = [*questions_of(pools)]
    wrong = [f"{one.title}: {problem}" for one in questions if (problem := problem_of(api, one))]
    title = "Pods that people write are accepted, warned or refused as the pools mean it"
    detail = "; ".join(wrong) or f"{counted(len(questions), 'question')}, all answered as expected (dry run)"
    if questions:
        yield Check("admission", title, not wrong, detail)


def problem_of(api: Api, question: Question) -> str:
    """What is wrong with the answer; empty if it is the expected one."""
    manifest = question.manifest
    path = api.resource(manifest["apiVersion"], manifest["kind"]).path(namespace=question.namespace)
    try:
        _, received = api.submit(path, manifest, dryRun="All")
    except ApiError as error:
        refusal = short_message(str(error))
        as_expected = question.refused and all(word in refusal for word in question.refused)
        return "" if as_expected else f"refused: {refusal}"
    warnings = [short_message(one) for one in received if _POLICY in one]
    if question.refused:
        return "accepted"
    answer = next((one for one in warnings if all(word in one for word in question.warned)), None)
    if (answer is None) is bool(question.warned):
        return f"warned: {'; '.join(warnings)}" if warnings else f"no warning that says {', '.join(question.warned)}"
    return "" if question.advised is None else _misleading(str(answer), question.advised)


def _misleading(warning: str, pool: Pool) -> str:
    """What is wrong with the lines that a warning tells to add, for pods that are to run in ``pool``."""
    tolerated, _, selector = warning.replace('\\"', '"').partition(" add ")[2].partition("nodeSelector: ")
    try:
        lines = yaml.safe_load(tolerated.removeprefix("tolerations: ").removesuffix(" and ") or "[]")
        labels = yaml.safe_load(selector.rstrip('"') or "{}")
    except yaml.YAMLError:
        return f"the lines that the warning adds are no YAML: {warning}"
    if any(each not in lines for each in tolerations(_repelling(pool))):
        return f"the tolerations that the warning adds are not those for {pool.name}: {warning}"
    fits = labels and labels.items() <= {**pool.nodes.labels, **pool.nodes.cloud_labels}.items()
    return "" if fits else f"the selector that the warning adds is not for {pool.name}: {warning}"


def questions_of(pools: Pools) -> Iterator[Question]:
    """About every GPU pool, and what the cloud's ``questions.yaml`` asks."""
    for resource, members in by_resource(pools.gpu).items():
        for pool in members:
            namespace = next(iter(pool.nodes.teams), DEFAULT_NAMESPACE)
            alike = [one for one in members if one.nodes.teams == pool.nodes.teams]
            for question in (*_own(pool, pools.room.get(pool.name)), *_of_smaller(pool, alike)):
                usual = question.namespace == DEFAULT_NAMESPACE
                yield replace(question, namespace=namespace) if usual else question
            if pool.nodes.teams:
                title = f"a pod for {pool.name} in another namespace than {' or '.join(pool.nodes.teams)}"
                yield Question(title, _pod(pool, gpus_per_pod(pool)), refused=("for pods of namespace",))
        yield from _anywhere(resource, members)
        yield from _of_people(min(members, key=lambda pool: bool(pool.nodes.teams)))
    own = _PROVIDERS / pools.cloud / "questions.yaml"
    for row in yaml.safe_load(own.read_text()) if own.exists() else ():
        yield Question(row["title"], row["manifest"], refused=tuple(row["refused"]))


def _own(pool: Pool, room: Resources | None) -> Iterator[Question]:
    """Of pods that are meant for one pool."""
    name, most = pool.name, gpus_per_pod(pool)
    for_it = f"a pod with {counted(most, 'GPU')} for {name}"
    # The namespace of these pods forbids what MPS needs.
    silence = (f"may run in pool {name}, where MPS shares GPUs", "hostIPC: true") if pool.gpus.mps else ()
    yield Question(for_it, _pod(pool, most), warned=silence)
    for taint in _repelling(pool):
        lacking = _pod(pool, most, tolerated=set(pool.nodes.taints) - {taint})
        yield Question(f"{for_it} without the toleration of {taint.key}", lacking, warned=(taint.key,), advised=pool)
    for key in pool.nodes.labels:
        other = _pod(pool, most, selecting={key: _OTHER})
        words = ("matches no GPU pool", pool.name)
        yield Question(f"{for_it} that selects another {key}", other, warned=words)
    words = (f"requests {counted(most + 1, 'GPU')} per pod", f"(at most {most})")
    yield Question(f"a pod with {counted(most + 1, 'GPU')} for {name}", _pod(pool, most + 1), warned=words)
    if room is not None:
        whole = {"cpu": f"{room.milli_cpu}m", "memory": f"{room.memory_mib}Mi"}
        yield Question(f"{for_it} and all that its nodes leave for pods", _pod(pool, most, asked=whole), warned=silence)
        for key, more in (("cpu", f"{room.milli_cpu + 1}m"), ("memory", f"{room.memory_mib + 1}Mi")):
            words = (f"more than a node of {name} leaves for pods", whole["cpu"], whole["memory"])
            yield Question(f"{for_it} and {more} {key}", _pod(pool, most, asked={key: more}), warned=words)
    if pool.gpus.of_nvidia:
        found_later = _pod(pool, most, selecting={"nvidia.com/gpu.product": _OTHER})
        words = ("nvidia.com/gpu.product, a label that only running nodes have",)
        yield Question(f"{for_it} that selects what running nodes report", found_later, warned=words)


def _of_smaller(pool: Pool, members: Sequence[Pool]) -> Iterator[Question]:
    """Of pods that tolerate the pool although smaller nodes of the same GPU are enough."""
    smaller = [one for one in members if one.gpus.type == pool.gpus.type and one.gpus.per_node < pool.gpus.per_node]
    if not smaller:
        return
    fits = max(gpus_per_pod(one) for one in smaller)
    title, name = f"a pod with {counted(fits, 'GPU')} that tolerates {pool.name}", pool.name
    words = (f"tolerates pool {name} with {pool.gpus.per_node} GPUs per node", f'{OPT_OUT_LABEL}: "true"')
    small = _pod(pool, fits)
    yield Question(title, small, refused=words)
    part = ("whose chips no pods share",) if pool.gpus.slice_nodes else ()
    yield Question(f"{title} and says so", _with(small, labels={OPT_OUT_LABEL: "true"}), refused=part)
    owned = _with(small, ownerReferences=[_owner("DaemonSet")])
    yield Question(f"{title} and names a DaemonSet that did not create it", owned, refused=words)
    yield Question(f"{title}, in kube-system", small, namespace="kube-system")


def _anywhere(resource: str, members: Sequence[Pool]) -> Iterator[Question]:
    """Of what no pool is meant for, in the words of all kinds."""
    first = members[0]
    nowhere = _pod(first, 1, selecting={ROLE_LABEL: "admin"})
    listed = tuple(pool.name for pool in members)
    yield Question("a pod with a GPU for the admin pool", nowhere, warned=("matches no GPU pool", *listed))
    yield Question("the same pod, written by a controller", _with(nowhere, ownerReferences=[_owner("ReplicaSet")]))
    on_admin = _pod(first, 0, tolerated=(), selecting={ROLE_LABEL: "admin"})
    yield Question("a pod without a GPU for the admin pool", on_admin)
    for kind, (_, where) in _KINDS.items():
        words = (f"in {where} write nodeSelector: {{{POOL_LABEL}: <pool>}}", *listed)
        yield Question(f"a {kind} of such pods", _workload(kind, nowhere), warned=words)
    if all(pool.scaling.owned for pool in members):
        return
    maker, _, device = resource.partition("/")
    for name, words in ((f"{device}.{maker}", ("no empty pool grows", resource)), ("nic.example.com", ())):
        devices = {"devices": {"requests": [{"name": "one", "exactly": {"deviceClassName": name}}]}}
        for kind, spec in (("ResourceClaim", devices), ("ResourceClaimTemplate", {"spec": devices})):
            claim = {"apiVersion": "resource.k8s.io/v1", "kind": kind, "metadata": {"name": "one"}, "spec": spec}
            yield Question(f"a {kind} for {name}", claim, warned=words)
            made = _with(claim, ownerReferences=[_owner("ReplicaSet")])
            yield Question(f"a {kind} for {name}, made by a controller", made)


def _of_people(pool: Pool) -> Iterator[Question]:
    """Of what nobody may write in ``default``, and the cluster's own pods may."""
    idle = _pod(pool, 0)
    without_gpu = {**idle["spec"], "nodeSelector": {}, "tolerations": []}
    for title, words, spec in (
        (f"without a GPU that tolerates the taints of {pool.name}", "without a GPU request", idle["spec"]),
        ("that tolerates all taints", "tolerates all taints", {"tolerations": [{"operator": "Exists"}]}),
        ("that names its node", "names its node", {"nodeName": f"{pool.name}-0"}),
        ("of a class of the system", "ends the pods of others", {"priorityClassName": "system-node-critical"}),
    ):
        pod = {**idle, "spec": {**without_gpu, **spec}}
        yield Question(f"a pod {title}", pod, refused=(words,))
        yield Question(f"the same pod in kube-system: {title}", pod, namespace="kube-system")
    addresses = {"externalIPs": ["192.0.2.1"], "ports": [{"port": 80}]}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "one"}, "spec": addresses}
    yield Question("a Service with an address of others", service, refused=("has externalIPs",))


def _pod(
    pool: Pool,
    gpus: int,
    *,
    tolerated: Iterable[Taint] | None = None,
    selecting: Mapping[str, str] | None = None,
    asked: Mapping[str, str] | None = None,
) -> Object:
    limits = {pool.gpus.resource: str(gpus)} if gpus else {}
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "nodeSelector": {**pool.nodes.labels, **pool.nodes.cloud_labels, **(selecting or {})},
        "tolerations": tolerations(pool.nodes.taints if tolerated is None else tolerated),
        "containers": [{"name": "one", "image": "one", "resources": {"limits": limits, "requests": dict(asked or {})}}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": spec}


def _repelling(pool: Pool) -> list[Taint]:
    """The taints that pods have to tolerate themselves: a cloud may add a toleration of the device's own."""
    return [each for each in pool.nodes.taints if each.effect != "PreferNoSchedule" and each.key != pool.gpus.resource]


def _with(manifest: Object, **metadata: Any) -> Object:
    return {**manifest, "metadata": {**manifest["metadata"], **metadata}}


def _owner(kind: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": "owner", "uid": "1", "controller": True}


def _workload(kind: str, pod: Object) -> Object:
    version, _ = _KINDS[kind]
    once = kind in ("Job", "CronJob")
    template = {
        "metadata": {"labels": {"app": "one"}},
        "spec": {**pod["spec"], "restartPolicy": "Never" if once else "Always"},
    }
    spec: Object = {"template": template}
    if not once:
        spec["selector"] = {"app": "one"} if version == "v1" else {"matchLabels": {"app": "one"}}
    if kind == "CronJob":
        spec = {"schedule": "0 3 * * *", "jobTemplate": {"spec": spec}}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "one"}, "spec": spec}
