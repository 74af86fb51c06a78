"""Namespaces that a stack file may name."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, StrictStr

from components.settings.fields.types import wrong
from facts.concepts.namespaces import owner_of

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
"""A DNS label (RFC 1123), the form of the names of namespaces and most other objects:
https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#dns-label-names"""


def own_namespace(text: str, example: str = "research") -> str:
    """A namespace that is neither the cluster's own nor a tool's."""
    if not LABEL.fullmatch(text):
        raise wrong(
            f"'{text}' is not a namespace: lower-case letters, digits and '-'", f"Write for example '{example}'"
        )
    if owner := owner_of(text):
        raise wrong(f"'{text}' is a namespace of {owner}", f"Write your own, such as '{example}'")
    return text


Namespace = Annotated[StrictStr, AfterValidator(own_namespace)]
