"""The stack-file changes of day two, in order; each starts from the result of the previous one."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final, Literal

import yaml

from facts.catalog.changes import Effects

_POOLS: Final = "gpucluster:gpuPools"
_KUBERNETES: Final = "gpucluster:kubernetes"
_ADDED: Final = "day2"
_RENAMED: Final = "day3"
_MORE_GB: Final = 50

Config = dict[str, Any]
DayTwoSet = Literal["none", "brief", "all"]


@dataclass(frozen=True)
class Target:
    """Subject of the changes: the entry of ``gpuPools`` that runs the job, and the next Kubernetes minor version."""

    entry: str
    next_version: str


@dataclass(frozen=True)
class Edit:
    """One change of the stack file's ``config``, in place, as a user would make it.

    ``batch``: edits with the same number are one update in a brief run; ``None``: not in a brief run.
    ``of_slices``: whether a pool that is one slice of TPUs takes it. Its nodes are as many as the slice has.
    ``of_pools``: whether it is an edit of pools; others are the cluster's owner's.
    """

    id: str
    title: str
    change: Callable[[Config, Target], None]
    batch: int | None = None
    of_slices: bool = True
    of_pools: bool = True


def _set(key: str, value: Callable[[Any], Any]) -> Callable[[Config, Target], None]:
    """A change of a key of the job's pool."""

    def change(config: Config, target: Target) -> None:
        pool = _entry(config, target.entry)
        pool[key] = value(pool.get(key))

    return change


def _entry(config: Config, name: str) -> dict[str, Any]:
    return next(pool for pool in config[_POOLS] if pool["name"] == name)


def _tag(config: Config, target: Target) -> None:
    config["gpucluster:labels"] = {**(config.get("gpucluster:labels") or {}), "day": "two"}


def _raise_version(config: Config, target: Target) -> None:
    config[_KUBERNETES] = {**(config.get(_KUBERNETES) or {}), "version": target.next_version}


def _add_pool(config: Config, target: Target) -> None:
    """Add a pool like the job's, with its entry's first size only: more sizes cost time and show nothing new."""
    added = {**copy.deepcopy(_entry(config, target.entry)), "name": _ADDED}
    if "topology" not in added:
        added["maxNodes"] = 1
    if isinstance(sizes := added.get("gpusPerNode"), list):
        added["gpusPerNode"] = sizes[0]
    # A reservation belongs to one pool.
    if added.pop("reservation", None) is not None:
        capacities = added.pop("capacity", [])
        added["capacity"] = [capacity for capacity in capacities if capacity in ("spot", "on-demand")] or "on-demand"
        added.pop("flexStart", None)
    config[_POOLS].append(added)


def _rename_pool(config: Config, target: Target) -> None:
    _entry(config, _ADDED)["name"] = _RENAMED


def _remove_pool(config: Config, target: Target) -> None:
    config[_POOLS][:] = [pool for pool in config[_POOLS] if pool["name"] not in (_ADDED, _RENAMED)]


EDITS: Final = (
    Edit("maximum-raised", "`maxNodes` of a pool raised", _set("maxNodes", lambda most: most + 1), 0, of_slices=False),
    Edit("label", "a label in `labels` of a pool", _set("labels", lambda labels: {**(labels or {}), "day": "two"}), 0),
    Edit("tag", "a label in `labels` of the stack, for every cloud resource", _tag, batch=0),
    Edit("pool-added", "a GPU pool added", _add_pool, batch=0),
    Edit(
        "maximum-lowered", "`maxNodes` of a pool lowered", _set("maxNodes", lambda most: most - 1), 1, of_slices=False
    ),
    Edit("pool-renamed", "a GPU pool renamed", _rename_pool),
    Edit("pool-removed", "a GPU pool removed", _remove_pool, batch=1),
    Edit("version", "`kubernetes.version` raised by a minor", _raise_version, of_pools=False),
    Edit("disk", "`diskGb` of a pool", _set("diskGb", lambda size: (size or 100) + _MORE_GB)),
)


def rounds(
    which: DayTwoSet, effects: Effects, *, protected: bool, sliced: bool = False, joined: bool = False
) -> list[tuple[Edit, ...]]:
    """The edits by update. ``all``: every edit in its own update. ``brief``: those that end no job, in two updates.

    The engine refuses to replace or delete a pool of a ``protected`` stack. ``sliced``: its pools are slices of TPUs.
    ``joined``: its cluster is somebody else's.
    """
    refused = ("replace", "delete") if protected else ()
    known = [(edit, effects[edit.id]) for edit in EDITS if edit.of_slices >= sliced and edit.of_pools >= joined]
    edits = [edit for edit, effect in known if not effect.preview.startswith(refused)]
    if which == "all":
        return [(edit,) for edit in edits]
    batches = sorted({edit.batch for edit in edits if edit.batch is not None}) if which == "brief" else []
    return [tuple(edit for edit in edits if edit.batch == batch) for batch in batches]


def edit_stack(file: Path, edits: tuple[Edit, ...], target: Target) -> str:
    """Make the edits in a stack file; returns the difference of its ``config``, as ``diff -u`` shows it."""
    content = yaml.safe_load(file.read_text())
    before = yaml.safe_dump(content["config"], sort_keys=False).splitlines()
    for edit in edits:
        edit.change(content["config"], target)
    file.write_text(yaml.safe_dump(content, sort_keys=False))
    after = yaml.safe_dump(content["config"], sort_keys=False).splitlines()
    return "\n".join(list(unified_diff(before, after, lineterm=""))[2:])


def entry_of(pool: str, file: Path) -> str:
    """The entry of ``gpuPools`` in a stack file that a pool comes from."""
    names = [entry["name"] for entry in yaml.safe_load(file.read_text())["config"][_POOLS]]
    return max((name for name in names if pool.startswith(f"{name}-")), key=len)


def next_minor(version: str) -> str:
    """The next minor version after ``version`` (``v1.34.4``): ``1.35``."""
    major, minor, *_ = version.removeprefix("v").split(".")
    return f"{major}.{int(minor) + 1}"
