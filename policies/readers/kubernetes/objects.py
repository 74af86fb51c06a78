"""Reads Kubernetes objects of kinds that no other module knows, by what they contain: pod templates at any depth.

RayCluster, RayJob, PyTorchJob, MPIJob, Volcano's Job, JobSet, LeaderWorkerSet, Knative's Service and kinds still to be
invented all carry pod templates somewhere, so a new kind is no way around the gate. Others
(InferenceService, NIMService) carry only a container's ``resources``, and their operator builds the pod.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar

from facts.concepts.declared import IdleTime, NotEvaluated, PodScaler, UnknownReason, Workload
from facts.concepts.kubernetes import GPU_RESOURCE, RESOURCES
from facts.concepts.unknown import (
    UNKNOWN,
    Maybe,
    amount,
    at,
    coalesce,
    flag,
    holds_unknown,
    is_false,
    items,
    known_text,
    text,
    texts,
    whole,
)
from policies.readers.idle import idle_of_daemon_set, minutes_of
from policies.readers.kubernetes.chart_values import asks, placed, says
from policies.readers.kubernetes.parts import each_on_a_node, ends_in_time, never_ends, serves
from policies.readers.kubernetes.pod_numbers import (
    DEFAULTS,
    PodNumber,
    Starts,
    at_part,
    has_number,
    is_number,
    known,
    largest,
    least_of,
    times,
)
from policies.readers.kubernetes.workloads import (
    PARTS_OF_GPUS,
    affinity_of,
    container_gpus,
    gpu_resource_of,
    gpus_of_kind,
    is_suspended,
    keeps_room,
    names_gpus,
    tolerations_of,
)
from policies.readers.registry import is_taken
from policies.readers.resource import (
    Declared,
    Item,
    Program,
    Properties,
    Reader,
    Referrer,
    default_namespace,
    matches,
)
from policies.readers.spelling import Spelling, filled_in, manifests
from policies.readers.tables import rows
from policies.readers.unknown_reasons import until_update

T = TypeVar("T")

# Places where a pod's placement is declared next to the resources of one container.
_PLACEMENT: Final = ("tolerations", "nodeSelector", "affinity", "priorityClassName")
# https://github.com/knative/serving/blob/main/pkg/apis/autoscaling/register.go: in today's words and the first ones'
_MIN_SCALES: Final = ("autoscaling.knative.dev/min-scale", "autoscaling.knative.dev/minScale")
_CLASS: Final = "autoscaling.knative.dev/class"
# Kinds whose pods end with their work; of any other kind, those that it has a number of are there without work.
_ENDING: Final = re.compile(
    r"(?:Jobs?|JobSet|JobTemplate|Workflow\w*|Tasks?\w*|Runs?|Pipeline\w*|Experiment|Trial|Build|Test|SparkApplication|Appwrapper)$"
    r"|Train|Tun(?:e|ing)|Batch|Benchmark|Evaluat|Quota|Profile|Template$",
)
# https://github.com/actions/actions-runner-controller/blob/master/docs/automatically-scaling-runners.md
_SCALED_BY_DEFAULT: Final = {"HorizontalRunnerAutoscaler": "RunnerDeployment"}
# Annotations by which a controller has no pods of an object, with their value (None: any):
# https://github.com/kubeflow/kubeflow/tree/master/components/notebook-controller,
# https://github.com/kserve/kserve/blob/master/pkg/constants/constants.go (StopAnnotationKey)
_STOPPED: Final[Mapping[str, tuple[str, str | None]]] = {
    "serving.kserve.io/*": ("serving.kserve.io/stop", "true"),
    "kubeflow.org/Notebook": ("kubeflow-resource-stopped", None),
}
# Kinds whose ``suspend`` is their operator's: jobs, workflows, Ray's.
_SUSPENDED: Final = re.compile(r"^Ray|(?:Job|JobSet|Workflow|SparkApplication)$")
# Kinds of Knative's, and those whose pods it runs.
_OF_KNATIVE: Final = ("serving.knative.dev/*", "serving.kserve.io/Inference*")
_BY_KNATIVE: Final = ("kubernetes:serving.knative.dev/*:Service", "kubernetes:serving.kserve.io/*:InferenceService")
# Tekton calls those of a step so: https://tekton.dev/docs/pipelines/compute-resources/
_RESOURCES: Final = ("resources", "resourcesPerNode", "computeResources")
_NO_BODY: Final = ("apiVersion", "kind", "metadata", "status")
# They hold patterns and definitions, not pods; what a chart renders are resources of their own.
_NO_PODS: Final = ("helm.sh", "kyverno.io", "gatekeeper.sh", "admissionregistration.k8s.io", "apiextensions.k8s.io")


def read_custom_resource(declared: Declared) -> Iterable[Item]:
    """Any custom resource: one workload for each pod template, or for each set of ``resources`` with GPUs."""
    group = declared.type.split(":")[1].partition("/")[0]
    if not any(group == known or group.endswith(f".{known}") for known in _NO_PODS):
        yield from until_update(declared, at(declared.outside, "spec"), "the whole of its spec")
        # Some kinds have no spec: KAITO's Workspace describes its pods at the top.
        body = {key: part for key, part in (declared.outside or {}).items() if key not in _NO_BODY}
        if declared.group == "argoproj.io" and "Workflow" in declared.kind:
            body = _of_argo(body)
        yield from _placed_anywhere(body, declared)
        stopped = _is_stopped(declared) or (_SUSPENDED.search(declared.kind) is not None and is_suspended(declared))
        pods_of = _of_its_kind(_PODS_OF, declared) or (lambda body: body)
        least, retained = _kept_by_its_scaler(declared), _retained_by_knative(declared)
        for workload in _with_what_stays(pods_of(body), declared):
            always = 0 if stopped else largest([least, workload.always])
            idle = retained if always == 0 and workload.gpus != 0 else None
            reason = None if stopped else workload.always_reason
            yield replace(workload, always=always, always_reason=reason, idle=workload.idle or idle)
        yield from _scaler(declared)


def _of_its_kind(known_kinds: Mapping[str, T], declared: Declared) -> T | None:
    """What is known of the object's kind, by patterns of ``group/kind``: another group's of that name is another."""
    own = f"{declared.group}/{declared.kind}"
    return next((known_kinds[pattern] for pattern in known_kinds if matches(own, pattern)), None)


def _is_stopped(declared: Declared) -> bool:
    key, value = _of_its_kind(_STOPPED, declared) or ("", None)
    stop = at(declared.properties, "metadata", "annotations", key)
    return stop is not None and value in (None, str(stop).lower())


_RAY_JOBS: Final = {"ray.io/RayJob": ("spec",), "ray.io/RayCronJob": ("spec", "jobTemplate")}
_MPI: Final = "kubeflow.org/MPIJob"
_SPARK: Final = "sparkoperator.k8s.io/*"
# Jobs whose pods may stay → as pods of which kind these do.
_STAYING_AS: Final = {**dict.fromkeys(_RAY_JOBS, "RayCluster"), _MPI: "MPIWorkers", _SPARK: "SparkPods"}


def _with_what_stays(body: Any, declared: Declared) -> Iterator[Workload]:
    """The pods that a custom resource describes; those that a job leaves behind, for as long as it does."""
    pods = embedded_workloads(body, declared.kind, declared)
    kind = None if is_suspended(declared) else _of_its_kind(_STAYING_AS, declared)
    if kind is None:
        yield from pods
        return
    for pod, staying in zip(pods, embedded_workloads(body, kind, declared), strict=True):
        left = _left_after_its_job(declared, pod.name.split("/"))
        if pod.gpus == 0 or left.minutes == 0:
            yield pod
        elif staying.always == 0:  # a scaler takes them away, or there are none
            yield replace(pod, idle=_first(staying.idle, left))
        else:
            yield replace(staying, kind=pod.kind) if left.minutes == math.inf else replace(pod, idle=left)


def _first(one: IdleTime | None, other: IdleTime) -> IdleTime | None:
    if one is None or one.minutes is UNKNOWN or other.minutes is UNKNOWN:
        return one
    return other if other.minutes < one.minutes else one


def _left_after_its_job(declared: Declared, place: Sequence[str]) -> IdleTime:
    """How long the pods at a place stay after their job; for ever where nothing but a person ends them."""
    seconds: Maybe[float] = 0
    where, spec = "", declared.properties.get("spec")
    if (path := _of_its_kind(_RAY_JOBS, declared)) is not None:
        if _WORKERS in place or "headGroupSpec" in place:
            where, seconds = _left_by_ray(at(declared.properties, *path), workers=_WORKERS in place)
    elif matches(f"{declared.group}/{declared.kind}", _SPARK):
        restarts = at(_of_spark(declared.properties), "restartPolicy", "type")
        where, seconds = "restartPolicy", UNKNOWN if restarts is UNKNOWN else math.inf if restarts == "Always" else 0
    elif "Worker" in place:
        where, seconds = _left_by_mpi(spec, trains=declared.type.startswith("kubernetes:kubeflow.org/v1:"))
    return IdleTime(UNKNOWN if seconds is UNKNOWN else seconds / 60, f"spec.{where}")


_WORKERS: Final = "workerGroupSpecs"


def _left_by_ray(spec: Any, *, workers: bool) -> tuple[str, Maybe[float]]:
    """How many seconds a RayJob, or one that a RayCronJob makes, leaves its head, or its ``workers``: whichever way it
    ends, until the first rule that takes them. One that has its cluster from elsewhere leaves none of its own.

    https://docs.ray.io/en/latest/cluster/kubernetes/getting-started/rayjob-quick-start.html,
    https://github.com/ray-project/kuberay/blob/master/ray-operator/apis/ray/v1/rayjob_types.go (``DeletionStrategy``),
    https://github.com/ray-project/kuberay/blob/master/ray-operator/apis/ray/v1/raycronjob_types.go
    """
    takes = ("DeleteCluster", "DeleteSelf", UNKNOWN, *(("DeleteWorkers",) if workers else ()))
    strategy, where = at(spec, "deletionStrategy"), "ttlSecondsAfterFinished"
    after: Maybe[float] = amount(at(spec, where))
    if at(spec, "clusterSelector") is not None:
        return where, 0
    if strategy in (None, {}):
        return where, math.inf if flag(at(spec, "shutdownAfterJobFinishes")) is False else after
    if not (rules := items(at(strategy, "deletionRules"))):
        ends = [at(strategy, when, "policy") in takes for when in ("onSuccess", "onFailure")]
        return where, after if all(ends) else math.inf
    conditions = [at(rule, "condition") for rule in rules if at(rule, "policy") in takes]
    waits: list[Maybe[float]] = []
    for ended in (("jobStatus", "SUCCEEDED"),), (("jobStatus", "FAILED"), ("jobDeploymentStatus", "Failed")):
        then = [each for each in conditions if any(at(each, key) in (value, UNKNOWN) for key, value in ended)]
        seconds = [amount(at(each, "ttlSeconds")) for each in then]
        known = min((each for each in seconds if each is not UNKNOWN), default=math.inf)
        waits.append(UNKNOWN if UNKNOWN in seconds and known != 0 else known)
    longest = max((wait for wait in waits if wait is not UNKNOWN), default=0)
    return "deletionStrategy.deletionRules", UNKNOWN if UNKNOWN in waits and longest != math.inf else longest


def _left_by_mpi(spec: Any, *, trains: bool) -> tuple[str, Maybe[float]]:
    """How many seconds an MPIJob leaves its workers: https://github.com/kubeflow/mpi-operator/issues/134,
    https://github.com/kubeflow/mpi-operator/blob/master/pkg/apis/kubeflow/v2beta1/default.go (``CleanPodPolicyNone``).

    A time to live ends the whole job where Kubeflow's training operator (version 1) runs it (``trains``); in MPI's
    operator it ends the launcher, and one that waits for a person keeps the workers whatever else is said:
    https://github.com/kubeflow/mpi-operator/blob/master/pkg/controller/mpi_job_controller.go (``newLauncherJob``)
    """
    launcher = at(spec, "mpiReplicaSpecs", "Launcher", "template", "spec")
    if (never_ends(launcher) or serves(launcher)) and not ends_in_time(at(spec, "runPolicy")):
        return "mpiReplicaSpecs.Launcher", math.inf
    if coalesce(*(at(spec, *path, "cleanPodPolicy") for path in (("runPolicy",), ())), "None") != "None":
        return "runPolicy.cleanPodPolicy", 0
    ends = {
        where: at(spec, *where.split(".")) for where in ("runPolicy.ttlSecondsAfterFinished", "ttlSecondsAfterFinished")
    }
    known = ((where, amount(value)) for where, value in ends.items() if value is not None and trains)
    return next(known, ("runPolicy.cleanPodPolicy", math.inf))


def _kept_by_its_scaler(declared: Declared) -> Maybe[int]:
    """The fewest pods that Knative leaves by its own settings; without Knative, KServe makes an HPA, which keeps one.

    https://github.com/kserve/kserve/blob/master/pkg/controller/v1beta1/inferenceservice/reconcilers/hpa/hpa_reconciler.go,
    https://knative.dev/docs/serving/autoscaling/scale-bounds/
    """
    annotations = at(declared.properties, "metadata", "annotations")
    mode, scaler = (at(annotations, f"serving.kserve.io/{name}") for name in ("deploymentMode", "autoscalerClass"))
    if mode in ("RawDeployment", "Standard"):
        return int(scaler in (None, "hpa"))
    always_one = is_false(_setting(declared, "enable-scale-to-zero")) is True
    always_one = always_one or str(_of_template(declared, (_CLASS,), "pod-autoscaler-class")).startswith("hpa.")
    # KServe writes a number into each template.
    counts = declared.kind == "Service" and _of_template(declared, _MIN_SCALES) is None
    return largest([int(always_one), amount(_setting(declared, "min-scale")) if counts else 0])


def _retained_by_knative(declared: Declared) -> IdleTime | None:
    """How long the last pod stays without requests: https://knative.dev/docs/serving/autoscaling/scale-to-zero/."""
    minutes = minutes_of(_of_template(declared, (f"autoscaling.knative.dev/{_RETENTION}",), _RETENTION))
    return None if minutes is None or not _is_of_knative(declared) else IdleTime(minutes, _RETENTION)


