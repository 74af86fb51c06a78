"""Reads Helm releases by their values: charts known to run on GPU nodes, and values that request GPUs.

The objects of a chart that the program renders itself (``Chart``) are resources of their own and read as such. Those
of a ``Release`` exist only in the cluster; the engine sees the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.autoscaler import IdleTime
from facts.concepts.declared import GpuSharing, NotEvaluated, UnknownReason, Workload
from facts.concepts.kubernetes import GPU_RESOURCE, Toleration
from facts.concepts.unknown import (
    UNKNOWN,
    amount,
    at,
    coalesce,
    flag,
    items,
    known_text,
    mapping,
    mappings_in,
    texts,
    whole,
)
from policies.readers.eks.roles import role_of_account, roles_among
from policies.readers.idle import idle_of_daemon_set
from policies.readers.kubernetes import autoscalers
from policies.readers.kubernetes.balancers import of_values
from policies.readers.kubernetes.chart_values import over, placed
from policies.readers.kubernetes.network_policies import plugin_of_values
from policies.readers.kubernetes.objects import (
    LEFT,
    apart,
    children,
    embedded_workloads,
    on_demand,
    ray_group,
    whole_objects,
)
from policies.readers.kubernetes.parts import replicated
from policies.readers.kubernetes.workloads import container_gpus, gpu_resource_of, tolerations_of
from policies.readers.resource import Declared, Item, Program, Reader, Referrer
from policies.readers.spelling import Spelling, parsed
from policies.readers.tables import rows
from policies.readers.unknown_reasons import until_update
from policies.readers.unread import names_everybody

_TOLERATIONS: Final = {
    "critical": Toleration("CriticalAddonsOnly", "Exists"),
    "gpu": Toleration(GPU_RESOURCE, "Exists", None, "NoSchedule"),
    "gpu-present": Toleration(GPU_RESOURCE, "Equal", "present", "NoSchedule"),
}
_CHARTS: Final = rows("readers/kubernetes", "gpu_charts")
_COUNTED: Final = rows("readers/kubernetes", "counted_gpus")
_FOR_WORK: Final = rows("readers/kubernetes", "pods_for_work")
# Charts of node autoscalers; both bring a PodDisruptionBudget for their own pods.
_AUTOSCALERS: Final = {
    "cluster-autoscaler": autoscalers.of_cluster_autoscaler_chart,
    "karpenter": autoscalers.of_karpenter_chart,
}
# https://github.com/aws/karpenter-provider-aws/blob/v1.14.1/charts/karpenter/values.yaml; the other chart has none.
_AUTOSCALERS_TOLERATE: Final = {"karpenter": (_TOLERATIONS["critical"],)}
_SERVICE_ACCOUNTS: Final = (("rbac", "serviceAccount"), ("serviceAccount",))
_POST_RENDERERS: Final = ("postrender", "postRenderer")
_RAY: Final = "ray-cluster"
_POD: Final = re.compile(r"\bkind[\"']?:\s*[\"']?Pod\b")
_LOCAL: Final = re.compile(r"^(?:\.{0,2}/|~|file:)|^(?!\w+://).*\.tgz$")
_PACKAGED: Final = re.compile(r"-v?\d[^-]*\.tgz$")


def read_release(declared: Declared) -> Iterable[Item]:
    """``kubernetes:helm.sh/v3:Release``: by its values; ``manifest`` is an input that nothing reads.

    https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/provider/helm_release.go
    """
    inputs = declared.properties
    yield from _commands(declared)
    values, complete = _values(inputs)
    complete = complete and not any(items(at(spec, "valuesFiles")) for spec in _specs_of_sources(declared))
    yield from _files(declared, complete)
    yield from until_update(declared, inputs.get("values"), "the whole of its values")
    values, _ = whole_objects(values)
    if (group := names_everybody(values)) is not None:
        remedy = "Bind the role by an object of the program, or check it by hand and exempt it by name."
        reason = UnknownReason(f"the gate does not know what rights it gives to {group}", remedy)
        yield NotEvaluated(f"{declared.type} '{declared.name}'", reason, declared.urn)
    missing = None if complete else UNKNOWN
    chart, release = _name_of(_chart(declared)), declared.named("name")
    space = known_text(inputs.get("namespace")) or "default"
    daemon_sets = [row for row in _CHARTS if row["chart"] == chart]
    for row in daemon_sets:
        if row["switch"] and at(values, *row["switch"].split(".")) is False:
            continue
        tolerations, selector = (_value_at(values, row[key], missing) for key in ("tolerations", "node_selector"))
        usual = tuple(_TOLERATIONS[name] for name in row["tolerates"].split())
        yield Workload(
            name=f"{release}/{row['daemon_set']}",
            namespace=space,
            kind="DaemonSet",
            tolerations=usual if tolerations is None else tolerations_of(tolerations),
            node_selector=texts(selector) if row["node_selector"] else {},
            device_plugin=True,
            # Charts have several words for the annotations of their pods.
            idle=next(filter(None, map(idle_of_daemon_set, mappings_in(values))), None),
            resource=declared.urn,
        )
    for name in _AUTOSCALERS:
        # A copy of cluster-autoscaler's chart has mostly more words in its name.
        own = chart == name or (name == "cluster-autoscaler" and name in chart)
        held = values if own else at(values, name)
        on = own or (isinstance(held, Mapping) and (at(held, "enabled") is None or flag(at(held, "enabled")) is True))
        if on:
            yield from _autoscaler(declared, name, held if complete else UNKNOWN, (release, space))
    asking = replace(declared, properties={"metadata": {"name": release, "namespace": space}})
    for body in (_with_numbers(chart, _with_ray(chart, values)), _counted(chart, values)):
        yield from (workload for workload in embedded_workloads(body, "Release", asking) if workload.gpus != 0)
    if chart not in _AUTOSCALERS:
        read_above = [f"{chart}.{row['tolerations']}" for row in daemon_sets]
        # A chart's own name may say that it is a DaemonSet: promtail, node-exporter.
        yield from placed({chart: values}, release, space, declared.urn, read_above, chart)
    yield from placeholders(chart, values, release, space, declared.urn)
    yield from plugin_of_values(chart, values, complete)
    yield from of_values(chart, values, release, declared.urn)
    if (replicas := replicated(values)) is not None:
        yield GpuSharing(f"Helm release '{release}'", replicas, declared.urn)


def _autoscaler(declared: Declared, chart: str, values: Any, named: tuple[str, str]) -> Iterator[Item]:
    """The node autoscaler of a chart of that name, or of a chart that depends on it, by its release and namespace."""
    release, space = named
    tolerated, scaler = at(values, "tolerations"), _AUTOSCALERS[chart](values, release)
    yield Workload(
        name=release,
        namespace=space,
        kind="Deployment",
        tolerations=_AUTOSCALERS_TOLERATE.get(chart, ()) if tolerated is None else tolerations_of(tolerated),
        node_selector=texts(at(values, "nodeSelector")),
        safe_to_evict=True,
        scales_nodes=autoscalers.runs(chart, values),
        idle=autoscalers.idle_of_chart(values) if chart == "cluster-autoscaler" else None,
        autoscaler=scaler,
        resource=declared.urn,
    )
    if chart == "cluster-autoscaler":
        yield from autoscalers.minimums_of_chart(values, f"Helm release '{release}'", declared.urn)
    if scaler is not None:
        for place in _SERVICE_ACCOUNTS:
            annotations = at(values, *place, "annotations")
            yield from role_of_account(declared, annotations, space, scaler.service_account)


def _with_ray(chart: str, values: Any) -> Any:
    """The values with the numbers of Ray's workers, of Ray's chart or of one that depends on it."""
    if chart == _RAY:
        return _of_ray(values)
    return {**values, _RAY: _of_ray(values[_RAY])} if isinstance(values, Mapping) and _RAY in values else values


def _of_ray(values: Any) -> Any:
    """https://github.com/ray-project/kuberay/blob/master/helm-chart/ray-cluster/values.yaml"""
    scaled = flag(at(values, "head", "enableInTreeAutoscaling")) is True
    idle = at(values, "head", "autoscalerOptions", "idleTimeoutSeconds")
    if not isinstance(values, Mapping):
        return values
    more = values.get("additionalWorkerGroups")
    groups = {name: ray_group(each, scaled, idle) for name, each in more.items()} if isinstance(more, Mapping) else more
    return {**values, "worker": ray_group(values.get("worker"), scaled, idle), "additionalWorkerGroups": groups}


