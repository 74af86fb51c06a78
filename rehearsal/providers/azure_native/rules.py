"""Azure's answer to a request that breaks a server-side rule."""

from __future__ import annotations

from collections.abc import Sequence

from rehearsal.providers.azure_native.cloud import Cloud
from rehearsal.providers.azure_native.errors import bad_request
from rehearsal.providers.base import Properties
from rehearsal.providers.rules import RuleBook, ServerRule, broken

Rule = ServerRule[Cloud]
Rules = RuleBook[Cloud]


def enforce(rules: Sequence[Rule], inputs: Properties, cloud: Cloud) -> None:
    """Raise the first broken rule as the API's 400; rules about values that are not known yet wait for the update."""
    message = broken(rules, inputs, cloud)
    if message:
        raise bad_request(message)
