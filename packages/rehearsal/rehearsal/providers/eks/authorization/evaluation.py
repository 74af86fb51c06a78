"""Evaluates a caller's policies against the permissions that a request needs, in AWS's words."""

from __future__ import annotations

from collections.abc import Iterable

from facts.concepts.iam import AuthorizationRequest, allows, denies, unevaluated_operators
from rehearsal.providers.eks.authorization.callers import Caller, Operation, Right
from rehearsal.providers.eks.authorization.identity import Role
from rehearsal.providers.eks.authorization.needs import TABLE


def refusal(caller: Caller, role: Role | None, rights: Iterable[Right]) -> str:
    """The first of the rights that the caller, whose role this is, lacks; ``""`` if it has all."""
    return next((denied for right in rights if (denied := _refusal(caller, role, right))), "")


def _refusal(caller: Caller, role: Role | None, right: Right) -> str:
    what = f"User: {caller.arn} is not authorized to perform: {right.action} on resource: {right.resource}"
    if role is None:
        return f"{what} because the role {caller.role} does not exist any more"
    # Keys of every request: …/IAM/latest/UserGuide/reference_policies_condition-keys.html.
    context = {
        "aws:PrincipalAccount": role.arn.split(":")[4],
        "aws:PrincipalArn": role.arn,
        "aws:PrincipalIsAWSService": "false",
        "aws:PrincipalType": "AssumedRole",
        "aws:SecureTransport": "true",
        "aws:ViaAWSService": "false",
        **{f"aws:PrincipalTag/{key}": value for key, value in caller.tags.items()},
        **right.context,
    }
    call = AuthorizationRequest(right.action, right.resource, context, whole=True)
    documents = [("an", "identity-based policy", tuple(role.policies.values()))]
    if role.boundary is not None:
        documents.append(("a", "permissions boundary", (role.boundary,)))
    for article, kind, document in documents:
        if denies(document, call) is True:
            return f"{what} with an explicit deny in {article} {kind}"
        if allows(document, call) is not True:
            odd = unevaluated_operators(document, call)
            because = f"no {kind} allows the {right.action} action"
            if odd:
                because += f" (the rehearsal cannot evaluate the condition operator {odd[0]})"
            return f"{what} because {because}"
    return ""


def needed(request: Operation, service: str, operation: str) -> list[Right] | None:
    """What a request needs, in its region; ``None`` for one that is not in the table."""
    needs = TABLE.get((service, operation))
    if needs is None:
        return None
    region = {"aws:RequestedRegion": request.account.region}
    return [Right(right.action, right.resource, {**region, **right.context}) for right in needs(request)]
