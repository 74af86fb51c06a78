"""Users and groups of a cluster that no cloud's identities log in to."""

from __future__ import annotations

from components.clouds.base import Subject
from components.settings.access import Access


def certificate_subject(entry: Access) -> Subject:
    """``user:…`` and ``group:…`` as the API server names them, of a client certificate its CN and O:
    https://kubernetes.io/docs/reference/access-authn-authz/authentication/#x509-client-certificates"""
    kind, _, name = entry.who.partition(":")
    return Subject(kind="Group" if kind == "group" else "User", name=name)
