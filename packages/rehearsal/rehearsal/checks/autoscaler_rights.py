"""Whether a deployed cluster-autoscaler has the permissions that it needs (kwok runs its pod, not its program), and
whether programs in the cluster are permitted their calls to the cloud.

If the autoscaler lacks a permission, its pod is Ready and does nothing, because its caches never fill
(https://github.com/kubernetes/autoscaler/issues/8678).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rehearsal.cluster.api import Api, Object
from rehearsal.scenario.check import Check
from rehearsal.scenario.cloud_calls import Calls

_IMAGE: Final = "cluster-autoscaler"
_SEE: Final = ("get", "list", "watch")


@dataclass(frozen=True)
class _Right:
    """Verbs on resources of a group; ``name``: of one object only; ``own``: in its own namespace only."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    name: str = ""
    own: bool = False


# https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/examples/cluster-autoscaler-autodiscover.yaml
# without the group "extensions", which no supported Kubernetes serves, and without write access to the priorities.
_RIGHTS: Final = (
    _Right("", ("events", "endpoints"), ("create", "patch")),
    _Right("", ("pods/eviction",), ("create",)),
    _Right("", ("pods/status",), ("update",)),
    _Right("", ("nodes",), (*_SEE, "update")),
    _Right("", ("namespaces", "pods", "services", "replicationcontrollers"), _SEE),
    _Right("", ("persistentvolumeclaims", "persistentvolumes"), _SEE),
    _Right("policy", ("poddisruptionbudgets",), ("list", "watch")),
    _Right("apps", ("statefulsets", "replicasets", "daemonsets"), _SEE),
    _Right("resource.k8s.io", ("deviceclasses", "resourceslices", "resourceclaims"), _SEE),
    _Right("storage.k8s.io", ("storageclasses", "csinodes", "csidrivers"), _SEE),
    _Right("storage.k8s.io", ("csistoragecapacities", "volumeattachments"), _SEE),
    _Right("batch", ("jobs",), (*_SEE, "patch")),
    _Right("coordination.k8s.io", ("leases",), ("create",), own=True),
    _Right("coordination.k8s.io", ("leases",), ("get", "update"), "cluster-autoscaler", own=True),
    _Right("", ("configmaps",), ("create", "list", "watch"), own=True),
    _Right("", ("configmaps",), ("get", "update", "delete"), "cluster-autoscaler-status", own=True),
)


def autoscaler_rights(api: Api) -> Iterator[Check]:
    """A check for each cluster-autoscaler that the program deployed."""
    for deployment in api.list("/apis/apps/v1/deployments"):
        pod = deployment["spec"]["template"]["spec"]
        if not any(_name(container["image"]) == _IMAGE for container in pod["containers"]):
            continue
        namespace, account = deployment["metadata"]["namespace"], pod.get("serviceAccountName") or "default"
        lacking, asked = _lacking(api, namespace, account)
        detail = (
            f"{namespace}/{account} cannot {'; '.join(lacking)}" if lacking else f"{asked} permissions, none missing"
        )
        title = "The autoscaler's service account has all permissions that it needs in the cluster"
        yield Check("autoscaler-rights", title, not lacking, detail)


def _lacking(api: Api, namespace: str, account: str) -> tuple[list[str], int]:
    lacking, asked = [], 0
    for right in _RIGHTS:
        for resource in right.resources:
            refused = [verb for verb in right.verbs if not _may(api, namespace, account, right, resource, verb)]
            asked += len(right.verbs)
            if refused:
                named = f" {right.name}" if right.name else ""
                where = f" of {right.group}" if right.group else ""
                lacking.append(f"{', '.join(refused)} {resource}{named}{where}")
    return lacking, asked


def _may(api: Api, namespace: str, account: str, right: _Right, resource: str, verb: str) -> bool:
    plural, _, subresource = resource.partition("/")
    attributes = {"group": right.group, "resource": plural, "subresource": subresource, "verb": verb}
    attributes |= {"name": right.name, "namespace": namespace if right.own else ""}
    group = "authorization.k8s.io/v1"
    review: Object = {
        "apiVersion": group,
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": ["system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated"],
            "resourceAttributes": attributes,
        },
    }
    return bool(api.create(f"/apis/{group}/subjectaccessreviews", review)["status"]["allowed"])


def _name(image: str) -> str:
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def calls_allowed(calls: Calls) -> Iterator[Check]:
    """Programs in the cluster were permitted all their calls to the cloud; no check if there was no call.

    A denied call may have no other visible effect: a queue that cannot be read looks like an empty one.
    """
    if calls.made:
        detail = "; ".join(calls.denied) or f"{calls.made} calls, none denied"
        yield Check(
            "cloud-calls-allowed",
            "Programs in the cluster are permitted all their cloud API calls",
            not calls.denied,
            detail,
        )
