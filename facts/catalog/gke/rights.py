"""The APIs that a stack needs in its project, and the roles of the principal that runs Pulumi.

``data/rights.csv`` lists them. The role Owner has all of them but those on resources of
other projects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from facts.catalog import tables


class Need(NamedTuple):
    """An API, and a role on ``on``; either may be empty."""

    api: str
    role: str = ""
    on: str = "the project"


_NEEDS: Final = [(row["setting"], Need(row["api"], row["role"], row["on"])) for row in tables.rows("gke", "rights")]
EVERY_STACK: Final = tuple(need for setting, need in _NEEDS if not setting)
OF_SETTINGS: Final[Mapping[str, Need]] = {setting: need for setting, need in _NEEDS if setting}
"""Setting → what it needs beside ``EVERY_STACK``."""


def needed(project: str, used: Collection[str]) -> Iterator[str]:
    """Lines for a terminal: how to enable the APIs, and the roles, for a stack that uses these settings."""
    rights = [*EVERY_STACK, *(right for setting, right in OF_SETTINGS.items() if setting in used)]
    yield f"APIs and roles that it needs in project {project} (the role Owner replaces those on the project):"
    yield ""
    yield f"gcloud services enable --project {project} {' '.join(dict.fromkeys(right.api for right in rights))}"
    roles = dict.fromkeys((right.role, right.on) for right in rights if right.role)
    yield from (f"{role} on {on}" for role, on in roles)