def _is_of_knative(declared: Declared) -> bool:
    return any(matches(f"{declared.group}/{declared.kind}", pattern) for pattern in _OF_KNATIVE)


_RETENTION: Final = "scale-to-zero-pod-retention-period"


def _of_template(declared: Declared, keys: Iterable[str], setting: str = "") -> Any:
    """An annotation for Knative's autoscaler; without one, the cluster's setting."""
    spec = declared.properties.get("spec")
    places = (at(spec, "template", "metadata"), at(spec, "predictor"), declared.properties.get("metadata"))
    own = coalesce(*(at(place, "annotations", key) for place in places for key in keys))
    return _setting(declared, setting) if own is None else own


def _setting(declared: Declared, key: str) -> Any:
    """What the settings of Knative's autoscaler in the program say, in its ConfigMap or by its operator.

    https://knative.dev/docs/install/operator/configuring-serving-cr/
    """
    places = (("data",), ("spec", "config", "autoscaler"), ("spec", "config", "config-autoscaler"))
    return coalesce(*(at(each.properties, *place, key) for each in declared.references for place in places))


def _settings_of_knative(_: Declared, everything: Program) -> Iterable[Declared]:
    maps = (each for each in everything.of_kinds("ConfigMap") if each.object_name == "config-autoscaler")
    maps = (each for each in maps if each.place_in_cluster in ("knative-serving", UNKNOWN, None))
    return (*maps, *everything.of_kinds("KnativeServing"))


