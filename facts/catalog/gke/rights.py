"""The APIs that a stack needs in its project and in those of others, and the roles of the principal that runs Pulumi.

``data/rights.csv`` lists them. The role Owner has all of them but those on resources of
other projects.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from facts.catalog import tables

_PROJECT: Final = "the project"


class Need(NamedTuple):
    """An API, and a role on ``on``; either may be empty."""

    api: str
    role: str = ""
    on: str = _PROJECT


_NEEDS: Final = [(row["setting"], Need(row["api"], row["role"], row["on"])) for row in tables.rows("gke", "rights")]
EVERY_STACK: Final = tuple(need for setting, need in _NEEDS if not setting)
_JOINING: Final = "existingCluster"
JOINING: Final = tuple(need for setting, need in _NEEDS if setting == _JOINING)
"""What a stack needs instead that adds its pools to a cluster that somebody else made."""
OF_SETTINGS: Final[Mapping[str, tuple[Need, ...]]] = {
    each: tuple(need for setting, need in _NEEDS if setting == each)
    for each in {setting: None for setting, _ in _NEEDS if setting not in ("", _JOINING)}
}
"""Setting → what it needs beside ``EVERY_STACK``."""


def apis(project: str, used: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """Project → the APIs that a stack needs there that uses these settings.

    ``used``: setting → names of what it uses; one that begins with ``projects/`` needs its API in that project.
    """
    always = JOINING if _JOINING in used else EVERY_STACK
    names: dict[str, dict[str, None]] = {project: dict.fromkeys(right.api for right in always)}
    for setting in (each for each in OF_SETTINGS if each in used):
        for right in OF_SETTINGS[setting]:
            for name in used[setting] or ("",):
                owner = None if right.on == _PROJECT else re.match("projects/([^/]+)/", name)
                names.setdefault(owner[1] if owner else project, {})[right.api] = None
    return {where: tuple(each) for where, each in names.items()}


def needed(project: str, used: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Lines for a terminal: how to enable the APIs, and the roles, for a stack that uses the settings of ``apis``."""
    always = JOINING if _JOINING in used else EVERY_STACK
    rights = [*always, *(right for setting, each in OF_SETTINGS.items() if setting in used for right in each)]
    yield f"APIs and roles that it needs in project {project} (the role Owner replaces those on the project):"
    yield ""
    for where, names in apis(project, used).items():
        yield shlex.join(["gcloud", "services", "enable", "--project", where, *names])
    roles = dict.fromkeys((right.role, right.on) for right in rights if right.role)
    yield from (f"{role} on {on}" for role, on in roles)