def _counted(chart: str, values: Any) -> Mapping[str, Any]:
    """The pods of a chart, or of one that it depends on, that has a number of its own for GPUs, with the request that
    the chart makes of it."""
    pods: dict[str, Any] = {}
    for row in _COUNTED:
        own = values if row["chart"] == chart else at(values, row["chart"])
        if not isinstance(own, Mapping):
            continue
        listed = items(at(own, *row["pods"].split("."))) if row["pods"] else [own]
        on, off = (at(own, *row[column].split(".")) if row[column] else None for column in ("switch", "off"))
        if off is not False and (not row["switch"] or on is True):
            above = at(own, *row["pods"].split(".")[:-1])
            pods[row["pods"] or row["chart"]] = [
                {
                    "replicaCount": 1,
                    **each,
                    **(_placed(above, each) if row["pods"] else {}),
                    "resources": {"limits": {GPU_RESOURCE: coalesce(count, row["default"])}},
                }
                for each in listed
                if isinstance(each, Mapping)
                for count in (at(each, *row["gpus"].split(".")),)
            ]
    return pods


def _placed(above: Any, pod: Any) -> Mapping[str, Any]:
    """Where vllm-stack places one of its models: by tolerations for all models, and by terms of its own.

    https://github.com/vllm-project/production-stack/blob/main/helm/templates/deployment-vllm-multi.yaml
    """
    required = {"nodeSelectorTerms": terms} if (terms := at(pod, "nodeSelectorTerms")) is not None else None
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    return {"tolerations": coalesce(at(above, "tolerations"), []), **({"affinity": affinity} if required else {})}


