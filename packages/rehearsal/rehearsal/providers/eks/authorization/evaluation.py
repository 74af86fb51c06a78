"""Evaluates a caller's policies against the permissions that a request needs."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass

from facts.concepts.iam import AuthorizationRequest, Value, allows, denies, unevaluated_operators
from rehearsal.providers.eks.authorization import identity
from rehearsal.providers.eks.authorization.callers import Caller, Operation, Right
from rehearsal.providers.eks.authorization.needs import TABLE
from rehearsal.providers.eks.base.account import Account


@dataclass(frozen=True)
class AccessDenied:
    """A right that the caller lacks. ``message`` is AWS's, without what a service adds; ``explicit``: by a Deny."""

    right: Right
    message: str
    explicit: bool

    def for_ec2(self) -> str:
        """EC2's words, with what ``sts:DecodeAuthorizationMessage`` would make readable."""
        about = {"action": self.right.action, "resource": self.right.resource}
        facts = {"allowed": False, "explicitDeny": self.explicit, "context": about}
        encoded = base64.urlsafe_b64encode(json.dumps(facts).encode()).decode()
        text = f"You are not authorized to perform this operation. {self.message}"
        return f"{text}. Encoded authorization failure message: {encoded}"


class Evaluation:
    """Judges the calls of one account; what it read of IAM it remembers until IAM changes."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._known: dict[tuple[str, int], identity.Role | None] = {}

    def refusal(self, caller: Caller, rights: Iterable[Right]) -> AccessDenied | None:
        """The first of the rights that the caller lacks."""
        if not caller.role:
            return None
        role = self._role(caller.role)
        return next((denied for right in rights if (denied := self._evaluate(caller, role, right))), None)

    def _evaluate(self, caller: Caller, role: identity.Role | None, right: Right) -> AccessDenied | None:
        context = {**self._context(caller), **right.context}
        call = AuthorizationRequest(right.action, right.resource, context, whole=True)
        what = f"User: {caller.arn} is not authorized to perform: {right.action} on resource: {right.resource}"
        if role is None:
            return AccessDenied(right, f"{what} because the role {caller.role} does not exist any more", False)
        documents = [("an", "identity-based policy", tuple(role.policies.values()))]
        if role.boundary is not None:
            documents.append(("a", "permissions boundary", (role.boundary,)))
        for article, kind, document in documents:
            if denies(document, call) is True:
                return AccessDenied(right, f"{what} with an explicit deny in {article} {kind}", True)
            if allows(document, call) is not True:
                odd = unevaluated_operators(document, call)
                because = f"no {kind} allows the {right.action} action"
                if odd:
                    because += f" (the rehearsal cannot evaluate the condition operator {odd[0]})"
                return AccessDenied(right, f"{what} because {because}", False)
        return None

    def _context(self, caller: Caller) -> dict[str, Value]:
        """Keys of every request: …/IAM/latest/UserGuide/reference_policies_condition-keys.html."""
        return {
            "aws:PrincipalAccount": self._account.id,
            "aws:PrincipalArn": caller.role,
            "aws:PrincipalIsAWSService": "false",
            "aws:PrincipalType": "AssumedRole",
            "aws:SecureTransport": "true",
            "aws:ViaAWSService": "false",
            **{f"aws:PrincipalTag/{key}": value for key, value in caller.tags.items()},
        }

    def _role(self, arn: str) -> identity.Role | None:
        key = arn, self._account.writes("iam")
        if key not in self._known:
            self._known = {key: identity.role(self._account, arn)}
        return self._known[key]


def needed(request: Operation, service: str, operation: str) -> list[Right] | None:
    """What a request needs, in its region; ``None`` for one that is not in the table."""
    needs = TABLE.get((service, operation))
    if needs is None:
        return None
    region = {"aws:RequestedRegion": request.account.region}
    return [Right(right.action, right.resource, {**region, **right.context}) for right in needs(request)]