def read_rollout(declared: Declared) -> Iterable[Item]:
    """Argo's ``Rollout``, with pods of its own template or of a workload's.

    https://argo-rollouts.readthedocs.io/en/stable/features/specification/
    """
    spec = at(declared.outside, "spec")
    bodies = [{**spec, "template": at(each.properties, "spec", "template")} for each in declared.references]
    for body in bodies or (spec,):
        yield from read_custom_resource(replace(declared, outside={"spec": body}))


def read_warm_pool(declared: Declared) -> Iterable[Item]:
    """``SandboxWarmPool``: pods that wait, of its own template or of a ``SandboxTemplate``.

    https://github.com/kubernetes-sigs/agent-sandbox/tree/main/extensions/api
    """
    spec = at(declared.outside, "spec")
    for each in declared.references:
        spec = {**spec, "podTemplate": at(each.properties, "spec", "podTemplate")}
    for item in read_custom_resource(replace(declared, outside={"spec": spec})):
        yield replace(item, keeps_room=True) if isinstance(item, Workload) else item


def _template_of(declared: Declared, everything: Program) -> Iterable[Declared]:
    name = at(declared.properties, "spec", "sandboxTemplateRef", "name")
    version = declared.type.split(":")[1]
    return everything.meant({"apiVersion": version, "kind": "SandboxTemplate", "name": name}, declared)


def _workloads_of(declared: Declared, everything: Program) -> Iterable[Declared]:
    return everything.meant(at(declared.properties, "spec", "workloadRef"), declared)


# Kinds whose operator adds the containers, and whether their pods may ask for GPUs.
_PLACING: Final = {row["kind"]: row for row in rows("readers/kubernetes", "placing")}


def _placing(declared: Declared, column: str) -> str | None:
    """What the table says of the object's kind."""
    row = _of_its_kind(_PLACING, declared)
    return None if row is None else row[column]


def _without_pods(value: Any) -> Any:
    """The value with nothing but a request for GPUs in place of each whole pod, which is read by itself."""
    if isinstance(value, Mapping):
        if _is_pod(value):
            return {GPU_RESOURCE: 1} if asks(value) else {}
        return {key: _without_pods(part) for key, part in value.items()}
    return [*map(_without_pods, value)] if isinstance(value, (list, tuple)) else value


_UNKNOWN_KIND: Final = UnknownReason(
    "the gate does not know whether the pods of this kind belong to a DaemonSet",
    "Name the taints that it needs to tolerate. Exempt a DaemonSet by name.",
)


def _placed_anywhere(body: Any, declared: Declared) -> Iterator[Workload]:
    """Pods that are placed where no container stands. Of most kinds only those that tolerate all taints count, because
    whatever they request, these are on GPU nodes; of the others only which nodes they select."""
    gpus, daemon_set = (_placing(declared, column) or None for column in ("gpus", "daemon_set"))
    if daemon_set == "always" or (
        daemon_set == "by default" and not says(at(declared.properties, "spec"), "deployment")
    ):
        return
    for pods in placed(_without_pods(body), declared.kind, declared.namespace, declared.urn):
        tolerations = () if pods.tolerations is UNKNOWN else pods.tolerations
        if gpus == "never" or any(each.key is None and each.operator == "Exists" for each in tolerations):
            name = declared.object_name + pods.name.removeprefix(declared.kind)
            reason = _UNKNOWN_KIND if gpus is None else None
            yield replace(pods, name=name, kind=declared.kind, unknown_reason=reason)
        elif pods.node_selector != {} or pods.affinity is not None:
            yield replace(pods, kind=declared.kind, tolerations=(), unknown_reason=_UNKNOWN_KIND)


def _scaler(declared: Declared) -> Iterator[PodScaler]:
    """What scales the pods of another object, as ``HorizontalRunnerAutoscaler`` does."""
    spec = declared.properties.get("spec")
    target = at(spec, "scaleTargetRef")
    if isinstance(spec, Mapping) and (name := known_text(at(target, "name"))) is not None:
        kind = known_text(at(target, "kind")) or _SCALED_BY_DEFAULT.get(declared.kind, "Deployment")
        numbers = [amount(each) for each in _scheduled(spec)]
        scheduled = UNKNOWN if UNKNOWN in numbers else max((each for each in numbers if each is not UNKNOWN), default=0)
        least = least_of(spec)
        if least is not UNKNOWN and scheduled is not UNKNOWN and numbers:
            least = max(least, min(each for each in numbers if each is not UNKNOWN))  # no entry sets fewer
        yield PodScaler(kind, declared.namespace, name, least, scheduled)


# https://github.com/AliyunContainerService/kubernetes-cronhpa-controller, https://karmada.io/docs/userguide/autoscaling
_SCHEDULED: Final = re.compile(r"(?:target|desired)(?:min)?(?:size|replicas?|count|number)", re.IGNORECASE)


def _scheduled(value: Any) -> Iterator[Any]:
    """The numbers of pods that the entries of a schedule set."""
    for key, part in value.items() if isinstance(value, Mapping) else ():
        if _SCHEDULED.fullmatch(str(key)) and is_number(part):
            yield part
        yield from _scheduled(part)
    for part in value if isinstance(value, (list, tuple)) else ():
        yield from _scheduled(part)


