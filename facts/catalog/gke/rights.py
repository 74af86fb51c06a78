"""The APIs that a stack needs in its project and in those of others, and the roles of the principal that runs Pulumi.

``data/rights.csv`` lists them. The role Owner has all of them but those on resources of
other projects.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from facts.catalog import tables


class Need(NamedTuple):
    """An API, and a role on ``on``; either may be empty."""

    api: str
    role: str = ""
    on: str = "the project"


_NEEDS: Final = [(row["setting"], Need(row["api"], row["role"], row["on"])) for row in tables.rows("gke", "rights")]
EVERY_STACK: Final = tuple(need for setting, need in _NEEDS if not setting)
_JOINING: Final = "existingCluster"
JOINING: Final = tuple(need for setting, need in _NEEDS if setting == _JOINING)
"""What a stack needs instead that adds its pools to a cluster that somebody else made."""
OF_SETTINGS: Final[Mapping[str, Need]] = {setting: need for setting, need in _NEEDS if setting not in ("", _JOINING)}
"""Setting → what it needs beside ``EVERY_STACK``."""


def needed(project: str, used: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Lines for a terminal: how to enable the APIs, and the roles, for a stack that uses these settings.

    ``used``: setting → names of what it uses; one that begins with ``projects/`` needs its API in that project.
    """
    of_used = {setting: right for setting, right in OF_SETTINGS.items() if setting in used}
    always = JOINING if _JOINING in used else EVERY_STACK
    rights = [*always, *of_used.values()]
    apis: dict[str, dict[str, None]] = {project: dict.fromkeys(right.api for right in always)}
    for setting, right in of_used.items():
        for name in used[setting] or ("",):
            owner = re.match("projects/([^/]+)/", name)
            apis.setdefault(owner[1] if owner else project, {})[right.api] = None
    yield f"APIs and roles that it needs in project {project} (the role Owner replaces those on the project):"
    yield ""
    yield from (f"gcloud services enable --project {where} {' '.join(names)}" for where, names in apis.items())
    roles = dict.fromkeys((right.role, right.on) for right in rights if right.role)
    yield from (f"{role} on {on}" for role, on in roles)
