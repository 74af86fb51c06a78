"""Whether a deployed cluster-autoscaler has the permissions that it needs (kwok runs its pod, not its program), and
whether programs in the cluster are permitted their calls to the cloud.

If the autoscaler lacks a permission, its pod is Ready and does nothing, because its caches never fill
(https://github.com/kubernetes/autoscaler/issues/8678).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml

from rehearsal.cluster.api import Api
from rehearsal.cluster.images import Image
from rehearsal.scenario.check import Check
from rehearsal.scenario.cloud_calls import Calls

_IMAGE: Final = "cluster-autoscaler"
# ``cluster``: in all namespaces; ``own``: in its own.
_RIGHTS: Final[Mapping[str, list[dict[str, Any]]]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


def autoscaler_rights(api: Api) -> Iterator[Check]:
    """A check for each cluster-autoscaler that the program deployed."""
    for deployment in api.list("/apis/apps/v1/deployments"):
        pod = deployment["spec"]["template"]["spec"]
        if not any(Image.parse(container["image"]).is_of(_IMAGE) for container in pod["containers"]):
            continue
        namespace, account = deployment["metadata"]["namespace"], pod.get("serviceAccountName") or "default"
        lacking, asked = _lacking(api, namespace, account)
        detail = (
            f"{namespace}/{account} may not {'; '.join(lacking)}" if lacking else f"{asked} permissions, none missing"
        )
        title = "The autoscaler's service account has all permissions that it needs in the cluster"
        yield Check("autoscaler-rights", title, not lacking, detail)


def _lacking(api: Api, namespace: str, account: str) -> tuple[list[str], int]:
    lacking, asked = [], 0
    user = f"system:serviceaccount:{namespace}:{account}"
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    for rule, where in (*((rule, "") for rule in _RIGHTS["cluster"]), *((rule, namespace) for rule in _RIGHTS["own"])):
        group, name = rule["apiGroup"], rule.get("resourceName", "")
        for resource in rule["resources"]:
            plural, _, subresource = resource.partition("/")
            attributes = {"group": group, "resource": plural, "subresource": subresource, "name": name}
            attributes["namespace"] = where
            refused = [verb for verb in rule["verbs"] if not api.permits(user, groups, {**attributes, "verb": verb})]
            asked += len(rule["verbs"])
            if refused:
                words = [", ".join(refused), resource, name, f"of {group}" if group else ""]
                lacking.append(" ".join(filter(None, words)))
    return lacking, asked


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