def children(declared: Declared, everything: Program) -> Iterable[Declared]:
    """The resources that a component has made: a URN tells the types of its parents, and a name begins with that of the
    component. https://www.pulumi.com/registry/packages/kubernetes/api-docs/helm/v4/chart/#resourceprefix_yaml"""
    prefix = coalesce(text(declared.properties.get("resourcePrefix")), declared.name)
    own = f"{prefix}:" if isinstance(prefix, str) and prefix else ""
    return (other for other in everything if f"{declared.type}$" in other.urn and other.name.startswith(own))


def in_list(declared: Declared) -> Iterable[Declared]:
    """``PodList``, ``DeploymentList``…: each object in ``items``; a custom resource may have such a name, too."""
    version, kind = declared.type.split(":")[1:]
    listed = items(declared.properties.get("items"))
    if not any(isinstance(entry, Mapping) for entry in listed):
        yield from _in_body(declared)
    for number, entry in enumerate(listed):
        if isinstance(entry, Mapping):
            token, name = f"kubernetes:{version}:{kind.removesuffix('List')}", f"{declared.name}[{number}]"
            own = replace(declared, type=token, name=name, properties=entry, holder=declared.holder or declared.type)
            yield object_in(entry, declared) or own


def apart(declared: Declared, holding: Any, rest: Properties) -> Iterator[Declared]:
    """A resource and the objects that it holds somewhere in ``holding``; ``rest`` is what else it has."""
    outside, objects = whole_objects(holding)
    yield replace(declared, outside={**rest, **(outside if isinstance(outside, Mapping) else {"": outside})})
    for each in objects:
        if (inner := object_in(each, declared)) is not None:
            yield inner


def _in_body(declared: Declared) -> Iterable[Declared]:
    """A custom resource: compositions, wrappers and templates of operators hold whole objects."""
    if is_taken(declared.type):
        yield declared
        return
    rest = {key: part for key, part in declared.properties.items() if key in _NO_BODY}
    body = {key: part for key, part in declared.properties.items() if key not in _NO_BODY}
    yield from apart(declared, body, rest)


def _in_group(declared: Declared) -> Iterable[Declared]:
    """``kubernetes:yaml/v2:ConfigGroup``: its objects are no resources while the cluster does not exist yet."""
    return apart(declared, [declared.properties.get("yaml"), declared.properties.get("objs")], {})


def read_component(declared: Declared) -> Iterable[Item]:
    """Components that make objects of files; without a cluster there are none yet, and the gate cannot read the files.

    https://www.pulumi.com/registry/packages/kubernetes/api-docs/yaml/v2/configfile/,
    https://www.pulumi.com/registry/packages/kubernetes/api-docs/kustomize/v2/directory/
    """
    inputs = declared.properties
    files = any(inputs.get(key) not in (None, "", []) for key in _FILES)
    unread = files or UNKNOWN in (inputs.get("yaml"), inputs.get("objs"))
    if unread and not declared.references:
        yield NotEvaluated(f"{declared.type} '{declared.name}'", _IN_FILES, declared.urn, until_update=True)


_FILES: Final = ("directory", "file", "files")
_IN_FILES: Final = UnknownReason(
    "the objects in its files are no resources while the cluster does not exist; the update checks them",
    "Declare them as `objs` of a kubernetes:yaml/v2:ConfigGroup, or read the files yourself.",
)

SPELLINGS: Final[Mapping[str, Spelling]] = {
    "kubernetes:*:*List": in_list,
    "kubernetes:*.*:*": _in_body,
    "kubernetes:yaml/v2:ConfigGroup": _in_group,
}


def whole_objects(value: Any) -> tuple[Any, list[Mapping[str, Any]]]:
    """A value without the manifests in it, and these: a chart's ``extraObjects``, or YAML in a text. A text that looks
    like a manifest and cannot be read stays."""
    if isinstance(value, str):
        return _in_text(value)
    if isinstance(value, Mapping):
        if _is_list(value):
            return whole_objects(value["items"])
        if _is_manifest(value) and ("metadata" in value or "spec" in value):  # a reference to an object has a name
            return None, [value]
        if (generated := _generated(value)) is not None:
            return None, [generated]
        parts = {key: whole_objects(part) for key, part in value.items()}
        return {key: part for key, (part, _) in parts.items()}, [each for _, inner in parts.values() for each in inner]
    if isinstance(value, (list, tuple)):
        listed = [whole_objects(part) for part in value]
        return [part for part, _ in listed], [each for _, inner in listed for each in inner]
    return value, []


def _in_text(value: str) -> tuple[Any, list[Mapping[str, Any]]]:
    documents = manifests(value)
    if any(isinstance(each, Mapping) and UNKNOWN in (each.get("apiVersion"), each.get("kind")) for each in documents):
        return value, []  # whatever kind it is
    parts = [(None, [each]) if _is_manifest(each) and not _is_list(each) else whole_objects(each) for each in documents]
    objects = [each for _, inner in parts for each in inner]
    return ([part for part, _ in parts] if objects else value), objects


def _is_manifest(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(value.get(key), str) for key in ("apiVersion", "kind"))


def _is_list(value: Any) -> bool:
    """``kind: List``, whose objects are whole."""
    return _is_manifest(value) and value["kind"] == "List" and isinstance(value.get("items"), (list, tuple))