def _with_numbers(chart: str, values: Any) -> Any:
    """The values with the number of pods that wait for work, in place of any other one, and how long the others stay
    without work, where the chart, or one that it depends on, starts these for work."""
    for row in _FOR_WORK:
        below = () if row["chart"] == chart else (row["chart"],)
        own = at(values, *below)
        key, _, word = row["if"].partition("=")
        if own is not None and (not key or at(own, *key.split(".")) == word):
            number = coalesce(at(own, row["number"]) if row["number"] else None, 0)
            idle = row["idle"].split(".")
            left = (idle[-1], at(own, *idle)) if row["idle"] else None
            values = _with_number(values, [*below, *row["part"].split(".")], number, left)
    return values


def _with_number(values: Any, path: list[str], number: Any, left: tuple[str, Any] | None) -> Any:
    if path:
        step, *rest = path
        if isinstance(values, (list, tuple)) and step == "*":
            return [_with_number(part, rest, number, left) for part in values]
        if not isinstance(values, Mapping):
            return values
        inner = ((key, step in (key, "*")) for key in values)
        return {key: _with_number(values[key], rest, number, left) if on else values[key] for key, on in inner}
    if not isinstance(values, Mapping):
        return values
    stays = (
        {}
        if left is None or values.get("enabled") is False
        else {LEFT: IdleTime(amount(coalesce(values.get(left[0]), left[1]), 0), left[0])}
    )
    others = {key: part for key, part in values.items() if key != "replicaCount"}
    return {**others, "replicas": number, **stays}


