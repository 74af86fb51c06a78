"""IAM policy documents: AWS's validation, before any evaluation."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

_VERSIONS: Final = ("2012-10-17", "2008-10-17")
_ACTION, _RESOURCE = re.compile(r"\*|[\w-]+:[\w*?]+"), re.compile(r"\*|arn:.+")
_EXAMPLES: Final = {_ACTION: "a name after its service (s3:GetObject)", _RESOURCE: "an ARN"}
_FORMS: Final = {"Action": _ACTION, "NotAction": _ACTION, "Resource": _RESOURCE, "NotResource": _RESOURCE}


def document_problem(text: Any, *, principals: bool) -> str | None:
    """What is wrong with a policy document, ``None`` if nothing; ``principals``: it hangs on a resource.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_grammar.html
    """
    try:
        document = json.loads(text)
    except (TypeError, ValueError) as error:
        return f"The policy is not valid JSON: {error}"
    if not isinstance(document, dict):
        return "The policy is not a JSON object"
    if document.get("Version", _VERSIONS[1]) not in _VERSIONS:
        return f"The policy's Version {document['Version']!r} is none of {', '.join(_VERSIONS)}"
    statements = document.get("Statement")
    statements = [statements] if isinstance(statements, dict) else statements
    if not isinstance(statements, list) or not statements:
        return "The policy has no Statement"
    return next((problem for each in statements if (problem := _statement_problem(each, principals))), None)


def named_roles(text: str) -> frozenset[str]:
    """The ARNs of the roles that a resource's policy names as principals."""
    statements = json.loads(text)["Statement"]
    principals = (each.get("Principal") for each in ([statements] if isinstance(statements, dict) else statements))
    named = (each["AWS"] for each in principals if isinstance(each, dict) and "AWS" in each)
    arns = (arn for each in named for arn in ([each] if isinstance(each, str) else each))
    return frozenset(arn for arn in arns if ":role/" in arn)


def _statement_problem(statement: Any, principals: bool) -> str | None:
    if not isinstance(statement, dict):
        return "A statement of the policy is not an object"
    if statement.get("Effect") not in ("Allow", "Deny"):
        return f"A statement has Effect {statement.get('Effect')!r}: write Allow or Deny"
    if "Action" not in statement and "NotAction" not in statement:
        return "A statement has no Action"
    has_principal = "Principal" in statement or "NotPrincipal" in statement
    if principals and not has_principal:
        return "A statement has no Principal"
    if not principals and has_principal:
        return "A statement of an identity's policy must not have a Principal"
    if not principals and "Resource" not in statement and "NotResource" not in statement:
        return "A statement has no Resource"
    return _names_problem(statement)


def _names_problem(statement: Mapping[str, Any]) -> str | None:
    principal = statement.get("Principal", "*")
    if not principal or (isinstance(principal, dict) and not all(principal.values())):
        return "Invalid principal in policy"
    for element, form in _FORMS.items():
        names = statement.get(element, "*")
        for name in [names] if isinstance(names, str) else names or [""]:
            if not form.fullmatch(name):
                return f"{element} {name!r} is none: write * or {_EXAMPLES[form]}"
    return None
