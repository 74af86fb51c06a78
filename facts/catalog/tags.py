"""How a cloud writes tags and registries of others: what a key, a value and a name may be."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TagGrammar:
    """``key`` and ``value`` match all of a text; ``allowed`` says in words what they match. A resource has
    at most ``most`` tags.

    Keys that begin with one of ``reserved`` (in lower case) are the cloud's or the cluster's; those of ``own`` are the
    program's. By those that ``discovery`` matches the autoscaler of a cluster that somebody else made may find groups.
    """

    key: re.Pattern[str]
    value: re.Pattern[str]
    allowed: str
    most: int
    reserved: tuple[str, ...]
    own: frozenset[str] = frozenset()
    discovery: re.Pattern[str] | None = None

    def key_problem(self, key: str, *, joins: bool = False) -> str | None:
        """What is wrong with a key, after its name; ``None`` if nothing is. ``joins``: pools on such a cluster."""
        if not self.key.fullmatch(key):
            return f"is not a tag's key: {self.allowed}"
        if key.lower() in self.own:
            return "is what the program names resources by"
        if joins and self.discovery is not None and self.discovery.fullmatch(key):
            return None
        taken = next((begin for begin in self.reserved if key.lower().startswith(begin)), None)
        return None if taken is None else f"begins with '{taken}', which the cloud or the cluster keeps for itself"


@dataclass(frozen=True, kw_only=True)
class RegistryName:
    """How a stack file names a registry of another project or account: ``written`` matches all of it.

    ``instead`` says who lets nodes pull where this side has no right to give; then nothing is written.
    """

    written: re.Pattern[str] | None = None
    example: str = ""
    instead: str = ""
