"""Whether each principal in the stack file has exactly the permissions of its role, and programs have those they need.

The API server answers (SubjectAccessReview): for the user and groups that the cloud maps a principal to, and for the
service account of a deployed cluster-autoscaler (kwok runs its pod, not its program). If the autoscaler lacks a
permission, its pod is Ready and does nothing, because its caches never fill
(https://github.com/kubernetes/autoscaler/issues/8678).

A team's pods get at most its GPUs and its priority: the API server validates such pods without creating them
(``dryRun``).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from components.settings.sections.access import Access
from components.settings.sections.teams import Team
from facts.concepts.counts import counted
from facts.concepts.kubernetes import GPU_RESOURCE
from facts.concepts.offer import PRIORITY_CLASSES
from rehearsal.cluster.api import Api, ApiError, Object
from rehearsal.cluster.images import Image
from rehearsal.scenario.autoscaler_messages import Calls
from rehearsal.scenario.check import Check
from rehearsal.scenario.user import Wait
from rehearsal.simulation import UserInfo

# A namespace in which the stack grants no role.
_ELSEWHERE: Final = "kube-system"


@dataclass(frozen=True)
class _Try:
    """A row of ``permissions.csv``: a request, where it is made, and the ``roles`` that are permitted to make it.

    ``resource``: the plural, ``pods/exec`` for a subresource.
    """

    namespace: str
    verb: str
    resource: str
    group: str
    roles: str


with Path(__file__).with_name("permissions.csv").open(encoding="utf-8", newline="") as _rows:
    _TRIES: Final = tuple(_Try(**row) for row in csv.DictReader(_rows))


def people_checks(api: Api, access: Sequence[Access], identities: Mapping[str, UserInfo]) -> Iterator[Check]:
    """A check for each entry of ``access``; ``identities``: principal → its user and groups in the cluster."""
    for entry in access:
        title = f"{entry.name} has exactly the permissions of the role {entry.role}"
        login = identities.get(entry.who)
        if login is None:
            yield Check(
                f"access:{entry.name}", title, False, f"the cloud does not grant {entry.who} access to the cluster"
            )
            continue
        places = {"own": entry.namespaces or ("default",), "another": (_ELSEWHERE,), "none": ("",)}
        tried = [(one, where, entry.role in one.roles.split()) for one in _TRIES for where in places[one.namespace]]
        wrong = [
            f"{'cannot' if may else 'can'} {one.verb} {one.resource} {f'in {where}' if where else 'cluster-wide'}"
            for one, where, may in tried
            if _may(api, login, one, where) != may
        ]
        allowed = sum(may for _, _, may in tried)
        detail = "; ".join(wrong) or f"{allowed} of {len(tried)} permissions granted, as declared"
        yield Check(f"access:{entry.name}", title, not wrong, f"{entry.who} {detail}" if wrong else detail)


def _may(api: Api, login: UserInfo, one: _Try, namespace: str) -> bool:
    resource, _, subresource = one.resource.partition("/")
    attributes = {"group": one.group, "resource": resource, "subresource": subresource, "verb": one.verb}
    attributes["namespace"] = namespace
    return api.permits(login.user, login.groups, attributes)


_IMAGE: Final = "cluster-autoscaler"
# ``cluster``: in all namespaces; ``own``: in its own.
_RIGHTS: Final[Mapping[str, list[dict[str, Any]]]] = yaml.safe_load(
    Path(__file__).with_name("autoscaler_rights.yaml").read_text()
)


def autoscaler_rights(api: Api) -> Iterator[Check]:
    """A check for each cluster-autoscaler that the program deployed."""
    for deployment in api.list("/apis/apps/v1/deployments"):
        pod = deployment["spec"]["template"]["spec"]
        if not any(Image.parse(container["image"]).is_of(_IMAGE) for container in pod["containers"]):
            continue
        namespace, account = deployment["metadata"]["namespace"], pod.get("serviceAccountName") or "default"
        lacking, asked = _lacking(api, namespace, account)
        detail = (
            f"{namespace}/{account} cannot {'; '.join(lacking)}"
            if lacking
            else f"{counted(asked, 'permission')}, none missing"
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
        detail = "; ".join(calls.denied) or f"{counted(calls.made, 'call')}, none denied"
        yield Check(
            "cloud-calls-allowed",
            "Programs in the cluster are permitted all their cloud API calls",
            not calls.denied,
            detail,
        )


def account_checks(problems: Sequence[str] | None) -> Iterator[Check]:
    """What will not work in the account although its cloud accepted each request; no check if nothing is evaluated."""
    if problems is not None:
        title = "Nodes and programs in the cluster get from the account what they need, and no more"
        yield Check("cloud-problems", title, not problems, "; ".join(problems) or "no problem")


# A quota is enforced once its controller has counted existing pods, some seconds after its creation.
_PATIENCE_SECONDS: Final = 240.0


@dataclass(frozen=True, kw_only=True)
class _PodTry:
    """A pod with that many GPUs and that class. ``refused``: part of the expected refusal, ``None`` to be accepted."""

    gpus: int
    priority_class: str | None
    refused: str | None


def team_checks(api: Api, teams: Sequence[Team], wait: Wait) -> Iterator[Check]:
    """A check for each of the ``teams``."""
    for team in teams:
        refusals: dict[_PodTry, str] = {}

        def holds(team: Team = team, refusals: dict[_PodTry, str] = refusals) -> bool:
            refusals.update({one: _refusal(api, team.name, one) for one in _tries(team)})
            return all(map(_as_it_must, refusals, refusals.values()))

        passed = wait(holds, _PATIENCE_SECONDS)
        wrong = [
            f"a pod with {counted(one.gpus, 'GPU')}, priority {one.priority_class or 'none'}: {answer or 'accepted'}"
            for one, answer in refusals.items()
            if not _as_it_must(one, answer)
        ]
        tried = counted(len(refusals), "pod")
        summary = f"{counted(team.gpus, 'GPU')} accepted, {team.gpus + 1} refused; {tried} tried (dry run)"
        title = f"Pods of team {team.name} get at most {counted(team.gpus, 'GPU')} and no priority above the team's"
        yield Check(f"team:{team.name}", title, passed, "; ".join(wrong) or summary)


def _tries(team: Team) -> Iterator[_PodTry]:
    own = PRIORITY_CLASSES.get(team.priority)
    yield _PodTry(gpus=team.gpus, priority_class=own, refused=None)
    yield _PodTry(gpus=team.gpus + 1, priority_class=own, refused="exceeded quota: team")
    if team.priority != "high":
        # By the policy on priorities, which is asked before the quota.
        yield _PodTry(gpus=0, priority_class=PRIORITY_CLASSES["high"], refused="the priority of teams whose priority")
    if team.priority == "low":
        yield _PodTry(gpus=0, priority_class=None, refused="exceeded quota: priority")


def _as_it_must(one: _PodTry, answer: str) -> bool:
    return one.refused in answer if one.refused is not None else not answer


def _refusal(api: Api, namespace: str, one: _PodTry) -> str:
    """The API server's refusal; empty if it accepts the pod."""
    try:
        api.submit(f"/api/v1/namespaces/{namespace}/pods", _pod(one), dryRun="All")
    except ApiError as error:
        return str(error)
    return ""


def _pod(one: _PodTry) -> Object:
    """One container per GPU."""
    asked = {GPU_RESOURCE: "1"}
    containers = [
        {"name": f"c{index}", "image": "busybox", **({"resources": {"limits": asked}} if one.gpus else {})}
        for index in range(max(one.gpus, 1))
    ]
    named = {"priorityClassName": one.priority_class} if one.priority_class else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "within-its-quota"},
        "spec": {"containers": containers, "restartPolicy": "Never", **named},
    }
