"""Namespaces that a stack file may name."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import AfterValidator, StrictStr

from components.settings.fields import wrong

LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SYSTEM: Final = ("kube-", "gke-", "gmp-", "aks-")


def own_namespace(text: str) -> str:
    """A namespace that is not the cluster's own."""
    if not LABEL.fullmatch(text):
        raise wrong(f"'{text}' is not a namespace: lower-case letters, digits and '-'", "Write for example default")
    if text.startswith(_SYSTEM):
        raise wrong(f"'{text}' is a namespace of the cluster itself", "Use a namespace of your own, such as default")
    return text


Namespace = Annotated[StrictStr, AfterValidator(own_namespace)]