def _in_values(declared: Declared) -> Iterable[Declared]:
    """A release and the objects that its values hold, such as a chart's ``extraObjects``."""
    inputs = declared.properties
    return apart(declared, {"values": _values(inputs)[0]}, inputs)


SPELLINGS: Final[Mapping[str, Spelling]] = {
    "kubernetes:helm.sh/v3:Release": _in_values,
    "kubernetes:helm.sh/v4:Chart": _in_values,
}


def read_chart(declared: Declared) -> Iterable[Item]:
    """``kubernetes:helm.sh/v4:Chart``: by its values, unless its objects are resources of their own."""
    yield from _commands(declared) if declared.references else read_release(declared)


def _commands(declared: Declared) -> Iterator[NotEvaluated]:
    """A post-renderer: a program that may change every object of the chart, and runs where Pulumi does.

    https://helm.sh/docs/topics/advanced/#post-rendering
    """
    if any(declared.properties.get(key) is not None for key in _POST_RENDERERS):
        yield _opaque(declared, "its post-renderer may change every object", "Remove it")


def _files(declared: Declared, complete: bool) -> Iterator[NotEvaluated]:
    """A chart, or values, in files that are not part of the program."""
    named = _chart(declared)
    chart, reference = known_text(named) or "", declared.properties.get(SOURCE)
    if reference is not None and (named is UNKNOWN or (named is None and _is_output(reference))):
        yield from until_update(declared, UNKNOWN, "its chart")
    elif named is None and SOURCE in declared.properties:
        yield _opaque(declared, "its chart is named by an object that is not in this program", "Name the chart itself")
    if _LOCAL.search(chart):
        remedy = "Declare it as kubernetes:helm.sh/v4:Chart, whose objects the gate reads"
        yield _opaque(declared, f"its chart is in the files '{chart}'", remedy)
    if not complete:
        yield _opaque(declared, "its values are in a file", "Write them as values, or as a StringAsset")


def _opaque(declared: Declared, why: str, remedy: str) -> NotEvaluated:
    reason = UnknownReason(why, f"{remedy}, or check it by hand and exempt it by name.")
    return NotEvaluated(f"{declared.type} '{declared.name}'", reason, declared.urn, opaque=True)


def _value_at(values: Any, path: str, missing: Any) -> Any:
    value = at(values, *path.split("."))
    return missing if value is None else value


def _values(inputs: Mapping[str, Any]) -> tuple[Any, bool]:
    """The values over those of the files, and whether all files could be read: one that cannot may set what is left."""
    merged: dict[str, Any] = {}
    complete = True
    for file in items(inputs.get("valueYamlFiles")):
        written = getattr(file, "text", None)  # of a StringAsset; the files of others are not where the gate runs
        content = mapping(parsed(written)) if isinstance(written, str) else UNKNOWN
        complete = complete and content is not UNKNOWN
        merged = merged if content is UNKNOWN else over(content, merged)
    own = mapping(inputs.get("values"))
    return (UNKNOWN if own is UNKNOWN else _with_templates(over(own, merged))), complete


def _with_templates(values: Any) -> Any:
    """The values with each Pod by which a platform starts others, as its key says (``podTemplate``), as a part of the
    chart: no object is made of it."""
    if isinstance(values, (list, tuple)):
        return [_with_templates(part) for part in values]
    if not isinstance(values, Mapping):
        return values
    return {key: _template(part) if on_demand(str(key)) else _with_templates(part) for key, part in values.items()}


def _template(value: Any) -> Any:
    content = parsed(value) if isinstance(value, str) and _POD.search(value) else value
    if not isinstance(content, Mapping) or content.get("kind") != "Pod":
        return _with_templates(value)
    return {key: part for key, part in content.items() if key not in ("apiVersion", "kind")}


SOURCE: Final = "chartRef"
"""The property of a release with a reference to an object in the cluster that names the chart:
https://fluxcd.io/flux/components/helm/helmreleases/#chart-reference"""


