"""Reads what sets how many pods there are, or keeps room for them: scalers, priorities, quotas, capacity buffers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from facts.concepts.autoscaler import IdleTime
from facts.concepts.declared import GpuQuota, PodScaler, PriorityClass, UnknownReason, Workload
from facts.concepts.kubernetes import RESOURCES
from facts.concepts.unknown import (
    UNKNOWN,
    amount,
    at,
    both,
    either,
    flag,
    holds_unknown,
    items,
    known_text,
    known_texts,
    text,
    whole,
)
from policies.readers.idle import always_within
from policies.readers.kubernetes.workloads import affinity_of, gpu_resource_of, gpus_of, tolerations_of
from policies.readers.resource import Declared, Item, Program, Reader, Referrer

# https://keda.sh/docs/latest/concepts/scaling-deployments/#pausing-autoscaling
_KEDA: Final = "autoscaling.keda.sh/"
# With no other trigger KEDA leaves one pod: https://keda.sh/docs/latest/scalers/cpu/
_NOT_TO_ZERO: Final = ("cpu", "memory")
_POD_TEMPLATE: Final = "kubernetes:core/v1:PodTemplate"


def read_scaler(declared: Declared) -> Iterable[Item]:
    """A HorizontalPodAutoscaler: at least one pod by default.

    https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#configurable-scaling-behavior
    """
    policy = text(at(declared.properties, "spec", "behavior", "scaleDown", "selectPolicy"))
    only_adds = UNKNOWN if policy is UNKNOWN else policy == "Disabled"
    # Without such a metric the API server takes no 0: https://kubernetes.io/docs/reference/command-line-tools-reference/feature-gates/
    # (HPAScaleToZero), ``validateHorizontalPodAutoscalerSpec`` in kubernetes' pkg/apis/autoscaling/validation.
    metrics = at(declared.properties, "spec", "metrics")
    idles = metrics is UNKNOWN or any(at(each, "type") in (UNKNOWN, "External", "Object") for each in items(metrics))
    for scaler in _scaler(declared, ("minReplicas",), default=1):
        least = scaler.least if idles or scaler.least != 0 else 1
        yield replace(scaler, least=least, only_adds=only_adds)


def read_scaled_object(declared: Declared) -> Iterable[Item]:
    """KEDA's ScaledObject: no pod by default. https://keda.sh/docs/latest/reference/scaledobject-spec/.

    ``idleReplicaCount``, of which KEDA supports 0 only, is the number without work; then ``minReplicaCount`` is that
    with some. Its trigger ``cron`` sets a number at some times: https://keda.sh/docs/latest/scalers/cron/. One that is
    active below nothing is always active, and without any KEDA does nothing (``ValidateTriggers`` in
    https://github.com/kedacore/keda/blob/main/apis/keda/v1alpha1/scaletriggers_types.go).
    """
    listed = at(declared.properties, "spec", "triggers")
    triggers = items(listed)
    idles = listed is not UNKNOWN and not triggers
    times = [at(each, "metadata") for each in triggers if at(each, "type") == "cron"]
    numbers = [amount(at(each, "desiredReplicas")) for each in times]
    scheduled = UNKNOWN if UNKNOWN in numbers else max((each for each in numbers if each is not UNKNOWN), default=0)
    steady = always_within((at(each, "start"), at(each, "end"), n) for each, n in zip(times, numbers, strict=True))
    annotations = at(declared.properties, "metadata", "annotations")
    fixed, paused = (at(annotations, f"{_KEDA}paused{suffix}") for suffix in ("-replicas", ""))
    only_adds, forced = (flag(at(annotations, f"{_KEDA}{name}")) for name in ("paused-scale-in", "force-activation"))
    types = [at(each, "type") for each in triggers]
    by_load = both(UNKNOWN if each is UNKNOWN else each in _NOT_TO_ZERO for each in types) if types else False
    stays = either((only_adds, forced, by_load, *map(_is_active_at_none, triggers)))
    idle = amount(at(declared.properties, "spec", "idleReplicaCount"), 1)
    if fixed is None and flag(paused) is True:
        return  # the workload keeps the number of pods that it has
    for scaler in _scaler(declared, ("minReplicaCount",), default=0):
        least = UNKNOWN if idle is UNKNOWN else scaler.least if idle else 0
        least = least if fixed is None else amount(fixed)
        if stays is not False and (least is UNKNOWN or least < 1):
            least = UNKNOWN if UNKNOWN in (stays, least) else 1
        if steady is UNKNOWN or (least is not UNKNOWN and steady > least):
            least = steady
        fallback = amount(at(declared.properties, "spec", "fallback", "replicas"))
        idle_time = _idle(declared, "cooldownPeriod", "initialCooldownPeriod")
        scaler = replace(scaler, scheduled=scheduled, fallback=fallback, idle=idle_time)
        yield replace(scaler, least=least, only_adds=either((idles, only_adds)))


def _idle(declared: Declared, *keys: str) -> IdleTime | None:
    """The longest of the times that these keys of its ``spec`` give in seconds."""
    times = [(whole(at(declared.properties, "spec", key)), key) for key in keys]
    known = [(seconds, key) for seconds, key in times if seconds is not None]
    if not known:
        return None
    seconds, key = max(known, key=lambda each: math.inf if each[0] is UNKNOWN else each[0])
    return IdleTime(
        UNKNOWN if seconds is UNKNOWN else seconds / 60, f"spec.{key} of {declared.kind} '{declared.object_name}'"
    )


def _is_active_at_none(trigger: Any) -> bool:
    """Whether its threshold of activation is below 0. https://keda.sh/docs/latest/concepts/scaling-deployments/#activation"""
    metadata = at(trigger, "metadata")
    texts = metadata.items() if isinstance(metadata, Mapping) else ()
    return any(str(key).startswith("activation") and _NEGATIVE.fullmatch(str(value)) for key, value in texts)


_NEGATIVE: Final = re.compile(r"-[\d.]*[1-9][\d.]*")


def read_http_scaled_object(declared: Declared) -> Iterable[Item]:
    """``HTTPScaledObject`` of KEDA's HTTP add-on: no pod by default.

    https://github.com/kedacore/http-add-on/blob/main/operator/apis/http/v1alpha1/httpscaledobject_types.go
    """
    idle = _idle(declared, "scaledownPeriod")
    yield from (replace(scaler, idle=idle) for scaler in _scaler(declared, ("replicas", "min"), default=0))


def read_priority_class(declared: Declared) -> Iterable[Item]:
    """``scheduling.k8s.io/v1`` ``PriorityClass``."""
    of_all = flag(declared.properties.get("globalDefault")) is True
    yield PriorityClass(declared.object_name, amount(declared.properties.get("value")), of_all)


def read_quota(declared: Declared) -> Iterable[Item]:
    """A ResourceQuota of GPUs, for all pods or for those of one PriorityClass, which is part of the namespace's.

    Of such resources only requests have a quota: https://kubernetes.io/docs/concepts/policy/resource-quotas/. One of a
    namespace that is not known yet limits none that is.
    """
    spec = declared.properties.get("spec")
    hard = at(spec, "hard")
    if at(spec, "scopes") is not None or at(spec, "scopeSelector") is not None:
        return
    for resource in RESOURCES.values():
        count = whole(at(hard, f"requests.{resource}"))
        if count is not None:
            unknown = declared.place_in_cluster is UNKNOWN
            yield GpuQuota(declared.namespace, UNKNOWN if unknown else count, declared.urn, resource)


def read_capacity_buffer(declared: Declared) -> Iterable[Item]:
    """``CapacityBuffer``: nodes for pods that do not exist, which both node autoscalers keep.

    Its pods are those of a PodTemplate or of a workload. With a percentage of that workload's pods, or a limit in
    place of a number, at least one is counted.
    https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/proposals/buffers.md
    """
    for source in declared.references or (None,):
        yield _room(declared, UNKNOWN if source is None else _pod_of(source))


_TEMPLATE_ELSEWHERE: Final = UnknownReason(
    "the program does not declare the template or the workload of its pods",
    "Declare it in this program, or check its pods by hand and exempt it by name.",
)


def _room(declared: Declared, pod: Any) -> Workload:
    spec = declared.properties.get("spec")
    return Workload(
        name=declared.object_name,
        namespace=declared.namespace,
        kind="CapacityBuffer",
        gpus=gpus_of(pod),
        gpu_resource=gpu_resource_of(pod),
        tolerations=tolerations_of(at(pod, "tolerations")),
        node_selector=known_texts(at(pod, "nodeSelector")),
        affinity=affinity_of(at(pod, "affinity")),
        always=amount(at(spec, "replicas"), 1),
        keeps_room=True,
        resource=declared.urn,
        pods_reason=_TEMPLATE_ELSEWHERE if pod is UNKNOWN and not holds_unknown(spec) else None,
    )


READERS: Final[Mapping[str, Reader]] = {
    **{f"kubernetes:autoscaling/{version}:HorizontalPodAutoscaler": read_scaler for version in ("v1", "v2", "v2beta2")},
    "kubernetes:keda.sh/v1alpha1:ScaledObject": read_scaled_object,
    "kubernetes:http.keda.sh/v1alpha1:HTTPScaledObject": read_http_scaled_object,
    "kubernetes:scheduling.k8s.io/*:PriorityClass": read_priority_class,
    "kubernetes:core/v1:ResourceQuota": read_quota,
    "kubernetes:autoscaling.x-k8s.io/*:CapacityBuffer": read_capacity_buffer,
    "kubernetes:buffer.x-k8s.io/*:CapacityBuffer": read_capacity_buffer,
}


def _sources(declared: Declared, everything: Program) -> Iterable[Declared]:
    spec = declared.properties.get("spec")
    template = {"kind": "PodTemplate", "apiVersion": "v1", "name": at(spec, "podTemplateRef", "name")}
    for reference in (template, at(spec, "scalableRef")):
        yield from everything.meant(reference, declared)


REFERRERS: Final[Mapping[str, Referrer]] = {
    type_token: Referrer(refers=lambda _: False, finds=_sources)
    for type_token in READERS
    if type_token.endswith(":CapacityBuffer")
}


def _pod_of(source: Declared) -> Any:
    if source.type == _POD_TEMPLATE:
        return at(source.properties, "template", "spec")
    return at(source.properties, "spec", "template", "spec")


_APPS: Final = ("Deployment", "ReplicaSet", "StatefulSet")


def _scaler(declared: Declared, least: tuple[str, ...], default: int) -> Iterable[PodScaler]:
    spec = declared.properties.get("spec")
    target = at(spec, "scaleTargetRef")
    kind, group = known_text(at(target, "kind")) or "Deployment", known_text(at(target, "apiVersion")) or "apps/v1"
    if kind in _APPS and group.partition("/")[0] not in ("apps", "extensions"):
        return  # another kind of that name
    if (name := known_text(at(target, "name"))) is not None:
        yield PodScaler(
            kind=kind,
            namespace=declared.namespace,
            name=name,
            least=amount(at(spec, *least), default),
        )