def _generated(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The object that a rule of Kyverno generates: https://kyverno.io/docs/policy-types/cluster-policy/generate/."""
    data = value.get("data")
    if not _is_manifest(value) or not isinstance(data, Mapping) or not {"name", "synchronize"} & value.keys():
        return None
    metadata = {key: value[key] for key in ("name", "namespace") if key in value}
    return {**data, "apiVersion": value["apiVersion"], "kind": value["kind"], "metadata": metadata}


def object_in(manifest: Any, declared: Declared) -> Declared | None:
    """A manifest (a whole object, with its ``apiVersion`` and ``kind``) that ``declared`` holds, as a resource."""
    version, kind = text(at(manifest, "apiVersion")), text(at(manifest, "kind"))
    if not isinstance(version, str) or not isinstance(kind, str):
        return None
    version = version if "/" in version else f"core/{version}"
    token = f"kubernetes:{version}:{kind}"
    return replace(
        declared,
        type=token,
        name=known_text(at(manifest, "metadata", "name")) or declared.name,
        properties=manifest if matches(declared.type, "kubernetes:yaml*") else filled_in(manifest),
        references=(),
        holder=declared.holder or declared.type,
        target=target_of(declared),
        provider=_provider_of(declared),
        made_as=declared.made_as or _made_as(declared, token, manifest),
    )


def _provider_of(declared: Declared) -> Properties:
    """The provider's configuration for objects in a chart's values: without a namespace, they are in the chart's."""
    space = text(declared.properties.get("namespace")) if matches(declared.type, "kubernetes:helm.sh/*") else None
    return declared.provider if space is None else {**declared.provider, "namespace": space}


# Where a holder says for which cluster it has its objects: Crossplane, Argo CD, Flux, Sveltos and Cluster API, Fleet.
_DESTINATIONS: Final = ("providerConfigRef", "destination", "kubeConfig", "clusterSelector", "clusterRefs", "targets")
_HERE: Final = ("https://kubernetes.default.svc", "in-cluster")
"""https://argo-cd.readthedocs.io/en/stable/operator-manual/declarative-setup/#clusters"""
# Their objects stay in their own cluster.
_STAYING: Final = (
    "kubernetes:yaml*",
    "kubernetes:helm.sh/*",
    "kubernetes:helm.cattle.io/*",
    "kubernetes:*kyverno.io/*",
    "kubernetes:operators.coreos.com/*",
    "kubernetes:olm.operatorframework.io/*",
    "kubernetes:capsule.clastix.io/*",
    "kubernetes:apiextensions.crossplane.io/*",
    "kubernetes:template.openshift.io/*",
    "kubernetes:kappctrl.k14s.io/*",
    "kubernetes:management.cattle.io/*",
    "kubernetes:*List",
)


def target_of(declared: Declared) -> str:
    """For which cluster a resource holds its objects: empty for its own; equal only where they go to the same one. A
    custom resource that nobody knows may hold them for any."""
    own = declared.type.partition(":")[2]
    if "." not in own.partition("/")[0] or any(matches(declared.type, pattern) for pattern in _STAYING):
        return declared.target
    spec = declared.properties.get("spec")
    said = {key: part for key in _DESTINATIONS if (part := at(spec, key)) is not None}
    at_home = not said.keys() - {"destination"} and any(
        at(said, "destination", key) in _HERE for key in ("server", "name")
    )
    flux = declared.group.endswith("toolkit.fluxcd.io") and not said
    if at_home or flux:
        return declared.target
    if "crossplane.io" in declared.group:  # https://docs.crossplane.io/latest/managed-resources/managed-resources/
        said.setdefault("providerConfigRef", {"name": "default"})
    space = declared.place_in_cluster
    where = json.dumps(said, sort_keys=True, default=str) if said or isinstance(space, str) else declared.urn
    return f"{declared.target} {declared.group} {space} {where}"


_COMPONENTS: Final = ("kubernetes:yaml/v2:ConfigGroup", "kubernetes:helm.sh/v4:Chart")
"""They make resources of the objects that they hold. No other holder does: what others make, the engine never sees."""


_CLUSTER_SCOPED: Final = (
    *("AKSNodeClass", "ClusterRole", "ClusterRoleBinding", "ComputeClass", "DeviceClass", "EC2NodeClass", "Namespace"),
    *("NodeClaim", "NodeClass", "NodeOverlay", "NodePool", "PriorityClass", "RuntimeClass", "StorageClass"),
)
"""Kinds whose objects have no namespace; of others, the component learns it from the cluster."""
_NAMESPACED: Final = (
    *("ConfigMap", "CronJob", "DaemonSet", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Job", "NetworkPolicy"),
    *("Pod", "PodDisruptionBudget", "ReplicaSet", "ReplicationController", "ResourceQuota", "Role", "RoleBinding"),
    *("Secret", "Service", "ServiceAccount", "StatefulSet"),
)
"""Kinds of Kubernetes itself whose objects have one."""


def _made_as(component: Declared, token: str, manifest: Any) -> dict[str, Any]:
    """The URNs that the component may give to an object of it, each with what that has then; with nothing if no other
    resource can have that URN, because the component certainly gives it: no two resources have the same.

    https://github.com/pulumi/pulumi-kubernetes/blob/master/provider/pkg/provider/yaml/v2/yaml.go (``register``)
    """
    name, own = text(at(manifest, "metadata", "name")), text(at(manifest, "metadata", "namespace"))
    if component.type not in _COMPONENTS or component.holder or not isinstance(name, str):
        return {}
    prefix = coalesce(text(component.properties.get("resourcePrefix")), component.name)
    if prefix is UNKNOWN:
        return {}
    # Where it names no namespace: of a kind without namespaces, or the component's, its provider's, or the default.
    of_all = coalesce(text(component.properties.get("namespace")), default_namespace(component.provider))
    namespaced = manifest["kind"] in _NAMESPACED and "." not in token.split(":")[1].partition("/")[0].removesuffix(
        ".k8s.io"
    )
    certain = own is not None or manifest["kind"] in _CLUSTER_SCOPED or (namespaced and isinstance(of_all, str))
    spaces = (own if own is not None else of_all if namespaced else None,) if certain else (None, of_all, "default")
    names = (f"{space}/{name}" if space else name for space in spaces if space is not UNKNOWN)
    parents = component.urn.removesuffix(f"::{component.name}")
    content = {} if certain else manifest
    return {f"{parents}${token}::{f'{prefix}:' if prefix else ''}{each}": content for each in names}


def embedded_workloads(body: Any, kind: str, declared: Declared) -> Iterator[Workload]:
    """The pods that ``body`` describes anywhere; each is named after the object and its place in it."""
    own = kind if kind == _RELEASE else known(declared.group, kind)
    of_knative, is_known = _is_of_knative(declared), not holds_unknown(body)
    for pod_at in _pods(body, (), _Around(), own):
        whole, around = pod_at.whole, pod_at.around
        pod = pod_at.pod if whole else {"containers": [pod_at.pod]}
        placement = pod_at.pod if whole else around.placement
        gpus = gpus_of_kind(kind, pod_at.pod) if whole else container_gpus(pod_at.pod)
        daemon_set = whole and _is_daemon_set(declared, kind, around, gpus)
        # What makes the pods may add its own; where it takes tolerations, it takes what is not said to be none.
        missing = None if whole or "tolerations" in placement else UNKNOWN
        open = PARTS_OF_GPUS if gpus is UNKNOWN else None if missing is None else _UNSAID_TOLERATIONS
        # Agents that a server starts wait for its work; what a part is called otherwise ends no pod.
        waits = never_ends(pod) and (whole or (own == _RELEASE and around.starts != "perhaps on demand"))
        if around.number.number is None and around.min_scale is not None and of_knative:
            around = replace(around, number=replace(around.number, number=amount(around.min_scale)))
        always, reason = _always(kind, around, never_ends=waits, known_kind=own in DEFAULTS)
        yield Workload(
            name="/".join((declared.object_name, *pod_at.path)),
            namespace=declared.namespace,
            kind="DaemonSet" if daemon_set is True else kind,
            gpus=gpus_of_kind("DaemonSet", pod_at.pod) if daemon_set is True else gpus,
            gpu_resource=gpu_resource_of(pod),
            tolerations=tolerations_of(placement.get("tolerations", missing)),
            node_selector=texts(placement.get("nodeSelector", missing)),
            affinity=affinity_of(placement.get("affinity", missing)),
            always=always,
            always_reason=reason,
            pods_reason=open if is_known else None,
            apart=each_on_a_node(placement, {}) if whole else False,
            idle=around.idle if daemon_set is True else None if gpus == 0 or _ENDING.search(kind) else around.leaves,
            runtime_class=known_text(at(pod_at.pod, "runtimeClassName")),
            keeps_room=keeps_room(
                placement if whole else pod,
                for_others=kind not in (*DEFAULTS, _RELEASE),
            ),
            priority_class=known_text(placement.get("priorityClassName")),
            unknown_reason=_UNKNOWN_KIND if daemon_set is UNKNOWN else None,
            resource=declared.urn,
        )


_UNSAID_TOLERATIONS: Final = UnknownReason(
    "it does not say which taints these pods tolerate",
    "Write the tolerations next to the request ([] for none), or check its pods by hand and exempt it by name.",
)
_RELEASE: Final = "Release"
# Parts of a chart whose pods end: words of a key, in camelCase too. Pods of a backend may start when a server asks.
_ENDING_PART: Final = re.compile(
    r"(?:jobs?|tasks?|train(?:ing|er)?|batch|workflows?|cron(?:jobs?)?|tests?|hooks?)$", re.IGNORECASE
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


# Parts whose pods somebody or something may start on demand.
_ON_DEMAND_PART: Final = re.compile(
    r"(?:single|users?|runners?|agents?|executors?|templates?|profiles?|notebooks?|sessions?|sandbox(?:es)?|backend)$",
    re.IGNORECASE,
)


def _starts(key: str) -> Starts:
    words = _WORD.findall(key)
    if any(_ENDING_PART.match(word) for word in words):
        return "for work"
    return "perhaps on demand" if any(_ON_DEMAND_PART.match(word) for word in (*words, key)) else ""


def on_demand(key: str) -> bool:
    """Whether the name of a chart's part may say that its pods start on demand."""
    return _starts(key) == "perhaps on demand"


def _ray_groups(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without Ray's autoscaler a group of workers keeps its replicas, within its bounds; suspended, it has none.

    https://github.com/ray-project/kuberay/blob/master/ray-operator/controllers/ray/utils/util.go
    """
    parts = {key: _ray_groups(part) if isinstance(part, Mapping) else part for key, part in body.items()}
    groups = items(parts.get("workerGroupSpecs"))
    if not groups:
        return parts
    scaled, idle = flag(parts.get("enableInTreeAutoscaling")), at(parts, "autoscalerOptions", _RAY_IDLE)
    return {**parts, "workerGroupSpecs": [ray_group(each, scaled is True, idle) for each in groups]}


def ray_group(group: Any, scaled: bool, idle: Any) -> Any:
    """A group of Ray's workers with the pods that it always has as its number; ``scaled``: by Ray's autoscaler, which
    leaves idle workers for ``idle`` seconds where the group says no other number.

    https://ray-project.github.io/kuberay/reference/api/#workergroupspec
    """
    if not isinstance(group, Mapping):
        return group
    least, most, number = (amount(group.get(key)) for key in ("minReplicas", "maxReplicas", "replicas"))
    kept: Maybe[int] = least
    if not scaled:
        kept = UNKNOWN if least is UNKNOWN or number is UNKNOWN else max(least, number)
    if kept is not UNKNOWN and most is not UNKNOWN and most:
        kept = min(kept, most)
    # KubeRay's field, and that of its chart: helm-chart/ray-cluster/templates/raycluster-cluster.yaml.
    off = any(flag(group.get(key)) is True for key in ("suspend", "disabled"))
    rest = {key: part for key, part in group.items() if key not in ("minReplicas", "maxReplicas", _RAY_IDLE)}
    fixed = off or (group.get("maxReplicas") is not None and most in (0, kept))
    seconds = amount(coalesce(group.get(_RAY_IDLE), idle), 0) if scaled and not fixed else 0
    minutes = UNKNOWN if seconds is UNKNOWN else seconds / 60
    return {**rest, "replicas": 0 if off else kept, LEFT: IdleTime(minutes, f"{_RAY_IDLE} of Ray's autoscaler")}


_RAY_IDLE: Final = "idleTimeoutSeconds"
LEFT: Final = "how long idle pods are left"
"""The key of what a part's own scaler does, as :class:`IdleTime`, which no chart or operator has."""


def _spark_pods(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Driver and executor as pods: https://github.com/kubeflow/spark-operator/blob/master/docs/api-docs.md."""
    spec = _of_spark(body)
    scaler = at(spec, "dynamicAllocation")
    scaled = flag(at(scaler, "enabled")) is True
    least = amount(at(scaler, "minExecutors")) if scaled else amount(at(spec, "executor", "instances"), 1)
    counts = {"driver": 1, "executor": least}
    parts = {part: at(spec, part) for part in counts}
    return {
        part: {"replicas": counts[part], **_as_pod(pod, str(at(pod, "gpu", "name")), at(pod, "gpu", "quantity"))}
        for part, pod in parts.items()
        if isinstance(pod, Mapping)
    }


def _of_spark(body: Mapping[str, Any]) -> Any:
    return coalesce(at(body, "spec", "template"), at(body, "spec"))


def _virtual_machine(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """KubeVirt's machine as a pod: https://kubevirt.io/user-guide/compute/host-devices/."""
    spec, each = body.get("spec"), 1
    if (machine := at(spec, "virtualMachineTemplate", "spec")) is not None:  # of a VirtualMachinePool
        spec, each = machine, amount(at(spec, "replicas"), 1)
    inner = coalesce(at(spec, "template", "spec"), spec)
    runs = inner is spec or at(spec, "running") is True or at(spec, "runStrategy") in ("Always", "RerunOnFailure")
    pod = _as_pod(inner, GPU_RESOURCE, len(items(at(inner, "domain", "devices", "gpus"))))
    return {"replicas": times(each, amount(at(spec, "replicas"), int(runs))), "machine": pod}


def _as_pod(part: Any, resource: str, count: Any) -> Mapping[str, Any]:
    placement = {key: at(part, key) for key in _PLACEMENT if at(part, key) is not None}
    return {**placement, "containers": [{"resources": {"limits": {resource: count}}}]}


def _is_daemon_set(declared: Declared, kind: str, around: _Around, gpus: Maybe[int]) -> Maybe[bool]:
    """Whether an operator makes a DaemonSet of these pods: of a kind in placing.csv as it says; of another, where a key
    above or a word says so, nobody knows. What has a number of replicas is none."""
    if kind.endswith("DaemonSet"):
        return True
    row = _placing(declared, "daemon_set")
    if row == "always":
        return not _ENDING.search(kind) or gpus == 0  # a job on all nodes that asks for their GPUs is a job
    if row == "by default":
        return around.daemon_set or not says(at(declared.properties, "spec"), "deployment")
    if not around.daemon_set or kind in DEFAULTS or _ENDING.search(kind):
        return False
    return True if row == "as it says" else UNKNOWN


def _leader_and_workers(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Each group has ``size`` pods; with a template of its own, one of them is the leader.

    https://lws.sigs.k8s.io/docs/reference/leaderworkerset.v1/
    """
    spec = body.get("spec")
    parts, groups = at(spec, "leaderWorkerTemplate"), amount(at(spec, "replicas"), 1)
    size, leader = amount(at(parts, "size"), 1), at(parts, "leaderTemplate")
    workers = times(groups, size if size is UNKNOWN or leader is None else size - 1)
    led = {} if leader is None else {"leaderTemplate": {"replicas": groups, "template": leader}}
    return {**led, "workerTemplate": {"replicas": workers, "template": at(parts, "workerTemplate")}}


def _of_kserve(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Workers of a model on several nodes: with the head they have the GPUs of all parts of the model.

    https://github.com/kserve/kserve/blob/master/pkg/controller/v1beta1/inferenceservice/components/predictor.go
    (``multiNodeProcess``)
    """
    spec = body.get("spec")
    if not isinstance(spec, Mapping):
        return body
    parts = dict(spec)
    for name, part in spec.items():
        worker = at(part, "workerSpec")
        if isinstance(part, Mapping) and isinstance(worker, Mapping):
            shards = times(amount(worker.get("pipelineParallelSize"), 2), amount(worker.get("tensorParallelSize"), 1))
            gpus = gpus_of_kind("InferenceService", worker)
            if shards is not UNKNOWN and gpus is not UNKNOWN:
                shards = max(-(-shards // max(gpus, 1)) - 1, 1)
            count = times(amount(part.get("minReplicas"), 1), shards)
            parts[name] = {key: each for key, each in part.items() if key != "workerSpec"}
            parts[f"{name}-workers"] = {**worker, "minReplicas": count}
    return {**body, "spec": parts}


def _of_argo(body: Mapping[str, Any]) -> dict[str, Any]:
    """A workflow with a pod for each template that has containers; where it places none, the workflow does.

    https://argo-workflows.readthedocs.io/en/latest/fields/#template
    """
    listed = body.get("templates")
    parts = {key: _of_argo(part) if isinstance(part, Mapping) else part for key, part in body.items()}
    if not isinstance(listed, (list, tuple)):
        return parts
    rest = {key: part for key, part in parts.items() if key not in _PLACEMENT}
    defaults = body.get("templateDefaults")
    shared = {key: coalesce(at(defaults, key), body.get(key)) for key in _PLACEMENT}
    return {**rest, "templates": [_pod_of_argo(each, shared) for each in listed]}


def _pod_of_argo(template: Any, shared: Mapping[str, Any]) -> Any:
    containers = [each for key in ("container", "script") if isinstance(each := at(template, key), Mapping)]
    containers += items(at(template, "containerSet", "containers"))
    if not isinstance(template, Mapping) or not containers:
        return template
    if template.get("podSpecPatch") is not None:  # it may add the GPU
        return {**{key: part for key, part in shared.items() if part is not None}, **template}
    placement = {key: coalesce(template.get(key), shared[key]) for key in _PLACEMENT}
    pod = {
        "containers": [*containers, *items(template.get("sidecars"))],
        "initContainers": template.get("initContainers"),
    }
    return {
        "name": template.get("name"),
        **{key: part for key, part in {**placement, **pod}.items() if part is not None},
    }


def _at_least_one(least: Any) -> Maybe[int]:
    """An HPA has no minimum of 0: https://kubernetes.io/docs/reference/kubernetes-api/autoscaling/."""
    number = amount(least, 1)
    return number if number is UNKNOWN else max(number, 1)


def _of_nim(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Its own scaler, where it is on, sets the number: https://docs.nvidia.com/nim-operator/latest/service.html."""
    spec = body.get("spec")
    if flag(at(spec, "scale", "enabled")) is not True or not isinstance(spec, Mapping):
        return body
    return {**body, "spec": {**spec, "replicas": _at_least_one(at(spec, "scale", "hpa", "minReplicas"))}}


_PODS_OF: Final[Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, Any]]]] = {
    "serving.kserve.io/InferenceService": _of_kserve,
    "apps.nvidia.com/NIMService": _of_nim,
    "ray.io/*": _ray_groups,
    "orchestration.aibrix.ai/Ray*": _ray_groups,  # https://aibrix.readthedocs.io/latest/features/multi-node-inference.html
    "leaderworkerset.x-k8s.io/LeaderWorkerSet": _leader_and_workers,
    _SPARK: _spark_pods,
    "*kubevirt.io/VirtualMachine*": _virtual_machine,
}


def _always(
    kind: str, around: _Around, *, never_ends: bool, known_kind: bool
) -> tuple[Maybe[int], UnknownReason | None]:
    """Number of pods that run without work, and why it may be another: see pod_numbers.py."""
    if not known_kind and _ENDING.search(kind) and not never_ends:
        return 0, None
    if known_kind or around.number.says_one or (never_ends and not around.number.none):
        always, reason = around.number.always(DEFAULTS[kind] if known_kind else int(never_ends))
    else:
        always, reason = around.number.unsaid(in_chart=kind == _RELEASE, starts=around.starts)
    return times(always, around.each), reason


@dataclass(frozen=True)
class _Around:
    """What stands around a place: the ``number`` of its pods, how many each of these is (``each``), Knative's
    ``min_scale``, whether a key or word there says that they are a DaemonSet's, how long their annotations keep nodes
    then, how long their scaler ``leaves`` idle ones, when they start by the names of a chart's parts, and their
    ``placement``."""

    number: PodNumber = field(default_factory=PodNumber)
    each: Maybe[int] = 1
    min_scale: Any = None
    daemon_set: bool = False
    idle: IdleTime | None = None
    leaves: IdleTime | None = None
    starts: Starts = ""
    placement: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Observed:
    """A pod's spec (``whole``) or one container's, with what stands ``around`` it."""

    pod: Mapping[str, Any]
    whole: bool
    path: tuple[str, ...]
    around: _Around


def _pods(value: Any, path: tuple[str, ...], around: _Around, kind: str) -> Iterator[_Observed]:
    if isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            # A list's elements mostly name themselves: workers of a RayCluster, tasks of a Volcano job.
            names = (at(part, key) for key in ("name", "groupName"))
            label = next((name for name in names if isinstance(name, str)), str(number))
            yield from _pods(part, (*path, label), around, kind)
    elif isinstance(value, Mapping):
        in_chart = kind == _RELEASE
        around = _at(value, path, around, kind)
        if _is_pod(value):
            yield _Observed(value, True, _short(path), around)
            return
        if (resources := _gpu_resources(value)) is not None:
            container = {**{key: value[key] for key in ("command", "args") if key in value}, "resources": resources}
            image = value.get("image")
            container["image"] = at(image, "repository") if isinstance(image, Mapping) else image
            yield _Observed(container, False, _short(path), around)
            return
        for key, part in value.items():
            name, inner = str(key), around
            starts = _starts(name) if in_chart else ""
            if name.lower() == _DAEMON_SET:
                inner = replace(inner, daemon_set=True)
            if not in_chart and _TEMPLATE.search(name):
                own = value.get(_TEMPLATE.sub("Replicas", name))  # workerReplicas beside workerTemplate
                number = inner.number.in_set()
                inner = replace(inner, number=replace(number, number=amount(own)) if is_number(own) else number)
            elif starts == "for work":
                # The number of one part of a chart is none of those it starts, and its scaler scales none of them.
                inner = replace(inner, number=inner.number.without_number(), leaves=None, starts=starts)
            elif starts:
                inner = replace(inner, starts=starts)
                if name.lower() == "backend" and inner.number.number is not None:
                    inner = replace(inner, number=PodNumber(UNKNOWN))
            yield from _pods(part, (*path, name), inner, kind)


def _at(value: Mapping[str, Any], path: tuple[str, ...], above: _Around, kind: str) -> _Around:
    # A template of a set of pods is Kubernetes' own, and so is its spec: neither has a number of pods or a switch.
    of_kubernetes = above.number.times is not None and any(
        isinstance(part, Mapping) and _is_pod(part) for part in (value, value.get("spec"))
    )
    number = above.number
    if not of_kubernetes:
        number = at_part(value, number, kind, in_chart=kind == _RELEASE, place=".".join(path))
    annotations = at(value, "metadata", "annotations")
    annotated = _of_knative(annotations)
    each = [amount(value[key]) for key in _PODS_OF_EACH if key in value and "template" in value]
    said = any(str(value.get(key)).lower() == _DAEMON_SET for key in ("kind", "mode", "type"))
    return _Around(
        number=number,
        each=times(above.each, *each),
        min_scale=above.min_scale if annotated is None else annotated,
        daemon_set=said or (above.daemon_set and not has_number(value)),
        idle=idle_of_daemon_set(annotations) or above.idle,
        leaves=value.get(LEFT) or (_left_by_keda(value, path) if kind == _RELEASE else None) or above.leaves,
        starts=above.starts,
        placement={**above.placement, **{key: value[key] for key in _PLACEMENT if key in value}},
    )


def _left_by_keda(value: Mapping[str, Any], path: tuple[str, ...]) -> IdleTime | None:
    """How long KEDA, which a chart has for these pods, leaves those without work; never those that it does not end.

    A chart has KEDA's own words below a key of its own: ``keda``, ``scaledObject``, ``autoscaling.keda``.
    """
    times: list[tuple[Maybe[int], tuple[str, ...]]] = []
    for scaler, place, least in _scalers_of_chart(value, path):
        if amount(scaler.get("idleReplicaCount"), 1) != 0 and least != 0:
            continue
        given = ((key, whole(scaler.get(key))) for key in ("cooldownPeriod", "initialCooldownPeriod"))
        times += [(seconds, (*place, key)) for key, seconds in given if seconds is not None]
    if not times:
        return None
    seconds, place = max(times, key=lambda each: math.inf if each[0] is UNKNOWN else each[0])
    return IdleTime(UNKNOWN if seconds is UNKNOWN else seconds / 60, ".".join(place))


_SCALES: Final = re.compile(r"keda|scal(?:ing|er|ed)", re.IGNORECASE)


def _scalers_of_chart(
    value: Mapping[str, Any], path: tuple[str, ...], on: bool = False, least: Maybe[int] = 0
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...], Maybe[int]]]:
    """The scalers that are on among a chart's values for one part, each with the fewest pods that it leaves."""
    for key, block in value.items():
        if not isinstance(block, Mapping) or not _SCALES.search(str(key)):
            continue
        switch, place = flag(block.get("enabled")), (*path, str(key))
        said = coalesce(*(block.get(f"minReplica{each}") for each in ("s", "Count")))
        fewest = least if said is None else amount(said)
        if switch is True or (on and block.get("enabled") is None):
            yield block, place, fewest
            yield from _scalers_of_chart(block, place, True, fewest)


def _of_knative(annotations: Any) -> Any:
    """The fewest pods that a template's annotations leave; an HPA in place of Knative's own autoscaler keeps one.

    https://knative.dev/docs/serving/autoscaling/autoscaler-types/
    """
    least = coalesce(*(at(annotations, key) for key in _MIN_SCALES))
    by_hpa = str(at(annotations, _CLASS)).startswith("hpa.")
    return 1 if by_hpa and least in (None, 0, "0") else least


# What each replica has several pods of: a job of a JobSet, a worker of a RayCluster on several hosts
# (https://jobset.sigs.k8s.io/docs/reference/, https://docs.ray.io/en/latest/cluster/kubernetes/k8s-ecosystem).
_PODS_OF_EACH: Final = ("parallelism", "numOfHosts")
_DAEMON_SET: Final = "daemonset"
_TEMPLATE: Final = re.compile(r"[tT]emplate(?:Spec)?$")


def _is_pod(value: Mapping[str, Any]) -> bool:
    containers = value.get("containers")
    return containers is UNKNOWN or bool([part for part in items(containers) if isinstance(part, Mapping)])


def _gpu_resources(value: Mapping[str, Any]) -> Any:
    """A container's resources if GPUs are among them."""
    for key in _RESOURCES:
        sections = [at(value, key, section) for section in ("limits", "requests")]
        named = ((name, section[name]) for section in sections if isinstance(section, Mapping) for name in section)
        if any(name in RESOURCES.values() or (names_gpus(name) and amount(number) != 0) for name, number in named):
            return value[key]
    return None


def _short(path: tuple[str, ...]) -> tuple[str, ...]:
    """Without the words that every kind repeats."""
    return tuple(part for part in path if part not in ("spec", "template", "podTemplate"))


GENERIC: Final = (read_custom_resource, read_component)

_OF_FILES: Final = (
    "kubernetes:kustomize/v2:Directory",
    "kubernetes:yaml/v2:ConfigFile",
    "kubernetes:yaml/v2:ConfigGroup",
)
_ROLLOUT: Final = "kubernetes:argoproj.io/*:Rollout"
_WARM_POOL: Final = "kubernetes:*agents.x-k8s.io/*:SandboxWarmPool"
READERS: Final[Mapping[str, Reader]] = {
    _ROLLOUT: read_rollout,
    _WARM_POOL: read_warm_pool,
    **dict.fromkeys(_OF_FILES, read_component),
    "kubernetes:*.*:*": read_custom_resource,
}

REFERRERS: Final[Mapping[str, Referrer]] = {
    _ROLLOUT: Referrer(
        refers=lambda declared: at(declared.properties, "spec", "workloadRef") is not None, finds=_workloads_of
    ),
    _WARM_POOL: Referrer(
        refers=lambda declared: at(declared.properties, "spec", "sandboxTemplateRef") is not None, finds=_template_of
    ),
    **dict.fromkeys(_OF_FILES, Referrer(refers=lambda _: True, finds=children)),
    **dict.fromkeys(_BY_KNATIVE, Referrer(refers=lambda _: False, finds=_settings_of_knative)),
}