def _completing(declared: Declared, everything: Program) -> Iterable[Declared]:
    yield from roles_among(declared, "values", everything)
    reference = declared.properties.get(SOURCE)
    yield from everything.meant(reference, declared)
    if _is_output(reference):
        sources = {urn for urns in declared.dependencies.values() for urn in urns}
        yield from (each for each in everything.of_kinds(*_SOURCES) if each.urn in sources)


def _is_output(reference: Any) -> bool:
    return UNKNOWN in (at(reference, "kind"), at(reference, "name"))


def _chart(declared: Declared) -> Any:
    """The chart as the release, or the object of its reference, names it."""
    named = (at(spec, key) for spec in _specs_of_sources(declared) for key in ("url", "chart"))
    return coalesce(declared.properties.get("chart"), *named)


def _specs_of_sources(declared: Declared) -> Iterator[Any]:
    return (each.properties.get("spec") for each in declared.references if each.kind in _SOURCES)


_SOURCES: Final = ("OCIRepository", "HelmChart")


def _name_of(chart: Any) -> str:
    """The chart's name alone: ``oci://…/gpu-operator:v25.3.0@sha256:…``, ``./gpu-operator-v25.3.0.tgz``."""
    named = (known_text(chart) or "").partition("@")[0]
    return _PACKAGED.sub("", named.rstrip("/").rpartition("/")[2].partition(":")[0])


READERS: Final[Mapping[str, Reader]] = {
    "kubernetes:helm.sh/v3:Release": read_release,
    "kubernetes:helm.sh/v4:Chart": read_chart,
}

REFERRERS: Final[Mapping[str, Referrer]] = {
    "kubernetes:helm.sh/v4:Chart": Referrer(refers=lambda _: True, finds=children),
    "kubernetes:helm.sh/v3:Release": Referrer(refers=lambda declared: SOURCE in declared.properties, finds=_completing),
}


