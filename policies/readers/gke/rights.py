"""Reads rights in Google's projects that everybody gets: every Google account, or everybody on the internet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from facts.concepts.declared import Exposure
from facts.concepts.unknown import UNKNOWN, either, items, text
from policies.readers.resource import Declared, Item, Reader

# https://docs.cloud.google.com/iam/docs/principals-overview#all-users
_EVERYBODY: Final = ("allAuthenticatedUsers", "allUsers")


def read_members(declared: Declared) -> Iterable[Item]:
    """Members of a role in a project, folder or organization, in which no role is for everybody."""
    role = text(declared.properties.get("role"))
    members = [declared.properties.get("member"), *items(declared.properties.get("members"))]
    open_to_all = either(UNKNOWN if each is UNKNOWN else each in _EVERYBODY for each in members)
    if open_to_all is not False:
        what = f"{declared.kind} '{declared.name}'" + (f" with role '{role}'" if isinstance(role, str) else "")
        yield Exposure("rights", what, open_to_all, declared.urn)


READERS: Final[Mapping[str, Reader]] = {
    f"gcp:{scope}/iAM{kind}:IAM{kind}": read_members
    for scope in ("folder", "organizations", "projects")
    for kind in ("Binding", "Member")
}
