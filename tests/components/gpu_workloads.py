"""Pods that ask for GPUs, the workloads that people wrap them in, and an API server that judges both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from rehearsal.cluster.api import Api, ApiError
from rehearsal.cluster.control_plane import ControlPlane
from rehearsal.cluster.kubeconfig import Kubeconfig
from rehearsal.tools import folder


@dataclass(frozen=True)
class Answer:
    """What a user sees: HTTP status, warnings, and the error if it is one."""

    status: int
    warnings: tuple[str, ...] = ()
    error: str = ""

    @property
    def silent(self) -> bool:
        return self.status == 201 and not self.warnings


PODS = "/api/v1/namespaces/default/pods"


KUEUE = "system:serviceaccount:kueue-system:kueue-controller-manager"
DAEMON_SET_CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"


@dataclass(frozen=True)
class Submit:
    """Submits a manifest, without storing it, to the API server ``api``; ``controller`` is that of DaemonSets,
    ``person`` somebody with the role `edit` in all namespaces, ``kueue`` a tool with that role, and ``administrator``
    somebody with all rights, who is in no group of Kubernetes' own."""

    api: Api
    controller: Submit | None = None
    person: Api | None = None
    kueue: Api | None = None
    administrator: Api | None = None

    def __call__(self, manifest: Mapping[str, Any]) -> Answer:
        namespace = manifest["metadata"].get("namespace", "default")
        path = self.api.resource(manifest["apiVersion"], manifest["kind"]).path(namespace=namespace)
        try:
            return Answer(201, self.api.submit(path, dict(manifest), dryRun="All")[1])
        except ApiError as refusal:
            return Answer(refusal.status, error=str(refusal))

    def change(self, name: str, change: Mapping[str, Any]) -> Answer:
        """Merge ``change`` into the pod ``name`` that exists."""
        try:
            self.api.merge(f"{PODS}/{name}", dict(change))
        except ApiError as refusal:
            return Answer(refusal.status, error=str(refusal))
        return Answer(200)


@contextmanager
def judging(
    directory: Path, policies: Iterable[Mapping[str, Any]], *, existing: Iterable[Mapping[str, Any]] = ()
) -> Iterator[Submit]:
    """An API server with these policies and bindings, and with pods that were there before them."""
    root = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolic"
    with ControlPlane(directory, tools=folder()) as control_plane:
        api = control_plane.api
        for role, names in {"edit": ("person", KUEUE), "cluster-admin": ("administrator",)}.items():
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
            subjects = [{"kind": "User", "name": name, "apiGroup": "rbac.authorization.k8s.io"} for name in names]
            api.create(
                "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                {"metadata": {"name": names[0]}, "roleRef": reference, "subjects": subjects},
            )
        for each in existing:
            api.create(PODS, dict(each))
        for made in policies:
            plural = "ybindings" if made["kind"].endswith("Binding") else "ies"
            api.apply(f"{root}{plural}/{made['metadata']['name']}", yaml.safe_load(yaml.safe_dump(dict(made))))
        controller = Submit(_as(control_plane, DAEMON_SET_CONTROLLER))
        yield Submit(api, controller, *(_as(control_plane, name) for name in ("person", KUEUE, "administrator")))


def _as(control_plane: ControlPlane, user: str) -> Api:
    kubeconfig = yaml.safe_load(control_plane.kubeconfig_for("admin").read_text())
    kubeconfig["users"][0]["user"]["as"] = user
    return Api(Kubeconfig.parse(kubeconfig))


def pod(
    gpus: int,
    *,
    tolerations: list[dict[str, str]] | None = None,
    selector: dict[str, str] | None = None,
    labels: dict[str, str] | None = None,
    affinity: Iterable[list[dict[str, Any]]] = (),
    **metadata: Any,
) -> dict[str, Any]:
    """``affinity``: terms of which a node must match one."""
    limits = {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}
    containers = [{"name": "main", "image": "main", "resources": limits}]
    spec: dict[str, Any] = {"restartPolicy": "Never", "containers": containers}
    spec |= {"tolerations": tolerations or [], "nodeSelector": selector or {}}
    if terms := list(affinity):
        spec |= required_affinity(*terms)
    metadata = {"name": "one", "labels": {"app": "one", **(labels or {})}, **metadata}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def demanding(pod: dict[str, Any], kind: str = "requests", *, init: bool = False, **asked: str) -> dict[str, Any]:
    """The pod, asking for CPU and memory too."""
    resources = pod["spec"]["containers"][0]["resources"]
    resources = {**resources, kind: {**resources.get(kind, {}), **asked}}
    if init:
        pod["spec"]["initContainers"] = [{"name": "first", "image": "first", "resources": {kind: asked}}]
    else:
        pod["spec"]["containers"][0]["resources"] = resources
    return pod


def required_affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """Required node affinity, as a field of a pod's spec: the terms are alternatives."""
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def workload(kind: str, template: Mapping[str, Any]) -> dict[str, Any]:
    """A workload of ``kind`` whose template is that pod."""
    spec = {**template["spec"], "restartPolicy": "Never" if kind in ("Job", "CronJob") else "Always"}
    metadata = {key: value for key, value in template["metadata"].items() if key in ("labels", "annotations")}
    inner: dict[str, Any] = {"template": {"metadata": metadata, "spec": spec}}
    if kind == "CronJob":
        inner = {"schedule": "0 3 * * *", "jobTemplate": {"spec": inner}}
    elif kind == "ReplicationController":
        inner["selector"] = {"app": "one"}
    elif kind != "Job":
        inner["selector"] = {"matchLabels": {"app": "one"}}
    group = {"Job": "batch/v1", "CronJob": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
    return {"apiVersion": group, "kind": kind, "metadata": {"name": "one"}, "spec": inner}


def controller(kind: str) -> dict[str, Any]:
    return {"apiVersion": "apps/v1", "kind": kind, "name": "owner", "uid": "1", "controller": True}


def asking(
    gpus: int, *, kind: str = "", owner: str = "", demands: Mapping[str, Any] | None = None, **of_pod: Any
) -> dict[str, Any]:
    """A pod, or a workload of the ``kind`` with such pods.

    ``owner`` is the kind of the pod's controller; ``demands`` are the arguments of ``demanding``.
    """
    if owner:
        of_pod["ownerReferences"] = [controller(owner)]
    made = pod(gpus, **of_pod)
    if demands:
        made = demanding(made, **demands)
    return workload(kind, made) if kind else made