def placeholders(chart: str, values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """The placeholders that a release of ``chart``, or of one that it depends on, makes; most charts make none."""
    for name, made in _PLACEHOLDERS.items():
        own = values if chart == name else at(values, name)
        if chart == name or (isinstance(own, Mapping) and flag(coalesce(own.get("enabled"), True)) is not False):
            yield from made(own, release, namespace, resource)


def _overprovisioner(values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """https://github.com/deliveryhero/helm-charts/tree/master/stable/cluster-overprovisioner."""
    for number, entry in enumerate(items(at(values, "deployments"))):
        name = at(entry, "name")
        label = name if isinstance(name, str) else str(number)
        count = coalesce(at(entry, "replicaCount"), 1)
        yield _pods(entry, entry, count, (f"{release}/{label}", namespace, resource))


def _jupyterhub(values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """User placeholders request what a user's server requests, unless they have resources of their own.

    https://z2jh.jupyter.org/en/stable/administrator/optimization.html#scaling-up-in-time-user-placeholders
    """
    yield from _notebooks(values, release, namespace, resource)
    keeps = at(values, "scheduling", "userPlaceholder")
    if at(keeps, "enabled") is not None and flag(at(keeps, "enabled")) is False:
        return
    user = at(values, "singleuser")
    own = at(keeps, "resources")
    extra = {section: at(user, "extraResource", place) for section, place in _EXTRA}
    container = {"resources": extra if own in (None, {}) else own}
    placement = {"tolerations": at(user, "extraTolerations"), "nodeSelector": at(user, "nodeSelector")}
    count = coalesce(at(keeps, "replicas"), 0)
    yield _pods(placement, container, count, (f"{release}/user-placeholder", namespace, resource))


def _notebooks(values: Any, release: str, namespace: str, resource: str) -> Iterator[Workload]:
    """Where nothing stops idle servers within a day, each profile with GPUs as a server that stays, the largest of its
    choices on the same nodes."""
    if _culls(at(values, "cull")):
        return
    user, spawner = at(values, "singleuser"), at(values, "hub", "config", "KubeSpawner")
    usual = coalesce(at(spawner, "extra_resource_limits"), at(user, "extraResource", "limits"), {})
    for label, overrides in _profiles([*items(at(user, "profileList")), *items(at(spawner, "profile_list"))]):
        largest: dict[str, Workload] = {}
        for override in overrides:
            limits = coalesce(at(override, "extra_resource_limits"), usual)
            tolerations, selector = (
                coalesce(*(at(each, key) for each in (override, spawner)), at(user, usually))
                for key, usually in (("tolerations", "extraTolerations"), ("node_selector", "nodeSelector"))
            )
            placement = {"tolerations": tolerations, "nodeSelector": selector}
            named = (f"{release}/{label}", namespace, resource)
            server = _pods(placement, {"resources": {"limits": limits}}, 1, named)
            nodes = str(server.node_selector)
            largest[nodes] = max(largest.get(nodes, server), server, key=_size)
        yield from (replace(each, kind="Notebook", keeps_room=False) for each in largest.values() if each.gpus != 0)


def _size(server: Workload) -> tuple[float, bool]:
    """More GPUs are more; a part of one is less than one."""
    return 0.5 if server.gpus is UNKNOWN else server.gpus, server.tolerations != ()


def _profiles(profiles: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """What a hub's server may be started with: a profile's name, and its settings with those of each choice there.

    https://jupyterhub-kubespawner.readthedocs.io/en/latest/spawner.html#kubespawner.KubeSpawner.profile_list
    """
    yield "notebook", [{}]
    for number, profile in enumerate(profiles, 1):
        own, options = at(profile, "kubespawner_override"), at(profile, "profile_options")
        choices = [own]
        for option in options.values() if isinstance(options, Mapping) else ():
            listed = at(option, "choices")
            choices += [
                at(each, "kubespawner_override") for each in (listed.values() if isinstance(listed, Mapping) else ())
            ]
        yield (
            known_text(at(profile, "slug")) or f"profile-{number}",
            [{**own, **each} if isinstance(own, Mapping) and isinstance(each, Mapping) else each for each in choices],
        )


def _culls(settings: Any) -> bool:
    """Whether idle servers, or all, are stopped within a day; what is not known yet does so.

    https://z2jh.jupyter.org/en/stable/jupyterhub/customizing/user-management.html#culling-user-pods,
    https://github.com/jupyterhub/zero-to-jupyterhub-k8s/blob/main/jupyterhub/values.yaml (the defaults)
    """
    if at(settings, "enabled") is not None and flag(at(settings, "enabled")) is False:
        return False
    idle, every = amount(at(settings, "timeout"), 3600), amount(at(settings, "every"), 600)
    oldest = amount(at(settings, "maxAge"), 0)
    if idle is UNKNOWN or every is UNKNOWN or oldest is UNKNOWN:
        return True
    return any(each > 0 and max(each, every) <= _DAY for each in (idle, oldest))


_PLACEHOLDERS: Final = {"cluster-overprovisioner": _overprovisioner, "jupyterhub": _jupyterhub}
_DAY: Final = 24 * 3600
_EXTRA = (("limits", "limits"), ("requests", "guarantees"))


def _pods(placement: Any, container: Any, count: Any, named: tuple[str, str, str]) -> Workload:
    name, namespace, resource = named
    replicas = whole(count)
    shown = mapping(placement)
    return Workload(
        name=name,
        namespace=namespace,
        kind="Deployment",
        gpus=container_gpus(container),
        gpu_resource=gpu_resource_of({"containers": [container]}),
        tolerations=UNKNOWN if shown is UNKNOWN else tolerations_of(shown.get("tolerations")),
        node_selector=UNKNOWN if shown is UNKNOWN else texts(shown.get("nodeSelector")),
        always=UNKNOWN if replicas is None else replicas,
        keeps_room=True,
        resource=resource,
    )
